/* A directory that people are looked up in. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "ldap_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "str.h"

#define PORT_LDAP 389
#define PORT_LDAPS 636
#define AD_USER_FILTER                            \
    "(&(objectCategory=person)(objectClass=user)" \
    "(|(sAMAccountName=" LDAP_SOURCE_PLACE ")(userPrincipalName=" LDAP_SOURCE_PLACE ")))"
#define AD_GROUP_FILTER "(objectClass=group)"
#define OPENLDAP_USER_FILTER "(&(objectClass=person)(uid=" LDAP_SOURCE_PLACE "))"
#define OPENLDAP_GROUP_FILTER "(|(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))"

const char *const ldap_kind_words[] = {[LDAP_KIND_AD] = "ad", [LDAP_KIND_OPENLDAP] = "openldap", NULL};
const char *const ldap_bind_words[] = {[LDAP_BIND_PASSWORD] = "password", [LDAP_BIND_KEYTAB] = "keytab", NULL};

const char *ldap_bind_name(enum ldap_bind bind) {
    return words_get(ldap_bind_words, bind, "unknown");
}

void ldap_source_done(struct ldap_source *source) {
    members_done(ldap_source_members, source, sizeof(*source));
}

int ldap_source_copy(const struct ldap_source *from, struct ldap_source *out, struct err *err) {
    return members_copy(ldap_source_members, from, out, sizeof(*out), "a directory", err);
}

const char *ldap_source_user_filter(const struct ldap_source *source) {
    if (source->user_filter)
        return source->user_filter;
    return source->kind == LDAP_KIND_AD ? AD_USER_FILTER : OPENLDAP_USER_FILTER;
}

const char *ldap_source_group_filter(const struct ldap_source *source) {
    if (source->group_filter)
        return source->group_filter;
    return source->kind == LDAP_KIND_AD ? AD_GROUP_FILTER : OPENLDAP_GROUP_FILTER;
}

const char *ldap_source_group_base(const struct ldap_source *source) {
    return source->group_base ? source->group_base : source->search_base;
}

/* -- addresses ------------------------------------------------------------------------------------------------------------- */

/* Length of the next word of a list; *list moves to its begin. */
static size_t next_word(const char **list) {
    while (**list == ' ')
        ++*list;
    return strcspn(*list, " ");
}

/* "host", "host:port", "[address]:port" of n bytes. */
static bool read_authority(const char *text, size_t n, struct ldap_url *out) {
    const char *colon = memrchr(text, ':', n), *bracket = memchr(text, ']', n);
    char port[8] = "";
    int64_t number = 0;
    size_t host_n = n;
    if (colon && (!bracket || colon > bracket)) {
        host_n = (size_t)(colon - text);
        if (n - host_n - 1 >= sizeof(port))
            return false;
        memcpy(port, colon + 1, n - host_n - 1);
        if (!str_to_i64(port, 1, 65535, &number))
            return false;
        out->port = (unsigned)number;
    }
    if (host_n > 2 && text[0] == '[' && text[host_n - 1] == ']') {
        text++;
        host_n -= 2;
    }
    if (!host_n || host_n >= sizeof(out->host))
        return false;
    memcpy(out->host, text, host_n);
    out->host[host_n] = 0;
    return !name_check_host(out->host, "host", NULL);
}

static bool read_url(const char *text, size_t n, struct ldap_url *out) {
    *out = (struct ldap_url){.port = PORT_LDAP};
    if (n > 8 && !strncmp(text, "ldaps://", 8)) {
        out->is_tls = true;
        out->port = PORT_LDAPS;
        return read_authority(text + 8, n - 8, out);
    }
    return n > 7 && !strncmp(text, "ldap://", 7) && read_authority(text + 7, n - 7, out);
}

bool ldap_source_next_url(const char **list, struct ldap_url *out) {
    size_t n = next_word(list);
    if (!n || !read_url(*list, n, out))
        return false; /* what is none stays at the head of the list */
    *list += n;
    return true;
}

