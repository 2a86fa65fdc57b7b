/* Who asks, and what a request may do before its handler runs: authn.c over requests made of plain values, sessions as they are in
 * memory, and a sign-on that says what the test wants. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "authn.h"
#include "clock.h"
#include "limits.h"
#include "rights_cache.h"
#include "str.h"

#define NO_UID UINT32_MAX
#define NOBODY 65534U
#define NOW_MS INT64_C(1700000000000)
#define SERVICE_ID "11111111-1111-4111-8111-111111111111"
#define ANNA "local:anna"
#define VC_A "aaaaaaaa-0a53-4a8e-8a54-2f1f9f3f6f10"
#define VC_B "bbbbbbbb-0a53-4a8e-8a54-2f1f9f3f6f10"
#define GROUP "sid:S-1-5-21-1-2-3-1200"

/* -- a request made of plain values -------------------------------------------------------------------------------------------- */

struct http_request {
    enum http_method method;
    const char *authorization; /* NULL: none */
    uid_t uid;                 /* NO_UID: not a unix socket */
};

enum http_method http_request_method(const struct http_request *req) {
    return req->method;
}

const char *http_request_header(const struct http_request *req, const char *name) {
    return str_eq(name, "Authorization") ? req->authorization : NULL;
}

const char *http_request_credentials(const struct http_request *req, const char *scheme) {
    const size_t n = strlen(scheme);
    return req->authorization && !strncasecmp(req->authorization, scheme, n) && req->authorization[n] == ' '
               ? req->authorization + n + 1
               : NULL;
}

const char *http_request_cookie(const struct http_request *req, const char *name, size_t *len) {
    (void)req, (void)name, (void)len;
    return NULL;
}

bool http_request_peer_uid(const struct http_request *req, uid_t *uid) {
    *uid = req->uid;
    return req->uid != NO_UID;
}

pid_t http_request_peer_pid(const struct http_request *req) {
    (void)req;
    return 0;
}

const char *http_request_client(const struct http_request *req) {
    (void)req;
    return "192.0.2.7";
}

const char *http_request_id(const struct http_request *req) {
    (void)req;
    return "request-1";
}

/* -- a sign-on that says what the test wants ----------------------------------------------------------------------------------- */

static struct {
    struct live_session *session; /* of any token that is not refused */
    int fast, slow;               /* what looking at a token gives, without and with the database */
    char token[40];               /* that was looked at last */
    int rights_code, wait_code;
    int wait_for; /* of what get_rights says */
    struct signon_part parts[2];
    size_t parts_count;
    unsigned asked, waited;    /* how often for rights */
    struct signon_use use;     /* of the last time */
    char waited_for[37];       /* the vCenter */
    unsigned resumed, dropped; /* waits that ended by run(arg, false) or (arg, true) */
} said;

static int look(int rc, const char *token, struct signon_bearer *out, struct err *err) {
    (void)snprintf(said.token, sizeof(said.token), "%s", token);
    if (rc)
        return err_set(err, rc, "as the test wants it");
    live_session_unref(out->session);
    out->session = live_session_ref(said.session);
    return 0;
}

int signon_verify_from(struct signon *signon, const char *address, const char *token, struct signon_bearer *out,
                       struct err *err) {
    (void)signon;
    assert_string_equal(address, "192.0.2.7");
    return look(said.fast, token, out, err);
}

int signon_verify_slow(struct signon *signon, const char *token, struct signon_bearer *out, struct err *err) {
    (void)signon;
    return look(said.slow, token, out, err);
}

int signon_get_rights(struct signon *signon, struct live_session *live, const struct signon_use *use, struct session_rights *out,
                      struct err *err) {
    (void)signon;
    assert_ptr_equal(live, said.session);
    said.asked++;
    said.use = *use;
    if (said.rights_code)
        return err_set(err, said.rights_code, "as the test wants it");
    memcpy(out->parts, said.parts, sizeof(said.parts));
    for (size_t i = 0; i < said.parts_count; i++)
        if (out->parts[i].objects)
            (void)shared_objects_ref(out->parts[i].objects);
    out->count = said.parts_count;
    out->wait_for = said.wait_for;
    return 0;
}

