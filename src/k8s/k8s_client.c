/* Calls to the API of one Kubernetes cluster. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "k8s.h"

#include <stdlib.h>
#include <string.h>

#include "k8s_codec.h"
#include "k8s_private.h"
#include "names.h"
#include "secret.h"
#include "str.h"

#define TOKEN_BYTES_MAX (16U * 1024U)
#define K8S_SCHEME "https://"

struct k8s_client {
    const struct http_transport *transport;
    void *conn;
    char *base;          /* URL without a slash at its end */
    char *authorization; /* "Authorization: Bearer ..."; NULL: none; wiped */
    long call_timeout_ms;
};

/* -- the client ---------------------------------------------------------------------------------------------------- */

int k8s_url_check(const char *url, char **out, struct err *err) {
    struct err why = {0};
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    _cleanup_secret_ char *base = strndup(url, n); /* people put passwords into them */
    if (!base)
        return err_set(err, ERR_NOMEM, "out of memory");
    bool is_plain = !name_check_https_url(base, "the address of the API server", &why) && str_starts(base, K8S_SCHEME);
    for (const char *c = base; is_plain && *c; c++)
        is_plain = *c > ' ' && *c <= '~' && !strchr("@?#\\\"<>^`{|}", *c);
    if (is_plain) {
        *out = STEAL(base);
        return 0;
    }
    (void)err_set(err, ERR_CONFIG, "%s", why.code ? why.text : "the address of the API server holds what no plain https URL has");
    return err_remedy(err, "give it as in the kubeconfig's \"server\": https://HOST:6443, without user, query or fragment");
}

int k8s_token_check(const char *token, struct err *err) {
    bool is_good = *token && strlen(token) <= TOKEN_BYTES_MAX;
    for (; is_good && *token; token++)
        is_good = *token > ' ' && *token <= '~';
    if (is_good)
        return 0;
    (void)err_set(err, ERR_CONFIG,
                  "the token for Kubernetes is empty, holds a character that no token has, or is longer than %u bytes",
                  TOKEN_BYTES_MAX);
    return err_remedy(err, "give the token as one line, without blanks");
}

