/* What we log in with, replaced while everything goes on. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "rotation.h"

#include <string.h>

#include "clock.h"
#include "link_login.h"
#include "names.h"
#include "rotation_work.h"
#include "vcenter_store.h"
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

static int refuse_account(const struct rotation_work *w, struct err *err) {
    const struct login_credential *c = &w->have.active;
    (void)err_set(err, ERR_CONFLICT, "we log in to vCenter %s by the account %s, not by a certificate", w->vc.name, c->user);
    return err_remedy(err, "change its password at the vCenter, then run: kaasctl vcenter set-password %s",
                      name_word(w->vc.name, w->vc.id));
}

static int rotation_to_new_certificate(struct rotation_work *w, struct err *err) {
    int rc = rotation_make_certificate(w, err);
    return rc ? rc : rotation_to_fresh(w, err);
}

/* A pending one is finished first. */
static int rotation_replace(struct rotation_work *w, struct err *err) {
    int rc = rotation_begin_operation(w, err);
    if (!rc && w->have.pending.generation) {
        w->is_first_part = true;
        rc = rotation_carry_through(w, &w->have.pending, err);
        w->is_first_part = false;
    }
    return rc ? rc : rotation_to_new_certificate(w, err);
}

int rotation_rotate(struct link *link, const struct actor *actor, struct err *err) {
    _cleanup_done_(rotation_work_done) struct rotation_work w = {.link = link, .actor = actor};
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

static int take_password(struct rotation_work *w, const char *password, struct err *err) {
    const struct login_credential *now = w->have.active.generation ? &w->have.active : &w->have.pending;
    int rc;
    if (!now->generation || now->kind == CREDENTIAL_CERTIFICATE) {
        (void)err_set(err, ERR_CONFLICT, "we log in to vCenter %s by certificate: there is no password", w->vc.name);
        return err_remedy(err, "for a new certificate run: kaasctl vcenter rotate-certificate %s",
                          name_word(w->vc.name, w->vc.id));
    }
    rc = login_credential_take_account(now->kind, now->user, password, &w->fresh, err);
    if (!rc)
        rc = rotation_prove(w, &w->fresh, err);
    if (!rc)
        rc = rotation_begin_operation(w, err);
    if (!rc)
        rc = login_credential_save_pending(w->options->runtime->store, w->options->runtime->seal, w->vc.id, &w->fresh, err);
    return rc ? rc : rotation_promote(w, &w->fresh, err);
}

int rotation_set_password(struct link *link, const char *password, const struct actor *actor, struct err *err) {
    _cleanup_done_(rotation_work_done) struct rotation_work w = {.link = link, .actor = actor};
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
    _cleanup_done_(rotation_work_done) struct rotation_work w = {.link = link};
    struct err why = {0};
    bool is_pending, is_old;
    int rc = rotation_work_begin(&w, ROTATION_ACTION, &why);
    is_pending = !rc && w.have.pending.generation;
    is_old = !rc && !is_pending && rotation_is_certificate_due(&w.vc, &w.have.active);
    if (is_pending)
        w.line.event.action = login_change_action(w.have.pending.kind);
    if (is_pending || is_old) /* failures are tried again by the minute, as one operation: log and health tell them */
        rc = rotation_begin_operation(&w, &why);
    if (!rc && is_pending)
        rc = rotation_carry_through(&w, &w.have.pending, &why);
    else if (!rc && is_old)
        rc = rotation_to_new_certificate(&w, &why);
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
    rc = login_material_load(options->runtime->store, options->runtime->seal, vc.id, &have, &why);
    if (!rc) {
        rotation_note_certificate(link, &have.active);
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
