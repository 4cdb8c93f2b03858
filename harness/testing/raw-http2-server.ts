/**
 * An HTTP/2 server of bare frames, for answers that `node:http2` never gives: its servers end every stream
 * properly, even where they reset it.
 */
import type { Socket } from "node:net";
import { RawServer } from "./raw-server.ts";

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const FLAG_ACK = 1;
const FLAG_END_STREAM = 1;
const FLAG_END_HEADERS = 4;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
/** `:status: 200` in HPACK's static table (RFC 7541 appendix A). */
const STATUS_200 = Buffer.from([0x88]);

/** Called when a request is whole. */
type OnRequest = (socket: Socket, stream: number) => void;

/** With `isMute` it takes the connection and says nothing, not even to a ping. */
export async function startRawHttp2(onRequest: OnRequest, { isMute = false } = {}): Promise<RawServer> {
  const read = new Map<Socket, number>();
  return RawServer.start(({ socket, received }) => {
    if (isMute) return;
    if (!read.has(socket)) socket.write(frame(SETTINGS, 0, 0));
    read.set(socket, answerFrames(socket, received(), read.get(socket) ?? PREFACE_BYTES, onRequest));
  });
}

/** Returns the offset up to which the bytes were read. */
function answerFrames(socket: Socket, bytes: Buffer, from: number, onRequest: OnRequest): number {
  let at = from;
  while (at + FRAME_HEADER_BYTES <= bytes.length) {
    const end = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
    if (end > bytes.length) break;
    const type = bytes.readUInt8(at + 3);
    const flags = bytes.readUInt8(at + 4);
    if (type === SETTINGS && (flags & FLAG_ACK) === 0) socket.write(frame(SETTINGS, FLAG_ACK, 0));
    if (type === PING) socket.write(frame(PING, FLAG_ACK, 0, bytes.subarray(at + FRAME_HEADER_BYTES, end)));
    const isEnd = (type === DATA || type === HEADERS) && (flags & FLAG_END_STREAM) !== 0;
    if (isEnd) onRequest(socket, bytes.readUInt32BE(at + 5));
    at = end;
  }
  return at;
}

export const frames = {
  answer: (stream: number) => frame(HEADERS, FLAG_END_HEADERS, stream, STATUS_200),
  body: (stream: number, text: string, { isLast = false } = {}) =>
    frame(DATA, isLast ? FLAG_END_STREAM : 0, stream, Buffer.from(text)),
  reset: (stream: number, code: number) => frame(RST_STREAM, 0, stream, uint32(code)),
  goAway: (lastStream: number, code: number) => frame(GOAWAY, 0, 0, Buffer.concat([uint32(lastStream), uint32(code)])),
} as const;

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
