/* Rights of many people: asked again in time and no oftener than the rate allows; events, waiting, grace.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "limits.h"
#include "signon_world.h"
#include "str.h"

#define PEOPLE 10000U
#define ACTIVE 200U
#define RATE 2U        /* signon_world_replica */
#define FRESH_MS 10000 /* likewise */
#define VIEWER "VSPHERE.LOCAL\\Viewer-East"
#define READ (&(struct signon_use){.is_read = true})
#define WRITE (&(struct signon_use){.is_read = false})

static struct signon *signon;
static struct signon_bearer bearer;

static int set_up(void **state) {
    (void)state;
    signon = signon_world_new();
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, VIEWER, &bearer);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    signon_bearer_done(&bearer);
    signon_world_free(signon);
    return 0;
}

/* What one request sees. */
struct seen {
    int rc, wait_for;
    size_t count; /* visible vSphere clusters in all parts */
    int64_t age_ms;
    bool is_less;
    enum signon_part_state state; /* of the first part */
    struct err err;
};

static struct seen look(struct live_session *live, const struct signon_use *use) {
    struct session_rights rights = {0};
    struct seen seen = {.wait_for = -1};
    seen.rc = signon_get_rights(signon, live, use, &rights, &seen.err);
    if (seen.rc)
        return seen;
    seen.wait_for = rights.wait_for;
    seen.is_less = rights.is_less_than_due;
    for (size_t i = 0; i < rights.count; i++)
        seen.count += rights.parts[i].objects ? shared_objects_get(rights.parts[i].objects)->count : 0;
    if (rights.count) {
        seen.state = rights.parts[0].state;
        seen.age_ms = clock_wall_ms() - rights.parts[0].as_of_ms;
    }
    session_rights_done(&rights);
    return seen;
}

/* Somebody who waits. */
struct waiter {
    struct signon_wait wait;
    unsigned called;
    bool is_canceled;
};

static void be_woken(void *arg, bool is_canceled) {
    struct waiter *w = arg;
    w->called++;
    w->is_canceled = is_canceled;
}

static int begin_wait(struct waiter *w, struct live_session *live, struct err *err) {
    memset(w, 0, sizeof(*w));
    w->wait.run = be_woken;
    w->wait.arg = w;
    w->wait.deadline_ms = clock_mono_ms() + KAAS_RIGHTS_WAIT_MS;
    return signon_wait_rights(signon, live, VC_A, &w->wait, err);
}

/* Lets the clockwork run for a while; the vCenter answers at once. */
static void pass_ms(int64_t ms) {
    for (int64_t t = 0; t < ms; t += SIGNON_RIGHTS_TICK_MS) {
        clock_advance_ms(SIGNON_RIGHTS_TICK_MS);
        signon_rights_tick(signon);
        (void)signon_world_run_pools();
    }
}

/* -- one person ------------------------------------------------------------------------------------------------------------- */

static void what_was_said_serves_until_the_hard_limit(void **state) {
    struct seen seen = look(bearer.session, READ);
    (void)state;
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.state, SIGNON_PART_FRESH);
    clock_advance_ms(FRESH_MS);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_FRESH);
    clock_advance_ms(1);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_AGING);
    clock_advance_ms(KAAS_RIGHTS_HARD_MS - FRESH_MS - 1);
    seen = look(bearer.session, WRITE);
    assert_int_equal(seen.state, SIGNON_PART_AGING);
    assert_int_equal(seen.wait_for, -1); /* nobody waits while it may be used */
    clock_advance_ms(1);
    seen = look(bearer.session, READ);
    assert_int_equal(seen.state, SIGNON_PART_UNKNOWN);
    assert_int_equal(seen.wait_for, 0);
    assert_int_equal(seen.count, 0);
}

