/* Which groups somebody is in, and what an administrator means by a name: ldapdir_people.c and ldapdir_login.c, over directories in memory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "ldapdir_world.h"
#include "limits.h"
#include "str.h"

#define SID "S-1-5-21-1-2-3-"
#define OTHER_SID "S-1-5-21-9-9-9-"
#define UUID(n) "00000000-0000-4000-8000-0000000000" n
#define LAB(n) "ldap:lab:" UUID(n)

static int find(const char *realm, const char *name, struct ldapdir_person *out) {
    return ldapdir_lookup_principal(iw.ldapdirs, &(struct ldapdir_principal){.realm = realm, .name = name}, out, NULL);
}

/* The groups of the person, as one text in their order. */
static char *groups_of(const char *realm, const char *name) {
    struct ldapdir_person person = {0};
    struct strbuf text;
    int rc = find(realm, name, &person);
    if (rc)
        fail_msg("%s: %s", name, err_slug(rc));
    strbuf_init(&text, 100000);
    strbuf_adds(&text, "");
    for (size_t i = 0; i < person.groups.count; i++)
        strbuf_addf(&text, "%s%s", i ? " " : "", person.groups.ids[i]);
    ldapdir_person_done(&person);
    return strbuf_steal(&text);
}

static void assert_groups(const char *realm, const char *name, const char *wanted) {
    char *groups = groups_of(realm, name);
    assert_string_equal(groups, wanted);
    free(groups);
}

/* -- Active Directory ---------------------------------------------------------------------------------------------------------- */

#define AD_USER(name, rid, ...)                         \
    {                                                   \
        .dn = "CN=" name "," WORLD_AD_BASE, .values = { \
            {"objectCategory", "person"},               \
            {"objectClass", "user"},                    \
            {"sAMAccountName", name},                   \
            {"objectSid", SID rid},                     \
            {"userAccountControl", "512"},              \
            __VA_ARGS__                                 \
        }                                               \
    }

/* Of what the directory computes, only what a domain gave out counts; the rest is the same everywhere. */
static void security_groups_of_domains_count(void **state) {
    static const struct world_entry people[] = {
        AD_USER("none", "1000", {"x", "x"}),
        AD_USER("some", "1001", {"tokenGroups", SID "513"}, {"tokenGroups", "S-1-5-32-544"}, {"tokenGroups", "S-1-5-11"},
                {"tokenGroups", "S-1-18-1"}, {"tokenGroups", OTHER_SID "77"}, {"tokenGroups", SID "2000"},
                {"tokenGroups", SID "513"}),
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(people); i++)
        ldapdir_world_add(&people[i]);
    assert_groups("AD.TEST", "none", "");
    assert_groups("AD.TEST", "some", "sid:" SID "2000 sid:" SID "513 sid:" OTHER_SID "77");
}

/* Somebody with fewer groups than there are may be denied less. */
static void a_group_that_cannot_be_read_is_an_error(void **state) {
    static const struct world_entry odd = AD_USER("odd", "1002", {"tokenGroups", SID "513"}, {"tokenGroups", "no SID"});
    struct ldapdir_person person = {0};
    (void)state;
    ldapdir_world_add(&odd);
    assert_int_equal(find("AD.TEST", "odd", &person), ERR_PROTOCOL);
    assert_null(person.principal_id);
}

/* -- others -------------------------------------------------------------------------------------------------------------------- */

#define GROUP(cn, n, ...)                              \
    {                                                  \
        .dn = "cn=" cn "," WORLD_LAB_BASE, .values = { \
            {"objectClass", "groupOfNames"},           \
            {"cn", cn},                                \
            {"entryUUID", UUID(n)},                    \
            __VA_ARGS__                                \
        }                                              \
    }
#define PERSON(uid, n, ...)                              \
    {                                                    \
        .dn = "uid=" uid "," WORLD_LAB_BASE, .values = { \
            {"objectClass", "person"},                   \
            {"uid", uid},                                \
            {"entryUUID", UUID(n)},                      \
            __VA_ARGS__                                  \
        }                                                \
    }
#define MEMBER(dn) \
    { "member", dn "," WORLD_LAB_BASE }

