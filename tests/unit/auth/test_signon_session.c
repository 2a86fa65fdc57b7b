/* Sessions and tokens after sign-on: refresh, logout, other replicas.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "signon_world.h"
#include "str.h"
#include "uuid.h"

#define MANY (SESSION_LOAD_MAX + 6)

static struct signon *signon;
static struct signon_issued issued;

static void sign_in(enum vc_credential_kind kind) {
    struct signon_credential credential = {.kind = kind, .vcenter_id = VC_A, .secret = sw.good_secret};
    signon_issued_done(&issued);
    assert_int_equal(signon_world_log_in(signon, &credential, &issued, NULL), 0);
}

static int set_up(void **state) {
    (void)state;
    signon = signon_world_new();
    sign_in(VC_CREDENTIAL_COOKIE);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    signon_issued_done(&issued);
    signon_world_free(signon);
    return 0;
}

static int verify(struct signon *s, const char *token) {
    struct signon_bearer bearer = {0};
    int rc = signon_verify_from(s, NULL, token, &bearer, NULL);
    signon_bearer_done(&bearer);
    return rc;
}

static int verify_slow(struct signon *s, const char *token) {
    struct signon_bearer bearer = {0};
    struct err err = {0};
    int rc = signon_verify_slow(s, token, &bearer, &err);
    assert_int_equal(err.code, rc);
    signon_bearer_done(&bearer);
    return rc;
}

/* jti of a token, and its session. */
static void read_token(const char *token, char sid[37], char jti[37]) {
    struct signon_bearer bearer = {0};
    assert_int_equal(signon_verify_slow(signon, token, &bearer, NULL), 0);
    (void)snprintf(sid, 37, "%s", live_session_sid(bearer.session));
    (void)snprintf(jti, 37, "%s", bearer.jti);
    signon_bearer_done(&bearer);
}

static int refresh(struct signon *s, const char *sid, const char *jti, char next[37], struct signon_issued *out) {
    struct signon_issued fresh = {0};
    struct err err = {0};
    int rc = signon_refresh(s, sid, jti, &fresh, &err);
    assert_int_equal(err.code, rc);
    if (!rc) {
        char same[37];
        read_token(fresh.token, same, next);
        assert_string_equal(same, sid);
    }
    if (out)
        *out = fresh;
    else
        signon_issued_done(&fresh);
    return rc;
}

/* -- a second session of somebody ---------------------------------------------------------------------------------------- */

/* An administrator ends all sessions that there are. */
static void end_all(void) {
    for (size_t i = 0; i < sw.sessions_count; i++)
        sw.sessions[i].revoked_at_ms = clock_wall_ms();
}

/* Whoever ends all sessions of a person sees those that there are: between the look at the first and the second being there. */
static void a_twin_does_not_outlive_the_end_of_all_sessions(void **state) {
    struct signon_bearer bearer = {0};
    struct signon_issued twin = {0};
    (void)state;
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, &bearer, NULL), 0);
    sw.before_session = end_all;
    assert_int_equal(signon_open_twin(signon, ACTOR, bearer.session, &twin, NULL), ERR_SESSION_ENDED);
    assert_int_equal(sw.sessions_count, 2); /* it was there, and is ended */
    assert_int_equal(signon_world_live(), 0);
    assert_null(twin.token);
    signon_bearer_done(&bearer);
}

static void nor_does_the_session_of_a_page_loaded_again(void **state) {
    char sid[37], jti[37], cookie[ONE_TIME_CODE_BYTES];
    struct signon_issued again = {0};
    (void)state;
    read_token(issued.token, sid, jti);
    assert_int_equal(signon_make_cookie(signon, sid, INT64_MAX, cookie, NULL), 0);
    sw.before_session = end_all;
    assert_int_equal(signon_open_by_cookie(signon, ACTOR, cookie, NULL, &again, NULL), ERR_SESSION_ENDED);
    assert_int_equal(sw.sessions_count, 2);
    assert_int_equal(signon_world_live(), 0);
    assert_null(again.token);
}

/* -- tokens ---------------------------------------------------------------------------------------------------------------- */

