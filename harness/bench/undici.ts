/** undici's burst: `Promise.all` over a pool whose connections are open and were used before. */
import { Pool } from "undici";
import type { HttpRequest } from "../operation.ts";

export class UndiciBurst implements AsyncDisposable {
  readonly #pool: Pool;
  readonly #duplicates: number;

  constructor(base: URL, duplicates: number) {
    this.#pool = new Pool(base, { connections: duplicates, pipelining: 1 });
    this.#duplicates = duplicates;
  }

  /** Uses every connection of the pool once. */
  async warm(): Promise<void> {
    await this.#send({ method: "GET", path: "/", headers: {}, body: "" });
  }

  /** Resolves to the number of 2xx answers. */
  async fire(request: HttpRequest): Promise<number> {
    const statuses = await this.#send(request);
    return statuses.filter((status) => status >= 200 && status < 300).length;
  }

  async #send({ method, path, headers, body }: HttpRequest): Promise<readonly number[]> {
    const options = { method, path, headers: { ...headers }, ...(body === "" ? {} : { body }) };
    return Promise.all(
      Array.from({ length: this.#duplicates }, async () => {
        const answer = await this.#pool.request(options);
        await answer.body.dump();
        return answer.statusCode;
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
  }
}
