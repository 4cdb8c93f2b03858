/** `--database` and `--toxiproxy`: where the lab takes its parts from. */
import { type Command, InvalidArgumentError } from "commander";
import { type Backend, type Backends, EMBEDDED } from "../lab/backend.ts";

export interface LabChoices {
  readonly database?: Backend;
  readonly toxiproxy?: Backend;
}

export function addLabOptions(command: Command): Command {
  return addDatabaseOption(command).option(
    "--toxiproxy <where>",
    "embedded (default), container, or the URL of a Toxiproxy on this machine",
    backendAt(["http:", "https:"], "http://127.0.0.1:8474"),
  );
}

export function addDatabaseOption(command: Command): Command {
  return command.option(
    "--database <where>",
    "embedded (default), container, or the URL of a PostgreSQL server, on which each run has a database of its own",
    backendAt(["postgres:", "postgresql:"], "postgres://user@127.0.0.1:5432"),
  );
}

export function backendsOf({ database = EMBEDDED, toxiproxy }: LabChoices): Backends {
  return { database, ...(toxiproxy === undefined ? {} : { toxiproxy }) };
}

/** The options again, for the line that repeats a run. A password is the caller's and left to the reader. */
export function labArguments({ database, toxiproxy }: LabChoices): string[] {
  return [
    ...(database === undefined ? [] : ["--database", inWords(database)]),
    ...(toxiproxy === undefined ? [] : ["--toxiproxy", inWords(toxiproxy)]),
  ];
}

function backendAt(protocols: readonly string[], example: string): (text: string) => Backend {
  return (text) => {
    if (text === "embedded" || text === "container") return { kind: text };
    if (URL.canParse(text) && protocols.includes(new URL(text).protocol)) return { kind: "url", url: text };
    throw new InvalidArgumentError(`Expected embedded, container, or a URL such as ${example}.`);
  };
}

function inWords(backend: Backend): string {
  if (backend.kind !== "url") return backend.kind;
  const url = new URL(backend.url);
  if (url.password !== "") url.password = "…";
  return decodeURI(url.href);
}
