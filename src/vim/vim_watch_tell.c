/* Live watching: from an answer to what is told. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nothing in an answer is taken for granted: an object, property, value type or kind of change that we do not know is passed over or
 * counts as "has no value", and the rest is told. */
#include <string.h>

#include "limits.h"
#include "str.h"
#include "vim_extension_wire.h"
#include "vim_watch_private.h"

#define TEXT_BYTES_MAX 1024U

/* ---- members: the bit of a row is 1 << its index, see enum vim_watch_member ---- */

enum member { NAME, PARENT, CONNECTION, POWER, MAINTENANCE, INSTANCE_UUID, BIOS_UUID, HOST, TEMPLATE, MEMBER_COUNT };
enum kind { IS_NAME, IS_WORD, IS_UUID, IS_ID, IS_FLAG };

static const struct {
    const char *path;
    enum kind kind;
} members[MEMBER_COUNT] = {
    [NAME] = {"name", IS_NAME},
    [PARENT] = {"parent", IS_ID},
    [CONNECTION] = {"runtime.connectionState", IS_WORD},
    [POWER] = {"runtime.powerState", IS_WORD},
    [MAINTENANCE] = {"runtime.inMaintenanceMode", IS_FLAG},
    [INSTANCE_UUID] = {"config.instanceUuid", IS_UUID},
    [BIOS_UUID] = {"config.uuid", IS_UUID},
    [HOST] = {"runtime.host", IS_ID},
    [TEMPLATE] = {"config.template", IS_FLAG},
};
_Static_assert(VIM_WATCH_PARENT == 1 << PARENT && VIM_WATCH_MAINTENANCE == 1 << MAINTENANCE && VIM_WATCH_HOST == 1 << HOST &&
                   VIM_WATCH_TEMPLATE == 1 << TEMPLATE,
               "bits follow the order of members");

/* What one update tells about one object. */
struct told {
    enum vim_watch_op op;
    const char *type, *moref;
    unsigned unset;
    const char *text[MEMBER_COUNT];
    bool has_flag[MEMBER_COUNT], flag[MEMBER_COUNT];
};

static bool is_text(int type) {
    return type == SOAP_TYPE_string || type == SOAP_TYPE_vim25__HostSystemConnectionState ||
           type == SOAP_TYPE_vim25__HostSystemPowerState || type == SOAP_TYPE_vim25__VirtualMachineConnectionState ||
           type == SOAP_TYPE_vim25__VirtualMachinePowerState;
}

static bool is_id(const char *id) {
    return !str_empty(id) && strlen(id) < VIM_ID_BYTES;
}

/* The text of a value, brought into our form in place; NULL if it has none that we take. */
static const char *read_text(enum kind kind, int type, void *val) {
    char *text;
    if (kind == IS_ID) {
        struct vim25__ManagedObjectReference *ref = type == SOAP_TYPE_vim25__ManagedObjectReference ? val : NULL;
        return ref && is_id(ref->__item) ? ref->__item : NULL;
    }
    text = is_text(type) ? val : NULL;
    if (!text || strlen(text) > TEXT_BYTES_MAX || str_utf8_chars(text, strlen(text)) < 0)
        return NULL;
    if (kind == IS_NAME)
        vim_unescape_name(text);
    if (kind == IS_UUID)
        str_lower(text);
    return text;
}

static void take_value(struct told *told, enum member m, int type, void *val) {
    told->text[m] = NULL;
    told->has_flag[m] = false;
    told->unset &= ~(1U << m);
    if (members[m].kind == IS_FLAG) {
        told->has_flag[m] = val && type == SOAP_TYPE_xsd__boolean;
        told->flag[m] = told->has_flag[m] && *(const enum xsd__boolean *)val == xsd__boolean__true_;
    } else {
        told->text[m] = read_text(members[m].kind, type, val);
    }
    if (!told->text[m] && !told->has_flag[m])
        told->unset |= 1U << m;
}

/* `path` is the member's, or with `or_above` what it is a part of ("config"). */
static bool names_member(const char *path, enum member m, bool or_above) {
    size_t n = path ? strlen(path) : 0;
    return path &&
           (str_eq(path, members[m].path) || (or_above && n && !strncmp(members[m].path, path, n) && members[m].path[n] == '.'));
}

