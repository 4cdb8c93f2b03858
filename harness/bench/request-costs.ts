/** What one request costs in all the stores that the lab can look into, over as many requests as it takes to tell. */
import { type Calls, type CostMeter, type Costs, callsBetween, ownStatements } from "./costs.ts";
import type { RedisCounter } from "./redis-commands.ts";

/** Null: the target has no such store, or nobody can count there. */
export interface Meters {
  readonly database: CostMeter | null;
  readonly redis: RedisCounter | null;
}

type Work = () => Promise<void>;

const nothing: Work = async () => undefined;

export async function costsOf(
  { database, redis }: Meters,
  times: number,
  request: Work,
  { before = nothing, after = nothing } = {},
): Promise<Costs> {
  const commands: Calls[] = [];
  const counted = redis === null ? request : countingCommands(redis, request, commands);
  const costs =
    database === null
      ? await repeat(times, counted, before, after)
      : await database.measure(times, counted, before, after);
  return redis === null ? costs : { ...costs, "redis-commands": ownStatements(commands) };
}

function countingCommands(redis: RedisCounter, request: Work, counts: Calls[]): Work {
  return async () => {
    const start = await redis.calls();
    await request();
    counts.push(callsBetween(start, await redis.calls()));
  };
}

async function repeat(times: number, request: Work, before: Work, after: Work): Promise<Costs> {
  for (let count = 0; count < times; count += 1) {
    await before();
    await request();
    await after();
  }
  return {};
}
