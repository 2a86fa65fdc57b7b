/* Joining a vCenter, as a list of named steps. Layer 4 (service/platform). Adding one is vcenter_add.c, leaving registration_leave.c.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What holds whatever step fails, or when kaasd is killed there: the key of each certificate that vCenter may know is in the database
 * before vCenter hears of it and goes only when another one has logged in. So either the old or the new one logs in, and one more
 * `register` goes on where this one stopped, with the same pending certificate. */
#include "registration.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "vcenter_store.h"
#include "discovery.h"
#include "registration_role.h"
#include "registration_work.h"
#include "str.h"

#define LOGIN_CERTIFICATE_DAYS 730

/* HX Connect and vCenter could not find us by a record without our address. */
static int step_check_address(struct registration_work *w, struct err *err) {
    if (str_starts(w->options->public_url, "https://"))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "server.public_url is not set, so the vCenter could not be told where we are");
    return err_remedy(err, "set it in the configuration to the https address of this service and restart kaasd");
}

static int step_check_privileges(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Extension.Register", "Extension.Update"};
    return registration_require(w, needed, ARRAY_COUNT(needed), err);
}

/* A pending certificate is used again: vCenter may know it, so it must not be thrown away for another one. One that cannot be read
 * (another master key) is of no use to anybody. */
static int step_make_certificate(struct registration_work *w, struct err *err) {
    struct login_material material = {0};
    int rc = login_material_load(w->options->store, w->options->seal, w->vc.id, &material, NULL);
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
    return login_credential_make(&w->vc, w->options->login_certificate_days, w->options->key_bits, &w->certificate, err);
}

static void choose(struct registration_work *w, struct login_credential *credential, size_t first, size_t count) {
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
    choose(w, &w->certificate, 0, count);
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
    int rc = extension_record_make(w->platform, &name, &w->wanted, err);
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
    report_texts_add(steps, "read the inventory");
}

/* An account is not tried in a dry run: its password would be sent, and the role it needs may not be there yet. */
static int step_describe(struct registration_work *w, struct err *err) {
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
    choose(w, &w->account_credential, first, count);
    return w->chosen ? 0 : no_way(w, err);
}

static int step_save_pending(struct registration_work *w, struct err *err) {
    if (w->chosen->generation)
        return 0;
    return login_credential_save_pending(w->options->store, w->options->seal, w->vc.id, w->chosen, err);
}

static int step_write_record(struct registration_work *w, struct err *err) {
    struct extension_name name = {.key = w->vc.extension_key};
    int rc = registration_store_count(w->options->store, w->vc.id, &name.registration_no, err);
    if (!rc)
        rc = extension_record_make(w->platform, &name, &w->wanted, err);
    if (!rc && (!w->found || extension_record_clears_certificate(w->found, &w->wanted.record)))
        rc = registration_store_set_due(w->options->store, w->vc.id, true, err);
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
        return err_remedy(err, "vCenter took the certificate but does not accept it: repeat 'kaasctl vcenter register'");
    if (rc)
        return rc;
    link_note_strategy(w->link, w->strategy);
    link_request(w->link, LINK_WORK_SWEEP); /* a kill may have left a session that the link never knew */
    return 0;
}

static int step_activate(struct registration_work *w, struct err *err) {
    int rc = credential_store_promote(w->options->store, w->vc.id, w->chosen->generation, NULL, err);
    if (!rc)
        rc = registration_save_row(w, clock_wall_ms(), err);
    if (!rc)
        rc = registration_store_set_due(w->options->store, w->vc.id, false, err);
    link_forget_material(w->link);
    if (!rc && w->leaves_account) /* while both were good the link may have logged in by the account again, or is about to */
        (void)vim_logout(link_client(w->link), NULL);
    return rc ? rc : platform_sync(w->platform, err);
}

static int step_read_inventory(struct registration_work *w, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    struct err why = {0};
    int rc = discovery_run(w->link, NULL, &why);
    platform_note_written(w->platform);
    (void)err_move(err, rc, &why);
    return link_note(w->link, since_ms, rc, &why);
}

int registration_register(struct link *link, const struct register_request *request, struct registration_report *report,
                          struct err *err) {
    static registration_step *const steps[] = {
        registration_load,        step_check_address,
        registration_sign_in,     step_check_privileges,
        registration_check_role,  registration_find_record,
        registration_check_owner, step_make_certificate,
        step_probe_certificate,   step_describe,
        registration_begin_deed,  registration_make_role,
        step_probe_account,       step_save_pending,
        step_write_record,        step_tell_credential,
        step_prove_login,         step_activate,
        step_read_inventory,
    };
    struct registration_report unused = {0};
    struct registration_work w = {.link = link,
                                  .joining = request,
                                  .actor = &request->actor,
                                  .account = &request->account,
                                  .report = report ? report : &unused,
                                  .action = "vcenter.register",
                                  .take_over = request->take_over,
                                  .dry_run = request->dry_run};
    int rc = registration_run(&w, steps, ARRAY_COUNT(steps), err);
    registration_report_done(&unused);
    return rc;
}