static void take_changes(const struct vim25__ObjectUpdate *update, struct told *told) {
    for (int i = 0; i < update->__sizechangeSet; i++) {
        const struct vim25__PropertyChange *change = &update->changeSet[i];
        for (enum member m = 0; m < MEMBER_COUNT; m++)
            if (names_member(change->name, m, !change->val))
                take_value(told, m, change->__type, change->val);
    }
    for (int i = 0; i < update->__sizemissingSet; i++)
        for (enum member m = 0; m < MEMBER_COUNT; m++)
            if (names_member(update->missingSet[i].path, m, true))
                take_value(told, m, 0, NULL);
}

/* ---- objects ---- */

static int tell_cluster(const struct vim_watch_events *e, const struct told *t, struct err *err) {
    struct vim_watch_cluster out = {.op = t->op,
                                    .unset = t->unset,
                                    .is_plain = str_eq(t->type, "ComputeResource"),
                                    .moref = t->moref,
                                    .name = t->text[NAME],
                                    .parent_moref = t->text[PARENT]};
    return e->cluster ? e->cluster(e->arg, &out, err) : 0;
}

static int tell_datacenter(const struct vim_watch_events *e, const struct told *t, struct err *err) {
    struct vim_watch_datacenter out = {.op = t->op, .unset = t->unset, .moref = t->moref, .name = t->text[NAME]};
    return e->datacenter ? e->datacenter(e->arg, &out, err) : 0;
}

static int tell_folder(const struct vim_watch_events *e, const struct told *t, struct err *err) {
    struct vim_watch_folder out = {.op = t->op, .unset = t->unset, .moref = t->moref, .parent_moref = t->text[PARENT]};
    return e->folder ? e->folder(e->arg, &out, err) : 0;
}

static int tell_host(const struct vim_watch_events *e, const struct told *t, struct err *err) {
    struct vim_watch_host out = {.op = t->op,
                                 .unset = t->unset,
                                 .moref = t->moref,
                                 .name = t->text[NAME],
                                 .parent_moref = t->text[PARENT],
                                 .connection = t->text[CONNECTION],
                                 .power = t->text[POWER],
                                 .has_in_maintenance = t->has_flag[MAINTENANCE],
                                 .in_maintenance = t->flag[MAINTENANCE]};
    return e->host ? e->host(e->arg, &out, err) : 0;
}

static int tell_vm(const struct vim_watch_events *e, const struct told *t, struct err *err) {
    struct vim_watch_vm out = {.op = t->op,
                               .unset = t->unset,
                               .moref = t->moref,
                               .name = t->text[NAME],
                               .instance_uuid = t->text[INSTANCE_UUID],
                               .bios_uuid = t->text[BIOS_UUID],
                               .host_moref = t->text[HOST],
                               .power = t->text[POWER],
                               .connection = t->text[CONNECTION],
                               .has_is_template = t->has_flag[TEMPLATE],
                               .is_template = t->flag[TEMPLATE]};
    return e->vm ? e->vm(e->arg, &out, err) : 0;
}

typedef int tell_fn(const struct vim_watch_events *events, const struct told *told, struct err *err);

static tell_fn *find_teller(const char *type) {
    static const struct {
        const char *type;
        tell_fn *tell;
    } tellers[] = {{"VirtualMachine", tell_vm},       {"HostSystem", tell_host}, {"ClusterComputeResource", tell_cluster},
                   {"ComputeResource", tell_cluster}, {"Folder", tell_folder},   {"Datacenter", tell_datacenter}};
    for (size_t i = 0; i < ARRAY_COUNT(tellers); i++)
        if (str_eq(tellers[i].type, type))
            return tellers[i].tell;
    return NULL;
}

static int count_object(struct vim_context *ctx, struct vim_watch *watch, enum vim_watch_op op, struct err *err) {
    watch->object_count += op == VIM_WATCH_ENTER;
    watch->object_count -= op == VIM_WATCH_LEAVE && watch->object_count > 0;
    return watch->object_count > KAAS_VIM_OBJECTS_COUNT_MAX
               ? err_set(err, ERR_TOO_LARGE, "%s has more than %d objects", ctx->route->peer, KAAS_VIM_OBJECTS_COUNT_MAX)
               : 0;
}

