/* Newer versions: looking at the source under a lease, and what this replica knows. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "updates.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lease_store.h"
#include "release_file.h"
#include "release_source.h"
#include "release_store.h"
#include "replica_store.h"
#include "str.h"

#define LEASE_NAME "updates"
#define LEASE_MS (5 * 60 * INT64_C(1000)) /* longer than two fetches may take */
#define REPLICA_ALIVE_MS 60000            /* since its last heartbeat, of which there are six */
#define DIFFER_MS (3600 * INT64_C(1000))  /* longer than it takes to replace one replica after the other */

struct updates {
    struct store *store;
    char *replica, *version;
    struct release_row *row; /* of the tick alone; large */
    bool is_asked;           /* likewise: look now, though it is not due */

    pthread_mutex_t lock;          /* guards all below */
    struct release_source *source; /* in use by the tick, which alone replaces it; NULL: off */
    struct release_source *next;   /* to be used from the next tick on, if has_next */
    bool has_next, is_stopped;
    bool was_looked;
    struct release newest; /* the accepted one; file NULL: none */
    struct err problem;    /* of the last look; code 0: none */
    int64_t problem_since_ms;
    json_t *replicas;        /* as updates_replicas */
    int64_t differ_since_ms; /* wall clock; 0: they do not */
};

int updates_new(const struct updates_options *options, struct updates **out, struct err *err) {
    struct updates *updates = calloc(1, sizeof(*updates));
    if (!updates)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&updates->lock, NULL);
    updates->store = options->runtime->store;
    updates->replica = str_dup(options->replica);
    updates->version = str_dup(options->runtime->version);
    updates->row = malloc(sizeof(*updates->row));
    if (!updates->replica || !updates->version || !updates->row) {
        updates_free(updates);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = updates;
    return 0;
}

void updates_free(struct updates *updates) {
    if (!updates)
        return;
    release_source_free(updates->source);
    release_source_free(updates->next);
    release_done(&updates->newest);
    json_decref(updates->replicas);
    free(updates->row);
    free(updates->replica);
    free(updates->version);
    (void)pthread_mutex_destroy(&updates->lock);
    free(updates);
}

int updates_configure(struct updates *updates, const struct config *config, struct err *err) {
    struct release_source *source = NULL;
    int rc = release_source_new(config, &source, err);
    if (rc)
        return rc;
    (void)pthread_mutex_lock(&updates->lock);
    SWAP(updates->next, source);
    updates->has_next = true;
    (void)pthread_mutex_unlock(&updates->lock);
    release_source_free(source);
    return 0;
}

void updates_stop(struct updates *updates) {
    if (!updates)
        return;
    LOCKED(&updates->lock);
    updates->is_stopped = true;
    if (updates->source)
        release_source_cancel(updates->source);
}

/* -- looking ------------------------------------------------------------------------------------------------------------------ */

/* What the row holds, if a key of now signed it. ERR_NOMEM alone matters: a row that nobody signed is none. */
static int updates_open_row(const struct release_source *source, const struct release_row *row, struct release *out,
                            struct err *err) {
    const struct release_bytes bytes = {(const char *)row->content, (const char *)row->signature, row->content_bytes,
                                        row->signature_bytes};
    struct err why = {0};
    *out = (struct release){0};
    int rc = row->content_bytes ? release_open(release_source_keys(source), &bytes, out, &why) : 0;
    return rc == ERR_NOMEM ? err_move(err, rc, &why) : 0;
}

/* Reads and judges; what is accepted is in the two buffers. */
static int updates_look(struct release_source *source, const struct release_row *row, struct strbuf *content,
                        struct strbuf *signature, struct err *err) {
    _cleanup_done_(release_done) struct release read = {0}, accepted = {0};
    int rc = release_source_read(source, content, signature, err);
    if (rc)
        return rc;
    const struct release_bytes bytes = {content->data, signature->data, content->len, signature->len};
    rc = release_open(release_source_keys(source), &bytes, &read, err);
    if (!rc)
        rc = updates_open_row(source, row, &accepted, err);
    return rc ? rc : release_check_age(&read, accepted.file ? &accepted : NULL, clock_wall_ms(), err);
}

