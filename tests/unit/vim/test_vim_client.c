/* The client: connecting, sessions of our own, contexts shared by threads, breaker, cancelling.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "blocked.h"

#include <pthread.h>

#include "clock.h"
#include "limits.h"
#include "log.h"
#include "metric.h"
#include "str.h"
#include "vim.h"
#include "vim_fake.h"
#include "vim_session.h"

#define NOT_AUTHENTICATED                                                                                                \
    "<NotAuthenticatedFault xmlns=\"urn:vim25\" xsi:type=\"NotAuthenticated\"><object type=\"Folder\">group-d1</object>" \
    "<privilegeId>System.View</privilegeId></NotAuthenticatedFault>"
#define INVALID_LOGIN "<InvalidLoginFault xmlns=\"urn:vim25\" xsi:type=\"InvalidLogin\"/>"

static int set_up(void **state) {
    *state = fake_new();
    return 0;
}

static int tear_down(void **state) {
    fake_free(*state);
    return 0;
}

/* ---- connecting ---- */

static void connect_tells_who_it_is(void **state) {
    struct vim_client *client = fake_client(*state);
    struct vim_about about = {0};
    struct err err = {0};
    assert_int_equal(vim_connect(client, &about, &err), 0);
    assert_string_equal(about.instance_uuid, "6f1c9a2e-3b57-4d0a-9c11-0a1b2c3d4e5f");
    assert_string_equal(about.api_version, "8.0.3.0");
    assert_string_equal(about.version, "8.0.3");
    assert_string_equal(about.build, "24022515");
    assert_string_equal(fake_last_action(*state), "SOAPAction: \"urn:vim25/8.0.3.0\"");
    assert_string_equal(fake_last_cookie(*state, "RetrieveServiceContent"), "");
    assert_string_equal(fake_last_options(*state)->user_agent, "test");
    vim_about_done(&about);
    vim_client_free(client);
}

static void connect_once_for_all_calls(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_int_equal(fake_count(*state, "RetrieveServiceContent"), 1);
    assert_int_equal(fake_count(*state, "versions"), 1);
    vim_client_free(client);
}

#define VERSION_MISMATCH                                                                  \
    "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><e:Fault>" \
    "<faultcode>VersionMismatchFaultCode</faultcode><faultstring>Unsupported version</faultstring></e:Fault></e:Body></e:Envelope>"

static void exchanged_server_is_negotiated_with_anew(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct err err = {0};
    fake_set_version(*state, "7.0.3.0");
    fake_raw(*state, "CurrentTime", 500, VERSION_MISMATCH, 0);
    assert_int_equal(vim_keepalive(client, &err), ERR_UPSTREAM);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_string_equal(fake_last_action(*state), "SOAPAction: \"urn:vim25/7.0.3.0\"");
    assert_int_equal(fake_count(*state, "versions"), 2);
    vim_client_free(client);
}

static void expect_connect_error(struct fake *fake, int code, const char *text) {
    struct vim_client *client = fake_client(fake);
    struct err err = {0};
    assert_int_equal(vim_connect(client, NULL, &err), code);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" not in \"%s\"", text, err.text);
    assert_int_equal(err.code, code);
    vim_client_free(client);
}

