/* What is looked at before machines are built somewhere. Layer 2 (vim). SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Properties: vSphere Web Services API reference, Datastore.summary, ComputeResource, VirtualMachine.config and .guest. */
#include "vim_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_addr.h"
#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define CONTRACT_KEY "guestinfo.kaas.node"
#define CONTRACT_BYTES_MAX 4096U

/* Reads these properties (ended by NULL) of one object. */
struct site_one {
    const char *type, *moref;
    const char *const *paths;
    vim_object_fn *fn;
    void *arg;
    bool was_told;
};

static int site_pass(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct site_one *one = arg;
    one->was_told = true;
    return one->fn(ctx, object, one->arg, err);
}

static int site_op(struct vim_context *ctx, void *arg, struct err *err) {
    struct site_one *one = arg;
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, one->type, one->moref, 1);
    one->was_told = false;
    if (spec)
        vim_in_paths(ctx, &spec->propSet[0], one->type, one->paths);
    int rc = vim_retrieve(ctx, spec, site_pass, one, err);
    return rc || one->was_told ? rc : err_set(err, ERR_NOT_FOUND, "%s has no %s %s", ctx->route->peer, one->type, one->moref);
}

static int site_take_number(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path, int64_t *out,
                            struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_LONG64, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    *out = value && *(const LONG64 *)value >= 0 ? *(const LONG64 *)value : -1;
    return rc;
}

static int site_take_bool(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path, bool *out,
                          struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_xsd__boolean, VIM_MAY_UNSET};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    *out = value && *(const enum xsd__boolean *)value == xsd__boolean__true_;
    return rc;
}

/* NULL: not told. */
static int site_take_text(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path, const char **out,
                          struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_string, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    *out = value;
    return rc;
}

/* -- a datastore --------------------------------------------------------------------------------------------------------------- */

static int site_take_datastore(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct vim_datastore *to = arg;
    const char *mode = NULL;
    int rc = site_take_number(ctx, object, "summary.freeSpace", &to->free_bytes, err);
    rc = rc ? rc : site_take_number(ctx, object, "summary.capacity", &to->capacity_bytes, err);
    rc = rc ? rc : site_take_bool(ctx, object, "summary.accessible", &to->is_accessible, err);
    rc = rc ? rc : site_take_text(ctx, object, "summary.maintenanceMode", &mode, err);
    to->is_in_maintenance = mode && !str_eq(mode, "normal");
    return rc;
}

int vim_lookup_datastore(struct vim_client *client, const char *moref, struct vim_datastore *out, struct err *err) {
    static const char *const paths[] = {"summary.freeSpace", "summary.capacity", "summary.accessible", "summary.maintenanceMode",
                                        NULL};
    struct vim_datastore found = {.free_bytes = -1};
    struct site_one one = {"Datastore", moref, paths, site_take_datastore, &found, false};
    int rc = vim_client_run_as_us(client, site_op, &one, err);
    if (!rc)
        *out = found;
    return rc;
}

/* -- what a vSphere cluster reaches -------------------------------------------------------------------------------------------- */

static void site_ids_done(char **ids, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
}

void vim_reach_done(struct vim_reach *reach) {
    if (!reach)
        return;
    site_ids_done(reach->datastores, reach->datastore_count);
    site_ids_done(reach->networks, reach->network_count);
    *reach = (struct vim_reach){0};
}

static int site_take_ids(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path, char ***out,
                         size_t *count, struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_vim25__ArrayOfManagedObjectReference, VIM_MAY_UNSET};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    const struct vim25__ArrayOfManagedObjectReference *array = value;
    const int n = rc || !array ? 0 : array->__sizeManagedObjectReference;
    *out = n > 0 ? calloc((size_t)n, sizeof(**out)) : NULL;
    if (n > 0 && !*out)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        if (str_empty(array->ManagedObjectReference[i].__item))
            continue;
        (*out)[*count] = str_dup(array->ManagedObjectReference[i].__item);
        if (!(*out)[(*count)++])
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return rc;
}

static int site_take_reach(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct vim_reach *to = arg;
    vim_reach_done(to); /* it may run again when the session was lost on the way */
    int rc = site_take_ids(ctx, object, "datastore", &to->datastores, &to->datastore_count, err);
    return rc ? rc : site_take_ids(ctx, object, "network", &to->networks, &to->network_count, err);
}

int vim_lookup_reach(struct vim_client *client, const char *cluster, struct vim_reach *out, struct err *err) {
    static const char *const paths[] = {"datastore", "network", NULL};
    struct vim_reach found = {0};
    struct site_one one = {"ClusterComputeResource", cluster, paths, site_take_reach, &found, false};
    int rc = vim_client_run_as_us(client, site_op, &one, err);
    if (rc)
        vim_reach_done(&found);
    else
        *out = found;
    return rc;
}

/* -- a template ---------------------------------------------------------------------------------------------------------------- */

void vim_source_done(struct vim_source *source) {
    if (!source)
        return;
    free(source->contract);
    *source = (struct vim_source){0};
}

