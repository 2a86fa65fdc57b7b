/* Extension records between our structs and the codec's, and as JSON: one table of all members. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vCenter replaces the whole record, so every member is carried. Members newer than the agreed API version are left out: a real
 * vCenter refuses a request that holds one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "str.h"
#include "vim.h"
#include "vim_extension.h"
#include "vim_extension_private.h"

#define SINCE_SERVER_CERTIFICATE "8.0.2.0"
#define PATH_BYTES 96

/* -- the table ----------------------------------------------------------------------------------------------------- */

enum part_kind {
    PART_TEXT,     /* required, one line */
    PART_LINES,    /* required */
    PART_OPTIONAL, /* may be NULL */
    PART_FLAG,     /* a bool of ours beside its has_ */
    PART_LIST,     /* of texts or of structs */
    PART_INSIDE,   /* a struct that the codec points to; its members are in our struct above it, or at `ours` */
};

struct part {
    enum part_kind kind;
    const char *name; /* as vCenter calls it; NULL ends a table */
    size_t ours, wire;
    size_t has; /* ours: count of a list; has_ of others, 0: it is there if its first text is, or required */
    size_t wire_count;
    size_t ours_bytes, wire_bytes; /* of an item */
    const struct part *parts;      /* of an item */
    bool is_required, is_new;      /* is_new: since SINCE_SERVER_CERTIFICATE */
};

