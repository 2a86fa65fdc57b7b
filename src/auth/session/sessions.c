/* Sessions: made, read, ended, and as administrators see them; presented tokens. Layer 5 (auth). Credentials are signon_vcenter.c and login.c, rights are session_rights.c.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checking a signature costs about 85 us, and everybody can make any number of tokens that look good until then. So checks that failed are counted, by party
 * and in all, which bounds a flood to about 4 % of a core; good tokens are never held up, whoever shares an address. Tokens that name a live session and
 * its newest token are counted apart: their bearers go on while others at their address send garbage. */
#include "sessions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit_store.h"
#include "clock.h"
#include "code_store.h"
#include "digest.h"
#include "metric.h"
#include "names.h"
#include "net_addr.h"
#include "rights_cache.h"
#include "secret.h"
#include "session_rights.h"
#include "session_store.h"
#include "signon_ask.h"
#include "signon_state.h"
#include "str.h"
#include "throttle.h"
#include "token.h"
#include "uuid.h"

#define LEAVE_AT_ONCE 64U  /* of memory, for one that comes in */
#define KNOWN_MAX 500      /* sessions of people of one name that are looked at */
#define SIGNON_BURST_S 30U /* so much of what may be signed on is there at once, after a pause */

void signon_issued_done(struct signon_issued *issued) {
    if (!issued)
        return;
    secret_free(issued->token);
    memset(issued, 0, sizeof(*issued));
}

/* The last digits of a sid are random. */
static size_t stripe_of(const char *sid) {
    size_t n = strlen(sid);
    return n ? (unsigned char)sid[n - 1] % SIGNON_STRIPES : 0;
}

/* Memory is a cache: who leaves it is read when their token comes. Sessions that requests hold stay, if need be beyond the limits. */
static void sessions_make_room(struct signon *s) {
    for (unsigned i = 0; i < LEAVE_AT_ONCE; i++) {
        const bool has_too_many = session_table_count(s->table) > s->options.sessions_in_memory_max;
        if (!has_too_many && group_pool_size(s->shared.pool).places <= s->options.group_places_max)
            return;
        if (!session_table_evict(s->table, !has_too_many))
            return;
        metric_add(metric_get(METRIC_SESSIONS_EVICTED), 1);
    }
}

/* What is told of a session that is not in memory finds nothing to change there, though somebody may be about to put it in, by a row read or written before.
 * So whoever tells counts that first, and whoever puts in looks whether it was counted since, and reads the row (again) then. */
static atomic_uint *told_of(struct signon *s, const char *sid) {
    return &s->told[stripe_of(sid)];
}

void signon_tell_all(struct signon *s) {
    for (size_t i = 0; i < SIGNON_STRIPES; i++)
        (void)atomic_fetch_add(&s->told[i], 1);
}

/* Puts a row into the table, unless the session is there already; takes the row over. *out is the one that is in the table. Its role is known before others
 * find it. */
static int sessions_put_row(struct signon *s, struct session *row, struct live_session **out, struct err *err) {
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    int rc = live_session_new(row, &s->shared, &live, err);
    if (rc)
        return rc;
    signon_map_role(s, live);
    *out = session_table_put(s->table, live);
    return 0;
}

/* Memory follows a row just read, which stays the caller's. *out is NULL for a session that has ended and is not in memory. */
static int follow_row(struct signon *s, const struct session *row, struct live_session **out, struct err *err) {
    struct session *copy;
    int rc;
    *out = session_table_find(s->table, row->sid);
    if (!*out && (row->revoked_at_ms || row->ends_at_ms <= clock_wall_ms()))
        return 0;
    if (!*out) {
        copy = calloc(1, sizeof(*copy));
        rc = copy ? session_copy(row, copy, err) : err_set(err, ERR_NOMEM, "out of memory");
        if (rc)
            free(copy);
        else
            rc = sessions_put_row(s, copy, out, err);
        if (rc)
            return rc;
    }
    rc = live_session_update(*out, &s->shared, row, err);
    signon_map_role(s, *out);
    sessions_make_room(s);
    return rc;
}

/* A list may have been read before something that is in memory already: vCenters that differ are read once more, in turn. */
static int follow_listed(struct signon *s, const struct session *row, struct err *err) {
    _cleanup_(live_session_unref) struct live_session *live = session_table_find(s->table, row->sid);
    bool is_other = live && !live_session_fits(live, row);
    live_session_unref(STEAL(live));
    return is_other ? signon_apply_session_change(s, row->sid, err) : follow_row(s, row, &live, err);
}

