/* Calls of ExtensionManager. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_extension.h"

#include <string.h>

#include "clock.h"
#include "str.h"
#include "vim.h"
#include "vim_client.h"
#include "vim_extension_private.h"
#include "vim_property.h"
#include "x509.h"

static struct vim25__ManagedObjectReference *put_manager(struct vim_context *ctx) {
    return vim_in_ref(ctx, "ExtensionManager", ctx->content.extension_manager);
}

/* ---- reading ---- */

struct find {
    const char *key;
    struct vim_extension *found;
};

static int op_find(struct vim_context *ctx, void *arg, struct err *err) {
    struct find *find = arg;
    struct _vim25__FindExtension request = {0};
    struct _vim25__FindExtensionResponse response;
    int ret;
    request._USCOREthis = put_manager(ctx);
    request.extensionKey = vim_in_text(ctx, find->key, "the extension key");
    ret = VIM_CALL(ctx, FindExtension, &request, &response, err);
    if (ret || !response.returnval)
        return ret;
    return vim_extension_of_wire(response.returnval, &find->found, err);
}

int vim_find_extension(struct vim_client *client, const char *key, struct vim_extension **out, struct err *err) {
    struct find find = {.key = key};
    int ret = vim_client_run_as_us(client, op_find, &find, err);
    if (!ret)
        *out = find.found;
    return ret;
}