/* Who comes back every few seconds never meets an old answer, and never waits. */
static void who_is_active_is_kept_fresh(void **state) {
    unsigned before = atomic_load(&sw.questions);
    (void)state;
    for (int i = 0; i < 60; i++) {
        struct seen seen = look(bearer.session, READ);
        assert_int_equal(seen.state, SIGNON_PART_FRESH);
        assert_int_equal(seen.wait_for, -1);
        pass_ms(5000);
    }
    assert_in_range(atomic_load(&sw.questions) - before, 300000 / FRESH_MS, 300000 / (FRESH_MS / 2));
}

static void who_is_idle_costs_nothing(void **state) {
    unsigned before;
    (void)state;
    (void)look(bearer.session, READ);
    pass_ms(4 * FRESH_MS);
    before = atomic_load(&sw.questions);
    pass_ms(600000);
    assert_int_equal(atomic_load(&sw.questions), before);
    /* back within the hard limit of the last answer, or not: the first look has it asked again */
    assert_int_equal(look(bearer.session, READ).wait_for, 0);
    pass_ms(1000);
    assert_int_equal(atomic_load(&sw.questions), before + 1);
}

static void a_lost_permission_shows_with_the_next_answer(void **state) {
    (void)state;
    (void)look(bearer.session, READ);
    sw.viewable = 1;
    pass_ms(FRESH_MS);
    assert_int_equal(look(bearer.session, READ).count, 1);
}

static void a_failed_question_is_asked_again_later(void **state) {
    unsigned before = atomic_load(&sw.questions);
    (void)state;
    sw.rights_code = ERR_UPSTREAM;
    for (int i = 0; i < 30; i++) {
        assert_int_equal(look(bearer.session, READ).count, 2);
        pass_ms(1000);
    }
    assert_in_range(atomic_load(&sw.questions) - before, 3, 6);
    sw.rights_code = 0;
    pass_ms(5000);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_FRESH);
}

static void sessions_of_one_person_share_the_question(void **state) {
    struct signon_bearer others[20];
    unsigned before;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(others); i++)
        signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, i % 2 ? VIEWER : "vsphere.local\\VIEWER-EAST", &others[i]);
    before = atomic_load(&sw.questions);
    for (int t = 0; t < 30; t++) {
        for (size_t i = 0; i < UNIT_COUNT(others); i++)
            assert_int_equal(look(others[i].session, READ).state, SIGNON_PART_FRESH);
        pass_ms(2000);
    }
    assert_in_range(atomic_load(&sw.questions) - before, 60000 / FRESH_MS, 60000 / (FRESH_MS / 2));
    for (size_t i = 0; i < UNIT_COUNT(others); i++)
        signon_bearer_done(&others[i]);
}

static void local_people_need_no_vcenter(void **state) {
    struct signon_bearer anna = {0};
    struct signon_issued issued = {0};
    struct seen seen;
    (void)state;
    assert_int_equal(signon_login_local(signon, ACTOR, "anna", "right horse", &issued, NULL), 0);
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, &anna, NULL), 0);
    clock_advance_ms(KAAS_RIGHTS_GRACE_MS);
    seen = look(anna.session, WRITE);
    assert_int_equal(seen.rc, 0);
    assert_int_equal(seen.wait_for, -1);
    assert_false(seen.is_less);
    signon_bearer_done(&anna);
    signon_issued_done(&issued);
}

/* -- many ------------------------------------------------------------------------------------------------------------------- */

static struct signon_bearer people[PEOPLE];

static void sign_in_people(size_t count) {
    char name[64];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "VSPHERE.LOCAL\\person-%zu", i);
        signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, name, &people[i]);
    }
    sw.user_name = VIEWER;
}

static void sign_out_people(size_t count) {
    for (size_t i = 0; i < count; i++)
        signon_bearer_done(&people[i]);
}

static unsigned asked_about_idle;

static unsigned watch_for_idle(const char *vcenter_id, const char *session_key, const char *user_name) {
    const char *number = strrchr(user_name, '-');
    (void)vcenter_id;
    (void)session_key;
    if (number && str_starts(user_name, "VSPHERE.LOCAL\\person-") && strtoul(number + 1, NULL, 10) >= ACTIVE)
        asked_about_idle++;
    return 2;
}

