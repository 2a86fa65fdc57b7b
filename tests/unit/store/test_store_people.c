/* Users, grants and sessions against a real server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "audit_tx.h"
#include "change_store.h"
#include "code_store.h"
#include "digest.h"
#include "grant_store.h"
#include "platform_store.h"
#include "session_store.h"
#include "store_tx.h"
#include "str.h"
#include "user_store.h"
#include "vcenter_store.h"

#define VC FIXTURE_VC
#define VC_TWO "dddddddd-0a53-4a8e-8a54-2f1f9f3f6f10"
#define NOW_MS FIXTURE_NOW_MS

static struct store *store;
static struct change_positions positions;

static int set_up(void **state) {
    return fixture_begin(state, &store, &positions);
}

static int tear_down(void **state) {
    return fixture_end(state, store, &positions);
}

static int empty(void **state) {
    (void)state;
    fixture_exec("DELETE FROM sessions");
    fixture_exec("DELETE FROM grants");
    fixture_exec("DELETE FROM users");
    fixture_exec("DELETE FROM vcenters");
    (void)fixture_count_changes(store, &positions, CHANGE_CLUSTER);
    return 0;
}

static struct user make_user(unsigned n, const char *name) {
    return (struct user){.id = fixture_uuid(n),
                         .name = str_dup(name),
                         .role = ROLE_ADMIN,
                         .password_hash = str_dup("$y$hash"),
                         .must_change_password = true,
                         .created_at_ms = NOW_MS,
                         .updated_at_ms = NOW_MS};
}

static void drop_user(struct user *u) {
    free(u->id);
    free(u->name);
    free(u->full_name);
    free(u->password_hash);
}

static void test_users(void **state) {
    const struct user_change plain = {.audit = NULL};
    struct user admin = make_user(1, "Admin"), second = make_user(2, "aDMIN"), *read = NULL;
    struct user_list list = {0};
    struct err err = {0};
    int64_t version_no = 0;
    (void)state;
    ASSERT_OK(user_store_insert(store, &admin, NULL, &err), &err);
    assert_int_equal(user_store_insert(store, &second, NULL, &err), ERR_EXISTS);
    assert_string_equal(err.text, "a user named \"aDMIN\" exists already");
    err_clear(&err);
    free(second.name);
    second.name = str_dup("admin "); /* a blank makes another name */
    ASSERT_OK(user_store_insert(store, &second, NULL, &err), &err);
    ASSERT_OK(user_store_load_by_name(store, "ADMIN", &read, &err), &err);
    assert_string_equal(read->id, admin.id);
    assert_string_equal(read->name, "Admin");
    assert_string_equal(read->password_hash, "$y$hash");
    assert_int_equal(read->role, ROLE_ADMIN);
    assert_true(read->must_change_password);
    assert_false(read->is_disabled);
    free(read->password_hash);
    read->password_hash = NULL; /* leaves the stored one */
    read->is_disabled = true;
    read->must_change_password = false;
    read->role = ROLE_USER;
    read->full_name = str_dup("The \xC3\x84"
                              "dmin");
    ASSERT_OK(user_store_update(store, read, &plain, &version_no, &err), &err);
    ASSERT_CODE(user_store_update(store, read, &plain, &version_no, &err), ERR_PRECONDITION, &err);
    user_free(read);
    read = NULL;
    ASSERT_OK(user_store_load(store, admin.id, &read, &err), &err);
    assert_string_equal(read->password_hash, "$y$hash");
    assert_true(read->is_disabled);
    assert_int_equal(read->version_no, 2);
    assert_string_equal(read->full_name, "The \xC3\x84"
                                         "dmin");
    user_free(read);
    read = NULL;
    second.version_no = 1;
    free(second.name);
    second.name = str_dup("admiN");
    ASSERT_CODE(user_store_update(store, &second, &plain, &version_no, &err), ERR_EXISTS, &err);
    ASSERT_OK(user_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "Admin");
    assert_null(list.items[0].password_hash);
    user_list_done(&list);
    ASSERT_CODE(user_store_load_by_name(store, "nobody", &read, &err), ERR_NOT_FOUND, &err);
    ASSERT_CODE(user_store_load_by_name(store, "' OR '1'='1", &read, &err), ERR_NOT_FOUND, &err);
    drop_user(&admin);
    drop_user(&second);
}

static struct session make_session(unsigned n, const char *principal_id) {
    struct session s = {.who = {.id = str_dup(principal_id),
                                .name = str_dup("VSPHERE.LOCAL\\viewer-east"),
                                .role = ROLE_USER,
                                .source = SOURCE_VC_TICKET,
                                .vcenter_id = str_dup(VC),
                                .vc_user = str_dup("VSPHERE.LOCAL\\viewer-east")},
                        .created_at_ms = NOW_MS,
                        .ends_at_ms = NOW_MS + 3600000};
    char *sid = fixture_uuid(n), *jti = fixture_uuid(n + 1000);
    memcpy(s.sid, sid, sizeof(s.sid));
    memcpy(s.jti, jti, sizeof(s.jti));
    free(sid);
    free(jti);
    return s;
}

