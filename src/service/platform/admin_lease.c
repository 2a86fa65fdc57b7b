/* The right to change one vCenter's registration. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "link_task.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "replica_store.h"
#include "platform_links.h"
#include "str.h"

#define TTL_MS 120000
#define RENEW_MS 15000 /* a step may take several time-outs of calls, so the rest must be long */
#define AWAIT_TRIES 50
#define AWAIT_PAUSE_MS 100

static void lease_name(const struct link *link, char out[64]) {
    (void)snprintf(out, 64, "vcenter:%s", link_id(link));
}

static struct store *store_of(const struct link *link) {
    return platform_options_of(link_platform(link))->store;
}

static int refuse(const char *who, struct err *err) {
    (void)err_set(err, ERR_CONFLICT, "%s is registering, repairing or unregistering this vCenter right now", who);
    return err_remedy(err, "wait until that has ended, then try again");
}

static int refuse_holder(struct link *link, const char *name, struct err *err) {
    struct lease lease = {0};
    if (lease_store_load(store_of(link), name, &lease, NULL))
        return refuse("another replica", err);
    return refuse(lease.holder, err);
}

int admin_lease_take(struct link *link, struct admin_lease *out, struct err *err) {
    char name[64];
    bool is_mine = false;
    int rc;
    if (!link_begin_admin(link))
        return refuse("this kaasd", err);
    lease_name(link, name);
    (void)snprintf(out->holder, sizeof(out->holder), "%s", store_replica_name(store_of(link)));
    rc = lease_store_acquire(store_of(link), name, out->holder, TTL_MS, &is_mine, err);
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
    lease_name(lease->link, name);
    rc = lease_store_renew(store_of(lease->link), name, lease->holder, TTL_MS, err);
    if (!rc)
        lease->renewed_at_ms = clock_mono_ms();
    return rc;
}

void admin_lease_release(struct admin_lease *lease) {
    char name[64];
    if (!lease || !lease->link)
        return;
    lease_name(lease->link, name);
    (void)lease_store_release(store_of(lease->link), name, lease->holder, NULL);
    link_end_admin(lease->link);
    lease->link = NULL;
}
