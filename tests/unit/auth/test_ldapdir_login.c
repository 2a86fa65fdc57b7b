/* Who signs in by a directory, who stays signed in, and whom a ticket names: ldapdir_login.c and what it reads of an account, over directories in
 * memory. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "ldapdir_world.h"
#include "str.h"

#define SID "S-1-5-21-1-2-3-"
#define UUID_1 "11111111-1111-4111-8111-111111111111"
#define UUID_2 "22222222-2222-4222-8222-222222222222"
#define PASSWORD "right horse"
#define REFUSED "the name or password is wrong"

#define AD_USER(cn, rid)                                   \
    .dn = "CN=" cn ",DC=ad,DC=test", .password = PASSWORD, \
    .values = {{"objectCategory", "person"}, {"objectClass", "user"}, {"sAMAccountName", cn}, {"objectSid", SID rid}
#define LAB_USER(uid, uuid)                                   \
    .dn = "uid=" uid ",dc=lab,dc=test", .password = PASSWORD, \
    .values = {{"objectClass", "person"}, {"uid", uid}, {"entryUUID", uuid}
#define ENABLED \
    { "userAccountControl", "512" }

static const struct world_entry ad_people[] = {{AD_USER("anna", "1001"),
                                                ENABLED,
                                                {"userPrincipalName", "anna@AD.TEST"},
                                                {"displayName", "Anna A."},
                                                {"pwdLastSet", "133"}}},
{
    AD_USER("off", "1002"), {
        "userAccountControl", "514"
    }
}
}
, {
    AD_USER("over", "1003"), ENABLED, {
        "accountExpires", "133444735999990000"
    }
}
}
, /* just before now */
{
    AD_USER("soon", "1004"), ENABLED, {
        "accountExpires", "133444737000000000"
    }
}
}
, /* a minute and more from now */
{
    AD_USER("ever", "1005"), ENABLED, {
        "accountExpires", "9223372036854775807"
    }
}
}
, {
    AD_USER("zero", "1006"), ENABLED, {
        "accountExpires", "0"
    }
}
}
, {
    AD_USER("hidden", "1007")
}
}
, /* whose userAccountControl may not be read: not known to be enabled */
{
    AD_USER("twin", "1008"), ENABLED
}
}
,
    {.dn = "CN=twin,OU=b,DC=ad,DC=test",
     .password = PASSWORD,
     .values =
         {{"objectCategory", "person"}, {"objectClass", "user"}, {"sAMAccountName", "twin"}, {"objectSid", SID "1009"}, ENABLED}},
    {.dn = "CN=blank,DC=ad,DC=test",
     .password = PASSWORD, /* without an id */
     .values = {{"objectCategory", "person"}, {"objectClass", "user"}, {"sAMAccountName", "blank"}, ENABLED}},
    {.dn = "CN=pc,DC=ad,DC=test",
     .password = PASSWORD, /* no person */
     .values =
         {{"objectCategory", "computer"}, {"objectClass", "user"}, {"sAMAccountName", "pc"}, {"objectSid", SID "1010"}, ENABLED}},
{
    AD_USER("alone", "1011"), ENABLED, {
        "userPrincipalName", "alone@corp.example"
    }
}
}
, {
    AD_USER("both", "1012"), ENABLED, {
        "userPrincipalName", "third@AD.TEST"
    }
}
}
, {
    AD_USER("first", "1013"), ENABLED, {
        "userPrincipalName", "both@AD.TEST"
    }
}
}
, {
    AD_USER("second", "1014"), ENABLED, {
        "userPrincipalName", "both@AD.TEST"
    }
}
}
, {.dn = "", .values = {{"configurationNamingContext", "CN=C,DC=ad,DC=test"}, {"defaultNamingContext", WORLD_AD_BASE}}},
    {.dn = "CN=AD,CN=Partitions,CN=C,DC=ad,DC=test",
     .values = {{"objectClass", "crossRef"}, {"nETBIOSName", "C\u00d6RP"}, {"nCName", WORLD_AD_BASE}}},
}
;
static const struct world_entry lab_people[] = {{LAB_USER("j\u00f6rg", UUID_2)}}, {
    LAB_USER("berta", UUID_1), {"displayName", "Berta B."}, {
        "pwdChangedTime", "20240101000000Z"
    }
}
}
, {
    LAB_USER("locked", "33333333-3333-4333-8333-333333333333"), {
        "pwdAccountLockedTime", "000001010000Z"
    }
}
}
, {
    LAB_USER("ns", "44444444-4444-4444-8444-444444444444"), {
        "nsAccountLock", "TRUE"
    }
}
}
, {
    LAB_USER("shut", "55555555-5555-4555-8555-555555555555"), {
        "pwdAccountLockedTime", "20240101000000Z"
    }
}
}
, /* for a while: the server judges */
{
    LAB_USER("odd", "not a uuid")
}
}
,
}
;

