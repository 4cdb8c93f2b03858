/**
 * Defect: whoever takes over an expired lease begins from the start. How far the last holder came is not looked
 * at, and the processor is called again without being asked whether it has charged already.
 *
 * In the wild: every lock with an expiry. Whoever gets it next runs the handler from its first line, since a lock
 * knows no more of the work than that somebody was at it.
 *
 * Why it looks right: the last holder is dead, and somebody has to do its work. The ledger is safe, as its row
 * commits with the record; the charge was made outside, before the crash.
 */
import type { Steps } from "../../reference/idempotency/plugin.ts";
import { takeOver } from "../../reference/idempotency/take-over.ts";
import { serve } from "../../reference/serve.ts";

const takeOverAndBegin: Steps["takeOver"] = async (...seen) => {
  const claim = await takeOver(...seen);
  return claim === null ? null : { ...claim, progress: { point: "claimed" } };
};

await serve({ takeOver: takeOverAndBegin });
