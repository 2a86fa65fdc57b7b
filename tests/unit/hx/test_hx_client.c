/* Unit tests of src/hx/hx_client: what is asked, what answers mean, what is said of failures, against an HX inside the test.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>

#include "unit.h"

#include "hx.h"
#include "str.h"
#include "tls_server.h"

#define UUID "9004183636114227531:5445300663653806560"
#define PATH "/coreapi/v1/clusters/9004183636114227531%3A5445300663653806560"
#define TOKEN_TEXT "{\"access_token\":\"AccessSecret\",\"refresh_token\":\"RefreshSecret\",\"token_type\":\"Bearer\"}"
#define USER "local/admin"
#define PASSWORD "Pass\"Secret\\\xc3\xbc"

static struct test_cert cert;

/* What HX says at a place. */
struct place {
    const char *at; /* "GET /path" */
    int status;
    const char *headers; /* lines with their ends */
    const char *body;
    bool is_cut, is_slow; /* more is announced than comes; then the end, or nothing */
    bool hangs_up;        /* no answer, the connection ends */
};

#define TELLS(at_, status_, body_) \
    { .at = (at_), .status = (status_), .headers = "", .body = (body_) }

static const struct place well[] = {
    TELLS("POST /aaa/v1/auth?grant_type=password ", 201, TOKEN_TEXT),
    TELLS("POST /aaa/v1/token?grant_type=refresh ", 201, TOKEN_TEXT),
    TELLS("POST /aaa/v1/revoke ", 200, ""),
    TELLS("GET /coreapi/v1/clusters ", 200, "[{\"uuid\":\"" UUID "\",\"name\":\"HX-East\"}]"),
    TELLS("GET " PATH "/about ", 200, "{\"uuid\":\"" UUID "\",\"productVersion\":\"5.5.2a-39363\"}"),
    TELLS("GET " PATH "/detail ", 200, "{\"numNodesConfigured\":4,\"numNodesOnline\":4}"),
    TELLS("GET " PATH "/health ", 200, "{\"state\":\"ONLINE\",\"resiliencyDetails\":{\"resiliencyState\":\"HEALTHY\"}}"),
    TELLS("GET " PATH "/stats ", 200, "{\"spaceStatus\":\"NORMAL\",\"totalCapacityInBytes\":20,\"usedCapacityInBytes\":5}"),
    TELLS("GET " PATH "/alarms ", 200, "[{}]"),
    TELLS("GET /coreapi/v1/hypervisor/vcenter ", 200, "{\"vCenterDatacenter\":\"DC\",\"vCenterClusterName\":\"East\"}"),
};

/* An HX, a client of it, and what came of the last call. */
struct world {
    struct tls_server *server;
    struct hx_client *client;
    struct hx_token held;
    char peer[64];
    struct err err;
    pthread_mutex_t lock; /* guards what follows */
    struct place other;   /* in the place of the one in `well` */
    char asked[65536];    /* requests so far */
};

static const struct place *find_place(const struct world *w, const char *request) {
    if (w->other.at && str_starts(request, w->other.at))
        return &w->other;
    for (size_t i = 0; i < UNIT_COUNT(well); i++)
        if (str_starts(request, well[i].at))
            return &well[i];
    return NULL;
}

/* An answer is sent without the lock, and a connection that the client has given up may be at it still when the next one asks: each has a thread, and its own. */
static const char *answer_as_hx(void *arg, const char *request) {
    static _Thread_local char answer[310000];
    static const struct place nowhere = TELLS("", 404, "{}");
    struct world *w = arg;
    LOCKED(&w->lock);
    const struct place *place = find_place(w, request);
    const size_t had = strlen(w->asked);
    (void)snprintf(w->asked + had, sizeof(w->asked) - had, "%s\n", request);
    if (!place)
        place = &nowhere;
    if (place->hangs_up)
        return "";
    (void)snprintf(answer, sizeof(answer), "HTTP/1.1 %d Word\r\n%s%sContent-Length: %zu\r\n\r\n%s", place->status, place->headers,
                   place->is_cut ? "Connection: close\r\n" : "", strlen(place->body) + (place->is_cut || place->is_slow ? 10 : 0),
                   place->body);
    return answer;
}

