/* Joining and leaving a vCenter, each a list of named steps. Layer 4 (vcenter). Adding and removing one is vcenter_set.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "names.h"
#include "rescan.h"
#include "platform_links.h"
#include "registration_private.h"
#include "str.h"
#include "vcenter_store.h"
#include "vim_alarm.h"
#include "vim_authorization.h"
#include "vim_session.h"

#define LOOK_UPS_MAX 64 /* records that are read for our owner mark */
#define HX_PREFIX "com.springpath.sysmgmt"

typedef int registration_step(struct registration_work *w, struct err *err);

/* -- first steps ------------------------------------------------------------------------------------------------------------ */

static int registration_step_load(struct registration_work *w, struct err *err) {
    int rc = link_get_info(w->link, &w->vc, err);
    if (!rc && !w->vc.extension_key)
        w->vc.extension_key = str_dup(w->env->options.extension_key);
    if (!rc && !w->vc.extension_key)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = registration_store_load(w->env->options.runtime->store, w->vc.id, &w->row, err);
    w->report->key = str_dup(w->vc.extension_key);
    return rc;
}

/* Our own login, in a session apart from the link's: that one ends on the way. */
static int sign_in_as_us(struct registration_work *w, struct err *err) {
    struct login_material material = {0};
    struct login_used used = {0};
    int rc = login_material_load(w->env->options.runtime->store, w->env->options.runtime->seal, w->vc.id, &material, err);
    material.refusals = link_refusals(w->link);
    if (!rc)
        rc = login_with_material(w->admin, &w->vc, &material, NULL, &used, err);
    login_material_done(&material);
    if (rc == ERR_CREDENTIALS || rc == ERR_NOT_REGISTERED)
        (void)err_remedy(err, "give an account of the vCenter: --user NAME");
    return rc;
}

static int sign_in_as_account(struct registration_work *w, struct err *err) {
    int rc = vim_login_password(w->admin, w->account->user, w->account->password, err);
    if (rc == ERR_CREDENTIALS)
        (void)err_remedy(err, "check the user name (user@domain) and the password; they go to %s only", w->vc.address);
    return rc;
}

static int step_sign_in(struct registration_work *w, struct err *err) {
    struct vim_about about = {0};
    int rc = session_open_task(w->link, "registration", &w->admin, err);
    if (!rc)
        rc = vim_connect(w->admin, &about, err);
    if (!rc) { /* what the record may hold depends on it */
        free(w->vc.api_version);
        w->vc.api_version = str_dup(about.api_version);
    }
    vim_about_done(&about);
    if (!rc)
        rc = w->account->user ? sign_in_as_account(w, err) : sign_in_as_us(w, err);
    if (!rc) /* of an earlier try that was cut short */
        (void)session_sweep(w->link, w->admin, NULL);
    if (!rc)
        rc = vim_get_own_session(w->admin, &w->who, err);
    if (!rc)
        w->report->account = str_dup(w->who.user_name);
    return rc;
}

static int step_find_record(struct registration_work *w, struct err *err) {
    int rc = vim_find_extension(w->admin, w->vc.extension_key, &w->found, err);
    const char *owner = !rc && w->found ? extension_record_owner(w->found) : NULL;
    bool is_ours = str_eq(owner, w->env->installation);
    if (rc)
        return rc;
    w->report->record = !w->found ? RECORD_MISSING : is_ours ? RECORD_OURS : RECORD_FOREIGN;
    if (w->found && !is_ours)
        w->report->owner = str_dup(owner);
    return 0;
}

