/* Unit tests of src/k8s/k8s_watch: lists, changes, and every end of a transfer, against a server inside the test that answers by a script. A real API server is met in
 * tests/kube.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cleanup.h"
#include "clock.h"
#include "k8s_watch.h"
#include "str.h"
#include "strbuf.h"
#include "tls_server.h"

static struct test_cert ca, good;
static struct http_streams *streams;

/* -- a server by script -------------------------------------------------------------------------------------------- */

/* What comes next: a part of the request's line, and the answer to it. */
struct step {
    const char *asked;
    const char *answer;
    int64_t takes_ms; /* by the clock, which is moved before the answer */
};

#define PROTOBUF_REFUSED "HTTP/1.1 406 Not Acceptable\r\nContent-Length: 2\r\n\r\n{}"
#define BODY(text) "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" text
#define OPEN(text) "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n" text
#define STATUS(code, reason, message)                                                                                          \
    "HTTP/1.1 " code " X\r\nRetry-After: 7\r\nConnection: close\r\n\r\n{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":" \
    "\"Failure\",\"code\":" code ",\"reason\":\"" reason "\",\"message\":\"" message "\"}"
#define NODE(name, version)                                                                          \
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name \
    "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define ADDED(name, version) EVENT("ADDED", NODE(name, version))
#define BOOKMARK(version) \
    EVENT("BOOKMARK", "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define ALL_TOLD(version)                                                                                     \
    EVENT("BOOKMARK", "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version \
                      "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")
#define PAGE(version, more, items)                                                                                              \
    "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"" version "\"" more "},\"items\":[" items \
    "]}"

#define FIRST_LIST "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=600&sendInitialEvents=true"
#define FIRST_PAGE "/api/v1/nodes?limit=250 "
#define SINCE(version) "&timeoutSeconds=600&resourceVersion=" version " "

struct script {
    const struct step *steps;
    size_t count;
    pthread_mutex_t lock; /* guards all below */
    size_t at;
    char wrong[512]; /* the first request that was not the next one; "": none */
    char last[2048]; /* the newest request */
};

static const char *play(void *arg, const char *request) {
    struct script *script = arg;
    LOCKED(&script->lock);
    (void)snprintf(script->last, sizeof(script->last), "%s", request);
    if (script->at == script->count) { /* silence after the script */
        return OPEN("");
    }
    const struct step *step = &script->steps[script->at++];
    const char *asked = strstr(request, step->asked);
    if ((!asked || asked > strstr(request, "\r\n")) && !script->wrong[0])
        (void)snprintf(script->wrong, sizeof(script->wrong), "step %zu: %.200s", script->at, request);
    if (step->takes_ms)
        clock_advance_ms(step->takes_ms);
    return step->answer;
}

static bool has_played(struct script *script) {
    LOCKED(&script->lock);
    return script->at == script->count;
}

/* -- a user -------------------------------------------------------------------------------------------------------- */

/* Keeps what is told as words: "begin +n1 +n2 complete -n1". */
struct told {
    pthread_mutex_t lock;
    struct strbuf words;
    struct err end;
    unsigned ends;
};

static void tell(struct told *told, const char *sign, const char *word) {
    LOCKED(&told->lock);
    strbuf_addf(&told->words, "%s%s%s", told->words.len ? " " : "", sign, word);
}

static void on_begin(void *arg) {
    tell(arg, "", "begin");
}

static int on_node(void *arg, struct kube_node *node, struct err *err) {
    (void)err;
    tell(arg, "+", node->name);
    return 0;
}

static void on_gone(void *arg, const struct kube_node *node) {
    tell(arg, "-", node->name);
}

static void on_complete(void *arg) {
    tell(arg, "", "complete");
}

static void on_resume(void *arg) {
    tell(arg, "", "resume");
}

static void on_end(void *arg, const struct err *err) {
    struct told *told = arg;
    LOCKED(&told->lock);
    told->end = *err;
    told->ends++;
}

static unsigned ends_of(struct told *told) {
    LOCKED(&told->lock);
    return told->ends;
}

static bool has_told(struct told *told, const char *words) {
    LOCKED(&told->lock);
    return str_eq(told->words.data, words);
}

