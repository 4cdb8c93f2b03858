/**
 * What a schema cannot say of a target file: how its parts must fit together. Each rule reads the file as its
 * author wrote it and passes over what the schema finds wrong, so that all mistakes are reported at once.
 */

import { contracts } from "../contracts/list.ts";
import { parseJson, valueAt } from "../evidence/answers.ts";
import { invariants } from "../invariants/list.ts";
import { LAB_NAMES, namesIn, REPLICA_NAMES } from "../lab/names.ts";
import { canBeChanged, variedText } from "../payload.ts";
import { operationName } from "../target.ts";
import { type Complaint, found, valueIn } from "./complaint.ts";
import { nearestName } from "./nearest-name.ts";

type Json = Readonly<Record<string, unknown>>;
type Path = readonly PropertyKey[];

export function brokenRules(file: unknown): readonly Complaint[] {
  if (!isMap(file)) return [];
  const operations = Object.entries(mapIn(file, ["operations"]));
  return [
    ...wayIn(file),
    ...emptyMaps(file),
    ...operationNames(file),
    ...columns(file),
    ...profile(file),
    ...levels(file),
    ...labNames(file),
    ...portsAndDatabase(file),
    ...emptyBaseline(file, ["start", "baseline"], ["command", "env"]),
    ...operations.flatMap(([name, operation]) => (isMap(operation) ? operationRules(file, name, operation) : [])),
    ...inexactNumbers(file, []),
  ];
}

/** The lab starts the target, or it is already running. */
function wayIn(file: Json): Complaint[] {
  const { start, urls } = file;
  if ((start === undefined) !== (urls === undefined)) return [];
  const isMisspelt = Object.keys(file).some((name) => nearestName(name, ["start", "urls"]) !== undefined);
  if (start === undefined && isMisspelt) return [];
  const amount = start === undefined ? "neither `start` nor `urls`" : "both `start` and `urls`";
  const path = start === undefined ? [] : ["urls"];
  return [
    {
      path,
      problem: `found ${amount}, expected \`start\` (the lab starts the target) or \`urls\` (it is already running)`,
    },
  ];
}

function operationNames(file: Json): Complaint[] {
  return Object.keys(mapIn(file, ["operations"]))
    .filter((name) => !new RegExp(operationName.pattern).test(name))
    .map((name) => ({
      path: ["operations", name],
      isName: true,
      problem: `found the name ${found(name)}, expected ${operationName.title}`,
    }));
}

function emptyMaps(file: Json): Complaint[] {
  return ["operations", "callers"]
    .filter((name) => isMap(file[name]) && Object.keys(file[name]).length === 0)
    .map((name) => ({ path: [name], problem: `found none, expected at least one ${name.slice(0, -1)}` }));
}

/** Books that are read over HTTP name their columns in the file; those in SQL are seen when they are read. */
function columns(file: Json): Complaint[] {
  const needed = { effects: ["operation"], records: ["key", "state"] };
  return Object.entries(needed).flatMap(([books, names]) => {
    const path = [books, "columns"];
    const given = valueIn(file, path);
    return names
      .filter((name) => isMap(given) && !Object.hasOwn(given, name))
      .map((name) => ({
        path,
        problem: `found no column ${name}, expected one ${COLUMN_MEANINGS[name] ?? ""}`.trimEnd(),
      }));
  });
}

const COLUMN_MEANINGS: Readonly<Record<string, string>> = {
  operation: "that holds what the request had as ${operation}",
  key: "that holds the key",
  state: "that holds the state",
};

function profile(file: Json): Complaint[] {
  const path = ["contract", "extends"];
  const given = valueIn(file, path);
  const known = contracts.map(({ id }) => id);
  if (typeof given !== "string" || known.includes(given)) return [];
  return [{ path, problem: `found ${found(given)}, expected one of ${known.join(", ")}${question(given, known)}` }];
}

function levels(file: Json): Complaint[] {
  const known = invariants.map(({ id }) => id);
  return Object.keys(mapIn(file, ["contract", "levels"]))
    .filter((id) => !known.includes(id))
    .map((id) => ({
      path: ["contract", "levels", id],
      isName: true,
      problem: `found ${found(id)}, expected the id of an invariant${question(id, known) || `: one of ${known.join(", ")}`}`,
    }));
}

/** `${…}` that nobody fills in would reach the target as it stands. */
function labNames(file: Json): Complaint[] {
  const known = LAB_NAMES.map((name) => `\${${name}}`).join(", ");
  return startTexts(file).flatMap(([path, text]) => {
    const isCommand = path.at(-1) === "command" || path.length === 2;
    const isPrepare = path[1] === "prepare";
    return namesIn(text).flatMap((name) => {
      if ((LAB_NAMES as readonly string[]).includes(name)) {
        return isPrepare && REPLICA_NAMES.includes(name)
          ? [
              {
                path,
                problem: `found \${${name}}, which only a replica has, expected \${postgres} or \${redis} or none`,
              },
            ]
          : [];
      }
      const shell = isCommand ? `; for a variable of the shell write $${name}` : "";
      return [
        {
          path,
          problem: `found \${${name}}, which the lab does not provide, expected one of ${known}${question(name, LAB_NAMES)}${shell}`,
        },
      ];
    });
  });
}

