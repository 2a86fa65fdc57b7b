/* Unit tests of src/pilot/pilot_guard: what only reads is sent, nothing else gets as far as the network.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "hx.h"
#include "pilot_guard.h"
#include "str.h"
#include "vim_authorization.h"
#include "vim_event.h"
#include "vim_extension.h"
#include "vim/vim_fake.h"
#include "vim_session.h"

/* A client whose bytes pass the guard, and the fake vCenter behind. */
struct world {
    struct fake *fake;
    struct pilot_guard guard;
    struct vim_client *client;
};

static int set_up(void **state) {
    static const uint8_t pin[32] = {1};
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->fake = fake_new();
    pilot_guard_init(&w->guard, PILOT_VCENTER, fake_transport(w->fake));
    const struct vim_options options = {
        .host = "vc.example.com", .port = 443, .pin_sha256 = pin, .transport = &w->guard.transport};
    assert_int_equal(vim_client_new(&options, &w->client, NULL), 0);
    assert_int_equal(vim_login_password(w->client, "reader@vsphere.local", "secret", NULL), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    struct world *w = *state;
    vim_client_free(w->client);
    pilot_guard_done(&w->guard);
    fake_free(w->fake);
    free(w);
    return 0;
}

static void assert_refused(struct world *w, int rc, const struct err *err, const char *operation) {
    if (!strstr(err->text, operation))
        fail_msg("\"%s\" does not name %s", err->text, operation);
    assert_int_equal(rc, ERR_FORBIDDEN);
    assert_int_equal(fake_count(w->fake, operation), 0);
}

static void writing_calls_of_the_client_are_not_sent(void **state) {
    struct world *w = *state;
    const struct vim_extension record = {
        .description = {"a", "b"}, .key = "com.example.a", .version = "1.0", .last_heartbeat_time = "2026-01-01T00:00:00Z"};
    const char *const privileges[] = {"System.View"};
    int role = 0;
    struct err err = {0};
    fake_answer(w->fake, "FindExtension", "");
    assert_refused(w, vim_register_extension(w->client, &record, &err), &err, "RegisterExtension");
    err_clear(&err);
    assert_refused(w, vim_update_extension(w->client, &record, &err), &err, "UpdateExtension");
    err_clear(&err);
    assert_refused(w, vim_unregister_extension(w->client, "com.example.a", &err), &err, "UnregisterExtension");
    err_clear(&err);
    assert_refused(w, vim_add_role(w->client, "a", privileges, 1, &role, &err), &err, "AddAuthorizationRole");
    err_clear(&err);
    assert_refused(w, vim_grant_role(w->client, NULL, &(struct vim_grant){"a", 1, true}, &err), &err, "SetEntityPermissions");
    err_clear(&err);
    assert_refused(w, vim_terminate_session(w->client, "52aa", &err), &err, "TerminateSession");
}

static void what_was_sent_is_noted(void **state) {
    struct world *w = *state;
    const struct pilot_call *call;
    assert_int_equal(vim_keepalive(w->client, NULL), 0);
    call = pilot_guard_find(&w->guard, "/sdk");
    assert_non_null(call);
    assert_string_equal(call->name, "CurrentTime");
    assert_int_equal(call->status, 200);
    assert_true(call->bytes > 0);
    assert_null(pilot_guard_find(&w->guard, "/nowhere"));
}

/* -- by the bytes -------------------------------------------------------------------------------------------------- */

static int judge(enum pilot_service service, const char *method, const char *path, const char *operation) {
    char body[512] = "", url[256], name[PILOT_NAME_BYTES];
    struct http_exchange x = {.method = method, .url = url};
    (void)snprintf(url, sizeof(url), "https://vc.example.com:443%s", path);
    if (operation)
        (void)snprintf(
            body, sizeof(body),
            "<e:Envelope><e:Header><v:operationID>a</v:operationID></e:Header><e:Body><v:%s><v:_this>a</v:_this></v:%s></e:Body></e:Envelope>",
            operation, operation);
    x.body = operation ? body : NULL;
    x.body_bytes = strlen(body);
    return pilot_guard_judge(service, &x, name, NULL);
}

/* By hand, apart from the list in the guard: what the vSphere API reference says of each. */
static const char *const readers[] = {
    "RetrieveServiceContent",
    "CurrentTime",
    "Login",
    "LoginExtensionByCertificate",
    "Logout",
    "AcquireCloneTicket",
    "CloneSession",
    "FindExtension",
    "HasPrivilegeOnEntities",
    "HasUserPrivilegeOnEntities",
    "RetrievePropertiesEx",
    "ContinueRetrievePropertiesEx",
    "CancelRetrievePropertiesEx",
    "CreateContainerView",
    "DestroyView",
    "CreatePropertyCollector",
    "DestroyPropertyCollector",
    "CreateFilter",
    "DestroyPropertyFilter",
    "WaitForUpdatesEx",
    "CancelWaitForUpdates",
    "CreateCollectorForEvents",
    "DestroyCollector",
};

static bool is_reader(const char *operation) {
    for (size_t i = 0; i < UNIT_COUNT(readers); i++)
        if (str_eq(readers[i], operation))
            return true;
    return false;
}

/* Of all operations that our client can speak at all. */
static void every_operation_is_judged(void **state) {
    char line[512], *operation;
    size_t seen = 0, sent = 0;
    FILE *file = fopen(WSDL_DIR "/operations", "re");
    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        operation = line;
        line[strcspn(line, " \n")] = '\0';
        if (!*operation || *operation == '#' || *operation == '*')
            continue;
        seen++;
        sent += is_reader(operation);
        if (judge(PILOT_VCENTER, "POST", "/sdk", operation) != (is_reader(operation) ? 0 : ERR_FORBIDDEN))
            fail_msg("%s is judged wrongly", operation);
    }
    (void)fclose(file);
    assert_true(seen > 30);
    assert_int_equal(sent, UNIT_COUNT(readers));
}

