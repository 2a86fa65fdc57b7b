/* What the parts need from their siblings, handed in as functions; what they tell the log. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "audit_store.h"
#include "clock.h"
#include "hashmap.h"
#include "log.h"
#include "query.h"
#include "str.h"
#include "vc_people.h"
#include "wire_private.h"

/* -- sign-on asks vCenters ------------------------------------------------------------------------------------------------ */

static enum vc_credential_kind wire_credential_of(enum signon_credential_kind credential) {
    switch (credential) {
    case SIGNON_CREDENTIAL_COOKIE: return VC_CREDENTIAL_COOKIE;
    case SIGNON_CREDENTIAL_TICKET: return VC_CREDENTIAL_TICKET;
    case SIGNON_CREDENTIAL_PLUGIN: return VC_CREDENTIAL_PLUGIN;
    case SIGNON_CREDENTIAL_KEY: return VC_CREDENTIAL_KEY;
    case SIGNON_CREDENTIAL_USER: return VC_CREDENTIAL_USER;
    case SIGNON_CREDENTIAL_PASSWORD:
    default: return VC_CREDENTIAL_PASSWORD;
    }
}

static int check_credential(void *arg, const struct signon_credential *given, struct signon_identity *out, struct err *err) {
    struct vc_credential credential = {.kind = wire_credential_of(given->kind), .user = given->user, .secret = given->secret};
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    struct vim_user_session who = {0};
    bool is_program = false;
    int rc = platform_find(wire->platform, given->vcenter_id, &link, err);
    if (!rc)
        rc = vc_people_check(link, &credential, &who, &is_program, err);
    if (rc)
        return rc;
    out->user_name = STEAL(who.user_name);
    out->full_name = STEAL(who.full_name);
    out->session_key = STEAL(who.key);
    out->is_extension = is_program;
    vim_user_session_done(&who);
    return 0;
}

/* Whoever has a mapped privilege on the root folder administrates what runs there: that stands among what may be viewed. */
static int ask_admin(struct wire *wire, struct link *link, const struct vim_user_session *who, struct object_set *out,
                     struct err *err) {
    struct object_ref mark;
    size_t count = 0;
    _cleanup_free_ char **privileges = signon_mapped_privileges(wire->signon, link_id(link), &count);
    const struct vim_root_query query = {.privileges = (const char *const *)privileges, .count = count};
    bool is_admin = false;
    int rc = count ? vc_people_ask_root(link, who, &query, &is_admin, err) : 0;
    if (rc || !is_admin)
        return rc;
    rc = object_ref_make(link_id(link), POLICY_VCENTER_ADMIN_MOREF, &mark, err);
    return rc ? rc : object_set_add(out, &mark, err);
}

static int ask_rights(void *arg, const char *vcenter_id, const char *session_key, const char *user_name, struct object_set *out,
                      struct err *err) {
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(wire->inventory);
    _cleanup_free_ char *key = str_dup(session_key), *user = str_dup(user_name);
    struct vim_user_session who = {.key = key, .user_name = user};
    struct object_set objects = {0};
    int rc = snapshot ? 0 : err_set(err, ERR_UNAVAILABLE, "the inventory is not loaded yet");
    if (!rc)
        rc = platform_find(wire->platform, vcenter_id, &link, err);
    if (!rc)
        rc = inventory_objects_of_interest(snapshot, vcenter_id, &objects, err);
    if (!rc)
        rc = vc_people_ask_rights(link, &who, &objects, out, err);
    if (!rc)
        rc = ask_admin(wire, link, &who, out, err);
    object_set_done(&objects);
    return rc;
}

static bool is_unreachable(void *arg, const char *vcenter_id) {
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    struct link_report report;
    if (platform_find(wire->platform, vcenter_id, &link, NULL))
        return false;
    link_get_report(link, &report);
    return report.state == LINK_UNREACHABLE;
}

/* A hash of what matters; never 0. Without memory the mark changes, and people are asked once more. */
static uint64_t mark_of_interest(void *arg, const char *vcenter_id) {
    struct wire *wire = arg;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(wire->inventory);
    struct object_set objects = {0};
    uint64_t mark = 0;
    if (snapshot)
        (void)inventory_objects_of_interest(snapshot, vcenter_id, &objects, NULL);
    for (size_t i = 0; i < objects.count; i++)
        mark = hash64_text(mark, objects.items[i].moref);
    object_set_done(&objects);
    return mark ? mark : 1;
}

