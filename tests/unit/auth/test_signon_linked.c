/* One person over several vCenters. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "limits.h"
#include "session_store.h"
#include "signon_world.h"
#include "str.h"

#define EAST "VSPHERE.LOCAL\\Viewer-East"
#define WEST "VSPHERE.LOCAL\\Viewer-West"
#define READ (&(struct signon_use){.is_read = true})

static struct signon *signon;
static struct signon_bearer bearer;
static unsigned of_a, of_b; /* what the two vCenters let the person view */
static bool has_a_ended;    /* the session at the first one: then nothing by its key */
static const char *asked_b_about;

static unsigned viewable_of(const char *vcenter_id, const char *session_key, const char *user_name) {
    if (!str_eq(vcenter_id, VC_B))
        return has_a_ended && session_key ? 0 : of_a;
    asked_b_about = str_eq(user_name, WEST) ? WEST : str_eq(user_name, EAST) ? EAST : "nobody we know";
    return of_b;
}

static int set_up(void **state) {
    (void)state;
    signon = signon_world_new();
    of_a = 2;
    of_b = 3;
    asked_b_about = NULL;
    has_a_ended = false;
    sw.viewable_of = viewable_of;
    signon_world_sign_in(signon, VC_CREDENTIAL_COOKIE, EAST, &bearer);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    signon_bearer_done(&bearer);
    signon_world_free(signon);
    return 0;
}

static int add_by(const struct signon_credential *credential, struct err *err) {
    struct signon_check *check = NULL;
    int rc = signon_world_check(signon, credential, &check, err);
    if (!rc)
        rc = signon_add_vcenter(signon, ACTOR, bearer.session, check, err);
    signon_check_free(check);
    return rc;
}

static int add(enum vc_credential_kind kind, const char *vcenter_id, const char *user_name) {
    const struct signon_credential credential = {.kind = kind, .vcenter_id = vcenter_id, .secret = sw.good_secret};
    struct err err = {0};
    int rc;
    sw.user_name = user_name;
    rc = add_by(&credential, &err);
    assert_int_equal(err.code, rc);
    return rc;
}

struct seen {
    int rc;
    size_t parts, first, further; /* visible in each */
    enum signon_part_state states[2];
    int wait_for;
    bool is_less;
};

static struct seen look_at(struct signon *s, struct live_session *live, const struct signon_use *use) {
    struct session_rights rights = {0};
    struct seen seen = {.rc = signon_get_rights(s, live, use, &rights, NULL)};
    if (seen.rc)
        return seen;
    seen.parts = rights.count;
    seen.wait_for = rights.wait_for;
    seen.is_less = rights.is_less_than_due;
    for (size_t i = 0; i < rights.count; i++) {
        const struct signon_part *part = &rights.parts[i];
        size_t count = part->objects ? shared_objects_get(part->objects)->count : 0;
        *(part->is_first ? &seen.first : &seen.further) += count;
        if (i < 2)
            seen.states[i] = part->state;
        for (size_t j = 0; j < count; j++)
            assert_string_equal(shared_objects_get(part->objects)->items[j].vcenter_id, part->vcenter_id);
    }
    session_rights_done(&rights);
    return seen;
}

static struct seen look(void) {
    return look_at(signon, bearer.session, READ);
}

static void pass_ms(int64_t ms) {
    for (int64_t t = 0; t < ms; t += SIGNON_RIGHTS_TICK_MS) {
        clock_advance_ms(SIGNON_RIGHTS_TICK_MS);
        signon_rights_tick(signon);
        (void)signon_world_run_pools();
    }
}

static void the_union_of_what_both_say(void **state) {
    struct seen seen = look();
    (void)state;
    assert_int_equal(seen.parts, 1);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    seen = look();
    assert_int_equal(seen.parts, 2);
    assert_int_equal(seen.first, 2);
    assert_int_equal(seen.further, 3);
    assert_false(seen.is_less);
    assert_string_equal(sw.last_action, "session.vcenter.add");
    assert_string_equal(live_session_who(bearer.session)->id, "vc:" VC_A ":vsphere.local\\viewer-east"); /* who it was stays */
    assert_int_equal(live_session_who(bearer.session)->role, ROLE_USER);
}

/* Each vCenter is asked about its own user; the same spelling elsewhere gives nothing. */
static void the_same_spelling_stays_two_people(void **state) {
    (void)state;
    assert_int_equal(look().parts, 1);
    pass_ms(30000);
    assert_null(asked_b_about);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    (void)look();
    asked_b_about = NULL;
    pass_ms(10000);
    assert_string_equal(asked_b_about, WEST);
}

static void without_a_credential_nothing_is_added(void **state) {
    (void)state;
    sw.good_secret = "another one, which nobody sends";
    const struct signon_credential credential = {
        .kind = VC_CREDENTIAL_TICKET, .vcenter_id = VC_B, .secret = "0123456789abcdef0123456789abcdef01234567"};
    assert_int_equal(add_by(&credential, NULL), ERR_CREDENTIALS);
    assert_string_equal(sw.last_result, "invalid_credentials");
    sw.is_extension = true;
    sw.good_secret = credential.secret;
    assert_int_equal(add_by(&credential, NULL), ERR_FORBIDDEN);
    assert_int_equal(look().parts, 1);
}

