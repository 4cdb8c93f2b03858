#!/usr/bin/env bash
# What needs a Docker engine: the lab's container backends, a run with --database container, and the compose file,
# each for real, with images made from what lies on this machine. Where no engine can be had, one line says that
# this was skipped and why. Stops and removes whatever it started.
set -u
cd "$(dirname "$0")/.." || exit 1

# Below what other users can get to: PostgreSQL's own directories are made there.
work=$(mktemp -d /tmp/idemproof-docker-XXXXXX)
chmod 755 "$work"
engine_process=""
had_bridge=$(ls -d /sys/class/net/docker0 2>/dev/null)
failed=0

skip() { echo "docker leg skipped: $1"; exit 0; }

step() {
  local name=$1 log=$work/step.log began=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then echo "docker: $name: passed, $((SECONDS - began)) s"; return; fi
  failed=1
  echo "docker: $name: FAILED"
  tail -n 60 "$log"
}

compose() {
  local command=(docker-compose)
  docker compose version >/dev/null 2>&1 && command=(docker compose)
  "${command[@]}" --project-name "$(basename "$work" | tr '[:upper:]' '[:lower:]')" "$@"
}

clean_up() {
  if docker info >/dev/null 2>&1; then
    compose down --volumes >/dev/null 2>&1
    docker image rm --force idemproof-ci/{postgres:18,node:20,toxiproxy:2.12.0} >/dev/null 2>&1
  fi
  if [ -n "$engine_process" ]; then
    kill "$engine_process" 2>/dev/null
    wait "$engine_process" 2>/dev/null
    [ -n "$had_bridge" ] || ip link delete docker0 2>/dev/null
    grep -o " $work/[^ ]*" /proc/mounts | sort -r | while read -r mount; do umount "$mount"; done
  fi
  rm -rf "$work"
}
trap clean_up EXIT

missing() {
  local command
  for command in docker dockerd docker-compose busybox pg_isready; do command -v "$command" >/dev/null || echo "$command"; done
}

# A compose that is a part of docker will do, and so will an engine that runs already.
needed() { missing | grep -vxF -e "$(docker compose version >/dev/null 2>&1 && echo docker-compose)" -e "$(docker info >/dev/null 2>&1 && echo dockerd)"; }

install_tools() {
  [ -n "$(needed)" ] || return 0
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "found no $(needed | tr '\n' ' ')"
  { apt-get update && apt-get install -y docker.io docker-compose busybox-static postgresql-client; } >"$work/apt.log" 2>&1
  [ -z "$(needed)" ] || skip "apt-get brought no $(needed | tr '\n' ' ')"
}

# The one image that needs a compiler, unless a run has put the program into the cache.
need_toxiproxy() {
  command -v go >/dev/null || ls "${XDG_CACHE_HOME:-$HOME/.cache}"/idemproof/toxiproxy-*/toxiproxy-server >/dev/null 2>&1 ||
    skip "found neither Toxiproxy in the cache nor Go to build it"
}

# Containers publish on loopback, and the engine leaves the machine's packet filter alone.
start_engine() {
  docker info >/dev/null 2>&1 && return
  [ "$(id -u)" = 0 ] || skip "no Docker engine answers, and only root can start one"
  export DOCKER_HOST=unix://$work/docker.sock
  dockerd --host="$DOCKER_HOST" --data-root="$work/data" --exec-root="$work/exec" --pidfile="$work/dockerd.pid" \
    --ip=127.0.0.1 --iptables=false --ip-masq=false --ip-forward=false >"$work/dockerd.log" 2>&1 &
  engine_process=$!
  for _ in $(seq 100); do
    docker info >/dev/null 2>&1 && return
    kill -0 "$engine_process" 2>/dev/null || break
    sleep 0.2
  done
  skip "the Docker engine does not start: $(tail -n 1 "$work/dockerd.log")"
}

# Not among the project's own packages: see harness/decisions/0008-testcontainers-is-an-optional-peer.md.
install_testcontainers() {
  npm install --prefix "$work/packages" --no-save --ignore-scripts --no-audit --no-fund @testcontainers/postgresql@11.14
}

nothing_left() {
  docker ps --all --format '{{.Image}} {{.Names}}' | tee /dev/stderr | grep -c idemproof-ci | grep -qx 0
}

container_run() {
  node dist/harness/cli/main.js run --database container --quick --only duplicates-at-once --report-dir "$work/run"
}

composed_run() {
  mkdir -p "$work/compose"
  IDEMPROOF_REPORTS=$work/compose compose up --abort-on-container-exit --exit-code-from harness
}

need_toxiproxy
install_tools
start_engine
step "npm install testcontainers" install_testcontainers
step "images" .ci/images/build.sh "$work/images"
[ "$failed" -eq 0 ] || exit 1

export NODE_PATH=$work/packages/node_modules IDEMPROOF_TEST_CONTAINERS=on
export IDEMPROOF_POSTGRES_IMAGE=idemproof-ci/postgres:18 IDEMPROOF_NODE_IMAGE=idemproof-ci/node:20
export IDEMPROOF_TOXIPROXY_IMAGE=idemproof-ci/toxiproxy:2.12.0
# Inside a container testcontainers looks for published ports at the gateway, where this engine publishes none.
[ ! -e /.dockerenv ] || export TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1

step "container backends" npx vitest run --retry=2 dist/harness/lab/containers.test.js
step "run --database container" container_run
step "docker-compose.yml" composed_run
compose down --volumes >/dev/null 2>&1
step "no container is left" nothing_left
exit "$failed"