static void insert_session(unsigned n, const char *principal_id) {
    struct session s = make_session(n, principal_id);
    struct err err = {0};
    ASSERT_OK(session_store_insert(store, &s, 0, &err), &err);
    session_done(&s);
}

static int open_session(const struct session *s, const struct audit_record *line, const struct session_once *once,
                        unsigned live_max, struct err *err) {
    const struct session_opening opening = {.session = s, .line = line, .once = once, .live_max = live_max};
    return session_store_open(store, &opening, err);
}

static struct session *load_session(unsigned n) {
    struct session *s = NULL;
    struct err err = {0};
    char *sid = fixture_uuid(n);
    ASSERT_OK(session_store_load(store, sid, &s, &err), &err);
    free(sid);
    return s;
}

#define LEAVER_CHANGES                                                                                                                \
    "SELECT COUNT(*) FROM change_log WHERE (kind = 'user' AND object_id LIKE '%0001') OR (kind = 'grant' AND object_id LIKE '%0020')" \
    " OR (kind = 'session' AND object_id LIKE '%0010')"

static void test_user_takes_grants_and_sessions_along(void **state) {
    struct user u = make_user(1, "leaver");
    const struct user_removal removal = {.id = u.id, .now_ms = NOW_MS + 9};
    char *principal = str_format("local:%s", u.id);
    struct err err = {0};
    (void)state;
    u.role = ROLE_USER;
    ASSERT_OK(user_store_insert(store, &u, NULL, &err), &err);
    insert_session(10, principal);
    insert_session(11, "svc:other");
    fixture_insert_vcenter(store, VC);
    fixture_exec("INSERT INTO hx_clusters (id, vcenter_id, moref, name, version_no, seen_at_ms)"
                 " VALUES ('aaaaaaaa-aaaa-4aaa-8aaa-000000000050', '" VC "', 'domain-c7', 'x', 1, 0)");
    struct grant g = {.id = fixture_uuid(20),
                      .principal_id = principal,
                      .object = GRANT_HX_CLUSTER,
                      .object_id = fixture_uuid(50),
                      .role = str_dup("viewer")};
    ASSERT_OK(grant_store_insert(store, &g, NOW_MS, NULL, &err), &err);
    int64_t before = fixture_number(LEAVER_CHANGES);
    ASSERT_OK(user_store_delete(store, &removal, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM grants"), 0);
    struct session *gone = load_session(10), *other = load_session(11);
    assert_int_equal(gone->revoked_at_ms, NOW_MS + 9);
    assert_int_equal(other->revoked_at_ms, 0);
    session_free(gone);
    session_free(other);
    assert_int_equal(fixture_number(LEAVER_CHANGES) - before, 3); /* user, grant and session */
    insert_session(12, principal);                                /* of a sign-on that was under way */
    gone = load_session(12);
    assert_true(gone->revoked_at_ms);
    session_free(gone);
    struct session_list active = {0};
    ASSERT_OK(session_store_list_active(store, NOW_MS, 1000, &active, &err), &err);
    assert_int_equal(active.count, 1);
    session_list_done(&active);
    ASSERT_CODE(user_store_delete(store, &removal, &err), ERR_NOT_FOUND, &err);
    drop_user(&u);
    grant_done(&g);
}

static void insert_grant(unsigned n, const char *principal, enum grant_object object, const char *object_id, int code) {
    struct grant g = {.id = fixture_uuid(n),
                      .principal_id = str_dup(principal),
                      .object = object,
                      .object_id = str_dup(object_id),
                      .role = str_dup("viewer")};
    struct err err = {0};
    ASSERT_CODE(grant_store_insert(store, &g, NOW_MS, NULL, &err), code, &err);
    grant_done(&g);
}

static void test_grants(void **state) {
    static const char vsphere[] = VC "/domain-c7";
    const struct platform_seen seen = {.vcenter_id = VC, .now_ms = NOW_MS};
    struct vsphere_cluster c = {.ref = {.vcenter_id = VC, .moref = "domain-c7"}, .name = str_dup("east")};
    struct grant_list list = {0};
    struct grant one;
    struct err err = {0};
    unsigned changed = 0;
    (void)state;
    fixture_insert_vcenter(store, VC);
    ASSERT_OK(platform_store_save_vsphere(store, &seen, &c, 1, &changed, &err), &err);
    vsphere_cluster_done(&c);
    insert_grant(1, "local:a", GRANT_VSPHERE_CLUSTER, vsphere, 0);
    insert_grant(2, "local:b", GRANT_VSPHERE_CLUSTER, vsphere, 0);
    insert_grant(3, "local:a", GRANT_VSPHERE_CLUSTER, vsphere, ERR_EXISTS);
    insert_grant(4, "local:a", GRANT_VSPHERE_CLUSTER, VC "/domain-c70", ERR_CONFLICT);
    insert_grant(5, "local:a", GRANT_VSPHERE_CLUSTER, "domain-c7", ERR_UNPROCESSABLE);
    insert_grant(5, "local:a", GRANT_VSPHERE_CLUSTER, VC "/", ERR_UNPROCESSABLE);
    insert_grant(6, "local:a", GRANT_CLUSTER, VC, ERR_CONFLICT);
    insert_grant(7, "local:a", GRANT_HX_CLUSTER, VC, ERR_CONFLICT);
    ASSERT_OK(grant_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].principal_id, "local:a");
    assert_string_equal(list.items[1].principal_id, "local:b");
    assert_string_equal(list.items[1].object_id, vsphere);
    assert_string_equal(list.items[1].role, "viewer");
    ASSERT_OK(grant_store_load(store, list.items[1].id, &one, &err), &err);
    assert_int_equal(one.object, GRANT_VSPHERE_CLUSTER);
    ASSERT_OK(grant_store_delete(store, one.id, NULL, &err), &err);
    ASSERT_CODE(grant_store_delete(store, one.id, NULL, &err), ERR_NOT_FOUND, &err);
    grant_done(&one);
    ASSERT_CODE(grant_store_load(store, list.items[1].id, &one, &err), ERR_NOT_FOUND, &err);
    grant_list_done(&list);
    ASSERT_OK(grant_store_list(store, &list, &err), &err);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].principal_id, "local:a");
    grant_list_done(&list);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_GRANT), 3);
    ASSERT_OK(vcenter_store_delete(store, VC, NOW_MS, NULL, &err), &err); /* takes what lies on it along */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM grants"), 0);
}