static const struct world_entry lab[] = {
    PERSON("anna", "01", {"memberOf", "cn=told," WORLD_LAB_BASE}, {"memberOf", "cn=mail," WORLD_LAB_BASE},
           {"memberOf", "cn=gone," WORLD_LAB_BASE}),
    PERSON("bert", "02", {"sn", "x"}),
    PERSON("a(b)*\\c", "03", {"sn", "x"}), /* every sign that means something in a filter */
    PERSON("a(b)", "04", {"sn", "x"}),
    GROUP("direct", "11", MEMBER("uid=anna")),
    {.dn = "cn=unique," WORLD_LAB_BASE,
     .values = {{"objectClass", "groupOfUniqueNames"}, {"entryUUID", UUID("12")}, {"uniqueMember", "uid=anna," WORLD_LAB_BASE}}},
    GROUP("outer", "13", MEMBER("cn=direct"), MEMBER("cn=loop")),
    GROUP("loop", "14", MEMBER("cn=outer"), MEMBER("cn=loop")),
    GROUP("told", "15", {"member", "cn=nobody"}), /* says nothing of her; she does */
    GROUP("over-told", "16", MEMBER("cn=told")),
    {.dn = "cn=mail," WORLD_LAB_BASE, .values = {{"objectClass", "mailList"}, {"entryUUID", UUID("17")}, MEMBER("uid=anna")}},
    {.dn = "cn=anonymous," WORLD_LAB_BASE, .values = {{"objectClass", "groupOfNames"}, MEMBER("uid=anna")}}, /* without an id */
    GROUP("bert's", "18", MEMBER("uid=bert")),
    GROUP("signs", "19", MEMBER("uid=a(b)*\\c")),
    GROUP("far", "20", {"member", "uid=anna,dc=elsewhere,dc=test"}),
};

static void add_lab(void) {
    for (size_t i = 0; i < UNIT_COUNT(lab); i++)
        ldapdir_world_add(&lab[i]);
}

static void groups_are_walked_up(void **state) {
    (void)state;
    add_lab();
    assert_groups("LAB.TEST", "anna", LAB("11") " " LAB("12") " " LAB("13") " " LAB("14") " " LAB("15") " " LAB("16"));
    assert_groups("LAB.TEST", "bert", LAB("18"));
    assert_groups("LAB.TEST", "a(b)*\\c", LAB("19"));
    assert_groups("LAB.TEST", "a(b)", "");
}

/* Wherever the walk is broken off, it begins anew or fails: never fewer groups. */
static void a_walk_that_breaks_off_gives_no_part(void **state) {
    unsigned searches;
    (void)state;
    add_lab();
    assert_groups("LAB.TEST", "bert", LAB("18"));
    ldapdir_world_forget();
    assert_groups("LAB.TEST", "anna", LAB("11") " " LAB("12") " " LAB("13") " " LAB("14") " " LAB("15") " " LAB("16"));
    searches = iw.searches;
    assert_in_range(searches, 6, 12); /* groups that hold one another are walked once */
    for (unsigned n = 1; n <= searches; n++) {
        struct ldapdir_person person = {0};
        iw.lose_after = n;
        assert_groups("LAB.TEST", "anna", LAB("11") " " LAB("12") " " LAB("13") " " LAB("14") " " LAB("15") " " LAB("16"));
        iw.lose_after = n;
        iw.lose_code = ERR_UPSTREAM; /* an answer: the same again would come of asking again */
        assert_int_equal(find("LAB.TEST", "anna", &person), ERR_UPSTREAM);
        assert_null(person.principal_id);
        iw.lose_code = 0;
    }
}

static void groups_in_groups_have_an_end(void **state) {
    static char dns[14][64], members[14][64], ids[14][40];
    static struct world_entry chain[14];
    char *groups;
    (void)state;
    add_lab();
    for (int i = 0; i < 14; i++) { /* each holds the one before, the first one bert */
        (void)snprintf(dns[i], sizeof(dns[i]), "cn=c%d," WORLD_LAB_BASE, i);
        (void)snprintf(members[i], sizeof(members[i]), "%s," WORLD_LAB_BASE, i ? "" : "uid=bert");
        (void)snprintf(ids[i], sizeof(ids[i]), "00000000-0000-4000-8000-0000000001%02d", i);
        chain[i] = (struct world_entry){
            .dn = dns[i],
            .values = {{"objectClass", "groupOfNames"}, {"entryUUID", ids[i]}, {"member", i ? dns[i - 1] : members[i]}}};
        ldapdir_world_add(&chain[i]);
    }
    groups = groups_of("LAB.TEST", "bert");
    assert_non_null(strstr(groups, ids[10])); /* ten steps up from the first */
    assert_null(strstr(groups, ids[11]));
    free(groups);
}