static int compare_sids(const void *a, const void *b) {
    return strcmp(((const struct session *)a)->sid, ((const struct session *)b)->sid);
}

static const struct session *find_listed(const struct session_list *list, const char *sid) {
    struct session wanted = {.sid = ""};
    (void)snprintf(wanted.sid, sizeof(wanted.sid), "%s", sid);
    return list->count ? bsearch(&wanted, list->items, list->count, sizeof(*list->items), compare_sids) : NULL;
}

/* What is in memory and not among those listed has ended elsewhere, was made a moment ago, or is one of more than fit: it leaves, and is read when it is
 * used. What somebody holds is read now. */
static int follow_unlisted(struct signon *s, const struct session_list *list, struct err *err) {
    size_t count = 0;
    struct live_session **known = session_table_list(s->table, NULL, &count);
    int rc = known ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        char sid[UUID_TEXT_BYTES];
        (void)snprintf(sid, sizeof(sid), "%s", live_session_sid(known[i]));
        const bool is_unlisted = !find_listed(list, sid);
        live_session_unref(known[i]);
        if (is_unlisted && !session_table_forget(s->table, sid) && !rc)
            rc = signon_apply_session_change(s, sid, err);
    }
    free(known);
    return rc;
}

int signon_load_sessions(struct signon *s, struct err *err) {
    struct session_list list = {0};
    int rc = session_store_list_active(s->options.runtime->store, clock_wall_ms(), s->options.sessions_in_memory_max, &list, err);
    signon_tell_all(s);
    for (size_t i = 0; !rc && i < list.count; i++)
        rc = follow_listed(s, &list.items[i], err);
    if (!rc)
        rc = follow_unlisted(s, &list, err);
    session_list_done(&list);
    return rc;
}

int signon_issue(struct signon *s, struct live_session *live, const char *jti, struct signon_issued *out, struct err *err) {
    const struct principal *who = live_session_who(live);
    int64_t now_ms = clock_wall_ms(), left_ms = live_session_ends_ms(live) - now_ms;
    int64_t lifetime_ms = s->options.token_lifetime_ms < left_ms ? s->options.token_lifetime_ms : left_ms;
    struct token_claims claims = {
        .src = who->source, .role = live_session_role(live), .iat_s = now_ms / 1000, .exp_s = (now_ms + lifetime_ms) / 1000};
    int rc;
    if (lifetime_ms < 1000)
        return err_set(err, ERR_SESSION_ENDED, "the session has reached its end; sign in again");
    (void)snprintf(claims.sub, sizeof(claims.sub), "%s", who->id);
    (void)snprintf(claims.act, sizeof(claims.act), "%s", who->acting_id ? who->acting_id : "");
    (void)snprintf(claims.jti, sizeof(claims.jti), "%s", jti);
    (void)snprintf(claims.sid, sizeof(claims.sid), "%s", live_session_sid(live));
    rc = token_issue(s->tokens, &claims, &out->token, err);
    if (rc)
        return rc;
    out->token_lifetime_ms = lifetime_ms;
    out->session_ends_at_ms = live_session_ends_ms(live);
    (void)snprintf(out->sid, sizeof(out->sid), "%s", live_session_sid(live));
    return 0;
}

static int sessions_make_row(const struct signon_new_session *wanted, const char *sid, struct session **out, struct err *err) {
    _cleanup_(session_free) struct session *row = calloc(1, sizeof(*row));
    int rc;
    if (!row)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)snprintf(row->sid, sizeof(row->sid), "%s", sid);
    uuid_new(row->jti);
    row->created_at_ms = clock_wall_ms();
    row->ends_at_ms = row->created_at_ms + wanted->lifetime_ms;
    row->must_change_password = wanted->must_change_password;
    row->directory_mark = str_dup(wanted->directory_mark);
    rc = wanted->groups ? group_set_copy(wanted->groups, &row->groups, err) : 0;
    if (!rc)
        rc = principal_copy(wanted->who, &row->who, err);
    if (rc)
        return rc;
    *out = STEAL(row);
    return 0;
}

static void sessions_offer_rights(struct live_session *live, struct shared_objects *rights) {
    struct live_part parts[SESSION_VCENTERS_MAX];
    size_t count = live_session_parts(live, parts);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].is_first)
            rights_subject_offer(parts[i].subject, shared_objects_ref(rights));
        live_part_done(&parts[i]);
    }
}

