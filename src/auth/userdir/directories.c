/* The configured directories: following the database, finding them, their worker pools; names of ids. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "directories.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "directories_private.h"
#include "directory_people.h"
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

const char *directory_state_name(enum directory_state state) {
    static const char *const words[] = {[DIRECTORY_UNKNOWN] = "unknown",
                                        [DIRECTORY_OK] = "ok",
                                        [DIRECTORY_FAILING] = "failing",
                                        [DIRECTORY_DISABLED] = "disabled"};
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

static size_t directories_set_of(const char *id) {
    return hash64_text(hash_seed(), id) % SETS_COUNT;
}

static struct name *names_find_locked(struct names *names, const char *id) {
    struct name *set = names->sets[directories_set_of(id)];
    for (size_t i = 0; i < WAYS_COUNT; i++)
        if (str_eq(set[i].id, id))
            return &set[i];
    return NULL;
}

/* A place for the id, if need be that of another one. NULL without memory. */
static struct name *place_locked(struct names *names, const char *id) {
    struct name *found = names_find_locked(names, id), *set = names->sets[directories_set_of(id)];
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

bool identity_get_name(struct identity *identity, const char *id, char out[IDENTITY_NAME_BYTES]) {
    struct names *names = identity->names;
    const int64_t now_ms = clock_mono_ms();
    struct name *name;
    bool is_known;
    if (!str_starts(id, "sid:") && !str_starts(id, "ldap:"))
        return false;
    LOCKED(&names->lock);
    name = place_locked(names, id);
    is_known = name && name->text;
    if (is_known)
        (void)snprintf(out, IDENTITY_NAME_BYTES, "%s", name->text);
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
static bool names_has_work(struct names *names, struct inventory_source *source) {
    LOCKED(&names->lock);
    return source->names_read < names->asked;
}

/* -- asking about ids ------------------------------------------------------------------------------------------------------ */

struct batch {
    struct inventory_source *source;
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

static int directories_ask_name(struct ldap_conn *conn, struct batch *batch, const char *id, struct err *err) {
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
        rc = directories_ask_name(conn, batch, batch->ids[i], err);
    return rc;
}

/* Resolves what is wanted of a source's; in its worker. */
static void names_resolve(struct names *names, struct inventory_source *source) {
    struct batch batch = {.source = source};
    take_wanted(names, &batch);
    if (batch.count)
        (void)source_ask(source, ask_names, &batch, NULL);
    for (size_t i = 0; i < batch.count; i++)
        free(batch.ids[i]);
}

/* -- life ------------------------------------------------------------------------------------------------------------------ */

int identity_new(const struct identity_options *options, struct identity **out, struct err *err) {
    struct identity *identity = calloc(1, sizeof(*identity));
    if (!identity)
        return err_set(err, ERR_NOMEM, "out of memory");
    identity->options = *options;
    ldap_conn_prepare();
    (void)pthread_mutex_init(&identity->lock, NULL);
    (void)pthread_mutex_init(&identity->sync_lock, NULL);
    identity->names = calloc(1, sizeof(*identity->names));
    if (!identity->names) {
        identity_free(identity);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)pthread_mutex_init(&identity->names->lock, NULL);
    *out = identity;
    return 0;
}

void identity_stop(struct identity *identity) {
    if (!identity)
        return;
    (void)pthread_mutex_lock(&identity->lock);
    identity->is_stopped = true; /* no further worker pools from here on */
    (void)pthread_mutex_unlock(&identity->lock);
    gss_ticket_stop();
    for (size_t i = 0; i < identity->pools_count; i++)
        worker_pool_stop(identity->pools[i].workers);
}

bool identity_has_left_waiting(void) {
    return gss_ticket_is_waiting();
}

void identity_free(struct identity *identity) {
    if (!identity)
        return;
    identity_stop(identity);
    for (size_t i = 0; i < identity->pools_count; i++)
        worker_pool_free(identity->pools[i].workers);
    for (size_t i = 0; i < SOURCE_POOLS_MAX; i++)
        worker_pool_free(identity->ended[i]);
    for (size_t i = 0; i < identity->count; i++)
        source_unref(identity->sources[i]);
    free(identity->sources);
    names_free(identity->names);
    (void)pthread_mutex_destroy(&identity->lock);
    (void)pthread_mutex_destroy(&identity->sync_lock);
    free(identity);
}

void identity_person_done(struct identity_person *person) {
    if (!person)
        return;
    free(person->principal_id);
    free(person->name);
    free(person->full_name);
    free(person->directory);
    free(person->mark);
    group_set_done(&person->groups);
    *person = (struct identity_person){0};
}

/* -- following the database ------------------------------------------------------------------------------------------------ */

static struct inventory_source *directories_find_locked(struct identity *identity, const char *name) {
    for (size_t i = 0; i < identity->count; i++)
        if (str_eq(identity->sources[i]->row.source.name, name))
            return identity->sources[i];
    return NULL;
}

/* What has not changed goes on with its connections and its state. */
static int directories_take_row(struct identity *identity, struct ldap_row *row, struct inventory_source **out, struct err *err) {
    LOCKED(&identity->lock);
    struct inventory_source *known = directories_find_locked(identity, row->source.name);
    if (known && known->row.source.version_no == row->source.version_no &&
        known->row.source.created_at_ms == row->source.created_at_ms && known->row.sealed_bytes == row->sealed_bytes &&
        secret_eq(known->row.sealed, known->row.sealed_bytes, row->sealed, row->sealed_bytes)) {
        *out = source_ref(known);
        return 0;
    }
    int rc = source_new(row, out, err);
    if (rc)
        return rc;
    (*out)->options = &identity->options;
    (*out)->is_stopped = &identity->is_stopped;
    (*out)->names = identity->names;
    return 0;
}

static void directories_exchange(struct identity *identity, struct inventory_source **fresh, size_t count) {
    (void)pthread_mutex_lock(&identity->lock);
    SWAP(identity->sources, fresh);
    SWAP(identity->count, count);
    (void)pthread_mutex_unlock(&identity->lock);
    for (size_t i = 0; i < count; i++)
        source_unref(fresh[i]);
    free(fresh);
}

static int directories_sync_locked(struct identity *identity, struct err *err) {
    struct ldap_row_list list = {0};
    struct inventory_source **fresh;
    size_t count = 0;
    int rc = ldap_store_list(identity->options.store, &list, err);
    if (rc)
        return rc;
    fresh = calloc(list.count + 1, sizeof(struct inventory_source *));
    if (!fresh)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < list.count; i++) {
        rc = directories_take_row(identity, &list.items[i], &fresh[count], err);
        if (!rc)
            count++;
    }
    ldap_row_list_done(&list);
    if (!rc) {
        directories_exchange(identity, fresh, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        source_unref(fresh[i]);
    free(fresh);
    return rc;
}

int identity_sync(struct identity *identity, struct err *err) {
    LOCKED(&identity->sync_lock);
    return directories_sync_locked(identity, err);
}

/* -- finding --------------------------------------------------------------------------------------------------------------- */

int identity_find_source(struct identity *identity, const char *name, struct inventory_source **out, struct err *err) {
    LOCKED(&identity->lock);
    struct inventory_source *found = directories_find_locked(identity, name);
    if (!found || found->row.source.is_disabled)
        return err_set(err, ERR_NOT_FOUND, "there is no directory named %.*s here", LDAP_SOURCE_NAME_CHARS_MAX, name);
    *out = source_ref(found);
    return 0;
}

static int directories_compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

size_t directories_get_names(struct identity *identity, char (*out)[LDAP_SOURCE_NAME_CHARS_MAX + 1], size_t n) {
    size_t count = 0;
    LOCKED(&identity->lock);
    for (size_t i = 0; i < identity->count && count < n; i++)
        if (!identity->sources[i]->row.source.is_disabled)
            (void)snprintf(out[count++], sizeof(*out), "%s", identity->sources[i]->row.source.name);
    qsort(out, count, sizeof(*out), directories_compare_names);
    return count;
}

struct inventory_source **identity_all_sources(struct identity *identity) {
    struct inventory_source **list;
    size_t n = 0;
    LOCKED(&identity->lock);
    list = calloc(identity->count + 1, sizeof(struct inventory_source *));
    for (size_t i = 0; list && i < identity->count; i++)
        if (!identity->sources[i]->row.source.is_disabled)
            list[n++] = source_ref(identity->sources[i]);
    return list;
}

void identity_sources_free(struct inventory_source **sources) {
    for (size_t i = 0; sources && sources[i]; i++)
        source_unref(sources[i]);
    free(sources);
}

bool identity_source_of(struct identity *identity, const struct identity_principal *who, char out[IDENTITY_SOURCE_BYTES]) {
    LOCKED(&identity->lock);
    for (size_t i = 0; i < identity->count; i++) {
        const struct ldap_source *s = &identity->sources[i]->row.source;
        if (s->is_disabled || !ldap_source_serves(s, who->realm) || (who->id && s->kind != LDAP_KIND_AD))
            continue;
        (void)snprintf(out, IDENTITY_SOURCE_BYTES, "%s", s->name);
        return true;
    }
    return false;
}

/* -- worker pools ----------------------------------------------------------------------------------------------------------------- */

static int add_pool_locked(struct identity *identity, const char *name, struct worker_pool **out, struct err *err) {
    _cleanup_free_ char *title = str_format("ldap:%s", name);
    const struct worker_pool_options options = {.name = title,
                                                .threads = WORKER_POOL_THREADS,
                                                .queue_count = WORKER_POOL_QUEUE_COUNT,
                                                .thread_begin = identity->options.thread_begin,
                                                .thread_end = identity->options.thread_end};
    struct source_pool *slot = &identity->pools[identity->pools_count];
    int rc = title ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && identity->is_stopped)
        rc = err_set(err, ERR_CANCELED, "the service is stopping");
    if (!rc && identity->pools_count == SOURCE_POOLS_MAX)
        rc = err_set(err, ERR_BUSY, "too many directories come and go: try again shortly");
    rc = rc ? rc : worker_pool_new(&options, &slot->workers, err);
    if (rc)
        return rc;
    (void)snprintf(slot->name, sizeof(slot->name), "%s", name);
    identity->pools_count++;
    *out = slot->workers;
    return 0;
}

int identity_pool(struct identity *identity, const char *name, struct worker_pool **out, struct err *err) {
    _cleanup_(source_unref) struct inventory_source *source = NULL;
    int rc = identity_find_source(identity, name, &source, err);
    if (rc)
        return rc;
    LOCKED(&identity->lock);
    for (size_t i = 0; i < identity->pools_count; i++)
        if (str_eq(identity->pools[i].name, name)) {
            *out = identity->pools[i].workers;
            return 0;
        }
    return add_pool_locked(identity, name, out, err);
}

/* Nobody asks for it any more: its directory is gone or disabled, and nothing is left to do. */
static bool is_over_locked(struct identity *identity, const struct source_pool *slot) {
    const struct inventory_source *source = directories_find_locked(identity, slot->name);
    struct worker_pool_stats stats;
    if (source && !source->row.source.is_disabled)
        return false;
    worker_pool_get_stats(slot->workers, &stats);
    return !stats.waiting && !stats.running;
}

static struct worker_pool *take_over_pool(struct identity *identity) {
    LOCKED(&identity->lock);
    for (size_t i = 0; !identity->is_stopped && i < identity->pools_count; i++)
        if (is_over_locked(identity, &identity->pools[i])) {
            struct worker_pool *workers = identity->pools[i].workers;
            identity->pools[i] = identity->pools[--identity->pools_count];
            return workers;
        }
    return NULL;
}

/* Somebody may have asked for the worker pool a moment ago, and is refused then. So the worker pool itself, without threads, stays until as many others have ended. */
static void end_pools(struct identity *identity) {
    struct worker_pool *workers;
    while ((workers = take_over_pool(identity))) {
        struct worker_pool **place = &identity->ended[identity->ended_count++ % SOURCE_POOLS_MAX];
        worker_pool_stop(workers);
        worker_pool_free(*place);
        *place = workers;
    }
}

/* -- looking after them ---------------------------------------------------------------------------------------------------- */

static void directories_look_after(void *arg, bool is_canceled) {
    struct inventory_source *source = arg;
    if (!is_canceled) {
        source_probe(source);
        names_resolve(source->names, source);
    }
    atomic_store(&source->is_looked_after, false);
    source_unref(source);
}

/* One look at a time: with a server that hangs they would pile up in its worker, before those who sign on, and each would count as a failure. */
static void directories_begin_look(struct identity *identity, struct inventory_source *source) {
    struct worker_pool *workers = NULL;
    if (identity_pool(identity, source->row.source.name, &workers, NULL))
        return;
    atomic_store(&source->is_looked_after, true);
    if (!worker_pool_submit(workers, directories_look_after, source_ref(source), NULL))
        return;
    atomic_store(&source->is_looked_after, false);
    source_unref(source);
}

static bool directories_is_due(struct inventory_source *source) {
    const int64_t now_ms = clock_mono_ms();
    LOCKED(&source->lock);
    if (now_ms < source->probe_at_ms)
        return false;
    source->probe_at_ms = now_ms + PROBE_EVERY_MS;
    return true;
}

void identity_tick(struct identity *identity) {
    struct inventory_source **all = identity_all_sources(identity);
    for (size_t i = 0; all && all[i]; i++)
        if (!atomic_load(&all[i]->is_looked_after) && (directories_is_due(all[i]) || names_has_work(identity->names, all[i])))
            directories_begin_look(identity, all[i]);
    identity_sources_free(all);
    end_pools(identity);
}

/* -- reports --------------------------------------------------------------------------------------------------------------- */

void directory_report_list_done(struct directory_report_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        ldap_source_done(&list->items[i].source);
    free(list->items);
    *list = (struct directory_report_list){0};
}

static int directories_report(struct inventory_source *source, struct directory_report *out, struct err *err) {
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

int directories_list(struct identity *identity, struct directory_report_list *out, struct err *err) {
    LOCKED(&identity->lock);
    struct directory_report_list list = {.items = calloc(identity->count + 1, sizeof(*list.items))};
    if (!list.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; list.count < identity->count; list.count++) {
        int rc = directories_report(identity->sources[list.count], &list.items[list.count], err);
        if (!rc)
            continue;
        directory_report_list_done(&list);
        return rc;
    }
    *out = list;
    return 0;
}

void directories_write_metrics(struct identity *identity, struct metric_page *page) {
    LOCKED(&identity->lock);
    for (size_t i = 0; i < identity->pools_count; i++)
        worker_pool_write_metrics(identity->pools[i].workers, page, "ldap", NULL, identity->pools[i].name);
}
