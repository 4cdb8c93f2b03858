/** What the lab puts in place of `${name}` in a target's commands and environment. */

export const LAB_NAMES = ["port", "http2Port", "replica", "postgres", "redis", "processor", "failpoints"] as const;

/** Names of single replicas: there are none while `prepare` runs. */
export const REPLICA_NAMES: readonly string[] = ["port", "http2Port", "replica"] satisfies (typeof LAB_NAMES)[number][];

/** The names in `${name}`, in order. */
export function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name ?? "");
}

/** Names without a value stay as they stand. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
