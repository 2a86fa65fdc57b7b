/* Providers: the table of a document's members, by which it is read, judged and written. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "net_addr.h"
#include "str.h"
#include "strbuf.h"
#include "yaml.h"

#define PLACE_CHARS_MAX 1000 /* of a path at the vCenter */
#define SSH_KEY_CHARS_MAX 3000
#define SHOWN_BYTES 60

const char *const provider_place_words[PROVIDER_PLACES_COUNT + 1] = {[PROVIDER_VSPHERE_CLUSTER] = "vsphere_cluster",
                                                                     [PROVIDER_RESOURCE_POOL] = "resource_pool",
                                                                     [PROVIDER_FOLDER] = "folder",
                                                                     [PROVIDER_DATASTORE] = "datastore",
                                                                     [PROVIDER_NETWORK] = "network",
                                                                     [PROVIDER_TEMPLATE] = "template"};

/* -- what a text must be like ------------------------------------------------------------------------------------------------ */

/* 0, or ERR_UNPROCESSABLE with a message that begins with the member's name, `what`. */
typedef int text_check_fn(const char *text, const char *what, struct err *err);

/* RFC 1123: names of machines begin with names that are made of it. */
static int provider_check_label(const char *text, const char *what, struct err *err) {
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (n && !text[n] && n <= PROVIDER_NAME_CHARS_MAX && text[0] != '-' && text[n - 1] != '-')
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s is no DNS label", what);
    return err_remedy(err, "take 1 to %d small letters, digits and inner dashes, as in east-1", PROVIDER_NAME_CHARS_MAX);
}

static int check_domain(const char *text, const char *what, struct err *err) {
    uint8_t address[16];
    if (!net_addr_parse(text, address) && !name_check_host(text, what, NULL))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s is no domain", what);
    return err_remedy(err, "write it as example.com, without a dot at either end");
}

/* What a credential in a document would be is refused by name. */
static int check_proxy(const char *text, const char *what, struct err *err) {
    static const char scheme[] = "http://";
    char host[254];
    int64_t port;
    const char *authority = str_starts(text, scheme) ? text + sizeof(scheme) - 1 : NULL, *end = NULL;
    if (strchr(text, '@')) {
        (void)err_set(err, ERR_UNPROCESSABLE, "%s has a user in it: a provider holds no credentials", what);
        return err_remedy(err, "name a proxy that lets the machines' network through without a password");
    }
    if (authority && *authority == '[') {
        end = strchr(++authority, ']');
        end = end && end[1] == ':' ? end : NULL;
    } else if (authority) {
        end = strrchr(authority, ':');
    }
    const size_t n = end ? (size_t)(end - authority) : 0;
    if (n && n < sizeof(host)) {
        memcpy(host, authority, n);
        host[n] = '\0';
        end += *end == ']';
        if (!name_check_host(host, what, NULL) && str_to_i64(end + 1, 1, 65535, &port))
            return 0;
    }
    (void)err_set(err, ERR_UNPROCESSABLE, "%s is no address of a proxy", what);
    return err_remedy(err,
                      "write it as http://proxy.example.com:3128, with nothing behind it, also for what goes to https addresses");
}

/* A host, a domain with all below it (".example.com"), or a block of addresses: what Go and curl both understand. */
static int check_no_proxy(const char *text, const char *what, struct err *err) {
    struct net_block block;
    if (net_block_parse(text, &block) || !name_check_host(*text == '.' ? text + 1 : text, what, NULL))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s is no host, domain or block of addresses", what);
    return err_remedy(err, "write one of them in each item, as in svc.example.com, .example.com, 10.0.0.0/8");
}

/* The blob begins with the same type, by its length (RFC 4253 section 6.6). */
static bool is_key_blob(const char *text, size_t n, const char *type, size_t type_n) {
    uint8_t blob[SSH_KEY_CHARS_MAX];
    while (n && text[n - 1] == '=')
        n--;
    const long got = str_unbase64(text, n, blob, sizeof(blob));
    return got > (long)(4 + type_n) && !blob[0] && !blob[1] && (size_t)(blob[2] << 8 | blob[3]) == type_n &&
           !memcmp(blob + 4, type, type_n);
}

