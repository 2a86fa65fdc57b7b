/* Sign-on by name and password and by credentials that a vCenter checks; throttling; what failures leave behind.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "gate.h"
#include "limits.h"
#include "net_addr.h"
#include "secret.h"
#include "signon_state.h"
#include "signon_world.h"
#include "str.h"
#include "throttle.h"

static struct signon *signon;

static int set_up(void **state) {
    (void)state;
    signon = signon_world_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    signon_world_free(signon);
    return 0;
}

static int local(const char *user, const char *password, struct err *err) {
    struct signon_issued issued = {0};
    int rc = signon_login_local(signon, ACTOR, user, password, &issued, err);
    assert_int_equal(rc == 0, issued.token != NULL);
    signon_issued_done(&issued);
    return rc;
}

static int from_vcenter(enum vc_credential_kind kind, const char *user, const char *secret, struct err *err) {
    struct signon_credential credential = {.kind = kind, .vcenter_id = VC_A, .user = user, .secret = secret};
    struct signon_issued issued = {0};
    int rc = signon_world_log_in(signon, &credential, &issued, err);
    assert_int_equal(rc == 0, issued.token != NULL);
    signon_issued_done(&issued);
    return rc;
}

static int cookie(const char *secret) {
    return from_vcenter(VC_CREDENTIAL_COOKIE, NULL, secret, NULL);
}

/* -- local ------------------------------------------------------------------------------------------------------------- */

static void the_right_password_opens_a_session(void **state) {
    (void)state;
    assert_int_equal(local("anna", "right horse", NULL), 0);
    assert_int_equal(sw.sessions_count, 1);
    assert_string_equal(sw.sessions[0].who.id, "local:11111111-0000-4000-8000-000000000000");
    assert_int_equal(sw.sessions[0].who.role, ROLE_ADMIN);
    assert_int_equal(sw.sessions[0].ends_at_ms - sw.sessions[0].created_at_ms, 8LL * 3600 * 1000);
    assert_string_equal(sw.last_action, "login");
    assert_string_equal(sw.last_result, "ok");
    assert_string_equal(sw.last_principal, "local:11111111-0000-4000-8000-000000000000");
}

/* Directories take all of these for the same name: as many guesses as there are spellings would be free. */
static void blanks_make_no_other_name(void **state) {
    static const char *const spellings[] = {"nobody at all", " nobody at all", "nobody at all ", "nobody  at all",
                                            "NOBODY at   all  "};
    struct err err = {0};
    (void)state;
    _Static_assert(UNIT_COUNT(spellings) == SIGNON_FREE_TRIES, "one of each is free");
    for (size_t i = 0; i < UNIT_COUNT(spellings); i++)
        assert_int_equal(local(spellings[i], "wrong", NULL), ERR_CREDENTIALS);
    assert_int_equal(local("  nobody at  all", "wrong", NULL), ERR_CREDENTIALS);
    assert_int_equal(local("nobody at all   ", "wrong", &err), ERR_TOO_MANY);
}

static void remove_user(void) {
    free(sw.user->id);
    sw.user->id = str_dup("22222222-0000-4000-8000-000000000000");
}

static void disable_user(void) {
    sw.user->is_disabled = true;
    sw.user->version_no++;
}

/* The new password comes with sessions ended, and this one is none yet. */
static void change_password(void) {
    sw.user->version_no++;
}

/* Between the look at the password and the session. */
static void a_user_who_goes_meanwhile_gets_no_session(void **state) {
    void (*const changes[])(void) = {disable_user, change_password, remove_user};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(changes); i++) {
        struct err err = {0};
        sw.user->is_disabled = false;
        sw.before_session = changes[i];
        assert_int_equal(local("anna", "right horse", &err), ERR_CREDENTIALS);
        assert_string_equal(err.text, "the user name or the password is wrong");
        assert_int_equal(sw.sessions_count, i + 1);
        assert_int_equal(signon_world_live(), 0);
        assert_string_equal(sw.last_result, "invalid_credentials");
    }
}

static void wrong_unknown_and_disabled_answer_alike(void **state) {
    struct err wrong = {0}, unknown = {0}, disabled = {0}, none = {0};
    (void)state;
    assert_int_equal(local("anna", "wrong horse", &wrong), ERR_CREDENTIALS);
    assert_int_equal(local("otto", "right horse", &unknown), ERR_CREDENTIALS);
    sw.user->is_disabled = true;
    assert_int_equal(local("anna", "right horse", &disabled), ERR_CREDENTIALS);
    sw.user->is_disabled = false;
    secret_free(STEAL(sw.user->password_hash));
    assert_int_equal(local("anna", "right horse", &none), ERR_CREDENTIALS);
    assert_string_equal(wrong.text, unknown.text);
    assert_string_equal(wrong.text, disabled.text);
    assert_string_equal(wrong.text, none.text);
    assert_int_equal(sw.sessions_count, 0);
    assert_string_equal(sw.last_result, "invalid_credentials");
}