static void world_begin(struct world *w, long call_timeout_ms) {
    memset(w, 0, sizeof(*w));
    assert_int_equal(pthread_mutex_init(&w->lock, NULL), 0);
    w->server = tls_server_start(&(struct tls_server_options){.cert = &cert, .answer = answer_as_hx, .answer_arg = w});
    const struct hx_options options = {.address = "127.0.0.1",
                                       .port = tls_server_port(w->server),
                                       .trust = {.pin_sha256 = cert.sha256},
                                       .connect_timeout_ms = 20000,
                                       .call_timeout_ms = call_timeout_ms};
    assert_int_equal(hx_client_new(&options, &w->client, &w->err), 0);
    w->held = (struct hx_token){str_dup("AccessSecret"), str_dup("RefreshSecret"), str_dup("Bearer")};
    (void)snprintf(w->peer, sizeof(w->peer), "127.0.0.1:%u", options.port);
}

static void world_end(struct world *w) {
    hx_client_free(w->client);
    hx_token_done(&w->held);
    tls_server_stop(w->server);
    (void)pthread_mutex_destroy(&w->lock);
}

static void let(struct world *w, struct place place) {
    LOCKED(&w->lock);
    w->other = place;
    if (!w->other.headers)
        w->other.headers = "";
    if (!w->other.body)
        w->other.body = "";
    w->asked[0] = '\0';
}

static bool was_asked(struct world *w, const char *text) {
    LOCKED(&w->lock);
    return strstr(w->asked, text) != NULL;
}

/* Failed with this code and this word; says who failed and what to do, and tells no secret. */
static void assert_failed(const struct world *w, int rc, int code, const char *word) {
    const char *const texts[] = {w->err.text, w->err.remedy, w->err.detail};
    if (rc != code || !strstr(w->err.text, word))
        print_message("got %s: %s (%s)\n", err_slug(rc), w->err.text, w->err.remedy);
    assert_int_equal(rc, code);
    assert_int_equal(w->err.code, code);
    assert_non_null(strstr(w->err.text, word));
    assert_non_null(strstr(w->err.text, w->peer));
    assert_true(*w->err.remedy);
    for (size_t i = 0; i < UNIT_COUNT(texts); i++)
        assert_null(strstr(texts[i], "Secret"));
}

static int log_in(struct world *w) {
    struct hx_token token = {0};
    err_clear(&w->err);
    const int rc = hx_login(w->client, USER, PASSWORD, &token, &w->err);
    assert_true(rc ? !token.access : token.access != NULL);
    hx_token_done(&token);
    return rc;
}

static int read_all(struct world *w) {
    struct hx_facts facts = {0};
    err_clear(&w->err);
    const int rc = hx_read(w->client, &w->held, &facts, &w->err);
    assert_true(rc ? !facts.uuid : facts.uuid != NULL);
    hx_facts_done(&facts);
    return rc;
}

static void a_login_gives_a_token(void **state) {
    struct world w;
    struct hx_token token;
    (void)state;
    world_begin(&w, 30000);
    assert_int_equal(hx_login(w.client, USER, PASSWORD, &token, &w.err), 0);
    assert_string_equal(token.access, "AccessSecret");
    assert_string_equal(token.refresh, "RefreshSecret");
    assert_string_equal(token.type, "Bearer");
    hx_token_done(&token);
    assert_true(was_asked(&w, "\r\nContent-Type: application/json\r\n"));
    assert_true(was_asked(&w, "\r\n\r\n{\"username\":\"local/admin\",\"password\":\"Pass\\\"Secret\\\\\xc3\xbc\"}\n"));
    let(&w, (struct place){.at = "POST /aaa/v1/auth", .status = 200, .body = TOKEN_TEXT});
    assert_int_equal(log_in(&w), 0);
    world_end(&w);
}

static void a_refused_login_says_so(void **state) {
    static const int statuses[] = {400, 401, 403};
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 0; i < UNIT_COUNT(statuses); i++) {
        let(&w, (struct place){.at = "POST /aaa/v1/auth", .status = statuses[i], .body = "{\"password\":\"PassSecret\"}"});
        assert_failed(&w, log_in(&w), ERR_UNAUTHENTICATED, "does not accept");
    }
    assert_non_null(strstr(w.err.remedy, "120 s"));
    world_end(&w);
}

