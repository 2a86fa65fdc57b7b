/* Connections to HX clusters and the credentials that they inherit, as admins set them. Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "hx_store.h"
#include "limits.h"
#include "platform_store.h"
#include "replica_store.h"
#include "secret.h"
#include "str.h"

int hyperflex_list(struct hyperflex *h, struct hx_connection_list *out, struct err *err) {
    return hx_store_list(h->options.runtime->store, out, err);
}

int hyperflex_list_statuses(struct hyperflex *h, struct hx_status_list *out, struct err *err) {
    return hx_store_list_statuses(h->options.runtime->store, out, err);
}

int hyperflex_load(struct hyperflex *h, const char *hx_id, struct hx_connection **out, struct err *err) {
    return hx_store_load(h->options.runtime->store, hx_id, out, err);
}

int hyperflex_load_status(struct hyperflex *h, const char *hx_id, struct hx_status **out, struct err *err) {
    return hx_store_load_status(h->options.runtime->store, hx_id, out, err);
}

static int hyperflex_check_password(const char *password, struct err *err) {
    if (!str_empty(password) && strlen(password) <= KAAS_PASSWORD_BYTES_MAX)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "password must have 1 to %d bytes", KAAS_PASSWORD_BYTES_MAX);
}

/* A CA that cannot be read is told now, not by the first failure. */
static int hyperflex_check(struct hyperflex *h, struct hx_connection *wish, const char *password, struct err *err) {
    struct hx_visit v = {.connection = wish, .h = h};
    struct err why = {0};
    int rc = hx_connection_check(wish, err);
    if (!rc)
        rc = hyperflex_check_password(password, err);
    if (!rc && !wish->ca_pem && !wish->sha256 && !hyperflex_has_ca(h)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "neither ca_pem nor thumbprint_sha256 is given, and there is no hx.ca_file");
        rc = err_remedy(err, "give the SHA-256 of the certificate as a browser shows it at HX Connect, or the CA that signs it");
    }
    if (rc)
        return rc;
    rc = visit_make_client(&v, &why);
    hx_client_free(v.client);
    return rc == ERR_CONFIG ? err_set(err, ERR_UNPROCESSABLE, "ca_pem: %s", why.text) : err_move(err, rc, &why);
}

/* A refusal is noted, too. */
static int hyperflex_finish(struct hyperflex *h, const struct audit_record *line, int rc, const struct err *why) {
    if (rc)
        audit_store_append_outcome(h->options.runtime->store, line, rc, why);
    return rc;
}

static int inherit_refuse(struct hyperflex *h, const char *hx_id, struct err *err) {
    _cleanup_(hx_cluster_free) struct hx_cluster *hx = NULL;
    int rc = platform_store_load_hx(h->options.runtime->store, hx_id, &hx, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE,
                  "neither user_name nor password is given, and the HX cluster's vCenter has none to inherit");
    return err_remedy(err, "give both, or set them for the vCenter: kaasctl vcenter set-hx-credential %s",
                      hx->vsphere_cluster.vcenter_id);
}

/* User and password of the vCenter for a wish that names neither. */
static int hyperflex_inherit(struct hyperflex *h, struct hx_connection *wish, char **password, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct err why = {0};
    int rc = hx_store_load_credential_of(h->options.runtime->store, wish->hx_id, &credential, &why);
    if (rc == ERR_NOT_FOUND)
        return inherit_refuse(h, wish->hx_id, err);
    if (rc)
        return err_move(err, rc, &why);
    wish->is_inherited = true;
    rc = str_replace(&wish->user_name, credential->user_name, err);
    const struct secret_place place = hx_store_credential_place(credential->vcenter_id);
    return rc ? rc : secret_store_open(h->options.runtime->store, h->options.runtime->seal, &place, password, err);
}

static int hyperflex_write(struct hyperflex *h, const struct actor *actor, struct hx_connection *wish, const char *password,
                           struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_connection.set",
                                     .object_kind = "hx_connection",
                                     .object_id = wish->hx_id,
                                     .principal_name = actor ? NULL : store_replica_name(h->options.runtime->store),
                                     .reason = wish->address});
    struct hx_visit before = {.h = h};
    struct secret_value sealed = {0};
    int rc = visit_seal(h, wish->hx_id, HX_SECRET_PASSWORD, password, &sealed, err);
    if (rc)
        return rc;
    const bool has_token = visit_load_token(&before, wish->hx_id);
    wish->updated_at_ms = clock_wall_ms();
    rc = hyperflex_finish(h, &line, hx_store_put(h->options.runtime->store, wish, &sealed, &line, NULL, err), err);
    if (!rc && has_token)
        visit_give_back(&before);
    visit_end(&before);
    free(sealed.bytes);
    return rc;
}

