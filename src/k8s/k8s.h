/* The API of one Kubernetes cluster: calls. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: Kubernetes API concepts (kubernetes.io), k8s.io/apimachinery meta/v1 Status. No redirect is followed, and no proxy of the environment is used. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "http_client.h"
#include "strbuf.h"

#define K8S_REPLY_BYTES_MAX (1024UL * 1024)
#define K8S_RETRY_MAX_S 600U /* the longest Retry-After that is obeyed, so that a wrong one does not stop the calls for good */

/* Where the API server is and how it is trusted. Texts are copied by who takes it. */
struct k8s_endpoint {
    const char *url;                              /* "https://api.prod.example.com:6443"; a path in front of /api is allowed */
    struct http_trust trust;                      /* exactly one of the two */
    const struct net_policy *networks;            /* in which its address may be; outlives the user; NULL: anywhere */
    const char *client_cert_pem, *client_key_pem; /* PEM texts of a client certificate; both or neither */
    long connect_timeout_ms, call_timeout_ms;
    const struct http_transport *transport; /* of calls; NULL: HTTPS by libcurl */
};

/* The URL without a slash at its end, or ERR_CONFIG with a remedy: not https, with user, query or fragment, a host or port that name_check_https_url
 * refuses, a character that no URL has. *out is malloc'ed. Where the host may be is judged when it is connected to (net_policy.h). */
int k8s_url_check(const char *url, char **out, struct err *err);

/* ERR_CONFIG with a remedy for a token that no header holds: empty, too long, or with a character that is not visible ASCII. */
int k8s_token_check(const char *token, struct err *err);

struct k8s_client;

/* Makes a client with one connection that is kept alive; one thread at a time. `token` is sent as Bearer; NULL: none. ERR_CONFIG (URL, PEM, a token with characters
 * that no header holds), ERR_NOMEM. */
int k8s_client_new(const struct k8s_endpoint *endpoint, const char *token, struct k8s_client **out, struct err *err);
void k8s_client_free(struct k8s_client *client); /* wipes the token; NULL is allowed */
CLEANUP_DEFINE(struct k8s_client, k8s_client_free);
/* Makes a running call of another thread and every later one end with ERR_CANCELED. */
void k8s_client_cancel(struct k8s_client *client);

struct k8s_call {
    const char *method;        /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;          /* behind the URL, with its query: "/api/v1/namespaces/kube-system" */
    const char *accept;        /* NULL: "application/json" */
    const char *body_type;     /* media type of the body; NULL: no body */
    const struct strbuf *body; /* with body_type */
    size_t reply_bytes_max;    /* 0: K8S_REPLY_BYTES_MAX */
    long timeout_ms;           /* 0: the endpoint's */
    int64_t *
        date_ms; /* gets the server's clock (wall clock, whole seconds) as its answer tells it, 0: it does not; NULL: nobody asks */
};

/* Sends one call; the body of the answer is appended to `reply`, of whatever answer. *status (NULL: nobody asks) is its HTTP status, 0 if there was none. Only 200 to 299
 * is success; any other is the error that k8s_judge names. Errors beside: those of http_client_run, with a remedy. A POST is sent once at most. */
int k8s_call(struct k8s_client *client, const struct k8s_call *call, struct strbuf *reply, long *status, struct err *err);

/* An answer to `asked` ("GET /api/v1/nodes") of `peer` ("api.example.com:6443") that is not 200 to 299. `body` may hold a Status, whose message, cut at 300 characters,
 * becomes part of the text. `retry_after_s`: of the header; 0: none. ERR_UNAUTHENTICATED (401), ERR_UPSTREAM_DENIED (403), ERR_NOT_FOUND, ERR_EXISTS or ERR_CONFLICT (409),
 * ERR_UNPROCESSABLE (422), ERR_TOO_MANY with err->retry_after_s (429), ERR_UPSTREAM (410, 5xx), ERR_PROTOCOL (redirects and the rest). */
int k8s_judge(const char *peer, const char *asked, long status, const struct strbuf *body, unsigned retry_after_s,
              struct err *err);

/* The remedy for a failed exchange, by its code; static. */
const char *k8s_transport_remedy(int code);
