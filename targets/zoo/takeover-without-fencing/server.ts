/**
 * Defect: a takeover gives the record a new lease and leaves its token as it was. The old holder, when it wakes
 * up, shows the same token as the new one, and finishes what the new one has finished already.
 *
 * In the wild: leases and locks whose value is a constant, a host name or the key itself; and an "owner" column
 * that the takeover forgets to set.
 *
 * Why it looks right: completion does check the token, and of all who wait for the lease one gets it. That the
 * holder before them may only have been slow does not show until it comes back.
 */
import { takeOverBy } from "../../reference/idempotency/take-over.ts";
import { serve } from "../../reference/serve.ts";

/** The reference's statement without its new token. */
const TAKE_OVER = `
  update idempotency_keys
  set request_hash = $4, state = 'in_progress',
    recovery_point = case when state = 'in_progress' then recovery_point else 'claimed' end,
    lease_expires_at = clock_timestamp() + $5 * interval '1 ms',
    expires_at = clock_timestamp() + $6 * interval '1 ms',
    response_status = null, response_headers = null, response_body = null
  where scope = $1 and key = $2 and fencing_token = $3
    and case state
      when 'in_progress' then lease_expires_at <= clock_timestamp() and (recovery_point = 'claimed' or request_hash = $4)
      when 'failed_retryable' then true
      else expires_at <= clock_timestamp()
    end
  returning fencing_token, recovery_point, downstream_outcome`;

await serve({ takeOver: (...seen) => takeOverBy(TAKE_OVER, ...seen) });
