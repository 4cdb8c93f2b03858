/** `idemproof list`: what there is to choose from. */
import { relative } from "node:path";
import { Argument, Command } from "commander";
import { contracts } from "../contracts/list.ts";
import { invariants } from "../invariants/list.ts";
import { type Promises, promiseLines, promisesOf } from "./promises.ts";
import { loadScenarios } from "./scenarios.ts";
import { shippedTargets } from "./targets.ts";

interface Entry {
  readonly id: string;
  readonly text: string;
  /** Of a contract. */
  readonly promises?: Promises;
}

const KINDS = {
  scenarios: async (): Promise<Entry[]> =>
    (await loadScenarios()).map(({ id, requirement }) => ({ id, text: requirement })),
  invariants: async (): Promise<Entry[]> =>
    invariants.map(({ id, statement, level }) => ({ id, text: `${level}: ${statement}` })),
  contracts: async (): Promise<Entry[]> =>
    contracts.map((contract) => ({
      id: contract.id,
      text: `${contract.title} (${contract.source}, ${contract.asOf})`,
      promises: promisesOf(contract),
    })),
  targets: async (): Promise<Entry[]> =>
    (await shippedTargets()).map(({ id, kind, path }) => ({ id, text: `${kind}: ${relative(process.cwd(), path)}` })),
} as const;

type Kind = keyof typeof KINDS;

export function listCommand(): Command {
  return new Command("list")
    .description("list scenarios, invariants, contracts and targets")
    .addArgument(new Argument("[kind]", "only these").choices(Object.keys(KINDS)))
    .option("--json", "print JSON")
    .action(async (kind: Kind | undefined, { json }: { readonly json?: boolean }) => {
      const kinds = kind === undefined ? (Object.keys(KINDS) as Kind[]) : [kind];
      const lists = await Promise.all(kinds.map(async (name) => [name, await KINDS[name]()] as const));
      process.stdout.write(
        json
          ? `${JSON.stringify(Object.fromEntries(lists), null, 2)}\n`
          : lists.map((list) => asText(list, kind === "contracts")).join("\n"),
      );
    });
}

function asText([name, entries]: readonly [string, readonly Entry[]], isInFull: boolean): string {
  const width = Math.max(0, ...entries.map(({ id }) => id.length));
  const lines = entries.flatMap(({ id, text, promises }) => [
    `  ${id.padEnd(width)}  ${text}`,
    ...(promises !== undefined && isInFull ? promiseLines(promises).map((line) => `    ${line}`) : []),
  ]);
  return [name, ...lines, ...(isInFull ? [MEANINGS] : []), ""].join("\n");
}

const MEANINGS = "  what each field means: targets/README.md, and harness/target.schema.json for editors";
