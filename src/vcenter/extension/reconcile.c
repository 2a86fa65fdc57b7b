/* Registration as a reconciled state: compare our record at a vCenter, repair it. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "reconcile.h"

#include <stdio.h>
#include <string.h>

#include "link_task.h"
#include "clock.h"
#include "link_login.h"
#include "metric.h"
#include "names.h"
#include "platform_links.h"
#include "str.h"
#include "vcenter_store.h"
#include "str.h"
#include "vim_authorization.h"
#include "vim_session.h"

#define WHOLE_RECORD "the whole record"

struct work {
    struct link *link;
    const struct link_env *env;
    struct vcenter vc;
    struct vim_extension *found; /* NULL: none */
    struct extension_record wanted;
    const char *differences[EXTENSION_DIFFERENCES_MAX];
    size_t differences_count;
    bool has_record_differences; /* not only the certificate that we know to be missing */
    struct record_note *note;
    struct platform_begun begun; /* the line of the repair */
    bool is_repaired;
};

static void forget_record(struct work *w) {
    vim_extension_free(w->found);
    w->found = NULL;
    extension_record_done(&w->wanted);
    w->differences_count = 0;
}

static void reconcile_work_done(struct work *w) {
    forget_record(w);
    vcenter_done(&w->vc);
}

static void set_problem(struct record_note *note, const char *text, const char *remedy) {
    (void)snprintf(note->problem, sizeof(note->problem), "%s", text);
    (void)snprintf(note->remedy, sizeof(note->remedy), "%s", remedy);
}

/* Where nothing better is known. Gives `out`. */
static const char *look_remedy(const struct work *w, char out[ERR_REMEDY_BYTES]) {
    (void)snprintf(out, ERR_REMEDY_BYTES, "see what it differs in: kaasctl doctor --vcenter %.100s",
                   name_word(w->vc.name, w->vc.id));
    return out;
}

static void join_members(const struct work *w, char out[RECORD_MEMBERS_BYTES]) {
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < w->differences_count && n < RECORD_MEMBERS_BYTES; i++)
        n += (size_t)snprintf(out + n, RECORD_MEMBERS_BYTES - n, "%s%s", i ? ", " : "", w->differences[i]);
}

/* -- comparing ------------------------------------------------------------------------------------------------------------ */

static void judge_foreign(struct work *w, const char *owner) {
    struct record_note *note = w->note;
    note->state = RECORD_FOREIGN;
    if (owner)
        (void)snprintf(note->problem, sizeof(note->problem),
                       "the extension %s of vCenter %s belongs to another installation now (%.60s)", w->vc.extension_key,
                       w->vc.name, owner);
    else
        (void)snprintf(note->problem, sizeof(note->problem),
                       "the extension %s of vCenter %s was overwritten by a program that is not Harmony KaaS",
                       w->vc.extension_key, w->vc.name);
    (void)snprintf(note->remedy, sizeof(note->remedy),
                   "if that is a mistake: kaasctl vcenter register %.100s --user administrator@vsphere.local --take-over",
                   name_word(w->vc.name, w->vc.id));
}

/* vCenter does not tell which certificate it has, so what was begun is remembered. */
static bool row_says_certificate_is_due(const struct work *w) {
    _cleanup_done_(registration_row_done) struct registration_row row = {0};
    if (registration_store_load(w->env->options.runtime->store, w->vc.id, &row, NULL))
        return false;
    return row.is_certificate_due;
}

/* Reads the record that is there, makes the one that should be, and says how they stand to each other in w->note. */
static int reconcile_look(struct work *w, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    const char *owner;
    int rc;
    forget_record(w);
    rc = link_note(w->link, since_ms, vim_find_extension(link_client(w->link), w->vc.extension_key, &w->found, err), err);
    if (!rc)
        rc = extension_record_make_current(w->env, &w->vc, &w->wanted, err);
    if (rc)
        return rc;
    w->note->state = RECORD_MISSING;
    w->note->differs[0] = 0;
    set_problem(w->note, "", "");
    if (!w->found)
        return 0;
    owner = extension_record_owner(w->found);
    if (!str_eq(owner, w->env->installation)) {
        judge_foreign(w, owner);
        return 0;
    }
    w->differences_count = extension_record_compare(w->found, &w->wanted.record, w->vc.api_version, w->differences);
    w->has_record_differences = w->differences_count != 0;
    if (row_says_certificate_is_due(w) && w->differences_count < EXTENSION_DIFFERENCES_MAX)
        w->differences[w->differences_count++] = "certificate";
    w->note->state = w->differences_count ? RECORD_OUTDATED : RECORD_OURS;
    join_members(w, w->note->differs);
    return 0;
}

