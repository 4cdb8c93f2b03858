/** Load goes to loopback only, unless the user names the host it may go to. */
import { Failure } from "../fail.ts";
import type { TargetFile } from "../target.ts";

export function checkHosts(file: TargetFile, allowed: readonly string[]): void {
  const urls = [...(file.urls ?? []), ...(Array.isArray(file.http2) ? file.http2 : [])];
  const strangers = urls
    .map((url) => new URL(url).hostname)
    .filter((host) => !isLoopback(host) && !allowed.includes(host));
  if (strangers.length === 0) return;
  const hosts = [...new Set(strangers)];
  throw new Failure(
    "usage",
    `${file.name} is outside this machine (${hosts.join(", ")}): bursts of duplicates are sent to it, and its operations really execute. If it is yours to test, say so with ${hosts.map((host) => `--allow-host ${host}`).join(" ")}`,
  );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}
