/* Unit tests of src/kubernetes/account: what kaasd makes in a cluster, against an API server in memory that keeps what it is given. A real one is met in
 * tests/connected.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"

#define ACCOUNT "kaas-1a2b3c4d"
#define RBAC "/apis/rbac.authorization.k8s.io/v1/"

/* -- the server ------------------------------------------------------------------------------------------------------------------ */

static struct {
    json_t *objects;       /* by path */
    const char *denies;    /* a part of a path: calls to it are answered by 403 */
    const char *forbidden; /* "verb resource": an access review says no to it */
    const char *loses;     /* a part of a path: what is asked there is done, and the answer never comes */
    const char *date;      /* header line; NULL: none */
    unsigned uids;
} server;

static int answer(struct strbuf *reply, long *status, long is, json_t *body) {
    *status = is;
    assert_int_equal(json_write(body, reply, NULL), 0);
    json_decref(body);
    return 0;
}

static int answer_failure(struct strbuf *reply, long *status, long is, const char *reason) {
    return answer(
        reply, status, is,
        json_pack("{s:s, s:s, s:s, s:I}", "kind", "Status", "reason", reason, "message", reason, "code", (json_int_t)is));
}

static int review(const json_t *asked, struct strbuf *reply, long *status) {
    const json_t *spec = json_object_get(asked, "spec"), *about = json_object_get(spec, "resourceAttributes");
    char text[200];
    if (!about)
        about = json_object_get(spec, "nonResourceAttributes");
    const char *resource = json_get_string(about, "resource");
    (void)snprintf(text, sizeof(text), "%s %s", json_get_string(about, "verb"),
                   resource ? resource : json_get_string(about, "path"));
    return answer(reply, status, 201, json_pack("{s:{s:b}}", "status", "allowed", !str_eq(text, server.forbidden)));
}

static int keep(const char *path, json_t *object, struct strbuf *reply, long *status) {
    const bool is_new = !json_object_get(server.objects, path);
    char uid[UUID_TEXT_BYTES];
    (void)snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012u", ++server.uids);
    if (!is_new)
        (void)snprintf(uid, sizeof(uid), "%s",
                       json_get_string(json_object_get(json_object_get(server.objects, path), "metadata"), "uid"));
    json_put_string(json_object_get(object, "metadata"), "uid", uid);
    json_put(server.objects, path, json_incref(object));
    return answer(reply, status, is_new ? 201 : 200, json_incref(object));
}

static int serve(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    _cleanup_json_ json_t *body = NULL;
    (void)conn;
    if (server.date)
        exchange->on_header(exchange->on_header_arg, server.date, strlen(server.date));
    if (exchange->body)
        assert_int_equal(json_parse(exchange->body, exchange->body_bytes, &body, err), 0);
    _cleanup_free_ char *path = str_dup(exchange->url + strlen("https://k:6443"));
    path[strcspn(path, "?")] = 0;
    if (server.denies && strstr(path, server.denies))
        return answer_failure(reply, status, 403, "Forbidden");
    if (str_ends(path, "/selfsubjectaccessreviews"))
        return review(body, reply, status);
    if (str_ends(path, "/token"))
        return answer(
            reply, status, 201,
            json_pack("{s:{s:s, s:s}}", "status", "token", "secret-token", "expirationTimestamp", "2026-01-02T00:00:00Z"));
    if (str_eq(exchange->method, "PATCH")) {
        (void)keep(path, body, reply, status);
        return server.loses && strstr(path, server.loses) ? err_set(err, ERR_TIMEOUT, "no answer") : 0;
    }
    json_t *found = json_object_get(server.objects, path);
    if (!found)
        return answer_failure(reply, status, 404, "NotFound");
    int rc = answer(reply, status, 200, json_incref(found));
    if (str_eq(exchange->method, "DELETE"))
        (void)json_object_del(server.objects, path);
    return rc;
}

