#!/bin/sh
# A forbidden include really fails to compile: for each folder, a header of every folder it must not see.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
table=$here/layers.txt

# a_header FOLDER: the first header of that folder, not of its sub-folders.
a_header() { (cd "$top/$1" && for h in *.h; do [ -f "$h" ] && echo "$h" && break; done); }

# top_of FOLDER: src/store/core is part of store.
top_of() { echo "$1" | cut -d/ -f2; }

for folder in $(folders); do
    allowed=$(sed -n "s|^$(top_of "$folder")  *||p" "$table")
    [ -n "$allowed" ] || { fail "$(top_of "$folder") has no line in tests/lint/layers.txt"; continue; }
    [ -n "$(value_of "$folder")" ] || { fail "$folder has no compile flags in tests/lint/local.mk"; continue; }
    for other in $(folders); do
        header=$(a_header "$other")
        [ -n "$header" ] || continue
        case " $allowed " in
        *" $(top_of "$other") "*) continue ;;
        esac
        checked=$((checked + 1))
        if printf '#include "%s"\n' "$header" | compiles "$folder" "$out"; then
            fail "$folder can include $header of $other"
        elif ! grep -q "$header.*\(No such file\|not found\)" "$out"; then
            fail "$folder: including $header of $other failed for another reason:"
            head -n 3 "$out"
        fi
    done
    # the counter-check: its own first header is found
    header=$(a_header "$folder")
    [ -z "$header" ] || printf '#include "%s"\n' "$header" | compiles "$folder" "$out" || fail "$folder cannot include its own $header"
done
finish