static void guesses_are_slowed_down_and_a_success_forgets(void **state) {
    struct err err = {0};
    unsigned waited;
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(local("anna", "wrong", NULL), ERR_CREDENTIALS);
    assert_int_equal(local("anna", "wrong", NULL), ERR_CREDENTIALS); /* the sixth starts the delay */
    assert_int_equal(local("anna", "right horse", &err), ERR_TOO_MANY);
    assert_int_equal(err.retry_after_s, 1);
    assert_int_equal(local("ANNA", "right horse", NULL), ERR_TOO_MANY); /* the same person */
    clock_advance_ms(1000);
    assert_int_equal(local("anna", "wrong", NULL), ERR_CREDENTIALS);
    err_clear(&err);
    assert_int_equal(local("anna", "wrong", &err), ERR_TOO_MANY);
    waited = err.retry_after_s;
    assert_int_equal(waited, 2);
    clock_advance_ms(2000);
    assert_int_equal(local("anna", "right horse", NULL), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(local("anna", "wrong", NULL), ERR_CREDENTIALS);
}

/* -- passwords and strangers ------------------------------------------------------------------------------------------------- */

/* A password of an account at the vCenter, from an address. */
static int try_from(const char *address, const char *user, const char *password, struct err *err) {
    const char *before = sw.address;
    int rc;
    sw.address = address;
    rc = from_vcenter(VC_CREDENTIAL_PASSWORD, user, password, err);
    sw.address = before;
    return rc;
}

/* So many wrong passwords in a row, each a guess of its own; how many of them were looked at? */
static unsigned guess_from(const char *address, const char *user, unsigned count) {
    static unsigned number;
    char guess[20];
    unsigned looked_at = 0;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(guess, sizeof(guess), "guess %u", number++);
        looked_at += try_from(address, user, guess, NULL) == ERR_CREDENTIALS;
    }
    return looked_at;
}

/* One good account must not buy guesses at others from the same address. */
static void a_success_does_not_clear_the_party(void **state) {
    char name[20];
    unsigned looked_at = 0;
    (void)state;
    for (int i = 0; i < 120; i++) {
        (void)snprintf(name, sizeof(name), "user%d", i);
        looked_at += guess_from("192.0.2.7", name, 1);
        if (i % 10 == 9)
            assert_int_equal(try_from("192.0.2.7", "own", sw.good_secret, NULL), 0); /* known here by now */
    }
    assert_int_equal(looked_at, SIGNON_FREE_TRIES_PARTY + 1 + 5); /* five were forgiven before, none after */
}

#define OWNER "198.51.100.1"

static void a_stranger_keeps_nobody_out(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(guess_from("192.0.2.66", "otto", 20), SIGNON_FREE_TRIES + 1);
    assert_int_equal(try_from(OWNER, "otto", sw.good_secret, NULL), 0);
    assert_int_equal(try_from("192.0.2.66", "otto", sw.good_secret, &err), ERR_TOO_MANY);
    clock_advance_ms(1000);
    assert_int_equal(guess_from("192.0.2.66", "otto", 5), 1); /* the other's success was not theirs */
    assert_int_equal(try_from(OWNER, "otto", sw.good_secret, NULL), 0);
}

static const char *site(unsigned i, char address[40]) {
    (void)snprintf(address, 40, i % 2 ? "10.%u.%u.9" : "2001:db8:%x%02x::9", i / 200, i % 200);
    return address;
}

/* A name cannot be guessed at without limit from everywhere. Whoever has failed at it does not use up what others have. */
static void many_strangers_keep_nobody_out(void **state) {
    char address[40];
    struct err err = {0};
    (void)state;
    assert_int_equal(try_from(OWNER, "otto", sw.good_secret, NULL), 0);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(guess_from(site(i, address), "otto", 1), 1);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(guess_from(site(i, address), "otto", 1), 1);
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(guess_from(site(i, address), "otto", 1), 0);
    assert_int_equal(try_from(OWNER, "otto", sw.good_secret, NULL), 0);
    assert_int_equal(try_from("203.0.113.5", "otto", sw.good_secret, &err), ERR_TOO_MANY);
    assert_int_equal(err.retry_after_s, 4);
    assert_int_equal(guess_from("203.0.113.5", "erna", 1), 1);
    clock_advance_ms(4000);
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(guess_from(site(i, address), "otto", 1), i == 0);
    assert_int_equal(try_from("203.0.113.5", "otto", sw.good_secret, NULL), 0);
}

static void people_who_were_here_lately_pass(void **state) {
    char name[20];
    (void)state;
    assert_int_equal(try_from(OWNER, "otto", sw.good_secret, NULL), 0);
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof(name), "user%u", i);
        (void)guess_from(OWNER, name, 1);
    }
    assert_int_equal(try_from(OWNER, "erna", sw.good_secret, NULL), ERR_TOO_MANY);
    assert_int_equal(try_from(OWNER, "OTTO", sw.good_secret, NULL), 0);
    assert_int_equal(guess_from(OWNER, "otto", 20), SIGNON_FREE_TRIES + 1); /* not without delay, all the same */
    clock_advance_ms(30LL * 24 * 3600 * 1000);
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof(name), "user%u", i);
        (void)guess_from(OWNER, name, 1);
    }
    assert_int_equal(try_from(OWNER, "otto", sw.good_secret, NULL), ERR_TOO_MANY);
}

