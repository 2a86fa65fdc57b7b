/* Extension records: from our structs to the codec's. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vCenter replaces the whole record, so every member is carried. Members newer than the agreed API version are left out: a real
 * vCenter refuses a request that holds one. */
#include "clock.h"
#include "vim.h"
#include "vim_extension_wire.h"

#define SINCE_SERVER_CERTIFICATE "8.0.2.0"

static struct vim25__Description *put_description(struct vim_context *ctx, const struct vim_description *from, const char *what) {
    struct vim25__Description *to = vim_in_alloc(ctx, 1, sizeof(*to));
    if (!to)
        return NULL;
    to->label = vim_in_lines(ctx, from->label, what);
    to->summary = vim_in_lines(ctx, from->summary, what);
    return to;
}

static void put_server(struct vim_context *ctx, const struct vim_ext_server *from, struct vim25__ExtensionServerInfo *to) {
    to->url = vim_in_text(ctx, from->url, "server.url");
    to->description = put_description(ctx, &from->description, "server.description");
    to->company = vim_in_lines(ctx, from->company, "server.company");
    to->type = vim_in_text(ctx, from->type, "server.type");
    to->adminEmail = vim_in_texts(ctx, from->admin_emails.items, from->admin_emails.count, "server.adminEmail");
    to->__sizeadminEmail = (int)from->admin_emails.count;
    if (!from->admin_emails.count)
        err_set(&ctx->err, ERR_UNPROCESSABLE, "server.adminEmail is missing");
    to->serverThumbprint = vim_in_optional(ctx, from->thumbprint, "server.serverThumbprint");
    if (vim_version_is_at_least(ctx->content.version, SINCE_SERVER_CERTIFICATE))
        to->serverCertificate = vim_in_optional(ctx, from->certificate, "server.serverCertificate");
}

static void put_client(struct vim_context *ctx, const struct vim_ext_client *from, struct vim25__ExtensionClientInfo *to) {
    to->version = vim_in_text(ctx, from->version, "client.version");
    to->description = put_description(ctx, &from->description, "client.description");
    to->company = vim_in_lines(ctx, from->company, "client.company");
    to->type = vim_in_text(ctx, from->type, "client.type");
    to->url = vim_in_text(ctx, from->url, "client.url");
}

static void put_ends(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    to->server = vim_in_alloc(ctx, from->server_count, sizeof(*to->server));
    to->__sizeserver = to->server ? (int)from->server_count : 0;
    for (int i = 0; i < to->__sizeserver; i++)
        put_server(ctx, &from->servers[i], &to->server[i]);
    to->client = vim_in_alloc(ctx, from->client_count, sizeof(*to->client));
    to->__sizeclient = to->client ? (int)from->client_count : 0;
    for (int i = 0; i < to->__sizeclient; i++)
        put_client(ctx, &from->clients[i], &to->client[i]);
}

static void put_types(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    to->taskList = vim_in_alloc(ctx, from->tasks.count, sizeof(*to->taskList));
    to->__sizetaskList = to->taskList ? (int)from->tasks.count : 0;
    for (int i = 0; i < to->__sizetaskList; i++)
        to->taskList[i].taskID = vim_in_text(ctx, from->tasks.items[i], "taskList.taskID");
    to->eventList = vim_in_alloc(ctx, from->event_count, sizeof(*to->eventList));
    to->__sizeeventList = to->eventList ? (int)from->event_count : 0;
    for (int i = 0; i < to->__sizeeventList; i++) {
        to->eventList[i].eventID = vim_in_text(ctx, from->events[i].id, "eventList.eventID");
        to->eventList[i].eventTypeSchema = vim_in_optional(ctx, from->events[i].schema, "eventList.eventTypeSchema");
    }
    to->faultList = vim_in_alloc(ctx, from->faults.count, sizeof(*to->faultList));
    to->__sizefaultList = to->faultList ? (int)from->faults.count : 0;
    for (int i = 0; i < to->__sizefaultList; i++)
        to->faultList[i].faultID = vim_in_text(ctx, from->faults.items[i], "faultList.faultID");
    to->privilegeList = vim_in_alloc(ctx, from->privilege_count, sizeof(*to->privilegeList));
    to->__sizeprivilegeList = to->privilegeList ? (int)from->privilege_count : 0;
    for (int i = 0; i < to->__sizeprivilegeList; i++) {
        to->privilegeList[i].privID = vim_in_text(ctx, from->privileges[i].id, "privilegeList.privID");
        to->privilegeList[i].privGroupName = vim_in_text(ctx, from->privileges[i].group, "privilegeList.privGroupName");
    }
}

static void put_resource(struct vim_context *ctx, const struct vim_ext_resource *from, struct vim25__ExtensionResourceInfo *to) {
    to->locale = vim_in_text(ctx, from->locale, "resourceList.locale");
    to->module = vim_in_text(ctx, from->module, "resourceList.module");
    to->data = vim_in_alloc(ctx, from->data_count, sizeof(*to->data));
    to->__sizedata = to->data ? (int)from->data_count : 0;
    for (int i = 0; i < to->__sizedata; i++) {
        to->data[i].key = vim_in_text(ctx, from->data[i].key, "resourceList.data.key");
        to->data[i].value = vim_in_lines(ctx, from->data[i].value, "resourceList.data.value");
    }
    if (!from->data_count)
        err_set(&ctx->err, ERR_UNPROCESSABLE, "resourceList.data is missing");
}

