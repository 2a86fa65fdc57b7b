/* What an entry of a directory says about an account, and in which groups it is. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldapdir_people.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ldap_text.h"
#include "limits.h"
#include "str.h"

#define FILTER_BYTES_MAX 16384U
#define UAC_DISABLED 0x2 /* userAccountControl (MS-ADTS 2.2.16) */
#define FILETIME_NEVER INT64_MAX
#define FILETIME_EPOCH_MS 11644473600000LL /* 1601-01-01 to 1970-01-01 */
#define LOCKED_FOR_GOOD "000001010000Z" /* pwdAccountLockedTime: by an administrator (draft-behera-ldap-password-policy 5.3.3) */

static const char *const ad_attrs[] = {"objectSid",         "objectGUID",         "sAMAccountName",
                                       "userPrincipalName", "displayName",        "pwdLastSet",
                                       "accountExpires",    "userAccountControl", NULL};
static const char *const plain_attrs[] = {
    "entryUUID", "uid", "cn", "displayName", "pwdChangedTime", "pwdAccountLockedTime", "nsAccountLock", "shadowLastChange", NULL};

void account_done(struct account *account) {
    if (!account)
        return;
    free(account->dn);
    free(account->id);
    free(account->name);
    free(account->full_name);
    free(account->mark);
    *account = (struct account){0};
}

/* -- ids ------------------------------------------------------------------------------------------------------------------- */

struct id_value {
    const struct ldap_source *source;
    char *id;
};

static int entry_take_sid(void *arg, const void *bytes, size_t n, struct err *err) {
    struct id_value *value = arg;
    char sid[LDAP_SID_TEXT_BYTES];
    (void)err;
    if (!value->id && ldap_text_sid(bytes, n, sid))
        value->id = str_format("sid:%s", sid);
    return 0;
}

static int take_guid(void *arg, const void *bytes, size_t n, struct err *err) {
    struct id_value *value = arg;
    char guid[LDAP_GUID_TEXT_BYTES];
    (void)err;
    if (!value->id && ldap_text_guid(bytes, n, guid))
        value->id = str_format("ldap:%s:%s", value->source->name, guid);
    return 0;
}

char *entry_id(const struct ldap_entry *entry, const struct ldap_source *source) {
    struct id_value value = {.source = source};
    _cleanup_free_ char *uuid = NULL;
    uint8_t bytes[16];
    if (source->kind == LDAP_KIND_AD) {
        (void)ldap_entry_each(entry, "objectSid", entry_take_sid, &value, NULL);
        if (!value.id)
            (void)ldap_entry_each(entry, "objectGUID", take_guid, &value, NULL);
        return value.id;
    }
    uuid = ldap_entry_text(entry, "entryUUID");
    if (!uuid || !ldap_text_guid_bytes(uuid, bytes))
        return NULL;
    str_lower(uuid);
    return str_format("ldap:%s:%s", source->name, uuid);
}

char *entry_name(const struct ldap_entry *entry, const struct ldap_source *source) {
    static const char *const ad[] = {"userPrincipalName", "sAMAccountName", "cn"};
    static const char *const plain[] = {"uid", "cn", "displayName"};
    const char *const *attrs = source->kind == LDAP_KIND_AD ? ad : plain;
    for (size_t i = 0; i < ARRAY_COUNT(ad); i++) {
        char *text = ldap_entry_text(entry, attrs[i]);
        if (text)
            return text;
    }
    return NULL;
}

/* -- state ----------------------------------------------------------------------------------------------------------------- */

static bool has_expired(int64_t filetime) {
    return filetime > 0 && filetime != FILETIME_NEVER && filetime / 10000 - FILETIME_EPOCH_MS <= clock_wall_ms();
}