static struct audit_record make_line(const struct session *s, const char *reason) {
    return (struct audit_record){.at_ms = NOW_MS,
                                 .event = {.action = "login",
                                           .principal_id = s->who.id,
                                           .object_kind = "vcenter",
                                           .object_id = VC,
                                           .result = "ok",
                                           .reason = reason}};
}

#define CREDENTIAL_ENDS_MS INT64_C(1700000000000)

/* Its end and the line of it are written together, or neither is. */
static void test_end_with_its_line(void **state) {
    static const char lines[] = "SELECT COUNT(*) FROM audit WHERE reason = 'ended by the test'";
    struct session s = make_session(611, "sid:S-1-5-21-1-2-3-611");
    const struct audit_record line = make_line(&s, "ended by the test");
    struct err err = {0};
    (void)state;
    insert_session(611, s.who.id);
    ASSERT_OK(session_store_revoke(store, s.sid, NOW_MS, &line, &err), &err);
    assert_int_equal(fixture_number(lines), 1);
    ASSERT_CODE(session_store_revoke(store, VC, NOW_MS, &line, &err), ERR_NOT_FOUND, &err);
    assert_int_equal(fixture_number(lines), 1);
    session_done(&s);
}

/* A credential works once, whoever notes it: with a session, or by itself. */
static void test_credential_that_works_once(void **state) {
    const uint8_t digests[3][REPLAY_DIGEST_BYTES] = {{1}, {2}, {3}};
    struct session_once once = {.digest = digests[0], .until_ms = CREDENTIAL_ENDS_MS + 1000};
    struct session first = make_session(601, "sid:S-1-5-21-1-2-3-600"), second = make_session(602, "sid:S-1-5-21-1-2-3-600");
    const struct audit_record line = make_line(&first, NULL);
    unsigned long deleted = 0;
    struct err err = {0};
    (void)state;
    ASSERT_OK(open_session(&first, &line, &once, 0, &err), &err);
    ASSERT_CODE(open_session(&second, &line, &once, 0, &err), ERR_EXISTS, &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE principal_id = 'sid:S-1-5-21-1-2-3-600'"), 1);
    ASSERT_CODE(replay_store_note(store, digests[0], CREDENTIAL_ENDS_MS, &err), ERR_EXISTS, &err);
    ASSERT_OK(replay_store_note(store, digests[1], CREDENTIAL_ENDS_MS + 2000, &err), &err);
    once.digest = digests[1];
    ASSERT_CODE(open_session(&second, &line, &once, 0, &err), ERR_EXISTS, &err);
    once = (struct session_once){.digest = digests[2], .until_ms = CREDENTIAL_ENDS_MS + 3000};
    ASSERT_OK(open_session(&second, &line, &once, 0, &err), &err);
    ASSERT_OK(replay_store_purge(store, CREDENTIAL_ENDS_MS + 2500, 1, &deleted, &err), &err);
    assert_int_equal(deleted, 1); /* the oldest */
    ASSERT_OK(replay_store_purge(store, CREDENTIAL_ENDS_MS + 2500, 10, &deleted, &err), &err);
    assert_int_equal(deleted, 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM used_proofs"), 1);
    session_done(&first);
    session_done(&second);
}

/* Session, line of the audit log and change: all or none, numbered without a gap. */
static void test_session_with_its_line(void **state) {
    struct session *read = NULL;
    struct err err = {0};
    (void)state;
    for (unsigned n = 501; n < 505; n++) {
        struct session s = make_session(n, "vc:x:o'brien\\");
        const struct audit_record line = make_line(&s, n % 2 ? NULL : "why ' not \\");
        if (n % 2)
            s.who.full_name = str_dup("Zo\u00eb O'Brien");
        ASSERT_OK(open_session(&s, &line, NULL, 0, &err), &err);
        ASSERT_CODE(open_session(&s, &line, NULL, 0, &err), ERR_EXISTS, &err);
        read = load_session(n);
        assert_string_equal(read->who.id, s.who.id);
        assert_true(str_eq(read->who.full_name, s.who.full_name));
        assert_string_equal(read->jti, s.jti);
        assert_int_equal(read->ends_at_ms, s.ends_at_ms);
        session_free(read);
        session_done(&s);
    }
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_SESSION), 4);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE principal_id = 'vc:x:o''brien\\\\'"), 4);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE reason = 'why '' not \\\\'"), 2);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit a JOIN replicas r ON r.id = a.replica_id"
                                    " WHERE a.principal_id LIKE 'vc:x:o%' AND a.seq > r.audit_seq - 4"),
                     4);
}

