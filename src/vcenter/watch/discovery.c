/* From clusters and extension keys to what the database holds: vSphere clusters and the HX clusters among them. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "platform_store.h"
#include "str.h"
#include "uuid.h"
#include "vim_authorization.h"
#include "vim_extension.h"
#include "vim_session.h"
#include "watch_mirror.h"

/* HyperFlex registers one record per cluster below this key (HyperFlex admin guide 5.5, "Managing HX clusters"). */
#define HX_KEY_BASE "com.springpath.sysmgmt"

/* What was read, and what goes into the database. */
struct run {
    struct link *link;
    const struct watch_inventory *seen;
    struct vsphere_cluster *vsphere;
    size_t vsphere_count;
    bool *has_hx; /* by the same index */
    struct hx_cluster *hx;
    size_t hx_count;
    struct hx_cluster_list before;
    struct discovery_result result;
};

void discovery_result_done(struct discovery_result *result) {
    if (!result)
        return;
    for (size_t i = 0; i < result->ignored_count; i++)
        free(result->ignored_keys[i]);
    free(result->ignored_keys);
    memset(result, 0, sizeof(*result));
}

static void discovery_run_done(struct run *run) {
    for (size_t i = 0; i < run->vsphere_count; i++)
        vsphere_cluster_done(&run->vsphere[i]);
    for (size_t i = 0; i < run->hx_count; i++)
        hx_cluster_done(&run->hx[i]);
    free(run->vsphere);
    free(run->has_hx);
    free(run->hx);
    hx_cluster_list_done(&run->before);
    discovery_result_done(&run->result);
}

static int compare_vsphere(const void *a, const void *b) {
    return strcmp(((const struct vsphere_cluster *)a)->ref.moref, ((const struct vsphere_cluster *)b)->ref.moref);
}

/* In order of the managed object id: a vCenter may tell of very many. */
static int convert_vsphere(struct run *run, struct err *err) {
    run->vsphere = calloc(run->seen->count + 1, sizeof(*run->vsphere));
    run->has_hx = calloc(run->seen->count + 1, sizeof(*run->has_hx));
    if (!run->vsphere || !run->has_hx)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < run->seen->count; i++) {
        const struct watch_cluster *from = &run->seen->clusters[i];
        struct vsphere_cluster *to = &run->vsphere[run->vsphere_count];
        if (object_ref_make(link_id(run->link), from->moref, &to->ref, NULL))
            continue; /* no id that any vCenter gives */
        run->vsphere_count++;
        to->name = str_dup(from->name);
        to->datacenter = str_dup(from->datacenter);
        to->datacenter_moref = str_dup(from->datacenter_moref);
        if (!to->name)
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    if (run->vsphere_count > 1)
        qsort(run->vsphere, run->vsphere_count, sizeof(*run->vsphere), compare_vsphere);
    return 0;
}

static const struct vsphere_cluster *find_seen(const struct run *run, const char *moref) {
    struct vsphere_cluster wanted = {.name = NULL};
    (void)snprintf(wanted.ref.moref, sizeof(wanted.ref.moref), "%s", moref);
    return run->vsphere_count ? bsearch(&wanted, run->vsphere, run->vsphere_count, sizeof(*run->vsphere), compare_vsphere) : NULL;
}

static bool is_known_already(const struct run *run, const struct vsphere_cluster *on) {
    return on && run->has_hx[on - run->vsphere];
}

/* A key that names no cluster of this vCenter is reported, not acted on: often the record of a cluster that was removed. */
static int ignore_key(struct run *run, const char *key, struct err *err) {
    struct discovery_result *result = &run->result;
    if (result->ignored_count == DISCOVERY_IGNORED_MAX)
        return 0;
    if (!result->ignored_keys)
        result->ignored_keys = calloc(DISCOVERY_IGNORED_MAX, sizeof(char *));
    if (!result->ignored_keys)
        return err_set(err, ERR_NOMEM, "out of memory");
    result->ignored_keys[result->ignored_count] = str_dup(key);
    if (!result->ignored_keys[result->ignored_count])
        return err_set(err, ERR_NOMEM, "out of memory");
    result->ignored_count++;
    return 0;
}

static int add_hx(struct run *run, const char *key, const struct vsphere_cluster *on, struct err *err) {
    struct hx_cluster *hx = &run->hx[run->hx_count];
    char id[UUID_TEXT_BYTES];
    if (is_known_already(run, on))
        return 0; /* the .uuid. form beside the plain one */
    run->has_hx[on - run->vsphere] = true;
    uuid_new(id);
    memset(hx, 0, sizeof(*hx));
    hx->vsphere_cluster = on->ref;
    hx->id = str_dup(id);
    hx->name = str_dup(on->name);
    hx->extension_key = str_dup(key);
    hx->seen_at_ms = run->result.scanned_at_ms;
    run->hx_count++;
    return hx->id && hx->name && hx->extension_key ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int choose_hx(struct run *run, struct err *err) {
    run->hx = calloc(run->seen->keys.count + 1, sizeof(*run->hx));
    if (!run->hx)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < run->seen->keys.count; i++) {
        const char *key = run->seen->keys.items[i];
        const struct vsphere_cluster *on;
        char moref[MOREF_BYTES];
        int rc;
        if (!hx_extension_key_parse(key, moref)) {
            rc = str_starts(key, HX_KEY_BASE ".") ? ignore_key(run, key, err) : 0;
        } else {
            on = find_seen(run, moref);
            rc = on ? add_hx(run, key, on, err) : ignore_key(run, key, err);
        }
        if (rc)
            return rc;
    }
    return 0;
}