static void a_password_that_is_no_text_is_not_sent(void **state) {
    struct world w;
    struct hx_token token = {0};
    (void)state;
    world_begin(&w, 30000);
    assert_failed(&w, hx_login(w.client, USER, "Secret\xff", &token, &w.err), ERR_INVALID, "UTF-8");
    err_clear(&w.err);
    assert_failed(&w, hx_login(w.client, "a\xff", PASSWORD, &token, &w.err), ERR_INVALID, "UTF-8");
    assert_int_equal(tls_server_requests(w.server), 0);
    world_end(&w);
}

static void a_redirect_is_not_followed(void **state) {
    static const int statuses[] = {301, 302, 307, 308};
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 0; i < UNIT_COUNT(statuses); i++) {
        let(&w,
            (struct place){.at = "POST /aaa/v1/auth", .status = statuses[i], .headers = "Location: /coreapi/v1/clusters\r\n"});
        assert_failed(&w, log_in(&w), ERR_PROTOCOL, "sends us elsewhere");
        assert_false(was_asked(&w, "GET "));
    }
    let(&w, (struct place){.at = "GET /coreapi/v1/clusters ", .status = 301, .headers = "Location: https://localhost/\r\n"});
    assert_failed(&w, read_all(&w), ERR_PROTOCOL, "answers 301 and sends us elsewhere");
    world_end(&w);
}

static void a_limit_names_the_time(void **state) {
    static const struct {
        const char *headers;
        unsigned wait_s;
    } cases[] = {{"", 900},
                 {"Retry-After: 60\r\n", 60},
                 {"Retry-After: 0\r\n", 1},
                 {"Retry-After: 86400\r\n", 3600},
                 {"Retry-After: x\r\n", 900}};
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        let(&w, (struct place){.at = "POST /aaa/v1/auth", .status = 429, .headers = cases[i].headers});
        assert_failed(&w, log_in(&w), ERR_TOO_MANY, "too often");
        assert_int_equal(w.err.retry_after_s, cases[i].wait_s);
    }
    let(&w, (struct place){.at = "GET " PATH "/stats ", .status = 429, .headers = "Retry-After: 5\r\n"});
    assert_failed(&w, read_all(&w), ERR_TOO_MANY, "too often");
    assert_int_equal(w.err.retry_after_s, 5);
    world_end(&w);
}

static void answers_that_are_none_are_refused(void **state) {
    static const struct {
        int status;
        const char *body, *word;
    } cases[] = {
        {201, "", "not valid JSON"},
        {201, "<html>welcome</html>", "not valid JSON"},
        {201, "{\"access_token\":\"AccessSecret\",\"refresh_token\":\"RefreshSecret\",\"token_type\":\"Bearer\\r\\nX-Evil: 1\"}",
         "token_type"},
        {204, "", "answers 204"},
        {404, "", "answers 404"},
        {500, TOKEN_TEXT, "answers 500"},
        {503, "", "answers 503"},
    };
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        let(&w, (struct place){.at = "POST /aaa/v1/auth", .status = cases[i].status, .body = cases[i].body});
        assert_failed(&w, log_in(&w), ERR_PROTOCOL, cases[i].word);
    }
    let(&w, (struct place){.at = "GET /coreapi/v1/clusters ", .status = 201, .body = "[]"});
    assert_failed(&w, read_all(&w), ERR_PROTOCOL, "answers 201");
    world_end(&w);
}

static void slow_and_cut_answers_end(void **state) {
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    let(&w,
        (struct place){.at = "POST /aaa/v1/auth", .status = 201, .body = "{\"access_token\":\"AccessSecret\"", .is_cut = true});
    assert_failed(&w, log_in(&w), ERR_UNREACHABLE, "broke");
    world_end(&w);
    world_begin(&w, 300);
    let(&w,
        (struct place){.at = "POST /aaa/v1/auth", .status = 201, .body = "{\"access_token\":\"AccessSecret\"", .is_slow = true});
    assert_failed(&w, log_in(&w), ERR_TIMEOUT, "in time");
    world_end(&w);
}