/* -- as many as a principal may have ------------------------------------------------------------------------------------------------ */

#define SO_MANY 3U

/* The n-th session of somebody, a moment after the one before. */
static void open_next(unsigned n, const char *principal_id, const char *acting_id) {
    struct session s = make_session(n, principal_id);
    const struct audit_record line = make_line(&s, NULL);
    struct err err = {0};
    s.created_at_ms += n;
    s.who.acting_id = str_dup(acting_id);
    ASSERT_OK(open_session(&s, &line, NULL, SO_MANY, &err), &err);
    session_done(&s);
}

static void assert_live(unsigned n, bool is_live) {
    struct session *s = load_session(n);
    if (!s->revoked_at_ms != is_live)
        fail_msg("session %u: revoked at %lld", n, (long long)s->revoked_at_ms);
    session_free(s);
}

static void test_one_more_ends_the_one_used_longest_ago(void **state) {
    (void)state;
    open_next(701, "vc:x:other", NULL);
    for (unsigned n = 702; n < 702 + SO_MANY; n++)
        open_next(n, "vc:x:many", NULL);
    fixture_exec("UPDATE sessions SET rotated_at_ms = created_at_ms + 3000 WHERE sid LIKE '%702'"); /* a token was made for it */
    (void)fixture_count_changes(store, &positions, CHANGE_SESSION);
    open_next(705, "vc:x:many", NULL);
    assert_live(703, false);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_SESSION), 2); /* of both */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'session.end' AND principal_id = 'vc:x:many'"
                                    " AND source = 'vcenter-ticket' AND result = 'session_ended' AND object_id IS NULL"
                                    " AND reason LIKE 'signed in again with 3 sessions under way%'"),
                     1);
    open_next(706, "vc:x:many", NULL);
    assert_live(704, false);
    assert_live(701, true);
    assert_live(702, true);
    assert_live(705, true);
    fixture_exec("UPDATE sessions SET ends_at_ms = created_at_ms WHERE sid LIKE '%705'"); /* over: it takes no room */
    open_next(707, "vc:x:many", NULL);
    assert_live(702, true);
    assert_live(706, true);
}

/* A program cannot end the sessions that a person has opened, nor those of another program. */
static void test_sessions_through_programs_are_counted_apart(void **state) {
    (void)state;
    for (unsigned n = 711; n < 711 + SO_MANY; n++) {
        open_next(n, "vc:x:anna", NULL);
        open_next(n + 10, "vc:x:anna", "svc:one");
        open_next(n + 20, "vc:x:anna", "svc:two");
    }
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE revoked_at_ms > 0"), 0);
    insert_session(741, "vc:x:anna");
    fixture_exec("UPDATE sessions SET source = 'local', way = 'vcenter-key' WHERE sid LIKE '%741'"); /* which anybody may name */
    fixture_exec("UPDATE sessions SET created_at_ms = created_at_ms - 1 WHERE sid LIKE '%741'");
    open_next(724, "vc:x:anna", "svc:one");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE revoked_at_ms > 0"), 1);
    assert_live(721, false);
    open_next(714, "vc:x:anna", NULL);
    assert_live(711, false);
    assert_live(741, true);
}