bool ldap_source_serves(const struct ldap_source *source, const char *realm) {
    const char *at = source->realms ? source->realms : "";
    size_t n, wanted = strlen(realm);
    for (; (n = next_word(&at)) != 0; at += n)
        if (n == wanted && !strncasecmp(at, realm, n))
            return true;
    return false;
}

bool ldap_source_is_domain(const struct ldap_source *source, const char *domain) {
    const char *rest = domain;
    if (ldap_source_serves(source, domain))
        return true;
    if (source->kind != LDAP_KIND_AD)
        return false;
    for (const char *at = source->search_base; *at; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ",");
        if (n > 3 && !strncasecmp(at, "DC=", 3)) {
            if (rest > domain && *rest++ != '.')
                return false;
            if (strncasecmp(rest, at + 3, n - 3) != 0)
                return false;
            rest += n - 3;
        }
        at += n;
    }
    return rest > domain && !*rest;
}

/* -- rules ----------------------------------------------------------------------------------------------------------------- */

static int ldap_source_check_name(const char *name, struct err *err) {
    size_t n = name ? strlen(name) : 0;
    bool is_good = n && n <= LDAP_SOURCE_NAME_CHARS_MAX && name[0] >= 'a' && name[0] <= 'z';
    for (size_t i = 0; is_good && i < n; i++)
        is_good = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') || name[i] == '-';
    if (!is_good)
        return err_set(err, ERR_UNPROCESSABLE,
                       "name must be a word of 1 to %d small letters, digits and dashes that begins with a letter",
                       LDAP_SOURCE_NAME_CHARS_MAX);
    if (!str_eq(name, "local") && !str_eq(name, "vcenter"))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "the name %s means something else where people sign in", name);
}

static int check_urls(const char *urls, struct err *err) {
    const char *at = urls ? urls : "";
    struct ldap_url url;
    size_t count = 0;
    while (ldap_source_next_url(&at, &url))
        count++;
    if (*at) {
        (void)err_set(err, ERR_UNPROCESSABLE, "urls: number %zu is no address of a directory server", count + 1);
        return err_remedy(err, "write ldaps://HOST[:PORT], or ldap://HOST[:PORT] for StartTLS; nothing else may follow");
    }
    if (count && count <= LDAP_SOURCE_URLS_MAX)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "urls must have 1 to %d addresses", LDAP_SOURCE_URLS_MAX);
}

static int check_realms(const char *realms, struct err *err) {
    const char *at = realms ? realms : "";
    size_t n, count = 0;
    for (; (n = next_word(&at)) != 0; at += n)
        if (n > 253 || ++count > LDAP_SOURCE_REALMS_MAX)
            return err_set(err, ERR_UNPROCESSABLE, "realms must have at most %d names of at most 253 characters",
                           LDAP_SOURCE_REALMS_MAX);
    return realms ? name_check_text(realms, (size_t)LDAP_SOURCE_REALMS_MAX * 254, "realms", err) : 0;
}

/* A text that is not required. */
static int check_line(const char *text, const char *what, struct err *err) {
    return text ? name_check_line(text, LDAP_SOURCE_TEXT_CHARS_MAX, what, err) : 0;
}

static int ldap_source_check_path(const char *path, const char *what, struct err *err) {
    int rc = check_line(path, what, err);
    if (!rc && path && *path != '/')
        return err_set(err, ERR_UNPROCESSABLE, "%s must be an absolute path", what);
    return rc;
}

