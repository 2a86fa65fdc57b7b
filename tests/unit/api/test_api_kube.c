/* Connecting Kubernetes clusters by the interface: what is taken, what is answered, what a failed step tells, who sees which health.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Requests and answers are plain values in place of those of src/httpd, and the connections a double in place of src/kubernetes. */
#include "unit.h"

#include "hx_query.h"
#include "inventory.h"
#include "kubernetes.h"
#include "limits.h"
#include "member_json.h"
#include "reply.h"
#include "str.h"

#define ID "33333333-3333-4333-8333-333333333333"
#define SECRET "t0ken-of-an-administrator"
#define REASONS "[{\"reason\":\"cordoned\",\"severity\":\"info\",\"text\":\"node n1\",\"since\":null,\"remedy\":\"r\"}]"

/* -- a request and an answer ------------------------------------------------------------------------------------------------- */

struct http_request {
    const char *if_match, *show, *forget;
};

struct http_response {
    int status;
    char *body;
    char etag[64], location[80];
};

const char *http_request_param(const struct http_request *req, const char *name) {
    (void)req;
    return str_eq(name, "id") ? ID : NULL;
}

const char *http_request_query(const struct http_request *req, const char *name) {
    return str_eq(name, "show") ? req->show : str_eq(name, "forget") ? req->forget : NULL;
}

const char *http_request_header(const struct http_request *req, const char *name) {
    return str_eq(name, "If-Match") ? req->if_match : NULL;
}

const char *http_request_id(const struct http_request *req) {
    (void)req;
    return "request-1";
}

const char *http_request_client(const struct http_request *req) {
    (void)req;
    return "192.0.2.7";
}

void http_response_set_status(struct http_response *resp, int status) {
    resp->status = status;
}

void http_response_set_header(struct http_response *resp, const char *name, const char *value) {
    if (str_eq(name, "ETag"))
        (void)snprintf(resp->etag, sizeof(resp->etag), "%s", value);
    if (str_eq(name, "Location"))
        (void)snprintf(resp->location, sizeof(resp->location), "%s", value);
}

void http_response_set_text(struct http_response *resp, const char *type, struct strbuf *body) {
    (void)type;
    free(resp->body);
    resp->body = strbuf_steal(body);
}

/* -- one cluster ------------------------------------------------------------------------------------------------------------- */

static char cluster_id[] = ID, cluster_name[] = "prod", whole_reason[] = "node n1 is away", partial_reason[] = "a node is away",
            source[] = "observed";
static struct cluster record;
static struct inventory_cluster entry;
static uint64_t seen_mask;

const struct inventory_cluster *inventory_find_cluster(const struct inventory_snapshot *snapshot, const char *id) {
    (void)snapshot;
    return str_eq(id, ID) ? &entry : NULL;
}

int inventory_get_visible_cluster(const struct inventory_snapshot *snapshot, const struct viewer_key *viewer, const char *id,
                                  const struct inventory_cluster **out, uint64_t *mask, struct err *err) {
    (void)snapshot;
    (void)viewer;
    (void)id;
    if (!seen_mask)
        return err_set(err, ERR_NOT_FOUND, "there is no such cluster");
    *out = &entry;
    *mask = seen_mask;
    return 0;
}

int inventory_poll(struct inventory *inventory, struct err *err) {
    (void)inventory;
    (void)err;
    return 0;
}

void api_renew_snapshot(struct api_call *call) {
    (void)call;
}

struct actor api_actor(const struct api_call *call) {
    (void)call;
    return (struct actor){.address = ""};
}

void reply_freshness(struct api_call *call, struct http_response *resp) {
    (void)call;
    (void)resp;
}

/* -- the double -------------------------------------------------------------------------------------------------------------- */

static struct {
    bool is_connected;
    int fails; /* with this code, at the step "tls" */
    unsigned connects, leaves;
    struct kube_wish wish;
    enum kube_leave how;
    int64_t version_no;
} kube;

static void double_add(struct findings *steps, const char *step, enum finding_status status) {
    struct finding f = {.status = status};
    (void)snprintf(f.step, sizeof(f.step), "%s", step);
    (void)snprintf(f.title, sizeof(f.title), "%s", step);
    findings_add(steps, &f);
}

static int double_fail(struct err *err) {
    (void)err_set(err, kube.fails, "said by the step");
    return err_remedy(err, "do this");
}

void kube_connected_done(struct kube_connected *connected) {
    findings_done(&connected->steps);
    for (size_t i = 0; i < connected->contexts_count; i++)
        free(connected->contexts[i]);
}