static void a_64_is_one_party(void **state) {
    char address[40], name[20];
    unsigned looked_at = 0;
    (void)state;
    for (unsigned i = 0; i < 70; i++) {
        (void)snprintf(address, sizeof(address), "2001:db8:1:2::%x", i + 1);
        (void)snprintf(name, sizeof(name), "user%u", i);
        looked_at += guess_from(address, name, 1);
    }
    assert_int_equal(looked_at, SIGNON_FREE_TRIES_PARTY + 1);
    assert_int_equal(guess_from("2001:db8:1:3::1", "user0", 1), 1);
    assert_int_equal(guess_from("192.0.2.9", "erna", 3), 3);
    assert_int_equal(guess_from("::ffff:192.0.2.9", "erna", 9), 3);
}

static void two_ways_to_write_an_account_are_one_name(void **state) {
    (void)state;
    assert_int_equal(guess_from("192.0.2.66", "CORP\\otto", 3), 3);
    assert_int_equal(guess_from("192.0.2.66", "Otto@corp", 9), 3);
    assert_int_equal(guess_from("192.0.2.66", "otto@lab", 1), 1); /* somebody else */
}

/* Credentials that nobody can guess and passwords do not count for each other, and a good credential passes whatever came before. */
static void what_nobody_can_guess_is_not_counted(void **state) {
    static const enum vc_credential_kind kinds[] = {VC_CREDENTIAL_COOKIE, VC_CREDENTIAL_TICKET, VC_CREDENTIAL_PLUGIN,
                                                    VC_CREDENTIAL_KEY};
    char made_up[20];
    unsigned checks = 0;
    (void)state;
    for (unsigned i = 0; i < 240; i++) {
        enum vc_credential_kind kind = kinds[i % UNIT_COUNT(kinds)];
        (void)snprintf(made_up, sizeof(made_up), "made up %u", i);
        assert_int_equal(from_vcenter(kind, kind == VC_CREDENTIAL_KEY ? "otto" : NULL, made_up, NULL), ERR_CREDENTIALS);
        assert_int_equal(atomic_load(&sw.checks), ++checks);
    }
    assert_int_equal(cookie(sw.good_secret), 0);
    assert_int_equal(try_from("192.0.2.7", "otto", sw.good_secret, NULL), 0);
    (void)guess_from("192.0.2.7", "erna", 9);
    assert_int_equal(try_from("192.0.2.7", "erna", sw.good_secret, NULL), ERR_TOO_MANY);
    assert_int_equal(cookie(sw.good_secret), 0);
    assert_int_equal(from_vcenter(VC_CREDENTIAL_KEY, "erna", sw.good_secret, NULL), 0);
}

/* Nobody fills the audit log by being refused: what comes too fast is left to be counted. */
static void refusals_in_the_trail_are_bounded(void **state) {
    char made_up[20];
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(made_up, sizeof(made_up), "made up %u", i);
        assert_int_equal(cookie(made_up), ERR_CREDENTIALS);
    }
    assert_int_equal(sw.audited, 200);
    assert_int_equal(sw.noted, 150);
    sw.address = OWNER;
    assert_int_equal(cookie("made up"), ERR_CREDENTIALS);
    assert_int_equal(sw.noted, 150);
}

static void a_database_that_is_away_is_no_guess(void **state) {
    (void)state;
    sw.fail_code = ERR_DATABASE;
    for (int i = 0; i < 20; i++)
        assert_int_equal(local("anna", "right horse", NULL), ERR_DATABASE);
    sw.fail_code = 0;
    assert_int_equal(local("anna", "right horse", NULL), 0);
}

static void no_step_leaves_anything_half_done(void **state) {
    (void)state;
    for (int works = 0; works < 2; works++) {
        struct err err = {0};
        sw.fail_code = ERR_DATABASE;
        sw.fail_after = works;
        assert_int_equal(local("anna", "right horse", &err), ERR_DATABASE);
        assert_int_equal(err.code, ERR_DATABASE);
        sw.fail_code = 0;
        assert_int_equal(signon_world_live(), 0);
    }
}

/* Without a key no token can be issued: the session that was made for it must not stay. */
static void a_session_without_token_is_ended(void **state) {
    struct signon_issued issued = {0};
    struct signon *keyless = NULL;
    static const struct runtime nothing;
    const struct signon_options options = {
        .runtime = &nothing, .issuer = "x", .token_lifetime_ms = 900000, .session_lifetime_ms = 3600000};
    (void)state;
    assert_int_equal(signon_new(&options, &keyless, NULL), 0);
    assert_int_equal(signon_login_local(keyless, ACTOR, "anna", "right horse", &issued, NULL), ERR_UNAVAILABLE);
    assert_null(issued.token);
    assert_int_equal(sw.sessions_count, 1);
    assert_int_equal(signon_world_live(), 0);
    signon_free(keyless);
}

