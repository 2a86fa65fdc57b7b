/* Presented tokens: verifying, refreshing. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checking a signature costs about 85 us, and everybody can make any number of tokens that look good until then. So checks that failed are counted, by party
 * and in all, which bounds a flood to about 4 % of a core; good tokens are never held up, whoever shares an address. Tokens that name a live session and
 * its newest token are counted apart: their bearers go on while others at their address send garbage. */
#include "bearer.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "login.h"
#include "net_addr.h"
#include "rights.h"
#include "session_store.h"
#include "sessions.h"
#include "signon_state.h"
#include "str.h"
#include "throttle.h"
#include "uuid.h"

void signon_bearer_done(struct signon_bearer *bearer) {
    if (!bearer)
        return;
    live_session_unref(bearer->session);
    memset(bearer, 0, sizeof(*bearer));
}

static int bearer_ended(struct err *err) {
    return err_set(err, ERR_SESSION_ENDED, "the session has ended; sign in again");
}

/* A token that is not the newest: the session may have moved on at another replica, so memory alone may not condemn it. */
static int judge_in_memory(struct live_session *live, const char *jti, struct err *err) {
    switch (live_session_judge(live, jti, clock_wall_ms())) {
    case SESSION_OK: return 0;
    case SESSION_REUSED: return err_set(err, ERR_NOT_FOUND, "the token is not the newest one of its session");
    case SESSION_ENDED:
    default: return bearer_ended(err);
    }
}

static void bearer_fill(struct signon_bearer *out, struct live_session *live, const struct token_claims *token) {
    out->session = live;
    memcpy(out->jti, token->jti, sizeof(out->jti));
    out->token_expires_at_ms = token->exp_s * 1000;
}

static const struct throttle_pace unknown_pace = {50, 100}, known_pace = {200, 20}, all_pace = {1000, 2};
static const struct throttle_key all_key = {.kind = 'a'};

struct door {
    struct signon *signon;
    uint64_t party;
    bool is_known; /* set by ask_door */
};

static struct throttle_key bearer_key_of(const struct door *door) {
    return (struct throttle_key){.kind = door->is_known ? 'k' : 'u', .party = door->party};
}

static int refuse_flood(int64_t wait_ms, struct err *err) {
    (void)err_set(err, ERR_TOO_MANY, "too many tokens that were not valid came from this address; wait before the next one");
    if (err)
        err->retry_after_s = (unsigned)((wait_ms + 999) / 1000);
    return ERR_TOO_MANY;
}

/* Whoever made up a token cannot know session and token ids of somebody who is signed in. */
static int ask_door(void *arg, const struct token_claims *claims, struct err *err) {
    struct door *door = arg;
    struct throttle *counts = door->signon->bad_tokens;
    struct throttle_key key;
    int64_t wait_ms;
    _cleanup_(live_session_unref) struct live_session *live = session_table_find(door->signon->table, claims->sid);
    door->is_known = live && live_session_judge(live, claims->jti, clock_wall_ms()) == SESSION_OK;
    key = bearer_key_of(door);
    wait_ms = throttle_pace_ms(counts, &key, door->is_known ? &known_pace : &unknown_pace);
    if (!wait_ms && !door->is_known)
        wait_ms = throttle_pace_ms(counts, &all_key, &all_pace);
    return wait_ms ? refuse_flood(wait_ms, err) : 0;
}

static void note_door(void *arg) {
    const struct door *door = arg;
    const struct throttle_key key = bearer_key_of(door);
    throttle_spend(door->signon->bad_tokens, &key, door->is_known ? &known_pace : &unknown_pace);
    if (!door->is_known)
        throttle_spend(door->signon->bad_tokens, &all_key, &all_pace);
}

int signon_verify_from(struct signon *s, const char *address, const char *text, struct signon_bearer *out, struct err *err) {
    struct door door = {.signon = s, .party = net_party(address)};
    const struct token_gate gate = {.ask = ask_door, .on_failure = note_door, .arg = &door};
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
static int bearer_judge_row(struct signon *s, const struct session *row, struct live_session *live, const char *jti,
                            struct err *err) {
    if (!row || !live || live_session_has_ended(live, clock_wall_ms()))
        return bearer_ended(err);
    switch (session_judge(row, jti, clock_wall_ms())) {
    case SESSION_OK: return 0;
    case SESSION_REUSED: return revoke_reused(s, live, err);
    case SESSION_ENDED:
    default: return bearer_ended(err);
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
        rc = bearer_judge_row(s, row, live, token.jti, err);
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
        rc = bearer_judge_row(s, row, live, jti, err);
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
    rc = session_store_rotate(s->options.store, &rotation, &lost);
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
        rc = bearer_judge_row(s, row, live, jti, err);
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