static int open_conn(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)arg, (void)options, (void)err;
    *conn = &server;
    return 0;
}

static void ignore_conn(void *conn) {
    (void)conn;
}

static struct k8s_client *client;

static int begin_server(void **state) {
    static const struct http_transport transport = {.open = open_conn, .run = serve, .cancel = ignore_conn, .close = ignore_conn};
    const struct k8s_endpoint endpoint = {.url = "https://k:6443", .transport = &transport};
    (void)state;
    memset(&server, 0, sizeof(server));
    server.objects = json_object();
    return k8s_client_new(&endpoint, "t", &client, NULL);
}

static int end_server(void **state) {
    (void)state;
    k8s_client_free(client);
    json_decref(server.objects);
    return 0;
}

static const json_t *object_at(const char *path) {
    const json_t *object = json_object_get(server.objects, path);
    assert_non_null(object);
    return object;
}

static const char *owner_of(const char *path) {
    const json_t *owners = json_object_get(json_object_get(object_at(path), "metadata"), "ownerReferences");
    return json_get_string(json_array_get(owners, 0), "uid");
}

/* -- making ---------------------------------------------------------------------------------------------------------------------- */

static void all_is_made_and_owned_by_the_binding(void **state) {
    struct kube_made made = {0};
    (void)state;
    assert_int_equal(kube_account_make(client, ACCOUNT, &made, NULL), 0);
    assert_int_equal(json_object_size(server.objects), 6);
    const char *binding = json_get_string(json_object_get(object_at(RBAC "clusterrolebindings/" ACCOUNT), "metadata"), "uid");
    assert_string_equal(owner_of(RBAC "clusterroles/" ACCOUNT), binding);
    assert_string_equal(owner_of("/api/v1/namespaces/kaas-system"), binding);
    assert_string_equal(owner_of("/api/v1/namespaces/kaas-system/serviceaccounts/" ACCOUNT), binding);
    assert_string_equal(owner_of(RBAC "namespaces/kube-system/roles/" ACCOUNT), binding);
    assert_string_equal(owner_of(RBAC "namespaces/kube-system/rolebindings/" ACCOUNT), binding);
    assert_null(owner_of(RBAC "clusterrolebindings/" ACCOUNT));
}

/* No rule reaches further than it says: all of a kind only for nodes, pods only in kube-system. */
static void the_rules_are_the_least(void **state) {
    struct kube_made made = {0};
    const json_t *rule;
    size_t i;
    (void)state;
    assert_int_equal(kube_account_make(client, ACCOUNT, &made, NULL), 0);
    json_array_foreach (json_object_get(object_at(RBAC "clusterroles/" ACCOUNT), "rules"), i, rule) {
        const char *resource = json_string_value(json_array_get(json_object_get(rule, "resources"), 0));
        if (!str_eq(resource, "nodes") && resource)
            assert_int_equal(json_array_size(json_object_get(rule, "resourceNames")), 1);
    }
    rule = json_array_get(json_object_get(object_at(RBAC "namespaces/kube-system/roles/" ACCOUNT), "rules"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(rule, "resources"), 0)), "pods");
    assert_string_equal(json_string_value(json_array_get(json_object_get(rule, "verbs"), 0)), "list");
}