/* A line of authorized_keys (sshd(8)) without options. */
static int check_ssh_key(const char *text, const char *what, struct err *err) {
    static const char *const types[] = {"ssh-ed25519",
                                        "ecdsa-sha2-nistp256",
                                        "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521",
                                        "ssh-rsa",
                                        "sk-ssh-ed25519@openssh.com",
                                        "sk-ecdsa-sha2-nistp256@openssh.com"};
    const size_t type_n = strcspn(text, " ");
    if (strstr(text, "PRIVATE KEY")) {
        (void)err_set(err, ERR_UNPROCESSABLE, "%s is a private key", what);
        return err_remedy(err,
                          "give the public one, the file whose name ends in .pub, and make a new pair: this one has been shown");
    }
    for (size_t i = 0; text[type_n] && i < ARRAY_COUNT(types); i++)
        if (strlen(types[i]) == type_n && !memcmp(text, types[i], type_n) &&
            is_key_blob(text + type_n + 1, strcspn(text + type_n + 1, " "), types[i], type_n))
            return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s is no public SSH key", what);
    return err_remedy(err, "give the line of a .pub file, as in: ssh-ed25519 AAAAC3Nza... name, without options before it");
}

/* -- the table --------------------------------------------------------------------------------------------------------------- */

enum row_kind { ROW_KIND, ROW_TEXT, ROW_PLACE, ROW_NUMBER, ROW_ADDRESS, ROW_RANGES, ROW_TEXTS };

struct row {
    const char *key; /* sections before dots */
    enum row_kind kind;
    size_t offset;
    size_t most; /* characters of a text, items of a list, the greatest number */
    bool is_needed;
    text_check_fn *check; /* of a text, or of each item */
};

#define AT(member) offsetof(struct provider, member)
#define PLACE_ROW(key, place, is_needed) \
    { key, ROW_PLACE, AT(places) + (place) * sizeof(struct provider_place), PLACE_CHARS_MAX, is_needed, NULL }
static const struct row rows[] = {
    {"kind", ROW_KIND, 0, 0, true, NULL},
    {"name", ROW_TEXT, AT(name), PROVIDER_NAME_CHARS_MAX, true, provider_check_label},
    {"vcenter", ROW_TEXT, AT(vcenter), 255, true, NULL},
    PLACE_ROW("vsphere_cluster", PROVIDER_VSPHERE_CLUSTER, false),
    PLACE_ROW("resource_pool", PROVIDER_RESOURCE_POOL, false),
    PLACE_ROW("folder", PROVIDER_FOLDER, true),
    PLACE_ROW("datastore", PROVIDER_DATASTORE, true),
    PLACE_ROW("network", PROVIDER_NETWORK, true),
    PLACE_ROW("template", PROVIDER_TEMPLATE, true),
    {"nodes.addresses", ROW_RANGES, AT(node_addresses), PROVIDER_RANGES_MAX, true, NULL},
    {"nodes.prefix", ROW_NUMBER, AT(node_prefix), 30, true, NULL},
    {"nodes.gateway", ROW_ADDRESS, AT(node_gateway), 0, true, NULL},
    {"nodes.dns", ROW_TEXTS, AT(node_dns), 3, false, name_check_ip_address}, /* resolv.conf(5): more are not asked */
    {"nodes.search", ROW_TEXTS, AT(node_search), 6, false, check_domain},    /* resolv.conf(5): glibc until 2.25 */
    {"api_addresses", ROW_RANGES, AT(api_addresses), PROVIDER_RANGES_MAX, false, NULL},
    {"service_addresses", ROW_RANGES, AT(service_addresses), PROVIDER_RANGES_MAX, false, NULL},
    {"ssh_keys", ROW_TEXTS, AT(ssh_keys), 8, false, check_ssh_key}, /* user-data has 60 KiB for all that is in it */
    {"ntp", ROW_TEXTS, AT(ntp), 8, false, name_check_host},
    {"proxy.http", ROW_TEXT, AT(http_proxy), 300, false, check_proxy},
    {"proxy.https", ROW_TEXT, AT(https_proxy), 300, false, check_proxy},
    {"proxy.no_proxy", ROW_TEXTS, AT(no_proxy), 64, false, check_no_proxy},
};

