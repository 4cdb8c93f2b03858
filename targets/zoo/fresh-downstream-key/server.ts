/**
 * Defect: each attempt calls the processor under a new key. Whoever takes a charge over asks for that key, which
 * the processor has never heard of, and then calls under it: the processor cannot tell a retry from a second
 * charge, and makes one.
 *
 * In the wild: clients of payment processors that make a key by themselves for every call, as some vendors'
 * libraries do by default, so that only their own retries within one call are recognised.
 *
 * Why it looks right: the processor is sent a key, and the takeover does ask first. As long as nothing fails in
 * between there is one attempt, and one key.
 */
import { randomUUID } from "node:crypto";
import { serve } from "../../reference/serve.ts";

await serve({ downstreamKeyOf: () => randomUUID() });
