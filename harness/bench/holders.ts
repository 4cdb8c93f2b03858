/**
 * Conflicts need somebody who holds the key: a slow request that began a little before them. One holder serves
 * the conflicts that come while it certainly is at work, which is neither its first moments nor its last.
 */
import type { Micros } from "../operation.ts";
import type { Slot } from "./schedule.ts";

export interface Start {
  readonly at: Micros;
  /** Null: a holder, which is measured nowhere. */
  readonly slot: Slot | null;
  readonly target: number;
  /** The operation that is in flight; null where none need be. */
  readonly holder: string | null;
}

/** Parts of the time that the slow handler takes. */
const FROM_SHARE = 0.3;
const UNTIL_SHARE = 0.7;

/** `slowMs` of each target, or null where there are no conflicts. */
export function withHolders(slots: readonly Slot[], slowMs: readonly (number | null)[]): readonly Start[] {
  const starts: Start[] = [];
  const current = new Map<number, { readonly name: string; readonly at: Micros }>();
  // Nothing starts before the load does: the first conflict may be right at its beginning.
  const lead = Math.max(0, ...slowMs.map((ms) => (ms ?? 0) * 1000 * FROM_SHARE));
  for (const slot of slots) {
    const { target } = slot;
    const at = slot.at + lead;
    const slow = (slowMs[target] ?? 0) * 1000;
    if (slot.class !== "conflict" || slow === 0) {
      starts.push({ at, slot, target, holder: null });
      continue;
    }
    let holder = current.get(target);
    if (holder === undefined || at > holder.at + slow * UNTIL_SHARE) {
      holder = { name: `holder-${target}-${starts.length}`, at: at - slow * FROM_SHARE };
      current.set(target, holder);
      starts.push({ at: holder.at, slot: null, target, holder: holder.name });
    }
    starts.push({ at, slot, target, holder: holder.name });
  }
  return starts.sort((one, other) => one.at - other.at);
}
