/* Answers: problems against the contract, entity tags, conditions, pages of small lists.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "inventory.h"
#include "openapi_text.h"
#include "problem.h"
#include "platform_links.h"
#include "query.h"
#include "reply.h"
#include "str.h"

/* -- a request and an answer made of plain values ---------------------------------------------------------------------------- */

struct http_request {
    const char *limit, *cursor, *if_match, *if_none_match;
    struct api_call *call;
};

struct http_response {
    int status;
    char *body;
    char etag[64], retry_after[16], authenticate[64], stale[64], type[64];
};

static bool is_database_away, is_vcenter_away, sees_clusters;

const char *http_request_query(const struct http_request *req, const char *name) {
    return str_eq(name, "limit") ? req->limit : str_eq(name, "cursor") ? req->cursor : NULL;
}

const char *http_request_header(const struct http_request *req, const char *name) {
    return str_eq(name, "If-Match") ? req->if_match : str_eq(name, "If-None-Match") ? req->if_none_match : NULL;
}

const char *http_request_id(const struct http_request *req) {
    (void)req;
    return "request-1";
}

const char *http_request_path(const struct http_request *req) {
    (void)req;
    return "/v2/x";
}

void *http_request_data(const struct http_request *req) {
    return req->call;
}

void http_response_set_status(struct http_response *resp, int status) {
    resp->status = status;
}

void http_response_set_header(struct http_response *resp, const char *name, const char *value) {
    static const struct {
        const char *name;
        size_t at, n;
    } kept[] = {
        {"ETag", offsetof(struct http_response, etag), 64},
        {"Retry-After", offsetof(struct http_response, retry_after), 16},
        {"WWW-Authenticate", offsetof(struct http_response, authenticate), 64},
        {"KaaS-Stale", offsetof(struct http_response, stale), 64},
    };
    for (size_t i = 0; i < UNIT_COUNT(kept); i++)
        if (str_eq(kept[i].name, name))
            (void)snprintf((char *)resp + kept[i].at, kept[i].n, "%s", value);
}

struct http_shared {
    char *text;
    unsigned refs;
};

struct http_shared *http_shared_new(struct strbuf *body) {
    struct http_shared *shared = calloc(1, sizeof(*shared));
    assert_non_null(shared);
    shared->text = strbuf_steal(body);
    shared->refs = 1;
    return shared;
}

struct http_shared *http_shared_ref(struct http_shared *shared) {
    shared->refs++;
    return shared;
}

void http_shared_unref(struct http_shared *shared) {
    if (!shared || --shared->refs)
        return;
    free(shared->text);
    free(shared);
}

const char *http_shared_data(const struct http_shared *shared, size_t *n) {
    *n = strlen(shared->text);
    return shared->text;
}

void http_response_set_shared(struct http_response *resp, const char *type, struct http_shared *shared) {
    (void)snprintf(resp->type, sizeof(resp->type), "%s", type ? type : "");
    free(resp->body);
    resp->body = type ? str_dup(shared->text) : NULL;
}

/* No client here takes it compressed. */
bool http_request_accepts_gzip(const struct http_request *req) {
    (void)req;
    return false;
}

struct http_shared *http_shared_gzip(const struct http_shared *shared) {
    (void)shared;
    return NULL;
}

struct http_shared *http_shared_keep_gzip(struct http_shared *shared, struct http_shared *gzip) {
    (void)shared;
    return gzip;
}

int http_request_go_slow_by(struct http_request *req, http_submit_fn *submit, void *arg, http_handler_fn *fn) {
    (void)req;
    (void)submit;
    (void)arg;
    (void)fn;
    fail_msg("nothing is compressed in a worker");
    return 0;
}

const char *http_request_client(const struct http_request *req) {
    (void)req;
    return "192.0.2.7";
}

struct api_call *api_call_of(struct http_request *req) {
    return req->call;
}

void api_set_part(struct api_part *part, void *data, void (*free)(void *data)) {
    *part = (struct api_part){data, free};
}

