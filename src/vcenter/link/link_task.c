/* Tasks at a vCenter beside its link: their sessions, and the right to change the registration. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "link_task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "lease_store.h"
#include "platform_links.h"
#include "store.h"
#include "str.h"

/* Behind "Harmony-KaaS/<version>"; NULL if it is not ours. */
static const char *after_version(const char *agent) {
    const char *blank;
    if (!agent || !str_starts(agent, SESSION_AGENT_PRODUCT))
        return NULL;
    blank = strchr(agent, ' ');
    return blank && blank[1] == '(' ? blank : NULL;
}

enum session_owner session_owner_of(const char *user_agent, const char *ours) {
    const char *given = after_version(user_agent), *wanted = after_version(ours);
    size_t n = wanted ? strlen(wanted) - 1 : 0; /* without the last parenthesis */
    if (!given || !n || strncmp(given, wanted, n))
        return SESSION_OF_OTHERS;
    if (str_eq(given + n, ")"))
        return SESSION_OF_LINK;
    return str_starts(given + n, "; ") && given[strlen(given) - 1] == ')' ? SESSION_OF_TASK : SESSION_OF_OTHERS;
}

int session_open_task(struct link *link, const char *task, struct vim_client **out, struct err *err) {
    const struct link_env *env = link_env(link);
    _cleanup_free_ char *agent = session_agent(env, task);
    struct vim_options options;
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    int rc = agent ? link_get_info(link, &vc, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    options = link_env_client(env, &vc, agent);
    rc = platform_open_client(env->platform, &options, out, err);
    if (!rc)
        link_begin_task(link);
    return rc;
}

void session_close_task(struct link *link, struct vim_client *client) {
    if (!client)
        return;
    if (platform_close_client(link_env(link)->platform, client))
        link_request(link, LINK_WORK_SWEEP);
    link_end_task(link);
}

/* ---- sweeping ---- */

/* Keys of sessions that are in use: of the link before and after the list was read, since it may log in again meanwhile, and of who asks. */
struct in_use {
    struct vim_user_session own[3];
};

/* The list may show a session whose login has not been answered yet. */
static void link_task_note_in_use(struct in_use *use, size_t i, struct vim_client *client) {
    if (vim_get_settled_session(client, &use->own[i], NULL))
        memset(&use->own[i], 0, sizeof(use->own[i]));
}

static void link_task_in_use_done(struct in_use *use) {
    for (size_t i = 0; i < ARRAY_COUNT(use->own); i++)
        vim_user_session_done(&use->own[i]);
}

static bool link_task_is_in_use(const struct in_use *use, const char *key) {
    for (size_t i = 0; i < ARRAY_COUNT(use->own); i++)
        if (use->own[i].key && str_eq(use->own[i].key, key))
            return true;
    return false;
}

static int end_session(struct vim_client *client, const char *key, struct err *err) {
    struct err why = {0};
    int rc = vim_terminate_session(client, key, &why);
    if (!rc || rc == ERR_NOT_FOUND) /* it ended by itself meanwhile */
        return 0;
    return err_move(err, rc, &why);
}

/* Of others than who asks. To be asked after the list was read: who has a session in it had begun before. */
static bool has_other_tasks(const struct link *link, const struct vim_client *client) {
    return link_count_tasks(link) > (client == link_client(link) ? 0 : 1);
}

int session_sweep(struct link *link, struct vim_client *client, struct err *err) {
    _cleanup_free_ char *ours = session_agent(link_env(link), NULL);
    struct vim_session_list list = {0};
    struct in_use use = {0};
    bool has_spared = false, spares_tasks;
    int rc = ours ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    link_task_note_in_use(&use, 0, link_client(link));
    if (!rc)
        rc = vim_list_sessions(client, &list, err);
    link_task_note_in_use(&use, 1, link_client(link));
    link_task_note_in_use(&use, 2, client);
    spares_tasks = has_other_tasks(link, client);
    if (!rc && link_is_retired(link)) /* what it does not know may be its successor's */
        rc = err_set(err, ERR_CANCELED, "the connection to this vCenter is being replaced");
    for (size_t i = 0; !rc && i < list.count; i++) {
        enum session_owner owner = session_owner_of(list.items[i].user_agent, ours);
        if (owner == SESSION_OF_OTHERS || link_task_is_in_use(&use, list.items[i].key))
            continue;
        if (owner == SESSION_OF_TASK && spares_tasks) {
            has_spared = true;
            continue;
        }
        rc = end_session(client, list.items[i].key, err);
    }
    link_task_in_use_done(&use);
    vim_session_list_done(&list);
    if (!rc && has_spared) /* nobody can tell the one in use from one left behind */
        rc = err_set(err, ERR_BUSY, "a task at this vCenter is under way");
    return rc;
}

int session_sweep_work(struct remote *remote, struct err *err) {
    struct link *link = link_of(remote);
    struct err why = {0};
    int rc = session_sweep(link, link_client(link), &why);
    if (rc == ERR_UPSTREAM_DENIED)
        return 0;
    return err_move(err, rc, &why);
}

/* -- the right to change one vCenter's registration ---------------------------------------------------------------- */

#define TTL_MS 120000
#define RENEW_MS 15000 /* a step may take several time-outs of calls, so the rest must be long */
#define AWAIT_TRIES 50
#define AWAIT_PAUSE_MS 100

static void link_task_lease_name(const struct link *link, char out[64]) {
    (void)snprintf(out, 64, "vcenter:%s", link_id(link));
}

static struct store *link_task_store_of(const struct link *link) {
    return link_env(link)->options.runtime->store;
}

static int link_task_refuse(const char *who, struct err *err) {
    (void)err_set(err, ERR_CONFLICT, "%s is registering, repairing or unregistering this vCenter right now", who);
    return err_remedy(err, "wait until that has ended, then try again");
}

static int refuse_holder(struct link *link, const char *name, struct err *err) {
    struct lease lease = {0};
    if (lease_store_load(link_task_store_of(link), name, &lease, NULL))
        return link_task_refuse("another replica", err);
    return link_task_refuse(lease.holder, err);
}

int admin_lease_take(struct link *link, struct admin_lease *out, struct err *err) {
    char name[64];
    bool is_mine = false;
    int rc;
    if (!link_begin_admin(link))
        return link_task_refuse("this kaasd", err);
    link_task_lease_name(link, name);
    (void)snprintf(out->holder, sizeof(out->holder), "%s", store_replica_name(link_task_store_of(link)));
    rc = lease_store_acquire(link_task_store_of(link), name, out->holder, TTL_MS, &is_mine, err);
    if (!rc && !is_mine)
        rc = refuse_holder(link, name, err);
    if (rc) {
        link_end_admin(link);
        return rc;
    }
    out->link = link;
    out->renewed_at_ms = clock_mono_ms();
    return 0;
}

int admin_lease_await(struct link *link, struct admin_lease *out, struct err *err) {
    const struct timespec pause = {.tv_nsec = AWAIT_PAUSE_MS * 1000000L};
    struct err why = {0};
    int rc = admin_lease_take(link, out, &why);
    for (int i = 0; rc == ERR_CONFLICT && i < AWAIT_TRIES && !link_is_retired(link); i++) {
        (void)nanosleep(&pause, NULL);
        err_clear(&why);
        rc = admin_lease_take(link, out, &why);
    }
    return err_move(err, rc, &why);
}

int admin_lease_renew(struct admin_lease *lease, struct err *err) {
    char name[64];
    int rc;
    if (clock_mono_ms() - lease->renewed_at_ms < RENEW_MS)
        return 0;
    link_task_lease_name(lease->link, name);
    rc = lease_store_renew(link_task_store_of(lease->link), name, lease->holder, TTL_MS, err);
    if (!rc)
        lease->renewed_at_ms = clock_mono_ms();
    return rc;
}

void admin_lease_release(struct admin_lease *lease) {
    char name[64];
    if (!lease || !lease->link)
        return;
    link_task_lease_name(lease->link, name);
    (void)lease_store_release(link_task_store_of(lease->link), name, lease->holder, NULL);
    link_end_admin(lease->link);
    lease->link = NULL;
}