/* What is known before a password is tried, and all that is known when somebody is asked about again. */
static void read_ad(const struct ldap_entry *entry, struct account *out) {
    const char *refusal = "";
    if (ldap_entry_number(entry, "userAccountControl", UAC_DISABLED) & UAC_DISABLED)
        refusal = "the account is disabled";
    else if (has_expired(ldap_entry_number(entry, "accountExpires", 0)))
        refusal = "the account has expired";
    (void)snprintf(out->refusal, sizeof(out->refusal), "%s", refusal);
    out->mark = ldap_entry_text(entry, "pwdLastSet");
    out->name = ldap_entry_text(entry, "userPrincipalName");
    if (!out->name)
        out->name = ldap_entry_text(entry, "sAMAccountName");
}

static void read_plain(const struct ldap_entry *entry, struct account *out) {
    _cleanup_free_ char *locked = ldap_entry_text(entry, "pwdAccountLockedTime"), *lock = ldap_entry_text(entry, "nsAccountLock");
    if (str_eq(locked, LOCKED_FOR_GOOD) || str_eq_nocase(lock, "true"))
        (void)snprintf(out->refusal, sizeof(out->refusal), "the account is disabled");
    out->mark = ldap_entry_text(entry, "pwdChangedTime");
    if (!out->mark)
        out->mark = ldap_entry_text(entry, "shadowLastChange");
    out->name = ldap_entry_text(entry, "uid");
    if (!out->name)
        out->name = ldap_entry_text(entry, "cn");
}

static int account_read(const struct ldap_entry *entry, const struct ldap_source *source, struct account *out, struct err *err) {
    out->dn = ldap_entry_dn(entry);
    out->id = entry_id(entry, source);
    out->full_name = ldap_entry_text(entry, "displayName");
    if (source->kind == LDAP_KIND_AD)
        read_ad(entry, out);
    else
        read_plain(entry, out);
    if (!out->dn)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (out->id && !out->name)
        out->name = str_dup(out->dn);
    return 0;
}

/* -- finding --------------------------------------------------------------------------------------------------------------- */

struct account_search {
    const struct ldap_source *source;
    struct account *account;
    unsigned count;
};

static int account_take(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct account_search *search = arg;
    if (search->count++)
        return 0;
    return account_read(entry, search->source, search->account, err);
}

static int account_find_one(struct ldap_conn *conn, const struct ldap_query *query, struct account_search *search,
                            struct err *err) {
    struct err why = {0};
    int rc = ldap_conn_search(conn, query, account_take, search, &why);
    if (rc == ERR_TOO_LARGE) { /* several of that name: nobody can tell who is meant */
        search->count = query->entries_max + 1;
        rc = 0;
    }
    if (!rc && (search->count > 1 || (search->account->dn && !search->account->id)))
        account_done(search->account);
    if (rc)
        account_done(search->account);
    return err_move(err, rc, &why);
}

static const char *const *attrs_of(const struct ldap_source *source) {
    return source->kind == LDAP_KIND_AD ? ad_attrs : plain_attrs;
}

bool account_filter(const struct ldap_source *source, const char *name, enum account_names which, struct strbuf *out) {
    const char *at = strrchr(name, '@');
    _cleanup_free_ char *alone = NULL;
    if (which == ACCOUNT_AS_WRITTEN)
        return ldap_text_fill(out, ldap_source_user_filter(source), name);
    if (source->kind != LDAP_KIND_AD || !at || at == name || !ldap_source_is_domain(source, at + 1))
        return false;
    alone = strndup(name, (size_t)(at - name));
    if (!alone)
        return false;
    strbuf_adds(out, "(&");
    (void)ldap_text_fill(out, ldap_source_user_filter(source), alone);
    return ldap_text_fill(out, "(sAMAccountName=" LDAP_SOURCE_PLACE "))", alone);
}

