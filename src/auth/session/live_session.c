/* Sessions in memory, with the rights that vCenter gave them; the table of them by sid: hash maps with a lock each. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table is a cache of the database: what is not in it is read when its token comes. What a request holds stays in it, so that whoever holds a session hears of its
 * end. */
#include "live_session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "hashmap.h"
#include "policy.h"
#include "str.h"
#include "uuid.h"

#define STRIPES 64U      /* power of two */
#define SAMPLE 64U       /* so many that may leave are looked at, and the one used longest ago leaves */
#define SAMPLE_MAX 1024U /* with those that had better stay */
#define TRIES 4U

struct grant_picks {
    atomic_uint refs;
    uint64_t pile, groups; /* what they were picked from, and for which groups */
    size_t count;
    uint32_t places[];
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

static int live_add_part(struct parts *parts, struct rights_cache *cache, struct live_part part,
                         const struct rights_person *person, struct err *err) {
    part.subject = rights_subject_get(cache, person);
    if (!part.subject)
        return err_set(err, ERR_NOMEM, "out of memory");
    parts->items[parts->count++] = part;
    return 0;
}

static int make_parts(const struct session *row, struct rights_cache *cache, struct parts *out, struct err *err) {
    struct parts parts = {.items = calloc(row->vcenters_count + 1, sizeof(*parts.items))};
    int rc = parts.items ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && source_is_vcenter(row->who.source) && row->who.vcenter_id && row->who.vc_user)
        rc = live_add_part(&parts, cache,
                           (struct live_part){.is_first = true, .source = row->who.source, .added_at_ms = row->created_at_ms},
                           &(struct rights_person){row->who.vcenter_id, row->who.vc_user, row->who.vc_session_key}, err);
    for (size_t i = 0; !rc && i < row->vcenters_count; i++) {
        const struct session_vcenter *v = &row->vcenters[i];
        rc = live_add_part(&parts, cache, (struct live_part){.source = v->source, .added_at_ms = v->added_at_ms},
                           &(struct rights_person){v->vcenter_id, v->user_name, v->session_key}, err);
    }
    if (rc)
        free_parts(parts.items, parts.count);
    else
        *out = parts;
    return rc;
}

size_t live_session_parts(struct live_session *live, struct live_part *out) {
    size_t count;
    LOCKED(&live->lock);
    count = live->parts_count < SESSION_VCENTERS_MAX ? live->parts_count : SESSION_VCENTERS_MAX;
    for (size_t i = 0; i < count; i++) {
        out[i] = live->parts[i];
        rights_subject_ref(out[i].subject);
    }
    return count;
}

bool live_session_note_grace(struct live_session *live, const char *vcenter_id, int64_t outage_ms) {
    bool is_new = false;
    LOCKED(&live->lock);
    for (size_t i = 0; i < live->parts_count; i++) {
        struct live_part *part = &live->parts[i];
        if (!str_eq_nocase(rights_subject_vcenter(part->subject), vcenter_id) || part->noted_outage_ms == outage_ms)
            continue;
        part->noted_outage_ms = outage_ms;
        is_new = true;
    }
    return is_new;
}

static bool fits_vcenters(struct live_session *live, const struct session *row) {
    bool is_same;
    LOCKED(&live->lock);
    is_same = live->row->vcenters_count == row->vcenters_count;
    for (size_t i = 0; is_same && i < row->vcenters_count; i++)
        is_same = session_vcenter_eq(&live->row->vcenters[i], &row->vcenters[i]);
    return is_same;
}

static bool fits_groups(struct live_session *live, const struct session *row) {
    LOCKED(&live->lock);
    return group_set_eq(live_groups_get(live->groups), &row->groups) && str_eq(live->row->directory_mark, row->directory_mark);
}

bool live_session_fits(struct live_session *live, const struct session *row) {
    return fits_vcenters(live, row) && fits_groups(live, row);
}

