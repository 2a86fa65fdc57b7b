/* Who asks, and with which rights, before any handler runs. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "authn.h"

#include <stdlib.h>
#include <string.h>

#include "accounts.h"
#include "clock.h"
#include "limits.h"
#include "os_user.h"
#include "str.h"
#include "token.h"

/* The operating system vouches for this one: it may open the admin socket. */
static const struct principal socket_admin = {.id = (char[]){"svc:admin-socket"}, .role = ROLE_ADMIN, .source = SOURCE_SOCKET};

static int use_socket(struct api_call *call, uid_t uid, struct err *err) {
    const struct api_options *options = &call->api->options;
    if (!options->is_admin_uid(options->arg, uid)) {
        (void)err_set(err, ERR_FORBIDDEN, "user id %u may not use the admin socket", (unsigned)uid);
        return err_remedy(err, "run the command as root or as the user of the service");
    }
    free(call->host_user);
    call->host_user = os_user_describe(uid, http_request_peer_pid(call->req));
    if (!call->host_user)
        return err_set(err, ERR_NOMEM, "out of memory");
    call->self = socket_admin;
    call->self.name = call->host_user;
    call->who = &call->self;
    return 0;
}

static int find_token(const struct api_call *call, const char **out, struct err *err) {
    const char *token = http_request_credentials(call->req, "Bearer");
    if (!http_request_header(call->req, "Authorization")) {
        (void)err_set(err, ERR_UNAUTHENTICATED, "there is no token in the request");
        return err_remedy(err, "sign in and send the header Authorization: Bearer TOKEN");
    }
    if (!token || !*token)
        return err_set(err, ERR_UNAUTHENTICATED, "the Authorization header is not of the form Bearer TOKEN");
    *out = token;
    return 0;
}

/* Known before any session is looked for: monitoring goes on without the database. */
static bool is_scraper(const struct api_call *call) {
    const struct api_options *options = &call->api->options;
    const char *token = NULL;
    return (call->endpoint->flags & API_SCRAPED) && !find_token(call, &token, NULL) &&
           options->is_scrape_token(options->arg, token);
}

static int use_bearer(struct api_call *call, bool may_block, struct err *err) {
    struct signon *signon = call->api->options.signon;
    const char *token = NULL;
    int rc = find_token(call, &token, err);
    if (rc)
        return rc;
    rc = may_block ? signon_verify_slow(signon, token, &call->bearer, err)
                   : signon_verify_from(signon, http_request_client(call->req), token, &call->bearer, err);
    if (rc)
        return rc;
    call->self = *live_session_who(call->bearer.session);
    call->self.role = live_session_role(call->bearer.session);
    call->who = &call->self;
    return 0;
}

static bool needs_rights(const struct api_call *call) {
    return (call->endpoint->flags & API_RIGHTS) && call->bearer.session;
}

static bool authn_is_read(const struct api_call *call) {
    enum http_method method = http_request_method(call->req);
    return method == HTTP_METHOD_GET || method == HTTP_METHOD_HEAD;
}

static int take_rights(struct api_call *call, enum authn_step *step, struct err *err) {
    const struct signon_use use = {.is_read = authn_is_read(call),
                                   .is_given_up = call->rights_given_up,
                                   .why = call->wait ? &call->wait->err : NULL,
                                   .address = http_request_client(call->req),
                                   .request_id = http_request_id(call->req)};
    int rc;
    session_rights_done(&call->rights);
    rc = signon_get_rights(call->api->options.signon, call->bearer.session, &use, &call->rights, err);
    if (!rc && call->rights.wait_for >= 0)
        *step = AUTHN_NEEDS_RIGHTS;
    return rc;
}

/* The vCenter the person came from stands in the viewer itself, further ones in a list. */
static void add_rights(struct api_call *call) {
    for (size_t i = 0; i < call->rights.count; i++) {
        const struct signon_part *part = &call->rights.parts[i];
        const struct object_set *objects = part->objects ? shared_objects_get(part->objects) : NULL;
        if (part->is_first)
            call->viewer.vsphere_clusters = objects;
        else
            call->linked[call->viewer.linked_count++] = (struct viewer_vcenter){part->vcenter_id, objects};
    }
    call->viewer.linked = call->linked;
}

/* Those to the groups of the bearer too. */
static int authn_pick_grants(struct api_call *call, const struct inventory_platform *platform, struct err *err) {
    const struct grant_pile pile = {platform->grants, platform->grants_count, platform->number};
    int rc;
    grant_picks_unref(STEAL(call->picks));
    rc = live_session_pick_grants(call->bearer.session, &pile, &call->picks, err);
    if (rc)
        return rc;
    call->viewer.picked = grant_picks_get(call->picks, &call->viewer.grants_count);
    call->viewer.grants = platform->grants;
    call->viewer.groups_mark = grant_picks_groups(call->picks);
    return 0;
}

static int authn_add_grants(struct api_call *call, struct err *err) {
    const struct inventory_platform *platform = call->snapshot->platform;
    if (call->bearer.session && live_session_groups_mark(call->bearer.session))
        return authn_pick_grants(call, platform, err);
    call->viewer.grants = policy_grants_of(platform->grants, platform->grants_count, call->who->id, &call->viewer.grants_count);
    return 0;
}

