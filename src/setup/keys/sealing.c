/* The master keys over time. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sealing.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit_store.h"
#include "clock.h"
#include "lease_store.h"
#include "secret_store.h"
#include "str.h"

#define LEASE "reseal"
#define LEASE_MS 30000
#define BATCH_ROWS 16 /* in one transaction */
#define CHECK_EVERY_MS 60000
#define SECRET_BYTES_MAX (64U * 1024U)
#define IDS_BYTES 101

struct sealing {
    struct sealing_options options;
    char *key_file;
    atomic_int_least64_t due_ms; /* monotonic: when to look for values to seal anew */
    pthread_mutex_t lock;        /* guards the file's state: one reads it at a time */
    struct stat seen;
    pthread_mutex_t rest_lock; /* guards what is left to do, as it was counted last; nothing blocks while it is held */
    uint64_t remaining;
    char old_key_id[SEAL_STORE_ID_BYTES]; /* one that sealed some of it */
};

int sealing_new(const struct sealing_options *options, struct sealing **out, struct err *err) {
    struct sealing *s = calloc(1, sizeof(*s));
    if (!s)
        return err_set(err, ERR_NOMEM, "out of memory");
    s->options = *options;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->rest_lock, NULL);
    s->key_file = str_dup(options->key_file);
    if (!s->key_file) {
        sealing_free(s);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = s;
    return 0;
}

void sealing_free(struct sealing *s) {
    if (!s)
        return;
    free(s->key_file);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->rest_lock);
    free(s);
}

bool sealing_holds(const char *key_ids, const char *key_id) {
    const char *at = strstr(key_ids, key_id);
    return *key_id && at && (at == key_ids || at[-1] == ' ');
}

/* -- what is left to do ---------------------------------------------------------------------------------------------------- */

static uint64_t count_others(const struct seal_counts *counts, const char *key_id) {
    uint64_t others = 0;
    for (size_t i = 0; i < counts->count; i++)
        if (!str_eq(counts->items[i].key_id, key_id))
            others += counts->items[i].values;
    return others;
}

static int sealing_count_all(struct sealing *s, struct seal_counts *counts, struct seal_ids *ids, struct err *err) {
    const char *other = "";
    int rc = seal_store_count(s->options.runtime->store, counts, err);
    if (rc)
        return rc;
    seal_get_ids(s->options.runtime->seal, ids);
    for (size_t i = 0; i < counts->count; i++)
        if (!str_eq(counts->items[i].key_id, ids->items[ids->sealing]))
            other = counts->items[i].key_id;
    (void)pthread_mutex_lock(&s->rest_lock);
    s->remaining = count_others(counts, ids->items[ids->sealing]);
    (void)snprintf(s->old_key_id, sizeof(s->old_key_id), "%s", other);
    (void)pthread_mutex_unlock(&s->rest_lock);
    return 0;
}

void sealing_check_health(struct sealing *s, int64_t started_at_ms, struct findings *out) {
    struct finding f = {.step = "master_key", .since_ms = started_at_ms};
    struct seal_ids ids;
    seal_get_ids(s->options.runtime->seal, &ids);
    (void)pthread_mutex_lock(&s->rest_lock);
    if (s->remaining) {
        finding_say(&f, FINDING_WARNING, "%llu values are still sealed by master key %s", (unsigned long long)s->remaining,
                    s->old_key_id);
        finding_advise(&f, "it goes on by itself and must be done before the old key is removed; see 'kaasctl key master'");
    } else if (ids.sealing != ids.count - 1) {
        finding_say(&f, FINDING_WARNING, "the master key file holds a newer key, %s, that does not seal yet",
                    ids.items[ids.count - 1]);
        finding_advise(&f, "copy the file to all replicas, then run 'kaasctl key rotate-master'");
    }
    (void)pthread_mutex_unlock(&s->rest_lock);
    if (f.status)
        findings_add(out, &f);
}

/* -- what is held ---------------------------------------------------------------------------------------------------------- */

static int sealing_note_held(struct sealing *s, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct seal_ids ids;
    int rc;
    seal_get_ids(s->options.runtime->seal, &ids);
    strbuf_init(&text, IDS_BYTES);
    for (size_t i = 0; i < ids.count; i++)
        strbuf_addf(&text, "%s%s", i ? " " : "", ids.items[i]);
    rc = strbuf_check(&text, "ids of master keys", err);
    return rc ? rc : seal_store_note_held(s->options.runtime->store, text.data, err);
}

static int sealing_missing(const struct sealing *s, const char *key_id, const char *what, struct err *err) {
    (void)err_set(err, ERR_CONFIG, "the master key file %s does not hold key %s, %s", s->key_file, key_id, what);
    return err_remedy(err, "put the master key file of another replica, or a copy of it, in its place and restart kaasd");
}