static void the_first_vcenter_is_neither_added_nor_taken_away(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_A, WEST), ERR_CONFLICT);
    assert_int_equal(signon_remove_vcenter(signon, ACTOR, bearer.session, VC_A, &err), ERR_CONFLICT);
    assert_true(err.remedy[0]);
    assert_int_equal(look().first, 2);
}

static void a_newer_credential_replaces_the_older(void **state) {
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, EAST), 0);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    assert_int_equal(look().parts, 2);
    pass_ms(10000);
    assert_string_equal(asked_b_about, WEST);
}

static void what_was_added_can_be_taken_away(void **state) {
    struct err err = {0};
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    assert_int_equal(signon_remove_vcenter(signon, ACTOR, bearer.session, VC_B, NULL), 0);
    assert_string_equal(sw.last_action, "session.vcenter.remove");
    assert_int_equal(look().parts, 1);
    assert_int_equal(look().further, 0);
    assert_int_equal(signon_remove_vcenter(signon, ACTOR, bearer.session, VC_B, &err), ERR_NOT_FOUND);
}

/* A ticket is good for an hour: so is the session, from then on. */
static void the_session_ends_at_the_earliest_end(void **state) {
    int64_t before = live_session_ends_ms(bearer.session);
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_COOKIE, VC_B, WEST), 0);
    assert_int_equal(live_session_ends_ms(bearer.session), before);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    assert_int_equal(live_session_ends_ms(bearer.session), clock_wall_ms() + 3600 * 1000);
    assert_int_equal(signon_remove_vcenter(signon, ACTOR, bearer.session, VC_B, NULL), 0);
    assert_int_equal(live_session_ends_ms(bearer.session), clock_wall_ms() + 3600 * 1000);
}

static void there_is_a_greatest_number(void **state) {
    char id[37];
    (void)state;
    for (unsigned i = 1; i < SESSION_VCENTERS_MAX; i++) { /* put in directly: the world has two vCenters only */
        char user[] = WEST;
        struct session_vcenter v = {.source = SOURCE_VC_TICKET, .user_name = user, .added_at_ms = clock_wall_ms()};
        const struct session_addition a = {
            .sid = live_session_sid(bearer.session), .vcenter = &v, .ends_at_ms = clock_wall_ms() + 1000000};
        (void)snprintf(id, sizeof(id), "%08x-0a53-4a8e-8a54-2f1f9f3f6f10", i);
        (void)snprintf(v.vcenter_id, sizeof(v.vcenter_id), "%s", id);
        assert_int_equal(session_store_add_vcenter(NULL, &a, NULL), 0);
    }
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), ERR_CONFLICT);
    assert_int_equal(signon_load(signon, NULL), 0);
    assert_int_equal(look().parts, SESSION_VCENTERS_MAX);
}

/* One vCenter is away: its part goes through age, grace and nothing, and the other's part stays as it is. */
static void a_vcenter_that_is_away_blinds_no_other(void **state) {
    struct seen seen;
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    atomic_store(&sw.is_b_away, true);
    for (int64_t t = 0; t < KAAS_RIGHTS_GRACE_MS + 20000; t += 5000) {
        seen = look();
        assert_int_equal(seen.rc, 0);
        assert_int_equal(seen.wait_for, -1);
        assert_int_equal(seen.first, 2);
        assert_int_equal(seen.states[0], SIGNON_PART_FRESH);
        assert_int_equal(seen.further, t <= KAAS_RIGHTS_GRACE_MS ? 3 : 0);
        assert_int_equal(seen.is_less, t > KAAS_RIGHTS_HARD_MS);
        pass_ms(5000);
    }
    seen = look_at(signon, bearer.session, &(struct signon_use){.is_read = false});
    assert_int_equal(seen.rc, 0); /* the other vCenter's word is good for writes too */
    assert_int_equal(seen.further, 0);
    signon_write_notes(signon);
    assert_string_equal(sw.last_action, "rights.grace");
    atomic_store(&sw.is_b_away, false);
    (void)look();
    pass_ms(2000);
    assert_int_equal(look().further, 3);
    assert_false(look().is_less);
}

static void an_event_at_one_vcenter_leaves_the_other_alone(void **state) {
    struct seen seen;
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    of_b = 1;
    signon_drop_rights(signon, VC_B, WEST);
    seen = look();
    assert_int_equal(seen.first, 2);
    assert_int_equal(seen.further, 0);
    assert_int_equal(seen.wait_for, 1);
    seen = look_at(signon, bearer.session, &(struct signon_use){.is_read = true, .is_given_up = 2});
    assert_int_equal(seen.wait_for, -1); /* waited in vain: goes on with what there is */
    assert_true(seen.is_less);
    pass_ms(1000);
    assert_int_equal(look().further, 1);
}

