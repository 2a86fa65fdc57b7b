/* One-time codes: a session is opened now, and whoever presents the code within a minute gets its token. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * HX Connect gives its page such a code instead of a token, and a page gives one to a window of its own: nothing that could be used a second time passes
 * through a foreign page or a URL. */
#pragma once

#include <stdint.h>

#include "err.h"
#include "principal.h"

struct live_session;
struct signon;
struct signon_issued;

#define ONE_TIME_CODE_BYTES 33 /* 128 bits in lower-case hex, and NUL */
#define ONE_TIME_CODE_MS 60000

/* Makes a code for the session `sid`, whose token nobody has got. `origin` ("https://hx1.example.com"): of the page that may hand the code over; NULL: our
 * own page. `out` is a secret: wipe it. If no code can be made the session is ended. Blocks (database). ERR_NOMEM, errors of the store. */
int signon_make_code(struct signon *signon, const struct actor *actor, const char *sid, const char *origin,
                     char out[ONE_TIME_CODE_BYTES], struct err *err);

/* Opens a second session for the person of `live`: with the same vCenters and the same end. Blocks (database). Errors of signon_open_session;
 * ERR_SESSION_ENDED. */
int signon_open_twin(struct signon *signon, const struct actor *actor, struct live_session *live, struct signon_issued *out,
                     struct err *err);

/* Gives whoever presents the code the token of its session; at any replica, once. A code with another `origin` than it was made for is used up, too. The
 * audit log gets a line, "login.code". Blocks (database). ERR_CREDENTIALS. */
int signon_redeem_code(struct signon *signon, const struct actor *actor, const char *code, const char *origin,
                       struct signon_issued *out, struct err *err);

/* -- the refresh cookie ------------------------------------------------------------------------------------------------------- */

/* The refresh cookie lets a reloaded browser tab go on: a secret that the page cannot read, valid as long as its session. Each load opens a further session
 * with it and gets a new cookie; the old one stays valid for REFRESH_COOKIE_GRACE_MS, since a browser may load several tabs at once. */
#define REFRESH_COOKIE_GRACE_MS 30000

/* Makes a cookie for the session `sid`, valid until `ends_at_ms`, in place of an earlier one of this session. `out` is a secret: wipe it. Blocks (database).
 * ERR_NOMEM, errors of the store. */
int signon_make_cookie(struct signon *signon, const char *sid, int64_t ends_at_ms, char out[ONE_TIME_CODE_BYTES],
                       struct err *err);

/* Opens a session like that of the cookie. `replaces` is the sid of an earlier session of the same person, which ends; NULL: none. Blocks (database).
 * ERR_UNAUTHENTICATED for a cookie that is not valid; ERR_CONFLICT where `replaces` is another person's, and the cookie stays valid; else errors of
 * signon_open_twin and signon_refresh. */
int signon_open_by_cookie(struct signon *signon, const struct actor *actor, const char *cookie, const char *replaces,
                          struct signon_issued *out, struct err *err);

/* Ends the session of the cookie, and so the cookie; 0 also for a cookie that is not valid. Blocks (database). */
int signon_end_by_cookie(struct signon *signon, const struct actor *actor, const char *cookie, struct err *err);

/* Deletes the cookie, valid or not. Blocks (database). */
void signon_forget_cookie(struct signon *signon, const char *cookie);
