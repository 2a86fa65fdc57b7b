/* Live watching: what it needs at the server. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One collector with four filters. Compute resources and machines are in views of their own, so that only the former lead up
 * through their folders: thousands of virtual machine folders are never looked at. Filters tell whole properties
 * (partialUpdates false), since a part of a list would have to be put into what we do not keep. */
#include <string.h>

#include "limits.h"
#include "log.h"
#include "str.h"
#include "vim_watch_private.h"

/* ---- removing ---- */

static void destroy_collector(struct vim_context *ctx, const char *id) {
    struct _vim25__DestroyPropertyCollector request = {0};
    struct _vim25__DestroyPropertyCollectorResponse response;
    if (ctx->err.code || str_empty(id)) /* no connection; nothing */
        return;
    request._USCOREthis = vim_in_ref(ctx, "PropertyCollector", id);
    (void)VIM_CALL(ctx, DestroyPropertyCollector, &request, &response, NULL);
}

static void destroy_events(struct vim_context *ctx, const char *id) {
    struct _vim25__DestroyCollector request = {0};
    struct _vim25__DestroyCollectorResponse response;
    if (ctx->err.code || str_empty(id))
        return;
    request._USCOREthis = vim_in_ref(ctx, "EventHistoryCollector", id);
    (void)VIM_CALL(ctx, DestroyCollector, &request, &response, NULL);
}

static void destroy_view(struct vim_context *ctx, const char *id) {
    if (!str_empty(id))
        vim_destroy_view(ctx, id);
}

/* The collector first: its filters go with it, and a call that waits on it ends. */
int vim_watch_op_clean(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_watch_site *site = arg;
    (void)err;
    destroy_collector(ctx, site->collector);
    destroy_view(ctx, site->clusters);
    destroy_view(ctx, site->machines);
    destroy_events(ctx, site->events);
    return 0;
}

/* ---- making ---- */

static int create_collector(struct vim_context *ctx, char out[VIM_VIEW_BYTES], struct err *err) {
    struct _vim25__CreatePropertyCollector request = {0};
    struct _vim25__CreatePropertyCollectorResponse response;
    int ret;
    request._USCOREthis = vim_in_ref(ctx, "PropertyCollector", ctx->content.property_collector);
    ret = VIM_CALL(ctx, CreatePropertyCollector, &request, &response, err);
    return ret ? ret : vim_keep_id(ctx, response.returnval, "the collector", out, err);
}

static int create_filter(struct vim_context *ctx, const char *collector, struct vim25__PropertyFilterSpec *spec,
                         struct err *err) {
    struct _vim25__CreateFilter request = {.spec = spec, .partialUpdates = xsd__boolean__false_};
    struct _vim25__CreateFilterResponse response;
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    request._USCOREthis = vim_in_ref(ctx, "PropertyCollector", collector);
    return VIM_CALL(ctx, CreateFilter, &request, &response, err);
}

/* A property spec for "ComputeResource" is one for clusters, too, which are derived from it. */
static int watch_clusters(struct vim_context *ctx, struct vim_watch_site *site, struct err *err) {
    static const char *const types[] = {"ClusterComputeResource", "ComputeResource", NULL};
    static const char *const both[] = {"name", "parent", NULL}, *const name[] = {"name", NULL},
                             *const parent[] = {"parent", NULL};
    struct vim25__PropertyFilterSpec *spec;
    int ret = vim_create_view(ctx, types, site->clusters, err);
    if (ret)
        return ret;
    spec = vim_in_filter(ctx, "ContainerView", site->clusters, 3);
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_paths(ctx, &spec->propSet[0], "ComputeResource", both);
    vim_in_paths(ctx, &spec->propSet[1], "Folder", parent);
    vim_in_paths(ctx, &spec->propSet[2], "Datacenter", name);
    vim_in_view(ctx, &spec->objectSet[0], vim_in_way_up(ctx));
    return create_filter(ctx, site->collector, spec, err);
}

static int watch_machines(struct vim_context *ctx, struct vim_watch_site *site, struct err *err) {
    static const char *const types[] = {"HostSystem", "VirtualMachine", NULL};
    static const char *const host[] = {
        "name", "parent", "runtime.connectionState", "runtime.powerState", "runtime.inMaintenanceMode", NULL};
    static const char *const vm[] = {"name",
                                     "config.instanceUuid",
                                     "config.uuid",
                                     "config.template",
                                     "runtime.host",
                                     "runtime.powerState",
                                     "runtime.connectionState",
                                     NULL};
    struct vim25__PropertyFilterSpec *spec;
    int ret = vim_create_view(ctx, types, site->machines, err);
    if (ret)
        return ret;
    spec = vim_in_filter(ctx, "ContainerView", site->machines, 2);
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_paths(ctx, &spec->propSet[0], "HostSystem", host);
    vim_in_paths(ctx, &spec->propSet[1], "VirtualMachine", vm);
    vim_in_view(ctx, &spec->objectSet[0], NULL);
    return create_filter(ctx, site->collector, spec, err);
}