/* No window of any length may hold more than its length allows: checked over all windows that end now. */
struct rate {
    unsigned asked[3100];
    size_t count;
};

static void check_rate(struct rate *rate, unsigned asked) {
    rate->asked[rate->count++] = asked;
    for (size_t i = 0; i < rate->count; i++) {
        int64_t ms = (int64_t)(rate->count - i) * SIGNON_RIGHTS_TICK_MS;
        unsigned before = i ? rate->asked[i - 1] : 0;
        if ((int64_t)(asked - before) * 1000 > RATE * (ms + 1000))
            print_error("%u questions in %lld ms\n", asked - before, (long long)ms);
        assert_true((int64_t)(asked - before) * 1000 <= RATE * (ms + 1000));
    }
}

/* 200 of 10,000 people work for ten minutes: at the rate of 2 per second nobody's answer gets old, nobody waits, nobody idle is asked about. */
static void ten_thousand_people_of_whom_200_are_active(void **state) {
    static struct rate rate;
    int64_t oldest_ms = 0;
    unsigned before;
    (void)state;
    sign_in_people(PEOPLE);
    sw.viewable_of = watch_for_idle;
    asked_about_idle = 0;
    memset(&rate, 0, sizeof(rate));
    before = atomic_load(&sw.questions);
    for (size_t tick = 0; tick < 600000 / SIGNON_RIGHTS_TICK_MS; tick++) {
        for (size_t i = tick % 40; i < ACTIVE; i += 40) { /* each comes every 8 s */
            struct seen seen = look(people[i].session, READ);
            assert_int_equal(seen.rc, 0);
            assert_int_equal(seen.wait_for, -1);
            if (seen.age_ms > oldest_ms)
                oldest_ms = seen.age_ms;
        }
        pass_ms(SIGNON_RIGHTS_TICK_MS);
        check_rate(&rate, atomic_load(&sw.questions) - before);
    }
    print_message("questions %u, oldest answer used %lld ms\n", atomic_load(&sw.questions) - before, (long long)oldest_ms);
    assert_true(oldest_ms <= KAAS_RIGHTS_HARD_MS);
    assert_in_range(atomic_load(&sw.questions) - before, 600 * RATE * 9 / 10, 601 * RATE);
    assert_int_equal(asked_about_idle, 0);
    sign_out_people(PEOPLE);
}

/* An event about everybody: nothing said before is used, the storm keeps to the rate, who waits is answered within the bound or told when
 * to come back, and in the end everybody active is known again. */
static void an_event_for_everybody_makes_a_bounded_storm(void **state) {
    static struct waiter waiters[ACTIVE];
    static struct rate rate;
    unsigned before, waiting = 0, refused = 0;
    (void)state;
    sign_in_people(ACTIVE);
    pass_ms(1000);
    sw.viewable = 1;
    before = atomic_load(&sw.questions);
    signon_drop_rights(signon, VC_A, NULL);
    memset(&rate, 0, sizeof(rate));
    for (size_t i = 0; i < ACTIVE; i++) {
        struct err err = {0};
        int rc;
        assert_int_equal(look(people[i].session, READ).wait_for, 0);
        rc = begin_wait(&waiters[i], people[i].session, &err);
        refused += rc != 0;
        waiting += rc == 0;
        assert_true(rc == 0 || (rc == ERR_RIGHTS_UNKNOWN && err.retry_after_s > KAAS_RIGHTS_WAIT_MS / 1000));
    }
    assert_true(refused && waiting >= RATE * KAAS_RIGHTS_WAIT_MS / 1000);
    for (int64_t t = 0; t < KAAS_RIGHTS_WAIT_MS + 1000; t += SIGNON_RIGHTS_TICK_MS) {
        pass_ms(SIGNON_RIGHTS_TICK_MS);
        check_rate(&rate, atomic_load(&sw.questions) - before);
        for (size_t i = 0; i < ACTIVE; i++)
            assert_true(look(people[i].session, READ).count <= 1); /* nothing older than the event */
    }
    for (size_t i = 0; i < ACTIVE; i++)
        assert_true(!waiters[i].wait.subject || waiters[i].called == 1);
    for (size_t i = 0; i < waiting; i++)
        assert_true(waiters[i].wait.rc == 0 || waiters[i].wait.rc == ERR_RIGHTS_UNKNOWN);
    assert_int_equal(waiters[0].wait.rc, 0);
    for (int64_t t = 0; t < ACTIVE * 1000 / RATE; t += SIGNON_RIGHTS_TICK_MS) { /* they come again */
        for (size_t i = 0; t % 2000 == 0 && i < ACTIVE; i++)
            (void)look(people[i].session, READ);
        pass_ms(SIGNON_RIGHTS_TICK_MS);
        check_rate(&rate, atomic_load(&sw.questions) - before);
    }
    for (size_t i = 0; i < ACTIVE; i++)
        assert_int_equal(look(people[i].session, READ).count, 1);
    sign_out_people(ACTIVE);
}