/** Where the target listens and where its books are must be the places the lab looks at. */
function portsAndDatabase(file: Json): Complaint[] {
  const texts = startTexts(file);
  const given = new Set(texts.filter(([path]) => path[1] !== "prepare").flatMap(([, text]) => namesIn(text)));
  const isStarted = isMap(file["start"]);
  const complaints: Complaint[] = [];
  if (isStarted && typeof valueIn(file, ["start", "command"]) === "string" && !given.has("port")) {
    const problem = "found ${port} nowhere, expected it in env or command: the target must listen where the lab looks";
    complaints.push({ path: ["start"], isName: true, problem });
  }
  const { http2 } = file;
  if (http2 === "${http2Port}" && !isStarted) {
    complaints.push({
      path: ["http2"],
      problem: "found ${http2Port}, expected URLs: the lab does not start this target",
    });
  }
  if (http2 !== undefined && isStarted && http2 !== "${http2Port}") {
    complaints.push({
      path: ["http2"],
      problem: `found ${found(http2)}, expected \${http2Port}: the lab starts this target`,
    });
  }
  if (http2 === "${http2Port}" && isStarted && !given.has("http2Port")) {
    const problem = "found ${http2Port} nowhere in start, expected it in env or command, as the second port";
    complaints.push({ path: ["http2"], problem });
  }
  for (const books of ["effects", "records"]) {
    const path = [books, "on"];
    if (valueIn(file, path) !== "postgres" || given.has("postgres")) continue;
    const problem = isStarted
      ? "found postgres, the lab's database, expected ${postgres} in start.env or start.command as well: else the target uses another one"
      : "found postgres, the lab's database, expected a postgres:// URL: the lab does not start this target";
    complaints.push({ path, problem });
  }
  return complaints;
}

function operationRules(file: Json, name: string, operation: Json): Complaint[] {
  const at = ["operations", name];
  return [
    ...unnamedEffects(file, operation).map((complaint) => under(at, complaint)),
    ...outcomeFields(operation).map((complaint) => under(at, complaint)),
    ...variations(operation).map((complaint) => under(at, complaint)),
    ...keyInBody(file, operation).map((complaint) => under(at, complaint)),
    ...baseline(file, operation).map((complaint) => under(at, complaint)),
  ];
}

/** The way around the key layer is another way in, and its effects are found in the books like any other. */
function baseline(file: Json, operation: Json): Complaint[] {
  const empty = emptyBaseline(operation, ["baseline"], ["path", "headers"]);
  const path = valueIn(operation, ["baseline", "path"]);
  const body = JSON.stringify(valueIn(operation, ["request", "body"]) ?? "");
  if (file["effects"] === undefined || typeof path !== "string") return empty;
  if (`${path}${body}`.includes("${operation}")) return empty;
  const problem = `found ${found(path)}, expected \${operation} in it as in request.path, since the body has none`;
  return [{ path: ["baseline", "path"], problem }];
}

/** With nothing that differs it would be the keyed way again, and every cost would be measured as nothing. */
function emptyBaseline(map: Json, path: readonly string[], names: readonly string[]): Complaint[] {
  const given = valueIn(map, path);
  if (!isMap(given) || names.some((name) => given[name] !== undefined)) return [];
  return [{ path, problem: `found nothing in it, expected ${names.join(" or ")}, by which the key layer is left out` }];
}

/** The books name an effect by the text that the request had as `${operation}`. */
function unnamedEffects(file: Json, operation: Json): Complaint[] {
  const request = operation["request"];
  if (file["effects"] === undefined || !isMap(request)) return [];
  const text = JSON.stringify([request["path"], request["body"]]);
  if (text.includes("${operation}")) return [];
  const [other] = namesIn(text);
  const seen = other === undefined ? "no ${operation}" : `\${${other}} and no \${operation}`;
  const problem = `found ${seen} in path or body, expected it where the effects' column \`operation\` takes its value from`;
  return [{ path: ["request"], isName: true, problem }];
}

