/* The vCenters we are joined to, one link each. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform_links.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "remotes.h"
#include "store.h"
#include "str.h"
#include "uuid.h"
#include "vcenter_store.h"

#define VISIT_GRACE_MS 2000  /* for tasks under way, such as a registration */
#define VISIT_LOGOUT_MS 2000 /* when the service stops */

/* A client beside those of the links. */
struct link_visit {
    struct link_visit *next;
    struct vim_client *client;
};

struct platform {
    struct link_env env;
    pthread_mutex_t sync; /* one platform_sync at a time */
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t left;  /* a visit has ended */
    struct link_visit *visits;
    bool is_over; /* their calls have been ended */
    struct remotes *links;
};

static int work_identity(struct remote *remote, struct err *err) {
    return link_read_about(link_of(remote), err);
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
    if (!rc)
        rc = remotes_new(&p->links, err);
    if (rc) {
        platform_free(p);
        return rc;
    }
    platform_set_work(p, &(struct remote_work){.bit = LINK_WORK_IDENTITY, .name = "identity", .run = work_identity});
    *out = p;
    return 0;
}

void platform_free(struct platform *p) {
    if (!p)
        return;
    platform_stop(p);
    remotes_free(p->links);
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
    for (unsigned i = 0; i < REMOTE_WORK_MAX; i++)
        if (kind->bit == 1U << i)
            p->env.work[i] = *kind;
}

int platform_find(struct platform *p, const char *vcenter_id, struct link **out, struct err *err) {
    struct remote *found = remotes_find(p->links, vcenter_id);
    if (found) {
        *out = link_of(found);
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
    _cleanup_free_ struct remote **remotes = remotes_list(p->links, count);
    struct link **list = calloc(*count + 1, sizeof(struct link *));
    for (size_t i = 0; i < *count; i++)
        if (list)
            list[i] = link_of(remotes[i]);
        else
            remote_unref(remotes[i]);
    *count = list ? *count : 0;
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

static void platform_links_inherit(struct remote *remote, struct remote *from) {
    link_inherit_verdicts(link_of(remote), link_of(from));
}

static int sync_one(struct platform *p, const struct vcenter *vc, struct err *err) {
    _cleanup_(link_unref) struct link *now = NULL;
    struct link *link = NULL;
    if (!platform_find(p, vc->id, &now, NULL) && !link_set_info(now, vc))
        return 0;
    int rc = link_new(&p->env, vc, &link, err);
    return rc ? rc : remotes_put(p->links, link_remote(link), platform_links_inherit, err);
}

static bool is_listed(void *arg, struct remote *remote) {
    const struct vcenter_list *list = arg;
    for (size_t i = 0; i < list->count; i++)
        if (str_eq_nocase(list->items[i].id, remote->id))
            return true;
    return false;
}

bool platform_is_stopping(struct platform *p) {
    return remotes_is_stopping(p->links);
}

int platform_sync(struct platform *p, struct err *err) {
    _cleanup_done_(vcenter_list_done) struct vcenter_list list = {0};
    int rc;
    LOCKED(&p->sync);
    if (platform_is_stopping(p))
        return 0;
    rc = vcenter_store_list(p->env.options.runtime->store, &list, err);
    if (!rc)
        remotes_keep(p->links, is_listed, &list);
    for (size_t i = 0; i < list.count; i++) { /* one that fails must not keep the others away */
        int failed = sync_one(p, &list.items[i], err);
        rc = rc ? rc : failed;
    }
    return rc;
}

void platform_tick(struct platform *p) {
    remotes_tick(p->links);
}

/* -- tasks beside the links ----------------------------------------------------------------------------------------------------- */

int platform_open_client(struct platform *p, const struct vim_options *options, struct vim_client **out, struct err *err) {
    struct link_visit *visit = calloc(1, sizeof(*visit));
    int rc = visit ? vim_client_new(options, &visit->client, err) : err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_lock(&p->lock);
    if (!rc && platform_is_stopping(p))
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
static void end_visits(void *arg) {
    struct platform *p = arg;
    const struct timespec until = clock_deadline(VISIT_GRACE_MS);
    LOCKED(&p->lock);
    for (int rc = 0; p->visits && !rc;)
        rc = pthread_cond_timedwait(&p->left, &p->lock, &until);
    p->is_over = true;
    for (struct link_visit *visit = p->visits; visit; visit = visit->next)
        vim_client_cancel(visit->client);
}

void platform_stop(struct platform *p) {
    if (p)
        remotes_stop(p->links, end_visits, p);
}
