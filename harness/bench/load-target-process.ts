/**
 * The trivial target of the load benchmark, a process of its own: reads a request to its end and answers a small
 * JSON body. It tells its port and ends with its parent.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Longer than a round, so that no connection ends in between. */
const KEEP_ALIVE_MS = 120_000;
const ANSWER = '{"id":"1","amount":1999,"currency":"usd"}';

const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(201, { "content-type": "application/json" });
    response.end(ANSWER);
  });
});

process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
