/** A request without a key, where one is required, is refused and not executed without protection. */
import { endpointOf, isAnswered, isTurnedAway, matchesAny, name, patternsText } from "../evidence/answers.ts";
import { attemptsOfKind } from "../evidence/kind.ts";
import type { History } from "../history.ts";
import { type Invariant, undocumented, type Violation, verdictOf, violation } from "../invariant.ts";

export const missingKeyIsRejected = {
  id: "missing-key-is-rejected",
  level: "must",
  statement: "A request without a key is refused as the contract says",

  check(history: History) {
    const { missing } = history.contract.key;
    if (missing === "undocumented") return undocumented("the answer to a missing key");
    if (missing === "executes") {
      return { result: "skip", reason: "by the contract a request without a key executes", excused: true };
    }
    const byEndpoint = new Map<string, Violation>();
    let checked = 0;
    for (const recorded of attemptsOfKind(history, ({ key }) => key === null)) {
      const { endpoint, payload } = recorded.attempt;
      if (!isAnswered(recorded) || endpointOf(history, recorded).isBaseline) continue;
      const isRight = matchesAny(missing, recorded.outcome);
      // A limit, a gateway, or a request that is invalid for another reason too.
      if (!isRight && (isTurnedAway(recorded) || payload.kind === "invalid")) continue;
      checked += 1;
      if (isRight || byEndpoint.has(endpoint)) continue;
      const proof = {
        message: `${name(recorded)} was sent to ${endpoint} without a key and was not refused for it`,
        expected: patternsText(missing),
        actual: String(recorded.outcome.status),
      };
      byEndpoint.set(endpoint, violation([recorded], proof));
    }
    return verdictOf(checked, [...byEndpoint.values()], "no request without a key was answered");
  },
} as const satisfies Invariant;
