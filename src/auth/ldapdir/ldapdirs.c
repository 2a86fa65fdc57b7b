/* The configured directories: following the database, finding them, their worker pools; names of ids. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldapdirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ldapdirs_private.h"
#include "ldapdir_people.h"
#include "gss_ticket.h"
#include "hashmap.h"
#include "ldap_text.h"
#include "secret.h"
#include "metric.h"
#include "str.h"

#define WORKER_POOL_THREADS 4U
#define WORKER_POOL_QUEUE_COUNT 64U
#define SETS_COUNT 1024U
#define WAYS_COUNT 4U
#define KNOWN_MS (10 * 60 * 1000)
#define UNKNOWN_MS 30000 /* so long a question without answer is not asked again */
#define BATCH_COUNT 50U
#define WANTED_MAX 512U
#define FILTER_BYTES_MAX 16384U
#define PROBE_EVERY_MS 30000

const char *ldapdir_state_name(enum ldapdir_state state) {
    static const char *const words[] = {
        [LDAPDIR_UNKNOWN] = "unknown", [LDAPDIR_OK] = "ok", [LDAPDIR_FAILING] = "failing", [LDAPDIR_DISABLED] = "disabled"};
    return words[state];
}

/* -- names of ids: for people to read, from a bounded memory, looked up in the background when they are not there or have grown old ----------- */

struct name {
    char *id, *text;   /* text NULL: not known */
    int64_t ask_at_ms; /* monotonic: when it is to be asked again */
};

struct names {
    pthread_mutex_t lock; /* nothing blocks while it is held */
    struct name sets[SETS_COUNT][WAYS_COUNT];
    unsigned next_way;
    char *wanted[WANTED_MAX]; /* question number n stands at n % WANTED_MAX; a newer one takes the place of the oldest */
    uint64_t asked;           /* so many questions so far; each source has read up to a number of its own */
};

static void names_free(struct names *names) {
    if (!names)
        return;
    for (size_t i = 0; i < SETS_COUNT; i++)
        for (size_t k = 0; k < WAYS_COUNT; k++) {
            free(names->sets[i][k].id);
            free(names->sets[i][k].text);
        }
    for (size_t i = 0; i < WANTED_MAX; i++)
        free(names->wanted[i]);
    (void)pthread_mutex_destroy(&names->lock);
    free(names);
}

static size_t ldapdir_set_of(const char *id) {
    return hash64_text(hash_seed(), id) % SETS_COUNT;
}

static struct name *names_find_locked(struct names *names, const char *id) {
    struct name *set = names->sets[ldapdir_set_of(id)];
    for (size_t i = 0; i < WAYS_COUNT; i++)
        if (str_eq(set[i].id, id))
            return &set[i];
    return NULL;
}

/* A place for the id, if need be that of another one. NULL without memory. */
static struct name *place_locked(struct names *names, const char *id) {
    struct name *found = names_find_locked(names, id), *set = names->sets[ldapdir_set_of(id)];
    if (found)
        return found;
    found = &set[names->next_way++ % WAYS_COUNT];
    for (size_t i = 0; i < WAYS_COUNT; i++)
        if (!set[i].id)
            found = &set[i];
    free(found->id);
    free(found->text);
    *found = (struct name){.id = str_dup(id)};
    return found->id ? found : NULL;
}

static void want_locked(struct names *names, const char *id) {
    char **place = &names->wanted[names->asked % WANTED_MAX], *copy = str_dup(id);
    if (!copy)
        return;
    free(*place);
    *place = copy;
    names->asked++;
}

