/* Writing messages in both forms. SPDX-License-Identifier: GPL-3.0-or-later */
#include "k8s_forms.h"

#include <string.h>
#include <time.h>

#include "str.h"

#define FORM_BYTES_MAX (64U * 1024U * 1024U)

/* -- protobuf --------------------------------------------------------------------------------------------------------------- */

void put_varint(struct strbuf *out, uint64_t value) {
    for (; value > 0x7f; value >>= 7)
        strbuf_addc(out, (char)(value | 0x80));
    strbuf_addc(out, (char)value);
}

void put_tag(struct strbuf *out, unsigned number, unsigned wire_type) {
    put_varint(out, (uint64_t)number << 3 | wire_type);
}

void put_bytes(struct strbuf *out, unsigned number, const void *bytes, size_t n) {
    put_tag(out, number, 2);
    put_varint(out, n);
    strbuf_add(out, bytes, n);
}

/* -- JSON ------------------------------------------------------------------------------------------------------------------- */

static void json_quote(struct strbuf *out, const char *text, size_t n) {
    strbuf_addc(out, '"');
    for (size_t at = 0; at < n;) {
        uint32_t point = 0;
        const size_t size = str_utf8_next(text + at, n - at, &point);
        if (!size)
            strbuf_adds(out, "\\ufffd");
        else if (point < ' ' || point == '"' || point == '\\')
            strbuf_addf(out, "\\u%04x", point);
        else
            strbuf_add(out, text + at, size);
        at += size ? size : 1;
    }
    strbuf_addc(out, '"');
}

static void json_name(struct form *form, const char *name) {
    const char last = form->json.len ? form->json.data[form->json.len - 1] : '{';
    if (last != '{' && last != '[')
        strbuf_addc(&form->json, ',');
    if (name) {
        json_quote(&form->json, name, strlen(name));
        strbuf_addc(&form->json, ':');
    }
}

/* -- members ---------------------------------------------------------------------------------------------------------------- */

void form_init(struct form *form) {
    strbuf_init(&form->protobuf, FORM_BYTES_MAX);
    strbuf_init(&form->json, FORM_BYTES_MAX);
}

void form_done(struct form *form) {
    strbuf_done(&form->protobuf);
    strbuf_done(&form->json);
}

void form_bytes(struct form *form, unsigned number, const char *name, const void *bytes, size_t n) {
    put_bytes(&form->protobuf, number, bytes, n);
    json_name(form, name);
    json_quote(&form->json, bytes, n);
}

void form_text(struct form *form, unsigned number, const char *name, const char *text) {
    form_bytes(form, number, name, text, strlen(text));
}

void form_number(struct form *form, unsigned number, const char *name, int64_t value) {
    put_tag(&form->protobuf, number, 0);
    put_varint(&form->protobuf, (uint64_t)value);
    json_name(form, name);
    strbuf_addf(&form->json, "%lld", (long long)value);
}

void form_flag(struct form *form, unsigned number, const char *name, bool value) {
    put_tag(&form->protobuf, number, 0);
    put_varint(&form->protobuf, value);
    json_name(form, name);
    strbuf_adds(&form->json, value ? "true" : "false");
}

void form_time(struct form *form, unsigned number, const char *name, int64_t seconds) {
    const time_t when = (time_t)seconds;
    struct strbuf inner;
    struct tm tm;
    char text[40];
    strbuf_init(&inner, 100);
    json_name(form, name);
    if (seconds) {
        put_tag(&inner, 1, 0);
        put_varint(&inner, (uint64_t)seconds);
        put_tag(&inner, 2, 0);
        put_varint(&inner, 0);
        gmtime_r(&when, &tm);
        (void)strftime(text, sizeof(text), "\"%Y-%m-%dT%H:%M:%SZ\"", &tm);
        strbuf_adds(&form->json, text);
    } else {
        strbuf_adds(&form->json, "null");
    }
    put_bytes(&form->protobuf, number, inner.data, inner.len);
    strbuf_done(&inner);
}

void form_message(struct form *form, unsigned number, const char *name, struct form *inner) {
    json_name(form, name);
    form_list_item(form, number, inner);
}

void form_list_begin(struct form *form, const char *name) {
    json_name(form, name);
    strbuf_addc(&form->json, '[');
}

