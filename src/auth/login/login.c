/* Local users, and people and programs whose credential was checked elsewhere, become sessions; directories are asked again about them. Layer 5 (auth).
 * The LDAP directories are asked by src/auth/ldapdir. Credentials that vCenters check are signon_vcenter.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "gate.h"
#include "ldapdir.h"
#include "passwd.h"
#include "session_rights.h"
#include "session_store.h"
#include "sessions.h"
#include "signon_state.h"
#include "str.h"
#include "strbuf.h"
#include "user_store.h"

#define REASON_BYTES_MAX 1000U
#define WAY_BYTES 32U

/* -- local users ---------------------------------------------------------------------------------------------------- */

static int login_refuse_password(struct err *err) {
    return err_set(err, ERR_CREDENTIALS, "the user name or the password is wrong");
}

/* What was typed as a name, and belongs to nobody, may be a password that went into the wrong field: in the audit log stands a mark by which
 * lines with the same text are told to be so as long as this process runs, and nothing can be guessed from it. */
struct typed_name {
    char mark[40];
};

static const char *signon_login_mark_name(const struct signon *s, const char *name, struct typed_name *out) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_hmac_sha256(s->secret, sizeof(s->secret), name, strlen(name), digest);
    (void)snprintf(out->mark, sizeof(out->mark), "unknown name #%02x%02x%02x%02x", digest[0], digest[1], digest[2], digest[3]);
    return out->mark;
}

/* Why, for the audit log only: the answer is the same for all. *known stays NULL for a name that nobody has. */
struct local_check {
    const char *name, *password;
    const char *reason;
    struct user *known;
};

static const char *signon_login_reason_of(const struct user *user, bool fits) {
    if (!user)
        return "no local user has this name";
    if (!fits)
        return user->is_disabled ? "wrong password; the user is disabled, too" : "wrong password";
    return user->is_disabled ? "the user is disabled" : NULL;
}

/* An unknown, a disabled and a known user cost the same work and get the same answer. */
static int check_local(struct signon *s, struct local_check *check, struct err *err) {
    struct err missing = {0};
    struct user *user = NULL;
    bool fits;
    int rc = user_store_load_by_name(s->options.runtime->store, check->name, &user, &missing);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &missing);
    fits = passwd_verify(check->password, user ? user->password_hash : NULL);
    check->known = user;
    check->reason = signon_login_reason_of(user, fits);
    return check->reason ? login_refuse_password(err) : 0;
}

/* Checking a password takes long. Whoever removes, disables or changes the user meanwhile ends the sessions that they see, which this one was not yet;
 * from now on they see it. */
static int login_look_again(struct signon *s, const void *arg, struct err *err) {
    const struct user *before = arg;
    _cleanup_(user_free) struct user *now = NULL;
    struct err missing = {0};
    int rc = user_store_load(s->options.runtime->store, before->id, &now, &missing);
    if (!rc && now->version_no == before->version_no)
        return 0;
    if (!rc || rc == ERR_NOT_FOUND) {
        rc = login_refuse_password(err);
        (void)err_detail(err, "the user was changed or removed meanwhile");
        return rc;
    }
    return err_move(err, rc, &missing);
}

/* Opens the session of a local user with this id of a principal. */
static int open_local(struct signon *s, const struct user *user, char *id, struct audit_record *line, struct signon_issued *out,
                      struct err *err) {
    const struct principal who = {
        .id = id, .name = user->name, .full_name = user->full_name, .role = user->role, .source = SOURCE_LOCAL};
    const struct signon_new_session wanted = {.who = &who,
                                              .lifetime_ms = s->options.session_lifetime_ms,
                                              .must_change_password = user->must_change_password,
                                              .line = line,
                                              .look_again = login_look_again,
                                              .look_again_arg = user};
    return signon_open_session(s, &wanted, out, err);
}

int signon_login_local(struct signon *s, const struct actor *actor, const char *name, const char *password,
                       struct signon_issued *out, struct err *err) {
    struct typed_name typed;
    _cleanup_free_ char *id = NULL;
    struct audit_record line = signon_make_line(actor, NULL,
                                                &(struct audit_event){.action = "login",
                                                                      .principal_name = signon_login_mark_name(s, name, &typed),
                                                                      .source = source_name(SOURCE_LOCAL)});
    struct gate gate = {0};
    struct local_check check = {.name = name, .password = password, .reason = "not looked at: too many attempts before"};
    int rc = gate_open(&gate, s, actor, "local", name, err);
    if (!rc) {
        check.reason = NULL;
        rc = check_local(s, &check, err);
        gate_note(&gate, rc);
    }
    line.event.reason = check.reason;
    if (check.known)
        line.event.principal_name = check.known->name;
    if (!rc && check.known) {
        line.event.principal_id = id = str_format("local:%s", check.known->id);
        rc = id ? open_local(s, check.known, id, &line, out, err) : err_set(err, ERR_NOMEM, "out of memory");
    }
    if (rc)
        signon_audit(s, &line, rc);
    gate_done(&gate);
    user_free(check.known);
    return rc;
}