/* A smaller number than before: all that are too many end. */
static void test_a_smaller_number_ends_all_that_are_too_many(void **state) {
    struct session s = make_session(739, "vc:x:many");
    struct err err = {0};
    (void)state;
    for (unsigned n = 731; n < 739; n++)
        insert_session(n, "vc:x:many");
    ASSERT_OK(session_store_insert(store, &s, SO_MANY, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE revoked_at_ms = 0"), SO_MANY);
    session_done(&s);
}

/* Three rows of one statement, the third of `last`. */
struct three {
    const char *last;
    int rc;
};

static int write_three(struct store_tx *tx, void *arg, struct err *err) {
    struct three *call = arg;
    struct session made[3];
    struct audit_record lines[3];
    struct session_new rows[3];
    for (unsigned i = 0; i < 3; i++) {
        made[i] = make_session(800 + i, i == 2 ? call->last : "vc:x:crowd");
        lines[i] = make_line(&made[i], NULL);
        rows[i] = (struct session_new){.opening = {.session = &made[i], .line = &lines[i], .live_max = 2}};
    }
    call->rc = session_rows_write(tx, rows, 3, false, err);
    for (unsigned i = 0; i < 3; i++)
        session_done(&made[i]);
    return 0;
}

static void test_those_of_one_statement_count_together(void **state) {
    struct three alike = {.last = "vc:x:crowd"}, unlike = {.last = "vc:x:other"};
    struct err err = {0};
    (void)state;
    ASSERT_OK(audit_store_settle(store, &err), &err);
    ASSERT_OK(store_tx(store, write_three, &alike, &err), &err);
    assert_int_equal(alike.rc, SESSION_ROWS_FULL);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions"), 0);
    ASSERT_OK(store_tx(store, write_three, &unlike, &err), &err);
    assert_int_equal(unlike.rc, 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions"), 3);
}

static atomic_uint next_session;

/* Two principals take turns, in transactions that hold sessions of both. */
static void *open_many(void *arg) {
    (void)arg;
    store_thread_begin();
    for (unsigned i = 0; i < 50; i++) {
        const unsigned n = atomic_fetch_add(&next_session, 1);
        struct session s = make_session(n, n % 2 ? "vc:x:crowd" : "vc:x:queue");
        const struct audit_record line = make_line(&s, "crowd");
        struct err err = {0};
        ASSERT_OK(open_session(&s, &line, NULL, SO_MANY, &err), &err);
        session_done(&s);
    }
    store_thread_end();
    return NULL;
}

static void test_many_at_once_are_not_more(void **state) {
    pthread_t threads[8];
    (void)state;
    atomic_store(&next_session, 2000);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_many, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    open_next(2998, "vc:x:queue", NULL); /* none is under way with these */
    open_next(2999, "vc:x:crowd", NULL);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions"), 402);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions WHERE revoked_at_ms = 0"), 2 * SO_MANY);
    assert_int_equal(
        fixture_number(
            "SELECT COUNT(*) FROM audit WHERE action = 'session.end' AND principal_id IN ('vc:x:crowd', 'vc:x:queue')"),
        402 - 2 * SO_MANY);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'login' AND reason = 'crowd'"), 400);
}

/* -- lists of them ------------------------------------------------------------------------------------------------------------------- */

static void test_the_first_ones_to_be_loaded(void **state) {
    struct session_list list = {0};
    struct err err = {0};
    (void)state;
    for (unsigned n = 741; n < 746; n++)
        insert_session(n, "vc:x:viewer");
    fixture_exec("UPDATE sessions SET created_at_ms = created_at_ms + 1 WHERE sid LIKE '%743'");
    fixture_exec("UPDATE sessions SET rotated_at_ms = created_at_ms + 2 WHERE sid LIKE '%741'");
    fixture_exec("UPDATE sessions SET created_at_ms = created_at_ms - 1, role = 'admin' WHERE sid LIKE '%745'");
    ASSERT_OK(session_store_list_active(store, NOW_MS, 3, &list, &err), &err);
    assert_int_equal(list.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        char *sid = fixture_uuid(741 + 2 * i);
        assert_string_equal(list.items[i].sid, sid);
        free(sid);
    }
    session_list_done(&list);
}

static size_t count_listed(struct session_query query) {
    struct session_list list = {0};
    struct err err = {0};
    size_t count;
    query.now_ms = NOW_MS;
    query.limit = query.limit ? query.limit : 100;
    ASSERT_OK(session_store_list(store, &query, &list, &err), &err);
    count = list.count;
    session_list_done(&list);
    return count;
}

static void handle_of(const char *sid, char out[SESSION_HANDLE_BYTES]) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(sid, strlen(sid), digest);
    str_hex(digest, (SESSION_HANDLE_BYTES - 1) / 2, out);
}