static int wire_submit(void *arg, const char *vcenter_id, uint64_t party, worker_fn *fn, void *fn_arg, struct err *err) {
    struct wire *wire = arg;
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(wire->platform, vcenter_id, &link, err);
    return rc ? rc : worker_pool_submit_for(link_pool(link), party, fn, fn_arg, err);
}

struct signon_vcenter_ops wire_vcenter_ops(struct wire *wire) {
    struct signon_vcenter_ops ops = {.arg = wire,
                                     .check = check_credential,
                                     .ask_rights = ask_rights,
                                     .is_unreachable = is_unreachable,
                                     .mark_of_interest = mark_of_interest,
                                     .submit = wire_submit};
    return ops;
}

/* -- sign-on asks directories --------------------------------------------------------------------------------------------- */

static int check_person(void *arg, const struct signon_directory_question *question, struct group_set *groups, struct err *err) {
    struct wire *w = arg;
    const struct identity_known known = {question->who, question->mark, question->groups};
    return identity_check_person(w->identity, &known, groups, err);
}

struct signon_directory_ops wire_directory_ops(struct wire *w) {
    return (struct signon_directory_ops){.arg = w, .check = check_person};
}

bool wire_get_name(void *arg, const char *id, char *out) {
    struct wire *w = arg;
    _Static_assert(API_NAME_BYTES == IDENTITY_NAME_BYTES, "names of directories fit");
    return str_starts(id, "local:") ? access_get_name(w->access, id, out, API_NAME_BYTES)
                                    : identity_get_name(w->identity, id, out);
}

/* By role: who may do more than see what is shown to them. */
bool wire_is_privileged(void *arg, const char *principal_id, const struct group_set *groups) {
    struct wire *w = arg;
    return signon_mapped_role(w->signon, principal_id, groups) > ROLE_USER;
}

/* -- changes -------------------------------------------------------------------------------------------------------------- */

void wire_on_written(void *arg) {
    struct wire *wire = arg;
    struct err err = {0};
    if (inventory_poll(wire->inventory, &err))
        log_error(LOG_LEVEL_DEBUG, "poll_after_write_failed", &err, NULL);
}

bool wire_get_size(void *arg, size_t *clusters, size_t *nodes) {
    const struct wire *wire = arg;
    struct inventory_snapshot *snapshot = inventory_get(wire->inventory);
    if (!snapshot)
        return false;
    *clusters = snapshot->clusters_count;
    *nodes = snapshot->nodes_count;
    inventory_snapshot_unref(snapshot);
    return true;
}

void wire_on_permissions(void *arg, const char *vcenter_id, const char *user) {
    struct wire *wire = arg;
    signon_drop_rights(wire->signon, vcenter_id, user);
    api_note_change(wire->api);
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
    int rc = signon_apply_user_change(wire->signon, user_id, err);
    return rc ? rc : access_sync_names(wire->access, err);
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
    rc = sids ? signon_apply_session_changes(wire->signon, sids, count, &err) : err_set(&err, ERR_NOMEM, "out of memory");
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
        rc = signon_apply_role_mappings(wire->signon, &err);
    else if (change->kind == CHANGE_SIGNING_KEY && str_eq(change->object_id, SEAL_STORE_CHANGE))
        rc = sealing_follow(wire->sealing, &err);
    else if (change->kind == CHANGE_SIGNING_KEY)
        rc = signon_apply_key_change(wire->signon, &err);
    else if (change->kind == CHANGE_LDAP)
        rc = identity_sync(wire->identity, &err);
    else if (change->kind == CHANGE_VCENTER)
        rc = platform_sync(wire->platform, &err);
    else if (change->kind == CHANGE_CLUSTER)
        platform_note_cluster_changed(wire->platform, change->object_id);
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
    int rc = sealing_follow(wire->sealing, &err);
    if (!rc)
        rc = signon_load(wire->signon, &err);
    if (!rc)
        rc = identity_sync(wire->identity, &err);
    if (!rc)
        rc = access_sync_names(wire->access, &err);
    if (!rc)
        rc = platform_sync(wire->platform, &err);
    platform_note_clusters_changed(wire->platform);
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
