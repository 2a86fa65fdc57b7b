/* What we log in with, replaced while everything goes on. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "rotation.h"

#include <string.h>

#include "link_task.h"
#include "clock.h"
#include "vcenter_store.h"
#include "link_login.h"
#include "str.h"
#include "x509.h"

#define PASSWORD_ACTION "vcenter.set_password"
#define SPREAD_PARTS 1000U

bool rotation_is_due(int64_t not_before_ms, int64_t not_after_ms, const char *salt, int64_t now_ms) {
    int64_t life_ms = not_after_ms - not_before_ms, spread_ms;
    unsigned mix = 5381; /* djb2: any spreading will do */
    for (const char *p = salt; *p; p++)
        mix = mix * 33U + (unsigned char)*p;
    spread_ms = life_ms / 20 * (int64_t)(mix % SPREAD_PARTS) / SPREAD_PARTS;
    return now_ms >= not_before_ms + life_ms / 3 * 2 - spread_ms;
}

/* One change of what we log in with. */
struct work {
    struct link *link;
    const struct platform_options *options;
    struct admin_lease lease;
    struct vcenter vc;
    struct login_material have;
    struct login_credential fresh;
    const struct actor *actor;   /* NULL: we by ourselves */
    struct audit_record line;    /* without an end */
    struct platform_begun begun; /* its operation */
    bool is_first_part;          /* the next promotion does not end it */
    bool is_noted;               /* how it ended is written */
};

static int rotation_work_begin(struct work *w, const char *action, struct err *err) {
    struct link *link = w->link;
    int rc;
    w->options = &link_env(link)->options;
    w->line = platform_audit_make(link_env(link), w->actor, &(struct audit_event){.action = action, .object_id = link_id(link)});
    rc = w->actor ? admin_lease_await(link, &w->lease, err) : admin_lease_take(link, &w->lease, err);
    if (!rc)
        rc = link_get_info(link, &w->vc, err);
    if (!rc && !w->vc.registered_at_ms) {
        (void)err_set(err, ERR_NOT_REGISTERED, "we are not registered with vCenter %s", w->vc.name);
        rc = err_remedy(err, "run: kaasctl vcenter register %s", w->vc.name);
    }
    return rc ? rc : login_material_load(w->options->store, w->options->seal, w->vc.id, &w->have, err);
}

static void rotation_work_done(struct work *w) {
    admin_lease_release(&w->lease);
    vcenter_done(&w->vc);
    login_material_done(&w->have);
    login_credential_done(&w->fresh);
}

static void note_certificate(struct link *link, const struct login_credential *c) {
    struct link_certificates seen = {0};
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    if (c->kind != CREDENTIAL_CERTIFICATE || !c->generation || x509_parse_pem(c->cert_pem, &info, NULL))
        return;
    seen.login_not_after_ms = info.not_after_ms;
    link_note_certificates(link, &seen);
}

