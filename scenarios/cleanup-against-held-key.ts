/**
 * The processor does not say what became of a charge until retention is over, while the cleaner removes what is
 * old. A key whose operation may have been carried out is not old: forgotten, its charge would belong to nobody,
 * and the next request under it would charge again. Some clients ask again when the processor speaks; others have
 * given up, and their operations must be brought to an end without them.
 */
import type { FaultStep } from "../harness/fault.ts";
import { isQuick, times, underAll } from "../harness/plan.ts";
import type { AttemptPlan, Scenario } from "../harness/scenario.ts";

/** A longer retention is not waited for. */
const RETENTION_MS_MAX = 10_000;
const KEYS = 3;
/** How long after retention the processor still says nothing: the cleaner comes by meanwhile. */
const SILENT_MS = 1_000;
/** By then the processor has spoken. */
const SPOKEN_MS = 300;
/** For a reconciler that looks ever more seldom. */
const RECONCILED_MS = 4_000;
const PATIENCE_MS = 500;

const scenario: Scenario = {
  id: "cleanup-against-held-key",
  title: "Cleanup against a held key",
  requirement:
    "A key whose operation may have been carried out is not forgotten before it is resolved, however old it is",
  exercises: ["every-key-resolves"],
  beside: true,
  inTurn: true,

  plan(context) {
    const endpoint = context.endpoints.find(({ isDownstream }) => isDownstream);
    if (endpoint === undefined || !context.hasProcessor) {
      return { skip: "no operation calls the lab's processor (operations.<name>.downstream in the target file)" };
    }
    const { retentionMs } = context.contract;
    if (retentionMs === "undocumented" || retentionMs > RETENTION_MS_MAX) {
      return {
        skip: `cleanup can only be watched where retention is short (contract.retentionMs of ${RETENTION_MS_MAX} or less)`,
      };
    }
    const many = (kind: string): readonly AttemptPlan[] =>
      times(KEYS, (number) => ({
        operation: `${kind}-${number}`,
        endpoint: endpoint.name,
        caller: context.callers[0],
      }));
    const asked = many("asked-again");
    const givenUp = isQuick(context) ? [] : many("given-up");
    const faults = [...asked, ...givenUp].map(
      ({ operation }): FaultStep => ({
        fault: "processor",
        operation,
        behaviours: [{ do: "late", ms: retentionMs + SILENT_MS }],
      }),
    );
    return underAll(faults, [
      { do: "start", attempts: [...asked, ...givenUp].map((plan) => ({ ...plan, abortAfterMs: PATIENCE_MS })) },
      { do: "wait", ms: retentionMs + SILENT_MS + SPOKEN_MS },
      { do: "persist", attempts: asked },
      { do: "send", attempts: asked },
      ...(givenUp.length > 0 ? [{ do: "wait", ms: RECONCILED_MS } as const] : []),
      { do: "observe" },
    ]);
  },
};

export default scenario;
