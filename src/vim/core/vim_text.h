/* Texts of a vCenter's answers, made whole before anybody reads them. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/* Makes an answer such that gSOAP reads its texts right: in place, never longer. A character reference is put in as the character itself; those of markup and of line ends
 * stay references, in their shortest form. What may stand in no text (control characters but tab, LF, CR; half a surrogate pair; U+FFFE and U+FFFF; more than Unicode has)
 * becomes a blank, as a reference and as itself. `xml` has *n bytes and a NUL; *n gets the new length. */
void vim_text_mend(char *xml, size_t *n);

/* A name is one line: tab, LF and CR become blanks. NULL is allowed. */
void vim_text_one_line(char *text);
