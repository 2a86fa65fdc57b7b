/* Decoders of what HX Connect answers. Layer 2 (hx); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hx_decode.h"

#include <string.h>
#include <strings.h>

#include "json.h"
#include "secret.h"
#include "str.h"

void hx_token_done(struct hx_token *token) {
    if (!token)
        return;
    secret_free(token->access);
    secret_free(token->refresh);
    free(token->type);
    *token = (struct hx_token){0};
}

/* JSON that is none is a fault of who answered, not of who asked. */
static int hx_decode_json(const char *text, size_t n, json_t **out, struct err *err) {
    struct err why = {0};
    int rc = json_parse(text, n, out, &why);
    return rc == ERR_JSON ? err_set(err, ERR_PROTOCOL, "%s", why.text) : err_move(err, rc, &why);
}

/* Cuts blanks at the end, and gives the text behind those at the beginning. */
static char *hx_decode_trim(char *text) {
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
    return text + strspn(text, " ");
}

/* -- tokens ------------------------------------------------------------------------------------------------------------------ */

/* Is this something to be sent back in a header: visible ASCII only, so that it can begin no other header? */
static bool hx_decode_is_visible(const char *text, size_t max) {
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return n > 0 && n <= max;
}

static int hx_decode_token_text(const json_t *answer, const char *name, size_t max, char **out, struct err *err) {
    const char *text = json_get_string(answer, name);
    if (!text)
        return err_set(err, ERR_PROTOCOL, "it has no %s", name);
    if (!hx_decode_is_visible(text, max))
        return err_set(err, ERR_PROTOCOL, "its %s is not 1 to %zu visible characters", name, max);
    *out = str_dup(text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Blanks around it are none of it: public programs put type and token together without one between, so some release may send "Bearer ". */
static int hx_decode_token_type(json_t *answer, char **out, struct err *err) {
    _cleanup_free_ char *copy = str_dup(json_get_string(answer, "token_type"));
    if (copy)
        json_put_string(answer, "token_type", hx_decode_trim(copy));
    return hx_decode_token_text(answer, "token_type", HX_TOKEN_TYPE_CHARS_MAX, out, err);
}

int hx_decode_token(const char *text, size_t n, struct hx_token *out, struct err *err) {
    _cleanup_done_(hx_token_done) struct hx_token token = {0};
    _cleanup_json_ json_t *answer = NULL;
    int rc = hx_decode_json(text, n, &answer, err);
    if (rc)
        return rc;
    rc = hx_decode_token_text(answer, "access_token", HX_TOKEN_CHARS_MAX, &token.access, err);
    if (!rc)
        rc = hx_decode_token_text(answer, "refresh_token", HX_TOKEN_CHARS_MAX, &token.refresh, err);
    if (!rc)
        rc = hx_decode_token_type(answer, &token.type, err);
    json_wipe_string(json_object_get(answer, "access_token"));
    json_wipe_string(json_object_get(answer, "refresh_token"));
    if (rc)
        return rc;
    *out = token;
    token = (struct hx_token){0};
    return 0;
}

/* -- texts and numbers of facts ---------------------------------------------------------------------------------------------- */

/* Appends at most `max` characters; a control character, which could end a line or move a cursor where this is shown, becomes a blank. */
static void hx_decode_add_text(struct strbuf *out, const char *text, size_t max) {
    const size_t len = strlen(text);
    uint32_t point = 0;
    for (size_t at = 0, n; max > 0 && (n = str_utf8_next(text + at, len - at, &point)) > 0; at += n, max--) {
        if (point < ' ' || (point >= 0x7f && point <= 0x9f))
            strbuf_addc(out, ' ');
        else
            strbuf_add(out, text + at, n);
    }
}

/* Takes a text over unless it is missing or empty. */
static int hx_decode_text(const char *text, size_t max, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf copy;
    strbuf_init(&copy, 4 * max);
    if (str_empty(text))
        return 0;
    hx_decode_add_text(&copy, text, max);
    int rc = strbuf_check(&copy, "text", err);
    if (!rc)
        *out = strbuf_steal(&copy);
    return rc;
}

/* Sizes also come as fractions (1.2E13). A double is exact enough for those, and the bound keeps it within 64 bits. */
static int64_t hx_decode_number(const json_t *value) {
    const double number = json_number_value(value);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        return (int64_t)json_integer_value(value);
    return json_is_real(value) && number >= 0 && number < 9e18 ? (int64_t)number : -1;
}

/* -- the uuid, which every answer must agree in ------------------------------------------------------------------------------ */

/* Behind a decimal number of 64 bits; NULL if there is none. */
static const char *hx_decode_skip_u64(const char *at) {
    const char *start = at;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9' && at - start < 20; at++)
        if (__builtin_mul_overflow(value, 10U, &value) || __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return NULL;
    return at > start ? at : NULL;
}

/* Two such numbers joined by a colon: no uuid of RFC 4122. */
static bool hx_decode_is_uuid(const char *text) {
    const char *at = text ? hx_decode_skip_u64(text) : NULL;
    at = at && *at == ':' ? hx_decode_skip_u64(at + 1) : NULL;
    return at && !*at;
}

/* An answer about another cluster than the one that was listed: two machines behind one address, or one that lies. */
static int hx_decode_check_uuid(const json_t *answer, const struct hx_facts *facts, struct err *err) {
    const json_t *value = json_object_get(answer, "uuid");
    const char *uuid = json_string_value(value);
    if (!value || json_is_null(value))
        return 0;
    if (!hx_decode_is_uuid(uuid))
        return err_set(err, ERR_PROTOCOL, "its uuid is not two numbers joined by a colon");
    if (!str_eq(uuid, facts->uuid))
        return err_set(err, ERR_PROTOCOL, "it is about the cluster with the uuid %s, not about the listed one, %s", uuid,
                       facts->uuid ? facts->uuid : "none");
    return 0;
}

/* -- the answers ------------------------------------------------------------------------------------------------------------- */

/* HX Connect manages one cluster. Were there several, nobody could say which one is meant, today and tomorrow. */
static int hx_decode_clusters(const json_t *list, struct hx_facts *facts, struct err *err) {
    const json_t *cluster = json_array_get(list, 0);
    const char *uuid = json_get_string(cluster, "uuid"), *name = json_get_string(cluster, "name");
    if (json_array_size(list) != 1)
        return err_set(err, ERR_PROTOCOL, "it lists %zu clusters, not one", json_array_size(list));
    if (!hx_decode_is_uuid(uuid))
        return err_set(err, ERR_PROTOCOL, "the uuid of the cluster is not two numbers joined by a colon");
    /* a name is compared: one that were cut or changed would be another one */
    if (str_empty(name) || str_utf8_chars(name, strlen(name)) > (long)HX_NAME_CHARS_MAX || str_has_control(name))
        return err_set(err, ERR_PROTOCOL, "the name of the cluster is not 1 to %u characters without control characters",
                       HX_NAME_CHARS_MAX);
    facts->uuid = str_dup(uuid);
    facts->name = str_dup(name);
    return facts->uuid && facts->name ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* HX hands alarms of vCenter on, too: one of a virtual machine, as of its memory, says nothing of HX. */
static bool hx_decode_is_alarm(const json_t *alarm) {
    return !json_is_true(json_object_get(alarm, "acknowledged")) &&
           !str_eq_nocase(json_get_string(alarm, "entityType"), "VIRTUALMACHINE");
}

static int hx_decode_alarms(const json_t *list, struct hx_facts *facts, struct err *err) {
    const size_t count = json_array_size(list);
    if (count > HX_ALARMS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "it lists more than %u alarms", HX_ALARMS_COUNT_MAX);
    facts->alarms = 0;
    for (size_t i = 0; i < count; i++)
        facts->alarms += hx_decode_is_alarm(json_array_get(list, i));
    return 0;
}

/* Reasons, a line each. One that is well has none, though HX says "Storage cluster is healthy. " then. */
static int hx_decode_messages(const json_t *list, struct hx_facts *facts, struct err *err) {
    _cleanup_strbuf_ struct strbuf lines;
    strbuf_init(&lines, (4UL * HX_MESSAGE_CHARS_MAX + 1) * HX_MESSAGES_COUNT_MAX);
    if (str_eq(facts->state, "ONLINE") && str_eq(facts->resiliency, "HEALTHY"))
        return 0;
    for (size_t i = 0; i < json_array_size(list) && i < HX_MESSAGES_COUNT_MAX; i++) {
        _cleanup_free_ char *copy = str_dup(json_string_value(json_array_get(list, i)));
        const char *message = copy ? hx_decode_trim(copy) : NULL;
        if (str_empty(message))
            continue;
        if (lines.len)
            strbuf_addc(&lines, '\n');
        hx_decode_add_text(&lines, message, HX_MESSAGE_CHARS_MAX);
    }
    int rc = strbuf_check(&lines, "messages", err);
    if (!rc && lines.len)
        facts->messages = strbuf_steal(&lines);
    return rc;
}

static int hx_decode_resiliency(const json_t *details, struct hx_facts *facts, struct err *err) {
    int rc = hx_decode_text(json_get_string(details, "resiliencyState"), HX_WORD_CHARS_MAX, &facts->resiliency, err);
    return rc ? rc : hx_decode_messages(json_object_get(details, "messages"), facts, err);
}

/* Plain members: which answer tells them and where they go. */
static const struct hx_decode_member {
    enum hx_answer answer;
    const char *name;
    size_t offset;
    size_t chars_max; /* 0: a number */
} hx_decode_table[] = {
    {HX_ANSWER_ABOUT, "productVersion", offsetof(struct hx_facts, version), HX_WORD_CHARS_MAX},
    {HX_ANSWER_DETAIL, "numNodesConfigured", offsetof(struct hx_facts, nodes_configured), 0},
    {HX_ANSWER_DETAIL, "numNodesOnline", offsetof(struct hx_facts, nodes_online), 0},
    {HX_ANSWER_HEALTH, "state", offsetof(struct hx_facts, state), HX_WORD_CHARS_MAX},
    {HX_ANSWER_STATS, "spaceStatus", offsetof(struct hx_facts, space), HX_WORD_CHARS_MAX},
    {HX_ANSWER_STATS, "totalCapacityInBytes", offsetof(struct hx_facts, capacity_bytes), 0},
    {HX_ANSWER_STATS, "usedCapacityInBytes", offsetof(struct hx_facts, used_bytes), 0},
    {HX_ANSWER_VCENTER, "vCenterDatacenter", offsetof(struct hx_facts, datacenter), HX_INVENTORY_CHARS_MAX},
    {HX_ANSWER_VCENTER, "vCenterClusterName", offsetof(struct hx_facts, vsphere_cluster), HX_INVENTORY_CHARS_MAX},
};

static int hx_decode_members(enum hx_answer answer, const json_t *object, struct hx_facts *facts, struct err *err) {
    int rc = 0;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(hx_decode_table); i++) {
        const struct hx_decode_member *m = &hx_decode_table[i];
        void *member = (char *)facts + m->offset;
        if (m->answer != answer)
            continue;
        if (m->chars_max)
            rc = hx_decode_text(json_get_string(object, m->name), m->chars_max, member, err);
        else
            *(int64_t *)member = hx_decode_number(json_object_get(object, m->name));
    }
    return rc;
}

int hx_decode_facts(enum hx_answer answer, const char *text, size_t n, struct hx_facts *facts, struct err *err) {
    const bool is_list = answer == HX_ANSWER_CLUSTERS || answer == HX_ANSWER_ALARMS;
    _cleanup_json_ json_t *value = NULL;
    int rc = hx_decode_json(text, n, &value, err);
    if (rc)
        return rc;
    if (json_is_array(value) != is_list)
        return err_set(err, ERR_PROTOCOL, "it is %s", is_list ? "an object, not a list" : "a list, not an object");
    if (answer == HX_ANSWER_CLUSTERS)
        return hx_decode_clusters(value, facts, err);
    if (answer == HX_ANSWER_ALARMS)
        return hx_decode_alarms(value, facts, err);
    rc = hx_decode_check_uuid(value, facts, err);
    if (!rc)
        rc = hx_decode_members(answer, value, facts, err);
    if (!rc && answer == HX_ANSWER_HEALTH)
        rc = hx_decode_resiliency(json_object_get(value, "resiliencyDetails"), facts, err);
    return rc;
}

/* -- headers ----------------------------------------------------------------------------------------------------------------- */

unsigned hx_decode_retry_after(const char *line, size_t n) {
    return http_retry_after_s(line, n, HX_RETRY_DEFAULT_S, HX_RETRY_MAX_S);
}
