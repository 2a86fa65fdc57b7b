/* The token by which a new machine joins a cluster that kaasd has made. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bootstrap_token.h"

#include <string.h>

#include "clock.h"
#include "kubernetes_private.h"
#include "str.h"
#include "uuid.h"

#define TOKEN_ID_CHARS 6
#define TOKEN_SECRET_CHARS 16
#define TOKEN_FACTS_BYTES_MAX 256

_Static_assert(TOKEN_ID_CHARS + 1 + TOKEN_SECRET_CHARS + 1 == BOOTSTRAP_TOKEN_BYTES, "id, a dot, secret, NUL");

/* -- the token itself ------------------------------------------------------------------------------------------------------- */

/* Each of the 36 characters as likely as the others. */
static void token_draw(char *out, size_t n) {
    static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const size_t count = sizeof(characters) - 1;
    while (n) {
        uint8_t byte;
        random_bytes(&byte, sizeof(byte));
        if (byte < 256 / count * count) {
            *out++ = characters[byte % count];
            n--;
        }
    }
}

static struct secret_place token_place(const char *cluster_id) {
    return (struct secret_place){SECRET_OWNER_KUBE_JOIN, cluster_id, "bootstrap-token"};
}

static int token_add(struct kubernetes *k, const struct secret_place *place, struct err *err) {
    struct secret_value sealed = {0};
    char token[BOOTSTRAP_TOKEN_BYTES] = "";
    token_draw(token, TOKEN_ID_CHARS);
    token[TOKEN_ID_CHARS] = '.';
    token_draw(token + TOKEN_ID_CHARS + 1, TOKEN_SECRET_CHARS);
    int rc = secret_seal(k->options.runtime->seal, place, token, &sealed, err);
    secret_wipe(token, sizeof(token));
    rc = rc ? rc : secret_store_add(k->options.runtime->store, place, &sealed, err);
    free(sealed.bytes);
    return rc;
}

int bootstrap_token_get(struct kubernetes *k, const char *cluster_id, char token[BOOTSTRAP_TOKEN_BYTES], struct err *err) {
    const struct secret_place place = token_place(cluster_id);
    const struct runtime *runtime = k->options.runtime;
    _cleanup_secret_ char *text = NULL;
    int rc = secret_store_open(runtime->store, runtime->seal, &place, &text, err);
    if (!rc && !text)
        rc = token_add(k, &place, err);
    if (!rc && !text)
        rc = secret_store_open(runtime->store, runtime->seal, &place, &text, err);
    if (rc)
        return rc;
    if (!text || strlen(text) != BOOTSTRAP_TOKEN_BYTES - 1)
        return err_set(err, ERR_INTERNAL, "the token by which machines join %s is not as it was made", cluster_id);
    memcpy(token, text, BOOTSTRAP_TOKEN_BYTES);
    return 0;
}

/* -- in the cluster ----------------------------------------------------------------------------------------------------------- */

/* A member of a Secret's data. */
static void token_put(json_t *data, const char *name, const char *text, size_t n) {
    _cleanup_strbuf_ struct strbuf coded;
    strbuf_init_secret(&coded, TOKEN_FACTS_BYTES_MAX);
    str_base64(&coded, (const uint8_t *)text, n);
    while (coded.len % 4)
        strbuf_addc(&coded, '=');
    json_put(data, name, coded.failed ? NULL : json_string(coded.data));
}

static json_t *token_secret(const char token[BOOTSTRAP_TOKEN_BYTES], const char *name, int64_t until_ms) {
    static const struct {
        const char *name, *text;
    } facts[] = {
        {"usage-bootstrap-authentication", "true"},
        {"usage-bootstrap-signing", "true"},
        {"auth-extra-groups", "system:bootstrappers:kubeadm:default-node-token"}, /* what kubeadm binds to the right to join */
        {"description", "for machines that KaaS makes"},
    };
    char until[CLOCK_RFC3339_BYTES];
    json_t *object = json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:{s:s}}}", "apiVersion", "v1", "kind", "Secret", "type",
                               "bootstrap.kubernetes.io/token", "metadata", "name", name, "namespace", "kube-system", "labels",
                               "app.kubernetes.io/managed-by", "kaas");
    json_t *data = json_object();
    clock_format(until_ms, until);
    token_put(data, "token-id", token, TOKEN_ID_CHARS);
    token_put(data, "token-secret", token + TOKEN_ID_CHARS + 1, TOKEN_SECRET_CHARS);
    token_put(data, "expiration", until, strlen(until));
    for (size_t i = 0; i < ARRAY_COUNT(facts); i++)
        token_put(data, facts[i].name, facts[i].text, strlen(facts[i].text));
    json_put(object, "data", data);
    return object;
}

static char *token_path(const char token[BOOTSTRAP_TOKEN_BYTES], const char *query) {
    return str_format("/api/v1/namespaces/kube-system/secrets/bootstrap-token-%.*s%s", TOKEN_ID_CHARS, token, query);
}

/* The API server's clock, by which the token ends; ours where it tells none. */
static int token_read_clock(struct k8s_client *client, int64_t *now_ms, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    *now_ms = 0;
    int rc = kube_ask(client, &(struct kube_question){.method = "GET", .path = "/version", .date_ms = now_ms}, &answer, err);
    if (!*now_ms)
        *now_ms = clock_wall_ms();
    return rc;
}

static int token_write(struct k8s_client *client, const char token[BOOTSTRAP_TOKEN_BYTES], int64_t until_ms, struct err *err) {
    _cleanup_free_ char *path = token_path(token, "?fieldManager=kaas&force=true");
    _cleanup_json_ json_t *answer = NULL;
    char name[sizeof("bootstrap-token-") + TOKEN_ID_CHARS];
    (void)snprintf(name, sizeof(name), "bootstrap-token-%.*s", TOKEN_ID_CHARS, token);
    const struct kube_question question = {.method = "PATCH",
                                           .path = path ? path : "",
                                           .type = "application/apply-patch+yaml",
                                           .body = token_secret(token, name, until_ms)};
    return kube_ask(client, &question, &answer, err);
}

int bootstrap_token_apply(struct kubernetes *k, const char *cluster_id, struct k8s_client *client, struct err *err) {
    char token[BOOTSTRAP_TOKEN_BYTES] = "";
    int64_t now_ms = 0;
    int rc = bootstrap_token_get(k, cluster_id, token, err);
    rc = rc ? rc : token_read_clock(client, &now_ms, err);
    rc = rc ? rc : token_write(client, token, now_ms + BOOTSTRAP_TOKEN_LIFE_S * INT64_C(1000), err);
    secret_wipe(token, sizeof(token));
    return rc;
}

/* -- its end -------------------------------------------------------------------------------------------------------------------- */

static int token_delete(struct k8s_client *client, const char token[BOOTSTRAP_TOKEN_BYTES], struct err *err) {
    _cleanup_free_ char *path = token_path(token, "");
    _cleanup_json_ json_t *answer = NULL;
    struct err why = {0};
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = kube_ask(client, &(struct kube_question){.method = "DELETE", .path = path}, &answer, &why);
    return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
}

int bootstrap_token_remove(struct kubernetes *k, const char *cluster_id, struct k8s_client *client, struct err *err) {
    const struct secret_place place = token_place(cluster_id);
    const struct runtime *runtime = k->options.runtime;
    _cleanup_secret_ char *token = NULL;
    int rc = client ? secret_store_open(runtime->store, runtime->seal, &place, &token, err) : 0;
    if (!rc && token)
        rc = token_delete(client, token, err);
    return rc ? rc : secret_store_remove(runtime->store, &place, err);
}
