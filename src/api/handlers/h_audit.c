/* Handlers of /v2/audit. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "api_call.h"
#include "clock.h"
#include "digest.h"
#include "limits.h"
#include "problem.h"
#include "reply.h"
#include "str.h"
#include "views.h"

#define CURSOR_BYTES 80
#define FILTER_BYTES_MAX 1000

static const char *const text_members[AUDIT_TEXTS] = {
    [AUDIT_ACTION] = "action",
    [AUDIT_PRINCIPAL_ID] = "principal_id",
    [AUDIT_PRINCIPAL_NAME] = "principal_name",
    [AUDIT_SOURCE] = "source",
    [AUDIT_OBJECT_KIND] = "object_kind",
    [AUDIT_OBJECT_ID] = "object_id",
    [AUDIT_OBJECT_NAME] = "object_name",
    [AUDIT_ADDRESS] = "address",
    [AUDIT_REQUEST_ID] = "request_id",
    [AUDIT_RESULT] = "result",
    [AUDIT_REASON] = "reason",
    [AUDIT_ACTING_ID] = "acting_id",
};

static json_t *entry_view(const struct audit_entry *entry) {
    _cleanup_free_ char *id = str_format("%u-%" PRIu64, entry->place.replica_id, entry->place.seq);
    json_t *object = json_object();
    json_put_string(object, "id", id);
    view_put_time(object, "at", entry->place.at_ms);
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        view_put_text(object, text_members[i], entry->texts[i]);
    return object;
}

/* -- the place where a page ends ---------------------------------------------------------------------------------------------- */

static json_t *audit_cursor_json(const struct audit_place *place) {
    _cleanup_strbuf_ struct strbuf text;
    char plain[CURSOR_BYTES];
    (void)snprintf(plain, sizeof(plain), "%" PRId64 ".%u.%" PRIu64, place->at_ms, place->replica_id, place->seq);
    strbuf_init(&text, 2 * CURSOR_BYTES);
    str_base64url(&text, (const uint8_t *)plain, strlen(plain));
    return json_string(text.data);
}

static bool audit_parse_cursor(const char *text, struct audit_place *out) {
    char plain[CURSOR_BYTES] = "", *replica, *seq;
    int64_t replica_id = 0, number = 0;
    long n = str_unbase64url(text, strlen(text), (uint8_t *)plain, sizeof(plain) - 1);
    if (n <= 0 || memchr(plain, 0, (size_t)n))
        return false;
    replica = strchr(plain, '.');
    seq = replica ? strchr(replica + 1, '.') : NULL;
    if (!seq)
        return false;
    *replica = *seq = '\0';
    if (!str_to_i64(plain, INT64_MIN, INT64_MAX, &out->at_ms) || !str_to_i64(replica + 1, 0, UINT16_MAX, &replica_id) ||
        !str_to_i64(seq + 1, 0, INT64_MAX, &number))
        return false;
    out->replica_id = (unsigned)replica_id;
    out->seq = (uint64_t)number;
    return true;
}

/* -- the query ---------------------------------------------------------------------------------------------------------------- */

static int read_time(struct api_call *call, const char *name, int64_t *out, struct err *err) {
    const char *text = http_request_query(call->req, name);
    if (!text || clock_parse(text, out))
        return 0;
    return problem_parameter(call, name, "must be a time as in RFC 3339, such as 2026-03-01T00:00:00Z", err);
}

static int read_filters(struct api_call *call, struct audit_query *query, struct err *err) {
    const struct {
        const char *name, **into;
    } filters[] = {{"action", &query->action},        {"principal_id", &query->principal_id},
                   {"acting_id", &query->acting_id},  {"source", &query->source},
                   {"address", &query->address},      {"object_kind", &query->object_kind},
                   {"object_id", &query->object_id},  {"result", &query->result},
                   {"request_id", &query->request_id}};
    for (size_t i = 0; i < ARRAY_COUNT(filters); i++) {
        const char *text = http_request_query(call->req, filters[i].name);
        if (text && strlen(text) > FILTER_BYTES_MAX)
            return problem_parameter(call, filters[i].name, "is too long", err);
        *filters[i].into = text;
    }
    return 0;
}

