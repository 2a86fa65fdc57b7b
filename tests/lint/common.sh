# shellcheck shell=sh disable=SC2034
# Shared by the shell tests of this folder; sourced in the top build folder. SPDX-License-Identifier: GPL-3.0-or-later
set -u
LC_ALL=C
export LC_ALL
here=$(dirname "$0")
top=$here/../..
flags=tests/lint/flags.txt
[ -f "$flags" ] || { echo "no $flags: run through 'make check'"; exit 99; }
failures=0
checked=0

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# value_of KEY: the rest of the line of flags.txt that begins with the key.
value_of() { sed -n "s|^$1 ||p" "$flags"; }

# folders: those of src/ that hold C sources or headers.
folders() { (cd "$top" && find src -name '*.[ch]' | sed 's|/[^/]*$||' | sort -u); }

# compiles FOLDER OUTPUT-FILE: does the text on stdin pass the compiler with the flags of that folder?
compiles() {
    # shellcheck disable=SC2046 # the flags are words
    $(value_of CC) -std=gnu11 -Wall -Wextra -Wno-unused-function $(value_of "$1") -fsyntax-only -x c - >"$2" 2>&1
}

finish() {
    echo "$checked checked, $failures failed"
    [ "$checked" -gt 0 ] || { echo "FAIL: nothing was checked"; exit 1; }
    [ "$failures" -eq 0 ]
}
