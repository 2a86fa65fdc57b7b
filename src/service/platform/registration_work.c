/* What registering and unregistering share. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "registration_work.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "platform_audit.h"
#include "session_sweep.h"
#include "str.h"
#include "vcenter_store.h"
#include "vim_authorization.h"

#define PRIVILEGES_MAX 8

/* -- reports -------------------------------------------------------------------------------------------------------------- */

void report_texts_add(struct report_texts *texts, const char *fmt, ...) {
    char **items = reallocarray(texts->items, texts->count + 1, sizeof(*items));
    char *text = NULL;
    va_list args;
    if (!items)
        return;
    texts->items = items;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        items[texts->count++] = text;
}

static void texts_done(struct report_texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
}

void registration_report_done(struct registration_report *report) {
    if (!report)
        return;
    free(report->account);
    free(report->key);
    free(report->owner);
    record_lines_done(&report->lines);
    texts_done(&report->steps);
    texts_done(&report->left);
    memset(report, 0, sizeof(*report));
}

/* -- first steps ------------------------------------------------------------------------------------------------------------ */

int registration_load(struct registration_work *w, struct err *err) {
    int rc = link_get_info(w->link, &w->vc, err);
    if (!rc && !w->vc.extension_key)
        w->vc.extension_key = str_dup(w->options->extension_key);
    if (!rc && !w->vc.extension_key)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = registration_store_load(w->options->store, w->vc.id, &w->row, err);
    w->report->key = str_dup(w->vc.extension_key);
    return rc;
}

/* Our own login, in a session apart from the link's: that one ends on the way. */
static int sign_in_as_us(struct registration_work *w, struct err *err) {
    struct login_material material = {0};
    struct login_used used = {0};
    int rc = login_material_load(w->options->store, w->options->seal, w->vc.id, &material, err);
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

int registration_sign_in(struct registration_work *w, struct err *err) {
    struct vim_about about = {0};
    int rc = session_open_task(w->link, "registration", &w->admin, err);
    if (!rc)
        rc = vim_connect(w->admin, &about, err);
    if (!rc && !str_eq_nocase(about.instance_uuid, w->vc.id))
        rc = err_set(err, ERR_CONFLICT, "another vCenter (%s) answers at %s", about.instance_uuid, w->vc.address);
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

/* The object by the name that people see, and by its id. */
static void describe_root(struct registration_work *w, char *out, size_t size) {
    struct vim_root root;
    if (vim_lookup_root(w->admin, &root, NULL))
        (void)snprintf(out, size, "the root folder");
    else
        (void)snprintf(out, size, "the root folder %.80s (%.60s)", root.name, root.moref);
}

static int refuse_missing(struct registration_work *w, const struct strbuf *missing, size_t count, struct err *err) {
    char root[180];
    describe_root(w, root, sizeof(root));
    (void)err_set(err, ERR_FORBIDDEN, "%s lacks the privilege%s %s on %s of vCenter %s", w->who.user_name, count > 1 ? "s" : "",
                  missing->data, root, w->vc.name);
    if (w->account->user)
        return err_remedy(err, "use an account that has %s, or have a role with %s granted on the vCenter object",
                          count > 1 ? "them" : "it", count > 1 ? "them" : "it");
    return err_remedy(err, "give an account of the vCenter that has %s: --user NAME", count > 1 ? "them" : "it");
}

int registration_require(struct registration_work *w, const char *const *privileges, size_t count, struct err *err) {
    struct vim_root_query query = {.subject = {.session_key = w->who.key}, .privileges = privileges, .count = count};
    _cleanup_strbuf_ struct strbuf missing;
    bool granted[PRIVILEGES_MAX] = {false};
    struct err why = {0};
    size_t n = 0;
    int rc = vim_check_root_privileges(w->admin, &query, granted, &why);
    strbuf_init(&missing, 400);
    if (rc && rc != ERR_UPSTREAM_DENIED) /* denied: who may not even ask about the root folder has no privilege there */
        return err_move(err, rc, &why);
    for (size_t i = 0; i < count; i++)
        if (!granted[i])
            strbuf_addf(&missing, "%s%s", n++ ? ", " : "", privileges[i]);
    return n ? refuse_missing(w, &missing, n, err) : 0;
}

int registration_find_record(struct registration_work *w, struct err *err) {
    int rc = vim_find_extension(w->admin, w->vc.extension_key, &w->found, err);
    const char *owner = !rc && w->found ? extension_record_owner(w->found) : NULL;
    bool is_ours = str_eq(owner, platform_installation(w->platform));
    if (rc)
        return rc;
    w->report->record = !w->found ? RECORD_MISSING : is_ours ? RECORD_OURS : RECORD_FOREIGN;
    if (w->found && !is_ours)
        w->report->owner = str_dup(owner);
    return 0;
}

int registration_check_owner(struct registration_work *w, struct err *err) {
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

int registration_save_row(struct registration_work *w, int64_t registered_at_ms, struct err *err) {
    struct vcenter *row = NULL;
    int64_t version_no = 0;
    int rc = vcenter_store_load(w->options->store, w->vc.id, &row, err); /* it may have moved on since it was read */
    if (rc)
        return rc;
    free(row->extension_key);
    row->extension_key = str_dup(w->vc.extension_key);
    row->registered_at_ms = registered_at_ms;
    rc = row->extension_key ? vcenter_store_update(w->options->store, row, NULL, &version_no, err)
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

static struct audit_record make_line(const struct registration_work *w) {
    return platform_audit_make(w->platform, w->actor,
                               &(struct audit_event){.action = w->action, .object_id = w->vc.id, .object_name = w->vc.name});
}

int registration_begin_deed(struct registration_work *w, struct err *err) {
    const struct audit_record line = make_line(w);
    return platform_audit_begin(w->platform, &line, &w->begun, err);
}

/* Whose record was overwritten is in the trail, too. */
static void note_in_trail(const struct registration_work *w, int rc, const struct err *err) {
    struct audit_record line = make_line(w);
    _cleanup_free_ char *taken =
        w->report->record == RECORD_FOREIGN && w->take_over
            ? str_format("took over the record of %s", w->report->owner ? w->report->owner : "another program")
            : NULL;
    line.event.reason = rc ? err->text : taken;
    platform_audit_end(w->platform, &line, rc, &w->begun);
}

static void work_done(struct registration_work *w) {
    session_close_task(w->link, w->admin);
    vim_user_session_done(&w->who);
    vim_extension_free(w->found);
    registration_row_done(&w->row);
    extension_record_done(&w->wanted);
    login_credential_done(&w->certificate);
    login_credential_done(&w->account_credential);
    vcenter_done(&w->vc);
    admin_lease_release(&w->lease);
}

int registration_run(struct registration_work *w, registration_step *const *steps, size_t count, struct err *err) {
    struct err why = {0};
    int rc;
    w->platform = link_platform(w->link);
    w->options = platform_options_of(w->platform);
    rc = w->dry_run ? 0 : admin_lease_await(w->link, &w->lease, err);
    if (rc)
        return rc;
    rc = run_steps(w, steps, count, &why);
    if (!w->dry_run)
        note_in_trail(w, rc, &why);
    (void)err_move(err, rc, &why);
    work_done(w);
    return rc;
}
