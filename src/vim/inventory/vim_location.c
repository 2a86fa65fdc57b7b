/* Where a virtual machine is: its host and its datastores. Layer 2 (vim). SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_location.h"

#include <stdio.h>
#include <string.h>

#include "str.h"
#include "uuid.h"
#include "vim_client.h"
#include "vim_property.h"

#define MACHINE "VirtualMachine"
#define HOST "HostSystem"

struct vim_location_search {
    const char *uuid;
    struct vim_location found;
};

static void vim_location_copy(char out[VIM_LOCATION_TEXT_BYTES], const char *text) {
    (void)snprintf(out, VIM_LOCATION_TEXT_BYTES, "%s", text ? text : "");
}

static int vim_location_take_machine(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg,
                                     struct err *err) {
    static const struct vim_property host = {"runtime.host", SOAP_TYPE_vim25__ManagedObjectReference, VIM_OPTIONAL};
    static const struct vim_property urls = {"config.datastoreUrl",
                                             SOAP_TYPE_vim25__ArrayOfVirtualMachineConfigInfoDatastoreUrlPair, VIM_OPTIONAL};
    struct vim_location *to = &((struct vim_location_search *)arg)->found;
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &host, &value, err);
    if (!rc && value)
        vim_location_copy(to->host, ((const struct vim25__ManagedObjectReference *)value)->__item);
    rc = rc ? rc : vim_property_get(ctx, object, &urls, &value, err);
    const struct vim25__ArrayOfVirtualMachineConfigInfoDatastoreUrlPair *pairs = rc ? NULL : value;
    const int count = pairs ? pairs->__sizeVirtualMachineConfigInfoDatastoreUrlPair : 0;
    for (int i = 0; i < count && to->datastore_count < VIM_LOCATION_DATASTORES_MAX; i++) {
        const struct vim25__VirtualMachineConfigInfoDatastoreUrlPair *pair = &pairs->VirtualMachineConfigInfoDatastoreUrlPair[i];
        if (str_empty(pair->name) || str_empty(pair->url))
            continue;
        vim_location_copy(to->datastores[to->datastore_count].name, pair->name);
        vim_unescape_name(to->datastores[to->datastore_count].name);
        vim_location_copy(to->datastores[to->datastore_count++].url, pair->url);
    }
    return rc;
}

static int vim_location_take_host(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg,
                                  struct err *err) {
    static const struct vim_property name = {"name", SOAP_TYPE_string, VIM_OPTIONAL};
    struct vim_location *to = &((struct vim_location_search *)arg)->found;
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &name, &value, err);
    if (rc)
        return rc;
    vim_location_copy(to->host_name, value ? value : to->host);
    vim_unescape_name(to->host_name);
    return 0;
}

static int vim_location_find(struct vim_context *ctx, const char *uuid, char machine[VIM_VIEW_BYTES], struct err *err) {
    machine[0] = '\0';
    VIM_REQUEST(ctx, FindByUuid, "SearchIndex", ctx->content.search_index, .vmSearch = xsd__boolean__true_);
    request.uuid = vim_in_text(ctx, uuid, "the UUID");
    int rc = VIM_CALL(ctx, FindByUuid, &request, &response, err);
    return rc || !response.returnval ? rc : vim_keep_id(ctx, response.returnval, "the machine", machine, err);
}

static int vim_location_op(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const paths[] = {"runtime.host", "config.datastoreUrl", NULL};
    struct vim_location_search *search = arg;
    char machine[VIM_VIEW_BYTES], turned[UUID_TEXT_BYTES];
    int rc = vim_location_find(ctx, search->uuid, machine, err);
    search->found = (struct vim_location){.host = ""};
    if (!rc && !machine[0]) {
        uuid_turn(search->uuid, turned);
        rc = vim_location_find(ctx, turned, machine, err);
    }
    if (rc)
        return rc;
    if (!machine[0])
        return err_set(err, ERR_NOT_FOUND, "%s has no virtual machine with the BIOS UUID %s", ctx->route->peer, search->uuid);
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, MACHINE, machine, 1);
    if (spec)
        vim_in_paths(ctx, &spec->propSet[0], MACHINE, paths);
    rc = vim_retrieve(ctx, spec, vim_location_take_machine, search, err);
    if (rc || !search->found.host[0])
        return rc;
    return vim_retrieve_one(ctx, &(struct vim_one){HOST, search->found.host, "name"}, vim_location_take_host, search, err);
}

int vim_lookup_location(struct vim_client *client, const char *bios_uuid, struct vim_location *out, struct err *err) {
    struct vim_location_search search = {.uuid = bios_uuid};
    int rc;
    if (!uuid_is_valid(bios_uuid))
        return err_set(err, ERR_UNPROCESSABLE, "\"%.40s\" is no UUID", bios_uuid);
    rc = vim_client_run_as_us(client, vim_location_op, &search, err);
    if (!rc)
        *out = search.found;
    return rc;
}
