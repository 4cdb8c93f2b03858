import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Keeper } from "./keeper.ts";
import { startPostgres } from "./postgres.ts";
import { MessageReader, RoundTripCounter } from "./round-trips.ts";

let logs = "";
let keeper: Keeper;
let url = "";
beforeAll(async () => {
  logs = await mkdtemp(join(tmpdir(), "idemproof-round-trips-"));
  keeper = new Keeper();
  ({ url } = await startPostgres(keeper, logs));
});
afterAll(async () => {
  await keeper[Symbol.asyncDispose]();
  await rm(logs, { recursive: true, force: true });
});

test("one statement is one round trip, and so are several that are sent at once", async () => {
  await using counter = await RoundTripCounter.open(url);
  const client = new pg.Client({ connectionString: counter.url });
  await client.connect();
  const before = counter.count;
  await client.query("select repeat('Z', 200000)");
  await client.query("select $1::text", ["a"]);
  expect(counter.count - before).toBe(2);
  await client.query("begin; select 1; commit");
  expect(counter.count - before).toBe(3);
  await client.end();
});

test("messages are told apart wherever the stream is cut", () => {
  const message = (type: string, body: string): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(4 + body.length);
    return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
  };
  const stream = Buffer.concat([message("D", "ZZZZZZZZ"), message("C", ""), message("Z", "I"), message("Z", "T")]);
  for (let size = 1; size <= stream.length; size += 1) {
    const types: string[] = [];
    const reader = new MessageReader((type) => types.push(String.fromCharCode(type)));
    for (let from = 0; from < stream.length; from += size) reader.read(stream.subarray(from, from + size));
    expect(types.join("")).toBe("DCZZ");
  }
});
