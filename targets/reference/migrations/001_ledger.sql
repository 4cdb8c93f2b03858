create table ledger (
  id bigint generated always as identity primary key,
  kind text not null,
  caller text not null,
  reference text not null,
  amount numeric not null,
  currency text not null,
  item text not null,
  created_at timestamptz not null default clock_timestamp()
);

create index ledger_reference on ledger (reference);

create function ledger_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end
$$;

create trigger ledger_append_only
  before update or delete or truncate on ledger
  for each statement execute function ledger_is_append_only();