bool ldapdir_get_name(struct ldapdirs *ldapdirs, const char *id, char out[LDAPDIR_NAME_BYTES]) {
    struct names *names = ldapdirs->names;
    const int64_t now_ms = clock_mono_ms();
    struct name *name;
    bool is_known;
    if (!str_starts(id, "sid:") && !str_starts(id, "ldap:"))
        return false;
    LOCKED(&names->lock);
    name = place_locked(names, id);
    is_known = name && name->text;
    if (is_known)
        (void)snprintf(out, LDAPDIR_NAME_BYTES, "%s", name->text);
    if (name && now_ms >= name->ask_at_ms) {
        name->ask_at_ms = now_ms + UNKNOWN_MS;
        want_locked(names, id);
    }
    return is_known;
}

void names_learn(struct names *names, const char *id, const char *text) {
    _cleanup_free_ char *copy = str_dup(text);
    LOCKED(&names->lock);
    struct name *name = copy ? place_locked(names, id) : NULL;
    if (!name)
        return;
    SWAP(name->text, copy);
    name->ask_at_ms = clock_mono_ms() + KNOWN_MS;
}

/* Is there anything that this source has not been asked about? */
static bool names_has_work(struct names *names, struct ldapdir *source) {
    LOCKED(&names->lock);
    return source->names_read < names->asked;
}

/* -- asking about ids ------------------------------------------------------------------------------------------------------ */

struct batch {
    struct ldapdir *source;
    char *ids[BATCH_COUNT];
    size_t count;
    const char *id; /* the one under way */
};

/* Could the source know it? Which of several domains a SID is of is not known: each is asked, also while another one does not answer. */
static bool names_is_of(const struct ldap_source *source, const char *id) {
    size_t n = strlen(source->name);
    if (str_starts(id, "sid:"))
        return source->kind == LDAP_KIND_AD;
    return str_starts(id, "ldap:") && !strncmp(id + 5, source->name, n) && id[5 + n] == ':';
}

/* Another source has told it meanwhile. */
static bool is_answered_locked(struct names *names, const char *id) {
    const struct name *name = names_find_locked(names, id);
    return name && name->text && name->ask_at_ms > clock_mono_ms() + UNKNOWN_MS;
}

static void take_wanted(struct names *names, struct batch *batch) {
    uint64_t *read = &batch->source->names_read;
    LOCKED(&names->lock);
    if (names->asked > *read + WANTED_MAX)
        *read = names->asked - WANTED_MAX;
    for (; *read < names->asked && batch->count < BATCH_COUNT; ++*read) {
        const char *id = names->wanted[*read % WANTED_MAX];
        if (!names_is_of(&batch->source->row.source, id) || is_answered_locked(names, id))
            continue;
        batch->ids[batch->count] = str_dup(id);
        batch->count += batch->ids[batch->count] != NULL;
    }
}

static int names_take(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct batch *batch = arg;
    _cleanup_free_ char *text = entry_name(entry, &batch->source->row.source);
    (void)err;
    if (text)
        names_learn(batch->source->names, batch->id, text);
    return 0;
}

static int ldapdir_ask_name(struct ldap_conn *conn, struct batch *batch, const char *id, struct err *err) {
    static const char *const attrs[] = {ENTRY_NAME_ATTRS, NULL};
    const struct ldap_source *source = &batch->source->row.source;
    struct ldap_query query = {.scope = LDAP_SEARCH_BASE, .filter = "(objectClass=*)", .attrs = attrs, .entries_max = 1};
    _cleanup_free_ char *text = NULL;
    const char *const bases[] = {ldap_source_group_base(source), source->search_base};
    int rc = 0;
    batch->id = id;
    if (source->kind == LDAP_KIND_AD) {
        text = str_starts(id, "sid:") ? str_format("<SID=%s>", id + 4) : str_format("<GUID=%s>", strrchr(id, ':') + 1);
        query.base = text;
        return text ? ldap_conn_search(conn, &query, names_take, batch, err) : err_set(err, ERR_NOMEM, "out of memory");
    }
    text = str_format("(entryUUID=%s)", strrchr(id, ':') + 1);
    query.scope = LDAP_SEARCH_SUBTREE;
    query.filter = text;
    for (size_t i = 0; !rc && text && i < (str_eq(bases[0], bases[1]) ? 1U : 2U); i++) {
        query.base = bases[i];
        rc = ldap_conn_search(conn, &query, names_take, batch, err);
    }
    return rc;
}

