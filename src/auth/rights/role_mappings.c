/* Role mappings in memory. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "role_mappings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

struct role_mappings {
    bool maps_privileges;
    pthread_rwlock_t lock; /* guards the list */
    struct role_mapping_list list;
};

struct role_mappings *role_mappings_new(bool maps_privileges) {
    struct role_mappings *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->maps_privileges = maps_privileges;
    (void)pthread_rwlock_init(&m->lock, NULL);
    return m;
}

void role_mappings_free(struct role_mappings *m) {
    if (!m)
        return;
    role_mapping_list_done(&m->list);
    (void)pthread_rwlock_destroy(&m->lock);
    free(m);
}

int role_mappings_load(struct role_mappings *m, struct store *store, struct role_mapping_list *old, struct err *err) {
    struct role_mapping_list list = {0};
    int rc = role_mapping_store_list(store, &list, err);
    if (rc)
        return rc;
    (void)pthread_rwlock_wrlock(&m->lock);
    SWAP(m->list, list);
    (void)pthread_rwlock_unlock(&m->lock);
    *old = list;
    return 0;
}

static int role_mappings_copy(const struct role_mapping_list *from, struct role_mapping_list *out, struct err *err) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return err_set(err, ERR_NOMEM, "no memory for role mappings");
    for (size_t i = 0; i < from->count; i++, out->count++)
        if (role_mapping_copy(&from->items[i], &out->items[i], err))
            return ERR_NOMEM;
    return 0;
}

int role_mappings_list(struct role_mappings *m, struct role_mapping_list *out, struct err *err) {
    struct role_mapping_list copy = {0};
    int rc;
    (void)pthread_rwlock_rdlock(&m->lock);
    rc = role_mappings_copy(&m->list, &copy, err);
    (void)pthread_rwlock_unlock(&m->lock);
    if (rc)
        role_mapping_list_done(&copy);
    else
        *out = copy;
    return rc;
}

enum role role_mappings_best(struct role_mappings *m, const char *principal_id, const struct group_set *groups) {
    static const struct group_set none;
    enum role best;
    (void)pthread_rwlock_rdlock(&m->lock);
    best = role_mapping_best(m->list.items, m->list.count, principal_id, groups ? groups : &none);
    (void)pthread_rwlock_unlock(&m->lock);
    return best;
}

static bool is_privilege_of(const struct role_mapping *m, const char *vcenter_id) {
    return m->kind == ROLE_MAPPING_PRIVILEGE && str_eq_nocase(m->subject_id, vcenter_id);
}

static char **copy_privileges(const struct role_mapping_list *list, const char *vcenter_id, size_t *count) {
    size_t bytes = 0;
    char **items, *text;
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += is_privilege_of(&list->items[i], vcenter_id) ? sizeof(*items) + strlen(list->items[i].privilege) + 1 : 0;
    items = bytes ? malloc(bytes) : NULL;
    if (!items)
        return NULL;
    for (size_t i = 0; i < list->count; i++)
        *count += is_privilege_of(&list->items[i], vcenter_id);
    text = (char *)(items + *count);
    for (size_t i = 0, k = 0; i < list->count; i++) {
        if (!is_privilege_of(&list->items[i], vcenter_id))
            continue;
        items[k++] = text;
        text = stpcpy(text, list->items[i].privilege) + 1;
    }
    return items;
}

char **role_mappings_privileges(struct role_mappings *m, const char *vcenter_id, size_t *count) {
    char **items;
    *count = 0;
    if (!m->maps_privileges)
        return NULL;
    (void)pthread_rwlock_rdlock(&m->lock);
    items = copy_privileges(&m->list, vcenter_id, count);
    (void)pthread_rwlock_unlock(&m->lock);
    return items;
}