static int step_check_owner(struct registration_work *w, struct err *err) {
    const char *owner = w->report->owner;
    if (w->report->record != RECORD_FOREIGN || w->take_over)
        return 0;
    if (owner)
        (void)err_set(err, ERR_CONFLICT, "the extension %s of vCenter %s belongs to another installation (%s)",
                      w->vc.extension_key, w->vc.name, owner);
    else
        (void)err_set(
            err, ERR_CONFLICT, "the extension %s of vCenter %s was not written by Harmony KaaS (version %.40s of %.80s)",
            w->vc.extension_key, w->vc.name, w->found->version, w->found->company ? w->found->company : "an unknown company");
    if (w->joining)
        return err_remedy(err, "if that installation is gone, repeat with --take-over; else set another vcenter.extension_key");
    return err_remedy(err, "it is left alone; remove it with what wrote it");
}

static int registration_save_row(struct registration_work *w, int64_t registered_at_ms, struct err *err) {
    struct vcenter *row = NULL;
    int64_t version_no = 0;
    int rc = vcenter_store_load(w->env->options.runtime->store, w->vc.id, &row, err); /* it may have moved on since it was read */
    if (rc)
        return rc;
    free(row->extension_key);
    row->extension_key = str_dup(w->vc.extension_key);
    row->registered_at_ms = registered_at_ms;
    rc = row->extension_key ? vcenter_store_update(w->env->options.runtime->store, row, NULL, &version_no, err)
                            : err_set(err, ERR_NOMEM, "out of memory");
    vcenter_free(row);
    return rc;
}

/* -- around the steps ------------------------------------------------------------------------------------------------------- */

static int run_steps(struct registration_work *w, registration_step *const *steps, size_t count, struct err *err) {
    int rc = 0;
    for (size_t i = 0; !rc && !w->is_over && i < count; i++) {
        rc = w->dry_run ? 0 : admin_lease_renew(&w->lease, err);
        if (!rc)
            rc = steps[i](w, err);
    }
    return rc;
}

static struct audit_record registration_make_line(const struct registration_work *w) {
    return platform_audit_make(w->env, w->actor,
                               &(struct audit_event){.action = w->action, .object_id = w->vc.id, .object_name = w->vc.name});
}

static int step_begin_operation(struct registration_work *w, struct err *err) {
    const struct audit_record line = registration_make_line(w);
    return platform_audit_begin(w->env, &line, &w->begun, err);
}

/* Whose record was overwritten is in the audit log, too. */
static void registration_note_in_audit(const struct registration_work *w, int rc, const struct err *err) {
    struct audit_record line = registration_make_line(w);
    _cleanup_free_ char *taken =
        w->report->record == RECORD_FOREIGN && w->take_over
            ? str_format("took over the record of %s", w->report->owner ? w->report->owner : "another program")
            : NULL;
    line.event.reason = rc ? err->text : taken;
    platform_audit_end(w->env, &line, rc, &w->begun);
}

static void registration_work_done(struct registration_work *w) {
    session_close_task(w->link, w->admin);
    vim_user_session_done(&w->who);
    vim_extension_free(w->found);
    registration_row_done(&w->row);
    free(w->role_account);
    state_alarm_done(&w->alarm);
    vim_place_list_done(&w->places);
    extension_record_done(&w->wanted);
    login_credential_done(&w->certificate);
    login_credential_done(&w->account_credential);
    vcenter_done(&w->vc);
    admin_lease_release(&w->lease);
}

static int run_registration(struct registration_work *w, registration_step *const *steps, size_t count, struct err *err) {
    struct err why = {0};
    int rc;
    w->env = link_env(w->link);
    rc = w->dry_run ? 0 : admin_lease_await(w->link, &w->lease, err);
    if (rc)
        return rc;
    rc = run_steps(w, steps, count, &why);
    if (!w->dry_run)
        registration_note_in_audit(w, rc, &why);
    (void)err_move(err, rc, &why);
    registration_work_done(w);
    return rc;
}

/* -- the alarm ------------------------------------------------------------------------------------------------------------ */

