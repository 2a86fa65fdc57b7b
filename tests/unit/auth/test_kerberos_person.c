/* Whom a ticket makes of somebody: when the ticket's word does, when the directory must be asked, and what its silence means. kerberos.c over
 * directories in memory. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "ldapdir_world.h"
#include "kerberos_private.h"
#include "str.h"
#include "tls_server.h"
#include "x509.h"

#define SID "S-1-5-21-1-2-3-"
#define BY_TICKET "sid:" SID "501"    /* a group that the ticket tells */
#define BY_DIRECTORY "sid:" SID "502" /* one that the directory tells */

static const struct world_entry people[] = {
    {.dn = "CN=anna," WORLD_AD_BASE,
     .values = {{"objectCategory", "person"},
                {"objectClass", "user"},
                {"sAMAccountName", "anna"},
                {"objectSid", SID "1001"},
                {"userAccountControl", "512"},
                {"pwdLastSet", "140"},
                {"tokenGroups", SID "502"}}},
    {.dn = "CN=off," WORLD_AD_BASE,
     .values = {{"objectCategory", "person"},
                {"objectClass", "user"},
                {"sAMAccountName", "off"},
                {"objectSid", SID "1002"},
                {"userAccountControl", "514"}}},
};

static bool is_privileged;
static unsigned asked_privileged;

static bool say_privileged(void *arg, const char *principal_id, const struct group_set *groups) {
    (void)arg;
    assert_true(str_starts(principal_id, "sid:" SID));
    assert_true(group_set_has(groups, BY_TICKET)); /* by what the ticket tells, as nothing else is known yet */
    asked_privileged++;
    return is_privileged;
}

enum answer { GOOD, DEAD, DISABLED, UNKNOWN, NO_SOURCE, CROWDED };

/* A line of the table: what the ticket and the option say, how the directory is, and what comes of it. */
struct row {
    bool has_groups;
    enum kerberos_live_check check;
    bool is_privileged;
    enum answer answer;
    int code;
    const char *group; /* whose word counts */
    bool is_unasked;
    const char *mark; /* NULL: the person is not looked at again */
};

#define OFF KERBEROS_ASK_NOBODY
#define SOME KERBEROS_ASK_PRIVILEGED
#define ALL KERBEROS_ASK_ALL

static const struct row rows[] = {
    /* the ticket's word does: nobody is asked, however the directory is; an account that was disabled since then goes with the next look */
    {true, OFF, true, GOOD, 0, BY_TICKET, false, "ticket:133"},
    {true, OFF, true, DEAD, 0, BY_TICKET, false, "ticket:133"},
    {true, OFF, true, DISABLED, 0, BY_TICKET, false, "ticket:133"},
    {true, OFF, true, NO_SOURCE, 0, BY_TICKET, false, NULL},
    {true, SOME, false, GOOD, 0, BY_TICKET, false, "ticket:133"},
    {true, SOME, false, DEAD, 0, BY_TICKET, false, "ticket:133"},
    {true, SOME, false, CROWDED, 0, BY_TICKET, false, "ticket:133"},
    {true, SOME, false, NO_SOURCE, 0, BY_TICKET, false, NULL},
    /* who may do more is asked about; silence is borne, and noted */
    {true, SOME, true, GOOD, 0, BY_DIRECTORY, false, "140"},
    {true, SOME, true, DEAD, 0, BY_TICKET, true, "ticket:133"},
    {true, SOME, true, CROWDED, 0, BY_TICKET, true, "ticket:133"},
    {true, SOME, true, DISABLED, ERR_CREDENTIALS, NULL, false, NULL},
    {true, SOME, true, UNKNOWN, ERR_CREDENTIALS, NULL, false, NULL},
    {true, SOME, true, NO_SOURCE, ERR_FORBIDDEN, NULL, false, NULL},
    /* all are asked about: without an answer nobody comes in */
    {true, ALL, false, GOOD, 0, BY_DIRECTORY, false, "140"},
    {true, ALL, false, DEAD, ERR_UNAVAILABLE, NULL, false, NULL},
    {true, ALL, false, CROWDED, ERR_BUSY, NULL, false, NULL},
    {true, ALL, false, DISABLED, ERR_CREDENTIALS, NULL, false, NULL},
    {true, ALL, false, UNKNOWN, ERR_CREDENTIALS, NULL, false, NULL},
    {true, ALL, false, NO_SOURCE, ERR_FORBIDDEN, NULL, false, NULL},
    /* a ticket without groups says too little, whatever the option says */
    {false, OFF, false, GOOD, 0, BY_DIRECTORY, false, "140"},
    {false, OFF, false, DEAD, ERR_UNAVAILABLE, NULL, false, NULL},
    {false, OFF, false, CROWDED, ERR_BUSY, NULL, false, NULL},
    {false, OFF, false, DISABLED, ERR_CREDENTIALS, NULL, false, NULL},
    {false, OFF, false, UNKNOWN, ERR_CREDENTIALS, NULL, false, NULL},
    {false, OFF, false, NO_SOURCE, ERR_FORBIDDEN, NULL, false, NULL},
    {false, SOME, true, DEAD, ERR_UNAVAILABLE, NULL, false, NULL},
    {false, SOME, true, CROWDED, ERR_BUSY, NULL, false, NULL},
    {false, ALL, false, GOOD, 0, BY_DIRECTORY, false, "140"},
};