void session_rights_done(struct session_rights *rights) {
    for (size_t i = 0; i < rights->count; i++)
        shared_objects_unref(rights->parts[i].objects);
    memset(rights, 0, sizeof(*rights));
}

int signon_wait_rights(struct signon *signon, struct live_session *live, const char *vcenter_id, struct signon_wait *wait,
                       struct err *err) {
    (void)signon;
    (void)wait;
    assert_ptr_equal(live, said.session);
    said.waited++;
    (void)snprintf(said.waited_for, sizeof(said.waited_for), "%s", vcenter_id);
    return said.wait_code ? err_set(err, said.wait_code, "the line is too long") : 0;
}

/* -- who asks ------------------------------------------------------------------------------------------------------------------- */

static bool is_root(void *arg, unsigned uid) {
    (void)arg;
    return uid == 0;
}

static bool is_token(void *arg, const char *token) {
    (void)arg;
    return str_eq(token, "of the file");
}

static char id_anna[] = ANNA, name_anna[] = "Anna", id_service[] = SERVICE_ID, id_hx[] = "44444444-4444-4444-8444-444444444444";
static char *hx_clusters[] = {id_hx};
static struct service_account account;
static struct grant grants[] = {
    {.principal_id = (char[]){ANNA}, .object = GRANT_CLUSTER, .object_id = (char[]){"a"}, .role = (char[]){"viewer"}},
    {.principal_id = (char[]){ANNA}, .object = GRANT_CLUSTER, .object_id = (char[]){"b"}, .role = (char[]){"viewer"}},
    {.principal_id = (char[]){"local:bert"}, .object = GRANT_CLUSTER, .object_id = (char[]){"c"}, .role = (char[]){"admin"}},
    {.principal_id = (char[]){GROUP}, .object = GRANT_CLUSTER, .object_id = (char[]){"d"}, .role = (char[]){"viewer"}},
};
static struct inventory_platform platform;
static struct inventory_snapshot snapshot;
static struct http_request request;
static struct api_endpoint endpoint;
static struct api api;
static struct api_call call;
static struct live_shared shared;
static struct session row; /* what the session is made of; its texts are the test's */

static void sign_in(void) {
    struct session *copy = calloc(1, sizeof(*copy));
    assert_non_null(copy);
    assert_int_equal(session_copy(&row, copy, NULL), 0);
    live_session_unref(said.session);
    said.session = NULL;
    assert_int_equal(live_session_new(copy, &shared, &said.session, NULL), 0);
}

/* What the call holds is given back, as api.c does at the end of a request. */
static void end_call(void) {
    session_rights_done(&call.rights);
    grant_picks_unref(call.picks);
    live_session_unref(call.bearer.session);
    free(call.host_user);
    free(call.wait);
    memset(&call, 0, sizeof(call));
}

/* The next request: of a person who is signed in as a user, to read a list. */
static void new_call(void) {
    end_call();
    call.api = &api;
    call.req = &request;
    call.endpoint = &endpoint;
    call.snapshot = &snapshot;
    call.door = API_DOOR_PUBLIC;
}

static int set_up(void **state) {
    (void)state;
    memset(&said, 0, sizeof(said));
    said.wait_for = -1;
    clock_fake(1000000, NOW_MS);
    shared.cache = rights_cache_new(NULL, &(struct rights_pace){1000, 1});
    shared.pool = group_pool_new();
    assert_true(shared.cache && shared.pool);
    account = (struct service_account){.id = id_service, .hx_clusters = hx_clusters, .hx_clusters_count = 1};
    platform = (struct inventory_platform){
        .number = 1, .grants = grants, .grants_count = UNIT_COUNT(grants), .services = &account, .services_count = 1};
    snapshot = (struct inventory_snapshot){.platform = &platform};
    api = (struct api){.options = {.is_admin_uid = is_root, .is_scrape_token = is_token}};
    request = (struct http_request){.method = HTTP_METHOD_GET, .authorization = "Bearer x", .uid = NO_UID};
    endpoint = (struct api_endpoint){.permission = PERMISSION_CLUSTERS_READ};
    row = (struct session){.ends_at_ms = NOW_MS + 1000,
                           .who = {.id = id_anna, .name = name_anna, .role = ROLE_USER, .source = SOURCE_LOCAL}};
    sign_in();
    new_call();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    end_call();
    for (size_t i = 0; i < UNIT_COUNT(said.parts); i++)
        shared_objects_unref(said.parts[i].objects);
    live_session_unref(said.session);
    group_pool_free(shared.pool);
    rights_cache_free(shared.cache);
    clock_unfake();
    return 0;
}

