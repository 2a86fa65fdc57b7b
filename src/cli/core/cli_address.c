/* Small notations of arguments. Layer 7 (cli); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_address.h"

#include <stdio.h>
#include <string.h>

#include "str.h"

#define REPLICAS_MAX 100000
#define NODE_FIELDS 4
#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)
#define DURATION_DAYS_MAX 1000

static int cli_address_bad(const char *text, struct err *err) {
    (void)err_set(err, ERR_INVALID, "\"%s\" is not an address", text);
    return err_remedy(err, "give HOST, HOST:PORT or [IPV6]:PORT, without https://");
}

int cli_address_parse(const char *text, struct cli_address *out, struct err *err) {
    const char *host = text, *end = text + strlen(text), *port = NULL, *colon = strchr(text, ':');
    struct cli_address address = {.port = 0};
    int64_t number = 0;
    if (*text == '[') {
        host = text + 1;
        end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':'))
            return cli_address_bad(text, err);
        port = end[1] ? end + 2 : NULL;
    } else if (colon && !strchr(colon + 1, ':')) { /* two colons without brackets: all of it is IPv6 */
        end = colon;
        port = colon + 1;
    }
    if (end == host || (size_t)(end - host) >= sizeof(address.host) || strpbrk(text, "/ @?#"))
        return cli_address_bad(text, err);
    if (port && !str_to_i64(port, 1, 65535, &number))
        return cli_address_bad(text, err);
    (void)snprintf(address.host, sizeof(address.host), "%.*s", (int)(end - host), host);
    address.port = (int)number;
    *out = address;
    return 0;
}

bool cli_address_is_loopback(const struct cli_address *address) {
    return str_starts(address->host, "127.") || str_eq(address->host, "::1") || str_eq_nocase(address->host, "localhost");
}

bool cli_parse_duration(const char *text, int64_t *ms) {
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60 * 1000}, {'h', 60 * 60 * 1000}, {'d', DAY_MS}};
    const size_t n = strspn(text, "0123456789");
    _cleanup_free_ char *digits = strndup(text, n);
    int64_t count = 0, unit = text[n] ? 0 : 1000;
    for (size_t i = 0; i < ARRAY_COUNT(units); i++)
        if (text[n] == units[i].unit && !text[n + 1])
            unit = units[i].ms;
    if (!unit || !digits || !str_to_i64(digits, 1, DURATION_DAYS_MAX * DAY_MS / unit, &count))
        return false;
    *ms = count * unit;
    return true;
}

int cli_parse_replicas(const char *text, const char *option, json_t **out, struct err *err) {
    const char *slash = strchr(text, '/'), *desired_text = slash ? slash + 1 : text;
    _cleanup_free_ char *ready_text = slash ? strndup(text, (size_t)(slash - text)) : NULL;
    bool is_unknown = str_eq(ready_text, "-");
    int64_t ready = 0, desired = 0;
    json_t *object;
    if ((slash && !is_unknown && !str_to_i64(ready_text ? ready_text : "", 0, REPLICAS_MAX, &ready)) ||
        !str_to_i64(desired_text, 0, REPLICAS_MAX, &desired)) {
        (void)err_set(err, ERR_INVALID, "--%s \"%s\" is not a count", option, text);
        return err_remedy(err, "give READY/DESIRED such as 4/5, or DESIRED alone");
    }
    object = json_object();
    if (is_unknown)
        (void)json_object_set_new(object, "ready", json_null());
    else if (slash)
        json_put_int(object, "ready", ready);
    json_put_int(object, "desired", desired);
    *out = object;
    return 0;
}

int cli_parse_label(const char *text, json_t *labels, struct err *err) {
    const char *equals = strchr(text, '=');
    _cleanup_free_ char *key = equals ? strndup(text, (size_t)(equals - text)) : NULL;
    if (!key || !*key)
        return err_set(err, ERR_INVALID, "--label \"%s\" is not of the form KEY=VALUE", text);
    json_put_string(labels, key, equals + 1);
    return 0;
}

int cli_parse_node(const char *text, json_t *nodes, struct err *err) {
    static const char *const members[NODE_FIELDS] = {"name", "role", "vcenter_id", "vm_instance_uuid"};
    _cleanup_free_ char *copy = str_dup(text);
    char *rest = copy, *field;
    json_t *node = json_object();
    size_t count = 0;
    while (rest && count < NODE_FIELDS && (field = strsep(&rest, ",")))
        json_put_string(node, members[count++], field);
    if (!rest && (count == 2 || count == NODE_FIELDS) && !json_array_append(nodes, node)) {
        json_decref(node);
        return 0;
    }
    json_decref(node);
    return err_set(err, ERR_INVALID, "--node \"%s\" is not of the form NAME,ROLE[,VCENTER_ID,VM_INSTANCE_UUID]", text);
}