#define TEXT(kind_, ours_, member, wire_, name_, ...)                                 \
    {                                                                                 \
        .kind = PART_##kind_, .name = #name_, .ours = offsetof(struct ours_, member), \
        .wire = offsetof(struct vim25__##wire_, name_), __VA_ARGS__                   \
    }
#define LIST(ours_, items_, count_, wire_, name_, parts_, ...)                                                             \
    TEXT(LIST, ours_, items_, wire_, name_, .has = offsetof(struct ours_, count_),                                         \
         .wire_count = offsetof(struct vim25__##wire_, __size##name_), .ours_bytes = sizeof(*((struct ours_ *)0)->items_), \
         .wire_bytes = sizeof(*((struct vim25__##wire_ *)0)->name_), .parts = (parts_), __VA_ARGS__)
#define INSIDE(wire_, name_, parts_, ...)                                                          \
    {                                                                                              \
        .kind = PART_INSIDE, .name = #name_, .wire = offsetof(struct vim25__##wire_, name_),       \
        .wire_bytes = sizeof(*((struct vim25__##wire_ *)0)->name_), .parts = (parts_), __VA_ARGS__ \
    }
#define AT_DESCRIPTION(ours_) .ours = offsetof(struct ours_, description), .is_required = true
#define HAS(member) .has = offsetof(struct vim_extension, member)
#define PARTS_END \
    { .name = NULL }

static const struct part description_parts[] = {
    TEXT(LINES, vim_description, label, Description, label),
    TEXT(LINES, vim_description, summary, Description, summary),
    PARTS_END,
};
/* An item that is a text by itself. */
static const struct part text_parts[] = {{.kind = PART_LINES, .name = ""}, PARTS_END};
static const struct part server_parts[] = {
    TEXT(TEXT, vim_ext_server, url, ExtensionServerInfo, url),
    INSIDE(ExtensionServerInfo, description, description_parts, AT_DESCRIPTION(vim_ext_server)),
    TEXT(LINES, vim_ext_server, company, ExtensionServerInfo, company),
    TEXT(TEXT, vim_ext_server, type, ExtensionServerInfo, type),
    LIST(vim_ext_server, admin_emails.items, admin_emails.count, ExtensionServerInfo, adminEmail, text_parts,
         .is_required = true),
    TEXT(OPTIONAL, vim_ext_server, thumbprint, ExtensionServerInfo, serverThumbprint),
    TEXT(OPTIONAL, vim_ext_server, certificate, ExtensionServerInfo, serverCertificate, .is_new = true),
    PARTS_END,
};
static const struct part client_parts[] = {
    TEXT(TEXT, vim_ext_client, version, ExtensionClientInfo, version),
    INSIDE(ExtensionClientInfo, description, description_parts, AT_DESCRIPTION(vim_ext_client)),
    TEXT(LINES, vim_ext_client, company, ExtensionClientInfo, company),
    TEXT(TEXT, vim_ext_client, type, ExtensionClientInfo, type),
    TEXT(TEXT, vim_ext_client, url, ExtensionClientInfo, url),
    PARTS_END,
};
static const struct part task_parts[] = {{.kind = PART_TEXT, .name = "taskID"}, PARTS_END};
static const struct part fault_parts[] = {{.kind = PART_TEXT, .name = "faultID"}, PARTS_END};
static const struct part event_parts[] = {
    TEXT(TEXT, vim_ext_event, id, ExtensionEventTypeInfo, eventID),
    TEXT(OPTIONAL, vim_ext_event, schema, ExtensionEventTypeInfo, eventTypeSchema),
    PARTS_END,
};
static const struct part privilege_parts[] = {
    TEXT(TEXT, vim_ext_privilege, id, ExtensionPrivilegeInfo, privID),
    TEXT(TEXT, vim_ext_privilege, group, ExtensionPrivilegeInfo, privGroupName),
    PARTS_END,
};
static const struct part data_parts[] = {
    TEXT(TEXT, vim_key_value, key, KeyValue, key),
    TEXT(LINES, vim_key_value, value, KeyValue, value),
    PARTS_END,
};
static const struct part resource_parts[] = {
    TEXT(TEXT, vim_ext_resource, locale, ExtensionResourceInfo, locale),
    TEXT(TEXT, vim_ext_resource, module, ExtensionResourceInfo, module),
    LIST(vim_ext_resource, data, data_count, ExtensionResourceInfo, data, data_parts, .is_required = true),
    PARTS_END,
};
static const struct part health_parts[] = {TEXT(TEXT, vim_extension, health_url, ExtensionHealthInfo, url), PARTS_END};
static const struct part ovf_parts[] = {
    TEXT(TEXT, vim_extension, ovf_callback_url, ExtensionOvfConsumerInfo, callbackUrl),
    LIST(vim_extension, ovf_section_types.items, ovf_section_types.count, ExtensionOvfConsumerInfo, sectionType, text_parts),
    PARTS_END,
};
static const struct part self_parts[] = {
    TEXT(TEXT, vim_extension, self_moref, ManagedObjectReference, __item),
    TEXT(TEXT, vim_extension, self_type, ManagedObjectReference, type),
    PARTS_END,
};
static const struct part product_parts[] = {
    TEXT(OPTIONAL, vim_extension, company_url, ExtExtendedProductInfo, companyUrl),
    TEXT(OPTIONAL, vim_extension, product_url, ExtExtendedProductInfo, productUrl),
    TEXT(OPTIONAL, vim_extension, management_url, ExtExtendedProductInfo, managementUrl),
    INSIDE(ExtExtendedProductInfo, self, self_parts),
    PARTS_END,
};
static const struct part managed_parts[] = {
    TEXT(TEXT, vim_ext_managed, type, ExtManagedEntityInfo, type),
    TEXT(OPTIONAL, vim_ext_managed, small_icon_url, ExtManagedEntityInfo, smallIconUrl),
    TEXT(OPTIONAL, vim_ext_managed, icon_url, ExtManagedEntityInfo, iconUrl),
    TEXT(OPTIONAL, vim_ext_managed, description, ExtManagedEntityInfo, description),
    PARTS_END,
};
static const struct part tab_parts[] = {
    TEXT(LINES, vim_ext_tab, label, ExtSolutionManagerInfoTabInfo, label),
    TEXT(TEXT, vim_ext_tab, url, ExtSolutionManagerInfoTabInfo, url),
    PARTS_END,
};
static const struct part solution_parts[] = {
    LIST(vim_extension, solution_tabs, solution_tab_count, ExtSolutionManagerInfo, tab, tab_parts),
    TEXT(OPTIONAL, vim_extension, solution_small_icon_url, ExtSolutionManagerInfo, smallIconUrl),
    PARTS_END,
};
static const struct part record_parts[] = {
    INSIDE(Extension, description, description_parts, AT_DESCRIPTION(vim_extension)),
    TEXT(TEXT, vim_extension, key, Extension, key),
    TEXT(OPTIONAL, vim_extension, company, Extension, company),
    TEXT(OPTIONAL, vim_extension, type, Extension, type),
    TEXT(TEXT, vim_extension, version, Extension, version),
    TEXT(OPTIONAL, vim_extension, subject_name, Extension, subjectName),
    LIST(vim_extension, servers, server_count, Extension, server, server_parts),
    LIST(vim_extension, clients, client_count, Extension, client, client_parts),
    LIST(vim_extension, tasks.items, tasks.count, Extension, taskList, task_parts),
    LIST(vim_extension, events, event_count, Extension, eventList, event_parts),
    LIST(vim_extension, faults.items, faults.count, Extension, faultList, fault_parts),
    LIST(vim_extension, privileges, privilege_count, Extension, privilegeList, privilege_parts),
    LIST(vim_extension, resources, resource_count, Extension, resourceList, resource_parts),
    TEXT(TEXT, vim_extension, last_heartbeat_time, Extension, lastHeartbeatTime),
    INSIDE(Extension, healthInfo, health_parts),
    INSIDE(Extension, ovfConsumerInfo, ovf_parts, HAS(has_ovf_consumer)),
    INSIDE(Extension, extendedProductInfo, product_parts, HAS(has_product)),
    LIST(vim_extension, managed_entities, managed_count, Extension, managedEntityInfo, managed_parts),
    TEXT(FLAG, vim_extension, shown_in_solution_manager, Extension, shownInSolutionManager, HAS(has_shown_in_solution_manager)),
    INSIDE(Extension, solutionManagerInfo, solution_parts, HAS(has_solution_manager)),
    PARTS_END,
};

/* The member of this type at that place of a struct of ours or the codec's. */
#define AT(type, record, offset) (*(type *)((uintptr_t)(record) + (offset)))

static void *pointer_at(const void *record, size_t offset) {
    void *pointer;
    memcpy(&pointer, (const char *)record + offset, sizeof(pointer));
    return pointer;
}

static const void *item_of(const struct part *p, const void *record, size_t i) {
    return (const char *)pointer_at(record, p->ours) + i * p->ours_bytes;
}

/* Of a record of ours. */
static bool has_part(const struct part *p, const void *record) {
    if (p->is_required || p->has)
        return p->is_required || AT(const bool, record, p->has);
    return AT(const char *const, record, p->parts->ours);
}

/* -- from ours to the codec's -------------------------------------------------------------------------------------- */

static void put_parts(struct vim_context *ctx, const struct part *p, const void *from, void *to, const char *path);

static void put_list(struct vim_context *ctx, const struct part *p, const void *from, void *to, const char *path) {
    const size_t count = AT(const size_t, from, p->has);
    char *items = vim_in_alloc(ctx, count, p->wire_bytes);
    if (!count && p->is_required)
        err_set(&ctx->err, ERR_UNPROCESSABLE, "%s is missing", path);
    if (!items)
        return;
    memcpy((char *)to + p->wire, &items, sizeof(items));
    AT(int, to, p->wire_count) = (int)count;
    for (size_t i = 0; i < count; i++)
        put_parts(ctx, p->parts, item_of(p, from, i), items + i * p->wire_bytes, path);
}

static void put_inside(struct vim_context *ctx, const struct part *p, const void *from, void *to, const char *path) {
    void *inside = has_part(p, from) ? vim_in_alloc(ctx, 1, p->wire_bytes) : NULL;
    if (!inside)
        return;
    memcpy((char *)to + p->wire, &inside, sizeof(inside));
    put_parts(ctx, p->parts, (const char *)from + p->ours, inside, path);
}

static void put_flag(struct vim_context *ctx, const struct part *p, const void *from, void *to) {
    enum xsd__boolean *flag = has_part(p, from) ? vim_in_alloc(ctx, 1, sizeof(*flag)) : NULL;
    if (!flag)
        return;
    *flag = AT(const bool, from, p->ours) ? xsd__boolean__true_ : xsd__boolean__false_;
    AT(enum xsd__boolean *, to, p->wire) = flag;
}

static void put_parts(struct vim_context *ctx, const struct part *p, const void *from, void *to, const char *above) {
    for (; p->name; p++) {
        char path[PATH_BYTES];
        if (p->is_new && !vim_version_is_at_least(ctx->content.version, SINCE_SERVER_CERTIFICATE))
            continue;
        (void)snprintf(path, sizeof(path), "%s%s%s", above, *above && *p->name ? "." : "", p->name);
        switch (p->kind) {
        case PART_TEXT: AT(char *, to, p->wire) = vim_in_text(ctx, AT(const char *const, from, p->ours), path); break;
        case PART_LINES: AT(char *, to, p->wire) = vim_in_lines(ctx, AT(const char *const, from, p->ours), path); break;
        case PART_OPTIONAL: AT(char *, to, p->wire) = vim_in_optional(ctx, AT(const char *const, from, p->ours), path); break;
        case PART_FLAG: put_flag(ctx, p, from, to); break;
        case PART_LIST: put_list(ctx, p, from, to, path); break;
        case PART_INSIDE: put_inside(ctx, p, from, to, path); break;
        }
    }
}

struct vim25__Extension *vim_in_extension(struct vim_context *ctx, const struct vim_extension *from) {
    struct vim25__Extension *to = vim_in_alloc(ctx, 1, sizeof(*to));
    struct vim_extension record = *from;
    char now[CLOCK_RFC3339_BYTES];
    if (!to)
        return NULL;
    clock_format(clock_wall_ms(), now);
    if (!record.last_heartbeat_time)
        record.last_heartbeat_time = now;
    put_parts(ctx, record_parts, &record, to, "");
    return to;
}

/* -- as JSON, where vCenter gives members the same names ----------------------------------------------------------- */

static json_t *vim_extension_record_json(const struct part *p, const void *from, bool has_new);

static json_t *list_json(const struct part *p, const void *from, bool has_new) {
    json_t *list = json_array();
    for (size_t i = 0; i < AT(const size_t, from, p->has); i++) {
        const void *item = item_of(p, from, i);
        (void)json_array_append_new(list, *p->parts->name ? vim_extension_record_json(p->parts, item, has_new)
                                                          : json_string(AT(const char *const, item, 0)));
    }
    return list;
}

static json_t *vim_extension_record_json(const struct part *p, const void *from, bool has_new) {
    json_t *object = json_object();
    for (; p->name; p++) {
        if (p->is_new && !has_new)
            continue;
        if (p->kind == PART_LIST && AT(const size_t, from, p->has))
            json_put(object, p->name, list_json(p, from, has_new));
        else if (p->kind == PART_INSIDE && has_part(p, from))
            json_put(object, p->name, vim_extension_record_json(p->parts, (const char *)from + p->ours, has_new));
        else if (p->kind == PART_FLAG && has_part(p, from))
            json_put(object, p->name, json_boolean(AT(const bool, from, p->ours)));
        else if (p->kind <= PART_OPTIONAL)
            json_put_string(object, p->name, AT(const char *const, from, p->ours));
    }
    return object;
}

struct json_t *vim_extension_json(const struct vim_extension *extension, const char *api_version) {
    return vim_extension_record_json(record_parts, extension,
                                     api_version && vim_version_is_at_least(api_version, SINCE_SERVER_CERTIFICATE));
}

/* -- memory that is given back as a whole -------------------------------------------------------------------------- */

struct block {
    struct block *next;
    max_align_t bytes[];
};

struct vim_arena {
    struct block *blocks;
    bool has_failed; /* some room was not to be had */
};

static void vim_arena_free(struct vim_arena *arena) {
    for (struct block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

/* Zeroed room for `count` items of `size` bytes, valid until the arena is freed. NULL without memory (sticky) or for none. */
static void *vim_arena_alloc(struct vim_arena *arena, size_t count, size_t size) {
    struct block *b;
    size_t bytes;
    if (!count || !size)
        return NULL;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, sizeof(*b), &bytes) ||
        !(b = calloc(1, bytes))) {
        arena->has_failed = true;
        return NULL;
    }
    b->next = arena->blocks;
    arena->blocks = b;
    return b->bytes;
}

static const char *vim_arena_text(struct vim_arena *arena, const char *text) {
    char *copy;
    size_t n;
    if (!text)
        return NULL;
    n = strlen(text) + 1;
    copy = vim_arena_alloc(arena, n, 1);
    if (copy)
        memcpy(copy, text, n);
    return copy;
}

/* -- from the codec's to ours -------------------------------------------------------------------------------------- */

static void take_parts(struct vim_arena *a, const struct part *p, const void *from, void *to);

/* A negative size cannot come from the codec; it is still not trusted. */
static void take_list(struct vim_arena *a, const struct part *p, const void *from, void *to) {
    const char *source = pointer_at(from, p->wire);
    const int n = AT(const int, from, p->wire_count);
    const size_t count = source && n > 0 ? (size_t)n : 0;
    char *items = vim_arena_alloc(a, count, p->ours_bytes);
    memcpy((char *)to + p->ours, &items, sizeof(items));
    AT(size_t, to, p->has) = count;
    for (size_t i = 0; items && i < count; i++)
        take_parts(a, p->parts, source + i * p->wire_bytes, items + i * p->ours_bytes);
}

static void take_parts(struct vim_arena *a, const struct part *p, const void *from, void *to) {
    for (; p->name; p++) {
        const void *inside = p->kind == PART_LIST ? NULL : pointer_at(from, p->wire);
        switch (p->kind) {
        case PART_LIST: take_list(a, p, from, to); continue;
        case PART_FLAG: AT(bool, to, p->ours) = inside && *(const enum xsd__boolean *)inside == xsd__boolean__true_; break;
        case PART_INSIDE:
            if (inside)
                take_parts(a, p->parts, inside, (char *)to + p->ours);
            break;
        case PART_TEXT:
        case PART_LINES:
        case PART_OPTIONAL: AT(const char *, to, p->ours) = vim_arena_text(a, inside); break;
        }
        if (p->has)
            AT(bool, to, p->has) = inside;
    }
}

int vim_extension_of_wire(const struct vim25__Extension *from, struct vim_extension **out, struct err *err) {
    struct vim_arena *arena;
    struct vim_extension *to;
    if (str_empty(from->key))
        return err_set(err, ERR_PROTOCOL, "vCenter sent an extension record without key");
    arena = calloc(1, sizeof(*arena));
    if (!arena)
        return err_set(err, ERR_NOMEM, "out of memory");
    to = vim_arena_alloc(arena, 1, sizeof(*to));
    if (to) {
        to->owner = arena;
        take_parts(arena, record_parts, from, to);
    }
    if (arena->has_failed) {
        vim_arena_free(arena);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = to;
    return 0;
}

void vim_extension_free(struct vim_extension *extension) {
    if (extension)
        vim_arena_free(extension->owner);
}
