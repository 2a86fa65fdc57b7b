/* The role mappings in memory. Layer 4 (service/signon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "role_rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

void role_rules_set(struct role_rules *rules, struct role_mapping_list *take) {
    struct role_mapping_list old;
    (void)pthread_rwlock_wrlock(&rules->lock);
    old = rules->list;
    rules->list = *take;
    (void)pthread_rwlock_unlock(&rules->lock);
    *take = (struct role_mapping_list){0};
    role_mapping_list_done(&old);
}

static int copy_list(const struct role_mapping_list *from, struct role_mapping_list *out, struct err *err) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "no memory for role mappings");
    for (size_t i = 0; i < from->count; i++, out->count++)
        if (role_mapping_copy(&from->items[i], &out->items[i], err))
            return ERR_NOMEM;
    return 0;
}

int role_rules_list(struct role_rules *rules, struct role_mapping_list *out, struct err *err) {
    struct role_mapping_list copy = {0};
    int rc;
    (void)pthread_rwlock_rdlock(&rules->lock);
    rc = copy_list(&rules->list, &copy, err);
    (void)pthread_rwlock_unlock(&rules->lock);
    if (rc)
        role_mapping_list_done(&copy);
    else
        *out = copy;
    return rc;
}

static bool is_of(const struct role_mapping *m, const char *vcenter_id) {
    return m->kind == ROLE_MAPPING_PRIVILEGE && str_eq_nocase(m->subject_id, vcenter_id);
}

static char **copy_privileges(const struct role_mapping_list *list, const char *vcenter_id, size_t *count) {
    size_t bytes = 0;
    char **items, *text;
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += is_of(&list->items[i], vcenter_id) ? sizeof(*items) + strlen(list->items[i].privilege) + 1 : 0;
    items = bytes ? malloc(bytes) : NULL;
    if (!items)
        return NULL;
    for (size_t i = 0; i < list->count; i++)
        *count += is_of(&list->items[i], vcenter_id);
    text = (char *)(items + *count);
    for (size_t i = 0, k = 0; i < list->count; i++) {
        if (!is_of(&list->items[i], vcenter_id))
            continue;
        items[k++] = text;
        text = stpcpy(text, list->items[i].privilege) + 1;
    }
    return items;
}

char **role_rules_privileges(struct role_rules *rules, const char *vcenter_id, size_t *count) {
    char **items;
    (void)pthread_rwlock_rdlock(&rules->lock);
    items = copy_privileges(&rules->list, vcenter_id, count);
    (void)pthread_rwlock_unlock(&rules->lock);
    return items;
}

enum role role_rules_find(struct role_rules *rules, const char *principal_id, const struct group_set *groups) {
    enum role best;
    (void)pthread_rwlock_rdlock(&rules->lock);
    best = role_mapping_best(rules->list.items, rules->list.count, principal_id, groups);
    (void)pthread_rwlock_unlock(&rules->lock);
    return best;
}
