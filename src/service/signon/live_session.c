/* One session in memory, with the rights that vCenter gave it. Layer 4 (service/signon). The table is session_table.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "live_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "rights_board.h"
#include "str.h"

struct shared_objects {
    atomic_uint refs;
    struct asked_at asked;
    struct object_set set;
};

struct live_session {
    struct hashmap_node node; /* guarded by the table */
    atomic_uint refs;
    struct session *row; /* sid, who and creation never change; the rest is guarded by lock */
    atomic_int role;     /* by the record, or the way of signing in */
    atomic_int mapped;   /* by the role mappings */
    atomic_bool must_change_password;
    atomic_uint_least64_t groups_mark;
    atomic_int_least64_t used_ms; /* wall clock */
    pthread_mutex_t lock;
    struct live_groups *groups; /* one reference; those of the row are empty */
    struct grant_picks *picks;  /* NULL: not looked for yet */
    struct live_check check;
    struct live_part *parts; /* an array of parts_count */
    size_t parts_count;
};

static atomic_uint_least64_t asked_order;

struct asked_at asked_now(void) {
    return (struct asked_at){
        .wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms(), .order = atomic_fetch_add(&asked_order, 1) + 1};
}

struct shared_objects *shared_objects_new(struct object_set *take, struct asked_at asked) {
    struct shared_objects *objects = calloc(1, sizeof(*objects));
    if (!objects) {
        object_set_done(take);
        return NULL;
    }
    atomic_init(&objects->refs, 1);
    objects->asked = asked;
    objects->set = *take;
    memset(take, 0, sizeof(*take));
    return objects;
}

struct shared_objects *shared_objects_ref(struct shared_objects *objects) {
    (void)atomic_fetch_add(&objects->refs, 1);
    return objects;
}

void shared_objects_unref(struct shared_objects *objects) {
    if (!objects || atomic_fetch_sub(&objects->refs, 1) != 1)
        return;
    object_set_done(&objects->set);
    free(objects);
}

const struct object_set *shared_objects_get(const struct shared_objects *objects) {
    return &objects->set;
}

struct asked_at shared_objects_asked(const struct shared_objects *objects) {
    return objects->asked;
}

/* -- vCenters ------------------------------------------------------------------------------------------------------------ */

void live_part_done(struct live_part *part) {
    rights_subject_unref(part->subject);
    part->subject = NULL;
}

static void free_parts(struct live_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        live_part_done(&parts[i]);
    free(parts);
}

struct parts {
    struct live_part *items;
    size_t count;
};

static int add_part(struct parts *parts, struct rights_board *board, const struct rights_person *person, struct err *err) {
    struct live_part *part = &parts->items[parts->count];
    part->subject = rights_subject_get(board, person);
    if (!part->subject)
        return err_set(err, ERR_NOMEM, "out of memory");
    parts->count++;
    return 0;
}

static int add_first(struct parts *parts, struct rights_board *board, const struct session *row, struct err *err) {
    const struct principal *who = &row->who;
    const struct rights_person person = {who->vcenter_id, who->vc_user, who->vc_session_key};
    parts->items[parts->count] = (struct live_part){.is_first = true, .source = who->source, .added_at_ms = row->created_at_ms};
    return add_part(parts, board, &person, err);
}

static int add_further(struct parts *parts, struct rights_board *board, const struct session_vcenter *v, struct err *err) {
    const struct rights_person person = {v->vcenter_id, v->user_name, v->session_key};
    parts->items[parts->count] = (struct live_part){.source = v->source, .added_at_ms = v->added_at_ms};
    return add_part(parts, board, &person, err);
}

static int make_parts(const struct session *row, struct rights_board *board, struct parts *out, struct err *err) {
    struct parts parts = {.items = calloc(row->vcenters_count + 1, sizeof(*parts.items))};
    int rc = parts.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && source_is_vcenter(row->who.source) && row->who.vcenter_id && row->who.vc_user)
        rc = add_first(&parts, board, row, err);
    for (size_t i = 0; !rc && i < row->vcenters_count; i++)
        rc = add_further(&parts, board, &row->vcenters[i], err);
    if (rc)
        free_parts(parts.items, parts.count);
    else
        *out = parts;
    return rc;
}

size_t live_session_parts(struct live_session *live, struct live_part *out) {
    size_t count;
    (void)pthread_mutex_lock(&live->lock);
    count = live->parts_count < SESSION_VCENTERS_MAX ? live->parts_count : SESSION_VCENTERS_MAX;
    for (size_t i = 0; i < count; i++) {
        out[i] = live->parts[i];
        rights_subject_ref(out[i].subject);
    }
    (void)pthread_mutex_unlock(&live->lock);
    return count;
}

bool live_session_note_grace(struct live_session *live, const char *vcenter_id, int64_t outage_ms) {
    bool is_new = false;
    (void)pthread_mutex_lock(&live->lock);
    for (size_t i = 0; i < live->parts_count; i++) {
        struct live_part *part = &live->parts[i];
        if (!str_eq_nocase(rights_subject_vcenter(part->subject), vcenter_id) || part->noted_outage_ms == outage_ms)
            continue;
        part->noted_outage_ms = outage_ms;
        is_new = true;
    }
    (void)pthread_mutex_unlock(&live->lock);
    return is_new;
}

