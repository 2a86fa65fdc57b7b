/* Options as rows of a table: finding, guessing, defaults. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "option_table.h"

#include <arpa/inet.h>
#include <string.h>

#include "cleanup.h"
#include "names.h"
#include "net_addr.h"
#include "str.h"

static const struct option rows[] = {
#define OPTION(kind, member, key, fallback, min, max, words, flags, check, help) \
    {OPTION_##kind, offsetof(struct config, member), key, fallback, min, max, words, flags, check, help},
#include "options.def"
#undef OPTION
};

const struct option_table option_table_daemon = {rows, ARRAY_COUNT(rows)};

const struct option *option_find(const struct option_table *table, const char *key) {
    for (size_t i = 0; i < table->count; i++)
        if (!strcmp(table->rows[i].key, key))
            return &table->rows[i];
    return NULL;
}

bool option_is_section(const struct option_table *table, const char *path) {
    size_t n = strlen(path);
    for (size_t i = 0; i < table->count; i++)
        if (!strncmp(table->rows[i].key, path, n) && table->rows[i].key[n] == '.')
            return true;
    return false;
}

/* How far the typed word is from the part of the key that stands in its place. */
static unsigned distance_in_place(const char *key, size_t prefix_len, const char *name) {
    char part[64];
    const char *at = key + prefix_len;
    size_t n = strcspn(at, ".");
    if (n >= sizeof(part))
        return UINT32_MAX;
    memcpy(part, at, n);
    part[n] = '\0';
    return str_distance(part, name);
}

static const char *option_table_last_part(const char *key) {
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

const char *option_nearest(const struct option_table *table, const char *prefix, const char *name) {
    size_t prefix_len = *prefix ? strlen(prefix) + 1 : 0;
    size_t len = strlen(name);
    unsigned best = len < 4 ? 2 : (unsigned)len / 3 + 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < table->count; i++) {
        const char *key = table->rows[i].key;
        if (prefix_len && !(str_starts(key, prefix) && key[prefix_len - 1] == '.'))
            continue;
        unsigned distance = distance_in_place(key, prefix_len, name);
        if (distance < best) {
            best = distance;
            nearest = key;
        }
    }
    /* a right word in the wrong place, or one that says the whole beside more ("password" for "password_file") */
    for (size_t i = 0; i < table->count && !nearest; i++)
        if (str_eq(option_table_last_part(table->rows[i].key), name))
            nearest = table->rows[i].key;
    for (size_t i = 0; i < table->count && !nearest && len >= 4; i++)
        if (str_starts(table->rows[i].key, prefix) && str_starts(option_table_last_part(table->rows[i].key), name))
            nearest = table->rows[i].key;
    return nearest;
}

int option_defaults(const struct option_table *table, void *target, struct err *err) {
    int rc = 0;
    for (size_t i = 0; !rc && i < table->count; i++)
        if (table->rows[i].kind != OPTION_LIST) /* lists are empty by default */
            rc = option_parse(&table->rows[i], table->rows[i].fallback, false, target, err);
    if (rc)
        option_done_all(table, target);
    return rc;
}

void option_done_all(const struct option_table *table, void *target) {
    for (size_t i = 0; i < table->count; i++)
        option_done(&table->rows[i], target);
}

/* -- further tests of single values -------------------------------------------------------------------------------- */

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool has_only(const char *text, const char *allowed) {
    return text[strspn(text, allowed)] == '\0';
}

/* True for an address of the family that is exactly the n first bytes. */
static bool option_table_is_address(int family, const char *text, size_t n) {
    char copy[INET6_ADDRSTRLEN];
    unsigned char raw[16];
    if (n >= sizeof(copy))
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return inet_pton(family, copy, raw) == 1;
}

static bool is_listen_host(const char *text, size_t n) {
    if (n == 1 && text[0] == '*')
        return true;
    if (n > 2 && text[0] == '[' && text[n - 1] == ']')
        return option_table_is_address(AF_INET6, text + 1, n - 2);
    return option_table_is_address(AF_INET, text, n);
}

int option_check_listen(const char *text, struct err *err) {
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (colon && is_listen_host(text, (size_t)(colon - text)) && str_to_i64(colon + 1, 0, 65535, &port))
        return 0;
    (void)err_set(err, ERR_CONFIG, "must be an address with a port");
    return err_remedy(err, "write it as 127.0.0.1:8443, [::1]:8443 or *:8443; host names are not resolved here");
}

