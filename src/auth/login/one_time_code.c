/* One-time codes, and the refresh cookie, which is one with a longer life. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "one_time_code.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "code_store.h"
#include "digest.h"
#include "live_session.h"
#include "secret.h"
#include "session_rights.h"
#include "sessions.h"
#include "signon_state.h"
#include "str.h"
#include "uuid.h"

_Static_assert(CODE_DIGEST_BYTES == DIGEST_SHA256_BYTES, "the digest of a code is a SHA-256");

#define COOKIE_ORIGIN "cookie" /* of no page: neither is good in the place of the other */

static int make_secret(struct signon *s, const char *sid, const char *origin, int64_t ends_at_ms, char out[ONE_TIME_CODE_BYTES],
                       struct err *err) {
    uint8_t bytes[(ONE_TIME_CODE_BYTES - 1) / 2];
    struct login_code row = {.ends_at_ms = ends_at_ms};
    random_bytes(bytes, sizeof(bytes));
    str_hex(bytes, sizeof(bytes), out);
    secret_wipe(bytes, sizeof(bytes));
    digest_sha256(out, ONE_TIME_CODE_BYTES - 1, row.digest);
    (void)snprintf(row.sid, sizeof(row.sid), "%s", sid);
    (void)snprintf(row.origin, sizeof(row.origin), "%s", origin);
    return code_store_add(s->options.runtime->store, &row, err);
}

int signon_make_code(struct signon *s, const struct actor *actor, const char *sid, const char *origin,
                     char out[ONE_TIME_CODE_BYTES], struct err *err) {
    int rc = make_secret(s, sid, origin ? origin : "", clock_wall_ms() + ONE_TIME_CODE_MS, out, err);
    if (rc)
        (void)signon_logout(s, actor, sid, NULL);
    return rc;
}

/* -- a second session of somebody -------------------------------------------------------------------------------------------- */

/* Those that the person has added since the sign-on. */
static int take_vcenters(struct signon *s, const struct session *from, const char *sid, struct err *err) {
    int rc = 0;
    for (size_t i = 0; !rc && i < from->vcenters_count; i++) {
        struct session_vcenter v = from->vcenters[i]; /* its texts are borrowed */
        v.added_at_ms = clock_wall_ms();
        rc =
            session_store_add_vcenter(s->options.runtime->store,
                                      &(struct session_addition){.sid = sid, .vcenter = &v, .ends_at_ms = from->ends_at_ms}, err);
    }
    return rc || !from->vcenters_count ? rc : signon_apply_session_change(s, sid, err);
}

/* The session as it is now, if it has not ended. *row is freed by session_free, *live by live_session_unref. */
static int find_session_now(struct signon *s, const char *sid, struct session **row, struct live_session **live,
                            struct err *err) {
    int rc = signon_reload_session(s, sid, row, live, err);
    if (!rc && (!*row || !*live || live_session_has_ended(*live, clock_wall_ms())))
        rc = err_set(err, ERR_SESSION_ENDED, "the session has ended; sign in again");
    return rc;
}

/* Whoever ends sessions meanwhile sees the one that this one is made after, and not yet this one: from now on they see it. */
static int look_at_parent(struct signon *s, const void *arg, struct err *err) {
    const struct session *parent = arg;
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    return find_session_now(s, parent->sid, &row, &live, err);
}

/* `row` is the session as it is in the database now: in memory stands the role that the way of the sign-on gave, which an account may have lost since. */
static int open_like(struct signon *s, const struct actor *actor, const struct session *row, const char *why,
                     struct signon_issued *out, struct err *err) {
    struct audit_record line = signon_make_line(actor, &row->who, &(struct audit_event){.action = "login", .reason = why});
    const struct signon_new_session wanted = {.who = &row->who,
                                              .lifetime_ms = row->ends_at_ms - clock_wall_ms(),
                                              .must_change_password = row->must_change_password,
                                              .line = &line,
                                              .groups = &row->groups,
                                              .directory_mark = row->directory_mark,
                                              .look_again = look_at_parent,
                                              .look_again_arg = row};
    int rc = signon_open_session(s, &wanted, out, err);
    if (rc) {
        signon_audit(s, &line, rc);
        return rc;
    }
    rc = take_vcenters(s, row, out->sid, err);
    if (rc) {
        (void)signon_logout(s, actor, out->sid, NULL);
        signon_issued_done(out);
    }
    return rc;
}

int signon_open_twin(struct signon *s, const struct actor *actor, struct live_session *live, struct signon_issued *out,
                     struct err *err) {
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *now = NULL;
    int rc = find_session_now(s, live_session_sid(live), &row, &now, err);
    return rc ? rc : open_like(s, actor, row, "a further window of somebody signed in", out, err);
}

/* -- bringing it ------------------------------------------------------------------------------------------------------------- */

static int refuse_code(struct audit_record *line, const char *reason, struct err *err) {
    line->event.reason = reason;
    (void)err_set(err, ERR_CREDENTIALS, "the code is wrong, has been used, or is older than %d s", ONE_TIME_CODE_MS / 1000);
    return err_remedy(err, "ask for a new code, or sign in");
}

