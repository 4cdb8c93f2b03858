/** The answers of the simulated server, as its store keeps them and as they leave it. */
import type { Effect } from "../event.ts";
import type { Micros, Responded } from "../operation.ts";
import type { StoredAnswer } from "./simulated-store.ts";

export const REPLAYED_HEADER = "idempotency-replayed";
/** The server tells times by a clock of its own. */
const CLOCK_OFFSET_MICROS = 7_000_000_000;

/** The receipt makes two executions tell themselves apart even where their rows would not. */
export function accepted({ operation, columns }: Effect, receipt: number): StoredAnswer {
  return {
    status: 201,
    headers: { "content-type": "application/json; charset=utf-8", location: `/orders/${columns["id"]}` },
    body: JSON.stringify({ ...columns, reference: operation, receipt }),
  };
}

export function problem(status: number, slug: string, more: Readonly<Record<string, string>> = {}): StoredAnswer {
  return {
    status,
    headers: { "content-type": "application/problem+json; charset=utf-8" },
    body: JSON.stringify({ type: `https://example.com/problems/${slug}`, status, ...more }),
  };
}

export function invalidOrder(): StoredAnswer {
  return problem(400, "invalid-order");
}

export function unavailable(): StoredAnswer {
  return problem(503, "unavailable");
}

export function withHeader(answer: StoredAnswer, name: string, value: string): StoredAnswer {
  return { ...answer, headers: { ...answer.headers, [name]: value } };
}

/** With what differs from answer to answer, replays included. */
export function responded(answer: StoredAnswer, requestId: number, arrivedAt: Micros, answeredAt: Micros): Responded {
  const { status, headers, body } = answer;
  const own = {
    "x-request-id": String(requestId),
    "lab-arrived-micros": String(arrivedAt + CLOCK_OFFSET_MICROS),
    "lab-answered-micros": String(answeredAt + CLOCK_OFFSET_MICROS),
  };
  return {
    kind: "responded",
    status,
    headers: { ...headers, ...own },
    body: { text: body, bytes: Buffer.byteLength(body) },
  };
}
