/** The reference's service with the claim that stands beside this file. */
import { serve } from "../../reference/serve.ts";
import { selectForUpdateFirst } from "./claim.ts";

await serve({ claim: selectForUpdateFirst });