static int ask_names(struct ldap_conn *conn, void *arg, struct err *err) {
    struct batch *batch = arg;
    int rc = 0;
    for (size_t i = 0; !rc && i < batch->count; i++)
        rc = ldapdir_ask_name(conn, batch, batch->ids[i], err);
    return rc;
}

/* Resolves what is wanted of a source's; in its worker. */
static void names_resolve(struct names *names, struct ldapdir *source) {
    struct batch batch = {.source = source};
    take_wanted(names, &batch);
    if (batch.count)
        (void)source_ask(source, ask_names, &batch, NULL);
    for (size_t i = 0; i < batch.count; i++)
        free(batch.ids[i]);
}

/* -- life ------------------------------------------------------------------------------------------------------------------ */

int ldapdir_new(const struct ldapdir_options *options, struct ldapdirs **out, struct err *err) {
    struct ldapdirs *ldapdirs = calloc(1, sizeof(*ldapdirs));
    if (!ldapdirs)
        return err_set(err, ERR_NOMEM, "out of memory");
    ldapdirs->options = *options;
    ldap_conn_prepare();
    (void)pthread_mutex_init(&ldapdirs->lock, NULL);
    (void)pthread_mutex_init(&ldapdirs->sync_lock, NULL);
    ldapdirs->names = calloc(1, sizeof(*ldapdirs->names));
    if (!ldapdirs->names) {
        ldapdir_free(ldapdirs);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)pthread_mutex_init(&ldapdirs->names->lock, NULL);
    *out = ldapdirs;
    return 0;
}

void ldapdir_stop(struct ldapdirs *ldapdirs) {
    if (!ldapdirs)
        return;
    (void)pthread_mutex_lock(&ldapdirs->lock);
    ldapdirs->is_stopped = true; /* no further worker pools from here on */
    (void)pthread_mutex_unlock(&ldapdirs->lock);
    gss_ticket_stop();
    for (size_t i = 0; i < ldapdirs->pools_count; i++)
        worker_pool_stop(ldapdirs->pools[i].workers);
}

bool ldapdir_has_left_waiting(void) {
    return gss_ticket_is_waiting();
}

void ldapdir_free(struct ldapdirs *ldapdirs) {
    if (!ldapdirs)
        return;
    ldapdir_stop(ldapdirs);
    for (size_t i = 0; i < ldapdirs->pools_count; i++)
        worker_pool_free(ldapdirs->pools[i].workers);
    for (size_t i = 0; i < SOURCE_POOLS_MAX; i++)
        worker_pool_free(ldapdirs->ended[i]);
    for (size_t i = 0; i < ldapdirs->count; i++)
        source_unref(ldapdirs->sources[i]);
    free(ldapdirs->sources);
    names_free(ldapdirs->names);
    (void)pthread_mutex_destroy(&ldapdirs->lock);
    (void)pthread_mutex_destroy(&ldapdirs->sync_lock);
    free(ldapdirs);
}

void ldapdir_person_done(struct ldapdir_person *person) {
    if (!person)
        return;
    free(person->principal_id);
    free(person->name);
    free(person->full_name);
    free(person->directory);
    free(person->mark);
    group_set_done(&person->groups);
    *person = (struct ldapdir_person){0};
}

/* -- following the database ------------------------------------------------------------------------------------------------ */

static struct ldapdir *ldapdir_find_locked(struct ldapdirs *ldapdirs, const char *name) {
    for (size_t i = 0; i < ldapdirs->count; i++)
        if (str_eq(ldapdirs->sources[i]->row.source.name, name))
            return ldapdirs->sources[i];
    return NULL;
}