/* -- repairing: with the lease held ----------------------------------------------------------------------------------------- */

/* What our own session lacks is told, and the rest goes on: many sites give no Extension.* privileges to anybody but an administrator. */
static void tell_lacking(struct work *w, const char *privilege) {
    struct record_note *note = w->note;
    if (note->state == RECORD_MISSING)
        (void)snprintf(
            note->problem, sizeof(note->problem),
            "somebody removed the extension %s from vCenter %s, and it cannot be registered again by itself: %s is missing on"
            " the root folder",
            w->vc.extension_key, w->vc.name, privilege);
    else
        (void)snprintf(note->problem, sizeof(note->problem),
                       "the record cannot be repaired by itself: %s is missing on the root folder (it differs in %.200s)",
                       privilege, note->differs);
    (void)snprintf(note->remedy, sizeof(note->remedy), "run: kaasctl vcenter register %.100s --user administrator@vsphere.local",
                   name_word(w->vc.name, w->vc.id));
}

static int reconcile_may(struct work *w, const char *privilege, bool *granted, struct err *err) {
    struct vim_root_query query = {.privileges = &privilege, .count = 1};
    struct vim_user_session own = {0};
    int rc = vim_get_own_session(link_client(w->link), &own, err);
    if (rc)
        return rc;
    query.subject.session_key = own.key;
    *granted = false;
    rc = vim_check_root_privileges(link_client(w->link), &query, granted, err);
    vim_user_session_done(&own);
    if (rc != ERR_UPSTREAM_DENIED)
        return rc;
    err_clear(err); /* who may not even ask has none */
    return 0;
}

/* The certificate comes last, and is proved by the only thing that counts: logging in with it. That costs the session we have, so it is
 * done only where the certificate was lost. */
static int restore_certificate(struct work *w, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    struct login_material material = {0};
    int rc = login_material_load(w->env->options.runtime->store, w->env->options.runtime->seal, w->vc.id, &material, err);
    if (!rc && !material.active.generation) {
        (void)err_set(err, ERR_NOT_REGISTERED, "there is no login credential for vCenter %s", w->vc.name);
        rc = err_remedy(err, "run: kaasctl vcenter register %s --user administrator@vsphere.local",
                        name_word(w->vc.name, w->vc.id));
    }
    if (!rc)
        rc = login_credential_tell(link_client(w->link), &w->vc, &material.active, err);
    login_material_done(&material);
    if (rc)
        return rc;
    rc = link_note(w->link, since_ms, vim_replace_session(link_client(w->link), NULL, NULL, err), err);
    return rc ? rc : registration_store_set_due(w->env->options.runtime->store, w->vc.id, false, err);
}

/* The next number, since the vSphere Client notices no other change (extension_record.c). */
static int count_registration(struct work *w, struct err *err) {
    unsigned number = 0;
    int rc = registration_store_count(w->env->options.runtime->store, w->vc.id, &number, err);
    if (rc)
        return rc;
    extension_record_done(&w->wanted);
    return extension_record_make_current(w->env, &w->vc, &w->wanted, err);
}

static bool names_member(const char *members, const char *name) {
    size_t n = strlen(name);
    for (const char *at = strstr(members, name); at; at = strstr(at + n, name))
        if ((at == members || at[-1] == ' ') && (!at[n] || at[n] == ','))
            return true;
    return false;
}

/* What an earlier try was about, and what differs now: of a record that was written, only the certificate may be left to be set. */
static void add_begun(struct work *w) {
    char *begun = w->note->begun;
    if (str_eq(begun, WHOLE_RECORD))
        return;
    for (size_t i = 0; i < w->differences_count; i++) {
        size_t n = strlen(begun);
        if (n < RECORD_MEMBERS_BYTES && !names_member(begun, w->differences[i]))
            (void)snprintf(begun + n, RECORD_MEMBERS_BYTES - n, "%s%s", n ? ", " : "", w->differences[i]);
    }
}