/* By a client of its own, so that the link's session and what runs over it stay untouched. */
static int rotation_prove(struct work *w, const struct login_credential *c, struct err *err) {
    struct login_material only = {.active = *c}; /* borrowed */
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

/* Before anything is told to vCenter, or stored of a password. */
static int rotation_begin_operation(struct work *w, struct err *err) {
    w->line.event.object_name = w->vc.name;
    return platform_audit_begin(link_env(w->link), &w->line, &w->begun, err);
}

/* How the operation ended is written with it, unless there is more to do. */
static int rotation_promote(struct work *w, const struct login_credential *c, struct err *err) {
    const struct audit_record line = audit_record_now(&w->line, 0);
    const struct operation_end end = {w->begun.id, &line};
    int rc = credential_store_promote(w->options->store, w->vc.id, c->generation, w->is_first_part ? NULL : &end, err);
    link_forget_material(w->link);
    if (rc)
        return rc;
    w->is_noted = !w->is_first_part;
    note_certificate(w->link, c);
    link_env_note_written(link_env(w->link));
    return 0;
}

/* From a stored pending credential to the active one. */
static int carry_through(struct work *w, const struct login_credential *c, struct err *err) {
    int rc = admin_lease_renew(&w->lease, err);
    if (!rc)
        rc = login_credential_tell(link_client(w->link), &w->vc, c, err);
    if (!rc)
        rc = admin_lease_renew(&w->lease, err);
    if (!rc)
        rc = rotation_prove(w, c, err);
    return rc ? rc : rotation_promote(w, c, err);
}

/* True if vCenter has surely not taken what it was told: it answered so. */
static bool is_refusal(int rc) {
    return rc == ERR_UPSTREAM_DENIED || rc == ERR_NOT_FOUND || rc == ERR_UPSTREAM || rc == ERR_UNPROCESSABLE;
}

static int rotation_tell_new(struct work *w, struct err *err) {
    int rc = login_credential_tell(link_client(w->link), &w->vc, &w->fresh, err);
    if (is_refusal(rc)) /* the old one stays in force */
        (void)credential_store_retire(w->options->store, w->vc.id, w->fresh.generation, NULL);
    else if (rc)
        link_request(w->link, LINK_WORK_RENEW);
    return rc;
}

static int rotation_rotate_work(struct work *w, struct err *err) {
    int rc = login_credential_make(&w->vc, w->options->login_certificate_days, w->options->key_bits, &w->fresh, err);
    if (!rc)
        rc = login_credential_save_pending(w->options->store, w->options->seal, w->vc.id, &w->fresh, err);
    if (rc)
        return rc;
    link_forget_material(w->link); /* whoever logs in from now on tries both */
    rc = rotation_tell_new(w, err);
    if (rc)
        return rc;
    rc = rotation_prove(w, &w->fresh, err);
    if (!rc)
        rc = rotation_promote(w, &w->fresh, err);
    if (rc)
        link_request(w->link, LINK_WORK_RENEW);
    return rc;
}

static int refuse_account(const struct work *w, struct err *err) {
    const struct login_credential *c = &w->have.active;
    (void)err_set(err, ERR_CONFLICT, "we log in to vCenter %s by the account %s, not by a certificate", w->vc.name, c->user);
    return err_remedy(err, "change its password at the vCenter, then run: kaasctl vcenter set-password %s", w->vc.name);
}

static void rotation_note_in_audit(struct work *w, int rc, const struct err *why) {
    w->line.event.reason = rc ? why->text : NULL;
    if (!w->is_noted)
        platform_audit_end(link_env(w->link), &w->line, rc, &w->begun);
}

/* A pending one is finished first. */
static int rotation_replace(struct work *w, struct err *err) {
    int rc = rotation_begin_operation(w, err);
    if (!rc && w->have.pending.generation) {
        w->is_first_part = true;
        rc = carry_through(w, &w->have.pending, err);
        w->is_first_part = false;
    }
    return rc ? rc : rotation_rotate_work(w, err);
}

int rotation_rotate(struct link *link, const struct actor *actor, struct err *err) {
    _cleanup_done_(rotation_work_done) struct work w = {.link = link, .actor = actor};
    struct err why = {0};
    int rc = rotation_work_begin(&w, ROTATION_ACTION, &why);
    if (!rc && w.have.active.generation && w.have.active.kind != CREDENTIAL_CERTIFICATE)
        rc = refuse_account(&w, &why);
    if (!rc)
        rc = rotation_replace(&w, &why);
    rotation_note_in_audit(&w, rc, &why);
    return err_move(err, rc, &why);
}

/* ---- passwords ---- */

static int take_password(struct work *w, const char *password, struct err *err) {
    const struct login_credential *now = w->have.active.generation ? &w->have.active : &w->have.pending;
    int rc;
    if (!now->generation || now->kind == CREDENTIAL_CERTIFICATE) {
        (void)err_set(err, ERR_CONFLICT, "we log in to vCenter %s by certificate: there is no password", w->vc.name);
        return err_remedy(err, "for a new certificate run: kaasctl vcenter rotate-certificate %s", w->vc.name);
    }
    rc = login_credential_take_account(now->kind, now->user, password, &w->fresh, err);
    if (!rc)
        rc = rotation_prove(w, &w->fresh, err);
    if (!rc)
        rc = rotation_begin_operation(w, err);
    if (!rc)
        rc = login_credential_save_pending(w->options->store, w->options->seal, w->vc.id, &w->fresh, err);
    return rc ? rc : rotation_promote(w, &w->fresh, err);
}

int rotation_set_password(struct link *link, const char *password, const struct actor *actor, struct err *err) {
    _cleanup_done_(rotation_work_done) struct work w = {.link = link, .actor = actor};
    struct err why = {0};
    int rc = rotation_work_begin(&w, PASSWORD_ACTION, &why);
    if (!rc)
        rc = take_password(&w, password, &why);
    if (rc == ERR_CREDENTIALS) {
        err_clear(&why);
        (void)err_set(&why, rc, "vCenter %s refuses this password of %s; nothing was changed", w.vc.name, w.fresh.user);
        (void)err_remedy(&why, "too many wrong ones lock the account: check it before you try again");
    }
    if (!rc)
        link_retry_login(link);
    rotation_note_in_audit(&w, rc, &why);
    return err_move(err, rc, &why);
}

/* ---- by itself ---- */

/* What vCenter shows now; that nobody answers is told elsewhere. */
static void look_at_vcenter(struct link *link, const struct vcenter *vc) {
    long timeout_ms = link_env(link)->options.connect_timeout_ms;
    struct link_certificates seen = {0};
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    if (x509_lookup_server(vc->address, vc->port, link_env(link)->options.networks, timeout_ms, &info, NULL))
        return;
    seen.vcenter_not_after_ms = info.not_after_ms;
    link_note_certificates(link, &seen);
}

static bool rotation_is_certificate_due(const struct vcenter *vc, const struct login_credential *c) {
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    if (!c->generation || c->kind != CREDENTIAL_CERTIFICATE || x509_parse_pem(c->cert_pem, &info, NULL))
        return false;
    return rotation_is_due(info.not_before_ms, info.not_after_ms, vc->id, clock_wall_ms());
}

/* With the lease, since what was read before may have been a registration under way. */
static int finish_or_rotate(struct link *link, struct err *err) {
    _cleanup_done_(rotation_work_done) struct work w = {.link = link};
    struct err why = {0};
    bool is_pending, is_old;
    int rc = rotation_work_begin(&w, ROTATION_ACTION, &why);
    is_pending = !rc && w.have.pending.generation;
    is_old = !rc && !is_pending && rotation_is_certificate_due(&w.vc, &w.have.active);
    if (is_pending || is_old) /* failures are tried again by the minute, as one operation: log and health tell them */
        rc = rotation_begin_operation(&w, &why);
    if (!rc && is_pending)
        rc = carry_through(&w, &w.have.pending, &why);
    else if (!rc && is_old)
        rc = rotation_rotate_work(&w, &why);
    return err_move(err, rc, &why);
}

int rotation_renew(struct link *link, struct err *err) {
    const struct platform_options *options = &link_env(link)->options;
    struct login_material have = {0};
    struct vcenter vc = {0};
    struct err why = {0};
    int rc = link_get_info(link, &vc, err);
    if (rc)
        return rc;
    look_at_vcenter(link, &vc);
    rc = login_material_load(options->store, options->seal, vc.id, &have, &why);
    if (!rc) {
        note_certificate(link, &have.active);
        if (have.pending.generation || rotation_is_certificate_due(&vc, &have.active))
            rc = finish_or_rotate(link, &why);
    }
    login_material_done(&have);
    vcenter_done(&vc);
    if (rc == ERR_NOT_REGISTERED)
        return ERR_CANCELED;
    if (rc == ERR_CONFLICT)
        rc = ERR_BUSY;
    return err_move(err, rc, &why);
}
