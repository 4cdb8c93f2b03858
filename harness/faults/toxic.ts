/**
 * A link of a replica misbehaves as Toxiproxy can make it: late, slow, in slices, reset, cut short, silent.
 * Without a toxic it is the control: the same way, undisturbed.
 */
import type { Fault, StepOf } from "../fault.ts";
import { faultyLink } from "./faulty-link.ts";

export const toxic: Fault<StepOf<"toxic">> = {
  id: "toxic",

  async inject({ link, toxic: kind }, surroundings) {
    const faulty = faultyLink(link, surroundings);
    const cure = kind === null ? async () => undefined : await faulty.add(kind);
    return {
      heal: async () => {
        await cure();
        return undefined;
      },
    };
  },
};