/* Whatever could prevent it is found before anything is changed. */
static int step_check_alarm(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Alarm.Create"};
    int rc = w->joining->creates_alarms ? state_alarm_lookup(w->admin, w->env->installation, &w->alarm, err) : 0;
    if (rc || !w->joining->creates_alarms || w->alarm.owner == STATE_ALARM_OURS)
        return rc;
    if (w->alarm.owner == STATE_ALARM_NOBODY)
        return registration_require_privileges(w, needed, ARRAY_COUNT(needed), err);
    (void)err_set(err, ERR_EXISTS, "vCenter %s has an alarm \"%s\" that was not made by this installation", w->vc.name,
                  w->alarm.name);
    return err_remedy(err, "rename or remove it (vCenter, Configure, Alarm Definitions), or register without --create-alarms");
}

static void registration_describe_alarm(struct registration_work *w) {
    if (!w->joining->creates_alarms)
        return;
    if (w->alarm.owner == STATE_ALARM_OURS)
        report_texts_add(&w->report->steps, "leave the alarm \"%s\" as it is", w->alarm.name);
    else
        report_texts_add(&w->report->steps, "make the alarm \"%s\"", STATE_ALARM_NAME);
}

static int step_make_alarm(struct registration_work *w, struct err *err) {
    if (!w->joining->creates_alarms || w->alarm.owner == STATE_ALARM_OURS)
        return 0;
    return state_alarm_make(w->admin, w->env->installation, err);
}

/* What cannot be found out about it keeps nobody from leaving. */
static int step_find_alarm(struct registration_work *w, struct err *err) {
    struct err why = {0};
    (void)err;
    if (state_alarm_lookup(w->admin, w->env->installation, &w->alarm, &why))
        report_texts_add(&w->report->left, "an alarm of ours: not known, the alarms could not be read (%.200s)", why.text);
    return 0;
}

/* Our own login would need a right that it needs for nothing else. */
static int step_remove_alarm(struct registration_work *w, struct err *err) {
    struct err why = {0};
    int rc;
    (void)err;
    if (w->alarm.owner != STATE_ALARM_OURS)
        return 0;
    if (!w->account->user) {
        report_texts_add(&w->report->left, "the alarm \"%s\": only an account removes it (--user NAME), or you do",
                         w->alarm.name);
        return 0;
    }
    rc = vim_remove_alarm(w->admin, w->alarm.moref, &why);
    if (rc && rc != ERR_NOT_FOUND)
        report_texts_add(&w->report->left, "the alarm \"%s\": %s", w->alarm.name, why.text);
    return 0;
}

/* -- joining ------------------------------------------------------------------------------------------------------- */

/* What holds whatever step fails, or when kaasd is killed there: the key of each certificate that vCenter may know is in the database
 * before vCenter hears of it and goes only when another one has logged in. So either the old or the new one logs in, and one more
 * `register` goes on where this one stopped, with the same pending certificate. */

/* HX Connect and vCenter could not find us by a record without our address. */
static int step_check_address(struct registration_work *w, struct err *err) {
    if (str_starts(w->env->options.runtime->public_url, "https://"))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "server.public_url is not set, so the vCenter could not be told where we are");
    return err_remedy(err, "set it in the configuration to the https address of this service and restart kaasd");
}

static int step_check_joining(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Extension.Register", "Extension.Update"};
    return registration_require_privileges(w, needed, ARRAY_COUNT(needed), err);
}

/* A pending certificate is used again: vCenter may know it, so it must not be thrown away for another one. One that cannot be read
 * (another master key) is of no use to anybody. */
static int step_make_certificate(struct registration_work *w, struct err *err) {
    struct login_material material = {0};
    int rc = login_material_load(w->env->options.runtime->store, w->env->options.runtime->seal, w->vc.id, &material, NULL);
    if (rc == ERR_DATABASE || rc == ERR_NOMEM)
        return err_set(err, rc, "%s", err_default_text(rc));
    if (!rc && material.pending.generation && material.pending.kind == CREDENTIAL_CERTIFICATE) {
        w->certificate = material.pending;
        memset(&material.pending, 0, sizeof(material.pending));
    }
    w->leaves_account = material.active.generation && material.active.kind != CREDENTIAL_CERTIFICATE;
    login_material_done(&material);
    if (w->certificate.generation)
        return 0;
    return login_credential_make(&w->vc, w->env->options.login_certificate_days, w->env->options.key_bits, &w->certificate, err);
}