static int set_up(void **state) {
    (void)ldapdir_world_set_up(state);
    for (size_t i = 0; i < UNIT_COUNT(ad_people); i++)
        ldapdir_world_add(&ad_people[i]);
    for (size_t i = 0; i < UNIT_COUNT(lab_people); i++)
        ldapdir_world_add(&lab_people[i]);
    return 0;
}

/* -- name and password ----------------------------------------------------------------------------------------------------------- */

static struct err err;
static int log_in(const char *source, const char *user, const char *password, struct ldapdir_person *out) {
    const struct ldapdir_password given = {source, user, password};
    int rc;
    err = (struct err){0};
    rc = ldapdir_check_password(iw.ldapdirs, &given, out, &err);
    assert_int_equal(rc, err.code);
    return rc;
}

static const struct {
    const char *source, *user, *password;
    int code;
    const char *told; /* the id, or what log and audit log are told */
} logins[] = {
    {"ad", "anna", PASSWORD, 0, "sid:" SID "1001"},
    {"ad", "ANNA", PASSWORD, 0, "sid:" SID "1001"},
    {"ad", "anna@AD.TEST", PASSWORD, 0, "sid:" SID "1001"},
    {"lab", "berta", PASSWORD, 0, "ldap:lab:" UUID_1},
    {"ad", "anna", "wrong", ERR_CREDENTIALS, "wrong password"},
    {"ad", "anna", PASSWORD " ", ERR_CREDENTIALS, "wrong password"},
    {"ad", "nobody", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"ad", "berta", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"}, /* another directory's */
    {"ad", "twin", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"ad", "alone@AD.TEST", PASSWORD, 0, "sid:" SID "1011"}, /* whatever the suffix of its UPN is */
    {"ad", "both@AD.TEST", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"}, /* though one is called both */
    {"ad", "blank", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"lab", "odd", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"ad", "pc", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    /* names that would be more than a name in a filter or a DN */
    {"ad", "*", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"ad", "ann*", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"ad", "x)(sAMAccountName=anna", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"ad", "CN=anna,DC=ad,DC=test", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    {"lab", "berta))(|(uid=berta", PASSWORD, ERR_CREDENTIALS, "no account, or several, of that name"},
    /* accounts that may not sign in */
    {"ad", "off", PASSWORD, ERR_CREDENTIALS, "the account is disabled"},
    {"ad", "off", "wrong", ERR_CREDENTIALS, "wrong password"},
    {"ad", "hidden", PASSWORD, ERR_CREDENTIALS, "the account is disabled"},
    {"ad", "over", PASSWORD, ERR_CREDENTIALS, "the account has expired"},
    {"ad", "soon", PASSWORD, 0, "sid:" SID "1004"},
    {"ad", "ever", PASSWORD, 0, "sid:" SID "1005"},
    {"ad", "zero", PASSWORD, 0, "sid:" SID "1006"},
    {"lab", "locked", PASSWORD, ERR_CREDENTIALS, "the account is disabled"},
    {"lab", "ns", PASSWORD, ERR_CREDENTIALS, "the account is disabled"},
    {"lab", "shut", PASSWORD, 0, "ldap:lab:55555555-5555-4555-8555-555555555555"},
    /* domains as Windows writes them */
    {"ad", "C\u00d6RP\\anna", PASSWORD, 0, "sid:" SID "1001"},
    {"ad", "c\u00f6rp\\anna", PASSWORD, 0, "sid:" SID "1001"},
    {"ad", "CORP\\anna", PASSWORD, ERR_UNPROCESSABLE, ""},
    {"ad", "AD.TEST\\anna", PASSWORD, 0, "sid:" SID "1001"},
    {"ad", "OTHER\\anna", PASSWORD, ERR_UNPROCESSABLE, ""},
    {"ad", "C\u00d6RP\\", PASSWORD, ERR_UNPROCESSABLE, ""},
    {"ad", "\\anna", PASSWORD, ERR_UNPROCESSABLE, ""},
    {"lab", "CORP\\berta", PASSWORD, ERR_UNPROCESSABLE, ""},
    /* directories */
    {"none", "anna", PASSWORD, ERR_NOT_FOUND, ""},
    {"off", "anna", PASSWORD, ERR_NOT_FOUND, ""},
    {"AD", "anna", PASSWORD, ERR_NOT_FOUND, ""},
    {"", "anna", PASSWORD, ERR_NOT_FOUND, ""},
};

static void names_and_passwords(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(logins); i++) {
        struct ldapdir_person person = {0};
        int code = log_in(logins[i].source, logins[i].user, logins[i].password, &person);
        const char *told = code ? err.detail : person.principal_id;
        if (code != logins[i].code || !str_eq(told, logins[i].told))
            fail_msg("%s at %s: %s, %s (%s)", logins[i].user, logins[i].source, err_slug(code), told, err.text);
        if (code == ERR_CREDENTIALS) /* the same for all */
            assert_string_equal(err.text, REFUSED);
        if (code)
            assert_null(person.principal_id);
        ldapdir_person_done(&person);
    }
}

/* Servers say yes to an empty password (RFC 4513 5.1.2), as those of this test do: it must not come to them. */
static void nothing_empty_reaches_a_directory(void **state) {
    static const char *const pairs[][2] = {{"anna", ""}, {"", PASSWORD}, {"", ""}, {"nobody", ""}, {"CORP\\anna", ""}};
    struct ldapdir_person person = {0};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(pairs); i++) {
        assert_int_equal(log_in("ad", pairs[i][0], pairs[i][1], &person), ERR_CREDENTIALS);
        assert_string_equal(err.text, REFUSED);
        assert_string_equal(err.detail, "empty name or password");
    }
    assert_string_equal(iw.log, "");
}

/* What is done for a name that nobody has is what is done for one with a wrong password. */
static void the_same_work_for_whoever_it_is(void **state) {
    static const char *const users[] = {"anna", "nobody", "twin", "off"};
    struct ldapdir_person person = {0};
    (void)state;
    assert_int_equal(log_in("ad", "anna", "wrong", &person), ERR_CREDENTIALS); /* which opens the connection that is kept */
    for (size_t i = 0; i < UNIT_COUNT(users); i++) {
        const unsigned opened = iw.opened;
        ldapdir_world_forget();
        assert_int_equal(log_in("ad", users[i], "wrong", &person), ERR_CREDENTIALS);
        assert_int_equal(iw.searches, 1);
        assert_int_equal(iw.binds, 1);
        assert_int_equal(iw.opened - opened, 1);
    }
}

/* Somebody who may write to the directory has made the entry with which the password of nobody is tried. */
static void an_entry_of_nobodys_signs_nobody_in(void **state) {
    static const struct world_entry trap = {
        .dn = "cn=nobody," WORLD_AD_BASE, .password = PASSWORD, .values = {{"objectClass", "trap"}}};
    struct ldapdir_person person = {0};
    (void)state;
    ldapdir_world_add(&trap);
    assert_int_equal(log_in("ad", "whoever", PASSWORD, &person), ERR_CREDENTIALS);
    assert_string_equal(err.detail, "no account of that name");
    assert_string_equal(err.text, REFUSED);
}

static void a_person_is_told_whole(void **state) {
    struct ldapdir_person person = {0};
    (void)state;
    assert_int_equal(log_in("ad", "anna", PASSWORD, &person), 0);
    assert_string_equal(person.name, "anna@AD.TEST");
    assert_string_equal(person.full_name, "Anna A.");
    assert_string_equal(person.directory, "ad");
    assert_string_equal(person.mark, "133");
    ldapdir_person_done(&person);
    assert_int_equal(log_in("lab", "berta", PASSWORD, &person), 0);
    assert_string_equal(person.name, "berta");
    assert_string_equal(person.mark, "20240101000000Z");
    assert_string_equal(person.directory, "lab");
    ldapdir_person_done(&person);
}

static void a_directory_that_is_silent_is_no_wrong_password(void **state) {
    static const int codes[] = {ERR_UNREACHABLE, ERR_TIMEOUT, ERR_TLS};
    struct ldapdir_person person = {0};
    for (size_t i = 0; i < UNIT_COUNT(codes); i++) {
        (void)ldapdir_world_tear_down(state);
        (void)set_up(state);
        iw.dead_hosts = "dc1 dc2";
        iw.dead_code = codes[i];
        assert_int_equal(log_in("ad", "anna", PASSWORD, &person), codes[i]);
    }
    (void)ldapdir_world_tear_down(state);
    (void)set_up(state);
    iw.own_password = "changed by somebody"; /* kaasd's own: no fault of who signs in */
    assert_int_equal(log_in("ad", "anna", PASSWORD, &person), ERR_UPSTREAM);
    assert_null(strstr(err.text, REFUSED));
}

/* -- again ------------------------------------------------------------------------------------------------------------------------ */

/* An account as it is now, and what was known of it. */
struct again {
    const char *name;
    struct world_entry now;
    const char *directory, *id, *mark;
    int code;
    const char *why; /* in the text of the refusal */
};

#define NOW_AD(...)                                \
    {                                              \
        .dn = "CN=anna,DC=ad,DC=test", .values = { \
            {"objectCategory", "person"},          \
            {"objectClass", "user"},               \
            {"sAMAccountName", "anna"},            \
            {"objectSid", SID "1001"},             \
            __VA_ARGS__                            \
        }                                          \
    }
#define NOW_LAB(...)                                  \
    {                                                 \
        .dn = "uid=berta,dc=lab,dc=test", .values = { \
            {"objectClass", "person"},                \
            {"uid", "berta"},                         \
            {"entryUUID", UUID_1},                    \
            __VA_ARGS__                               \
        }                                             \
    }
#define ANNA "ad", "sid:" SID "1001"
#define BERTA "lab", "ldap:lab:" UUID_1

static const struct again agains[] = {
    {"as before", NOW_AD(ENABLED, {"pwdLastSet", "133"}), ANNA, "133", 0, ""},
    {"no mark was kept", NOW_AD(ENABLED, {"pwdLastSet", "133"}), ANNA, NULL, 0, ""},
    {"a newer password", NOW_AD(ENABLED, {"pwdLastSet", "134"}), ANNA, "133", ERR_SESSION_ENDED, "the password was changed"},
    {"a controller that has not heard of the change", NOW_AD(ENABLED, {"pwdLastSet", "132"}), ANNA, "133", 0, ""},
    {"a password that must be changed", NOW_AD(ENABLED, {"pwdLastSet", "0"}), ANNA, "133", ERR_SESSION_ENDED,
     "the password was changed"},
    {"the time may not be read any more", NOW_AD(ENABLED), ANNA, "133", 0, ""},
    {"what is no time", NOW_AD(ENABLED, {"pwdLastSet", "soon"}), ANNA, "133", ERR_SESSION_ENDED, "the password was changed"},
    {"by ticket, as before", NOW_AD(ENABLED, {"pwdLastSet", "133"}), ANNA, "ticket:133", 0, ""},
    {"by ticket, a newer password", NOW_AD(ENABLED, {"pwdLastSet", "134"}), ANNA, "ticket:133", ERR_SESSION_ENDED,
     "the password was changed"},
    {"disabled", NOW_AD({"userAccountControl", "514"}, {"pwdLastSet", "133"}), ANNA, "133", ERR_SESSION_ENDED,
     "the account is disabled"},
    {"not known to be enabled", NOW_AD({"pwdLastSet", "133"}), ANNA, "133", ERR_SESSION_ENDED, "the account is disabled"},
    {"expired", NOW_AD(ENABLED, {"accountExpires", "1"}), ANNA, NULL, ERR_SESSION_ENDED, "the account has expired"},
    {"gone", NOW_AD(ENABLED), "ad", "sid:" SID "9999", NULL, ERR_SESSION_ENDED, "does not know the account"},
    {"another directory's id", NOW_AD(ENABLED), "lab", "sid:" SID "1001", NULL, ERR_SESSION_ENDED, "does not know the account"},
    {"a directory that is not used any more", NOW_AD(ENABLED), "none", "sid:" SID "1001", NULL, ERR_SESSION_ENDED,
     "is not used any more"},
    {"a directory that was disabled", NOW_AD(ENABLED), "off", "sid:" SID "1001", NULL, ERR_SESSION_ENDED, "is not used any more"},
    {"no directory", NOW_AD(ENABLED), NULL, "sid:" SID "1001", NULL, ERR_SESSION_ENDED, "is not used any more"},
    {"not a person any more",
     {.dn = "CN=anna,DC=ad,DC=test", .values = {{"objectClass", "user"}, {"objectSid", SID "1001"}, ENABLED}},
     ANNA,
     NULL,
     ERR_SESSION_ENDED,
     "does not know the account"},
    {"lab, as before", NOW_LAB({"pwdChangedTime", "20240101000000Z"}), BERTA, "20240101000000Z", 0, ""},
    {"lab, another password", NOW_LAB({"pwdChangedTime", "20240102000000Z"}), BERTA, "20240101000000Z", ERR_SESSION_ENDED,
     "the password was changed"},
    {"lab, an older time is another password", NOW_LAB({"pwdChangedTime", "20230101000000Z"}), BERTA, "20240101000000Z",
     ERR_SESSION_ENDED, "the password was changed"},
    {"lab, the time is gone", NOW_LAB({"sn", "x"}), BERTA, "20240101000000Z", ERR_SESSION_ENDED, "the password was changed"},
    {"lab, by the day", NOW_LAB({"shadowLastChange", "19000"}), BERTA, "19000", 0, ""},
    {"lab, another day, be it an earlier one", NOW_LAB({"shadowLastChange", "18999"}), BERTA, "19000", ERR_SESSION_ENDED,
     "the password was changed"},
    {"lab, not a person any more",
     {.dn = "uid=berta,dc=lab,dc=test", .values = {{"objectClass", "thing"}, {"uid", "berta"}, {"entryUUID", UUID_1}}},
     BERTA,
     NULL,
     ERR_SESSION_ENDED,
     "does not know the account"},
    {"lab, locked for good", NOW_LAB({"pwdAccountLockedTime", "000001010000Z"}), BERTA, NULL, ERR_SESSION_ENDED,
     "the account is disabled"},
    {"lab, of another source", NOW_LAB({"sn", "x"}), "lab", "ldap:labor:" UUID_1, NULL, ERR_SESSION_ENDED,
     "does not know the account"},
    {"lab, another person", NOW_LAB({"sn", "x"}), "lab", "ldap:lab:" UUID_2, NULL, ERR_SESSION_ENDED,
     "does not know the account"},
};

static int ask_again(const struct again *row, struct group_set *groups) {
    const struct principal who = {.id = (char *)(uintptr_t)row->id, .directory = (char *)(uintptr_t)row->directory};
    const struct group_set none = {0};
    int rc;
    err = (struct err){0};
    rc = ldapdir_check_person(iw.ldapdirs, &(struct ldapdir_known){&who, row->mark, &none}, groups, &err);
    assert_int_equal(rc, err.code);
    return rc;
}

static void who_may_stay(void **state) {
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(agains); i++) {
        struct group_set groups = {0};
        memset(iw.entries, 0, sizeof(iw.entries));
        ldapdir_world_add(&agains[i].now);
        int rc = ask_again(&agains[i], &groups);
        if (rc != agains[i].code || !strstr(err.text, agains[i].why))
            fail_msg("%s: %s, %s", agains[i].name, err_slug(rc), err.text);
        group_set_done(&groups);
    }
}

/* Nobody is signed out because nobody answers; whoever calls bears it for a while. */
static void silence_ends_no_session(void **state) {
    struct group_set groups = {0};
    iw.dead_hosts = "dc1 dc2";
    assert_int_equal(ask_again(&agains[0], &groups), ERR_UNREACHABLE);
    (void)ldapdir_world_tear_down(state);
    (void)set_up(state);
    iw.search_code = ERR_UPSTREAM;
    assert_int_equal(ask_again(&agains[0], &groups), ERR_UPSTREAM);
    iw.search_code = 0;
    iw.own_password = "changed by somebody";
    ldapdir_world_sync();
    assert_int_equal(ask_again(&agains[0], &groups), ERR_UPSTREAM);
    assert_null(groups.ids);
}

/* A replica that reads everything anew reads sessions and directories one after the other. */
static void a_session_may_be_known_before_its_directory(void **state) {
    static const struct again row = {"lab", NOW_LAB({"pwdChangedTime", "20240101000000Z"}), BERTA, "20240101000000Z", 0, ""};
    struct group_set groups = {0};
    (void)state;
    memset(iw.entries, 0, sizeof(iw.entries));
    ldapdir_world_add(&row.now);
    iw.has_no_lab = true;
    ldapdir_world_sync();
    iw.has_no_lab = false;
    iw.is_database_away = true;
    assert_int_equal(ask_again(&row, &groups), ERR_UNAVAILABLE);
    iw.is_database_away = false;
    assert_int_equal(ask_again(&row, &groups), 0);
    group_set_done(&groups);
}

/* A controller knows the groups of its own domain only: those of others stay as the ticket told them, as long as it was a ticket that did. */
static void groups_of_other_domains_stay(void **state) {
    static const struct {
        const char *mark;
        size_t count;
        const char *ids[3];
    } rows[] = {
        {"ticket:133", 2, {"sid:" SID "2001", "sid:S-1-5-21-9-9-9-3001"}},
        {"133", 1, {"sid:" SID "2001"}},
        {NULL, 1, {"sid:" SID "2001"}},
    };
    static const struct world_entry now =
        NOW_AD(ENABLED, {"pwdLastSet", "133"}, {"tokenGroups", SID "2001"}, {"tokenGroups", "S-1-5-32-544"});
    struct group_set known = {0};
    (void)state;
    memset(iw.entries, 0, sizeof(iw.entries));
    ldapdir_world_add(&now);
    assert_int_equal(group_set_add(&known, "sid:" SID "2002", NULL), 0); /* of the own domain, and not there any more */
    assert_int_equal(group_set_add(&known, "sid:S-1-5-21-9-9-9-3001", NULL), 0);
    group_set_seal(&known);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct principal who = {.id = (char[]){"sid:" SID "1001"}, .directory = (char[]){"ad"}};
        struct group_set groups = {0};
        assert_int_equal(ldapdir_check_person(iw.ldapdirs, &(struct ldapdir_known){&who, rows[i].mark, &known}, &groups, NULL),
                         0);
        assert_int_equal(groups.count, rows[i].count);
        for (size_t k = 0; k < groups.count; k++)
            assert_string_equal(groups.ids[k], rows[i].ids[k]);
        group_set_done(&groups);
    }
    group_set_done(&known);
}

