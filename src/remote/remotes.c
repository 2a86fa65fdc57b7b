/* All remotes of one kind. Layer 3 (remote). SPDX-License-Identifier: GPL-3.0-or-later */
#include "remotes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "store.h"
#include "str.h"

struct remote_list {
    struct remote **items;
    size_t count, alloc;
};

struct remotes {
    pthread_mutex_t lock; /* guards all below; taken before that of a remote */
    bool is_stopping;
    struct remote_list present, retired;
};

static int remotes_add(struct remote_list *list, struct remote *r) {
    if (list->count == list->alloc) {
        size_t alloc = list->alloc ? list->alloc * 2 : 8;
        struct remote **items = reallocarray(list->items, alloc, sizeof(struct remote *));
        if (!items)
            return ERR_NOMEM;
        list->items = items;
        list->alloc = alloc;
    }
    list->items[list->count++] = r;
    return 0;
}

int remotes_new(struct remotes **out, struct err *err) {
    struct remotes *set = calloc(1, sizeof(*set));
    if (!set)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&set->lock, NULL);
    *out = set;
    return 0;
}

static void remotes_free_all(struct remote_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (atomic_load(&list->items[i]->refs) <= 1)
            list->items[i]->kind->free(list->items[i]);
    free(list->items);
}

void remotes_free(struct remotes *set) {
    if (!set)
        return;
    remotes_free_all(&set->present);
    remotes_free_all(&set->retired);
    (void)pthread_mutex_destroy(&set->lock);
    free(set);
}

bool remotes_is_stopping(struct remotes *set) {
    LOCKED(&set->lock);
    return set->is_stopping;
}

/* -- who is there ------------------------------------------------------------------------------------------------------------ */

/* Needs the lock. The index; the count of those present if there is none. */
static size_t remotes_index(const struct remotes *set, const char *id) {
    size_t i = 0;
    while (i < set->present.count && !str_eq_nocase(set->present.items[i]->id, id))
        i++;
    return i;
}

struct remote *remotes_find(struct remotes *set, const char *id) {
    LOCKED(&set->lock);
    size_t i = remotes_index(set, id);
    return i < set->present.count ? remote_ref(set->present.items[i]) : NULL;
}

struct remote **remotes_list(struct remotes *set, size_t *count) {
    struct remote **list;
    LOCKED(&set->lock);
    *count = 0;
    list = calloc(set->present.count + 1, sizeof(struct remote *));
    for (size_t i = 0; list && i < set->present.count; i++)
        list[(*count)++] = remote_ref(set->present.items[i]);
    return list;
}

void remotes_each(struct remotes *set, void (*fn)(struct remote *remote, void *arg), void *arg) {
    size_t count;
    struct remote **list = remotes_list(set, &count);
    for (size_t i = 0; i < count; i++) {
        fn(list[i], arg);
        remote_unref(list[i]);
    }
    free(list);
}

/* -- who takes whose place --------------------------------------------------------------------------------------------------- */

/* Needs the lock. Out of sight at once: it must neither sign in nor work beside its successor. Without memory it stays for now. */
static int remotes_retire(struct remotes *set, size_t i) {
    struct remote *r = set->present.items[i];
    if (remotes_add(&set->retired, r))
        return ERR_NOMEM;
    (void)pthread_mutex_lock(&r->lock);
    r->is_retired = true;
    (void)pthread_mutex_unlock(&r->lock);
    set->present.count--;
    memmove(&set->present.items[i], &set->present.items[i + 1], (set->present.count - i) * sizeof(set->present.items[0]));
    return 0;
}

static int put_locked(struct remotes *set, struct remote *r, void (*inherit)(struct remote *remote, struct remote *from),
                      struct err *err) {
    LOCKED(&set->lock);
    size_t i = remotes_index(set, r->id);
    if (set->is_stopping)
        return err_set(err, ERR_CANCELED, "the service is stopping");
    if (i < set->present.count && inherit)
        inherit(r, set->present.items[i]);
    if ((i < set->present.count && remotes_retire(set, i)) || remotes_add(&set->present, r))
        return err_set(err, ERR_NOMEM, "out of memory");
    return 0;
}