void form_list_item(struct form *form, unsigned number, struct form *item) {
    const char last = form->json.data[form->json.len - 1];
    put_bytes(&form->protobuf, number, item->protobuf.data, item->protobuf.len);
    if (last == '}')
        strbuf_addc(&form->json, ',');
    strbuf_addf(&form->json, "{%s}", item->json.data);
    form_done(item);
}

void form_list_end(struct form *form) {
    strbuf_addc(&form->json, ']');
}

void form_map_begin(struct form *form, const char *name) {
    json_name(form, name);
    strbuf_addc(&form->json, '{');
}

void form_map_entry(struct form *form, unsigned number, const char *key, const char *value) {
    struct strbuf entry;
    strbuf_init(&entry, FORM_BYTES_MAX);
    put_bytes(&entry, 1, key, strlen(key));
    put_bytes(&entry, 2, value, strlen(value));
    put_bytes(&form->protobuf, number, entry.data, entry.len);
    strbuf_done(&entry);
    json_name(form, key);
    json_quote(&form->json, value, strlen(value));
}

void form_map_end(struct form *form) {
    strbuf_addc(&form->json, '}');
}

/* -- around objects --------------------------------------------------------------------------------------------------------- */

void form_object(const char *kind, struct form *object, struct strbuf *protobuf, struct strbuf *json) {
    struct strbuf type, envelope;
    strbuf_init(&type, 1000);
    strbuf_init(&envelope, FORM_BYTES_MAX);
    put_bytes(&type, 1, "v1", 2);
    put_bytes(&type, 2, kind, strlen(kind));
    put_bytes(&envelope, 1, type.data, type.len);
    put_bytes(&envelope, 2, object->protobuf.data, object->protobuf.len);
    put_bytes(&envelope, 3, "", 0);
    put_bytes(&envelope, 4, "", 0);
    strbuf_add(protobuf, "k8s", 4);
    strbuf_add(protobuf, envelope.data, envelope.len);
    strbuf_addf(json, "{\"kind\":\"%s\",\"apiVersion\":\"v1\"%s%s}", kind, object->json.len ? "," : "", object->json.data);
    strbuf_done(&type);
    strbuf_done(&envelope);
    form_done(object);
}

void form_event(const char *type, const char *kind, struct form *object, struct strbuf *protobuf, struct strbuf *json) {
    struct strbuf event, extension, raw, text;
    strbuf_init(&event, FORM_BYTES_MAX);
    strbuf_init(&extension, FORM_BYTES_MAX);
    strbuf_init(&raw, FORM_BYTES_MAX);
    strbuf_init(&text, FORM_BYTES_MAX);
    form_object(kind, object, &raw, &text);
    put_bytes(&extension, 1, raw.data, raw.len);
    put_bytes(&event, 1, type, strlen(type));
    put_bytes(&event, 2, extension.data, extension.len);
    for (int shift = 24; shift >= 0; shift -= 8)
        strbuf_addc(protobuf, (char)(event.len >> shift));
    strbuf_add(protobuf, event.data, event.len);
    strbuf_addf(json, "{\"type\":\"%s\",\"object\":%s}\n", type, text.data);
    strbuf_done(&event);
    strbuf_done(&extension);
    strbuf_done(&raw);
    strbuf_done(&text);
}

/* -- nodes ------------------------------------------------------------------------------------------------------------------ */

