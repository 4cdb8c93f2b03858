/**
 * What attempts of one operation have in common, each once: they differ in little more than their id, replica and
 * times. Kept are the bytes that a journal writes of it, so that one that is known is found on a line by them.
 */
import type { Attempt } from "../operation.ts";
import { ByteStore } from "./byte-store.ts";
import type { LineCursor } from "./line-cursor.ts";
import { Texts } from "./texts.ts";

export type Subject = Omit<Attempt, "id" | "replica">;

/** Where the bytes of one stand: up to the replica, and after it. */
interface Kept {
  readonly index: number;
  readonly from: number;
  readonly replicaAt: number;
  readonly until: number;
}

/** What stands on a line around the bytes that are the subject's own. */
const [BEFORE, REPLICA, END] = ['",', ',"replica":', "}"];

export class Subjects {
  readonly #bytes = new ByteStore();
  readonly #kept: Kept[] = [];
  /** By `digestOf` the operation's name. */
  readonly #known = new Map<number, Kept[]>();

  indexOf(attempt: Attempt): number {
    const { scenario, operation, reference, endpoint, key, caller, query, payload, fingerprint } = attempt;
    const { condition, malformed, forged, persistent, request } = attempt;
    const { method, path, headers, body } = request;
    const first = { scenario, operation, reference, endpoint, key, caller, query };
    const second = { payload, fingerprint, condition, malformed, forged, persistent };
    const from = this.#bytes.end;
    this.#bytes.add(`${BEFORE}${JSON.stringify(first).slice(1, -1)}${REPLICA}`);
    const replicaAt = this.#bytes.end;
    this.#bytes.add(`,${JSON.stringify({ ...second, request: { method, path, headers, body } }).slice(1)}${END}`);
    const subject = { index: this.#kept.length, from, replicaAt, until: this.#bytes.end };
    const known = this.#knownTo(digestOf(operation));
    const before = known.find((one) => this.#isSame(one, subject));
    if (before === undefined) {
      this.#kept.push(subject);
      known.push(subject);
      return subject.index;
    }
    this.#bytes.cut(from);
    return before.index;
  }

  /**
   * From behind an attempt's id to the end of its line; null: not a known subject, to the byte. `operationAt`: where
   * the operation's name would begin.
   */
  indexOnLine(cursor: LineCursor, operationAt: number): SubjectOnLine | null {
    const { at } = cursor;
    for (const { index, from, replicaAt, until } of this.#known.get(digestOnLine(cursor, operationAt)) ?? NONE) {
      cursor.at = at;
      if (!cursor.skipStored(this.#bytes, from, replicaAt)) continue;
      const replica = cursor.integer();
      if (replica >= 0 && cursor.skipStored(this.#bytes, replicaAt, until) && cursor.at === cursor.until) {
        return { index, replica };
      }
    }
    return null;
  }

  /** All of them, by index, made anew. */
  all(): readonly Subject[] {
    const texts = new Texts();
    return this.#kept.map(({ from, replicaAt, until }) => {
      const first = this.#bytes.text(from + BEFORE.length, replicaAt - REPLICA.length);
      const subject = JSON.parse(`{${first}${this.#bytes.text(replicaAt, until - END.length)}`);
      // Those that many have in common are compared, and looked up, many times.
      subject.endpoint = texts.one(subject.endpoint);
      subject.caller = texts.one(subject.caller);
      return subject as Subject;
    });
  }

  /** Forgets what it compares with: what comes later is kept again. */
  close(): void {
    this.#known.clear();
    this.#bytes.trim();
  }

  #knownTo(digest: number): Kept[] {
    const known = this.#known.get(digest) ?? [];
    this.#known.set(digest, known);
    return known;
  }

  #isSame(one: Kept, other: Kept): boolean {
    return (
      one.replicaAt - one.from === other.replicaAt - other.from &&
      one.until - one.from === other.until - other.from &&
      this.#bytes.isRepeated(one.from, one.until, other.from)
    );
  }
}

export interface SubjectOnLine {
  readonly index: number;
  readonly replica: number;
}

const NONE: readonly Kept[] = [];
const QUOTE = 0x22;

/** A number that equal names have in common, and others hardly ever. Only a plain name is found by it on a line. */
function digestOf(name: unknown): number {
  let digest = 0;
  if (typeof name !== "string") return digest;
  for (let index = 0; index < name.length; index += 1) digest = digested(digest, name.charCodeAt(index));
  return digest;
}

function digestOnLine({ bytes, until }: LineCursor, from: number): number {
  let digest = 0;
  for (let at = from; at < until; at += 1) {
    const byte = bytes[at] ?? QUOTE;
    if (byte === QUOTE) break;
    digest = digested(digest, byte);
  }
  return digest;
}

function digested(digest: number, byte: number): number {
  return (31 * digest + byte) & 0x3fffffff;
}
