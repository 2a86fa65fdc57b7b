/* Database and vCenter in memory for tests of sign-on. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <pthread.h>

#include "audit_store.h"
#include "clock.h"
#include "code_store.h"
#include "key_store.h"
#include "metric.h"
#include "passwd.h"
#include "grant_store.h"
#include "ldapdir.h"
#include "seal.h"
#include "session_store.h"
#include "signon_world.h"
#include "str.h"
#include "signon_ask.h"

struct signon_world sw;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct signing_key keys[4];
static struct seal *seal;

static int begin(struct err *err) {
    int rc = 0;
    (void)pthread_mutex_lock(&lock);
    if (sw.fail_code && sw.fail_after-- <= 0)
        rc = sw.fail_code;
    if (rc)
        (void)pthread_mutex_unlock(&lock);
    return rc ? err_set(err, rc, "as the test wants it") : 0;
}

static int end(int rc) {
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

static void note_line(const struct audit_record *record) {
    const char *id = record->event.principal_id, *reason = record->event.reason;
    sw.audited++;
    (void)snprintf(sw.last_reason, sizeof(sw.last_reason), "%s", reason ? reason : "");
    (void)snprintf(sw.last_action, sizeof(sw.last_action), "%s", record->event.action);
    (void)snprintf(sw.last_result, sizeof(sw.last_result), "%s", record->event.result);
    (void)snprintf(sw.last_principal, sizeof(sw.last_principal), "%s", id ? id : "-");
}

/* -- sessions ---------------------------------------------------------------------------------------------------------- */

static struct session *find(const char *sid) {
    for (size_t i = 0; i < sw.sessions_count; i++)
        if (str_eq(sw.sessions[i].sid, sid))
            return &sw.sessions[i];
    return NULL;
}

int session_store_insert(struct store *store, const struct session *s, unsigned live_max, struct err *err) {
    int rc = begin(err);
    (void)store;
    sw.live_max = live_max;
    if (rc)
        return rc;
    if (!(sw.sessions_count & (sw.sessions_count - 1))) {
        size_t room = sw.sessions_count ? 2 * sw.sessions_count : 1;
        sw.sessions = realloc(sw.sessions, room * sizeof(*sw.sessions));
        assert_non_null(sw.sessions);
    }
    return end(session_copy(s, &sw.sessions[sw.sessions_count++], err));
}

static struct session *duplicate(const struct session *from) {
    struct session *copy = calloc(1, sizeof(*copy));
    assert_non_null(copy);
    assert_int_equal(session_copy(from, copy, NULL), 0);
    return copy;
}

int session_store_load(struct store *store, const char *sid, struct session **out, struct err *err) {
    int rc = begin(err);
    sw.session_reads++;
    const struct session *found;
    void (*after)(void);
    (void)store;
    if (rc)
        return rc;
    found = find(sid);
    if (!found)
        return end(err_set(err, ERR_NOT_FOUND, "there is no such session"));
    *out = duplicate(found);
    after = sw.after_load;
    sw.after_load = NULL;
    (void)end(0);
    if (after)
        after();
    return 0;
}

static int compare(const void *a, const void *b) {
    return strcmp(((const struct session *)a)->sid, ((const struct session *)b)->sid);
}

/* Administrators, then those that a token was made for last. */
static int compare_use(const void *a, const void *b) {
    const struct session *x = a, *y = b;
    const int64_t used_x = x->rotated_at_ms > x->created_at_ms ? x->rotated_at_ms : x->created_at_ms;
    const int64_t used_y = y->rotated_at_ms > y->created_at_ms ? y->rotated_at_ms : y->created_at_ms;
    if ((x->who.role == ROLE_ADMIN) != (y->who.role == ROLE_ADMIN))
        return x->who.role == ROLE_ADMIN ? -1 : 1;
    return used_x > used_y ? -1 : used_x < used_y;
}

static void copy_live(int64_t now_ms, struct session_list *out) {
    out->count = 0;
    out->items = calloc(sw.sessions_count + 1, sizeof(*out->items));
    assert_non_null(out->items);
    for (size_t i = 0; i < sw.sessions_count; i++)
        if (!sw.sessions[i].revoked_at_ms && sw.sessions[i].ends_at_ms > now_ms)
            assert_int_equal(session_copy(&sw.sessions[i], &out->items[out->count++], NULL), 0);
}