/* The further vCenters of the row into memory; what was there is given back without the lock. */
static int change_vcenters(struct live_session *live, struct rights_cache *cache, const struct session *row, struct err *err) {
    struct session copy, old = {0};
    struct parts parts = {0};
    size_t old_count;
    struct live_part *old_parts;
    int rc = session_copy(row, &copy, err);
    if (rc)
        return rc;
    rc = make_parts(&copy, cache, &parts, err);
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
    LOCKED(&live->lock);
    return live_groups_ref(live->groups);
}

uint64_t live_session_groups_mark(const struct live_session *live) {
    return atomic_load(&live->groups_mark);
}

char *live_session_directory_mark(struct live_session *live) {
    LOCKED(&live->lock);
    return str_dup(live->row->directory_mark);
}

struct live_check live_session_check(struct live_session *live) {
    LOCKED(&live->lock);
    return live->check;
}

void live_session_note_check(struct live_session *live, struct live_check check) {
    LOCKED(&live->lock);
    live->check = check;
}

/* -- life ---------------------------------------------------------------------------------------------------------------- */

int live_session_new(struct session *row, const struct live_shared *shared, struct live_session **out, struct err *err) {
    struct live_session *live = calloc(1, sizeof(*live));
    struct live_groups *groups = NULL;
    struct parts parts = {0};
    int rc = live ? group_pool_get(shared->pool, &row->groups, &groups, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = make_parts(row, shared->cache, &parts, err);
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
    LOCKED(&live->lock);
    return live->row->ends_at_ms;
}

enum session_verdict live_session_judge(struct live_session *live, const char *jti, int64_t now_ms) {
    LOCKED(&live->lock);
    const enum session_verdict verdict = session_judge(live->row, jti, now_ms);
    if (verdict == SESSION_OK)
        atomic_store_explicit(&live->used_ms, now_ms, memory_order_relaxed);
    return verdict;
}

/* Has anybody a reference beside one, the table? */
static bool live_session_is_held(const struct live_session *live) {
    return atomic_load(&live->refs) > 1;
}

int live_session_update(struct live_session *live, const struct live_shared *shared, const struct session *row, struct err *err) {
    int rc = fits_vcenters(live, row) ? 0 : change_vcenters(live, shared->cache, row, err);
    if (!rc && !fits_groups(live, row))
        rc = change_groups(live, shared->pool, row, err);
    atomic_store(&live->role, (int)row->who.role);
    atomic_store(&live->must_change_password, row->must_change_password);
    LOCKED(&live->lock);
    memcpy(live->row->jti, row->jti, sizeof(live->row->jti));
    memcpy(live->row->old_jti, row->old_jti, sizeof(live->row->old_jti));
    live->row->rotated_at_ms = row->rotated_at_ms;
    if (row->ends_at_ms < live->row->ends_at_ms)
        live->row->ends_at_ms = row->ends_at_ms;
    if (!live->row->revoked_at_ms)
        live->row->revoked_at_ms = row->revoked_at_ms;
    return rc;
}

void live_session_revoke(struct live_session *live, int64_t now_ms) {
    LOCKED(&live->lock);
    if (!live->row->revoked_at_ms)
        live->row->revoked_at_ms = now_ms;
}

bool live_session_has_ended(struct live_session *live, int64_t now_ms) {
    LOCKED(&live->lock);
    return live->row->revoked_at_ms || now_ms >= live->row->ends_at_ms;
}

/* -- grants ------------------------------------------------------------------------------------------------------------ */

const uint32_t *grant_picks_get(const struct grant_picks *picks, size_t *count) {
    *count = picks->count;
    return picks->places;
}

uint64_t grant_picks_groups(const struct grant_picks *picks) {
    return picks->groups;
}

static struct grant_picks *grant_picks_ref(struct grant_picks *picks) {
    (void)atomic_fetch_add(&picks->refs, 1);
    return picks;
}

void grant_picks_unref(struct grant_picks *picks) {
    if (picks && atomic_fetch_sub(&picks->refs, 1) == 1)
        free(picks);
}

static int live_session_pick(struct live_session *live, const struct grant_pile *pile, struct grant_picks **out,
                             struct err *err) {
    struct live_groups *groups = live_session_groups(live);
    const struct policy_grantee who = {live_session_who(live)->id, live_groups_get(groups)};
    uint64_t mark = live_groups_mark(groups);
    _cleanup_free_ uint32_t *places = NULL;
    size_t count = 0;
    int rc = policy_pick_grants(pile->items, pile->count, &who, &places, &count, err);
    live_groups_unref(groups);
    if (rc)
        return rc;
    struct grant_picks *picks = malloc(sizeof(*picks) + count * sizeof(*places));
    if (!picks)
        return err_set(err, ERR_NOMEM, "no memory for grants");
    atomic_init(&picks->refs, 1);
    picks->pile = pile->number;
    picks->groups = mark;
    picks->count = count;
    if (count)
        memcpy(picks->places, places, count * sizeof(*places));
    *out = picks;
    return 0;
}

int live_session_pick_grants(struct live_session *live, const struct grant_pile *pile, struct grant_picks **out,
                             struct err *err) {
    struct grant_picks *picks = NULL, *old;
    int rc;
    (void)pthread_mutex_lock(&live->lock);
    if (pile->number && live->picks && live->picks->pile == pile->number && live->picks->groups == live_groups_mark(live->groups))
        picks = grant_picks_ref(live->picks);
    (void)pthread_mutex_unlock(&live->lock);
    if (picks) {
        *out = picks;
        return 0;
    }
    rc = live_session_pick(live, pile, &picks, err);
    if (rc)
        return rc;
    *out = picks;
    if (!pile->number)
        return 0;
    (void)pthread_mutex_lock(&live->lock);
    old = live->picks;
    live->picks = grant_picks_ref(picks);
    (void)pthread_mutex_unlock(&live->lock);
    grant_picks_unref(old);
    return 0;
}

/* -- the table --------------------------------------------------------------------------------------------------------- */

struct stripe {
    pthread_mutex_t lock; /* guards sessions */
    struct hashmap sessions;
};

struct session_table {
    struct stripe stripes[STRIPES];
    atomic_size_t count;
};

struct session_table *session_table_new(void) {
    struct session_table *table = calloc(1, sizeof(*table));
    for (size_t i = 0; table && i < STRIPES; i++)
        (void)pthread_mutex_init(&table->stripes[i].lock, NULL);
    return table;
}

void session_table_free(struct session_table *table) {
    struct live_session *next;
    if (!table)
        return;
    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &table->stripes[i];
        for (struct live_session *live = hashmap_first(&stripe->sessions, 0); live; live = next) {
            next = hashmap_next(&stripe->sessions, &live->node);
            live_session_unref(live);
        }
        hashmap_done(&stripe->sessions);
        (void)pthread_mutex_destroy(&stripe->lock);
    }
    free(table);
}

