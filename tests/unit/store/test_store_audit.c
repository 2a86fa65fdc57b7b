/* The chain of audit lines against a real server: whatever is removed, changed, put in, moved or set back behind the store's back is named; age,
 * restarts and writers at the same time are not taken for that. And sign-ons that share a commit.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "audit_chain.h"
#include "audit_store.h"
#include "audit_tx.h"
#include "db_stmt.h"
#include "clock.h"
#include "fsutil.h"
#include "replica_store.h"
#include "seal.h"
#include "session_store.h"
#include "store_tx.h"
#include "str.h"

#define NOW_MS FIXTURE_NOW_MS
#define REPLICA 7U
#define OTHER 8U
#define LINES 10U /* and the one that begins the chain */
#define MINUTE_MS 60000
#define WRITERS 6U
#define ROWS_ARE_UNSIGNED "UPDATE audit_keys SET rows_signed = NULL" /* as in a database of before */
#define EACH_WRITES 40U

static struct store *store;
static struct seal *seal;

static struct store *open_as(unsigned replica_id) {
    struct store *opened = fixture_runtime();
    struct err err = {0};
    store_set_replica(opened, replica_id);
    ASSERT_OK(audit_store_open_key(opened, seal, &err), &err);
    return opened;
}

static struct store *open_store(void) {
    return open_as(REPLICA);
}

/* As a program that was ended and started again. */
static void restart(void) {
    store_free(store);
    store = open_store();
}