void vim_key_list_done(struct vim_key_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

static int vim_extension_take_keys(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg,
                                   struct err *err) {
    static const struct vim_property property = {"extensionList", SOAP_TYPE_vim25__ArrayOfExtension, VIM_MAY_UNSET};
    struct vim_key_list *list = arg;
    const struct vim25__ArrayOfExtension *array;
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    vim_key_list_done(list);
    array = value;
    if (ret || !array || array->__sizeExtension <= 0)
        return ret;
    list->items = calloc((size_t)array->__sizeExtension, sizeof(*list->items));
    if (!list->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int i = 0; i < array->__sizeExtension; i++) {
        if (str_empty(array->Extension[i].key))
            continue;
        list->items[list->count] = str_dup(array->Extension[i].key);
        if (!list->items[list->count++])
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

static int op_list_keys(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_one one = {"ExtensionManager", ctx->content.extension_manager, "extensionList"};
    return vim_retrieve_one(ctx, &one, vim_extension_take_keys, arg, err);
}

int vim_list_extension_keys(struct vim_client *client, struct vim_key_list *out, struct err *err) {
    struct vim_key_list list = {0};
    int ret = vim_client_run_as_us(client, op_list_keys, &list, err);
    if (ret)
        vim_key_list_done(&list);
    else
        *out = list;
    return ret;
}

/* ---- writing ---- */

struct write {
    const struct vim_extension *extension;
    const char *key, *pem, *account;
};

static int op_register(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    struct _vim25__RegisterExtension request = {0};
    struct _vim25__RegisterExtensionResponse response;
    request._USCOREthis = put_manager(ctx);
    request.extension = vim_in_extension(ctx, write->extension);
    return VIM_CALL(ctx, RegisterExtension, &request, &response, err);
}

static int vim_extension_op_update(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    struct _vim25__UpdateExtension request = {0};
    struct _vim25__UpdateExtensionResponse response;
    request._USCOREthis = put_manager(ctx);
    request.extension = vim_in_extension(ctx, write->extension);
    return VIM_CALL(ctx, UpdateExtension, &request, &response, err);
}

static int op_unregister(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    struct _vim25__UnregisterExtension request = {0};
    struct _vim25__UnregisterExtensionResponse response;
    request._USCOREthis = put_manager(ctx);
    request.extensionKey = vim_in_text(ctx, write->key, "the extension key");
    return VIM_CALL(ctx, UnregisterExtension, &request, &response, err);
}

static int op_set_certificate(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    struct _vim25__SetExtensionCertificate request = {0};
    struct _vim25__SetExtensionCertificateResponse response;
    request._USCOREthis = put_manager(ctx);
    request.extensionKey = vim_in_text(ctx, write->key, "the extension key");
    request.certificatePem = vim_in_lines(ctx, write->pem, "the certificate");
    return VIM_CALL(ctx, SetExtensionCertificate, &request, &response, err);
}

/* Says which extension is not there. */
static int vim_extension_run_on_key(struct vim_client *client, vim_op_fn *fn, struct write *write, struct err *err) {
    struct err reason = {0};
    int ret = vim_client_run_as_us(client, fn, write, &reason);
    if (ret == ERR_NOT_FOUND)
        return err_set(err, ret, "vCenter %s has no extension %s", client->peer, write->key);
    return err_move(err, ret, &reason);
}

/* vCenter answers InvalidArgument for a key that is taken, and does not say so: asked first, so that the error is exact. */
int vim_register_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err) {
    struct write write = {.extension = extension};
    struct vim_extension *existing = NULL;
    int ret = vim_find_extension(client, extension->key, &existing, err);
    if (ret)
        return ret;
    if (existing) {
        vim_extension_free(existing);
        return err_set(err, ERR_EXISTS, "vCenter %s has an extension %s already", client->peer, extension->key);
    }
    return vim_client_run_as_us(client, op_register, &write, err);
}

int vim_update_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err) {
    struct write write = {.extension = extension, .key = extension->key};
    return vim_extension_run_on_key(client, vim_extension_op_update, &write, err);
}

int vim_unregister_extension(struct vim_client *client, const char *key, struct err *err) {
    struct write write = {.key = key};
    return vim_extension_run_on_key(client, op_unregister, &write, err);
}

/* vCenter is picky about the form of the text: 64 columns, LF, one certificate; so it is written anew from what was read. */
int vim_set_extension_certificate(struct vim_client *client, const char *key, const char *cert_pem, struct err *err) {
    struct write write = {.key = key};
    struct x509_info info = {0};
    int ret = x509_parse_pem(cert_pem, &info, err);
    if (ret)
        return ret;
    write.pem = info.pem;
    ret = vim_extension_run_on_key(client, op_set_certificate, &write, err);
    x509_info_done(&info);
    return ret;
}

static int op_set_account(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    struct _vim25__SetServiceAccount request = {0};
    struct _vim25__SetServiceAccountResponse response;
    if (!vim_version_is_at_least(ctx->content.version, "8.0.2.0")) {
        (void)err_set(err, ERR_UPSTREAM, "%s speaks API %s, which has no service accounts of extensions", ctx->route->peer,
                      ctx->content.version);
        return err_remedy(err, "use vCenter 8.0 U2 or newer, or another way to log in");
    }
    request._USCOREthis = put_manager(ctx);
    request.extensionKey = vim_in_text(ctx, write->key, "the extension key");
    request.serviceAccount = vim_in_text(ctx, write->account, "the service account");
    return VIM_CALL(ctx, SetServiceAccount, &request, &response, err);
}

int vim_set_service_account(struct vim_client *client, const char *key, const char *account, struct err *err) {
    struct write write = {.key = key, .account = account};
    return vim_extension_run_on_key(client, op_set_account, &write, err);
}

/* -- extension records: from our structs to the codec's ------------------------------------------------------------ */

/* vCenter replaces the whole record, so every member is carried. Members newer than the agreed API version are left out: a real
 * vCenter refuses a request that holds one. */

#define SINCE_SERVER_CERTIFICATE "8.0.2.0"

static struct vim25__Description *put_description(struct vim_context *ctx, const struct vim_description *from, const char *what) {
    struct vim25__Description *to = vim_in_alloc(ctx, 1, sizeof(*to));
    if (!to)
        return NULL;
    to->label = vim_in_lines(ctx, from->label, what);
    to->summary = vim_in_lines(ctx, from->summary, what);
    return to;
}

static void vim_extension_put_server(struct vim_context *ctx, const struct vim_ext_server *from,
                                     struct vim25__ExtensionServerInfo *to) {
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

static void vim_extension_put_client(struct vim_context *ctx, const struct vim_ext_client *from,
                                     struct vim25__ExtensionClientInfo *to) {
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
        vim_extension_put_server(ctx, &from->servers[i], &to->server[i]);
    to->client = vim_in_alloc(ctx, from->client_count, sizeof(*to->client));
    to->__sizeclient = to->client ? (int)from->client_count : 0;
    for (int i = 0; i < to->__sizeclient; i++)
        vim_extension_put_client(ctx, &from->clients[i], &to->client[i]);
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

static void vim_extension_put_resource(struct vim_context *ctx, const struct vim_ext_resource *from,
                                       struct vim25__ExtensionResourceInfo *to) {
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
        vim_extension_put_resource(ctx, &from->resources[i], &to->resourceList[i]);
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