/* A cluster moves to a vSphere cluster that did not matter before: nobody was asked about it yet. */
static void who_is_active_is_asked_about_what_newly_matters(void **state) {
    unsigned before;
    (void)state;
    (void)look(bearer.session, READ);
    pass_ms(1000);
    before = atomic_load(&sw.questions);
    atomic_store(&sw.interest, 1);
    sw.viewable = 3;
    pass_ms(1000);
    assert_int_equal(atomic_load(&sw.questions), before + 1);
    assert_int_equal(look(bearer.session, READ).count, 3);
    pass_ms(2000);
    assert_int_equal(atomic_load(&sw.questions), before + 1);
}

/* -- events ----------------------------------------------------------------------------------------------------------------- */

static void an_event_drops_the_one_it_names(void **state) {
    static const char *const forms[] = {VIEWER, "vsphere.local\\viewer-EAST", "CORP\\Viewer-East"};
    struct signon_bearer other = {0};
    (void)state;
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, "VSPHERE.LOCAL\\viewer-east-2", &other);
    for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
        assert_int_equal(look(bearer.session, READ).count, 2);
        signon_drop_rights(signon, VC_A, forms[i]);
        assert_int_equal(look(bearer.session, READ).wait_for, 0);
        assert_int_equal(look(other.session, READ).count, 2);
        pass_ms(2000);
    }
    signon_drop_rights(signon, VC_B, VIEWER); /* the same spelling elsewhere is somebody else */
    signon_drop_rights(signon, VC_A, "VSPHERE.LOCAL\\somebody");
    assert_int_equal(look(bearer.session, READ).count, 2);
    signon_bearer_done(&other);
}

/* In all scripts: a permission may have been given in other case than a session tells. What the vCenter said about one spelling is not said of another: it may have two such accounts. */
static void an_event_drops_the_one_it_names_in_other_case(void **state) {
    struct signon_bearer capital = {0}, small = {0};
    (void)state;
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, "VSPHERE.LOCAL\\M\u00dcLLER", &capital);
    const unsigned before = atomic_load(&sw.questions);
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, "VSPHERE.LOCAL\\m\u00fcller", &small);
    assert_int_equal(look(small.session, READ).count, 2);
    assert_int_equal(atomic_load(&sw.questions), before + 1);
    assert_int_equal(look(capital.session, READ).count, 2);
    signon_drop_rights(signon, VC_A, "VSPHERE.LOCAL\\M\u00dcller");
    assert_int_equal(look(capital.session, READ).wait_for, 0);
    assert_int_equal(look(small.session, READ).wait_for, 0);
    assert_int_equal(look(bearer.session, READ).count, 2);
    signon_bearer_done(&capital);
    signon_bearer_done(&small);
}