/* Nobody, and no error, where there is no such form of the name. */
static int find_by(struct ldap_conn *conn, struct account_search *search, const char *name, enum account_names which,
                   struct err *err) {
    const struct ldap_source *source = search->source;
    _cleanup_strbuf_ struct strbuf filter;
    struct ldap_query query = {
        .base = source->search_base, .scope = LDAP_SEARCH_SUBTREE, .attrs = attrs_of(source), .entries_max = 1};
    int rc;
    strbuf_init(&filter, FILTER_BYTES_MAX);
    if (!account_filter(source, name, which, &filter))
        return 0;
    rc = strbuf_check(&filter, "search filter", err);
    query.filter = filter.data;
    return rc ? rc : account_find_one(conn, &query, search, err);
}

/* Both forms are asked for whatever the first one gives: how long it takes tells nothing. */
int account_find(struct ldap_conn *conn, const struct ldap_source *source, const char *name, struct account *out,
                 struct err *err) {
    struct account alone = {0};
    struct account_search first = {.source = source, .account = out}, second = {.source = source, .account = &alone};
    int rc;
    account_done(out);
    rc = find_by(conn, &first, name, ACCOUNT_AS_WRITTEN, err);
    if (!rc)
        rc = find_by(conn, &second, name, ACCOUNT_ALONE, err);
    if (!rc && !first.count) {
        *out = alone;
        alone = (struct account){0};
    }
    account_done(&alone);
    if (rc)
        account_done(out);
    return rc;
}

/* The filter of people with any name in it: who does not pass it any more may not sign in any more. */
static void add_anybody(struct strbuf *out, const struct ldap_source *source) {
    const char *pattern = ldap_source_user_filter(source);
    for (const char *at = strstr(pattern, LDAP_SOURCE_PLACE); at; at = strstr(pattern, LDAP_SOURCE_PLACE)) {
        strbuf_add(out, pattern, (size_t)(at - pattern));
        strbuf_addc(out, '*');
        pattern = at + strlen(LDAP_SOURCE_PLACE);
    }
    strbuf_adds(out, pattern);
}

/* What is left of an id of this source behind "ldap:<source>:"; NULL if it is none. */
static const char *uuid_of(const struct ldap_source *source, const char *id) {
    size_t n = strlen(source->name);
    if (!str_starts(id, "ldap:") || strncmp(id + 5, source->name, n) != 0 || id[5 + n] != ':')
        return NULL;
    return id + 6 + n;
}

int account_find_id(struct ldap_conn *conn, const struct ldap_source *source, const char *id, struct account *out,
                    struct err *err) {
    struct account_search search = {.source = source, .account = out};
    _cleanup_strbuf_ struct strbuf filter, base;
    struct ldap_query query = {.scope = LDAP_SEARCH_BASE, .attrs = attrs_of(source), .entries_max = 1};
    const char *uuid = uuid_of(source, id);
    int rc;
    account_done(out);
    strbuf_init(&filter, FILTER_BYTES_MAX);
    strbuf_init(&base, FILTER_BYTES_MAX);
    if (source->kind == LDAP_KIND_AD && str_starts(id, "sid:"))
        strbuf_addf(&base, "<SID=%s>", id + 4); /* MS-ADTS 3.1.1.3.1.2.4 */
    else if (source->kind == LDAP_KIND_AD && uuid)
        strbuf_addf(&base, "<GUID=%s>", uuid);
    else if (uuid)
        strbuf_adds(&base, source->search_base);
    else
        return 0;
    if (source->kind == LDAP_KIND_AD) {
        add_anybody(&filter, source);
    } else {
        query.scope = LDAP_SEARCH_SUBTREE;
        strbuf_addf(&filter, "(&(entryUUID=%s)", uuid);
        add_anybody(&filter, source);
        strbuf_adds(&filter, ")");
    }
    rc = strbuf_check(&filter, "search filter", err);
    query.filter = filter.data;
    query.base = base.data;
    return rc ? rc : account_find_one(conn, &query, &search, err);
}

/* -- the groups of an account -------------------------------------------------------------------------------------- */

/* Active Directory computes them: tokenGroups has nested, primary and domain-local groups and security groups only, in one answer; memberOf has none of that.
 * Elsewhere we walk from group to group by member and uniqueMember, and take memberOf of the account beside it, for groups that have no list of members. */

