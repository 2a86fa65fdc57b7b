/* The REST interface of kaasd as kaasctl uses it: over the admin socket, or by https with a sign-on. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "json.h"
#include "strbuf.h"

struct cli_client;

/* Where kaasd is. Either the socket, or the URL. Texts are copied. */
struct cli_client_options {
    const char *unix_socket;
    const char *server;  /* "https://host:port" */
    const char *ca_file; /* with `server`: PEM file of the CA; NULL: ca_pem */
    const char *ca_pem;  /* PEM text of the CA; both NULL: the system's authorities */
    int64_t ends_at_ms;  /* all calls end at this time of clock_mono_ms; 0: each call has only its own time limit */
};

/* Makes a client; connects to nothing yet. ERR_INVALID (URL), ERR_IO (CA file), ERR_CONFIG. Freed by cli_client_free. */
int cli_client_new(const struct cli_client_options *options, struct cli_client **out, struct err *err);

/* Signs out if signed in, unless the token is kept, and frees. NULL is allowed. */
void cli_client_free(struct cli_client *client);
CLEANUP_DEFINE(struct cli_client, cli_client_free);

/* The account that signs in; `source` is NULL for accounts of kaasd, or "vcenter:NAME". */
struct cli_account {
    const char *user;
    const char *password;
    const char *source;
};

/* Signs in by name and password; the token stays in memory. Errors of cli_client_call. */
int cli_client_sign_in(struct cli_client *client, const struct cli_account *account, struct err *err);

/* Exchanges the token of the sign-on for a new one before it ends; does nothing without a sign-on. Errors of cli_client_call. */
int cli_client_renew(struct cli_client *client, struct err *err);

/* -- a login that is kept: {token, token_ends_at_ms, refresh_token, session_id, session_expires_at} -- */

/* After cli_client_sign_in: keeps the session alive after this program ends, and puts the members of a kept login into `login`. Errors of cli_client_call. */
int cli_client_keep(struct cli_client *client, json_t *login, struct err *err);

/* Uses the token of a kept login from now on; the session is not ended with the client. ERR_NOMEM. */
int cli_client_use(struct cli_client *client, const json_t *login, struct err *err);

/* Exchanges the refresh token of a kept login for a new one and a new token, which replace those in `login` and are used from now on. ERR_SESSION_ENDED
 * if the login has ended; errors of cli_client_call. */
int cli_client_refresh(struct cli_client *client, json_t *login, struct err *err);

/* Ends the session of a kept login. Errors of cli_client_call. */
int cli_client_end(struct cli_client *client, const json_t *login, struct err *err);

/* Sets a function that gets another token when kaasd refuses the present one: cli_client_call calls it at most once for each call, and sends the call again. */
typedef int cli_renew_fn(void *arg, struct err *err);
void cli_client_on_refused(struct cli_client *client, cli_renew_fn *renew, void *arg);

#define CLI_CURSOR_BYTES 65

/* One call. */
struct cli_request {
    const char *method;
    const char *path;          /* with query, encoded: see cli_path_add */
    json_t *body;              /* borrowed; NULL: none */
    const struct strbuf *text; /* body that is no JSON, instead of `body`; NULL: none */
    const char *text_type;     /* media type of `text` */
    char *watch_cursor;        /* gets the KaaS-Watch-Cursor of the answer (CLI_CURSOR_BYTES) if there is one; NULL: not wanted */
    struct strbuf *reply;      /* gets the answer as it is, in place of *out; NULL: the answer is JSON for *out */
    const char *const *headers; /* further header lines, ended by NULL; NULL: none */
    bool is_merge_patch;
};

/* Runs a call; *out is the answer, freed by json_decref, or NULL if it has no body (the answer to a GET must have one, unless watch_cursor is given); `out` may
 * be NULL. A problem document of the server becomes an error with the server's code. ERR_UNAVAILABLE if kaasd cannot be reached; ERR_PROTOCOL if the answer is
 * not one of kaasd. */
int cli_client_call(struct cli_client *client, const struct cli_request *request, json_t **out, struct err *err);

/* Gets the first `wanted` items of a list, by as many pages as that takes; *is_more tells that the list has more. *items is an array, freed by
 * json_decref. */
int cli_client_list(struct cli_client *client, const char *path, size_t wanted, json_t **items, bool *is_more, struct err *err);

/* True if the time for all calls (ends_at_ms) is over. */
bool cli_client_is_out_of_time(const struct cli_client *client);

/* Why the last answer is stale, as its header KaaS-Stale says ("database, vcenter"); "" if it is not. Borrowed. */
const char *cli_client_stale(const struct cli_client *client);

/* The problem document behind the last error of a call, or NULL. Borrowed until the next call. */
const json_t *cli_client_problem(const struct cli_client *client);

/* Appends "?name=value", or "&..." if there is a query already, percent-encoded (RFC 3986). A NULL value appends nothing. */
void cli_path_add_query(struct strbuf *path, const char *name, const char *value);

/* Appends a percent-encoded part of a path. */
void cli_path_add(struct strbuf *path, const char *part);
