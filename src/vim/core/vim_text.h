/* Mends the texts of a vCenter's answers before they are parsed. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/* Rewrites an answer in place so that gSOAP reads its texts right; it never gets longer. Replaces each character reference by the character itself; references
 * to markup characters and line ends stay references, in their shortest form. Replaces a code point that no text may have (control characters but tab, LF, CR;
 * half a surrogate pair; U+FFFE and U+FFFF; beyond Unicode) by a blank, whether written as a reference or as itself. `xml` has *n bytes and a NUL; *n gets the
 * new length. */
void vim_text_mend(char *xml, size_t *n);

/* Makes a name one line: replaces tab, LF and CR by blanks. NULL is allowed. */
void vim_text_one_line(char *text);
