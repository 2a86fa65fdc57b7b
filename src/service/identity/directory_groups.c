/* The groups of an account. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Active Directory computes them: tokenGroups has nested, primary and domain-local groups and security groups only, in one answer; memberOf has none of that.
 * Elsewhere we walk from group to group by member and uniqueMember, and take memberOf of the account beside it, for groups that have no list of members. */
#include <stdlib.h>
#include <string.h>

#include "identity_private.h"
#include "ldap_text.h"
#include "limits.h"
#include "str.h"

#define DEPTH_MAX 10U      /* groups in groups */
#define BATCH_COUNT 20U    /* names in one filter */
#define MEMBER_OF_MAX 200U /* looked up one by one */
#define FILTER_BYTES_MAX (1024U * 1024U)

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

static void walk_done(struct walk *walk) {
    for (size_t i = 0; i < walk->count; i++) {
        free(walk->items[i].dn);
        free(walk->items[i].id);
    }
    free(walk->items);
}

static bool is_known(const struct walk *walk, const char *id) {
    for (size_t i = 0; i < walk->count; i++)
        if (str_eq(walk->items[i].id, id))
            return true;
    return false;
}

static int make_room(struct walk *walk, struct err *err) {
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
    if (!id || is_known(walk, id))
        return 0;
    rc = make_room(walk, err);
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
    strbuf_init(&filter, FILTER_BYTES_MAX);
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
    walk_done(&walk);
    if (rc) {
        group_set_done(&groups);
        return rc;
    }
    group_set_seal(&groups);
    *out = groups;
    return 0;
}
