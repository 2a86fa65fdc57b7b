/* Adding and removing vCenters. Layer 4 (service/platform). Joining one is registration.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "admin_lease.h"
#include "clock.h"
#include "names.h"
#include "platform_audit.h"
#include "platform_links.h"
#include "registration.h"
#include "str.h"
#include "vcenter_set.h"
#include "vcenter_store.h"
#include "vim.h"

static int check_request(const struct vcenter_add *add, struct err *err) {
    int rc = name_check_host(add->address, "address", err);
    if (!rc && add->name)
        rc = name_check(add->name, "name", err);
    if (!rc && (!add->port || add->port > 65535))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"port\" must be a number from 1 to 65535");
    return rc;
}

static int ask_certificate(const struct platform_options *options, const struct vcenter_add *add, struct x509_info *seen,
                           struct err *err) {
    int rc = x509_lookup_server(add->address, add->port, options->connect_timeout_ms, seen, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_CERT_UNCONFIRMED, "the certificate of %s:%u is not confirmed; nothing was sent", add->address,
                  add->port);
    return err_remedy(err,
                      "compare the SHA-256 with the one the vCenter shows, then send the same request with thumbprint_sha256");
}

static int fill(const struct vcenter_add *add, const struct vim_about *about, struct vcenter *vc, struct err *err) {
    vc->id = str_dup(about->instance_uuid);
    vc->address = str_dup(add->address);
    vc->port = add->port;
    vc->name = str_dup(add->name ? add->name : add->address);
    vc->ca_pem = str_dup(add->ca_pem);
    vc->version = str_dup(about->version);
    vc->build = str_dup(about->build);
    vc->api_version = str_dup(about->api_version);
    vc->has_pin = add->pin_sha256 != NULL;
    if (add->pin_sha256)
        memcpy(vc->pin_sha256, add->pin_sha256, sizeof(vc->pin_sha256));
    vc->tunnel_port = add->tunnel_port;
    vc->direct_port = add->direct_port;
    vc->created_at_ms = clock_wall_ms();
    return vc->id && vc->address && vc->name ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* The one we know already may have moved. */
static int explain_known(struct platform *platform, const struct vcenter_add *add, const struct vim_about *about,
                         struct err *err) {
    struct vcenter *known = NULL;
    if (vcenter_store_load(platform_options_of(platform)->store, about->instance_uuid, &known, NULL))
        return ERR_EXISTS;
    err_clear(err);
    (void)err_set(err, ERR_EXISTS, "at %s:%u answers the vCenter %s (%s), which is configured already with the address %s:%u",
                  add->address, add->port, known->name, known->id, known->address, known->port);
    (void)err_remedy(err, "if it has moved, run: kaasctl vcenter set %s --address %s", known->name, add->address);
    vcenter_free(known);
    return ERR_EXISTS;
}

static struct audit_record make_line(struct platform *platform, const struct vcenter_add *add, const struct vcenter *vc) {
    return platform_audit_make(
        platform, &add->actor,
        &(struct audit_event){.action = "vcenter.add", .object_id = vc->id, .object_name = add->name ? add->name : add->address});
}

static int insert_row(struct platform *platform, const struct vcenter_add *add, const struct vim_about *about, struct vcenter *vc,
                      struct err *err) {
    struct audit_record line;
    int rc = fill(add, about, vc, err);
    if (rc)
        return rc;
    line = make_line(platform, add, vc);
    rc = vcenter_store_insert(platform_options_of(platform)->store, vc, &line, err);
    return rc == ERR_EXISTS ? explain_known(platform, add, about, err) : rc;
}

/* What was stored is in the trail already; and to look at a certificate is not to add anything. */
static void note_refused(struct platform *platform, const struct vcenter_add *add, const struct vcenter *vc, int rc,
                         const struct err *why) {
    struct audit_record line = make_line(platform, add, vc);
    if (!rc || rc == ERR_CERT_UNCONFIRMED)
        return;
    line.event.reason = why->text;
    audit_store_append_outcome(platform_options_of(platform)->store, &line, rc);
}

