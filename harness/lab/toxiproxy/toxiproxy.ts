import { Failure } from "../../fail.ts";
import type { Keeper } from "../keeper.ts";
import type { LinkMaker } from "../links.ts";
import type { ServiceOptions } from "../postgres.ts";

export async function startToxiproxy(_keeper: Keeper, _logs: string, _options: ServiceOptions): Promise<LinkMaker> {
  throw new Failure("unavailable", "not merged yet");
}