static void a_namespace_of_somebody_else_is_left_alone(void **state) {
    struct kube_made made = {0};
    struct findings steps = {0};
    (void)state;
    json_put(server.objects, "/api/v1/namespaces/kaas-system",
             json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", "u", "labels", "app.kubernetes.io/managed-by", "Helm"));
    assert_int_equal(kube_account_make(client, ACCOUNT, &made, NULL), 0);
    assert_null(owner_of("/api/v1/namespaces/kaas-system"));
    kube_account_undo(client, ACCOUNT, made.bits, &steps);
    assert_int_equal(json_object_size(server.objects), 1);
}

static void what_was_made_is_taken_back_and_nothing_else(void **state) {
    struct kube_made first = {0}, second = {0};
    struct findings steps = {0};
    struct err err = {0};
    (void)state;
    server.denies = "/rolebindings/";
    assert_int_equal(kube_account_make(client, ACCOUNT, &first, &err), ERR_UPSTREAM_DENIED);
    assert_int_equal(json_object_size(server.objects), 5);
    kube_account_undo(client, ACCOUNT, first.bits, &steps);
    assert_int_equal(json_object_size(server.objects), 0);
    server.denies = NULL;
    assert_int_equal(kube_account_make(client, ACCOUNT, &first, NULL), 0);
    assert_int_equal(kube_account_make(client, ACCOUNT, &second, NULL), 0); /* again, in place */
    assert_int_equal(second.bits, 0);
    kube_account_undo(client, ACCOUNT, second.bits, &steps);
    assert_int_equal(json_object_size(server.objects), 6);
    assert_int_equal(steps.count, 0);
    server.denies = "/clusterroles/";
    kube_account_undo(client, ACCOUNT, first.bits, &steps);
    assert_int_equal(steps.count, 1); /* what stays is told */
    assert_string_equal(steps.items[0].title, "cluster role");
    findings_done(&steps);
}

/* Nobody knows then whether the server did it. */
static void what_was_made_without_an_answer_is_taken_back(void **state) {
    struct kube_made made = {0};
    struct findings steps = {0};
    (void)state;
    server.loses = "/roles/";
    assert_int_equal(kube_account_make(client, ACCOUNT, &made, NULL), ERR_TIMEOUT);
    assert_non_null(json_object_get(server.objects, RBAC "namespaces/kube-system/roles/" ACCOUNT));
    kube_account_undo(client, ACCOUNT, made.bits | made.touched, &steps);
    assert_int_equal(json_object_size(server.objects), 0);
    assert_int_equal(steps.count, 0);
}

/* One that several installations share is not known to be ours alone. */
static void a_namespace_is_taken_back_only_if_it_was_made_for_sure(void **state) {
    struct kube_made made = {0};
    struct findings steps = {0};
    (void)state;
    json_put(server.objects, "/api/v1/namespaces/kaas-system",
             json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", "00000000-0000-4000-8000-00000000abcd", "labels",
                       "app.kubernetes.io/managed-by", "kaas"));
    assert_int_equal(kube_account_make(client, ACCOUNT, &made, NULL), 0);
    kube_account_undo(client, ACCOUNT, made.bits | made.touched, &steps);
    assert_int_equal(json_object_size(server.objects), 1);
}

/* -- rights and token -------------------------------------------------------------------------------------------------------------- */

static void who_may_not_make_it_is_told_what_is_missing(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(kube_account_check_maker(client, NULL), 0);
    server.forbidden = "create clusterroles";
    assert_int_equal(kube_account_check_maker(client, &err), ERR_UPSTREAM_DENIED);
    assert_string_equal(err.text, "this credential may not create clusterroles");
    assert_non_null(strstr(err.remedy, "administrator"));
}

static void a_right_that_was_lost_is_named_with_its_feature(void **state) {
    static const struct {
        const char *forbidden, *told;
    } rows[] = {
        {"watch nodes", "nodes: list watch nodes"},
        {"list pods", "control plane: list pods"},
        {"get namespaces", "identity: get namespaces"},
        {"get /readyz", "readiness: get /readyz /version"},
        {"get /version", "readiness: get /readyz /version"},
        {"create serviceaccounts", "token: create serviceaccounts/token"},
        {"delete clusterrolebindings", "disconnect: delete clusterrolebindings"},
    };
    char *missing = NULL;
    (void)state;
    assert_int_equal(kube_account_list_missing(client, ACCOUNT, &missing, NULL), 0);
    assert_null(missing);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        server.forbidden = rows[i].forbidden;
        assert_int_equal(kube_account_list_missing(client, ACCOUNT, &missing, NULL), 0);
        assert_string_equal(missing, rows[i].told);
        free(missing);
    }
}