int k8s_authorization(const char *token, char **out, struct err *err) {
    int rc = k8s_token_check(token, err);
    if (rc)
        return rc;
    *out = str_format("Authorization: Bearer %s", token);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

struct http_client_options k8s_http_options(const struct k8s_endpoint *endpoint) {
    return (struct http_client_options){.networks = endpoint->networks,
                                        .trust = endpoint->trust,
                                        .client_cert_pem = endpoint->client_cert_pem,
                                        .client_key_pem = endpoint->client_key_pem,
                                        .user_agent = "Harmony-KaaS",
                                        .connect_timeout_ms = endpoint->connect_timeout_ms};
}

int k8s_client_new(const struct k8s_endpoint *endpoint, const char *token, struct k8s_client **out, struct err *err) {
    const struct http_client_options http = k8s_http_options(endpoint);
    _cleanup_(k8s_client_free) struct k8s_client *client = calloc(1, sizeof(*client));
    if (!client)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = k8s_url_check(endpoint->url, &client->base, err);
    if (!rc && token)
        rc = k8s_authorization(token, &client->authorization, err);
    if (rc)
        return rc;
    client->call_timeout_ms = endpoint->call_timeout_ms;
    client->transport = endpoint->transport ? endpoint->transport : http_transport_https();
    rc = client->transport->open(client->transport->arg, &http, &client->conn, err);
    if (!rc)
        *out = STEAL(client);
    return rc;
}

void k8s_client_free(struct k8s_client *client) {
    if (!client)
        return;
    if (client->conn)
        client->transport->close(client->conn);
    secret_free(client->authorization);
    free(client->base);
    free(client);
}

void k8s_client_cancel(struct k8s_client *client) {
    client->transport->cancel(client->conn);
}

/* -- a call -------------------------------------------------------------------------------------------------------- */

void k8s_note_retry_after(void *arg, const char *line, size_t n) {
    unsigned *seconds = arg, told = http_retry_after_s(line, n, K8S_RETRY_MAX_S, K8S_RETRY_MAX_S);
    if (told)
        *seconds = told;
}

const char *k8s_transport_remedy(int code) {
    switch (code) {
    case ERR_TLS: return "compare with the certificate that the API server shows; give the CA of its kubeconfig again";
    case ERR_TIMEOUT: return "see that the cluster's API server is well and that no firewall swallows the packets";
    case ERR_UNREACHABLE: return "see that the API server runs, that its name resolves here, and that no firewall is between";
    default: return "see that the address is that of a Kubernetes API server, and that nothing between answers in its place";
    }
}

struct k8s_head {
    unsigned retry_after_s;
    int64_t date_ms;
};

static void k8s_client_on_header(void *arg, const char *line, size_t n) {
    struct k8s_head *head = arg;
    k8s_note_retry_after(&head->retry_after_s, line, n);
    (void)http_date_ms(line, n, &head->date_ms);
}

int k8s_call(struct k8s_client *client, const struct k8s_call *call, struct strbuf *reply, long *status, struct err *err) {
    _cleanup_free_ char *url = str_format("%s%s", client->base, call->path);
    _cleanup_free_ char *accept = str_format("Accept: %s", call->accept ? call->accept : "application/json");
    _cleanup_free_ char *type = str_format("Content-Type: %s", call->body_type ? call->body_type : "");
    const char *headers[4] = {accept};
    struct k8s_head head = {0};
    struct err why = {0};
    long seen = 0;
    size_t n = 1;
    if (client->authorization)
        headers[n++] = client->authorization;
    if (call->body_type)
        headers[n++] = type;
    if (!url || !accept || !type)
        return err_set(err, ERR_NOMEM, "out of memory");
    const struct http_exchange exchange = {.method = call->method,
                                           .url = url,
                                           .headers = headers,
                                           .body = call->body_type ? call->body->data : NULL,
                                           .body_bytes = call->body_type ? call->body->len : 0,
                                           .timeout_ms = call->timeout_ms ? call->timeout_ms : client->call_timeout_ms,
                                           .reply_max_bytes = call->reply_bytes_max ? call->reply_bytes_max : K8S_REPLY_BYTES_MAX,
                                           .is_once = str_eq(call->method, "POST"),
                                           .on_header = k8s_client_on_header,
                                           .on_header_arg = &head};
    int rc = client->transport->run(client->conn, &exchange, reply, &seen, &why);
    if (status)
        *status = rc ? 0 : seen;
    if (call->date_ms)
        *call->date_ms = head.date_ms;
    if (rc) {
        (void)err_remedy(&why, "%s", k8s_transport_remedy(rc));
        return err_move(err, rc, &why);
    }
    if (seen >= 200 && seen <= 299)
        return 0;
    _cleanup_free_ char *asked = str_format("%s %.*s", call->method, (int)strcspn(call->path, "?"), call->path);
    return k8s_judge(client->base + strlen(K8S_SCHEME), asked ? asked : call->method, seen, reply, head.retry_after_s, err);
}

/* -- answers that are no success ----------------------------------------------------------------------------------- */

/* What an HTTP status means to us, and what an admin does about it. */
static const struct {
    long status;
    int code;
    const char *remedy;
} k8s_verdicts[] = {
    {401, ERR_UNAUTHENTICATED, "give a credential that the cluster takes: a fresh kubeconfig of an administrator"},
    {403, ERR_UPSTREAM_DENIED, "give its account the right that Kubernetes names"},
    {404, ERR_NOT_FOUND, "see that the address is that of a Kubernetes API server, and that the object was not deleted"},
    {409, ERR_CONFLICT, "try again: somebody else has changed the object"},
    {410, ERR_UPSTREAM, "try again: what was asked for is older than the server remembers"},
    {422, ERR_UNPROCESSABLE, "see what the server says of the values"},
    {429, ERR_TOO_MANY, "wait; if it lasts, see which clients of the cluster ask so much"},
};

static void k8s_verdict(long status, const struct k8s_status *said, int *code, const char **remedy) {
    *code = status >= 500 ? ERR_UPSTREAM : ERR_PROTOCOL;
    *remedy = status >= 500 ? "see whether the cluster's API server and etcd are well"
              : status >= 300 && status < 400
                  ? "give the address at which the API server itself answers: redirects are not followed"
                  : k8s_transport_remedy(ERR_PROTOCOL);
    for (size_t i = 0; i < ARRAY_COUNT(k8s_verdicts); i++)
        if (k8s_verdicts[i].status == status) {
            *code = k8s_verdicts[i].code;
            *remedy = k8s_verdicts[i].remedy;
        }
    if (status == 409 && str_eq(said->reason, "AlreadyExists"))
        *code = ERR_EXISTS;
}

int k8s_judge(const char *peer, const char *asked, long status, const struct strbuf *body, unsigned retry_after_s,
              struct err *err) {
    struct k8s_status said;
    struct err why = {0};
    const char *remedy;
    int code;
    k8s_status_read(body->data, body->len, &said);
    k8s_verdict(status, &said, &code, &remedy);
    (void)err_set(&why, code, "Kubernetes at %s answers %ld to %s%s%s", peer, status, asked, said.message[0] ? ": " : "",
                  said.message);
    (void)err_remedy(&why, "%s", remedy);
    if (code == ERR_TOO_MANY)
        why.retry_after_s = retry_after_s ? retry_after_s : said.retry_after_s ? said.retry_after_s : 1;
    return err_move(err, code, &why);
}
