/**
 * Defect: the record is found by its key alone; whether the request is the same one is never asked. Another
 * payload under a used key gets the first payload's answer, as if it had been carried out.
 *
 * In the wild: most small key middlewares, and some vendors by contract ("only the key matters"). Here the
 * contract promises that another payload is refused.
 *
 * Why it looks right: keys are meant to be unique, so a second payload under one key "cannot happen". It
 * does: clients derive keys from a cart or a user, and the amount changes between two clicks.
 */
import { decide } from "../../reference/idempotency/plugin.ts";
import { serve } from "../../reference/serve.ts";

await serve({ decide: (record) => decide(record, record.requestHash) });