int session_store_load_some(struct store *store, const char *const *sids, size_t count, struct session_list *out,
                            struct err *err) {
    int rc = begin(err);
    void (*after)(void);
    sw.session_reads++;
    (void)store;
    if (rc)
        return rc;
    assert_in_range(count, 1, SESSION_LOAD_MAX);
    if (sw.some_code)
        return end(err_set(err, sw.some_code, "as the test wants it"));
    *out = (struct session_list){.items = calloc(count, sizeof(*out->items))};
    assert_non_null(out->items);
    for (size_t i = 0; i < count; i++)
        if (find(sids[i]))
            assert_int_equal(session_copy(find(sids[i]), &out->items[out->count++], NULL), 0);
    qsort(out->items, out->count, sizeof(*out->items), compare);
    after = sw.after_load;
    sw.after_load = NULL;
    (void)end(0);
    if (after)
        after();
    return 0;
}

int session_store_list_active(struct store *store, int64_t now_ms, size_t limit, struct session_list *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    copy_live(now_ms, out);
    qsort(out->items, out->count, sizeof(*out->items), compare_use);
    while (out->count > limit)
        session_done(&out->items[--out->count]);
    qsort(out->items, out->count, sizeof(*out->items), compare);
    return end(0);
}

static bool is_listed(const struct session *s, const struct session_query *q) {
    char handle[SESSION_HANDLE_BYTES];
    signon_handle_of(s->sid, handle);
    return (!q->principal || str_eq(s->who.id, q->principal) || str_eq_nocase(s->who.name, q->principal)) &&
           (!q->handle || str_eq(handle, q->handle));
}

/* Of any order: pages are a matter of the database (tests/integ). */
int session_store_list(struct store *store, const struct session_query *query, struct session_list *out, struct err *err) {
    struct session_list all;
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    copy_live(query->now_ms, &all);
    *out = (struct session_list){.items = all.items};
    for (size_t i = 0; i < all.count; i++) {
        if (out->count < query->limit && is_listed(&all.items[i], query))
            out->items[out->count++] = all.items[i];
        else
            session_done(&all.items[i]);
    }
    return end(0);
}