/* Reads on behind the last one of the page before, as clients do. */
static void test_pages_of_sessions(void **state) {
    char name[100] = "", handle[SESSION_HANDLE_BYTES] = "", next[SESSION_HANDLE_BYTES];
    struct session_query query = {.now_ms = NOW_MS, .limit = 1};
    size_t seen = 0;
    (void)state;
    for (unsigned n = 751; n < 756; n++)
        insert_session(n, n < 753 ? "vc:x:anna" : "vc:x:bert");
    insert_session(756, "local:nobody"); /* there is no such user any more */
    fixture_exec("UPDATE sessions SET principal_name = 'X\\\\Bert' WHERE principal_id = 'vc:x:bert'");
    fixture_exec("UPDATE sessions SET revoked_at_ms = 1 WHERE sid LIKE '%755'");
    for (bool is_over = false; !is_over; query.after_name = name, query.after_handle = handle) {
        struct session_list list = {0};
        struct err err = {0};
        ASSERT_OK(session_store_list(store, &query, &list, &err), &err);
        is_over = !list.count;
        if (!is_over) {
            const int order = strcmp(name, list.items[0].who.name);
            handle_of(list.items[0].sid, next);
            assert_true(order < 0 || (!order && strcmp(handle, next) < 0));
            (void)snprintf(name, sizeof(name), "%s", list.items[0].who.name);
            memcpy(handle, next, sizeof(handle));
            seen++;
        }
        session_list_done(&list);
    }
    assert_int_equal(seen, 4);
    assert_int_equal(count_listed((struct session_query){.handle = handle}), 1);
    assert_int_equal(count_listed((struct session_query){.handle = "0123456789abcdef"}), 0);
    assert_int_equal(count_listed((struct session_query){.principal = "vc:x:bert"}), 2);
    assert_int_equal(count_listed((struct session_query){.principal = "x\\bERT"}), 2);
    assert_int_equal(count_listed((struct session_query){.principal = "nobody"}), 0);
}

static void test_sessions(void **state) {
    struct session s = make_session(1, "vc:x:viewer"), *read = NULL;
    struct session_list list = {0};
    struct err err = {0};
    (void)state;
    s.who.vc_session_key = str_dup("52aa-key");
    ASSERT_OK(session_store_insert(store, &s, 0, &err), &err);
    ASSERT_CODE(session_store_insert(store, &s, 0, &err), ERR_EXISTS, &err);
    read = load_session(1);
    assert_string_equal(read->sid, s.sid);
    assert_string_equal(read->jti, s.jti);
    assert_string_equal(read->old_jti, "");
    assert_string_equal(read->who.id, "vc:x:viewer");
    assert_string_equal(read->who.name, s.who.name);
    assert_null(read->who.full_name);
    assert_string_equal(read->who.vcenter_id, VC);
    assert_string_equal(read->who.vc_user, s.who.vc_user);
    assert_string_equal(read->who.vc_session_key, "52aa-key");
    assert_int_equal(read->who.role, ROLE_USER);
    assert_int_equal(read->who.source, SOURCE_VC_TICKET);
    assert_int_equal(read->ends_at_ms, s.ends_at_ms);
    session_free(read);
    insert_session(2, "vc:x:viewer");
    insert_session(3, "vc:x:other");
    ASSERT_OK(session_store_list_active(store, NOW_MS, 1000, &list, &err), &err);
    assert_int_equal(list.count, 3);
    session_list_done(&list);
    ASSERT_OK(session_store_revoke(store, s.sid, NOW_MS + 1, NULL, &err), &err);
    ASSERT_OK(session_store_revoke(store, s.sid, NOW_MS + 2, NULL, &err), &err);
    read = load_session(1);
    assert_int_equal(read->revoked_at_ms, NOW_MS + 1);
    session_free(read);
    read = load_session(2);
    ASSERT_OK(session_store_revoke(store, read->sid, NOW_MS + 3, NULL, &err), &err);
    session_free(read);
    ASSERT_OK(session_store_list_active(store, NOW_MS, 1000, &list, &err), &err);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].who.id, "vc:x:other");
    session_list_done(&list);
    ASSERT_OK(session_store_list_active(store, s.ends_at_ms, 1000, &list, &err), &err);
    assert_int_equal(list.count, 0);
    session_list_done(&list);
    session_done(&s);
}

static void add_vcenter(const char *sid, const char *vcenter_id, int64_t ends_at_ms, int expected) {
    char user[] = "VSPHERE.LOCAL\\viewer-west", key[] = "52bb-key";
    struct session_vcenter v = {.source = SOURCE_VC_SESSION, .user_name = user, .session_key = key, .added_at_ms = NOW_MS + 5};
    const struct session_addition addition = {.sid = sid, .vcenter = &v, .ends_at_ms = ends_at_ms};
    struct err err = {0};
    (void)snprintf(v.vcenter_id, sizeof(v.vcenter_id), "%s", vcenter_id);
    ASSERT_CODE(session_store_add_vcenter(store, &addition, &err), expected, &err);
}