static void choose_credential(struct registration_work *w, struct login_credential *credential, size_t first, size_t count) {
    for (size_t i = first; !w->chosen && i < first + count; i++) {
        if (!w->report->attempts[i].works)
            continue;
        w->chosen = credential;
        w->strategy = w->report->attempts[i].strategy;
    }
    w->report->attempts_count = first + count;
}

/* Before anything is registered: a record that nobody can log in with helps no one. */
static int step_probe_certificate(struct registration_work *w, struct err *err) {
    size_t count = login_probe(w->admin, &w->vc, &w->certificate, NULL, w->report->attempts);
    (void)err;
    choose_credential(w, &w->certificate, 0, count);
    return 0;
}

static int no_way(const struct registration_work *w, struct err *err) {
    const struct registration_report *report = w->report;
    _cleanup_strbuf_ struct strbuf why;
    strbuf_init(&why, 400);
    for (size_t i = 0; i < report->attempts_count; i++)
        strbuf_addf(&why, "%s%s: %.120s", i ? "; " : "", vim_strategy_name(report->attempts[i].strategy),
                    report->attempts[i].err.text);
    (void)err_set(err, ERR_UPSTREAM, "no way to log in works at vCenter %s (%s)", w->vc.name,
                  report->attempts_count ? why.data : "none is switched on");
    if (w->joining->login.user && report->attempts_count)
        return err_remedy(err, "%s", report->attempts[report->attempts_count - 1].err.remedy);
    return err_remedy(err,
                      "open port 80 of the vCenter for us, give the port with --tunnel-port, or an account with --login-account;"
                      " nothing was changed there");
}

/* -- telling instead of doing ------------------------------------------------------------------------------------------------ */

static int list_members(struct registration_work *w, struct err *err) {
    const char *differences[EXTENSION_DIFFERENCES_MAX];
    struct extension_name name = {.key = w->vc.extension_key, .registration_no = w->row.registration_no + 1};
    int rc = extension_record_make(w->env, &name, &w->wanted, err);
    if (rc)
        return rc;
    if (w->found)
        extension_record_keep(&w->wanted, w->found);
    if (w->report->record == RECORD_OURS && extension_record_compare(w->found, &w->wanted.record, w->vc.api_version, differences))
        w->report->record = RECORD_OUTDATED;
    return extension_text_lines(w->found, &w->wanted.record, w->vc.api_version, &w->report->lines, err);
}

static void list_steps(struct registration_work *w) {
    struct report_texts *steps = &w->report->steps;
    const char *key = w->vc.extension_key;
    if (w->chosen)
        report_texts_add(steps, w->certificate.generation ? "go on with the login certificate of an earlier try"
                                                          : "make a login certificate and store its key, sealed");
    else
        report_texts_add(steps, "store the password of %s, sealed", w->joining->login.user);
    report_texts_add(steps, w->found ? "write the extension %s anew" : "register the extension %s", key);
    if (w->chosen)
        report_texts_add(steps, "set the login certificate of the extension, last");
    report_texts_add(steps, "log in by %s",
                     vim_strategy_name(w->chosen ? w->strategy : login_way_of_account(w->joining->login_kind)));
    registration_describe_alarm(w);
    report_texts_add(steps, "read the inventory");
}

/* An account is not tried in a dry run: its password would be sent, and the role it needs may not be there yet. */
static int step_describe_joining(struct registration_work *w, struct err *err) {
    int rc;
    if (!w->dry_run)
        return 0;
    w->is_over = true;
    if (!w->chosen && !w->joining->login.user)
        return no_way(w, err);
    rc = registration_describe_role(w, err);
    if (rc)
        return rc;
    list_steps(w);
    return list_members(w, err);
}

/* -- doing ------------------------------------------------------------------------------------------------------------------ */

