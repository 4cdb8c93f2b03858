-- The records of idempotency_keys in partitions by the time of their claim. What is over goes with its whole
-- partition, which costs the same for any number of records and leaves nothing to be vacuumed.
--
-- PostgreSQL has no unique key across partitions, so (scope, key) is unique in each, and what makes a claim
-- atomic is claim_key_by_time: there is never more than one record of a key in all partitions together.
create table idempotency_keys_by_time (
  scope text not null,
  key text not null,
  request_hash text not null,
  state text not null check (state in ('in_progress', 'completed', 'failed_retryable')),
  recovery_point text not null default 'claimed',
  fencing_token bigint not null default nextval('fencing_tokens'),
  lease_expires_at timestamptz not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  -- Until then the record's partition stays, even if its holder has long finished.
  needed_until timestamptz not null generated always as (greatest(expires_at, lease_expires_at)) stored,
  response_status int,
  response_headers jsonb,
  response_body text
) partition by range (created_at);

create view idempotency_key_partitions as
  select inhrelid::regclass as partition, bounds[1]::timestamptz as starts_at, bounds[2]::timestamptz as ends_at
  from pg_inherits
  join pg_class on pg_class.oid = inhrelid
  cross join regexp_match(pg_get_expr(relpartbound, inhrelid), $$FROM \('(.+)'\) TO \('(.+)'\)$$) as bounds
  where inhparent = 'idempotency_keys_by_time'::regclass;

-- Creates what is missing of the partitions from now to so many periods ahead. A new partition begins where
-- the last one ends, so that neither a service that was down nor another length of the period makes two
-- overlap. To attach a table keeps no statement waiting, as to create it in place would.
create function create_key_partitions(period_ms bigint, periods_ahead int) returns int language plpgsql as $$
declare
  period interval := period_ms * interval '1 ms';
  from_time timestamptz;
  to_time timestamptz;
  name text;
  created int := 0;
begin
  -- Replicas create one after the other; the next one finds the work done.
  perform pg_advisory_xact_lock(7229100412);
  from_time := greatest(
    (select max(ends_at) from idempotency_key_partitions), date_bin(period, clock_timestamp(), timestamptz 'epoch'));
  while from_time <= clock_timestamp() + periods_ahead * period loop
    to_time := date_bin(period, from_time, timestamptz 'epoch') + period;
    name := 'idempotency_keys_by_time_' || (extract(epoch from from_time) * 1000)::bigint;
    execute format('create table %I (like idempotency_keys_by_time including all, primary key (scope, key))', name);
    execute format('create index on %I (needed_until)', name);
    execute format(
      'alter table idempotency_keys_by_time attach partition %I for values from (%L) to (%L)', name, from_time, to_time);
    from_time := to_time;
    created := created + 1;
  end loop;
  return created;
end
$$;

-- Drops the partitions whose time has passed and of which no record is needed any more. Nothing brings a record
-- into a partition of the past, and nothing prolongs one that is there, so what is over stays over.
--
-- To drop one, every statement on the table has to pause. The wait for that pause is short, and then given up
-- for this time: behind a waiting drop all requests wait too.
create function drop_key_partitions(lock_timeout_ms int) returns int language plpgsql as $$
declare
  past record;
  is_needed text := 'select exists (select from %s where needed_until > clock_timestamp())';
  found_needed boolean;
  dropped int := 0;
begin
  if not pg_try_advisory_xact_lock(7229100412) then
    return 0;
  end if;
  perform set_config('lock_timeout', lock_timeout_ms::text, true);
  for past in select partition from idempotency_key_partitions where ends_at <= clock_timestamp() order by ends_at loop
    execute format(is_needed, past.partition) into found_needed;
    continue when found_needed;
    begin
      lock table only idempotency_keys_by_time in access exclusive mode;
      -- A claim that was made in time may have been committed only now.
      execute format(is_needed, past.partition) into found_needed;
      continue when found_needed;
      execute format('drop table %s', past.partition);
      dropped := dropped + 1;
    exception when lock_not_available then
      return dropped;
    end;
  end loop;
  return dropped;
end
$$;

-- The atomic claim. Looks through the partitions; where there is no record, looks again as the only one who may
-- claim this key, and claims it. The second look has a snapshot of its own, taken after the lock, and the lock
-- is kept until what was claimed is committed: whoever comes next sees it. A key that is known needs no lock.
create function claim_key_by_time(of_scope text, of_key text, new_hash text, lease_ms float8, retention_ms float8)
returns table (
  claimed boolean, fencing_token bigint, request_hash text, state text, lease_left_ms float8, is_expired boolean,
  response_status int, response_headers jsonb, response_body text
) language plpgsql as $$
#variable_conflict use_column
declare
  is_alone boolean;
begin
  foreach is_alone in array array[false, true] loop
    if is_alone then
      perform pg_advisory_xact_lock(hashtextextended(of_scope || of_key, 0));
      -- A session that already holds a lock on a table does not learn of partitions created since. Taking the
      -- stronger one tells it; the second look would otherwise pass over a claim in a new partition. It also
      -- keeps partitions from being dropped between this look's snapshot and its walk through them.
      lock table only idempotency_keys_by_time in row exclusive mode;
    end if;
    return query
      select false, fencing_token, request_hash, state,
        (extract(epoch from lease_expires_at - clock_timestamp()) * 1000)::float8, expires_at <= clock_timestamp(),
        response_status, response_headers, response_body
      from idempotency_keys_by_time
      where scope = of_scope and key = of_key;
    if found then
      return;
    end if;
  end loop;
  return query
    insert into idempotency_keys_by_time (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
    values (of_scope, of_key, new_hash, 'in_progress', clock_timestamp() + lease_ms * interval '1 ms',
      clock_timestamp(), clock_timestamp() + retention_ms * interval '1 ms')
    returning true, fencing_token, null::text, null::text, 0::float8, false, null::int, null::jsonb, null::text;
end
$$;

-- The conditional takeover. The record moves to the partition of now, so that its old one is not kept for it;
-- the previous holder, whose token was in the old one, finds nothing to finish. Who deletes the old record is
-- the one who may insert the new one, and every snapshot sees one of the two. Null when another attempt was
-- faster or the holder has finished meanwhile.
create function take_over_key_by_time(
  of_scope text, of_key text, seen_token bigint, new_hash text, lease_ms float8, retention_ms float8
) returns bigint language plpgsql as $$
#variable_conflict use_column
declare
  new_token bigint;
begin
  delete from idempotency_keys_by_time
  where scope = of_scope and key = of_key and fencing_token = seen_token
    and case state
      when 'in_progress' then lease_expires_at <= clock_timestamp()
      when 'failed_retryable' then true
      else expires_at <= clock_timestamp()
    end;
  if not found then
    return null;
  end if;
  insert into idempotency_keys_by_time (scope, key, request_hash, state, lease_expires_at, created_at, expires_at)
  values (of_scope, of_key, new_hash, 'in_progress', clock_timestamp() + lease_ms * interval '1 ms',
    clock_timestamp(), clock_timestamp() + retention_ms * interval '1 ms')
  returning fencing_token into new_token;
  return new_token;
end
$$;
