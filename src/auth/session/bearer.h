/* Presented tokens. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "err.h"
#include "live_session.h"
#include "token.h"

struct signon;
struct signon_issued;

/* What a presented token stands for. */
struct signon_bearer {
    struct live_session *session; /* one reference for the caller */
    char jti[37];
    int64_t token_expires_at_ms; /* wall clock */
};
void signon_bearer_done(struct signon_bearer *bearer); /* NULL is allowed */

/* Verifies a token and finds its session in memory. Does not block. ERR_UNAUTHENTICATED, ERR_TOKEN_EXPIRED, ERR_SESSION_ENDED; a session that
 * is not known here (another replica's, just made) gives ERR_NOT_FOUND: call signon_verify_slow in a worker then. What a flood of bad tokens from an
 * address may cost is bounded: ERR_TOO_MANY with retry_after_s. NULL, in tests: no address, no bound. */
int signon_verify_from(struct signon *signon, const char *address, const char *token, struct signon_bearer *out, struct err *err);
int signon_verify_slow(struct signon *signon, const char *token, struct signon_bearer *out, struct err *err);

/* The next token of the session. `jti` is the one of the presented token. Blocks. ERR_SESSION_ENDED when the token was used after
 * its grace: the whole session is revoked then; also when the vCenter session behind it has ended. ERR_RIGHTS_UNKNOWN when only grace
 * would be left of the rights. */
int signon_refresh(struct signon *signon, const char *sid, const char *jti, struct signon_issued *out, struct err *err);
