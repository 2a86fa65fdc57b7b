/* What the ways to sign on share: the credential, the word of a vCenter, Kerberos, programs, the token. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api_call.h"
#include "kerberos.h"
#include "service_account.h"
#include "uuid.h"

#define SERVICE_PRINCIPAL_BYTES (UUID_TEXT_BYTES + 4)
#define LOGIN_USER_BYTES_MAX 512

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
};

/* Makes it; first of all, in the handler. ERR_NOMEM. */
int login_begin(struct api_call *call, struct err *err);
struct login *login_of(const struct api_call *call);

/* Answers with the token, which is wiped; `grant` is empty afterwards, also on failure. ERR_NOMEM. */
int login_reply(struct http_response *resp, struct signon_issued *issued, struct err *err);

/* -- through a vCenter --------------------------------------------------------------------------------------------------- */

/* Reads the session or ticket of the body, or the header of the vSphere Client. Errors as api_read_members. */
int login_read_credential(struct api_call *call, struct err *err);

/* Sets call->link to a vCenter that is joined. ERR_NOT_FOUND, ERR_AMBIGUOUS, ERR_NOT_REGISTERED. */
int login_use_vcenter(struct api_call *call, const char *reference, struct err *err);

/* What the call has to show that vCenter. Borrowed from the call. */
struct signon_credential login_credential(const struct api_call *call, const char *vcenter_id);

/* Has the vCenter check it, and goes on with `next` in a worker when it has said what it thinks. Who goes away meanwhile gets no session.
 * Returns as a handler. */
int login_check(struct api_call *call, api_handler_fn *next);
/* In a worker: a check that nobody is asked about. Errors of signon_check_new. */
int login_make_check(struct api_call *call, struct err *err);

/* -- by Kerberos --------------------------------------------------------------------------------------------------------- */

/* The scheme Negotiate is what this endpoint speaks. */
void login_negotiate(struct api_call *call);

/* In the handler: as login_negotiate, and finds the token, in header or body. ERR_UNAUTHENTICATED when there is none, which is how a client asks
 * for the scheme; ERR_NOT_FOUND without Kerberos; ERR_INVALID; as api_read_members. */
int login_negotiate_read(struct api_call *call, struct err *err);

/* In a worker: accepts the token, and writes log and audit log if it is refused. Errors of kerberos_accept; ERR_UNAUTHENTICATED when another token has to follow. *peer
 * (uninitialised) is freed by kerberos_peer_done in any case. */
int login_negotiate_accept(struct api_call *call, struct kerberos_peer *peer, struct err *err);

/* The reason of a refusal that comes after the token was accepted, for log and audit log. */
void login_negotiate_refuse(struct api_call *call, struct kerberos_peer *peer, const char *reason, int rc);

/* The same where the audit log has its line already. */
void login_negotiate_tell(struct api_call *call, struct kerberos_peer *peer, const char *reason);

/* -- programs ------------------------------------------------------------------------------------------------------------ */

/* Looks at the client certificate. Sets the program, with a refusal in it if need be; ERR_UNAUTHENTICATED when none was shown. In server threads
 * only. */
int login_service_by_certificate(struct api_call *call, struct err *err);

/* The same for the owner of a Kerberos ticket that was accepted: "name@REALM", until when. */
int login_service_by_kerberos(struct api_call *call, const char *principal, int64_t ends_at_ms, struct err *err);

/* The same for the bearer of a token: the session must be a program's own. ERR_UNAUTHENTICATED and the errors of signon_verify_from, with `may_block` (in the
 * worker pool database) of signon_verify_slow. */
int login_service_by_token(struct api_call *call, bool may_block, struct err *err);

/* Ends a sign-on with the program's refusal, in a worker, with a line in the audit log about `user_name` (NULL: the program itself). */
int login_service_refuse(struct api_call *call, struct http_response *resp, struct err *err);

/* Is this the name of a user as vCenters store it? ERR_UNPROCESSABLE. */
int login_service_check_user(const char *name, struct err *err);

/* True if the program may act for people; else the refusal is set. */
bool login_service_may_delegate(struct api_call *call);
