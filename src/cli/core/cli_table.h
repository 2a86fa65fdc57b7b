/* Tables for the terminal: columns aligned by display width, texts from outside made harmless. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

/* Appends a text with everything that could move the cursor or change what is shown (control characters, bidirectional marks,
 * malformed UTF-8) replaced by a visible escape: "\n", "\x1b", "\u202e". NULL appends "-". */
void text_add_clean(struct strbuf *out, const char *text);

/* Appends JSON, harmless for the terminal: DEL, C1 and bidirectional marks, which JSON leaves as they are but on which a terminal acts, become escapes. They
 * stand in strings only, where the escape means the same (RFC 8259 section 7). */
void text_add_json(struct strbuf *out, const char *text, size_t len);

/* True for a code point that text_add_clean would replace. */
bool text_is_harmful(uint32_t c);

/* The number of terminal columns that a clean UTF-8 text takes (wcwidth of the locale). */
size_t text_width(const char *text);

/* Sets the character type of the locale to one with UTF-8. Call once before the two above. */
void text_init_locale(void);

struct table {
    size_t columns;
    size_t indent; /* blanks before each line */
    char **cells;  /* row by row, clean */
    size_t cells_count;
    size_t alloc;
    int failed; /* sticky: ERR_NOMEM */
};

/* An empty table of so many columns; titles are its first row. Freed by table_done. */
void table_init(struct table *t, size_t columns, size_t indent);
void table_done(struct table *t);

/* Adds the next cell; a row is full after `columns` of them. NULL shows "-". */
void table_add(struct table *t, const char *text);
void table_addf(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds two cells: for tables of titles and values. */
void table_pair(struct table *t, const char *title, const char *text);

/* Appends all full rows, two blanks between columns, none at the end of a line. ERR_NOMEM. */
int table_write(const struct table *t, struct strbuf *out, struct err *err);

#define _cleanup_table_ __attribute__((cleanup(table_done)))