void http_response_set_text(struct http_response *resp, const char *type, struct strbuf *body) {
    (void)snprintf(resp->type, sizeof(resp->type), "%s", type);
    free(resp->body);
    resp->body = strbuf_steal(body);
}

int64_t inventory_as_of_ms(struct inventory *directory) {
    (void)directory;
    return 1700000000000;
}

bool inventory_is_stale(struct inventory *directory) {
    (void)directory;
    return is_database_away;
}

bool platform_is_away(struct platform *platform, const char *vcenter_id) {
    (void)platform;
    (void)vcenter_id;
    return is_vcenter_away;
}

bool inventory_sees_clusters_on(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer,
                                const char *vcenter_id) {
    (void)snapshot;
    (void)viewer;
    return sees_clusters && str_eq(vcenter_id, "b");
}

static struct http_request request;
static struct http_response response;
static struct api api;
static struct api_call call;

static void forget_response(void) {
    free(response.body);
    memset(&response, 0, sizeof(response));
}

static int set_up(void **state) {
    (void)state;
    memset(&request, 0, sizeof(request));
    memset(&call, 0, sizeof(call));
    is_database_away = is_vcenter_away = sees_clusters = false;
    call.api = &api;
    call.req = &request;
    request.call = &call;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    json_decref(call.problem);
    forget_response();
    return 0;
}

static json_t *body(void) {
    json_t *json = NULL;
    assert_non_null(response.body);
    assert_int_equal(json_parse(response.body, strlen(response.body), &json, NULL), 0);
    return json;
}

/* -- problems ------------------------------------------------------------------------------------------------------------------ */

static const int codes[] = {
#define ERR(symbol, slug, status, text) ERR_##symbol,
#include "err_codes.def"
#undef ERR
};

/* Whatever happens inside, only words of the contract leave, each with the status that the contract gives it. */
static void every_code_becomes_a_word_of_the_contract(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(codes); i++) {
        struct err err = {0};
        char line[80], row[80];
        (void)err_set(&err, codes[i], "said inside");
        problem_write(&request, &err, &response);
        _cleanup_json_ json_t *json = body();
        (void)snprintf(line, sizeof(line), "\n        - %s\n", json_get_string(json, "code"));
        (void)snprintf(row, sizeof(row), "| `%s` | %d |", json_get_string(json, "code"), response.status);
        if (!strstr(openapi_text, line) || !strstr(openapi_text, row))
            fail_msg("%s leaves as %s with %d", err_slug(codes[i]), json_get_string(json, "code"), response.status);
        assert_string_equal(response.type, "application/problem+json");
        assert_int_equal(json_get_int(json, "status", 0), response.status);
        assert_string_not_equal(json_get_string(json, "title"), "Error");
        assert_string_equal(json_get_string(json, "request_id"), "request-1");
        forget_response();
    }
}

static void inner_faults_keep_their_texts_inside(void **state) {
    static const int inner[] = {ERR_INTERNAL, ERR_NOMEM, ERR_IO, ERR_CONFIG, -9999};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(inner); i++) {
        struct err err = {0};
        (void)err_set(&err, inner[i], "/etc/kaas/master.key is 0644");
        (void)err_remedy(&err, "chmod");
        problem_write(&request, &err, &response);
        assert_int_equal(response.status, 500);
        assert_null(strstr(response.body, "master.key"));
        assert_null(strstr(response.body, "chmod"));
        forget_response();
    }
}

static void headers_fit_the_status(void **state) {
    struct err err = {0};
    (void)state;
    (void)err_set(&err, ERR_TOO_MANY, "wait");
    err.retry_after_s = 7;
    problem_write(&request, &err, &response);
    assert_string_equal(response.retry_after, "7");
    forget_response();
    err = (struct err){.code = ERR_BUSY};
    problem_write(&request, &err, &response);
    assert_string_equal(response.retry_after, "2");
    forget_response();
    err = (struct err){.code = ERR_TOKEN_EXPIRED};
    problem_write(&request, &err, &response);
    assert_string_equal(response.authenticate, "Bearer error=\"invalid_token\"");
    forget_response();
    err = (struct err){.code = ERR_UNAUTHENTICATED};
    problem_write(&request, &err, &response);
    assert_string_equal(response.authenticate, "Bearer");
}

