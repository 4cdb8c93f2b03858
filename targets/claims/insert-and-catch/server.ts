/** The reference's service with the claim that stands beside this file. */
import { serve } from "../../reference/serve.ts";
import { insertAndCatch } from "./claim.ts";

await serve({ claim: insertAndCatch });
