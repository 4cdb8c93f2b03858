/**
 * What attempts of one operation have in common, each once: they differ in little more than their id, replica and
 * times. Kept are the bytes that a journal writes of it, so that one that is known is found on a line by them.
 */
import type { Attempt } from "../operation.ts";
import { ByteStore } from "./byte-store.ts";
import { isPlain, type LineCursor } from "./line-cursor.ts";
import { KeptSubject, type Subject } from "./subject.ts";
import { BEFORE, END, REPLICA, REQUEST, subjectOnLine } from "./subject-on-line.ts";
import { Texts } from "./texts.ts";

/** Where the bytes of one stand: up to the replica, after it, and of the request. */
interface Kept {
  readonly index: number;
  readonly from: number;
  readonly replicaAt: number;
  readonly requestAt: number;
  readonly until: number;
}

export interface Found {
  readonly index: number;
  readonly replica: number;
}

export class Subjects {
  readonly #bytes = new ByteStore();
  readonly #kept: Kept[] = [];
  /** By `digestOf` the operation's name. */
  readonly #known = new Map<number, Kept[]>();

  indexOf(attempt: Attempt): number {
    const { scenario, operation, reference, endpoint, key, caller, query, payload, fingerprint } = attempt;
    const { condition, malformed, forged, persistent } = attempt;
    const { method, path, headers, body } = attempt.request;
    const first = { scenario, operation, reference, endpoint, key, caller, query };
    const second = { payload, fingerprint, condition, malformed, forged, persistent };
    const from = this.#bytes.end;
    this.#bytes.add(`${BEFORE}${JSON.stringify(first).slice(1, -1)}${REPLICA}`);
    const replicaAt = this.#bytes.end;
    this.#bytes.add(`,${JSON.stringify(second).slice(1, -1)}`);
    const requestAt = this.#bytes.end;
    this.#bytes.add(`${REQUEST}${JSON.stringify({ method, path, headers, body })}${END}`);
    const subject = { index: this.#kept.length, from, replicaAt, requestAt, until: this.#bytes.end };
    const known = this.#knownTo(digestOf(operation)).find((one) => this.#isSame(one, subject));
    if (known === undefined) return this.#keep(subject, operation);
    this.#bytes.cut(from);
    return known.index;
  }

  /**
   * From behind an attempt's id to the end of its line; null: another line than a journal writes. `operationAt`: where
   * the operation's name would begin.
   */
  indexOnLine(cursor: LineCursor, scenario: string, operationAt: number): Found | null {
    const { at } = cursor;
    for (const { index, from, replicaAt, until } of this.#known.get(digestOnLine(cursor, operationAt)) ?? NONE) {
      cursor.at = at;
      if (!cursor.skipStored(this.#bytes, from, replicaAt)) continue;
      const replica = cursor.integer();
      if (replica >= 0 && cursor.skipStored(this.#bytes, replicaAt, until) && cursor.at === cursor.until) {
        return { index, replica };
      }
    }
    cursor.at = at;
    return this.#newOnLine(cursor, scenario);
  }

  /** All of them, by index, made anew. */
  all(): readonly Subject[] {
    const texts = new Texts();
    return this.#kept.map(({ from, replicaAt, requestAt, until }) => {
      const first = this.#bytes.text(from + BEFORE.length, replicaAt - REPLICA.length);
      const second = this.#bytes.text(replicaAt, requestAt);
      return new KeptSubject(JSON.parse(`{${first}${second}}`), texts, () =>
        JSON.parse(this.#bytes.text(requestAt + REQUEST.length, until - END.length)),
      );
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

  #newOnLine(cursor: LineCursor, scenario: string): Found | null {
    const { bytes, at, until } = cursor;
    const found = subjectOnLine(cursor, scenario);
    // Whose name is not plain is not found again by its bytes.
    if (found === null || !isPlain(found.operation)) return null;
    const from = this.#bytes.end;
    this.#bytes.addBytes(bytes, at, found.replicaFrom);
    const replicaAt = this.#bytes.end;
    this.#bytes.addBytes(bytes, found.replicaUntil, until);
    const end = this.#bytes.end;
    const requestAt = end - (until - found.requestFrom);
    const subject = { index: this.#kept.length, from, replicaAt, requestAt, until: end };
    return { index: this.#keep(subject, found.operation), replica: found.replica };
  }

  #keep(subject: Kept, operation: string): number {
    this.#kept.push(subject);
    this.#knownTo(digestOf(operation)).push(subject);
    return subject.index;
  }

  #isSame(one: Kept, other: Kept): boolean {
    return (
      one.replicaAt - one.from === other.replicaAt - other.from &&
      one.until - one.from === other.until - other.from &&
      this.#bytes.isRepeated(one.from, one.until, other.from)
    );
  }
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
