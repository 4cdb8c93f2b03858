/** A target from the command line alone: `--url … --request 'POST /orders' --body @order.json`. For a first look. */
import { readFile } from "node:fs/promises";
import { Failure, messageOf } from "../fail.ts";
import type { Target } from "../target.ts";
import { parseTarget } from "../target-file/target-file.ts";

export interface DirectOptions {
  readonly url?: readonly string[];
  readonly request?: string;
  readonly body?: string;
  readonly header?: readonly string[];
  readonly success?: readonly string[];
  readonly outcome?: readonly string[];
  readonly contract?: string;
}

export async function directTarget(options: DirectOptions): Promise<Target> {
  const [, method, path] = /^([A-Z]+) (\/\S*)$/.exec(options.request ?? "") ?? [];
  if (method === undefined || path === undefined) {
    throw new Failure(
      "usage",
      `--request: found ${options.request ?? "nothing"}, expected a method and a path such as 'POST /orders'`,
    );
  }
  const body = options.body === undefined ? {} : { body: await bodyText(options.body) };
  const input = {
    name: nameOf(options.url ?? []),
    urls: options.url,
    callers: { caller: { headers: Object.fromEntries((options.header ?? []).map(headerOf)) } },
    operations: {
      request: {
        request: { method, path, ...body },
        success: (options.success ?? ["200", "201", "202"]).map(Number),
        outcome: options.outcome ?? [],
      },
    },
    contract: { extends: options.contract ?? "strict" },
  };
  return parseTarget(input, process.cwd(), (complaints) => {
    const lines = complaints.map(({ message }) => `  ${message}`);
    return new Failure("usage", `the options describe no target\n${lines.join("\n")}`);
  });
}

function nameOf([url = ""]: readonly string[]): string {
  return URL.canParse(url)
    ? new URL(url).host.replaceAll(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, "")
    : "target";
}

async function bodyText(given: string): Promise<string> {
  if (!given.startsWith("@")) return given;
  const file = given.slice(1);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new Failure("usage", `--body: ${file} cannot be read (${messageOf(error)})`, { cause: error });
  }
}

function headerOf(line: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) {
    throw new Failure("usage", `--header: found ${JSON.stringify(line)}, expected 'name: value'`);
  }
  return [name, value];
}
