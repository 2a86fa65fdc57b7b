/* What sign-on asks vCenters, by their links. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "signon_ask.h"

#include "inventory.h"
#include "hashmap.h"
#include "platform_links.h"
#include "policy.h"
#include "query.h"
#include "role_mappings.h"

int signon_ask_credential(const struct signon_asker *asker, const char *vcenter_id, const struct vc_credential *credential,
                          struct vim_user_session *out, struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(asker->platform, vcenter_id, &link, err);
    return rc ? rc : vc_people_check(link, credential, out, err);
}

/* That somebody administrates what runs there stands among what may be viewed. */
static int ask_admin(const struct signon_asker *asker, struct link *link, const struct vim_user_session *who,
                     struct object_set *out, struct err *err) {
    size_t count = 0;
    _cleanup_free_ char **privileges = role_mappings_privileges(asker->mappings, link_id(link), &count);
    const struct vim_root_query query = {.privileges = (const char *const *)privileges, .count = count};
    struct object_ref mark;
    bool is_admin = false;
    int rc = count ? vc_people_ask_root(link, who, &query, &is_admin, err) : 0;
    if (rc || !is_admin)
        return rc;
    rc = object_ref_make(link_id(link), POLICY_VCENTER_ADMIN_MOREF, &mark, err);
    return rc ? rc : object_set_add(out, &mark, err);
}

int signon_ask_rights(const struct signon_asker *asker, const char *vcenter_id, const char *session_key, const char *user_name,
                      struct object_set *out, struct err *err) {
    const struct vim_user_session who = {.key = (char *)(uintptr_t)session_key, .user_name = (char *)(uintptr_t)user_name};
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(asker->inventory);
    _cleanup_(link_unref) struct link *link = NULL;
    struct object_set objects = {0};
    int rc;
    if (!snapshot)
        return err_set(err, ERR_UNAVAILABLE, "the inventory is not loaded yet");
    rc = platform_find(asker->platform, vcenter_id, &link, err);
    if (rc)
        return rc;
    rc = inventory_objects_of_interest(snapshot, vcenter_id, &objects, err);
    if (!rc)
        rc = vc_people_ask_rights(link, &who, &objects, out, err);
    object_set_done(&objects);
    return rc ? rc : ask_admin(asker, link, &who, out, err);
}

bool signon_is_unreachable(const struct signon_asker *asker, const char *vcenter_id) {
    _cleanup_(link_unref) struct link *link = NULL;
    return !platform_find(asker->platform, vcenter_id, &link, NULL) && link_get_state(link) == REMOTE_FAILING;
}

uint64_t signon_mark_of_interest(const struct signon_asker *asker, const char *vcenter_id) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(asker->inventory);
    struct object_set objects = {0};
    uint64_t mark = 0;
    if (snapshot)
        (void)inventory_objects_of_interest(snapshot, vcenter_id, &objects, NULL);
    for (size_t i = 0; i < objects.count; i++)
        mark = hash64_text(mark, objects.items[i].moref);
    object_set_done(&objects);
    return mark ? mark : 1;
}

int signon_submit(const struct signon_asker *asker, const char *vcenter_id, uint64_t party, worker_fn *fn, void *arg,
                  struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    int rc = platform_find(asker->platform, vcenter_id, &link, err);
    return rc ? rc : worker_pool_submit_for(link_pool(link), party, fn, arg, err);
}
