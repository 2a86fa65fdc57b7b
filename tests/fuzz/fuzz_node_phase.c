/* Fuzz target: node_phase_read. The first line is guestinfo.kaas.phase, the rest guestinfo.kaas.error. What is shown of it keeps what the header promises.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "node_phase.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool condition) {
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    _cleanup_free_ char *text = calloc(1, n + 1);
    struct node_told told;
    struct err err = {0};
    memcpy(text, data, n);
    char *error = strchr(text, '\n');
    if (error)
        *error++ = '\0';
    node_phase_read(text, error, &told);
    must((unsigned)told.phase < NODE_PHASE_COUNT && (unsigned)told.fault < NODE_FAULT_COUNT);
    const size_t bytes = strnlen(told.detail, sizeof(told.detail));
    const long chars = str_utf8_chars(told.detail, bytes);
    must(bytes < sizeof(told.detail) && chars >= 0 && chars <= NODE_DETAIL_CHARS_MAX && !str_has_control(told.detail));
    must(told.fault != NODE_FAULT_NONE || !bytes);
    must(*node_phase_word(told.phase) && *node_phase_text(told.phase) && *node_fault_word(told.fault));
    must(!node_fault_is_lasting(told.fault) || *node_fault_remedy(told.fault));
    must(node_fault_set("node", &told, &err) == ERR_UPSTREAM && str_utf8_chars(err.text, strlen(err.text)) > 0);
    return 0;
}
