/** YAML text that knows where each of its values stands, so that a mistake can be shown to its author. */
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type Pair,
  Parser,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { messageOf } from "../fail.ts";

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Misprint extends Position {
  readonly problem: string;
}

/** A file that says one thing a hundred times by aliases is no target file but an attack on its reader. */
const ALIASES_MAX = 100;
/** Deeper than any request body; deeper yet, recursive readers run out of stack, and the process with them. */
const DEPTH_MAX = 64;
/** The parser quotes what it did not expect, whole. */
const MESSAGE_CHARACTERS_MAX = 120;
/** One slip makes the parser stumble on; its first stumbles are near the slip. */
const ERRORS_MAX = 5;
const TOO_DEEP = `found values nested more than ${DEPTH_MAX} deep`;

export class YamlSource {
  readonly #document: Document | null;
  readonly #lines = new LineCounter();
  /** Undefined where the text is too broken to have a value. */
  readonly value: unknown;
  readonly misprints: readonly Misprint[];

  constructor(text: string) {
    const misprints: Misprint[] = [];
    this.#document = this.#parse(text, misprints);
    this.value = this.#read(this.#document, misprints);
    this.misprints = misprints;
  }

  /** Where the value at a path stands, or with `isName` its name; for what is not there, the name of what should hold it. */
  positionOf(path: readonly PropertyKey[], isName = false): Position {
    let node: Node | null | undefined = this.#document?.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const [index, name] of path.entries()) {
      const step = this.#step(node, name);
      if (step === undefined) break;
      const isLast = index === path.length - 1;
      node = step.value;
      offset = isLast && !isName && step.value?.range ? step.value.range[0] : step.offset;
    }
    return this.#position(offset);
  }

  #parse(text: string, misprints: Misprint[]): Document | null {
    if (isTextDeeperThan(text, DEPTH_MAX)) {
      misprints.push({ line: 1, column: 1, problem: TOO_DEEP });
      return null;
    }
    const options = { lineCounter: this.#lines, prettyErrors: false, merge: true, logLevel: "error" } as const;
    const document = parseDocument(text, options);
    const duplicates = document.errors.filter(({ code }) => code === "DUPLICATE_KEY");
    const others = document.errors.filter(({ code }) => code !== "DUPLICATE_KEY");
    const unquoted = others.length > 0 ? unquotedName(text) : null;
    if (unquoted !== null) misprints.push({ ...this.#position(unquoted.offset), problem: unquoted.problem });
    // What the parser says from there on it would not say with the quotes.
    const before = others.filter(
      ({ pos }) => unquoted === null || this.#position(pos[0]).line < this.#position(unquoted.offset).line,
    );
    for (const error of [...duplicates, ...before.slice(0, ERRORS_MAX), ...document.warnings]) {
      misprints.push({ ...this.#position(error.pos[0]), problem: inWords(error, text) });
    }
    // A name that stands twice leaves the rest readable; after any other error its reading is a guess.
    return others.length === 0 ? document : null;
  }

  #read(document: Document | null, misprints: Misprint[]): unknown {
    if (document === null) return undefined;
    const dangling = this.#dangling(document);
    misprints.push(...dangling);
    if (dangling.length > 0) return undefined;
    try {
      const value: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
      if (!isDeeperThan(value, DEPTH_MAX)) return value;
      misprints.push({ line: 1, column: 1, problem: TOO_DEEP });
    } catch (error) {
      misprints.push({ line: 1, column: 1, problem: unreadable(error) });
    }
    return undefined;
  }

  /** Aliases without an anchor, and merges of what is no map: the parser finds them only when it is too late to say where. */
  #dangling(document: Document): readonly Misprint[] {
    const misprints: Misprint[] = [];
    const at = (node: Node): Position => this.#position(node.range?.[0] ?? 0);
    visit(document, {
      Alias: (_, alias) => {
        if (alias.resolve(document) !== undefined) return;
        const problem = `found the alias *${alias.source}, expected its anchor &${alias.source} before it`;
        misprints.push({ ...at(alias), problem });
      },
      Pair: (_, pair) => {
        if (!isMerge(pair) || !isNode(pair.value)) return;
        const value = isAlias(pair.value) ? pair.value.resolve(document) : pair.value;
        if (value === undefined || isMap(value) || isSeq(value)) return;
        misprints.push({ ...at(pair.value), problem: "<<: found a value, expected an alias of a map such as *name" });
      },
    });
    return misprints;
  }

  #step(node: Node | null | undefined, name: PropertyKey): { value: Node | null; offset: number } | undefined {
    const resolved = this.#resolve(node);
    if (isSeq(resolved)) {
      const item = resolved.items[Number(name)];
      return isNode(item) ? { value: item, offset: item.range?.[0] ?? 0 } : undefined;
    }
    if (!isMap(resolved)) return undefined;
    const pair = this.#pairIn(resolved, String(name));
    if (pair === undefined) return undefined;
    const offset = isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0;
    return { value: isNode(pair.value) ? pair.value : null, offset };
  }

  /** The pair of a name: the map's own, else one that is merged in with `<<`. */
  #pairIn(map: YAMLMap, name: string): Pair | undefined {
    const own = map.items.findLast((pair) => nameOf(pair) === name);
    if (own) return own;
    for (const { value } of map.items.filter(isMerge)) {
      const source = this.#resolve(isNode(value) ? value : null);
      for (const one of isSeq(source) ? source.items : [source]) {
        const merged = this.#resolve(isNode(one) ? one : null);
        const found = isMap(merged) ? this.#pairIn(merged, name) : undefined;
        if (found) return found;
      }
    }
    return undefined;
  }

  #resolve(node: Node | null | undefined): Node | null | undefined {
    return isAlias(node) && this.#document ? node.resolve(this.#document) : node;
  }

  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function nameOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}