function outcomeFields(operation: Json): Complaint[] {
  const { outcome } = operation;
  const body = bodyOf(operation);
  const isListed = Array.isArray(outcome);
  const fields: [PropertyKey, unknown][] = isListed
    ? outcome.map((pointer, index) => [index, pointer])
    : isMap(outcome)
      ? Object.keys(outcome).map((pointer) => [pointer, pointer])
      : [];
  return fields.flatMap(([name, pointer]): Complaint[] => {
    if (typeof pointer !== "string" || !/^(\/([^/~]|~[01])*)+$/.test(pointer)) return [];
    const path = ["outcome", name];
    const place = { path, isName: !isListed };
    const value = valueAt(body, pointer);
    if (value === undefined) {
      const fieldsThere = isMap(body) ? Object.keys(body).map(pointerOf) : [];
      const problem = `found ${pointer}, expected a field of request.body${question(pointer, fieldsThere)}`;
      return [{ ...place, problem: fieldsThere.length > 0 ? problem : `${problem}, which is no JSON object` }];
    }
    if (isListed && !canBeChanged(pointer, value)) {
      const kind =
        value === null ? "null" : Array.isArray(value) ? "a list" : typeof value === "object" ? "a map" : "text";
      return [
        {
          ...place,
          problem: `found ${pointer}, which is ${kind}, expected outcome as a map that gives it another valid value`,
        },
      ];
    }
    if (!isListed && isMap(outcome) && JSON.stringify(outcome[pointer]) === JSON.stringify(value)) {
      return [{ path, problem: `found the value of request.body, expected another valid one` }];
    }
    return [];
  });
}

function variations(operation: Json): Complaint[] {
  const equal = listIn(operation, "equal").map((one, index): [Path, unknown] => [["equal", index], one]);
  const different = listIn(operation, "different").flatMap((pair, index): [Path, unknown][] =>
    (Array.isArray(pair) ? pair : []).map((one, side) => [["different", index, side], one]),
  );
  const all: [Path, unknown][] = [...equal, ...different, [["invalid"], operation["invalid"]]];
  return all.flatMap(([path, variation]) => {
    if (!isMap(variation)) return [];
    if (typeof variation["raw"] === "string") {
      const others = Object.keys(variation).filter((name) => name !== "raw");
      if (others.length > 0) {
        return [{ path, problem: `found ${others.join(", ")} beside raw, expected raw alone: it is the whole body` }];
      }
    } else if (bodyOf(operation) === undefined) {
      return [
        { path, problem: "found fields, expected { raw: text }: request.body is no JSON object to lay them over" },
      ];
    }
    return path[0] === "invalid" ? [] : unnamedVariation(operation, path, variation);
  });
}

/** A spelling that drops the reference is another request. */
function unnamedVariation(operation: Json, path: Path, variation: Json): Complaint[] {
  const plain = plainText(operation);
  if (!plain.includes("${operation}") || variedText(plain, variation).includes("${operation}")) return [];
  return [{ path, problem: "found no ${operation}, expected it as in request.body" }];
}

/** A key that travels in the body needs one that it can be put into. */
function keyInBody(file: Json, operation: Json): Complaint[] {
  const id = valueIn(file, ["contract", "extends"]) ?? "strict";
  const placement =
    valueIn(file, ["contract", "key", "placement"]) ?? contracts.find((contract) => contract.id === id)?.key.placement;
  if (!isMap(placement) || placement["body"] === undefined || bodyOf(operation) !== undefined) return [];
  const problem = `found no JSON object as body, expected one: the contract puts the key at ${found(placement["body"])} of it`;
  return [{ path: ["request"], isName: true, problem }];
}

/** YAML numbers are read as doubles; one that is not the same afterwards would be sent as another one. */
function inexactNumbers(value: unknown, path: Path): Complaint[] {
  if (typeof value === "number") {
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? [
          {
            path,
            problem: `found a number beyond 2^53 (read as ${value}), expected text that holds it: { raw: … } or a body in quotes`,
          },
        ]
      : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    inexactNumbers(inner, [...path, Array.isArray(value) ? Number(name) : name]),
  );
}

/** The texts in which the lab fills names in. */
function startTexts(file: Json): [Path, string][] {
  const paths = [
    ["start", "prepare"],
    ["start", "command"],
    ["start", "baseline", "command"],
  ];
  const commands = paths.map((path): [Path, unknown] => [path, valueIn(file, path)]);
  const env = [
    ["start", "env"],
    ["start", "redeploy", "env"],
    ["start", "baseline", "env"],
  ].flatMap((path) =>
    Object.entries(mapIn(file, path)).map(([name, text]): [Path, unknown] => [[...path, name], text]),
  );
  return [...commands, ...env].filter((one): one is [Path, string] => typeof one[1] === "string");
}

/** The request's body as a JSON object, or undefined. */
function bodyOf(operation: Json): Json | undefined {
  const body = parseJson(plainText(operation));
  return isMap(body) ? body : undefined;
}

function plainText(operation: Json): string {
  const body = valueIn(operation, ["request", "body"]);
  return typeof body === "string" ? body : (JSON.stringify(body) ?? "");
}

function pointerOf(name: string): string {
  return `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function question(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? "" : `; did you mean ${near}?`;
}

function under(path: Path, complaint: Complaint): Complaint {
  return { ...complaint, path: [...path, ...complaint.path] };
}

function listIn(map: Json, name: string): readonly unknown[] {
  const value = map[name];
  return Array.isArray(value) ? value : [];
}

function mapIn(file: Json, path: Path): Json {
  const value = valueIn(file, path);
  return isMap(value) ? value : {};
}

function isMap(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