static struct kerberos kerberos;
static struct err err;

static int set_up(void **state) {
    (void)ldapdir_world_set_up(state);
    for (size_t i = 0; i < UNIT_COUNT(people); i++)
        ldapdir_world_add(&people[i]);
    memset(&kerberos, 0, sizeof(kerberos));
    kerberos.ldapdirs = iw.ldapdirs;
    kerberos.is_privileged = say_privileged;
    asked_privileged = 0;
    return 0;
}

/* As the ticket of this name tells it. */
static int find(const char *name, const char *id, bool has_groups, struct ldapdir_person *out) {
    struct kerberos_peer peer = {.name = (char *)(uintptr_t)name,
                                 .realm = strchr(name, '@') + 1,
                                 .principal_id = (char *)(uintptr_t)id,
                                 .has_groups = has_groups,
                                 .password_set_at = 133};
    int rc;
    err = (struct err){0};
    if (has_groups)
        assert_int_equal(group_set_add(&peer.groups, BY_TICKET, NULL), 0);
    group_set_seal(&peer.groups);
    rc = kerberos_find_person(&kerberos, &peer, out, &err);
    group_set_done(&peer.groups);
    assert_int_equal(rc, err.code);
    return rc;
}

static int find_row(const struct row *row, struct ldapdir_person *out) {
    static const char *const names[] = {
        [GOOD] = "anna@AD.TEST",      [DEAD] = "anna@AD.TEST",         [DISABLED] = "off@AD.TEST",
        [UNKNOWN] = "nobody@AD.TEST", [NO_SOURCE] = "anna@OTHER.TEST", [CROWDED] = "anna@AD.TEST",
    };
    static const char *const ids[] = {
        [GOOD] = "sid:" SID "1001",    [DEAD] = "sid:" SID "1001",      [DISABLED] = "sid:" SID "1002",
        [UNKNOWN] = "sid:" SID "9999", [NO_SOURCE] = "sid:" SID "1001", [CROWDED] = "sid:" SID "1001",
    };
    is_privileged = row->is_privileged;
    kerberos.live_check = row->check;
    kerberos.asking = row->answer == CROWDED ? KERBEROS_ASKING_MAX : 0;
    iw.dead_hosts = row->answer == DEAD ? "dc1 dc2" : NULL;
    return find(names[row->answer], ids[row->answer], row->has_groups, out);
}

static void who_a_ticket_makes_of_somebody(void **state) {
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct ldapdir_person person = {0};
        (void)ldapdir_world_tear_down(state);
        (void)set_up(state);
        int rc = find_row(row, &person);
        const bool is_same = rc == row->code && person.is_unasked == row->is_unasked && str_eq(person.mark, row->mark) &&
                             (rc || (person.groups.count == 1 && str_eq(person.groups.ids[0], row->group)));
        if (!is_same)
            fail_msg("row %zu: %s (%s), mark %s, group %s", i, err_slug(rc), err.text, person.mark ? person.mark : "-",
                     person.groups.count ? person.groups.ids[0] : "-");
        assert_int_equal(person.directory != NULL, row->mark != NULL); /* looked at again where there is something to compare */
        assert_int_equal(kerberos.asking, row->answer == CROWDED ? KERBEROS_ASKING_MAX : 0);
        if (!rc)
            assert_string_equal(person.principal_id, row->answer == DISABLED ? "sid:" SID "1002" : "sid:" SID "1001");
        else
            assert_null(person.principal_id);
        ldapdir_person_done(&person);
    }
}