int kubernetes_connect(struct kubernetes *k, const struct actor *actor, const struct kube_wish *wish, struct kube_connected *out,
                       struct err *err) {
    static char subject[] = "CN=k", issuer[] = "CN=ca", san[] = "DNS:k";
    (void)k;
    (void)actor;
    kube.connects++;
    kube.wish = *wish;
    double_add(&out->steps, "text", FINDING_OK);
    double_add(&out->steps, "tls", kube.fails ? FINDING_FAILED : FINDING_OK);
    if (kube.fails == ERR_TLS)
        out->certificate = (struct x509_info){.subject = subject, .issuer = issuer, .san = san};
    if (kube.fails == ERR_UNPROCESSABLE)
        out->contexts[out->contexts_count++] = str_dup("a, b");
    if (kube.fails)
        return double_fail(err);
    kube.is_connected = kube.is_connected || !wish->is_dry_run;
    (void)snprintf(out->cluster_id, sizeof(out->cluster_id), "%s", wish->is_dry_run ? "" : ID);
    return 0;
}

int kubernetes_test(struct kubernetes *k, const char *id, struct findings *steps, struct err *err) {
    (void)k;
    (void)id;
    if (!kube.is_connected)
        return err_set(err, ERR_NOT_FOUND, "no row");
    double_add(steps, "rights", FINDING_FAILED);
    return 0;
}

int kubernetes_disconnect(struct kubernetes *k, const struct actor *actor, const char *id, int64_t version_no,
                          enum kube_leave how, struct findings *steps, struct err *err) {
    (void)k;
    (void)actor;
    (void)id;
    kube.leaves++;
    kube.how = how;
    kube.version_no = version_no;
    if (!kube.is_connected)
        return err_set(err, ERR_NOT_FOUND, "no row");
    double_add(steps, "object", kube.fails ? FINDING_FAILED : FINDING_OK);
    return kube.fails ? double_fail(err) : 0;
}

int kubernetes_load(struct kubernetes *k, const char *id, struct kube_connection **out, struct err *err) {
    (void)k;
    if (!kube.is_connected)
        return err_set(err, ERR_NOT_FOUND, "no row");
    *out = calloc(1, sizeof(**out));
    **out = (struct kube_connection){.cluster_id = str_dup(id),
                                     .address = str_dup("https://prod.example.com:6443"),
                                     .ca_pem = str_dup("PEM"),
                                     .cluster_uid = str_dup("uid"),
                                     .version_no = 7};
    return 0;
}

int kubernetes_load_status(struct kubernetes *k, const char *id, struct kube_status **out, struct err *err) {
    (void)k;
    if (!kube.is_connected)
        return err_set(err, ERR_NOT_FOUND, "no row");
    *out = calloc(1, sizeof(**out));
    (*out)->cluster_id = str_dup(id);
    (*out)->remote = (struct remote_status){.state = REMOTE_OK, .since_ms = 1};
    (*out)->health_json = str_dup(REASONS);
    return 0;
}

int kubernetes_list(struct kubernetes *k, struct kube_connection_list *out, struct err *err) {
    (void)k;
    (void)err;
    *out = (struct kube_connection_list){0};
    return 0;
}

int kubernetes_list_statuses(struct kubernetes *k, struct kube_status_list *out, struct err *err) {
    (void)k;
    (void)err;
    *out = (struct kube_status_list){0};
    return 0;
}

/* -- asking ------------------------------------------------------------------------------------------------------------------ */

static struct http_request request;
static struct http_response response;
static struct api api;
static struct api_call call;
static struct err err;

static int set_up(void **state) {
    (void)state;
    memset(&request, 0, sizeof(request));
    memset(&call, 0, sizeof(call));
    memset(&kube, 0, sizeof(kube));
    memset(&err, 0, sizeof(err));
    record = (struct cluster){
        .id = cluster_id, .name = cluster_name, .state = CLUSTER_DEGRADED, .state_reason = whole_reason, .state_source = source};
    entry = (struct inventory_cluster){.record = &record, .reason_partial = partial_reason, .full_mask = 3};
    seen_mask = 3;
    call.api = &api;
    call.req = &request;
    return 0;
}

static void forget(void) {
    json_decref(call.body);
    json_decref(call.problem);
    call.body = call.problem = NULL;
    free(response.body);
    memset(&response, 0, sizeof(response));
    response.status = 200; /* unless another one is set */
    memset(&err, 0, sizeof(err));
}

static int tear_down(void **state) {
    (void)state;
    forget();
    return 0;
}