static void a_token_is_known_at_once(void **state) {
    struct signon_bearer bearer = {0};
    (void)state;
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, &bearer, NULL), 0);
    assert_string_equal(live_session_who(bearer.session)->name, "VSPHERE.LOCAL\\Viewer-East");
    assert_int_equal(bearer.token_expires_at_ms, 1700000000000 + 900000);
    signon_bearer_done(&bearer);
    assert_int_equal(verify(signon, "rubbish"), ERR_UNAUTHENTICATED);
    assert_int_equal(verify(signon, ""), ERR_UNAUTHENTICATED);
    assert_int_equal(verify_slow(signon, "a.b.c"), ERR_UNAUTHENTICATED);
}

static void tokens_expire_and_sessions_end(void **state) {
    (void)state;
    sign_in(VC_CREDENTIAL_TICKET);
    clock_advance_ms(900000);
    assert_int_equal(verify(signon, issued.token), ERR_TOKEN_EXPIRED);
    clock_advance_ms(3600 * 1000 - 900000 - 60000); /* a minute before the end of the ticket's session */
    char sid[37], jti[37], next[37];
    struct signon_issued last = {0};
    (void)snprintf(sid, sizeof(sid), "%s", sw.sessions[1].sid);
    (void)snprintf(jti, sizeof(jti), "%s", sw.sessions[1].jti);
    assert_int_equal(refresh(signon, sid, jti, next, &last), 0);
    assert_int_equal(last.token_lifetime_ms, 60000); /* no token outlives its session */
    clock_advance_ms(60000);
    assert_int_not_equal(verify(signon, last.token), 0);
    assert_int_equal(refresh(signon, sid, next, jti, NULL), ERR_SESSION_ENDED);
    signon_issued_done(&last);
}

static void refresh_rotates_and_repeats(void **state) {
    char sid[37], first[37], second[37], again[37], third[37];
    struct signon_issued fresh = {0};
    (void)state;
    read_token(issued.token, sid, first);
    assert_int_equal(refresh(signon, sid, first, second, &fresh), 0);
    assert_string_not_equal(first, second);
    clock_advance_ms(SESSION_OLD_JTI_GRACE_MS);
    assert_int_equal(refresh(signon, sid, first, again, NULL), 0); /* the answer was lost */
    assert_string_equal(again, second);
    assert_int_equal(verify(signon, issued.token), 0);
    assert_int_equal(refresh(signon, sid, second, third, NULL), 0);
    assert_string_not_equal(second, third);
    signon_issued_done(&fresh);
}

static void reuse_after_the_grace_ends_the_session(void **state) {
    char sid[37], first[37], second[37];
    struct signon_issued fresh = {0};
    (void)state;
    read_token(issued.token, sid, first);
    assert_int_equal(refresh(signon, sid, first, second, &fresh), 0);
    clock_advance_ms(SESSION_OLD_JTI_GRACE_MS + 1);
    assert_int_equal(verify(signon, issued.token), ERR_NOT_FOUND); /* memory alone does not condemn */
    assert_int_equal(verify_slow(signon, issued.token), ERR_SESSION_ENDED);
    assert_string_equal(sw.last_action, "session.reuse");
    assert_int_not_equal(sw.sessions[0].revoked_at_ms, 0);
    assert_int_equal(verify(signon, fresh.token), ERR_SESSION_ENDED);
    assert_int_equal(refresh(signon, sid, second, first, NULL), ERR_SESSION_ENDED);
    signon_issued_done(&fresh);
}

/* A thief's old token ends the session here even while the database cannot be told. */
static void reuse_counts_while_the_database_is_away(void **state) {
    char sid[37], first[37], second[37];
    (void)state;
    read_token(issued.token, sid, first);
    assert_int_equal(refresh(signon, sid, first, second, NULL), 0);
    clock_advance_ms(SESSION_OLD_JTI_GRACE_MS + 1);
    sw.fail_code = ERR_DATABASE;
    sw.fail_after = 1;
    assert_int_equal(verify_slow(signon, issued.token), ERR_SESSION_ENDED);
    sw.fail_code = 0;
    assert_int_equal(verify_slow(signon, issued.token), ERR_SESSION_ENDED);
}

static void of_two_refreshes_both_get_the_same(void **state) {
    char sid[37], first[37], next[37];
    (void)state;
    read_token(issued.token, sid, first);
    sw.rotates_for_another = true;
    assert_int_equal(refresh(signon, sid, first, next, NULL), 0);
    assert_string_equal(next, "99999999-0000-4000-8000-000000000000");
}