/* What has not changed goes on with its connections and its state. */
static int ldapdir_take_row(struct ldapdirs *ldapdirs, struct ldap_row *row, struct ldapdir **out, struct err *err) {
    LOCKED(&ldapdirs->lock);
    struct ldapdir *known = ldapdir_find_locked(ldapdirs, row->source.name);
    if (known && known->row.source.version_no == row->source.version_no &&
        known->row.source.created_at_ms == row->source.created_at_ms && known->row.sealed_bytes == row->sealed_bytes &&
        secret_eq(known->row.sealed, known->row.sealed_bytes, row->sealed, row->sealed_bytes)) {
        *out = source_ref(known);
        return 0;
    }
    int rc = source_new(row, out, err);
    if (rc)
        return rc;
    (*out)->options = &ldapdirs->options;
    (*out)->is_stopped = &ldapdirs->is_stopped;
    (*out)->names = ldapdirs->names;
    return 0;
}

static void ldapdir_exchange(struct ldapdirs *ldapdirs, struct ldapdir **fresh, size_t count) {
    (void)pthread_mutex_lock(&ldapdirs->lock);
    SWAP(ldapdirs->sources, fresh);
    SWAP(ldapdirs->count, count);
    (void)pthread_mutex_unlock(&ldapdirs->lock);
    for (size_t i = 0; i < count; i++)
        source_unref(fresh[i]);
    free(fresh);
}

static int ldapdir_sync_locked(struct ldapdirs *ldapdirs, struct err *err) {
    struct ldap_row_list list = {0};
    struct ldapdir **fresh;
    size_t count = 0;
    int rc = ldap_store_list(ldapdirs->options.runtime->store, &list, err);
    if (rc)
        return rc;
    fresh = calloc(list.count + 1, sizeof(struct ldapdir *));
    if (!fresh)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < list.count; i++) {
        rc = ldapdir_take_row(ldapdirs, &list.items[i], &fresh[count], err);
        if (!rc)
            count++;
    }
    ldap_row_list_done(&list);
    if (!rc) {
        ldapdir_exchange(ldapdirs, fresh, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        source_unref(fresh[i]);
    free(fresh);
    return rc;
}

int ldapdir_sync(struct ldapdirs *ldapdirs, struct err *err) {
    LOCKED(&ldapdirs->sync_lock);
    return ldapdir_sync_locked(ldapdirs, err);
}

/* -- finding --------------------------------------------------------------------------------------------------------------- */

int ldapdir_find(struct ldapdirs *ldapdirs, const char *name, struct ldapdir **out, struct err *err) {
    LOCKED(&ldapdirs->lock);
    struct ldapdir *found = ldapdir_find_locked(ldapdirs, name);
    if (!found || found->row.source.is_disabled)
        return err_set(err, ERR_NOT_FOUND, "there is no directory named %.*s here", LDAP_SOURCE_NAME_CHARS_MAX, name);
    *out = source_ref(found);
    return 0;
}

static int ldapdir_compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

size_t ldapdir_get_names(struct ldapdirs *ldapdirs, char (*out)[LDAP_SOURCE_NAME_CHARS_MAX + 1], size_t n) {
    size_t count = 0;
    LOCKED(&ldapdirs->lock);
    for (size_t i = 0; i < ldapdirs->count && count < n; i++)
        if (!ldapdirs->sources[i]->row.source.is_disabled)
            (void)snprintf(out[count++], sizeof(*out), "%s", ldapdirs->sources[i]->row.source.name);
    qsort(out, count, sizeof(*out), ldapdir_compare_names);
    return count;
}

struct ldapdir **ldapdir_all(struct ldapdirs *ldapdirs) {
    struct ldapdir **list;
    size_t n = 0;
    LOCKED(&ldapdirs->lock);
    list = calloc(ldapdirs->count + 1, sizeof(struct ldapdir *));
    for (size_t i = 0; list && i < ldapdirs->count; i++)
        if (!ldapdirs->sources[i]->row.source.is_disabled)
            list[n++] = source_ref(ldapdirs->sources[i]);
    return list;
}

void ldapdir_all_free(struct ldapdir **sources) {
    for (size_t i = 0; sources && sources[i]; i++)
        source_unref(sources[i]);
    free(sources);
}

bool ldapdir_source_of(struct ldapdirs *ldapdirs, const struct ldapdir_principal *who, char out[LDAPDIR_SOURCE_BYTES]) {
    LOCKED(&ldapdirs->lock);
    for (size_t i = 0; i < ldapdirs->count; i++) {
        const struct ldap_source *s = &ldapdirs->sources[i]->row.source;
        if (s->is_disabled || !ldap_source_serves(s, who->realm) || (who->id && s->kind != LDAP_KIND_AD))
            continue;
        (void)snprintf(out, LDAPDIR_SOURCE_BYTES, "%s", s->name);
        return true;
    }
    return false;
}

/* -- worker pools ----------------------------------------------------------------------------------------------------------------- */

static int add_pool_locked(struct ldapdirs *ldapdirs, const char *name, struct worker_pool **out, struct err *err) {
    _cleanup_free_ char *title = str_format("ldap:%s", name);
    const struct worker_pool_options options = {.name = title,
                                                .threads = WORKER_POOL_THREADS,
                                                .queue_count = WORKER_POOL_QUEUE_COUNT,
                                                .thread_begin = store_thread_begin,
                                                .thread_end = store_thread_end};
    struct source_pool *slot = &ldapdirs->pools[ldapdirs->pools_count];
    int rc = title ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && ldapdirs->is_stopped)
        rc = err_set(err, ERR_CANCELED, "the service is stopping");
    if (!rc && ldapdirs->pools_count == SOURCE_POOLS_MAX)
        rc = err_set(err, ERR_BUSY, "too many directories come and go: try again shortly");
    rc = rc ? rc : worker_pool_new(&options, &slot->workers, err);
    if (rc)
        return rc;
    (void)snprintf(slot->name, sizeof(slot->name), "%s", name);
    ldapdirs->pools_count++;
    *out = slot->workers;
    return 0;
}

