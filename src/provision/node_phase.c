/* What a machine tells of its becoming a node. Layer 5 (provision); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "node_phase.h"

#include <string.h>

#include "str.h"

#define WORD_BYTES_MAX 40
#define VALUE_BYTES_MAX 4096U /* what is behind that is not looked at */

static const struct node_phase_row {
    const char *word, *text;
} node_phase_rows[] = {
#define NODE_PHASE(name, word, text) {word, text},
#define NODE_FAULT(name, word, is_lasting, text, remedy)
#include "node_phases.def"
#undef NODE_PHASE
#undef NODE_FAULT
};

static const struct node_fault_row {
    const char *word, *text, *remedy;
    bool is_lasting;
} node_fault_rows[] = {
#define NODE_PHASE(name, word, text)
#define NODE_FAULT(name, word, is_lasting, text, remedy) {word, text, remedy, is_lasting},
#include "node_phases.def"
#undef NODE_PHASE
#undef NODE_FAULT
};

static const struct node_phase_row *node_phase_row(enum node_phase phase) {
    return &node_phase_rows[(unsigned)phase < NODE_PHASE_COUNT ? phase : NODE_PHASE_UNKNOWN];
}

static const struct node_fault_row *node_fault_row(enum node_fault fault) {
    return &node_fault_rows[(unsigned)fault < NODE_FAULT_COUNT ? fault : NODE_FAULT_UNKNOWN];
}

const char *node_phase_word(enum node_phase phase) {
    return node_phase_row(phase)->word;
}
const char *node_phase_text(enum node_phase phase) {
    return node_phase_row(phase)->text;
}
const char *node_fault_word(enum node_fault fault) {
    return node_fault_row(fault)->word;
}
const char *node_fault_text(enum node_fault fault) {
    return node_fault_row(fault)->text;
}
const char *node_fault_remedy(enum node_fault fault) {
    return node_fault_row(fault)->remedy;
}
bool node_fault_is_lasting(enum node_fault fault) {
    return node_fault_row(fault)->is_lasting;
}

/* -- reading ---------------------------------------------------------------------------------------------------------------- */

static enum node_phase node_phase_find(const char *word) {
    if (str_empty(word))
        return NODE_PHASE_NONE;
    for (unsigned i = 0; i < NODE_PHASE_UNKNOWN; i++)
        if (str_eq(node_phase_rows[i].word, word))
            return i;
    return NODE_PHASE_UNKNOWN;
}

static enum node_fault node_fault_find(const char *word) {
    for (unsigned i = 0; i < NODE_FAULT_UNKNOWN; i++)
        if (str_eq(node_fault_rows[i].word, word))
            return i;
    return NODE_FAULT_UNKNOWN;
}

/* Copies what can be shown: code points that are seen, up to NODE_DETAIL_CHARS_MAX; all else is a blank. */
static void node_copy_detail(const char *text, size_t n, char *out) {
    size_t used = 0;
    for (unsigned chars = 0; n && chars < NODE_DETAIL_CHARS_MAX; chars++) {
        uint32_t point = 0;
        const size_t bytes = str_utf8_next(text, n, &point), step = bytes ? bytes : 1;
        const bool is_seen = bytes && point >= ' ' && !(point >= 0x7F && point < 0xA0) && !str_is_invisible(point);
        if (is_seen)
            memcpy(out + used, text, bytes);
        else
            out[used] = ' ';
        used += is_seen ? bytes : 1;
        text += step;
        n -= step;
    }
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

/* "WORD: DETAIL", "WORD". */
static void node_read_error(const char *error, struct node_told *out) {
    char word[WORD_BYTES_MAX + 1] = "";
    const size_t n = strnlen(error, VALUE_BYTES_MAX), word_bytes = strcspn(error, ": ");
    size_t at = word_bytes;
    if (!n)
        return;
    if (word_bytes <= WORD_BYTES_MAX)
        memcpy(word, error, word_bytes);
    out->fault = node_fault_find(word);
    if (out->fault == NODE_FAULT_UNKNOWN)
        at = 0; /* all of it is shown */
    else
        at += strspn(error + at, ": ");
    if (out->fault != NODE_FAULT_NONE)
        node_copy_detail(error + at, n > at ? n - at : 0, out->detail);
}

void node_phase_read(const char *phase, const char *error, struct node_told *out) {
    *out = (struct node_told){.phase = node_phase_find(phase), .fault = NODE_FAULT_NONE};
    if (error)
        node_read_error(error, out);
}

int node_fault_set(const char *node, const struct node_told *told, struct err *err) {
    const char *gap = told->detail[0] ? ": " : "";
    (void)err_set(err, ERR_UPSTREAM, "%s: %s%s%s", node, node_fault_text(told->fault), gap, told->detail);
    return err_remedy(err, "%s", node_fault_remedy(told->fault));
}