static void extra_members_and_cut_texts(void **state) {
    struct err err = {0};
    (void)state;
    problem_add(&call, "parameter", json_string("limit"));
    (void)err_set(&err, ERR_INVALID, "%0509d\xC3\xA4", 0); /* cut in the middle of the character */
    (void)err_remedy(&err, "do this");
    problem_write(&request, &err, &response);
    _cleanup_json_ json_t *json = body();
    assert_string_equal(json_get_string(json, "parameter"), "limit");
    assert_string_equal(json_get_string(json, "remedy"), "do this");
    assert_non_null(json_get_string(json, "detail"));
}

/* -- entity tags -------------------------------------------------------------------------------------------------------------- */

static int tagged(const char *held) {
    struct strbuf text;
    int status;
    strbuf_init(&text, 100);
    strbuf_adds(&text, "{}");
    request.if_none_match = held;
    assert_int_equal(reply_tagged(&call, &response, "W/\"00000000000000aa\"", "application/json", &text), 0);
    strbuf_done(&text);
    status = response.status;
    assert_int_equal(response.body == NULL, status == 304);
    assert_string_equal(response.etag, "W/\"00000000000000aa\"");
    forget_response();
    return status;
}

static void a_held_answer_is_not_sent_again(void **state) {
    (void)state;
    assert_int_equal(tagged("W/\"00000000000000aa\""), 304);
    assert_int_equal(tagged("\"00000000000000aa\""), 304); /* weak comparison, RFC 9110 13.1.2 */
    assert_int_equal(tagged("\"x\", W/\"00000000000000aa\""), 304);
    assert_int_equal(tagged("*"), 304);
    assert_int_equal(tagged("W/\"00000000000000ab\""), 0);
    assert_int_equal(tagged("00000000000000aa"), 0);
    assert_int_equal(tagged(NULL), 0);
}

static void if_match_compares_strongly(void **state) {
    static const struct {
        const char *wanted, *there;
        int rc;
        bool is_given;
    } rows[] = {
        {NULL, "\"a\"", 0, false},
        {"\"a\"", "\"a\"", 0, true},
        {"*", "\"a\"", 0, false},
        {"\"b\", \"a\"", "\"a\"", 0, true},
        {"W/\"a\"", "\"a\"", ERR_PRECONDITION, true},
        {"\"a\"", "W/\"a\"", ERR_PRECONDITION, true},
        {"\"b\"", "\"a\"", ERR_PRECONDITION, true},
        {"a", "\"a\"", ERR_PRECONDITION, true},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        bool is_given = false;
        request.if_match = rows[i].wanted;
        assert_int_equal(reply_check_if_match(&call, rows[i].there, &is_given, NULL), rows[i].rc);
        assert_int_equal(is_given, rows[i].is_given);
    }
}

static void an_object_and_its_tag(void **state) {
    char etag[REPLY_ETAG_BYTES];
    (void)state;
    assert_int_equal(reply_etag_of(json_pack("{ss}", "a", "b"), etag, NULL), 0);
    assert_int_equal(reply_object(&call, &response, 200, json_pack("{ss}", "a", "b"), NULL), 0);
    assert_string_equal(response.etag, etag);
    assert_true(str_starts(etag, "\""));
    forget_response();
    assert_int_equal(reply_object(&call, &response, 201, json_pack("{ss}", "a", "c"), NULL), 0);
    assert_int_equal(response.status, 201);
    assert_string_not_equal(response.etag, etag);
    assert_int_equal(reply_object(&call, &response, 200, NULL, NULL), ERR_NOMEM);
}

/* -- pages of small lists ------------------------------------------------------------------------------------------------------ */

static const char *const names[] = {"a", "b", "b c", "d", "\xF0\x9F\x90\xA7"};