static enum vim_watch_op read_op(const char *kind) {
    return str_eq(kind, "enter") ? VIM_WATCH_ENTER : str_eq(kind, "leave") ? VIM_WATCH_LEAVE : VIM_WATCH_MODIFY;
}

static int tell_entity(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__ObjectUpdate *update,
                       struct err *err) {
    struct told told = {.op = read_op(update->kind), .type = update->obj->type, .moref = update->obj->__item};
    tell_fn *tell = find_teller(update->obj->type);
    int ret;
    if (!tell || !is_id(update->obj->__item))
        return 0;
    if (told.op != VIM_WATCH_LEAVE)
        take_changes(update, &told);
    ret = count_object(ctx, answer->watch, told.op, err);
    return ret ? ret : tell(answer->events, &told, err);
}

/* ---- the extension list ---- */

static int tell_keys(const struct vim_watch_answer *answer, const struct vim_key_list *keys, const struct vim25__Extension *own,
                     struct err *err) {
    _cleanup_(vim_extension_free) struct vim_extension *record = NULL;
    int ret = own ? vim_extension_of_wire(own, &record, err) : 0;
    return ret ? ret : answer->events->extensions(answer->events->arg, keys, record, err);
}

/* NULL is an empty list. */
static int tell_extensions(const struct vim_watch_answer *answer, const struct vim25__ArrayOfExtension *list, struct err *err) {
    const char *own_key = answer->watch->extension_key;
    const struct vim25__Extension *own = NULL;
    int n = list ? list->__sizeExtension : 0;
    struct vim_key_list keys = {.items = calloc((size_t)n + 1, sizeof(*keys.items))};
    int ret = 0;
    if (!keys.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        char *key = list->Extension[i].key;
        if (str_empty(key) || strlen(key) > TEXT_BYTES_MAX)
            continue;
        keys.items[keys.count++] = key;
        if (own_key && str_eq(key, own_key))
            own = &list->Extension[i];
    }
    if (answer->events->extensions)
        ret = tell_keys(answer, &keys, own, err);
    free(keys.items);
    return ret;
}

/* An object that is there while nothing is said about the list has an empty one. */
static int tell_manager(struct vim_watch_answer *answer, const struct vim25__ObjectUpdate *update, struct err *err) {
    bool is_told = update->__sizemissingSet || read_op(update->kind) != VIM_WATCH_ENTER;
    int ret = 0;
    for (int i = 0; !ret && i < update->__sizechangeSet; i++) {
        const struct vim25__PropertyChange *change = &update->changeSet[i];
        if (str_eq(change->name, "extensionList") && (!change->val || change->__type == SOAP_TYPE_vim25__ArrayOfExtension))
            ret = tell_extensions(answer, change->val, err);
        else if (change->name && str_starts(change->name, "extensionList"))
            answer->is_list_stale = true;
        is_told = true;
    }
    return !ret && !is_told ? tell_extensions(answer, NULL, err) : ret;
}

/* ---- all ---- */

/* A property that may not be read because the session has ended: that is what it means, not that it has no value. */
static int check_missing(struct vim_context *ctx, const struct vim25__ObjectUpdate *update, struct err *err) {
    for (int i = 0; i < update->__sizemissingSet; i++) {
        const struct vim25__LocalizedMethodFault *lost = update->missingSet[i].fault;
        struct vim_fault fault = {0};
        if (!lost || lost->__type != SOAP_TYPE_vim25__NotAuthenticated)
            continue;
        vim_fault_read(&(struct vim_fault_source){.type = lost->__type, .value = lost->fault}, &fault);
        if (fault.kind != VIM_FAULT_NOT_AUTHENTICATED)
            continue;
        ctx->fault = fault;
        return vim_fault_report(&fault, "waiting for changes", err);
    }
    return 0;
}

static int tell_events(const struct vim_watch_answer *answer, const struct vim25__ObjectUpdate *update, struct err *err) {
    int ret = 0;
    for (int i = 0; !ret && i < update->__sizechangeSet; i++)
        ret = vim_watch_tell_events(answer, &update->changeSet[i], err);
    return ret;
}

