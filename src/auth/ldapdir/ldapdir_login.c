/* Asking directories about people: their password, whether they are still there, their groups; and what a name or an id means. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ldapdirs_private.h"
#include "ldapdir_people.h"
#include "ldap_text.h"
#include "limits.h"
#include "names.h"
#include "str.h"

#define FILTER_BYTES_MAX 16384U
#define NAMES_BYTES_MAX 160U        /* that fit into a remedy */
#define GROUP_SECURITY 0x80000000LL /* groupType (MS-ADTS 2.2.12) */
#define REFUSED "the name or password is wrong"
#define NOBODY "cn=nobody," /* below the search base: a name to try a password with where there is no account */

static int login_refuse(struct err *err, const char *reason) {
    (void)err_set(err, ERR_CREDENTIALS, REFUSED);
    (void)err_detail(err, "%s", reason);
    return ERR_CREDENTIALS;
}

/* Makes a person of an account and its groups, taking over both. */
static int account_take_person(const struct ldapdir *source, struct account *account, struct group_set *groups,
                               struct ldapdir_person *out, struct err *err) {
    struct ldapdir_person person = {.directory = str_dup(source->row.source.name)};
    if (!person.directory || !account->name) {
        free(person.directory);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    person.principal_id = STEAL(account->id);
    person.name = STEAL(account->name);
    person.full_name = STEAL(account->full_name);
    person.mark = STEAL(account->mark);
    memcpy(person.refusal, account->refusal, sizeof(person.refusal));
    person.groups = *groups;
    *groups = (struct group_set){0};
    *out = person;
    return 0;
}

/* -- name and password ----------------------------------------------------------------------------------------------------- */

/* Somebody who is looked for, by name or id, and what was found. */
struct sought {
    struct ldapdir *source;
    const char *name, *id;
    const char *password, *dn; /* with which it is tried */
    struct account account;
    struct group_set groups;
};

static void sought_done(struct sought *sought) {
    account_done(&sought->account);
    group_set_done(&sought->groups);
}

static int login_find_account(struct ldap_conn *conn, void *arg, struct err *err) {
    struct sought *login = arg;
    return account_find(conn, &login->source->row.source, login->name, &login->account, err);
}

static int login_try_password(struct ldap_conn *conn, void *arg, struct err *err) {
    const struct sought *login = arg;
    return ldap_conn_bind_password(conn, login->dn, login->password, err);
}

static int login_find_groups(struct ldap_conn *conn, void *arg, struct err *err) {
    struct sought *login = arg;
    group_set_done(&login->groups);
    return account_groups(conn, &login->source->row.source, &login->account, &login->groups, err);
}

/* One search, one connection, one bind, whether there is such an account or not: how long it takes tells nothing. */
static int login_prove(struct sought *login, struct err *err) {
    const bool is_known = login->account.dn != NULL;
    _cleanup_free_ char *nobody = str_format(NOBODY "%s", login->source->row.source.search_base);
    struct err why = {0};
    int rc;
    if (!nobody)
        return err_set(err, ERR_NOMEM, "out of memory");
    login->dn = is_known ? login->account.dn : nobody;
    rc = source_ask_fresh(login->source, login_try_password, login, &why);
    if (rc == ERR_CREDENTIALS)
        return login_refuse(err, is_known ? why.detail : "no account, or several, of that name");
    if (rc)
        return err_move(err, rc, &why);
    if (!is_known) /* somebody has made that very entry */
        return login_refuse(err, "no account of that name");
    return *login->account.refusal ? login_refuse(err, login->account.refusal) : 0;
}

int ldapdir_check_password(struct ldapdirs *ldapdirs, const struct ldapdir_password *given, struct ldapdir_person *out,
                           struct err *err) {
    _cleanup_(source_unref) struct ldapdir *source = NULL;
    struct sought login = {.password = given->password};
    int rc = ldapdir_find(ldapdirs, given->source, &source, err);
    if (rc)
        return rc;
    if (!*given->password || !*given->user) /* RFC 4513 5.1.2 */
        return login_refuse(err, "empty name or password");
    login.source = source;
    rc = source_skip_domain(source, given->user, &login.name, err);
    if (!rc)
        rc = source_ask(source, login_find_account, &login, err);
    if (!rc)
        rc = login_prove(&login, err);
    if (!rc)
        rc = source_ask(source, login_find_groups, &login, err);
    if (!rc)
        rc = account_take_person(source, &login.account, &login.groups, out, err);
    sought_done(&login);
    return rc;
}

/* A domain that is not the directory's is refused before a password is tried, so there is none to tell apart. */
char *ldapdir_account_name(struct ldapdirs *ldapdirs, const char *source_name, const char *user) {
    _cleanup_(source_unref) struct ldapdir *source = NULL;
    const char *slash = strchr(user, '\\'), *name = slash ? slash + 1 : user, *at = strrchr(name, '@');
    bool is_ours = at && at > name && !ldapdir_find(ldapdirs, source_name, &source, NULL) &&
                   ldap_source_is_domain(&source->row.source, at + 1);
    return is_ours ? strndup(name, (size_t)(at - name)) : str_dup(name);
}

/* -- somebody known -------------------------------------------------------------------------------------------------------------- */

#define TICKET_MARK "ticket:" /* before pwdLastSet, as a ticket told it */
#define NOT_USED "the directory by which you signed in is not used any more"

static int ldapdir_login_again_look(struct ldap_conn *conn, void *arg, struct err *err) {
    struct sought *again = arg;
    int rc = account_find_id(conn, &again->source->row.source, again->id, &again->account, err);
    group_set_done(&again->groups);
    if (rc || !again->account.dn)
        return rc;
    return account_groups(conn, &again->source->row.source, &again->account, &again->groups, err);
}

static int again_ended(struct err *err, const char *why) {
    (void)err_set(err, ERR_SESSION_ENDED, "the session has ended: %s", why);
    return err_remedy(err, "sign in again");
}

char *ldapdir_ticket_mark(int64_t password_set_at) {
    return str_format(TICKET_MARK "%lld", (long long)password_set_at);
}

static const char *skip_ticket(const char *mark) {
    return mark && str_starts(mark, TICKET_MARK) ? mark + sizeof(TICKET_MARK) - 1 : mark;
}

/* In Active Directory a time, 0 for a password that has to be changed. Another controller may not have heard of the change yet that the mark is of,
 * and whoever may not read the time knows nothing. */
static bool has_new_password(const struct ldap_source *source, const char *mark, const char *now) {
    int64_t then_at = 0, now_at = 0;
    if (!mark || str_eq(mark, now))
        return false;
    if (source->kind != LDAP_KIND_AD || !str_to_i64(skip_ticket(mark), 0, INT64_MAX, &then_at))
        return true;
    if (!now)
        return false;
    return !str_to_i64(now, 0, INT64_MAX, &now_at) || (now_at != then_at && (!now_at || now_at > then_at));
}

static int ldapdir_login_again_judge(const struct sought *again, const char *mark, struct err *err) {
    if (!again->account.dn)
        return again_ended(err, "the directory does not know the account any more");
    if (*again->account.refusal)
        return again_ended(err, again->account.refusal);
    if (has_new_password(&again->source->row.source, mark, again->account.mark))
        return again_ended(err, "the password was changed");
    return 0;
}

/* Are both of one domain? They differ behind the last "-" only. */
static bool is_same_domain(const char *a, const char *b) {
    const char *end_a = strrchr(a, '-'), *end_b = strrchr(b, '-');
    return end_a && end_b && end_a - a == end_b - b && !strncmp(a, b, (size_t)(end_a - a));
}

static int keep_foreign(const struct ldapdir_known *known, struct group_set *groups, struct err *err) {
    int rc = 0;
    if (!known->groups || skip_ticket(known->mark) == known->mark)
        return 0;
    for (size_t i = 0; !rc && i < known->groups->count; i++)
        if (!is_same_domain(known->groups->ids[i], known->who->id) && groups->count < KAAS_GROUPS_MAX)
            rc = group_set_add(groups, known->groups->ids[i], err);
    group_set_seal(groups);
    return rc;
}

/* A replica may know a session before the directory that it is by, so the database is asked before one is ended for that. */
static int again_find_source(struct ldapdirs *ldapdirs, const char *name, struct ldapdir **out, struct err *err) {
    int rc;
    if (!name)
        return again_ended(err, NOT_USED);
    if (!ldapdir_find(ldapdirs, name, out, NULL))
        return 0;
    rc = ldapdir_sync(ldapdirs, err);
    if (rc)
        return rc;
    return ldapdir_find(ldapdirs, name, out, NULL) ? again_ended(err, NOT_USED) : 0;
}

int ldapdir_check_person(struct ldapdirs *ldapdirs, const struct ldapdir_known *known, struct group_set *groups_out,
                         struct err *err) {
    _cleanup_(source_unref) struct ldapdir *source = NULL;
    struct sought again = {.id = known->who->id};
    int rc = again_find_source(ldapdirs, known->who->directory, &source, err);
    if (rc)
        return rc;
    again.source = source;
    rc = source_ask(source, ldapdir_login_again_look, &again, err);
    if (!rc)
        rc = ldapdir_login_again_judge(&again, known->mark, err);
    if (!rc)
        rc = keep_foreign(known, &again.groups, err);
    if (!rc) {
        *groups_out = again.groups;
        again.groups = (struct group_set){0};
    }
    sought_done(&again);
    return rc;
}

/* -- people of a realm ----------------------------------------------------------------------------------------------------- */

/* A directory finds names in any case, a KDC other than Active Directory's does not: there, the two may be two people. */
static bool is_other_case(const struct ldapdir *source, const char *wanted, const char *found) {
    return source->row.source.kind != LDAP_KIND_AD && name_same(wanted, found) && !str_eq(wanted, found);
}

static int ldapdir_login_look_for(struct sought *sought, struct err *err) {
    int rc;
    if (sought->id)
        return source_ask(sought->source, ldapdir_login_again_look, sought, err);
    rc = source_ask(sought->source, login_find_account, sought, err);
    if (!rc && sought->account.dn && !is_other_case(sought->source, sought->name, sought->account.name))
        return source_ask(sought->source, login_find_groups, sought, err);
    account_done(&sought->account);
    return rc;
}

int ldapdir_lookup_principal(struct ldapdirs *ldapdirs, const struct ldapdir_principal *who, struct ldapdir_person *out,
                             struct err *err) {
    char which[LDAPDIR_SOURCE_BYTES];
    _cleanup_(source_unref) struct ldapdir *source = NULL;
    struct sought found = {.id = who->id, .name = who->name};
    int rc;
    if (!ldapdir_source_of(ldapdirs, who, which))
        return err_set(err, ERR_NOT_FOUND, "no directory serves the realm %.100s", who->realm);
    rc = ldapdir_find(ldapdirs, which, &source, err);
    if (rc)
        return rc;
    found.source = source;
    rc = ldapdir_login_look_for(&found, err);
    if (!rc && !found.account.dn)
        rc = login_refuse(err, "no account, or several, of that name");
    if (!rc && *found.account.refusal)
        rc = login_refuse(err, found.account.refusal);
    if (!rc)
        rc = account_take_person(source, &found.account, &found.groups, out, err);
    sought_done(&found);
    return rc;
}

/* -- looking up people and groups for an administrator: ids of names, and what is known of a person who is not signed in --- */

void ldapdir_matches_done(struct ldapdir_matches *matches) {
    if (!matches)
        return;
    for (size_t i = 0; i < matches->count; i++) {
        free(matches->items[i].id);
        free(matches->items[i].name);
        free(matches->items[i].dn);
        free(matches->items[i].directory);
    }
    matches->count = 0;
}

/* -- ids of a name --------------------------------------------------------------------------------------------------------- */

struct look_up {
    struct ldapdir *source;
    const struct ldapdir_reference *reference;
    const char *name; /* of it, without a domain before it */
    enum account_names which;
    struct ldapdir_matches found;
    unsigned powerless; /* groups that give no role */
};

/* Distribution groups of Active Directory, and what means something else on every machine. */
static bool is_powerless(const struct look_up *look, const struct ldap_entry *entry, const char *id) {
    if (look->reference->kind != LDAPDIR_GROUP || look->source->row.source.kind != LDAP_KIND_AD)
        return false;
    return !(ldap_entry_number(entry, "groupType", 0) & GROUP_SECURITY) ||
           (str_starts(id, "sid:") && !ldap_text_sid_counts(id + 4));
}

static int lookup_take_match(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct look_up *look = arg;
    const struct ldap_source *source = &look->source->row.source;
    _cleanup_free_ char *id = entry_id(entry, source);
    struct ldapdir_match *match = &look->found.items[look->found.count];
    if (!id)
        return 0;
    if (is_powerless(look, entry, id)) {
        look->powerless++;
        return 0;
    }
    *match = (struct ldapdir_match){
        .id = STEAL(id), .name = entry_name(entry, source), .dn = ldap_entry_dn(entry), .directory = str_dup(source->name)};
    look->found.count++;
    return match->dn && match->directory ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static void add_group_filter(struct strbuf *filter, const struct ldap_source *source, const char *name) {
    static const char *const ad[] = {"sAMAccountName", "cn"}, *const plain[] = {"cn", "cn"};
    const char *const *attrs = source->kind == LDAP_KIND_AD ? ad : plain;
    strbuf_addf(filter, "(&%s(|", ldap_source_group_filter(source));
    for (size_t i = 0; i < ARRAY_COUNT(ad); i++) {
        strbuf_addf(filter, "(%s=", attrs[i]);
        ldap_text_filter(filter, name, strlen(name));
        strbuf_addc(filter, ')');
    }
    strbuf_adds(filter, "))");
}

/* By name, or, if it looks like one, by DN. */
static int ldapdir_login_lookup_ask(struct ldap_conn *conn, void *arg, struct err *err) {
    static const char *const attrs[] = {"objectSid", "objectGUID", "entryUUID", "groupType", ENTRY_NAME_ATTRS, NULL};
    struct look_up *look = arg;
    const struct ldap_source *source = &look->source->row.source;
    const bool is_group = look->reference->kind == LDAPDIR_GROUP, is_dn = strchr(look->name, '=') != NULL;
    struct ldap_query query = {.base = is_dn      ? look->name
                                       : is_group ? ldap_source_group_base(source)
                                                  : source->search_base,
                               .scope = is_dn ? LDAP_SEARCH_BASE : LDAP_SEARCH_SUBTREE,
                               .attrs = attrs,
                               .entries_max = LDAPDIR_MATCHES_MAX};
    _cleanup_strbuf_ struct strbuf filter;
    int rc;
    ldapdir_matches_done(&look->found);
    look->powerless = 0;
    strbuf_init(&filter, FILTER_BYTES_MAX);
    if (is_dn)
        strbuf_adds(&filter, is_group ? ldap_source_group_filter(source) : "(objectClass=*)");
    else if (is_group)
        add_group_filter(&filter, source, look->name);
    else if (!account_filter(source, look->name, look->which, &filter))
        return 0;
    rc = strbuf_check(&filter, "search filter", err);
    query.filter = filter.data;
    return rc ? rc : ldap_conn_search(conn, &query, lookup_take_match, look, err);
}

static bool has_match(const struct ldapdir_matches *matches, const char *id) {
    for (size_t i = 0; i < matches->count; i++)
        if (str_eq(matches->items[i].id, id))
            return true;
    return false;
}

/* Two directories may be the same domain, by other addresses. */
static void ldapdir_login_lookup_merge(struct ldapdir_matches *from, struct ldapdir_matches *into) {
    struct ldapdir_matches rest = {0};
    for (size_t i = 0; i < from->count; i++) {
        struct ldapdir_matches *to = into->count < LDAPDIR_MATCHES_MAX && !has_match(into, from->items[i].id) ? into : &rest;
        to->items[to->count++] = from->items[i];
    }
    from->count = 0;
    ldapdir_matches_done(&rest);
}

/* What one source knows; nothing is no error. */
static int ldapdir_login_lookup_in(struct look_up *look, struct ldapdir_matches *out, unsigned *powerless, struct err *err) {
    struct err why = {0};
    int rc = source_skip_domain(look->source, look->reference->name, &look->name, &why);
    if (rc == ERR_UNPROCESSABLE && !look->reference->source)
        return 0; /* another one's domain */
    if (!rc)
        rc = source_ask(look->source, ldapdir_login_lookup_ask, look, &why);
    if (!rc && !look->found.count && look->reference->kind != LDAPDIR_GROUP) {
        look->which = ACCOUNT_ALONE;
        rc = source_ask(look->source, ldapdir_login_lookup_ask, look, &why);
    }
    if (!rc) {
        *powerless += look->powerless;
        ldapdir_login_lookup_merge(&look->found, out);
        return 0;
    }
    ldapdir_matches_done(&look->found);
    if (rc == ERR_TOO_LARGE) {
        (void)err_set(err, ERR_AMBIGUOUS, "the directory %s has more than %d entries named %.100s", look->source->row.source.name,
                      LDAPDIR_MATCHES_MAX, look->reference->name);
        return err_remedy(err, "give the DN");
    }
    return err_move(err, rc, &why);
}

static int ldapdir_login_lookup_judge(struct ldapdirs *ldapdirs, const struct ldapdir_reference *reference,
                                      const struct ldapdir_matches *found, unsigned powerless, struct err *err) {
    const char *kind = reference->kind == LDAPDIR_GROUP ? "group" : "account";
    if (found->count == 1) {
        if (found->items[0].name)
            names_learn(ldapdirs->names, found->items[0].id, found->items[0].name);
        return 0;
    }
    if (found->count) {
        (void)err_set(err, ERR_AMBIGUOUS, "%zu entries are named \"%.100s\"", found->count, reference->name);
        return err_remedy(err, "give the id of the one that is meant, its DN, or the directory");
    }
    if (powerless) {
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is a distribution group, or a built-in one: it gives no rights",
                      reference->name);
        return err_remedy(err, "take a security group");
    }
    (void)err_set(err, ERR_UNPROCESSABLE, "no directory has %s %s named \"%.100s\"", kind[0] == 'a' ? "an" : "a", kind,
                  reference->name);
    return err_remedy(err, "compare with the directory: what counts is its name there, or its DN, below the search base");
}

static int lookup_no_source(struct ldapdir *const *all, const struct ldapdir_reference *reference, struct err *err) {
    _cleanup_strbuf_ struct strbuf known;
    strbuf_init(&known, NAMES_BYTES_MAX);
    for (size_t i = 0; all[i]; i++)
        strbuf_addf(&known, "%s%s", i ? ", " : "", all[i]->row.source.name);
    if (!all[0]) {
        (void)err_set(err, ERR_UNPROCESSABLE, "there is no directory in which a name could be looked up");
        return err_remedy(err, "add it first: kaasctl ldap set NAME");
    }
    (void)err_set(err, ERR_UNPROCESSABLE, "there is no directory \"%.60s\"", reference->source);
    return err_remedy(err, "there are: %s%s; see: kaasctl ldap list", known.data, known.failed ? ", ..." : "");
}

int ldapdir_lookup(struct ldapdirs *ldapdirs, const struct ldapdir_reference *reference, struct ldapdir_matches *out,
                   struct err *err) {
    struct ldapdir **all = ldapdir_all(ldapdirs);
    unsigned powerless = 0, asked = 0;
    int rc = all ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    out->count = 0;
    for (size_t i = 0; !rc && all[i]; i++) {
        struct look_up look = {.source = all[i], .reference = reference};
        if (reference->source && !str_eq(reference->source, all[i]->row.source.name))
            continue;
        asked++;
        rc = ldapdir_login_lookup_in(&look, out, &powerless, err);
    }
    if (!rc && !asked)
        rc = lookup_no_source(all, reference, err);
    ldapdir_all_free(all);
    return rc ? rc : ldapdir_login_lookup_judge(ldapdirs, reference, out, powerless, err);
}

/* -- the worker pool --------------------------------------------------------------------------------------------------------------- */

int ldapdir_lookup_pool(struct ldapdirs *ldapdirs, const char *source, struct worker_pool **out, struct err *err) {
    struct ldapdir **all = source ? NULL : ldapdir_all(ldapdirs);
    struct err why = {0};
    int rc = 0;
    *out = NULL;
    if (!source && !all)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!source && all[0] && !all[1])
        source = all[0]->row.source.name;
    if (source)
        rc = ldapdir_pool(ldapdirs, source, out, &why);
    ldapdir_all_free(all);
    if (rc == ERR_NOT_FOUND)
        return 0; /* whoever looks up finds that out */
    return err_move(err, rc, &why);
}

/* -- somebody who is not signed in ------------------------------------------------------------------------------------------- */

static int lookup_person_in(struct ldapdir *source, const char *id, struct ldapdir_person *out, struct err *err) {
    struct sought look = {.source = source, .id = id};
    int rc = source_ask(source, ldapdir_login_again_look, &look, err);
    if (!rc && !look.account.dn)
        rc = ERR_NOT_FOUND;
    if (!rc)
        rc = account_take_person(source, &look.account, &look.groups, out, err);
    sought_done(&look);
    return rc;
}

int ldapdir_lookup_person(struct ldapdirs *ldapdirs, const char *id, struct ldapdir_person *out, struct err *err) {
    struct ldapdir **all = ldapdir_all(ldapdirs);
    struct err why = {0};
    int rc = all ? ERR_NOT_FOUND : err_set(&why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; rc && all && all[i]; i++) {
        int next = lookup_person_in(all[i], id, out, why.code ? NULL : &why);
        rc = next == ERR_NOT_FOUND && rc != ERR_NOT_FOUND ? rc : next; /* one that could not say may know the account */
    }
    ldapdir_all_free(all);
    if (rc == ERR_NOT_FOUND)
        return err_set(err, rc, "no directory knows the account");
    return err_move(err, rc, &why);
}
