/* The calls of HX Connect's REST API. Layer 2 (hx).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "hx.h"
#include "clock.h"
#include "hx_decode.h"
#include "json.h"
#include "metric.h"
#include "net_addr.h"
#include "secret.h"
#include "str.h"

#define HX_PORT_DEFAULT 443U
#define HX_PORT_MAX 65535U
#define HX_HOST_CHARS_MAX 253U /* RFC 1035 2.3.4, as text */
#define HX_REPLY_BYTES_MAX (256UL * 1024)
#define HX_ALARMS_BYTES_MAX (1024UL * 1024) /* a cluster in trouble has many, and then it must be readable */
#define HX_BODY_BYTES_MAX (64UL * 1024)
#define HX_CLUSTERS_PATH "/coreapi/v1/clusters"

struct hx_client {
    const struct http_transport *transport;
    void *conn;
    char *base;       /* "https://hx.example.com:443" */
    const char *peer; /* "hx.example.com:443", within it */
    long call_timeout_ms;
};

/* -- the client -------------------------------------------------------------------------------------------------------------- */

/* Nothing that could end the host's part of a URL. */
static bool hx_is_address(const char *address) {
    uint8_t bytes[16];
    const size_t n = address ? strlen(address) : 0;
    if (net_addr_parse(address, bytes))
        return true;
    return n > 0 && n <= HX_HOST_CHARS_MAX &&
           strspn(address, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == n;
}

int hx_client_new(const struct hx_options *options, struct hx_client **out, struct err *err) {
    const struct http_client_options http = {.networks = options->networks,
                                             .trust = options->trust,
                                             .user_agent = "Harmony-KaaS",
                                             .connect_timeout_ms = options->connect_timeout_ms};
    const unsigned port = options->port ? options->port : HX_PORT_DEFAULT;
    _cleanup_(hx_client_free) struct hx_client *client = NULL;
    int rc;
    if (!hx_is_address(options->address) || port > HX_PORT_MAX) {
        (void)err_set(err, ERR_CONFIG, "the address of HX Connect is not a host name or IP address, or its port is none");
        return err_remedy(err, "give the management address of the HX cluster, without https:// and without a path");
    }
    const bool is_v6 = strchr(options->address, ':') != NULL;
    client = calloc(1, sizeof(*client));
    if (!client)
        return err_set(err, ERR_NOMEM, "out of memory");
    client->base = str_format(is_v6 ? "https://[%s]:%u" : "https://%s:%u", options->address, port);
    if (!client->base)
        return err_set(err, ERR_NOMEM, "out of memory");
    client->peer = client->base + strlen("https://");
    client->call_timeout_ms = options->call_timeout_ms;
    client->transport = options->transport ? options->transport : http_transport_https();
    rc = client->transport->open(client->transport->arg, &http, &client->conn, err);
    if (rc)
        return err_remedy(err, "give a CA in PEM, or the SHA-256 of the certificate of HX Connect at %s", client->peer);
    *out = STEAL(client);
    return 0;
}

void hx_client_free(struct hx_client *client) {
    if (!client)
        return;
    if (client->conn)
        client->transport->close(client->conn);
    free(client->base);
    free(client);
}

void hx_client_cancel(struct hx_client *client) {
    client->transport->cancel(client->conn);
}

/* -- asking ------------------------------------------------------------------------------------------------------------------ */

struct hx_question {
    const char *method, *path;
    const char *header;        /* beside Accept */
    const char *authorization; /* a further one, only with `header`; NULL: none */
    const struct strbuf *body; /* NULL: none */
    size_t reply_bytes_max;
    bool is_once;
};

static const char *hx_transport_remedy(int rc) {
    switch (rc) {
    case ERR_TLS:
        return "compare the certificate with the one that HX Connect shows in a browser, then give its CA or SHA-256 again";
    case ERR_TIMEOUT: return "see that HX Connect opens in a browser and is not overloaded";
    case ERR_UNREACHABLE:
        return "see that HX Connect opens in a browser, that its name resolves here, and that no firewall is between";
    default: return "see that the address is that of HX Connect, and that nothing between answers in its place";
    }
}

void hx_note_retry_after(void *arg, const char *line, size_t n) {
    unsigned *retry_after_s = arg, seconds = hx_decode_retry_after(line, n);
    if (seconds)
        *retry_after_s = seconds;
}

static int hx_limited(const char *peer, unsigned retry_after_s, struct err *err) {
    const unsigned wait_s = retry_after_s ? retry_after_s : HX_RETRY_DEFAULT_S;
    struct err why = {0};
    (void)err_set(&why, ERR_TOO_MANY, "HX Connect at %s has been asked too often (429)", peer);
    (void)err_remedy(&why, "wait %u s; HX allows 5 logins in 15 minutes, those of people in HX Connect counted, too", wait_s);
    why.retry_after_s = wait_s;
    return err_move(err, why.code, &why);
}

/* What a path is for, without query and ids. */
static const char *hx_operation(const char *path) {
    static const struct {
        const char *path, *word;
    } operations[] = {{"/aaa/v1/auth", "login"},
                      {"/aaa/v1/token", "refresh"},
                      {"/aaa/v1/revoke", "revoke"},
                      {HX_REGISTRATION_PATH, "registration"},
                      {HX_CLUSTERS_PATH, "read"}};
    for (size_t i = 0; i < ARRAY_COUNT(operations); i++)
        if (str_starts(path, operations[i].path))
            return operations[i].word;
    return "other";
}

/* One exchange. Redirects and limits are the same whatever was asked; any other status is for the caller. */
static int hx_ask(struct hx_client *client, const struct hx_question *q, struct strbuf *reply, long *status, struct err *err) {
    _cleanup_free_ char *url = str_format("%s%s", client->base, q->path);
    const char *const headers[] = {"Accept: application/json", q->header, q->authorization, NULL};
    unsigned retry_after_s = 0;
    struct err why = {0};
    const struct http_exchange exchange = {.method = q->method,
                                           .url = url,
                                           .headers = headers,
                                           .body = q->body ? q->body->data : NULL,
                                           .body_bytes = q->body ? q->body->len : 0,
                                           .timeout_ms = client->call_timeout_ms,
                                           .reply_max_bytes = q->reply_bytes_max,
                                           .is_once = q->is_once,
                                           .on_header = hx_note_retry_after,
                                           .on_header_arg = &retry_after_s};
    if (!url)
        return err_set(err, ERR_NOMEM, "out of memory");
    const int64_t began_ms = clock_mono_ms();
    int rc = client->transport->run(client->conn, &exchange, reply, status, &why);
    metric_observe(metric_get(METRIC_HX_CALL, hx_operation(q->path)), clock_mono_ms() - began_ms);
    if (rc) {
        metric_add(metric_get(METRIC_HX_CALL_FAILURES, err_slug(rc)), 1);
        (void)err_remedy(&why, "%s", hx_transport_remedy(rc));
        return err_move(err, rc, &why);
    }
    if (*status >= 300 && *status < 400) {
        (void)err_set(err, ERR_PROTOCOL, "HX Connect at %s answers %ld and sends us elsewhere", client->peer, *status);
        return err_remedy(err, "give the address at which HX Connect itself answers: redirects are not followed");
    }
    return *status == 429 ? hx_limited(client->peer, retry_after_s, err) : 0;
}

/* A status that the call does not expect. */
static int hx_refused(const struct hx_client *client, const char *path, long status, struct err *err) {
    switch (status) {
    case 401:
        (void)err_set(err, ERR_UNAUTHENTICATED, "HX Connect at %s does not take the token any more (401)", client->peer);
        return err_remedy(err, "log in to it again");
    case 403:
        (void)err_set(err, ERR_FORBIDDEN, "HX Connect at %s refuses %s (403)", client->peer, path);
        return err_remedy(err, "use an HX account that may read the cluster, such as local/admin");
    default: (void)err_set(err, ERR_PROTOCOL, "HX Connect at %s answers %ld to %s", client->peer, status, path);
    }
    if (status >= 500)
        return err_remedy(err, "see in HX Connect whether the cluster and its management are well");
    return err_remedy(err, "%s", hx_transport_remedy(ERR_PROTOCOL));
}

static int hx_misread(const struct hx_client *client, const char *path, const struct err *why, struct err *err) {
    (void)err_set(err, why->code, "the answer of HX Connect at %s to %s cannot be used: %s", client->peer, path, why->text);
    return err_remedy(err, "%s", hx_transport_remedy(ERR_PROTOCOL));
}

/* -- tokens ------------------------------------------------------------------------------------------------------------------ */

/* Sends `body`, an object of texts, which are wiped. */
static int hx_post(struct hx_client *client, const char *path, bool is_once, json_t *body, struct strbuf *reply, long *status,
                   struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    const struct hx_question question = {.method = "POST",
                                         .path = path,
                                         .header = "Content-Type: application/json",
                                         .body = &text,
                                         .reply_bytes_max = HX_REPLY_BYTES_MAX,
                                         .is_once = is_once};
    const char *name;
    json_t *member;
    strbuf_init_secret(&text, HX_BODY_BYTES_MAX);
    int rc = json_write(body, &text, err);
    json_object_foreach (body, name, member)
        json_wipe_string(member);
    return rc ? rc : hx_ask(client, &question, reply, status, err);
}

/* What is sent for a token, and what it means that HX does not give one. */
struct hx_token_call {
    const char *path, *refusal, *remedy;
};

/* Both calls give a token that counts among the user's eight, so neither may arrive twice. */
static int hx_take_token(struct hx_client *client, const struct hx_token_call *call, json_t *body, struct hx_token *out,
                         struct err *err) {
    _cleanup_strbuf_ struct strbuf reply;
    struct err why = {0};
    long status = 0;
    strbuf_init_secret(&reply, HX_REPLY_BYTES_MAX);
    int rc = hx_post(client, call->path, true, body, &reply, &status, err);
    if (rc)
        return rc;
    if (status == 400 || status == 401 || status == 403) {
        (void)err_set(err, ERR_UNAUTHENTICATED, "HX Connect at %s %s (%ld)", client->peer, call->refusal, status);
        return err_remedy(err, "%s", call->remedy);
    }
    if (status != 200 && status != 201)
        return hx_refused(client, call->path, status, err);
    rc = hx_decode_token(reply.data, reply.len, out, &why);
    return rc ? hx_misread(client, call->path, &why, err) : 0;
}

int hx_login(struct hx_client *client, const char *user, const char *password, struct hx_token *out, struct err *err) {
    static const struct hx_token_call call = {
        "/aaa/v1/auth?grant_type=password", "does not accept the user and the password",
        "check both in HX Connect (a local user is local/NAME); 10 failures in a row lock the account for 120 s. If HX Connect takes them, "
        "this release may want a client_id, which is not sent: tell the developers"};
    _cleanup_json_ json_t *body = json_object();
    /* anything put in the place of the bytes that JSON cannot carry would be another password, and would count as a failure */
    if (str_utf8_chars(user, strlen(user)) < 0 || str_utf8_chars(password, strlen(password)) < 0) {
        (void)err_set(err, ERR_INVALID, "the user or the password for HX Connect at %s is not valid UTF-8", client->peer);
        return err_remedy(err, "give both in UTF-8");
    }
    json_put_string(body, "username", user);
    json_put_string(body, "password", password);
    return hx_take_token(client, &call, body, out, err);
}

static json_t *hx_token_json(const struct hx_token *token) {
    json_t *body = json_object();
    json_put_string(body, "access_token", token->access);
    json_put_string(body, "refresh_token", token->refresh);
    json_put_string(body, "token_type", token->type);
    return body;
}

int hx_refresh(struct hx_client *client, const struct hx_token *token, struct hx_token *out, struct err *err) {
    static const struct hx_token_call call = {"/aaa/v1/token?grant_type=refresh", "gives no other token for the one that is held",
                                              "log in to it again"};
    _cleanup_json_ json_t *body = hx_token_json(token);
    return hx_take_token(client, &call, body, out, err);
}

int hx_revoke(struct hx_client *client, const struct hx_token *token, struct err *err) {
    static const char path[] = "/aaa/v1/revoke";
    _cleanup_json_ json_t *body = hx_token_json(token);
    _cleanup_strbuf_ struct strbuf reply;
    long status = 0;
    strbuf_init_secret(&reply, HX_REPLY_BYTES_MAX);
    int rc = hx_post(client, path, false, body, &reply, &status, err);
    if (rc)
        return rc;
    if (status == 200 || status == 201 || status == 400 || status == 401)
        return 0;
    return hx_refused(client, path, status, err);
}

/* The header by which a token is shown. `out` is uninitialised, and the caller's to free in any case. */
static int hx_authorize(const struct hx_token *token, struct strbuf *out, struct err *err) {
    strbuf_init_secret(out, HX_TOKEN_CHARS_MAX + HX_TOKEN_TYPE_CHARS_MAX + sizeof("Authorization:  "));
    strbuf_addf(out, "Authorization: %s %s", token->type, token->access);
    return strbuf_check(out, "token", err);
}

/* -- reading ----------------------------------------------------------------------------------------------------------------- */

/* Where an answer is asked for. Caller frees; NULL without memory. */
static char *hx_path_of(enum hx_answer answer, const char *uuid) {
    static const char *const below[HX_ANSWERS_COUNT] = {
        [HX_ANSWER_ABOUT] = "about", [HX_ANSWER_DETAIL] = "detail", [HX_ANSWER_HEALTH] = "health",
        [HX_ANSWER_STATS] = "stats", [HX_ANSWER_ALARMS] = "alarms",
    };
    if (answer == HX_ANSWER_CLUSTERS)
        return str_dup(HX_CLUSTERS_PATH);
    if (answer == HX_ANSWER_VCENTER)
        return str_dup("/coreapi/v1/hypervisor/vcenter");
    /* digits and one colon, as the decoder of the list has checked */
    const char *colon = strchr(uuid, ':');
    return str_format(HX_CLUSTERS_PATH "/%.*s%%3A%s/%s", (int)(colon - uuid), uuid, colon + 1, below[answer]);
}

static int hx_read_one(struct hx_client *client, const char *authorization, enum hx_answer answer, struct hx_facts *facts,
                       struct err *err) {
    const size_t max = answer == HX_ANSWER_ALARMS ? HX_ALARMS_BYTES_MAX : HX_REPLY_BYTES_MAX;
    _cleanup_free_ char *path = hx_path_of(answer, facts->uuid);
    const struct hx_question question = {.method = "GET", .path = path, .header = authorization, .reply_bytes_max = max};
    _cleanup_strbuf_ struct strbuf reply;
    struct err why = {0};
    long status = 0;
    strbuf_init(&reply, max);
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = hx_ask(client, &question, &reply, &status, err);
    if (rc)
        return rc;
    if (status == 404 && answer != HX_ANSWER_CLUSTERS)
        return 0;
    if (status != 200)
        return hx_refused(client, path, status, err);
    rc = hx_decode_facts(answer, reply.data, reply.len, facts, &why);
    return rc ? hx_misread(client, path, &why, err) : 0;
}

int hx_read(struct hx_client *client, const struct hx_token *token, struct hx_facts *out, struct err *err) {
    _cleanup_done_(hx_facts_done) struct hx_facts facts = HX_FACTS_NONE;
    _cleanup_strbuf_ struct strbuf authorization;
    int rc = hx_authorize(token, &authorization, err);
    bool is_slow = false;
    for (int answer = 0; !rc && answer < HX_ANSWERS_COUNT; answer++) {
        struct err why = {0};
        rc = hx_read_one(client, authorization.data, (enum hx_answer)answer, &facts, &why);
        if (rc == ERR_TIMEOUT && answer != HX_ANSWER_CLUSTERS && !is_slow) { /* a second one: it is HX that does not answer */
            is_slow = true;
            rc = 0;
        }
        if (rc)
            (void)err_move(err, rc, &why);
    }
    if (rc)
        return rc;
    *out = facts;
    facts = HX_FACTS_NONE;
    return 0;
}

int hx_lookup_status(struct hx_client *client, const struct hx_token *token, const char *path, long *status, struct err *err) {
    _cleanup_strbuf_ struct strbuf authorization, reply;
    struct hx_question question = {.method = "GET", .path = path, .reply_bytes_max = HX_REPLY_BYTES_MAX};
    strbuf_init(&reply, HX_REPLY_BYTES_MAX);
    int rc = hx_authorize(token, &authorization, err);
    question.header = authorization.data;
    return rc ? rc : hx_ask(client, &question, &reply, status, err);
}

/* -- where KaaS is ------------------------------------------------------------------------------------------------------------- */

int hx_registration_judge(const char *peer, long status, unsigned retry_after_s, struct err *err) {
    switch (status) {
    case 200:
    case 201:
    case 204: return 0;
    case 404:
    case 405:
    case 501: return err_set(err, ERR_NOT_FOUND, "HX Connect at %s has no " HX_REGISTRATION_PATH " (%ld)", peer, status);
    case 401:
        (void)err_set(err, ERR_UNAUTHENTICATED, "HX Connect at %s does not believe who tells it where KaaS is (401)", peer);
        return err_remedy(err, "see in HX Connect's log which proof it wants (" DOC_PAGE("hx-publish.md") ")");
    case 403:
        (void)err_set(err, ERR_FORBIDDEN, "HX Connect at %s does not let us tell it where KaaS is (403)", peer);
        return err_remedy(
            err, "see in HX Connect's log why; its vCenter must have our record, with the address and certificate of now");
    case 429: return hx_limited(peer, retry_after_s, err);
    default:
        (void)err_set(err, ERR_PROTOCOL, "HX Connect at %s answers %ld to " HX_REGISTRATION_PATH, peer, status);
        return err_remedy(err, status >= 500 ? "see in HX Connect whether the cluster and its management are well"
                                             : "see in HX Connect's log why it answers so (" DOC_PAGE("hx-publish.md") ")");
    }
}

static int hx_register(struct hx_client *client, const struct hx_token *token, struct hx_question *question, struct err *err) {
    _cleanup_strbuf_ struct strbuf authorization, reply;
    long status = 0;
    strbuf_init(&reply, HX_REGISTRATION_REPLY_BYTES_MAX);
    int rc = hx_authorize(token, &authorization, err);
    question->header = question->body ? "Content-Type: application/json" : authorization.data;
    question->authorization = question->body ? authorization.data : NULL;
    question->reply_bytes_max = HX_REGISTRATION_REPLY_BYTES_MAX;
    if (!rc)
        rc = hx_ask(client, question, &reply, &status, err);
    return rc ? rc : hx_registration_judge(client->peer, status, 0, err);
}

int hx_put_registration(struct hx_client *client, const struct hx_token *token, const struct strbuf *body, struct err *err) {
    struct hx_question question = {.method = "PUT", .path = HX_REGISTRATION_PATH, .body = body};
    return hx_register(client, token, &question, err);
}

int hx_delete_registration(struct hx_client *client, const struct hx_token *token, const char *query, struct err *err) {
    _cleanup_free_ char *path = str_format(HX_REGISTRATION_PATH "?%s", query);
    struct hx_question question = {.method = "DELETE", .path = path};
    return path ? hx_register(client, token, &question, err) : err_set(err, ERR_NOMEM, "out of memory");
}