static int ask_and_insert(struct platform *platform, const struct vcenter_add *add, struct vcenter *vc, struct x509_info *seen,
                          struct err *err) {
    char *name = (char *)(uintptr_t)(add->name ? add->name : add->address); /* borrowed for the look-up */
    struct vcenter wanted = {
        .address = (char *)(uintptr_t)add->address, .port = add->port, .name = name, .ca_pem = (char *)(uintptr_t)add->ca_pem};
    struct vim_about about = {0};
    int rc = check_request(add, err);
    wanted.has_pin = add->pin_sha256 != NULL;
    if (add->pin_sha256)
        memcpy(wanted.pin_sha256, add->pin_sha256, sizeof(wanted.pin_sha256));
    if (!rc)
        rc = vcenter_check_unique(platform, &wanted, err);
    if (!rc && !add->ca_pem && !add->pin_sha256)
        rc = ask_certificate(platform_options_of(platform), add, seen, err);
    if (!rc)
        rc = vcenter_ask(platform, &wanted, &about, seen, err);
    if (!rc)
        rc = insert_row(platform, add, &about, vc, err);
    vim_about_done(&about);
    return rc;
}

int registration_add(struct platform *platform, const struct vcenter_add *add, char id[37], struct x509_info *seen,
                     struct err *err) {
    struct vcenter vc = {0};
    struct err why = {0};
    int rc = ask_and_insert(platform, add, &vc, seen, &why);
    note_refused(platform, add, &vc, rc, &why);
    if (!rc)
        (void)snprintf(id, 37, "%s", vc.id);
    if (!rc)
        rc = platform_sync(platform, &why);
    (void)err_move(err, rc, &why);
    vcenter_done(&vc);
    platform_note_written(platform);
    return rc;
}

/* *is_removed: the row is gone, and the line in the trail. */
static int remove_row(struct platform *platform, const struct audit_record *line, bool *is_removed, struct err *err) {
    const struct platform_options *options = platform_options_of(platform);
    const char *id = line->event.object_id;
    const struct audit_record now = audit_record_now(line, 0);
    struct vcenter *row = NULL;
    int rc = vcenter_store_load(options->store, id, &row, err);
    if (!rc && row->registered_at_ms) {
        rc = err_set(err, ERR_CONFLICT, "we are still registered with vCenter %s", row->name);
        (void)err_remedy(err, "run first: kaasctl vcenter unregister %s", row->name);
    }
    if (!rc)
        rc = vcenter_store_delete(options->store, id, now.at_ms, &now, err);
    *is_removed = !rc;
    if (rc == ERR_CONFLICT)
        (void)err_remedy(err, "remove or move the clusters that are placed on it first");
    if (!rc)
        rc = platform_sync(platform, err);
    vcenter_free(row);
    return rc;
}

/* Not while it is being registered: the record would be left there, and the key be gone. */
int registration_remove(struct platform *platform, const char *id, const struct actor *actor, struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    struct admin_lease lease = {0};
    struct vcenter vc = {0};
    struct err why = {0};
    struct audit_record line =
        platform_audit_make(platform, actor, &(struct audit_event){.action = "vcenter.remove", .object_id = id});
    bool is_removed = false;
    int rc = platform_find(platform, id, &link, &why);
    if (!rc)
        rc = link_get_info(link, &vc, &why);
    line.event.object_name = vc.name;
    if (!rc)
        rc = admin_lease_await(link, &lease, &why);
    if (!rc)
        rc = remove_row(platform, &line, &is_removed, &why);
    admin_lease_release(&lease);
    line.event.reason = rc ? why.text : NULL;
    if (!is_removed)
        audit_store_append_outcome(platform_options_of(platform)->store, &line, rc);
    vcenter_done(&vc);
    platform_note_written(platform);
    return err_move(err, rc, &why);
}
