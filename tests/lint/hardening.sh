#!/bin/sh
# What the linker really made of our programs, by readelf: PIE, RELRO, BIND_NOW, no executable stack, canaries, fortified calls, no RPATH.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# weaknesses PROGRAM: prints one word for each thing that is missing.
weaknesses() {
    headers=$(readelf -hlW "$1")
    dynamic=$(readelf -dW "$1")
    symbols=$(readelf -W --dyn-syms "$1")
    echo "$headers" | grep -q 'Type: *DYN' || echo PIE
    echo "$headers" | grep -q 'GNU_RELRO' || echo RELRO
    echo "$dynamic" | grep -Eq 'BIND_NOW|FLAGS_1.*NOW' || echo BIND_NOW
    echo "$headers" | grep -E 'GNU_STACK' | grep -q 'RWE' && echo NX
    echo "$headers" | grep -q 'GNU_STACK' || echo NX
    echo "$dynamic" | grep -Eq 'RPATH|RUNPATH' && echo RPATH
    # sanitizers bring their own checks and builds without optimisation cannot be fortified
    if readelf -W -s "$1" | grep -Eq '__(asan|tsan)_init'; then return 0; fi
    echo "$symbols" | grep -q '__stack_chk_fail' || echo canary
    case " $(value_of CFLAGS) " in *" -O0 "* | *" -O "*) return 0 ;; *-O[1-9sg]*) ;; *) return 0 ;; esac
    echo "$symbols" | grep -Eq '__[a-z]*(printf|memcpy|memset|strlen|read|realpath|poll|fdelt)_chk' || echo FORTIFY
}

for program in $(value_of PROGRAMS); do
    checked=$((checked + 1))
    [ -x "$program" ] || { fail "$program is not built"; continue; }
    found=$(weaknesses "$program" | tr '\n' ' ')
    [ -z "$found" ] || fail "$program lacks: $found"
done

# the counter-check: a program without any of it is found out
cat >"$scratch/weak.c" <<'C'
#include <stdio.h>
int main(int argc, char **argv) { char line[64]; return argc > 5 ? sprintf(line, "%s", argv[1]) : 0; }
C
# shellcheck disable=SC2046 # the compiler may come with arguments
$(value_of CC) -O2 -fno-stack-protector -U_FORTIFY_SOURCE -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,/nowhere \
    -o "$scratch/weak" "$scratch/weak.c" || fail "the weak program does not build"
found=$(weaknesses "$scratch/weak" | tr '\n' ' ')
for weakness in PIE RELRO BIND_NOW NX RPATH; do
    case " $found" in *" $weakness "*) ;; *) fail "a program without $weakness was not found out ($found)" ;; esac
done
finish
