/**
 * Defect: when the client hangs up its key is freed, while the handler goes on. The retry finds a free key and
 * calls the processor again, beside the call that is still on its way.
 *
 * In the wild: `request.on("close", () => unlock(key))`, and frameworks that cancel a request's context with its
 * connection: the work on the key is undone, what was already sent is not.
 *
 * Why it looks right: nobody waits for this answer any more, so why should it block the key? Clients hang up by
 * a timeout, though, and then they retry at once.
 */
import { release } from "../../reference/idempotency/release.ts";
import { serve } from "../../reference/serve.ts";

await serve({ disconnected: release });