/* -- vCenter ------------------------------------------------------------------------------------------------------------- */

static void a_cookie_opens_a_session_with_rights(void **state) {
    (void)state;
    assert_int_equal(cookie(sw.good_secret), 0);
    assert_int_equal(atomic_load(&sw.checks), 1);
    assert_int_equal(atomic_load(&sw.questions), 1);
    assert_true(sw.was_asked_by_key);
    assert_string_equal(sw.sessions[0].who.id, "vc:" VC_A ":vsphere.local\\viewer-east");
    assert_string_equal(sw.sessions[0].who.vc_session_key, "52aaaaaa-key");
    assert_int_equal(sw.sessions[0].who.role, ROLE_USER);
    assert_string_equal(sw.last_principal, sw.sessions[0].who.id);
}

/* The clone is logged out again, so its key is worth nothing for later questions; its session is short. */
static void a_ticket_is_asked_by_name(void **state) {
    (void)state;
    assert_int_equal(from_vcenter(VC_CREDENTIAL_TICKET, NULL, sw.good_secret, NULL), 0);
    assert_false(sw.was_asked_by_key);
    assert_null(sw.sessions[0].who.vc_session_key);
    assert_int_equal(sw.sessions[0].ends_at_ms - sw.sessions[0].created_at_ms, 3600 * 1000);
}

static void programs_are_refused(void **state) {
    struct err err = {0};
    (void)state;
    sw.is_extension = true;
    assert_int_equal(from_vcenter(VC_CREDENTIAL_COOKIE, NULL, sw.good_secret, &err), ERR_FORBIDDEN);
    assert_true(err.remedy[0]);
    assert_int_equal(sw.sessions_count, 0);
    assert_int_equal(atomic_load(&sw.questions), 0);
}

static void a_refusal_is_kept_two_seconds(void **state) {
    (void)state;
    assert_int_equal(cookie("wrong-cookie"), ERR_CREDENTIALS);
    assert_int_equal(cookie("wrong-cookie"), ERR_CREDENTIALS);
    assert_int_equal(atomic_load(&sw.checks), 1);
    assert_int_equal(cookie("other-cookie"), ERR_CREDENTIALS);
    assert_int_equal(atomic_load(&sw.checks), 2);
    assert_int_equal(cookie(sw.good_secret), 0);
    clock_advance_ms(1999);
    assert_int_equal(cookie("wrong-cookie"), ERR_CREDENTIALS);
    assert_int_equal(atomic_load(&sw.checks), 3);
    clock_advance_ms(1);
    assert_int_equal(cookie("wrong-cookie"), ERR_CREDENTIALS);
    assert_int_equal(atomic_load(&sw.checks), 4);
}

static void an_unreachable_vcenter_is_no_refusal(void **state) {
    (void)state;
    sw.check_code = ERR_TIMEOUT;
    assert_int_equal(cookie(sw.good_secret), ERR_TIMEOUT);
    sw.check_code = 0;
    sw.rights_code = ERR_UNREACHABLE; /* signing in needs rights */
    assert_int_equal(cookie(sw.good_secret), ERR_UNREACHABLE);
    assert_int_equal(sw.sessions_count, 0);
    sw.rights_code = 0;
    assert_int_equal(cookie(sw.good_secret), 0);
}

/* Texts that do not fit are refused, not cut: cut ones would look like the same credential. */
static void credentials_that_are_too_long_are_refused(void **state) {
    char *secret = malloc(6000);
    (void)state;
    assert_non_null(secret);
    memset(secret, 'x', 5999);
    secret[5999] = 0;
    assert_int_equal(cookie(secret), ERR_TOO_LARGE);
    assert_int_equal(atomic_load(&sw.checks), 0);
    free(secret);
}

static void name_and_secret_do_not_run_into_each_other(void **state) {
    (void)state;
    sw.check_code = ERR_CREDENTIALS;
    assert_int_equal(from_vcenter(VC_CREDENTIAL_PASSWORD, "ab", "cd", NULL), ERR_CREDENTIALS);
    assert_int_equal(from_vcenter(VC_CREDENTIAL_PASSWORD, "a", "bcd", NULL), ERR_CREDENTIALS);
    assert_int_equal(from_vcenter(VC_CREDENTIAL_PASSWORD, "a\nb", "cd", NULL), ERR_CREDENTIALS);
    assert_int_equal(from_vcenter(VC_CREDENTIAL_PASSWORD, "a", "b\ncd", NULL), ERR_CREDENTIALS);
    assert_int_equal(from_vcenter(VC_CREDENTIAL_COOKIE, NULL, "abcd", NULL), ERR_CREDENTIALS);
    assert_int_equal(atomic_load(&sw.checks), 5);
}

/* -- in singleflight together ---------------------------------------------------------------------------------------------------- */

#define GUESTS 8U

