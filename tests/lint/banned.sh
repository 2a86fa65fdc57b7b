#!/bin/sh
# The functions of banned.h cannot be called, and no source takes a ban back.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck source=tests/lint/common.sh
. "$(dirname "$0")/common.sh"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# shellcheck disable=SC2013 # each line is one word
for name in $(sed -n 's/^#define \([a-z]*\)(\.\.\.).*/\1/p' "$top/src/base/core/banned.h"); do
    checked=$((checked + 1))
    if printf 'void f(char *a);\nvoid f(char *a) { (void)%s(a, a, a); }\n' "$name" | compiles src/base/core "$out"; then
        # an undeclared function is only a warning in C11; the link would fail, but the warning must be there to be an error
        grep -q "implicit.*banned_function_$name" "$out" || fail "$name can be called"
    elif ! grep -q "banned_function_$name" "$out"; then
        fail "$name does not compile for another reason:"
        head -n 3 "$out"
    fi
    if grep -rnE "#[[:space:]]*undef[[:space:]]+$name\\b" "$top/src" --include='*.[ch]' | grep -v '/banned\.h:'; then
        fail "the ban of $name is taken back"
    fi
done
if grep -rnE '\b(gets|alloca|setenv|putenv|longjmp|setjmp|vfork)[[:space:]]*\(' "$top/src" --include='*.[ch]'; then
    fail "not thread-safe or not bounded: use malloc, posix_spawn or a plain return"
fi
finish
