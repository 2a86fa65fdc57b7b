/* One-time codes: a session is opened for somebody now, and whoever brings the code within a minute gets its token. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HX Connect gives its page such a code instead of a token, and a page gives one to a window of its own: nothing that could be used a second time
 * passes through a foreign page or an address. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"

struct live_session;
struct signon;
struct signon_issued;

#define ONE_TIME_CODE_BYTES 33 /* 128 bits in lower-case hex, and NUL */
#define ONE_TIME_CODE_MS 60000

/* Makes a code for the session `sid`, whose token was given to nobody. `origin` ("https://hx1.example.com"): of the page that may hand it over;
 * NULL: our own page. `out` is a secret, to be wiped. A session for which there is no code in the end is ended. Blocks (database). ERR_NOMEM, errors of the
 * store. */
int signon_make_code(struct signon *signon, const struct actor *actor, const char *sid, const char *origin,
                     char out[ONE_TIME_CODE_BYTES], struct err *err);

/* Opens a second session for who holds this one: the same person, vCenters and end. Blocks (database). Errors of signon_open_session;
 * ERR_SESSION_ENDED. */
int signon_open_twin(struct signon *signon, const struct actor *actor, struct live_session *live, struct signon_issued *out,
                     struct err *err);

/* Gives the token of the session that the code stands for to who brings it; at any replica, once. A code that comes from another page than it was made for is used up,
 * too. The audit log gets a line, "login.code". Blocks (database). ERR_CREDENTIALS. */
int signon_redeem_code(struct signon *signon, const struct actor *actor, const char *code, const char *origin,
                       struct signon_issued *out, struct err *err);

/* -- the refresh cookie ------------------------------------------------------------------------------------------------------- */

/* The same for a browser tab that is loaded again: a secret that the page cannot read, good for as long as the session, which opens a further session at each
 * load and is exchanged by that. The one before goes on for REFRESH_COOKIE_GRACE_MS, since a browser may load several tabs at once. */
#define REFRESH_COOKIE_GRACE_MS 30000

/* Makes one for the session `sid` that lasts until `ends_at_ms`, in place of an earlier one of this session. `out` is a secret, to be wiped. Blocks (database). ERR_NOMEM, errors of the store. */
int signon_make_cookie(struct signon *signon, const char *sid, int64_t ends_at_ms, char out[ONE_TIME_CODE_BYTES],
                       struct err *err);

/* Opens a session as that of the cookie, in place of `replaces`: the sid of an earlier one of the same person, which ends (NULL: of none). Blocks (database).
 * ERR_UNAUTHENTICATED for a cookie that is good for nothing; ERR_CONFLICT where `replaces` is somebody else's, and the cookie stays as it is; else errors of signon_open_twin and signon_refresh. */
int signon_open_by_cookie(struct signon *signon, const struct actor *actor, const char *cookie, const char *replaces,
                          struct signon_issued *out, struct err *err);

/* Ends the session that the cookie stands for, and the cookie with it; nothing is amiss where there is none. Blocks (database). */
int signon_end_by_cookie(struct signon *signon, const struct actor *actor, const char *cookie, struct err *err);

/* The cookie is good for nothing any more; whatever it was. Blocks (database). */
void signon_forget_cookie(struct signon *signon, const char *cookie);