static void an_operation_is_the_whole_name_in_the_body(void **state) {
    char name[PILOT_NAME_BYTES];
    const char *const bad[] = {"",
                               "no XML",
                               "<e:Body>",
                               "<Envelope><CurrentTime/></Envelope>",
                               "<e:Body><Current/></e:Body>",
                               "<e:Body><CurrentTimes/></e:Body>",
                               "<e:Body><RegisterExtension/><CurrentTime/></e:Body>"};
    struct http_exchange x = {.method = "POST", .url = "https://vc/sdk"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        x.body = bad[i];
        x.body_bytes = strlen(bad[i]);
        assert_int_equal(pilot_guard_judge(PILOT_VCENTER, &x, name, NULL), ERR_FORBIDDEN);
    }
    x.body = NULL;
    x.body_bytes = 0;
    assert_int_equal(pilot_guard_judge(PILOT_VCENTER, &x, name, NULL), ERR_FORBIDDEN);
}

static void paths_are_judged(void **state) {
    static const struct {
        enum pilot_service service;
        const char *method, *path;
        int rc;
    } rows[] = {
        {PILOT_VCENTER, "GET", "/sdk/vimServiceVersions.xml", 0},
        {PILOT_VCENTER, "GET", "/ui/app/vm;nav=v/urn:vmomi:VirtualMachine:vm-1:a/summary", 0},
        {PILOT_VCENTER, "POST", "/api/session", 0},
        {PILOT_VCENTER, "DELETE", "/api/session", 0},
        {PILOT_VCENTER, "GET", "/sdk", ERR_FORBIDDEN},
        {PILOT_VCENTER, "POST", "/ui/app", ERR_FORBIDDEN},
        {PILOT_VCENTER, "GET", "/ui/../api/vcenter/vm", ERR_FORBIDDEN},
        {PILOT_VCENTER, "POST", "/api/vcenter/vm", ERR_FORBIDDEN},
        {PILOT_VCENTER, "DELETE", "/api/session/all", ERR_FORBIDDEN},
        {PILOT_VCENTER, "GET", "/coreapi/v1/clusters", ERR_FORBIDDEN},
        {PILOT_HX, "GET", "/coreapi/v1/clusters", 0},
        {PILOT_HX, "GET", HX_REGISTRATION_PATH, 0},
        {PILOT_HX, "POST", "/aaa/v1/auth?grant_type=password", 0},
        {PILOT_HX, "POST", "/aaa/v1/revoke", 0},
        {PILOT_HX, "PUT", HX_REGISTRATION_PATH, ERR_FORBIDDEN},
        {PILOT_HX, "DELETE", HX_REGISTRATION_PATH, ERR_FORBIDDEN},
        {PILOT_HX, "POST", "/coreapi/v1/clusters", ERR_FORBIDDEN},
        {PILOT_HX, "PUT", "/coreapi/v1/clusters/1", ERR_FORBIDDEN},
        {PILOT_HX, "POST", "/aaa/v1/token?grant_type=refresh", ERR_FORBIDDEN},
        {PILOT_HX, "POST", "/aaa/v1/auth?grant_type=password&revoke_prev_tokens=true", ERR_FORBIDDEN},
        {PILOT_HX, "GET", "/coreapi/v1/../../securityservice/v1/x", ERR_FORBIDDEN},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        if (judge(rows[i].service, rows[i].method, rows[i].path, NULL) != rows[i].rc)
            fail_msg("%s %s is judged wrongly", rows[i].method, rows[i].path);
}

/* -- one login at HX ------------------------------------------------------------------------------------------------ */

static unsigned hx_sent;

static int hx_open(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)options, (void)err;
    *conn = arg;
    return 0;
}