static void put_resources(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    to->resourceList = vim_in_alloc(ctx, from->resource_count, sizeof(*to->resourceList));
    to->__sizeresourceList = to->resourceList ? (int)from->resource_count : 0;
    for (int i = 0; i < to->__sizeresourceList; i++)
        put_resource(ctx, &from->resources[i], &to->resourceList[i]);
}

static void put_ovf(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    struct vim25__ExtensionOvfConsumerInfo *ovf = from->has_ovf_consumer ? vim_in_alloc(ctx, 1, sizeof(*ovf)) : NULL;
    if (!ovf)
        return;
    ovf->callbackUrl = vim_in_text(ctx, from->ovf_callback_url, "ovfConsumerInfo.callbackUrl");
    ovf->sectionType =
        vim_in_texts(ctx, from->ovf_section_types.items, from->ovf_section_types.count, "ovfConsumerInfo.sectionType");
    ovf->__sizesectionType = ovf->sectionType ? (int)from->ovf_section_types.count : 0;
    to->ovfConsumerInfo = ovf;
}

static void put_product(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    struct vim25__ExtExtendedProductInfo *product = from->has_product ? vim_in_alloc(ctx, 1, sizeof(*product)) : NULL;
    if (!product)
        return;
    product->companyUrl = vim_in_optional(ctx, from->company_url, "extendedProductInfo.companyUrl");
    product->productUrl = vim_in_optional(ctx, from->product_url, "extendedProductInfo.productUrl");
    product->managementUrl = vim_in_optional(ctx, from->management_url, "extendedProductInfo.managementUrl");
    if (from->self_moref)
        product->self = vim_in_ref(ctx, from->self_type, from->self_moref);
    to->extendedProductInfo = product;
}

static void put_managed(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    to->managedEntityInfo = vim_in_alloc(ctx, from->managed_count, sizeof(*to->managedEntityInfo));
    to->__sizemanagedEntityInfo = to->managedEntityInfo ? (int)from->managed_count : 0;
    for (int i = 0; i < to->__sizemanagedEntityInfo; i++) {
        const struct vim_ext_managed *entity = &from->managed_entities[i];
        to->managedEntityInfo[i].type = vim_in_text(ctx, entity->type, "managedEntityInfo.type");
        to->managedEntityInfo[i].smallIconUrl = vim_in_optional(ctx, entity->small_icon_url, "managedEntityInfo.smallIconUrl");
        to->managedEntityInfo[i].iconUrl = vim_in_optional(ctx, entity->icon_url, "managedEntityInfo.iconUrl");
        to->managedEntityInfo[i].description = vim_in_optional(ctx, entity->description, "managedEntityInfo.description");
    }
}

static void put_solution(struct vim_context *ctx, const struct vim_extension *from, struct vim25__Extension *to) {
    struct vim25__ExtSolutionManagerInfo *info = from->has_solution_manager ? vim_in_alloc(ctx, 1, sizeof(*info)) : NULL;
    if (from->has_shown_in_solution_manager) {
        to->shownInSolutionManager = vim_in_alloc(ctx, 1, sizeof(*to->shownInSolutionManager));
        if (to->shownInSolutionManager)
            *to->shownInSolutionManager = from->shown_in_solution_manager ? xsd__boolean__true_ : xsd__boolean__false_;
    }
    if (!info)
        return;
    info->tab = vim_in_alloc(ctx, from->solution_tab_count, sizeof(*info->tab));
    info->__sizetab = info->tab ? (int)from->solution_tab_count : 0;
    for (int i = 0; i < info->__sizetab; i++) {
        info->tab[i].label = vim_in_lines(ctx, from->solution_tabs[i].label, "solutionManagerInfo.tab.label");
        info->tab[i].url = vim_in_text(ctx, from->solution_tabs[i].url, "solutionManagerInfo.tab.url");
    }
    info->smallIconUrl = vim_in_optional(ctx, from->solution_small_icon_url, "solutionManagerInfo.smallIconUrl");
    to->solutionManagerInfo = info;
}

static char *put_heartbeat(struct vim_context *ctx, const char *given) {
    char now[CLOCK_RFC3339_BYTES];
    clock_format(clock_wall_ms(), now);
    return vim_in_text(ctx, given ? given : now, "lastHeartbeatTime");
}

struct vim25__Extension *vim_in_extension(struct vim_context *ctx, const struct vim_extension *from) {
    struct vim25__Extension *to = vim_in_alloc(ctx, 1, sizeof(*to));
    if (!to)
        return NULL;
    to->description = put_description(ctx, &from->description, "description");
    to->key = vim_in_text(ctx, from->key, "key");
    to->company = vim_in_optional(ctx, from->company, "company");
    to->type = vim_in_optional(ctx, from->type, "type");
    to->version = vim_in_text(ctx, from->version, "version");
    to->subjectName = vim_in_optional(ctx, from->subject_name, "subjectName");
    put_ends(ctx, from, to);
    put_types(ctx, from, to);
    put_resources(ctx, from, to);
    to->lastHeartbeatTime = put_heartbeat(ctx, from->last_heartbeat_time);
    if (from->health_url && (to->healthInfo = vim_in_alloc(ctx, 1, sizeof(*to->healthInfo))))
        to->healthInfo->url = vim_in_text(ctx, from->health_url, "healthInfo.url");
    put_ovf(ctx, from, to);
    put_product(ctx, from, to);
    put_managed(ctx, from, to);
    put_solution(ctx, from, to);
    return to;
}