#define DEPTH_MAX 10U      /* groups in groups */
#define BATCH_COUNT 20U    /* names in one filter */
#define MEMBER_OF_MAX 200U /* looked up one by one */
#define GROUP_FILTER_BYTES_MAX (1024U * 1024U)

/* -- Active Directory ------------------------------------------------------------------------------------------------------ */

static int take_token_group(void *arg, const void *bytes, size_t n, struct err *err) {
    char sid[LDAP_SID_TEXT_BYTES], id[LDAP_SID_TEXT_BYTES + 4] = "sid:";
    if (!ldap_text_sid(bytes, n, sid))
        return err_set(err, ERR_PROTOCOL, "the directory tells a group that is no SID");
    if (!ldap_text_sid_counts(sid))
        return 0;
    memcpy(id + 4, sid, strlen(sid) + 1);
    return group_set_add(arg, id, err);
}

static int take_token_groups(void *arg, const struct ldap_entry *entry, struct err *err) {
    return ldap_entry_each(entry, "tokenGroups", take_token_group, arg, err);
}

static int ad_groups(struct ldap_conn *conn, const struct account *account, struct group_set *out, struct err *err) {
    static const char *const attrs[] = {"tokenGroups", NULL};
    const struct ldap_query query = {
        .base = account->dn, .scope = LDAP_SEARCH_BASE, .filter = "(objectClass=*)", .attrs = attrs, .entries_max = 1};
    return ldap_conn_search(conn, &query, take_token_groups, out, err);
}

/* -- others ---------------------------------------------------------------------------------------------------------------- */

/* Groups that were found, by name and id; walked from `begin` on. */
struct walk {
    struct ldap_conn *conn;
    const struct ldap_source *source;
    struct {
        char *dn, *id;
    } * items;
    size_t count, space, begin;
};

static void ldapdir_people_walk_done(struct walk *walk) {
    for (size_t i = 0; i < walk->count; i++) {
        free(walk->items[i].dn);
        free(walk->items[i].id);
    }
    free(walk->items);
}

static bool ldapdir_people_is_known(const struct walk *walk, const char *id) {
    for (size_t i = 0; i < walk->count; i++)
        if (str_eq(walk->items[i].id, id))
            return true;
    return false;
}

static int groups_make_room(struct walk *walk, struct err *err) {
    size_t space = walk->space ? 2 * walk->space : 32;
    void *items;
    if (walk->count < walk->space)
        return 0;
    if (walk->count >= KAAS_GROUPS_MAX)
        return err_set(err, ERR_TOO_LARGE, "somebody is in more than %u groups", KAAS_GROUPS_MAX);
    items = realloc(walk->items, space * sizeof(*walk->items));
    if (!items)
        return err_set(err, ERR_NOMEM, "out of memory");
    walk->items = items;
    walk->space = space;
    return 0;
}

static int take_group(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct walk *walk = arg;
    _cleanup_free_ char *id = entry_id(entry, walk->source), *dn = ldap_entry_dn(entry);
    int rc = 0;
    if (!dn)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!id || ldapdir_people_is_known(walk, id))
        return 0;
    rc = groups_make_room(walk, err);
    if (rc)
        return rc;
    walk->items[walk->count].dn = STEAL(dn);
    walk->items[walk->count++].id = STEAL(id);
    return 0;
}

static const char *const group_attrs[] = {"entryUUID", NULL};

static void add_member(struct strbuf *filter, const char *dn) {
    static const char *const attrs[] = {"member", "uniqueMember"};
    for (size_t i = 0; i < ARRAY_COUNT(attrs); i++) {
        strbuf_addf(filter, "(%s=", attrs[i]);
        ldap_text_filter(filter, dn, strlen(dn));
        strbuf_addc(filter, ')');
    }
}