static void *provider_member_at(const struct row *row, struct provider *provider) {
    return (char *)provider + row->offset;
}

/* -- reading ----------------------------------------------------------------------------------------------------------------- */

/* What is read, and the way to where it is read, for messages. */
struct reading {
    struct provider *provider;
    char way[PROVIDER_WHERE_BYTES];
    struct err *err;
};

static int refuse_value(struct reading *r, const char *what, const char *remedy) {
    (void)err_set(r->err, ERR_UNPROCESSABLE, "%s %s", r->way, what);
    return err_remedy(r->err, "%s", remedy);
}

static int provider_read_line(struct reading *r, const json_t *value, size_t most, text_check_fn *check, char **out) {
    const char *text = json_string_value(value);
    int rc;
    if (!text)
        return refuse_value(r, "must be a text", "write it in quotes if it looks like a number");
    rc = name_check_line(text, most, r->way, r->err);
    if (!rc && check)
        rc = check(text, r->way, r->err);
    return rc ? rc : str_replace(out, text, r->err);
}

static int provider_read_number(struct reading *r, const json_t *value, size_t most, int64_t *out) {
    char what[80];
    const int64_t number = json_is_integer(value) ? json_integer_value(value) : 0;
    if (number < 1 || number > (int64_t)most) {
        (void)snprintf(what, sizeof(what), "must be a number from 1 to %zu", most);
        return refuse_value(r, what, "write it without quotes");
    }
    *out = number;
    return 0;
}

static int read_address(struct reading *r, const json_t *value, uint32_t *out) {
    if (address_parse(json_string_value(value), out))
        return 0;
    return refuse_value(r, "must be an IPv4 address", "write it as 10.9.0.1");
}

static int read_range(struct reading *r, const json_t *value, struct address_range *out) {
    struct err why = {0};
    if (!json_is_string(value))
        return refuse_value(r, "must be a text", "write 10.9.0.20-10.9.0.99, 10.9.0.20 or 10.9.0.64/28");
    if (!address_range_parse(json_string_value(value), out, &why))
        return 0;
    (void)err_set(r->err, ERR_UNPROCESSABLE, "%s %s", r->way, why.text);
    return err_remedy(r->err, "%s", why.remedy);
}

static int read_list(struct reading *r, const struct row *row, const json_t *value) {
    struct provider_texts *texts = provider_member_at(row, r->provider);
    struct address_ranges *ranges = provider_member_at(row, r->provider);
    const size_t n = json_array_size(value), way_n = strlen(r->way);
    char what[80];
    int rc = 0;
    if (!json_is_array(value))
        return refuse_value(r, "must be a list", "write [\"first\", \"second\"], or each in a line of its own behind a dash");
    if (n > row->most || (row->is_needed && !n)) {
        (void)snprintf(what, sizeof(what), "must have %d to %zu items", row->is_needed, row->most);
        return refuse_value(r, what, row->kind == ROW_RANGES ? "join addresses to ranges, as 10.9.0.20-10.9.0.99" : "");
    }
    if (row->kind == ROW_RANGES)
        ranges->items = calloc(n ? n : 1, sizeof(*ranges->items));
    else
        texts->items = calloc(n ? n : 1, sizeof(*texts->items));
    if (row->kind == ROW_RANGES ? !ranges->items : !texts->items)
        return err_set(r->err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < n; i++) {
        (void)snprintf(r->way + way_n, sizeof(r->way) - way_n, "[%zu]", i);
        if (row->kind == ROW_RANGES)
            rc = read_range(r, json_array_get(value, i), &ranges->items[ranges->count++]);
        else
            rc = provider_read_line(r, json_array_get(value, i), SSH_KEY_CHARS_MAX, row->check, &texts->items[texts->count++]);
    }
    if (!rc)
        r->way[way_n] = '\0';
    return rc;
}