static void an_event_in_an_unknown_spelling_drops_everybody(void **state) {
    static const char *const forms[] = {NULL, "", "viewer@vsphere.local", "viewer", "\\viewer", "VSPHERE.LOCAL\\", "S-1-5-21-7"};
    struct signon_bearer other = {0};
    (void)state;
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, "somebody without a domain", &other);
    for (size_t i = 0; i < UNIT_COUNT(forms); i++) {
        signon_drop_rights(signon, VC_A, forms[i]);
        assert_int_equal(look(bearer.session, READ).wait_for, 0);
        assert_int_equal(look(other.session, READ).wait_for, 0);
        pass_ms(3000);
        assert_int_equal(look(bearer.session, READ).count, 2);
        assert_int_equal(look(other.session, READ).count, 2);
    }
    signon_drop_rights(signon, VC_A, VIEWER); /* whose spelling we cannot compare may be meant too */
    assert_int_equal(look(other.session, READ).wait_for, 0);
    signon_bearer_done(&other);
}

static unsigned drop_while_asked(const char *vcenter_id, const char *session_key, const char *user_name) {
    (void)session_key;
    sw.viewable_of = NULL;
    signon_drop_rights(signon, vcenter_id, user_name);
    return 5; /* from before the change */
}

/* An answer that was under way when the event came counts for nothing, however late it arrives: who waits is asked for again. */
static void an_answer_that_crossed_an_event_is_no_answer(void **state) {
    struct waiter w;
    (void)state;
    signon_drop_rights(signon, VC_A, NULL);
    sw.viewable_of = drop_while_asked;
    assert_int_equal(begin_wait(&w, bearer.session, NULL), 0);
    assert_int_equal(signon_world_in_pools(), 1);
    (void)signon_world_run_pools();
    assert_int_equal(w.called, 1);
    assert_int_equal(w.wait.rc, 0);
    assert_int_equal(look(bearer.session, READ).count, 2);
}

/* The same for somebody who is just signing in: not known yet when the event comes. */
static void a_sign_on_that_crossed_an_event_brings_no_rights(void **state) {
    struct signon_bearer late = {0};
    (void)state;
    sw.viewable_of = drop_while_asked;
    signon_world_sign_in(signon, VC_CREDENTIAL_TICKET, "VSPHERE.LOCAL\\late", &late);
    assert_int_equal(look(late.session, READ).wait_for, 0);
    pass_ms(1000);
    assert_int_equal(look(late.session, READ).count, 2);
    signon_bearer_done(&late);
}

/* -- waiting ---------------------------------------------------------------------------------------------------------------- */

static void who_waits_for_the_same_person_shares_the_question(void **state) {
    static struct waiter waiters[50];
    unsigned before = atomic_load(&sw.questions);
    (void)state;
    signon_drop_rights(signon, VC_A, NULL);
    for (size_t i = 0; i < UNIT_COUNT(waiters); i++)
        assert_int_equal(begin_wait(&waiters[i], bearer.session, NULL), 0);
    assert_int_equal(signon_world_run_pools(), 1);
    for (size_t i = 0; i < UNIT_COUNT(waiters); i++) {
        assert_int_equal(waiters[i].called, 1);
        assert_int_equal(waiters[i].wait.rc, 0);
    }
    assert_int_equal(atomic_load(&sw.questions), before + 1);
}

static void a_wait_ends_at_its_deadline(void **state) {
    struct waiter w;
    (void)state;
    signon_drop_rights(signon, VC_A, NULL);
    sw.worker_pool_code = ERR_BUSY; /* the worker pool stays full */
    assert_int_equal(begin_wait(&w, bearer.session, NULL), 0);
    pass_ms(KAAS_RIGHTS_WAIT_MS - SIGNON_RIGHTS_TICK_MS);
    assert_int_equal(w.called, 0);
    pass_ms(2 * SIGNON_RIGHTS_TICK_MS);
    assert_int_equal(w.called, 1);
    assert_int_equal(w.wait.rc, ERR_RIGHTS_UNKNOWN);
    assert_true(w.wait.err.retry_after_s > 0);
    sw.worker_pool_code = 0;
    pass_ms(6000);
    assert_int_equal(look(bearer.session, READ).count, 2);
}

