/* The REST API of HX Connect, the management of one HyperFlex (HX) cluster: tokens, and what the cluster says of itself. Layer 2 (hx).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: Cisco HyperFlex developer pages (authentication) and the Data Platform Administration Guide 5.5 (AAA Authentication REST API).
 * HX allows 5 logins in 15 minutes and 8 tokens a user, shared with the people who use HX Connect, and locks the account for 120 s after 10 failures in
 * a row: a caller of hx_login must hold a lease and count its logins. Nothing here logs in by itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "http_client.h"
#include "hx_connection.h"
#include "strbuf.h"

struct hx_client;

struct hx_options {
    const char *address;               /* host name or IP address of the management, without scheme or port; copied */
    unsigned port;                     /* 0: 443 */
    struct http_trust trust;           /* copied; exactly one of the two */
    const struct net_policy *networks; /* in which the address may be; outlives the client; NULL: anywhere */
    long connect_timeout_ms, call_timeout_ms;
    const struct http_transport *transport; /* NULL: HTTPS by libcurl */
};
/* Makes a client with one connection that is kept alive; one thread at a time. *out is freed by hx_client_free. ERR_CONFIG (bad PEM, bad address),
 * ERR_NOMEM. */
int hx_client_new(const struct hx_options *options, struct hx_client **out, struct err *err);
void hx_client_free(struct hx_client *client); /* NULL is allowed */
CLEANUP_DEFINE(struct hx_client, hx_client_free);
/* Makes a running call of another thread and every later one end with ERR_CANCELED. */
void hx_client_cancel(struct hx_client *client);

#define HX_TOKEN_CHARS_MAX 4096U
#define HX_TOKEN_TYPE_CHARS_MAX 32U
/* What HX gave for a login. Texts malloc'ed; hx_token_done wipes and frees. */
struct hx_token {
    char *access, *refresh;
    char *type; /* "Bearer" */
};
void hx_token_done(struct hx_token *token); /* NULL is allowed */

/* The longest Retry-After of HX that is obeyed, so that a wrong one does not stop the calls for good. */
#define HX_RETRY_MAX_S 3600U

/* Common errors of the calls: those of http_client_run; ERR_PROTOCOL: an answer that is not HX's (status, JSON, members), also a redirect, which is
 * never followed; ERR_TOO_LARGE; ERR_FORBIDDEN: HX answered 403; ERR_TOO_MANY with err->retry_after_s (HX answered 429; 900 if HX names no time, never
 * more than HX_RETRY_MAX_S). No text of an error holds a password or a token. */

/* Logs in by name and password (POST /aaa/v1/auth?grant_type=password, sent at most once); one of the 5 logins in 15 minutes. *out is set on success only.
 * ERR_UNAUTHENTICATED: refused (400, 401, 403), counts towards the lock of the account. ERR_INVALID: name or password is not UTF-8; nothing was sent. */
int hx_login(struct hx_client *client, const char *user, const char *password, struct hx_token *out, struct err *err);
/* Exchanges `token` for a new one without a login (POST /aaa/v1/token?grant_type=refresh, sent at most once). ERR_UNAUTHENTICATED: it is not valid any more
 * (400, 401, 403). *out, which must not be `token`, is set on success only. */
int hx_refresh(struct hx_client *client, const struct hx_token *token, struct hx_token *out, struct err *err);
/* Revokes a token (POST /aaa/v1/revoke), so that it no longer counts among the user's 8. A token that is not valid any more (400, 401) is no error. */
int hx_revoke(struct hx_client *client, const struct hx_token *token, struct err *err);

/* Reads uuid, name, version, nodes, health, capacity, alarms, place in vCenter: seven GETs. ERR_UNAUTHENTICATED: the token is not valid any more;
 * ERR_FORBIDDEN: the user may not read this. A cluster without uuid or name, more than one cluster, and two answers with different uuids are ERR_PROTOCOL;
 * members beside that may be missing, and a reading (about, detail, health, stats, alarms, hypervisor/vcenter) that HX does not have (404) leaves its
 * members unset. *out is set on success only. */
int hx_read(struct hx_client *client, const struct hx_token *token, struct hx_facts *out, struct err *err);

/* Sends a GET of `path` with this token; *status is the HTTP status of the answer, which is not looked at otherwise. For the pilot. */
int hx_lookup_status(struct hx_client *client, const struct hx_token *token, const char *path, long *status, struct err *err);

/* Tell HX where KaaS is (docs/hx-publish.md; PUT /kaas/v1/registration) with the JSON text `body`, or withdraw that (DELETE) with the query `query`
 * ("instance_id=...&nonce=..."). ERR_NOT_FOUND: this HX has no such call (404, 405, 501), which is normal; ERR_UNAUTHENTICATED, ERR_FORBIDDEN: HX refuses
 * us (401, 403). */
int hx_put_registration(struct hx_client *client, const struct hx_token *token, const struct strbuf *body, struct err *err);
int hx_delete_registration(struct hx_client *client, const struct hx_token *token, const char *query, struct err *err);
/* The result for the status of an answer to one of these calls: 0 or the errors above, ERR_TOO_MANY for 429, ERR_PROTOCOL for any other status. `peer` names
 * the server in messages; `retry_after_s` is what hx_note_retry_after has noted. */
int hx_registration_judge(const char *peer, long status, unsigned retry_after_s, struct err *err);
/* An http_exchange.on_header; `arg` points to an unsigned that is 0 at first and gets the seconds of a Retry-After, HX_RETRY_MAX_S at most. */
void hx_note_retry_after(void *arg, const char *line, size_t n);
#define HX_REGISTRATION_PATH "/kaas/v1/registration"
#define HX_REGISTRATION_REPLY_BYTES_MAX (64UL * 1024)