static int read_row(struct reading *r, const struct row *row, const json_t *value) {
    void *member = provider_member_at(row, r->provider);
    switch (row->kind) {
    case ROW_KIND:
        if (str_eq(json_string_value(value), "Provider"))
            return 0;
        return refuse_value(r, "must be Provider", "write kind: Provider, if this is a document of a provider");
    case ROW_TEXT: return provider_read_line(r, value, row->most, row->check, member);
    case ROW_PLACE: return provider_read_line(r, value, row->most, row->check, &((struct provider_place *)member)->given);
    case ROW_NUMBER: return provider_read_number(r, value, row->most, member);
    case ROW_ADDRESS: return read_address(r, value, member);
    case ROW_RANGES:
    case ROW_TEXTS: break;
    }
    return read_list(r, row, value);
}

/* The row of a key in a section ("" or "nodes."), or NULL; *is_section: there are keys below it. */
static const struct row *find_row(const char *section, const char *name, bool *is_section) {
    const size_t section_n = strlen(section), name_n = strlen(name);
    *is_section = false;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (!str_starts(rows[i].key, section) || strncmp(rows[i].key + section_n, name, name_n))
            continue;
        if (!rows[i].key[section_n + name_n])
            return &rows[i];
        *is_section = *is_section || rows[i].key[section_n + name_n] == '.';
    }
    return NULL;
}

/* The word that may stand there and is nearest, or a key that ends in that word; NULL: none. Static, or in `buffer`. */
static const char *nearest_key(const char *section, const char *name, char buffer[SHOWN_BYTES]) {
    const size_t section_n = strlen(section), len = strlen(name);
    unsigned best = len < 4 ? 2 : (unsigned)len / 3 + 2;
    const char *nearest = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (!str_starts(rows[i].key, section))
            continue;
        char word[SHOWN_BYTES];
        (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(rows[i].key + section_n, "."), rows[i].key + section_n);
        const unsigned distance = str_distance(word, name);
        if (distance < best) {
            best = distance;
            (void)snprintf(buffer, SHOWN_BYTES, "%s", word);
            nearest = buffer;
        }
    }
    for (size_t i = 0; !nearest && i < ARRAY_COUNT(rows); i++) {
        const char *dot = strrchr(rows[i].key, '.');
        if (str_eq(dot ? dot + 1 : rows[i].key, name))
            nearest = rows[i].key;
    }
    return nearest;
}

static int provider_refuse_key(struct reading *r, const char *section, const char *name) {
    char buffer[SHOWN_BYTES];
    const char *shown = strlen(name) < SHOWN_BYTES && !str_has_control(name) ? name : "?";
    const char *nearest = nearest_key(section, name, buffer);
    if (nearest)
        return err_set(r->err, ERR_UNPROCESSABLE, "unknown key \"%s%s\", did you mean \"%s\"", section, shown, nearest);
    (void)err_set(r->err, ERR_UNPROCESSABLE, "unknown key \"%s%s\"", section, shown);
    return err_remedy(r->err, "see %s for all keys, or remove the line", DOC_PAGE("admin/create.md"));
}

