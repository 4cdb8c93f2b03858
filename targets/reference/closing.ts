/**
 * Closing without losing an answer: what is in flight is answered, and each HTTP/1.1 answer from then on
 * tells its client that the connection ends with it. Idle connections are closed by the server itself; one
 * that falls idle later would otherwise keep the service from ending for as long as it may stay idle.
 */
import type { FastifyInstance } from "fastify";

export function closeGracefully(app: FastifyInstance): void {
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onSend", async (request, reply) => {
    if (isClosing && request.raw.httpVersionMajor === 1) reply.header("connection", "close");
  });
}
