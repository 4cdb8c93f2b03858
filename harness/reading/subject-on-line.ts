/**
 * A subject that is new, found on a line as a journal writes it: its three parts are parsed, and nothing else. Another
 * order of members, another member, or one where none belongs, and the line is none of a journal's.
 */
import type { LineCursor } from "./line-cursor.ts";

/** What stands on a line around the parts that are the subject's own. */
export const [BEFORE, REPLICA, REQUEST, END] = ['",', ',"replica":', ',"request":', "}}"];

const FIRST = "scenario,operation,reference,endpoint,key,caller,query";
const SECOND = "payload,fingerprint,condition,malformed,forged,persistent";
const THIRD = "method,path,headers,body";
const [QUOTE, COMMA, BRACE] = [0x22, 0x2c, 0x7d];

export interface SubjectOnLine {
  readonly operation: string;
  readonly replica: number;
  readonly replicaFrom: number;
  readonly replicaUntil: number;
  readonly requestFrom: number;
}

/** From behind an attempt's id; null: it has to be read as JSON. */
export function subjectOnLine(cursor: LineCursor, scenario: string): SubjectOnLine | null {
  const { bytes, at, until } = cursor;
  // No text can hold this with bare quotes: it is a member, and the first of its name.
  const replicaAt = bytes.indexOf(REPLICA, at, "latin1");
  if (bytes[at] !== QUOTE || bytes[at + 1] !== COMMA || replicaAt < 0 || replicaAt >= until) return null;
  cursor.at = replicaAt + REPLICA.length;
  const replicaFrom = cursor.at;
  const replica = cursor.integer();
  const replicaUntil = cursor.at;
  const requestFrom = bytes.indexOf(REQUEST, replicaUntil, "latin1");
  if (replica < 0 || requestFrom < 0 || requestFrom >= until || bytes[replicaUntil] !== COMMA) return null;
  if (bytes[until - 1] !== BRACE || bytes[until - 2] !== BRACE) return null;
  const first = membersIn(`{${bytes.toString("utf8", at + BEFORE.length, replicaAt)}}`, FIRST);
  const second = membersIn(`{${bytes.toString("utf8", replicaUntil + 1, requestFrom)}}`, SECOND);
  const third = membersIn(bytes.toString("utf8", requestFrom + REQUEST.length, until - END.length), THIRD);
  if (first === null || second === null || third === null || !areTexts(first) || first["scenario"] !== scenario) {
    return null;
  }
  return { operation: String(first["operation"]), replica, replicaFrom, replicaUntil, requestFrom };
}

/** Null: no object, or not with these members in this order. */
function membersIn(text: string, names: string): Readonly<Record<string, unknown>> | null {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found !== "object" || found === null || Object.keys(found).join() !== names) return null;
    return found as Readonly<Record<string, unknown>>;
  } catch {
    return null;
  }
}

function areTexts({ key, ...others }: Readonly<Record<string, unknown>>): boolean {
  return (key === null || typeof key === "string") && Object.values(others).every((one) => typeof one === "string");
}