static int provider_read_section(struct reading *r, const char *section, json_t *object) {
    const size_t way_n = strlen(r->way);
    const char *name;
    json_t *value;
    int rc = 0;
    if (!json_is_object(object))
        return *section ? refuse_value(r, "must be a section", "put its keys below it, indented by two blanks")
                        : err_set(r->err, ERR_UNPROCESSABLE, "a provider is a document of keys, as in \"kind: Provider\"");
    json_object_foreach (object, name, value) {
        bool is_section;
        const struct row *row = find_row(section, name, &is_section);
        char below[SHOWN_BYTES];
        /* a key with one of the signs that ways are made of has no way of its own: the place is that of the section */
        if (strlen(name) < SHOWN_BYTES && !strpbrk(name, ".[]"))
            (void)snprintf(r->way + way_n, sizeof(r->way) - way_n, "%s%s", way_n ? "." : "", name);
        if (!row && !is_section)
            return provider_refuse_key(r, section, name);
        if (row && !json_is_null(value)) {
            rc = read_row(r, row, value);
        } else if (!row && !json_is_null(value)) { /* a section with all keys commented out is fine */
            (void)snprintf(below, sizeof(below), "%s.", name);
            rc = provider_read_section(r, below, value);
        }
        if (rc)
            return rc;
        r->way[way_n] = '\0';
    }
    return 0;
}

/* Of a needed one that is missing the way is that of its section, if that is there. */
static int check_needed(struct reading *r, const json_t *document) {
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const char *dot = strchr(rows[i].key, '.');
        char section[SHOWN_BYTES] = "";
        if (!rows[i].is_needed)
            continue;
        (void)snprintf(section, sizeof(section), "%.*s", dot ? (int)(dot - rows[i].key) : 0, rows[i].key);
        const json_t *above = dot ? json_object_get(document, section) : document;
        const json_t *value = json_object_get(above, dot ? dot + 1 : rows[i].key);
        if (value && !json_is_null(value))
            continue;
        (void)snprintf(r->way, sizeof(r->way), "%s", json_is_object(above) ? section : "");
        return err_set(r->err, ERR_UNPROCESSABLE, "%s is missing", rows[i].key);
    }
    return 0;
}

/* -- what must fit together ---------------------------------------------------------------------------------------------------- */

static int blame(struct reading *r, const char *way) {
    (void)snprintf(r->way, sizeof(r->way), "%s", way);
    return ERR_UNPROCESSABLE;
}

static int check_pool(struct reading *r) {
    const struct provider_place *places = r->provider->places;
    if (!places[PROVIDER_VSPHERE_CLUSTER].given && !places[PROVIDER_RESOURCE_POOL].given) {
        (void)blame(r, "");
        (void)err_set(r->err, ERR_UNPROCESSABLE, "vsphere_cluster is missing");
        return err_remedy(r->err, "name the vSphere cluster that machines run on, or a resource_pool");
    }
    if (!places[PROVIDER_VSPHERE_CLUSTER].given || !places[PROVIDER_RESOURCE_POOL].given)
        return 0;
    (void)blame(r, "resource_pool");
    (void)err_set(r->err, ERR_UNPROCESSABLE, "resource_pool and vsphere_cluster are both given");
    return err_remedy(r->err, "keep one: a pool says which cluster it is of");
}

uint32_t provider_netmask(const struct provider *provider) {
    return (uint32_t)(UINT64_C(0xffffffff) << (32 - provider->node_prefix));
}

/* A list of addresses and what it is called. */
struct listed {
    const char *key;
    const struct address_ranges *ranges;
};

static int refuse_address(struct reading *r, const char *key, uint32_t address, const char *what, const char *remedy) {
    char text[ADDRESS_TEXT_BYTES];
    address_format(address, text);
    (void)blame(r, key);
    (void)err_set(r->err, ERR_UNPROCESSABLE, "%s: %s %s", key, text, what);
    return err_remedy(r->err, "%s", remedy);
}