void session_list_done(struct session_list *list) {
    for (size_t i = 0; i < list->count; i++)
        session_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

static void exchange(struct session *s, const char *next, int64_t now_ms) {
    memcpy(s->old_jti, s->jti, sizeof(s->jti));
    (void)snprintf(s->jti, sizeof(s->jti), "%s", next);
    s->rotated_at_ms = now_ms;
}

int session_store_rotate(struct store *store, const struct session_rotation *r, struct err *err) {
    int rc = begin(err);
    struct session *s;
    (void)store;
    if (rc)
        return rc;
    s = find(r->sid);
    if (!s || s->revoked_at_ms || s->ends_at_ms <= r->now_ms)
        return end(err_set(err, ERR_SESSION_ENDED, "ended"));
    if (sw.rotates_for_another) {
        sw.rotates_for_another = false;
        exchange(s, "99999999-0000-4000-8000-000000000000", r->now_ms);
    }
    if (!str_eq(s->jti, r->jti))
        return end(err_set(err, ERR_PRECONDITION, "exchanged already"));
    exchange(s, r->new_jti, r->now_ms);
    return end(0);
}

int session_store_revoke(struct store *store, const char *sid, int64_t now_ms, const struct audit_record *line, struct err *err) {
    int rc = begin(err);
    struct session *s;
    (void)store;
    if (rc)
        return rc;
    s = find(sid);
    if (line && sw.trail_code)
        return end(err_set(err, sw.trail_code, "as the test wants it"));
    if (!s)
        return end(err_set(err, ERR_NOT_FOUND, "there is no such session"));
    if (!s->revoked_at_ms)
        s->revoked_at_ms = now_ms;
    if (line)
        note_line(line);
    return end(0);
}

/* -- further vCenters -- */

static size_t place_of(const struct session *s, const char *vcenter_id) {
    size_t i = 0;
    while (i < s->vcenters_count && strcmp(s->vcenters[i].vcenter_id, vcenter_id) < 0)
        i++;
    return i;
}

static bool is_at(const struct session *s, size_t place, const char *vcenter_id) {
    return place < s->vcenters_count && str_eq(s->vcenters[place].vcenter_id, vcenter_id);
}

static void take_away(struct session *s, size_t place) {
    session_vcenter_done(&s->vcenters[place]);
    s->vcenters_count--;
    memmove(&s->vcenters[place], &s->vcenters[place + 1], (s->vcenters_count - place) * sizeof(*s->vcenters));
}

int session_store_add_vcenter(struct store *store, const struct session_addition *a, struct err *err) {
    int rc = begin(err);
    struct session *s;
    size_t place;
    (void)store;
    if (rc)
        return rc;
    s = find(a->sid);
    if (!s || s->revoked_at_ms)
        return end(err_set(err, ERR_SESSION_ENDED, "ended"));
    place = place_of(s, a->vcenter->vcenter_id);
    if (is_at(s, place, a->vcenter->vcenter_id))
        take_away(s, place);
    if (s->vcenters_count == SESSION_VCENTERS_MAX - 1)
        return end(err_set(err, ERR_CONFLICT, "too many"));
    s->vcenters = realloc(s->vcenters, (s->vcenters_count + 1) * sizeof(*s->vcenters));
    assert_non_null(s->vcenters);
    memmove(&s->vcenters[place + 1], &s->vcenters[place], (s->vcenters_count - place) * sizeof(*s->vcenters));
    s->vcenters_count++;
    if (a->ends_at_ms < s->ends_at_ms)
        s->ends_at_ms = a->ends_at_ms;
    return end(session_vcenter_copy(a->vcenter, &s->vcenters[place], err));
}

int session_store_remove_vcenter(struct store *store, const char *sid, const char *vcenter_id, struct err *err) {
    int rc = begin(err);
    struct session *s;
    size_t place;
    (void)store;
    if (rc)
        return rc;
    s = find(sid);
    place = s ? place_of(s, vcenter_id) : 0;
    if (!s || !is_at(s, place, vcenter_id))
        return end(err_set(err, ERR_NOT_FOUND, "not there"));
    take_away(s, place);
    return end(0);
}

int session_store_purge(struct store *store, int64_t before_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    int rc = begin(err);
    (void)store;
    (void)before_ms;
    (void)limit;
    if (rc)
        return rc;
    *deleted = 0;
    return end(0);
}

/* -- codes; which of several that come at once takes one is a matter of the database (tests/integ) -- */

int code_store_add(struct store *store, const struct login_code *code, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    sw.code = *code;
    return end(0);
}

static int find_code(const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err) {
    if (!sw.code.sid[0] || memcmp(sw.code.digest, digest, CODE_DIGEST_BYTES) != 0)
        return err_set(err, ERR_NOT_FOUND, "there is no such code");
    *out = sw.code;
    return 0;
}

int code_store_take(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    rc = find_code(digest, out, err);
    if (!rc)
        memset(&sw.code, 0, sizeof(sw.code));
    return end(rc);
}

int code_store_load(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], struct login_code *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    return rc ? rc : end(find_code(digest, out, err));
}

int code_store_retire(struct store *store, const uint8_t digest[CODE_DIGEST_BYTES], int64_t until_ms, struct err *err) {
    struct login_code code;
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    rc = find_code(digest, &code, err);
    if (!rc && until_ms < code.ends_at_ms)
        sw.code.ends_at_ms = until_ms;
    return end(rc);
}

int code_store_purge(struct store *store, int64_t before_ms, unsigned limit, unsigned long *deleted, struct err *err) {
    (void)store;
    (void)before_ms;
    (void)limit;
    (void)err;
    *deleted = 0;
    return 0;
}

/* -- keys, users, audit log ------------------------------------------------------------------------------------------------- */

static void copy_key(const struct signing_key *from, struct signing_key *to) {
    *to = *from;
    to->kid = str_dup(from->kid);
    to->public_jwk = str_dup(from->public_jwk);
    to->sealed = malloc(from->sealed_bytes);
    assert_non_null(to->sealed);
    memcpy(to->sealed, from->sealed, from->sealed_bytes);
}

int key_store_list(struct store *store, struct signing_key_list *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    out->items = calloc(sw.keys_count + 1, sizeof(*out->items));
    for (out->count = 0; out->count < sw.keys_count; out->count++)
        copy_key(&keys[out->count], &out->items[out->count]);
    return end(0);
}

void signing_key_done(struct signing_key *k) {
    free(k->kid);
    free(k->public_jwk);
    free(k->sealed);
    memset(k, 0, sizeof(*k));
}

