import { expect, test } from "vitest";
import { releaseIn } from "./segment-relay.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const headers = frame(1, 4, 1, "hpack");
const begun = frame(0, 0, 1, "{");
const ended = frame(0, 1, 1, "}");
const ping = frame(6, 0, 0, "12345678");

test("only pieces that carry the end of a request count", () => {
  const pieces = [preface, Buffer.concat([headers, begun]), ping, Buffer.concat([ended, ended, ended])];
  expect(releaseIn(pieces)).toEqual({ requests: 3, segments: 1 });
  expect(releaseIn([preface, headers, begun, ping])).toEqual({ requests: 0, segments: 0 });
});

test("two writes are two segments, and so is a frame that was cut", () => {
  expect(releaseIn([preface, headers, ended, ended])).toEqual({ requests: 2, segments: 2 });
  expect(releaseIn([preface, headers, ended.subarray(0, 4), ended.subarray(4)])).toEqual({ requests: 1, segments: 2 });
});

test("an end that came along with the headers is still one segment", () => {
  expect(releaseIn([Buffer.concat([preface, headers, begun, ended])])).toEqual({ requests: 1, segments: 1 });
});

function frame(type: number, flags: number, stream: number, payload: string): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, Buffer.from(payload)]);
}
