/* Handlers of /v2/sessions: who is signed in. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "api_call.h"
#include "reply.h"
#include "session_view.h"
#include "str.h"
#include "views.h"

struct session_page {
    const struct session_list *list;
    char own[SIGNON_HANDLE_BYTES]; /* "" on the admin socket */
};

/* Names have no control characters. */
#define KEY_MARK '\x01'

static const char *session_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct session *s = &((const struct session_page *)arg)->list->items[i];
    char handle[SIGNON_HANDLE_BYTES];
    signon_handle_of(s->sid, handle);
    (void)snprintf(buffer, n, "%s%c%s", s->who.name, KEY_MARK, handle);
    return buffer;
}

static json_t *session_item(const void *arg, size_t i) {
    const struct session_page *page = arg;
    const struct session *s = &page->list->items[i];
    char handle[SIGNON_HANDLE_BYTES];
    json_t *object = json_object();
    signon_handle_of(s->sid, handle);
    json_put_string(object, "id", handle);
    json_put_string(object, "principal_id", s->who.id);
    json_put_string(object, "name", s->who.name);
    json_put_string(object, "role", role_name(s->who.role));
    json_put_string(object, "method", session_view_method(s->who.source));
    view_put_text(object, "vcenter_id", s->who.vcenter_id);
    json_put_bool(object, "must_change_password", s->must_change_password);
    json_put_time(object, "signed_in_at", s->created_at_ms);
    json_put_time(object, "ends_at", s->ends_at_ms);
    json_put_bool(object, "is_own", str_eq(handle, page->own));
    return object;
}

/* `after` is the key in the cursor, which is taken apart; one more than the page holds shows that there is more. */
static int sessions_read_query(struct api_call *call, char after[REPLY_KEY_BYTES], struct session_query *out, struct err *err) {
    static const char *const known[] = {"principal", "limit", "cursor", NULL};
    bool is_given = false;
    char *mark;
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = reply_read_limit(call, &out->limit, err);
    if (!rc)
        rc = reply_read_cursor(call, after, &is_given, err);
    if (rc)
        return rc;
    out->limit++;
    out->now_ms = clock_wall_ms();
    out->principal = http_request_query(call->req, "principal");
    mark = is_given ? strrchr(after, KEY_MARK) : NULL;
    if (mark)
        *mark = '\0';
    out->after_name = is_given ? after : NULL;
    out->after_handle = mark ? mark + 1 : "";
    return 0;
}

int h_sessions_list(struct api_call *call, struct http_response *resp, struct err *err) {
    _cleanup_session_list_ struct session_list sessions = {0};
    struct session_page page = {.list = &sessions};
    struct reply_list list = {.key = session_key, .item = session_item, .arg = &page};
    struct session_query query = {.principal = NULL};
    char after[REPLY_KEY_BYTES];
    int rc = sessions_read_query(call, after, &query, err);
    if (!rc)
        rc = signon_list_sessions(call->api->options.signon, &query, &sessions, err);
    if (rc)
        return rc;
    if (call->bearer.session)
        signon_handle_of(live_session_sid(call->bearer.session), page.own);
    list.count = sessions.count;
    return reply_list(call, resp, &list, err);
}

int h_sessions_end(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = signon_end_session(call->api->options.signon, &actor, http_request_param(call->req, "sid"), err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