static void connect_refuses_what_is_no_vcenter(void **state) {
    struct fake *f = *state;
    fake_raw(f, "versions", 404, "<html>nothing here</html>", 0);
    expect_connect_error(f, ERR_PROTOCOL, "HTTP 404");
    fake_raw(f, "versions", 200, "<!DOCTYPE html><html>hello</html>", 0);
    expect_connect_error(f, ERR_PROTOCOL, "");
    fake_raw(f, "versions", 503, "", 1);
    expect_connect_error(f, ERR_UNREACHABLE, "503");
    fake_raw(f, "versions", 502, "<html>Bad Gateway</html>", 0);
    expect_connect_error(f, ERR_UNREACHABLE, "502");
    fake_error(f, "versions", ERR_TLS);
    expect_connect_error(f, ERR_TLS, "");
    fake_answer(f, "RetrieveServiceContent",
                "<returnval><about><fullName>VMware ESXi 8.0</fullName><apiType>HostAgent</apiType></about></returnval>");
    expect_connect_error(f, ERR_UPSTREAM, "VMware ESXi 8.0");
    fake_answer(f, "RetrieveServiceContent", "");
    expect_connect_error(f, ERR_PROTOCOL, "lacks");
    fake_answer(f, "RetrieveServiceContent", "<returnval><about><apiType>VirtualCenter</apiType></about></returnval>");
    expect_connect_error(f, ERR_PROTOCOL, "instanceUuid");
    fake_answer(
        f, "RetrieveServiceContent",
        "<returnval><rootFolder>g</rootFolder><about><apiType>VirtualCenter</apiType><instanceUuid>x</instanceUuid></about></returnval>");
    expect_connect_error(f, ERR_PROTOCOL, "lacks");
}

static void bad_answers_are_told_precisely(void **state) {
    struct fake *f = *state;
    fake_raw(f, "RetrieveServiceContent", 200, "<html><body>Log in</body></html>", 0);
    expect_connect_error(f, ERR_PROTOCOL, "web page");
    fake_raw(f, "RetrieveServiceContent", 500, "<HTML>Server Error</HTML>", 0);
    expect_connect_error(f, ERR_PROTOCOL, "web page");
    fake_raw(f, "RetrieveServiceContent", 503, "<html>no healthy upstream</html>", 0);
    expect_connect_error(f, ERR_UNREACHABLE, "503");
    fake_raw(f, "RetrieveServiceContent", 504, "<html>Gateway Time-out</html>", 0);
    expect_connect_error(f, ERR_UNREACHABLE, "504");
    fake_raw(f, "RetrieveServiceContent", 302, "", 1);
    expect_connect_error(f, ERR_PROTOCOL, "HTTP 302");
    fake_raw(f, "RetrieveServiceContent", 200, "", 1);
    expect_connect_error(f, ERR_PROTOCOL, "instead of SOAP");
    fake_raw(f, "RetrieveServiceContent", 200, "\x01\x02 garbage", 0);
    expect_connect_error(f, ERR_PROTOCOL, "something else");
    fake_error(f, "RetrieveServiceContent", ERR_TOO_LARGE);
    expect_connect_error(f, ERR_PROTOCOL, "");
    fake_error(f, "RetrieveServiceContent", ERR_TIMEOUT);
    expect_connect_error(f, ERR_TIMEOUT, "");
}

static void options_are_checked(void **state) {
    static const uint8_t pin[32] = {0};
    struct vim_client *client = NULL;
    struct err err = {0};
    (void)state;
    assert_int_equal(vim_client_new(&(struct vim_options){.port = 443, .pin_sha256 = pin}, &client, &err), ERR_CONFIG);
    assert_int_equal(vim_client_new(&(struct vim_options){.host = "vc", .port = 0, .pin_sha256 = pin}, &client, NULL),
                     ERR_CONFIG);
    assert_int_equal(vim_client_new(&(struct vim_options){.host = "vc", .port = 443}, &client, NULL), ERR_CONFIG);
    assert_int_equal(
        vim_client_new(&(struct vim_options){.host = "vc", .port = 443, .pin_sha256 = pin, .ca_pem = "x"}, &client, NULL),
        ERR_CONFIG);
    assert_int_equal(vim_client_new(&(struct vim_options){.host = "vc/x", .port = 443, .pin_sha256 = pin}, &client, NULL),
                     ERR_CONFIG);
    assert_null(client);
    vim_client_free(NULL);
}

/* ---- our session ---- */

