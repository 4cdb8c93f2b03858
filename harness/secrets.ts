/**
 * What callers prove themselves with must not get into histories, logs or reports. Secrets are the values
 * of their headers; a value that is also a caller's name says nothing new and stays readable.
 */
import type { Headers, Outcome } from "./operation.ts";
import type { TargetFile } from "./target.ts";

/** Shorter texts occur by chance and hide nothing. */
const SECRET_CHARACTERS_MIN = 4;
/** Numbers shorter than this are amounts and counts; a body without them could not be judged. */
const SECRET_DIGITS_MIN = 8;
const SECRET_HEADER = /auth|token|secret|cookie|key|password|session|signature|credential/i;
/** What every client says of itself. */
const PUBLIC_HEADER = /^(accept.*|content-.*|user-agent|idempotency-.*|prefer|cache-control|expect)$/i;
const JSON_WORDS = new Set(["true", "false", "null"]);
const REDACTED = "[redacted]";

/**
 * Every text to be kept out, the longest first, in each spelling in which a target may repeat it. `urls` are
 * those of services beside the target's file, for their passwords.
 */
export function secretsOf(file: TargetFile, urls: readonly string[] = []): readonly string[] {
  const names = new Set(Object.keys(file.callers));
  const secrets = [...rawSecrets(file), ...urls.flatMap(passwordIn)]
    .filter((text) => isWorthHiding(text) && !names.has(text))
    .flatMap(spellings);
  return [...new Set(secrets)].sort((one, other) => other.length - one.length);
}

function rawSecrets(file: TargetFile): readonly string[] {
  const { callers, operations, effects, records, urls = [] } = file;
  const books = [effects, records].flatMap((source) => source ?? []);
  return [
    ...Object.values(callers).flatMap(({ headers }) => valuesOf(headers, (name) => !PUBLIC_HEADER.test(name))),
    ...Object.values(operations).flatMap(({ request }) =>
      valuesOf(request.headers, (name) => SECRET_HEADER.test(name)),
    ),
    ...books.flatMap((source) =>
      "http" in source ? valuesOf(source.headers, (name) => !PUBLIC_HEADER.test(name)) : passwordIn(source.on),
    ),
    ...urls.flatMap(passwordIn),
  ];
}

function valuesOf(headers: Headers | undefined, isSecret: (name: string) => boolean): readonly string[] {
  return Object.entries(headers ?? {}).flatMap(([name, value]) => (isSecret(name) ? partsOf(name, value) : []));
}

/** A value and the parts of it that a target may repeat alone. */
function partsOf(name: string, value: string): readonly string[] {
  const word = value.split(" ").at(-1) ?? "";
  const cookies = /cookie/i.test(name) ? value.split(";").map((one) => one.slice(one.indexOf("=") + 1).trim()) : [];
  const basic = /^basic /i.test(value) ? Buffer.from(word, "base64").toString("utf8") : "";
  return [value, word, ...cookies, basic, basic.slice(basic.indexOf(":") + 1)];
}

function isWorthHiding(text: string): boolean {
  const isNumber = /^\d+$/.test(text);
  return text.length >= (isNumber ? SECRET_DIGITS_MIN : SECRET_CHARACTERS_MIN) && !JSON_WORDS.has(text);
}

/** As it is, inside JSON with or without escaped slashes, and inside a URL. */
function spellings(text: string): readonly string[] {
  const json = JSON.stringify(text).slice(1, -1);
  return [text, json, json.replaceAll("/", "\\/"), encodeURIComponent(text)];
}

/** The password that a URL carries, as it stands and as it is sent. */
export function passwordIn(url: string): string[] {
  const password = URL.canParse(url) ? new URL(url).password : "";
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    // A lone percent sign: then it is the password as it stands.
    return [password];
  }
}

export function redacted(text: string, secrets: readonly string[]): string {
  if (!holdsAny(text, secrets)) return text;
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, standIn(secret)), text);
}

/** Of each list those that hold no other of it: where none of these is, none is. Under load this is asked ten times a request. */
const shortestOf = new WeakMap<readonly string[], readonly string[]>();

function holdsAny(text: string, secrets: readonly string[]): boolean {
  let shortest = shortestOf.get(secrets);
  if (shortest === undefined) {
    shortest = secrets.filter((one) => !secrets.some((other) => other !== one && one.includes(other)));
    shortestOf.set(secrets, shortest);
  }
  return shortest.some((secret) => text.includes(secret));
}

/** A number may stand in JSON without quotes, where only another number keeps it JSON. */
function standIn(secret: string): string {
  return /^\d+$/.test(secret) ? "9".repeat(secret.length) : REDACTED;
}

/** Request headers as the history keeps them: whose they are instead of what they hold. */
export function redactedHeaders(
  headers: Headers,
  callerHeaders: Headers,
  caller: string,
  secrets: readonly string[],
): Headers {
  const own = new Set(Object.keys(callerHeaders).map((name) => name.toLowerCase()));
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      own.has(name.toLowerCase()) ? `[${caller}]` : redacted(value, secrets),
    ]),
  );
}

export function redactedOutcome(outcome: Outcome, secrets: readonly string[]): Outcome {
  if (outcome.kind !== "responded") return outcome;
  const isClean =
    !holdsAny(outcome.body.text, secrets) && !Object.values(outcome.headers).some((value) => holdsAny(value, secrets));
  if (isClean) return outcome;
  const headers = Object.entries(outcome.headers).map(([name, value]) => [name, redacted(value, secrets)]);
  return {
    ...outcome,
    headers: Object.fromEntries(headers) as Headers,
    body: { ...outcome.body, text: redacted(outcome.body.text, secrets) },
  };
}
