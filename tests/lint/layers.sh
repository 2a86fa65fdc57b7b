#!/bin/sh
# No folder can include a header of a folder that it must not see: the compiler is asked with the folder's own flags.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
out=$(mktemp) text=$(mktemp)
trap 'rm -f "$out" "$text"' EXIT
table=$here/layers.txt

# a_header FOLDER: the first header of that folder, not of its sub-folders.
a_header() { (cd "$top/$1" && for h in *.h; do [ -f "$h" ] && echo "$h" && break; done); }

# top_of FOLDER: src/store/core is part of store.
top_of() { echo "$1" | cut -d/ -f2; }

for folder in $(folders); do
    allowed=$(sed -n "s|^$(top_of "$folder")  *||p" "$table")
    [ -n "$allowed" ] || { fail "$(top_of "$folder") has no line in tests/lint/layers.txt"; continue; }
    [ -n "$(value_of "$folder")" ] || { fail "$folder has no compile flags in tests/lint/local.mk"; continue; }
    asked=0
    for other in $(folders); do
        header=$(a_header "$other")
        [ -n "$header" ] || continue
        case " $allowed " in
        *" $(top_of "$other") "*) continue ;;
        esac
        asked=$((asked + 1))
        printf '#if __has_include("%s")\n#error %s can include %s of %s\n#endif\n' "$header" "$folder" "$header" "$other"
    done >"$text"
    checked=$((checked + asked))
    compiles "$folder" "$out" <"$text" || { fail "$folder sees what it must not:"; grep '#error' "$out" || cat "$out"; }
    # the counter-check: its own first header is found
    header=$(a_header "$folder")
    [ -z "$header" ] || printf '#include "%s"\n' "$header" | compiles "$folder" "$out" || fail "$folder cannot include its own $header"
done
finish
