/** Every fault, by the name that a plan uses. */
import type { Cure, Fault, FaultStep, Injected, StepOf, Surroundings } from "../fault.ts";
import { bandwidth } from "./bandwidth.ts";
import { blackHoleAnswer } from "./black-hole-answer.ts";
import { blackHoleRequest } from "./black-hole-request.ts";
import { connectionsExhausted } from "./connections-exhausted.ts";
import { databaseCrash } from "./database-crash.ts";
import { deadlock } from "./deadlock.ts";
import { delay } from "./delay.ts";
import { hang } from "./hang.ts";
import { killReplica } from "./kill-replica.ts";
import { latency } from "./latency.ts";
import { linkDown } from "./link-down.ts";
import { pauseReplica } from "./pause-replica.ts";
import { processor } from "./processor.ts";
import { redeploy } from "./redeploy.ts";
import { resetAfterExecution } from "./reset-after-execution.ts";
import { resetBeforeArrival } from "./reset-before-arrival.ts";
import { serializationFailure } from "./serialization-failure.ts";
import { sessionsEnded } from "./sessions-ended.ts";
import { skewedClock } from "./skewed-clock.ts";
import { slicer } from "./slicer.ts";
import { slowClose } from "./slow-close.ts";
import { statementTimeout } from "./statement-timeout.ts";
import { stopReplica } from "./stop-replica.ts";
import { throwError } from "./throw.ts";
import { truncatedAnswer } from "./truncated-answer.ts";
import { undisturbed } from "./undisturbed.ts";
import { writeRefused } from "./write-refused.ts";

const faults: { readonly [Name in FaultStep["fault"]]: Fault<StepOf<Name>> } = {
  "pause-replica": pauseReplica,
  "kill-replica": killReplica,
  "stop-replica": stopReplica,
  redeploy,
  "skewed-clock": skewedClock,
  delay,
  throw: throwError,
  hang,
  processor,
  "sessions-ended": sessionsEnded,
  "database-crash": databaseCrash,
  "serialization-failure": serializationFailure,
  deadlock,
  "statement-timeout": statementTimeout,
  "write-refused": writeRefused,
  "connections-exhausted": connectionsExhausted,
  undisturbed,
  latency,
  bandwidth,
  slicer,
  "slow-close": slowClose,
  "reset-before-arrival": resetBeforeArrival,
  "reset-after-execution": resetAfterExecution,
  "truncated-answer": truncatedAnswer,
  "black-hole-request": blackHoleRequest,
  "black-hole-answer": blackHoleAnswer,
  "link-down": linkDown,
};

export function inject(step: FaultStep, surroundings: Surroundings): Promise<Injected> {
  return faultOf(step).inject(step, surroundings);
}

export async function prepare(step: FaultStep, surroundings: Surroundings): Promise<Cure> {
  return (await faultOf(step).prepare?.(step, surroundings)) ?? (async () => undefined);
}

function faultOf(step: FaultStep): Fault {
  // The list's type ties each name to its step; the compiler cannot follow that through an index.
  return faults[step.fault] as Fault;
}
