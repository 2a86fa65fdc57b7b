/* Events of ours in vCenter's history. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_event.h"

#include <string.h>

#include "clock.h"
#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define CLUSTER "ClusterComputeResource"
#define HOST "HostSystem"
#define PAGE_COUNT 1000 /* EventFilterSpec.maxCount: vCenter's greatest */

/* The object that an event is about. */
struct vim_event_object {
    const char *type, *moref, *name;
};

static struct vim_event_object vim_event_object(const struct vim_event *event) {
    return event->host_moref ? (struct vim_event_object){HOST, event->host_moref, event->host_name}
                             : (struct vim_event_object){CLUSTER, event->cluster_moref, event->cluster_name};
}

static const char *vim_event_id_of(const struct vim_event *event) {
    for (size_t i = 0; i < event->argument_count; i++)
        if (str_eq(event->arguments[i].name, VIM_EVENT_ID))
            return event->arguments[i].text;
    return NULL;
}

/* -- posting --------------------------------------------------------------------------------------------------------------- */

static void vim_event_put_arguments(struct vim_context *ctx, const struct vim_event *event, struct vim25__EventEx *to) {
    to->arguments = vim_in_alloc(ctx, event->argument_count, sizeof(*to->arguments));
    if (!to->arguments)
        return;
    to->__sizearguments = (int)event->argument_count;
    for (size_t i = 0; i < event->argument_count; i++) {
        to->arguments[i].key = vim_in_text(ctx, event->arguments[i].name, "an argument's name");
        to->arguments[i].__type = SOAP_TYPE_string;
        to->arguments[i].value = vim_in_lines(ctx, event->arguments[i].text, event->arguments[i].name);
    }
}

/* key, chainId, createdTime and userName have to be there, and are overwritten by vCenter (EventManager.PostEvent). */
static int vim_event_post(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_event *event = arg;
    const struct vim_event_object about = vim_event_object(event);
    struct vim25__ComputeResourceEventArgument cluster = {.name = vim_in_lines(ctx, event->cluster_name, "the cluster's name")};
    struct vim25__HostEventArgument host = {.name = vim_in_optional(ctx, event->host_name, "the host's name")};
    char now[CLOCK_RFC3339_BYTES];
    struct vim25__EventEx post = {.computeResource = &cluster, .host = event->host_moref ? &host : NULL};
    clock_format(clock_wall_ms(), now);
    host.host = event->host_moref ? vim_in_ref(ctx, HOST, event->host_moref) : NULL;
    cluster.computeResource = vim_in_ref(ctx, CLUSTER, event->cluster_moref);
    post.createdTime = now;
    post.userName = vim_in_text(ctx, "kaas", "the user's name");
    post.eventTypeId = vim_in_text(ctx, event->type, "the event's type");
    post.severity = vim_in_text(ctx, event->severity, "the severity");
    post.objectId = vim_in_text(ctx, about.moref, "the object");
    post.objectType = vim_in_text(ctx, about.type, "the object's type");
    post.objectName = vim_in_lines(ctx, about.name, "the object's name");
    vim_event_put_arguments(ctx, event, &post);
    VIM_REQUEST(ctx, PostEvent, "EventManager", ctx->content.event_manager, .__type = SOAP_TYPE_vim25__EventEx,
                .eventToPost = &post);
    return VIM_CALL(ctx, PostEvent, &request, &response, err);
}

int vim_post_event(struct vim_client *client, const struct vim_event *event, struct err *err) {
    struct vim_event copy = *event;
    if (event->argument_count > VIM_EVENT_ARGUMENTS_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "an event has at most %d arguments", VIM_EVENT_ARGUMENTS_MAX);
    return vim_client_run_as_us(client, vim_event_post, &copy, err);
}

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

struct vim_event_search {
    const struct vim_event *event;
    const char *id;
    bool is_there;
};

static bool vim_event_has(const struct vim25__AnyEvent *event, const char *id) {
    for (int i = 0; i < event->__sizearguments; i++) {
        const struct vim25__KeyAnyValue *argument = &event->arguments[i];
        if (str_eq(argument->key, VIM_EVENT_ID) && argument->__type == SOAP_TYPE_string && str_eq(argument->value, id))
            return true;
    }
    return false;
}

static int vim_event_look(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property page = {"latestPage", SOAP_TYPE_vim25__ArrayOfEvent, VIM_MAY_UNSET};
    struct vim_event_search *search = arg;
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &page, &value, err);
    const struct vim25__ArrayOfEvent *events = value;
    for (int i = 0; !rc && events && i < events->__sizeEvent; i++)
        search->is_there = search->is_there || vim_event_has(&events->Event[i], search->id);
    return rc;
}

static void vim_event_destroy_collector(struct vim_context *ctx, const char *id) {
    const struct vim_fault kept = ctx->fault;
    if (ctx->err.code)
        return;
    VIM_REQUEST(ctx, DestroyCollector, "EventHistoryCollector", id);
    (void)VIM_CALL(ctx, DestroyCollector, &request, &response, NULL);
    ctx->fault = kept;
}

static int vim_event_find(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_event_search *search = arg;
    const struct vim_event_object about = vim_event_object(search->event);
    char collector[VIM_VIEW_BYTES], recursion[] = "self";
    enum xsd__boolean yes = xsd__boolean__true_;
    int page = PAGE_COUNT, rc;
    struct vim25__EventFilterSpecByEntity entity = {.recursion = recursion};
    struct vim25__EventFilterSpec filter = {
        .entity = &entity, .disableFullMessage = &yes, .maxCount = &page, .__sizeeventTypeId = 1};
    struct vim_one one = {"EventHistoryCollector", collector, "latestPage"};
    search->is_there = false;
    entity.entity = vim_in_ref(ctx, about.type, about.moref);
    filter.eventTypeId = vim_in_texts(ctx, &search->event->type, 1, "the event's type");
    VIM_REQUEST(ctx, CreateCollectorForEvents, "EventManager", ctx->content.event_manager, .filter = &filter);
    rc = VIM_CALL(ctx, CreateCollectorForEvents, &request, &response, err);
    if (!rc)
        rc = vim_keep_id(ctx, response.returnval, "the collector", collector, err);
    if (rc)
        return rc;
    rc = vim_retrieve_one(ctx, &one, vim_event_look, search, err);
    vim_event_destroy_collector(ctx, collector);
    return rc;
}

int vim_find_event(struct vim_client *client, const struct vim_event *event, bool *is_there, struct err *err) {
    struct vim_event_search search = {.event = event, .id = vim_event_id_of(event)};
    int rc = vim_client_run_as_us(client, vim_event_find, &search, err);
    if (!rc)
        *is_there = search.is_there;
    return rc;
}
