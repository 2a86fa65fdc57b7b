/* The role mappings in memory, and what they mean for sessions. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "role_rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "live_session.h"
#include "signon_state.h"
#include "str.h"

struct role_rules {
    pthread_rwlock_t lock;
    struct role_mapping_list list; /* guarded by lock */
};

struct role_rules *role_rules_new(void) {
    struct role_rules *rules = calloc(1, sizeof(*rules));
    if (rules)
        (void)pthread_rwlock_init(&rules->lock, NULL);
    return rules;
}

void role_rules_free(struct role_rules *rules) {
    if (!rules)
        return;
    role_mapping_list_done(&rules->list);
    (void)pthread_rwlock_destroy(&rules->lock);
    free(rules);
}

static void role_rules_set(struct role_rules *rules, struct role_mapping_list *take) {
    struct role_mapping_list old;
    (void)pthread_rwlock_wrlock(&rules->lock);
    old = rules->list;
    rules->list = *take;
    (void)pthread_rwlock_unlock(&rules->lock);
    *take = (struct role_mapping_list){0};
    role_mapping_list_done(&old);
}

static int role_rules_copy_list(const struct role_mapping_list *from, struct role_mapping_list *out, struct err *err) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "no memory for role mappings");
    for (size_t i = 0; i < from->count; i++, out->count++)
        if (role_mapping_copy(&from->items[i], &out->items[i], err))
            return ERR_NOMEM;
    return 0;
}

static int role_rules_list(struct role_rules *rules, struct role_mapping_list *out, struct err *err) {
    struct role_mapping_list copy = {0};
    int rc;
    (void)pthread_rwlock_rdlock(&rules->lock);
    rc = role_rules_copy_list(&rules->list, &copy, err);
    (void)pthread_rwlock_unlock(&rules->lock);
    if (rc)
        role_mapping_list_done(&copy);
    else
        *out = copy;
    return rc;
}

static bool role_rules_is_of(const struct role_mapping *m, const char *vcenter_id) {
    return m->kind == ROLE_MAPPING_PRIVILEGE && str_eq_nocase(m->subject_id, vcenter_id);
}

static char **copy_privileges(const struct role_mapping_list *list, const char *vcenter_id, size_t *count) {
    size_t bytes = 0;
    char **items, *text;
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += role_rules_is_of(&list->items[i], vcenter_id) ? sizeof(*items) + strlen(list->items[i].privilege) + 1 : 0;
    items = bytes ? malloc(bytes) : NULL;
    if (!items)
        return NULL;
    for (size_t i = 0; i < list->count; i++)
        *count += role_rules_is_of(&list->items[i], vcenter_id);
    text = (char *)(items + *count);
    for (size_t i = 0, k = 0; i < list->count; i++) {
        if (!role_rules_is_of(&list->items[i], vcenter_id))
            continue;
        items[k++] = text;
        text = stpcpy(text, list->items[i].privilege) + 1;
    }
    return items;
}

static char **role_rules_privileges(struct role_rules *rules, const char *vcenter_id, size_t *count) {
    char **items;
    (void)pthread_rwlock_rdlock(&rules->lock);
    items = copy_privileges(&rules->list, vcenter_id, count);
    (void)pthread_rwlock_unlock(&rules->lock);
    return items;
}

static enum role role_rules_find(struct role_rules *rules, const char *principal_id, const struct group_set *groups) {
    enum role best;
    (void)pthread_rwlock_rdlock(&rules->lock);
    best = role_mapping_best(rules->list.items, rules->list.count, principal_id, groups);
    (void)pthread_rwlock_unlock(&rules->lock);
    return best;
}

char **signon_mapped_privileges(struct signon *s, const char *vcenter_id, size_t *count) {
    *count = 0;
    return s->options.maps_privileges ? role_rules_privileges(s->roles, vcenter_id, count) : NULL;
}

static bool has_mapping(const struct role_mapping_list *list, const struct role_mapping *wanted) {
    for (size_t i = 0; i < list->count; i++)
        if (!role_mapping_compare(&list->items[i], wanted))
            return true;
    return false;
}

static void drop_missing(struct signon *s, const struct role_mapping_list *from, const struct role_mapping_list *in) {
    for (size_t i = 0; i < from->count; i++)
        if (from->items[i].kind == ROLE_MAPPING_PRIVILEGE && !has_mapping(in, &from->items[i]))
            rights_cache_drop(s->cache, from->items[i].subject_id, NULL);
}

/* What a vCenter said about its people was an answer to another question. Without memory the usual age of rights ends it. */
static void drop_changed(struct signon *s, const struct role_mapping_list *old) {
    struct role_mapping_list fresh = {0};
    if (!s->options.maps_privileges || role_rules_list(s->roles, &fresh, NULL))
        return;
    drop_missing(s, old, &fresh);
    drop_missing(s, &fresh, old);
    role_mapping_list_done(&fresh);
}

/* First the rules, then the sessions: one that is made meanwhile looks at the rules after it is in the table. */
int signon_apply_role_mappings(struct signon *s, struct err *err) {
    struct role_mapping_list list = {0}, old = {0};
    size_t count = 0;
    struct live_session **known;
    int rc = role_mapping_store_list(s->options.store, &list, err);
    if (rc)
        return rc;
    (void)role_rules_list(s->roles, &old, NULL);
    role_rules_set(s->roles, &list);
    drop_changed(s, &old);
    role_mapping_list_done(&old);
    known = session_table_list(s->table, NULL, &count);
    if (!known)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        signon_map_role(s, known[i]);
        live_session_unref(known[i]);
    }
    free(known);
    return 0;
}

/* Roles are mapped to people who come by themselves. A program has its own role, whoever else may have it acts for them as a user, and so does
 * somebody who is only said to have a session. */
static bool is_mapped(const struct principal *who) {
    return !who->service_id && !who->acting_id && who->source != SOURCE_VC_KEY;
}

enum role signon_map_role_of(struct signon *s, const struct principal *who, const struct group_set *groups) {
    return is_mapped(who) ? role_rules_find(s->roles, who->id, groups) : ROLE_NONE;
}

void signon_map_role(struct signon *s, struct live_session *live) {
    struct live_groups *groups = live_session_groups(live);
    live_session_set_mapped(live, signon_map_role_of(s, live_session_who(live), live_groups_get(groups)));
    live_groups_unref(groups);
}

int signon_list_role_mappings(struct signon *s, struct role_mapping_list *out, struct err *err) {
    return role_rules_list(s->roles, out, err);
}

enum role signon_mapped_role(struct signon *s, const char *principal_id, const struct group_set *groups) {
    static const struct group_set none;
    return role_rules_find(s->roles, principal_id, groups ? groups : &none);
}