void signing_key_list_done(struct signing_key_list *list) {
    for (size_t i = 0; i < list->count; i++)
        signing_key_done(&list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

int key_store_insert_first(struct store *store, const struct signing_key *k, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    assert_non_null(strstr(k->public_jwk, "\"kty\""));
    assert_null(strstr(k->public_jwk, "\"d\""));
    copy_key(k, &keys[sw.keys_count++]);
    return end(sw.loses_key_race ? err_set(err, ERR_EXISTS, "another replica was first") : 0);
}

static int load_user(bool is_it, struct user **out, struct err *err) {
    struct user *copy;
    if (!is_it)
        return end(err_set(err, ERR_NOT_FOUND, "there is no such user"));
    copy = calloc(1, sizeof(*copy));
    assert_non_null(copy);
    *copy = *sw.user;
    copy->id = str_dup(sw.user->id);
    copy->name = str_dup(sw.user->name);
    copy->full_name = NULL;
    copy->password_hash = str_dup(sw.user->password_hash);
    *out = copy;
    return end(0);
}

int user_store_load_by_name(struct store *store, const char *name, struct user **out, struct err *err) {
    int rc = begin(err);
    (void)store;
    return rc ? rc : load_user(sw.user && str_eq_nocase(sw.user->name, name), out, err);
}

int user_store_load(struct store *store, const char *id, struct user **out, struct err *err) {
    int rc = begin(err);
    (void)store;
    return rc ? rc : load_user(sw.user && str_eq(sw.user->id, id), out, err);
}

void user_free(struct user *u) {
    if (!u)
        return;
    free(u->id);
    free(u->name);
    free(u->password_hash);
    free(u);
}

int audit_store_append(struct store *store, const struct audit_record *record, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    note_line(record);
    return end(0);
}

struct metric *audit_store_lost(void) {
    return metric_get(METRIC_AUDIT_LOST);
}

void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc, const struct err *why) {
    (void)why;
    const struct audit_record now = audit_record_now(record, rc);
    if (audit_store_append(store, &now, NULL))
        metric_add(audit_store_lost(), 1);
}

void audit_store_note(struct store *store, const struct audit_event *event) {
    const struct audit_record record = {.event = *event};
    (void)store;
    sw.noted++;
    note_line(&record);
}

/* Which credentials were used, and which sessions are too many, is a matter of the database: tests/integ. */
int session_store_open(struct store *store, const struct session_opening *opening, struct err *err) {
    int rc;
    if (sw.before_session)
        sw.before_session();
    rc = sw.trail_code ? err_set(err, sw.trail_code, "as the test wants it")
                       : session_store_insert(store, opening->session, opening->live_max, err);
    if (!rc)
        note_line(opening->line);
    if (!rc && sw.after_session)
        sw.after_session();
    return rc;
}

int replay_store_note(struct store *store, const uint8_t digest[REPLAY_DIGEST_BYTES], int64_t until_ms, struct err *err) {
    (void)store, (void)digest, (void)until_ms, (void)err;
    return 0;
}

int session_store_update_person(struct store *store, const struct session_news *news, struct err *err) {
    int rc = begin(err);
    struct session *s = rc ? NULL : find(news->sid);
    (void)store;
    if (rc)
        return rc;
    assert_non_null(s);
    group_set_done(&s->groups);
    return end(group_set_copy(news->groups, &s->groups, err));
}

/* -- role mappings, and a directory ---------------------------------------------------------------------------------------- */

void role_mapping_list_done(struct role_mapping_list *list) {
    for (size_t i = 0; i < list->count; i++)
        role_mapping_done(&list->items[i]);
    free(list->items);
    *list = (struct role_mapping_list){0};
}

int role_mapping_store_list(struct store *store, struct role_mapping_list *out, struct err *err) {
    int rc = begin(err);
    (void)store;
    if (rc)
        return rc;
    *out = (struct role_mapping_list){.items = calloc(sw.mappings_count + 1, sizeof(*out->items))};
    assert_non_null(out->items);
    for (; !rc && out->count < sw.mappings_count; out->count++)
        rc = role_mapping_copy(&sw.mappings[out->count], &out->items[out->count], err);
    return end(rc);
}

int ldapdir_check_person(struct ldapdirs *ldapdirs, const struct ldapdir_known *question, struct group_set *groups,
                         struct err *err) {
    (void)ldapdirs;
    assert_string_equal(question->who->directory, "corp");
    assert_non_null(question->groups);
    sw.directory_questions++;
    if (sw.in_directory)
        sw.in_directory();
    (void)snprintf(sw.directory_mark, sizeof(sw.directory_mark), "%s", question->mark ? question->mark : "-");
    if (sw.directory_code)
        return err_set(err, sw.directory_code, "as the test wants it");
    return group_set_copy(&sw.directory_groups, groups, err);
}

unsigned store_get_replica(const struct store *store) {
    (void)store;
    return OWN_REPLICA;
}

const char *store_replica_name(const struct store *store) {
    (void)store;
    return "replica-3";
}

/* -- vCenter -------------------------------------------------------------------------------------------------------------- */

static void pass_gate(void) {
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)atomic_fetch_add(&sw.at_gate, 1);
    while (atomic_load(&sw.is_gate_closed))
        (void)nanosleep(&pause, NULL);
}

