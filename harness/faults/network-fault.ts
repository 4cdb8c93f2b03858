/** A fault of a link that Toxiproxy makes by a toxic; each has a file of its own that says what it looks like from outside. */
import { Failure } from "../fail.ts";
import type { Fault, FaultyLink, LinkName, NetworkFault, StepOf, Surroundings } from "../fault.ts";
import type { Toxic } from "../lab/toxiproxy/toxic.ts";

/** Without a toxic nothing is disturbed. */
export function networkFault<Name extends NetworkFault>(id: Name, toxic: Toxic | null): Fault<StepOf<Name>> {
  return {
    id,

    async inject({ link }, surroundings) {
      const faulty = faultyLink(link, surroundings);
      const cure = toxic === null ? null : await faulty.add(toxic);
      return {
        heal: async () => {
          await cure?.();
          return undefined;
        },
      };
    },
  };
}

/** The link that is to be disturbed, or the error that says why there is none. */
export function faultyLink(name: LinkName, { powers, replica }: Surroundings): FaultyLink {
  const link = powers.link?.(name, replica) ?? null;
  if (link === null)
    throw new Failure("usage", `the ${name} link of replica ${replica} does not lead through Toxiproxy`);
  return link;
}
