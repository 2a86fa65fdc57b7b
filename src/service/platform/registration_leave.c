/* Leaving a vCenter, as a list of named steps. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * That we want to leave is written down before the record goes: a reconciliation must not bring back what was removed on purpose, also when
 * kaasd is killed half-way. Another `unregister` then finishes the work. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "vcenter_store.h"
#include "registration.h"
#include "registration_role.h"
#include "registration_work.h"
#include "str.h"

#define LOOK_UPS_MAX 64 /* records that are read for our owner mark */
#define HX_PREFIX "com.springpath.sysmgmt"

static int step_check_privileges(struct registration_work *w, struct err *err) {
    static const char *const needed[] = {"Extension.Unregister"};
    return w->found ? registration_require(w, needed, ARRAY_COUNT(needed), err) : 0;
}

static int step_require_record(struct registration_work *w, struct err *err) {
    if (w->found || w->vc.registered_at_ms || w->row.role_name)
        return 0; /* a record that somebody removed at the vCenter: forget our side of it */
    (void)err_set(err, ERR_NOT_REGISTERED, "vCenter %s has no extension %s", w->vc.name, w->vc.extension_key);
    return err_remedy(err, "nothing to remove there");
}

static int step_describe(struct registration_work *w, struct err *err) {
    struct report_texts *steps = &w->report->steps;
    if (!w->dry_run)
        return 0;
    w->is_over = true;
    if (w->found)
        report_texts_add(steps, "remove the extension %s", w->vc.extension_key);
    if (w->row.role_name && w->row.role_principal)
        report_texts_add(steps, "take the role \"%s\" back from %s", w->row.role_name, w->row.role_principal);
    if (w->row.role_name)
        report_texts_add(steps, "remove the role \"%s\" unless others have it", w->row.role_name);
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
    if (rc && w->vc.registered_at_ms) /* it is as it was */
        (void)registration_save_row(w, w->vc.registered_at_ms, NULL);
    return rc;
}

static int step_remove_role(struct registration_work *w, struct err *err) {
    (void)err;
    registration_remove_role(w);
    return 0;
}

static int retire_credential(struct registration_work *w, enum credential_state state, struct err *err) {
    _cleanup_(vcenter_credential_free) struct vcenter_credential *found = NULL;
    int rc = credential_store_load(w->options->store, w->vc.id, state, &found, err);
    return rc || !found ? rc : credential_store_retire(w->options->store, w->vc.id, found->generation, err);
}

static int step_forget(struct registration_work *w, struct err *err) {
    int rc = retire_credential(w, CREDENTIAL_ACTIVE, err);
    if (!rc) /* of a registration that was cut short */
        rc = retire_credential(w, CREDENTIAL_PENDING, err);
    (void)vim_logout(link_client(w->link), NULL);
    link_forget_material(w->link);
    return rc ? rc : platform_sync(w->platform, err);
}

/* -- what stays behind ------------------------------------------------------------------------------------------------------ */

/* Keys of VMware and of HX are not ours; reading all records of a large vCenter for our mark would take long. */
static bool is_worth_a_look(const struct registration_work *w, const char *key) {
    return !str_starts(key, "com.vmware.") && !str_starts(key, HX_PREFIX) && !str_eq(key, w->vc.extension_key);
}

static void look_at_key(struct registration_work *w, const char *key) {
    _cleanup_(vim_extension_free) struct vim_extension *found = NULL;
    if (vim_find_extension(w->admin, key, &found, NULL) || !found)
        return;
    if (str_eq(extension_record_owner(found), platform_installation(w->platform)))
        report_texts_add(&w->report->left,
                         "the extension %s, which this installation registered under an earlier vcenter.extension_key", key);
}

static void look_at_keys(struct registration_work *w) {
    struct vim_key_list keys = {0};
    size_t looked = 0, hx = 0;
    if (vim_list_extension_keys(w->admin, &keys, NULL)) {
        report_texts_add(&w->report->left, "other extensions of ours: not known, the list could not be read");
        return;
    }
    for (size_t i = 0; i < keys.count; i++) {
        hx += str_starts(keys.items[i], HX_PREFIX);
        if (is_worth_a_look(w, keys.items[i]) && looked++ < LOOK_UPS_MAX)
            look_at_key(w, keys.items[i]);
    }
    if (looked > LOOK_UPS_MAX)
        report_texts_add(&w->report->left, "other extensions of ours: only %d of %zu were looked at", LOOK_UPS_MAX, looked);
    if (hx)
        report_texts_add(&w->report->left, "%zu extension records of HyperFlex, which are not ours: not touched", hx);
    vim_key_list_done(&keys);
}

static void look_at_sessions(struct registration_work *w) {
    struct vim_session_list list = {0};
    struct err why = {0};
    size_t ours = 0;
    if (vim_list_sessions(w->admin, &list, &why)) {
        report_texts_add(&w->report->left, "sessions of ours: not known, the list could not be read (%.200s)", why.text);
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        const struct vim_user_session *session = &list.items[i];
        ours += session->user_agent && strstr(session->user_agent, platform_installation(w->platform)) &&
                !str_eq(session->key, w->who.key);
    }
    if (ours)
        report_texts_add(&w->report->left, "%zu session%s of other replicas: they end within seconds", ours, ours > 1 ? "s" : "");
    vim_session_list_done(&list);
}

static int step_look_back(struct registration_work *w, struct err *err) {
    (void)err;
    look_at_keys(w);
    look_at_sessions(w);
    platform_note_written(w->platform);
    return 0;
}

int registration_unregister(struct link *link, const struct unregister_request *request, struct registration_report *report,
                            struct err *err) {
    static registration_step *const steps[] = {
        registration_load,     registration_sign_in, registration_find_record, step_require_record, registration_check_owner,
        step_check_privileges, step_describe,        registration_begin_deed,  step_note_leaving,   step_remove_record,
        step_remove_role,      step_forget,          step_look_back,
    };
    struct registration_report unused = {0};
    struct registration_work w = {.link = link,
                                  .leaving = request,
                                  .actor = &request->actor,
                                  .account = &request->account,
                                  .report = report ? report : &unused,
                                  .action = "vcenter.unregister",
                                  .dry_run = request->dry_run};
    int rc = registration_run(&w, steps, ARRAY_COUNT(steps), err);
    registration_report_done(&unused);
    return rc;
}
