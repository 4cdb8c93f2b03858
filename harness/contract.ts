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
    pointer: z.string().startsWith("/").optional().describe("JSON pointer of what tells this answer from others"),
    value: z.string().optional().describe("What stands there, as text; left out: anything does"),
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
  placement: z
    .union([
      z.strictObject({ header: z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "a header name") }),
      z.strictObject({ body: z.string().startsWith("/") }),
    ])
    .describe("Where the client puts the key: a header, or a JSON pointer of the body"),
  maxLength: z.union([undocumented, z.int().min(1)]).describe("Characters of the longest key that is accepted"),
  missing: z
    .union([undocumented, z.literal("executes"), answers])
    .describe("A request without a key: executes as one of its own, or gets one of these answers"),
  malformed: z.union([undocumented, answers]).describe("A key that is empty, too long or outside `format`"),
  caseSensitive: z
    .union([undocumented, z.literal(true)])
    .describe("Whether keys that differ in case alone are two keys"),
  format: z.enum(["visible-ascii", "uuid"]).describe("Which keys are taken; keys outside are malformed"),
});

const replay = z.strictObject({
  body: z
    .enum(["verbatim", "current-state"])
    .describe("verbatim: byte for byte the first answer's; current-state: it may have moved on and is not compared"),
  statuses: z
    .array(z.int().min(100).max(599))
    .describe("Statuses that a replay may have instead of the first answer's"),
  headers: z.array(z.string()).describe("Headers of the first answer that a replay must carry too"),
  marker: z
    .union([z.null(), z.strictObject({ header: z.string(), value: z.string() })])
    .describe("The header by which an answer says that it is a replay; null: none does"),
});

const inFlight = z.strictObject({
  answers: z
    .union([undocumented, z.array(answer)])
    .describe("A duplicate while the first is in flight. An empty list: it is held back until the answer is there"),
  retryAfter: z.enum(["required", "optional"]).describe("Whether such an answer must say how long to wait"),
});

const scope = z
  .strictObject({
    caller: treatment.describe("The key used by another caller"),
    endpoint: treatment.describe("The key used for another operation"),
    query: treatment.describe("The key used with another query"),
  })
  .describe(
    "separate: it is another key; mismatch: it is refused as one; shared: it is the same key. Of several any is right",
  );

const stored = z
  .strictObject({
    validation: storage.describe("After an answer that refused the request as invalid"),
    failedBeforeEffect: storage.describe("After a 5xx that came before any effect"),
    declined: storage
      .default("undocumented")
      .describe("After the processor, or whoever carries the operation out, refused it for good"),
  })
  .describe("stored: a retry gets the same answer again; released: a retry executes. Of several any is right");

const promises = {
  key,
  scope,
  fingerprint: z
    .enum(["canonical", "raw", "none", "undocumented"])
    .describe("canonical: equal spellings of one request match; raw: bytes are compared; none: only the key counts"),
  replay,
  inFlight,
  mismatch: z.union([undocumented, answers]).describe("The same key with another payload, when the first is done"),
  mismatchInFlight: z
    .union([undocumented, answers])
    .describe("The same key with another payload, while the first is in flight"),
  stored,
  retentionMs: milliseconds.describe(
    "For how many milliseconds at least an answer is replayed, from the receipt of its request",
  ),
  afterRetention: z
    .union([undocumented, z.array(z.enum(["new", "refused"])).min(1)])
    .describe("The key after that: new: it stands for a new operation; refused: it is turned down"),
  leaseMs: milliseconds.describe(
    "The most milliseconds that a key stays in progress after its holder died; then a retry takes it over",
  ),
  internalHeaders: z
    .array(z.string())
    .describe("Request headers that mean something inside the key layer and must mean nothing from outside"),
  levels: z
    .record(z.string(), z.enum(LEVELS))
    .describe("Levels of single invariants, by their ids, where they differ from the invariant's own"),
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
  extends: z.string().optional().describe("The profile that it starts from (`idemproof list contracts`)"),
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