/* The groups that any of these names is directly a member of. */
static int ask_parents(struct walk *walk, const char *const *dns, size_t count, struct err *err) {
    struct ldap_query query = {.base = ldap_source_group_base(walk->source),
                               .scope = LDAP_SEARCH_SUBTREE,
                               .attrs = group_attrs,
                               .entries_max = KAAS_GROUPS_MAX};
    _cleanup_strbuf_ struct strbuf filter;
    int rc;
    strbuf_init(&filter, GROUP_FILTER_BYTES_MAX);
    strbuf_addf(&filter, "(&%s(|", ldap_source_group_filter(walk->source));
    for (size_t i = 0; i < count; i++)
        add_member(&filter, dns[i]);
    strbuf_adds(&filter, "))");
    rc = strbuf_check(&filter, "search filter", err);
    query.filter = filter.data;
    return rc ? rc : ldap_conn_search(walk->conn, &query, take_group, walk, err);
}

/* One step up: the parents of all that the step before has found. */
static int walk_up(struct walk *walk, struct err *err) {
    const size_t end = walk->count;
    int rc = 0;
    while (!rc && walk->begin < end) {
        const char *dns[BATCH_COUNT];
        size_t n = 0;
        for (; n < BATCH_COUNT && walk->begin < end; n++)
            dns[n] = walk->items[walk->begin++].dn;
        rc = ask_parents(walk, dns, n, err); /* the names stay where they are; what holds them may move */
    }
    return rc;
}

struct member_of {
    char *dns[MEMBER_OF_MAX];
    size_t count;
};

static int take_member_of(void *arg, const void *bytes, size_t n, struct err *err) {
    struct member_of *found = arg;
    char *dn;
    if (found->count == MEMBER_OF_MAX || memchr(bytes, 0, n))
        return 0;
    dn = strndup(bytes, n);
    if (!dn)
        return err_set(err, ERR_NOMEM, "out of memory");
    found->dns[found->count++] = dn;
    return 0;
}

static int take_members_of(void *arg, const struct ldap_entry *entry, struct err *err) {
    return ldap_entry_each(entry, "memberOf", take_member_of, arg, err);
}

/* What the server itself says about the account. */
static int ask_member_of(struct walk *walk, const char *dn, struct err *err) {
    static const char *const attrs[] = {"memberOf", NULL};
    struct ldap_query query = {
        .base = dn, .scope = LDAP_SEARCH_BASE, .filter = "(objectClass=*)", .attrs = attrs, .entries_max = 1};
    struct member_of found = {.count = 0};
    int rc = ldap_conn_search(walk->conn, &query, take_members_of, &found, err);
    query.attrs = group_attrs;
    query.filter = ldap_source_group_filter(walk->source);
    for (size_t i = 0; i < found.count; i++) {
        query.base = found.dns[i];
        rc = rc ? rc : ldap_conn_search(walk->conn, &query, take_group, walk, err);
        free(found.dns[i]);
    }
    return rc;
}

static int plain_groups(struct walk *walk, const struct account *account, struct group_set *out, struct err *err) {
    const char *dn = account->dn;
    int rc = ask_parents(walk, &dn, 1, err);
    rc = rc ? rc : ask_member_of(walk, dn, err);
    for (unsigned depth = 0; !rc && walk->begin < walk->count && depth < DEPTH_MAX; depth++)
        rc = walk_up(walk, err);
    for (size_t i = 0; !rc && i < walk->count; i++)
        rc = group_set_add(out, walk->items[i].id, err);
    return rc;
}

int account_groups(struct ldap_conn *conn, const struct ldap_source *source, const struct account *account, struct group_set *out,
                   struct err *err) {
    struct group_set groups = {0};
    struct walk walk = {.conn = conn, .source = source};
    int rc = source->kind == LDAP_KIND_AD ? ad_groups(conn, account, &groups, err) : plain_groups(&walk, account, &groups, err);
    ldapdir_people_walk_done(&walk);
    if (rc) {
        group_set_done(&groups);
        return rc;
    }
    group_set_seal(&groups);
    *out = groups;
    return 0;
}
