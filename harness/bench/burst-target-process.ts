/**
 * The target of the burst benchmark, a process of its own: it notes when each request is complete, works
 * 20 ms without blocking and answers. On demand it tells what it noted. It ends with its parent.
 */
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import type { FromBurstTarget } from "./burst-target.ts";
import { SegmentRelay } from "./segment-relay.ts";

const WORK_MS = 20;
/** Longer than a round, so that pooled connections stay. */
const KEEP_ALIVE_MS = 120_000;

/** Microseconds at which requests were complete, since they were last told. */
let arrivals: number[] = [];

const answer: RequestListener = (request, response) => {
  request.resume();
  request.on("end", () => {
    // What warms a client's pool is no duplicate.
    if (request.method === "GET") {
      response.end();
      return;
    }
    arrivals.push(performance.now() * 1000);
    setTimeout(() => {
      response.writeHead(201, { "content-type": "application/json" });
      response.end('{"id":1}');
    }, WORK_MS);
  });
};

const http = createHttp({ keepAliveTimeout: KEEP_ALIVE_MS }, answer);
const http2 = createHttp2(answer as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void);
const relay = new SegmentRelay();

process.on("disconnect", () => process.exit());
process.on("message", () => {
  tell({ arrivals, release: relay.takeRelease() });
  arrivals = [];
});

const httpPort = await listening(http);
const http2Port = await listening(http2);
tell({ ports: { http: httpPort, http2: http2Port, relay: await relay.listen(http2Port) } });

function tell(message: FromBurstTarget): void {
  process.send?.(message);
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