static int compare_local(struct signon *s, const struct principal *who, const char *password, struct err *err) {
    static const char prefix[] = "local:";
    _cleanup_(user_free) struct user *user = NULL;
    const char *id = str_starts(who->id, prefix) ? who->id + sizeof(prefix) - 1 : "";
    int rc = user_store_load(s->options.runtime->store, id, &user, err);
    if (rc)
        return rc;
    return passwd_verify(password, user->password_hash) ? 0 : err_set(err, ERR_CREDENTIALS, "the old password is wrong");
}

int signon_prove_local(struct signon *s, const struct actor *actor, const char *password, struct err *err) {
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "password.prove"});
    struct gate gate = {0};
    int rc = gate_open(&gate, s, actor, "local", actor->principal->name, err);
    if (!rc) {
        rc = compare_local(s, actor->principal, password, err);
        gate_note(&gate, rc);
    }
    if (rc)
        signon_audit(s, &line, rc);
    gate_done(&gate);
    return rc;
}

/* -- refusals, passwords ---------------------------------------------------------------------------------------------------------- */

/* "ldap:corp" is the way "ldap". */
static const char *way_of(const char *where, char buffer[WAY_BYTES]) {
    size_t n = strcspn(where, ":");
    if (n >= WAY_BYTES)
        n = WAY_BYTES - 1;
    memcpy(buffer, where, n);
    buffer[n] = '\0';
    return buffer;
}

void signon_note_refusal(struct signon *s, const struct actor *actor, const struct signon_refusal *what) {
    char way[WAY_BYTES];
    const struct audit_event event = {.action = "login",
                                      .principal_name = what->user,
                                      .acting_id = what->acting_id,
                                      .source = way_of(what->where, way),
                                      .reason = what->reason};
    const struct audit_record line = signon_make_line(actor, NULL, &event);
    signon_audit(s, &line, what->rc);
}

int signon_admit_password(struct signon *s, const struct actor *actor, const struct signon_password *given, struct err *err) {
    struct gate gate = {0};
    int rc = gate_open(&gate, s, actor, given->where, given->account, err);
    gate_done(&gate);
    if (rc)
        signon_note_refusal(s, actor, &(struct signon_refusal){.where = given->where, .user = given->user, .rc = rc});
    return rc;
}

void signon_note_password(struct signon *s, const struct actor *actor, const struct signon_password *given, int rc,
                          const char *reason) {
    struct gate gate = {0};
    (void)gate_open(&gate, s, actor, given->where, given->account, NULL); /* whether it is open was asked before */
    gate_note(&gate, rc);
    gate_done(&gate);
    if (rc)
        signon_note_refusal(s, actor,
                            &(struct signon_refusal){.where = given->where, .user = given->user, .reason = reason, .rc = rc});
}

/* -- signing in ---------------------------------------------------------------------------------------------------------- */

/* The principal borrows everything; its interface has no const, since others own theirs. */
static char *login_lend(const char *text) {
    return (char *)(uintptr_t)text;
}

static struct principal principal_of(const struct signon_person *p) {
    return (struct principal){.id = login_lend(p->principal_id),
                              .name = login_lend(p->name),
                              .full_name = login_lend(p->full_name),
                              .role = p->role_at_least,
                              .source = p->source,
                              .directory = login_lend(p->directory),
                              .acting_id = login_lend(p->acting_id),
                              .service_id = login_lend(p->service_id)};
}

/* Which groups would have to be mapped is for the administrator, who reads the audit log. */
static char *describe_groups(const struct group_set *groups) {
    struct strbuf text;
    strbuf_init(&text, REASON_BYTES_MAX);
    strbuf_addf(&text, "no role is mapped; member of %zu groups", groups->count);
    for (size_t i = 0; i < groups->count && text.len + strlen(groups->ids[i]) + 8 < REASON_BYTES_MAX; i++)
        strbuf_addf(&text, "%s %s", i ? "," : ":", groups->ids[i]);
    return strbuf_steal(&text);
}

static int check_role(struct signon *s, const struct signon_person *p, const struct group_set *groups, struct err *err) {
    if (p->role_at_least != ROLE_NONE || signon_mapped_role(s, p->principal_id, groups) != ROLE_NONE)
        return 0;
    if (groups->count == 1)
        (void)err_set(err, ERR_FORBIDDEN, "you are known, but no role is mapped to you or to your group");
    else
        (void)err_set(err, ERR_FORBIDDEN, "you are known, but no role is mapped to you or to one of your %zu groups",
                      groups->count);
    return err_remedy(err, "ask an administrator of this service for a role; the audit log shows which groups were seen");
}