int option_check_url(const char *text, struct err *err) {
    struct err found = {0};
    if (!name_check_https_url(text, "it", &found))
        return 0;
    (void)err_set(err, ERR_CONFIG, "must be an https URL (%s)", found.text);
    return err_remedy(err, "write it as https://kaas.example.com:8443");
}

/* "http://HOST:PORT" and nothing behind it. */
int option_check_http_proxy(const char *text, struct err *err) {
    static const char scheme[] = "http://";
    _cleanup_free_ char *host = str_dup(str_starts(text, scheme) ? text + sizeof(scheme) - 1 : "");
    char *colon = host ? strrchr(host, ':') : NULL;
    int64_t port;
    if (!host)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (colon && str_to_i64(colon + 1, 1, 65535, &port)) {
        *colon = '\0';
        const size_t n = strlen(host);
        const bool is_bracketed = n > 2 && *host == '[' && host[n - 1] == ']';
        if (is_bracketed)
            host[n - 1] = '\0';
        if (!name_check_host(host + is_bracketed, "it", NULL))
            return 0;
    }
    (void)err_set(err, ERR_CONFIG, "must be an HTTP proxy with its port");
    return err_remedy(err, "write it as http://proxy.example.com:3128");
}

int option_check_network(const char *text, struct err *err) {
    struct net_block block;
    if (net_block_parse(text, &block))
        return 0;
    (void)err_set(err, ERR_CONFIG, "has an item that is no address and no CIDR block");
    return err_remedy(err, "write items as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32");
}

/* A name whose "*" stand for something must be one; one of nothing else would be every name. */
int option_check_hx_name(const char *text, struct err *err) {
    _cleanup_free_ char *name = str_dup(text);
    struct net_block block;
    if (net_block_parse(text, &block))
        return 0;
    for (char *at = name; at && *at; at++)
        if (*at == '*')
            *at = 'x';
    if (name && strspn(text, "*.") < strlen(text) && !name_check_host(name, "it", NULL))
        return 0;
    (void)err_set(err, ERR_CONFIG, "has an item that is no host name, address or CIDR block");
    return err_remedy(err, "write items as hx-*.example.com, 192.0.2.7 or 192.0.2.0/24");
}

int option_check_proxy(const char *text, struct err *err) {
    struct net_block block;
    if (!strcmp(text, "unix") || net_block_parse(text, &block))
        return 0;
    (void)err_set(err, ERR_CONFIG, "has an item that is no address, CIDR block or \"unix\"");
    return err_remedy(err, "write items as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32");
}

int option_check_host(const char *text, struct err *err) {
    struct err found = {0};
    if (!name_check_host(text, "it", &found))
        return 0;
    (void)err_set(err, ERR_CONFIG, "must be a host name or address (%s)", found.text);
    return err_remedy(err, "%s", *found.remedy ? found.remedy : "write it without scheme, port and brackets");
}

int option_check_identifier(const char *text, struct err *err) {
    return has_only(text, LETTERS CAPITALS DIGITS "_")
               ? 0
               : err_set(err, ERR_CONFIG, "must consist of letters, digits and underscores");
}

int option_check_privilege(const char *text, struct err *err) {
    if (strchr(text, '.') && has_only(text, LETTERS CAPITALS DIGITS "._-"))
        return 0;
    (void)err_set(err, ERR_CONFIG, "must be the id of a vCenter privilege");
    return err_remedy(err, "write it as Group.Name, for example System.Read");
}

/* vCenter compares keys by case, the vSphere Client does not; lower case only avoids every surprise. */
int option_check_extension_key(const char *text, struct err *err) {
    bool is_dotted = strchr(text, '.') && text[0] != '.' && !str_ends(text, ".") && !strstr(text, "..");
    if (is_dotted && has_only(text, LETTERS DIGITS ".-_"))
        return 0;
    (void)err_set(err, ERR_CONFIG, "must be a dotted name in lower case");
    return err_remedy(err, "write it as com.example.kaas");
}

int option_check_email(const char *text, struct err *err) {
    const char *at = strchr(text, '@');
    if (at && at != text && at[1] && !strchr(at + 1, '@') && !strpbrk(text, " <>,;\""))
        return 0;
    return err_set(err, ERR_CONFIG, "must be a plain mail address");
}

int option_check_replica(const char *text, struct err *err) {
    return has_only(text, LETTERS CAPITALS DIGITS ".-_")
               ? 0
               : err_set(err, ERR_CONFIG, "must consist of letters, digits, dots, hyphens and underscores");
}
