/** Every invariant, in the order of the report. One line each. */
import type { Invariant } from "../invariant.ts";
import { acknowledgedEffectExists } from "./acknowledged-effect-exists.ts";
import { atMostOneEffect } from "./at-most-one-effect.ts";
import { replayIsIdentical } from "./replay-is-identical.ts";

const list = [atMostOneEffect, acknowledgedEffectExists, replayIsIdentical] as const satisfies readonly Invariant[];

export type InvariantId = (typeof list)[number]["id"];
export const invariants: readonly Invariant[] = list;