static int64_t login_lifetime_ms(const struct signon *s, const struct signon_person *p) {
    int64_t usual_ms = s->options.session_lifetime_ms;
    int64_t left_ms = p->ends_at_ms ? p->ends_at_ms - clock_wall_ms() : usual_ms;
    return left_ms < usual_ms ? left_ms : usual_ms;
}

int signon_login_person(struct signon *s, const struct actor *actor, const struct signon_person *person,
                        struct signon_issued *out, struct err *err) {
    static const struct group_set nothing;
    const struct group_set *groups = person->groups ? person->groups : &nothing;
    const struct principal who = principal_of(person);
    _cleanup_free_ char *reason = NULL;
    const struct session_once once = {.digest = person->credential_digest, .until_ms = person->credential_until_ms};
    struct audit_record line = signon_make_line(actor, &who, &(struct audit_event){.action = "login"});
    const struct signon_new_session wanted = {.who = &who,
                                              .lifetime_ms = login_lifetime_ms(s, person),
                                              .line = &line,
                                              .groups = groups,
                                              .directory_mark = person->directory_mark,
                                              .once = once.digest ? &once : NULL};
    int rc = check_role(s, person, groups, err);
    if (rc)
        line.event.reason = reason = describe_groups(groups);
    else if (wanted.lifetime_ms < 1000)
        rc = err_set(err, ERR_CREDENTIALS, "what proves who you are ends now");
    else
        rc = signon_open_session(s, &wanted, out, err);
    if (rc == ERR_CREDENTIALS && once.digest)
        line.event.reason = "replay";
    if (rc)
        signon_audit(s, &line, rc);
    return rc;
}

/* -- asking directories again about those who are signed in ------------------------------------------------------------ */

/* One walk over the sessions; directories that have not answered in it are not asked again. */
#define SILENT_MAX 16U
struct walk {
    struct signon *signon;
    char *silent[SILENT_MAX];
    size_t silent_count;
};

static bool walk_is_silent(const struct walk *walk, const char *directory) {
    for (size_t i = 0; i < walk->silent_count; i++)
        if (str_eq(walk->silent[i], directory))
            return true;
    return false;
}

static void walk_note_silent(struct walk *walk, const char *directory) {
    char *copy = walk->silent_count < SILENT_MAX ? str_dup(directory) : NULL;
    if (copy)
        walk->silent[walk->silent_count++] = copy;
}

static void login_end_session(struct signon *s, struct live_session *live, const struct err *why) {
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
    if (!is_same && !session_store_update_person(s->options.runtime->store, &news, NULL))
        (void)signon_apply_session_change(s, live_session_sid(live), NULL); /* else the change feed, or the next walk */
}

/* Nobody there, in contrast to an answer about one person that means nothing. */
static bool is_silence(int rc) {
    return rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS || rc == ERR_BUSY || rc == ERR_CANCELED ||
           rc == ERR_NOT_FOUND;
}

static void signon_login_walk_check(struct walk *walk, struct live_session *live) {
    struct signon *s = walk->signon;
    _cleanup_free_ char *mark = live_session_directory_mark(live);
    struct live_check check = live_session_check(live);
    struct live_groups *known = live_session_groups(live);
    const struct ldapdir_known question = {live_session_who(live), mark, live_groups_get(known)};
    struct group_set groups = {0};
    struct err why = {0};
    int rc = ldapdir_check_person(s->options.ldapdirs, &question, &groups, &why);
    live_groups_unref(known);
    if (rc == ERR_SESSION_ENDED) {
        login_end_session(s, live, &why);
        return;
    }
    if (rc) {
        if (is_silence(rc))
            walk_note_silent(walk, live_session_who(live)->directory);
        return;
    }
    take_groups(s, live, &groups, mark);
    group_set_done(&groups);
    check.good_ms = clock_mono_ms();
    check.due_ms = check.good_ms + s->options.directory_check_ms;
    live_session_note_check(live, check);
}

static bool walk_is_due(const struct walk *walk, struct live_session *live) {
    return live_session_who(live)->directory && !live_session_has_ended(live, clock_wall_ms()) &&
           live_session_check(live).due_ms <= clock_mono_ms() && !walk_is_silent(walk, live_session_who(live)->directory);
}

/* A directory may take its time: the others are not held meanwhile, so that they may leave memory. */
void signon_check_directories(struct signon *s) {
    struct walk walk = {.signon = s};
    size_t count = 0, due = 0;
    struct live_session **known = session_table_list(s->table, NULL, &count);
    for (size_t i = 0; i < count; i++) {
        if (walk_is_due(&walk, known[i]))
            known[due++] = known[i];
        else
            live_session_unref(known[i]);
    }
    for (size_t i = 0; i < due; i++) {
        if (walk_is_due(&walk, known[i]))
            signon_login_walk_check(&walk, known[i]);
        live_session_unref(known[i]);
    }
    free(known);
    for (size_t i = 0; i < walk.silent_count; i++)
        free(walk.silent[i]);
}