static const char *const actions[] = {
#define AUDIT_ACTION(word, what) word,
#include "audit_actions.def"
#undef AUDIT_ACTION
};

/* A misspelt one would find nothing, as if nothing had been done. */
static int check_action(struct api_call *call, const char *action, struct err *err) {
    for (size_t i = 0; i < ARRAY_COUNT(actions); i++)
        if (!action || !strcmp(action, actions[i]))
            return 0;
    (void)problem_parameter(call, "action", "is none of those that are written down", err);
    return err_remedy(err, "kaasctl audit actions lists them, as does docs/admin/audit.md");
}

static int audit_read_query(struct api_call *call, struct audit_query *query, struct err *err) {
    static const char *const known[] = {"since",     "until",   "action", "principal_id", "acting_id", "source", "object_kind",
                                        "object_id", "address", "result", "request_id",   "limit",     "cursor", NULL};
    const char *cursor = http_request_query(call->req, "cursor");
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = read_time(call, "since", &query->since_ms, err);
    if (!rc)
        rc = read_time(call, "until", &query->until_ms, err);
    if (!rc)
        rc = read_filters(call, query, err);
    if (!rc)
        rc = check_action(call, query->action, err);
    if (!rc)
        rc = reply_read_limit(call, &query->limit, err);
    query->has_after = cursor != NULL;
    if (!rc && cursor && !audit_parse_cursor(cursor, &query->after))
        rc = problem_parameter(call, "cursor", "is not one that this list gave", err);
    return rc;
}

/* -- the answer --------------------------------------------------------------------------------------------------------------- */

static json_t *page_view(const struct audit_page *page) {
    json_t *object = json_object(), *items = json_array();
    for (size_t i = 0; i < page->count; i++)
        (void)json_array_append_new(items, entry_view(&page->items[i]));
    (void)json_object_set_new(object, "items", items);
    (void)json_object_set_new(object, "next_cursor",
                              page->is_more ? audit_cursor_json(&page->items[page->count - 1].place) : json_null());
    return object;
}

static int audit_answer(struct api_call *call, struct http_response *resp, const struct audit_page *page, struct err *err) {
    _cleanup_json_ json_t *object = page_view(page);
    _cleanup_strbuf_ struct strbuf text;
    uint8_t digest[DIGEST_SHA256_BYTES];
    char etag[REPLY_ETAG_BYTES];
    uint64_t hash;
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    rc = json_write(object, &text, err);
    if (rc)
        return rc;
    digest_sha256(text.data, text.len, digest);
    memcpy(&hash, digest, sizeof(hash));
    reply_format_etag(hash, true, etag);
    return reply_tagged(call, resp, etag, "application/json", &text);
}

int h_audit_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct audit_query query = {.since_ms = INT64_MIN};
    struct audit_page page = {0};
    int rc = audit_read_query(call, &query, err);
    if (!rc)
        rc = access_list_audit(call->api->options.access, &query, &page, err);
    if (!rc)
        rc = audit_answer(call, resp, &page, err);
    audit_page_done(&page);
    return rc;
}

/* -- verification ------------------------------------------------------------------------------------------------------- */

#define LINES_AT_ONCE 20000U /* takes half a second or so */

/* -- the place where a part ends ----------------------------------------------------------------------------------------------- */

static json_t *verify_cursor_json(const struct access_audit_place *place) {
    _cleanup_strbuf_ struct strbuf text;
    char plain[CURSOR_BYTES];
    (void)snprintf(plain, sizeof(plain), "%u.%" PRIu64, place->replica_id, place->after_seq);
    strbuf_init(&text, 2 * CURSOR_BYTES);
    str_base64url(&text, (const uint8_t *)plain, strlen(plain));
    return json_string(text.data);
}

