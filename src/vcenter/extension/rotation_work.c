/* One change of what we log in with, step by step. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "rotation_work.h"

#include "clock.h"
#include "names.h"
#include "str.h"
#include "vcenter_store.h"
#include "x509.h"

int rotation_work_begin(struct rotation_work *w, const char *action, struct err *err) {
    struct link *link = w->link;
    int rc;
    w->options = &link_env(link)->options;
    w->line = platform_audit_make(link_env(link), w->actor, &(struct audit_event){.action = action, .object_id = link_id(link)});
    rc = w->actor ? admin_lease_await(link, &w->lease, err) : admin_lease_take(link, &w->lease, err);
    if (!rc)
        rc = link_get_info(link, &w->vc, err);
    if (!rc && !w->vc.registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "we are not registered with vCenter %s", w->vc.name);
        rc = err_remedy(err, "run: kaasctl vcenter register %s --user administrator@vsphere.local",
                        name_word(w->vc.name, w->vc.id));
    }
    return rc ? rc : login_material_load(w->options->runtime->store, w->options->runtime->seal, w->vc.id, &w->have, err);
}

void rotation_work_done(struct rotation_work *w) {
    admin_lease_release(&w->lease);
    vcenter_done(&w->vc);
    login_material_done(&w->have);
    login_credential_done(&w->fresh);
}

void rotation_note_certificate(struct link *link, const struct login_credential *c) {
    struct link_certificates seen = {0};
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    if (c->kind != CREDENTIAL_CERTIFICATE || !c->generation || x509_parse_pem(c->cert_pem, &info, NULL))
        return;
    seen.login_not_after_ms = info.not_after_ms;
    link_note_certificates(link, &seen);
}

int rotation_prove(struct rotation_work *w, const struct login_credential *c, struct err *err) {
    struct login_material only = {.active = *c, .refusals = c->generation ? link_refusals(w->link) : NULL}; /* borrowed */
    struct vim_client *client = NULL;
    struct login_used used;
    int rc;
    if (!c->generation)
        only.active.generation = UINT32_MAX; /* not stored yet */
    rc = session_open_task(w->link, "rotation", &client, err);
    if (!rc)
        rc = vim_connect(client, NULL, err);
    if (!rc)
        rc = login_with_material(client, &w->vc, &only, NULL, &used, err);
    session_close_task(w->link, client);
    return rc;
}

int rotation_begin_operation(struct rotation_work *w, struct err *err) {
    w->line.event.object_name = w->vc.name;
    return platform_audit_begin(link_env(w->link), &w->line, &w->begun, err);
}

int rotation_promote(struct rotation_work *w, const struct login_credential *c, struct err *err) {
    const struct audit_record line = audit_record_now(&w->line, 0);
    const struct operation_end end = {w->begun.id, &line};
    int rc = credential_store_promote(w->options->runtime->store, w->vc.id, c->generation, w->is_first_part ? NULL : &end, err);
    link_forget_material(w->link);
    if (rc)
        return rc;
    w->is_noted = !w->is_first_part;
    rotation_note_certificate(w->link, c);
    runtime_note_written(link_env(w->link)->options.runtime);
    return 0;
}

/* True if vCenter has surely not taken what it was told: it answered so. */
static bool is_refusal(int rc) {
    return rc == ERR_UPSTREAM_DENIED || rc == ERR_NOT_FOUND || rc == ERR_UPSTREAM || rc == ERR_UNPROCESSABLE;
}

/* An account that is refused, or may not be tied to our record, is of no use any more, and its password is not sent again. A pending certificate is kept:
 * it may be the one that vCenter knows. */
static void retire_useless(struct rotation_work *w, const struct login_credential *c, int rc) {
    if (c->kind != CREDENTIAL_CERTIFICATE && (rc == ERR_CREDENTIALS || is_refusal(rc)))
        (void)credential_store_retire(w->options->runtime->store, w->vc.id, c->generation, NULL);
}

int rotation_carry_through(struct rotation_work *w, const struct login_credential *c, struct err *err) {
    int rc = admin_lease_renew(&w->lease, err);
    if (!rc)
        rc = login_credential_tell(link_client(w->link), &w->vc, c, err);
    if (!rc)
        rc = admin_lease_renew(&w->lease, err);
    if (!rc)
        rc = rotation_prove(w, c, err);
    retire_useless(w, c, rc);
    return rc ? rc : rotation_promote(w, c, err);
}

static int rotation_tell_new(struct rotation_work *w, struct err *err) {
    int rc = login_credential_tell(link_client(w->link), &w->vc, &w->fresh, err);
    if (is_refusal(rc)) /* the old one stays in force */
        (void)credential_store_retire(w->options->runtime->store, w->vc.id, w->fresh.generation, NULL);
    else if (rc)
        link_request(w->link, LINK_WORK_RENEW);
    return rc;
}

int rotation_make_certificate(struct rotation_work *w, struct err *err) {
    return login_credential_make(&w->vc, w->options->login_certificate_days, w->options->key_bits, &w->fresh, err);
}

int rotation_to_fresh(struct rotation_work *w, struct err *err) {
    int rc = login_credential_save_pending(w->options->runtime->store, w->options->runtime->seal, w->vc.id, &w->fresh, err);
    if (rc)
        return rc;
    link_forget_material(w->link); /* whoever logs in from now on tries both */
    rc = rotation_tell_new(w, err);
    if (rc)
        return rc;
    if (w->fresh.kind == CREDENTIAL_CERTIFICATE)
        rc = rotation_prove(w, &w->fresh, err);
    if (!rc)
        rc = rotation_promote(w, &w->fresh, err);
    if (rc)
        link_request(w->link, LINK_WORK_RENEW);
    return rc;
}

void rotation_note_in_audit(struct rotation_work *w, int rc, const struct err *why) {
    w->line.event.reason = rc ? why->text : NULL;
    if (!w->is_noted)
        platform_audit_end(link_env(w->link), &w->line, rc, &w->begun);
}