/* -- a world ------------------------------------------------------------------------------------------------------- */

struct world {
    struct script script;
    struct told told;
    struct tls_server *server;
    struct k8s_watch *watch;
};

static void world_begin(struct world *world, const struct step *steps, size_t count) {
    struct k8s_watch_user user = {&world->told, on_begin, on_node, on_gone, on_complete, on_resume, on_end};
    memset(world, 0, sizeof(*world));
    world->script = (struct script){.steps = steps, .count = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    world->told = (struct told){.lock = PTHREAD_MUTEX_INITIALIZER};
    strbuf_init(&world->told.words, 100000);
    world->server = tls_server_start(&(struct tls_server_options){.cert = &good, .answer = play, .answer_arg = &world->script});
    _cleanup_free_ char *url = str_format("https://localhost:%u/", tls_server_port(world->server));
    struct k8s_endpoint endpoint = {.url = url, .trust.ca_pem = ca.cert_pem, .connect_timeout_ms = 20000};
    assert_int_equal(k8s_watch_new(streams, &endpoint, &user, &world->watch, NULL), 0);
    assert_int_equal(k8s_watch_start(world->watch, "first-token", NULL), 0);
}

static void world_end(struct world *world) {
    k8s_watch_free(world->watch);
    tls_server_stop(world->server);
    if (world->script.wrong[0])
        fail_msg("not what the script expects: %s", world->script.wrong);
    strbuf_done(&world->told.words);
}

static void assert_told(struct world *world, const char *words) {
    UNIT_WAIT_FOR(has_played(&world->script) && has_told(&world->told, words));
}

static void assert_over(struct world *world, int code, const char *text) {
    UNIT_WAIT_FOR(ends_of(&world->told) == 1);
    if (world->told.end.code != code || !strstr(world->told.end.text, text))
        print_message("got %s: %s\n", err_slug(world->told.end.code), world->told.end.text);
    assert_int_equal(world->told.end.code, code);
    assert_non_null(strstr(world->told.end.text, text));
    assert_true(world->told.end.remedy[0] != '\0');
}

/* -- tests --------------------------------------------------------------------------------------------------------- */

static void test_list_and_changes_in_one_stream(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST,
         BODY(ADDED("n1", "11") ADDED("n2", "12") ALL_TOLD("20") EVENT("MODIFIED", NODE("n2", "21"))
                  EVENT("DELETED", NODE("n1", "22"))),
         6000},
        {SINCE("22"), BODY(BOOKMARK("30")), 6000}, /* the server's end is no error */
        {SINCE("30"), OPEN(ADDED("n3", "31")), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_told(&world, "begin +n1 +n2 complete +n2 -n1 resume resume +n3");
    assert_non_null(strstr(world.script.last, "Authorization: Bearer first-token\r\n"));
    assert_int_equal(ends_of(&world.told), 0);
    world_end(&world);
}

static void test_pages(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, STATUS("422", "Invalid", "sendInitialEvents is forbidden for watch"), 0},
        {FIRST_PAGE, BODY(PAGE("40", ",\"continue\":\"abc\",\"remainingItemCount\":1", NODE("n1", "11"))), 0},
        {"/api/v1/nodes?limit=250&continue=abc ", BODY(PAGE("40", "", NODE("n2", "12"))), 0},
        {SINCE("40"), OPEN(EVENT("MODIFIED", NODE("n1", "41"))), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_told(&world, "begin +n1 +n2 complete resume +n1");
    world_end(&world);
}

/* A page that expires between two pages, then versions that the server has forgotten, by status and by event. */
static void test_expired(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, STATUS("400", "BadRequest", "unknown parameter"), 0},
        {FIRST_PAGE, BODY(PAGE("40", ",\"continue\":\"abc\"", NODE("n1", "11"))), 0},
        {"continue=abc ", STATUS("410", "Expired", "The provided continue parameter is too old"), 0},
        {FIRST_PAGE, BODY(PAGE("50", "", NODE("n2", "12"))), 0},
        {SINCE("50"), STATUS("410", "Expired", "too old resource version"), 0},
        {FIRST_PAGE, BODY(PAGE("60", "", NODE("n3", "13"))), 0},
        {SINCE("60"),
         BODY(EVENT("ERROR",
                    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}")),
         0},
        {FIRST_PAGE, BODY(PAGE("70", "", NODE("n4", "14"))), 0},
        {SINCE("70"), OPEN(""), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_told(&world, "begin +n1 begin +n2 complete resume begin +n3 complete resume begin +n4 complete resume");
    world_end(&world);
}

static void test_expired_for_ever(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, STATUS("410", "Expired", "too old"), 0},
        {FIRST_LIST, STATUS("410", "Expired", "too old"), 0},
        {FIRST_LIST, STATUS("410", "Expired", "too old"), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_over(&world, ERR_UPSTREAM, "answers 410 to a watch of nodes: too old");
    world_end(&world);
}

/* After a refusal the next start goes on where it ended, with another token. */
static void test_refused_and_started_again(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, BODY(ADDED("n1", "11") ALL_TOLD("20")), 6000},
        {SINCE("20"), STATUS("401", "Unauthorized", "Unauthorized"), 0},
        {SINCE("20"), OPEN(ADDED("n2", "21")), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_over(&world, ERR_UNAUTHENTICATED, "answers 401 to a watch of nodes: Unauthorized");
    assert_int_equal(k8s_watch_start(world.watch, "second-token", NULL), 0);
    assert_told(&world, "begin +n1 complete resume resume +n2");
    assert_non_null(strstr(world.script.last, "Authorization: Bearer second-token\r\n"));
    world_end(&world);
}

static void test_asked_to_wait(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST,
         "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 45\r\n\r\nToo many requests, please try again later.\r\n\r\n",
         0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_over(&world, ERR_TOO_MANY, "answers 429");
    assert_int_equal(world.told.end.retry_after_s, 7);
    world_end(&world);
}

/* Half-open connections and servers without bookmarks: silence is asked about anew, and is no error. */
static void test_silence_is_no_end(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, OPEN(ADDED("n1", "11") ALL_TOLD("20")), 0},
        {SINCE("20"), OPEN(ADDED("n2", "21")), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    UNIT_WAIT_FOR(has_told(&world.told, "begin +n1 complete"));
    clock_advance_ms(K8S_WATCH_IDLE_MS + 1000);
    assert_told(&world, "begin +n1 complete resume +n2");
    assert_int_equal(ends_of(&world.told), 0);
    world_end(&world);
}

static void test_a_server_that_ends_each_watch(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, BODY(ADDED("n1", "11") ALL_TOLD("20")), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_over(&world, ERR_UPSTREAM, "ends each watch at once");
    world_end(&world);
}

static void test_bad_answers(void **state) {
    (void)state;
    static const struct {
        struct step first, second;
        int code;
        const char *text;
    } rows[] = {
        {{FIRST_LIST, STATUS("403", "Forbidden", "nodes is forbidden"), 0},
         {NULL, NULL, 0},
         ERR_UPSTREAM_DENIED,
         "nodes is forbidden"},
        {{FIRST_LIST, STATUS("500", "InternalError", "etcdserver: no leader"), 0},
         {NULL, NULL, 0},
         ERR_UPSTREAM,
         "etcdserver: no leader"},
        {{FIRST_LIST, "HTTP/1.1 302 Found\r\nLocation: https://localhost/\r\nContent-Length: 0\r\n\r\n", 0},
         {NULL, NULL, 0},
         ERR_PROTOCOL,
         "302"},
        {{FIRST_LIST, PROTOBUF_REFUSED, 0}, {FIRST_LIST, BODY("{\"type\":\"ADDED\",\"object\":17}\n"), 0}, ERR_PROTOCOL, ""},
        {{FIRST_LIST, PROTOBUF_REFUSED, 0}, {FIRST_LIST, BODY(ADDED("n1", "1&x=2")), 0}, ERR_PROTOCOL, "resourceVersion"},
        {{FIRST_LIST, PROTOBUF_REFUSED, 0}, {FIRST_LIST, BODY("<html>"), 0}, ERR_PROTOCOL, ""},
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct step steps[] = {rows[i].first, rows[i].second};
        struct world world;
        world_begin(&world, steps, rows[i].second.asked ? 2 : 1);
        assert_over(&world, rows[i].code, rows[i].text);
        world_end(&world);
    }
}

/* What cannot be read as protobuf is asked for as JSON. */
static void test_no_protobuf_after_all(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, BODY("\1\2\3\4\5\6\7\7"), 0},
        {FIRST_LIST, OPEN(ADDED("n1", "11") ALL_TOLD("20")), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_told(&world, "begin +n1 complete");
    world_end(&world);
}

static void test_a_token_that_leads_nowhere(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, STATUS("400", "BadRequest", "unknown parameter"), 0},
        {FIRST_PAGE, BODY(PAGE("40", ",\"continue\":\"abc\"", NODE("n1", "11"))), 0},
        {"continue=abc ", BODY(PAGE("40", ",\"continue\":\"abc\"", NODE("n1", "11"))), 0},
    };
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_over(&world, ERR_PROTOCOL, "continue token");
    world_end(&world);
}

