/* One-time codes. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "one_time_code.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "code_store.h"
#include "digest.h"
#include "live_session.h"
#include "secret.h"
#include "sessions.h"
#include "signon_state.h"
#include "str.h"
#include "uuid.h"

_Static_assert(CODE_DIGEST_BYTES == DIGEST_SHA256_BYTES, "the digest of a code is a SHA-256");

int signon_make_code(struct signon *s, const struct actor *actor, const char *sid, const char *origin,
                     char out[ONE_TIME_CODE_BYTES], struct err *err) {
    uint8_t bytes[(ONE_TIME_CODE_BYTES - 1) / 2];
    struct login_code row = {.ends_at_ms = clock_wall_ms() + ONE_TIME_CODE_MS};
    int rc;
    random_bytes(bytes, sizeof(bytes));
    str_hex(bytes, sizeof(bytes), out);
    secret_wipe(bytes, sizeof(bytes));
    digest_sha256(out, ONE_TIME_CODE_BYTES - 1, row.digest);
    (void)snprintf(row.sid, sizeof(row.sid), "%s", sid);
    (void)snprintf(row.origin, sizeof(row.origin), "%s", origin ? origin : "");
    rc = code_store_add(s->options.store, &row, err);
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
        rc = session_store_add_vcenter(
            s->options.store, &(struct session_addition){.sid = sid, .vcenter = &v, .ends_at_ms = from->ends_at_ms}, err);
    }
    return rc || !from->vcenters_count ? rc : signon_apply_session_change(s, sid, err);
}

int signon_open_twin(struct signon *s, const struct actor *actor, struct live_session *live, struct signon_issued *out,
                     struct err *err) {
    const struct principal *who = live_session_who(live);
    struct audit_record line = signon_make_line(
        actor, who, &(struct audit_event){.action = "login", .reason = "a further window of somebody signed in"});
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *now = NULL;
    int rc = signon_reload_session(s, live_session_sid(live), &row, &now, err);
    if (!rc && (!row || live_session_has_ended(live, clock_wall_ms())))
        rc = err_set(err, ERR_SESSION_ENDED, "the session has ended; sign in again");
    if (!rc) {
        const struct signon_new_session wanted = {.who = who,
                                                  .lifetime_ms = row->ends_at_ms - clock_wall_ms(),
                                                  .line = &line,
                                                  .groups = &row->groups,
                                                  .directory_mark = row->directory_mark};
        rc = signon_open_session(s, &wanted, out, err);
    }
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
    rc = code_store_take(s->options.store, digest, row, &why);
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
    int rc = take_code(s, code, origin, &taken, &line, err);
    if (!rc)
        rc = signon_reload_session(s, taken.sid, &row, &live, err);
    if (!rc && (!row || !live || live_session_has_ended(live, clock_wall_ms())))
        rc = refuse_code(&line, "its session has ended", err);
    if (!rc) {
        line = signon_make_line(actor, live_session_who(live), &(struct audit_event){.action = "login.code"});
        rc = signon_issue(s, live, row->jti, out, err);
    }
    signon_audit(s, &line, rc);
    return rc;
}