int signon_ask_credential(const struct signon_asker *asker, const char *vcenter_id, const struct vc_credential *credential,
                          struct vim_user_session *out, struct err *err) {
    (void)asker;
    assert_true(str_eq(vcenter_id, VC_A) || str_eq(vcenter_id, VC_B));
    (void)atomic_fetch_add(&sw.checks, 1);
    pass_gate();
    if (sw.check_code)
        return err_set(err, sw.check_code, "as the test wants it");
    if (!str_eq(credential->secret, sw.good_secret))
        return err_set(err, ERR_CREDENTIALS, "no such session");
    out->user_name = str_dup(sw.user_name);
    out->full_name = str_dup("A Person");
    out->key = str_dup(sw.session_key ? sw.session_key : "52aaaaaa-key");
    out->is_extension = sw.is_extension;
    return 0;
}

int signon_ask_rights(const struct signon_asker *asker, const char *vcenter_id, const char *session_key, const char *user_name,
                      struct object_set *out, struct err *err) {
    unsigned viewable = sw.viewable;
    (void)asker;
    (void)atomic_fetch_add(&sw.questions, 1);
    pass_gate();
    atomic_store(&sw.was_asked_by_key, session_key != NULL);
    if (sw.rights_code)
        return err_set(err, sw.rights_code, "as the test wants it");
    if (sw.viewable_of)
        viewable = sw.viewable_of(vcenter_id, session_key, user_name);
    for (unsigned i = 0; i < viewable; i++) {
        struct object_ref ref = {0};
        char moref[20];
        (void)snprintf(moref, sizeof(moref), "domain-c%u", i);
        assert_int_equal(object_ref_make(vcenter_id, moref, &ref, NULL), 0);
        assert_int_equal(object_set_add(out, &ref, NULL), 0);
    }
    return 0;
}

bool signon_is_unreachable(const struct signon_asker *asker, const char *vcenter_id) {
    (void)asker;
    return atomic_load(str_eq(vcenter_id, VC_B) ? &sw.is_b_away : &sw.is_away);
}

uint64_t signon_mark_of_interest(const struct signon_asker *asker, const char *vcenter_id) {
    (void)asker;
    (void)vcenter_id;
    return atomic_load(&sw.interest) + 1;
}

/* -- worker pools ------------------------------------------------------------------------------------------------------------------- */

#define JOBS_MAX 64
static struct {
    worker_fn *fn;
    void *arg;
} jobs[JOBS_MAX];
static unsigned jobs_count;

