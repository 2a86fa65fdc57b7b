/* When two records of HX clusters are one, and when a uuid is somebody else's.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "hx_connection.h"

static char uuid[] = "9004183636114227531:5445300663653806560", other_uuid[] = "1:2", newer_id[] = "newer", older_id[] = "older",
            name[] = "East", dc0[] = "DC0", dc1[] = "DC1", moved_to[] = "HX-Moved", elsewhere[] = "HX-East";

/* A move as it is: the older one's place is gone, and the older one itself says where it is now. */
struct story {
    struct hx_cluster newer, older;
    struct vsphere_cluster place;
    struct hx_status status;
    struct hx_claim claim;
};

static void tell(struct story *s) {
    *s = (struct story){
        .newer = {.id = newer_id, .name = moved_to},
        .older = {.id = older_id, .name = name, .hx_uuid = uuid, .is_gone = true},
        .place = {.datacenter = dc0, .name = moved_to},
        .status = {.remote.state = REMOTE_OK, .facts = {.datacenter = dc0, .vsphere_cluster = moved_to}},
    };
    s->claim = (struct hx_claim){&s->newer, &s->place, &s->older, false, &s->status};
}

static void refused(const struct story *s, const char *remedy) {
    struct err err = {0};
    assert_int_equal(hx_claim_check(&s->claim, &err), ERR_CONFLICT);
    assert_non_null(strstr(err.text, uuid));
    assert_non_null(strstr(err.text, "\"East\" (older)"));
    assert_non_null(strstr(err.remedy, remedy));
}

static void moved(const struct story *s) {
    struct err err = {0};
    assert_int_equal(hx_claim_check(&s->claim, &err), 0);
}

static void test_a_move(void **state) {
    struct story s;
    (void)state;
    tell(&s);
    moved(&s);
    s.status.remote.state = REMOTE_FAILING; /* cannot say anything */
    s.status.facts.vsphere_cluster = elsewhere;
    moved(&s);
    s.claim.older_status = NULL;
    moved(&s);
    s.claim.place = NULL;
    moved(&s);
}

static void test_one_that_vcenter_shows_is_where_it_is(void **state) {
    struct story s;
    (void)state;
    tell(&s);
    s.claim.is_older_in_vcenter = true;
    refused(&s, "unregister");
    s.claim.older_status = NULL; /* that it does not answer is no reason to believe another */
    refused(&s, "unregister");
}

static void test_one_that_answers_must_agree(void **state) {
    struct story s;
    (void)state;
    tell(&s);
    s.status.facts.vsphere_cluster = elsewhere;
    refused(&s, "disconnect");
    tell(&s);
    s.status.facts.datacenter = dc1;
    refused(&s, "disconnect");
    tell(&s);
    s.status.facts.datacenter = NULL; /* an old release does not tell */
    refused(&s, "disconnect");
    tell(&s);
    s.claim.place = NULL;
    refused(&s, "disconnect");
}

static void test_who_had_another_uuid_or_is_nowhere(void **state) {
    struct story s;
    (void)state;
    tell(&s);
    s.newer.hx_uuid = other_uuid;
    refused(&s, "addresses");
    tell(&s);
    s.newer.is_gone = true;
    refused(&s, "disconnect this one");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_move),
        cmocka_unit_test(test_one_that_vcenter_shows_is_where_it_is),
        cmocka_unit_test(test_one_that_answers_must_agree),
        cmocka_unit_test(test_who_had_another_uuid_or_is_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
