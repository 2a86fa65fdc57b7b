/* What jobs that make virtual machines share at a vCenter. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include "vc_machines.h"

#include "vim_follow.h"
#include "watch_run.h"

int vc_machines_submit(struct platform *platform, const char *vcenter_id, worker_fn *fn, void *fn_arg, struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(platform, vcenter_id, &link, err);
    return rc ? rc : worker_pool_submit(link_machine_pool(link), fn, fn_arg, err); /* a pool that ends calls what waits in it */
}

static struct vim_follows *vc_follows(const struct link *link) {
    return watch_follows(link_watch(link));
}

int vc_follow_task(struct link *link, const char *moref, const char *whom, struct vim_task *out, struct err *err) {
    return vim_follow_task(vc_follows(link), link_client(link), moref, whom, out, err);
}

int vc_follow_machine(struct link *link, const char *moref, const char *whom, struct vim_guest_state *out, struct err *err) {
    return vim_follow_machine(vc_follows(link), link_client(link), moref, whom, out, err);
}

void vc_unfollow(struct link *link, const char *moref) {
    vim_unfollow(vc_follows(link), moref);
}

bool vc_is_full(struct link *link) {
    const bool has_room = vim_follows_reserve(vc_follows(link), VC_TASKS_AT_ONCE);
    if (has_room)
        vim_follows_unreserve(vc_follows(link));
    return !has_room;
}

/* That the new task cannot be followed yet is no failure: the next look tries again. */
int vc_clone(struct link *link, const struct vim_clone *clone, const char *whom, struct vim_task *out, bool *is_full,
             struct err *err) {
    *is_full = !vim_follows_reserve(vc_follows(link), VC_TASKS_AT_ONCE);
    if (*is_full)
        return 0;
    int rc = vim_clone_machine(link_client(link), clone, out, err);
    if (!rc && out->moref[0])
        (void)vc_follow_task(link, out->moref, whom, out, NULL);
    vim_follows_unreserve(vc_follows(link));
    return rc;
}

int vc_note(struct link *link, int64_t since_ms, int rc, const struct err *err) {
    if (!rc || rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS || rc == ERR_PROTOCOL)
        (void)link_note(link, since_ms, rc, err);
    return rc;
}