static int updates_look_and_save(struct updates *updates, struct err *err) {
    _cleanup_strbuf_ struct strbuf content = {0}, signature = {0};
    struct err problem = {0};
    strbuf_init(&content, RELEASE_FILE_BYTES_MAX);
    strbuf_init(&signature, RELEASE_SIGNATURE_BYTES);
    const bool is_bad = updates_look(updates->source, updates->row, &content, &signature, &problem) != 0;
    if (problem.code == ERR_CANCELED || problem.code == ERR_NOMEM)
        return err_move(err, problem.code, &problem);
    str_trim_utf8(problem.text);
    str_trim_utf8(problem.remedy);
    const struct release_look look = {
        .content = is_bad ? NULL : content.data,
        .content_bytes = content.len,
        .signature = is_bad ? NULL : signature.data,
        .signature_bytes = signature.len,
        .problem = &problem,
        .again_after_ms = release_source_period_ms(updates->source, is_bad),
    };
    return release_store_save(updates->store, &look, err);
}

/* The row is read again under the lease: whoever held it before may just have looked. */
static int updates_look_if_due(struct updates *updates, struct err *err) {
    bool is_mine = false;
    if (!updates->is_asked && !updates->row->is_due)
        return 0;
    int rc = lease_store_acquire(updates->store, LEASE_NAME, updates->replica, LEASE_MS, &is_mine, err);
    if (rc || !is_mine)
        return rc;
    rc = release_store_load(updates->store, updates->row, err);
    if (!rc && (updates->is_asked || updates->row->is_due))
        rc = updates_look_and_save(updates, err);
    if (!rc) {
        updates->is_asked = false;
        rc = release_store_load(updates->store, updates->row, err);
    }
    (void)lease_store_release(updates->store, LEASE_NAME, updates->replica, NULL);
    return rc;
}

/* The source of this tick. False: it is off, or we are to end. */
static bool updates_take_source(struct updates *updates) {
    LOCKED(&updates->lock);
    if (updates->has_next) {
        release_source_free(updates->source);
        updates->source = STEAL(updates->next);
        updates->has_next = false;
        updates->is_asked = updates->source != NULL;
        updates->was_looked = false;
        release_done(&updates->newest);
    }
    return updates->source && !updates->is_stopped;
}

static int updates_sync_release(struct updates *updates, struct err *err) {
    _cleanup_done_(release_done) struct release newest = {0};
    if (!updates_take_source(updates))
        return 0;
    int rc = release_store_load(updates->store, updates->row, err);
    if (!rc)
        rc = updates_look_if_due(updates, err);
    if (!rc)
        rc = updates_open_row(updates->source, updates->row, &newest, err);
    if (rc)
        return rc;
    LOCKED(&updates->lock);
    SWAP(updates->newest, newest);
    updates->was_looked = updates->row->was_looked;
    err_clear(&updates->problem);
    if (updates->row->problem[0]) {
        (void)err_set(&updates->problem, ERR_UPSTREAM, "%s", updates->row->problem);
        (void)err_remedy(&updates->problem, "%s", updates->row->remedy);
    }
    updates->problem_since_ms = updates->row->problem_since_ms;
    return 0;
}

/* -- what the replicas run ----------------------------------------------------------------------------------------------------- */

static bool replica_is_alive(const struct replica *replica) {
    return replica->id && replica->heartbeat_age_ms >= 0 && replica->heartbeat_age_ms < REPLICA_ALIVE_MS;
}

static json_t *updates_list_replicas(const struct replica_list *list) {
    json_t *replicas = json_array();
    bool differ = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct replica *r = &list->items[i];
        if (!replica_is_alive(r))
            continue;
        json_t *item = json_object();
        json_put_string(item, "name", r->name);
        json_put(item, "version", r->version ? json_string(r->version) : json_null());
        differ |= !json_equal(json_object_get(item, "version"),
                              json_object_get(json_array_size(replicas) ? json_array_get(replicas, 0) : item, "version"));
        json_add(replicas, item);
    }
    if (differ)
        return replicas;
    json_decref(replicas);
    return NULL;
}

static int updates_sync_replicas(struct updates *updates, struct err *err) {
    _cleanup_done_(replica_list_done) struct replica_list list = {0};
    int rc = replica_store_list(updates->store, &list, err);
    if (rc)
        return rc;
    json_t *replicas = updates_list_replicas(&list);
    (void)pthread_mutex_lock(&updates->lock);
    SWAP(updates->replicas, replicas);
    if (!updates->replicas)
        updates->differ_since_ms = 0;
    else if (!updates->differ_since_ms)
        updates->differ_since_ms = clock_wall_ms();
    (void)pthread_mutex_unlock(&updates->lock);
    json_decref(replicas);
    return 0;
}

