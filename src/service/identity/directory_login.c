/* Asking directories about people: their password, whether they are still there, their groups. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity_private.h"
#include "limits.h"
#include "str.h"

#define REFUSED "the name or password is wrong"
#define NOBODY "cn=nobody," /* below the search base: a name to try a password with where there is no account */

static int refuse(struct err *err, const char *reason) {
    (void)err_set(err, ERR_CREDENTIALS, REFUSED);
    (void)err_detail(err, "%s", reason);
    return ERR_CREDENTIALS;
}

int account_take_person(const struct dir_source *source, struct account *account, struct group_set *groups,
                        struct identity_person *out, struct err *err) {
    struct identity_person person = {.directory = str_dup(source->row.source.name)};
    if (!person.directory || !account->name)
        return free(person.directory), err_set(err, ERR_NOMEM, "out of memory");
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

struct login {
    struct dir_source *source;
    const char *name, *password;
    const char *dn; /* that the password is tried with */
    struct account account;
    struct group_set groups;
};

static void login_done(struct login *login) {
    account_done(&login->account);
    group_set_done(&login->groups);
}

static int find_account(struct ldap_conn *conn, void *arg, struct err *err) {
    struct login *login = arg;
    return account_find(conn, &login->source->row.source, login->name, &login->account, err);
}

static int try_password(struct ldap_conn *conn, void *arg, struct err *err) {
    const struct login *login = arg;
    return ldap_conn_bind_password(conn, login->dn, login->password, err);
}

static int find_groups(struct ldap_conn *conn, void *arg, struct err *err) {
    struct login *login = arg;
    group_set_done(&login->groups);
    return account_groups(conn, &login->source->row.source, &login->account, &login->groups, err);
}

/* One search, one connection, one bind, whether there is such an account or not: how long it takes tells nothing. */
static int prove(struct login *login, struct err *err) {
    const bool is_known = login->account.dn != NULL;
    _cleanup_free_ char *nobody = str_format(NOBODY "%s", login->source->row.source.search_base);
    struct err why = {0};
    int rc;
    if (!nobody)
        return err_set(err, ERR_NOMEM, "out of memory");
    login->dn = is_known ? login->account.dn : nobody;
    rc = source_ask_fresh(login->source, try_password, login, &why);
    if (rc == ERR_CREDENTIALS)
        return refuse(err, is_known ? why.detail : "no account, or several, of that name");
    if (rc)
        return err_move(err, rc, &why);
    if (!is_known) /* somebody has made that very entry */
        return refuse(err, "no account of that name");
    return *login->account.refusal ? refuse(err, login->account.refusal) : 0;
}

int identity_check_password(struct identity *identity, const struct identity_password *given, struct identity_person *out,
                            struct err *err) {
    _cleanup_(source_unref) struct dir_source *source = NULL;
    struct login login = {.password = given->password};
    int rc = identity_find_source(identity, given->source, &source, err);
    if (rc)
        return rc;
    if (!*given->password || !*given->user) /* RFC 4513 5.1.2 */
        return refuse(err, "empty name or password");
    login.source = source;
    rc = source_skip_domain(source, given->user, &login.name, err);
    if (!rc)
        rc = source_ask(source, find_account, &login, err);
    if (!rc)
        rc = prove(&login, err);
    if (!rc)
        rc = source_ask(source, find_groups, &login, err);
    if (!rc)
        rc = account_take_person(source, &login.account, &login.groups, out, err);
    login_done(&login);
    return rc;
}

/* A domain that is not the directory's is refused before a password is tried, so there is none to tell apart. */
char *identity_account_name(struct identity *identity, const char *source_name, const char *user) {
    _cleanup_(source_unref) struct dir_source *source = NULL;
    const char *slash = strchr(user, '\\'), *name = slash ? slash + 1 : user, *at = strrchr(name, '@');
    bool is_ours = at && at > name && !identity_find_source(identity, source_name, &source, NULL) &&
                   ldap_source_is_domain(&source->row.source, at + 1);
    return is_ours ? strndup(name, (size_t)(at - name)) : str_dup(name);
}

/* -- again ----------------------------------------------------------------------------------------------------------------- */

#define TICKET_MARK "ticket:" /* before pwdLastSet, as a ticket told it */
#define NOT_USED "the directory by which you signed in is not used any more"

struct again {
    struct dir_source *source;
    const char *id;
    struct account account;
    struct group_set groups;
};

static void again_done(struct again *again) {
    account_done(&again->account);
    group_set_done(&again->groups);
}

static int look_again(struct ldap_conn *conn, void *arg, struct err *err) {
    struct again *again = arg;
    int rc = account_find_id(conn, &again->source->row.source, again->id, &again->account, err);
    group_set_done(&again->groups);
    if (rc || !again->account.dn)
        return rc;
    return account_groups(conn, &again->source->row.source, &again->account, &again->groups, err);
}

static int ended(struct err *err, const char *why) {
    (void)err_set(err, ERR_SESSION_ENDED, "the session has ended: %s", why);
    return err_remedy(err, "sign in again");
}

char *identity_ticket_mark(int64_t password_set_at) {
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

static int judge(const struct again *again, const char *mark, struct err *err) {
    if (!again->account.dn)
        return ended(err, "the directory does not know the account any more");
    if (*again->account.refusal)
        return ended(err, again->account.refusal);
    if (has_new_password(&again->source->row.source, mark, again->account.mark))
        return ended(err, "the password was changed");
    return 0;
}

/* Are both of one domain? They differ behind the last "-" only. */
static bool is_same_domain(const char *a, const char *b) {
    const char *end_a = strrchr(a, '-'), *end_b = strrchr(b, '-');
    return end_a && end_b && end_a - a == end_b - b && !strncmp(a, b, (size_t)(end_a - a));
}

static int keep_foreign(const struct identity_known *known, struct group_set *groups, struct err *err) {
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
static int find_known(struct identity *identity, const char *name, struct dir_source **out, struct err *err) {
    int rc;
    if (!name)
        return ended(err, NOT_USED);
    if (!identity_find_source(identity, name, out, NULL))
        return 0;
    rc = identity_sync(identity, err);
    if (rc)
        return rc;
    return identity_find_source(identity, name, out, NULL) ? ended(err, NOT_USED) : 0;
}

int identity_check_person(struct identity *identity, const struct identity_known *known, struct group_set *groups_out,
                          struct err *err) {
    _cleanup_(source_unref) struct dir_source *source = NULL;
    struct again again = {.id = known->who->id};
    int rc = find_known(identity, known->who->directory, &source, err);
    if (rc)
        return rc;
    again.source = source;
    rc = source_ask(source, look_again, &again, err);
    if (!rc)
        rc = judge(&again, known->mark, err);
    if (!rc)
        rc = keep_foreign(known, &again.groups, err);
    if (!rc) {
        *groups_out = again.groups;
        again.groups = (struct group_set){0};
    }
    again_done(&again);
    return rc;
}

/* -- people of a realm ----------------------------------------------------------------------------------------------------- */

/* A directory finds names in any case, a KDC other than Active Directory's does not: there, the two may be two people. */
static bool is_other_case(const struct dir_source *source, const char *wanted, const char *found) {
    return source->row.source.kind != LDAP_KIND_AD && str_eq_nocase(wanted, found) && !str_eq(wanted, found);
}

static int look_for(struct dir_source *source, const struct identity_principal *who, struct again *out, struct err *err) {
    struct login login = {.name = who->name, .source = source};
    int rc;
    out->source = source;
    if (who->id) {
        out->id = who->id;
        return source_ask(source, look_again, out, err);
    }
    rc = source_ask(source, find_account, &login, err);
    if (!rc && login.account.dn && !is_other_case(source, who->name, login.account.name))
        rc = source_ask(source, find_groups, &login, err);
    else
        account_done(&login.account);
    out->account = login.account;
    out->groups = login.groups;
    return rc;
}

int identity_lookup_principal(struct identity *identity, const struct identity_principal *who, struct identity_person *out,
                              struct err *err) {
    char which[IDENTITY_SOURCE_BYTES];
    _cleanup_(source_unref) struct dir_source *source = NULL;
    struct again found = {0};
    int rc;
    if (!identity_source_of(identity, who, which))
        return err_set(err, ERR_NOT_FOUND, "no directory serves the realm %.100s", who->realm);
    rc = identity_find_source(identity, which, &source, err);
    if (rc)
        return rc;
    rc = look_for(source, who, &found, err);
    if (!rc && !found.account.dn)
        rc = refuse(err, "no account, or several, of that name");
    if (!rc && *found.account.refusal)
        rc = refuse(err, found.account.refusal);
    if (!rc)
        rc = account_take_person(source, &found.account, &found.groups, out, err);
    again_done(&found);
    return rc;
}
