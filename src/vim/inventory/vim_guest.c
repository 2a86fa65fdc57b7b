/* The addresses that guests of virtual machines report. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_guest.h"

#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define GUEST_ADDRESS_BYTES_MAX 64U

void vim_guest_addresses_done(struct vim_guest_addresses *addresses) {
    for (size_t i = 0; addresses && i < addresses->count; i++)
        free(addresses->items[i]);
    if (addresses)
        addresses->count = 0;
}

/* -- asking ------------------------------------------------------------------------------------------------------------------ */

/* From the cluster, which is left out, to its hosts and on to the machines there. */
static void vim_guest_fill_way(struct vim_context *ctx, struct vim25__ObjectSpec *from) {
    struct vim25__TraversalSpec *hosts = vim_in_alloc(ctx, 1, sizeof(*hosts)),
                                *machines = vim_in_alloc(ctx, 1, sizeof(*machines));
    enum xsd__boolean *yes = vim_in_alloc(ctx, 1, sizeof(*yes));
    if (!hosts || !machines || !yes) /* ctx->err tells */
        return;
    *yes = xsd__boolean__true_;
    machines->type = vim_in_text(ctx, "HostSystem", "a type");
    machines->path = vim_in_text(ctx, "vm", "a path");
    hosts->type = vim_in_text(ctx, "ComputeResource", "a type");
    hosts->path = vim_in_text(ctx, "host", "a path");
    hosts->__type = SOAP_TYPE_vim25__TraversalSpec;
    hosts->selectSet = machines;
    from->skip = yes;
    from->__type = SOAP_TYPE_vim25__TraversalSpec;
    from->selectSet = hosts;
}

static struct vim25__PropertyFilterSpec *vim_guest_make_filter(struct vim_context *ctx, const char *cluster) {
    static const char *const paths[] = {"name", "guest.net", NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "ClusterComputeResource", cluster, 1);
    if (!spec)
        return NULL;
    vim_in_paths(ctx, &spec->propSet[0], "VirtualMachine", paths);
    vim_guest_fill_way(ctx, &spec->objectSet[0]);
    return spec;
}

/* -- answers ----------------------------------------------------------------------------------------------------------------- */

struct vim_guest_reading {
    const struct vim_guest_query *query;
    struct vim_guest_addresses found;
};

static bool vim_guest_has(const struct vim_guest_addresses *addresses, const char *address) {
    for (size_t i = 0; i < addresses->count; i++)
        if (str_eq(addresses->items[i], address))
            return true;
    return false;
}

static int vim_guest_keep(struct vim_guest_addresses *out, const char *address, struct err *err) {
    if (str_empty(address) || strlen(address) > GUEST_ADDRESS_BYTES_MAX || out->count == VIM_GUEST_ADDRESSES_MAX ||
        vim_guest_has(out, address))
        return 0;
    out->items[out->count] = str_dup(address);
    if (!out->items[out->count])
        return err_set(err, ERR_NOMEM, "out of memory");
    out->count++;
    return 0;
}

static int vim_guest_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property name = {"name", SOAP_TYPE_string, VIM_OPTIONAL};
    static const struct vim_property net = {"guest.net", SOAP_TYPE_vim25__ArrayOfGuestNicInfo, VIM_OPTIONAL};
    struct vim_guest_reading *reading = arg;
    const void *text = NULL, *value = NULL;
    int rc = vim_property_get(ctx, object, &name, &text, err);
    if (!rc)
        rc = vim_property_get(ctx, object, &net, &value, err);
    const struct vim25__ArrayOfGuestNicInfo *adapters = value;
    if (rc || !text || !adapters || !str_starts(text, reading->query->name_prefix))
        return rc;
    for (int i = 0; !rc && i < adapters->__sizeGuestNicInfo; i++)
        for (int k = 0; !rc && k < adapters->GuestNicInfo[i].__sizeipAddress; k++)
            if (str_eq(adapters->GuestNicInfo[i].network, reading->query->network))
                rc = vim_guest_keep(&reading->found, adapters->GuestNicInfo[i].ipAddress[k], err);
    return rc;
}

/* It may run again when the session was lost on the way. */
static int vim_guest_run(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_guest_reading *reading = arg;
    vim_guest_addresses_done(&reading->found);
    return vim_retrieve(ctx, vim_guest_make_filter(ctx, reading->query->cluster), vim_guest_take, reading, err);
}

int vim_list_guest_addresses(struct vim_client *client, const struct vim_guest_query *query, struct vim_guest_addresses *out,
                             struct err *err) {
    struct vim_guest_reading reading = {.query = query};
    int rc = vim_client_run_as_us(client, vim_guest_run, &reading, err);
    if (rc)
        vim_guest_addresses_done(&reading.found);
    else
        *out = reading.found;
    return rc;
}
