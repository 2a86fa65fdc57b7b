/* What the ways to sign on share: the credential, the word of a vCenter, the token. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api_call.h"
#include "kerberos.h"
#include "net_addr.h"
#include "service_account.h"
#include "uuid.h"

#define SERVICE_PRINCIPAL_BYTES (UUID_TEXT_BYTES + 4)

/* A program that has proved itself with this very request, by a client certificate, a Kerberos ticket or a token. */
struct service_caller {
    char id[UUID_TEXT_BYTES];
    char principal_id[SERVICE_PRINCIPAL_BYTES]; /* "svc:<id>" */
    char name[KAAS_NAME_CHARS_MAX * 4 + 1];
    bool may_delegate;
    int64_t ends_at_ms;                     /* of the credential; wall clock */
    struct service_certificate certificate; /* that it showed; sha256 "" if none */
    bool is_end_news;                       /* until when the certificate is good is not stored yet */
    struct err refusal;                     /* code 0: none; else this is nobody we know, and only `shown` is set */
    char shown[96];                         /* what it came with, for the audit log */
};

/* The feature of a call that signs on. */
struct login {
    const char *secret_member;      /* of the body, the credential; NULL: it came in a header, or there is none */
    const char *user_name;          /* of whom a program speaks; NULL: of nobody */
    struct service_caller *service; /* NULL: no program */
    struct signon_check *check;     /* by a vCenter */
    const char *token;              /* of Kerberos, in base64 */
    bool is_token_noted_later;      /* whoever opens the session notes that it was used */
    struct kerberos_leg *leg;       /* kept from the token before */
    char origin[NET_ORIGIN_BYTES];  /* of the page that gets a one-time code, not a token; "": the token is answered */
};

/* Makes it; first of all, in the handler. ERR_NOMEM. */
int login_begin(struct api_call *call, struct err *err);
struct login *login_of(const struct api_call *call);

/* Answers with the token, which is wiped; `issued` is empty afterwards, also on failure. ERR_NOMEM. */
int login_reply(struct http_response *resp, struct signon_issued *issued, struct err *err);
/* Answers with a one-time code for the session instead: its token is given to nobody. `origin`: of the page that may hand it over; NULL: our own. `issued` is empty
 * afterwards. In a worker. Errors of signon_make_code. */
int login_reply_code(struct api_call *call, struct http_response *resp, struct signon_issued *issued, const char *origin,
                     struct err *err);

/* Has the caller a session? ERR_UNAUTHENTICATED on the admin socket. */
int session_require(const struct api_call *call, struct err *err);

/* -- through a vCenter --------------------------------------------------------------------------------------------------- */

/* Reads the session or ticket of the body, or the header of the vSphere Client. Errors as api_read_members. */
int login_read_credential(struct api_call *call, struct err *err);

/* The session that the vSphere Client gave to a plug-in, out of the header that it came in; NULL: none, or none that one could be. Borrowed from the request;
 * to be asked for anew after a wait. */
const char *login_plugin_session(const struct api_call *call);

/* Sets call->link to a vCenter that is joined. ERR_NOT_FOUND, ERR_AMBIGUOUS, ERR_NOT_REGISTERED. */
int login_use_vcenter(struct api_call *call, const char *reference, struct err *err);

/* What the call has to show that vCenter. Borrowed from the call. */
struct signon_credential login_credential(const struct api_call *call, const char *vcenter_id);

/* Has the vCenter check it, and goes on with `next` in a worker when it has said what it thinks. Who goes away meanwhile gets no session.
 * Returns as a handler. */
int login_check(struct api_call *call, api_handler_fn *next);
/* The same for a `next` that needs nothing but memory: in the thread that brought the word. */
int login_check_briefly(struct api_call *call, api_handler_fn *next);
/* In a worker: a check that nobody is asked about. Errors of signon_check_new. */
int login_make_check(struct api_call *call, struct err *err);
