/* Handlers of /v2/audit/verify and /v2/audit/accept-restore. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "handlers.h"
#include "problem.h"
#include "reply.h"
#include "str.h"
#include "views.h"

#define LINES_AT_ONCE 20000U /* takes half a second or so */
#define CURSOR_BYTES 48

/* -- the place where a part ends ----------------------------------------------------------------------------------------------- */

static json_t *trail_cursor_json(const struct access_trail_place *place) {
    _cleanup_strbuf_ struct strbuf text;
    char plain[CURSOR_BYTES];
    (void)snprintf(plain, sizeof(plain), "%u.%" PRIu64, place->replica_id, place->after_seq);
    strbuf_init(&text, 2 * CURSOR_BYTES);
    str_base64url(&text, (const uint8_t *)plain, strlen(plain));
    return json_string(text.data);
}

static bool trail_parse_cursor(const char *text, struct access_trail_place *out) {
    char plain[CURSOR_BYTES] = "", *dot;
    int64_t replica_id = 0, seq = 0;
    long n = str_unbase64url(text, strlen(text), (uint8_t *)plain, sizeof(plain) - 1);
    dot = n > 0 && !memchr(plain, 0, (size_t)n) ? strchr(plain, '.') : NULL;
    if (!dot)
        return false;
    *dot = '\0';
    if (!str_to_i64(plain, 0, UINT16_MAX, &replica_id) || !str_to_i64(dot + 1, 0, INT64_MAX, &seq))
        return false;
    *out = (struct access_trail_place){(unsigned)replica_id, (uint64_t)seq};
    return true;
}

static int read_place(struct api_call *call, struct access_trail_place *out, struct err *err) {
    static const char *const known[] = {"cursor", NULL};
    const char *cursor = http_request_query(call->req, "cursor");
    int rc = http_request_check_query(call->req, known, err);
    if (rc || !cursor || trail_parse_cursor(cursor, out))
        return rc;
    return problem_parameter(call, "cursor", "is not one that this verification gave", err);
}

/* -- the answer ---------------------------------------------------------------------------------------------------------------- */

static const char *state_of(const struct audit_verification *v) {
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

static json_t *part_view(const struct access_trail_part *part) {
    const struct audit_verification *v = &part->v;
    json_t *object = json_object();
    json_put_int(object, "replica", v->replica_id);
    view_put_text(object, "name", part->name[0] ? part->name : NULL);
    json_put_string(object, "state", state_of(v));
    json_put_int(object, "lines", (int64_t)v->lines);
    json_put_int(object, "head_line", (int64_t)v->head_seq);
    view_put_text(object, "head", v->head[0] ? v->head : NULL);
    (void)json_object_set_new(object, "fault", fault_view(v));
    return object;
}

static json_t *trail_view(const struct access_trail *trail) {
    json_t *object = json_object(), *items = json_array();
    for (size_t i = 0; i < trail->count; i++)
        (void)json_array_append_new(items, part_view(&trail->items[i]));
    (void)json_object_set_new(object, "items", items);
    (void)json_object_set_new(object, "next_cursor", trail->has_more ? trail_cursor_json(&trail->next) : json_null());
    return object;
}

int h_audit_verify(struct api_call *call, struct http_response *resp, struct err *err) {
    struct access_trail_place place = {0};
    struct access_trail trail = {0};
    json_t *object;
    int rc = read_place(call, &place, err);
    if (!rc)
        rc = access_verify_audit(call->api->options.access, &place, LINES_AT_ONCE, &trail, err);
    if (rc)
        return rc;
    object = trail_view(&trail);
    access_trail_done(&trail);
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