static uint64_t table_hash(const char *sid) {
    return hash64_text(hash_seed(), sid);
}

/* By bits that choose no bucket. */
static struct stripe *table_lock_stripe(struct session_table *table, uint64_t hash) {
    struct stripe *stripe = &table->stripes[hash >> 32 & (STRIPES - 1)];
    (void)pthread_mutex_lock(&stripe->lock);
    return stripe;
}

static void table_unlock_stripe(struct stripe *stripe) {
    (void)pthread_mutex_unlock(&stripe->lock);
}

/* -- needs the lock of the stripe, as the next two ---------------------------------------------------------------------------------- */

static bool has_sid(const void *live, const void *sid) {
    return str_eq(live_session_sid(live), sid);
}

static struct live_session *table_find(const struct stripe *stripe, uint64_t hash, const char *sid) {
    return hashmap_find(&stripe->sessions, hash, has_sid, sid);
}

static void table_drop(struct session_table *table, struct stripe *stripe, struct live_session *live) {
    hashmap_remove(&stripe->sessions, &live->node);
    (void)atomic_fetch_sub(&table->count, 1);
    live_session_unref(live);
}

/* -- one session -------------------------------------------------------------------------------------------------------------------- */

struct live_session *session_table_find(struct session_table *table, const char *sid) {
    const uint64_t hash = table_hash(sid);
    struct stripe *stripe = table_lock_stripe(table, hash);
    struct live_session *live = table_find(stripe, hash, sid);
    if (live)
        (void)live_session_ref(live);
    table_unlock_stripe(stripe);
    return live;
}

