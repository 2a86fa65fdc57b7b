/* One connection to a directory server: questions and answers. Layer 2 (ldap).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ldap_conn.h"
#include "ldap_private.h"
#include "str.h"

#define TEXT_BYTES_MAX 4096U

int ldap_failed(struct ldap_conn *conn, int code, const char *doing, struct err *err) {
    char *why = NULL;
    int rc = ERR_UPSTREAM;
    if (code == LDAP_TIMEOUT || code == LDAP_TIMELIMIT_EXCEEDED)
        return err_set(err, ERR_TIMEOUT, "%s did not answer a %s within %ld ms", conn->place, doing, conn->call_timeout_ms);
    if (code == LDAP_NO_MEMORY)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (code == LDAP_SERVER_DOWN || code == LDAP_UNAVAILABLE || code == LDAP_BUSY || code == LDAP_CONNECT_ERROR)
        rc = ERR_UNREACHABLE;
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &why);
    (void)err_set(err, rc, "%s refuses a %s: %s", conn->place, doing, ldap_err2string(code));
    (void)err_detail(err, "%s", why ? why : "no more is known");
    ldap_memfree(why);
    return rc;
}

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

struct reading {
    const struct ldap_query *query;
    ldap_entry_fn *fn;
    void *arg;
};

static int each(struct ldap_conn *conn, LDAPMessage *answer, const struct reading *reading, struct err *err) {
    unsigned count = 0;
    int rc = 0;
    for (LDAPMessage *m = ldap_first_entry(conn->ld, answer); !rc && m; m = ldap_next_entry(conn->ld, m)) {
        const struct ldap_entry entry = {.ld = conn->ld, .message = m};
        if (++count > reading->query->entries_max)
            return err_set(err, ERR_TOO_LARGE, "%s has more than %u entries for one question", conn->place,
                           reading->query->entries_max);
        rc = reading->fn(reading->arg, &entry, err);
    }
    return rc;
}

int ldap_conn_search(struct ldap_conn *conn, const struct ldap_query *query, ldap_entry_fn *fn, void *arg, struct err *err) {
    const int scope = query->scope == LDAP_SEARCH_BASE ? LDAP_SCOPE_BASE : LDAP_SCOPE_SUBTREE;
    struct timeval limit = {.tv_sec = conn->call_timeout_ms / 1000, .tv_usec = conn->call_timeout_ms % 1000 * 1000};
    LDAPMessage *answer = NULL;
    int rc = ldap_check_tls(conn, err);
    if (rc)
        return rc;
    rc = ldap_search_ext_s(conn->ld, query->base, scope, query->filter, (char **)(uintptr_t)query->attrs, 0, NULL, NULL, &limit,
                           (int)query->entries_max + 1, &answer);
    if (rc == LDAP_SUCCESS || rc == LDAP_REFERRAL || rc == LDAP_PARTIAL_RESULTS)
        rc = answer ? each(conn, answer, &(struct reading){query, fn, arg}, err) : 0;
    else if (rc == LDAP_SIZELIMIT_EXCEEDED)
        rc = err_set(err, ERR_TOO_LARGE, "%s has more entries for one question than it or we allow", conn->place);
    else
        rc = rc == LDAP_NO_SUCH_OBJECT ? 0 : ldap_failed(conn, rc, "search", err);
    if (answer)
        (void)ldap_msgfree(answer);
    return rc;
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

char *ldap_entry_dn(const struct ldap_entry *entry) {
    char *dn = ldap_get_dn(entry->ld, entry->message);
    char *copy = str_dup(dn);
    ldap_memfree(dn);
    return copy;
}

static char *text_of(const struct berval *value) {
    if (value->bv_len > TEXT_BYTES_MAX || memchr(value->bv_val, 0, value->bv_len) ||
        str_utf8_chars(value->bv_val, value->bv_len) < 0)
        return NULL;
    return strndup(value->bv_val, value->bv_len);
}

char *ldap_entry_text(const struct ldap_entry *entry, const char *attr) {
    struct berval **values = ldap_get_values_len(entry->ld, entry->message, attr);
    char *text = values && values[0] ? text_of(values[0]) : NULL;
    ldap_value_free_len(values);
    return text;
}

int64_t ldap_entry_number(const struct ldap_entry *entry, const char *attr, int64_t fallback) {
    _cleanup_free_ char *text = ldap_entry_text(entry, attr);
    int64_t number = 0;
    return text && str_to_i64(text, INT64_MIN, INT64_MAX, &number) ? number : fallback;
}

int ldap_entry_each(const struct ldap_entry *entry, const char *attr, ldap_value_fn *fn, void *arg, struct err *err) {
    struct berval **values = ldap_get_values_len(entry->ld, entry->message, attr);
    int rc = 0;
    for (size_t i = 0; values && !rc && values[i]; i++)
        rc = fn(arg, values[i]->bv_val, values[i]->bv_len, err);
    ldap_value_free_len(values);
    return rc;
}
