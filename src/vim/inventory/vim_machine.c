/* What virtual machines have, and what they use now. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_machine.h"

#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define MACHINES_AT_ONCE 100U
#define LEFT_OUT_MAX 8 /* machines of one batch for which the call is repeated */
#define DATASTORE_NAME_BYTES_MAX 255U

static void vim_machine_done(struct vim_machine *machine) {
    free(machine->moref);
    for (size_t i = 0; i < machine->datastore_count; i++)
        free(machine->datastores[i]);
}

void vim_machine_list_done(struct vim_machine_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        vim_machine_done(&list->items[i]);
    if (!list)
        return;
    free(list->items);
    *list = (struct vim_machine_list){0};
}

/* -- asking ------------------------------------------------------------------------------------------------------------------ */

struct vim_machine_reading {
    const char *const *morefs;
    size_t count;
    bool *is_left_out;             /* of each: it is gone, or may not be read */
    struct vim_machine_list found; /* room for all */
};

static struct vim25__PropertyFilterSpec *vim_machine_make_filter(struct vim_context *ctx, const struct vim_machine_reading *of,
                                                                 size_t begin, size_t end) {
    static const char *const paths[] = {"summary.config.numCpu",
                                        "summary.config.memorySizeMB",
                                        "summary.runtime.maxCpuUsage",
                                        "summary.quickStats.overallCpuUsage",
                                        "summary.quickStats.guestMemoryUsage",
                                        "summary.storage.committed",
                                        "summary.storage.uncommitted",
                                        "config.datastoreUrl",
                                        NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "VirtualMachine", of->morefs[begin], 1);
    struct vim25__ObjectSpec *objects = spec ? vim_in_alloc(ctx, end - begin, sizeof(*objects)) : NULL;
    if (!objects)
        return NULL;
    vim_in_paths(ctx, &spec->propSet[0], "VirtualMachine", paths);
    spec->objectSet = objects;
    spec->__sizeobjectSet = 0;
    for (size_t i = begin; i < end; i++)
        if (!of->is_left_out[i])
            objects[spec->__sizeobjectSet++].obj = vim_in_ref(ctx, "VirtualMachine", of->morefs[i]);
    return spec;
}

/* -- answers ----------------------------------------------------------------------------------------------------------------- */

static int vim_machine_take_int(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path,
                                int64_t *out, struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_int, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    *out = value && *(const int *)value >= 0 ? *(const int *)value : -1;
    return rc;
}

static int vim_machine_take_long(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path,
                                 int64_t *out, struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_LONG64, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    *out = value && *(const LONG64 *)value >= 0 ? *(const LONG64 *)value : -1;
    return rc;
}

static int vim_machine_take_disk(struct vim_context *ctx, const struct vim25__ObjectContent *object, struct vim_machine *to,
                                 struct err *err) {
    int64_t more = -1;
    int rc = vim_machine_take_long(ctx, object, "summary.storage.committed", &to->disk_used_bytes, err);
    if (!rc)
        rc = vim_machine_take_long(ctx, object, "summary.storage.uncommitted", &more, err);
    const bool is_told = to->disk_used_bytes >= 0 && more >= 0 && more <= INT64_MAX - to->disk_used_bytes;
    to->disk_bytes = is_told ? to->disk_used_bytes + more : -1;
    return rc;
}

static int vim_machine_take_datastores(struct vim_context *ctx, const struct vim25__ObjectContent *object, struct vim_machine *to,
                                       struct err *err) {
    static const struct vim_property urls = {"config.datastoreUrl",
                                             SOAP_TYPE_vim25__ArrayOfVirtualMachineConfigInfoDatastoreUrlPair, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &urls, &value, err);
    const struct vim25__ArrayOfVirtualMachineConfigInfoDatastoreUrlPair *pairs = value;
    const int count = rc || !pairs ? 0 : pairs->__sizeVirtualMachineConfigInfoDatastoreUrlPair;
    for (int i = 0; i < count && to->datastore_count < VIM_MACHINE_DATASTORES_MAX; i++) {
        const char *name = pairs->VirtualMachineConfigInfoDatastoreUrlPair[i].name;
        if (str_empty(name) || strlen(name) > DATASTORE_NAME_BYTES_MAX)
            continue;
        char *copy = to->datastores[to->datastore_count] = str_dup(name);
        if (!copy)
            return err_set(err, ERR_NOMEM, "out of memory");
        vim_unescape_name(copy);
        to->datastore_count++;
    }
    return rc;
}

static bool vim_machine_was_asked(const struct vim_machine_reading *reading, const char *moref) {
    for (size_t i = 0; i < reading->found.count; i++)
        if (str_eq(reading->found.items[i].moref, moref))
            return false;
    for (size_t i = 0; i < reading->count; i++)
        if (str_eq(reading->morefs[i], moref))
            return true;
    return false;
}

