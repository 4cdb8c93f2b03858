/** The reference's reconciler as a process, beside the service and with the same settings. */
import { keepReconciling } from "./reconciling.ts";

await keepReconciling();
