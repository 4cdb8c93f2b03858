/** Reads the target's books over HTTP: a path, a pointer to the rows, a pointer for each column. */
import { parseJson, valueAt } from "../answers.ts";
import { openExchange } from "../burst/exchange.ts";
import { Failure } from "../fail.ts";
import type { Row } from "./books.ts";

const READ_MS = 10_000;

export interface HttpBooks {
  readonly http: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly rows: string;
  readonly columns: Readonly<Record<string, string>>;
}

export async function readHttp(base: URL, books: HttpBooks): Promise<readonly Row[]> {
  const [method = "GET", path = "/"] = books.http.split(" ");
  const request = { method, path, headers: { ...books.headers }, body: "" };
  const exchange = openExchange(base, request, { gate: "none", timeoutMs: READ_MS, bytesMax: 64 * 1024 * 1024 });
  await exchange.armed;
  exchange.release();
  const outcome = await exchange.outcome;
  if (outcome.kind !== "responded") throw new Failure("not-ready", `${books.http} gave no answer (${outcome.reason})`);
  if (outcome.status !== 200) throw new Failure("not-ready", `${books.http} answered ${outcome.status}, expected 200`);
  const rows = valueAt(parseJson(outcome.body.text), books.rows);
  if (!Array.isArray(rows)) {
    throw new Failure(
      "not-ready",
      `${books.http}: found no array at ${books.rows || "the top"}, expected the rows there`,
    );
  }
  return rows.map((row) =>
    Object.fromEntries(Object.entries(books.columns).map(([column, pointer]) => [column, valueAt(row, pointer)])),
  );
}
