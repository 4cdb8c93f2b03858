/** `--toxiproxy container`: the server through testcontainers. */
import { toxiproxyInContainer } from "../toxiproxy-container.ts";
import type { Workshop } from "./launch.ts";
import type { ToxiproxyServer } from "./server.ts";

export async function startInContainer({ keeper, logs, secrets, signal }: Workshop): Promise<ToxiproxyServer> {
  const url = await toxiproxyInContainer(keeper, logs, { secrets, signal });
  const loopback = "127.0.0.1";
  return { url, listenHost: loopback, host: loopback, origin: "a container", ended: () => null };
}