static int site_take_contract(struct vim_context *ctx, const struct vim25__ObjectContent *object, struct vim_source *to,
                              struct err *err) {
    static const struct vim_property property = {"config.extraConfig", SOAP_TYPE_vim25__ArrayOfOptionValue, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    const struct vim25__ArrayOfOptionValue *array = value;
    for (int i = 0; !rc && array && i < array->__sizeOptionValue; i++) {
        const struct vim25__OptionValue *option = &array->OptionValue[i];
        if (!str_eq(option->key, CONTRACT_KEY) || option->__type != SOAP_TYPE_string || !option->value ||
            strlen(option->value) > CONTRACT_BYTES_MAX)
            continue;
        rc = str_replace(&to->contract, option->value, err);
    }
    return rc;
}

static int site_take_source(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property tools = {"config.tools.toolsVersion", SOAP_TYPE_int, VIM_OPTIONAL};
    struct vim_source *to = arg;
    const char *version = NULL;
    const void *value = NULL;
    vim_source_done(to); /* it may run again when the session was lost on the way */
    int rc = site_take_bool(ctx, object, "config.template", &to->is_template, err);
    rc = rc ? rc : site_take_text(ctx, object, "config.version", &version, err);
    if (!version || !str_starts(version, "vmx-") || !str_to_i64(version + strlen("vmx-"), 1, 9999, &to->hardware))
        to->hardware = -1;
    rc = rc ? rc : vim_property_get(ctx, object, &tools, &value, err);
    to->has_had_tools = value && *(const int *)value > 0;
    return rc ? rc : site_take_contract(ctx, object, to, err);
}

int vim_lookup_source(struct vim_client *client, const char *moref, struct vim_source *out, struct err *err) {
    static const char *const paths[] = {"config.template", "config.version", "config.tools.toolsVersion", "config.extraConfig",
                                        NULL};
    struct vim_source found = {0};
    struct site_one one = {"VirtualMachine", moref, paths, site_take_source, &found, false};
    int rc = vim_client_run_as_us(client, site_op, &one, err);
    if (rc)
        vim_source_done(&found);
    else
        *out = found;
    return rc;
}

/* -- addresses in use ---------------------------------------------------------------------------------------------------------- */

void vim_used_addresses_done(struct vim_used_addresses *used) {
    if (!used)
        return;
    for (size_t i = 0; i < used->count; i++)
        free(used->items[i].machine);
    free(used->items);
    *used = (struct vim_used_addresses){0};
}

struct used_reading {
    struct vim_used_addresses found;
    size_t alloc;
};

static int site_add_address(struct used_reading *r, const char *address, const char *machine, struct err *err) {
    uint8_t parsed[16];
    if (!net_addr_parse(address, parsed)) /* people can make a guest report anything */
        return 0;
    if (r->found.count == r->alloc) {
        const size_t alloc = r->alloc ? r->alloc * 2 : 64;
        struct vim_used_address *more = reallocarray(r->found.items, alloc, sizeof(*more));
        if (!more)
            return err_set(err, ERR_NOMEM, "out of memory");
        r->found.items = more;
        r->alloc = alloc;
    }
    struct vim_used_address *to = &r->found.items[r->found.count];
    net_addr_format(parsed, to->address);
    to->machine = str_dup(machine);
    if (!to->machine)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_unescape_name(to->machine);
    r->found.count++;
    return 0;
}

static int site_take_addresses(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property net = {"guest.net", SOAP_TYPE_vim25__ArrayOfGuestNicInfo, VIM_OPTIONAL};
    const char *name = NULL;
    const void *value = NULL;
    int rc = site_take_text(ctx, object, "name", &name, err);
    rc = rc ? rc : vim_property_get(ctx, object, &net, &value, err);
    const struct vim25__ArrayOfGuestNicInfo *cards = value;
    for (int i = 0; !rc && cards && i < cards->__sizeGuestNicInfo; i++)
        for (int k = 0; !rc && k < cards->GuestNicInfo[i].__sizeipAddress; k++)
            rc = site_add_address(arg, cards->GuestNicInfo[i].ipAddress[k], name ? name : "a machine", err);
    return rc;
}

static int site_read_addresses(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const types[] = {"VirtualMachine", NULL}, *const paths[] = {"name", "guest.net", NULL};
    struct used_reading *r = arg;
    char view[VIM_VIEW_BYTES];
    vim_used_addresses_done(&r->found); /* it may run again when the session was lost on the way */
    r->alloc = 0;
    int rc = vim_create_view(ctx, types, view, err);
    if (rc)
        return rc;
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "ContainerView", view, 1);
    if (spec) {
        vim_in_paths(ctx, &spec->propSet[0], types[0], paths);
        vim_in_view(ctx, &spec->objectSet[0], NULL);
    }
    rc = vim_retrieve(ctx, spec, site_take_addresses, r, err);
    vim_destroy_view(ctx, view);
    return rc;
}

int vim_list_used_addresses(struct vim_client *client, struct vim_used_addresses *out, struct err *err) {
    struct used_reading r = {.alloc = 0};
    int rc = vim_client_run_as_us(client, site_read_addresses, &r, err);
    if (rc)
        vim_used_addresses_done(&r.found);
    else
        *out = r.found;
    return rc;
}