struct guest {
    struct signon_check *check;
    unsigned called;
    bool is_in_worker;
};

static void note_call(void *arg, bool is_canceled) {
    struct guest *guest = arg;
    assert_false(is_canceled);
    guest->called++;
    guest->is_in_worker = signon_check_is_in_worker(guest->check);
}

static int come(struct guest *guest, enum vc_credential_kind kind, const char *user, const char *secret, struct err *err) {
    const struct signon_credential credential = {.kind = kind, .vcenter_id = VC_A, .user = user, .secret = secret};
    *guest = (struct guest){0};
    assert_int_equal(signon_check_new(signon, ACTOR, &credential, &guest->check, NULL), 0);
    return signon_check_wait(guest->check, note_call, guest, err);
}

/* They all come before the vCenter says anything; returns how many checks it is asked for. */
static unsigned come_together(struct guest *guests, size_t count, enum vc_credential_kind kind, const char *secret) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(come(&guests[i], kind, NULL, secret, NULL), 0);
    return signon_world_in_pools();
}

static int go_on(struct guest *guest, struct err *err) {
    struct signon_issued issued = {0};
    int rc;
    assert_int_equal(guest->called, 1);
    rc = signon_login_vcenter(signon, ACTOR, guest->check, &issued, err);
    assert_int_equal(rc == 0, issued.token != NULL);
    signon_issued_done(&issued);
    signon_check_free(guest->check);
    return rc;
}

static void identical_sign_ons_share_one_check(void **state) {
    struct guest guests[GUESTS];
    (void)state;
    assert_int_equal(come_together(guests, GUESTS, VC_CREDENTIAL_COOKIE, sw.good_secret), 1);
    assert_int_equal(sw.party, net_party("192.0.2.7"));
    assert_int_equal(signon_world_run_pools(), 1);
    for (size_t i = 0; i < GUESTS; i++) {
        assert_int_equal(guests[i].is_in_worker, i == 0);
        assert_int_equal(go_on(&guests[i], NULL), 0);
    }
    assert_int_equal(atomic_load(&sw.checks), 1);
    assert_int_equal(atomic_load(&sw.questions), 1);
    assert_int_equal(sw.sessions_count, GUESTS); /* each has a session of its own */
    assert_int_equal(sw.audited, GUESTS);
    for (size_t i = 1; i < GUESTS; i++)
        assert_string_not_equal(sw.sessions[0].sid, sw.sessions[i].sid);
}

static void who_comes_after_the_answer_is_asked_about_anew(void **state) {
    struct guest guests[2];
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(guests); i++) {
        assert_int_equal(come_together(&guests[i], 1, VC_CREDENTIAL_COOKIE, sw.good_secret), 1);
        (void)signon_world_run_pools();
    }
    assert_int_equal(atomic_load(&sw.checks), 2);
    for (size_t i = 0; i < UNIT_COUNT(guests); i++)
        assert_int_equal(go_on(&guests[i], NULL), 0);
}

/* The vCenter accepts one of them; here it accepts all, so that nothing else can keep them apart. */
static void tickets_are_never_shared(void **state) {
    struct guest guests[GUESTS];
    (void)state;
    assert_int_equal(come_together(guests, GUESTS, VC_CREDENTIAL_TICKET, sw.good_secret), GUESTS);
    (void)signon_world_run_pools();
    assert_int_equal(atomic_load(&sw.checks), GUESTS);
    for (size_t i = 0; i < GUESTS; i++)
        assert_int_equal(go_on(&guests[i], NULL), 0);
}

static void secrets_of_one_user_are_never_mixed(void **state) {
    struct guest good[2], bad[2];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(come(&good[i], VC_CREDENTIAL_PASSWORD, "otto", sw.good_secret, NULL), 0);
        assert_int_equal(come(&bad[i], VC_CREDENTIAL_PASSWORD, "otto", "no secret", NULL), 0);
    }
    assert_int_equal(signon_world_run_pools(), 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(go_on(&good[i], NULL), 0);
        assert_int_equal(go_on(&bad[i], NULL), ERR_CREDENTIALS);
    }
    assert_int_equal(sw.sessions_count, 2);
}

/* And one wrong secret is one guess, however often it came at once. */
static void a_shared_refusal_refuses_all(void **state) {
    static struct guest guests[300];
    (void)state;
    assert_int_equal(come_together(guests, UNIT_COUNT(guests), VC_CREDENTIAL_COOKIE, "wrong-cookie"), 1);
    (void)signon_world_run_pools();
    for (size_t i = 0; i < UNIT_COUNT(guests); i++)
        assert_int_equal(go_on(&guests[i], NULL), ERR_CREDENTIALS);
    assert_int_equal(sw.sessions_count, 0);
    assert_int_equal(atomic_load(&sw.checks), 1);
    assert_int_equal(sw.audited, UNIT_COUNT(guests));
    assert_int_equal(sw.noted, UNIT_COUNT(guests) - 50);
    assert_int_equal(from_vcenter(VC_CREDENTIAL_COOKIE, NULL, sw.good_secret, NULL), 0);
}

