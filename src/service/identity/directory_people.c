/* What an entry of a directory says about an account. Layer 4 (service/identity). Groups are directory_groups.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "identity_private.h"
#include "ldap_text.h"
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

static int take_sid(void *arg, const void *bytes, size_t n, struct err *err) {
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
        (void)ldap_entry_each(entry, "objectSid", take_sid, &value, NULL);
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

static int read_account(const struct ldap_entry *entry, const struct ldap_source *source, struct account *out, struct err *err) {
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

static int take(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct account_search *search = arg;
    if (search->count++)
        return 0;
    return read_account(entry, search->source, search->account, err);
}

static int find(struct ldap_conn *conn, const struct ldap_query *query, struct account_search *search, struct err *err) {
    struct err why = {0};
    int rc = ldap_conn_search(conn, query, take, search, &why);
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

int account_find(struct ldap_conn *conn, const struct ldap_source *source, const char *name, struct account *out,
                 struct err *err) {
    struct account_search search = {.source = source, .account = out};
    _cleanup_strbuf_ struct strbuf filter;
    struct ldap_query query = {
        .base = source->search_base, .scope = LDAP_SEARCH_SUBTREE, .attrs = attrs_of(source), .entries_max = 1};
    int rc;
    account_done(out);
    strbuf_init(&filter, FILTER_BYTES_MAX);
    (void)ldap_text_fill(&filter, ldap_source_user_filter(source), name);
    rc = strbuf_check(&filter, "search filter", err);
    query.filter = filter.data;
    return rc ? rc : find(conn, &query, &search, err);
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
    return rc ? rc : find(conn, &query, &search, err);
}