function isMerge({ key }: Pair): boolean {
  return isScalar(key) && (key.value === "<<" || typeof key.value === "symbol");
}

/** The first `${…}` of the lab's within { } or [ ], where its braces would be a map's. */
function unquotedName(text: string): { readonly offset: number; readonly problem: string } | null {
  const found = /^[^#\n]*?[{[][^#\n"']*?[:,[{]\s*(\$\{\w+\})/m.exec(text);
  const [whole, name] = found ?? [];
  if (found === null || whole === undefined || name === undefined) return null;
  const problem = `found ${name} without quotes within { } or [ ], where its braces mean a map, expected "${name}"`;
  return { offset: found.index + whole.length - name.length, problem };
}

/** The parser's errors that an author meets most, in our words. */
function inWords({ code, message, pos }: YAMLError, text: string): string {
  switch (code) {
    case "DUPLICATE_KEY":
      return `found the name ${nameAt(text, pos[0])} a second time in one map, expected it once`;
    case "TAB_AS_INDENT":
      return "found a tab, expected spaces: YAML is indented with spaces only";
    case "MULTIPLE_DOCS":
      return "found a second document (---), expected one";
    case "BLOCK_AS_IMPLICIT_KEY":
      return "found a second colon in one line, expected quotes around text that holds a colon and a space";
    case "TAG_RESOLVE_FAILED":
      return `found a tag (${message}), expected plain YAML`;
    default:
      return `found no valid YAML: ${message.slice(0, MESSAGE_CHARACTERS_MAX).split("\n")[0]}`;
  }
}

function nameAt(text: string, offset: number): string {
  return JSON.stringify(/^["']?([^:"'\n]*)/.exec(text.slice(offset, offset + 200))?.[1]?.trim() ?? "");
}

function unreadable(error: unknown): string {
  return /excessive alias count/i.test(messageOf(error))
    ? `found more than ${ALIASES_MAX} values made by aliases (*name), expected a plain file`
    : `found no valid YAML: ${messageOf(error)}`;
}

/** Before anything recursive reads it: the first parser works with a stack of its own. */
function isTextDeeperThan(text: string, depth: number): boolean {
  const parser = new Parser();
  // A level of the file takes up to three places there: a map, its pair, a list in it.
  const most = depth * 3;
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > most) return true;
  }
  return false;
}

/** An alias inside its own anchor is without end, so this also finds circles. */
function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((inner) => isDeeperThan(inner, depth - 1));
}