/* The code that the call is answered with, and where it stands. */
static enum authn_step step;
static struct err err;
static int check(void) {
    int rc;
    memset(&err, 0, sizeof(err));
    step = AUTHN_NEEDS_RIGHTS;
    rc = authn_check(&call, &step, &err);
    assert_int_equal(err.code, rc);
    return rc;
}

/* -- the door: the operating system's word, or a token --------------------------------------------------------------------------- */

/* Only at the admin socket does the user id of the peer count, only without a token, and only that of an administrator. */
static void a_user_id_counts_at_the_admin_socket_alone(void **state) {
    static const struct {
        const char *name;
        enum api_door door;
        uid_t uid;
        const char *authorization;
        int code;
        const char *who; /* NULL: nobody */
    } rows[] = {
        {"root at the admin socket", API_DOOR_ADMIN, 0, NULL, 0, "svc:admin-socket"},
        {"another user there", API_DOOR_ADMIN, NOBODY, NULL, ERR_FORBIDDEN, NULL},
        {"a user next to root", API_DOOR_ADMIN, 1, NULL, ERR_FORBIDDEN, NULL},
        {"another user with a token", API_DOOR_ADMIN, NOBODY, "Bearer x", 0, ANNA},
        {"root with a token: the token counts", API_DOOR_ADMIN, 0, "Bearer x", 0, ANNA},
        {"root with a broken token: no way back", API_DOOR_ADMIN, 0, "Bearer ", ERR_UNAUTHENTICATED, NULL},
        {"the admin door without a user id", API_DOOR_ADMIN, NO_UID, NULL, ERR_UNAUTHENTICATED, NULL},
        {"a proxy that runs as root", API_DOOR_PUBLIC, 0, NULL, ERR_UNAUTHENTICATED, NULL},
        {"a proxy, with a token", API_DOOR_PUBLIC, 0, "Bearer x", 0, ANNA},
        {"the network, with a token", API_DOOR_PUBLIC, NO_UID, "Bearer x", 0, ANNA},
        {"the network, without", API_DOOR_PUBLIC, NO_UID, NULL, ERR_UNAUTHENTICATED, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        call.door = rows[i].door;
        request.uid = rows[i].uid;
        request.authorization = rows[i].authorization;
        int code = check();
        if (code != rows[i].code || !str_eq(call.who ? call.who->id : NULL, rows[i].who))
            fail_msg("%s: %s, as %s", rows[i].name, err_slug(code), call.who ? call.who->id : "nobody");
        assert_int_equal(step, AUTHN_DONE);
    }
}

static void a_refusal_at_the_admin_socket_tells_what_to_do(void **state) {
    (void)state;
    call.door = API_DOOR_ADMIN;
    request.uid = NOBODY;
    request.authorization = NULL;
    assert_int_equal(check(), ERR_FORBIDDEN);
    assert_string_equal(err.text, "user id 65534 may not use the admin socket");
    assert_string_equal(err.remedy, "run the command as root or as the user of the service");
    assert_null(call.who);
    assert_false(policy_sees_all(&call.viewer));
}

static void the_admin_socket_may_do_everything(void **state) {
    (void)state;
    request.uid = 0;
    request.authorization = NULL;
    endpoint.flags = API_RIGHTS;
    for (int permission = 0; permission < PERMISSION_COUNT; permission++) {
        new_call();
        call.door = API_DOOR_ADMIN;
        endpoint.permission = (enum permission)permission;
        assert_int_equal(check(), 0);
        assert_int_equal(call.who->role, ROLE_ADMIN);
        assert_string_equal(call.who->name, "root (uid 0)");
        assert_true(policy_sees_all(&call.viewer));
        assert_null(call.bearer.session);
    }
    assert_int_equal(said.asked, 0); /* there is no vCenter to ask about it */
}

/* The token of the file opens what is scraped, and is a token like any other elsewhere. */
static void a_monitoring_system_reads_metrics_alone(void **state) {
    static const struct {
        unsigned flags;
        const char *authorization;
        int code;
    } rows[] = {
        {API_SCRAPED, "Bearer of the file", 0},
        {API_SCRAPED, "Bearer of the file ", ERR_UNAUTHENTICATED},
        {API_SCRAPED, "Basic of the file", ERR_UNAUTHENTICATED},
        {API_SCRAPED, NULL, ERR_UNAUTHENTICATED},
        {0, "Bearer of the file", ERR_UNAUTHENTICATED},
        {API_RIGHTS, "Bearer of the file", ERR_UNAUTHENTICATED},
    };
    (void)state;
    said.fast = ERR_UNAUTHENTICATED;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        endpoint.flags = rows[i].flags;
        request.authorization = rows[i].authorization;
        assert_int_equal(check(), rows[i].code);
        assert_null(call.who);
    }
    said.fast = 0;
    new_call();
    endpoint = (struct api_endpoint){.flags = API_SCRAPED, .permission = PERMISSION_METRICS_READ};
    request.authorization = "Bearer x";
    assert_int_equal(check(), ERR_FORBIDDEN); /* a user */
}

