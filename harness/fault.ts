/** A fault is a disturbance that can be injected and is always healed: injecting returns the cure. */

export type FaultStep =
  /** The replica's processes stop in mid-work (SIGSTOP) and go on where they were when healed (SIGCONT). */
  { readonly fault: "pause-replica"; readonly replica: number };

export interface Fault<Step extends FaultStep = FaultStep> {
  readonly id: Step["fault"];
  inject(step: Step, powers: Powers): Promise<Cure>;
}

export type Cure = () => Promise<void>;

/** What can be done to a running target. Absent: the harness did not start it and cannot. */
export interface Powers {
  readonly pause?: (replica: number) => Promise<void>;
  readonly resume?: (replica: number) => Promise<void>;
}