static bool has_same_vcenters(const struct session *mine, const struct session *row) {
    if (mine->vcenters_count != row->vcenters_count)
        return false;
    for (size_t i = 0; i < row->vcenters_count; i++)
        if (!session_vcenter_eq(&mine->vcenters[i], &row->vcenters[i]))
            return false;
    return true;
}

static bool fits_vcenters(struct live_session *live, const struct session *row) {
    bool is_same;
    (void)pthread_mutex_lock(&live->lock);
    is_same = has_same_vcenters(live->row, row);
    (void)pthread_mutex_unlock(&live->lock);
    return is_same;
}

static bool fits_groups(struct live_session *live, const struct session *row) {
    bool is_same;
    (void)pthread_mutex_lock(&live->lock);
    is_same = group_set_eq(live_groups_get(live->groups), &row->groups) && str_eq(live->row->directory_mark, row->directory_mark);
    (void)pthread_mutex_unlock(&live->lock);
    return is_same;
}

bool live_session_fits(struct live_session *live, const struct session *row) {
    return fits_vcenters(live, row) && fits_groups(live, row);
}

/* The further vCenters of the row into memory; what was there is given back without the lock. */
static int change_vcenters(struct live_session *live, struct rights_board *board, const struct session *row, struct err *err) {
    struct session copy, old = {0};
    struct parts parts = {0};
    size_t old_count;
    struct live_part *old_parts;
    int rc = session_copy(row, &copy, err);
    if (rc)
        return rc;
    rc = make_parts(&copy, board, &parts, err);
    if (rc) {
        session_done(&copy);
        return rc;
    }
    (void)pthread_mutex_lock(&live->lock);
    old.vcenters = live->row->vcenters;
    old.vcenters_count = live->row->vcenters_count;
    live->row->vcenters = copy.vcenters;
    live->row->vcenters_count = copy.vcenters_count;
    old_parts = live->parts;
    old_count = live->parts_count;
    live->parts = parts.items;
    live->parts_count = parts.count;
    (void)pthread_mutex_unlock(&live->lock);
    copy.vcenters = NULL;
    copy.vcenters_count = 0;
    session_done(&copy);
    session_done(&old);
    free_parts(old_parts, old_count);
    return 0;
}

static int change_groups(struct live_session *live, struct group_pool *pool, const struct session *row, struct err *err) {
    struct live_groups *groups = NULL, *old;
    char *mark = str_dup(row->directory_mark), *old_mark;
    int rc = mark || !row->directory_mark ? group_pool_get(pool, &row->groups, &groups, err)
                                          : err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        free(mark);
        return rc;
    }
    (void)pthread_mutex_lock(&live->lock);
    old = live->groups;
    old_mark = live->row->directory_mark;
    live->groups = groups;
    live->row->directory_mark = mark;
    atomic_store(&live->groups_mark, live_groups_mark(groups));
    (void)pthread_mutex_unlock(&live->lock);
    live_groups_unref(old);
    free(old_mark);
    return 0;
}

struct live_groups *live_session_groups(struct live_session *live) {
    struct live_groups *groups;
    (void)pthread_mutex_lock(&live->lock);
    groups = live_groups_ref(live->groups);
    (void)pthread_mutex_unlock(&live->lock);
    return groups;
}

uint64_t live_session_groups_mark(const struct live_session *live) {
    return atomic_load(&live->groups_mark);
}

char *live_session_directory_mark(struct live_session *live) {
    char *mark;
    (void)pthread_mutex_lock(&live->lock);
    mark = str_dup(live->row->directory_mark);
    (void)pthread_mutex_unlock(&live->lock);
    return mark;
}

struct live_check live_session_check(struct live_session *live) {
    struct live_check check;
    (void)pthread_mutex_lock(&live->lock);
    check = live->check;
    (void)pthread_mutex_unlock(&live->lock);
    return check;
}

void live_session_note_check(struct live_session *live, struct live_check check) {
    (void)pthread_mutex_lock(&live->lock);
    live->check = check;
    (void)pthread_mutex_unlock(&live->lock);
}

struct grant_picks *live_session_find_picks(struct live_session *live, uint64_t pile) {
    struct grant_picks *picks = NULL;
    (void)pthread_mutex_lock(&live->lock);
    if (live->picks && grant_picks_are_for(live->picks, pile, live_groups_mark(live->groups)))
        picks = grant_picks_ref(live->picks);
    (void)pthread_mutex_unlock(&live->lock);
    return picks;
}

void live_session_keep_picks(struct live_session *live, struct grant_picks *picks) {
    struct grant_picks *old;
    (void)pthread_mutex_lock(&live->lock);
    old = live->picks;
    live->picks = grant_picks_ref(picks);
    (void)pthread_mutex_unlock(&live->lock);
    grant_picks_unref(old);
}

/* -- life ---------------------------------------------------------------------------------------------------------------- */

