#!/bin/sh
# Turns a text file into a C constant on standard output: embed_text.sh NAME FILE
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
name=$1 file=$2
printf '/* Made by src/api/embed_text.sh. SPDX-License-Identifier: GPL-3.0-or-later */\n#include "%s.h"\n\n' "$name"
printf 'const char %s[] =\n' "$name"
sed -e 's/[\\"]/\\&/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file"
printf '    ;\nconst unsigned long %s_bytes = sizeof(%s) - 1;\n' "$name" "$name"