/* Whether the first one has arrived nobody knows: a second one would be another of the five logins, or another token of the eight. */
static void what_gives_a_token_is_sent_once(void **state) {
    struct world w;
    struct hx_token token = {0};
    (void)state;
    world_begin(&w, 30000);
    assert_int_equal(read_all(&w), 0);
    let(&w, (struct place){.at = "POST /aaa/v1/auth", .hangs_up = true}); /* on the kept connection */
    assert_failed(&w, log_in(&w), ERR_UNREACHABLE, "broke");
    assert_int_equal(tls_server_requests(w.server), 8);
    assert_int_equal(read_all(&w), 0);
    let(&w, (struct place){.at = "POST /aaa/v1/token", .hangs_up = true});
    err_clear(&w.err);
    assert_failed(&w, hx_refresh(w.client, &w.held, &token, &w.err), ERR_UNREACHABLE, "broke");
    assert_int_equal(tls_server_requests(w.server), 16);
    world_end(&w);
}

static void a_token_is_refreshed(void **state) {
    static const int statuses[] = {400, 401, 403};
    struct world w;
    struct hx_token token = {0};
    (void)state;
    world_begin(&w, 30000);
    assert_int_equal(hx_refresh(w.client, &w.held, &token, &w.err), 0);
    assert_string_equal(token.access, "AccessSecret");
    hx_token_done(&token);
    assert_true(was_asked(&w,
                          "\r\n\r\n"
                          "{\"access_token\":\"AccessSecret\",\"refresh_token\":\"RefreshSecret\",\"token_type\":\"Bearer\"}\n"));
    for (size_t i = 0; i < UNIT_COUNT(statuses); i++) {
        let(&w, (struct place){.at = "POST /aaa/v1/token", .status = statuses[i]});
        err_clear(&w.err);
        assert_failed(&w, hx_refresh(w.client, &w.held, &token, &w.err), ERR_UNAUTHENTICATED, "no other token");
        assert_null(token.access);
    }
    world_end(&w);
}

static void a_token_is_given_back(void **state) {
    static const int gone[] = {400, 401};
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    assert_int_equal(hx_revoke(w.client, &w.held, &w.err), 0);
    assert_true(
        was_asked(&w, "{\"access_token\":\"AccessSecret\",\"refresh_token\":\"RefreshSecret\",\"token_type\":\"Bearer\"}\n"));
    for (size_t i = 0; i < UNIT_COUNT(gone); i++) {
        let(&w, (struct place){.at = "POST /aaa/v1/revoke", .status = gone[i]});
        assert_int_equal(hx_revoke(w.client, &w.held, &w.err), 0);
    }
    let(&w, (struct place){.at = "POST /aaa/v1/revoke", .status = 403});
    assert_failed(&w, hx_revoke(w.client, &w.held, &w.err), ERR_FORBIDDEN, "/aaa/v1/revoke");
    world_end(&w);
}

static void where_kaas_is_is_told_and_taken_back(void **state) {
    static const struct {
        int status, rc;
    } cases[] = {{200, 0},
                 {201, 0},
                 {204, 0},
                 {404, ERR_NOT_FOUND},
                 {405, ERR_NOT_FOUND},
                 {501, ERR_NOT_FOUND},
                 {401, ERR_UNAUTHENTICATED},
                 {403, ERR_FORBIDDEN},
                 {409, ERR_PROTOCOL},
                 {302, ERR_PROTOCOL},
                 {500, ERR_PROTOCOL},
                 {429, ERR_TOO_MANY}};
    struct strbuf body;
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    strbuf_init(&body, 100);
    strbuf_addf(&body, "{\"name\":\"Harmony KaaS\"}");
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        let(&w, (struct place){.at = "PUT /kaas/v1/registration ", .status = cases[i].status});
        err_clear(&w.err);
        assert_int_equal(hx_put_registration(w.client, &w.held, &body, &w.err), cases[i].rc);
        assert_true(was_asked(&w, "\r\n\r\n{\"name\":\"Harmony KaaS\"}\n"));
        assert_true(was_asked(&w, "\r\nAuthorization: Bearer AccessSecret\r\n"));
        let(&w, (struct place){.at = "DELETE /kaas/v1/registration?a=b&c=d ", .status = cases[i].status});
        err_clear(&w.err);
        assert_int_equal(hx_delete_registration(w.client, &w.held, "a=b&c=d", &w.err), cases[i].rc);
        assert_true(!cases[i].rc || (strstr(w.err.text, w.peer) && w.err.remedy[0]) || cases[i].rc == ERR_NOT_FOUND);
        assert_null(strstr(w.err.text, "AccessSecret"));
    }
    strbuf_done(&body);
    world_end(&w);
}