int ldapdir_pool(struct ldapdirs *ldapdirs, const char *name, struct worker_pool **out, struct err *err) {
    _cleanup_(source_unref) struct ldapdir *source = NULL;
    int rc = ldapdir_find(ldapdirs, name, &source, err);
    if (rc)
        return rc;
    LOCKED(&ldapdirs->lock);
    for (size_t i = 0; i < ldapdirs->pools_count; i++)
        if (str_eq(ldapdirs->pools[i].name, name)) {
            *out = ldapdirs->pools[i].workers;
            return 0;
        }
    return add_pool_locked(ldapdirs, name, out, err);
}

/* Nobody asks for it any more: its directory is gone or disabled, and nothing is left to do. */
static bool is_over_locked(struct ldapdirs *ldapdirs, const struct source_pool *slot) {
    const struct ldapdir *source = ldapdir_find_locked(ldapdirs, slot->name);
    struct worker_pool_stats stats;
    if (source && !source->row.source.is_disabled)
        return false;
    worker_pool_get_stats(slot->workers, &stats);
    return !stats.waiting && !stats.running;
}

static struct worker_pool *take_over_pool(struct ldapdirs *ldapdirs) {
    LOCKED(&ldapdirs->lock);
    for (size_t i = 0; !ldapdirs->is_stopped && i < ldapdirs->pools_count; i++)
        if (is_over_locked(ldapdirs, &ldapdirs->pools[i])) {
            struct worker_pool *workers = ldapdirs->pools[i].workers;
            ldapdirs->pools[i] = ldapdirs->pools[--ldapdirs->pools_count];
            return workers;
        }
    return NULL;
}

