import { expect, test } from "vitest";
import { digestOf, type Recipe } from "../recipe.ts";
import { type DirectOptions, directTarget } from "./direct-target.ts";
import { sourceArguments, sourceOf, targetAgain } from "./target-source.ts";

const PLAIN: DirectOptions = {
  url: ["http://127.0.0.1:1"],
  request: "POST /orders",
  body: '{"amount":1}',
  outcome: ["/amount"],
};
const size = { seed: 1, rounds: 1, samples: 1, concurrency: 2 };

async function recipeOf(options: DirectOptions): Promise<Recipe> {
  const target = await directTarget(options);
  const source = sourceOf(target, undefined, options);
  return { source, digest: digestOf(target), size, timeoutMs: 1, command: "" };
}

test("a target of the command line alone comes out of its source as it went in", async () => {
  const options = { ...PLAIN, success: ["200"], contract: "stripe-v1" };
  expect(await targetAgain(await recipeOf(options), {})).toEqual(await directTarget(options));
});

test("the line that repeats a run names statuses, fields and contract too", async () => {
  const { source } = await recipeOf({ ...PLAIN, success: ["200", "201"], contract: "stripe-v1" });
  expect(sourceArguments(source).join(" ")).toBe(
    '--url http://127.0.0.1:1 --request POST /orders --body {"amount":1} --success 200,201 --outcome /amount --contract stripe-v1',
  );
});

test("a URL or a body that holds a secret is left out of the recipe and asked for again", async () => {
  const options = {
    ...PLAIN,
    url: ["http://ann:hidden-word@127.0.0.1:1"],
    body: '{"amount":1,"token":"other-word"}',
    header: ["authorization: Bearer other-word"],
  };
  const recipe = await recipeOf(options);
  expect(JSON.stringify(recipe)).not.toMatch(/hidden-word|other-word/);
  expect(sourceArguments(recipe.source).join(" ")).not.toMatch(/hidden-word|other-word/);
  await expect(targetAgain(recipe, {})).rejects.toThrow("--url '…' --body '…' --header 'authorization: …'");
  const { url, body, header } = options;
  expect((await targetAgain(recipe, { url, body, header })).file.urls).toEqual(url);
});

test("a caller whose secret was renewed, and a target that moved, are still the target of the run", async () => {
  const recipe = await recipeOf({ ...PLAIN, header: ["authorization: Bearer old-secret"] });
  const again = { url: ["http://127.0.0.1:2"], header: ["authorization: Bearer renewed-secret"] };
  expect((await targetAgain(recipe, again)).file.urls).toEqual(again.url);
});

test("what a target file says is not given again on the command line", async () => {
  const recipe = { ...(await recipeOf(PLAIN)), source: { kind: "file", path: null } } as const;
  await expect(targetAgain(recipe, { header: ["a: b"] })).rejects.toThrow(
    "--header: the run had its target from a file",
  );
});
