/* Sessions as administrators see them, and what a changed user means for them. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "rights_board.h"
#include "session_store.h"
#include "signon_private.h"
#include "str.h"

#define KNOWN_MAX 500 /* sessions of people of one name that are looked at */

void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(sid, strlen(sid), digest);
    str_hex(digest, (SIGNON_HANDLE_BYTES - 1) / 2, out);
}

int signon_list_sessions(struct signon *s, const struct session_query *query, struct session_list *out, struct err *err) {
    int rc = session_store_list(s->options.store, query, out, err);
    for (size_t i = 0; !rc && i < out->count; i++) {
        struct principal *who = &out->items[i].who;
        const enum role mapped = signon_map_role_of(s, who, &out->items[i].groups);
        who->role = mapped > who->role ? mapped : who->role;
    }
    return rc;
}

/* The name as the vCenter spells it, if the person is signed in; else as the principal's id has it, in lower case. Caller frees. */
static char *vc_user_of(struct signon *s, const char *principal_id, const char *folded) {
    size_t count = 0;
    struct live_session **known = session_table_list(s->table, principal_id, &count);
    char *name = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!name && live_session_who(known[i])->vc_user)
            name = str_dup(live_session_who(known[i])->vc_user);
        live_session_unref(known[i]);
    }
    free(known);
    return name ? name : str_dup(folded);
}

int signon_lookup_rights(struct signon *s, const char *vcenter_id, const char *principal_id, struct object_set *out,
                         struct err *err) {
    const struct signon_vcenter_ops *ops = &s->options.vcenter;
    const char *colon = str_starts(principal_id, "vc:") ? strchr(principal_id + 3, ':') : NULL;
    _cleanup_free_ char *name = NULL;
    if (!colon || !colon[1])
        return err_set(err, ERR_NOT_FOUND, "\"%.100s\" is no principal of a vCenter", principal_id);
    name = vc_user_of(s, principal_id, colon + 1);
    return name ? ops->ask_rights(ops->arg, vcenter_id, NULL, name, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- further vCenters of somebody's sessions ----------------------------------------------------------------------------------- */

struct linked_list {
    struct signon_linked *items;
    size_t count;
};

static struct signon_linked *slot_for(struct linked_list *list, const char *vcenter_id) {
    for (size_t i = 0; i < list->count; i++)
        if (str_eq_nocase(list->items[i].vcenter_id, vcenter_id))
            return &list->items[i];
    if (list->count == SIGNON_LINKED_MAX)
        return NULL;
    struct signon_linked *slot = &list->items[list->count++];
    *slot = (struct signon_linked){0};
    (void)snprintf(slot->vcenter_id, sizeof(slot->vcenter_id), "%s", vcenter_id);
    return slot;
}

static void take_linked(struct signon *s, const struct live_part *part, struct linked_list *list) {
    struct signon_linked *slot = slot_for(list, rights_subject_vcenter(part->subject));
    struct rights_known known;
    enum signon_part_state state;
    rights_subject_read(part->subject, false, &known);
    state = signon_judge(s, &known, false);
    if (!slot || slot->objects || (state != SIGNON_PART_FRESH && state != SIGNON_PART_AGING)) {
        shared_objects_unref(known.objects);
        return;
    }
    slot->objects = known.objects;
}

static void take_parts(struct signon *s, struct live_session *live, struct linked_list *list) {
    struct live_part parts[SESSION_VCENTERS_MAX];
    const size_t count = live_session_parts(live, parts);
    for (size_t i = 0; i < count; i++) {
        if (!parts[i].is_first)
            take_linked(s, &parts[i], list);
        live_part_done(&parts[i]);
    }
}

size_t signon_get_linked(struct signon *s, const char *principal_id, struct signon_linked out[SIGNON_LINKED_MAX]) {
    struct linked_list list = {.items = out};
    const int64_t now_ms = clock_wall_ms();
    size_t count = 0;
    struct live_session **known = session_table_list(s->table, principal_id, &count);
    for (size_t i = 0; i < count; i++) {
        if (!live_session_has_ended(known[i], now_ms))
            take_parts(s, known[i], &list);
        live_session_unref(known[i]);
    }
    free(known);
    return list.count;
}

void signon_linked_done(struct signon_linked *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        shared_objects_unref(items[i].objects);
}

/* -- somebody who is signed in ---------------------------------------------------------------------------------------------- */

int signon_find_known(struct signon *s, const char *principal, struct session *out, struct err *err) {
    const struct session_query query = {.now_ms = clock_wall_ms(), .principal = principal, .limit = KNOWN_MAX};
    _cleanup_session_list_ struct session_list list = {0};
    size_t newest = 0;
    int rc = signon_list_sessions(s, &query, &list, err);
    if (rc)
        return rc;
    if (!list.count)
        return err_set(err, ERR_NOT_FOUND, "\"%.100s\" is not signed in", principal);
    for (size_t i = 1; i < list.count; i++)
        newest = list.items[i].created_at_ms > list.items[newest].created_at_ms ? i : newest;
    *out = list.items[newest];
    list.items[newest] = (struct session){0};
    return 0;
}

int signon_list_role_mappings(struct signon *s, struct role_mapping_list *out, struct err *err) {
    return role_rules_list(s->roles, out, err);
}

enum role signon_mapped_role(struct signon *s, const char *principal_id, const struct group_set *groups) {
    static const struct group_set none;
    return role_rules_find(s->roles, principal_id, groups ? groups : &none);
}

/* -- ending ---------------------------------------------------------------------------------------------------------------- */

int signon_end_session(struct signon *s, const struct actor *actor, const char *handle, struct err *err) {
    const struct session_query query = {.now_ms = clock_wall_ms(), .handle = handle, .limit = 1};
    _cleanup_session_list_ struct session_list list = {0};
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    struct audit_record line;
    int rc = session_store_list(s->options.store, &query, &list, err);
    if (rc)
        return rc;
    if (!list.count)
        return err_set(err, ERR_NOT_FOUND, "there is no such session; it may have ended");
    line = audit_record_make(
        actor, &(struct audit_event){.action = "session.end", .object_kind = "principal", .object_id = list.items[0].who.id});
    line.event.source = NULL; /* this action has never told it */
    rc = signon_write_end(s, list.items[0].sid, &line, 0, err);
    if (rc)
        return rc;
    live = session_table_find(s->table, list.items[0].sid);
    if (live)
        live_session_revoke(live, clock_wall_ms());
    return 0;
}

/* What a record of a local user says counts for the sessions that are under way too. */
int signon_apply_user_change(struct signon *s, const char *user_id, struct err *err) {
    _cleanup_free_ char *principal_id = str_format("local:%s", user_id);
    size_t count = 0;
    struct live_session **known;
    int rc;
    signon_tell_all(s);
    known = principal_id ? session_table_list(s->table, principal_id, &count) : NULL;
    rc = known ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!rc)
            rc = signon_apply_session_change(s, live_session_sid(known[i]), err);
        live_session_unref(known[i]);
    }
    free(known);
    return rc;
}
