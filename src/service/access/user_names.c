/* Names of local users in memory, to be shown beside their ids. Layer 4 (service/access).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "access_private.h"
#include "str.h"

#define LOCAL "local:"

static int compare(const void *a, const void *b) {
    return strcmp(((const struct user_name *)a)->id, ((const struct user_name *)b)->id);
}

void user_names_done(struct user_names *names) {
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i].id);
        free(names->items[i].name);
    }
    free(names->items);
    *names = (struct user_names){0};
}

/* Names and ids only: hashes of passwords are nothing to keep. */
static int take_names(struct user_list *users, struct user_names *out, struct err *err) {
    struct user_names names = {.items = calloc(users->count + 1, sizeof(*names.items))};
    if (!names.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; names.count < users->count; names.count++)
        names.items[names.count] = (struct user_name){STEAL(users->items[names.count].id), STEAL(users->items[names.count].name)};
    if (names.count)
        qsort(names.items, names.count, sizeof(*names.items), compare);
    *out = names;
    return 0;
}

int access_sync_names(struct access *access, struct err *err) {
    struct user_list users = {0};
    struct user_names fresh = {0}, old;
    int rc = user_store_list(access->options.store, &users, err);
    if (!rc)
        rc = take_names(&users, &fresh, err);
    user_list_done(&users);
    if (rc)
        return rc;
    (void)pthread_rwlock_wrlock(&access->names_lock);
    old = access->names;
    access->names = fresh;
    (void)pthread_rwlock_unlock(&access->names_lock);
    user_names_done(&old);
    return 0;
}

bool access_get_name(struct access *access, const char *principal_id, char *out, size_t n) {
    const char *id = str_starts(principal_id, LOCAL) ? principal_id + strlen(LOCAL) : "";
    const struct user_name wanted = {.id = (char *)(uintptr_t)id};
    const struct user_name *found = NULL;
    (void)pthread_rwlock_rdlock(&access->names_lock);
    if (access->names.count)
        found = bsearch(&wanted, access->names.items, access->names.count, sizeof(*access->names.items), compare);
    if (found)
        (void)snprintf(out, n, "%s", found->name);
    (void)pthread_rwlock_unlock(&access->names_lock);
    return found != NULL;
}
