/** The reference target as a process. */
import { serve } from "./serve.ts";

await serve();