/* `told` is told_of from before the row was written. */
static int enter_session(struct signon *s, struct session *row, unsigned told, const struct signon_new_session *wanted,
                         struct signon_issued *out, struct err *err) {
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    char jti[sizeof(row->jti)];
    int rc;
    memcpy(jti, row->jti, sizeof(jti));
    rc = sessions_put_row(s, row, &live, err);
    sessions_make_room(s);
    if (!rc && told != atomic_load(told_of(s, live_session_sid(live))))
        rc = signon_apply_session_change(s, live_session_sid(live), err);
    if (rc)
        return rc;
    signon_map_role(s, live);
    if (wanted->rights)
        sessions_offer_rights(live, wanted->rights);
    return signon_issue(s, live, jti, out, err);
}

struct audit_record signon_make_line(const struct actor *actor, const struct principal *who, const struct audit_event *what) {
    struct actor as = *actor;
    as.principal = who;
    return audit_record_make(&as, what);
}

/* The audit log must not: a database that took neither for the line's sake gets what it is about alone. Where it is away or busy nothing is tried
 * again. */
static bool line_stands_in_the_way(int rc) {
    return rc == ERR_SCHEMA || rc == ERR_EXISTS || rc == ERR_INTERNAL || rc == ERR_UNPROCESSABLE;
}

static int write_session_alone(struct signon *s, const struct session *row, const struct session_once *once, struct err *err) {
    int rc = once ? replay_store_note(s->options.runtime->store, once->digest, once->until_ms, err) : 0;
    if (!rc)
        rc = session_store_insert(s->options.runtime->store, row, atomic_load(&s->sessions_max), err);
    if (!rc)
        metric_add(audit_store_lost(), 1);
    return rc;
}

static int write_session(struct signon *s, const struct session *row, const struct signon_new_session *wanted, struct err *err) {
    struct err why = {0};
    const struct session_once *once = wanted->once;
    const struct audit_record line = audit_record_now(wanted->line, 0);
    const struct session_opening opening = {
        .session = row, .line = &line, .once = once, .live_max = atomic_load(&s->sessions_max)};
    int rc = session_store_open(s->options.runtime->store, &opening, &why);
    if (rc == ERR_EXISTS && once) /* an id of a session never is there twice */
        return err_set(err, ERR_CREDENTIALS, "this credential was used before");
    if (line_stands_in_the_way(rc))
        return write_session_alone(s, row, once, err);
    return err_move(err, rc, &why);
}

int signon_check_pace(struct signon *s, const struct principal *who, struct audit_record *line, struct err *err) {
    const unsigned per_s = atomic_load(&s->per_s);
    const struct throttle_pace pace = {.burst = (int64_t)SIGNON_BURST_S * per_s, .every_ms = per_s ? 1000 / per_s : 0};
    struct throttle_key key = {.kind = 'g'};
    _cleanup_free_ char *name = NULL;
    int64_t wait_ms;
    if (!per_s)
        return 0;
    key.name = name = principal_account(who);
    if (!name)
        return err_set(err, ERR_NOMEM, "out of memory");
    wait_ms = throttle_take(s->pace, &key, &pace);
    if (!wait_ms)
        return 0;
    line->event.reason = "more sign-ons than auth.signon_rate allows";
    (void)err_set(err, ERR_TOO_MANY, "you have signed on too many times within a short while; wait before the next one");
    (void)err_remedy(err, "use the token for further requests and refresh it, instead of signing on for each");
    if (err)
        err->retry_after_s = (unsigned)((wait_ms + 999) / 1000);
    return ERR_TOO_MANY;
}

static void count_signon(const struct audit_record *line, const char *result) {
    metric_add(metric_get(METRIC_SIGNONS, line->event.source, result), 1);
}

/* First the database, then memory, then the token: nobody holds a token of a session that does not exist. A session that gets no token
 * is ended again. */
int signon_open_session(struct signon *s, const struct signon_new_session *wanted, struct signon_issued *out, struct err *err) {
    struct session *row = NULL;
    char sid[sizeof(row->sid)];
    unsigned told;
    int rc = signon_check_pace(s, wanted->who, wanted->line, err);
    uuid_new(sid);
    if (!rc)
        rc = sessions_make_row(wanted, sid, &row, err);
    told = atomic_load(told_of(s, sid));
    if (!rc)
        rc = write_session(s, row, wanted, err);
    if (rc) {
        session_free(row);
        return rc;
    }
    rc = enter_session(s, row, told, wanted, out, err);
    if (!rc && wanted->look_again)
        rc = wanted->look_again(s, wanted->look_again_arg, err);
    if (!rc)
        count_signon(wanted->line, "ok");
    if (rc) {
        signon_issued_done(out);
        session_table_remove(s->table, sid);
        (void)session_store_revoke(s->options.runtime->store, sid, clock_wall_ms(), NULL, NULL);
    }
    return rc;
}