static int set_up(void **state) {
    uint8_t key[SEAL_KEY_BYTES] = {1, 2, 3};
    struct err err = {0};
    (void)fixture_set_up(state);
    fixture_exec("INSERT INTO replicas (id, name) VALUES (7, 'seven'), (8, 'eight')");
    ASSERT_OK(seal_open_key(key, &seal, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    seal_free(seal);
    return fixture_tear_down(state);
}

static int begin_test(void **state) {
    struct err err = {0};
    (void)state;
    fixture_exec("DELETE FROM audit");
    fixture_exec("DELETE FROM sessions");
    fixture_exec("UPDATE replicas SET audit_seq = 0, audit_head = NULL, audit_anchor = NULL");
    fixture_exec(ROWS_ARE_UNSIGNED);
    store = open_store();
    ASSERT_OK(audit_store_sign_new(store, &err), &err);
    return 0;
}

static int end_test(void **state) {
    (void)state;
    store_free(store);
    store = NULL;
    return 0;
}

static void append_to(struct store *to, unsigned n, int64_t at_ms) {
    const struct audit_record record = {.at_ms = at_ms,
                                        .event = {.action = "audit.test",
                                                  .principal_id = "local:a",
                                                  .principal_name = "Zo\xC3\xAB",
                                                  .acting_id = "svc:one",
                                                  .source = "local",
                                                  .object_kind = "cluster",
                                                  .object_id = "c1",
                                                  .object_name = "",
                                                  .address = "::1",
                                                  .request_id = "r",
                                                  .result = "ok"}};
    struct err err = {0};
    for (unsigned i = 0; i < n; i++)
        ASSERT_OK(audit_store_append(to, &record, &err), &err);
}

static void append(unsigned n, int64_t at_ms) {
    append_to(store, n, at_ms);
}

/* Walks to the end, or to the first fault, in parts of so many lines. */
static struct audit_verification walk_of(unsigned replica_id, unsigned limit) {
    struct audit_verification v = {.replica_id = replica_id, .limit = limit}, sum = {0};
    struct err err = {0};
    do {
        v.limit = limit;
        ASSERT_OK(audit_store_verify(store, &v, &err), &err);
        sum.lines += v.lines;
    } while (!v.is_complete);
    v.lines = sum.lines;
    return v;
}

static struct audit_verification walk(unsigned limit) {
    return walk_of(REPLICA, limit);
}

static void assert_intact(uint64_t lines) {
    const unsigned limits[] = {1000, 3, 1};
    for (size_t i = 0; i < UNIT_COUNT(limits); i++) {
        struct audit_verification v = walk(limits[i]);
        if (v.fault)
            fail_msg("%s: %s", audit_fault_name(v.fault), v.text);
        assert_int_equal(v.lines, lines);
    }
}

static void assert_fault(enum audit_fault fault, uint64_t seq, const char *how) {
    const unsigned limits[] = {1000, 2};
    for (size_t i = 0; i < UNIT_COUNT(limits); i++) {
        struct audit_verification v = walk(limits[i]);
        if (v.fault != fault || v.fault_seq != seq)
            fail_msg("%s: %s at %llu (%s), expected %s at %llu", how, audit_fault_name(v.fault), (unsigned long long)v.fault_seq,
                     v.text, audit_fault_name(fault), (unsigned long long)seq);
        assert_true(v.text[0] && v.remedy[0]);
    }
}

/* -- tampering --------------------------------------------------------------------------------------------------------------- */

struct tampering {
    enum audit_fault fault;
    uint64_t seq;
    const char *sql[4];
};

static const struct tampering tamperings[] = {
    {AUDIT_FAULT_REMOVED, 5, {"DELETE FROM audit WHERE seq = 5"}},
    {AUDIT_FAULT_REMOVED, 5, {"DELETE FROM audit WHERE seq IN (5, 6)"}},
    {AUDIT_FAULT_REMOVED, 1, {"DELETE FROM audit WHERE seq = 1"}},
    {AUDIT_FAULT_REMOVED, 1, {"DELETE FROM audit WHERE seq < 4"}},
    {AUDIT_FAULT_REMOVED, 11, {"DELETE FROM audit WHERE seq = 11"}},
    {AUDIT_FAULT_REMOVED, 1, {"DELETE FROM audit"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET at_ms = at_ms + 1 WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET action = 'audit.tess' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET principal_id = 'local:b' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET principal_name = NULL WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET source = 'LOCAL' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET object_kind = 'clusterc', object_id = '1' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET object_name = NULL WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET address = '::2' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET request_id = result, result = request_id WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET result = 'no' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET reason = '' WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET acting_id = NULL WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET hash = REVERSE(hash) WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 5, {"UPDATE audit SET hash = NULL WHERE seq = 5"}},
    {AUDIT_FAULT_CHANGED, 11, {"UPDATE audit SET result = 'no' WHERE seq = 11"}},
    {AUDIT_FAULT_CHANGED, 1, {"UPDATE audit SET hash = NULL"}},
    {AUDIT_FAULT_CHANGED, 1, {"UPDATE audit SET hash = NULL WHERE seq < 4"}},
    {AUDIT_FAULT_HEAD, 1, {"UPDATE audit SET hash = NULL", "UPDATE replicas SET audit_head = NULL WHERE id = 7"}},
    {AUDIT_FAULT_HEAD, 1, {"DELETE FROM audit", "UPDATE replicas SET audit_head = NULL, audit_seq = 0 WHERE id = 7"}},
    {AUDIT_FAULT_CHANGED,
     4,
     {"UPDATE audit SET seq = 99 WHERE seq = 4", "UPDATE audit SET seq = 4 WHERE seq = 6",
      "UPDATE audit SET seq = 6 WHERE seq = 99"}},
    {AUDIT_FAULT_CHANGED, 5, {"DELETE FROM audit WHERE seq = 5", "UPDATE audit SET seq = seq - 1 WHERE seq > 5 ORDER BY seq"}},
    {AUDIT_FAULT_CHANGED,
     5,
     {"UPDATE audit SET seq = seq + 1 WHERE seq >= 5 ORDER BY seq DESC",
      "INSERT INTO audit (replica_id, seq, at_ms, action, hash) SELECT 7, 5, at_ms, 'forged', hash FROM audit WHERE seq = 4"}},
    {AUDIT_FAULT_INSERTED, 12, {"INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (7, 12, 1, 'forged')"}},
    {AUDIT_FAULT_INSERTED,
     12,
     {"INSERT INTO audit (replica_id, seq, at_ms, action, hash) SELECT 7, 12, at_ms, action, hash FROM audit WHERE seq = 11",
      "UPDATE replicas SET audit_seq = 12 WHERE id = 7"}},
    {AUDIT_FAULT_INSERTED, 0, {"INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (7, 0, 1, 'forged')"}},
    {AUDIT_FAULT_HEAD, 11, {"UPDATE replicas SET audit_head = REVERSE(audit_head) WHERE id = 7"}},
    {AUDIT_FAULT_HEAD, 1, {"UPDATE replicas SET audit_head = NULL WHERE id = 7"}},
    {AUDIT_FAULT_HEAD, 11, {"UPDATE replicas SET audit_anchor = audit_head WHERE id = 7"}},
    {AUDIT_FAULT_REMOVED, 12, {"UPDATE replicas SET audit_seq = 12 WHERE id = 7"}},
    {AUDIT_FAULT_HEAD, 3, {"UPDATE replicas SET audit_seq = 3 WHERE id = 7"}},
};

/* By a program that was started afterwards, and so knows nothing but what the database says. */
static void test_each_kind_of_tampering_is_named(void **state) {
    for (size_t i = 0; i < UNIT_COUNT(tamperings); i++) {
        const struct tampering *t = &tamperings[i];
        (void)end_test(state);
        (void)begin_test(state);
        append(LINES, NOW_MS);
        assert_intact(LINES + 1);
        for (size_t k = 0; k < UNIT_COUNT(t->sql) && t->sql[k]; k++)
            fixture_exec(t->sql[k]);
        restart();
        assert_fault(t->fault, t->seq, t->sql[0]);
    }
}

/* The whole put back to what it was some lines ago: the program that wrote them knows better. */
static void test_an_older_copy_is_noticed(void **state) {
    (void)state;
    append(4, NOW_MS);
    fixture_exec("CREATE TABLE kept AS SELECT audit_seq, audit_head FROM replicas WHERE id = 7");
    append(4, NOW_MS);
    fixture_exec("DELETE FROM audit WHERE seq > 5");
    fixture_exec("UPDATE replicas r, kept k SET r.audit_seq = k.audit_seq, r.audit_head = k.audit_head WHERE r.id = 7");
    fixture_exec("DROP TABLE kept");
    assert_fault(AUDIT_FAULT_REMOVED, 6, "an older copy");
    append(2, NOW_MS);
    restart();
    append(1, NOW_MS);
    assert_fault(AUDIT_FAULT_BROKEN, 10, "written down");
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'audit.break' AND result = 'broken'"), 1);
}

/* As long as the line about it cannot be written, what is known stays what was written. */
static void test_an_older_copy_that_takes_no_lines(void **state) {
    const struct audit_record record = {.at_ms = NOW_MS, .event = {.action = "audit.test", .result = "ok"}};
    struct err err = {0};
    (void)state;
    append(4, NOW_MS);
    fixture_exec("CREATE TABLE kept AS SELECT audit_seq, audit_head FROM replicas WHERE id = 7");
    append(4, NOW_MS);
    fixture_exec("DELETE FROM audit WHERE seq > 5");
    fixture_exec("UPDATE replicas r, kept k SET r.audit_seq = k.audit_seq, r.audit_head = k.audit_head WHERE r.id = 7");
    fixture_exec("DROP TABLE kept");
    fixture_exec("CREATE TRIGGER no_lines BEFORE INSERT ON audit FOR EACH ROW SIGNAL SQLSTATE '45000'");
    assert_int_not_equal(audit_store_append(store, &record, &err), 0);
    assert_fault(AUDIT_FAULT_REMOVED, 6, "not written yet");
    fixture_exec("DROP TRIGGER no_lines");
    assert_fault(AUDIT_FAULT_REMOVED, 6, "not written yet");
    append(1, NOW_MS);
    assert_fault(AUDIT_FAULT_BROKEN, 10, "written down");
}

/* Another process of this installation under the same name goes on from an older copy, up to the very number of our last line: its head is signed
 * by the same key, and our lines are gone all the same. */
static void test_a_copy_that_went_on_to_the_same_line(void **state) {
    struct store *ours = store;
    (void)state;
    append(4, NOW_MS);
    fixture_exec("CREATE TABLE kept_too AS SELECT audit_seq, audit_head FROM replicas WHERE id = 7");
    append(2, NOW_MS);
    fixture_exec("DELETE FROM audit WHERE seq > 5");
    fixture_exec("UPDATE replicas r, kept_too k SET r.audit_seq = k.audit_seq, r.audit_head = k.audit_head WHERE r.id = 7");
    fixture_exec("DROP TABLE kept_too");
    store = open_store();
    append(2, NOW_MS + 1);
    store_free(store);
    store = ours;
    append(1, NOW_MS);
    restart();
    assert_fault(AUDIT_FAULT_BROKEN, 8, "lines of ours in place of which others stand");
}

/* Nothing left of it at all: the next line says so. */
static void test_a_trail_that_was_emptied(void **state) {
    (void)state;
    append(4, NOW_MS);
    fixture_exec("DELETE FROM audit");
    fixture_exec("UPDATE replicas SET audit_seq = 0, audit_head = NULL WHERE id = 7");
    assert_fault(AUDIT_FAULT_HEAD, 1, "emptied");
    append(1, NOW_MS);
    restart();
    assert_fault(AUDIT_FAULT_BROKEN, 6, "emptied, and noted");
}

/* -- known to another replica ---------------------------------------------------------------------------------------------------- */

/* The other replica notes how far this one is. */
static void note_heads(struct store *other, bool is_end) {
    struct err err = {0};
    ASSERT_OK(audit_store_note_heads(other, is_end, &err), &err);
}

static int64_t notes(void) {
    return fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'audit.heads'");
}

static void test_a_chain_set_back_is_known_to_another(void **state) {
    struct store *other;
    (void)state;
    append(4, NOW_MS);
    fixture_exec("CREATE TABLE kept AS SELECT audit_seq, audit_head FROM replicas WHERE id = 7");
    append(4, NOW_MS);
    other = open_as(OTHER);
    note_heads(other, false);
    store_free(other);
    assert_int_equal(notes(), 1);
    restart();
    assert_intact(9);
    fixture_exec("DELETE FROM audit WHERE replica_id = 7 AND seq > 5");
    fixture_exec("UPDATE replicas r, kept k SET r.audit_seq = k.audit_seq, r.audit_head = k.audit_head WHERE r.id = 7");
    fixture_exec("DROP TABLE kept");
    assert_fault(AUDIT_FAULT_REMOVED, 6, "known to another");
    restart(); /* as if the state folder were new */
    append(6, NOW_MS + 1);
    assert_fault(AUDIT_FAULT_CHANGED, 9, "another line than the known one");
}

static void test_what_is_noted_may_go_by_age(void **state) {
    struct store *other = open_as(OTHER);
    const struct audit_pruning pruning = {.replica_id = REPLICA, .older_than_ms = INT64_MAX, .limit = 100};
    struct err err = {0};
    unsigned long deleted = 0;
    (void)state;
    append(4, NOW_MS);
    note_heads(other, false);
    append(2, NOW_MS);
    ASSERT_OK(audit_store_prune(other, &pruning, &deleted, &err), &err);
    assert_int_equal(deleted, 7);
    append(1, NOW_MS);
    assert_intact(1);
    store_free(other);
}

static void test_a_chain_whose_row_is_gone_is_listed(void **state) {
    struct store *other = open_as(OTHER);
    struct audit_chain_list chains = {0};
    struct audit_verification v;
    struct err err = {0};
    (void)state;
    append(4, NOW_MS);
    note_heads(other, false);
    fixture_exec("DELETE FROM audit WHERE replica_id = 7");
    fixture_exec("DELETE FROM replicas WHERE id = 7");
    ASSERT_OK(audit_store_list_chains(other, &chains, &err), &err);
    assert_int_equal(chains.count, 3); /* that of the command line tools is there, too */
    assert_int_equal(chains.items[1].replica_id, REPLICA);
    audit_chain_list_done(&chains);
    v = walk_of(REPLICA, 100);
    assert_int_equal(v.fault, AUDIT_FAULT_HEAD);
    assert_non_null(strstr(v.text, "row of this replica was removed"));
    store_free(other);
    fixture_exec("INSERT INTO replicas (id, name) VALUES (7, 'seven')");
}

/* A note for each replica that comes, then each hour and at the end, and only if there was more than notes. */
static void test_when_heads_are_noted(void **state) {
    struct store *other = open_as(OTHER);
    (void)state;
    clock_fake(MINUTE_MS, NOW_MS);
    append(1, NOW_MS);
    note_heads(other, false);
    assert_int_equal(notes(), 1);
    append(1, NOW_MS);
    clock_advance_ms(59LL * MINUTE_MS);
    note_heads(other, false);
    assert_int_equal(notes(), 1);
    clock_advance_ms(MINUTE_MS);
    note_heads(other, false);
    assert_int_equal(notes(), 2);
    clock_advance_ms(61LL * MINUTE_MS);
    note_heads(other, false);
    note_heads(store, false); /* knows nothing of the other yet, and notes it */
    assert_int_equal(notes(), 3);
    clock_advance_ms(61LL * MINUTE_MS);
    note_heads(other, false); /* nothing but a note is new */
    note_heads(store, false);
    note_heads(other, true);
    assert_int_equal(notes(), 3);
    append(1, NOW_MS);
    note_heads(other, true);
    assert_int_equal(notes(), 4);
    fixture_exec("INSERT INTO replicas (id, name, audit_head) SELECT 9, 'nine', REVERSE(audit_head) FROM replicas WHERE id = 7");
    clock_advance_ms(MINUTE_MS);
    note_heads(other, false); /* not signed */
    assert_int_equal(notes(), 4);
    fixture_exec("DELETE FROM replicas WHERE id = 9");
    clock_unfake();
    store_free(other);
}

/* More replicas than one line has room for. */
static void test_many_heads_are_noted(void **state) {
    struct store *other = open_as(OTHER);
    struct audit_chain_list chains = {0};
    struct err err = {0};
    (void)state;
    fixture_exec("INSERT INTO replicas (id, name) SELECT seq, CONCAT('many', seq) FROM seq_100_to_160");
    fixture_exec(ROWS_ARE_UNSIGNED);
    ASSERT_OK(audit_store_sign_new(store, &err), &err);
    note_heads(other, false);
    assert_true(notes() > 1);
    fixture_exec("DELETE FROM replicas WHERE id >= 100");
    ASSERT_OK(audit_store_list_chains(other, &chains, &err), &err);
    assert_int_equal(chains.count, 61 + 3);
    audit_chain_list_done(&chains);
    store_free(other);
}

static void test_only_who_was_never_noted_gets_a_head(void **state) {
    struct store *other = open_as(OTHER);
    struct err err = {0};
    (void)state;
    append(1, NOW_MS);
    note_heads(other, false);
    fixture_exec("INSERT INTO replicas (id, name) VALUES (9, 'nine')");
    fixture_exec("DELETE FROM audit WHERE replica_id = 7");
    fixture_exec("UPDATE replicas SET audit_seq = 0, audit_head = NULL WHERE id = 7");
    fixture_exec(ROWS_ARE_UNSIGNED);
    ASSERT_OK(audit_store_sign_new(other, &err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM replicas WHERE audit_head IS NULL AND id = 7"), 1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM replicas WHERE audit_head IS NOT NULL AND id = 9"), 1);
    assert_int_equal(
        fixture_number(
            "SELECT COUNT(*) FROM audit WHERE action = 'audit.accept' AND reason LIKE '%first head was given: replicas 9'"),
        1);
    fixture_exec("DELETE FROM replicas WHERE id = 9");
    store_free(other);
}

/* Each had one once: a chain that nobody has noted yet is missed, too, when it was taken away. */
static void test_a_row_gets_its_first_head_once(void **state) {
    struct err err = {0};
    (void)state;
    append(2, NOW_MS);
    fixture_exec("DELETE FROM audit");
    fixture_exec("UPDATE replicas SET audit_seq = 0, audit_head = NULL WHERE id = 7");
    ASSERT_OK(audit_store_sign_new(store, &err), &err);
    assert_fault(AUDIT_FAULT_HEAD, 1, "emptied");
}

static int renew_key(struct store_tx *tx, void *arg, struct err *err) {
    uint64_t lines = 0;
    (void)arg;
    return audit_tx_renew_key(tx, seal, &lines, err);
}

/* The key that takes the place of a lost one knows that each had one, too. */
static void test_a_new_key_gives_no_first_heads(void **state) {
    struct store *owner = fixture_owner();
    struct err err = {0};
    (void)state;
    ASSERT_OK(store_tx(owner, renew_key, NULL, &err), &err);
    store_free(owner);
    restart();
    append(2, NOW_MS);
    fixture_exec("DELETE FROM audit");
    fixture_exec("UPDATE replicas SET audit_seq = 0, audit_head = NULL WHERE id = 7");
    ASSERT_OK(audit_store_sign_new(store, &err), &err);
    assert_fault(AUDIT_FAULT_HEAD, 1, "emptied");
}

/* A new replica comes with its head, and need not be looked for. */
static void test_a_row_is_made_with_its_head(void **state) {
    struct store *other = open_as(OTHER);
    unsigned id = 0;
    int64_t age_ms = 0;
    struct err err = {0};
    (void)state;
    ASSERT_OK(replica_store_register(other, "brand-new", &id, &age_ms, &err), &err);
    assert_int_equal(walk_of(id, 10).fault, AUDIT_FAULT_NONE);
    fixture_exec("DELETE FROM replicas WHERE name = 'brand-new'");
    store_free(other);
}

/* -- the file in the state folder ------------------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/kaas-audit-XXXXXX", file[sizeof(folder) + sizeof("/audit-head-seven")];

static int begin_file_test(void **state) {
    (void)begin_test(state);
    (void)memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof(file), "%s/audit-head-seven", folder);
    return 0;
}

static int end_file_test(void **state) {
    (void)unlink(file);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    return end_test(state);
}

/* As kaasd starts. */
static int start(struct err *err) {
    restart();
    err_clear(err);
    ASSERT_OK(audit_store_set_place(store, folder, "seven", err), err);
    return audit_store_start(store, err);
}

static void save(void) {
    struct err err = {0};
    ASSERT_OK(audit_store_save_head(store, &err), &err);
}

/* So many bytes may a file get. */
static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void read_file(struct strbuf *out) {
    struct err err = {0};
    strbuf_reset(out);
    ASSERT_OK(fs_read(file, out, &err), &err);
}

/* A file is there whole or not at all; a new replica needs it, one that has it goes on. */
static void test_a_full_disk(void **state) {
    struct strbuf before, after;
    struct err err = {0};
    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    strbuf_init(&before, 1024);
    strbuf_init(&after, 1024);
    append(2, NOW_MS);
    limit_files(0);
    assert_int_equal(start(&err), ERR_IO);
    limit_files(RLIM_INFINITY);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'audit.accept'"), 0);
    ASSERT_OK(start(&err), &err);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM audit WHERE action = 'audit.accept'"), 1);
    read_file(&before);
    limit_files(0);
    ASSERT_OK(start(&err), &err);
    append(2, NOW_MS);
    assert_int_equal(audit_store_save_head(store, &err), ERR_IO);
    limit_files(RLIM_INFINITY);
    read_file(&after);
    assert_string_equal(before.data, after.data);
    save();
    read_file(&after);
    assert_string_not_equal(before.data, after.data);
    ASSERT_OK(start(&err), &err);
    assert_intact(6);
    strbuf_done(&before);
    strbuf_done(&after);
}

/* Of the whole database the other's note would be gone, too: so this one chain was set back, whoever accepted it in good faith. */
static void test_an_accepted_chain_that_was_set_back_alone(void **state) {
    const struct audit_event who = {.principal_id = "svc:admin-socket", .source = "socket"};
    struct store *other = open_as(OTHER);
    struct err err = {0};
    (void)state;
    ASSERT_OK(start(&err), &err);
    append(4, NOW_MS);
    fixture_exec("CREATE TABLE kept AS SELECT audit_seq, audit_head FROM replicas WHERE id = 7");
    append(4, NOW_MS);
    save();
    note_heads(other, false);
    fixture_exec("DELETE FROM audit WHERE replica_id = 7 AND seq > 5");
    fixture_exec("UPDATE replicas r, kept k SET r.audit_seq = k.audit_seq, r.audit_head = k.audit_head WHERE r.id = 7");
    fixture_exec("DROP TABLE kept");
    assert_int_equal(start(&err), ERR_AUDIT_BEHIND);
    err_clear(&err);
    ASSERT_OK(audit_store_accept(store, &who, &err), &err);
    assert_fault(AUDIT_FAULT_REMOVED, 6, "accepted, and known to another");
    ASSERT_OK(start(&err), &err);
    append(1, NOW_MS);
    assert_fault(AUDIT_FAULT_REMOVED, 6, "accepted, and known to another");
    fixture_exec("DELETE FROM audit WHERE replica_id = 8");
    assert_intact(7);
    store_free(other);
}

/* -- what is no tampering ------------------------------------------------------------------------------------------------------ */

/* Nobody but this program may write here while it runs. */
static void test_a_line_of_somebody_else(void **state) {
    (void)state;
    append(2, NOW_MS);
    fixture_exec("UPDATE replicas SET audit_seq = audit_seq + 1 WHERE id = 7");
    fixture_exec("INSERT INTO audit (replica_id, seq, at_ms, action) SELECT 7, audit_seq, 1, 'old' FROM replicas WHERE id = 7");
    append(1, NOW_MS);
    restart();
    assert_fault(AUDIT_FAULT_CHANGED, 4, "a line of somebody else");
    fixture_exec("DELETE FROM audit WHERE seq = 4 AND replica_id = 7");
    assert_fault(AUDIT_FAULT_BROKEN, 5, "what kaasd noticed");
}

static unsigned long prune(int64_t older_than_ms, unsigned limit) {
    const struct audit_pruning pruning = {.replica_id = REPLICA, .older_than_ms = older_than_ms, .limit = limit};
    struct err err = {0};
    unsigned long deleted = 0;
    ASSERT_OK(audit_store_prune(store, &pruning, &deleted, &err), &err);
    return deleted;
}

static void test_age(void **state) {
    (void)state;
    append(4, NOW_MS); /* with the first line, which has the time of now */
    append(4, NOW_MS + 10);
    append(2, NOW_MS + 20);
    assert_int_equal(prune(NOW_MS, 100), 0);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM replicas WHERE audit_anchor IS NULL AND id = 7"), 1);
    assert_intact(11);
    assert_int_equal(prune(NOW_MS + 10, 2), 2);
    assert_int_equal(prune(NOW_MS + 10, 2), 2);
    assert_int_equal(prune(NOW_MS + 10, 2), 1);
    assert_int_equal(prune(NOW_MS + 10, 2), 0);
    assert_intact(6);
    append(1, NOW_MS + 20);
    assert_intact(7);
    fixture_exec("DELETE FROM audit WHERE seq = 6");
    assert_fault(AUDIT_FAULT_REMOVED, 6, "the oldest that is left");
}

/* Whoever has the database makes young lines look old, so that kaasd removes them and signs for it. */
static void test_age_that_was_forged(void **state) {
    static const char *const forgeries[] = {
        "UPDATE audit SET at_ms = 1 WHERE seq = 6",
        "UPDATE audit SET at_ms = 1",
        "UPDATE audit SET at_ms = 1, hash = NULL WHERE seq = 6",
        "INSERT INTO audit (replica_id, seq, at_ms, action, hash) SELECT 7, 12, 1, 'forged', hash FROM audit WHERE seq = 11",
    };
    for (size_t i = 0; i < UNIT_COUNT(forgeries); i++) {
        (void)end_test(state);
        (void)begin_test(state);
        append(LINES, NOW_MS);
        fixture_exec(forgeries[i]);
        assert_int_equal(prune(NOW_MS, 100), 0);
        assert_int_equal(fixture_number("SELECT COUNT(*) FROM replicas WHERE audit_anchor IS NULL AND id = 7"), 1);
    }
}

/* A line that was changed goes with the first good one behind it. */
static void test_age_of_what_was_changed(void **state) {
    (void)state;
    append(4, NOW_MS);
    append(4, NOW_MS + 10);
    fixture_exec("UPDATE audit SET result = 'no' WHERE seq IN (3, 5)");
    assert_int_equal(prune(NOW_MS + 10, 100), 4);
    assert_fault(AUDIT_FAULT_CHANGED, 5, "still there");
    append(1, NOW_MS + 20);
    assert_int_equal(prune(NOW_MS + 20, 100), 5);
    assert_intact(1);
}

static void test_age_of_everything(void **state) {
    (void)state;
    append(4, NOW_MS);
    assert_int_equal(prune(INT64_MAX, 100), 5);
    assert_intact(0);
    restart();
    assert_intact(0);
    append(2, NOW_MS);
    assert_intact(2);
    fixture_exec("INSERT INTO audit (replica_id, seq, at_ms, action) VALUES (7, 3, 1, 'forged')");
    assert_fault(AUDIT_FAULT_INSERTED, 0, "below the old end");
}

/* -- at the same time ------------------------------------------------------------------------------------------------------------ */

static atomic_uint opened, refused, other;
static atomic_bool is_over;

/* Every third by a credential that works once. */
static void open_one(unsigned n) {
    uint8_t digest[SESSION_ONCE_BYTES] = {0};
    struct session s = {.created_at_ms = NOW_MS, .ends_at_ms = NOW_MS + 1};
    const struct audit_record line = {.at_ms = NOW_MS, .event = {.action = "login", .result = "ok"}};
    const struct session_once once = {.digest = digest, .until_ms = NOW_MS};
    char *sid = fixture_uuid(n);
    int rc;
    memcpy(digest, &n, sizeof(n));
    (void)snprintf(s.sid, sizeof(s.sid), "%s", sid);
    (void)snprintf(s.jti, sizeof(s.jti), "%s", sid);
    free(sid);
    s.who = (struct principal){.id = (char[]){"local:a"}, .name = (char[]){"a"}, .role = ROLE_USER, .source = SOURCE_LOCAL};
    rc = session_store_open(store, &(struct session_opening){.session = &s, .line = &line, .once = n % 3 ? NULL : &once}, NULL);
    (void)atomic_fetch_add(rc == 0 ? &opened : rc == ERR_EXISTS ? &refused : &other, 1);
}

/* Sessions of which some are there already, and lines alone. */
static void *write_many(void *arg) {
    const unsigned base = (unsigned)(uintptr_t)arg * 1000;
    store_thread_begin();
    for (unsigned i = 0; i < EACH_WRITES; i++) {
        open_one(base + i);
        if (i % 10 == 0)
            open_one(base + i);
        if (i % 4 == 0)
            append(1, NOW_MS);
    }
    store_thread_end();
    return NULL;
}

static void *verify_all_the_time(void *arg) {
    (void)arg;
    store_thread_begin();
    while (!is_over) {
        struct audit_verification v = walk(50);
        if (v.fault)
            fail_msg("%s: %s", audit_fault_name(v.fault), v.text);
        (void)prune(NOW_MS + 1, 7);
    }
    store_thread_end();
    return NULL;
}

static int64_t commits(void) {
    return fixture_number("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_COMMIT'");
}

static void test_many_at_the_same_time(void **state) {
    const unsigned twice = WRITERS * EACH_WRITES / 10, alone = WRITERS * EACH_WRITES / 4;
    pthread_t threads[WRITERS];
    int64_t before = commits();
    (void)state;
    opened = refused = other = 0;
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)(i + 1)), 0);
    for (unsigned i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(opened, WRITERS * EACH_WRITES);
    assert_int_equal(refused, twice);
    assert_int_equal(other, 0);
    assert_true(commits() - before < opened + alone); /* they shared some */
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM sessions"), opened);
    assert_int_equal(fixture_number("SELECT COUNT(*) FROM change_log WHERE kind = 'session' AND replica_id = 7"), opened);
    assert_intact(opened + alone + 1);
}

static void test_writing_and_removing_while_it_is_verified(void **state) {
    pthread_t threads[2], verifier;
    (void)state;
    is_over = false;
    append(1, NOW_MS);
    assert_int_equal(pthread_create(&verifier, NULL, verify_all_the_time, NULL), 0);
    for (unsigned i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)(i + 20)), 0);
    for (unsigned i = 0; i < UNIT_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    is_over = true;
    assert_int_equal(pthread_join(verifier, NULL), 0);
    while (prune(NOW_MS + 1, 50))
        continue;
    assert_intact(0);
}

