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

void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(sid, strlen(sid), digest);
    str_hex(digest, (SIGNON_HANDLE_BYTES - 1) / 2, out);
}

void signon_session_list_done(struct signon_session_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        live_session_unref(list->items[i].live);
    free(list->items);
    *list = (struct signon_session_list){0};
}

static int compare_sessions(const void *a, const void *b) {
    const struct signon_session *x = a, *y = b;
    int order = strcmp(live_session_who(x->live)->name, live_session_who(y->live)->name);
    return order ? order : strcmp(x->handle, y->handle);
}

static bool is_wanted(struct live_session *live, const char *principal, int64_t now_ms) {
    const struct principal *who = live_session_who(live);
    if (live_session_has_ended(live, now_ms))
        return false;
    return !principal || str_eq(who->id, principal) || str_eq_nocase(who->name, principal);
}

int signon_list_sessions(struct signon *s, const char *principal, struct signon_session_list *out, struct err *err) {
    int64_t now_ms = clock_wall_ms();
    size_t known_count = 0;
    struct live_session **known = session_table_list(s->table, NULL, &known_count);
    struct signon_session_list list = {.items = known ? calloc(known_count + 1, sizeof(*list.items)) : NULL};
    for (size_t i = 0; i < known_count; i++) {
        if (!list.items || !is_wanted(known[i], principal, now_ms)) {
            live_session_unref(known[i]);
            continue;
        }
        list.items[list.count].live = known[i];
        signon_handle_of(live_session_sid(known[i]), list.items[list.count++].handle);
    }
    free(known);
    if (!list.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    qsort(list.items, list.count, sizeof(*list.items), compare_sessions);
    *out = list;
    return 0;
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

void signon_known_done(struct signon_known *known) {
    if (!known)
        return;
    principal_done(&known->who);
    live_groups_unref(known->groups);
    known->groups = NULL;
}

static struct live_session *newest_of(const struct signon_session_list *list) {
    struct live_session *newest = list->count ? list->items[0].live : NULL;
    for (size_t i = 1; i < list->count; i++)
        if (live_session_created_ms(list->items[i].live) > live_session_created_ms(newest))
            newest = list->items[i].live;
    return newest;
}

int signon_find_known(struct signon *s, const char *principal, struct signon_known *out, struct err *err) {
    _cleanup_signon_sessions_ struct signon_session_list list = {0};
    struct live_session *live;
    int rc = signon_list_sessions(s, principal, &list, err);
    if (rc)
        return rc;
    live = newest_of(&list);
    if (!live)
        return err_set(err, ERR_NOT_FOUND, "\"%.100s\" is not signed in", principal);
    rc = principal_copy(live_session_who(live), &out->who, err);
    if (rc)
        return rc;
    out->who.role = live_session_role(live);
    out->groups = live_session_groups(live);
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

static struct live_session *find_handle(const struct signon_session_list *list, const char *handle) {
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].handle, handle))
            return list->items[i].live;
    return NULL;
}

int signon_end_session(struct signon *s, const struct signon_caller *caller, const char *handle, struct err *err) {
    _cleanup_signon_sessions_ struct signon_session_list list = {0};
    struct signon_audit event = {.action = "session.end", .who = caller->who, .source = NULL};
    struct live_session *live;
    int rc = signon_list_sessions(s, NULL, &list, err);
    if (rc)
        return rc;
    live = find_handle(&list, handle);
    if (!live)
        return err_set(err, ERR_NOT_FOUND, "there is no such session; it may have ended");
    event.object_kind = "principal";
    event.object_id = live_session_who(live)->id;
    rc = signon_write_end(s, &(struct signon_ending){.sid = live_session_sid(live), .caller = caller, .event = &event}, err);
    if (!rc)
        live_session_revoke(live, clock_wall_ms());
    return rc;
}

/* What a record of a local user says counts for the sessions that are under way too. */
int signon_apply_user_change(struct signon *s, const char *user_id, struct err *err) {
    _cleanup_free_ char *principal_id = str_format("local:%s", user_id);
    size_t count = 0;
    struct live_session **known = principal_id ? session_table_list(s->table, principal_id, &count) : NULL;
    int rc = known ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!rc)
            rc = signon_apply_session_change(s, live_session_sid(known[i]), err);
        live_session_unref(known[i]);
    }
    free(known);
    return rc;
}