/* Where nobody need be asked, nobody is. */
static void directories_are_spared(void **state) {
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct ldapdir_person person = {0};
        const bool needs_none = rows[i].has_groups && (rows[i].check == OFF || (rows[i].check == SOME && !rows[i].is_privileged));
        (void)ldapdir_world_tear_down(state);
        (void)set_up(state);
        (void)find_row(&rows[i], &person);
        assert_int_equal(*iw.log != '\0', !needs_none && rows[i].answer != NO_SOURCE && rows[i].answer != CROWDED);
        assert_int_equal(asked_privileged, rows[i].has_groups && rows[i].check == SOME);
        ldapdir_person_done(&person);
    }
}

static void refusals_say_what_to_do(void **state) {
    struct ldapdir_person person = {0};
    (void)state;
    kerberos.live_check = KERBEROS_ASK_ALL;
    assert_int_equal(find("anna@OTHER.TEST", NULL, true, &person), ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "has to be asked about you, and none serves the realm"));
    assert_non_null(strstr(err.remedy, "kaasctl ldap set"));
    assert_int_equal(find("anna@OTHER.TEST", NULL, false, &person), ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "the ticket says nothing about groups"));
    assert_int_equal(find("off@AD.TEST", "sid:" SID "1002", true, &person), ERR_CREDENTIALS);
    assert_string_equal(err.text, "the name or password is wrong"); /* no more to whoever asks */
    assert_string_equal(err.detail, "the account is disabled");
    iw.dead_hosts = "dc1 dc2";
    ldapdir_world_sync();
    assert_int_equal(find("anna@AD.TEST", "sid:" SID "1001", true, &person), ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "cannot be asked now"));
    assert_non_null(strstr(err.remedy, "kaasctl ldap test"));
}

/* A realm without SIDs: people are found by name, in the one spelling of the KDC. */
static void a_ticket_without_an_id_goes_by_name(void **state) {
    struct ldapdir_person person = {0};
    (void)state;
    assert_int_equal(find("anna@AD.TEST", NULL, false, &person), 0);
    assert_string_equal(person.principal_id, "sid:" SID "1001");
    ldapdir_person_done(&person);
    assert_int_equal(find("anna/admin@AD.TEST", NULL, false, &person), ERR_CREDENTIALS);
    assert_int_equal(find("*@AD.TEST", NULL, false, &person), ERR_CREDENTIALS);
}

/* A file that has the issuer first, as some CAs give them. */
static void clients_bind_themselves_to_the_certificate_that_they_see(void **state) {
    uint8_t wanted[GSS_BINDING_BYTES_MAX];
    struct test_cert issuer, leaf;
    size_t n = 0;
    (void)state;
    test_cert_make(&(struct test_cert_request){.common_name = "root", .is_ca = true}, &issuer);
    test_cert_make(&(struct test_cert_request){.common_name = "kaas", .san = "DNS:kaas", .issuer = &issuer}, &leaf);
    _cleanup_free_ char *file = str_format("%s%s", issuer.cert_pem, leaf.cert_pem);
    assert_int_equal(x509_end_point_binding(leaf.cert_pem, wanted, sizeof(wanted), &n, NULL), 0);
    assert_int_equal(kerberos_set_certificate(&kerberos, file, NULL), 0);
    assert_int_equal(kerberos.binding_bytes, n);
    assert_memory_equal(kerberos.binding, wanted, n);
    test_cert_done(&leaf);
    test_cert_done(&issuer);
}

#define PERSON_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, ldapdir_world_tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        PERSON_TEST(who_a_ticket_makes_of_somebody),
        PERSON_TEST(directories_are_spared),
        PERSON_TEST(refusals_say_what_to_do),
        PERSON_TEST(a_ticket_without_an_id_goes_by_name),
        PERSON_TEST(clients_bind_themselves_to_the_certificate_that_they_see),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
