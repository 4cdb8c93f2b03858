/** wrk, the yardstick of load: one thread, and a new key and a new reference with each request. */
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { Failure } from "../fail.ts";
import type { HttpRequest } from "../operation.ts";

export interface WrkOptions {
  readonly connections: number;
  readonly seconds: number;
  /** Where its script is written. */
  readonly script: string;
}

/** A request, and the texts in it that are another one's every time. */
export interface Pattern {
  readonly request: HttpRequest;
  readonly key: string;
  readonly reference: string;
}

export function checkWrk(): void {
  try {
    // It has no option that ends with 0.
    execFileSync("sh", ["-c", "command -v wrk"], { stdio: "ignore" });
  } catch (error) {
    throw new Failure("usage", "wrk was not found: install it, for example by `apt-get install wrk`", { cause: error });
  }
}

/** Requests in a second, all of them answered 2xx. */
export async function wrk(base: URL, pattern: Pattern, options: WrkOptions): Promise<number> {
  const { connections, seconds, script } = options;
  writeFileSync(script, scriptOf(pattern));
  const url = new URL(pattern.request.path, base).href;
  const size = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "10s"];
  const { stdout } = await promisify(execFile)("wrk", [...size, "-s", script, url]);
  const [, requests, micros, errors] = /^counted (\d+) (\d+) (\d+)$/m.exec(stdout) ?? [];
  if (requests === undefined || errors !== "0") throw new Error(`wrk got other answers than successes:\n${stdout}`);
  return Number(requests) / (Number(micros) / 1_000_000);
}

/** Twelve hex digits of a text are replaced by a count, so that all requests have the length of the pattern. */
const COUNTED = 12;

function scriptOf({ request, key, reference }: Pattern): string {
  const nonce = randomBytes(4).toString("hex");
  const varied = (text: string): string =>
    literal(text)
      .replaceAll(key, `${nonce}${key.slice(8, -COUNTED)}@`)
      .replaceAll(reference, `${reference.slice(0, -COUNTED - 4)}${nonce.slice(0, 4)}@`);
  const headers = Object.entries(request.headers).map(([name, value]) => `["${name}"] = ${counted(varied(value))}`);
  return `local count = 0
request = function()
  count = count + 1
  local number = string.format("%0${COUNTED}x", count)
  return wrk.format("${request.method}", nil, { ${headers.join(", ")} }, ${counted(varied(request.body))})
end
done = function(summary)
  local e = summary.errors
  io.write(string.format("counted %d %d %d\\n", summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

/** A Lua string; JSON's escapes are Lua's as far as keys and plain bodies have any. */
function literal(text: string): string {
  return JSON.stringify(text);
}

function counted(text: string): string {
  return text.replaceAll("@", '" .. number .. "');
}