static int tell_object(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__ObjectUpdate *update,
                       struct err *err) {
    int ret = check_missing(ctx, update, err);
    if (ret || !update->obj || str_empty(update->obj->type))
        return ret;
    if (str_eq(update->obj->type, "ExtensionManager"))
        return tell_manager(answer, update, err);
    if (str_eq(update->obj->type, "EventHistoryCollector") || str_eq(update->obj->type, "EventManager"))
        return tell_events(answer, update, err);
    return tell_entity(ctx, answer, update, err);
}

static int tell_filter(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__PropertyFilterUpdate *filter,
                       struct err *err) {
    static char leave[] = "leave";
    int ret = 0;
    for (int i = 0; !ret && i < filter->__sizeobjectSet; i++)
        ret = tell_object(ctx, answer, &filter->objectSet[i], err);
    for (int i = 0; !ret && i < filter->__sizemissingSet; i++)
        ret = tell_object(ctx, answer, &(struct vim25__ObjectUpdate){.kind = leave, .obj = filter->missingSet[i].obj}, err);
    return ret;
}

static int tell_answer(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__UpdateSet *set,
                       struct err *err) {
    int ret = 0;
    for (int i = 0; !ret && i < set->__sizefilterSet; i++)
        ret = tell_filter(ctx, answer, &set->filterSet[i], err);
    return ret;
}

/* ---- WaitForUpdatesEx ---- */

static int take_extensions(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property property = {"extensionList", SOAP_TYPE_vim25__ArrayOfExtension, VIM_MAY_UNSET};
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    return ret ? ret : tell_extensions(arg, value, err);
}

static int read_extensions(struct vim_context *ctx, struct vim_watch_answer *answer, struct err *err) {
    struct vim_one one = {"ExtensionManager", ctx->content.extension_manager, "extensionList"};
    vim_context_reset(ctx);
    return vim_retrieve_one(ctx, &one, take_extensions, answer, err);
}

/* A server that stays at one version while it says that there is more would be asked for ever. */
static int keep_version(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__UpdateSet *set,
                        struct err *err) {
    struct vim_watch *watch = answer->watch;
    answer->is_truncated = set->truncated && *set->truncated == xsd__boolean__true_;
    if (str_empty(set->version) || strlen(set->version) >= sizeof(watch->version))
        return vim_call_lacks(ctx, "WaitForUpdatesEx", "the version", err);
    if (answer->is_truncated && !set->__sizefilterSet && str_eq(set->version, watch->version))
        return err_set(err, ERR_PROTOCOL, "%s says that there are more changes, and tells none", ctx->route->peer);
    memcpy(watch->version, set->version, strlen(set->version) + 1);
    return 0;
}

static int take_answer(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__UpdateSet *set,
                       struct err *err) {
    int ret;
    if (!set) /* the time is up */
        return 0;
    answer->has_news = set->__sizefilterSet > 0 || !answer->watch->is_whole;
    ret = keep_version(ctx, answer, set, err);
    if (!ret)
        ret = tell_answer(ctx, answer, set, err);
    return !ret && answer->is_list_stale ? read_extensions(ctx, answer, err) : ret;
}

/* vCenter ends the wait before our own time limit does, which stays to notice a peer that is gone. */
int vim_watch_op_wait(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_watch_answer *answer = arg;
    struct vim_watch *watch = answer->watch;
    int wait_s = (int)watch->max_wait_s, objects = (int)watch->max_object_updates, ret;
    struct vim25__WaitOptions options = {.maxWaitSeconds = &wait_s, .maxObjectUpdates = &objects};
    struct _vim25__WaitForUpdatesEx request = {.options = &options};
    struct _vim25__WaitForUpdatesExResponse response;
    request._USCOREthis = vim_in_ref(ctx, "PropertyCollector", watch->site.collector);
    request.version = vim_in_lines(ctx, watch->version, "the version");
    ctx->timeout_ms = (long)watch->max_wait_s * 1000 + KAAS_VIM_WATCH_MARGIN_MS;
    ctx->reply_max_bytes = KAAS_VIM_WATCH_REPLY_BYTES_MAX;
    ret = VIM_CALL(ctx, WaitForUpdatesEx, &request, &response, err);
    ctx->timeout_ms = 0;
    ctx->reply_max_bytes = 0;
    return ret ? ret : take_answer(ctx, answer, response.returnval, err);
}
