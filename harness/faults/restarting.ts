/** What is needed to end a replica in good order and to start it again, or the error that says why it cannot be had. */
import { Failure } from "../fail.ts";
import type { Powers, Variables } from "../fault.ts";

export interface Restarting {
  /** Ends the replica and starts it again, with these variables beside its own. */
  readonly restartAs: (replica: number, env?: Variables) => Promise<void>;
  readonly stop: (replica: number) => Promise<void>;
}

export function restarting({ stop, restart }: Powers): Restarting {
  if (stop === undefined || restart === undefined) {
    throw new Failure("usage", "only a target that the harness starts can be started again");
  }
  return {
    stop,
    restartAs: async (replica, env) => {
      await stop(replica);
      await restart(replica, env);
    },
  };
}