/* -- what a name means ----------------------------------------------------------------------------------------------------------- */

#define SECURITY "-2147483646"
#define AD_GROUP(cn, sid, type)                       \
    {                                                 \
        .dn = "CN=" cn "," WORLD_AD_BASE, .values = { \
            {"objectClass", "group"},                 \
            {"sAMAccountName", cn},                   \
            {"cn", cn},                               \
            {"objectSid", sid},                       \
            {"groupType", type}                       \
        }                                             \
    }

static const struct world_entry named[] = {
    AD_GROUP("admins", SID "2001", SECURITY),
    AD_GROUP("news", SID "2002", "2"),
    AD_GROUP("Administrators", "S-1-5-32-544", SECURITY),
    AD_GROUP("both", SID "2003", SECURITY),
    GROUP("both", "31", {"member", "x"}),
    GROUP("only", "32", {"member", "x"}),
    AD_USER("anna", "1001", {"userPrincipalName", "anna@AD.TEST"}),
    PERSON("anna", "01", {"sn", "x"}),
    PERSON("carl", "05", {"sn", "x"}),
    {.dn = "", .values = {{"configurationNamingContext", "CN=C,DC=ad,DC=test"}, {"defaultNamingContext", WORLD_AD_BASE}}},
    {.dn = "CN=AD,CN=Partitions,CN=C,DC=ad,DC=test",
     .values = {{"objectClass", "crossRef"}, {"nETBIOSName", "CORP"}, {"nCName", WORLD_AD_BASE}}},
};

static void names_mean_one_thing_or_none(void **state) {
    static const struct {
        const char *source, *name;
        enum ldapdir_kind kind;
        int code;
        const char *told; /* the id, or words of the refusal */
    } rows[] = {
        {NULL, "admins", LDAPDIR_GROUP, 0, "sid:" SID "2001"},
        {NULL, "ADMINS", LDAPDIR_GROUP, 0, "sid:" SID "2001"},
        {NULL, "CORP\\admins", LDAPDIR_GROUP, 0, "sid:" SID "2001"},
        {NULL, "CN=admins," WORLD_AD_BASE, LDAPDIR_GROUP, 0, "sid:" SID "2001"},
        {NULL, "only", LDAPDIR_GROUP, 0, LAB("32")},
        {NULL, "both", LDAPDIR_GROUP, ERR_AMBIGUOUS, "2 entries are named"},
        {"ad", "both", LDAPDIR_GROUP, 0, "sid:" SID "2003"},
        {"lab", "both", LDAPDIR_GROUP, 0, LAB("31")},
        {NULL, "CORP\\both", LDAPDIR_GROUP, 0, "sid:" SID "2003"},
        {"lab", "CORP\\both", LDAPDIR_GROUP, ERR_UNPROCESSABLE, "is not the domain of the directory lab"},
        {NULL, "news", LDAPDIR_GROUP, ERR_UNPROCESSABLE, "is a distribution group, or a built-in one"},
        {NULL, "Administrators", LDAPDIR_GROUP, ERR_UNPROCESSABLE, "is a distribution group, or a built-in one"},
        {NULL, "anna", LDAPDIR_GROUP, ERR_UNPROCESSABLE, "no directory has a group named"},
        {NULL, "*", LDAPDIR_GROUP, ERR_UNPROCESSABLE, "no directory has a group named"},
        {NULL, "x)(cn=admins", LDAPDIR_GROUP, ERR_UNPROCESSABLE, "no directory has a group named"},
        {NULL, "carl", LDAPDIR_PERSON, 0, LAB("05")},
        {NULL, "anna", LDAPDIR_PERSON, ERR_AMBIGUOUS, "2 entries are named"},
        {"ad", "anna", LDAPDIR_PERSON, 0, "sid:" SID "1001"},
        {NULL, "anna@AD.TEST", LDAPDIR_PERSON, 0, "sid:" SID "1001"},
        {NULL, "admins", LDAPDIR_PERSON, ERR_UNPROCESSABLE, "no directory has an account named"},
        {NULL, "*", LDAPDIR_PERSON, ERR_UNPROCESSABLE, "no directory has an account named"},
        {"none", "anna", LDAPDIR_PERSON, ERR_UNPROCESSABLE, "there is no directory \"none\""},
        {"off", "anna", LDAPDIR_PERSON, ERR_UNPROCESSABLE, "there is no directory \"off\""},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(named); i++)
        ldapdir_world_add(&named[i]);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct ldapdir_reference reference = {rows[i].source, rows[i].kind, rows[i].name};
        struct ldapdir_matches found;
        struct err err = {0};
        int rc = ldapdir_lookup(iw.ldapdirs, &reference, &found, &err);
        const char *told = rc || !found.count ? err.text : found.items[0].id;
        if (rc != rows[i].code || (rc ? !strstr(told, rows[i].told) : !str_eq(told, rows[i].told)))
            fail_msg("%s: %s, %s", rows[i].name, err_slug(rc), told);
        if (rc == ERR_AMBIGUOUS)
            assert_int_equal(found.count, 2); /* to choose from */
        ldapdir_matches_done(&found);
    }
}