uint64_t luck_next(struct luck *luck) {
    uint64_t x = luck->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

unsigned luck_below(struct luck *luck, unsigned n) {
    return (unsigned)(luck_next(luck) % n);
}

static void form_textf(struct form *form, unsigned number, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void form_textf(struct form *form, unsigned number, const char *name, const char *fmt, ...) {
    char text[500];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    form_text(form, number, name, text);
}

static void add_condition(struct form *status, const char *type, const char *is, const char *reason, const char *message,
                          int64_t at_s) {
    struct form condition;
    form_init(&condition);
    form_text(&condition, 1, "type", type);
    form_text(&condition, 2, "status", is);
    form_time(&condition, 3, "lastHeartbeatTime", at_s + 100);
    form_time(&condition, 4, "lastTransitionTime", at_s);
    form_text(&condition, 5, "reason", reason);
    form_text(&condition, 6, "message", message);
    form_list_item(status, 4, &condition);
}

static void add_address(struct form *status, const char *type, const char *address) {
    struct form one;
    form_init(&one);
    form_text(&one, 1, "type", type);
    form_text(&one, 2, "address", address);
    form_list_item(status, 5, &one);
}

static void add_quantities(struct form *status, unsigned number, const char *name) {
    static const char *const what[] = {"cpu", "memory", "ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi", "pods"};
    form_map_begin(status, name);
    for (unsigned i = 0; i < 6; i++)
        form_map_entry(status, number, what[i], "12345678Ki");
    form_map_end(status);
}

static void add_images(struct form *status, unsigned images, unsigned place) {
    form_list_begin(status, "images");
    for (unsigned i = 0; i < images; i++) {
        struct form image;
        char digest[200], tag[200];
        form_init(&image);
        (void)snprintf(digest, sizeof(digest), "registry.example.test/team-%u/image-%u@sha256:%064x", i % 7, i, place * 31 + i);
        (void)snprintf(tag, sizeof(tag), "registry.example.test/team-%u/image-%u:v1.%u.0", i % 7, i, place);
        put_bytes(&image.protobuf, 1, digest, strlen(digest));
        put_bytes(&image.protobuf, 1, tag, strlen(tag));
        strbuf_addf(&image.json, "\"names\":[\"%s\",\"%s\"]", digest, tag);
        form_number(&image, 2, "sizeBytes", 12345678 + i);
        form_list_item(status, 8, &image);
    }
    form_list_end(status);
}

static void add_managed_fields(struct form *metadata) {
    static const char fields[] =
        "{\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"DiskPressure\\\"}\":{\"f:lastHeartbeatTime\":{}},"
        "\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\"f:lastHeartbeatTime\":{},\"f:message\":{},\"f:reason\":{}}},\"f:images\":{}}}";
    form_list_begin(metadata, "managedFields");
    for (unsigned i = 0; i < 3; i++) {
        struct form entry;
        form_init(&entry);
        form_text(&entry, 1, "manager", "kubelet");
        form_text(&entry, 2, "operation", "Update");
        form_text(&entry, 3, "apiVersion", "v1");
        put_bytes(&entry.protobuf, 7, fields, sizeof(fields) - 1);
        strbuf_addf(&entry.json, ",\"fieldsV1\":%s", fields);
        form_list_item(metadata, 17, &entry);
    }
    form_list_end(metadata);
}

static void add_metadata(struct form *node, unsigned place) {
    struct form metadata;
    form_init(&metadata);
    form_textf(&metadata, 1, "name", "node-%04u.example.test", place);
    form_textf(&metadata, 5, "uid", "0f5b2c1e-7a3d-4e0b-9c55-%012x", place);
    form_textf(&metadata, 6, "resourceVersion", "%u", 100000 + place);
    form_number(&metadata, 7, "generation", 3);
    form_time(&metadata, 8, "creationTimestamp", 1790000000 + place);
    form_map_begin(&metadata, "labels");
    form_map_entry(&metadata, 11, "beta.kubernetes.io/arch", "amd64");
    form_map_entry(&metadata, 11, "beta.kubernetes.io/os", "linux");
    form_map_entry(&metadata, 11, "kubernetes.io/arch", "amd64");
    form_map_entry(&metadata, 11, "kubernetes.io/hostname", "node");
    if (place % 100 < 3)
        form_map_entry(&metadata, 11, "node-role.kubernetes.io/control-plane", "");
    form_map_end(&metadata);
    form_map_begin(&metadata, "annotations");
    form_map_entry(&metadata, 12, "node.alpha.kubernetes.io/ttl", "0");
    form_map_entry(&metadata, 12, "volumes.kubernetes.io/controller-managed-attach-detach", "true");
    form_map_end(&metadata);
    add_managed_fields(&metadata);
    form_message(node, 1, "metadata", &metadata);
}

static void add_node_info(struct form *status, unsigned place) {
    struct form info;
    form_init(&info);
    form_text(&info, 1, "machineID", "0123456789abcdef0123456789abcdef");
    form_textf(&info, 2, "systemUUID", "42370f5b-2c1e-7a3d-4e0b-%012x", place);
    form_text(&info, 3, "bootID", "9d4a0c0e-1111-4222-8333-444455556666");
    form_text(&info, 4, "kernelVersion", "6.1.0-18-amd64");
    form_text(&info, 5, "osImage", "Debian GNU/Linux 12 (bookworm)");
    form_text(&info, 6, "containerRuntimeVersion", "containerd://1.6.20");
    form_text(&info, 7, "kubeletVersion", "v1.36.3");
    form_text(&info, 8, "kubeProxyVersion", "");
    form_text(&info, 9, "operatingSystem", "linux");
    form_text(&info, 10, "architecture", "amd64");
    form_message(status, 7, "nodeInfo", &info);
}

static void add_status(struct form *node, unsigned place, unsigned images) {
    const int64_t at_s = 1790000100 + place;
    struct form status;
    char address[32];
    form_init(&status);
    add_quantities(&status, 1, "capacity");
    add_quantities(&status, 2, "allocatable");
    form_list_begin(&status, "conditions");
    add_condition(&status, "NetworkUnavailable", "False", "RouteCreated", "the network plugin is running on this node", at_s);
    add_condition(&status, "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available",
                  at_s);
    add_condition(&status, "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure", at_s);
    add_condition(&status, "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available", at_s);
    add_condition(&status, "Ready", "True", "KubeletReady", "kubelet is posting ready status", at_s);
    form_list_end(&status);
    form_list_begin(&status, "addresses");
    (void)snprintf(address, sizeof(address), "10.1.%u.%u", place / 250, place % 250);
    add_address(&status, "Hostname", "node");
    add_address(&status, "InternalIP", address);
    form_list_end(&status);
    add_node_info(&status, place);
    add_images(&status, images, place);
    form_message(node, 3, "status", &status);
}

void form_real_node(struct form *node, unsigned place, unsigned images) {
    struct form spec;
    add_metadata(node, place);
    form_init(&spec);
    form_text(&spec, 1, "podCIDR", "10.244.7.0/24");
    form_textf(&spec, 3, "providerID", "vsphere://42370f5b-2c1e-7a3d-4e0b-%012x", place);
    form_message(node, 2, "spec", &spec);
    add_status(node, place, images);
}

/* -- odd nodes -------------------------------------------------------------------------------------------------------------- */

/* Pieces of all kinds: ASCII, blanks, control characters with NUL, two to four bytes of UTF-8, bytes that are none. */
static void odd_text(struct strbuf *out, struct luck *luck) {
    static const struct {
        const char *bytes;
        size_t n;
    } pieces[] = {{"a", 1},
                  {"Z9", 2},
                  {" ", 1},
                  {"\0", 1},
                  {"\n", 1},
                  {"\x1b[31m", 5},
                  {"\x7f", 1},
                  {"\xc2\x9b", 2},
                  {"\"", 1},
                  {"\\", 1},
                  {"\xc3\xa9", 2},
                  {"\xe2\x82\xac", 3},
                  {"\xf0\x9f\x98\x80", 4},
                  {"\xff", 1},
                  {"\xe2\x82", 2},
                  {"\xc0\x80", 2},
                  {"\xed\xa0\x80", 3},
                  {"\xe2\x80\xae", 3}};
    static const unsigned lengths[] = {0, 1, 5, 40, 250, 252, 254, 256, 260, 296, 298, 300, 302, 304, 2000};
    const unsigned length = lengths[luck_below(luck, sizeof(lengths) / sizeof(lengths[0]))];
    const bool is_plain = luck_below(luck, 2);
    while (out->len < length) {
        const unsigned i = is_plain ? 0 : luck_below(luck, sizeof(pieces) / sizeof(pieces[0]));
        strbuf_add(out, pieces[i].bytes, pieces[i].n);
    }
}

/* In protobuf it may come before with another value, which the last one outdoes. In JSON nothing may come twice. */
static void odd_member(struct form *form, unsigned number, const char *name, struct luck *luck) {
    struct strbuf text;
    strbuf_init(&text, 10000);
    if (luck_below(luck, 8) == 0)
        return;
    if (luck_below(luck, 8) == 0)
        put_bytes(&form->protobuf, number, "gone", 4);
    odd_text(&text, luck);
    form_bytes(form, number, name, text.data, text.len);
    strbuf_done(&text);
}

static void odd_time(struct form *form, unsigned number, const char *name, struct luck *luck) {
    static const int64_t edges[] = {0, 1, -1, -62135596800, 253402300799, 253402300800, 1790000000};
    if (luck_below(luck, 5))
        form_time(form, number, name,
                  luck_below(luck, 3) ? 1700000000 + luck_below(luck, 100000000) : edges[luck_below(luck, 7)]);
}

/* What a newer server may send. */
static void odd_unknown(struct form *form, struct luck *luck) {
    static const unsigned wire_types[] = {0, 1, 2, 5};
    static const char *const values[] = {"1",      "\"\\u0000\"", "[1,[2],{\"a\":null}]", "{\"name\":{\"uid\":[]}}", "null",
                                         "-1.5e3", "true"};
    const unsigned wire_type = wire_types[luck_below(luck, 4)];
    if (luck_below(luck, 3))
        return;
    put_tag(&form->protobuf, 900 + luck_below(luck, 100000), wire_type);
    if (wire_type == 0)
        put_varint(&form->protobuf, luck_next(luck));
    else if (wire_type == 2)
        put_varint(&form->protobuf, 4);
    strbuf_add(&form->protobuf, "\x0a\xff\xff\xff\x01\x02\x03\x04", wire_type == 1 ? 8 : wire_type == 0 ? 0 : 4);
    json_name(form, "unknown");
    strbuf_adds(&form->json, values[luck_below(luck, 7)]);
}

static void odd_conditions(struct form *status, struct luck *luck) {
    static const char *const types[] = {
        "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "KernelDeadlock", "", "ready", "Ready "};
    static const char *const words[] = {"True", "False", "Unknown", "", "true", "Maybe"};
    form_list_begin(status, "conditions");
    for (unsigned left = luck_below(luck, 12); left > 0; left--) {
        struct form one;
        form_init(&one);
        form_text(&one, 1, "type", types[luck_below(luck, 9)]);
        if (luck_below(luck, 8))
            form_text(&one, 2, "status", words[luck_below(luck, 6)]);
        odd_time(&one, 3, "lastHeartbeatTime", luck);
        odd_time(&one, 4, "lastTransitionTime", luck);
        odd_member(&one, 5, "reason", luck);
        odd_member(&one, 6, "message", luck);
        odd_unknown(&one, luck);
        form_list_item(status, 4, &one);
    }
    form_list_end(status);
}

static void odd_addresses(struct form *status, struct luck *luck) {
    static const char *const types[] = {"InternalIP", "ExternalIP", "Hostname", "InternalDNS", "internalip"};
    form_list_begin(status, "addresses");
    for (unsigned left = luck_below(luck, 6); left > 0; left--) {
        struct form one;
        form_init(&one);
        form_text(&one, 1, "type", types[luck_below(luck, 5)]);
        odd_member(&one, 2, "address", luck);
        form_list_item(status, 5, &one);
    }
    form_list_end(status);
}

static void odd_metadata(struct form *metadata, struct luck *luck, unsigned place) {
    static const char *const labels[] = {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
                                         "node-role.kubernetes.io/worker", "node-role.kubernetes.io/control-plane-2",
                                         "Node-role.kubernetes.io/master"};
    form_textf(metadata, 1, "name", "n%0*u", 1 + (int)luck_below(luck, 252), place);
    form_textf(metadata, 5, "uid", "u%0*u", 1 + (int)luck_below(luck, 127), place);
    form_textf(metadata, 6, "resourceVersion", "%u", 1 + place);
    odd_time(metadata, 8, "creationTimestamp", luck);
    odd_time(metadata, 9, "deletionTimestamp", luck);
    form_map_begin(metadata, "labels");
    for (unsigned i = 0; i < 5; i++)
        if (luck_below(luck, 4) == 0)
            form_map_entry(metadata, 11, labels[i], luck_below(luck, 2) ? "" : "x");
    form_map_end(metadata);
    odd_unknown(metadata, luck);
}

void form_odd_node(struct form *node, struct luck *luck, unsigned place) {
    struct form metadata, spec, status, info;
    form_init(&metadata);
    odd_metadata(&metadata, luck, place);
    form_message(node, 1, "metadata", &metadata);
    odd_unknown(node, luck);
    if (luck_below(luck, 10)) {
        form_init(&spec);
        odd_member(&spec, 3, "providerID", luck);
        if (luck_below(luck, 3))
            form_flag(&spec, 4, "unschedulable", luck_below(luck, 2));
        form_message(node, 2, "spec", &spec);
    }
    if (luck_below(luck, 10) == 0)
        return;
    form_init(&status);
    odd_conditions(&status, luck);
    odd_addresses(&status, luck);
    if (luck_below(luck, 10)) {
        form_init(&info);
        odd_member(&info, 2, "systemUUID", luck);
        odd_member(&info, 7, "kubeletVersion", luck);
        form_message(&status, 7, "nodeInfo", &info);
    }
    form_message(node, 3, "status", &status);
}