/* The body as a request brings it: checked by its table first. */
static int ask(api_handler_fn *handler, const struct member_body *body, const char *text) {
    forget();
    if (text)
        assert_int_equal(json_parse(text, strlen(text), &call.body, NULL), 0);
    const int rc = text ? member_json_check(call.body, body, NULL, &err) : 0;
    return rc ? rc : handler(&call, &response, &err);
}

static json_t *answer(void) {
    json_t *json = NULL;
    assert_non_null(response.body);
    assert_int_equal(json_parse(response.body, strlen(response.body), &json, NULL), 0);
    return json;
}

#define CONNECT(text) ask(h_kube_connect, &h_kube_connect_body, text)
#define PUT(text) ask(h_kube_put, &h_kube_put_body, text)
#define KUBECONFIG "{\"kubeconfig\":\"" SECRET "\",\"context\":\"c\"}"

/* -- connecting -------------------------------------------------------------------------------------------------------------- */

static void a_new_cluster_is_created_with_its_steps_and_without_its_secret(void **state) {
    (void)state;
    assert_int_equal(CONNECT("{\"address\":\"https://a\",\"token\":\"" SECRET "\",\"ca_pem\":\"P\",\"name\":\"prod\"}"), 0);
    _cleanup_json_ json_t *json = answer();
    assert_int_equal(response.status, 201);
    assert_string_equal(response.location, "/v2/clusters/" ID);
    assert_string_equal(json_get_string(json, "cluster_id"), ID);
    assert_string_equal(json_get_string(json_object_get(json_object_get(json, "connection"), "cluster"), "name"), "prod");
    assert_int_equal(json_array_size(json_object_get(json, "steps")), 2);
    assert_null(strstr(response.body, SECRET));
    assert_string_equal(kube.wish.name, "prod");
    assert_string_equal(kube.wish.token, SECRET);
    assert_null(kube.wish.cluster_id);
}

static void the_tag_is_that_of_the_connection(void **state) {
    char tag[64];
    (void)state;
    assert_int_equal(CONNECT(KUBECONFIG), 0);
    memcpy(tag, response.etag, sizeof(tag));
    assert_int_equal(ask(h_kube_show, NULL, NULL), 0);
    assert_int_equal(response.status, 200);
    assert_string_equal(response.etag, tag);
}

static void a_dry_run_makes_nothing_and_shows_no_connection(void **state) {
    (void)state;
    assert_int_equal(CONNECT("{\"kubeconfig\":\"k\",\"dry_run\":true}"), 0);
    _cleanup_json_ json_t *json = answer();
    assert_int_equal(response.status, 200);
    assert_true(kube.wish.is_dry_run);
    assert_true(json_is_null(json_object_get(json, "cluster_id")));
    assert_true(json_is_null(json_object_get(json, "connection")));
    assert_string_equal(response.location, "");
}

static void a_failed_step_is_a_problem_with_all_steps(void **state) {
    (void)state;
    kube.fails = ERR_TLS;
    assert_int_equal(CONNECT(KUBECONFIG), ERR_TLS);
    const json_t *steps = json_object_get(call.problem, "steps");
    assert_int_equal(json_array_size(steps), 2);
    assert_string_equal(json_get_string(json_array_get(steps, 1), "status"), "failed");
    assert_string_equal(err.remedy, "do this");
    assert_null(response.body);
    assert_string_equal(json_get_string(json_object_get(call.problem, "certificate"), "issuer"), "CN=ca");
    assert_null(json_object_get(call.problem, "contexts"));
}

static void a_context_that_is_to_be_chosen_is_named(void **state) {
    (void)state;
    kube.fails = ERR_UNPROCESSABLE;
    assert_int_equal(CONNECT(KUBECONFIG), ERR_UNPROCESSABLE);
    const json_t *contexts = json_object_get(call.problem, "contexts");
    assert_int_equal(json_array_size(contexts), 1);
    assert_string_equal(json_string_value(json_array_get(contexts, 0)), "a, b");
    assert_null(json_object_get(call.problem, "certificate"));
}

static void what_is_given_is_a_kubeconfig_or_its_parts(void **state) {
    static const char *const refused[] = {
        "{}",
        "{\"kubeconfig\":\"k\",\"address\":\"https://a\"}",
        "{\"kubeconfig\":\"k\",\"token\":\"t\"}",
        "{\"kubeconfig\":\"k\",\"ca_pem\":\"P\"}",
        "{\"address\":\"https://a\"}",
        "{\"token\":\"t\"}",
        "{\"address\":\"https://a\",\"token\":\"t\",\"context\":\"c\"}",
        "{\"kubeconfig\":\"k\",\"name\":\"\"}",
        "{\"kubeconfig\":\"k\",\"password\":\"p\"}",
        "{\"kubeconfig\":7}",
        "{\"kubeconfig\":null}",
        "{\"kubeconfig\":\"k\",\"dry_run\":\"yes\"}",
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(refused); i++)
        assert_int_equal(CONNECT(refused[i]), ERR_UNPROCESSABLE);
    assert_int_equal(PUT("{\"kubeconfig\":\"k\",\"name\":\"other\"}"), ERR_UNPROCESSABLE);
    assert_int_equal(kube.connects, 0);
}