static void remotes_end(struct remote *r) {
    if (r->kind->end)
        r->kind->end(r);
}

int remotes_put(struct remotes *set, struct remote *r, void (*inherit)(struct remote *remote, struct remote *from),
                struct err *err) {
    int rc = put_locked(set, r, inherit, err);
    if (!rc)
        return 0;
    remotes_end(r);
    r->kind->free(r);
    return rc;
}

void remotes_keep(struct remotes *set, bool (*is_wanted)(void *arg, struct remote *remote), void *arg) {
    LOCKED(&set->lock);
    for (size_t i = set->present.count; i-- > 0;)
        if (!is_wanted(arg, set->present.items[i]))
            (void)remotes_retire(set, i);
}

/* The first of those retired from index `i` on; NULL: there is none. */
static struct remote *retired_at(struct remotes *set, size_t i) {
    LOCKED(&set->lock);
    return i < set->retired.count ? set->retired.items[i] : NULL;
}

/* Others may be retired meanwhile, behind it. */
static void remotes_forget(struct remotes *set, size_t i) {
    LOCKED(&set->lock);
    set->retired.count--;
    memmove(&set->retired.items[i], &set->retired.items[i + 1], (set->retired.count - i) * sizeof(set->retired.items[0]));
}

/* All are ended; those still in use are freed by a later tick. */
static void remotes_bury(struct remotes *set) {
    struct remote *r;
    for (size_t i = 0; (r = retired_at(set, i));) {
        remotes_end(r);
        if (atomic_load(&r->refs) > 1) {
            i++;
            continue;
        }
        remotes_forget(set, i);
        r->kind->free(r);
    }
}

static void tick_one(struct remote *r, void *now_ms) {
    remote_tick(r, *(int64_t *)now_ms);
}

void remotes_tick(struct remotes *set) {
    int64_t now_ms = clock_mono_ms();
    remotes_each(set, tick_one, &now_ms);
    remotes_bury(set);
}

/* -- the end ----------------------------------------------------------------------------------------------------------------- */

struct remote_end {
    struct remote *remote;
    pthread_t thread;
    bool has_thread;
};

static void *end_in_thread(void *arg) {
    struct remote_end *end = arg;
    store_thread_begin(); /* jobs that are called off run here */
    remotes_end(end->remote);
    store_thread_end();
    return NULL;
}

/* All, those in use and those already out of sight. */
static struct remote_end *remotes_collect(struct remotes *set, size_t *count) {
    struct remote_end *ends;
    LOCKED(&set->lock);
    set->is_stopping = true;
    *count = set->present.count + set->retired.count;
    ends = calloc(*count + 1, sizeof(*ends));
    for (size_t i = 0; ends && i < *count; i++)
        ends[i].remote = remote_ref(i < set->present.count ? set->present.items[i] : set->retired.items[i - set->present.count]);
    return ends;
}

static void remotes_end_all(struct remote_end *ends, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct remote *r = ends[i].remote;
        (void)pthread_mutex_lock(&r->lock);
        r->is_retired = true;
        (void)pthread_mutex_unlock(&r->lock);
        if (r->kind->begin_end)
            r->kind->begin_end(r);
    }
    for (size_t i = 0; i < count; i++)
        ends[i].has_thread = ends[i].remote->kind->end && !pthread_create(&ends[i].thread, NULL, end_in_thread, &ends[i]);
}

void remotes_stop(struct remotes *set, void (*meanwhile)(void *arg), void *arg) {
    size_t count = 0;
    if (!set)
        return;
    struct remote_end *ends = remotes_collect(set, &count);
    if (ends)
        remotes_end_all(ends, count);
    if (meanwhile)
        meanwhile(arg);
    for (size_t i = 0; ends && i < count; i++) {
        if (ends[i].has_thread)
            (void)pthread_join(ends[i].thread, NULL);
        else
            remotes_end(ends[i].remote);
        remote_unref(ends[i].remote);
    }
    free(ends);
}