static void login_starts_without_cookie_and_keeps_the_raw_value(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct vim_user_session own = {0};
    struct err err = {0};
    assert_string_equal(fake_last_cookie(*state, "Login"), "");
    assert_non_null(strstr(fake_last(*state, "Login"), "<password>pa&lt;ss&gt;&amp;w\xc3\xb6rd</password>"));
    assert_int_equal(vim_keepalive(client, &err), 0);
    assert_string_equal(fake_last_cookie(*state, "CurrentTime"),
                        "Cookie: vmware_soap_session=\"0123456789abcdef0123456789abcdef01234567\"");
    assert_int_equal(vim_get_own_session(client, &own, &err), 0);
    assert_string_equal(own.key, "52aaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee");
    assert_string_equal(own.user_name, "VSPHERE.LOCAL\\kaas");
    assert_false(own.is_extension);
    vim_user_session_done(&own);
    assert_int_equal(vim_logout(client, &err), 0);
    assert_non_null(strstr(fake_last_cookie(*state, "Logout"), "0123456789abcdef"));
    assert_false(fake_has_session(client));
    assert_int_equal(vim_get_own_session(client, &own, &err), ERR_NOT_FOUND);
    vim_client_free(client);
}

static void login_errors(void **state) {
    struct vim_client *client = fake_client(*state);
    struct err err = {0};
    fake_fault(*state, "Login", INVALID_LOGIN, "Cannot complete login due to an incorrect user name or password.");
    assert_int_equal(vim_login_password(client, "a", "b", &err), ERR_CREDENTIALS);
    assert_non_null(strstr(err.detail, "InvalidLogin"));
    assert_int_equal(err.cause, ERR_CAUSE_LOGIN);
    err_clear(&err);
    fake_fault(*state, "Login", "<PasswordExpiredFault xmlns=\"urn:vim25\" xsi:type=\"PasswordExpired\"/>", "");
    assert_int_equal(vim_login_password(client, "a", "b", &err), ERR_CREDENTIALS);
    assert_int_equal(err.cause, ERR_CAUSE_PASSWORD_ENDED);
    err_clear(&err);
    fake_fault(*state, "Login", INVALID_LOGIN, "User account is locked. Please contact your administrator.");
    assert_int_equal(vim_login_password(client, "a", "b", &err), ERR_CREDENTIALS);
    assert_int_equal(err.cause, ERR_CAUSE_LOCKED);
    err_clear(&err);
    fake_set_cookie(*state, NULL);
    assert_int_equal(vim_login_password(client, "a", "b", &err), ERR_PROTOCOL);
    assert_non_null(strstr(err.text, "cookie"));
    fake_set_cookie(*state, "x");
    err_clear(&err);
    fake_answer(*state, "Login", "<returnval><key>52</key></returnval>");
    assert_int_equal(vim_login_password(client, "a", "b", &err), ERR_PROTOCOL);
    err_clear(&err);
    assert_int_equal(vim_login_password(client, "a\x01", "b", &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "user name"));
    err_clear(&err);
    assert_int_equal(vim_login_password(client, "a", "b\xff", &err), ERR_UNPROCESSABLE);
    err_clear(&err);
    assert_int_equal(vim_login_password(client, "a", NULL, &err), ERR_UNPROCESSABLE);
    assert_int_equal(fake_count(*state, "Login"), 5); /* what may not be sent was not */
    vim_client_free(client);
}