static void different_guesses_do_not_pass_the_throttle_together(void **state) {
    struct guest guests[40];
    char secret[UNIT_COUNT(guests)][20];
    unsigned slowed = 0;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(guests); i++) {
        (void)snprintf(secret[i], sizeof(secret[i]), "guess %zu", i);
        assert_int_equal(come(&guests[i], VC_CREDENTIAL_PASSWORD, "otto", secret[i], NULL), 0);
    }
    (void)signon_world_run_pools();
    for (size_t i = 0; i < UNIT_COUNT(guests); i++)
        slowed += go_on(&guests[i], NULL) == ERR_TOO_MANY;
    assert_int_equal(atomic_load(&sw.checks), 6);
    assert_int_equal(slowed, UNIT_COUNT(guests) - 6);
}

static void what_stops_the_first_stops_all(void **state) {
    static const int codes[] = {ERR_TIMEOUT, ERR_UNREACHABLE, ERR_FORBIDDEN};
    struct guest guests[GUESTS];
    (void)state;
    for (size_t k = 0; k < UNIT_COUNT(codes); k++) {
        sw.check_code = codes[k];
        (void)come_together(guests, GUESTS, VC_CREDENTIAL_COOKIE, sw.good_secret);
        assert_int_equal(signon_world_run_pools(), 1); /* and nobody tries again */
        for (size_t i = 0; i < GUESTS; i++) {
            struct err err = {0};
            assert_int_equal(go_on(&guests[i], &err), codes[k]);
            assert_string_equal(err.text, "as the test wants it");
        }
    }
    assert_int_equal(sw.sessions_count, 0);
}

static void a_lane_that_is_full_or_ends_leaves_nobody_waiting(void **state) {
    struct guest guests[GUESTS];
    struct err err = {0};
    (void)state;
    sw.worker_pool_code = ERR_BUSY;
    assert_int_equal(come_together(guests, 1, VC_CREDENTIAL_COOKIE, sw.good_secret), 0);
    assert_false(guests[0].is_in_worker);
    assert_int_equal(go_on(&guests[0], NULL), ERR_BUSY);
    sw.worker_pool_code = 0;
    assert_int_equal(come_together(guests, GUESTS, VC_CREDENTIAL_COOKIE, sw.good_secret), 1);
    signon_world_end_pools();
    for (size_t i = 0; i < GUESTS; i++) {
        assert_false(guests[i].is_in_worker);
        assert_int_equal(go_on(&guests[i], i ? NULL : &err), ERR_UNAVAILABLE);
    }
    assert_int_equal(err.retry_after_s, 1);
    assert_int_equal(atomic_load(&sw.checks), 0);
}

static void places_are_bounded(void **state) {
    static struct guest guests[KAAS_SIGNONS_SHARED_MAX];
    struct guest late;
    (void)state;
    assert_int_equal(come_together(guests, UNIT_COUNT(guests), VC_CREDENTIAL_COOKIE, sw.good_secret), 1);
    assert_int_equal(come(&late, VC_CREDENTIAL_COOKIE, NULL, sw.good_secret, NULL), ERR_BUSY);
    signon_check_free(late.check);
    assert_int_equal(late.called, 0);
    assert_int_equal(come(&late, VC_CREDENTIAL_COOKIE, NULL, "another one", NULL), 0);
    (void)signon_world_run_pools();
    assert_int_equal(go_on(&late, NULL), ERR_CREDENTIALS);
    for (size_t i = 0; i < UNIT_COUNT(guests); i++) /* who went away before going on */
        signon_check_free(guests[i].check);
    assert_int_equal(come_together(&late, 1, VC_CREDENTIAL_COOKIE, sw.good_secret), 1);
    (void)signon_world_run_pools();
    assert_int_equal(go_on(&late, NULL), 0);
}

/* -- the throttle alone ------------------------------------------------------------------------------------------------------ */

static const struct throttle_key k = {.kind = 'k', .name = "k"};

static void the_delay_grows_to_a_minute_and_is_forgotten(void **state) {
    static const unsigned wanted_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    static const struct throttle_key others[] = {
        {.kind = 'l', .name = "k"}, {.kind = 'k', .name = "l"}, {.kind = 'k', .name = "k", .party = 1}};
    struct throttle *throttle = throttle_new();
    (void)state;
    assert_non_null(throttle);
    assert_int_equal(throttle_delay_ms(throttle, &k, 0), 0);
    for (size_t i = 0; i < UNIT_COUNT(wanted_s); i++) {
        throttle_fail(throttle, &k);
        assert_int_equal(throttle_delay_ms(throttle, &k, 0), wanted_s[i] * 1000);
        for (size_t n = 0; n < UNIT_COUNT(others); n++)
            assert_int_equal(throttle_delay_ms(throttle, &others[n], 0), 0);
        clock_advance_ms(wanted_s[i] * 1000 - 1);
        assert_int_equal(throttle_delay_ms(throttle, &k, 0), 1);
        clock_advance_ms(1);
        assert_int_equal(throttle_delay_ms(throttle, &k, 0), 0);
    }
    clock_advance_ms(15LL * 60 * 1000);
    throttle_fail(throttle, &k);
    assert_int_equal(throttle_delay_ms(throttle, &k, 1), 0); /* counts as the first again */
    throttle_forget(throttle, &k);
    assert_int_equal(throttle_delay_ms(throttle, &k, 0), 0);
    throttle_free(throttle);
}