/* Somebody may have asked for the worker pool a moment ago, and is refused then. So the worker pool itself, without threads, stays until as many others have ended. */
static void end_pools(struct ldapdirs *ldapdirs) {
    struct worker_pool *workers;
    while ((workers = take_over_pool(ldapdirs))) {
        struct worker_pool **place = &ldapdirs->ended[ldapdirs->ended_count++ % SOURCE_POOLS_MAX];
        worker_pool_stop(workers);
        worker_pool_free(*place);
        *place = workers;
    }
}

/* -- looking after them ---------------------------------------------------------------------------------------------------- */

static void ldapdir_look_after(void *arg, bool is_canceled) {
    struct ldapdir *source = arg;
    if (!is_canceled) {
        source_probe(source);
        names_resolve(source->names, source);
    }
    atomic_store(&source->is_looked_after, false);
    source_unref(source);
}

/* One look at a time: with a server that hangs they would pile up in its worker, before those who sign on, and each would count as a failure. */
static void ldapdir_begin_look(struct ldapdirs *ldapdirs, struct ldapdir *source) {
    struct worker_pool *workers = NULL;
    if (ldapdir_pool(ldapdirs, source->row.source.name, &workers, NULL))
        return;
    atomic_store(&source->is_looked_after, true);
    if (!worker_pool_submit(workers, ldapdir_look_after, source_ref(source), NULL))
        return;
    atomic_store(&source->is_looked_after, false);
    source_unref(source);
}

static bool ldapdir_is_due(struct ldapdir *source) {
    const int64_t now_ms = clock_mono_ms();
    LOCKED(&source->lock);
    if (now_ms < source->probe_at_ms)
        return false;
    source->probe_at_ms = now_ms + PROBE_EVERY_MS;
    return true;
}

void ldapdir_tick(struct ldapdirs *ldapdirs) {
    struct ldapdir **all = ldapdir_all(ldapdirs);
    for (size_t i = 0; all && all[i]; i++)
        if (!atomic_load(&all[i]->is_looked_after) && (ldapdir_is_due(all[i]) || names_has_work(ldapdirs->names, all[i])))
            ldapdir_begin_look(ldapdirs, all[i]);
    ldapdir_all_free(all);
    end_pools(ldapdirs);
}

/* -- reports --------------------------------------------------------------------------------------------------------------- */

void ldapdir_report_list_done(struct ldapdir_report_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        ldap_source_done(&list->items[i].source);
    free(list->items);
    *list = (struct ldapdir_report_list){0};
}

static int ldapdir_report(struct ldapdir *source, struct ldapdir_report *out, struct err *err) {
    int rc = ldap_source_copy(&source->row.source, &out->source, err);
    if (rc)
        return rc;
    LOCKED(&source->lock);
    out->state = source->state;
    out->since_ms = source->since_ms;
    out->why = source->why;
    memcpy(out->server, source->server, sizeof(out->server));
    for (size_t i = 0; i < source->servers_count; i++) {
        const int64_t end_ms = source->servers[i].cert_ends_ms;
        if (end_ms && (!out->certificate_end_ms || end_ms < out->certificate_end_ms))
            out->certificate_end_ms = end_ms;
    }
    return 0;
}

int ldapdir_list(struct ldapdirs *ldapdirs, struct ldapdir_report_list *out, struct err *err) {
    LOCKED(&ldapdirs->lock);
    struct ldapdir_report_list list = {.items = calloc(ldapdirs->count + 1, sizeof(*list.items))};
    if (!list.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; list.count < ldapdirs->count; list.count++) {
        int rc = ldapdir_report(ldapdirs->sources[list.count], &list.items[list.count], err);
        if (!rc)
            continue;
        ldapdir_report_list_done(&list);
        return rc;
    }
    *out = list;
    return 0;
}

void ldapdir_write_metrics(struct ldapdirs *ldapdirs, struct metric_page *page) {
    LOCKED(&ldapdirs->lock);
    for (size_t i = 0; i < ldapdirs->pools_count; i++)
        worker_pool_write_metrics(ldapdirs->pools[i].workers, page, "ldap", NULL, ldapdirs->pools[i].name);
}
