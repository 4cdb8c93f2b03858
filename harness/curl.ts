/** An attempt as a curl line that pastes. Callers' secrets come from the reader's environment. */
import type { RunFacts } from "./event.ts";
import type { Attempt } from "./operation.ts";

export function curlOf({ request, caller, replica }: Attempt, run: RunFacts): string {
  const base = (run.urls[replica % Math.max(run.urls.length, 1)] ?? "http://localhost").replace(/\/$/, "");
  const own = new Set((run.callerHeaders[caller] ?? []).map((name) => name.toLowerCase()));
  const headers = Object.entries(request.headers).map(([name, value]) =>
    own.has(name) ? `-H "${name}: $${variableOf(caller, name)}"` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  const body = request.body === "" ? [] : [`--data-raw ${quoted(request.body)}`];
  return [`curl -i -X ${request.method} ${quoted(base + request.path)}`, ...headers, ...body].join(" ");
}

/** Name of the environment variable that holds a caller's header in the curl lines. */
export function variableOf(caller: string, header: string): string {
  return `${caller}_${header}`.toUpperCase().replace(/[^A-Z0-9]/g, "_");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