static int step_probe_account(struct registration_work *w, struct err *err) {
    const struct vcenter_account *login = &w->joining->login;
    struct login_attempt attempts[LOGIN_STRATEGIES_MAX];
    size_t first = w->report->attempts_count, count;
    struct vcenter none = w->vc;
    int rc;
    if (w->chosen)
        return 0;
    if (!login->user)
        return no_way(w, err);
    rc = login_credential_take_account(w->joining->login_kind, login->user, login->password, &w->account_credential, err);
    if (rc)
        return rc;
    none.tunnel_port = none.direct_port = 0; /* tried already */
    count = login_probe(w->admin, &none, &w->certificate, &w->account_credential, attempts);
    memcpy(&w->report->attempts[first], attempts, count * sizeof(attempts[0]));
    choose_credential(w, &w->account_credential, first, count);
    return w->chosen ? 0 : no_way(w, err);
}

static int step_save_pending(struct registration_work *w, struct err *err) {
    if (w->chosen->generation)
        return 0;
    return login_credential_save_pending(w->env->options.runtime->store, w->env->options.runtime->seal, w->vc.id, w->chosen, err);
}

static int step_write_record(struct registration_work *w, struct err *err) {
    struct extension_name name = {.key = w->vc.extension_key};
    int rc = registration_store_count(w->env->options.runtime->store, w->vc.id, &name.registration_no, err);
    if (!rc)
        rc = extension_record_make(w->env, &name, &w->wanted, err);
    if (!rc && (!w->found || extension_record_clears_certificate(w->found, &w->wanted.record)))
        rc = registration_store_set_due(w->env->options.runtime->store, w->vc.id, true, err);
    if (rc)
        return rc;
    if (!w->found)
        return vim_register_extension(w->admin, &w->wanted.record, err);
    extension_record_keep(&w->wanted, w->found);
    return vim_update_extension(w->admin, &w->wanted.record, err);
}

/* Last at the vCenter: writing the record may clear it. */
static int step_tell_credential(struct registration_work *w, struct err *err) {
    return login_credential_tell(w->admin, &w->vc, w->chosen, err);
}

static int log_in_as_chosen(struct vim_client *client, void *arg, struct err *err) {
    const struct registration_work *w = arg;
    return login_by(client, &w->vc, w->chosen, w->strategy, err);
}

static int step_prove_login(struct registration_work *w, struct err *err) {
    int rc = vim_replace_session(link_client(w->link), log_in_as_chosen, w, err);
    if (rc == ERR_CREDENTIALS)
        return err_remedy(err,
                          "vCenter took the certificate but does not accept it; again: kaasctl vcenter register %s --user %s",
                          name_word(w->vc.name, w->vc.id), name_quote(w->account->user).text);
    if (rc)
        return rc;
    link_note_login(w->link, w->strategy, w->chosen->user);
    link_request(w->link, LINK_WORK_SWEEP); /* a kill may have left a session that the link never knew */
    return 0;
}

static int step_activate(struct registration_work *w, struct err *err) {
    int rc = credential_store_promote(w->env->options.runtime->store, w->vc.id, w->chosen->generation, NULL, err);
    if (!rc)
        rc = registration_save_row(w, clock_wall_ms(), err);
    if (!rc)
        rc = registration_store_set_due(w->env->options.runtime->store, w->vc.id, false, err);
    link_forget_material(w->link);
    if (!rc && w->leaves_account) /* while both were good the link may have logged in by the account again, or is about to */
        (void)vim_logout(link_client(w->link), NULL);
    return rc ? rc : platform_sync(w->env->platform, err);
}

static int step_read_inventory(struct registration_work *w, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    struct err why = {0};
    int rc = rescan_run(w->link, NULL, &why);
    runtime_note_written(w->env->options.runtime);
    (void)err_move(err, rc, &why);
    return link_note(w->link, since_ms, rc, &why);
}

