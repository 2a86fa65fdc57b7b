/* Extension records: from the codec's structs to ours. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vim_extension.h"
#include "vim_extension_private.h"

/* A negative size cannot come from the codec; it is still not trusted. */
static size_t vim_extension_out_count_of(int n, const void *items) {
    return items && n > 0 ? (size_t)n : 0;
}

static struct vim_texts take_texts(struct vim_arena *a, char *const *from, int n) {
    struct vim_texts to = {.count = vim_extension_out_count_of(n, from)};
    const char **items = vim_arena_alloc(a, to.count, sizeof(*items));
    for (size_t i = 0; items && i < to.count; i++)
        items[i] = vim_arena_text(a, from[i]);
    to.items = items;
    return to;
}

static struct vim_description take_description(struct vim_arena *a, const struct vim25__Description *from) {
    struct vim_description to = {0};
    if (from) {
        to.label = vim_arena_text(a, from->label);
        to.summary = vim_arena_text(a, from->summary);
    }
    return to;
}

static void take_servers(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t n = vim_extension_out_count_of(from->__sizeserver, from->server);
    struct vim_ext_server *items = vim_arena_alloc(a, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++) {
        const struct vim25__ExtensionServerInfo *s = &from->server[i];
        items[i] = (struct vim_ext_server){
            .url = vim_arena_text(a, s->url),
            .description = take_description(a, s->description),
            .company = vim_arena_text(a, s->company),
            .type = vim_arena_text(a, s->type),
            .admin_emails = take_texts(a, s->adminEmail, s->__sizeadminEmail),
            .thumbprint = vim_arena_text(a, s->serverThumbprint),
            .certificate = vim_arena_text(a, s->serverCertificate),
        };
    }
    to->servers = items;
    to->server_count = n;
}

static void take_clients(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t n = vim_extension_out_count_of(from->__sizeclient, from->client);
    struct vim_ext_client *items = vim_arena_alloc(a, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++) {
        const struct vim25__ExtensionClientInfo *c = &from->client[i];
        items[i] = (struct vim_ext_client){
            .version = vim_arena_text(a, c->version),
            .description = take_description(a, c->description),
            .company = vim_arena_text(a, c->company),
            .type = vim_arena_text(a, c->type),
            .url = vim_arena_text(a, c->url),
        };
    }
    to->clients = items;
    to->client_count = n;
}

static void take_ids(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t tasks = vim_extension_out_count_of(from->__sizetaskList, from->taskList),
           faults = vim_extension_out_count_of(from->__sizefaultList, from->faultList);
    const char **task = vim_arena_alloc(a, tasks, sizeof(*task)), **fault = vim_arena_alloc(a, faults, sizeof(*fault));
    for (size_t i = 0; task && i < tasks; i++)
        task[i] = vim_arena_text(a, from->taskList[i].taskID);
    for (size_t i = 0; fault && i < faults; i++)
        fault[i] = vim_arena_text(a, from->faultList[i].faultID);
    to->tasks = (struct vim_texts){task, tasks};
    to->faults = (struct vim_texts){fault, faults};
}

static void take_events(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t n = vim_extension_out_count_of(from->__sizeeventList, from->eventList);
    struct vim_ext_event *items = vim_arena_alloc(a, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++) {
        items[i].id = vim_arena_text(a, from->eventList[i].eventID);
        items[i].schema = vim_arena_text(a, from->eventList[i].eventTypeSchema);
    }
    to->events = items;
    to->event_count = n;
}

static void take_privileges(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t n = vim_extension_out_count_of(from->__sizeprivilegeList, from->privilegeList);
    struct vim_ext_privilege *items = vim_arena_alloc(a, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++) {
        items[i].id = vim_arena_text(a, from->privilegeList[i].privID);
        items[i].group = vim_arena_text(a, from->privilegeList[i].privGroupName);
    }
    to->privileges = items;
    to->privilege_count = n;
}

static void take_resource(struct vim_arena *a, const struct vim25__ExtensionResourceInfo *from, struct vim_ext_resource *to) {
    size_t n = vim_extension_out_count_of(from->__sizedata, from->data);
    struct vim_key_value *data = vim_arena_alloc(a, n, sizeof(*data));
    for (size_t i = 0; data && i < n; i++) {
        data[i].key = vim_arena_text(a, from->data[i].key);
        data[i].value = vim_arena_text(a, from->data[i].value);
    }
    to->locale = vim_arena_text(a, from->locale);
    to->module = vim_arena_text(a, from->module);
    to->data = data;
    to->data_count = n;
}

static void take_resources(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t n = vim_extension_out_count_of(from->__sizeresourceList, from->resourceList);
    struct vim_ext_resource *items = vim_arena_alloc(a, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++)
        take_resource(a, &from->resourceList[i], &items[i]);
    to->resources = items;
    to->resource_count = n;
}

