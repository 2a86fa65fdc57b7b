/* A watch whose news the test writes, and a database of nodes in memory. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>

#include "observation_store.h"
#include "platform_world.h"
#include "platform_world_watch.h"
#include "str.h"
#include "vim.h"
#include "vim_follow.h"
#include "vim_session.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct watch_world world;
static watch_script *next_script;

struct vim_watch {
    bool is_canceled;
};

/* -- the test's side --------------------------------------------------------------------------------------------------------- */

static void drop_saved(void) {
    while (world.saved_count)
        node_observation_done(&world.saved[--world.saved_count]);
}

void watch_world_reset(void) {
    (void)pthread_mutex_lock(&lock);
    drop_saved();
    memset(&world, 0, sizeof(world));
    next_script = NULL;
    (void)pthread_mutex_unlock(&lock);
}

void watch_world_tell(watch_script *script) {
    (void)pthread_mutex_lock(&lock);
    next_script = script;
    (void)pthread_cond_broadcast(&changed);
    while (next_script)
        (void)pthread_cond_wait(&changed, &lock);
    (void)pthread_mutex_unlock(&lock);
}

struct watch_world watch_world_get(void) {
    struct watch_world copy;
    (void)pthread_mutex_lock(&lock);
    copy = world;
    (void)pthread_mutex_unlock(&lock);
    return copy;
}

bool watch_world_is_on(const char *host_moref) {
    bool is_on;
    (void)pthread_mutex_lock(&lock);
    is_on = world.saved_count == 1 && str_eq(world.saved[0].host_moref, host_moref);
    (void)pthread_mutex_unlock(&lock);
    return is_on;
}

void watch_world_set_targets(const struct node_target *targets, size_t count) {
    (void)pthread_mutex_lock(&lock);
    assert_true(count <= WATCH_NODES_MAX);
    memcpy(world.targets, targets, count * sizeof(*targets));
    world.target_count = count;
    (void)pthread_mutex_unlock(&lock);
}

void watch_world_fail_saves(int code) {
    (void)pthread_mutex_lock(&lock);
    world.fail_saves = code;
    (void)pthread_mutex_unlock(&lock);
}

/* -- vim_follow.h: nothing is followed in these tests --------------------------------------------------------------------------- */

int vim_follows_new(vim_follow_fn *news, void *arg, struct vim_follows **out, struct err *err) {
    (void)news;
    (void)arg;
    (void)err;
    *out = NULL;
    return 0;
}

void vim_follows_free(struct vim_follows *follows) {
    (void)follows;
}

/* -- vim_watch.h ------------------------------------------------------------------------------------------------------------- */