int registration_register(struct link *link, const struct register_request *request, struct registration_report *report,
                          struct err *err) {
    static registration_step *const steps[] = {
        registration_step_load,    step_check_address,    step_sign_in,         step_check_joining,     registration_check_role,
        registration_find_objects, step_check_alarm,      step_find_record,     step_check_owner,       step_make_certificate,
        step_probe_certificate,    step_describe_joining, step_begin_operation, registration_make_role, step_probe_account,
        step_save_pending,         step_write_record,     step_tell_credential, step_prove_login,       step_activate,
        registration_clear_role,   step_make_alarm,       step_read_inventory,
    };
    _cleanup_done_(registration_report_done) struct registration_report unused = {0};
    struct registration_work w = {.link = link,
                                  .joining = request,
                                  .actor = &request->actor,
                                  .account = &request->account,
                                  .report = report ? report : &unused,
                                  .action = "vcenter.register",
                                  .take_over = request->take_over,
                                  .dry_run = request->dry_run};
    return run_registration(&w, steps, ARRAY_COUNT(steps), err);
}

/* -- leaving ------------------------------------------------------------------------------------------------------- */

/* That we want to leave is written down before the record goes: a reconciliation must not bring back what was removed on purpose, also when
 * kaasd is killed half-way. Another `unregister` then finishes the work. */

/* The login by which its clusters are made, and deleted, would be gone. */
static int step_check_unprovided(struct registration_work *w, struct err *err) {
    return w->leaving->leaves_providers ? 0 : vcenter_store_check_unprovided(w->env->options.runtime->store, w->vc.id, err);
}

static int step_check_leaving(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Extension.Unregister"};
    return w->found ? registration_require_privileges(w, needed, ARRAY_COUNT(needed), err) : 0;
}

static int step_require_record(struct registration_work *w, struct err *err) {
    if (w->found || w->vc.registered_at_ms || w->row.role_name)
        return 0; /* a record that somebody removed at the vCenter: forget our side of it */
    (void)err_set(err, ERR_NOT_REGISTERED, "vCenter %s has no extension %s", w->vc.name, w->vc.extension_key);
    return err_remedy(err, "nothing to remove there");
}

static int step_describe_leaving(struct registration_work *w, struct err *err) {
    struct report_texts *steps = &w->report->steps;
    if (!w->dry_run)
        return 0;
    w->is_over = true;
    if (w->found)
        report_texts_add(steps, "remove the extension %s", w->vc.extension_key);
    registration_describe_role_removal(w);
    if (w->alarm.owner == STATE_ALARM_OURS)
        report_texts_add(steps,
                         w->account->user ? "remove the alarm \"%s\"" : "leave the alarm \"%s\", which only an account removes",
                         w->alarm.name);
    report_texts_add(steps, "delete the key of the login certificate");
    report_texts_add(steps, "log out");
    return extension_text_lines(w->found, NULL, w->vc.api_version, &w->report->lines, err);
}

static int step_note_leaving(struct registration_work *w, struct err *err) {
    return w->vc.registered_at_ms ? registration_save_row(w, 0, err) : 0;
}

static int step_remove_record(struct registration_work *w, struct err *err) {
    int rc = w->found ? vim_unregister_extension(w->admin, w->vc.extension_key, err) : 0;
    if (rc == ERR_NOT_FOUND) { /* somebody was quicker */
        err_clear(err);
        return 0;
    }
    if (rc && w->vc.registered_at_ms) { /* it is as it was, and who asks next shall hear so */
        (void)registration_save_row(w, w->vc.registered_at_ms, NULL);
        runtime_note_written(w->env->options.runtime);
    }
    return rc;
}

static int step_remove_role(struct registration_work *w, struct err *err) {
    (void)err;
    registration_remove_role(w);
    return 0;
}