static void a_cluster_is_read(void **state) {
    struct world w;
    struct hx_facts f;
    (void)state;
    world_begin(&w, 30000);
    assert_int_equal(hx_read(w.client, &w.held, &f, &w.err), 0);
    assert_string_equal(f.uuid, UUID);
    assert_string_equal(f.name, "HX-East");
    assert_string_equal(f.version, "5.5.2a-39363");
    assert_string_equal(f.state, "ONLINE");
    assert_string_equal(f.resiliency, "HEALTHY");
    assert_string_equal(f.space, "NORMAL");
    assert_string_equal(f.datacenter, "DC");
    assert_string_equal(f.vsphere_cluster, "East");
    assert_true(f.capacity_bytes == 20 && f.used_bytes == 5 && f.nodes_configured == 4 && f.nodes_online == 4 && f.alarms == 1);
    assert_null(f.messages);
    hx_facts_done(&f);
    assert_int_equal(tls_server_requests(w.server), 7);
    assert_int_equal(tls_server_connections(w.server), 1);
    assert_true(was_asked(&w, "\r\nAuthorization: Bearer AccessSecret\r\n"));
    assert_false(was_asked(&w, "RefreshSecret"));
    world_end(&w);
}

/* Each reading but the list may be unknown to this release of HX. */
static void what_hx_does_not_have_is_unset(void **state) {
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 4; i < UNIT_COUNT(well); i++) {
        struct hx_facts f;
        let(&w, (struct place){.at = well[i].at, .status = 404});
        assert_int_equal(hx_read(w.client, &w.held, &f, &w.err), 0);
        assert_true((i == 4) == !f.version && (i == 5) == (f.nodes_online == -1) && (i == 6) == !f.state);
        assert_true((i == 7) == (f.capacity_bytes == -1) && (i == 8) == (f.alarms == -1) && (i == 9) == !f.datacenter);
        hx_facts_done(&f);
    }
    let(&w, (struct place){.at = well[3].at, .status = 404});
    assert_failed(&w, read_all(&w), ERR_PROTOCOL, "answers 404 to /coreapi/v1/clusters");
    world_end(&w);
}

/* One that takes long is not what HX is like; two are. */
static void one_slow_reading_is_unset(void **state) {
    struct world w;
    struct hx_facts f;
    (void)state;
    world_begin(&w, 2000);
    let(&w, (struct place){.at = "GET " PATH "/health ", .status = 200, .body = "{", .is_slow = true});
    assert_int_equal(hx_read(w.client, &w.held, &f, &w.err), 0);
    assert_null(f.state);
    assert_string_equal(f.version, "5.5.2a-39363");
    assert_string_equal(f.datacenter, "DC");
    hx_facts_done(&f);
    let(&w, (struct place){.at = "GET " PATH "/", .status = 200, .body = "{", .is_slow = true});
    assert_failed(&w, read_all(&w), ERR_TIMEOUT, "in time");
    let(&w, (struct place){.at = "GET /coreapi/v1/clusters ", .status = 200, .body = "[", .is_slow = true});
    assert_failed(&w, read_all(&w), ERR_TIMEOUT, "in time");
    world_end(&w);
}

static void a_reading_that_is_refused_ends_it(void **state) {
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 3; i < UNIT_COUNT(well); i++) {
        let(&w, (struct place){.at = well[i].at, .status = 401});
        assert_failed(&w, read_all(&w), ERR_UNAUTHENTICATED, "token");
        let(&w, (struct place){.at = well[i].at, .status = 403});
        assert_failed(&w, read_all(&w), ERR_FORBIDDEN, "refuses /coreapi/v1/");
        let(&w, (struct place){.at = well[i].at, .status = 200, .body = "7"});
        assert_failed(&w, read_all(&w), ERR_PROTOCOL, "cannot be used");
    }
    world_end(&w);
}

static void an_hx_that_lies_is_found_out(void **state) {
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    for (size_t i = 4; i < 7; i++) {
        let(&w, (struct place){.at = well[i].at, .status = 200, .body = "{\"uuid\":\"1:2\"}"});
        assert_failed(&w, read_all(&w), ERR_PROTOCOL, "1:2");
        assert_non_null(strstr(w.err.text, UUID));
    }
    world_end(&w);
}

/* A stored token that somebody has changed cannot become a header of its own. */
static void a_token_with_a_line_end_is_not_sent(void **state) {
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    free(w.held.type);
    w.held.type = str_dup("Bearer\r\nX-Evil: 1");
    assert_int_equal(read_all(&w), ERR_INTERNAL);
    assert_int_equal(tls_server_requests(w.server), 0);
    world_end(&w);
}

