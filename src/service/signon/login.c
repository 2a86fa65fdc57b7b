/* Proofs become sessions. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "passwd.h"
#include "signon_private.h"
#include "str.h"
#include "user_store.h"

/* -- local users ---------------------------------------------------------------------------------------------------- */

static int refuse(struct err *err) {
    return err_set(err, ERR_CREDENTIALS, "the user name or the password is wrong");
}

/* What was typed as a name, and belongs to nobody, may be a password that went into the wrong field: in the trail stands a mark by which
 * lines with the same text are told to be so as long as this process runs, and nothing can be guessed from it. */
struct typed_name {
    char mark[40];
};

static const char *mark_name(const struct signon *s, const char *name, struct typed_name *out) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_hmac_sha256(s->secret, sizeof(s->secret), name, strlen(name), digest);
    (void)snprintf(out->mark, sizeof(out->mark), "unknown name #%02x%02x%02x%02x", digest[0], digest[1], digest[2], digest[3]);
    return out->mark;
}

/* Why, for the trail only: the answer is the same for all. *known stays NULL for a name that nobody has. */
struct local_check {
    const char *name, *password;
    const char *reason;
    struct user *known;
};

static const char *reason_of(const struct user *user, bool fits) {
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
    int rc = user_store_load_by_name(s->options.store, check->name, &user, &missing);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &missing);
    fits = passwd_verify(check->password, user ? user->password_hash : NULL);
    check->known = user;
    check->reason = reason_of(user, fits);
    return check->reason ? refuse(err) : 0;
}

/* Checking a password takes long. Whoever removes, disables or changes the user meanwhile ends the sessions that they see, which this one was not yet;
 * from now on they see it. */
static int look_again(struct signon *s, const void *arg, struct err *err) {
    const struct user *before = arg;
    _cleanup_(user_free) struct user *now = NULL;
    struct err missing = {0};
    int rc = user_store_load(s->options.store, before->id, &now, &missing);
    if (!rc && now->version_no == before->version_no)
        return 0;
    if (!rc || rc == ERR_NOT_FOUND) {
        rc = refuse(err);
        (void)err_detail(err, "the user was changed or removed meanwhile");
        return rc;
    }
    return err_move(err, rc, &missing);
}

/* Opens the session of a local user with this id of a principal. */
static int open_local(struct signon *s, const struct user *user, char *id, struct audit_record *line, struct signon_grant *out,
                      struct err *err) {
    const struct principal who = {
        .id = id, .name = user->name, .full_name = user->full_name, .role = user->role, .source = SOURCE_LOCAL};
    const struct signon_new_session wanted = {.who = &who,
                                              .lifetime_ms = s->options.session_lifetime_ms,
                                              .must_change_password = user->must_change_password,
                                              .line = line,
                                              .look_again = look_again,
                                              .look_again_arg = user};
    return signon_open_session(s, &wanted, out, err);
}

int signon_login_local(struct signon *s, const struct actor *actor, const char *name, const char *password,
                       struct signon_grant *out, struct err *err) {
    struct typed_name typed;
    _cleanup_free_ char *id = NULL;
    struct audit_record line = signon_make_line(actor, NULL,
                                                &(struct audit_event){.action = "login",
                                                                      .principal_name = mark_name(s, name, &typed),
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
    int rc = user_store_load(s->options.store, id, &user, err);
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

/* -- vCenter -------------------------------------------------------------------------------------------------------- */

/* *who gets texts of the outcome and an id of its own, which the caller frees: it stays alive for the audit trail. */
static int name_person(const struct signon_proof *proof, struct outcome *o, struct principal *who, struct err *err) {
    who->id = principal_vc_id(proof->vcenter_id, o->identity.user_name);
    who->name = o->identity.user_name;
    who->full_name = o->identity.full_name;
    who->role = ROLE_USER;
    who->source = signon_source_of(proof->kind);
    who->vcenter_id = (char *)(uintptr_t)proof->vcenter_id;
    who->vc_user = o->identity.user_name;
    who->vc_session_key = (char *)(uintptr_t)signon_key_of(proof, &o->identity);
    who->acting_id = (char *)(uintptr_t)proof->acting_id;
    who->service_id = (char *)(uintptr_t)proof->service_id;
    return who->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int64_t lifetime_of(const struct signon *s, const struct signon_proof *proof) {
    int64_t usual_ms = signon_lifetime_of(s, proof->kind);
    int64_t left_ms = proof->ends_at_ms ? proof->ends_at_ms - clock_wall_ms() : usual_ms;
    return left_ms < usual_ms ? left_ms : usual_ms;
}

int signon_login_vcenter(struct signon *s, const struct actor *actor, struct signon_check *check, struct signon_grant *out,
                         struct err *err) {
    const struct signon_proof *proof = signon_check_proof(check);
    const struct audit_event event = {.action = "login",
                                      .principal_name = proof->user,
                                      .acting_id = proof->acting_id,
                                      .source = source_name(signon_source_of(proof->kind)),
                                      .object_kind = "vcenter",
                                      .object_id = proof->vcenter_id};
    struct audit_record line = signon_make_line(actor, NULL, &event);
    struct outcome *outcome = NULL;
    struct principal who = {0}; /* texts of proof and outcome, but for the id */
    int rc = signon_check_take(check, &outcome, err);
    if (!rc && outcome) {
        rc = name_person(proof, outcome, &who, err);
        line = signon_make_line(actor, &who, &event);
    }
    if (!rc && outcome) {
        struct signon_new_session wanted = {
            .who = &who, .lifetime_ms = lifetime_of(s, proof), .rights = outcome->rights, .line = &line};
        rc = signon_open_session(s, &wanted, out, err);
    }
    if (rc)
        signon_audit(s, &line, rc);
    free(who.id);
    outcome_unref(outcome);
    return rc;
}