/* One that does not answer may know another of that name. */
static void all_directories_must_answer(void **state) {
    const struct ldapdir_reference reference = {NULL, LDAPDIR_GROUP, "admins"}, at_ad = {"ad", LDAPDIR_GROUP, "admins"};
    struct ldapdir_matches found;
    char name[LDAPDIR_NAME_BYTES];
    (void)state;
    ldapdir_world_add(&named[0]);
    iw.dead_hosts = "lab";
    assert_int_equal(ldapdir_lookup(iw.ldapdirs, &reference, &found, NULL), ERR_UNREACHABLE);
    ldapdir_matches_done(&found);
    assert_false(ldapdir_get_name(iw.ldapdirs, "sid:" SID "2001", name));
    assert_int_equal(ldapdir_lookup(iw.ldapdirs, &at_ad, &found, NULL), 0);
    ldapdir_matches_done(&found);
    assert_true(ldapdir_get_name(iw.ldapdirs, "sid:" SID "2001", name)); /* found out on the way */
    assert_string_equal(name, "admins");
}

/* Of somebody who is not signed in: unknown is said only if each directory has said so. */
static void a_person_by_id(void **state) {
    static const struct {
        const char *id, *dead;
        int code;
    } rows[] = {
        {"sid:" SID "1001", NULL, 0},
        {LAB("05"), NULL, 0},
        {"sid:" SID "9999", NULL, ERR_NOT_FOUND},
        {"ldap:off:" UUID("05"), NULL, ERR_NOT_FOUND},
        {"local:" UUID("05"), NULL, ERR_NOT_FOUND},
        {LAB("05"), "dc1 dc2", 0}, /* another one knows it */
        {LAB("05"), "lab", ERR_UNREACHABLE},
        {"sid:" SID "9999", "dc1 dc2", ERR_UNREACHABLE}, /* the other does not, but that says nothing */
    };
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct ldapdir_person person = {0};
        (void)ldapdir_world_tear_down(state);
        (void)ldapdir_world_set_up(state);
        for (size_t k = 0; k < UNIT_COUNT(named); k++)
            ldapdir_world_add(&named[k]);
        iw.dead_hosts = rows[i].dead;
        int rc = ldapdir_lookup_person(iw.ldapdirs, rows[i].id, &person, NULL);
        if (rc != rows[i].code || (!rc && !str_eq(person.principal_id, rows[i].id)))
            fail_msg("%s without %s: %s", rows[i].id, rows[i].dead ? rows[i].dead : "nothing", err_slug(rc));
        ldapdir_person_done(&person);
    }
}

#define GROUPS_TEST(name) cmocka_unit_test_setup_teardown(name, ldapdir_world_set_up, ldapdir_world_tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        GROUPS_TEST(security_groups_of_domains_count),
        GROUPS_TEST(a_group_that_cannot_be_read_is_an_error),
        GROUPS_TEST(groups_are_walked_up),
        GROUPS_TEST(a_walk_that_breaks_off_gives_no_part),
        GROUPS_TEST(groups_in_groups_have_an_end),
        GROUPS_TEST(names_mean_one_thing_or_none),
        GROUPS_TEST(all_directories_must_answer),
        GROUPS_TEST(a_person_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