static void every_failing_step_of_a_refresh_can_be_repeated(void **state) {
    char sid[37], first[37], next[37];
    (void)state;
    read_token(issued.token, sid, first);
    for (int works = 0; works < 2; works++) {
        sw.fail_code = ERR_DATABASE;
        sw.fail_after = works;
        assert_int_equal(refresh(signon, sid, first, next, NULL), ERR_DATABASE);
        sw.fail_code = 0;
        assert_int_equal(verify(signon, issued.token), 0);
    }
    sw.fail_code = ERR_DATABASE; /* exchanged, but not read back */
    sw.fail_after = 2;
    struct signon_issued fresh = {0};
    assert_int_equal(signon_refresh(signon, sid, first, &fresh, NULL), 0);
    sw.fail_code = 0;
    assert_int_equal(verify_slow(signon, fresh.token), 0);
    assert_int_equal(refresh(signon, sid, first, next, NULL), 0);
    signon_issued_done(&fresh);
}

static void logout_ends_it_at_once(void **state) {
    char sid[37], jti[37];
    (void)state;
    read_token(issued.token, sid, jti);
    sw.fail_code = ERR_DATABASE;
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), ERR_DATABASE);
    sw.fail_code = 0;
    assert_int_equal(verify(signon, issued.token), 0);
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), 0);
    assert_string_equal(sw.last_action, "logout");
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), 0);
    assert_int_equal(signon_purge(signon, NULL), 0);
    assert_int_equal(verify(signon, issued.token), ERR_NOT_FOUND);
    assert_int_equal(verify_slow(signon, issued.token), ERR_SESSION_ENDED);
}

/* -- replicas ---------------------------------------------------------------------------------------------------------------- */

static void another_replica_knows_old_sessions_and_reads_new_ones(void **state) {
    struct signon *other = signon_world_replica();
    (void)state;
    assert_int_equal(verify(other, issued.token), 0);
    sign_in(VC_CREDENTIAL_COOKIE);
    assert_int_equal(verify(other, issued.token), ERR_NOT_FOUND);
    assert_int_equal(verify_slow(other, issued.token), 0);
    assert_int_equal(verify(other, issued.token), 0);
    signon_free(other);
}

/* The feed is slower than the client: a refresh at one replica, the next one at the other. */
static void a_refresh_elsewhere_is_no_reuse(void **state) {
    struct signon *other = signon_world_replica();
    char sid[37], first[37], second[37], third[37];
    struct signon_issued fresh = {0};
    (void)state;
    read_token(issued.token, sid, first);
    assert_int_equal(refresh(signon, sid, first, second, &fresh), 0);
    assert_int_equal(refresh(other, sid, second, third, NULL), 0);
    assert_int_equal(verify(other, fresh.token), 0);
    assert_int_equal(signon_world_live(), 1);
    signon_issued_done(&fresh);
    signon_free(other);
}

static void a_logout_elsewhere_arrives_by_the_feed_or_the_reload(void **state) {
    struct signon *other = signon_world_replica();
    char sid[37], jti[37];
    (void)state;
    read_token(issued.token, sid, jti);
    assert_int_equal(signon_logout(other, ACTOR, sid, NULL), 0);
    assert_int_equal(verify(signon, issued.token), 0); /* not told yet */
    assert_int_equal(signon_apply_session_change(signon, sid, NULL), 0);
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
    signon_free(other);
    other = signon_world_replica();
    sign_in(VC_CREDENTIAL_COOKIE);
    read_token(issued.token, sid, jti);
    assert_int_equal(verify_slow(other, issued.token), 0);
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), 0);
    assert_int_equal(signon_load(other, NULL), 0); /* after a gap in the feed */
    assert_int_equal(verify(other, issued.token), ERR_NOT_FOUND);
    assert_int_equal(verify_slow(other, issued.token), ERR_SESSION_ENDED);
    signon_free(other);
}

/* What the feed tells in one turn, of all sessions in the database. */
static int tell_of_all(struct signon *s) {
    const char *sids[2 * MANY];
    size_t count = 0;
    for (size_t i = 0; i < sw.sessions_count; i++) {
        sids[count++] = sw.sessions[i].sid;
        sids[count++] = sw.sessions[i].sid; /* made, and its token renewed */
    }
    sw.session_reads = 0;
    return signon_apply_session_changes(s, sids, count, NULL);
}

