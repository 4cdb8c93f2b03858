/** What servers do with a whole request, byte by byte, and what each must come out as, however it was sent. */
import type { Socket } from "node:net";
import type { HttpRequest } from "../operation.ts";

export const REQUEST: HttpRequest = {
  method: "POST",
  path: "/orders",
  headers: { "idempotency-key": "k" },
  body: "{}",
};
export const CREATED = "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
export const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

export const created = { kind: "responded", status: 201, body: { text: "{}", bytes: 2 } };
export const indeterminate = (reason: string) => ({ kind: "indeterminate", reason });

/** What the server does, and what the outcome must be. */
export const answers: readonly [name: string, reply: (socket: Socket) => unknown, outcome: object][] = [
  ["an answer on a connection that the server keeps", (socket) => socket.write(CREATED), created],
  ["an answer and an end", (socket) => socket.end(CREATED), created],
  ["an answer byte by byte", (socket) => byteByByte(socket, CREATED), created],
  [
    "an answer that the end delimits",
    (socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nall"),
    { status: 200, body: { text: "all", bytes: 3 } },
  ],
  [
    "an answer without a body",
    (socket) => socket.write("HTTP/1.1 204 No Content\r\n\r\n"),
    { status: 204, body: { text: "", bytes: 0 } },
  ],
  [
    "a chunked answer",
    (socket) => socket.write(`${CHUNKED}2\r\n{}\r\n0\r\n\r\n`),
    { status: 200, body: { text: "{}", bytes: 2 } },
  ],
  ["garbage behind the answer", (socket) => socket.write(`${CREATED}garbage`), created],
  [
    "repeated headers",
    (socket) => socket.write(`HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 0\r\n\r\n`),
    { headers: { "x-a": "1, 2" } },
  ],
  [
    "a switch of protocols",
    (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"),
    indeterminate("closed"),
  ],
  ["a reset", (socket) => socket.resetAndDestroy(), indeterminate("reset")],
  ["a close without an answer", (socket) => socket.end(), indeterminate("closed")],
  ["a close within the headers", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-"), indeterminate("closed")],
  [
    "an end before the promised length",
    (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
    indeterminate("truncated"),
  ],
  [
    "a reset before the promised length",
    (socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", () =>
        setTimeout(() => socket.resetAndDestroy(), 30),
      ),
    indeterminate("truncated"),
  ],
  ["an end before the last chunk", (socket) => socket.end(`${CHUNKED}2\r\n{}\r\n`), indeterminate("truncated")],
  ["an end within a chunk", (socket) => socket.end(`${CHUNKED}9\r\n{}`), indeterminate("truncated")],
  ["something that is not HTTP", (socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n"), indeterminate("malformed")],
  ["a chunk that is none", (socket) => socket.write(`${CHUNKED}2\r\n{}\r\nzz\r\n`), indeterminate("malformed")],
  [
    "two lengths",
    (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
    indeterminate("malformed"),
  ],
  [
    "headers without end",
    (socket) => endless(socket, "HTTP/1.1 200 OK\r\n", `x-filler: ${"y".repeat(1_000)}\r\n`),
    indeterminate("malformed"),
  ],
];

export function byteByByte(socket: Socket, text: string): void {
  const [first, rest] = [text.slice(0, 1), text.slice(1)];
  socket.write(first);
  if (rest !== "") setTimeout(() => byteByByte(socket, rest), 1);
}

/** As fast as it is taken. */
export function endless(socket: Socket, start: string, more: string): void {
  socket.write(start);
  const repeat = (error?: Error | null): void => {
    if (!error) socket.write(more, repeat);
  };
  repeat();
}

/** Slowly. */
export function dribble(socket: Socket, start: string, more: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(more), 20);
  socket.on("close", () => clearInterval(timer));
}