struct live_session *session_table_put(struct session_table *table, struct live_session *live) {
    const uint64_t hash = table_hash(live_session_sid(live));
    struct stripe *stripe = table_lock_stripe(table, hash);
    struct live_session *kept = table_find(stripe, hash, live_session_sid(live));
    if (!kept) {
        kept = live_session_ref(live);
        hashmap_insert(&stripe->sessions, &live->node, hash);
        (void)atomic_fetch_add(&table->count, 1);
    }
    (void)live_session_ref(kept);
    table_unlock_stripe(stripe);
    return kept;
}

bool session_table_forget(struct session_table *table, const char *sid) {
    const uint64_t hash = table_hash(sid);
    struct stripe *stripe = table_lock_stripe(table, hash);
    struct live_session *live = table_find(stripe, hash, sid);
    const bool is_held = live && live_session_is_held(live); /* nobody gets hold of it without this lock */
    if (live && !is_held)
        table_drop(table, stripe, live);
    table_unlock_stripe(stripe);
    return !is_held;
}

void session_table_remove(struct session_table *table, const char *sid) {
    const uint64_t hash = table_hash(sid);
    struct stripe *stripe = table_lock_stripe(table, hash);
    struct live_session *live = table_find(stripe, hash, sid);
    if (live)
        table_drop(table, stripe, live);
    table_unlock_stripe(stripe);
}

/* -- all sessions ------------------------------------------------------------------------------------------------------------------- */

struct live_session **session_table_list(struct session_table *table, const char *principal_id, size_t *count) {
    const size_t room = session_table_count(table) + 64; /* what comes in meanwhile is new enough to need no look */
    struct live_session **items = calloc(room, sizeof(struct live_session *)), *live;
    size_t n = 0;
    for (size_t i = 0; items && i < STRIPES; i++) {
        struct stripe *stripe = &table->stripes[i];
        (void)pthread_mutex_lock(&stripe->lock);
        for (live = hashmap_first(&stripe->sessions, 0); live && n < room; live = hashmap_next(&stripe->sessions, &live->node))
            if (!principal_id || str_eq(live_session_who(live)->id, principal_id))
                items[n++] = live_session_ref(live);
        table_unlock_stripe(stripe);
    }
    *count = n;
    return items;
}

size_t session_table_purge(struct session_table *table, int64_t now_ms) {
    struct live_session *next;
    size_t removed = 0;
    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &table->stripes[i];
        (void)pthread_mutex_lock(&stripe->lock);
        for (struct live_session *live = hashmap_first(&stripe->sessions, 0); live; live = next) {
            next = hashmap_next(&stripe->sessions, &live->node);
            if (!live_session_has_ended(live, now_ms))
                continue;
            table_drop(table, stripe, live);
            removed++;
        }
        table_unlock_stripe(stripe);
    }
    return removed;
}

/* -- what may leave ------------------------------------------------------------------------------------------------------------- */

/* In the order in which they leave. */
enum rank {
    RANK_ENDED,
    RANK_USUAL,
    RANK_UNCHECKED, /* its directory is to be asked about the bearer: that must not be put off by leaving and coming back */
    RANK_ADMIN,     /* administrators are let in without the database, too */
    RANK_NONE,
};

struct leaver {
    enum rank rank;
    int64_t used_ms;
    char sid[37];
};