/* A party may have so many lines of its own, and all together: refusals cost those who cause them nothing. */
static bool has_line(struct signon *s, const char *address) {
    static const struct throttle_pace own_pace = {50, 2000}, all_pace = {1000, 100};
    static const struct throttle_key all = {.kind = 'L'};
    const struct throttle_key own = {.kind = 'l', .party = net_party(address)};
    if (throttle_pace_ms(s->throttle, &own, &own_pace) || throttle_pace_ms(s->throttle, &all, &all_pace))
        return false;
    throttle_spend(s->throttle, &own, &own_pace);
    throttle_spend(s->throttle, &all, &all_pace);
    return true;
}

/* The audit log must not stand in the way of the thing it describes: what cannot be written is counted. Attempts that come too fast are noted, without a
 * transaction for each. */
void signon_audit(struct signon *s, const struct audit_record *line, int rc) {
    const struct audit_record now = audit_record_now(line, rc);
    if (rc && str_eq(now.event.action, "login"))
        count_signon(&now, err_slug(rc));
    if (rc == ERR_TOO_MANY || (rc && !has_line(s, now.event.address)))
        audit_store_note(s->options.runtime->store, &now.event);
    else
        audit_store_append_outcome(s->options.runtime->store, line, rc, NULL);
}

int signon_write_end(struct signon *s, const char *sid, const struct audit_record *line, int result, struct err *err) {
    const struct audit_record ended = audit_record_now(line, result);
    struct err why = {0};
    int rc = session_store_revoke(s->options.runtime->store, sid, ended.at_ms, &ended, &why);
    if (line_stands_in_the_way(rc)) {
        metric_add(audit_store_lost(), 1);
        return session_store_revoke(s->options.runtime->store, sid, ended.at_ms, NULL, err);
    }
    if (rc)
        signon_audit(s, line, result ? result : rc);
    return err_move(err, rc, &why);
}

/* There is no row any more. */
static void end_in_memory(struct signon *s, const char *sid) {
    _cleanup_(live_session_unref) struct live_session *gone = session_table_find(s->table, sid);
    if (gone)
        live_session_revoke(gone, clock_wall_ms()); /* for who holds it */
    session_table_remove(s->table, sid);
}

static int sessions_reload_locked(struct signon *s, const char *sid, struct session **row, struct live_session **live,
                                  struct err *err) {
    int rc = session_store_load(s->options.runtime->store, sid, row, err);
    if (!rc)
        return follow_row(s, *row, live, err);
    if (rc != ERR_NOT_FOUND)
        return rc;
    end_in_memory(s, sid);
    return 0;
}

int signon_reload_session(struct signon *s, const char *sid, struct session **row, struct live_session **live, struct err *err) {
    pthread_mutex_t *lock = &s->reload_locks[stripe_of(sid)];
    struct session *found = NULL;
    struct live_session *kept = NULL;
    struct err why = {0};
    unsigned told;
    int rc;
    (void)pthread_mutex_lock(lock);
    do {
        session_free(STEAL(found));
        live_session_unref(STEAL(kept));
        told = atomic_load(told_of(s, sid));
        rc = sessions_reload_locked(s, sid, &found, &kept, &why);
    } while (!rc && told != atomic_load(told_of(s, sid)));
    (void)pthread_mutex_unlock(lock);
    *row = found;
    *live = kept;
    return err_move(err, rc, &why);
}

int signon_apply_session_change(struct signon *s, const char *sid, struct err *err) {
    _cleanup_(session_free) struct session *row = NULL;
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    (void)atomic_fetch_add(told_of(s, sid), 1);
    return signon_reload_session(s, sid, &row, &live, err);
}

static int sessions_reload_some_locked(struct signon *s, const char *const *sids, size_t count, struct err *err) {
    _cleanup_session_list_ struct session_list rows = {0};
    int first = session_store_load_some(s->options.runtime->store, sids, count, &rows, err);
    for (size_t i = 0; !first && i < count; i++)
        if (!find_listed(&rows, sids[i]))
            end_in_memory(s, sids[i]);
    for (size_t i = 0; i < rows.count; i++) {
        _cleanup_(live_session_unref) struct live_session *live = NULL;
        int rc = follow_row(s, &rows.items[i], &live, err);
        first = first ? first : rc;
    }
    return first;
}

