/** autocannon's own burst: as many requests as connections. The only file that imports autocannon. */
import autocannon from "autocannon";
import type { HttpRequest } from "../operation.ts";

/** Its runs end at a sample; with the default of a second, a burst of milliseconds would last one. */
const SAMPLE_MS = 20;

/** One request on each connection. Resolves to the number of 2xx answers. */
export async function autocannonBurst(base: URL, request: HttpRequest, duplicates: number): Promise<number> {
  const result = await autocannon({
    url: new URL(request.path, base).href,
    method: "POST",
    headers: { ...request.headers },
    body: request.body,
    connections: duplicates,
    amount: duplicates,
    sampleInt: SAMPLE_MS,
    // No `ignoreCoordinatedOmission`: it is refused where no rate is asked for, and nothing is corrected then.
  });
  return result["2xx"];
}