/* What a program may do is what its account says now, not what it said at the sign-on. */
static int find_limits(const struct api_call *call, const struct service_account **out, struct err *err) {
    *out = NULL;
    if (!call->bearer.session || (!call->who->service_id && !call->who->acting_id))
        return 0;
    if (!call->snapshot)
        return err_set(err, ERR_UNAVAILABLE, "the service is starting");
    return accounts_check_session(call->snapshot->platform, call->who, out, err);
}

/* Grants are for people who come by themselves. */
static int make_viewer(struct api_call *call, struct err *err) {
    const struct service_account *limits = NULL;
    int rc = find_limits(call, &limits, err);
    if (rc)
        return rc;
    policy_viewer_init(&call->viewer, call->who);
    call->viewer.limits = limits;
    add_rights(call);
    return call->snapshot && !limits ? authn_add_grants(call, err) : 0;
}

static int check_password_due(const struct api_call *call, struct err *err) {
    if (!call->bearer.session || (call->endpoint->flags & API_PASSWORD_DUE) ||
        !live_session_must_change_password(call->bearer.session))
        return 0;
    (void)err_set(err, ERR_PASSWORD_CHANGE, "your password was set by somebody else and must be changed first");
    return err_remedy(err, "POST /v2/password, or: kaasctl --server URL --user NAME user password");
}

static int authn_finish(struct api_call *call, enum authn_step *step, struct err *err) {
    const struct service_account *limits = NULL;
    int rc = check_password_due(call, err);
    *step = AUTHN_DONE;
    if (!rc)
        rc = find_limits(call, &limits, err);
    if (!rc)
        rc = policy_require(call->who->role, call->endpoint->permission, err);
    if (!rc && needs_rights(call))
        rc = take_rights(call, step, err);
    return rc ? rc : make_viewer(call, err);
}

const char *authn_cookie(const struct api_call *call, char buffer[AUTHN_COOKIE_BYTES]) {
    size_t len = 0;
    const char *cookie = http_request_cookie(call->req, AUTHN_COOKIE_NAME, &len);
    if (!cookie || len != AUTHN_COOKIE_BYTES - 1 || strspn(cookie, "0123456789abcdef") < len)
        return NULL;
    memcpy(buffer, cookie, len);
    buffer[len] = '\0';
    return buffer;
}

/* No foreign page can send the header. */
static bool may_come_by_cookie(const struct api_call *call) {
    return (call->endpoint->flags & API_COOKIE) && !http_request_header(call->req, "Authorization") &&
           str_eq(http_request_header(call->req, "X-KaaS"), "1");
}

int authn_check(struct api_call *call, enum authn_step *step, struct err *err) {
    uid_t uid;
    int rc;
    *step = AUTHN_DONE;
    if ((call->endpoint->flags & API_PUBLIC) || is_scraper(call) || may_come_by_cookie(call))
        return 0;
    if (call->door == API_DOOR_ADMIN && http_request_peer_uid(call->req, &uid) &&
        !http_request_header(call->req, "Authorization")) {
        rc = use_socket(call, uid, err);
    } else {
        struct err why = {0};
        rc = use_bearer(call, false, &why);
        if (rc == ERR_NOT_FOUND) {
            *step = AUTHN_NEEDS_DATABASE;
            return 0;
        }
        if (rc)
            return err_move(err, rc, &why);
    }
    return rc ? rc : authn_finish(call, step, err);
}

int authn_load_session(struct api_call *call, enum authn_step *step, struct err *err) {
    int rc = use_bearer(call, true, err);
    return rc ? rc : authn_finish(call, step, err);
}

/* Whoever wakes the call may be done with it before this returns. Without a place in the line it goes on at once: what other vCenters
 * said may do. */
int authn_wait(void *arg, worker_fn *run, void *run_arg, struct err *err) {
    struct api_call *call = arg;
    struct signon_wait *wait = call->wait;
    struct err why = {0};
    int rc;
    if (!wait) {
        call->wait = wait = calloc(1, sizeof(*wait));
        if (!wait)
            return err_set(err, ERR_NOMEM, "out of memory");
        wait->deadline_ms = clock_mono_ms() + KAAS_RIGHTS_WAIT_MS;
    }
    wait->run = run;
    wait->arg = run_arg;
    wait->rc = 0;
    err_clear(&wait->err);
    rc = signon_wait_rights(call->api->options.signon, call->bearer.session, call->rights.parts[call->rights.wait_for].vcenter_id,
                            wait, &why);
    if (!rc)
        return 0;
    wait->rc = rc;
    wait->err = why;
    run(run_arg, false);
    return 0;
}

int authn_take_answer(struct api_call *call, enum authn_step *step, struct err *err) {
    int rc;
    *step = AUTHN_DONE;
    if (call->wait->rc || clock_mono_ms() >= call->wait->deadline_ms)
        call->rights_given_up |= (uint16_t)(1U << call->rights.wait_for);
    rc = take_rights(call, step, err);
    return rc ? rc : make_viewer(call, err);
}
