/**
 * A contract is what a target promises about its keys. There is no common one in the field, so every
 * promise is a set of allowed answers, and `undocumented` where the publisher is silent: observed, never
 * failed.
 */
import { z } from "zod";

const undocumented = z.literal("undocumented");

/** One allowed answer: a status, and for publishers that reuse a status, a value at a JSON pointer of the body. */
const answer = z.union([
  z
    .int()
    .min(100)
    .max(599)
    .transform((status) => ({ status })),
  z.strictObject({
    status: z.int().min(100).max(599),
    pointer: z.string().startsWith("/").optional(),
    value: z.string().optional(),
  }),
]);
const answers = z.array(answer).min(1);

/** What becomes of a key that another caller, endpoint or query uses. */
const treatment = z.union([undocumented, z.array(z.enum(["separate", "mismatch", "shared"])).min(1)]);

/**
 * What becomes of the key after an answer of an error class: `stored` (the retry sees the same answer),
 * `released` (the retry executes).
 */
const storage = z.union([undocumented, z.array(z.enum(["stored", "released"])).min(1)]);

const milliseconds = z.union([undocumented, z.int().min(1)]);

export const LEVELS = ["must", "should", "info"] as const;

const key = z.strictObject({
  /** Where the client puts the key. */
  placement: z.union([
    z.strictObject({ header: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "a header name") }),
    z.strictObject({ body: z.string().startsWith("/") }),
  ]),
  /** Longest key that is accepted. */
  maxLength: z.union([undocumented, z.int().min(1)]),
  missing: z.union([undocumented, z.literal("executes"), answers]),
  malformed: z.union([undocumented, answers]),
  caseSensitive: z.union([undocumented, z.literal(true)]),
  /** Which keys the target takes; keys outside are malformed. */
  format: z.enum(["visible-ascii", "uuid"]),
});

const replay = z.strictObject({
  /** `verbatim`: byte for byte. `current-state`: the body may have moved on and is not compared. */
  body: z.enum(["verbatim", "current-state"]),
  /** Statuses that a replay may have instead of the first answer's. */
  statuses: z.array(z.int().min(100).max(599)),
  /** Headers of the first answer that a replay must carry too. */
  headers: z.array(z.string()),
  marker: z.union([z.null(), z.strictObject({ header: z.string(), value: z.string() })]),
});

const inFlight = z.strictObject({
  /** An empty list: duplicates are held back until the answer is there, and never told to wait. */
  answers: z.union([undocumented, z.array(answer)]),
  retryAfter: z.enum(["required", "optional"]),
});

const scope = z.strictObject({ caller: treatment, endpoint: treatment, query: treatment });
const stored = z.strictObject({
  validation: storage,
  failedBeforeEffect: storage,
  /** The processor, or whoever carries the operation out, refused it for good. */
  declined: storage.default("undocumented"),
});

const promises = {
  key,
  scope,
  /** `canonical`: equal spellings of one request match; `raw`: bytes are compared; `none`: only the key counts. */
  fingerprint: z.enum(["canonical", "raw", "none", "undocumented"]),
  replay,
  inFlight,
  mismatch: z.union([undocumented, answers]),
  /** A different payload while the first is in flight. */
  mismatchInFlight: z.union([undocumented, answers]),
  stored,
  /** For how long at least an answer is replayed, counted from the receipt of its request. */
  retentionMs: milliseconds,
  afterRetention: z.union([undocumented, z.array(z.enum(["new", "refused"])).min(1)]),
  /** The longest time a key stays in progress after its holder died. */
  leaseMs: milliseconds,
  /** Request headers that mean something inside the key layer and must mean nothing from outside. */
  internalHeaders: z.array(z.string()),
  /** Levels of single invariants where they differ from the invariant's own. */
  levels: z.record(z.string(), z.enum(LEVELS)),
};

export const contractSchema = z.strictObject({
  id: z.string(),
  title: z.string(),
  source: z.string(),
  asOf: z.string(),
  ...promises,
});

export type Contract = z.output<typeof contractSchema>;
export type AnswerPattern = z.output<typeof answer>;
export type Treatment = z.output<typeof treatment>;
export type Storage = z.output<typeof storage>;

/** What a target file may say of its contract: a profile, and the promises that differ from it. */
export const contractOverridesSchema = z.strictObject({
  extends: z.string().optional(),
  ...z.strictObject(promises).partial().shape,
  key: key.partial().optional(),
  scope: scope.partial().optional(),
  replay: replay.partial().optional(),
  inFlight: inFlight.partial().optional(),
  stored: stored.partial().optional(),
});

export type ContractOverrides = z.output<typeof contractOverridesSchema>;

/** The profile with the overrides laid over it: groups of promises are merged, single promises replaced. */
export function extendContract(profile: Contract, overrides: ContractOverrides): Contract {
  const { extends: _, ...rest } = overrides;
  const own = Object.keys(rest).filter((name) => rest[name as keyof typeof rest] !== undefined);
  const merged: Record<string, unknown> = { ...profile };
  if (own.length > 0) merged["id"] = `${profile.id} with its own ${own.join(", ")}`;
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue;
    const inherited = merged[name];
    merged[name] = isGroup(value) && isGroup(inherited) ? { ...inherited, ...value } : value;
  }
  return contractSchema.parse(merged);
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
