/* What the parts need from their siblings, handed in as functions; what they tell the log. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "access.h"
#include "audit_store.h"
#include "clock.h"
#include "log.h"
#include "str.h"
#include "wire_private.h"

/* -- what people and things are called, and what they may ------------------------------------------------------------------ */

bool wire_get_name(void *arg, const char *id, char *out) {
    struct wire *w = arg;
    _Static_assert(API_NAME_BYTES == LDAPDIR_NAME_BYTES, "names of directories fit");
    return str_starts(id, "local:") ? access_get_name(w->parts.access, id, out, API_NAME_BYTES)
                                    : ldapdir_get_name(w->parts.ldapdirs, id, out);
}

/* By role: who may do more than see what is shown to them. */
bool wire_is_privileged(void *arg, const char *principal_id, const struct group_set *groups) {
    struct wire *w = arg;
    return signon_mapped_role(w->parts.signon, principal_id, groups) > ROLE_USER;
}

/* -- changes -------------------------------------------------------------------------------------------------------------- */

void wire_on_written(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    if (inventory_poll(wire->parts.inventory, &err))
        log_error(LOG_LEVEL_DEBUG, "poll_after_write_failed", &err, NULL);
}

bool wire_get_size(void *arg, size_t *clusters, size_t *nodes) {
    const struct wire *wire = arg;
    struct inventory_snapshot *snapshot = inventory_get(wire->parts.inventory);
    if (!snapshot)
        return false;
    *clusters = snapshot->clusters_count;
    *nodes = snapshot->nodes_count;
    inventory_snapshot_unref(snapshot);
    return true;
}

void wire_on_permissions(void *arg, const char *vcenter_id, const char *user) {
    struct wire *wire = arg;
    signon_drop_rights(wire->parts.signon, vcenter_id, user);
    api_note_change(wire->api);
}

void wire_on_refused(void *arg, const char *vcenter_id, const char *text) {
    (void)arg;
    log_event(LOG_LEVEL_WARNING, "object_refused", "vcenter", vcenter_id, "object", text, "hint",
              "give it a shorter name at the vCenter; all other objects are saved", NULL);
}

void wire_on_published(void *arg) {
    struct wire *wire = arg;
    api_note_change(wire->api);
}

/* What failed for want of the database is told again; anything else would fail again. */
static int wire_glue_tell_again(int rc, const struct err *err, const char *kind) {
    if (rc)
        log_error(LOG_LEVEL_WARNING, "change_not_applied", err, "kind", kind, NULL);
    return rc == ERR_DATABASE || rc == ERR_BUSY || rc == ERR_NOMEM ? rc : 0;
}

static int apply_user_change(struct wire *wire, const char *user_id, struct err *err) {
    int rc = signon_apply_user_change(wire->parts.signon, user_id, err);
    return rc ? rc : access_sync_names(wire->parts.access, err);
}

