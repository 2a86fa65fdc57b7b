/* "DOMAIN\user", as Windows writes names: is that the domain of this directory? Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The NetBIOS name of a domain stands in the configuration partition of its forest, in the cross reference to the domain (MS-ADTS 6.1.1.2.1.1.3); it never changes while
 * kaasd runs, and so is asked for once. */
#include <stdio.h>
#include <string.h>

#include "identity_private.h"
#include "ldap_text.h"
#include "str.h"

#define FILTER_BYTES_MAX 4096U

struct asking {
    const char *attr;
    char *text;
};

static int take_text(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct asking *asking = arg;
    (void)err;
    if (!asking->text)
        asking->text = ldap_entry_text(entry, asking->attr);
    return 0;
}

int source_ask_root(struct ldap_conn *conn, const char *attr, char **out, struct err *err) {
    const char *const attrs[] = {attr, NULL};
    const struct ldap_query query = {
        .base = "", .scope = LDAP_SEARCH_BASE, .filter = "(objectClass=*)", .attrs = attrs, .entries_max = 1};
    struct asking asking = {.attr = attr};
    int rc = ldap_conn_search(conn, &query, take_text, &asking, err);
    *out = asking.text;
    return rc;
}

static int ask_partition(struct ldap_conn *conn, const char *configuration, const char *domain, char **out, struct err *err) {
    static const char *const attrs[] = {"nETBIOSName", NULL};
    _cleanup_free_ char *base = str_format("CN=Partitions,%s", configuration);
    struct ldap_query query = {.base = base, .scope = LDAP_SEARCH_SUBTREE, .attrs = attrs, .entries_max = 2};
    struct asking asking = {.attr = "nETBIOSName"};
    _cleanup_strbuf_ struct strbuf filter;
    int rc;
    strbuf_init(&filter, FILTER_BYTES_MAX);
    strbuf_adds(&filter, "(&(objectClass=crossRef)(nETBIOSName=*)(nCName=");
    ldap_text_filter(&filter, domain, strlen(domain));
    strbuf_adds(&filter, "))");
    rc = base ? strbuf_check(&filter, "search filter", err) : err_set(err, ERR_NOMEM, "out of memory");
    query.filter = filter.data;
    if (!rc)
        rc = ldap_conn_search(conn, &query, take_text, &asking, err);
    *out = asking.text;
    return rc;
}

static int ask_domain(struct ldap_conn *conn, void *arg, struct err *err) {
    struct dir_source *source = arg;
    _cleanup_free_ char *configuration = NULL, *domain = NULL, *name = NULL;
    int rc = source_ask_root(conn, "configurationNamingContext", &configuration, err);
    if (!rc)
        rc = source_ask_root(conn, "defaultNamingContext", &domain, err);
    if (!rc && configuration && domain)
        rc = ask_partition(conn, configuration, domain, &name, err);
    if (rc || !name || strlen(name) >= sizeof(source->domain))
        return rc;
    (void)pthread_mutex_lock(&source->lock);
    (void)snprintf(source->domain, sizeof(source->domain), "%s", name);
    (void)pthread_mutex_unlock(&source->lock);
    return 0;
}

static bool is_known_domain(struct dir_source *source, const char *domain) {
    bool is_known;
    (void)pthread_mutex_lock(&source->lock);
    is_known = str_eq_nocase(source->domain, domain);
    (void)pthread_mutex_unlock(&source->lock);
    return is_known;
}

/* By its NetBIOS name, or by its DNS name, where that is a realm that the directory serves. */
static int is_domain(struct dir_source *source, const char *domain, bool *out, struct err *err) {
    bool is_asked;
    *out = ldap_source_serves(&source->row.source, domain) || is_known_domain(source, domain);
    (void)pthread_mutex_lock(&source->lock);
    is_asked = source->domain[0] != '\0';
    (void)pthread_mutex_unlock(&source->lock);
    if (*out || is_asked || source->row.source.kind != LDAP_KIND_AD)
        return 0;
    int rc = source_ask(source, ask_domain, source, err);
    *out = !rc && is_known_domain(source, domain);
    return rc;
}

int source_skip_domain(struct dir_source *source, const char *name, const char **rest, struct err *err) {
    const char *end = strchr(name, '\\');
    _cleanup_free_ char *domain = end ? strndup(name, (size_t)(end - name)) : NULL;
    bool is_ours = false;
    int rc;
    *rest = name;
    if (!end)
        return 0;
    rc = domain ? is_domain(source, domain, &is_ours, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    *rest = end + 1;
    if (is_ours && end[1])
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "\"%.60s\" is not the domain of the directory %s", domain, source->row.source.name);
    return err_remedy(err, "write the name alone, or as NAME@REALM, or choose the directory of that domain");
}