struct search {
    bool wants_groups;
    int64_t wall_ms, mono_ms;
    unsigned seen, seen_usual;
    struct leaver best;
};

static enum rank table_rank(struct live_session *live, const struct search *search) {
    if (live_session_has_ended(live, search->wall_ms))
        return RANK_ENDED;
    if (live_session_role(live) == ROLE_ADMIN)
        return RANK_ADMIN;
    return live_session_who(live)->directory && live_session_check(live).due_ms <= search->mono_ms ? RANK_UNCHECKED : RANK_USUAL;
}

/* Needs the lock of the session's stripe. */
static void table_consider(struct search *search, struct live_session *live) {
    struct leaver *best = &search->best;
    const int64_t used_ms = atomic_load_explicit(&live->used_ms, memory_order_relaxed);
    enum rank rank;
    if (live_session_is_held(live) || (search->wants_groups && !live_session_groups_mark(live)))
        return;
    rank = table_rank(live, search);
    search->seen++;
    search->seen_usual += rank <= RANK_USUAL;
    if (rank > best->rank || (rank == best->rank && used_ms >= best->used_ms))
        return;
    best->rank = rank;
    best->used_ms = used_ms;
    memcpy(best->sid, live_session_sid(live), sizeof(best->sid));
}

static bool table_has_enough(const struct search *search) {
    return search->seen_usual >= SAMPLE || search->seen >= SAMPLE_MAX;
}

/* Begins anywhere and goes round until it has seen enough that may leave. */
static bool table_find_leaver(struct session_table *table, bool wants_groups, struct leaver *out) {
    struct search search = {
        .wants_groups = wants_groups, .wall_ms = clock_wall_ms(), .mono_ms = clock_mono_ms(), .best = {.rank = RANK_NONE}};
    uint64_t place = (uint64_t)random_u32() << 32 | random_u32();
    for (size_t i = 0; i <= STRIPES && !table_has_enough(&search); i++) { /* what lies before the beginning comes at the end */
        struct stripe *stripe = table_lock_stripe(table, place + ((uint64_t)i << 32));
        struct live_session *live = hashmap_first(&stripe->sessions, i ? 0 : place);
        while (live && !table_has_enough(&search)) {
            table_consider(&search, live);
            live = hashmap_next(&stripe->sessions, &live->node);
        }
        table_unlock_stripe(stripe);
    }
    *out = search.best;
    return search.best.rank != RANK_NONE;
}

bool session_table_evict(struct session_table *table, bool wants_groups) {
    struct leaver leaver;
    for (unsigned i = 0; i < TRIES && table_find_leaver(table, wants_groups, &leaver); i++)
        if (session_table_forget(table, leaver.sid)) /* else somebody has come for it meanwhile */
            return true;
    return false;
}

size_t session_table_count(struct session_table *table) {
    return atomic_load(&table->count);
}

/* -- groups of people who are signed in, each equal thing once ----------------------------------------------------------- */

struct name {
    struct hashmap_node node;
    size_t refs; /* places in sets */
    char text[];
};

struct live_groups {
    struct hashmap_node node;
    struct group_pool *pool;
    size_t refs;
    uint64_t mark;
    struct group_set set; /* ids are texts of names */
    char *ids[];
};

struct group_pool {
    pthread_mutex_t lock; /* guards all below, and the references */
    uint64_t last_mark;
    size_t places; /* in all sets */
    struct hashmap names, sets;
};