static unsigned count_told(struct signon *s) {
    unsigned sum = 0;
    for (size_t i = 0; i < SIGNON_STRIPES; i++)
        sum += atomic_load(&s->told[i]);
    return sum;
}

/* As signon_reload_session, of up to SESSION_LOAD_MAX. They are of most stripes, so all are locked, always in this order. */
static int sessions_reload_some(struct signon *s, const char *const *sids, size_t count, struct err *err) {
    unsigned told;
    int rc;
    for (size_t i = 0; i < SIGNON_STRIPES; i++)
        (void)pthread_mutex_lock(&s->reload_locks[i]);
    do {
        told = count_told(s);
        rc = sessions_reload_some_locked(s, sids, count, err);
    } while (!rc && told != count_told(s));
    for (size_t i = 0; i < SIGNON_STRIPES; i++)
        (void)pthread_mutex_unlock(&s->reload_locks[i]);
    return rc;
}

static int sessions_apply_some(struct signon *s, const char *const *sids, size_t count, struct err *err) {
    struct err why = {0};
    int first;
    for (size_t i = 0; i < count; i++)
        (void)atomic_fetch_add(told_of(s, sids[i]), 1);
    first = sessions_reload_some(s, sids, count, &why);
    if (!first || first == ERR_DATABASE || first == ERR_BUSY)
        return err_move(err, first, &why);
    first = 0; /* a row that cannot be read, or that memory has no room for, keeps no other one out */
    for (size_t i = 0; i < count; i++) {
        int rc = signon_apply_session_change(s, sids[i], err);
        first = first ? first : rc;
    }
    return first;
}

static int sessions_compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int signon_apply_session_changes(struct signon *s, const char **sids, size_t count, struct err *err) {
    size_t unique = 0;
    int first = 0;
    if (count)
        qsort(sids, count, sizeof(*sids), sessions_compare_texts);
    for (size_t i = 0; i < count; i++)
        if (!unique || !str_eq(sids[i], sids[unique - 1]))
            sids[unique++] = sids[i];
    for (size_t at = 0, n; at < unique; at += n) {
        n = unique - at < SESSION_LOAD_MAX ? unique - at : SESSION_LOAD_MAX;
        int rc = sessions_apply_some(s, sids + at, n, err);
        first = first ? first : rc;
    }
    return first;
}

int signon_logout(struct signon *s, const struct actor *actor, const char *sid, struct err *err) {
    struct live_session *live = session_table_find(s->table, sid);
    if (!live)
        return session_store_revoke(s->options.runtime->store, sid, clock_wall_ms(), NULL, err);
    const struct audit_record line = signon_make_line(actor, live_session_who(live), &(struct audit_event){.action = "logout"});
    int rc = signon_write_end(s, sid, &line, 0, err);
    if (!rc)
        live_session_revoke(live, clock_wall_ms());
    live_session_unref(live);
    return rc;
}

/* -- as administrators see them ---------------------------------------------------------------------------------------- */

void signon_handle_of(const char *sid, char out[SIGNON_HANDLE_BYTES]) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(sid, strlen(sid), digest);
    str_hex(digest, (SIGNON_HANDLE_BYTES - 1) / 2, out);
}

int signon_list_sessions(struct signon *s, const struct session_query *query, struct session_list *out, struct err *err) {
    int rc = session_store_list(s->options.runtime->store, query, out, err);
    for (size_t i = 0; !rc && i < out->count; i++) {
        struct principal *who = &out->items[i].who;
        const enum role mapped = signon_map_role_of(s, who, &out->items[i].groups);
        who->role = mapped > who->role ? mapped : who->role;
    }
    return rc;
}

/* The name as the vCenter spells it, if the person is signed in; else as the principal's id has it, in lower case. Caller frees. */
static char *vc_user_of(struct signon *s, const char *principal_id, const char *folded) {
    size_t count = 0;
    struct live_session **known = session_table_list(s->table, principal_id, &count);
    char *name = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!name && live_session_who(known[i])->vc_user)
            name = str_dup(live_session_who(known[i])->vc_user);
        live_session_unref(known[i]);
    }
    free(known);
    return name ? name : str_dup(folded);
}

