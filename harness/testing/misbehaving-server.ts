/**
 * A target that keeps its promises until it is to do something else: `misbehaving-server.js BEHAVIOUR [AFTER]`.
 * AFTER is the number of orders it takes before it begins, or `start`: from its very start. One process, books
 * in memory at GET /ledger.
 */
import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

type Misbehave = (request: IncomingMessage, response: ServerResponse, server: Server) => void;

const HUGE_BYTES = 100 * 1024 * 1024;
const MEBIBYTE = Buffer.alloc(1024 * 1024, "x");

const misbehaviours: Readonly<Record<string, Misbehave>> = {
  exits: () => process.exit(3),
  silent: () => undefined,
  fails: (_, response) => answer(response, 500, { error: "out of order" }),
  "not-found": (_, response) => answer(response, 404, { error: "unknown" }),
  closes: ({ socket }) => void socket.destroy(),
  resets: ({ socket }) => void socket.resetAndDestroy(),
  garbage: ({ socket }) => void socket.end("\u0000\u0001 this is no HTTP\r\n\r\n"),
  "endless-headers": ({ socket }) => {
    socket.write("HTTP/1.1 201 Created\r\n");
    const timer = setInterval(() => socket.write(`x-more: ${"y".repeat(1_000)}\r\n`), 5);
    socket.once("close", () => clearInterval(timer));
  },
  "endless-body": (_, response) => {
    response.writeHead(201, { "content-type": "application/json" });
    const timer = setInterval(() => response.write("x"), 20);
    response.once("close", () => clearInterval(timer));
  },
  huge: (_, response) => {
    response.writeHead(201, { "content-type": "application/json", "content-length": HUGE_BYTES });
    const pour = (left: number): void => {
      if (left > 0 && !response.destroyed) response.write(MEBIBYTE, () => pour(left - MEBIBYTE.length));
    };
    pour(HUGE_BYTES);
  },
  "half-an-answer": (_, response) => {
    response.writeHead(201, { "content-type": "application/json", "content-length": 1000 });
    response.write('{"half":', () => response.socket?.destroy());
  },
  refuses: ({ socket }, _, server) => {
    server.close();
    server.closeAllConnections();
    socket.destroy();
    // It lives on, and listens to nobody.
    setInterval(() => undefined, 1_000);
  },
  /** An answer to everyone's order, and no effect. */
  loses: ({ method }, response) =>
    answer(response, method === "POST" ? 201 : 200, method === "POST" ? { id: 0 } : { rows: ledger }),
};

const [behaviour = "none", after = "0"] = process.argv.slice(2);
const misbehave = misbehaviours[behaviour];
const ledger: { readonly operation: string; readonly caller: string }[] = [];
/** Of keys, each written a moment after its answer, in a word that the harness has to be told. */
const records: { readonly key: string; readonly state: string }[] = [];
const RECORDED_AFTER_MS = 200;
const answers = new Map<string, { readonly fingerprint: string; readonly text: string }>();
let orders = 0;

if (behaviour === "ignores-sigterm") process.on("SIGTERM", () => undefined);
if (behaviour === "daemonises") {
  // Out of the group and the session of the one who started it, and holding none of its pipes.
  const daemon = spawn(process.execPath, [process.argv[1] ?? "", "none"], { detached: true, stdio: "ignore" });
  daemon.unref();
  setInterval(() => undefined, 1_000);
} else {
  console.error(`a target that is ${behaviour} after ${after} order(s)`);
  listen();
}

function listen(): void {
  const server = createServer((request, response) => {
    if (request.method === "POST") orders += 1;
    if (misbehave && (after === "start" || orders > Number(after))) misbehave(request, response, server);
    // A request that breaks off is nothing to end for.
    else serve(request, response).catch(() => response.destroy());
  });
  server.on("clientError", (_, socket) => socket.destroy());
  server.listen(Number(process.env["PORT"]), "127.0.0.1");
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return answer(response, 200, { rows: ledger, records, none: [] });
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  const caller = request.headers.authorization ?? "";
  if (behaviour === "echoes") return echo(caller, text, response);
  const key = request.headers["idempotency-key"];
  if (typeof key !== "string" || key === "") return answer(response, 400, { error: "a key is needed" });
  const scope = JSON.stringify([caller, request.url, key]);
  const known = answers.get(scope);
  if (known) {
    if (known.fingerprint !== text) return answer(response, 422, { error: "another order has this key" });
    return send(response, 201, known.text, { "idempotency-replayed": "true" });
  }
  const { reference } = JSON.parse(text) as { reference: string };
  ledger.push({ operation: reference, caller });
  const made = JSON.stringify({ id: ledger.length });
  answers.set(scope, { fingerprint: text, text: made });
  send(response, 201, made);
  setTimeout(() => records.push({ key, state: "done" }), RECORDED_AFTER_MS);
}

/** Tells everything it was told, as a careless debug mode does. */
function echo(caller: string, text: string, response: ServerResponse): void {
  const { reference } = JSON.parse(text) as { reference: string };
  ledger.push({ operation: reference, caller });
  process.stdout.write(`order of ${caller}\n`);
  console.error(JSON.stringify({ authorization: caller }));
  console.error(`GET /login?token=${encodeURIComponent(caller)}`);
  const headers = { "x-you-are": caller, "set-cookie": `who=${encodeURIComponent(caller)}` };
  send(
    response,
    201,
    JSON.stringify({ you: caller, word: caller.split(" ")[1], url: encodeURIComponent(caller) }),
    headers,
  );
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, JSON.stringify(body));
}

function send(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text);
}