static void sign_in_many(void) {
    while (sw.sessions_count < MANY) {
        clock_advance_ms(1000);
        sign_in(VC_CREDENTIAL_COOKIE);
    }
}

static void sessions_of_one_turn_are_read_together(void **state) {
    struct signon *other = signon_world_replica();
    (void)state;
    assert_int_equal(signon_apply_session_changes(other, NULL, 0, NULL), 0);
    sign_in_many();
    assert_int_equal(verify(other, issued.token), ERR_NOT_FOUND);
    assert_int_equal(tell_of_all(other), 0);
    assert_int_equal(sw.session_reads, (MANY + SESSION_LOAD_MAX - 1) / SESSION_LOAD_MAX);
    assert_int_equal(verify(other, issued.token), 0);
    assert_int_equal(tell_of_all(signon), 0); /* who opened them, too */
    assert_int_equal(sw.session_reads, (MANY + SESSION_LOAD_MAX - 1) / SESSION_LOAD_MAX);
    assert_int_equal(verify(signon, issued.token), 0);
    signon_free(other);
}

static void sessions_of_one_turn_end_here(void **state) {
    const char *sids[] = {"00000000-0000-4000-8000-000000000000", NULL, NULL};
    struct signon_bearer bearer = {0};
    struct signon_issued gone = issued;
    (void)state;
    issued = (struct signon_issued){0};
    sign_in(VC_CREDENTIAL_COOKIE);
    assert_int_equal(signon_verify_from(signon, NULL, gone.token, &bearer, NULL), 0);
    sw.sessions[1].revoked_at_ms = clock_wall_ms();
    sids[1] = live_session_sid(bearer.session);
    sids[2] = sw.sessions[1].sid;
    memset(sw.sessions[0].sid, 'x', 36); /* its row is there no more */
    assert_int_equal(signon_apply_session_changes(signon, sids, 3, NULL), 0);
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
    assert_int_not_equal(verify(signon, gone.token), 0);
    assert_true(live_session_has_ended(bearer.session, clock_wall_ms())); /* for who holds it, too */
    signon_bearer_done(&bearer);
    signon_issued_done(&gone);
}

static void a_turn_that_failed_can_be_told_again(void **state) {
    (void)state;
    sign_in_many();
    sw.sessions[0].revoked_at_ms = sw.sessions[MANY - 1].revoked_at_ms = clock_wall_ms();
    sw.some_code = ERR_DATABASE;
    assert_int_equal(tell_of_all(signon), ERR_DATABASE);
    assert_int_equal(verify(signon, issued.token), 0);
    sw.some_code = 0;
    assert_int_equal(tell_of_all(signon), 0);
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
}

/* One of them cannot be read. */
static void a_bad_row_keeps_no_other_one_out(void **state) {
    (void)state;
    sign_in_many();
    sw.sessions[MANY - 1].revoked_at_ms = clock_wall_ms();
    sw.some_code = ERR_SCHEMA;
    assert_int_equal(tell_of_all(signon), 0);
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
}

/* While a turn is read, a session ends: the next turn tells so, and so does who ends it. */
static void end_the_last(void) {
    sw.after_load = NULL;
    sw.sessions[sw.sessions_count - 1].revoked_at_ms = clock_wall_ms();
    signon_tell_all(signon);
}

static void what_is_told_during_a_turn_is_read_again(void **state) {
    (void)state;
    sign_in(VC_CREDENTIAL_COOKIE);
    sw.after_load = end_the_last;
    assert_int_equal(tell_of_all(signon), 0);
    assert_int_equal(sw.session_reads, 2);
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
}

static void a_reload_keeps_rights(void **state) {
    struct signon_bearer bearer = {0};
    struct session_rights rights = {0};
    (void)state;
    assert_int_equal(signon_load(signon, NULL), 0);
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, &bearer, NULL), 0);
    assert_int_equal(signon_get_rights(signon, bearer.session, &(struct signon_use){.is_read = true}, &rights, NULL), 0);
    assert_int_equal(rights.parts[0].state, SIGNON_PART_FRESH);
    session_rights_done(&rights);
    signon_bearer_done(&bearer);
}

