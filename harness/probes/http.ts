/** Reads the target's books over HTTP: a path, a pointer to the rows, a pointer for each column. */
import { excerpt, parseJson, valueAt } from "../evidence/answers.ts";
import type { HttpRequest, Responded } from "../operation.ts";
import { lossInWords, sendOnce } from "../send-once.ts";
import type { Reading } from "./books.ts";

/** Books larger than this are not what a test needs to read. */
const BOOKS_BYTES_MAX = 64 * 1024 * 1024;
/** A target that has fallen silent is not waited for longer. */
const ANSWER_MS = 5_000;

export interface HttpBooks {
  readonly http: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly rows: string;
  readonly columns: Readonly<Record<string, string>>;
}

export async function readHttp(
  urls: readonly URL[],
  books: HttpBooks,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Reading> {
  const [method = "GET", path = "/"] = books.http.split(" ");
  const request = { method, path, headers: { ...books.headers }, body: "" };
  const answer = await firstAnswer(urls, request, signal, timeoutMs);
  if (answer.status !== 200) {
    throw new Error(`${books.http} answered ${answer.status} with ${excerpt(answer.body.text)}, expected 200`);
  }
  const rows = rowsIn(answer, books);
  const names = Object.entries(books.columns);
  return {
    columns: names.map(([column]) => column),
    rows: rows.map((row) => Object.fromEntries(names.map(([column, pointer]) => [column, valueAt(row, pointer)]))),
  };
}

/** A replica may be paused or ended; the books are the same behind all of them. */
async function firstAnswer(
  urls: readonly URL[],
  request: HttpRequest,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Responded> {
  const share = Math.ceil(Math.min(timeoutMs, ANSWER_MS) / Math.max(1, urls.length));
  const losses: string[] = [];
  for (const url of urls) {
    const outcome = await sendOnce(url, request, { timeoutMs: share, bytesMax: BOOKS_BYTES_MAX, signal });
    if (outcome.kind === "responded") return outcome;
    losses.push(lossInWords(outcome, share));
  }
  throw new Error(`${request.method} ${request.path} got ${[...new Set(losses)].join(", and ") || "nowhere to go"}`);
}

function rowsIn(answer: Responded, books: HttpBooks): readonly unknown[] {
  const document = parseJson(answer.body.text);
  if (document === undefined) {
    throw new Error(`${books.http} answered ${excerpt(answer.body.text) || "an empty body"}, expected JSON`);
  }
  const rows = valueAt(document, books.rows);
  if (Array.isArray(rows)) return rows;
  const place = books.rows === "" ? "the top of its answer" : books.rows;
  throw new Error(`${books.http}: found no list at ${place}, expected the rows there`);
}
