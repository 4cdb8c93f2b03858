-- A token is given once. Counted for each record, it would begin anew when a record is forgotten and its key
-- claimed again, and a holder from before could finish for the one after.
create sequence fencing_tokens;

select setval('fencing_tokens', coalesce(max(fencing_token), 1)) from idempotency_keys;

alter table idempotency_keys alter fencing_token set default nextval('fencing_tokens');