/* All ranges lie in the nodes' subnet, without its first and last address, which no host has (RFC 1122 section 3.2.1.3). */
static int check_subnet(struct reading *r, const struct listed *list) {
    const uint32_t mask = provider_netmask(r->provider), network = r->provider->node_gateway & mask, last = network | ~mask;
    for (size_t i = 0; i < list->ranges->count; i++) {
        const struct address_range *range = &list->ranges->items[i];
        if ((range->first & mask) != network)
            return refuse_address(r, list->key, range->first, "is not in the subnet of the gateway",
                                  "correct the address, nodes.gateway or nodes.prefix");
        if ((range->last & mask) != network)
            return refuse_address(r, list->key, range->last, "is not in the subnet of the gateway",
                                  "correct the address, nodes.gateway or nodes.prefix");
        if (range->first == network || range->last == last)
            return refuse_address(r, list->key, range->first == network ? network : last,
                                  "is the subnet's own or its broadcast address", "leave it out");
    }
    return 0;
}

static int check_list(struct reading *r, const struct listed *list) {
    uint32_t address;
    char what[80];
    if (address_ranges_repeat(list->ranges, &address))
        return refuse_address(r, list->key, address, "is in two ranges", "let no two ranges overlap");
    if (address_ranges_size(list->ranges) > PROVIDER_ADDRESSES_MAX) {
        (void)blame(r, list->key);
        (void)snprintf(what, sizeof(what), "has more than %u addresses", PROVIDER_ADDRESSES_MAX);
        return refuse_value(r, what, "give those that are really free for it");
    }
    if (address_ranges_has(list->ranges, r->provider->node_gateway))
        return refuse_address(r, list->key, r->provider->node_gateway, "is the gateway", "leave it out");
    return 0;
}

static int check_addresses(struct reading *r) {
    const struct listed lists[] = {{"nodes.addresses", &r->provider->node_addresses},
                                   {"api_addresses", &r->provider->api_addresses},
                                   {"service_addresses", &r->provider->service_addresses}};
    const uint32_t mask = provider_netmask(r->provider), host = r->provider->node_gateway & ~mask;
    uint32_t address;
    char what[80];
    int rc = 0;
    if (!host || host == ~mask)
        return refuse_address(r, "nodes.gateway", r->provider->node_gateway, "is the subnet's own or its broadcast address",
                              "correct it or nodes.prefix");
    for (size_t i = 0; !rc && i < ARRAY_COUNT(lists); i++) {
        rc = check_list(r, &lists[i]);
        for (size_t j = 0; !rc && j < i; j++)
            if (address_ranges_meet(lists[i].ranges, lists[j].ranges, &address)) {
                (void)snprintf(what, sizeof(what), "is also in %s", lists[j].key);
                rc = refuse_address(r, lists[i].key, address, what, "give each address to one list");
            }
    }
    /* an address for Services may lie elsewhere, where routers send it to the nodes */
    rc = rc ? rc : check_subnet(r, &lists[0]);
    return rc ? rc : check_subnet(r, &lists[1]);
}

int provider_read(json_t *document, struct provider *out, char where[PROVIDER_WHERE_BYTES], struct err *err) {
    _cleanup_provider_ struct provider provider = {0};
    struct reading r = {.provider = &provider, .err = err};
    int rc = provider_read_section(&r, "", document);
    rc = rc ? rc : check_needed(&r, document);
    rc = rc ? rc : check_pool(&r);
    rc = rc ? rc : check_addresses(&r);
    if (where)
        memcpy(where, r.way, sizeof(r.way));
    if (rc)
        return rc;
    *out = provider;
    provider = (struct provider){0};
    return 0;
}

/* -- text -------------------------------------------------------------------------------------------------------------------- */

/* The place of what is on that way, of its key where it has one. */
static struct yaml_place provider_place_of(const struct yaml_doc *doc, const char *way) {
    const struct yaml_node *node = yaml_find(doc, way);
    if (!node)
        return (struct yaml_place){0};
    return *way && way[strlen(way) - 1] != ']' ? node[-1].place : node->place;
}

