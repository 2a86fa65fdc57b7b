/* A program that has proved itself with this very request, by a client certificate or a Kerberos ticket. Layer 5 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api_call.h"
#include "service_account.h"
#include "uuid.h"

#define SERVICE_PRINCIPAL_BYTES (UUID_TEXT_BYTES + 4)

struct service_caller {
    char id[UUID_TEXT_BYTES];
    char principal_id[SERVICE_PRINCIPAL_BYTES]; /* "svc:<id>" */
    char name[KAAS_NAME_CHARS_MAX * 4 + 1];
    bool may_delegate;
    int64_t ends_at_ms;                     /* of the proof; wall clock */
    struct service_certificate certificate; /* that it showed; sha256 "" if none */
    bool is_end_news;                       /* until when the certificate is good is not stored yet */
    struct err refusal;                     /* code 0: none; else this is nobody we know, and only `shown` is set */
    char shown[96];                         /* what it came with, for the audit trail */
};

/* Looks at the client certificate. Sets call->service, with a refusal in it if need be; ERR_UNAUTHENTICATED when none was shown. In server threads
 * only. */
int service_caller_by_certificate(struct api_call *call, struct err *err);

/* The same for the owner of a Kerberos ticket that was accepted: "name@REALM", until when. */
int service_caller_by_kerberos(struct api_call *call, const char *principal, int64_t ends_at_ms, struct err *err);

/* The same for the bearer of a token: the session must be a program's own. ERR_UNAUTHENTICATED and the errors of signon_verify_from, with `may_block` (in the
 * lane database) of signon_verify_slow. */
int service_caller_by_token(struct api_call *call, bool may_block, struct err *err);

/* Ends a sign-on with call->service->refusal, in a lane, with a line in the audit trail about `user` (NULL: the program itself). */
int service_caller_refuse(struct api_call *call, struct http_response *resp, struct err *err);

/* Is this the name of a user as vCenters store it? ERR_UNPROCESSABLE. */
int service_caller_check_user(const char *name, struct err *err);

/* True if the program may act for people; else the refusal is set. */
bool service_caller_may_delegate(struct api_call *call);