static void lost_session_is_renewed_once(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct err err = {0};
    fake_fault(*state, "CurrentTime", NOT_AUTHENTICATED, "The session is not authenticated.");
    assert_int_equal(vim_keepalive(client, &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(fake_count(*state, "Login"), 2);
    assert_int_equal(fake_count(*state, "CurrentTime"), 2);
    assert_string_equal(fake_last_cookie(*state, "Login"), "");
    /* a server that always says so is not asked for ever */
    for (int i = 0; i < 3; i++)
        fake_fault(*state, "CurrentTime", NOT_AUTHENTICATED, "");
    assert_int_equal(vim_keepalive(client, &err), ERR_CREDENTIALS);
    assert_int_equal(fake_count(*state, "CurrentTime"), 5);
    vim_client_free(client);
}

static void refused_login_is_not_repeated_for_a_while(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct err err = {0};
    clock_fake(1000, 1000);
    fake_fault(*state, "CurrentTime", NOT_AUTHENTICATED, "");
    fake_fault(*state, "Login", INVALID_LOGIN, "");
    assert_int_equal(vim_keepalive(client, &err), ERR_UPSTREAM_DENIED); /* our trouble, not the caller's credentials */
    assert_non_null(strstr(err.text, "own login"));
    err_clear(&err);
    assert_int_equal(vim_keepalive(client, &err), ERR_UPSTREAM_DENIED);
    assert_int_equal(fake_count(*state, "Login"), 2);
    clock_advance_ms(31000);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_int_equal(fake_count(*state, "Login"), 3);
    clock_unfake();
    vim_client_free(client);
}

/* An administrator has cured what was refused, and another login than our own proved it. */
static void an_accepted_login_ends_the_pause_after_a_refused_one(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    clock_fake(1000, 1000);
    fake_fault(*state, "CurrentTime", NOT_AUTHENTICATED, "");
    fake_fault(*state, "Login", INVALID_LOGIN, "");
    assert_int_equal(vim_keepalive(client, NULL), ERR_UPSTREAM_DENIED);
    assert_int_equal(vim_login_password(client, "a", "b", NULL), 0);
    fake_fault(*state, "CurrentTime", NOT_AUTHENTICATED, "");
    assert_int_equal(vim_keepalive(client, NULL), 0);
    clock_unfake();
    vim_client_free(client);
}

static int log_in_by_name(struct vim_client *client, void *arg, struct err *err) {
    (void)arg;
    return vim_login_password(client, "another", "b", err);
}

static void a_session_is_replaced_even_after_a_refused_login(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct err err = {0};
    clock_fake(1000, 1000);
    assert_int_equal(vim_replace_session(client, log_in_by_name, NULL, NULL), 0);
    assert_non_null(strstr(fake_last(*state, "Login"), ">another<"));
    assert_int_equal(fake_count(*state, "Logout"), 1);
    fake_fault(*state, "Login", INVALID_LOGIN, "");
    assert_int_equal(vim_replace_session(client, NULL, NULL, &err), ERR_UPSTREAM_DENIED);
    assert_false(fake_has_session(client));                                  /* the old one ends either way */
    assert_int_equal(vim_ensure_session(client, NULL), ERR_UPSTREAM_DENIED); /* not asked again so soon */
    assert_int_equal(fake_count(*state, "Login"), 3);
    assert_int_equal(vim_replace_session(client, NULL, NULL, NULL), 0);
    fake_fault(*state, "Login", INVALID_LOGIN, "");
    assert_int_equal(vim_replace_session(client, log_in_by_name, NULL, NULL), ERR_CREDENTIALS);
    clock_unfake();
    vim_client_free(client);
    client = fake_client(*state);
    assert_int_equal(vim_replace_session(client, NULL, NULL, NULL), ERR_NOT_REGISTERED);
    vim_client_free(client);
}

static void an_exchanged_session_ends_once_the_new_one_stands(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    clock_fake(1000, 1000);
    assert_int_equal(vim_exchange_session(client, NULL), 0);
    assert_int_equal(fake_count(*state, "Login"), 2);
    assert_int_equal(fake_count(*state, "Logout"), 1);
    fake_fault(*state, "Login", INVALID_LOGIN, "");
    assert_int_equal(vim_exchange_session(client, NULL), ERR_UPSTREAM_DENIED);
    assert_true(fake_has_session(client)); /* the one that there is goes on */
    assert_int_equal(fake_count(*state, "Logout"), 1);
    assert_int_equal(vim_exchange_session(client, NULL), 0); /* a refusal of a moment ago does not count */
    assert_int_equal(fake_count(*state, "Logout"), 2);
    clock_unfake();
    vim_client_free(client);
    client = fake_client(*state);
    assert_int_equal(vim_exchange_session(client, NULL), ERR_NOT_REGISTERED);
    vim_client_free(client);
}

static void no_session_and_no_way_to_get_one(void **state) {
    struct vim_client *client = fake_client(*state);
    struct err err = {0};
    assert_int_equal(vim_keepalive(client, &err), ERR_NOT_REGISTERED);
    assert_int_equal(vim_logout(client, &err), 0);
    vim_client_free(client);
}

static void second_login_ends_the_first_session(void **state) {
    struct vim_client *client = fake_client(*state);
    fake_set_cookie(*state, "first-first-first");
    assert_int_equal(vim_login_password(client, "a", "b", NULL), 0);
    fake_set_cookie(*state, "second-second-second");
    assert_int_equal(vim_login_password(client, "a", "b", NULL), 0);
    assert_non_null(strstr(fake_last_cookie(*state, "Logout"), "first-first-first"));
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_non_null(strstr(fake_last_cookie(*state, "CurrentTime"), "second"));
    vim_client_free(client);
}

static void extension_login_goes_its_own_way(void **state) {
    struct vim_client *client = fake_client(*state);
    struct vim_extension_login login = {
        .strategy = VIM_STRATEGY_TUNNEL, .extension_key = "com.cisco.kaas", .cert_pem = "C", .key_pem = "K"};
    struct err err = {0};
    assert_int_equal(vim_login_extension(client, &login, &err), 0);
    assert_non_null(strstr(fake_last(*state, "LoginExtensionByCertificate"), ">com.cisco.kaas<"));
    assert_true(fake_has_session(client));
    fake_fault(*state, "LoginExtensionByCertificate",
               "<NoClientCertificateFault xmlns=\"urn:vim25\" xsi:type=\"NoClientCertificate\"/>", "");
    assert_int_equal(vim_probe_extension_login(client, &login, &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.remedy, "tunnel"));
    fake_fault(*state, "LoginExtensionByCertificate", INVALID_LOGIN, "");
    assert_int_equal(vim_probe_extension_login(client, &login, NULL), 0); /* the certificate came through */
    assert_true(fake_has_session(client));
    err_clear(&err);
    fake_fault(*state, "LoginExtensionByCertificate", INVALID_LOGIN, "");
    fake_fault(*state, "LoginExtensionByCertificate", INVALID_LOGIN, "");
    assert_int_equal(vim_login_extension(client, &login, &err), ERR_CREDENTIALS);
    assert_non_null(strstr(err.remedy, "com.cisco.kaas"));
    vim_client_free(client);
}

static void extension_login_is_tried_twice(void **state) {
    struct vim_client *client = fake_client(*state);
    struct vim_extension_login login = {
        .strategy = VIM_STRATEGY_TUNNEL, .extension_key = "com.cisco.kaas", .cert_pem = "C", .key_pem = "K"};
    fake_fault(*state, "LoginExtensionByCertificate", INVALID_LOGIN, "");
    assert_int_equal(vim_login_extension(client, &login, NULL), 0);
    assert_int_equal(fake_count(*state, "LoginExtensionByCertificate"), 2);
    fake_error(*state, "LoginExtensionByCertificate", ERR_TIMEOUT);
    assert_int_equal(vim_login_extension(client, &login, NULL), 0);
    fake_error(*state, "LoginExtensionByCertificate", ERR_TIMEOUT);
    assert_int_equal(vim_probe_extension_login(client, &login, NULL), 0);
    fake_error(*state, "LoginExtensionByCertificate", ERR_TIMEOUT);
    fake_error(*state, "LoginExtensionByCertificate", ERR_TIMEOUT);
    assert_int_equal(vim_probe_extension_login(client, &login, NULL), ERR_TIMEOUT);
    fake_error(*state, "LoginExtensionByCertificate", ERR_UNREACHABLE);
    assert_int_equal(vim_login_extension(client, &login, NULL), ERR_UNREACHABLE);
    vim_client_free(client);
}

static void strategy_with_port_zero_is_off(void **state) {
    static const uint8_t pin[32] = {0};
    struct vim_extension_login login = {.strategy = VIM_STRATEGY_DIRECT, .extension_key = "k", .cert_pem = "C", .key_pem = "K"};
    struct vim_client *client = NULL;
    struct err err = {0};
    (void)state;
    assert_int_equal(vim_client_new(&(struct vim_options){.host = "vc", .port = 443, .pin_sha256 = pin}, &client, NULL), 0);
    assert_int_equal(vim_login_extension(client, &login, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "certificate_direct"));
    login.strategy = VIM_STRATEGY_TUNNEL;
    err_clear(&err);
    assert_int_equal(vim_login_extension(client, &login, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "certificate_tunnel"));
    vim_client_free(client);
}

static void operation_id_travels(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    log_set_request_id("req-17");
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_non_null(strstr(fake_last(*state, "CurrentTime"), "<operationID xmlns=\"urn:vim25\">req-17</operationID>"));
    log_set_request_id(NULL);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_null(strstr(fake_last(*state, "CurrentTime"), "operationID"));
    vim_client_free(client);
}

/* The value of a series as /metrics has it; 0 if it is not there. */
static long count_of(const char *series) {
    struct metric_page page;
    struct strbuf text;
    const char *at;
    long count = 0;
    metric_page_init(&page, 1U << 20);
    strbuf_init(&text, 1U << 20);
    metric_write(&page, &text);
    at = strstr(text.data, series);
    if (at)
        count = strtol(at + strlen(series), NULL, 10);
    strbuf_done(&text);
    metric_page_done(&page);
    return count;
}

static void calls_are_counted(void **state) {
    static const char calls[] = "kaas_vcenter_call_duration_seconds_count{operation=\"CurrentTime\"}",
                      timeouts[] = "kaas_vcenter_call_failures_total{reason=\"upstream_timeout\"}",
                      unreachable[] = "kaas_vcenter_call_failures_total{reason=\"upstream_unreachable\"}";
    struct vim_client *client = fake_client_logged_in(*state);
    const long before[] = {count_of(calls), count_of(timeouts), count_of(unreachable)};
    assert_int_equal(vim_keepalive(client, NULL), 0);
    fake_error(*state, "CurrentTime", ERR_TIMEOUT);
    assert_int_equal(vim_keepalive(client, NULL), ERR_TIMEOUT);
    fake_raw(*state, "CurrentTime", 503, "<html/>", 0);
    assert_int_equal(vim_keepalive(client, NULL), ERR_UNREACHABLE);
    assert_int_equal(count_of(calls), before[0] + 3);
    assert_int_equal(count_of(timeouts), before[1] + 1);
    assert_int_equal(count_of(unreachable), before[2] + 1);
    vim_client_free(client);
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    struct vim_client *client;
    int ret;
};

static void *work(void *arg) {
    struct worker *w = arg;
    int ret = vim_keepalive(w->client, NULL);
    __atomic_store_n(&w->ret, ret, __ATOMIC_SEQ_CST);
    return NULL;
}

static void start_workers(struct worker *w, size_t n, struct vim_client *client) {
    for (size_t i = 0; i < n; i++) {
        w[i].client = client;
        assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
    }
}

static unsigned join_workers(struct worker *w, size_t n, int code) {
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        count += w[i].ret == code;
    }
    return count;
}

static void many_threads_log_in_again_once(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct worker w[KAAS_VIM_CONTEXTS_COUNT];
    fake_expire_cookie(*state, "0123456789abcdef");
    fake_set_cookie(*state, "fresh-fresh-fresh-fresh");
    fake_close_gate(*state);
    start_workers(w, UNIT_COUNT(w), client);
    fake_wait_at_gate(*state, UNIT_COUNT(w));
    fake_open_gate(*state);
    assert_int_equal(join_workers(w, UNIT_COUNT(w), 0), UNIT_COUNT(w));
    assert_int_equal(fake_count(*state, "Login"), 2); /* the first, and one for all */
    assert_int_equal(fake_count(*state, "CurrentTime"), 2 * UNIT_COUNT(w));
    vim_client_free(client);
}

/* The login of a link is under way when its session is ended: what that login brings must end, too. */
struct meeting {
    pthread_t thread;
    struct blocked other;
    struct vim_client *client;
    struct vim_user_session own;
    bool is_found;
    int ret;
};

static void *log_out(void *arg) {
    struct meeting *meeting = arg;
    blocked_begin(&meeting->other);
    (void)vim_logout(meeting->client, NULL);
    blocked_end(&meeting->other);
    return NULL;
}

static int log_in_while_another_logs_out(struct vim_client *client, void *arg, struct err *err) {
    struct meeting *meeting = arg;
    assert_int_equal(pthread_create(&meeting->thread, NULL, log_out, meeting), 0);
    BLOCKED_AWAIT(&meeting->other);
    return vim_login_password(client, "a", "b", err);
}

static void logout_waits_for_a_login_under_way(void **state) {
    struct meeting meeting = {.client = fake_client(*state)};
    vim_set_login(meeting.client, log_in_while_another_logs_out, &meeting);
    assert_int_equal(vim_ensure_session(meeting.client, NULL), 0);
    (void)pthread_join(meeting.thread, NULL);
    assert_false(fake_has_session(meeting.client));
    assert_int_equal(fake_count(*state, "Logout"), 1);
    vim_client_free(meeting.client);
}

/* The session is replaced, and who waited on the old one needs another: he gets the new one, and does not make a second. */
static void *work_on(void *arg) {
    struct meeting *meeting = arg;
    blocked_begin(&meeting->other);
    meeting->ret = vim_keepalive(meeting->client, NULL);
    blocked_end(&meeting->other);
    return NULL;
}

static int log_in_while_another_needs_a_session(struct vim_client *client, void *arg, struct err *err) {
    struct meeting *meeting = arg;
    assert_int_equal(pthread_create(&meeting->thread, NULL, work_on, meeting), 0);
    BLOCKED_AWAIT(&meeting->other);
    return vim_login_password(client, "a", "b", err);
}

static void who_needs_a_session_while_it_is_replaced_gets_that_one(void **state) {
    struct meeting meeting = {.client = fake_client_logged_in(*state), .ret = -1};
    assert_int_equal(vim_replace_session(meeting.client, log_in_while_another_needs_a_session, &meeting, NULL), 0);
    (void)pthread_join(meeting.thread, NULL);
    assert_int_equal(meeting.ret, 0);
    assert_int_equal(fake_count(*state, "Login"), 2);
    assert_int_equal(fake_count(*state, "Logout"), 1);
    vim_client_free(meeting.client);
}

/* What the vCenter shows of a login that has not been answered yet is our session. */
static void *look_at_session(void *arg) {
    struct meeting *meeting = arg;
    blocked_begin(&meeting->other);
    meeting->is_found = !vim_get_settled_session(meeting->client, &meeting->own, NULL);
    blocked_end(&meeting->other);
    return NULL;
}

static int log_in_while_another_looks(struct vim_client *client, void *arg, struct err *err) {
    struct meeting *meeting = arg;
    assert_int_equal(pthread_create(&meeting->thread, NULL, look_at_session, meeting), 0);
    BLOCKED_AWAIT(&meeting->other);
    return vim_login_password(client, "a", "b", err);
}

static void the_settled_session_is_that_of_the_login_under_way(void **state) {
    struct meeting meeting = {.client = fake_client(*state)};
    vim_set_login(meeting.client, log_in_while_another_looks, &meeting);
    assert_int_equal(vim_ensure_session(meeting.client, NULL), 0);
    (void)pthread_join(meeting.thread, NULL);
    assert_true(meeting.is_found);
    vim_user_session_done(&meeting.own);
    vim_client_free(meeting.client);
}

static void no_more_calls_at_once_than_contexts(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct worker w[12];
    fake_close_gate(*state);
    start_workers(w, UNIT_COUNT(w), client);
    fake_wait_at_gate(*state, KAAS_VIM_CONTEXTS_COUNT);
    assert_int_equal(fake_count(*state, "CurrentTime"), KAAS_VIM_CONTEXTS_COUNT);
    fake_open_gate(*state);
    assert_int_equal(join_workers(w, UNIT_COUNT(w), 0), UNIT_COUNT(w));
    assert_int_equal(fake_count(*state, "CurrentTime"), UNIT_COUNT(w));
    vim_client_free(client);
}

static unsigned count_busy(struct worker *w, size_t n) {
    unsigned count = 0;
    for (size_t i = 0; i < n; i++)
        count += __atomic_load_n(&w[i].ret, __ATOMIC_SEQ_CST) == ERR_BUSY;
    return count;
}

static void queue_has_an_end(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    static struct worker w[KAAS_VIM_CONTEXTS_COUNT + KAAS_VIM_QUEUE_COUNT_MAX + 8];
    fake_close_gate(*state);
    start_workers(w, UNIT_COUNT(w), client);
    UNIT_WAIT_FOR(count_busy(w, UNIT_COUNT(w)) == 8); /* the refused ones return while the gate is closed */
    fake_open_gate(*state);
    assert_int_equal(join_workers(w, UNIT_COUNT(w), ERR_BUSY), 8);
    vim_client_free(client);
}

static void cancel_ends_running_and_waiting_calls(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct worker w[KAAS_VIM_CONTEXTS_COUNT + 3];
    fake_close_gate(*state);
    start_workers(w, UNIT_COUNT(w), client);
    fake_wait_at_gate(*state, KAAS_VIM_CONTEXTS_COUNT);
    vim_client_cancel(client);
    assert_int_equal(join_workers(w, UNIT_COUNT(w), ERR_CANCELED), UNIT_COUNT(w));
    fake_open_gate(*state);
    assert_int_equal(vim_keepalive(client, NULL), ERR_CANCELED);
    vim_client_free(client);
}

static void timeouts_open_the_breaker(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct err err = {0};
    clock_fake(1000, 1000);
    for (int i = 0; i < 3; i++) {
        fake_error(*state, "CurrentTime", ERR_TIMEOUT);
        assert_int_equal(vim_keepalive(client, NULL), ERR_TIMEOUT);
    }
    assert_int_equal(vim_keepalive(client, &err), ERR_UNREACHABLE);
    assert_true(err.retry_after_s > 0);
    assert_int_equal(fake_count(*state, "CurrentTime"), 3);
    clock_advance_ms(2001);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_int_equal(vim_keepalive(client, NULL), 0);
    clock_unfake();
    vim_client_free(client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(connect_tells_who_it_is),
        TEST(connect_once_for_all_calls),
        TEST(exchanged_server_is_negotiated_with_anew),
        TEST(connect_refuses_what_is_no_vcenter),
        TEST(bad_answers_are_told_precisely),
        TEST(options_are_checked),
        TEST(login_starts_without_cookie_and_keeps_the_raw_value),
        TEST(login_errors),
        TEST(lost_session_is_renewed_once),
        TEST(refused_login_is_not_repeated_for_a_while),
        TEST(an_accepted_login_ends_the_pause_after_a_refused_one),
        TEST(a_session_is_replaced_even_after_a_refused_login),
        TEST(an_exchanged_session_ends_once_the_new_one_stands),
        TEST(no_session_and_no_way_to_get_one),
        TEST(second_login_ends_the_first_session),
        TEST(extension_login_goes_its_own_way),
        TEST(extension_login_is_tried_twice),
        TEST(strategy_with_port_zero_is_off),
        TEST(operation_id_travels),
        TEST(calls_are_counted),
        TEST(many_threads_log_in_again_once),
        TEST(logout_waits_for_a_login_under_way),
        TEST(who_needs_a_session_while_it_is_replaced_gets_that_one),
        TEST(the_settled_session_is_that_of_the_login_under_way),
        TEST(no_more_calls_at_once_than_contexts),
        TEST(queue_has_an_end),
        TEST(cancel_ends_running_and_waiting_calls),
        TEST(timeouts_open_the_breaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
