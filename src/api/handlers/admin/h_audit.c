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

/* -- the place where a page ends; of a verification without a time ------------------------------------------------- */

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
    return err_remedy(err, "kaasctl audit actions lists them, as does " DOC_PAGE("admin/audit.md"));
}

static int audit_read_query(struct api_call *call, struct audit_query *query, struct err *err) {
    const char *cursor = http_request_query(call->req, "cursor");
    int rc = read_time(call, "since", &query->since_ms, err);
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

static int audit_answer(struct api_call *call, struct http_response *resp, const json_t *page, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    char etag[REPLY_ETAG_BYTES];
    int rc;
    strbuf_init(&text, KAAS_JSON_REPLY_BYTES_MAX);
    rc = json_write(page, &text, err);
    if (rc)
        return rc;
    reply_format_etag(digest_u64(text.data, text.len), true, etag);
    return reply_tagged(call, resp, etag, "application/json", &text);
}

int h_audit_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct audit_query query = {.since_ms = INT64_MIN};
    struct audit_page page = {0};
    _cleanup_json_ json_t *object = NULL;
    json_t *items;
    int rc = audit_read_query(call, &query, err);
    if (!rc)
        rc = access_list_audit(call->api->options.access, &query, &page, err);
    if (rc)
        return rc;
    object = json_object();
    items = json_array();
    for (size_t i = 0; i < page.count; i++)
        json_add(items, entry_view(&page.items[i]));
    json_put(object, "items", items);
    json_put(object, "next_cursor", page.is_more ? audit_cursor_json(&page.items[page.count - 1].place) : json_null());
    audit_page_done(&page);
    return audit_answer(call, resp, object, err);
}

/* -- verification ------------------------------------------------------------------------------------------------------- */

#define LINES_AT_ONCE 20000U /* takes half a second or so */

static json_t *fault_view(const struct audit_verification *v) {
    json_t *object = v->fault ? json_object() : json_null();
    if (!v->fault)
        return object;
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
    json_put_string(object, "state", v->fault ? "broken" : v->is_complete ? "intact" : "partly");
    json_put_int(object, "lines", (int64_t)v->lines);
    json_put_int(object, "head_line", (int64_t)v->head_seq);
    view_put_text(object, "head", v->head[0] ? v->head : NULL);
    json_put(object, "fault", fault_view(v));
    return object;
}

int h_audit_verify(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *cursor = http_request_query(call->req, "cursor");
    struct audit_place place = {0};
    struct access_audit found = {0};
    json_t *object, *items;
    int rc;
    if (cursor && !audit_parse_cursor(cursor, &place))
        return problem_parameter(call, "cursor", "is not one that this verification gave", err);
    rc = access_verify_audit(call->api->options.access, &(struct access_audit_place){place.replica_id, place.seq}, LINES_AT_ONCE,
                             &found, err);
    if (rc)
        return rc;
    object = json_object();
    items = json_array();
    for (size_t i = 0; i < found.count; i++)
        json_add(items, part_view(&found.items[i]));
    json_put(object, "items", items);
    json_put(object, "next_cursor",
             found.has_more ? audit_cursor_json(&(struct audit_place){0, found.next.replica_id, found.next.after_seq})
                            : json_null());
    access_audit_done(&found);
    return reply_json(resp, 200, object, err);
}

/* Whoever restores a database is on the host; a token that was stolen must not do. */
int h_audit_accept(struct api_call *call, struct http_response *resp, struct err *err) {
    if (call->who->source != SOURCE_SOCKET) {
        (void)err_set(err, ERR_FORBIDDEN, "this is done over the admin socket of the replica only");
        return err_remedy(err, "run on its host: kaasctl audit accept-restore");
    }
    return view_nothing(resp, access_accept_restore(call->api->options.access, API_ACTOR(call), err));
}
