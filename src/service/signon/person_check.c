/* Asking directories again about those who are signed in. Layer 4 (service/signon). How they are asked is the affair of service/identity.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "clock.h"
#include "limits.h"
#include "session_store.h"
#include "signon_private.h"
#include "str.h"

/* -- another token --------------------------------------------------------------------------------------------------------- */

static bool is_asked_about(const struct signon *s, struct live_session *live) {
    return s->options.directory.check && live_session_who(live)->directory;
}

/* As with rights of a vCenter: what is known may be used for a while, but nothing new is made of it. */
int signon_check_person(struct signon *s, struct live_session *live, struct err *err) {
    int64_t bound_ms = s->options.directory_check_ms + KAAS_RIGHTS_GRACE_MS;
    if (live_session_role(live) == ROLE_NONE) {
        (void)err_set(err, ERR_FORBIDDEN, "no role is mapped to you or to one of your groups any more");
        return err_remedy(err, "ask an administrator of this service for a role");
    }
    if (!is_asked_about(s, live) || clock_mono_ms() - live_session_check(live).good_ms <= bound_ms)
        return 0;
    (void)err_set(err, ERR_RIGHTS_UNKNOWN, "the directory \"%s\" does not answer, so the session cannot be prolonged",
                  live_session_who(live)->directory);
    if (err && !err->retry_after_s)
        err->retry_after_s = 5;
    return ERR_RIGHTS_UNKNOWN;
}

/* -- in the background ------------------------------------------------------------------------------------------------------- */

/* One walk over the sessions; directories that have not answered in it are not asked again. */
#define SILENT_MAX 16U
struct walk {
    struct signon *signon;
    char *silent[SILENT_MAX];
    size_t silent_count;
};

static bool is_silent(const struct walk *walk, const char *directory) {
    for (size_t i = 0; i < walk->silent_count; i++)
        if (str_eq(walk->silent[i], directory))
            return true;
    return false;
}

static void note_silent(struct walk *walk, const char *directory) {
    char *copy = walk->silent_count < SILENT_MAX ? str_dup(directory) : NULL;
    if (copy)
        walk->silent[walk->silent_count++] = copy;
}

static void end_session(struct signon *s, struct live_session *live, const struct err *why) {
    const struct actor person = {.principal = live_session_who(live)};
    const struct audit_record line =
        audit_record_make(&person, &(struct audit_event){.action = "session.end", .reason = why->text});
    live_session_revoke(live, clock_wall_ms()); /* here at once, even if the database is away */
    (void)signon_write_end(s, live_session_sid(live), &line, ERR_SESSION_ENDED, NULL);
}

static void take_groups(struct signon *s, struct live_session *live, const struct group_set *groups, const char *mark) {
    const struct session_news news = {.sid = live_session_sid(live), .directory_mark = mark, .groups = groups};
    struct live_groups *known = live_session_groups(live);
    bool is_same = group_set_eq(live_groups_get(known), groups);
    live_groups_unref(known);
    if (!is_same && !session_store_update_person(s->options.store, &news, NULL))
        (void)signon_apply_session_change(s, live_session_sid(live), NULL); /* else the change feed, or the next walk */
}

/* Nobody there, in contrast to an answer about one person that means nothing. */
static bool is_silence(int rc) {
    return rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS || rc == ERR_BUSY || rc == ERR_CANCELED ||
           rc == ERR_NOT_FOUND;
}

static void check_one(struct walk *walk, struct live_session *live) {
    struct signon *s = walk->signon;
    const struct signon_directory_ops *ops = &s->options.directory;
    _cleanup_free_ char *mark = live_session_directory_mark(live);
    struct live_check check = live_session_check(live);
    struct live_groups *known = live_session_groups(live);
    const struct signon_directory_question question = {live_session_who(live), mark, live_groups_get(known)};
    struct group_set groups = {0};
    struct err why = {0};
    int rc = ops->check(ops->arg, &question, &groups, &why);
    live_groups_unref(known);
    if (rc == ERR_SESSION_ENDED) {
        end_session(s, live, &why);
        return;
    }
    if (rc) {
        if (is_silence(rc))
            note_silent(walk, live_session_who(live)->directory);
        return;
    }
    take_groups(s, live, &groups, mark);
    group_set_done(&groups);
    check.good_ms = clock_mono_ms();
    check.due_ms = check.good_ms + s->options.directory_check_ms;
    live_session_note_check(live, check);
}

static bool is_due(const struct walk *walk, struct live_session *live) {
    return is_asked_about(walk->signon, live) && !live_session_has_ended(live, clock_wall_ms()) &&
           live_session_check(live).due_ms <= clock_mono_ms() && !is_silent(walk, live_session_who(live)->directory);
}

/* A directory may take its time: the others are not held meanwhile, so that they may leave memory. */
void signon_check_directories(struct signon *s) {
    struct walk walk = {.signon = s};
    size_t count = 0, due = 0;
    struct live_session **known = s->options.directory.check ? session_table_list(s->table, NULL, &count) : NULL;
    for (size_t i = 0; i < count; i++) {
        if (is_due(&walk, known[i]))
            known[due++] = known[i];
        else
            live_session_unref(known[i]);
    }
    for (size_t i = 0; i < due; i++) {
        if (is_due(&walk, known[i]))
            check_one(&walk, known[i]);
        live_session_unref(known[i]);
    }
    free(known);
    for (size_t i = 0; i < walk.silent_count; i++)
        free(walk.silent[i]);
}
