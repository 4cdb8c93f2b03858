/** Every field that decides the outcome, changed alone: the one that the fingerprint forgot is the one that costs. */
import { times } from "../harness/plan.ts";
import type { AttemptPlan, Endpoint, Scenario } from "../harness/scenario.ts";

const scenario: Scenario = {
  id: "each-field-changed",
  title: "Each outcome field changed alone",
  requirement: "A retry in which one outcome-affecting field differs is another request, and is refused",
  exercises: ["every-outcome-field-is-fingerprinted", "original-survives-rejection"],

  plan({ samples, endpoints, callers }) {
    const changeable = endpoints.filter(({ fields, pairs }) => fields.length + pairs > 0);
    if (changeable.length === 0) return { skip: "the target file names no outcome fields that could be changed" };
    return changeable.flatMap((endpoint) =>
      times(samples, (sample) => [
        ...endpoint.fields.map((field, index) => ({
          do: "send" as const,
          attempts: changedAlone(endpoint, callers[0], `${endpoint.name}-${sample}-field-${index + 1}`, field),
        })),
        ...times(endpoint.pairs, (number) => ({
          do: "send" as const,
          attempts: pairOf(endpoint, callers[0], `${endpoint.name}-${sample}-pair-${number}`, number - 1),
        })),
      ]).flat(),
    );
  },
};

function changedAlone({ name: endpoint }: Endpoint, caller: string, operation: string, field: string): AttemptPlan[] {
  const first: AttemptPlan = { operation, endpoint, caller };
  return [first, { ...first, payload: { kind: "changed", field } }, first];
}

function pairOf({ name: endpoint }: Endpoint, caller: string, operation: string, index: number): AttemptPlan[] {
  const first: AttemptPlan = { operation, endpoint, caller, payload: { kind: "pair", index, side: "first" } };
  return [first, { ...first, payload: { kind: "pair", index, side: "second" } }, first];
}

export default scenario;
