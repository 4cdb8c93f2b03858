/**
 * One `initdb` for all the PostgreSQL servers of a run. It takes a second of a core, and a copy of what it makes a
 * tenth of that; three at once on two cores would be a third of a quick run's start.
 */
import type { KeptProcess } from "./keeper.ts";

export interface ClusterMaker {
  /** Where the data of this cluster is to be. */
  readonly data: string;
  initialise(): Promise<void>;
  /** As the cluster's owner. */
  copy(from: string, to: string): Promise<KeptProcess>;
}

export class ClusterTemplate {
  #made: Promise<string | null> | null = null;

  /** Makes the data of a cluster: the first one by `initdb`, the others as copies of what it made. */
  async fill(cluster: ClusterMaker): Promise<void> {
    if (this.#made === null) {
      this.#made = make(cluster);
      await this.#made;
      return;
    }
    const template = await this.#made;
    // What could not be copied can still be made.
    if (template === null || !(await isCopied(cluster, template, cluster.data))) await cluster.initialise();
  }
}

/** The template is a copy too: the server of the first cluster writes to its own data. Null: there is none. */
async function make(cluster: ClusterMaker): Promise<string | null> {
  await cluster.initialise();
  const template = `${cluster.data}-template`;
  return (await isCopied(cluster, cluster.data, template)) ? template : null;
}

async function isCopied(cluster: ClusterMaker, from: string, to: string): Promise<boolean> {
  const { code } = await (await cluster.copy(from, to)).exited;
  return code === 0;
}