static int discovery_compare_hx(const void *a, const void *b) {
    return strcmp(((const struct hx_cluster *)a)->vsphere_cluster.moref, ((const struct hx_cluster *)b)->vsphere_cluster.moref);
}

/* They are in order of the managed object id by then. */
static const struct hx_cluster *find_before(const struct run *run, const struct hx_cluster *hx) {
    return run->before.count ? bsearch(hx, run->before.items, run->before.count, sizeof(*run->before.items), discovery_compare_hx)
                             : NULL;
}

static void count_differences(struct run *run) {
    if (run->before.count > 1)
        qsort(run->before.items, run->before.count, sizeof(*run->before.items), discovery_compare_hx);
    for (size_t i = 0; i < run->hx_count; i++) {
        const struct hx_cluster *before = find_before(run, &run->hx[i]);
        if (!before || before->is_gone)
            run->result.added++;
        else if (!before->is_name_set && !str_eq(before->name, run->hx[i].name))
            run->result.changed++;
    }
    for (size_t i = 0; i < run->before.count; i++)
        if (!run->before.items[i].is_gone && !is_known_already(run, find_seen(run, run->before.items[i].vsphere_cluster.moref)))
            run->result.gone++;
    run->result.vsphere_clusters = (unsigned)run->vsphere_count;
    run->result.hx_clusters = (unsigned)run->hx_count;
}

int discovery_check_rights(struct link *link, struct err *err) {
    static const char *const needed[] = {"System.View", "System.Read"};
    struct vim_user_session own = {0};
    bool granted[ARRAY_COUNT(needed)] = {false};
    struct vim_root_query query = {.privileges = needed, .count = ARRAY_COUNT(needed)};
    int rc = vim_get_own_session(link_client(link), &own, err);
    query.subject.session_key = own.key;
    if (!rc)
        rc = vim_check_root_privileges(link_client(link), &query, granted, err);
    vim_user_session_done(&own);
    if (rc || (granted[0] && granted[1]))
        return rc;
    (void)err_set(err, ERR_UPSTREAM_DENIED,
                  "our session sees nothing of this vCenter any more: it lacks System.View or System.Read on the root folder");
    return err_remedy(err, "give the extension its rights back, or register again");
}

static bool has_present(const struct vsphere_cluster_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_gone)
            return true;
    return false;
}

/* No cluster at all, where there were some before: that may be true, or our session has lost its rights. The list must not
 * lose everything over a permission. */
static int check_plausible(struct run *run, struct store *store, struct err *err) {
    _cleanup_done_(vsphere_cluster_list_done) struct vsphere_cluster_list before = {0};
    int rc;
    if (run->seen->count)
        return 0;
    rc = platform_store_list_vsphere(store, link_id(run->link), &before, err);
    if (!rc && has_present(&before))
        rc = discovery_check_rights(run->link, err);
    return rc;
}

static int discovery_save_run(struct run *run, struct err *err) {
    struct store *store = link_env(run->link)->options.runtime->store;
    struct refused_rows refused_hx = {0}; /* each lies on a vSphere cluster of that name */
    struct platform_seen seen = {.vcenter_id = link_id(run->link),
                                 .is_complete = true,
                                 .now_ms = run->result.scanned_at_ms,
                                 .refused = &run->result.refused};
    unsigned vsphere_changed = 0, hx_changed = 0;
    int rc = check_plausible(run, store, err);
    if (!rc)
        rc = platform_store_list_hx(store, link_id(run->link), &run->before, err);
    if (!rc)
        rc = platform_store_save_vsphere(store, &seen, run->vsphere, run->vsphere_count, &vsphere_changed, err);
    seen.refused = &refused_hx;
    if (!rc)
        rc = platform_store_save_hx(store, &seen, run->hx, run->hx_count, &hx_changed, err);
    if (!run->result.refused.count)
        run->result.refused = refused_hx;
    if (!rc && (vsphere_changed || hx_changed))
        runtime_note_written(link_env(run->link)->options.runtime);
    return rc;
}

int discovery_save(struct link *link, const struct watch_inventory *read, struct discovery_result *out, struct err *err) {
    struct run run = {.link = link, .seen = read, .result.scanned_at_ms = clock_wall_ms()};
    int rc = convert_vsphere(&run, err);
    if (!rc)
        rc = choose_hx(&run, err);
    if (!rc)
        rc = discovery_save_run(&run, err);
    if (!rc)
        count_differences(&run);
    if (!rc && out) {
        *out = run.result;
        memset(&run.result, 0, sizeof(run.result));
    }
    discovery_run_done(&run);
    return rc;
}
