-- What is known of an operation that calls the processor. It means something from the recovery point
-- 'intent-recorded' on; what an earlier operation left under the same key is overwritten there.
alter table idempotency_keys
  -- Sent to the processor as its idempotency key.
  add column downstream_key text,
  -- Caller and fields: what it takes to finish the operation without its request.
  add column downstream_intent jsonb,
  -- Id and status of the charge, as the processor said.
  add column downstream_outcome jsonb,
  -- Since when the outcome has been open; null when it is not.
  add column held_since timestamptz,
  -- How often the reconciler looked and found nothing, and when it looks again.
  add column tries int not null default 0,
  add column next_look_at timestamptz;

-- By a column that orders never set: an index on state or recovery point would make each of their completions
-- write to it.
create index idempotency_keys_held_since on idempotency_keys (held_since) where held_since is not null;

-- The processor's id of a charge. Not unique, and no more is a receipt's: it is the key layer that has to keep
-- a charge from being booked twice, and a second row would show that it did not.
alter table ledger add column charge text;

create table receipts (
  id uuid primary key default gen_random_uuid(),
  ledger_id bigint not null,
  charge text not null,
  created_at timestamptz not null default clock_timestamp()
);