static int put_place(const char *file, struct yaml_place at, const struct err *why, struct err *err) {
    if (why->code == ERR_NOMEM)
        return err_move(err, ERR_NOMEM, why);
    if (at.line)
        (void)err_set(err, why->code, "%.100s:%u:%u: %s", file, at.line, at.column, why->text);
    else
        (void)err_set(err, why->code, "%.100s: %s", file, why->text);
    return err_remedy(err, "%s", why->remedy);
}

int provider_parse(const char *file, const char *text, size_t n, struct provider *out, struct err *err) {
    static const struct yaml_limits limits = {.bytes = PROVIDER_BYTES_MAX, .depth = 8, .nodes = 2000};
    _cleanup_yaml_ struct yaml_doc doc = {0};
    _cleanup_json_ json_t *document = NULL;
    char way[PROVIDER_WHERE_BYTES];
    struct yaml_place at = {0};
    struct err why = {0};
    int rc = yaml_parse(text, n, &limits, &doc, &at, &why);
    rc = rc ? rc : yaml_json(&doc, &document, &at, &why);
    if (!rc && (rc = provider_read(document, out, way, &why)))
        at = provider_place_of(&doc, way);
    return rc ? put_place(file, at, &why, err) : 0;
}

/* -- writing ----------------------------------------------------------------------------------------------------------------- */

static json_t *provider_list_json(const struct row *row, const void *member) {
    const struct provider_texts *texts = member;
    const struct address_ranges *ranges = member;
    char text[ADDRESS_RANGE_TEXT_BYTES];
    json_t *list = json_array();
    for (size_t i = 0; row->kind == ROW_TEXTS && i < texts->count; i++)
        json_add(list, json_string(texts->items[i]));
    for (size_t i = 0; row->kind == ROW_RANGES && i < ranges->count; i++) {
        address_range_format(&ranges->items[i], text);
        json_add(list, json_string(text));
    }
    return list;
}

/* The value of a row, or NULL where nothing is given. */
static json_t *row_json(const struct row *row, const struct provider *provider) {
    const void *member = (const char *)provider + row->offset;
    char address[ADDRESS_TEXT_BYTES];
    switch (row->kind) {
    case ROW_KIND: return json_string("Provider");
    case ROW_TEXT: return json_string(*(char *const *)member);
    case ROW_PLACE: return json_string(((const struct provider_place *)member)->given);
    case ROW_NUMBER: return json_integer(*(const int64_t *)member);
    case ROW_ADDRESS: address_format(*(const uint32_t *)member, address); return json_string(address);
    case ROW_RANGES:
    case ROW_TEXTS: break;
    }
    return ((const struct provider_texts *)member)->count ? provider_list_json(row, member) : NULL;
}

json_t *provider_document(const struct provider *provider) {
    json_t *document = json_object();
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const char *dot = strchr(rows[i].key, '.');
        json_t *value = row_json(&rows[i], provider), *above = document;
        char section[SHOWN_BYTES];
        if (!value)
            continue;
        if (dot) {
            (void)snprintf(section, sizeof(section), "%.*s", (int)(dot - rows[i].key), rows[i].key);
            if (!json_object_get(document, section))
                json_put(document, section, json_object());
            above = json_object_get(document, section);
        }
        json_put(above, dot ? dot + 1 : rows[i].key, value);
    }
    return document;
}

/* -- places ------------------------------------------------------------------------------------------------------------------ */

json_t *provider_places(const struct provider *provider) {
    json_t *all = json_object();
    for (size_t i = 0; i < PROVIDER_PLACES_COUNT; i++) {
        const struct provider_place *place = &provider->places[i];
        if (!place->moref)
            continue;
        json_t *one = json_object();
        json_put_string(one, "type", place->type);
        json_put_string(one, "name", place->name);
        json_put_string(one, "path", place->path);
        json_put_string(one, "moref", place->moref);
        json_put(all, provider_place_words[i], one);
    }
    return all;
}