static bool verify_parse_cursor(const char *text, struct access_audit_place *out) {
    char plain[CURSOR_BYTES] = "", *dot;
    int64_t replica_id = 0, seq = 0;
    long n = str_unbase64url(text, strlen(text), (uint8_t *)plain, sizeof(plain) - 1);
    dot = n > 0 && !memchr(plain, 0, (size_t)n) ? strchr(plain, '.') : NULL;
    if (!dot)
        return false;
    *dot = '\0';
    if (!str_to_i64(plain, 0, UINT16_MAX, &replica_id) || !str_to_i64(dot + 1, 0, INT64_MAX, &seq))
        return false;
    *out = (struct access_audit_place){(unsigned)replica_id, (uint64_t)seq};
    return true;
}

static int read_place(struct api_call *call, struct access_audit_place *out, struct err *err) {
    static const char *const known[] = {"cursor", NULL};
    const char *cursor = http_request_query(call->req, "cursor");
    int rc = http_request_check_query(call->req, known, err);
    if (rc || !cursor || verify_parse_cursor(cursor, out))
        return rc;
    return problem_parameter(call, "cursor", "is not one that this verification gave", err);
}

/* -- the answer ---------------------------------------------------------------------------------------------------------------- */

static const char *h_audit_state_of(const struct audit_verification *v) {
    if (v->fault)
        return "broken";
    return v->is_complete ? "intact" : "partly";
}

static json_t *fault_view(const struct audit_verification *v) {
    json_t *object = json_object();
    if (!v->fault) {
        json_decref(object);
        return json_null();
    }
    json_put_string(object, "kind", audit_fault_name(v->fault));
    json_put_int(object, "first_line", (int64_t)v->fault_seq);
    json_put_int(object, "last_line", (int64_t)v->fault_end);
    view_put_time(object, "after", v->fault_at_ms);
    json_put_string(object, "text", v->text);
    json_put_string(object, "remedy", v->remedy);
    return object;
}

static json_t *part_view(const struct access_audit_part *part) {
    const struct audit_verification *v = &part->v;
    json_t *object = json_object();
    json_put_int(object, "replica", v->replica_id);
    view_put_text(object, "name", part->name[0] ? part->name : NULL);
    json_put_string(object, "state", h_audit_state_of(v));
    json_put_int(object, "lines", (int64_t)v->lines);
    json_put_int(object, "head_line", (int64_t)v->head_seq);
    view_put_text(object, "head", v->head[0] ? v->head : NULL);
    (void)json_object_set_new(object, "fault", fault_view(v));
    return object;
}

static json_t *verify_view(const struct access_audit *found) {
    json_t *object = json_object(), *items = json_array();
    for (size_t i = 0; i < found->count; i++)
        (void)json_array_append_new(items, part_view(&found->items[i]));
    (void)json_object_set_new(object, "items", items);
    (void)json_object_set_new(object, "next_cursor", found->has_more ? verify_cursor_json(&found->next) : json_null());
    return object;
}

int h_audit_verify(struct api_call *call, struct http_response *resp, struct err *err) {
    struct access_audit_place place = {0};
    struct access_audit found = {0};
    json_t *object;
    int rc = read_place(call, &place, err);
    if (!rc)
        rc = access_verify_audit(call->api->options.access, &place, LINES_AT_ONCE, &found, err);
    if (rc)
        return rc;
    object = verify_view(&found);
    access_audit_done(&found);
    return reply_json(resp, 200, object, err);
}

/* Whoever restores a database is on the host; a token that was stolen must not do. */
int h_audit_accept(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc = api_check_no_query(call, err);
    if (!rc && call->who->source != SOURCE_SOCKET) {
        (void)err_set(err, ERR_FORBIDDEN, "this is done over the admin socket of the replica only");
        rc = err_remedy(err, "run on its host: kaasctl audit accept-restore");
    }
    if (!rc)
        rc = access_accept_restore(call->api->options.access, &actor, err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
