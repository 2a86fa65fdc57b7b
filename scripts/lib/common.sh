# shellcheck shell=bash disable=SC2034
# Shared by the scripts of this folder: where things are, messages, logged steps, stamps. Sourced, never run.
# SPDX-License-Identifier: GPL-3.0-or-later
set -euo pipefail
export LC_ALL=C.UTF-8

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$top/build
logs=$build/logs
stamps=$build/stamps
venv=$top/.venv # a link into the cache
jobs=$(nproc)
# What is fetched or made once and fits any clone, each thing under a name or key made from its content; may be removed at any time.
export KAAS_CACHE=${KAAS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kaas}
cache=$KAAS_CACHE
mkdir -p "$logs" "$stamps" "$cache"
# Two clones compile the same file the same way, so the folder is not part of the key (ccache(1), "Compiling in different directories").
export CCACHE_DIR=$cache/ccache CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=yes
# Python modules compiled once: reading all tests takes a third of the time then, and the workers of pytest each read them all.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$build/pyc
export GOMODCACHE=$cache/go-mod GOCACHE=$cache/go-build npm_config_cache=$cache/npm

say() { printf '%s\n' "$*"; }

# die TEXT [REMEDY]: one line what is wrong, one what to do.
die() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    [ $# -lt 2 ] || printf '%s: %s\n' "${0##*/}" "$2" >&2
    exit 1
}

# logged NAME REMEDY COMMAND...: runs quietly into build/logs/NAME.log; on failure shows the end of it and what to do.
logged() {
    local name=$1 remedy=$2 start=$SECONDS status
    shift 2
    # not as a condition: bash would ignore `set -e` inside the command then
    set +e
    (set -e; "$@") >"$logs/$name.log" 2>&1 </dev/null 9>&-
    status=$?
    set -e
    if [ "$status" = 0 ]; then
        say "  $name: done ($((SECONDS - start)) s)"
        return 0
    fi
    say "  $name: FAILED after $((SECONDS - start)) s; from build/logs/$name.log:"
    awk '{line[NR] = $0} END {for (i = 1; i <= NR; i++) if (i <= 8 || i > NR - 25) print "    " line[i]; else if (i == 9) print "    ..."}' \
        "$logs/$name.log"
    die "the step '$name' failed" "$remedy"
}

# hash_of FILE|WORD...: one line that changes when a named file or word does.
hash_of() {
    local item
    for item in "$@"; do
        if [ -f "$item" ]; then sha256sum <"$item"; else printf '%s\n' "$item"; fi
    done | sha256sum | cut -d' ' -f1
}

# hash_tree FOLDER NAME-PATTERN...: the same over all files below a folder whose names fit.
hash_tree() {
    local folder=$1 pattern tests=()
    shift
    for pattern in "$@"; do tests+=(-o -name "$pattern"); done
    find "$folder" \( -name node_modules -o -name dist \) -prune -o -type f \( "${tests[@]:1}" \) -print0 |
        LC_ALL=C sort -z | xargs -0 -r sha256sum | sed "s#$folder/##" | sha256sum | cut -d' ' -f1
}

stamp_fits() { [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]; }
stamp_set() { printf '%s\n' "$2" >"$stamps/$1"; }

# configure_in FOLDER ARGUMENTS...: configures a build outside the sources.
configure_in() {
    local folder=$1
    shift
    mkdir -p "$folder"
    (cd "$folder" && "$(realpath --relative-to=. "$top")/configure" -q "$@")
}
