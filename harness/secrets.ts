/**
 * What callers prove themselves with must not get into histories, logs or reports. Secrets are the values
 * of their headers; a value that is also a caller's name says nothing new and stays readable.
 */
import type { Headers, Outcome } from "./operation.ts";
import type { TargetFile } from "./target.ts";

/** Shorter texts occur by chance and hide nothing. */
const SECRET_CHARACTERS_MIN = 4;
const SECRET_HEADER = /auth|token|secret|cookie|api-?key|password/i;
const REDACTED = "[redacted]";

export function secretsOf(file: TargetFile): readonly string[] {
  const values = [
    ...Object.values(file.callers).flatMap(({ headers }) => Object.values(headers)),
    ...Object.values(file.operations).flatMap(({ request }) => secretValues(request.headers ?? {})),
    ...[file.effects, file.records].flatMap((books) =>
      books && "http" in books ? Object.values(books.headers ?? {}) : [],
    ),
    ...[file.effects, file.records].flatMap((books) => (books && "on" in books ? passwordIn(books.on) : [])),
  ];
  const names = new Set(Object.keys(file.callers));
  const secrets = new Set(
    values
      .flatMap((value) => [value, value.split(" ").at(-1) ?? ""])
      .filter((text) => text.length >= SECRET_CHARACTERS_MIN && !names.has(text)),
  );
  return [...secrets].sort((one, other) => other.length - one.length);
}

function passwordIn(url: string): string[] {
  const password = URL.canParse(url) ? new URL(url).password : "";
  return password === "" ? [] : [password, decodeURIComponent(password)];
}

function secretValues(headers: Headers): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => (SECRET_HEADER.test(name) ? [value] : []));
}

export function redacted(text: string, secrets: readonly string[]): string {
  return secrets.reduce((clean, secret) => clean.replaceAll(secret, REDACTED), text);
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
  const headers = Object.entries(outcome.headers).map(([name, value]) => [name, redacted(value, secrets)]);
  return {
    ...outcome,
    headers: Object.fromEntries(headers) as Headers,
    body: { ...outcome.body, text: redacted(outcome.body.text, secrets) },
  };
}