int provider_take_places(const json_t *places, struct provider *provider, struct err *err) {
    int rc = 0;
    for (size_t i = 0; !rc && i < PROVIDER_PLACES_COUNT; i++) {
        struct provider_place *place = &provider->places[i];
        const json_t *one = json_object_get(places, provider_place_words[i]);
        if (!one || !json_get_string(one, "type") || !json_get_string(one, "moref"))
            return err_set(err, ERR_JSON, "the place %s of provider %s is not known", provider_place_words[i], provider->name);
        rc = str_replace(&place->type, json_get_string(one, "type"), err);
        rc = rc ? rc : str_replace(&place->name, json_get_string(one, "name"), err);
        rc = rc ? rc : str_replace(&place->path, json_get_string(one, "path"), err);
        rc = rc ? rc : str_replace(&place->moref, json_get_string(one, "moref"), err);
    }
    return rc;
}

void provider_place_show(const struct provider_place *place, char *out) {
    if (place->moref)
        (void)snprintf(out, PROVIDER_PLACE_SHOWN_BYTES, "%.300s (%.80s)", place->path, place->moref);
    else
        (void)snprintf(out, PROVIDER_PLACE_SHOWN_BYTES, "%.300s", place->given ? place->given : "");
    str_trim_utf8(out);
}

/* -- templates --------------------------------------------------------------------------------------------------------------- */

#define CONTRACT_REMEDY "take a template of a node image, and set it as %s says", DOC_PAGE("admin/node-image.md")

int provider_contract_read(const char *text, char kubernetes[PROVIDER_VERSION_BYTES], struct err *err) {
    _cleanup_json_ json_t *said = NULL;
    if (str_empty(text)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "guestinfo.kaas.node is not set, so it is no node image");
        return err_remedy(err, CONTRACT_REMEDY);
    }
    if (json_parse(text, strlen(text), &said, NULL) || !json_is_integer(json_object_get(said, "contract"))) {
        (void)err_set(err, ERR_UNPROCESSABLE, "guestinfo.kaas.node is not what a node image says");
        return err_remedy(err, CONTRACT_REMEDY);
    }
    const int64_t contract = json_get_int(said, "contract", 0);
    if (contract != 1) {
        (void)err_set(err, ERR_UNPROCESSABLE, "it keeps contract %lld of node images, and this version of KaaS knows contract 1",
                      (long long)contract);
        return err_remedy(err, "take a node image of this version of KaaS");
    }
    const char *version = json_get_string(said, "kubernetes");
    if (!version || version[0] != 'v' || name_check_kubernetes_version(version + 1, NULL)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "guestinfo.kaas.node does not say which version of Kubernetes is in it");
        return err_remedy(err, CONTRACT_REMEDY);
    }
    (void)snprintf(kubernetes, PROVIDER_VERSION_BYTES, "%s", version);
    return 0;
}

/* -- memory ------------------------------------------------------------------------------------------------------------------ */

static void provider_texts_done(struct provider_texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        free(texts->items[i]);
    free(texts->items);
}

void provider_place_done(struct provider_place *place) {
    free(place->given);
    free(place->type);
    free(place->name);
    free(place->path);
    free(place->moref);
    *place = (struct provider_place){0};
}

void provider_done(struct provider *provider) {
    if (!provider)
        return;
    for (size_t i = 0; i < PROVIDER_PLACES_COUNT; i++)
        provider_place_done(&provider->places[i]);
    provider_texts_done(&provider->node_dns);
    provider_texts_done(&provider->node_search);
    provider_texts_done(&provider->ssh_keys);
    provider_texts_done(&provider->ntp);
    provider_texts_done(&provider->no_proxy);
    free(provider->node_addresses.items);
    free(provider->api_addresses.items);
    free(provider->service_addresses.items);
    free(provider->id);
    free(provider->name);
    free(provider->vcenter);
    free(provider->vcenter_id);
    free(provider->http_proxy);
    free(provider->https_proxy);
    *provider = (struct provider){0};
}

void provider_free(struct provider *provider) {
    provider_done(provider);
    free(provider);
}