/* Nothing may be sealed by a key that is not here: it would come to light at the worst moment. */
static int check_counts(struct sealing *s, struct err *err) {
    struct seal_counts counts;
    struct seal_ids ids;
    int rc = sealing_count_all(s, &counts, &ids, err);
    for (size_t i = 0; !rc && i < counts.count; i++) {
        bool is_held = false;
        for (size_t k = 0; k < ids.count; k++)
            is_held = is_held || str_eq(ids.items[k], counts.items[i].key_id);
        if (!is_held)
            rc = sealing_missing(s, counts.items[i].key_id, "which sealed secrets in the database", err);
    }
    return rc;
}

int sealing_check(struct sealing *s, struct err *err) {
    char chosen[SEAL_STORE_ID_BYTES];
    int rc = seal_store_load_choice(s->options.runtime->store, chosen, err);
    if (rc)
        return rc;
    if (*chosen && seal_choose(s->options.runtime->seal, chosen, NULL))
        return sealing_missing(s, chosen, "which seals in this installation", err);
    return check_counts(s, err);
}

int sealing_follow(struct sealing *s, struct err *err) {
    int rc = sealing_check(s, err);
    if (!rc)
        rc = sealing_note_held(s, err);
    atomic_store(&s->due_ms, 0);
    return rc;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_uid == b->st_uid && a->st_mode == b->st_mode;
}

