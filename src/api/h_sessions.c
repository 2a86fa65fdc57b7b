/* Handlers of /v2/sessions: who is signed in. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "handlers.h"
#include "reply.h"
#include "session_view.h"
#include "str.h"
#include "views.h"

static const char *const no_query[] = {NULL};

struct session_page {
    const struct signon_session_list *list;
    char own[SIGNON_HANDLE_BYTES]; /* "" on the admin socket */
};

static const char *session_key(const void *arg, size_t i, char *buffer, size_t n) {
    const struct signon_session *item = &((const struct session_page *)arg)->list->items[i];
    (void)snprintf(buffer, n, "%s\x01%s", live_session_who(item->live)->name, item->handle);
    return buffer;
}

static json_t *session_item(const void *arg, size_t i) {
    const struct session_page *page = arg;
    const struct signon_session *item = &page->list->items[i];
    const struct principal *who = live_session_who(item->live);
    json_t *object = json_object();
    json_put_string(object, "id", item->handle);
    json_put_string(object, "principal_id", who->id);
    json_put_string(object, "name", who->name);
    json_put_string(object, "role", role_name(live_session_role(item->live)));
    json_put_string(object, "method", session_view_method(who->source));
    view_put_text(object, "vcenter_id", who->vcenter_id);
    json_put_bool(object, "must_change_password", live_session_must_change_password(item->live));
    json_put_time(object, "signed_in_at", live_session_created_ms(item->live));
    json_put_time(object, "ends_at", live_session_ends_ms(item->live));
    json_put_bool(object, "is_own", str_eq(item->handle, page->own));
    return object;
}

int h_sessions_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"principal", "limit", "cursor", NULL};
    _cleanup_signon_sessions_ struct signon_session_list sessions = {0};
    struct session_page page = {.list = &sessions};
    struct reply_list list = {.key = session_key, .item = session_item, .arg = &page};
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = signon_list_sessions(call->api->options.signon, http_request_query(call->req, "principal"), &sessions, err);
    if (rc)
        return rc;
    if (call->bearer.session)
        signon_handle_of(live_session_sid(call->bearer.session), page.own);
    list.count = sessions.count;
    return reply_list(call, resp, &list, err);
}

int h_sessions_end(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_caller caller = api_signon_caller(call);
    int rc = http_request_check_query(call->req, no_query, err);
    if (!rc)
        rc = signon_end_session(call->api->options.signon, &caller, http_request_param(call->req, "sid"), err);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}
