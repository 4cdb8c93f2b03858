/**
 * Plays a schedule: starts each request at its time, records it like any other attempt, and measures from the
 * moment at which it was meant to start to the end of its answer.
 */
import type { BuiltAttempt } from "../attempt-builder.ts";
import type { Micros, Outcome } from "../operation.ts";
import { redactedOutcome } from "../secrets.ts";
import type { Stage } from "../stage.ts";
import type { Start } from "./holders.ts";
import { type ClassMeasurement, type Measurements, measure, newHistogram } from "./measurements.ts";
import { pace, paceClock } from "./pace.ts";
import type { Sender } from "./sender.ts";
import type { Traffic } from "./traffic.ts";

/** A target under load. */
export interface Lane {
  readonly stage: Stage;
  readonly traffic: Traffic;
  readonly measurements: Measurements;
}

export interface GeneratorOptions {
  readonly sender: Sender;
  /** More in flight than this, and the target does not keep up: the load ends. */
  readonly inFlightMax: number;
  readonly signal: AbortSignal;
  readonly onStart: (index: number) => void;
}

export interface Generated {
  readonly started: number;
  /** Of all starts, in microseconds. */
  readonly lateness: { readonly p50: Micros; readonly p99: Micros; readonly max: Micros };
  /** Never started: too many were in flight, or the bench was interrupted. */
  readonly notStarted: number;
  /** So many were in flight that the load was ended. */
  readonly isOverrun: boolean;
  readonly mostInFlight: number;
  /** How many were in flight in the middle of the load, and when the last was started. */
  readonly inFlightHalfway: number;
  readonly inFlightAtEnd: number;
}

export async function generate(
  starts: readonly Start[],
  lanes: readonly Lane[],
  options: GeneratorOptions,
): Promise<Generated> {
  const [first] = lanes;
  if (first === undefined) throw new Error("a bench has a target");
  const { now } = first.stage;
  const lateness = newHistogram();
  const pending = new Set<Promise<void>>();
  const began = now();
  let failure: { readonly error: unknown } | null = null;
  let started = 0;
  let mostInFlight = 0;
  let isOverrun = false;
  let inFlightHalfway = 0;
  await pace(
    starts.map(({ at }) => began + at),
    paceClock(now),
    (index, late) => {
      const start = starts[index];
      const lane = lanes[start?.target ?? -1];
      if (start === undefined || lane === undefined) throw new Error("a start names its target");
      isOverrun = pending.size >= options.inFlightMax;
      if (failure !== null || options.signal.aborted || isOverrun) return false;
      lateness.recordValue(Math.max(1, Math.round(late)));
      options.onStart(index);
      const playing = play(lane, start, began + start.at, options.sender)
        .catch((error: unknown) => {
          failure ??= { error };
        })
        .finally(() => pending.delete(playing));
      pending.add(playing);
      started += 1;
      mostInFlight = Math.max(mostInFlight, pending.size);
      if (started === Math.floor(starts.length / 2)) inFlightHalfway = pending.size;
      return true;
    },
  );
  const inFlightAtEnd = pending.size;
  await Promise.all(pending);
  // Such as a history that can no longer be written.
  if (failure !== null) throw (failure as { error: unknown }).error;
  return {
    started,
    lateness: {
      p50: lateness.getValueAtPercentile(50),
      p99: lateness.getValueAtPercentile(99),
      max: lateness.maxValue,
    },
    notStarted: starts.length - started,
    isOverrun,
    mostInFlight,
    inFlightHalfway,
    inFlightAtEnd,
  };
}

async function play(lane: Lane, { slot, holder }: Start, intended: Micros, sender: Sender): Promise<void> {
  const { stage, traffic, measurements } = lane;
  if (slot === null) {
    if (holder !== null) await exchange(lane, traffic.holder(holder), sender);
    return;
  }
  const measurement = measurements.get(slot.class);
  if (measurement === undefined) throw new Error(`the schedule holds ${slot.class}, which is not measured`);
  const isCounted = slot.block >= 0;
  const plan = traffic.plan(slot.class, stage.now(), holder);
  if (plan === null) {
    if (isCounted) measurement.impossible += 1;
    return;
  }
  const { outcome, at } = await exchange(lane, traffic.builder.build(plan), sender);
  const belongs = traffic.belongs(slot.class, outcome);
  if (slot.class === "first-use" && belongs) traffic.remember(plan.operation, at);
  if (isCounted) count(measurement, { block: slot.block, latency: at - intended, outcome, belongs });
}

interface Counted {
  readonly block: number;
  readonly latency: Micros;
  readonly outcome: Outcome;
  readonly belongs: boolean;
}

/** Who waited in vain until the limit waited at least that long; to leave it out would hide the worst. */
function count(measurement: ClassMeasurement, { block, latency, outcome, belongs }: Counted): void {
  const isTimeout = outcome.kind === "indeterminate" && outcome.reason === "timeout";
  if (outcome.kind !== "responded") measurement.unanswered += 1;
  else if (!belongs) measurement.strayed += 1;
  if (belongs || isTimeout) measure(measurement, block, latency);
}

export async function exchange(
  { stage }: Lane,
  { attempt, request }: BuiltAttempt,
  sender: Sender,
): Promise<{ outcome: Outcome; at: Micros }> {
  const url = stage.running.urls[attempt.replica];
  if (url === undefined) throw new Error(`there is no replica ${attempt.replica}`);
  stage.journal.record({ type: "invoked", at: stage.now(), attempt });
  const outcome = await sender.send(url, request);
  const at = stage.now();
  const recorded = redactedOutcome(outcome, stage.secrets);
  stage.journal.record({ type: "completed", at, attemptId: attempt.id, outcome: recorded });
  return { outcome, at };
}