static int registration_step_forget(struct registration_work *w, struct err *err) {
    int rc = login_credential_retire(w->env->options.runtime->store, w->vc.id, CREDENTIAL_ACTIVE, err);
    if (!rc) /* of a registration that was cut short */
        rc = login_credential_retire(w->env->options.runtime->store, w->vc.id, CREDENTIAL_PENDING, err);
    (void)vim_logout(link_client(w->link), NULL);
    link_forget_material(w->link);
    return rc ? rc : platform_sync(w->env->platform, err);
}

/* -- what stays behind ------------------------------------------------------------------------------------------------------ */

/* Keys of VMware and of HX are not ours; reading all records of a large vCenter for our mark would take long. */
static bool is_worth_a_look(const struct registration_work *w, const char *key) {
    return !str_starts(key, "com.vmware.") && !str_starts(key, HX_PREFIX) && !str_eq(key, w->vc.extension_key);
}

static void registration_look_at_key(struct registration_work *w, const char *key) {
    _cleanup_(vim_extension_free) struct vim_extension *found = NULL;
    if (vim_find_extension(w->admin, key, &found, NULL) || !found)
        return;
    if (str_eq(extension_record_owner(found), w->env->installation))
        report_texts_add(&w->report->left,
                         "the extension %s, which this installation registered under an earlier vcenter.extension_key", key);
}

static void look_at_keys(struct registration_work *w) {
    _cleanup_done_(vim_key_list_done) struct vim_key_list keys = {0};
    size_t looked = 0, hx = 0;
    if (vim_list_extension_keys(w->admin, &keys, NULL)) {
        report_texts_add(&w->report->left, "other extensions of ours: not known, the list could not be read");
        return;
    }
    for (size_t i = 0; i < keys.count; i++) {
        hx += str_starts(keys.items[i], HX_PREFIX);
        if (is_worth_a_look(w, keys.items[i]) && looked++ < LOOK_UPS_MAX)
            registration_look_at_key(w, keys.items[i]);
    }
    if (looked > LOOK_UPS_MAX)
        report_texts_add(&w->report->left, "other extensions of ours: only %d of %zu were looked at", LOOK_UPS_MAX, looked);
    if (hx)
        report_texts_add(&w->report->left, "%zu extension records of HyperFlex, which are not ours: not touched", hx);
}

static void look_at_sessions(struct registration_work *w) {
    _cleanup_done_(vim_session_list_done) struct vim_session_list list = {0};
    struct err why = {0};
    size_t ours = 0;
    if (vim_list_sessions(w->admin, &list, &why)) {
        report_texts_add(&w->report->left, "sessions of ours: not known, the list could not be read (%.200s)", why.text);
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct vim_user_session *session = &list.items[i];
        ours += session->user_agent && strstr(session->user_agent, w->env->installation) && !str_eq(session->key, w->who.key);
    }
    if (ours)
        report_texts_add(&w->report->left, "%zu session%s of other replicas: they end within seconds", ours, ours > 1 ? "s" : "");
}

static int registration_step_look_back(struct registration_work *w, struct err *err) {
    (void)err;
    look_at_keys(w);
    look_at_sessions(w);
    runtime_note_written(w->env->options.runtime);
    return 0;
}

int registration_unregister(struct link *link, const struct unregister_request *request, struct registration_report *report,
                            struct err *err) {
    static registration_step *const steps[] = {
        registration_step_load,      step_check_unprovided, step_sign_in,       step_find_record,      step_find_alarm,
        step_require_record,         step_check_owner,      step_check_leaving, step_describe_leaving, step_begin_operation,
        step_note_leaving,           step_remove_record,    step_remove_role,   step_remove_alarm,     registration_step_forget,
        registration_step_look_back,
    };
    _cleanup_done_(registration_report_done) struct registration_report unused = {0};
    struct registration_work w = {.link = link,
                                  .leaving = request,
                                  .actor = &request->actor,
                                  .account = &request->account,
                                  .report = report ? report : &unused,
                                  .action = "vcenter.unregister",
                                  .dry_run = request->dry_run};
    return run_registration(&w, steps, ARRAY_COUNT(steps), err);
}