static int hx_run(void *conn, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err) {
    (void)conn, (void)x, (void)err;
    hx_sent++;
    strbuf_adds(reply, "{\"access_token\":\"a\",\"refresh_token\":\"b\",\"token_type\":\"Bearer\"}");
    *status = 201;
    return 0;
}

static void hx_nothing(void *conn) {
    (void)conn;
}

static void hx_is_logged_in_to_once(void **state) {
    const struct http_transport below = {&hx_sent, hx_open, hx_run, hx_nothing, hx_nothing};
    static const uint8_t pin[32] = {1};
    struct pilot_guard guard;
    struct hx_client *client = NULL;
    struct hx_token first = {0}, second = {0};
    struct err err = {0};
    (void)state;
    pilot_guard_init(&guard, PILOT_HX, &below);
    const struct hx_options options = {
        .address = "hx.example.com", .trust = {.pin_sha256 = pin}, .call_timeout_ms = 1000, .transport = &guard.transport};
    assert_int_equal(hx_client_new(&options, &client, NULL), 0);
    assert_int_equal(hx_login(client, "admin", "secret", &first, NULL), 0);
    assert_int_equal(hx_login(client, "admin", "secret", &second, &err), ERR_FORBIDDEN);
    assert_int_equal(hx_refresh(client, &first, &second, NULL), ERR_FORBIDDEN);
    assert_int_equal(hx_sent, 1);
    hx_token_done(&first);
    hx_client_free(client);
    pilot_guard_done(&guard);
}

static void there_is_an_end_of_asking(void **state) {
    const struct http_transport below = {&hx_sent, hx_open, hx_run, hx_nothing, hx_nothing};
    const struct http_exchange exchange = {.method = "GET", .url = "https://hx.example.com/coreapi/v1/clusters"};
    _cleanup_strbuf_ struct strbuf reply;
    struct pilot_guard guard;
    void *conn = NULL;
    long status = 0;
    struct err err = {0};
    (void)state;
    hx_sent = 0;
    strbuf_init(&reply, 100);
    pilot_guard_init(&guard, PILOT_HX, &below);
    assert_int_equal(guard.transport.open(&guard, &(struct http_client_options){.proxy = NULL}, &conn, NULL), 0);
    for (int i = 0; i < 20000; i++) {
        strbuf_reset(&reply);
        assert_int_equal(guard.transport.run(conn, &exchange, &reply, &status, NULL), 0);
    }
    assert_int_equal(guard.transport.run(conn, &exchange, &reply, &status, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "20000 times"));
    assert_int_equal(hx_sent, 20000);
    guard.transport.close(conn);
    pilot_guard_done(&guard);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writing_calls_of_the_client_are_not_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_sent_is_noted, set_up, tear_down),
        cmocka_unit_test(every_operation_is_judged),
        cmocka_unit_test(an_operation_is_the_whole_name_in_the_body),
        cmocka_unit_test(paths_are_judged),
        cmocka_unit_test(hx_is_logged_in_to_once),
        cmocka_unit_test(there_is_an_end_of_asking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