static void public_endpoints_look_at_nobody(void **state) {
    (void)state;
    endpoint.flags = API_PUBLIC;
    for (int door = 0; door < API_DOOR_COUNT; door++) {
        new_call();
        call.door = (enum api_door)door;
        request.uid = NOBODY;
        request.authorization = "Bearer rubbish";
        said.fast = ERR_UNAUTHENTICATED;
        assert_int_equal(check(), 0);
        assert_int_equal(step, AUTHN_DONE);
        assert_null(call.who);
    }
    assert_string_equal(said.token, "");
}

/* -- tokens ---------------------------------------------------------------------------------------------------------------------- */

static void a_token_stands_behind_the_word_bearer(void **state) {
    static const struct {
        const char *header, *token; /* NULL: none is found */
    } rows[] = {
        {"Bearer x", "x"},     {"bearer x", "x"}, {"BEARER a.b.c", "a.b.c"}, /* RFC 9110 11.1: in any case */
        {"Bearer ", NULL},     {"Bearer", NULL},  {"Bearerx", NULL},         {"Basic eDp5", NULL},
        {"Negotiate Y", NULL}, {"x", NULL},       {" Bearer x", NULL},       {"", NULL},
        {NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        request.authorization = rows[i].header;
        memset(said.token, 0, sizeof(said.token));
        int code = check();
        if (code != (rows[i].token ? 0 : ERR_UNAUTHENTICATED) || !str_eq(said.token, rows[i].token ? rows[i].token : ""))
            fail_msg("\"%s\": %s, token \"%s\"", rows[i].header ? rows[i].header : "none", err_slug(code), said.token);
    }
}

static void what_is_said_of_a_token_is_answered(void **state) {
    static const struct {
        int said, code;
        enum authn_step step;
    } rows[] = {
        {0, 0, AUTHN_DONE},
        {ERR_UNAUTHENTICATED, ERR_UNAUTHENTICATED, AUTHN_DONE},
        {ERR_TOKEN_EXPIRED, ERR_TOKEN_EXPIRED, AUTHN_DONE},
        {ERR_SESSION_ENDED, ERR_SESSION_ENDED, AUTHN_DONE},
        {ERR_TOO_MANY, ERR_TOO_MANY, AUTHN_DONE},
        {ERR_NOT_FOUND, 0, AUTHN_NEEDS_DATABASE}, /* another replica's session: nobody is known yet */
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        said.fast = rows[i].said;
        assert_int_equal(check(), rows[i].code);
        assert_int_equal(step, rows[i].step);
        assert_int_equal(call.who != NULL, rows[i].said == 0);
    }
}

/* Whoever is found in the database only is judged as everybody else. */
static void a_session_from_the_database_is_judged_too(void **state) {
    (void)state;
    said.fast = ERR_NOT_FOUND;
    said.slow = ERR_SESSION_ENDED;
    assert_int_equal(check(), 0);
    assert_int_equal(authn_load_session(&call, &step, NULL), ERR_SESSION_ENDED);
    assert_null(call.who);
    said.slow = 0;
    endpoint.permission = PERMISSION_AUDIT_READ;
    assert_int_equal(authn_load_session(&call, &step, NULL), ERR_FORBIDDEN);
    endpoint.permission = PERMISSION_CLUSTERS_READ;
    assert_int_equal(authn_load_session(&call, &step, NULL), 0);
    assert_string_equal(call.who->id, ANNA);
    assert_int_equal(step, AUTHN_DONE);
}

/* -- what the role may do -------------------------------------------------------------------------------------------------------- */

static void the_role_of_now_counts(void **state) {
    (void)state;
    endpoint.permission = PERMISSION_AUDIT_READ;
    assert_int_equal(check(), ERR_FORBIDDEN);
    live_session_set_mapped(said.session, ROLE_ADMIN); /* a role mapping gives it ... */
    new_call();
    assert_int_equal(check(), 0);
    assert_int_equal(call.who->role, ROLE_ADMIN);
    assert_true(policy_sees_all(&call.viewer));
    live_session_set_mapped(said.session, ROLE_NONE); /* ... and is taken away */
    new_call();
    assert_int_equal(check(), ERR_FORBIDDEN);
}

static void a_password_that_is_due_comes_first(void **state) {
    static const struct {
        bool is_due;
        unsigned flags;
        enum permission permission;
        int code;
    } rows[] = {
        {false, 0, PERMISSION_CLUSTERS_READ, 0},
        {true, 0, PERMISSION_CLUSTERS_READ, ERR_PASSWORD_CHANGE},
        {true, 0, PERMISSION_AUDIT_READ, ERR_PASSWORD_CHANGE},
        {true, API_PASSWORD_DUE, PERMISSION_CLUSTERS_READ, 0},
        {true, API_PASSWORD_DUE, PERMISSION_AUDIT_READ, ERR_FORBIDDEN},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        row.must_change_password = rows[i].is_due;
        sign_in();
        endpoint.flags = rows[i].flags;
        endpoint.permission = rows[i].permission;
        assert_int_equal(check(), rows[i].code);
    }
}

/* -- programs -------------------------------------------------------------------------------------------------------------------- */

static void a_program_may_what_its_account_says_now(void **state) {
    (void)state;
    row.who.service_id = id_service;
    row.who.role = ROLE_SERVICE;
    sign_in();
    assert_int_equal(check(), 0);
    assert_ptr_equal(call.viewer.limits, &account);
    account.is_disabled = true;
    new_call();
    assert_int_equal(check(), ERR_SESSION_ENDED);
    account.is_disabled = false;
    platform.services_count = 0; /* removed */
    new_call();
    assert_int_equal(check(), ERR_SESSION_ENDED);
    platform.services_count = 1;
    new_call();
    call.snapshot = NULL; /* nothing was read yet: who knows what it may? */
    assert_int_equal(check(), ERR_UNAVAILABLE);
}

static void a_program_acts_for_people_while_it_may_and_without_their_grants(void **state) {
    static char acting[] = "svc:" SERVICE_ID;
    (void)state;
    row.who.service_id = id_service;
    row.who.acting_id = acting;
    sign_in();
    assert_int_equal(check(), ERR_SESSION_ENDED);
    account.may_delegate = true;
    new_call();
    assert_int_equal(check(), 0);
    assert_ptr_equal(call.viewer.limits, &account);
    assert_int_equal(call.viewer.grants_count, 0);
    assert_null(call.viewer.grants);
}

/* -- grants ---------------------------------------------------------------------------------------------------------------------- */

static void people_have_their_own_grants(void **state) {
    (void)state;
    assert_int_equal(check(), 0);
    assert_int_equal(call.viewer.grants_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(policy_grant_at(&call.viewer, i)->principal_id, ANNA);
    new_call();
    call.snapshot = NULL; /* not read yet: none */
    assert_int_equal(check(), 0);
    assert_int_equal(call.viewer.grants_count, 0);
}

static void people_have_the_grants_of_their_groups_too(void **state) {
    (void)state;
    assert_int_equal(group_set_add(&row.groups, GROUP, NULL), 0);
    group_set_seal(&row.groups);
    sign_in();
    new_call();
    assert_int_equal(check(), 0);
    assert_int_equal(call.viewer.grants_count, 3);
    assert_string_equal(policy_grant_at(&call.viewer, 2)->principal_id, GROUP);
    for (size_t i = 0; i < 3; i++)
        assert_string_not_equal(policy_grant_at(&call.viewer, i)->principal_id, "local:bert");
    group_set_done(&row.groups);
}

/* -- rights at vCenters ---------------------------------------------------------------------------------------------------------- */

static void know(size_t i, const char *vcenter_id, bool is_first, bool is_known) {
    struct signon_part *part = &said.parts[i];
    struct object_set none = {0};
    (void)snprintf(part->vcenter_id, sizeof(part->vcenter_id), "%s", vcenter_id);
    part->is_first = is_first;
    part->objects = is_known ? shared_objects_new(&none, asked_now()) : NULL;
    said.parts_count = i + 1;
}

static void rights_are_asked_for_where_the_answer_depends_on_them(void **state) {
    static const struct {
        unsigned flags;
        enum http_method method;
        bool is_asked, is_read;
    } rows[] = {
        {0, HTTP_METHOD_GET, false, false},
        {API_RIGHTS, HTTP_METHOD_GET, true, true},
        {API_RIGHTS, HTTP_METHOD_HEAD, true, true},
        {API_RIGHTS, HTTP_METHOD_POST, true, false}, /* no grace for who changes something */
        {API_RIGHTS, HTTP_METHOD_PATCH, true, false},
        {API_RIGHTS, HTTP_METHOD_DELETE, true, false},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        said.asked = 0;
        memset(&said.use, 0, sizeof(said.use));
        endpoint.flags = rows[i].flags;
        request.method = rows[i].method;
        assert_int_equal(check(), 0);
        assert_int_equal(said.asked, rows[i].is_asked);
        assert_int_equal(said.use.is_read, rows[i].is_read);
        assert_int_equal(said.use.is_given_up, 0);
    }
}

static void nobody_is_asked_about_who_may_not_anyway(void **state) {
    (void)state;
    endpoint.flags = API_RIGHTS;
    endpoint.permission = PERMISSION_AUDIT_READ;
    assert_int_equal(check(), ERR_FORBIDDEN);
    assert_int_equal(said.asked, 0);
}

static void each_vcenters_word_counts_for_its_own(void **state) {
    (void)state;
    endpoint.flags = API_RIGHTS;
    know(0, VC_A, true, true);
    know(1, VC_B, false, true);
    assert_int_equal(check(), 0);
    assert_ptr_equal(call.viewer.vsphere_clusters, shared_objects_get(said.parts[0].objects));
    assert_int_equal(call.viewer.linked_count, 1);
    assert_string_equal(call.viewer.linked[0].vcenter_id, VC_B);
    assert_ptr_equal(call.viewer.linked[0].vsphere_clusters, shared_objects_get(said.parts[1].objects));
}

static void nothing_known_is_nothing_seen(void **state) {
    (void)state;
    endpoint.flags = API_RIGHTS;
    know(0, VC_A, true, false);
    know(1, VC_B, false, false);
    assert_int_equal(check(), 0);
    assert_null(call.viewer.vsphere_clusters);
    assert_null(call.viewer.linked[0].vsphere_clusters);
    said.rights_code = ERR_RIGHTS_UNKNOWN;
    new_call();
    assert_int_equal(check(), ERR_RIGHTS_UNKNOWN);
    assert_null(call.viewer.principal_id);
}

static void note_run(void *arg, bool is_canceled) {
    (void)arg;
    if (is_canceled)
        said.dropped++;
    else
        said.resumed++;
}

/* A read that needs an answer of the second vCenter. */
static void begin_waiting(void) {
    endpoint.flags = API_RIGHTS;
    know(0, VC_A, true, true);
    know(1, VC_B, false, false);
    said.wait_for = 1;
    assert_int_equal(check(), 0);
    assert_int_equal(step, AUTHN_NEEDS_RIGHTS);
}

static void what_is_missing_is_waited_for(void **state) {
    (void)state;
    begin_waiting();
    assert_int_equal(authn_wait(&call, note_run, NULL, NULL), 0);
    assert_string_equal(said.waited_for, VC_B);
    assert_int_equal(said.resumed + said.dropped, 0); /* whoever has the answer runs it */
    assert_int_equal(call.wait->deadline_ms, clock_mono_ms() + KAAS_RIGHTS_WAIT_MS);
    clock_advance_ms(1000); /* the answer: it is looked at again, and the same vCenter asks for one more wait */
    assert_int_equal(authn_take_answer(&call, &step, NULL), 0);
    assert_int_equal(step, AUTHN_NEEDS_RIGHTS);
    assert_int_equal(said.use.is_given_up, 0);
    assert_int_equal(authn_wait(&call, note_run, NULL, NULL), 0);
    assert_int_equal(call.wait->deadline_ms, clock_mono_ms() - 1000 + KAAS_RIGHTS_WAIT_MS); /* one limit for all waits */
    said.wait_for = -1;
    assert_int_equal(authn_take_answer(&call, &step, NULL), 0);
    assert_int_equal(step, AUTHN_DONE);
    assert_string_equal(call.viewer.principal_id, ANNA);
}

/* A wait that fails, that cannot begin, or that takes too long: that vCenter is given up, and what the others said may do. */
static void a_wait_in_vain_gives_one_vcenter_up(void **state) {
    static const struct {
        const char *name;
        int line, answer; /* what joining the line gives; what the wait ends with */
        int64_t takes_ms;
        unsigned given_up, resumed;
    } rows[] = {
        {"answered", 0, 0, KAAS_RIGHTS_WAIT_MS - 1, 0, 0},
        {"refused", 0, ERR_RIGHTS_UNKNOWN, 1, 1U << 1, 0},
        {"too late", 0, 0, KAAS_RIGHTS_WAIT_MS, 1U << 1, 0},
        {"no place in the line", ERR_RIGHTS_UNKNOWN, ERR_RIGHTS_UNKNOWN, 0, 1U << 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        new_call();
        shared_objects_unref(said.parts[0].objects);
        begin_waiting();
        said.wait_code = rows[i].line;
        said.resumed = said.dropped = 0;
        assert_int_equal(authn_wait(&call, note_run, NULL, NULL), 0);
        assert_int_equal(said.resumed, rows[i].resumed);
        assert_int_equal(said.dropped, 0);
        if (!rows[i].line)
            call.wait->rc = rows[i].answer;
        assert_int_equal(call.wait->rc, rows[i].answer);
        clock_advance_ms(rows[i].takes_ms);
        said.wait_for = -1;
        assert_int_equal(authn_take_answer(&call, &step, NULL), 0);
        if (said.use.is_given_up != rows[i].given_up)
            fail_msg("%s: given up %#x", rows[i].name, said.use.is_given_up);
        assert_non_null(call.viewer.vsphere_clusters);
    }
}

#define AUTHN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        AUTHN_TEST(a_user_id_counts_at_the_admin_socket_alone),
        AUTHN_TEST(a_refusal_at_the_admin_socket_tells_what_to_do),
        AUTHN_TEST(the_admin_socket_may_do_everything),
        AUTHN_TEST(a_monitoring_system_reads_metrics_alone),
        AUTHN_TEST(public_endpoints_look_at_nobody),
        AUTHN_TEST(a_token_stands_behind_the_word_bearer),
        AUTHN_TEST(what_is_said_of_a_token_is_answered),
        AUTHN_TEST(a_session_from_the_database_is_judged_too),
        AUTHN_TEST(the_role_of_now_counts),
        AUTHN_TEST(a_password_that_is_due_comes_first),
        AUTHN_TEST(a_program_may_what_its_account_says_now),
        AUTHN_TEST(a_program_acts_for_people_while_it_may_and_without_their_grants),
        AUTHN_TEST(people_have_their_own_grants),
        AUTHN_TEST(people_have_the_grants_of_their_groups_too),
        AUTHN_TEST(rights_are_asked_for_where_the_answer_depends_on_them),
        AUTHN_TEST(nobody_is_asked_about_who_may_not_anyway),
        AUTHN_TEST(each_vcenters_word_counts_for_its_own),
        AUTHN_TEST(nothing_known_is_nothing_seen),
        AUTHN_TEST(what_is_missing_is_waited_for),
        AUTHN_TEST(a_wait_in_vain_gives_one_vcenter_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
