#!/bin/sh
# Turns files that machines are given into C texts on standard output: embed.sh NAME=FILE...
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu

echo '/* Made by src/provision/embed.sh. SPDX-License-Identifier: GPL-3.0-or-later */'
echo '#include "node_files.h"'
for pair in "$@"; do
    printf '\nconst char %s[] =\n' "${pair%%=*}"
    sed -e 's/[\\"]/\\&/g' -e 's/^/    "/' -e 's/$/\\n"/' "${pair#*=}"
    echo '    ;'
done
