/* One call of the interface: its life, its body. Layer 6 (api). Who asks is authn.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "api_call.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "inventory.h"
#include "log.h"
#include "platform_links.h"
#include "route.h"
#include "str.h"

/* Also of members that were not expected: a secret may stand in a misspelt one. */
static void wipe_body(json_t *body) {
    const char *name;
    json_t *value;
    json_object_foreach (body, name, value)
        json_wipe_string(value);
}

static void api_call_end(void *p) {
    struct api_call *call = p;
    api_set_part(&call->feature, NULL, NULL);
    api_set_part(&call->later, NULL, NULL);
    free(call->negotiate);
    if (call->is_bulk)
        atomic_fetch_sub(&call->api->bulks, 1);
    wipe_body(call->body);
    json_decref(call->body);
    json_decref(call->problem);
    signon_bearer_done(&call->bearer);
    session_rights_done(&call->rights);
    grant_picks_unref(call->picks);
    inventory_snapshot_unref(call->snapshot);
    link_unref(call->link);
    free(call->host_user);
    free(call->wait);
}

struct api_call *api_call_of(struct http_request *req) {
    struct api_call *call = http_request_data(req);
    const struct api_entrance *entrance;
    if (call)
        return call;
    call = http_request_room(req);
    memset(call, 0, offsetof(struct api_call, rights.parts));
    entrance = http_request_app(req);
    call->api = entrance->api;
    call->door = entrance->door;
    call->req = req;
    http_request_set_data(req, call, api_call_end);
    return call;
}

void api_set_part(struct api_part *part, void *data, void (*free)(void *data)) {
    if (part->free)
        part->free(part->data);
    *part = (struct api_part){data, free};
}

static int api_call_run_next(struct http_request *req, struct http_response *resp, struct err *err) {
    struct api_call *call = api_call_of(req);
    log_set_request_id(http_request_id(req));
    return call->next(call, resp, err);
}

/* Who only signs in is known to nobody yet; auth.signon_rate counts the person when the credential was found good. */
int api_admit(const struct api_call *call, enum bound bound, struct err *err) {
    _cleanup_free_ char *account = NULL;
    if (bound == BOUND_NONE || !call->api->bounds || (call->who && call->who->source == SOURCE_SOCKET))
        return 0;
    if (call->who && !(account = principal_account(call->who)))
        return err_set(err, ERR_NOMEM, "out of memory");
    return bounds_admit(call->api->bounds, bound, account, http_request_client(call->req), err);
}

int api_run_in(struct api_call *call, struct worker_pool *workers, api_handler_fn *fn) {
    call->next = fn;
    return http_request_go_slow(call->req, workers, api_call_run_next);
}

int api_go_slow(struct api_call *call, struct worker_pool *workers, api_handler_fn *fn, struct err *err) {
    if (call->endpoint->bound == BOUND_NONE)
        return err_set(err, ERR_INTERNAL, "%s takes a worker and has no bound", http_request_route(call->req)->pattern);
    return api_run_in(call, workers, fn);
}

void api_let_go(struct api_call *call) {
    session_rights_done(&call->rights);
    call->rights.is_less_than_due = false;
    memset(&call->viewer, 0, sizeof(call->viewer));
    grant_picks_unref(STEAL(call->picks));
    inventory_snapshot_unref(call->snapshot);
    call->snapshot = NULL;
}

static int api_read_body(struct api_call *call, const char *type, struct err *err) {
    size_t len = 0;
    const char *text = http_request_body(call->req, &len);
    struct err why = {0};
    int rc;
    if (call->body)
        return 0;
    if (!http_request_is_media_type(call->req, type)) {
        (void)err_set(err, ERR_MEDIA_TYPE, "the body must be %s", type);
        return err_remedy(err, "send the header Content-Type: %s", type);
    }
    rc = json_parse(text, len, &call->body, &why);
    if (rc == ERR_TOO_LARGE) /* too deep; 413 would speak of its size */
        rc = ERR_JSON;
    return err_move(err, rc, &why);
}

void api_forget(struct api_call *call) {
    api_let_go(call);
    signon_bearer_done(&call->bearer);
    memset(&call->bearer, 0, sizeof(call->bearer));
    free(STEAL(call->wait));
    call->who = NULL;
    call->rights_given_up = 0;
}

int api_look_again(struct http_request *req, struct http_response *resp, struct err *err) {
    log_set_request_id(http_request_id(req));
    api_forget(api_call_of(req));
    return http_request_route(req)->handler(req, resp, err);
}

int api_read_members(struct api_call *call, const char *type, const struct member_body *body, struct err *err) {
    int rc = api_read_body(call, type, err);
    if (!rc && body)
        rc = member_json_check(call->body, body, NULL, err);
    if (rc || !body || json_object_size(call->body) || body->may_be_empty || !str_eq(type, "application/merge-patch+json"))
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "the patch is empty");
    return err_remedy(err, "name at least one member to change");
}

int api_handle(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_endpoint *endpoint = call->endpoint;
    int rc = endpoint->flags & API_MANAGING ? policy_require_managing(&call->viewer, err) : 0;
    if (!rc && endpoint->query)
        rc = http_request_check_query(call->req, endpoint->query, err);
    if (!rc && endpoint->body_type)
        rc = api_read_members(call, endpoint->body_type, endpoint->body, err);
    return rc ? rc : endpoint->handler(call, resp, err);
}

struct actor api_actor(const struct api_call *call) {
    return (struct actor){.principal = call->who,
                          .address = http_request_client(call->req),
                          .request_id = http_request_id(call->req),
                          .sid = call->bearer.session ? live_session_sid(call->bearer.session) : NULL};
}

void api_renew_snapshot(struct api_call *call) {
    inventory_snapshot_unref(call->snapshot);
    call->snapshot = inventory_get(call->api->options.inventory);
}

int api_use_link(struct api_call *call, const char *vcenter_id, struct err *err) {
    if (call->link && str_eq_nocase(link_id(call->link), vcenter_id))
        return 0;
    link_unref(call->link);
    call->link = NULL;
    return platform_find(call->api->options.platform, vcenter_id, &call->link, err);
}
