/**
 * What is wrong with a file, in the words of its author: where, what was found, what was expected. Made from
 * what zod found and from the form of the schema; no text of zod's own gets through.
 */
import type { z } from "zod";
import { type Form, formsAt, namesIn, orWords, placesOf } from "./form.ts";
import { nearestName } from "./nearest-name.ts";

export interface Complaint {
  readonly path: readonly PropertyKey[];
  /** The mistake is the name itself, not the value under it. */
  readonly isName?: boolean;
  /** `found …, expected …` */
  readonly problem: string;
  /** The name that an unknown one was most likely meant to be. */
  readonly meant?: string;
}

/** A complaint on one line: `operations.create-order.success: found 201, expected a list …`. */
export function lineOf({ path, problem }: Complaint): string {
  return path.length === 0 ? problem : `${path.map(String).join(".")}: ${problem}`;
}

export function complaintsOf(issues: readonly z.core.$ZodIssue[], form: Form, input: unknown): readonly Complaint[] {
  const complaints = issues.flatMap((issue) =>
    complaintsOfIssue(issue, { root: form, forms: [form], base: [], input }),
  );
  return complaints.filter((complaint) => !isMisspelt(complaint, complaints, input));
}

/** What is missing under its right name and there under a wrong one is one mistake. */
function isMisspelt({ path, isName }: Complaint, complaints: readonly Complaint[], input: unknown): boolean {
  if (isName || valueIn(input, path) !== undefined) return false;
  const place = JSON.stringify(path);
  return complaints.some(
    ({ meant, path: wrong }) => meant !== undefined && JSON.stringify([...wrong.slice(0, -1), meant]) === place,
  );
}

interface Place {
  readonly root: Form;
  /** The forms that the value at `base` may take. */
  readonly forms: readonly Form[];
  readonly base: readonly PropertyKey[];
  readonly input: unknown;
}

function complaintsOfIssue(issue: z.core.$ZodIssue, place: Place): readonly Complaint[] {
  const path = [...place.base, ...issue.path];
  const forms = place.forms.flatMap((form) => formsAt(form, issue.path));
  const value = valueIn(place.input, path);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((name) => unknownName(name, path, meantForms(forms, value, issue.keys), place.root));
    case "invalid_key": {
      const key = issue.path.at(-1);
      const titles = issue.issues.map(({ message }) => message);
      const expected = formTitleOfKeys(place, issue.path) ?? titles.join(" and ");
      return [{ path, isName: true, problem: `found the name ${JSON.stringify(key)}, expected ${expected}` }];
    }
    case "invalid_union":
      return complaintsOfChoice(issue.errors, { ...place, forms, base: path }, value);
    case "custom":
      return [{ path, problem: issue.message }];
    default:
      return [{ path, problem: `found ${found(value)}, expected ${expectation(issue, forms, value)}` }];
  }
}

function formTitleOfKeys({ forms }: Place, path: readonly PropertyKey[]): string | undefined {
  const maps = forms.flatMap((form) => formsAt(form, path.slice(0, -1))).flatMap((form) => form.anyOf ?? [form]);
  return maps.find(({ propertyNames }) => propertyNames?.title !== undefined)?.propertyNames?.title;
}

/** Of several forms the complaints about the one that comes nearest; about all of them when none does. */
function complaintsOfChoice(
  errors: readonly (readonly z.core.$ZodIssue[])[],
  place: Place,
  value: unknown,
): readonly Complaint[] {
  const options = place.forms.flatMap((form) => form.anyOf ?? []);
  const ranked = errors
    .map((issues, index) => ({
      issues,
      form: options[index] ?? {},
      distance: distanceOf(issues, options[index] ?? {}),
    }))
    .filter(({ distance }) => Number.isFinite(distance))
    .sort((one, other) => one.distance - other.distance);
  const [nearest, second] = ranked;
  if (nearest === undefined || nearest.distance === second?.distance) {
    const candidates = ranked.length > 0 ? ranked.map(({ form }) => form) : place.forms;
    return [{ path: place.base, problem: `found ${found(value)}, expected ${orWords(candidates)}` }];
  }
  return nearest.issues.flatMap((issue) => complaintsOfIssue(issue, { ...place, forms: [nearest.form] }));
}

/** How far a value is from a form: its mistakes, or infinite when it is not even of the same kind. */
function distanceOf(issues: readonly z.core.$ZodIssue[], form: Form): number {
  if (issues.some(({ code, path }) => path.length === 0 && (code === "invalid_type" || code === "invalid_value"))) {
    return Infinity;
  }
  return issues.reduce((sum, issue) => {
    if (issue.code !== "unrecognized_keys") return sum + 1;
    const misspelt = issue.keys.filter((name) => nearestName(name, namesIn(form)) !== undefined);
    return sum + issue.keys.length - misspelt.length / 2;
  }, 0);
}

/** Of a choice those that know all the other names. */
function meantForms(forms: readonly Form[], value: unknown, unknown: readonly string[]): readonly Form[] {
  const options = forms.flatMap((form) => form.anyOf ?? [form]);
  const others = Object.keys(value ?? {}).filter((name) => !unknown.includes(name));
  const fitting = options.filter((option) => others.every((name) => namesIn(option).includes(name)));
  return fitting.length > 0 ? fitting : options;
}

function unknownName(name: string, path: readonly PropertyKey[], forms: readonly Form[], root: Form): Complaint {
  const known = [...new Set(forms.flatMap(namesIn))];
  const near = nearestName(name, known);
  const elsewhere = near === undefined ? placesOf(name, root) : [];
  const hint =
    near !== undefined
      ? `; did you mean ${near}?`
      : elsewhere.length === 1
        ? `; ${name} belongs ${elsewhere[0] === "" ? "at the top" : `in ${elsewhere[0]}`}`
        : "";
  return {
    path: [...path, name],
    isName: true,
    problem: `found the unknown name ${JSON.stringify(name)}, expected one of ${known.join(", ")}${hint}`,
    ...(near === undefined ? {} : { meant: near }),
  };
}

/** A form without a title may still have a pattern, whose message says what it is. */
function expectation(issue: z.core.$ZodIssue, forms: readonly Form[], value: unknown): string {
  const [form] = forms;
  const isUntitled = forms.every(({ title }) => title === undefined);
  if (issue.code === "invalid_format" && isUntitled) {
    return issue.format === "regex"
      ? issue.message
      : `text that ${issue.format.replaceAll("_", " ")} ${prefixOf(issue)}`;
  }
  const words = forms.length === 0 ? "another value" : orWords(forms);
  const isBare = typeof value === "number" || typeof value === "boolean";
  return form?.type === "string" && isBare ? `${words}, in quotes` : words;
}

function prefixOf(issue: z.core.$ZodIssue): string {
  return "prefix" in issue ? JSON.stringify(issue.prefix) : "";
}

const FOUND_CHARACTERS_MAX = 80;

export function found(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "an empty value (null)";
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > FOUND_CHARACTERS_MAX ? `${text.slice(0, FOUND_CHARACTERS_MAX)}…` : text;
}

/** The value at a path, or undefined; of own names only. */
export function valueIn(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const name of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[name];
  }
  return value;
}