/* A row may have been read before what is known by now: it neither brings a session back to life nor lets it live longer. */
static void a_stale_row_gives_nothing_back(void **state) {
    static const struct {
        const char *name;
        int64_t known_revoked, known_ends; /* in memory; times after now */
        int64_t row_revoked, row_ends;
        bool has_ended; /* a minute from now */
        int64_t ends;
    } rows[] = {
        {"nothing new", 0, 3600000, 0, 3600000, false, 3600000},
        {"revoked elsewhere", 0, 3600000, 5, 3600000, true, 3600000},
        {"revoked here, not in the row", 5, 3600000, 0, 3600000, true, 3600000},
        {"revoked here, later in the row", 5, 3600000, 9, 3600000, true, 3600000},
        {"shortened elsewhere", 0, 3600000, 0, 30000, true, 30000},
        {"an end further away in the row", 0, 30000, 0, 3600000, true, 30000},
        {"for ever", 0, 30000, 0, INT64_MAX / 2, true, 30000},
    };
    const struct live_shared same = {0}; /* groups and vCenters stay as they are */
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct signon_bearer bearer = {0};
        struct session *row;
        int64_t now_ms = clock_wall_ms();
        sign_in(VC_CREDENTIAL_COOKIE);
        assert_int_equal(signon_verify_from(signon, NULL, issued.token, &bearer, NULL), 0);
        row = signon_world_session(i + 1);
        row->ends_at_ms = now_ms + rows[i].known_ends;
        assert_int_equal(live_session_update(bearer.session, &same, row, NULL), 0);
        if (rows[i].known_revoked)
            live_session_revoke(bearer.session, now_ms + rows[i].known_revoked);
        row->ends_at_ms = now_ms + rows[i].row_ends;
        row->revoked_at_ms = rows[i].row_revoked ? now_ms + rows[i].row_revoked : 0;
        assert_int_equal(live_session_update(bearer.session, &same, row, NULL), 0);
        if (live_session_has_ended(bearer.session, now_ms + 60000) != rows[i].has_ended ||
            (live_session_judge(bearer.session, bearer.jti, now_ms + 60000) == SESSION_OK) == rows[i].has_ended ||
            live_session_ends_ms(bearer.session) != now_ms + rows[i].ends)
            fail_msg("%s: ends %lld ms from now", rows[i].name, (long long)(live_session_ends_ms(bearer.session) - now_ms));
        signon_bearer_done(&bearer);
    }
}

static void the_trail_does_not_stand_in_the_way(void **state) {
    const unsigned audited = sw.audited;
    (void)state;
    sw.trail_code = ERR_SCHEMA; /* as without the table of the audit log */
    sign_in(VC_CREDENTIAL_COOKIE);
    assert_int_equal(verify(signon, issued.token), 0);
    assert_int_equal(sw.audited, audited);
    assert_int_equal(signon_world_live(), 2);
    char sid[37], jti[37];
    read_token(issued.token, sid, jti);
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), 0);
    assert_int_equal(verify(signon, issued.token), ERR_SESSION_ENDED);
    assert_int_equal(sw.audited, audited);
    sw.trail_code = 0;
}

static void replicas_agree_on_the_first_key(void **state) {
    struct strbuf mine, theirs;
    struct signon *other = signon_world_replica();
    (void)state;
    assert_int_equal(sw.keys_count, 1);
    strbuf_init(&mine, 4096);
    strbuf_init(&theirs, 4096);
    assert_int_equal(signon_write_jwks(signon, &mine, NULL), 0);
    assert_int_equal(signon_write_jwks(other, &theirs, NULL), 0);
    assert_string_equal(mine.data, theirs.data);
    assert_null(strstr(mine.data, "\"d\""));
    strbuf_done(&mine);
    strbuf_done(&theirs);
    signon_free(other);
}

static void the_slower_replica_takes_the_faster_ones_key(void **state) {
    (void)state;
    signon_issued_done(&issued);
    signon_world_free(signon);
    sw.loses_key_race = true;
    signon = signon_world_new();
    sign_in(VC_CREDENTIAL_COOKIE);
    assert_int_equal(verify(signon, issued.token), 0);
}