struct group_pool *group_pool_new(void) {
    struct group_pool *pool = calloc(1, sizeof(*pool));
    if (pool)
        (void)pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void group_pool_free(struct group_pool *pool) {
    if (!pool)
        return;
    (void)pthread_mutex_destroy(&pool->lock);
    hashmap_done(&pool->names);
    hashmap_done(&pool->sets);
    free(pool);
}

/* -- names; all need the lock ---------------------------------------------------------------------------------------------- */

static bool pool_is_name(const void *name, const void *text) {
    return !strcmp(((const struct name *)name)->text, text);
}

static struct name *pool_find_name(const struct group_pool *pool, const char *text) {
    return hashmap_find(&pool->names, hash64_text(hash_seed(), text), pool_is_name, text);
}

/* The text as the pool has it, for one more place. */
static char *pool_take_name(struct group_pool *pool, const char *text) {
    struct name *name = pool_find_name(pool, text);
    if (!name) {
        const size_t n = strlen(text) + 1;
        name = calloc(1, sizeof(*name) + n);
        if (!name)
            return NULL;
        memcpy(name->text, text, n);
        hashmap_insert(&pool->names, &name->node, hash64_text(hash_seed(), text));
    }
    name->refs++;
    return name->text;
}

static void pool_drop_name(struct group_pool *pool, const char *text) {
    struct name *name = pool_find_name(pool, text);
    if (!name || --name->refs)
        return;
    hashmap_remove(&pool->names, &name->node);
    free(name);
}

/* -- sets; all need the lock ----------------------------------------------------------------------------------------------- */

static uint64_t hash_set(const struct group_set *set) {
    uint64_t hash = hash_seed();
    for (size_t i = 0; i < set->count; i++)
        hash = hash64_text(hash, set->ids[i]);
    return hash;
}

static bool live_session_is_set(const void *groups, const void *set) {
    return group_set_eq(&((const struct live_groups *)groups)->set, set);
}

static void live_session_free_set(struct group_pool *pool, struct live_groups *groups) {
    for (size_t i = 0; i < groups->set.count; i++)
        pool_drop_name(pool, groups->ids[i]);
    free(groups);
}

static struct live_groups *live_session_make_set(struct group_pool *pool, const struct group_set *set) {
    struct live_groups *groups = calloc(1, sizeof(*groups) + set->count * sizeof(*groups->ids));
    if (!groups)
        return NULL;
    groups->pool = pool;
    groups->set.ids = groups->ids;
    for (size_t i = 0; i < set->count; i++) {
        groups->ids[i] = pool_take_name(pool, set->ids[i]);
        if (!groups->ids[i]) {
            live_session_free_set(pool, groups);
            return NULL;
        }
        groups->set.count++;
    }
    groups->mark = set->count ? ++pool->last_mark : 0;
    return groups;
}

static int get_locked(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err) {
    const uint64_t hash = hash_set(set);
    struct live_groups *groups = hashmap_find(&pool->sets, hash, live_session_is_set, set);
    if (!groups) {
        groups = live_session_make_set(pool, set);
        if (!groups)
            return err_set(err, ERR_NOMEM, "out of memory");
        hashmap_insert(&pool->sets, &groups->node, hash);
        pool->places += set->count;
    }
    groups->refs++;
    *out = groups;
    return 0;
}

int group_pool_get(struct group_pool *pool, const struct group_set *set, struct live_groups **out, struct err *err) {
    LOCKED(&pool->lock);
    return get_locked(pool, set, out, err);
}

struct live_groups *live_groups_ref(struct live_groups *groups) {
    LOCKED(&groups->pool->lock);
    groups->refs++;
    return groups;
}

static void live_session_drop_set(struct group_pool *pool, struct live_groups *groups) {
    hashmap_remove(&pool->sets, &groups->node);
    pool->places -= groups->set.count;
    live_session_free_set(pool, groups);
}

void live_groups_unref(struct live_groups *groups) {
    struct group_pool *pool = groups ? groups->pool : NULL;
    if (!groups)
        return;
    LOCKED(&pool->lock);
    if (!--groups->refs)
        live_session_drop_set(pool, groups);
}

const struct group_set *live_groups_get(const struct live_groups *groups) {
    return &groups->set;
}

uint64_t live_groups_mark(const struct live_groups *groups) {
    return groups->mark;
}

struct group_pool_size group_pool_size(struct group_pool *pool) {
    LOCKED(&pool->lock);
    return (struct group_pool_size){.names = pool->names.count, .sets = pool->sets.count, .places = pool->places};
}
