#!/bin/sh
# Headers of other projects are included only in the folder that owns them; an unknown one must be entered in foreign.txt.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
found=$(mktemp)
trap 'rm -f "$found"' EXIT

{
    grep -v '^#' "$here/foreign.txt" | sed 's/^/rule /'
    (cd "$top" && find src extension -name '*.h' -o -name '*.def' -o -name '*.inc') | sed 's|.*/||; s/^/own /'
    (cd "$top" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' src --include='*.[ch]') |
        sed -nE 's/^([^:]*):[0-9]+:[^<"]*[<"]([^>"]*)[>"].*/include \1 \2/p'
} | awk '
    $1 == "rule" { pattern[++rules] = $2; owner[rules] = $3 }
    $1 == "own" { own[$2] = 1 }
    $1 == "include" {
        file = $2; header = $3; place = (header in own) ? "own" : ""
        for (i = 1; i <= rules && place == ""; i++) if (header ~ pattern[i]) place = owner[i]
        checked++
        if (place == "own" || place == "libc") next
        if (place == "") print "FAIL: " file " includes <" header ">, which foreign.txt does not know"
        else if (place ~ /\.h$/ ? file != "src/" place : index(file, "src/" place "/") != 1)
            print "FAIL: " file " includes <" header ">; only src/" place " may"
    }
    END { print "checked " checked }' >"$found"

grep '^FAIL' "$found"
failures=$(grep -c '^FAIL' "$found")
checked=$(sed -n 's/^checked //p' "$found")
finish
