create table idempotency_keys (
  scope text not null,
  key text not null,
  request_hash text not null,
  state text not null check (state in ('in_progress', 'completed', 'failed_retryable')),
  recovery_point text not null default 'claimed',
  fencing_token bigint not null default 1,
  lease_expires_at timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  response_status int,
  response_headers jsonb,
  response_body text,
  primary key (scope, key)
);

-- The cleanup walks from the oldest; it never has to look at the rest.
create index idempotency_keys_expires_at on idempotency_keys (expires_at);
