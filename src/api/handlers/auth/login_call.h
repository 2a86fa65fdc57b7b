/* Shared by the endpoints that sign on: credential, check by a vCenter, token. Layer 6 (api); private to this folder.
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

/* A program that has proved its identity with this request, by a client certificate, a Kerberos ticket or a token. */
struct service_caller {
    char id[UUID_TEXT_BYTES];
    char principal_id[SERVICE_PRINCIPAL_BYTES]; /* "svc:<id>" */
    char name[KAAS_NAME_CHARS_MAX * 4 + 1];
    bool may_delegate;
    int64_t ends_at_ms;                     /* of the credential; wall clock */
    struct service_certificate certificate; /* its client certificate; sha256 "": none */
    bool is_end_news;                       /* the end of the certificate's validity is not stored yet */
    struct err refusal;                     /* why the program is not known, only `shown` is set then; code 0: it is known */
    char shown[96];                         /* the credential that it showed, for the audit log */
};

/* The feature of a call that signs on. */
struct login {
    const char *secret_member;      /* body member with the credential; NULL: it came in a header, or there is none */
    const char *user_name;          /* the user for whom a program acts; NULL: none */
    struct service_caller *service; /* NULL: no program */
    struct signon_check *check;     /* the check by a vCenter */
    const char *token;              /* Kerberos token, in base64 */
    bool is_token_noted_later;      /* whoever opens the session stores that the token was used */
    struct kerberos_leg *leg;       /* kept from the token before, on the same connection */
    char origin[NET_ORIGIN_BYTES];  /* of the page that gets a one-time code instead of a token; "": the token is answered */
};

/* Makes the call's struct login; a handler calls it first. ERR_NOMEM. */
int login_begin(struct api_call *call, struct err *err);
struct login *login_of(const struct api_call *call);

/* Answers with the token, which is wiped; `issued` is empty afterwards, also on failure. ERR_NOMEM. */
int login_reply(struct http_response *resp, struct signon_issued *issued, struct err *err);
/* Answers with a one-time code for the session instead of its token. `origin`: of the page that may hand the code over; NULL: our own. `issued` is empty
 * afterwards. In a worker pool. Errors of signon_make_code. */
int login_reply_code(struct api_call *call, struct http_response *resp, struct signon_issued *issued, const char *origin,
                     struct err *err);

/* Checks that the caller has a session. ERR_UNAUTHENTICATED on the admin socket. */
int session_require(const struct api_call *call, struct err *err);

/* -- through a vCenter --------------------------------------------------------------------------------------------------- */

/* Reads and checks the vCenter credential: session or ticket of the body, or the header of the vSphere Client. Errors as api_read_members. */
int login_read_credential(struct api_call *call, struct err *err);

/* The header with the session that the vSphere Client gave to a plug-in; NULL: none, or not of its form. Borrowed from the request; call it again after a
 * wait. */
const char *login_plugin_session(const struct api_call *call);

/* Sets call->link to the vCenter that `reference` names, if we are registered with it. ERR_NOT_FOUND, ERR_AMBIGUOUS, ERR_NOT_REGISTERED. */
int login_use_vcenter(struct api_call *call, const char *reference, struct err *err);

/* The credential of the call for that vCenter. Borrowed from the call. */
struct signon_credential login_credential(const struct api_call *call, const char *vcenter_id);

/* Has the vCenter check the call's credential, and continues with `next` in a worker pool when that is done. A client that goes away meanwhile gets no
 * session. Returns as a handler. */
int login_check(struct api_call *call, api_handler_fn *next);
/* As login_check, for a `next` that needs only memory: it runs in the thread that has the vCenter's answer. */
int login_check_briefly(struct api_call *call, api_handler_fn *next);
/* Makes the check of the call's credential without beginning it. In a worker pool. Errors of signon_check_new. */
int login_make_check(struct api_call *call, struct err *err);