static void a_token_comes_with_its_end(void **state) {
    char *token = NULL;
    int64_t until_ms = 0;
    (void)state;
    assert_int_equal(kube_account_get_token(client, ACCOUNT, &token, &until_ms, NULL), 0);
    assert_string_equal(token, "secret-token");
    assert_int_equal(until_ms, INT64_C(1767312000000));
    secret_free(token);
}

/* A clock that is wrong by a day, ours or the server's, makes a token's life neither longer nor shorter. */
static void the_end_of_a_token_is_told_by_our_clock(void **state) {
    const int64_t day_ms = INT64_C(86400000), date_ms = INT64_C(1767225600000);
    (void)state;
    server.date = "Date: Thu, 01 Jan 2026 00:00:00 GMT";
    for (int ahead = -1; ahead <= 1; ahead++) {
        const int64_t now_ms = date_ms + ahead * day_ms;
        char *token = NULL;
        int64_t until_ms = 0;
        clock_fake(1000000, now_ms);
        assert_int_equal(kube_account_get_token(client, ACCOUNT, &token, &until_ms, NULL), 0);
        assert_int_equal(until_ms, now_ms + day_ms);
        secret_free(token);
    }
    clock_unfake();
}

/* -- leaving ---------------------------------------------------------------------------------------------------------------------- */

static void leaving_deletes_the_binding(void **state) {
    struct kube_made made = {0};
    (void)state;
    assert_int_equal(kube_account_make(client, ACCOUNT, &made, NULL), 0);
    assert_int_equal(kube_account_remove(client, ACCOUNT, NULL), 0);
    assert_null(json_object_get(server.objects, RBAC "clusterrolebindings/" ACCOUNT));
    assert_int_equal(kube_account_remove(client, ACCOUNT, NULL), 0); /* gone already */
    server.denies = "clusterrolebindings";
    assert_int_equal(kube_account_remove(client, ACCOUNT, NULL), ERR_UPSTREAM_DENIED);
}

static void each_object_is_told_with_what_becomes_of_it(void **state) {
    static const struct {
        enum kube_leave how;
        int code;
        enum finding_status role, binding;
        const char *text;
    } rows[] = {
        {KUBE_LEAVE_SHOW, 0, FINDING_OK, FINDING_OK, "will be removed"},
        {KUBE_LEAVE_REMOVE, 0, FINDING_OK, FINDING_OK, "removed"},
        {KUBE_LEAVE_FORGET, ERR_UNREACHABLE, FINDING_SKIPPED, FINDING_FAILED, "nobody there"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const struct err why = {.code = rows[i].code, .text = "nobody there"};
        struct findings steps = {0};
        kube_account_tell_removal(ACCOUNT, rows[i].how, &why, &steps);
        assert_int_equal(steps.count, 6);
        assert_int_equal(steps.items[0].status, rows[i].role);
        assert_int_equal(steps.items[1].status, rows[i].binding);
        assert_string_equal(steps.items[1].title, "cluster role binding");
        assert_string_equal(steps.items[1].subject, ACCOUNT);
        assert_string_equal(steps.items[1].text, rows[i].text);
        findings_done(&steps);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_server, end_server)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(all_is_made_and_owned_by_the_binding),
        CASE(the_rules_are_the_least),
        CASE(a_namespace_of_somebody_else_is_left_alone),
        CASE(what_was_made_is_taken_back_and_nothing_else),
        CASE(what_was_made_without_an_answer_is_taken_back),
        CASE(a_namespace_is_taken_back_only_if_it_was_made_for_sure),
        CASE(who_may_not_make_it_is_told_what_is_missing),
        CASE(a_right_that_was_lost_is_named_with_its_feature),
        CASE(a_token_comes_with_its_end),
        CASE(the_end_of_a_token_is_told_by_our_clock),
        CASE(leaving_deletes_the_binding),
        CASE(each_object_is_told_with_what_becomes_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
