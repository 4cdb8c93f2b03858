/** `--toxiproxy container`: the server through testcontainers. */
import { Failure } from "../../fail.ts";
import type { Workshop } from "./launch.ts";
import type { ToxiproxyServer } from "./server.ts";

export async function startInContainer(_workshop: Workshop): Promise<ToxiproxyServer> {
  throw new Failure("unavailable", "Toxiproxy through testcontainers is not built yet: leave --toxiproxy out");
}
