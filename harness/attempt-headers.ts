/**
 * The headers of attempts, as they are sent and as they are recorded. Only the key differs from one attempt to the
 * next, so everything else is laid out once: a bench asks thousands of times a second.
 */
import type { Headers } from "./operation.ts";
import type { AttemptPlan } from "./scenario.ts";
import { redacted, redactedHeaders } from "./secrets.ts";
import type { Target } from "./target.ts";

export interface AttemptHeaders {
  readonly sent: Headers;
  /** Whose they are instead of what they hold. */
  readonly recorded: Headers;
}

/** What decides about every header but the key's value. */
export interface Situation {
  readonly plan: AttemptPlan;
  readonly key: string | null;
  /** The operation's attempts pass failpoints. */
  readonly isPlaced: boolean;
  readonly hasBody: boolean;
}

interface Layout extends AttemptHeaders {
  /** Where the key is to be put in; null: it is not sent in a header, or another header of its name covers it. */
  readonly keyHeader: string | null;
  /** Recorded as the caller's, whatever it is. */
  readonly isKeyCallers: boolean;
}

/** Stands where the key will. No header can hold it. */
const KEY = "\0";

export class HeaderLayouts {
  readonly #target: Target;
  readonly #secrets: readonly string[];
  readonly #layouts = new Map<string, Layout>();

  constructor(target: Target, secrets: readonly string[]) {
    this.#target = target;
    this.#secrets = secrets;
  }

  of(situation: Situation): AttemptHeaders {
    const { sent, recorded, keyHeader, isKeyCallers } = this.#layout(situation);
    const { key } = situation;
    if (keyHeader === null || key === null) return { sent, recorded };
    return {
      sent: { ...sent, [keyHeader]: key },
      recorded: isKeyCallers ? recorded : { ...recorded, [keyHeader]: redacted(key, this.#secrets) },
    };
  }

  #layout(situation: Situation): Layout {
    const { plan, key, isPlaced, hasBody } = situation;
    const { endpoint, caller } = plan;
    // With the length of the one name, two names are never taken for two others.
    const name = `${plan.condition} ${plan.forged} ${key === null} ${isPlaced} ${hasBody} ${endpoint.length} ${endpoint} ${caller}`;
    let layout = this.#layouts.get(name);
    if (layout === undefined) {
      layout = this.#laidOut(situation);
      this.#layouts.set(name, layout);
    }
    return layout;
  }

  #laidOut({ plan, key, isPlaced, hasBody }: Situation): Layout {
    const { file, contract } = this.#target;
    const operation = file.operations[plan.endpoint];
    const { headers: own = {} } = file.callers[plan.caller] ?? {};
    const { placement } = contract.key;
    const name = key !== null && "header" in placement ? placement.header.toLowerCase() : null;
    const sent: Headers = {
      ...(hasBody ? { "content-type": "application/json" } : {}),
      ...lowerCased(operation?.request.headers),
      ...lowerCased(own),
      ...(name === null ? {} : { [name]: KEY }),
      ...lowerCased(plan.condition ? operation?.[plan.condition]?.headers : undefined),
      ...(isPlaced ? lowerCased(operation?.failpoints?.headers) : {}),
      ...(plan.forged ? Object.fromEntries(contract.internalHeaders.map((one) => [one.toLowerCase(), "true"])) : {}),
    };
    const recorded = redactedHeaders(sent, own, plan.caller, this.#secrets);
    const keyHeader = name !== null && sent[name] === KEY ? name : null;
    return { sent, recorded, keyHeader, isKeyCallers: keyHeader !== null && recorded[keyHeader] !== KEY };
  }
}

function lowerCased(headers: Headers | undefined): Headers {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
}
