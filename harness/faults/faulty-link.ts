/** The link that a network fault touches, or the error that says why there is none. */
import { Failure } from "../fail.ts";
import type { FaultyLink, LinkName, Surroundings } from "../fault.ts";

export function faultyLink(name: LinkName, { powers, replica }: Surroundings): FaultyLink {
  const link = powers.link?.(name, replica) ?? null;
  if (link === null)
    throw new Failure("usage", `the ${name} link of replica ${replica} does not lead through Toxiproxy`);
  return link;
}