/* Each page is empty and promises another one. */
static void test_pages_without_end(void **state) {
    (void)state;
    enum { PAGES = 80, BEGIN = 2 };
    static struct step steps[BEGIN + PAGES] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, STATUS("400", "BadRequest", "unknown parameter"), 0},
    };
    for (size_t i = BEGIN; i < UNIT_COUNT(steps); i++)
        steps[i] =
            (struct step){"/api/v1/nodes?limit=250",
                          i % 2 ? BODY(PAGE("40", ",\"continue\":\"a\"", "")) : BODY(PAGE("40", ",\"continue\":\"b\"", "")), 0};
    struct world world;
    world_begin(&world, steps, UNIT_COUNT(steps));
    assert_over(&world, ERR_TOO_LARGE, "does not end");
    world_end(&world);
}

/* Stopped at any moment of a list that ends and begins anew: nothing is told afterwards, and a start works. */
static void test_stopped_at_any_moment(void **state) {
    (void)state;
    static const struct step steps[] = {
        {FIRST_LIST, PROTOBUF_REFUSED, 0},
        {FIRST_LIST, BODY(ADDED("n1", "11") ALL_TOLD("20")), 6000},
        {SINCE("20"), BODY(BOOKMARK("21")), 6000},
        {SINCE("21"), BODY(BOOKMARK("22")), 6000},
        {SINCE("22"), OPEN(""), 0},
    };
    for (unsigned i = 0; i <= UNIT_COUNT(steps); i++) {
        struct world world;
        world_begin(&world, steps, UNIT_COUNT(steps));
        UNIT_WAIT_FOR(tls_server_requests(world.server) >= i);
        k8s_watch_stop(world.watch);
        _cleanup_free_ char *words = str_dup(world.told.words.data);
        unsigned requests = tls_server_requests(world.server);
        tls_server_wait_ended(world.server, tls_server_connections(world.server));
        assert_string_equal(world.told.words.data, words);
        assert_true(tls_server_requests(world.server) <= requests + 1); /* one may have been on its way */
        assert_int_equal(ends_of(&world.told), 0);
        world.script.wrong[0] = '\0';
        world_end(&world);
    }
}

static int setup(void **state) {
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "Test CA", .is_ca = true}, &ca);
    test_cert_make(&(struct test_cert_request){.common_name = "good", .san = "DNS:localhost", .issuer = &ca}, &good);
    clock_fake(1000000, 1000000);
    return http_client_global_init(NULL) || http_streams_new(&streams, NULL);
}

static int teardown(void **state) {
    (void)state;
    http_streams_free(streams);
    clock_unfake();
    test_cert_done(&ca);
    test_cert_done(&good);
    http_client_global_done();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_and_changes_in_one_stream),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_expired_for_ever),
        cmocka_unit_test(test_refused_and_started_again),
        cmocka_unit_test(test_asked_to_wait),
        cmocka_unit_test(test_silence_is_no_end),
        cmocka_unit_test(test_a_server_that_ends_each_watch),
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_no_protobuf_after_all),
        cmocka_unit_test(test_a_token_that_leads_nowhere),
        cmocka_unit_test(test_pages_without_end),
        cmocka_unit_test(test_stopped_at_any_moment),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