/* The first session at its vCenter ends; what the other vCenter says goes on. */
static void the_end_of_one_credential_is_not_the_end(void **state) {
    struct seen seen;
    (void)state;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    (void)look();
    has_a_ended = true;
    pass_ms(10000);
    seen = look();
    assert_int_equal(seen.rc, 0);
    assert_int_equal(seen.states[0], SIGNON_PART_ENDED);
    assert_int_equal(seen.first, 0);
    assert_int_equal(seen.further, 3);
    assert_true(seen.is_less);
    assert_int_equal(signon_remove_vcenter(signon, ACTOR, bearer.session, VC_B, NULL), 0);
    assert_int_equal(look().rc, ERR_SESSION_ENDED);
}

static void local_people_may_add_vcenters_too(void **state) {
    struct signon_issued issued = {0};
    struct seen seen;
    (void)state;
    signon_bearer_done(&bearer);
    assert_int_equal(signon_login_local(signon, ACTOR, "anna", "right horse", &issued, NULL), 0);
    assert_int_equal(signon_verify_from(signon, NULL, issued.token, &bearer, NULL), 0);
    assert_int_equal(look().parts, 0);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    seen = look();
    assert_int_equal(seen.parts, 1);
    assert_int_equal(seen.further, 3);
    atomic_store(&sw.is_b_away, true);
    clock_advance_ms(KAAS_RIGHTS_GRACE_MS + 1);
    seen = look();
    assert_int_equal(seen.rc, 0); /* who did not come from it does not depend on it */
    assert_true(seen.is_less);
    signon_issued_done(&issued);
}

static void other_replicas_follow(void **state) {
    struct signon *other = signon_world_replica();
    struct signon_bearer there = {0};
    struct signon_issued issued = {0};
    const char *sid = live_session_sid(bearer.session);
    struct seen seen;
    (void)state;
    assert_int_equal(signon_refresh(signon, sid, bearer.jti, &issued, NULL), 0);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    assert_int_equal(signon_apply_session_change(other, sid, NULL), 0); /* by the feed */
    assert_int_equal(signon_verify_from(other, NULL, issued.token, &there, NULL), 0);
    seen = look_at(other, there.session, READ);
    assert_int_equal(seen.parts, 2);
    assert_int_equal(seen.wait_for, 0); /* it asks for itself */
    assert_int_equal(live_session_ends_ms(there.session), live_session_ends_ms(bearer.session));
    assert_int_equal(signon_remove_vcenter(signon, ACTOR, bearer.session, VC_B, NULL), 0);
    assert_int_equal(signon_load(other, NULL), 0); /* or after a gap */
    assert_int_equal(look_at(other, there.session, READ).parts, 1);
    signon_bearer_done(&there);
    signon_issued_done(&issued);
    signon_stop(other);
    (void)signon_world_run_pools();
    signon_free(other);
}

static void every_failing_step_leaves_things_as_they_were(void **state) {
    (void)state;
    sw.rights_code = ERR_UPSTREAM;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), ERR_UPSTREAM);
    sw.rights_code = 0;
    sw.fail_code = ERR_DATABASE;
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), ERR_DATABASE);
    sw.fail_code = 0;
    assert_int_equal(look().parts, 1);
    assert_int_equal(add(VC_CREDENTIAL_TICKET, VC_B, WEST), 0);
    assert_int_equal(look().parts, 2);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

/* Each one is as much work as a sign-on. */
static void adding_is_paced_as_signing_on_is(void **state) {
    (void)state;
    signon_set_limits(signon, (struct signon_limits){.per_s = 1});
    for (unsigned i = 0; i < 30; i++)
        assert_int_equal(add(VC_CREDENTIAL_COOKIE, VC_B, WEST), 0);
    assert_int_equal(add(VC_CREDENTIAL_COOKIE, VC_B, WEST), ERR_TOO_MANY);
    assert_string_equal(sw.last_result, "too_many_requests");
    clock_advance_ms(1000);
    assert_int_equal(add(VC_CREDENTIAL_COOKIE, VC_B, WEST), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_union_of_what_both_say),
        TEST(the_same_spelling_stays_two_people),
        TEST(without_a_credential_nothing_is_added),
        TEST(the_first_vcenter_is_neither_added_nor_taken_away),
        TEST(a_newer_credential_replaces_the_older),
        TEST(what_was_added_can_be_taken_away),
        TEST(the_session_ends_at_the_earliest_end),
        TEST(there_is_a_greatest_number),
        TEST(a_vcenter_that_is_away_blinds_no_other),
        TEST(an_event_at_one_vcenter_leaves_the_other_alone),
        TEST(the_end_of_one_credential_is_not_the_end),
        TEST(local_people_may_add_vcenters_too),
        TEST(adding_is_paced_as_signing_on_is),
        TEST(other_replicas_follow),
        TEST(every_failing_step_leaves_things_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
