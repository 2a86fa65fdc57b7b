/* The vCenters we are joined to, one link each. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_links.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "store.h"
#include "str.h"
#include "uuid.h"
#include "vcenter_store.h"

struct links {
    struct link **items;
    size_t count, alloc;
};

#define VISIT_GRACE_MS 2000  /* for tasks under way, such as a registration */
#define VISIT_LOGOUT_MS 2000 /* when the service stops */

/* A client beside those of the links. */
struct link_visit {
    struct link_visit *next;
    struct vim_client *client;
};

struct platform {
    struct link_env env;
    pthread_mutex_t sync; /* one platform_sync or tick at a time */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t left;  /* a visit has ended */
    struct link_visit *visits;
    bool is_stopping, is_over; /* no new clients; their calls have been ended */
    struct links links;
    struct links retired;
};

static int links_add(struct links *list, struct link *link) {
    if (list->count == list->alloc) {
        size_t alloc = list->alloc ? list->alloc * 2 : 8;
        struct link **items = reallocarray(list->items, alloc, sizeof(struct link *));
        if (!items)
            return ERR_NOMEM;
        list->items = items;
        list->alloc = alloc;
    }
    list->items[list->count++] = link;
    return 0;
}

static void links_remove(struct links *list, size_t i) {
    list->items[i] = list->items[--list->count];
}

int platform_new(const struct platform_options *options, struct platform **out, struct err *err) {
    struct platform *p = calloc(1, sizeof(*p));
    int rc;
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&p->sync, NULL);
    (void)pthread_mutex_init(&p->lock, NULL);
    clock_init_cond(&p->left);
    p->env.platform = p;
    p->env.lock = &p->lock;
    rc = link_env_init(&p->env, options, err);
    if (rc) {
        platform_free(p);
        return rc;
    }
    platform_set_work(p, &(struct remote_work){.bit = LINK_WORK_IDENTITY, .name = "identity", .run = link_read_about});
    *out = p;
    return 0;
}

void platform_free(struct platform *p) {
    if (!p)
        return;
    platform_stop(p);
    for (size_t i = 0; i < p->links.count; i++)
        (void)link_try_free(p->links.items[i]);
    for (size_t i = 0; i < p->retired.count; i++)
        (void)link_try_free(p->retired.items[i]);
    free(p->links.items);
    free(p->retired.items);
    link_env_done(&p->env);
    (void)pthread_mutex_destroy(&p->sync);
    (void)pthread_mutex_destroy(&p->lock);
    (void)pthread_cond_destroy(&p->left);
    free(p);
}

void platform_set_installation(struct platform *p, const char *uuid) {
    (void)snprintf(p->env.installation, sizeof(p->env.installation), "%s", uuid);
}

void platform_set_plugin_version(struct platform *p, const char *version) {
    (void)snprintf(p->env.plugin_version, sizeof(p->env.plugin_version), "%s", version);
}

const struct link_env *platform_env(const struct platform *p) {
    return &p->env;
}

const struct platform_options *platform_options_of(const struct platform *p) {
    return &p->env.options;
}

void platform_set_work(struct platform *p, const struct remote_work *kind) {
    for (unsigned i = 0; i < LINK_WORK_COUNT; i++)
        if (kind->bit == 1U << i)
            p->env.work[i] = *kind;
}

static struct link *find_locked(const struct platform *p, const char *id, size_t *at) {
    for (size_t i = 0; i < p->links.count; i++) {
        if (!str_eq_nocase(link_id(p->links.items[i]), id))
            continue;
        if (at)
            *at = i;
        return p->links.items[i];
    }
    return NULL;
}

int platform_find(struct platform *p, const char *vcenter_id, struct link **out, struct err *err) {
    struct link *found;
    LOCKED(&p->lock);
    found = find_locked(p, vcenter_id, NULL);
    if (found) {
        *out = link_ref(found);
        return 0;
    }
    (void)err_set(err, ERR_NOT_FOUND, "there is no vCenter %s here", vcenter_id);
    return err_remedy(err, "compare with 'kaasctl vcenter list'");
}

bool platform_is_away(struct platform *p, const char *vcenter_id) {
    _cleanup_(link_unref) struct link *link = NULL;
    return !platform_find(p, vcenter_id, &link, NULL) && link_is_away(link);
}