/* -- people of a realm -------------------------------------------------------------------------------------------------------------- */

static void principals_of_a_realm(void **state) {
    static const struct {
        const char *realm, *name, *sid;
        int code;
        const char *id;
    } rows[] = {
        {"AD.TEST", "anna", NULL, 0, "sid:" SID "1001"},
        {"AD.TEST", "ANNA", NULL, 0, "sid:" SID "1001"}, /* one person in Active Directory */
        {"AD.TEST", "SOON", NULL, 0, "sid:" SID "1004"},
        {"ad.test", "anna", NULL, 0, "sid:" SID "1001"},
        {"AD.TEST", "whoever", "sid:" SID "1001", 0, "sid:" SID "1001"}, /* the id goes before the name */
        {"AD.TEST", "anna", "sid:" SID "9999", ERR_CREDENTIALS, NULL},
        {"AD.TEST", "off", NULL, ERR_CREDENTIALS, NULL},
        {"AD.TEST", "off", "sid:" SID "1002", ERR_CREDENTIALS, NULL},
        {"AD.TEST", "twin", NULL, ERR_CREDENTIALS, NULL},
        {"AD.TEST", "nobody", NULL, ERR_CREDENTIALS, NULL},
        {"LAB.TEST", "berta", NULL, 0, "ldap:lab:" UUID_1},
        {"LAB.TEST", "Berta", NULL, ERR_CREDENTIALS, NULL}, /* another principal to another KDC */
        {"LAB.TEST", "j\u00f6rg", NULL, 0, "ldap:lab:" UUID_2},
        {"LAB.TEST", "J\u00d6RG", NULL, ERR_CREDENTIALS, NULL},
        {"LAB.TEST", "berta", "sid:" SID "1001", ERR_NOT_FOUND, NULL}, /* where there are no SIDs */
        {"OTHER.TEST", "anna", NULL, ERR_NOT_FOUND, NULL},
        {"OTHER.TEST", "anna", "sid:" SID "1001", ERR_NOT_FOUND, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct ldapdir_principal who = {rows[i].realm, rows[i].name, rows[i].sid};
        struct ldapdir_person person = {0};
        int rc = ldapdir_lookup_principal(iw.ldapdirs, &who, &person, NULL);
        if (rc != rows[i].code || !str_eq(person.principal_id, rows[i].id))
            fail_msg("%s@%s: %s, %s", rows[i].name, rows[i].realm, err_slug(rc), person.principal_id ? person.principal_id : "-");
        ldapdir_person_done(&person);
    }
}

/* What one account is called counts as one name when tries are counted. */
static void names_of_one_account(void **state) {
    static const struct {
        const char *source, *given, *name;
    } rows[] = {
        {"ad", "anna", "anna"},
        {"ad", "AD\\anna", "anna"},
        {"ad", "anna@ad.test", "anna"},
        {"ad", "AD\\anna@AD.TEST", "anna"},
        {"ad", "anna@other.test", "anna@other.test"}, /* a UPN of its own */
        {"ad", "@AD.TEST", "@AD.TEST"},
        {"ad", "anna@ad.test@other.test", "anna@ad.test@other.test"},
        {"lab", "berta@LAB.TEST", "berta"},
        {"lab", "berta@ad.test", "berta@ad.test"},
        {"none", "anna@AD.TEST", "anna@AD.TEST"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char *name = ldapdir_account_name(iw.ldapdirs, rows[i].source, rows[i].given);
        assert_string_equal(name, rows[i].name);
        free(name);
    }
    assert_string_equal(iw.log, "");
}

#define LOGIN_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, ldapdir_world_tear_down)
int main(void) {
    const struct CMUnitTest tests[] = {
        LOGIN_TEST(names_and_passwords),
        LOGIN_TEST(nothing_empty_reaches_a_directory),
        LOGIN_TEST(the_same_work_for_whoever_it_is),
        LOGIN_TEST(an_entry_of_nobodys_signs_nobody_in),
        LOGIN_TEST(a_person_is_told_whole),
        LOGIN_TEST(a_directory_that_is_silent_is_no_wrong_password),
        LOGIN_TEST(who_may_stay),
        LOGIN_TEST(a_session_may_be_known_before_its_directory),
        LOGIN_TEST(silence_ends_no_session),
        LOGIN_TEST(groups_of_other_domains_stay),
        LOGIN_TEST(principals_of_a_realm),
        LOGIN_TEST(names_of_one_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
