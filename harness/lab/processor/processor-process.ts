/** The processor as a process of its own. PORT is required; HONOURS_KEYS=no makes it ignore idempotency keys. */
import { processorServer } from "./processor-server.ts";

const server = processorServer({ honoursKeys: process.env["HONOURS_KEYS"] !== "no" });
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env["PORT"]), process.env["HOST"] ?? "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