static struct audit_record reconcile_make_line(const struct work *w, const char *reason) {
    return platform_audit_make(
        w->env, NULL,
        &(struct audit_event){.action = "vcenter.repair", .object_id = w->vc.id, .object_name = w->vc.name, .reason = reason});
}

/* What fails is tried again and again, as one operation. */
static int reconcile_begin_operation(struct work *w, struct err *err) {
    const struct audit_record line = reconcile_make_line(w, NULL);
    if (w->note->state == RECORD_MISSING)
        (void)snprintf(w->note->begun, sizeof(w->note->begun), "%s", WHOLE_RECORD);
    else
        add_begun(w);
    return platform_audit_begin(w->env, &line, &w->begun, err);
}

static int register_again(struct work *w, struct err *err) {
    bool granted = false;
    int rc = reconcile_may(w, "Extension.Register", &granted, err);
    if (rc)
        return rc;
    if (!granted) {
        tell_lacking(w, "Extension.Register");
        return 0;
    }
    rc = reconcile_begin_operation(w, err);
    if (!rc && !row_says_certificate_is_due(w)) /* else counted by the try before */
        rc = count_registration(w, err);
    if (!rc)
        rc = registration_store_set_due(w->env->options.runtime->store, w->vc.id, true, err);
    if (!rc)
        rc = vim_register_extension(link_client(w->link), &w->wanted.record, err);
    if (!rc)
        rc = restore_certificate(w, err);
    w->is_repaired = !rc;
    return rc;
}

/* Where we are found, and by which certificate: what the vSphere Client keeps for a version. If the version differs as well, it comes with a new
 * one already: a write that is denied or fails again and again is counted once. */
static bool needs_new_version(const struct work *w) {
    bool is_changed = false;
    for (size_t i = 0; i < w->differences_count; i++)
        is_changed = is_changed || str_eq(w->differences[i], "server") || str_eq(w->differences[i], "client");
    return is_changed && str_eq(w->found->version, w->wanted.record.version);
}

static int reconcile_write_update(struct work *w, struct err *err) {
    int rc = needs_new_version(w) ? count_registration(w, err) : 0;
    if (!rc && extension_record_clears_certificate(w->found, &w->wanted.record))
        rc = registration_store_set_due(w->env->options.runtime->store, w->vc.id, true, err);
    if (rc)
        return rc;
    extension_record_keep(&w->wanted, w->found);
    return vim_update_extension(link_client(w->link), &w->wanted.record, err);
}

static int reconcile_update(struct work *w, struct err *err) {
    int rc = reconcile_begin_operation(w, err);
    if (!rc && w->has_record_differences)
        rc = reconcile_write_update(w, err);
    if (rc == ERR_UPSTREAM_DENIED) { /* an extension may update its own record; an account needs the privilege */
        err_clear(err);
        tell_lacking(w, "Extension.Update");
        w->note->begun[0] = 0;
        return 0;
    }
    if (!rc && row_says_certificate_is_due(w))
        rc = restore_certificate(w, err);
    w->is_repaired = !rc;
    return rc;
}

static void note_repair(struct work *w) {
    struct record_note *note = w->note;
    struct audit_record line;
    note->repaired_at_ms = clock_wall_ms();
    (void)registration_store_note_repair(w->env->options.runtime->store, w->vc.id, note->repaired_at_ms, note->repaired, NULL);
    line = reconcile_make_line(w, note->repaired);
    platform_audit_end(w->env, &line, 0, &w->begun);
}

/* Read back: what vCenter made of it counts, not what we sent. */
static int reconcile_confirm(struct work *w, struct err *err) {
    char remedy[ERR_REMEDY_BYTES];
    int rc;
    memcpy(w->note->repaired, w->note->begun, sizeof(w->note->repaired));
    w->note->begun[0] = 0;
    note_repair(w);
    rc = reconcile_look(w, err);
    if (rc || w->note->state != RECORD_OUTDATED)
        return rc;
    set_problem(w->note, "vCenter keeps the record differently from what it was sent", look_remedy(w, remedy));
    return 0;
}