/* Sessions are many, and read together. Who waits for a list looks again afterwards. */
static int apply_sessions(struct wire *wire, const struct change_list *changes) {
    _cleanup_free_ const char **sids = calloc(changes->count, sizeof(*sids));
    struct err err = {0};
    size_t count = 0;
    int rc;
    for (size_t i = 0; sids && i < changes->count; i++)
        if (changes->items[i].kind == CHANGE_SESSION)
            sids[count++] = changes->items[i].object_id;
    rc = sids ? signon_apply_session_changes(wire->parts.signon, sids, count, &err) : err_set(&err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        api_note_session_change(wire->api, sids[i]);
    return wire_glue_tell_again(rc, &err, change_kind_name(CHANGE_SESSION));
}

static int wire_glue_apply_change(struct wire *wire, const struct change *change) {
    struct err err = {0};
    int rc = 0;
    if (change->kind == CHANGE_USER)
        rc = apply_user_change(wire, change->object_id, &err);
    else if (change->kind == CHANGE_ROLE_MAPPING)
        rc = signon_apply_role_mappings(wire->parts.signon, &err);
    else if (change->kind == CHANGE_SIGNING_KEY && str_eq(change->object_id, SEAL_STORE_CHANGE))
        rc = sealing_follow(wire->parts.sealing, &err);
    else if (change->kind == CHANGE_SIGNING_KEY)
        rc = signon_apply_key_change(wire->parts.signon, &err);
    else if (change->kind == CHANGE_LDAP)
        rc = ldapdir_sync(wire->parts.ldapdirs, &err);
    else if (change->kind == CHANGE_VCENTER)
        rc = platform_sync(wire->parts.platform, &err);
    else if (change->kind == CHANGE_CLUSTER)
        platform_note_cluster_changed(wire->parts.platform, change->object_id);
    if (change->kind == CHANGE_VCENTER)
        platform_note_login_changed(wire->parts.platform, change->object_id);
    if (change->kind == CHANGE_USER || change->kind == CHANGE_ROLE_MAPPING)
        api_note_change(wire->api);
    return wire_glue_tell_again(rc, &err, change_kind_name(change->kind));
}

/* All are applied, whatever becomes of one of them; the first failure counts. */
int wire_on_changes(void *arg, const struct change_list *changes) {
    int first = apply_sessions(arg, changes);
    for (size_t i = 0; i < changes->count; i++) {
        int rc = wire_glue_apply_change(arg, &changes->items[i]);
        first = first ? first : rc;
    }
    return first;
}

void wire_on_difference(void *arg, const struct inventory_difference *difference) {
    (void)arg;
    log_event(LOG_LEVEL_ERROR, "inventory_difference", "kind", change_kind_name(difference->kind), "object",
              difference->object_id, "member", difference->member, "hint",
              "not told by the change feed: written by hand, or a defect of kaasd; memory is corrected", NULL);
}

int wire_on_gap(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    int rc = sealing_follow(wire->parts.sealing, &err);
    if (!rc)
        rc = signon_load(wire->parts.signon, &err);
    if (!rc)
        rc = ldapdir_sync(wire->parts.ldapdirs, &err);
    if (!rc)
        rc = access_sync_names(wire->parts.access, &err);
    if (!rc)
        rc = platform_sync(wire->parts.platform, &err);
    platform_note_clusters_changed(wire->parts.platform);
    return wire_glue_tell_again(rc, &err, "gap");
}

/* -- the log ---------------------------------------------------------------------------------------------------------------- */

/* A line of the audit log. */
void wire_log_audit(void *arg, const struct audit_record *record) {
    const struct audit_event *e = &record->event;
    char at[CLOCK_RFC3339_BYTES];
    (void)arg;
    clock_format(record->at_ms, at);
    log_event(LOG_LEVEL_NOTICE, "audit", "at", at, "action", e->action, "result", e->result, "reason", e->reason, "principal",
              e->principal_id, "name", e->principal_name, "acting", e->acting_id, "source", e->source, "kind", e->object_kind,
              "object", e->object_id, "object_name", e->object_name, "client", e->address, "of_request", e->request_id, NULL);
}

/* Nobody has done anything wrong then, and what was asked is mostly done by another attempt: but somebody has waited long, and it is a defect. */
void wire_log_lock(void *arg, const char *problem, const char *sql) {
    (void)arg;
    log_event(LOG_LEVEL_ERROR, "database_lock", "problem", problem, "hint",
              "who waited has lost seconds; tell the developers, with the lines around it", "statement", sql, NULL);
}

void wire_on_hx_news(void *arg, const struct hx_status *status) {
    const bool is_good = !status->reason[0];
    (void)arg;
    log_event(is_good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "hx_connection", "hx_cluster", status->hx_id, "state",
              hx_connection_state_name(status->state), "name", status->facts.name, "reason", is_good ? NULL : status->reason,
              "detail", is_good ? NULL : status->detail, "remedy", is_good ? NULL : status->remedy, NULL);
}

int wire_list_hx_addresses(void *arg, const char *hx_id, struct hx_addresses *out, struct err *err) {
    struct wire *w = arg;
    struct inventory_snapshot *snapshot = inventory_get(w->parts.inventory);
    const struct hx_cluster *hx = snapshot ? inventory_find_hx(snapshot->platform, hx_id) : NULL;
    struct link *link = NULL;
    int rc = hx ? platform_find(w->parts.platform, hx->vsphere_cluster.vcenter_id, &link, err)
                : err_set(err, ERR_NOT_FOUND, "there is no HX cluster %s", hx_id);
    if (!rc)
        rc = hx_addresses_list(link, hx, out, err);
    link_unref(link);
    inventory_snapshot_unref(snapshot);
    return rc;
}

void wire_on_hx_set(void *arg) {
    const struct wire *w = arg;
    scheduler_wake(w->scheduler, "hyperflex");
}

void wire_on_hx_published(void *arg, const struct hx_publication *p) {
    (void)arg;
    log_event(p->reason[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "hx_publication", "hx_cluster", p->hx_id, "state",
              hx_publication_state_name(p->state), "reason", p->reason[0] ? p->reason : NULL, "detail",
              p->detail[0] ? p->detail : NULL, "remedy", p->remedy[0] ? p->remedy : NULL, NULL);
}

int wire_ask_peer(void *arg, const char *hx_id, const struct hyperflex_request *request, struct hx_peer_result *out, long *status,
                  struct err *err) {
    const struct wire *w = arg;
    const struct peers_request asked = {request->method,          request->path,      request->body,
                                        request->reply_bytes_max, request->on_header, request->on_header_arg};
    return peers_exchange(w->parts.peers, hx_id, &asked, out, status, err);
}

int wire_get_certificate(void *arg, char **out, struct err *err) {
    const struct wire *w = arg;
    return link_env_get_server_cert(platform_env(w->parts.platform), out, err);
}

void wire_on_peer_news(void *arg, const struct hx_peer *peer) {
    const struct hx_peer_result *r = &peer->result;
    const bool is_good = r->state == HX_PEER_OK;
    (void)arg;
    log_event(is_good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, "hx_peer", "hx_cluster", peer->hx_id, "state",
              hx_peer_state_name(r->state), "principal", r->signed_in_as[0] ? r->signed_in_as : NULL, "reason",
              is_good ? NULL : r->reason, "detail", is_good ? NULL : r->detail, "remedy", is_good ? NULL : r->remedy, NULL);
}

void wire_on_peer_set(void *arg) {
    const struct wire *w = arg;
    scheduler_wake(w->scheduler, "peers");
}