int signon_submit(const struct signon_asker *asker, const char *vcenter_id, uint64_t party, worker_fn *fn, void *fn_arg,
                  struct err *err) {
    int rc = 0;
    (void)asker;
    (void)vcenter_id;
    if (party != WORKER_POOL_NO_PARTY)
        sw.party = party;
    if (sw.runs_at_once) {
        fn(fn_arg, false);
        return 0;
    }
    (void)pthread_mutex_lock(&lock);
    assert_true(jobs_count < JOBS_MAX);
    if (sw.worker_pool_code) {
        rc = err_set(err, sw.worker_pool_code, "as the test wants it");
    } else {
        jobs[jobs_count].fn = fn;
        jobs[jobs_count++].arg = fn_arg;
    }
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

static bool run_first(bool is_canceled) {
    worker_fn *fn = NULL;
    void *arg = NULL;
    (void)pthread_mutex_lock(&lock);
    if (jobs_count) {
        fn = jobs[0].fn;
        arg = jobs[0].arg;
        memmove(jobs, jobs + 1, --jobs_count * sizeof(jobs[0]));
    }
    (void)pthread_mutex_unlock(&lock);
    if (fn)
        fn(arg, is_canceled);
    return fn != NULL;
}

unsigned signon_world_run_pools(void) {
    unsigned done = 0;
    while (run_first(false))
        done++;
    return done;
}

void signon_world_end_pools(void) {
    while (run_first(true))
        continue;
}

unsigned signon_world_in_pools(void) {
    return jobs_count;
}

static void note_outcome(void *arg, bool is_canceled) {
    assert_false(is_canceled);
    *(bool *)arg = true;
}

int signon_world_check(struct signon *signon, const struct signon_credential *credential, struct signon_check **out,
                       struct err *err) {
    bool is_there = false;
    int rc = signon_check_new(signon, ACTOR, credential, out, err);
    if (rc)
        return rc;
    sw.runs_at_once = true;
    assert_int_equal(signon_check_wait(*out, note_outcome, &is_there, NULL), 0);
    sw.runs_at_once = false;
    assert_true(is_there);
    return 0;
}

int signon_world_log_in(struct signon *signon, const struct signon_credential *credential, struct signon_issued *out,
                        struct err *err) {
    struct signon_check *check = NULL;
    int rc = signon_world_check(signon, credential, &check, err);
    if (!rc)
        rc = signon_login_vcenter(signon, ACTOR, check, out, err);
    signon_check_free(check);
    return rc;
}

void signon_world_sign_in(struct signon *signon, enum vc_credential_kind kind, const char *user_name, struct signon_bearer *out) {
    const struct signon_credential credential = {.kind = kind, .vcenter_id = VC_A, .secret = sw.good_secret};
    struct signon_issued issued = {0};
    sw.user_name = user_name;
    assert_int_equal(signon_world_log_in(signon, &credential, &issued, NULL), 0);
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, out, NULL), 0);
    signon_issued_done(&issued);
}

/* -- life -------------------------------------------------------------------------------------------------------------------- */

struct signon *signon_world_replica(void) {
    static struct runtime runtime;
    runtime.seal = seal;
    const struct signon_options options = {
        .runtime = &runtime,
        .directory_check_ms = 60000,
        .issuer = "https://kaas.test",
        .token_lifetime_ms = 900000,
        .session_lifetime_ms = 8LL * 3600 * 1000,
        .ticket_session_lifetime_ms = 3600 * 1000,
        .rights_fresh_ms = 10000,
        .rights_rechecks_per_s = 2,
        .limits = sw.limits,
        .sessions_in_memory_max = sw.sessions_in_memory_max,
        .group_places_max = sw.group_places_max,
    };
    struct signon *signon = NULL;
    assert_int_equal(signon_new(&options, &signon, NULL), 0);
    assert_int_equal(signon_load(signon, NULL), 0);
    return signon;
}

struct signon *signon_world_new(void) {
    static const uint8_t key[SEAL_KEY_BYTES] = {1, 2, 3};
    static char *hash; /* made once: it is slow on purpose */
    if (!hash)
        assert_int_equal(passwd_hash("right horse", &hash, NULL), 0);
    clock_fake(1000000, 1700000000000);
    assert_int_equal(seal_open_key(key, &seal, NULL), 0);
    sw.user = calloc(1, sizeof(*sw.user));
    assert_non_null(sw.user);
    sw.user->id = str_dup("11111111-0000-4000-8000-000000000000");
    sw.user->name = str_dup("Anna");
    sw.user->role = ROLE_ADMIN;
    sw.user->password_hash = str_dup(hash);
    sw.good_secret = "0123456789abcdef0123456789abcdef01234567";
    sw.user_name = "VSPHERE.LOCAL\\Viewer-East";
    sw.viewable = 2;
    sw.address = "192.0.2.7";
    return signon_world_replica();
}

void signon_world_free(struct signon *signon) {
    signon_stop(signon);
    signon_world_end_pools();
    signon_free(signon);
    for (size_t i = 0; i < sw.sessions_count; i++)
        session_done(&sw.sessions[i]);
    free(sw.sessions);
    for (unsigned i = 0; i < sw.keys_count; i++)
        signing_key_done(&keys[i]);
    user_free(sw.user);
    group_set_done(&sw.directory_groups);
    seal_free(seal);
    memset(&sw, 0, sizeof(sw));
    clock_unfake();
}

size_t signon_world_live(void) {
    size_t live = 0;
    for (size_t i = 0; i < sw.sessions_count; i++)
        live += !sw.sessions[i].revoked_at_ms;
    return live;
}

struct session *signon_world_session(size_t i) {
    assert_true(i < sw.sessions_count);
    return &sw.sessions[i];
}