int signon_lookup_rights(struct signon *s, const char *vcenter_id, const char *principal_id, struct object_set *out,
                         struct err *err) {
    const char *colon = str_starts(principal_id, "vc:") ? strchr(principal_id + 3, ':') : NULL;
    _cleanup_free_ char *name = NULL;
    if (!colon || !colon[1])
        return err_set(err, ERR_NOT_FOUND, "\"%.100s\" is no principal of a vCenter", principal_id);
    name = vc_user_of(s, principal_id, colon + 1);
    return name ? signon_ask_rights(&s->asker, vcenter_id, NULL, name, out, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* -- further vCenters of somebody's sessions ----------------------------------------------------------------------------------- */

struct linked_list {
    struct signon_linked *items;
    size_t count;
};

static void take_linked(struct signon *s, const struct live_part *part, struct linked_list *list) {
    const char *vcenter_id = rights_subject_vcenter(part->subject);
    struct signon_linked *slot = NULL;
    struct rights_known known;
    enum signon_part_state state;
    for (size_t i = 0; !slot && i < list->count; i++)
        if (str_eq_nocase(list->items[i].vcenter_id, vcenter_id))
            slot = &list->items[i];
    if (!slot && list->count < SIGNON_LINKED_MAX) {
        slot = &list->items[list->count++];
        *slot = (struct signon_linked){0};
        (void)snprintf(slot->vcenter_id, sizeof(slot->vcenter_id), "%s", vcenter_id);
    }
    if (!slot || slot->objects)
        return;
    rights_subject_read(part->subject, false, &known);
    state = signon_judge(s, &known, false);
    if (state == SIGNON_PART_FRESH || state == SIGNON_PART_AGING)
        slot->objects = known.objects;
    else
        shared_objects_unref(known.objects);
}

size_t signon_get_linked(struct signon *s, const char *principal_id, struct signon_linked out[SIGNON_LINKED_MAX]) {
    struct linked_list list = {.items = out};
    const int64_t now_ms = clock_wall_ms();
    size_t count = 0;
    struct live_session **known = session_table_list(s->table, principal_id, &count);
    for (size_t i = 0; i < count; i++) {
        struct live_part parts[SESSION_VCENTERS_MAX];
        const size_t parts_count = live_session_has_ended(known[i], now_ms) ? 0 : live_session_parts(known[i], parts);
        for (size_t k = 0; k < parts_count; k++) {
            if (!parts[k].is_first)
                take_linked(s, &parts[k], &list);
            live_part_done(&parts[k]);
        }
        live_session_unref(known[i]);
    }
    free(known);
    return list.count;
}

void signon_linked_done(struct signon_linked *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        shared_objects_unref(items[i].objects);
}

/* -- somebody who is signed in ---------------------------------------------------------------------------------------------- */

/* The database has a rule of its own for case, by which more may be one name. */
static bool is_called(const struct principal *who, const char *principal) {
    return str_eq(who->id, principal) || name_same(who->name, principal);
}

int signon_find_known(struct signon *s, const char *principal, struct session *out, struct err *err) {
    const struct session_query query = {.now_ms = clock_wall_ms(), .principal = principal, .limit = KNOWN_MAX};
    _cleanup_session_list_ struct session_list list = {0};
    struct session *newest = NULL;
    int rc = signon_list_sessions(s, &query, &list, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < list.count; i++)
        if (is_called(&list.items[i].who, principal) && (!newest || list.items[i].created_at_ms > newest->created_at_ms))
            newest = &list.items[i];
    if (!newest)
        return err_set(err, ERR_NOT_FOUND, "\"%.100s\" is not signed in", principal);
    *out = *newest;
    *newest = (struct session){0};
    return 0;
}

/* -- ending ---------------------------------------------------------------------------------------------------------------- */

int signon_end_session(struct signon *s, const struct actor *actor, const char *handle, struct err *err) {
    const struct session_query query = {.now_ms = clock_wall_ms(), .handle = handle, .limit = 1};
    _cleanup_session_list_ struct session_list list = {0};
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    struct audit_record line;
    int rc = session_store_list(s->options.runtime->store, &query, &list, err);
    if (rc)
        return rc;
    if (!list.count)
        return err_set(err, ERR_NOT_FOUND, "there is no such session; it may have ended");
    line = audit_record_make(actor, &(struct audit_event){.action = "session.end",
                                                          .object_kind = "principal",
                                                          .object_id = list.items[0].who.id,
                                                          .object_name = list.items[0].who.name});
    line.event.source = NULL; /* this action has never told it */
    rc = signon_write_end(s, list.items[0].sid, &line, 0, err);
    if (rc)
        return rc;
    live = session_table_find(s->table, list.items[0].sid);
    if (live)
        live_session_revoke(live, clock_wall_ms());
    return 0;
}

/* What a record of a local user says counts for the sessions that are under way too. */
int signon_apply_user_change(struct signon *s, const char *user_id, struct err *err) {
    _cleanup_free_ char *principal_id = str_format("local:%s", user_id);
    size_t count = 0;
    struct live_session **known;
    int rc;
    signon_tell_all(s);
    known = principal_id ? session_table_list(s->table, principal_id, &count) : NULL;
    rc = known ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (!rc)
            rc = signon_apply_session_change(s, live_session_sid(known[i]), err);
        live_session_unref(known[i]);
    }
    free(known);
    return rc;
}

/* -- presented tokens ---------------------------------------------------------------------------------------------------- */

void signon_bearer_done(struct signon_bearer *bearer) {
    if (!bearer)
        return;
    live_session_unref(bearer->session);
    memset(bearer, 0, sizeof(*bearer));
}

static int sessions_ended(struct err *err) {
    return err_set(err, ERR_SESSION_ENDED, "the session has ended; sign in again");
}

/* A token that is not the newest: the session may have moved on at another replica, so memory alone may not condemn it. */
static int judge_in_memory(struct live_session *live, const char *jti, struct err *err) {
    switch (live_session_judge(live, jti, clock_wall_ms())) {
    case SESSION_OK: return 0;
    case SESSION_REUSED: return err_set(err, ERR_NOT_FOUND, "the token is not the newest one of its session");
    case SESSION_ENDED:
    default: return sessions_ended(err);
    }
}

static void bearer_fill(struct signon_bearer *out, struct live_session *live, const struct token_claims *token) {
    out->session = live;
    memcpy(out->jti, token->jti, sizeof(out->jti));
    out->token_expires_at_ms = token->exp_s * 1000;
}

static const struct throttle_pace unknown_pace = {50, 100}, known_pace = {200, 20}, all_pace = {1000, 2};
static const struct throttle_key all_key = {.kind = 'a'};

struct bad_token_caller {
    struct signon *signon;
    uint64_t party;
    bool is_known; /* set by ask_bad_tokens */
};

static struct throttle_key sessions_key_of(const struct bad_token_caller *caller) {
    return (struct throttle_key){.kind = caller->is_known ? 'k' : 'u', .party = caller->party};
}

static int refuse_flood(int64_t wait_ms, struct err *err) {
    (void)err_set(err, ERR_TOO_MANY, "too many tokens that were not valid came from this address; wait before the next one");
    if (err)
        err->retry_after_s = (unsigned)((wait_ms + 999) / 1000);
    return ERR_TOO_MANY;
}

/* Whoever made up a token cannot know session and token ids of somebody who is signed in. */
static int ask_bad_tokens(void *arg, const struct token_claims *claims, struct err *err) {
    struct bad_token_caller *caller = arg;
    struct throttle *counts = caller->signon->bad_tokens;
    struct throttle_key key;
    int64_t wait_ms;
    _cleanup_(live_session_unref) struct live_session *live = session_table_find(caller->signon->table, claims->sid);
    caller->is_known = live && live_session_judge(live, claims->jti, clock_wall_ms()) == SESSION_OK;
    key = sessions_key_of(caller);
    wait_ms = throttle_pace_ms(counts, &key, caller->is_known ? &known_pace : &unknown_pace);
    if (!wait_ms && !caller->is_known)
        wait_ms = throttle_pace_ms(counts, &all_key, &all_pace);
    return wait_ms ? refuse_flood(wait_ms, err) : 0;
}

static void note_bad_token(void *arg) {
    const struct bad_token_caller *caller = arg;
    const struct throttle_key key = sessions_key_of(caller);
    throttle_spend(caller->signon->bad_tokens, &key, caller->is_known ? &known_pace : &unknown_pace);
    if (!caller->is_known)
        throttle_spend(caller->signon->bad_tokens, &all_key, &all_pace);
}

int signon_verify_from(struct signon *s, const char *address, const char *text, struct signon_bearer *out, struct err *err) {
    struct bad_token_caller caller = {.signon = s, .party = net_party(address)};
    const struct token_gate gate = {.ask = ask_bad_tokens, .on_failure = note_bad_token, .arg = &caller};
    const struct token_presented presented = {
        .text = text, .n = strlen(text), .now_s = clock_wall_s(), .gate = address ? &gate : NULL};
    struct token_claims token;
    struct live_session *live;
    int rc = token_verify_gated(s->tokens, &presented, &token, err);
    if (rc)
        return rc;
    live = session_table_find(s->table, token.sid);
    rc = live ? judge_in_memory(live, token.jti, err) : err_set(err, ERR_NOT_FOUND, "the session is not in memory");
    if (rc) {
        live_session_unref(live);
        return rc;
    }
    bearer_fill(out, live, &token);
    return 0;
}

/* Somebody used an old token: either the owner or a thief holds the newer one, and we cannot tell which. */
static int revoke_reused(struct signon *s, struct live_session *live, struct err *err) {
    const struct actor owner = {.principal = live_session_who(live)};
    const struct audit_record line = audit_record_make(&owner, &(struct audit_event){.action = "session.reuse"});
    live_session_revoke(live, clock_wall_ms()); /* here at once, even if the database is away */
    (void)signon_write_end(s, live_session_sid(live), &line, ERR_SESSION_ENDED, NULL);
    (void)err_set(err, ERR_SESSION_ENDED, "an old token of this session was used again, so the session was ended");
    return err_remedy(err, "sign in again; if that was not you, somebody had a copy of your token");
}

/* Judges by the row just read: a token newer than what memory knows would look reused. */
static int sessions_judge_row(struct signon *s, const struct session *row, struct live_session *live, const char *jti,
                              struct err *err) {
    if (!row || !live || live_session_has_ended(live, clock_wall_ms()))
        return sessions_ended(err);
    switch (session_judge(row, jti, clock_wall_ms())) {
    case SESSION_OK: return 0;
    case SESSION_REUSED: return revoke_reused(s, live, err);
    case SESSION_ENDED:
    default: return sessions_ended(err);
    }
}

int signon_verify_slow(struct signon *s, const char *text, struct signon_bearer *out, struct err *err) {
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    _cleanup_(session_free) struct session *row = NULL;
    struct token_claims token;
    int rc = token_verify(s->tokens, text, strlen(text), clock_wall_s(), &token, err);
    if (!rc)
        rc = signon_reload_session(s, token.sid, &row, &live, err);
    if (!rc)
        rc = sessions_judge_row(s, row, live, token.jti, err);
    if (!rc)
        bearer_fill(out, STEAL(live), &token);
    return rc;
}

/* Another caller with the same token was first: within the grace its successor is ours too. */
static int take_successor(struct signon *s, const char *sid, const char *jti, char *next, struct err *err) {
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    _cleanup_(session_free) struct session *row = NULL;
    int rc = signon_reload_session(s, sid, &row, &live, err);
    if (!rc)
        rc = sessions_judge_row(s, row, live, jti, err);
    if (!rc)
        memcpy(next, row->jti, sizeof(row->jti));
    return rc;
}

/* The presented token is the newest: exchange it. */
static int bearer_rotate(struct signon *s, const char *sid, const char *jti, char *next, struct err *err) {
    struct session_rotation rotation = {.sid = sid, .jti = jti, .new_jti = next, .now_ms = clock_wall_ms()};
    struct err lost = {0};
    int rc;
    uuid_new(next);
    rc = session_store_rotate(s->options.runtime->store, &rotation, &lost);
    if (rc == ERR_PRECONDITION)
        return take_successor(s, sid, jti, next, err);
    (void)err_move(err, rc, &lost);
    if (!rc) /* else the change feed, or the slow way of the next call, tells memory */
        (void)signon_apply_session_change(s, sid, NULL);
    return rc;
}

/* Repeating a refresh within the grace of the old token gives another token with the same jti, so that a lost answer costs nothing. */
int signon_refresh(struct signon *s, const char *sid, const char *jti, struct signon_issued *out, struct err *err) {
    _cleanup_(live_session_unref) struct live_session *live = NULL;
    _cleanup_(session_free) struct session *row = NULL;
    char next[UUID_TEXT_BYTES];
    int rc = signon_reload_session(s, sid, &row, &live, err);
    if (!rc)
        rc = sessions_judge_row(s, row, live, jti, err);
    if (!rc)
        rc = signon_check_refresh(s, live, err);
    if (!rc)
        rc = signon_check_person(s, live, err);
    if (rc)
        return rc;
    memcpy(next, row->jti, sizeof(next));
    if (str_eq(next, jti))
        rc = bearer_rotate(s, sid, jti, next, err);
    return rc ? rc : signon_issue(s, live, next, out, err);
}