static int connect_bytes(size_t n) {
    char *text = malloc(n + 40);
    assert_non_null(text);
    size_t at = (size_t)snprintf(text, n + 40, "{\"kubeconfig\":\"");
    memset(text + at, 'k', n);
    (void)snprintf(text + at + n, 40 - at, "\"}");
    const int rc = CONNECT(text);
    free(text);
    return rc;
}

static void a_kubeconfig_has_at_most_256_kib(void **state) {
    (void)state;
    assert_int_equal(connect_bytes(KAAS_KUBECONFIG_BYTES_MAX), 0);
    assert_int_equal(connect_bytes(KAAS_KUBECONFIG_BYTES_MAX + 1), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.remedy, "--minify"));
}

static void a_record_is_connected_and_then_replaced_as_it_was_read(void **state) {
    char tag[64];
    (void)state;
    assert_int_equal(PUT(KUBECONFIG), 0);
    assert_int_equal(response.status, 201);
    assert_string_equal(kube.wish.cluster_id, ID);
    assert_int_equal(kube.wish.version_no, 0);
    memcpy(tag, response.etag, sizeof(tag));
    request.if_match = tag;
    assert_int_equal(PUT(KUBECONFIG), 0);
    assert_int_equal(response.status, 200);
    assert_int_equal(kube.wish.version_no, 7);
    request.if_match = "\"of yesterday\"";
    assert_int_equal(PUT(KUBECONFIG), ERR_PRECONDITION);
    assert_int_equal(kube.connects, 2);
}

/* -- disconnecting, trying --------------------------------------------------------------------------------------------------- */

static void leaving_shows_removes_or_forgets(void **state) {
    static const struct {
        const char *show, *forget;
        enum kube_leave how;
        bool is_removed;
    } rows[] = {
        {NULL, NULL, KUBE_LEAVE_REMOVE, true},
        {"true", NULL, KUBE_LEAVE_SHOW, false},
        {"false", "true", KUBE_LEAVE_FORGET, true},
    };
    (void)state;
    kube.is_connected = true;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        request.show = rows[i].show;
        request.forget = rows[i].forget;
        assert_int_equal(ask(h_kube_remove, NULL, NULL), 0);
        _cleanup_json_ json_t *json = answer();
        assert_int_equal(kube.how, rows[i].how);
        assert_int_equal(kube.version_no, 0);
        assert_int_equal(json_get_bool(json, "removed", !rows[i].is_removed), rows[i].is_removed);
    }
    request.show = request.forget = "true";
    assert_int_equal(ask(h_kube_remove, NULL, NULL), ERR_INVALID);
    assert_int_equal(kube.leaves, 3);
}

static void leaving_keeps_to_if_match_and_tells_the_failed_steps(void **state) {
    char tag[64];
    (void)state;
    kube.is_connected = true;
    assert_int_equal(ask(h_kube_show, NULL, NULL), 0);
    memcpy(tag, response.etag, sizeof(tag));
    request.if_match = "\"of yesterday\"";
    assert_int_equal(ask(h_kube_remove, NULL, NULL), ERR_PRECONDITION);
    assert_int_equal(kube.leaves, 0);
    request.if_match = tag;
    kube.fails = ERR_UNREACHABLE;
    assert_int_equal(ask(h_kube_remove, NULL, NULL), ERR_UNREACHABLE);
    assert_int_equal(kube.version_no, 7);
    assert_int_equal(json_array_size(json_object_get(call.problem, "steps")), 1);
}

static void what_is_not_connected_is_named_with_the_command(void **state) {
    static api_handler_fn *const handlers[] = {h_kube_show, h_kube_remove, h_kube_test};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(handlers); i++) {
        assert_int_equal(ask(handlers[i], NULL, NULL), ERR_NOT_FOUND);
        assert_non_null(strstr(err.remedy, "kaasctl cluster connect " ID));
    }
}