static void take_product(struct vim_arena *a, const struct vim25__ExtExtendedProductInfo *from, struct vim_extension *to) {
    to->has_product = from;
    if (!from)
        return;
    to->company_url = vim_arena_text(a, from->companyUrl);
    to->product_url = vim_arena_text(a, from->productUrl);
    to->management_url = vim_arena_text(a, from->managementUrl);
    if (from->self) {
        to->self_type = vim_arena_text(a, from->self->type);
        to->self_moref = vim_arena_text(a, from->self->__item);
    }
}

static void take_managed(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    size_t n = vim_extension_out_count_of(from->__sizemanagedEntityInfo, from->managedEntityInfo);
    struct vim_ext_managed *items = vim_arena_alloc(a, n, sizeof(*items));
    for (size_t i = 0; items && i < n; i++) {
        const struct vim25__ExtManagedEntityInfo *m = &from->managedEntityInfo[i];
        items[i].type = vim_arena_text(a, m->type);
        items[i].small_icon_url = vim_arena_text(a, m->smallIconUrl);
        items[i].icon_url = vim_arena_text(a, m->iconUrl);
        items[i].description = vim_arena_text(a, m->description);
    }
    to->managed_entities = items;
    to->managed_count = n;
}

static void take_solution(struct vim_arena *a, const struct vim25__ExtSolutionManagerInfo *from, struct vim_extension *to) {
    size_t n = from ? vim_extension_out_count_of(from->__sizetab, from->tab) : 0;
    struct vim_ext_tab *tabs = vim_arena_alloc(a, n, sizeof(*tabs));
    to->has_solution_manager = from;
    for (size_t i = 0; tabs && i < n; i++) {
        tabs[i].label = vim_arena_text(a, from->tab[i].label);
        tabs[i].url = vim_arena_text(a, from->tab[i].url);
    }
    to->solution_tabs = tabs;
    to->solution_tab_count = n;
    to->solution_small_icon_url = from ? vim_arena_text(a, from->smallIconUrl) : NULL;
}

static void take_record(struct vim_arena *a, const struct vim25__Extension *from, struct vim_extension *to) {
    to->description = take_description(a, from->description);
    to->key = vim_arena_text(a, from->key);
    to->company = vim_arena_text(a, from->company);
    to->type = vim_arena_text(a, from->type);
    to->version = vim_arena_text(a, from->version);
    to->subject_name = vim_arena_text(a, from->subjectName);
    take_servers(a, from, to);
    take_clients(a, from, to);
    take_ids(a, from, to);
    take_events(a, from, to);
    take_privileges(a, from, to);
    take_resources(a, from, to);
    to->last_heartbeat_time = vim_arena_text(a, from->lastHeartbeatTime);
    to->health_url = from->healthInfo ? vim_arena_text(a, from->healthInfo->url) : NULL;
    to->has_ovf_consumer = from->ovfConsumerInfo;
    if (from->ovfConsumerInfo) {
        to->ovf_callback_url = vim_arena_text(a, from->ovfConsumerInfo->callbackUrl);
        to->ovf_section_types = take_texts(a, from->ovfConsumerInfo->sectionType, from->ovfConsumerInfo->__sizesectionType);
    }
    take_product(a, from->extendedProductInfo, to);
    take_managed(a, from, to);
    to->has_shown_in_solution_manager = from->shownInSolutionManager;
    to->shown_in_solution_manager = from->shownInSolutionManager && *from->shownInSolutionManager == xsd__boolean__true_;
    take_solution(a, from->solutionManagerInfo, to);
}

int vim_extension_of_wire(const struct vim25__Extension *from, struct vim_extension **out, struct err *err) {
    struct vim_arena *arena;
    struct vim_extension *to;
    if (str_empty(from->key))
        return err_set(err, ERR_PROTOCOL, "vCenter sent an extension record without key");
    arena = vim_arena_new();
    if (!arena)
        return err_set(err, ERR_NOMEM, "out of memory");
    to = vim_arena_alloc(arena, 1, sizeof(*to));
    if (to) {
        to->owner = arena;
        take_record(arena, from, to);
    }
    if (vim_arena_has_failed(arena)) {
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

/* -- memory that is given back as a whole -------------------------------------------------------------------------- */

struct block {
    struct block *next;
    max_align_t bytes[];
};

struct vim_arena {
    struct block *blocks;
    bool has_failed;
};

struct vim_arena *vim_arena_new(void) {
    return calloc(1, sizeof(struct vim_arena));
}

void vim_arena_free(struct vim_arena *arena) {
    if (!arena)
        return;
    for (struct block *b = arena->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(arena);
}

void *vim_arena_alloc(struct vim_arena *arena, size_t count, size_t size) {
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

const char *vim_arena_text(struct vim_arena *arena, const char *text) {
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

bool vim_arena_has_failed(const struct vim_arena *arena) {
    return arena->has_failed;
}