static const char *key(const void *arg, size_t i, char *buffer, size_t n) {
    (void)arg;
    (void)snprintf(buffer, n, "%s\x01%zu", names[i], i);
    return buffer;
}

static json_t *item(const void *arg, size_t i) {
    (void)arg;
    return json_string(names[i]);
}

static int list(void) {
    const struct reply_list all = {.count = UNIT_COUNT(names), .key = key, .item = item};
    return reply_list(&call, &response, &all, NULL);
}

static void small_lists_page_without_gaps(void **state) {
    static const char *const limits[] = {"1", "2", "4", "5", "500", NULL};
    (void)state;
    for (size_t l = 0; l < UNIT_COUNT(limits); l++) {
        _cleanup_free_ char *cursor = NULL;
        size_t seen = 0;
        request.limit = limits[l];
        do {
            request.cursor = cursor;
            assert_int_equal(list(), 0);
            _cleanup_json_ json_t *page = body();
            const json_t *items = json_object_get(page, "items");
            for (size_t i = 0; i < json_array_size(items); i++)
                assert_string_equal(json_string_value(json_array_get(items, i)), names[seen++]);
            free(cursor);
            cursor = str_dup(json_get_string(page, "next_cursor"));
            forget_response();
        } while (cursor);
        assert_int_equal(seen, UNIT_COUNT(names));
    }
}

static void bad_limits_and_cursors_are_refused(void **state) {
    static const char *const limits[] = {"0", "501", "-1", "+1", "1 ", "", "ten", "1e2", "99999999999999999999"};
    static const char *const cursors[] = {"", "!", "AA==", "AAAA" /* NUL bytes */};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(limits); i++) {
        request.limit = limits[i];
        assert_int_equal(list(), ERR_INVALID);
        assert_string_equal(json_get_string(call.problem, "parameter"), "limit");
    }
    request.limit = NULL;
    for (size_t i = 0; i < UNIT_COUNT(cursors); i++) {
        request.cursor = cursors[i];
        assert_int_equal(list(), ERR_INVALID);
        assert_string_equal(json_get_string(call.problem, "parameter"), "cursor");
    }
    char *huge = malloc(5000);
    assert_non_null(huge);
    memset(huge, 'Y', 4999);
    huge[4999] = 0;
    request.cursor = huge;
    assert_int_equal(list(), ERR_INVALID);
    free(huge);
}

static void staleness_is_told(void **state) {
    (void)state;
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "");
    is_database_away = true;
    call.rights.is_less_than_due = true;
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "database, rights");
    call.rights.count = 1;
    is_vcenter_away = true;
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "database, vcenter, rights");
}

/* Known to no vCenter: an administrator, somebody with a grant. */
static void a_vcenter_under_ones_clusters_is_told(void **state) {
    static const struct api_endpoint list = {.flags = API_RIGHTS}, users = {.flags = 0};
    struct vcenter vcenters[] = {{.id = (char[]){"a"}}, {.id = (char[]){"b"}}};
    struct inventory_platform platform = {.vcenters = vcenters, .vcenters_count = UNIT_COUNT(vcenters)};
    struct inventory_snapshot snapshot = {.platform = &platform};
    (void)state;
    call.endpoint = &list;
    call.snapshot = &snapshot;
    is_vcenter_away = true;
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "");
    sees_clusters = true;
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "vcenter");
    forget_response();
    call.endpoint = &users; /* nothing of that comes from a vCenter */
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "");
    is_vcenter_away = false;
    call.endpoint = &list;
    reply_freshness(&call, &response);
    assert_string_equal(response.stale, "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_code_becomes_a_word_of_the_contract),
        TEST(inner_faults_keep_their_texts_inside),
        TEST(headers_fit_the_status),
        TEST(extra_members_and_cut_texts),
        TEST(a_held_answer_is_not_sent_again),
        TEST(if_match_compares_strongly),
        TEST(an_object_and_its_tag),
        TEST(small_lists_page_without_gaps),
        TEST(bad_limits_and_cursors_are_refused),
        TEST(staleness_is_told),
        TEST(a_vcenter_under_ones_clusters_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
