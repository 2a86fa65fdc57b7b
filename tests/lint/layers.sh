#!/bin/sh
# No folder can include a header of a folder that it must not see: the compiler is asked with the folder's own flags.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
out=$(mktemp) text=$(mktemp) first=$(mktemp)
trap 'rm -f "$out" "$text" "$first"' EXIT
table=$here/layers.txt

# for each folder that has headers of its own, not of its sub-folders: the first of them, the folder, and its top (src/store/core is of store)
(cd "$top" && find src -name '*.h' | sort) |
    awk -F/ '{ header = $NF; folder = $0; sub(/\/[^\/]*$/, "", folder) } !seen[folder]++ { print header, folder, $2 }' >"$first"

for folder in $(folders); do
    of_top=${folder#src/}
    of_top=${of_top%%/*}
    allowed=$(sed -n "s|^$of_top  *||p" "$table")
    [ -n "$allowed" ] || { fail "$of_top has no line in tests/lint/layers.txt"; continue; }
    [ -n "$(value_of "$folder")" ] || { fail "$folder has no compile flags in tests/lint/local.mk"; continue; }
    asked=0
    own=
    while read -r header other other_top; do
        [ "$other" != "$folder" ] || own=$header
        case " $allowed " in
        *" $other_top "*) continue ;;
        esac
        asked=$((asked + 1))
        printf '#if __has_include("%s")\n#error %s can include %s of %s\n#endif\n' "$header" "$folder" "$header" "$other"
    done <"$first" >"$text"
    checked=$((checked + asked))
    # the counter-check: its own first header is found
    [ -z "$own" ] || printf '#if !__has_include("%s")\n#error %s cannot include its own %s\n#endif\n' "$own" "$folder" "$own" >>"$text"
    compiles "$folder" "$out" <"$text" || { fail "$folder sees what it must not, or not what is its own:"; grep '#error' "$out" || cat "$out"; }
done
finish
