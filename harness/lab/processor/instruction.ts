/**
 * What the lab can tell the processor to do with the next calls for one reference. The target knows nothing of
 * it: an instruction is no part of any request, and so of no fingerprint.
 */
import { z } from "zod";

export const behaviourSchema = z.union([
  z.strictObject({
    /**
     * `decline`: refuses for good. `fail-before`: a 5xx, nothing charged. `fail-after`: charged, then a 5xx.
     * `stall-before`: nothing charged, no answer. `stall-after`: charged, no answer.
     */
    do: z.enum(["decline", "fail-before", "fail-after", "stall-before", "stall-after"]),
  }),
  /** Charges and answers after so long. */
  z.strictObject({ do: z.literal("late"), ms: z.int().min(1).max(60_000) }),
]);

export type Behaviour = z.output<typeof behaviourSchema>;

export const instructionSchema = z.strictObject({
  reference: z.string(),
  /** For the next calls, in order; later ones are treated as usual. Empty: takes back what is left. */
  behaviours: z.array(behaviourSchema).max(100),
});

export type Instruction = z.output<typeof instructionSchema>;

/** What was carried out of an instruction when it is taken back. */
export interface CarriedOut {
  readonly carriedOut: number;
}