/* What another program wrote into the file. */
static int sealing_read_file(struct sealing *s, struct err *err) {
    struct stat now;
    int rc = 0;
    (void)pthread_mutex_lock(&s->lock);
    if (!stat(s->key_file, &now) && !is_same_file(&now, &s->seen)) { /* one that is away for a moment changes nothing here */
        rc = seal_reload_file(s->options.runtime->seal, s->key_file, err);
        rc = rc ? rc : sealing_note_held(s, err);
        if (!rc)
            s->seen = now;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return rc;
}

/* -- sealing anew ---------------------------------------------------------------------------------------------------------- */

static int sealing_reseal(void *arg, const struct sealed_row *row, uint8_t **out, size_t *out_bytes, struct err *err) {
    struct sealing *s = arg;
    _cleanup_strbuf_ struct strbuf plain, sealed;
    int rc;
    strbuf_init_secret(&plain, SECRET_BYTES_MAX);
    strbuf_init(&sealed, SECRET_BYTES_MAX);
    rc = seal_unseal(s->options.runtime->seal, row->bound, row->sealed, row->sealed_bytes, &plain, err);
    if (!rc)
        rc = seal_seal(s->options.runtime->seal, row->bound, plain.data, plain.len, &sealed, err);
    if (rc)
        return rc;
    *out_bytes = sealed.len;
    *out = (uint8_t *)strbuf_steal(&sealed);
    return 0;
}

struct sealing_proof {
    struct seal *seal;
    sealing_see_fn *see; /* NULL: one that does not open is an error */
    void *arg;
    uint64_t values, refused;
};

static int sealing_prove_row(void *arg, const struct sealed_row *row, uint8_t **out, size_t *out_bytes, struct err *err) {
    struct sealing_proof *proof = arg;
    _cleanup_strbuf_ struct strbuf plain;
    (void)out, (void)out_bytes;
    strbuf_init_secret(&plain, SECRET_BYTES_MAX);
    proof->values++;
    int rc = seal_unseal(proof->seal, row->bound, row->sealed, row->sealed_bytes, &plain, proof->see ? NULL : err);
    if (!proof->see)
        return rc;
    if (rc)
        proof->refused++;
    else
        proof->see(proof->arg, plain.data, plain.len);
    return 0;
}

static int sealing_open_each(struct store *store, struct sealing_proof *proof, struct err *err) {
    struct seal_batch batch = {.key_id = "", .limit = BATCH_ROWS, .reseal = sealing_prove_row, .arg = proof};
    int rc;
    do
        rc = seal_store_reseal(store, &batch, err);
    while (!rc && batch.rows);
    return rc;
}

int sealing_prove(struct store *store, struct seal *seal, uint64_t *values, struct err *err) {
    struct sealing_proof proof = {.seal = seal};
    int rc = sealing_open_each(store, &proof, err);
    if (!rc)
        *values = proof.values;
    return rc;
}

int sealing_read(struct store *store, struct seal *seal, const struct sealing_reader *reader, uint64_t *refused,
                 struct err *err) {
    struct sealing_proof proof = {.seal = seal, .see = reader->see, .arg = reader->arg};
    int rc = sealing_open_each(store, &proof, err);
    if (!rc)
        *refused = proof.refused;
    return rc;
}

static int reseal_all(struct sealing *s, const char *holder, struct err *err) {
    struct seal_counts counts;
    struct seal_ids ids;
    int rc = sealing_count_all(s, &counts, &ids, err);
    if (rc || !count_others(&counts, ids.items[ids.sealing]))
        return rc;
    struct seal_batch batch = {.key_id = ids.items[ids.sealing], .limit = BATCH_ROWS, .reseal = sealing_reseal, .arg = s};
    do {
        rc = seal_store_reseal(s->options.runtime->store, &batch, err);
        if (!rc && batch.rows)
            rc = lease_store_renew(s->options.runtime->store, LEASE, holder, LEASE_MS, err);
    } while (!rc && batch.rows);
    return rc ? rc : sealing_count_all(s, &counts, &ids, err);
}

int sealing_tick(struct sealing *s, struct err *err) {
    const char *holder = store_replica_name(s->options.runtime->store);
    struct seal_counts counts;
    struct seal_ids ids;
    bool is_mine = false;
    int rc = sealing_read_file(s, err);
    if (rc || clock_mono_ms() < atomic_load(&s->due_ms))
        return rc;
    rc = lease_store_acquire(s->options.runtime->store, LEASE, holder, LEASE_MS, &is_mine, err);
    if (rc || !is_mine) /* another replica does it: what is left is looked at all the same, for health */
        return rc ? rc : sealing_count_all(s, &counts, &ids, err);
    rc = secret_store_purge(s->options.runtime->store, err);
    rc = rc ? rc : reseal_all(s, holder, err);
    (void)lease_store_release(s->options.runtime->store, LEASE, holder, NULL);
    if (!rc) /* again later: a replica that was slow to follow may have used the old key meanwhile */
        atomic_store(&s->due_ms, clock_mono_ms() + CHECK_EVERY_MS);
    return rc;
}

/* -- choosing -------------------------------------------------------------------------------------------------------------- */

static int check_replicas(struct sealing *s, const char *key_id, struct err *err) {
    struct seal_replica_list list = {0};
    _cleanup_strbuf_ struct strbuf names;
    int rc = seal_store_list_replicas(s->options.runtime->store, &list, err);
    strbuf_init(&names, 4096);
    for (size_t i = 0; !rc && i < list.count; i++) {
        const struct seal_replica *replica = &list.items[i];
        const bool is_alive = replica->heartbeat_age_ms >= 0 && replica->heartbeat_age_ms <= SEALING_ALIVE_MS;
        if (is_alive && !sealing_holds(replica->key_ids, key_id))
            strbuf_addf(&names, "%s%s", names.len ? ", " : "", replica->name);
    }
    if (!rc && names.len) {
        (void)err_set(err, ERR_CONFLICT, "these replicas do not hold the new master key %s yet: %.200s", key_id, names.data);
        rc = err_remedy(
            err, "copy the master key file to them (mode 0600, owner as before); they take it within a second; then repeat this");
    }
    seal_replica_list_done(&list);
    return rc;
}

static int sealing_choose(struct sealing *s, struct err *err) {
    struct seal_ids ids;
    const char *newest;
    int rc = sealing_read_file(s, err);
    if (!rc)
        rc = sealing_follow(s, err);
    if (rc)
        return rc;
    seal_get_ids(s->options.runtime->seal, &ids);
    newest = ids.items[ids.count - 1];
    if (ids.sealing == ids.count - 1) {
        (void)err_set(err, ERR_CONFLICT, "the newest master key of the key file, %s, seals already", newest);
        return err_remedy(err, "kaasctl key rotate-master adds a new one to the file");
    }
    rc = check_replicas(s, newest, err);
    if (!rc)
        rc = seal_store_choose(s->options.runtime->store, newest, err);
    return rc ? rc : sealing_follow(s, err);
}

int sealing_rotate(struct sealing *s, const struct actor *actor, struct err *err) {
    struct err why = {0};
    int rc = sealing_choose(s, &why);
    struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "master_key.rotate"});
    line.event.source = line.event.acting_id = NULL; /* this action has never told them */
    audit_store_append_outcome(s->options.runtime->store, &line, rc, &why);
    return err_move(err, rc, &why);
}

void sealing_report_done(struct sealing_report *report) {
    if (report)
        seal_replica_list_done(&report->replicas);
}

int sealing_get_report(struct sealing *s, struct sealing_report *out, struct err *err) {
    struct sealing_report report = {0};
    int rc = sealing_read_file(s, err);
    if (!rc)
        rc = seal_store_count(s->options.runtime->store, &report.counts, err);
    if (!rc)
        rc = seal_store_list_replicas(s->options.runtime->store, &report.replicas, err);
    if (rc) {
        sealing_report_done(&report);
        return rc;
    }
    seal_get_ids(s->options.runtime->seal, &report.held);
    report.remaining = count_others(&report.counts, report.held.items[report.held.sealing]);
    *out = report;
    return 0;
}