static void assert_loaded(const unsigned *numbers, size_t count, size_t there) {
    const char *sids[SESSION_LOAD_MAX];
    struct session_list list;
    struct err err = {0};
    for (size_t i = 0; i < count; i++)
        sids[i] = fixture_uuid(numbers[i]);
    ASSERT_OK(session_store_load_some(store, sids, count, &list, &err), &err);
    assert_int_equal(list.count, there);
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)sids[i]);
    for (size_t i = 1; i < list.count; i++)
        assert_true(strcmp(list.items[i - 1].sid, list.items[i].sid) < 0);
    for (size_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i].vcenters_count, i == 1);
    session_list_done(&list);
}

static void test_sessions_are_read_together(void **state) {
    char *sid = fixture_uuid(101);
    unsigned numbers[SESSION_LOAD_MAX];
    (void)state;
    fixture_insert_vcenter(store, VC_TWO);
    for (unsigned i = 0; i < SESSION_LOAD_MAX; i++) {
        numbers[SESSION_LOAD_MAX - 1 - i] = 100 + i; /* in another order */
        if (i < 60)
            insert_session(100 + i, "svc:many");
    }
    add_vcenter(sid, VC_TWO, NOW_MS + 3600000, 0);
    free(sid);
    assert_loaded(numbers, SESSION_LOAD_MAX, 60);
    assert_loaded((const unsigned[]){101, 100, 999}, 3, 2);
    assert_loaded((const unsigned[]){100}, 1, 1);
    assert_loaded((const unsigned[]){999}, 1, 0);
}

#define FURTHER "SELECT COUNT(*) FROM session_vcenters"

static void test_further_vcenters_of_sessions(void **state) {
    struct session s = make_session(1, "vc:x:viewer"), *read = NULL;
    struct session_list list = {0};
    struct err err = {0};
    int64_t before;
    unsigned long deleted = 0;
    (void)state;
    ASSERT_OK(session_store_insert(store, &s, 0, &err), &err);
    insert_session(2, "vc:x:other");
    before = fixture_number("SELECT COUNT(*) FROM change_log WHERE kind = 'session'");
    add_vcenter(s.sid, VC_TWO, s.ends_at_ms + 1, 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log WHERE kind = 'session'") - before, 1);
    add_vcenter(s.sid, VC_TWO, s.ends_at_ms - 1, 0); /* again: the newer credential stays */
    read = load_session(1);
    assert_int_equal(read->vcenters_count, 1);
    assert_string_equal(read->vcenters[0].vcenter_id, VC_TWO);
    assert_string_equal(read->vcenters[0].user_name, "VSPHERE.LOCAL\\viewer-west");
    assert_string_equal(read->vcenters[0].session_key, "52bb-key");
    assert_int_equal(read->vcenters[0].source, SOURCE_VC_SESSION);
    assert_int_equal(read->vcenters[0].added_at_ms, NOW_MS + 5);
    assert_int_equal(read->ends_at_ms, s.ends_at_ms - 1); /* the earliest end of all */
    session_free(read);
    ASSERT_OK(session_store_list_active(store, NOW_MS, 1000, &list, &err), &err);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].vcenters_count, 1);
    assert_int_equal(list.items[1].vcenters_count, 0);
    session_list_done(&list);
    ASSERT_OK(session_store_remove_vcenter(store, s.sid, VC_TWO, &err), &err);
    ASSERT_CODE(session_store_remove_vcenter(store, s.sid, VC_TWO, &err), ERR_NOT_FOUND, &err);
    for (unsigned i = 1; i < SESSION_VCENTERS_MAX; i++) {
        char *id = fixture_uuid(7000 + i);
        add_vcenter(s.sid, id, s.ends_at_ms, 0);
        free(id);
    }
    add_vcenter(s.sid, VC_TWO, s.ends_at_ms, ERR_CONFLICT);
    ASSERT_OK(session_store_revoke(store, s.sid, NOW_MS, NULL, &err), &err);
    add_vcenter(s.sid, VC_TWO, s.ends_at_ms, ERR_SESSION_ENDED);
    add_vcenter(VC_TWO, VC_TWO, s.ends_at_ms, ERR_SESSION_ENDED);
    assert_int_equal(fixture_number(FURTHER), SESSION_VCENTERS_MAX - 1);
    ASSERT_OK(session_store_purge(store, NOW_MS + 1, 100, &deleted, &err), &err);
    assert_int_equal(deleted, 1);
    assert_int_equal(fixture_number(FURTHER), 0);
    session_done(&s);
}

