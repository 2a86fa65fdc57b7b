/* Looking up people and groups for an administrator: ids of names, and what is known of a person who is not signed in. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "identity_private.h"
#include "ldap_text.h"
#include "str.h"

#define FILTER_BYTES_MAX 16384U
#define NAMES_BYTES_MAX 160U        /* that fit into a remedy */
#define GROUP_SECURITY 0x80000000LL /* groupType (MS-ADTS 2.2.12) */

void identity_matches_done(struct identity_matches *matches) {
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
    struct dir_source *source;
    const struct identity_reference *reference;
    const char *name; /* of it, without a domain before it */
    struct identity_matches found;
    unsigned powerless; /* groups that give no role */
};

/* Distribution groups of Active Directory, and what means something else on every machine. */
static bool is_powerless(const struct look_up *look, const struct ldap_entry *entry, const char *id) {
    if (look->reference->kind != IDENTITY_GROUP || look->source->row.source.kind != LDAP_KIND_AD)
        return false;
    return !(ldap_entry_number(entry, "groupType", 0) & GROUP_SECURITY) ||
           (str_starts(id, "sid:") && !ldap_text_sid_counts(id + 4));
}

static int take_match(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct look_up *look = arg;
    const struct ldap_source *source = &look->source->row.source;
    _cleanup_free_ char *id = entry_id(entry, source);
    struct identity_match *match = &look->found.items[look->found.count];
    if (!id)
        return 0;
    if (is_powerless(look, entry, id)) {
        look->powerless++;
        return 0;
    }
    *match = (struct identity_match){
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

static void add_filter(struct strbuf *filter, const struct look_up *look, bool is_dn) {
    const struct ldap_source *source = &look->source->row.source;
    const bool is_group = look->reference->kind == IDENTITY_GROUP;
    if (is_dn)
        strbuf_adds(filter, is_group ? ldap_source_group_filter(source) : "(objectClass=*)");
    else if (is_group)
        add_group_filter(filter, source, look->name);
    else
        (void)ldap_text_fill(filter, ldap_source_user_filter(source), look->name);
}

/* By name, or, if it looks like one, by DN. */
static int ask_matches(struct ldap_conn *conn, void *arg, struct err *err) {
    static const char *const attrs[] = {"objectSid", "objectGUID", "entryUUID", "groupType", ENTRY_NAME_ATTRS, NULL};
    struct look_up *look = arg;
    const struct ldap_source *source = &look->source->row.source;
    const bool is_group = look->reference->kind == IDENTITY_GROUP, is_dn = strchr(look->name, '=') != NULL;
    struct ldap_query query = {.base = is_dn      ? look->name
                                       : is_group ? ldap_source_group_base(source)
                                                  : source->search_base,
                               .scope = is_dn ? LDAP_SEARCH_BASE : LDAP_SEARCH_SUBTREE,
                               .attrs = attrs,
                               .entries_max = IDENTITY_MATCHES_MAX};
    _cleanup_strbuf_ struct strbuf filter;
    int rc;
    identity_matches_done(&look->found);
    look->powerless = 0;
    strbuf_init(&filter, FILTER_BYTES_MAX);
    add_filter(&filter, look, is_dn);
    rc = strbuf_check(&filter, "search filter", err);
    query.filter = filter.data;
    return rc ? rc : ldap_conn_search(conn, &query, take_match, look, err);
}

static bool has_match(const struct identity_matches *matches, const char *id) {
    for (size_t i = 0; i < matches->count; i++)
        if (str_eq(matches->items[i].id, id))
            return true;
    return false;
}

/* Two directories may be the same domain, by other addresses. */
static void merge(struct identity_matches *from, struct identity_matches *into) {
    struct identity_matches rest = {0};
    for (size_t i = 0; i < from->count; i++) {
        struct identity_matches *to = into->count < IDENTITY_MATCHES_MAX && !has_match(into, from->items[i].id) ? into : &rest;
        to->items[to->count++] = from->items[i];
    }
    from->count = 0;
    identity_matches_done(&rest);
}

/* What one source knows; nothing is no error. */
static int look_in(struct look_up *look, struct identity_matches *out, unsigned *powerless, struct err *err) {
    struct err why = {0};
    int rc = source_skip_domain(look->source, look->reference->name, &look->name, &why);
    if (rc == ERR_UNPROCESSABLE && !look->reference->source)
        return 0; /* another one's domain */
    if (!rc)
        rc = source_ask(look->source, ask_matches, look, &why);
    if (!rc) {
        *powerless += look->powerless;
        merge(&look->found, out);
        return 0;
    }
    identity_matches_done(&look->found);
    if (rc == ERR_TOO_LARGE) {
        (void)err_set(err, ERR_AMBIGUOUS, "the directory %s has more than %d entries named %.100s", look->source->row.source.name,
                      IDENTITY_MATCHES_MAX, look->reference->name);
        return err_remedy(err, "give the DN");
    }
    return err_move(err, rc, &why);
}

static int judge(struct identity *identity, const struct identity_reference *reference, const struct identity_matches *found,
                 unsigned powerless, struct err *err) {
    const char *kind = reference->kind == IDENTITY_GROUP ? "group" : "account";
    if (found->count == 1) {
        if (found->items[0].name)
            names_learn(identity->names, found->items[0].id, found->items[0].name);
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

static int no_source(struct dir_source *const *all, const struct identity_reference *reference, struct err *err) {
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

int identity_lookup(struct identity *identity, const struct identity_reference *reference, struct identity_matches *out,
                    struct err *err) {
    struct dir_source **all = identity_all_sources(identity);
    unsigned powerless = 0, asked = 0;
    int rc = all ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    out->count = 0;
    for (size_t i = 0; !rc && all[i]; i++) {
        struct look_up look = {.source = all[i], .reference = reference};
        if (reference->source && !str_eq(reference->source, all[i]->row.source.name))
            continue;
        asked++;
        rc = look_in(&look, out, &powerless, err);
    }
    if (!rc && !asked)
        rc = no_source(all, reference, err);
    identity_sources_free(all);
    return rc ? rc : judge(identity, reference, out, powerless, err);
}

/* -- the lane --------------------------------------------------------------------------------------------------------------- */

int identity_lookup_lane(struct identity *identity, const char *source, struct lane **out, struct err *err) {
    struct dir_source **all = source ? NULL : identity_all_sources(identity);
    struct err why = {0};
    int rc = 0;
    *out = NULL;
    if (!source && !all)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!source && all[0] && !all[1])
        source = all[0]->row.source.name;
    if (source)
        rc = identity_lane(identity, source, out, &why);
    identity_sources_free(all);
    if (rc == ERR_NOT_FOUND)
        return 0; /* whoever looks up finds that out */
    return err_move(err, rc, &why);
}

/* -- somebody who is not signed in ------------------------------------------------------------------------------------------- */

struct person_look {
    struct dir_source *source;
    const char *id;
    struct account account;
    struct group_set groups;
};

static int ask_person(struct ldap_conn *conn, void *arg, struct err *err) {
    struct person_look *look = arg;
    int rc = account_find_id(conn, &look->source->row.source, look->id, &look->account, err);
    group_set_done(&look->groups);
    if (rc || !look->account.dn)
        return rc;
    return account_groups(conn, &look->source->row.source, &look->account, &look->groups, err);
}

static int find_in(struct dir_source *source, const char *id, struct identity_person *out, struct err *err) {
    struct person_look look = {.source = source, .id = id};
    int rc = source_ask(source, ask_person, &look, err);
    if (!rc && !look.account.dn)
        rc = ERR_NOT_FOUND;
    if (!rc)
        rc = account_take_person(source, &look.account, &look.groups, out, err);
    account_done(&look.account);
    group_set_done(&look.groups);
    return rc;
}

int identity_lookup_person(struct identity *identity, const char *id, struct identity_person *out, struct err *err) {
    struct dir_source **all = identity_all_sources(identity);
    struct err why = {0};
    int rc = all ? ERR_NOT_FOUND : err_set(&why, ERR_NOMEM, "out of memory");
    for (size_t i = 0; rc && all && all[i]; i++) {
        int next = find_in(all[i], id, out, why.code ? NULL : &why);
        rc = next == ERR_NOT_FOUND && rc != ERR_NOT_FOUND ? rc : next; /* one that could not say may know the account */
    }
    identity_sources_free(all);
    if (rc == ERR_NOT_FOUND)
        return err_set(err, rc, "no directory knows the account");
    return err_move(err, rc, &why);
}