int main(void) {
#define EACH(fn) cmocka_unit_test_setup_teardown(fn, begin_test, end_test)
    const struct CMUnitTest tests[] = {
        EACH(test_each_kind_of_tampering_is_named),
        EACH(test_an_older_copy_is_noticed),
        EACH(test_an_older_copy_that_takes_no_lines),
        EACH(test_a_copy_that_went_on_to_the_same_line),
        EACH(test_a_trail_that_was_emptied),
        EACH(test_a_chain_set_back_is_known_to_another),
        EACH(test_what_is_noted_may_go_by_age),
        EACH(test_a_chain_whose_row_is_gone_is_listed),
        EACH(test_when_heads_are_noted),
        EACH(test_many_heads_are_noted),
        EACH(test_only_who_was_never_noted_gets_a_head),
        EACH(test_a_row_gets_its_first_head_once),
        EACH(test_a_new_key_gives_no_first_heads),
        EACH(test_a_row_is_made_with_its_head),
        cmocka_unit_test_setup_teardown(test_a_full_disk, begin_file_test, end_file_test),
        cmocka_unit_test_setup_teardown(test_an_accepted_chain_that_was_set_back_alone, begin_file_test, end_file_test),
        EACH(test_a_line_of_somebody_else),
        EACH(test_age),
        EACH(test_age_that_was_forged),
        EACH(test_age_of_what_was_changed),
        EACH(test_age_of_everything),
        EACH(test_many_at_the_same_time),
        EACH(test_writing_and_removing_while_it_is_verified),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