struct link **platform_list(struct platform *p, size_t *count) {
    struct link **list;
    LOCKED(&p->lock);
    list = calloc(p->links.count + 1, sizeof(struct link *));
    *count = list ? p->links.count : 0;
    for (size_t i = 0; i < *count; i++)
        list[i] = link_ref(p->links.items[i]);
    return list;
}

void platform_each(struct platform *p, void (*fn)(struct link *link, void *arg), void *arg) {
    size_t count = 0;
    struct link **links = platform_list(p, &count);
    for (size_t i = 0; i < count; i++) {
        fn(links[i], arg);
        link_unref(links[i]);
    }
    free(links);
}

static void reconcile_link(struct link *link, void *arg) {
    (void)arg;
    link_request(link, LINK_WORK_RECONCILE);
}

int platform_set_server_cert(struct platform *p, const char *cert_pem, struct err *err) {
    bool differs = false;
    int rc = link_env_set_server_cert(&p->env, cert_pem, &differs, err);
    if (!rc && differs)
        platform_each(p, reconcile_link, NULL);
    return rc;
}

void platform_note_login_changed(struct platform *p, const char *vcenter_id) {
    struct link *link = NULL;
    if (platform_find(p, vcenter_id, &link, NULL))
        return;
    link_request(link, LINK_WORK_LOGIN);
    link_unref(link);
}

/* Moves a link out of sight; platform_tick ends it. */
static int retire_at(struct platform *p, size_t i) {
    if (links_add(&p->retired, p->links.items[i]))
        return ERR_NOMEM;                 /* it stays for now, the next sync tries again */
    link_note_retired(p->links.items[i]); /* at once: it must neither log in nor sweep beside its successor */
    links_remove(&p->links, i);
    return 0;
}

/* Puts a link in, in the place of another one of the same vCenter. Needs the lock. */
static int put_locked(struct platform *p, struct link *link) {
    size_t at = 0;
    struct link *before = find_locked(p, link_id(link), &at);
    if (before)
        link_inherit_verdicts(link, before);
    if (before && retire_at(p, at))
        return ERR_NOMEM;
    return links_add(&p->links, link);
}