static int vim_machine_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct vim_machine_reading *reading = arg;
    const char *moref = object->obj ? object->obj->__item : NULL;
    if (!moref || vim_object_is_denied(object) || !vim_machine_was_asked(reading, moref))
        return 0;
    struct vim_machine *to = &reading->found.items[reading->found.count++];
    *to = (struct vim_machine){.moref = str_dup(moref)};
    int rc = to->moref ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = vim_machine_take_int(ctx, object, "summary.config.numCpu", &to->cpu_count, err);
    if (!rc)
        rc = vim_machine_take_int(ctx, object, "summary.config.memorySizeMB", &to->memory_mib, err);
    if (!rc)
        rc = vim_machine_take_int(ctx, object, "summary.runtime.maxCpuUsage", &to->cpu_mhz, err);
    if (to->cpu_mhz == 0) /* running machines of vCenter's own (vCLS) say so, and use some */
        to->cpu_mhz = -1;
    if (!rc)
        rc = vim_machine_take_int(ctx, object, "summary.quickStats.overallCpuUsage", &to->cpu_used_mhz, err);
    if (!rc)
        rc = vim_machine_take_int(ctx, object, "summary.quickStats.guestMemoryUsage", &to->memory_used_mib, err);
    if (!rc)
        rc = vim_machine_take_disk(ctx, object, to, err);
    return rc ? rc : vim_machine_take_datastores(ctx, object, to, err);
}

/* -- calls ------------------------------------------------------------------------------------------------------------------- */

/* The one that is gone, or may not be read, as the fault says; false: it says something else, or of none of ours. */
static bool vim_machine_leave_out(struct vim_machine_reading *reading, const struct vim_fault *fault) {
    const bool is_about_one = fault->kind == VIM_FAULT_OBJECT_GONE || fault->kind == VIM_FAULT_NO_PERMISSION;
    bool is_any = false;
    for (size_t i = 0; is_about_one && i < reading->count; i++)
        if (!reading->is_left_out[i] && str_eq(reading->morefs[i], fault->object))
            reading->is_left_out[i] = is_any = true;
    return is_any;
}

/* One that is gone fails the call, and so may one that we may not read: then it is repeated without. */
static int vim_machine_read_batch(struct vim_context *ctx, struct vim_machine_reading *reading, size_t begin, size_t end,
                                  struct err *err) {
    for (int attempt = 0;; attempt++) {
        struct err why = {0};
        vim_context_reset(ctx);
        if (ctx->route->timeout_ms > KAAS_VIM_LOOK_TIMEOUT_MS)
            ctx->timeout_ms = KAAS_VIM_LOOK_TIMEOUT_MS;
        struct vim25__PropertyFilterSpec *spec = vim_machine_make_filter(ctx, reading, begin, end);
        if (spec && !spec->__sizeobjectSet)
            return 0;
        int rc = vim_retrieve(ctx, spec, vim_machine_take, reading, &why);
        if (!rc || attempt == LEFT_OUT_MAX || !vim_machine_leave_out(reading, &ctx->fault))
            return err_move(err, rc, &why);
    }
}

static void vim_machine_forget(struct vim_machine_reading *reading) {
    for (size_t i = 0; i < reading->found.count; i++)
        vim_machine_done(&reading->found.items[i]);
    reading->found.count = 0;
    memset(reading->is_left_out, 0, reading->count * sizeof(*reading->is_left_out));
}

/* It may run again when the session was lost on the way. */
static int vim_machine_run(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_machine_reading *reading = arg;
    int rc = 0;
    vim_machine_forget(reading);
    for (size_t at = 0; !rc && at < reading->count; at += MACHINES_AT_ONCE)
        rc = vim_machine_read_batch(ctx, reading, at,
                                    reading->count - at < MACHINES_AT_ONCE ? reading->count : at + MACHINES_AT_ONCE, err);
    ctx->timeout_ms = 0;
    return rc;
}

int vim_list_machines(struct vim_client *client, const char *const *morefs, size_t count, struct vim_machine_list *out,
                      struct err *err) {
    struct vim_machine_reading reading = {.morefs = morefs, .count = count};
    reading.is_left_out = calloc(count + 1, sizeof(*reading.is_left_out));
    reading.found.items = calloc(count + 1, sizeof(*reading.found.items));
    int rc = reading.is_left_out && reading.found.items ? vim_client_run_as_us(client, vim_machine_run, &reading, err)
                                                        : err_set(err, ERR_NOMEM, "out of memory");
    free(reading.is_left_out);
    if (rc)
        vim_machine_list_done(&reading.found);
    else
        *out = reading.found;
    return rc;
}
