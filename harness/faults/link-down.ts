/** A link of a replica is down: what was open on it is closed, new connections are refused. */
import type { Fault, StepOf } from "../fault.ts";
import { faultyLink } from "./network-fault.ts";

export const linkDown: Fault<StepOf<"link-down">> = {
  id: "link-down",

  async inject({ link }, surroundings) {
    const cure = await faultyLink(link, surroundings).cut();
    return {
      heal: async () => {
        await cure();
        return undefined;
      },
    };
  },
};