static void a_refused_question_reaches_who_waits(void **state) {
    struct seen seen;
    struct waiter w;
    (void)state;
    signon_drop_rights(signon, VC_A, NULL);
    sw.rights_code = ERR_UPSTREAM;
    assert_int_equal(begin_wait(&w, bearer.session, NULL), 0);
    (void)signon_world_run_pools();
    assert_int_equal(w.wait.rc, ERR_UPSTREAM);
    seen = look(bearer.session, &(struct signon_use){.is_read = true, .is_given_up = 1, .why = &w.wait.err});
    assert_int_equal(seen.rc, ERR_RIGHTS_UNKNOWN);
    assert_non_null(strstr(seen.err.text, "as the test wants it"));
}

static void the_stop_ends_all_waits(void **state) {
    struct waiter w, late;
    (void)state;
    signon_drop_rights(signon, VC_A, NULL);
    sw.worker_pool_code = ERR_BUSY;
    assert_int_equal(begin_wait(&w, bearer.session, NULL), 0);
    signon_stop(signon);
    assert_int_equal(w.called, 1);
    assert_true(w.is_canceled);
    assert_int_equal(begin_wait(&late, bearer.session, NULL), ERR_CANCELED);
    sw.worker_pool_code = 0;
    pass_ms(1000);
    assert_int_equal(late.called, 0);
}

/* Questions in the background never fill the worker pool, and requests go before them. */
static void the_background_leaves_room(void **state) {
    struct waiter w;
    (void)state;
    sign_in_people(20);
    for (size_t i = 0; i < 20; i++)
        (void)look(people[i].session, READ);
    clock_advance_ms(FRESH_MS);
    for (int i = 0; i < 10; i++) { /* nothing is answered meanwhile */
        signon_rights_tick(signon);
        assert_true(signon_world_in_pools() <= 2);
        clock_advance_ms(400);
    }
    signon_drop_rights(signon, VC_A, "VSPHERE.LOCAL\\person-5");
    assert_int_equal(begin_wait(&w, people[5].session, NULL), 0);
    assert_int_equal(signon_world_in_pools(), 3);
    (void)signon_world_run_pools();
    assert_int_equal(w.wait.rc, 0);
    sign_out_people(20);
}

/* -- the vCenter is away ---------------------------------------------------------------------------------------------------- */

static void grace_is_for_reads_and_noted_once(void **state) {
    struct seen seen;
    unsigned before;
    (void)state;
    atomic_store(&sw.is_away, true);
    pass_ms(KAAS_RIGHTS_HARD_MS);
    seen = look(bearer.session, WRITE);
    assert_int_equal(seen.rc, 0);
    assert_false(seen.is_less);
    clock_advance_ms(1);
    before = sw.audited;
    for (int i = 0; i < 5; i++) {
        seen = look(bearer.session, READ);
        assert_int_equal(seen.rc, 0);
        assert_int_equal(seen.state, SIGNON_PART_GRACE);
        assert_int_equal(seen.count, 2);
        assert_true(seen.is_less);
        signon_write_notes(signon);
        assert_int_equal(look(bearer.session, WRITE).rc, ERR_RIGHTS_UNKNOWN);
    }
    assert_int_equal(sw.audited, before + 1);
    assert_string_equal(sw.last_action, "rights.grace");
    assert_string_equal(sw.last_principal, "vc:" VC_A ":vsphere.local\\viewer-east");
    clock_advance_ms(KAAS_RIGHTS_GRACE_MS - KAAS_RIGHTS_HARD_MS - 1);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_GRACE);
    clock_advance_ms(1);
    assert_int_equal(look(bearer.session, READ).rc, ERR_RIGHTS_UNKNOWN);
    /* back, and away again: another outage */
    atomic_store(&sw.is_away, false);
    (void)look(bearer.session, READ);
    pass_ms(2000);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_FRESH);
    atomic_store(&sw.is_away, true);
    clock_advance_ms(KAAS_RIGHTS_HARD_MS + 1);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_GRACE);
    signon_write_notes(signon);
    assert_int_equal(sw.audited, before + 2);
}

