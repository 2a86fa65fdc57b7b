/* Names of ids. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names are for people to read: what is asked for is taken from a bounded memory, and looked up in the background when it is not there or has grown old. */
#include "directory_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hashmap.h"
#include "directory_people.h"
#include "ldap_text.h"
#include "str.h"

#define SETS_COUNT 1024U
#define WAYS_COUNT 4U
#define KNOWN_MS (10 * 60 * 1000)
#define UNKNOWN_MS 30000 /* so long a question without answer is not asked again */
#define BATCH_COUNT 50U
#define WANTED_MAX 512U
#define FILTER_BYTES_MAX 16384U

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

int names_new(struct names **out, struct err *err) {
    struct names *names = calloc(1, sizeof(*names));
    if (!names)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&names->lock, NULL);
    *out = names;
    return 0;
}

void names_free(struct names *names) {
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

/* -- memory ---------------------------------------------------------------------------------------------------------------- */

static size_t directory_names_set_of(const char *id) {
    return hash64_text(hash_seed(), id) % SETS_COUNT;
}

static struct name *names_find_locked(struct names *names, const char *id) {
    struct name *set = names->sets[directory_names_set_of(id)];
    for (size_t i = 0; i < WAYS_COUNT; i++)
        if (str_eq(set[i].id, id))
            return &set[i];
    return NULL;
}

/* A place for the id, if need be that of another one. NULL without memory. */
static struct name *place_locked(struct names *names, const char *id) {
    struct name *found = names_find_locked(names, id), *set = names->sets[directory_names_set_of(id)];
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

bool names_get(struct names *names, const char *id, char out[IDENTITY_NAME_BYTES]) {
    const int64_t now_ms = clock_mono_ms();
    struct name *name;
    bool is_known;
    if (!str_starts(id, "sid:") && !str_starts(id, "ldap:"))
        return false;
    (void)pthread_mutex_lock(&names->lock);
    name = place_locked(names, id);
    is_known = name && name->text;
    if (is_known)
        (void)snprintf(out, IDENTITY_NAME_BYTES, "%s", name->text);
    if (name && now_ms >= name->ask_at_ms) {
        name->ask_at_ms = now_ms + UNKNOWN_MS;
        want_locked(names, id);
    }
    (void)pthread_mutex_unlock(&names->lock);
    return is_known;
}

void names_learn(struct names *names, const char *id, const char *text) {
    char *copy = str_dup(text);
    struct name *name;
    (void)pthread_mutex_lock(&names->lock);
    name = copy ? place_locked(names, id) : NULL;
    if (name) {
        free(name->text);
        name->text = STEAL(copy);
        name->ask_at_ms = clock_mono_ms() + KNOWN_MS;
    }
    (void)pthread_mutex_unlock(&names->lock);
    free(copy);
}

bool names_has_work(struct names *names, struct inventory_source *source) {
    bool has_work;
    (void)pthread_mutex_lock(&names->lock);
    has_work = source->names_read < names->asked;
    (void)pthread_mutex_unlock(&names->lock);
    return has_work;
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
    (void)pthread_mutex_lock(&names->lock);
    if (names->asked > *read + WANTED_MAX)
        *read = names->asked - WANTED_MAX;
    for (; *read < names->asked && batch->count < BATCH_COUNT; ++*read) {
        const char *id = names->wanted[*read % WANTED_MAX];
        if (!names_is_of(&batch->source->row.source, id) || is_answered_locked(names, id))
            continue;
        batch->ids[batch->count] = str_dup(id);
        batch->count += batch->ids[batch->count] != NULL;
    }
    (void)pthread_mutex_unlock(&names->lock);
}

static int names_take(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct batch *batch = arg;
    _cleanup_free_ char *text = entry_name(entry, &batch->source->row.source);
    (void)err;
    if (text)
        names_learn(batch->source->names, batch->id, text);
    return 0;
}

static int directory_names_ask(struct ldap_conn *conn, struct batch *batch, const char *id, struct err *err) {
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
        rc = directory_names_ask(conn, batch, batch->ids[i], err);
    return rc;
}

void names_resolve(struct names *names, struct inventory_source *source) {
    struct batch batch = {.source = source};
    take_wanted(names, &batch);
    if (batch.count)
        (void)source_ask(source, ask_names, &batch, NULL);
    for (size_t i = 0; i < batch.count; i++)
        free(batch.ids[i]);
}
