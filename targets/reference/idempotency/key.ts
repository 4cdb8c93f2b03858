/** The key as the client sends it: required, visible ASCII, at most 255 characters. */
import type { IncomingHttpHeaders } from "node:http";
import { Problem } from "./problem.ts";

const KEY_CHARACTERS_MAX = 255;

export function keyOf(headers: IncomingHttpHeaders): string {
  const key = headers["idempotency-key"];
  if (key === undefined) {
    throw new Problem(400, "key-missing", "This operation needs an Idempotency-Key header");
  }
  if (typeof key !== "string" || !/^[\x21-\x7e]+$/.test(key)) {
    throw new Problem(400, "key-malformed", "An Idempotency-Key consists of visible ASCII characters");
  }
  if (key.length > KEY_CHARACTERS_MAX) {
    throw new Problem(400, "key-too-long", `An Idempotency-Key has at most ${KEY_CHARACTERS_MAX} characters`);
  }
  return key;
}