static void test_session_rotation(void **state) {
    struct session s = make_session(1, "local:a"), *read = NULL;
    struct session_rotation r = {
        .sid = s.sid, .jti = s.jti, .new_jti = "bbbbbbbb-bbbb-4bbb-8bbb-000000000001", .now_ms = NOW_MS + 5};
    struct err err = {0};
    (void)state;
    ASSERT_OK(session_store_insert(store, &s, 0, &err), &err);
    ASSERT_OK(session_store_rotate(store, &r, &err), &err);
    read = load_session(1);
    assert_string_equal(read->jti, r.new_jti);
    assert_string_equal(read->old_jti, s.jti);
    assert_int_equal(read->rotated_at_ms, NOW_MS + 5);
    session_free(read);
    ASSERT_CODE(session_store_rotate(store, &r, &err), ERR_PRECONDITION, &err);
    r.jti = r.new_jti;
    r.now_ms = s.ends_at_ms;
    ASSERT_CODE(session_store_rotate(store, &r, &err), ERR_SESSION_ENDED, &err);
    r.now_ms = NOW_MS + 6;
    ASSERT_OK(session_store_revoke(store, s.sid, NOW_MS, NULL, &err), &err);
    ASSERT_CODE(session_store_rotate(store, &r, &err), ERR_SESSION_ENDED, &err);
    r.sid = VC;
    ASSERT_CODE(session_store_rotate(store, &r, &err), ERR_SESSION_ENDED, &err);
    ASSERT_CODE(session_store_revoke(store, VC, NOW_MS, NULL, &err), ERR_NOT_FOUND, &err);
    session_done(&s);
}

static struct session rotating;
static atomic_uint winners, losers;

static void *rotate_at_once(void *arg) {
    const struct session_rotation r = {.sid = rotating.sid, .jti = rotating.jti, .new_jti = arg, .now_ms = NOW_MS};
    struct err err = {0};
    store_thread_begin();
    int rc = session_store_rotate(store, &r, &err);
    winners += rc == 0;
    losers += rc == ERR_PRECONDITION;
    store_thread_end();
    return NULL;
}

static void test_one_refresh_wins(void **state) {
    static char jtis[6][40];
    pthread_t threads[6];
    struct err err = {0};
    (void)state;
    rotating = make_session(1, "local:a");
    winners = losers = 0;
    ASSERT_OK(session_store_insert(store, &rotating, 0, &err), &err);
    for (size_t i = 0; i < UNIT_COUNT(threads); i++) {
        (void)snprintf(jtis[i], sizeof(jtis[i]), "cccccccc-cccc-4ccc-8ccc-00000000000%zu", i);
        assert_int_equal(pthread_create(&threads[i], NULL, rotate_at_once, jtis[i]), 0);
    }
    for (size_t i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(winners, 1);
    assert_int_equal(losers, 5);
    session_done(&rotating);
}

static void test_sessions_end_with_their_vcenter(void **state) {
    struct err err = {0};
    (void)state;
    fixture_insert_vcenter(store, VC);
    insert_session(1, "vc:a:b");
    (void)fixture_count_changes(store, &positions, CHANGE_SESSION);
    ASSERT_OK(vcenter_store_delete(store, VC, NOW_MS + 4, NULL, &err), &err);
    struct session *s = load_session(1);
    assert_int_equal(s->revoked_at_ms, NOW_MS + 4);
    session_free(s);
    assert_int_equal(fixture_count_changes(store, &positions, CHANGE_SESSION), 1);
}

static void test_session_purge(void **state) {
    struct err err = {0};
    unsigned long deleted = 0;
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        insert_session(i, "local:a");
    fixture_exec("UPDATE sessions SET ends_at_ms = 1000 WHERE sid LIKE '%1'");
    fixture_exec("UPDATE sessions SET revoked_at_ms = 1000 WHERE sid LIKE '%2' OR sid LIKE '%3'");
    ASSERT_OK(session_store_purge(store, 2000, 2, &deleted, &err), &err);
    assert_int_equal(deleted, 2);
    ASSERT_OK(session_store_purge(store, 2000, 100, &deleted, &err), &err);
    assert_int_equal(deleted, 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions"), 2);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup(fn, empty)
    const struct CMUnitTest tests[] = {
        EACH(test_sessions_are_read_together),
        EACH(test_users),
        EACH(test_user_takes_grants_and_sessions_along),
        EACH(test_grants),
        EACH(test_session_with_its_line),
        EACH(test_end_with_its_line),
        EACH(test_credential_that_works_once),
        EACH(test_one_more_ends_the_one_used_longest_ago),
        EACH(test_sessions_through_programs_are_counted_apart),
        EACH(test_a_smaller_number_ends_all_that_are_too_many),
        EACH(test_those_of_one_statement_count_together),
        EACH(test_many_at_once_are_not_more),
        EACH(test_the_first_ones_to_be_loaded),
        EACH(test_pages_of_sessions),
        EACH(test_sessions),
        EACH(test_further_vcenters_of_sessions),
        EACH(test_session_rotation),
        EACH(test_one_refresh_wins),
        EACH(test_sessions_end_with_their_vcenter),
        EACH(test_session_purge),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
