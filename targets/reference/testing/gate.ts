/** Holds whoever passes until it is opened, and tells when somebody is there: for putting a test into the middle of a phase. */
export class Gate {
  readonly #reached = deferred();
  readonly #opened = deferred();

  /** Settles when the first one is waiting. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  async pass(): Promise<void> {
    this.#reached.resolve();
    await this.#opened.promise;
  }

  open(): void {
    this.#opened.resolve();
  }
}

function deferred(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