static unsigned count_held(struct throttle *throttle, char kind, unsigned from, unsigned to) {
    unsigned held = 0;
    for (unsigned i = from; i < to; i++)
        held += throttle_delay_ms(throttle, &(struct throttle_key){.kind = kind, .party = i}, 0) > 0;
    return held;
}

static void a_flood_of_keys_evicts_those_of_long_ago(void **state) {
    struct throttle *throttle = throttle_new();
    (void)state;
    assert_non_null(throttle);
    for (unsigned i = 1; i <= 50000; i++)
        throttle_fail(throttle, &(struct throttle_key){.kind = 'x', .party = i});
    clock_advance_ms(1);
    for (unsigned i = 1; i <= 100; i++)
        throttle_fail(throttle, &(struct throttle_key){.kind = 'y', .party = i});
    clock_advance_ms(1);
    for (unsigned i = 1; i <= 2048; i++) /* one for each set of four, on average */
        throttle_fail(throttle, &(struct throttle_key){.kind = 'z', .party = i});
    assert_true(count_held(throttle, 'y', 1, 101) > 75); /* about 97; 37 if the newest went first */
    assert_true(count_held(throttle, 'z', 1, 2049) > 1800);
    throttle_free(throttle);
}

static void forgiveness_takes_one_off(void **state) {
    struct throttle *throttle = throttle_new();
    (void)state;
    assert_non_null(throttle);
    throttle_forgive(throttle, &k);
    throttle_fail(throttle, &k);
    throttle_fail(throttle, &k);
    assert_int_equal(throttle_delay_ms(throttle, &k, 1), 1000);
    throttle_forgive(throttle, &k);
    assert_int_equal(throttle_delay_ms(throttle, &k, 1), 0);
    throttle_free(throttle);
}

static void a_pace_lets_a_burst_pass_and_then_one_at_a_time(void **state) {
    static const struct throttle_pace pace = {.burst = 3, .every_ms = 500};
    struct throttle *throttle = throttle_new();
    (void)state;
    assert_non_null(throttle);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            assert_int_equal(throttle_pace_ms(throttle, &k, &pace), 0);
            throttle_spend(throttle, &k, &pace);
        }
        assert_int_equal(throttle_pace_ms(throttle, &k, &pace), 500);
        clock_advance_ms(499);
        assert_int_equal(throttle_pace_ms(throttle, &k, &pace), 1);
        clock_advance_ms(1);
        assert_int_equal(throttle_pace_ms(throttle, &k, &pace), 0);
        throttle_spend(throttle, &k, &pace);
        assert_int_equal(throttle_pace_ms(throttle, &k, &pace), 500);
        clock_advance_ms(1500); /* all of it is there again, and no more than that */
    }
    throttle_free(throttle);
}

static void one_is_taken_in_one_step_or_none_is(void **state) {
    const struct throttle_pace pace = {.burst = 2, .every_ms = 1000};
    struct throttle *throttle = throttle_new();
    (void)state;
    assert_non_null(throttle);
    assert_int_equal(throttle_take(throttle, &k, &pace), 0);
    assert_int_equal(throttle_take(throttle, &k, &pace), 0);
    for (unsigned i = 0; i < 3; i++) /* what is refused puts the next one off no further */
        assert_int_equal(throttle_take(throttle, &k, &pace), 1000);
    clock_advance_ms(400);
    assert_int_equal(throttle_take(throttle, &k, &pace), 600);
    clock_advance_ms(600);
    assert_int_equal(throttle_take(throttle, &k, &pace), 0);
    assert_int_equal(throttle_pace_ms(throttle, &k, &pace), 1000);
    throttle_free(throttle);
}

static void a_mark_fades(void **state) {
    struct throttle *throttle = throttle_new();
    (void)state;
    assert_non_null(throttle);
    assert_false(throttle_is_marked(throttle, &k, INT64_MAX));
    throttle_mark(throttle, &k);
    clock_advance_ms(999);
    assert_true(throttle_is_marked(throttle, &k, 1000));
    clock_advance_ms(1);
    assert_false(throttle_is_marked(throttle, &k, 1000));
    throttle_free(throttle);
}

/* -- good sign-ons ----------------------------------------------------------------------------------------------------- */

static int cookie_of(const char *user_name, struct err *err) {
    sw.user_name = user_name;
    return from_vcenter(VC_CREDENTIAL_COOKIE, NULL, sw.good_secret, err);
}

