/** Every published contract the harness knows, by id. */
import type { Contract } from "../contract.ts";
import { strict } from "./strict.ts";

export const contracts: readonly Contract[] = [strict];