/* Tokens from one address with the ids of the granted one and signatures that are wrong. How many were not even checked? */
static size_t flood(const char *address, int first, int count) {
    struct signon_bearer bearer = {0};
    char bad[4096];
    size_t refused = 0, n = strlen(issued.token);
    (void)snprintf(bad, sizeof(bad), "%s", issued.token);
    for (int i = first; i < first + count; i++) {
        struct err err = {0};
        int rc;
        (void)snprintf(bad + n - 86, 87, "%085dA", i); /* 4 bits of the last sign belong to nothing */
        rc = signon_verify_from(signon, address, bad, &bearer, &err);
        assert_true(rc == ERR_UNAUTHENTICATED || rc == ERR_TOO_MANY);
        assert_int_equal(err.code, rc);
        assert_true(rc != ERR_TOO_MANY || err.retry_after_s == 1);
        refused += rc == ERR_TOO_MANY;
    }
    return refused;
}

static int verify_from(const char *address) {
    struct signon_bearer bearer = {0};
    int rc = signon_verify_from(signon, address, issued.token, &bearer, NULL);
    signon_bearer_done(&bearer);
    return rc;
}

/* Tokens that look good until their signature is checked: bounded by address. Time stands still, so the burst is all there is. */
static void a_flood_of_bad_tokens_is_bounded(void **state) {
    char sid[37], jti[37];
    (void)state;
    read_token(issued.token, sid, jti);
    assert_int_equal(flood("192.0.2.1", 0, 600), 400); /* whoever knows the ids of a live session may try more often */
    assert_int_equal(verify_from("192.0.2.1"), 0);     /* its own token was seen before */
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), 0);
    assert_int_equal(flood("192.0.2.2", 1000, 100), 50);
    sign_in(VC_CREDENTIAL_COOKIE);
    assert_int_equal(verify_from("192.0.2.2"), 0); /* a new token of a live session goes before garbage of the same address */
}

/* One host has all addresses of a /64; and many hosts together are bounded, too. */
static void a_flood_from_many_addresses_is_bounded_together(void **state) {
    size_t refused = 0;
    char address[40], sid[37], jti[37];
    (void)state;
    read_token(issued.token, sid, jti);
    assert_int_equal(signon_logout(signon, ACTOR, sid, NULL), 0); /* they name nobody who is signed in */
    for (unsigned i = 0; i < 90; i++) {
        (void)snprintf(address, sizeof(address), "2001:db8:1:2::%x", i + 1);
        refused += flood(address, 1000 + (int)i, 1);
    }
    assert_int_equal(refused, 40);
    refused = 0;
    for (unsigned i = 0; i < 1500; i++) {
        (void)snprintf(address, sizeof(address), "10.0.%u.%u", i / 256, i % 256);
        refused += flood(address, 2000 + (int)i, 1);
    }
    assert_int_equal(refused, 1500 - (1000 - 50));
    sign_in(VC_CREDENTIAL_COOKIE);
    assert_int_equal(verify_from("10.0.0.1"), 0); /* who names a live session is apart */
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_twin_does_not_outlive_the_end_of_all_sessions),
        TEST(nor_does_the_session_of_a_page_loaded_again),
        TEST(a_token_is_known_at_once),
        TEST(tokens_expire_and_sessions_end),
        TEST(refresh_rotates_and_repeats),
        TEST(reuse_after_the_grace_ends_the_session),
        TEST(reuse_counts_while_the_database_is_away),
        TEST(of_two_refreshes_both_get_the_same),
        TEST(every_failing_step_of_a_refresh_can_be_repeated),
        TEST(a_flood_of_bad_tokens_is_bounded),
        TEST(a_flood_from_many_addresses_is_bounded_together),
        TEST(logout_ends_it_at_once),
        TEST(another_replica_knows_old_sessions_and_reads_new_ones),
        TEST(a_refresh_elsewhere_is_no_reuse),
        TEST(a_logout_elsewhere_arrives_by_the_feed_or_the_reload),
        TEST(sessions_of_one_turn_are_read_together),
        TEST(sessions_of_one_turn_end_here),
        TEST(a_turn_that_failed_can_be_told_again),
        TEST(a_bad_row_keeps_no_other_one_out),
        TEST(what_is_told_during_a_turn_is_read_again),
        TEST(a_reload_keeps_rights),
        TEST(a_stale_row_gives_nothing_back),

        TEST(the_trail_does_not_stand_in_the_way),
        TEST(replicas_agree_on_the_first_key),
        TEST(the_slower_replica_takes_the_faster_ones_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
