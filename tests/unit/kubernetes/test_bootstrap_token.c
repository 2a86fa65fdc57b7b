/* Unit tests of src/kubernetes/bootstrap_token, against an API server and a table of secrets in memory. A real server is met in tests/kube.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "bootstrap_token.h"
#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"

#define CLUSTER "11111111-1111-4111-8111-111111111111"
#define DATE_MS INT64_C(1767225600000) /* of the server: 2026-01-01 */

/* -- what is kept, in the place of src/store ------------------------------------------------------------------------------------- */

static struct {
    char *kept;    /* sealed; NULL: none */
    char *quicker; /* what somebody else adds in the same moment; NULL: nobody does */
} secrets;

int secret_seal(struct seal *seal, const struct secret_place *place, const char *text, struct secret_value *out,
                struct err *err) {
    (void)seal, (void)err;
    assert_string_equal(place->owner_id, CLUSTER);
    *out = (struct secret_value){.bytes = (uint8_t *)str_format("sealed:%s", text), .count = strlen(text) + 7};
    return 0;
}

int secret_store_open(struct store *store, struct seal *seal, const struct secret_place *place, char **text, struct err *err) {
    (void)store, (void)seal, (void)place, (void)err;
    *text = secrets.kept ? str_dup(secrets.kept + 7) : NULL;
    return 0;
}

int secret_store_add(struct store *store, const struct secret_place *place, const struct secret_value *value, struct err *err) {
    (void)store, (void)place, (void)err;
    assert_null(secrets.kept);
    secrets.kept = secrets.quicker ? STEAL(secrets.quicker) : str_format("%.*s", (int)value->count, (const char *)value->bytes);
    return 0;
}

int secret_store_remove(struct store *store, const struct secret_place *place, struct err *err) {
    (void)store, (void)place, (void)err;
    free(STEAL(secrets.kept));
    return 0;
}

/* -- the server ------------------------------------------------------------------------------------------------------------------ */

static struct {
    json_t *object; /* the Secret; NULL: none */
    char asked[300];
    bool tells_no_clock;
} server;

static int serve(void *conn, const struct http_exchange *exchange, struct strbuf *reply, long *status, struct err *err) {
    static const char date[] = "Date: Thu, 01 Jan 2026 00:00:00 GMT";
    (void)conn;
    if (!server.tells_no_clock)
        exchange->on_header(exchange->on_header_arg, date, strlen(date));
    *status = 200;
    strbuf_adds(reply, "{}");
    if (str_eq(exchange->method, "GET"))
        return 0;
    (void)snprintf(server.asked, sizeof(server.asked), "%s %s", exchange->method, exchange->url + strlen("https://k:6443"));
    json_decref(STEAL(server.object));
    return exchange->body ? json_parse(exchange->body, exchange->body_bytes, &server.object, err) : 0;
}

static int open_conn(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)arg, (void)options, (void)err;
    *conn = &server;
    return 0;
}

static void ignore_conn(void *conn) {
    (void)conn;
}

static const struct runtime runtime = {.store = NULL};
static struct kubernetes k = {.options.runtime = &runtime};
static struct k8s_client *client;

static int begin(void **state) {
    static const struct http_transport transport = {.open = open_conn, .run = serve, .cancel = ignore_conn, .close = ignore_conn};
    const struct k8s_endpoint endpoint = {.url = "https://k:6443", .transport = &transport};
    (void)state;
    memset(&server, 0, sizeof(server));
    clock_fake(1000, DATE_MS + CLOCK_DAY_MS); /* ours is a day ahead */
    return k8s_client_new(&endpoint, "t", &client, NULL);
}

static int end(void **state) {
    (void)state;
    clock_unfake();
    k8s_client_free(client);
    json_decref(server.object);
    free(STEAL(secrets.kept));
    return 0;
}

/* A member of the Secret's data, decoded. */
static const char *fact(const char *name) {
    static char text[100];
    const char *coded = json_get_string(json_object_get(server.object, "data"), name);
    assert_non_null(coded);
    assert_int_equal(strlen(coded) % 4, 0); /* Kubernetes wants the padding */
    const long n = str_unbase64(coded, strcspn(coded, "="), (uint8_t *)text, sizeof(text) - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

/* -- tests ------------------------------------------------------------------------------------------------------------------------ */

static void a_token_is_drawn_once(void **state) {
    char first[BOOTSTRAP_TOKEN_BYTES], again[BOOTSTRAP_TOKEN_BYTES], next[BOOTSTRAP_TOKEN_BYTES];
    (void)state;
    assert_int_equal(bootstrap_token_get(&k, CLUSTER, first, NULL), 0);
    assert_int_equal(strspn(first, "abcdefghijklmnopqrstuvwxyz0123456789"), 6);
    assert_int_equal(first[6], '.');
    assert_int_equal(strspn(first + 7, "abcdefghijklmnopqrstuvwxyz0123456789"), 16);
    assert_int_equal(bootstrap_token_get(&k, CLUSTER, again, NULL), 0);
    assert_string_equal(again, first);
    assert_int_equal(bootstrap_token_remove(&k, CLUSTER, NULL, NULL), 0);
    assert_string_equal(server.asked, ""); /* the cluster is gone */
    assert_int_equal(bootstrap_token_get(&k, CLUSTER, next, NULL), 0);
    assert_string_not_equal(next, first);
}

static void of_two_who_draw_one_both_have_the_same(void **state) {
    char token[BOOTSTRAP_TOKEN_BYTES];
    (void)state;
    secrets.quicker = str_dup("sealed:abcdef.0123456789abcdef");
    assert_int_equal(bootstrap_token_get(&k, CLUSTER, token, NULL), 0);
    assert_string_equal(token, "abcdef.0123456789abcdef");
}

static void it_ends_by_the_clock_of_the_server(void **state) {
    (void)state;
    secrets.kept = str_dup("sealed:abcdef.0123456789abcdef");
    assert_int_equal(bootstrap_token_apply(&k, CLUSTER, client, NULL), 0);
    assert_string_equal(server.asked,
                        "PATCH /api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef?fieldManager=kaas&force=true");
    assert_string_equal(fact("expiration"), "2026-01-01T00:15:00.000Z");
    assert_string_equal(fact("token-id"), "abcdef");
    assert_string_equal(fact("token-secret"), "0123456789abcdef");
    assert_string_equal(fact("auth-extra-groups"), "system:bootstrappers:kubeadm:default-node-token");
    server.tells_no_clock = true;
    assert_int_equal(bootstrap_token_apply(&k, CLUSTER, client, NULL), 0);
    assert_string_equal(fact("expiration"), "2026-01-02T00:15:00.000Z");
    assert_int_equal(bootstrap_token_remove(&k, CLUSTER, client, NULL), 0);
    assert_string_equal(server.asked, "DELETE /api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef");
}

static void one_that_is_broken_is_not_used(void **state) {
    char token[BOOTSTRAP_TOKEN_BYTES];
    (void)state;
    secrets.kept = str_dup("sealed:abcdef");
    assert_int_equal(bootstrap_token_get(&k, CLUSTER, token, NULL), ERR_INTERNAL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_token_is_drawn_once),
        CASE(of_two_who_draw_one_both_have_the_same),
        CASE(it_ends_by_the_clock_of_the_server),
        CASE(one_that_is_broken_is_not_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