int hyperflex_put(struct hyperflex *h, const struct actor *actor, struct hx_connection *wish, const char *password,
                  struct err *err) {
    _cleanup_secret_ char *inherited = NULL;
    int rc = 0;
    if (!wish->user_name != !password)
        return err_set(err, ERR_UNPROCESSABLE, "give both user_name and password, or neither to use those of the vCenter");
    if (!password)
        rc = hyperflex_inherit(h, wish, &inherited, err);
    password = password ? password : inherited;
    if (!rc)
        rc = hyperflex_check(h, wish, password, err);
    if (!rc)
        rc = hyperflex_write(h, actor, wish, password, err);
    if (!rc && h->options.on_set)
        h->options.on_set(h->options.arg);
    return rc;
}

int hyperflex_remove(struct hyperflex *h, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_connection.remove", .object_kind = "hx_connection", .object_id = hx_id});
    const struct hx_removal removal = {.hx_id = hx_id, .version_no = version_no, .audit = &line};
    struct hx_visit before = {.h = h};
    const bool has_token = visit_load_token(&before, hx_id);
    int rc = hyperflex_finish(h, &line, hx_store_delete(h->options.runtime->store, &removal, err), err);
    if (!rc && before.connection)
        publish_leave(&before);
    if (!rc && has_token)
        visit_give_back(&before);
    visit_end(&before);
    return rc;
}

/* -- credentials of vCenters ------------------------------------------------------------------------------------------------- */

int hyperflex_load_credential(struct hyperflex *h, const char *vcenter_id, struct hx_credential **out, struct err *err) {
    return hx_store_load_credential(h->options.runtime->store, vcenter_id, out, err);
}

/* Those that have it already are set anew with what it is now; one that cannot be stays as it is. */
static void hyperflex_pass_on(struct hyperflex *h, const struct actor *actor, const char *vcenter_id) {
    struct hx_connection_list list = {0};
    int rc = hx_store_list(h->options.runtime->store, &list, NULL);
    for (size_t i = 0; !rc && i < list.count; i++) {
        _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
        struct hx_connection *heir = &list.items[i];
        if (!heir->is_inherited || hx_store_load_credential_of(h->options.runtime->store, heir->hx_id, &credential, NULL) ||
            !str_eq(credential->vcenter_id, vcenter_id))
            continue;
        free(heir->user_name);
        heir->user_name = NULL;
        (void)hyperflex_put(h, actor, heir, NULL, NULL);
    }
    hx_connection_list_done(&list);
}

int hyperflex_put_credential(struct hyperflex *h, const struct actor *actor, struct hx_credential *wish, const char *password,
                             struct err *err) {
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "hx_credential.set",
                                                                                    .object_kind = "vcenter",
                                                                                    .object_id = wish->vcenter_id,
                                                                                    .reason = wish->user_name});
    const struct secret_place place = hx_store_credential_place(wish->vcenter_id);
    struct secret_value sealed = {0};
    int rc = hx_user_name_check(wish->user_name, err);
    if (!rc)
        rc = hyperflex_check_password(password, err);
    if (!rc)
        rc = secret_seal(h->options.runtime->seal, &place, password, &sealed, err);
    if (rc)
        return rc;
    wish->updated_at_ms = clock_wall_ms();
    rc = hyperflex_finish(h, &line, hx_store_put_credential(h->options.runtime->store, wish, &sealed, &line, err), err);
    free(sealed.bytes);
    if (rc)
        return rc;
    hyperflex_pass_on(h, actor, wish->vcenter_id);
    (void)pthread_mutex_lock(&h->lock);
    h->next_search_ms = 0;
    (void)pthread_mutex_unlock(&h->lock);
    if (h->options.on_set)
        h->options.on_set(h->options.arg);
    return 0;
}

int hyperflex_remove_credential(struct hyperflex *h, const struct actor *actor, const char *vcenter_id, int64_t version_no,
                                struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_credential.remove", .object_kind = "vcenter", .object_id = vcenter_id});
    const struct hx_removal removal = {.hx_id = vcenter_id, .version_no = version_no, .audit = &line};
    return hyperflex_finish(h, &line, hx_store_delete_credential(h->options.runtime->store, &removal, err), err);
}