static int watch_property(struct vim_context *ctx, const struct vim_watch_site *site, const struct vim_one *one,
                          struct err *err) {
    const char *paths[] = {one->path, NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, one->type, one->id, 1);
    if (spec)
        vim_in_paths(ctx, &spec->propSet[0], one->type, paths);
    return create_filter(ctx, site->collector, spec, err);
}

/* ---- events: what lies before the watch is passed over ---- */

static int skip_object(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct vim_watch *watch = arg;
    (void)ctx, (void)err;
    for (int i = 0; i < object->__sizepropSet; i++)
        vim_watch_skip_events(watch, object->propSet[i].__type, object->propSet[i].val);
    return 0;
}

static int watch_events(struct vim_context *ctx, struct vim_watch *watch, const struct vim_one *one, struct err *err) {
    int ret = vim_retrieve_one(ctx, one, skip_object, watch, err);
    return ret ? ret : watch_property(ctx, &watch->site, one, err);
}

static int watch_page(struct vim_context *ctx, struct vim_watch *watch, struct err *err) {
    static const char *const classes[] = {"PermissionAddedEvent",  "PermissionUpdatedEvent", "PermissionRemovedEvent",
                                          "RoleAddedEvent",        "RoleUpdatedEvent",       "RoleRemovedEvent",
                                          "SessionTerminatedEvent"};
    enum xsd__boolean yes = xsd__boolean__true_;
    int page = VIM_WATCH_PAGE_COUNT;
    struct vim25__EventFilterSpec filter = {
        .disableFullMessage = &yes, .maxCount = &page, .__sizeeventTypeId = (int)ARRAY_COUNT(classes)};
    struct _vim25__CreateCollectorForEvents request = {.filter = &filter};
    struct _vim25__CreateCollectorForEventsResponse response;
    struct vim_one one = {"EventHistoryCollector", watch->site.events, "latestPage"};
    int ret;
    request._USCOREthis = vim_in_ref(ctx, "EventManager", ctx->content.event_manager);
    filter.eventTypeId = vim_in_texts(ctx, classes, ARRAY_COUNT(classes), "a class of events");
    ret = VIM_CALL(ctx, CreateCollectorForEvents, &request, &response, err);
    if (!ret)
        ret = vim_keep_id(ctx, response.returnval, "the collector", watch->site.events, err);
    return ret ? ret : watch_events(ctx, watch, &one, err);
}

static int watch_latest(struct vim_context *ctx, struct vim_watch *watch, struct err *err) {
    struct vim_one one = {"EventManager", ctx->content.event_manager, "latestEvent"};
    return watch_events(ctx, watch, &one, err);
}

/* A refusal leaves connection and session as they are. */
static bool is_refusal(const struct vim_context *ctx) {
    return !ctx->err.code && ctx->fault.kind != VIM_FAULT_NOT_AUTHENTICATED && ctx->fault.kind != VIM_FAULT_BAD_VERSION;
}

/* Events make rights act at once; without them they act when they have become too old. So a refusal is no failure. */
static int watch_permissions(struct vim_context *ctx, struct vim_watch *watch, struct err *err) {
    struct err why = {0};
    int ret;
    if (!ctx->content.event_manager[0])
        return 0;
    ret = watch_page(ctx, watch, &why);
    if (!ret) {
        watch->site.source = VIM_SOURCE_PAGE;
        return 0;
    }
    if (is_refusal(ctx)) {
        err_clear(&why);
        ret = watch_latest(ctx, watch, &why);
        watch->site.source = ret ? VIM_SOURCE_NONE : VIM_SOURCE_LATEST;
    }
    if (ret && is_refusal(ctx)) {
        log_event(LOG_LEVEL_DEBUG, "vim_watch_events_refused", "peer", ctx->route->peer, "reason", why.text, NULL);
        memset(&ctx->fault, 0, sizeof(ctx->fault));
        return 0;
    }
    if (ret && err && !err->code)
        *err = why;
    return ret;
}

int vim_watch_op_make(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_watch *watch = arg;
    struct vim_one extensions = {"ExtensionManager", ctx->content.extension_manager, "extensionList"};
    uint64_t session_no = watch->site.session_no;
    int ret;
    (void)vim_watch_op_clean(ctx, &watch->site, NULL);
    memset(&watch->site, 0, sizeof(watch->site));
    watch->site.session_no = session_no;
    ret = create_collector(ctx, watch->site.collector, err);
    if (!ret)
        ret = watch_permissions(ctx, watch, err);
    if (!ret)
        ret = watch_property(ctx, &watch->site, &extensions, err);
    if (!ret)
        ret = watch_clusters(ctx, &watch->site, err);
    if (!ret)
        ret = watch_machines(ctx, &watch->site, err);
    return ret;
}