static void good_sign_ons_are_paced(void **state) {
    struct err err = {0};
    (void)state;
    signon_set_limits(signon, (struct signon_limits){.sessions_max = 7, .per_s = 2});
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(cookie_of("X\\many", NULL), 0);
    assert_int_equal(sw.live_max, 7);
    assert_int_equal(cookie_of("X\\many", &err), ERR_TOO_MANY);
    assert_int_equal(err.retry_after_s, 1);
    assert_true(err.remedy[0]);
    assert_string_equal(sw.last_action, "login");
    assert_string_equal(sw.last_result, "too_many_requests");
    assert_non_null(strstr(sw.last_reason, "auth.signon_rate"));
    assert_int_equal(sw.sessions_count, 60);
    assert_int_equal(cookie_of("X\\other", NULL), 0);
    clock_advance_ms(500);
    assert_int_equal(cookie_of("X\\many", NULL), 0);
    assert_int_equal(cookie_of("X\\many", NULL), ERR_TOO_MANY);
    signon_set_limits(signon, (struct signon_limits){.per_s = 0});
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(cookie_of("X\\many", NULL), 0);
}

/* Signs in until it is refused. */
static unsigned count_until_paced(const struct signon_credential *credential) {
    unsigned count = 0;
    int rc = 0;
    sw.good_secret = credential->secret;
    for (; !rc; count += !rc) {
        struct signon_issued issued = {0};
        rc = signon_world_log_in(signon, credential, &issued, NULL);
        signon_issued_done(&issued);
    }
    assert_int_equal(rc, ERR_TOO_MANY);
    return count;
}

/* What a program does for somebody, and whoever knows no more than the key of a session, takes nothing away from them; nor do wrong passwords. */
static void nobody_is_paced_for_others(void **state) {
    const struct signon_credential for_anna = {
        .kind = VC_CREDENTIAL_USER, .vcenter_id = VC_A, .user = "X\\anna", .secret = "", .acting_id = "svc:1", .service_id = "1"};
    const struct signon_credential by_key = {
        .kind = VC_CREDENTIAL_KEY, .vcenter_id = VC_A, .user = "X\\anna", .secret = "52aabbcc-0000-0000-0000-000000000000"};
    const struct signon_credential own = {
        .kind = VC_CREDENTIAL_COOKIE, .vcenter_id = VC_A, .secret = "0123456789abcdef0123456789abcdef01234567"};
    (void)state;
    signon_set_limits(signon, (struct signon_limits){.per_s = 1});
    sw.user_name = "X\\anna";
    assert_int_equal(count_until_paced(&for_anna), 30);
    assert_int_equal(count_until_paced(&by_key), 30);
    assert_int_equal(count_until_paced(&own), 30);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(local("anna", "wrong", NULL), ERR_CREDENTIALS);
    assert_int_equal(local("anna", "right horse", NULL), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_right_password_opens_a_session),
        TEST(blanks_make_no_other_name),
        TEST(a_user_who_goes_meanwhile_gets_no_session),
        TEST(wrong_unknown_and_disabled_answer_alike),
        TEST(guesses_are_slowed_down_and_a_success_forgets),
        TEST(a_success_does_not_clear_the_party),
        TEST(a_stranger_keeps_nobody_out),
        TEST(many_strangers_keep_nobody_out),
        TEST(people_who_were_here_lately_pass),
        TEST(a_64_is_one_party),
        TEST(two_ways_to_write_an_account_are_one_name),
        TEST(what_nobody_can_guess_is_not_counted),
        TEST(refusals_in_the_trail_are_bounded),
        TEST(a_database_that_is_away_is_no_guess),
        TEST(no_step_leaves_anything_half_done),
        TEST(a_session_without_token_is_ended),
        TEST(a_cookie_opens_a_session_with_rights),
        TEST(a_ticket_is_asked_by_name),
        TEST(programs_are_refused),
        TEST(a_refusal_is_kept_two_seconds),
        TEST(an_unreachable_vcenter_is_no_refusal),
        TEST(credentials_that_are_too_long_are_refused),
        TEST(name_and_secret_do_not_run_into_each_other),
        TEST(identical_sign_ons_share_one_check),
        TEST(who_comes_after_the_answer_is_asked_about_anew),
        TEST(tickets_are_never_shared),
        TEST(secrets_of_one_user_are_never_mixed),
        TEST(a_shared_refusal_refuses_all),
        TEST(different_guesses_do_not_pass_the_throttle_together),
        TEST(what_stops_the_first_stops_all),
        TEST(a_lane_that_is_full_or_ends_leaves_nobody_waiting),
        TEST(places_are_bounded),
        TEST(good_sign_ons_are_paced),
        TEST(nobody_is_paced_for_others),
        TEST(the_delay_grows_to_a_minute_and_is_forgotten),
        TEST(a_flood_of_keys_evicts_those_of_long_ago),
        TEST(forgiveness_takes_one_off),
        TEST(a_pace_lets_a_burst_pass_and_then_one_at_a_time),
        TEST(one_is_taken_in_one_step_or_none_is),
        TEST(a_mark_fades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