int live_session_new(struct session *row, const struct live_shared *shared, struct live_session **out, struct err *err) {
    struct live_session *live = calloc(1, sizeof(*live));
    struct live_groups *groups = NULL;
    struct parts parts = {0};
    int rc = live ? group_pool_get(shared->pool, &row->groups, &groups, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = make_parts(row, shared->board, &parts, err);
    if (rc) {
        live_groups_unref(groups);
        session_free(row);
        free(live);
        return rc;
    }
    atomic_init(&live->refs, 1);
    atomic_init(&live->role, (int)row->who.role);
    atomic_init(&live->must_change_password, row->must_change_password);
    atomic_init(&live->used_ms, row->rotated_at_ms > row->created_at_ms ? row->rotated_at_ms : row->created_at_ms);
    (void)pthread_mutex_init(&live->lock, NULL);
    atomic_init(&live->mapped, ROLE_NONE);
    atomic_init(&live->groups_mark, live_groups_mark(groups));
    live->groups = groups;
    live->check.due_ms = live->check.good_ms = clock_mono_ms();
    group_set_done(&row->groups); /* the shared ones count */
    live->row = row;
    live->parts = parts.items;
    live->parts_count = parts.count;
    *out = live;
    return 0;
}

struct live_session *live_session_ref(struct live_session *live) {
    (void)atomic_fetch_add(&live->refs, 1);
    return live;
}

void live_session_unref(struct live_session *live) {
    if (!live || atomic_fetch_sub(&live->refs, 1) != 1)
        return;
    free_parts(live->parts, live->parts_count);
    live_groups_unref(live->groups);
    grant_picks_unref(live->picks);
    (void)pthread_mutex_destroy(&live->lock);
    session_free(live->row);
    free(live);
}

const struct principal *live_session_who(const struct live_session *live) {
    return &live->row->who;
}

enum role live_session_role(const struct live_session *live) {
    int own = atomic_load(&live->role), mapped = atomic_load(&live->mapped);
    return (enum role)(own > mapped ? own : mapped);
}

void live_session_set_mapped(struct live_session *live, enum role mapped) {
    atomic_store(&live->mapped, (int)mapped);
}

bool live_session_must_change_password(const struct live_session *live) {
    return atomic_load(&live->must_change_password);
}

const char *live_session_sid(const struct live_session *live) {
    return live->row->sid;
}

int64_t live_session_created_ms(const struct live_session *live) {
    return live->row->created_at_ms;
}

int64_t live_session_ends_ms(struct live_session *live) {
    int64_t ends_ms;
    (void)pthread_mutex_lock(&live->lock);
    ends_ms = live->row->ends_at_ms;
    (void)pthread_mutex_unlock(&live->lock);
    return ends_ms;
}

enum session_verdict live_session_judge(struct live_session *live, const char *jti, int64_t now_ms) {
    enum session_verdict verdict;
    (void)pthread_mutex_lock(&live->lock);
    verdict = session_judge(live->row, jti, now_ms);
    (void)pthread_mutex_unlock(&live->lock);
    if (verdict == SESSION_OK)
        atomic_store_explicit(&live->used_ms, now_ms, memory_order_relaxed);
    return verdict;
}

int64_t live_session_used_ms(const struct live_session *live) {
    return atomic_load_explicit(&live->used_ms, memory_order_relaxed);
}

struct hashmap_node *live_session_node(struct live_session *live) {
    return &live->node;
}

bool live_session_is_held(const struct live_session *live) {
    return atomic_load(&live->refs) > 1;
}

int live_session_update(struct live_session *live, const struct live_shared *shared, const struct session *row, struct err *err) {
    int rc = fits_vcenters(live, row) ? 0 : change_vcenters(live, shared->board, row, err);
    if (!rc && !fits_groups(live, row))
        rc = change_groups(live, shared->pool, row, err);
    atomic_store(&live->role, (int)row->who.role);
    atomic_store(&live->must_change_password, row->must_change_password);
    (void)pthread_mutex_lock(&live->lock);
    memcpy(live->row->jti, row->jti, sizeof(live->row->jti));
    memcpy(live->row->old_jti, row->old_jti, sizeof(live->row->old_jti));
    live->row->rotated_at_ms = row->rotated_at_ms;
    if (row->ends_at_ms < live->row->ends_at_ms)
        live->row->ends_at_ms = row->ends_at_ms;
    if (!live->row->revoked_at_ms)
        live->row->revoked_at_ms = row->revoked_at_ms;
    (void)pthread_mutex_unlock(&live->lock);
    return rc;
}

void live_session_revoke(struct live_session *live, int64_t now_ms) {
    (void)pthread_mutex_lock(&live->lock);
    if (!live->row->revoked_at_ms)
        live->row->revoked_at_ms = now_ms;
    (void)pthread_mutex_unlock(&live->lock);
}

bool live_session_has_ended(struct live_session *live, int64_t now_ms) {
    bool ended;
    (void)pthread_mutex_lock(&live->lock);
    ended = live->row->revoked_at_ms || now_ms >= live->row->ends_at_ms;
    (void)pthread_mutex_unlock(&live->lock);
    return ended;
}