static int platform_links_add_new(struct platform *p, const struct vcenter *vc, struct err *err) {
    struct link *link = NULL;
    int rc = link_new(&p->env, vc, &link, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&p->lock);
    rc = put_locked(p, link);
    (void)pthread_mutex_unlock(&p->lock);
    if (rc) {
        link_retire(link);
        (void)link_try_free(link);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

static int sync_one(struct platform *p, const struct vcenter *vc, struct err *err) {
    bool needs_new;
    struct link *link;
    (void)pthread_mutex_lock(&p->lock);
    link = find_locked(p, vc->id, NULL);
    needs_new = !link || link_set_info(link, vc);
    (void)pthread_mutex_unlock(&p->lock);
    return needs_new ? platform_links_add_new(p, vc, err) : 0;
}

static bool is_listed(const struct vcenter_list *list, const char *id) {
    for (size_t i = 0; i < list->count; i++)
        if (str_eq_nocase(list->items[i].id, id))
            return true;
    return false;
}

static void retire_missing(struct platform *p, const struct vcenter_list *list) {
    LOCKED(&p->lock);
    for (size_t i = p->links.count; i-- > 0;)
        if (!is_listed(list, link_id(p->links.items[i])))
            (void)retire_at(p, i);
}

bool platform_is_stopping(struct platform *p) {
    LOCKED(&p->lock);
    return p->is_stopping;
}

int platform_sync(struct platform *p, struct err *err) {
    _cleanup_done_(vcenter_list_done) struct vcenter_list list = {0};
    int rc;
    LOCKED(&p->sync);
    if (platform_is_stopping(p))
        return 0;
    rc = vcenter_store_list(p->env.options.store, &list, err);
    if (!rc)
        retire_missing(p, &list);
    for (size_t i = 0; i < list.count; i++) { /* one that fails must not keep the others away */
        int failed = sync_one(p, &list.items[i], err);
        rc = rc ? rc : failed;
    }
    return rc;
}

static struct link *take_retired(struct platform *p) {
    LOCKED(&p->lock);
    return p->retired.count ? p->retired.items[--p->retired.count] : NULL;
}

/* Ends retired links; those still in use wait for the next tick. */
static void platform_links_bury(struct platform *p) {
    struct link *link;
    while ((link = take_retired(p))) {
        link_retire(link);
        if (link_try_free(link))
            continue;
        LOCKED(&p->lock);
        (void)links_add(&p->retired, link); /* cannot fail: its place is still allocated */
        return;
    }
}

static void tick_link(struct link *link, void *now_ms) {
    link_tick(link, *(int64_t *)now_ms);
}

void platform_tick(struct platform *p) {
    int64_t now_ms = clock_mono_ms();
    platform_each(p, tick_link, &now_ms);
    platform_links_bury(p);
}

/* -- tasks beside the links ----------------------------------------------------------------------------------------------------- */

int platform_open_client(struct platform *p, const struct vim_options *options, struct vim_client **out, struct err *err) {
    struct link_visit *visit = calloc(1, sizeof(*visit));
    int rc = visit ? vim_client_new(options, &visit->client, err) : err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_lock(&p->lock);
    if (!rc && p->is_stopping)
        rc = err_set(err, ERR_CANCELED, "the service is stopping");
    if (!rc) {
        visit->next = p->visits;
        p->visits = visit;
        *out = visit->client;
    }
    (void)pthread_mutex_unlock(&p->lock);
    if (rc && visit) {
        vim_client_free(visit->client);
        free(visit);
    }
    return rc;
}

/* Out of reach of platform_stop. True if that has ended its calls. */
static bool take_visit(struct platform *p, const struct vim_client *client) {
    struct link_visit *found = NULL;
    bool is_over;
    (void)pthread_mutex_lock(&p->lock);
    for (struct link_visit **at = &p->visits; *at && !found; at = &(*at)->next)
        if ((*at)->client == client) {
            found = *at;
            *at = found->next;
            break;
        }
    is_over = p->is_over;
    (void)pthread_cond_broadcast(&p->left);
    (void)pthread_mutex_unlock(&p->lock);
    free(found);
    return is_over;
}

bool platform_close_client(struct platform *p, struct vim_client *client) {
    bool may_have_orphan;
    if (!client)
        return false;
    if (take_visit(p, client))
        (void)vim_logout_within(client, VISIT_LOGOUT_MS, NULL);
    else
        (void)vim_logout(client, NULL);
    may_have_orphan = vim_take_orphan_hint(client);
    vim_client_free(client);
    return may_have_orphan;
}

/* Ends the calls of those that do not end by themselves. */
static void end_visits(struct platform *p) {
    const struct timespec until = clock_deadline(VISIT_GRACE_MS);
    LOCKED(&p->lock);
    for (int rc = 0; p->visits && !rc;)
        rc = pthread_cond_timedwait(&p->left, &p->lock, &until);
    p->is_over = true;
    for (struct link_visit *visit = p->visits; visit; visit = visit->next)
        vim_client_cancel(visit->client);
}

/* -- the end ------------------------------------------------------------------------------------------------------------------- */

struct end {
    struct link *link;
    pthread_t thread;
    bool has_thread;
};

static void *end_link(void *arg) {
    struct end *end = arg;
    store_thread_begin(); /* jobs that are called off run here */
    link_retire(end->link);
    store_thread_end();
    return NULL;
}

/* All links, those in use and those already out of sight. */
static struct end *platform_links_collect(struct platform *p, size_t *count) {
    struct end *ends;
    LOCKED(&p->lock);
    p->is_stopping = true;
    *count = p->links.count + p->retired.count;
    ends = calloc(*count + 1, sizeof(*ends));
    for (size_t i = 0; ends && i < *count; i++)
        ends[i].link = link_ref(i < p->links.count ? p->links.items[i] : p->retired.items[i - p->links.count]);
    return ends;
}

static void platform_links_end_all(struct platform *p, struct end *ends, size_t count) {
    for (size_t i = 0; i < count; i++)
        link_begin_retire(ends[i].link);
    for (size_t i = 0; i < count; i++)
        ends[i].has_thread = !pthread_create(&ends[i].thread, NULL, end_link, &ends[i]);
    end_visits(p);
    for (size_t i = 0; i < count; i++) {
        if (ends[i].has_thread)
            (void)pthread_join(ends[i].thread, NULL);
        else
            link_retire(ends[i].link);
        link_unref(ends[i].link);
    }
}

void platform_stop(struct platform *p) {
    struct end *ends;
    size_t count = 0;
    if (!p)
        return;
    (void)pthread_mutex_lock(&p->sync); /* nobody makes links now */
    ends = platform_links_collect(p, &count);
    (void)pthread_mutex_unlock(&p->sync);
    if (ends)
        platform_links_end_all(p, ends, count);
    free(ends);
}
