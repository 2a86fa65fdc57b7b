/* Alarms that turn with events: making, finding and removing them. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * AlarmManager, AlarmSpec and EventAlarmExpression: vSphere Web Services API reference 8.0U3. An alarm goes back to green by itself only by an
 * expression that says so. */
#include "vim_alarm.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"

#define CLUSTER "ClusterComputeResource"

/* -- making ---------------------------------------------------------------------------------------------------------------- */

/* Any of the events: each sets the status that stands beside it. */
static void vim_alarm_put_turns(struct vim_context *ctx, const struct vim_alarm_spec *spec, struct vim25__OrAlarmExpression *to) {
    struct vim25__EventAlarmExpression *events = vim_in_alloc(ctx, spec->turn_count, sizeof(*events));
    to->__OrAlarmExpression_sequence = vim_in_alloc(ctx, spec->turn_count, sizeof(*to->__OrAlarmExpression_sequence));
    if (!events || !to->__OrAlarmExpression_sequence)
        return;
    to->__size_OrAlarmExpression_sequence = (int)spec->turn_count;
    for (size_t i = 0; i < spec->turn_count; i++) {
        events[i].eventType = vim_in_text(ctx, "EventEx", "the event's type");
        events[i].eventTypeId = vim_in_text(ctx, spec->turns[i].event_type, "the event's type");
        events[i].objectType = vim_in_text(ctx, CLUSTER, "the cluster's type");
        events[i].status = vim_in_text(ctx, spec->turns[i].status, "the alarm's status");
        to->__OrAlarmExpression_sequence[i].__type = SOAP_TYPE_vim25__EventAlarmExpression;
        to->__OrAlarmExpression_sequence[i].expression = &events[i];
    }
}

static int vim_alarm_op_create(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_alarm_spec *from = arg;
    struct vim25__OrAlarmExpression expression = {0};
    struct vim25__AlarmSpec spec = {
        .enabled = xsd__boolean__true_, .__type = SOAP_TYPE_vim25__OrAlarmExpression, .expression = &expression};
    spec.name = vim_in_text(ctx, from->name, "the alarm's name");
    spec.description = vim_in_text(ctx, from->description, "the alarm's description");
    vim_alarm_put_turns(ctx, from, &expression);
    VIM_REQUEST(ctx, CreateAlarm, "AlarmManager", ctx->content.alarm_manager, .spec = &spec);
    request.entity = vim_in_ref(ctx, "Folder", ctx->content.root_folder);
    return VIM_CALL(ctx, CreateAlarm, &request, &response, err);
}

int vim_create_alarm(struct vim_client *client, const struct vim_alarm_spec *spec, struct err *err) {
    struct vim_alarm_spec copy = *spec;
    if (spec->turn_count > VIM_ALARM_TURNS_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "an alarm has at most %d events", VIM_ALARM_TURNS_MAX);
    return vim_client_run_as_us(client, vim_alarm_op_create, &copy, err);
}

/* -- finding --------------------------------------------------------------------------------------------------------------- */

void vim_alarm_list_done(struct vim_alarm_list *list) {
    for (size_t i = 0; list && i < list->count; i++) {
        free(list->items[i].moref);
        free(list->items[i].name);
        free(list->items[i].description);
    }
    if (!list)
        return;
    free(list->items);
    *list = (struct vim_alarm_list){0};
}

static int vim_alarm_take_text(struct vim_context *ctx, const struct vim25__ObjectContent *object, const char *path, char **out,
                               struct err *err) {
    const struct vim_property property = {path, SOAP_TYPE_string, VIM_OPTIONAL};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &property, &value, err);
    if (rc)
        return rc;
    *out = str_dup(value ? value : "");
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* There is room for all that were asked for. */
struct vim_alarm_reading {
    struct vim_alarm_list list;
    size_t room;
};

static int vim_alarm_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct vim_alarm_reading *reading = arg;
    if (reading->list.count == reading->room || !object->obj || str_empty(object->obj->__item))
        return err_set(err, ERR_PROTOCOL, "%s tells of an alarm that was not asked for", ctx->route->peer);
    struct vim_alarm *alarm = &reading->list.items[reading->list.count++];
    alarm->moref = str_dup(object->obj->__item);
    if (!alarm->moref)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = vim_alarm_take_text(ctx, object, "info.name", &alarm->name, err);
    rc = rc ? rc : vim_alarm_take_text(ctx, object, "info.description", &alarm->description, err);
    if (!rc)
        vim_unescape_name(alarm->name);
    return rc;
}

static int vim_alarm_read(struct vim_context *ctx, const struct _vim25__GetAlarmResponse *alarms,
                          struct vim_alarm_reading *reading, struct err *err) {
    static const char *const paths[] = {"info.name", "info.description", NULL};
    const size_t count = (size_t)alarms->__sizereturnval;
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "Alarm", alarms->returnval[0].__item, 1);
    struct vim25__ObjectSpec *objects = spec ? vim_in_alloc(ctx, count, sizeof(*objects)) : NULL;
    reading->list.items = calloc(count, sizeof(*reading->list.items));
    reading->room = count;
    if (!objects || !reading->list.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_paths(ctx, &spec->propSet[0], "Alarm", paths);
    spec->objectSet = objects;
    spec->__sizeobjectSet = (int)count;
    for (size_t i = 0; i < count; i++)
        objects[i].obj = vim_in_ref(ctx, "Alarm", alarms->returnval[i].__item);
    return vim_retrieve(ctx, spec, vim_alarm_take, reading, err);
}

static int vim_alarm_op_list(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_alarm_reading *reading = arg;
    int rc;
    vim_alarm_list_done(&reading->list);
    VIM_REQUEST(ctx, GetAlarm, "AlarmManager", ctx->content.alarm_manager);
    request.entity = vim_in_ref(ctx, "Folder", ctx->content.root_folder);
    rc = VIM_CALL(ctx, GetAlarm, &request, &response, err);
    if (rc || response.__sizereturnval < 1)
        return rc;
    if (response.__sizereturnval > KAAS_VIM_OBJECTS_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "%s has more than %d alarms", ctx->route->peer, KAAS_VIM_OBJECTS_COUNT_MAX);
    return vim_alarm_read(ctx, &response, reading, err);
}

int vim_list_alarms(struct vim_client *client, struct vim_alarm_list *out, struct err *err) {
    struct vim_alarm_reading reading = {0};
    int rc = vim_client_run_as_us(client, vim_alarm_op_list, &reading, err);
    if (rc)
        vim_alarm_list_done(&reading.list);
    else
        *out = reading.list;
    return rc;
}

/* -- removing -------------------------------------------------------------------------------------------------------------- */

static int vim_alarm_op_remove(struct vim_context *ctx, void *arg, struct err *err) {
    VIM_REQUEST(ctx, RemoveAlarm, "Alarm", arg);
    return VIM_CALL(ctx, RemoveAlarm, &request, &response, err);
}

int vim_remove_alarm(struct vim_client *client, const char *moref, struct err *err) {
    return vim_client_run_as_us(client, vim_alarm_op_remove, (char *)(uintptr_t)moref, err);
}
