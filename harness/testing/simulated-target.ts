/** The file by which the simulated server is described: the reference's own, without what starts it. */
import type { ContractOverrides } from "../contract.ts";
import type { RunFacts } from "../event.ts";
import type { Target } from "../target.ts";
import { parseTarget } from "../target-file/target-file.ts";

export const RUN_ID = "ip00000000";

const order = {
  success: [201],
  outcome: { "/amount": 2999, "/currency": "eur", "/item": "pen", "/reference": "${operation}-b" },
  equal: [
    { currency: "USD" },
    { raw: '{"amount":1999.0,"currency":"usd","item":"book","reference":"${operation}"}' },
    { raw: '{"amount":1.999e3,"currency":"usd","item":"b\\u006fok","reference":"${operation}"}' },
    { raw: '{"amount":1999,"item":"book","reference":"${operation}"}' },
  ],
  different: [
    [
      { raw: '{"amount":9007199254740993,"currency":"usd","item":"book","reference":"${operation}"}' },
      { raw: '{"amount":9007199254740992,"currency":"usd","item":"book","reference":"${operation}"}' },
    ],
  ],
  invalid: { amount: -1 },
  invalidStatus: [400],
  query: "channel=phone",
  slow: { headers: { "lab-work-ms": "250" }, ms: 250 },
  fails: { headers: { "lab-fail": "before-effect" } },
};

export function simulatedTarget(replicas: number, contract: ContractOverrides): Target {
  const body = { amount: 1999, currency: "usd", item: "book", reference: "${operation}" };
  const file = {
    name: "simulated",
    urls: Array.from({ length: replicas }, (_, index) => `http://127.0.0.1:${index + 1}/`),
    arrival: { header: "lab-arrived-micros", answered: "lab-answered-micros" },
    callers: {
      alice: { headers: { authorization: "Bearer alice-token" } },
      bob: { headers: { authorization: "Bearer bob-token" } },
    },
    operations: {
      "create-order": { ...order, request: { method: "POST", path: "/orders", body } },
      "create-refund": { ...order, request: { method: "POST", path: "/refunds", body } },
    },
    contract: { extends: "strict", retentionMs: 4_000, leaseMs: 1_000, ...contract },
    effects: {
      sql: "select id, reference as operation, amount, currency, item from ledger",
      on: "postgres://127.0.0.1/simulated",
    },
    records: { sql: "select key, state from idempotency_keys", on: "postgres://127.0.0.1/simulated" },
  };
  return parseTarget(file, "/", (complaints) => {
    throw new Error(complaints.map(({ message }) => message).join("; "));
  });
}

export function simulatedRunFacts({ file, contract }: Target, seed: number): RunFacts {
  return {
    runId: RUN_ID,
    seed,
    startedAt: "2026-12-01T00:00:00Z",
    version: "0.0.0",
    target: file.name,
    command: "idemproof run",
    urls: file.urls ?? [],
    callers: Object.keys(file.callers),
    callerHeaders: Object.fromEntries(
      Object.entries(file.callers).map(([name, { headers }]) => [name, Object.keys(headers)]),
    ),
    endpoints: Object.fromEntries(
      Object.entries(file.operations).map(([name, operation]) => [
        name,
        {
          success: operation.success,
          invalidStatus: operation.invalidStatus,
          answer: operation.answer ?? null,
          slowMs: operation.slow?.ms ?? null,
        },
      ]),
    ),
    contract,
    books: { effects: true, records: true },
    completedStates: file.records?.completed ?? [],
  };
}