int vim_watch_new(struct vim_client *client, const struct vim_watch_options *options, struct vim_watch **out, struct err *err) {
    (void)client;
    (void)options;
    (void)err;
    *out = calloc(1, sizeof(**out));
    assert_non_null(*out);
    (void)pthread_mutex_lock(&lock);
    world.made++;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

int vim_watch_next(struct vim_watch *watch, const struct vim_watch_events *events, struct err *err) {
    watch_script *script;
    int rc = 0;
    (void)pthread_mutex_lock(&lock);
    world.asked++;
    while (!watch->is_canceled && !next_script)
        (void)pthread_cond_wait(&changed, &lock);
    script = watch->is_canceled ? NULL : next_script;
    (void)pthread_mutex_unlock(&lock);
    if (!script)
        return err_set(err, ERR_CANCELED, "given up");
    rc = script(events, err);
    (void)pthread_mutex_lock(&lock);
    next_script = NULL;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

void vim_watch_cancel(struct vim_watch *watch) {
    (void)pthread_mutex_lock(&lock);
    watch->is_canceled = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

void vim_watch_free(struct vim_watch *watch) {
    (void)pthread_mutex_lock(&lock);
    world.ended += watch != NULL;
    (void)pthread_mutex_unlock(&lock);
    free(watch);
}

int vim_logout_within(struct vim_client *client, long timeout_ms, struct err *err) {
    (void)timeout_ms;
    return vim_logout(client, err);
}

int vim_replace_session(struct vim_client *client, vim_login_fn *fn, void *arg, struct err *err) {
    (void)vim_logout(client, NULL);
    return fn ? fn(client, arg, err) : vim_ensure_session(client, err);
}

int vim_exchange_session(struct vim_client *client, struct err *err) {
    return vim_replace_session(client, NULL, NULL, err);
}

int vim_get_settled_session(struct vim_client *client, struct vim_user_session *out, struct err *err) {
    int rc = vim_get_own_session(client, out, err);
    if (!rc && pw.settled_key) {
        free(out->key);
        out->key = str_dup(pw.settled_key);
    }
    return rc;
}

/* -- observation_store.h ----------------------------------------------------------------------------------------------------- */

static char *copy_text(const char *text) {
    return str_dup(text);
}

/* Of one cluster, or of all with NULL. */
static void list_nodes(const char *cluster_id, struct node_target_list *out) {
    out->items = calloc(world.target_count + 1, sizeof(*out->items));
    assert_non_null(out->items);
    out->count = 0;
    for (size_t i = 0; i < world.target_count; i++) {
        const struct node_target *from = &world.targets[i];
        if (cluster_id && !str_eq(from->cluster_id, cluster_id))
            continue;
        out->items[out->count++] = (struct node_target){.cluster_id = copy_text(from->cluster_id),
                                                        .node_id = copy_text(from->node_id),
                                                        .node_name = copy_text(from->node_name),
                                                        .vm_name = copy_text(from->vm_name),
                                                        .vm_instance_uuid = copy_text(from->vm_instance_uuid),
                                                        .vm_bios_uuid = copy_text(from->vm_bios_uuid),
                                                        .provider_uuid = copy_text(from->provider_uuid),
                                                        .system_uuid = copy_text(from->system_uuid),
                                                        .vcenter_id = copy_text(from->vcenter_id),
                                                        .seen_moref = copy_text(from->seen_moref),
                                                        .seen_name = copy_text(from->seen_name)};
    }
}

int observation_store_list_nodes(struct store *store, const char *vcenter_id, struct node_target_list *out, struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    (void)pthread_mutex_lock(&lock);
    world.lists++;
    list_nodes(NULL, out);
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

int observation_store_list_cluster_nodes(struct store *store, const char *vcenter_id, const char *cluster_id,
                                         struct node_target_list *out, struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    (void)pthread_mutex_lock(&lock);
    world.part_lists++;
    list_nodes(cluster_id, out);
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

void node_target_list_done(struct node_target_list *list) {
    for (size_t i = 0; list->items && i < list->count; i++)
        node_target_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

/* Takes one row of an incomplete picture. */
static void save_one(const struct node_observation *told) {
    size_t at = 0;
    while (at < world.saved_count && !str_eq(world.saved[at].node_id, told->node_id))
        at++;
    if (at < world.saved_count) {
        node_observation_done(&world.saved[at]);
        world.saved[at] = world.saved[--world.saved_count];
    }
    if (told->match == VM_MATCH_NONE)
        return;
    assert_true(world.saved_count < WATCH_NODES_MAX);
    assert_int_equal(node_observation_copy(told, &world.saved[world.saved_count++], NULL), 0);
}

int observation_store_save(struct store *store, const struct observation_picture *picture, unsigned *changed_rows,
                           struct err *err) {
    int rc = 0;
    (void)store;
    (void)pthread_mutex_lock(&lock);
    assert_true(picture->count <= WATCH_NODES_MAX);
    rc = world.fail_saves ? err_set(err, world.fail_saves, "as the test wants it") : 0;
    if (!rc) {
        if (picture->is_complete)
            drop_saved();
        for (size_t i = 0; i < picture->count; i++)
            save_one(&picture->items[i]);
        world.saves++;
        world.told += (unsigned)picture->count;
        *changed_rows = picture->is_complete ? 1 : 0;
    }
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

int64_t store_away_since_ms(struct store *store) {
    (void)store;
    return 0;
}
