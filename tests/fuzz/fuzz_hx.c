/* Fuzz target: what HX Connect answers. The first byte chooses: '0' a token; '1' to '7' an answer of enum hx_answer; '8' a header line.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "hx_decode.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool is_so) {
    if (!is_so)
        abort();
}

static void check_token(const char *text, size_t n) {
    struct hx_token token = {0};
    struct err err = {0};
    if (hx_decode_token(text, n, &token, &err)) {
        must(err.code && err.text[0] && !token.access && !token.refresh && !token.type);
        return;
    }
    const char *const texts[] = {token.access, token.refresh, token.type};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        for (const char *at = texts[i]; *at; at++)
            must(*at > ' ' && *at <= '~');
    must(*token.access && *token.refresh && *token.type);
    must(strlen(token.access) <= HX_TOKEN_CHARS_MAX && strlen(token.refresh) <= HX_TOKEN_CHARS_MAX);
    must(strlen(token.type) <= HX_TOKEN_TYPE_CHARS_MAX);
    hx_token_done(&token);
}

/* Also after an error: what is set is fit to be shown. */
static void check_text(const char *text, size_t chars_max) {
    must(!text || (*text && !str_has_control(text) && str_utf8_chars(text, strlen(text)) <= (long)chars_max));
}

static void check_messages(char *text) {
    unsigned count = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        check_text(line, HX_MESSAGE_CHARS_MAX);
        count++;
    }
    must(count <= HX_MESSAGES_COUNT_MAX);
}

static void check_facts(enum hx_answer answer, const char *text, size_t n) {
    _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
    struct err err = {0};
    f.uuid = answer == HX_ANSWER_CLUSTERS ? NULL : str_dup("1:2");
    const int rc = hx_decode_facts(answer, text, n, &f, &err);
    must(rc ? err.code && err.text[0] : f.uuid && (answer != HX_ANSWER_CLUSTERS || f.name));
    check_text(f.uuid, HX_UUID_CHARS_MAX);
    must(!f.uuid || strspn(f.uuid, "0123456789:") == strlen(f.uuid));
    check_text(f.name, HX_NAME_CHARS_MAX);
    check_text(f.version, HX_WORD_CHARS_MAX);
    check_text(f.state, HX_WORD_CHARS_MAX);
    check_text(f.resiliency, HX_WORD_CHARS_MAX);
    check_text(f.space, HX_WORD_CHARS_MAX);
    check_text(f.datacenter, HX_INVENTORY_CHARS_MAX);
    check_text(f.vsphere_cluster, HX_INVENTORY_CHARS_MAX);
    must(f.capacity_bytes >= -1 && f.used_bytes >= -1 && f.nodes_configured >= -1 && f.nodes_online >= -1);
    must(f.alarms >= -1 && f.alarms <= (int64_t)HX_ALARMS_COUNT_MAX);
    if (f.messages)
        check_messages(f.messages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (!n)
        return 0;
    const unsigned choice = (uint8_t)(data[0] - '0') % (HX_ANSWERS_COUNT + 2U);
    const char *text = (const char *)data + 1;
    if (choice == 0)
        check_token(text, n - 1);
    else if (choice <= HX_ANSWERS_COUNT)
        check_facts((enum hx_answer)(choice - 1), text, n - 1);
    else
        must(hx_decode_retry_after(text, n - 1) <= HX_RETRY_MAX_S);
    return 0;
}
