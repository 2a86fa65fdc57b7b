#!/bin/sh
# Each header compiles alone, with the include path of its own folder, and may be included twice; names are unique; no path in an include.
#
# What a source file of the same name begins with is compiled alone by the build itself; only the others are compiled here.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
out=$(mktemp) built=$(mktemp)
trap 'rm -f "$out" "$built"' EXIT

# awk: the name of each file, and its first line that is neither blank nor in a comment
# shellcheck disable=SC2016 # fields of awk
first_lines='FNR == 1 { found = inside = 0 }
    found { next }
    inside || /^\/\*/ { inside = !/\*\//; next }
    NF { print FILENAME, $0; found = 1 }'
# each src/x/y.h with which a src/x/y.c begins
(cd "$top" && find src -name '*.c' -exec awk "$first_lines" {} +) |
    awk '{ header = $1; sub(/c$/, "h", header); name = header; sub(/.*\//, "", name) }
        $2 " " $3 == "#include \"" name "\"" && NF == 3 { print header }' >"$built"

for header in $(cd "$top" && find src -name '*.h' -exec awk "$first_lines" {} + | awk '$2 " " $3 != "#pragma once" || NF != 3 { print $1 }'); do
    fail "$header does not begin with #pragma once"
done

for header in $(cd "$top" && find src -name '*.h' | sort); do
    folder=${header%/*}
    name=${header##*/}
    checked=$((checked + 1))
    ! grep -qx "$header" "$built" || continue
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