/* Somebody may have unregistered us, or another replica repaired it, before the lease was ours: everything is read again. */
static int repair_with_lease(struct work *w, struct err *err) {
    struct vcenter *row = NULL;
    bool is_registered;
    int rc = vcenter_store_load(w->env->options.runtime->store, w->vc.id, &row, err);
    if (rc)
        return rc;
    is_registered = row->registered_at_ms != 0;
    vcenter_free(row);
    if (!is_registered)
        return err_set(err, ERR_NOT_REGISTERED, "vCenter %s was unregistered meanwhile", w->vc.name);
    rc = reconcile_look(w, err);
    if (!rc && w->note->state == RECORD_MISSING)
        rc = register_again(w, err);
    else if (!rc && w->note->state == RECORD_OUTDATED)
        rc = reconcile_update(w, err);
    return !rc && w->is_repaired ? reconcile_confirm(w, err) : rc;
}

static int reconcile_repair(struct work *w, struct err *err) {
    struct admin_lease lease = {0};
    int rc = admin_lease_take(w->link, &lease, err);
    if (rc == ERR_CONFLICT) { /* it may be just what they repair */
        err_clear(err);
        return err_set(err, ERR_BUSY, "the registration with vCenter %s is being worked on", w->vc.name);
    }
    if (!rc)
        rc = repair_with_lease(w, err);
    admin_lease_release(&lease);
    return rc;
}

/* -- all of it ------------------------------------------------------------------------------------------------------------ */

/* Repairs of other replicas show here as well. */
static void read_last_repair(struct work *w) {
    _cleanup_done_(registration_row_done) struct registration_row row = {0};
    if (registration_store_load(w->env->options.runtime->store, w->vc.id, &row, NULL))
        return;
    w->note->repaired_at_ms = row.repaired_at_ms;
    (void)snprintf(w->note->repaired, sizeof(w->note->repaired), "%s", row.repaired ? row.repaired : "");
}

static void count_outcome(const struct work *w, int rc) {
    const char *outcome = rc ? "failed" : w->is_repaired ? "repaired" : record_state_name(w->note->state);
    metric_add(metric_get(METRIC_RECONCILIATIONS, outcome), 1);
}

static int compare_and_repair(struct work *w, struct err *err) {
    int rc = reconcile_look(w, err);
    read_last_repair(w);
    if (!rc && (w->note->state == RECORD_MISSING || w->note->state == RECORD_OUTDATED))
        rc = reconcile_repair(w, err);
    if (!rc && w->note->state != RECORD_MISSING && w->note->state != RECORD_OUTDATED) /* perhaps by somebody else */
        w->note->begun[0] = 0;
    return rc;
}

/* The record may be as it is for long: a failure is told in the note until the next comparison. */
static void reconcile_note_failure(struct work *w, int rc, const struct err *err) {
    char remedy[ERR_REMEDY_BYTES];
    if (rc && rc != ERR_BUSY && rc != ERR_NOT_REGISTERED)
        set_problem(w->note, err->text, err->remedy[0] ? err->remedy : look_remedy(w, remedy));
}

static void date_problem(const struct record_note *before, struct record_note *note) {
    note->problem_since_ms = !note->problem[0] ? 0 : before->problem_since_ms ? before->problem_since_ms : clock_wall_ms();
}

int reconcile_run(struct link *link, struct reconcile_result *out, struct err *err) {
    struct reconcile_result result = {0};
    struct link_report report;
    const struct record_note *before = &report.record;
    struct work w = {.link = link, .env = link_env(link), .note = &result.note};
    struct err why = {0};
    int rc = link_get_info(link, &w.vc, err);
    if (!rc && (!w.vc.registered_at_ms || !w.vc.extension_key))
        rc = err_set(err, ERR_NOT_REGISTERED, "we are not registered with vCenter %s", w.vc.name);
    if (rc) {
        reconcile_work_done(&w);
        return rc;
    }
    link_get_report(link, &report);
    result.note = *before;
    rc = compare_and_repair(&w, &why);
    result.note.reconciled_at_ms = rc ? before->reconciled_at_ms : clock_wall_ms();
    reconcile_note_failure(&w, rc, &why);
    date_problem(before, &result.note);
    link_note_record(link, &result.note);
    count_outcome(&w, rc);
    result.was_repaired = w.is_repaired;
    result.has_news = w.is_repaired || before->state != result.note.state || !str_eq(before->problem, result.note.problem);
    reconcile_work_done(&w);
    (void)err_move(err, rc, &why);
    *out = result;
    return rc;
}
