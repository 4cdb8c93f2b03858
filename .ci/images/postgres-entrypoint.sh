#!/bin/sh
# What the official image does with the same variables, as far as it is needed: a cluster when there is none, its
# user with a password, a database, connections from everywhere.
set -eu
method=${POSTGRES_HOST_AUTH_METHOD:-scram-sha-256}
user=${POSTGRES_USER:-postgres}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s\n' "${POSTGRES_PASSWORD:-unused}" >/tmp/password
  initdb --username="$user" --auth-local=trust --auth-host="$method" --pwfile=/tmp/password --encoding=UTF8 --locale=C --no-sync
  rm /tmp/password
  echo "host all all all $method" >>"$PGDATA/pg_hba.conf"
  printf "listen_addresses = '*'\nunix_socket_directories = '/tmp'\n" >>"$PGDATA/postgresql.conf"
  [ "${POSTGRES_DB:-$user}" = postgres ] || echo "create database \"${POSTGRES_DB:-$user}\"" | postgres --single -D "$PGDATA" postgres
fi
exec "$@"
