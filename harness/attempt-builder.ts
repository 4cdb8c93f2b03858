/** From an attempt as planned to the attempt as sent: names made unique, the request written out. */

import { HeaderLayouts } from "./attempt-headers.ts";
import type { Contract } from "./contract.ts";
import { type Named, named, uniqueText } from "./naming.ts";
import type { Attempt, HttpRequest } from "./operation.ts";
import { fingerprintOf } from "./operation.ts";
import { renderBody, withKeyInBody } from "./payload.ts";
import type { AttemptPlan } from "./scenario.ts";
import { redacted } from "./secrets.ts";
import type { Stage } from "./stage.ts";

export interface BuiltAttempt {
  /** As it goes into the history. */
  readonly attempt: Attempt;
  /** As it goes over the wire, secrets included. */
  readonly request: HttpRequest;
  readonly abortAfterMs: number | null;
  /** It goes through the link that a fault may touch. */
  readonly isThroughLink: boolean;
}

/** The part of a stage that attempts are built from. */
export type BuilderStage = Pick<Stage, "runId" | "target" | "secrets" | "keys"> & {
  readonly running: Pick<Stage["running"], "urls">;
};

export class AttemptBuilder {
  readonly #stage: BuilderStage;
  readonly #scenario: string;
  readonly #headers: HeaderLayouts;
  /** How often a name was made anew, because a burst had to be repeated. */
  readonly #tries = new Map<string, number>();
  readonly #sent = new Set<string>();
  /** Operations whose attempts pass failpoints. */
  readonly #placed = new Set<string>();
  #attempts = 0;
  #turn = 0;

  constructor(stage: BuilderStage, scenario: string) {
    this.#stage = stage;
    this.#scenario = scenario;
    this.#headers = new HeaderLayouts(stage.target, stage.secrets);
  }

  build(plan: AttemptPlan, isPersistent = false): BuiltAttempt {
    const { file, contract } = this.#stage.target;
    const operation = file.operations[plan.endpoint];
    if (operation === undefined || file.callers[plan.caller] === undefined) {
      throw new Error(`the plan names ${plan.endpoint} and ${plan.caller}, which the target file does not`);
    }
    this.#sent.add(plan.operation);
    const names = this.#named(plan.operation);
    const reference = plan.reference === undefined ? names.reference : this.#named(plan.reference).reference;
    const payload = plan.payload ?? { kind: "original" };
    const key = this.#key(plan, names);
    const query = plan.withQuery && operation.query ? operation.query : "";
    const text = renderBody(operation, payload, reference);
    const { placement } = contract.key;
    const headers = this.#headers.of({
      plan,
      key,
      isPlaced: this.#placed.has(plan.operation),
      hasBody: text !== "",
    });
    const request: HttpRequest = {
      method: operation.request.method,
      path: pathOf(operation.request.path.replaceAll("${operation}", encodeURIComponent(reference)), query),
      headers: headers.sent,
      body: key !== null && "body" in placement ? withKeyInBody(text, placement.body, key) : text,
    };
    if (key !== null) this.#stage.keys.add(key);
    this.#attempts += 1;
    const attempt: Attempt = {
      id: `${this.#scenario}#${this.#attempts}`,
      scenario: this.#scenario,
      operation: names.operation,
      reference,
      endpoint: plan.endpoint,
      key: recordedKey(key, placement),
      caller: plan.caller,
      query,
      replica: plan.replica ?? this.#nextReplica(),
      payload,
      fingerprint: fingerprintOf(payload, reference),
      condition: plan.condition ?? null,
      malformed: plan.malformed ?? null,
      forged: plan.forged ?? false,
      persistent: isPersistent,
      request: {
        ...request,
        path: redacted(request.path, this.#stage.secrets),
        headers: headers.recorded,
        body: redacted(request.body, this.#stage.secrets),
      },
    };
    return { attempt, request, abortAfterMs: plan.abortAfterMs ?? null, isThroughLink: plan.throughLink ?? false };
  }

  /** From now on the operation's attempts ask at every phase what is to happen. */
  place(operation: string): void {
    this.#placed.add(operation);
  }

  namesOf(operation: string): Named {
    return this.#named(operation);
  }

  /** True when none of these operations was sent before. */
  isFresh(plans: readonly AttemptPlan[]): boolean {
    return plans.every(({ operation }) => !this.#sent.has(operation));
  }

  /** Gives the operations new names, so that a repeated burst is a new race. */
  renew(plans: readonly AttemptPlan[]): void {
    for (const name of new Set(plans.map(({ operation }) => operation))) {
      this.#tries.set(name, (this.#tries.get(name) ?? 1) + 1);
    }
  }

  #named(name: string): Named {
    return named(this.#stage.runId, this.#scenario, name, this.#tries.get(name) ?? 1);
  }

  #key(plan: AttemptPlan, names: Named): string | null {
    if (plan.key === null) return null;
    if (plan.key === undefined) return names.uuid;
    return plan.key
      .replace(/\$\{uuid:([^}]+)\}/g, (_, name: string) => this.#named(name).uuid)
      .replaceAll("${unique}", uniqueText(this.#stage.runId, this.#scenario));
  }

  #nextReplica(): number {
    const replica = this.#turn % this.#stage.running.urls.length;
    this.#turn += 1;
    return replica;
  }
}

/** Space around a field's value is not part of it (RFC 9110 section 5.5). */
function recordedKey(key: string | null, placement: Contract["key"]["placement"]): string | null {
  return key !== null && "header" in placement ? key.trim() : key;
}

function pathOf(path: string, query: string): string {
  if (query === "") return path;
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}
