/* Tables for the terminal. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_table.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cleanup.h"
#include "str.h"

#define GAP 2
#define CELL_BYTES_MAX (1U << 20)

void text_init_locale(void) {
    if (setlocale(LC_CTYPE, "") && str_eq(nl_langinfo(CODESET), "UTF-8"))
        return;
    (void)setlocale(LC_CTYPE, "C.UTF-8");
}

/* What a terminal may act on: C0, DEL, C1; and what makes one name look like another: marks that turn the direction of writing (Unicode UAX 9), and what takes
 * no room. What the locale does not know as printable is shown as a number, too. */
bool text_is_harmful(uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0))
        return true;
    return str_is_invisible(c) || wcwidth((wchar_t)c) < 0;
}

static void text_add_escape(struct strbuf *out, uint32_t c) {
    if (c == '\n')
        strbuf_adds(out, "\\n");
    else if (c == '\t')
        strbuf_adds(out, "\\t");
    else if (c == '\r')
        strbuf_adds(out, "\\r");
    else
        strbuf_addf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

void text_add_clean(struct strbuf *out, const char *text) {
    size_t left;
    if (!text) {
        strbuf_addc(out, '-');
        return;
    }
    left = strlen(text);
    while (left) {
        uint32_t c = 0;
        size_t n = str_utf8_next(text, left, &c);
        if (!n)
            text_add_escape(out, (unsigned char)*text);
        else if (text_is_harmful(c))
            text_add_escape(out, c);
        else
            strbuf_add(out, text, n);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
}

void text_add_json(struct strbuf *out, const char *text, size_t len) {
    while (len) {
        uint32_t c = 0;
        size_t n = str_utf8_next(text, len, &c);
        if (!n)
            n = 1;
        if (c >= 0x7f && c < 0x10000 && text_is_harmful(c))
            strbuf_addf(out, "\\u%04x", (unsigned)c);
        else
            strbuf_add(out, text, n);
        text += n;
        len -= n;
    }
}

size_t text_width(const char *text) {
    size_t left = strlen(text), width = 0;
    while (left) {
        uint32_t c = 0;
        size_t n = str_utf8_next(text, left, &c);
        int columns = n ? wcwidth((wchar_t)c) : 1;
        width += columns > 0 ? (size_t)columns : 0;
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    return width;
}

void table_init(struct table *t, size_t columns, size_t indent) {
    *t = (struct table){.columns = columns, .indent = indent};
}

void table_done(struct table *t) {
    for (size_t i = 0; i < t->cells_count; i++)
        free(t->cells[i]);
    free(t->cells);
    memset(t, 0, sizeof(*t));
}

static int table_grow(struct table *t) {
    size_t alloc = t->alloc ? 2 * t->alloc : 64;
    char **cells = reallocarray(t->cells, alloc, sizeof(*cells));
    if (!cells)
        return ERR_NOMEM;
    t->cells = cells;
    t->alloc = alloc;
    return 0;
}

void table_add(struct table *t, const char *text) {
    struct strbuf clean;
    char *cell;
    if (!t->failed && t->cells_count == t->alloc)
        t->failed = table_grow(t);
    if (t->failed)
        return;
    strbuf_init(&clean, CELL_BYTES_MAX);
    text_add_clean(&clean, text);
    cell = strbuf_steal(&clean);
    strbuf_done(&clean);
    if (cell)
        t->cells[t->cells_count++] = cell;
    else
        t->failed = ERR_NOMEM;
}

void table_addf(struct table *t, const char *fmt, ...) {
    _cleanup_free_ char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        table_add(t, text);
    else
        t->failed = ERR_NOMEM;
}

void table_pair(struct table *t, const char *title, const char *text) {
    table_add(t, title);
    table_add(t, text);
}

/* Blanks are written only before a text that follows, so that lines do not end in some. */
static void table_write_row(const struct table *t, char *const *cells, const size_t *widths, struct strbuf *out) {
    size_t due = t->indent;
    for (size_t i = 0; i < t->columns; i++) {
        if (*cells[i])
            strbuf_addf(out, "%*s%s", (int)due, "", cells[i]);
        due = (*cells[i] ? 0 : due) + widths[i] - text_width(cells[i]) + GAP;
    }
    strbuf_addc(out, '\n');
}

int table_write(const struct table *t, struct strbuf *out, struct err *err) {
    size_t rows = t->columns ? t->cells_count / t->columns : 0;
    _cleanup_free_ size_t *widths = calloc(t->columns + 1, sizeof(*widths));
    if (t->failed || !widths)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < rows * t->columns; i++) {
        const size_t width = text_width(t->cells[i]);
        if (width > widths[i % t->columns])
            widths[i % t->columns] = width;
    }
    for (size_t i = 0; i < rows; i++)
        table_write_row(t, t->cells + i * t->columns, widths, out);
    return strbuf_check(out, "output", err);
}
