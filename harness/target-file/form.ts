/**
 * The form that a schema gives to a file: which names and values are known where, and how to say so. Read
 * from the JSON Schema that zod makes of it, so that messages and the published schema cannot disagree.
 */
import { z } from "zod";

export interface Form {
  readonly title?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly items?: Form | readonly Form[];
  readonly properties?: Readonly<Record<string, Form>>;
  readonly required?: readonly string[];
  readonly propertyNames?: Form;
  readonly additionalProperties?: boolean | Form;
  readonly anyOf?: readonly Form[];
}

/** What a file may hold, as opposed to what it is turned into when it is read. */
export function formOf(schema: z.ZodType): Form {
  const { definitions = {}, ...root } = z.toJSONSchema(schema, { io: "input", target: "draft-7" });
  return withoutReferences(root, definitions as Readonly<Record<string, Form>>) as Form;
}

/** A reference is cut at its title: what it names holds itself, and nobody is told of its inside. */
function withoutReferences(value: unknown, definitions: Readonly<Record<string, Form>>): unknown {
  if (Array.isArray(value)) return value.map((inner) => withoutReferences(inner, definitions));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && typeof value.$ref === "string") {
    const { title } = definitions[value.$ref.split("/").at(-1) ?? ""] ?? {};
    return title === undefined ? {} : { title };
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withoutReferences(inner, definitions)]),
  );
}

/** The forms that the value at a path may take: several below a choice. */
export function formsAt(form: Form, path: readonly PropertyKey[]): readonly Form[] {
  return path.reduce<readonly Form[]>((forms, name) => forms.flatMap((one) => inside(one, name)), [form]);
}

function inside(form: Form, name: PropertyKey): readonly Form[] {
  if (form.anyOf) return form.anyOf.flatMap((option) => inside(option, name));
  if (typeof name === "number") {
    const { items = [] } = form;
    return isList(items) ? [items[name] ?? []].flat() : [items];
  }
  const known = form.properties?.[String(name)];
  if (known) return [known];
  return typeof form.additionalProperties === "object" ? [form.additionalProperties] : [];
}

function isList(items: Form | readonly Form[]): items is readonly Form[] {
  return Array.isArray(items);
}

/** The names that a map of this form may have; none where it may have any. */
export function namesIn(form: Form): readonly string[] {
  return [...Object.keys(form.properties ?? {}), ...(form.anyOf ?? []).flatMap(namesIn)];
}

/** Where else in a form a name is known, as paths with `*` for names of the author's choice. */
export function placesOf(name: string, form: Form, path: readonly string[] = []): readonly string[] {
  const here = form.properties && Object.hasOwn(form.properties, name) ? [path.join(".")] : [];
  const below = [
    ...Object.entries(form.properties ?? {}).flatMap(([inner, value]) => placesOf(name, value, [...path, inner])),
    ...(form.anyOf ?? []).flatMap((option) => placesOf(name, option, path)),
    ...(typeof form.additionalProperties === "object" ? placesOf(name, form.additionalProperties, [...path, "*"]) : []),
  ];
  return [...new Set([...here, ...below])];
}

/** The form as the end of "expected …". */
function inWords(form: Form): string {
  if (form.title !== undefined) return form.title;
  if (form.anyOf) return orWords(form.anyOf);
  if ("const" in form) return JSON.stringify(form.const);
  if (form.enum) return form.enum.map((value) => JSON.stringify(value)).join(" or ");
  switch (form.type) {
    case "array":
      return listInWords(form);
    case "object":
      return mapInWords(form);
    case "string":
      return "text";
    case "boolean":
      return "true or false";
    case "integer":
    case "number":
      return numberInWords(form);
    default:
      return form.type ?? "a value";
  }
}

export function orWords(forms: readonly Form[]): string {
  return [...new Set(forms.map(inWords))].join(", or ");
}

function listInWords({ items, minItems = 0 }: Form): string {
  if (items === undefined) return "a list";
  if (isList(items)) return `a list of ${items.length}`;
  return `a list${minItems > 0 ? ` of at least ${minItems}` : ""}, each element ${inWords(items)}`;
}

function mapInWords({ properties, required = [] }: Form): string {
  if (required.length > 0) return `a map with ${andWords(required)}`;
  return properties === undefined ? "a map" : `a map with any of ${Object.keys(properties).join(", ")}`;
}

function andWords(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function numberInWords({ type, minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER }: Form): string {
  const what = type === "integer" ? "a whole number" : "a number";
  const hasLeast = minimum > Number.MIN_SAFE_INTEGER;
  const hasMost = maximum < Number.MAX_SAFE_INTEGER;
  if (hasLeast && hasMost) return `${what} from ${minimum} to ${maximum}`;
  return hasLeast ? `${what}, at least ${minimum}` : hasMost ? `${what}, at most ${maximum}` : what;
}
