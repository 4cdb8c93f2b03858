/** The service is the reference's; the defect is in the reconciler beside it (reconciler.ts). */
import { serve } from "../../reference/serve.ts";

await serve();