/* What an event made void does not come back because the vCenter went away. */
static void grace_never_revives_what_was_dropped(void **state) {
    struct seen seen;
    (void)state;
    signon_drop_rights(signon, VC_A, NULL);
    atomic_store(&sw.is_away, true);
    seen = look(bearer.session, READ);
    assert_int_equal(seen.rc, ERR_RIGHTS_UNKNOWN);
    assert_true(seen.err.retry_after_s > 0);
}

static void no_refresh_in_grace(void **state) {
    struct signon_issued next = {0};
    const char *sid = live_session_sid(bearer.session);
    char jti[37];
    (void)state;
    atomic_store(&sw.is_away, true);
    clock_advance_ms(KAAS_RIGHTS_HARD_MS);
    assert_int_equal(signon_refresh(signon, sid, bearer.jti, &next, NULL), 0);
    signon_issued_done(&next);
    clock_advance_ms(1);
    (void)snprintf(jti, sizeof(jti), "%s", sw.sessions[0].jti);
    assert_int_equal(signon_refresh(signon, sid, jti, &next, NULL), ERR_RIGHTS_UNKNOWN);
    atomic_store(&sw.is_away, false);
    assert_int_equal(signon_refresh(signon, sid, jti, &next, NULL), 0); /* nothing is asked for it */
    signon_issued_done(&next);
}

static void nobody_asks_a_vcenter_that_is_away(void **state) {
    unsigned before = atomic_load(&sw.questions);
    struct waiter w;
    (void)state;
    (void)look(bearer.session, READ);
    signon_drop_rights(signon, VC_A, NULL);
    sw.worker_pool_code = ERR_BUSY;
    assert_int_equal(begin_wait(&w, bearer.session, NULL), 0);
    sw.worker_pool_code = 0;
    atomic_store(&sw.is_away, true);
    pass_ms(60000);
    assert_int_equal(atomic_load(&sw.questions), before);
    assert_int_equal(w.called, 1); /* who waited when it went away is told */
    assert_int_equal(w.wait.rc, ERR_UNREACHABLE);
}

/* A vCenter that takes questions and does not answer is away, before its time-out says so. */
static void a_vcenter_that_hangs_is_away(void **state) {
    (void)state;
    (void)look(bearer.session, READ);
    clock_advance_ms(FRESH_MS);
    signon_rights_tick(signon);
    assert_int_equal(signon_world_in_pools(), 1);
    clock_advance_ms(KAAS_RIGHTS_HARD_MS);
    assert_int_equal(look(bearer.session, READ).state, SIGNON_PART_GRACE);
    (void)signon_world_run_pools(); /* it answers after all; what it says counts from when it was asked */
    assert_int_equal(look(bearer.session, READ).count, 2);
}

/* -- the session at the vCenter ends ----------------------------------------------------------------------------------------- */

static unsigned keyed, named;
static unsigned by_key_or_name(const char *vcenter_id, const char *session_key, const char *user_name) {
    (void)vcenter_id;
    (void)user_name;
    return session_key ? keyed : named;
}

static void after_a_cookie_the_end_of_the_session_there_is_told(void **state) {
    struct signon_bearer cookie = {0};
    struct signon_issued next = {0};
    struct seen seen;
    (void)state;
    keyed = named = 2;
    sw.viewable_of = by_key_or_name;
    signon_world_sign_in(signon, VC_CREDENTIAL_COOKIE, VIEWER, &cookie);
    assert_int_equal(look(cookie.session, READ).count, 2);
    keyed = 0;
    pass_ms(FRESH_MS);
    seen = look(cookie.session, READ);
    assert_int_equal(seen.rc, ERR_SESSION_ENDED);
    assert_int_equal(signon_refresh(signon, live_session_sid(cookie.session), cookie.jti, &next, NULL), ERR_SESSION_ENDED);
    assert_int_equal(look(bearer.session, READ).rc, 0); /* the same person by ticket goes on */
    signon_bearer_done(&cookie);
}