/* Alarms may take more: they are many when somebody must be able to read. */
static void an_answer_has_a_greatest_size(void **state) {
    static char body[300000];
    struct world w;
    (void)state;
    memset(body, ' ', sizeof(body) - 1);
    world_begin(&w, 30000);
    let(&w, (struct place){.at = "GET /coreapi/v1/clusters ", .status = 200, .body = body});
    assert_failed(&w, read_all(&w), ERR_TOO_LARGE, "262144 bytes");
    let(&w, (struct place){.at = "POST /aaa/v1/auth", .status = 201, .body = body});
    assert_failed(&w, log_in(&w), ERR_TOO_LARGE, "262144 bytes");
    memcpy(body, "[]", 2);
    let(&w, (struct place){.at = "GET " PATH "/alarms ", .status = 200, .body = body});
    assert_int_equal(read_all(&w), 0);
    world_end(&w);
}

static void addresses_are_checked(void **state) {
    static const char *const bad[] = {
        NULL, "", "https://hx.example.com", "hx.example.com/x", "hx.example.com:443", "user@hx", "hx?x", "h x", "[::1]"};
    static const char *const good[] = {"hx.example.com", "10.0.0.5", "fd00::5"};
    struct hx_client *client = NULL;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct err err = {0};
        assert_int_equal(
            hx_client_new(&(struct hx_options){.address = bad[i], .trust = {.pin_sha256 = cert.sha256}}, &client, &err),
            ERR_CONFIG);
        assert_true(*err.remedy);
        assert_null(client);
    }
    for (size_t i = 0; i < UNIT_COUNT(good); i++) {
        assert_int_equal(
            hx_client_new(&(struct hx_options){.address = good[i], .trust = {.pin_sha256 = cert.sha256}}, &client, NULL), 0);
        hx_client_free(client);
        client = NULL;
    }
    assert_int_equal(
        hx_client_new(&(struct hx_options){.address = "hx", .port = 65536, .trust = {.pin_sha256 = cert.sha256}}, &client, NULL),
        ERR_CONFIG);
    assert_int_equal(hx_client_new(&(struct hx_options){.address = "hx", .trust = {.ca_pem = "none"}}, &client, NULL),
                     ERR_CONFIG);
    hx_client_free(NULL);
}

static void a_client_that_is_canceled_asks_no_more(void **state) {
    struct world w;
    (void)state;
    world_begin(&w, 30000);
    hx_client_cancel(w.client);
    assert_int_equal(log_in(&w), ERR_CANCELED);
    assert_int_equal(tls_server_requests(w.server), 0);
    world_end(&w);
}

static int set_up(void **state) {
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "hx", .san = "IP:127.0.0.1"}, &cert);
    return http_client_global_init(NULL);
}

static int tear_down(void **state) {
    (void)state;
    test_cert_done(&cert);
    http_client_global_done();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_login_gives_a_token),
        cmocka_unit_test(a_refused_login_says_so),
        cmocka_unit_test(a_password_that_is_no_text_is_not_sent),
        cmocka_unit_test(a_redirect_is_not_followed),
        cmocka_unit_test(a_limit_names_the_time),
        cmocka_unit_test(answers_that_are_none_are_refused),
        cmocka_unit_test(slow_and_cut_answers_end),
        cmocka_unit_test(what_gives_a_token_is_sent_once),
        cmocka_unit_test(a_token_is_refreshed),
        cmocka_unit_test(a_token_is_given_back),
        cmocka_unit_test(where_kaas_is_is_told_and_taken_back),
        cmocka_unit_test(a_cluster_is_read),
        cmocka_unit_test(what_hx_does_not_have_is_unset),
        cmocka_unit_test(one_slow_reading_is_unset),
        cmocka_unit_test(a_reading_that_is_refused_ends_it),
        cmocka_unit_test(an_hx_that_lies_is_found_out),
        cmocka_unit_test(a_token_with_a_line_end_is_not_sent),
        cmocka_unit_test(an_answer_has_a_greatest_size),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(a_client_that_is_canceled_asks_no_more),
    };
    return cmocka_run_group_tests_name("hx_client", tests, set_up, tear_down);
}