static void a_test_that_finds_something_is_an_answer(void **state) {
    (void)state;
    kube.is_connected = true;
    assert_int_equal(ask(h_kube_test, NULL, NULL), 0);
    _cleanup_json_ json_t *json = answer();
    assert_int_equal(response.status, 200);
    assert_string_equal(json_get_string(json_array_get(json_object_get(json, "steps"), 0), "status"), "failed");
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

static void who_sees_all_of_a_cluster_sees_the_reasons(void **state) {
    (void)state;
    kube.is_connected = true;
    assert_int_equal(ask(h_kube_health, NULL, NULL), 0);
    _cleanup_json_ json_t *json = answer();
    assert_string_equal(json_get_string(json, "state"), "degraded");
    assert_string_equal(json_get_string(json, "state_reason"), whole_reason);
    assert_string_equal(json_get_string(json_object_get(json, "connection"), "state"), "ok");
    assert_int_equal(json_array_size(json_object_get(json, "reasons")), 1);
}

static void who_sees_a_part_of_it_hears_no_names(void **state) {
    (void)state;
    kube.is_connected = true;
    seen_mask = 1;
    assert_int_equal(ask(h_kube_health, NULL, NULL), 0);
    _cleanup_json_ json_t *json = answer();
    assert_string_equal(json_get_string(json, "state_reason"), partial_reason);
    assert_int_equal(json_array_size(json_object_get(json, "reasons")), 0);
    assert_null(strstr(response.body, "n1"));
    seen_mask = 0;
    assert_int_equal(ask(h_kube_health, NULL, NULL), ERR_NOT_FOUND);
}

static void without_a_connection_it_is_what_was_said_and_seen(void **state) {
    (void)state;
    assert_int_equal(ask(h_kube_health, NULL, NULL), 0);
    _cleanup_json_ json_t *json = answer();
    assert_true(json_is_null(json_object_get(json, "connection")));
    assert_int_equal(json_array_size(json_object_get(json, "reasons")), 0);
    assert_string_equal(json_get_string(json, "state_source"), "observed");
}

/* Two nodes of the control plane on one host, of any cluster; for those who may read names. */
static void control_planes_that_share_a_host_are_told(void **state) {
    static char vcenter_id[] = "6f1d0f9e-0a53-4a8e-8a54-2f1f9f3f6f10", host[] = "host-7", first[] = "cp-0", second[] = "cp-1";
    struct node_observation seen = {
        .match = VM_MATCH_NAME, .vcenter_id = vcenter_id, .host_moref = host, .observed_at_ms = 1700000000000};
    struct node nodes[] = {{.name = first, .seen = &seen}, {.name = second, .seen = &seen}};
    (void)state;
    record.nodes = nodes;
    record.nodes_count = UNIT_COUNT(nodes);
    assert_int_equal(ask(h_kube_health, NULL, NULL), 0);
    _cleanup_json_ json_t *json = answer();
    const json_t *reason = json_array_get(json_object_get(json, "reasons"), 0);
    assert_string_equal(json_get_string(json, "state"), "degraded"); /* as it was */
    assert_string_equal(json_get_string(reason, "reason"), "control_planes_share_host");
    assert_string_equal(json_get_string(reason, "severity"), "info");
    assert_string_equal(json_get_string(reason, "text"), "cp-0 and cp-1 are on host host-7, and without it there is no majority");
    assert_string_equal(json_get_string(reason, "since"), "2023-11-14T22:13:20.000Z");
    seen_mask = 1;
    assert_int_equal(ask(h_kube_health, NULL, NULL), 0);
    assert_null(strstr(response.body, "host-7"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_new_cluster_is_created_with_its_steps_and_without_its_secret),
        TEST(the_tag_is_that_of_the_connection),
        TEST(a_dry_run_makes_nothing_and_shows_no_connection),
        TEST(a_failed_step_is_a_problem_with_all_steps),
        TEST(a_context_that_is_to_be_chosen_is_named),
        TEST(what_is_given_is_a_kubeconfig_or_its_parts),
        TEST(a_kubeconfig_has_at_most_256_kib),
        TEST(a_record_is_connected_and_then_replaced_as_it_was_read),
        TEST(leaving_shows_removes_or_forgets),
        TEST(leaving_keeps_to_if_match_and_tells_the_failed_steps),
        TEST(what_is_not_connected_is_named_with_the_command),
        TEST(a_test_that_finds_something_is_an_answer),
        TEST(who_sees_all_of_a_cluster_sees_the_reasons),
        TEST(who_sees_a_part_of_it_hears_no_names),
        TEST(without_a_connection_it_is_what_was_said_and_seen),
        TEST(control_planes_that_share_a_host_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
