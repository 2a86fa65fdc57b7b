#!/bin/sh
# Turns the migration files given as arguments into a C array on standard output, in order of their names.
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu

echo '/* Made by sql/embed.sh from the migration files. SPDX-License-Identifier: GPL-3.0-or-later */'
echo '#include "store_schema.h"'
echo
echo 'static const struct store_schema_file files[] = {'
printf '%s\n' "$@" | LC_ALL=C sort | while IFS= read -r path; do
    name=${path##*/}
    printf '    {"%s",\n' "$name"
    sed -e 's/[\\"]/\\&/g' -e 's/^/     "/' -e 's/$/\\n"/' "$path"
    printf '     , %s},\n' "$(wc -c <"$path" | tr -d ' ')"
done
echo '};'
echo
echo 'struct store_schema store_schema_builtin(void) {'
echo '    return (struct store_schema){files, sizeof(files) / sizeof(files[0]), STORE_SCHEMA_RELEASE};'
echo '}'