/* *row is what the code stands for. */
static int take_code(struct signon *s, const char *code, const char *origin, struct login_code *row, struct audit_record *line,
                     struct err *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    struct err why = {0};
    int rc;
    digest_sha256(code, strlen(code), digest);
    rc = code_store_take(s->options.runtime->store, digest, row, &why);
    if (rc == ERR_NOT_FOUND)
        return refuse_code(line, "no such code", err);
    if (rc)
        return err_move(err, rc, &why);
    if (row->ends_at_ms <= clock_wall_ms())
        return refuse_code(line, "too late", err);
    return str_eq(row->origin, origin ? origin : "") ? 0 : refuse_code(line, "handed over by another page", err);
}

int signon_redeem_code(struct signon *s, const struct actor *actor, const char *code, const char *origin,
                       struct signon_issued *out, struct err *err) {
    struct audit_record line = signon_make_line(actor, NULL, &(struct audit_event){.action = "login.code"});
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    struct login_code taken;
    struct err why = {0};
    int rc = take_code(s, code, origin, &taken, &line, err);
    if (!rc) {
        rc = find_session_now(s, taken.sid, &row, &live, &why);
        rc = rc == ERR_SESSION_ENDED ? refuse_code(&line, "its session has ended", err) : err_move(err, rc, &why);
    }
    if (!rc) {
        line = signon_make_line(actor, live_session_who(live), &(struct audit_event){.action = "login.code"});
        rc = signon_issue(s, live, row->jti, out, err);
    }
    signon_audit(s, &line, rc);
    return rc;
}

/* -- the refresh cookie ------------------------------------------------------------------------------------------------------- */

int signon_make_cookie(struct signon *s, const char *sid, int64_t ends_at_ms, char out[ONE_TIME_CODE_BYTES], struct err *err) {
    return make_secret(s, sid, COOKIE_ORIGIN, ends_at_ms, out, err);
}

static int refuse_cookie(struct err *err) {
    (void)err_set(err, ERR_UNAUTHENTICATED, "the cookie is good for nothing any more");
    return err_remedy(err, "sign in again");
}

/* *out is what the cookie stands for. */
static int find_cookie(struct signon *s, const char *cookie, struct login_code *out, struct err *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    struct err why = {0};
    int rc;
    digest_sha256(cookie, strlen(cookie), digest);
    rc = code_store_load(s->options.runtime->store, digest, out, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    return rc || out->ends_at_ms <= clock_wall_ms() || !str_eq(out->origin, COOKIE_ORIGIN) ? refuse_cookie(err) : 0;
}

/* Two people may share a browser, and so its one cookie: nobody becomes the other by loading a page again. */
static int check_replaced(struct signon *s, const struct principal *who, const char *sid, struct err *err) {
    _cleanup_(session_free) struct session *row = NULL;
    struct err why = {0};
    int rc = session_store_load(s->options.runtime->store, sid, &row, &why);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : err_move(err, rc, &why);
    return str_eq(row->who.id, who->id) ? 0 : err_set(err, ERR_CONFLICT, "the page was somebody else's");
}

/* Whose page it was is gone, and its token with it. */
static void end_replaced(struct signon *s, const char *sid) {
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    if (signon_reload_session(s, sid, &row, &live, NULL) || !row)
        return;
    if (live)
        live_session_revoke(live, clock_wall_ms());
    (void)session_store_revoke(s->options.runtime->store, sid, clock_wall_ms(), NULL, NULL);
}

int signon_open_by_cookie(struct signon *s, const struct actor *actor, const char *cookie, const char *replaces,
                          struct signon_issued *out, struct err *err) {
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    struct login_code known;
    struct err why = {0};
    int rc = find_cookie(s, cookie, &known, err);
    if (rc)
        return rc;
    rc = find_session_now(s, known.sid, &row, &live, &why);
    if (!rc && replaces)
        rc = check_replaced(s, &row->who, replaces, &why);
    if (!rc)
        rc = signon_check_refresh(s, live, &why);
    if (!rc)
        rc = signon_check_person(s, live, &why);
    if (!rc)
        rc = code_store_retire(s->options.runtime->store, known.digest, clock_wall_ms() + REFRESH_COOKIE_GRACE_MS, &why);
    if (rc)
        return rc == ERR_SESSION_ENDED ? refuse_cookie(err) : err_move(err, rc, &why);
    rc = open_like(s, actor, row, "the page was loaded again", out, err);
    if (!rc && replaces)
        end_replaced(s, replaces);
    return rc;
}

int signon_end_by_cookie(struct signon *s, const struct actor *actor, const char *cookie, struct err *err) {
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    struct login_code known;
    struct err why = {0};
    int rc = find_cookie(s, cookie, &known, &why);
    if (!rc)
        rc = find_session_now(s, known.sid, &row, &live, &why);
    if (!rc)
        rc = signon_logout(s, actor, known.sid, &why);
    return rc == ERR_UNAUTHENTICATED || rc == ERR_SESSION_ENDED ? 0 : err_move(err, rc, &why);
}

void signon_forget_cookie(struct signon *s, const char *cookie) {
    struct login_code known;
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(cookie, strlen(cookie), digest);
    (void)code_store_take(s->options.runtime->store, digest, &known, NULL);
}
