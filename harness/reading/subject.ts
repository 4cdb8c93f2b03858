/** What attempts of one operation have in common. Few invariants look at the request, so it is made when one does. */
import type { Attempt } from "../operation.ts";
import type { Texts } from "./texts.ts";

export type Subject = Omit<Attempt, "id" | "replica">;

export class KeptSubject implements Subject {
  readonly scenario: Attempt["scenario"];
  readonly operation: Attempt["operation"];
  readonly reference: Attempt["reference"];
  readonly endpoint: Attempt["endpoint"];
  readonly key: Attempt["key"];
  readonly caller: Attempt["caller"];
  readonly query: Attempt["query"];
  readonly payload: Attempt["payload"];
  readonly fingerprint: Attempt["fingerprint"];
  readonly condition: Attempt["condition"];
  readonly malformed: Attempt["malformed"];
  readonly forged: Attempt["forged"];
  readonly persistent: Attempt["persistent"];
  readonly #readRequest: () => Attempt["request"];
  #request: Attempt["request"] | null = null;

  constructor(own: Omit<Subject, "request">, texts: Texts, readRequest: () => Attempt["request"]) {
    this.scenario = own.scenario;
    this.operation = own.operation;
    this.reference = own.reference;
    // Those that many have in common are compared, and looked up, many times.
    this.endpoint = texts.one(own.endpoint);
    this.key = own.key;
    this.caller = texts.one(own.caller);
    this.query = own.query;
    this.payload = own.payload;
    this.fingerprint = own.fingerprint;
    this.condition = own.condition;
    this.malformed = own.malformed;
    this.forged = own.forged;
    this.persistent = own.persistent;
    this.#readRequest = readRequest;
  }

  get request(): Attempt["request"] {
    this.#request ??= this.#readRequest();
    return this.#request;
  }
}
