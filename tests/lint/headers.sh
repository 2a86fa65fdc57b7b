#!/bin/sh
# Each header compiles alone, twice in a row, with the include path of its own folder; names are unique; no path in an include.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

for header in $(cd "$top" && find src -name '*.h' | sort); do
    folder=${header%/*}
    name=${header##*/}
    checked=$((checked + 1))
    [ -n "$(value_of "$folder")" ] || { fail "$folder has no compile flags in tests/lint/local.mk"; continue; }
    printf '#include "%s"\n#include "%s"\nint a_translation_unit_needs_a_declaration;\n' "$name" "$name" | compiles "$folder" "$out" ||
        { fail "$header does not compile alone:"; head -n 5 "$out"; }
done

for name in $(cd "$top" && find src -name '*.h' | sed 's|.*/||' | sort | uniq -d); do
    fail "the header name $name is used more than once"
done

if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]*/' "$top/src" --include='*.[ch]' >"$out"; then
    fail "includes name files only, never paths:"
    cat "$out"
fi
finish
