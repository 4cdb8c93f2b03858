/** Every fault, by the name that a plan uses. */
import type { Fault, FaultStep, Injected, StepOf, Surroundings } from "../fault.ts";
import { database } from "./database.ts";
import { delay } from "./delay.ts";
import { hang } from "./hang.ts";
import { killReplica } from "./kill-replica.ts";
import { linkDown } from "./link-down.ts";
import { pauseReplica } from "./pause-replica.ts";
import { processor } from "./processor.ts";
import { throwError } from "./throw.ts";
import { toxic } from "./toxic.ts";

const faults: { readonly [Name in FaultStep["fault"]]: Fault<StepOf<Name>> } = {
  "pause-replica": pauseReplica,
  "kill-replica": killReplica,
  delay,
  throw: throwError,
  hang,
  "link-down": linkDown,
  toxic,
  processor,
  database,
};

export function inject<Name extends FaultStep["fault"]>(
  step: StepOf<Name>,
  surroundings: Surroundings,
): Promise<Injected> {
  return faults[step.fault as Name].inject(step, surroundings);
}