#define OTHER "VSPHERE.LOCAL\\other"

static unsigned given_before_the_name_is_asked(const char *vcenter_id, const char *session_key, const char *user_name) {
    (void)vcenter_id;
    keyed = !session_key && str_eq(user_name, OTHER) ? 2 : keyed;
    return session_key ? keyed : named;
}

/* Between the question by session and the one by name. */
static void rights_given_meanwhile_are_no_end(void **state) {
    struct signon_bearer cookie = {0};
    (void)state;
    keyed = named = 2;
    sw.viewable_of = by_key_or_name;
    signon_world_sign_in(signon, VC_CREDENTIAL_COOKIE, OTHER, &cookie);
    assert_int_equal(look(cookie.session, READ).count, 2);
    keyed = 0;
    sw.viewable_of = given_before_the_name_is_asked;
    pass_ms(FRESH_MS);
    assert_int_equal(look(cookie.session, READ).rc, 0);
    assert_int_equal(look(cookie.session, READ).count, 2);
    signon_bearer_done(&cookie);
}

/* Somebody without any rights is not somebody whose session has ended; it is asked by name once, not each time. */
static void having_no_rights_is_not_an_end(void **state) {
    struct signon_bearer cookie = {0};
    unsigned before;
    (void)state;
    keyed = named = 2;
    sw.viewable_of = by_key_or_name;
    signon_world_sign_in(signon, VC_CREDENTIAL_COOKIE, OTHER, &cookie);
    assert_int_equal(look(cookie.session, READ).count, 2);
    keyed = named = 0;
    pass_ms(FRESH_MS);
    assert_int_equal(look(cookie.session, READ).rc, 0);
    assert_int_equal(look(cookie.session, READ).count, 0);
    before = atomic_load(&sw.questions);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(look(cookie.session, READ).rc, 0);
        pass_ms(FRESH_MS / 2);
    }
    assert_in_range(atomic_load(&sw.questions) - before, 6, 10);
    signon_bearer_done(&cookie);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_was_said_serves_until_the_hard_limit),
        TEST(who_is_active_is_kept_fresh),
        TEST(who_is_idle_costs_nothing),
        TEST(a_lost_permission_shows_with_the_next_answer),
        TEST(a_failed_question_is_asked_again_later),
        TEST(sessions_of_one_person_share_the_question),
        TEST(local_people_need_no_vcenter),
        TEST(ten_thousand_people_of_whom_200_are_active),
        TEST(an_event_for_everybody_makes_a_bounded_storm),
        TEST(who_is_active_is_asked_about_what_newly_matters),
        TEST(an_event_drops_the_one_it_names),
        TEST(an_event_drops_the_one_it_names_in_other_case),
        TEST(an_event_in_an_unknown_spelling_drops_everybody),
        TEST(an_answer_that_crossed_an_event_is_no_answer),
        TEST(a_sign_on_that_crossed_an_event_brings_no_rights),
        TEST(who_waits_for_the_same_person_shares_the_question),
        TEST(a_wait_ends_at_its_deadline),
        TEST(a_refused_question_reaches_who_waits),
        TEST(the_stop_ends_all_waits),
        TEST(the_background_leaves_room),
        TEST(grace_is_for_reads_and_noted_once),
        TEST(grace_never_revives_what_was_dropped),
        TEST(no_refresh_in_grace),
        TEST(nobody_asks_a_vcenter_that_is_away),
        TEST(a_vcenter_that_hangs_is_away),
        TEST(after_a_cookie_the_end_of_the_session_there_is_told),
        TEST(rights_given_meanwhile_are_no_end),
        TEST(having_no_rights_is_not_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