/* Parentheses that match, so that a server's answer is not the first to tell. */
static int check_filter(const char *filter, const char *what, bool has_place, struct err *err) {
    int depth = 0, rc = check_line(filter, what, err);
    if (rc || !filter)
        return rc;
    for (const char *p = filter; *p && depth >= 0; p++)
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
    if (*filter != '(' || depth)
        return err_set(err, ERR_UNPROCESSABLE, "%s is no search filter: its parentheses do not match", what);
    if (has_place == (strstr(filter, LDAP_SOURCE_PLACE) != NULL))
        return 0;
    if (!has_place)
        return err_set(err, ERR_UNPROCESSABLE, "%s must not hold " LDAP_SOURCE_PLACE ": it tells which groups count at all",
                       what);
    (void)err_set(err, ERR_UNPROCESSABLE,
                  "%s must hold " LDAP_SOURCE_PLACE ", which stands for the name that somebody signs in with", what);
    return err_remedy(err, "for example (&(objectClass=person)(uid=" LDAP_SOURCE_PLACE "))");
}

/* An address, a path or a bare name in place of a DN is found out here; the directory says what is there (kaasctl ldap test). */
static int check_dn(const char *dn, const char *what, struct err *err) {
    int rc = check_line(dn, what, err);
    if (rc || !dn || strchr(dn, '='))
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s \"%.100s\" is no distinguished name", what, dn);
    return err_remedy(err, "write it as DC=example,DC=com or ou=people,dc=example,dc=com");
}

static int ldap_source_check_search(const struct ldap_source *source, struct err *err) {
    int rc = 0;
    if (str_empty(source->search_base))
        return err_set(err, ERR_UNPROCESSABLE, "search_base must be given: below which DN people are looked for");
    rc = check_dn(source->search_base, "search_base", err);
    if (!rc)
        rc = check_dn(source->group_base, "group_base", err);
    if (!rc)
        rc = check_filter(source->user_filter, "user_filter", true, err);
    return rc ? rc : check_filter(source->group_filter, "group_filter", false, err);
}

static int ldap_source_check_trust(const struct ldap_source *source, struct err *err) {
    int rc = ldap_source_check_path(source->ca_file, "ca_file", err);
    if (!rc && source->ca_file && source->ca_pem)
        return err_set(err, ERR_UNPROCESSABLE, "give either ca_file or ca_pem, not both");
    if (!rc && source->ca_pem &&
        (strlen(source->ca_pem) > LDAP_SOURCE_CA_BYTES_MAX || !strstr(source->ca_pem, "BEGIN CERTIFICATE")))
        return err_set(err, ERR_UNPROCESSABLE, "ca_pem holds no PEM certificate, or is longer than %u bytes",
                       LDAP_SOURCE_CA_BYTES_MAX);
    if (!rc && source->ca_pem && strstr(source->ca_pem, "PRIVATE KEY"))
        return err_set(err, ERR_UNPROCESSABLE, "ca_pem holds a private key; give the certificates of the CA alone");
    return rc;
}

static int check_bind(const struct ldap_source *source, struct err *err) {
    int rc;
    if (source->bind == LDAP_BIND_PASSWORD) {
        if (str_empty(source->bind_dn) || !source->has_password) {
            (void)err_set(err, ERR_UNPROCESSABLE, "bind_dn and bind_password must be given to bind with a password");
            return err_remedy(
                err, "name an account that may read the directory; an empty password would be no proof (RFC 4513 5.1.2)");
        }
        return check_line(source->bind_dn, "bind_dn", err);
    }
    if (str_empty(source->keytab) || str_empty(source->principal)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "keytab and principal must be given to bind with a key");
        return err_remedy(err, "in Active Directory the principal is the account (svc-kaas@REALM), not one of its SPNs");
    }
    rc = ldap_source_check_path(source->keytab, "keytab", err);
    return rc ? rc : check_line(source->principal, "principal", err);
}

int ldap_source_check(const struct ldap_source *source, struct err *err) {
    int rc = ldap_source_check_name(source->name, err);
    if (!rc)
        rc = check_urls(source->urls, err);
    if (!rc)
        rc = ldap_source_check_trust(source, err);
    if (!rc)
        rc = ldap_source_check_search(source, err);
    if (!rc)
        rc = check_bind(source, err);
    return rc ? rc : check_realms(source->realms, err);
}
