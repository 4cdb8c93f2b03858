/**
 * What a key certainly stands for under a contract. Where the publisher is silent, two keys or two requests
 * may be one for the target and two for the client; a judge who took them for certain would accuse a target
 * that keeps every promise it made.
 */
import type { Contract } from "../contract.ts";
import type { KeyGroup } from "../history.ts";
import type { Attempt } from "../operation.ts";
import { oncePerHistory } from "./once.ts";

/** The key as the target tells keys apart: where case is undocumented, it may not count. */
export function keyText({ key: { caseSensitive } }: Contract, key: string): string {
  return caseSensitive === true ? key : key.toLowerCase();
}

/**
 * Equal for two attempts that ask for the same thing in the target's eyes. Another spelling is the same
 * request only for a target that promises to understand it, or that looks at nothing but the key.
 */
export function requestOf({ fingerprint }: Contract, { fingerprint: own, payload }: Attempt): string {
  const readsSpellings = fingerprint === "canonical" || fingerprint === "none";
  return readsSpellings || payload.kind !== "spelling" ? own : `${own} spelled ${payload.name}`;
}

/** Equal for two groups that the target may treat as one key: what is not promised to separate them may not. */
export function keyIdentity(
  contract: Contract,
  { key, caller, endpoint, query }: Pick<KeyGroup, "key" | "caller" | "endpoint" | "query">,
): string {
  const { scope } = contract;
  return JSON.stringify([
    keyText(contract, key),
    isSeparate(scope.caller) ? caller : null,
    isSeparate(scope.endpoint) ? endpoint : null,
    isSeparate(scope.query) ? query : null,
  ]);
}

/** The same of an attempt; without a key it stands for its operation alone. */
export function operationIdentity(contract: Contract, { key, operation, caller, endpoint, query }: Attempt): string {
  return key === null ? `operation ${operation}` : keyIdentity(contract, { key, caller, endpoint, query });
}

/** Groups with an ordinary key that, by the contract's promise, no other group shares. */
export const ownGroups = oncePerHistory(({ contract, groups }): readonly KeyGroup[] => {
  const ordinary = groups.filter(({ kinds }) => kinds.every(({ malformed }) => malformed === null));
  if (separatesEverything(contract)) return ordinary;
  const count = new Map<string, number>();
  for (const group of groups) {
    const identity = keyIdentity(contract, group);
    count.set(identity, (count.get(identity) ?? 0) + 1);
  }
  return ordinary.filter((group) => count.get(keyIdentity(contract, group)) === 1);
});

function separatesEverything({ key, scope }: Contract): boolean {
  return (
    key.caseSensitive === true && isSeparate(scope.caller) && isSeparate(scope.endpoint) && isSeparate(scope.query)
  );
}

function isSeparate(treatment: Contract["scope"]["caller"]): boolean {
  return treatment !== "undocumented" && treatment.every((one) => one === "separate");
}