int updates_tick(struct updates *updates, struct err *err) {
    int rc = updates_sync_replicas(updates, err);
    return rc ? rc : updates_sync_release(updates, err);
}

/* -- telling ------------------------------------------------------------------------------------------------------------------- */

/* The lock is held. */
static bool updates_has_newer(const struct updates *updates) {
    const struct release *newest = &updates->newest;
    return updates->source && newest->file && clock_wall_ms() < newest->valid_until_ms &&
           release_version_cmp(newest->version, updates->version) > 0;
}

static void updates_check_release(const struct updates *updates, struct finding *f) {
    struct err why = updates->problem;
    f->since_ms = updates->problem_since_ms;
    if (!why.code && updates->newest.file && release_check_age(&updates->newest, NULL, clock_wall_ms(), &why))
        f->since_ms = updates->newest.valid_until_ms;
    if (!why.code && !updates->newest.file) /* it was there with another key */
        (void)err_set(&why, ERR_FORBIDDEN,
                      "the release file that was accepted before is not signed by a key of updates.key_file");
    if (why.code)
        finding_say_error(f, FINDING_WARNING, &why);
    else if (!updates_has_newer(updates))
        finding_say(f, FINDING_OK, "there is no newer version than %s", updates->version);
    else {
        finding_say(f, FINDING_OK, "version %s is available", updates->newest.version);
        finding_advise(f, "kaasctl version tells what is new, and how to upgrade");
    }
}

static void updates_check_replicas(const struct updates *updates, struct findings *out) {
    struct finding f = {.step = "replica_versions", .since_ms = updates->differ_since_ms};
    _cleanup_strbuf_ struct strbuf text = {0};
    strbuf_init(&text, sizeof(f.text) - 1);
    strbuf_adds(&text, "the replicas run different versions:");
    for (size_t i = 0; i < json_array_size(updates->replicas); i++) {
        const json_t *replica = json_array_get(updates->replicas, i);
        const char *version = json_get_string(replica, "version");
        strbuf_addf(&text, "%s %s %s", i ? "," : "", json_get_string(replica, "name"), version ? version : "older");
    }
    finding_say(&f, clock_wall_ms() - f.since_ms >= DIFFER_MS ? FINDING_WARNING : FINDING_OK, "%s", text.data);
    finding_advise(&f, "install the same version on the hosts of all (" DOC_PAGE("admin/upgrade.md") ")");
    findings_add(out, &f);
}

void updates_check_health(struct updates *updates, struct findings *out) {
    LOCKED(&updates->lock);
    if (updates->source && updates->was_looked) {
        struct finding f = {.step = "updates"};
        updates_check_release(updates, &f);
        findings_add(out, &f);
    }
    if (updates->replicas)
        updates_check_replicas(updates, out);
}

/* Before the steps of the file, where they are not enough. */
static json_t *updates_steps(const struct updates *updates) {
    const char *from = updates->newest.upgrade_from;
    json_t *steps = json_array();
    if (from && release_version_cmp(updates->version, from) < 0) {
        _cleanup_free_ char *first = str_format(
            "%s cannot be upgraded to it in one step: upgrade to %s first, or to one between them.", updates->version, from);
        json_add(steps, first ? json_string(first) : NULL);
    }
    for (size_t i = 0; i < json_array_size(updates->newest.steps); i++)
        json_add(steps, json_copy(json_array_get(updates->newest.steps, i)));
    return steps;
}

bool updates_has_news(struct updates *updates) {
    LOCKED(&updates->lock);
    return updates_has_newer(updates);
}

json_t *updates_available(struct updates *updates) {
    LOCKED(&updates->lock);
    const struct release *newest = &updates->newest;
    if (!updates_has_newer(updates))
        return NULL;
    json_t *available = json_object();
    json_put_string(available, "version", newest->version);
    json_put_time(available, "released_at", newest->released_at_ms);
    json_put(available, "notes", newest->notes ? json_deep_copy(newest->notes) : json_array());
    json_put(available, "notes_url", newest->notes_url ? json_string(newest->notes_url) : json_null());
    json_put(available, "steps", updates_steps(updates));
    return available;
}

json_t *updates_replicas(struct updates *updates) {
    LOCKED(&updates->lock);
    return json_deep_copy(updates->replicas);
}
