/* Live watching: what vCenter tells of changes, what the watch needs at the server, and the loop around its calls. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Filters and versions end with the session they were made in. So the watch notes with which session it was built, and is built
 * anew when that is not the client's any more, whoever logged in again.
 *
 * Nothing in an answer is taken for granted: an object, property, value type or kind of change that we do not know is passed over or
 * counts as "has no value", and the rest is told. */
#include "vim_watch.h"

#include <string.h>

#include "clock.h"
#include "limits.h"
#include "log.h"
#include "secret.h"
#include "str.h"
#include "vim_client.h"
#include "vim_extension.h"
#include "vim_extension_private.h"
#include "vim_follow_private.h"
#include "vim_property.h"

#define VERSION_BYTES 256
#define TEXT_BYTES_MAX 1024U
#define PAGE_COUNT 100           /* events in a page */
#define ANSWERS_COUNT_MAX 20000U /* of one update */
#define SPACING_MS 50            /* between two questions; lets changes that come together be told together */
#define EMPTY_SPACING_MS 1000    /* the same after an answer without news, should the server not have waited */
#define OBJECTS_COUNT_UPDATE_MAX 10000U

/* What was made at the server, with session `session_no`. Empty ids: nothing. */
struct vim_watch_site {
    uint64_t session_no;
    char collector[VIM_VIEW_BYTES];
    char clusters[VIM_VIEW_BYTES], machines[VIM_VIEW_BYTES]; /* views */
    char events[VIM_VIEW_BYTES];
    struct vim_follow_site followed;
};

struct vim_watch {
    struct vim_client *client;
    struct vim_context *ctx;
    char *extension_key; /* NULL: none */
    unsigned max_wait_s, max_object_updates;
    struct vim_follows *follows; /* NULL: none */
    struct vim_watch_site site;
    bool is_made;      /* `site` is complete */
    bool is_whole;     /* a first picture has been told up to its end */
    bool is_reachable; /* the last call got an answer */
    char version[VERSION_BYTES];
    size_t object_count;
    int last_event;         /* greatest key told or passed over; 0: there was none */
    bool has_page;          /* a page of events was told since then */
    int64_t not_before_ms;  /* when to ask next */
    pthread_mutex_t lock;   /* guards is_canceled */
    pthread_cond_t changed; /* is_canceled was set */
    bool is_canceled;
};

/* One answer on its way to those who are told. */
struct vim_watch_answer {
    struct vim_watch *watch;
    const struct vim_watch_events *events;
    bool is_truncated, has_news;
    bool is_list_stale; /* a part of the extension list changed: read it again */
};

/* ---- members: the bit of a row is 1 << its index, see enum vim_watch_member ---- */

enum member { NAME, PARENT, CONNECTION, POWER, MAINTENANCE, INSTANCE_UUID, BIOS_UUID, HOST, TEMPLATE, MEMBER_COUNT };
enum kind { IS_NAME, IS_WORD, IS_UUID, IS_ID, IS_FLAG };

static const struct {
    const char *path;
    enum kind kind;
    size_t at, has_at; /* in struct vim_watch_object; has_at of flags only */
} members[MEMBER_COUNT] = {
#define TEXT(member) offsetof(struct vim_watch_object, member), 0
#define FLAG(member) offsetof(struct vim_watch_object, member), offsetof(struct vim_watch_object, has_##member)
    [NAME] = {"name", IS_NAME, TEXT(name)},
    [PARENT] = {"parent", IS_ID, TEXT(parent_moref)},
    [CONNECTION] = {"runtime.connectionState", IS_WORD, TEXT(connection)},
    [POWER] = {"runtime.powerState", IS_WORD, TEXT(power)},
    [MAINTENANCE] = {"runtime.inMaintenanceMode", IS_FLAG, FLAG(in_maintenance)},
    [INSTANCE_UUID] = {"config.instanceUuid", IS_UUID, TEXT(instance_uuid)},
    [BIOS_UUID] = {"config.uuid", IS_UUID, TEXT(bios_uuid)},
    [HOST] = {"runtime.host", IS_ID, TEXT(host_moref)},
    [TEMPLATE] = {"config.template", IS_FLAG, FLAG(is_template)},
#undef TEXT
#undef FLAG
};
_Static_assert(VIM_WATCH_PARENT == 1 << PARENT && VIM_WATCH_MAINTENANCE == 1 << MAINTENANCE && VIM_WATCH_HOST == 1 << HOST &&
                   VIM_WATCH_TEMPLATE == 1 << TEMPLATE,
               "bits follow the order of members");

static bool vim_watch_is_text(int type) {
    return type == SOAP_TYPE_string || type == SOAP_TYPE_vim25__HostSystemConnectionState ||
           type == SOAP_TYPE_vim25__HostSystemPowerState || type == SOAP_TYPE_vim25__VirtualMachineConnectionState ||
           type == SOAP_TYPE_vim25__VirtualMachinePowerState;
}

static bool is_id(const char *id) {
    return !str_empty(id) && strlen(id) < VIM_ID_BYTES;
}

/* The text of a value, brought into our form in place; NULL if it has none that we take. */
static const char *vim_watch_read_text(enum kind kind, int type, void *val) {
    char *text;
    if (kind == IS_ID) {
        struct vim25__ManagedObjectReference *ref = type == SOAP_TYPE_vim25__ManagedObjectReference ? val : NULL;
        return ref && is_id(ref->__item) ? ref->__item : NULL;
    }
    text = vim_watch_is_text(type) ? val : NULL;
    if (!text || strlen(text) > TEXT_BYTES_MAX || str_utf8_chars(text, strlen(text)) < 0)
        return NULL;
    if (kind == IS_NAME)
        vim_unescape_name(text);
    if (kind == IS_UUID)
        str_lower(text);
    return text;
}

/* Without a value the member is unset. */
static void vim_watch_take_value(struct vim_watch_object *told, enum member m, int type, void *val) {
    char *at = (char *)told + members[m].at;
    bool is_told;
    if (members[m].kind == IS_FLAG) {
        is_told = val && type == SOAP_TYPE_xsd__boolean;
        *(bool *)at = is_told && *(const enum xsd__boolean *)val == xsd__boolean__true_;
        *(bool *)((char *)told + members[m].has_at) = is_told;
    } else {
        const char *text = vim_watch_read_text(members[m].kind, type, val);
        memcpy(at, &text, sizeof(text));
        is_told = text;
    }
    told->unset = is_told ? told->unset & ~(1U << m) : told->unset | 1U << m;
}

/* `path` is the member's, or with `or_above` what it is a part of ("config"). */
static bool vim_watch_names_member(const char *path, enum member m, bool or_above) {
    size_t n = path ? strlen(path) : 0;
    return path &&
           (str_eq(path, members[m].path) || (or_above && n && !strncmp(members[m].path, path, n) && members[m].path[n] == '.'));
}

static void vim_watch_take_changes(const struct vim25__ObjectUpdate *update, struct vim_watch_object *told) {
    for (int i = 0; i < update->__sizechangeSet; i++) {
        const struct vim25__PropertyChange *change = &update->changeSet[i];
        for (enum member m = 0; m < MEMBER_COUNT; m++)
            if (vim_watch_names_member(change->name, m, !change->val))
                vim_watch_take_value(told, m, change->__type, change->val);
    }
    for (int i = 0; i < update->__sizemissingSet; i++)
        for (enum member m = 0; m < MEMBER_COUNT; m++)
            if (vim_watch_names_member(update->missingSet[i].path, m, true))
                vim_watch_take_value(told, m, 0, NULL);
}

/* ---- objects ---- */

static const struct {
    const char *type;
    enum vim_object_kind kind;
} kinds[] = {
    {"VirtualMachine", VIM_OBJECT_VM},       {"HostSystem", VIM_OBJECT_HOST}, {"ClusterComputeResource", VIM_OBJECT_CLUSTER},
    {"ComputeResource", VIM_OBJECT_CLUSTER}, {"Folder", VIM_OBJECT_FOLDER},   {"Datacenter", VIM_OBJECT_DATACENTER}};

/* False for an object that nobody is told of. */
static bool vim_watch_identify(const struct vim25__ManagedObjectReference *ref, struct vim_watch_object *told) {
    for (size_t i = 0; ref && is_id(ref->__item) && i < ARRAY_COUNT(kinds); i++)
        if (str_eq(kinds[i].type, ref->type)) {
            told->kind = kinds[i].kind;
            told->moref = ref->__item;
            told->is_plain = str_eq(ref->type, "ComputeResource");
            return true;
        }
    return false;
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
    const struct vim_watch_events *e = answer->events;
    struct vim_watch_object told = {.op = read_op(update->kind)};
    int ret;
    if (!vim_watch_identify(update->obj, &told))
        return 0;
    if (told.op != VIM_WATCH_LEAVE)
        vim_watch_take_changes(update, &told);
    ret = count_object(ctx, answer->watch, told.op, err);
    return ret || !e->object ? ret : e->object(e->arg, &told, err);
}

/* ---- events about permissions, roles, sessions that an administrator ended, and hosts that enter maintenance mode ---- */

/* Keys of events grow. What has a key that was told is passed over, since a page comes whole each time; its events are in no
 * order. A page of which no event is known may have lost others before: then it may have been anybody. */

#define PRINCIPAL_BYTES_MAX 512U
#define PAGE_COUNT_LEAST 10 /* size of a page that vCenter uses by itself */

static int vim_watch_tell(const struct vim_watch_answer *answer, const char *user, struct err *err) {
    const struct vim_watch_events *e = answer->events;
    return e->permissions ? e->permissions(e->arg, user, err) : 0;
}

/* The one person it is about; NULL: more than that. */
static const char *user_of(const struct vim25__AnyEvent *event) {
    bool is_person = event->group && *event->group == xsd__boolean__false_;
    const char *user = is_person ? event->principal : event->terminatedUsername;
    return !str_empty(user) && strlen(user) <= PRINCIPAL_BYTES_MAX ? user : NULL;
}

/* Of events that bear no class. */
static bool is_ours(const struct vim25__AnyEvent *event) {
    return event->principal || event->role || event->terminatedUsername;
}

/* The host that begins to enter maintenance mode, by an event that bears no class: of the classes we ask for it is the one about a host and nobody.
 * NULL: it is another one. */
static const char *entering_host(const struct vim25__AnyEvent *event) {
    const struct vim25__ManagedObjectReference *host = event->host ? event->host->host : NULL;
    return event->key && host && is_id(host->__item) && !is_ours(event) ? host->__item : NULL;
}

#define TAKE_PERMISSION(class)                                            \
    case SOAP_TYPE_vim25__##class:                                        \
        out->key = ((const struct vim25__##class *)val)->key;             \
        out->principal = ((const struct vim25__##class *)val)->principal; \
        out->group = ((const struct vim25__##class *)val)->group;         \
        return true
#define TAKE_ROLE(class) \
    case SOAP_TYPE_vim25__##class: out->key = ((const struct vim25__##class *)val)->key; return true

/* An event by itself has a class, known by xsi:type. False: it is none of ours. */
static bool read_single(int type, const void *val, struct vim25__AnyEvent *out) {
    memset(out, 0, sizeof(*out));
    switch (val ? type : 0) {
        TAKE_PERMISSION(PermissionAddedEvent);
        TAKE_PERMISSION(PermissionUpdatedEvent);
        TAKE_PERMISSION(PermissionRemovedEvent);
        TAKE_ROLE(RoleAddedEvent);
        TAKE_ROLE(RoleUpdatedEvent);
        TAKE_ROLE(RoleRemovedEvent);
    case SOAP_TYPE_vim25__SessionTerminatedEvent:
        out->key = ((const struct vim25__SessionTerminatedEvent *)val)->key;
        out->terminatedUsername = ((const struct vim25__SessionTerminatedEvent *)val)->terminatedUsername;
        return true;
    case SOAP_TYPE_vim25__EnteringMaintenanceModeEvent:
        out->key = ((const struct vim25__EnteringMaintenanceModeEvent *)val)->key;
        out->createdTime = ((const struct vim25__EnteringMaintenanceModeEvent *)val)->createdTime;
        out->host = ((const struct vim25__EnteringMaintenanceModeEvent *)val)->host;
        return true;
    default: return false;
    }
}

static void vim_watch_keep_key(struct vim_watch *watch, const struct vim25__AnyEvent *event) {
    if (event->key && *event->key > watch->last_event)
        watch->last_event = *event->key;
}

/* An event without key cannot be told from one that was told: better once too often. */
static bool vim_watch_is_new(const struct vim25__AnyEvent *event, int last) {
    return !event->key || *event->key > last;
}

static int tell_entering(const struct vim_watch_answer *answer, const struct vim25__AnyEvent *event, bool is_old,
                         struct err *err) {
    const struct vim_watch_events *e = answer->events;
    struct vim_watch_maintenance begun = {.host_moref = entering_host(event), .key = *event->key, .is_old = is_old};
    if (!event->createdTime || !clock_parse(event->createdTime, &begun.at_ms))
        begun.at_ms = 0;
    return e->maintenance ? e->maintenance(e->arg, &begun, err) : 0;
}

/* The one of these events that comes next after this key; NULL: there is none. */
static const struct vim25__AnyEvent *next_entering(const struct vim25__ArrayOfEvent *page, int after) {
    const struct vim25__AnyEvent *next = NULL;
    for (int i = 0; i < page->__sizeEvent; i++) {
        const struct vim25__AnyEvent *event = &page->Event[i];
        if (entering_host(event) && *event->key > after && (!next || *event->key < *next->key))
            next = event;
    }
    return next;
}

static int tell_page_entering(const struct vim_watch_answer *answer, const struct vim25__ArrayOfEvent *page, int last,
                              struct err *err) {
    const struct vim25__AnyEvent *event = NULL;
    int ret = 0;
    for (int after = answer->watch->has_page ? last : 0; !ret && (event = next_entering(page, after)); after = *event->key)
        ret = tell_entering(answer, event, *event->key <= last, err);
    answer->watch->has_page = true;
    return ret;
}

static int tell_page(const struct vim_watch_answer *answer, const struct vim25__ArrayOfEvent *page, struct err *err) {
    struct vim_watch *watch = answer->watch;
    int last = watch->last_event, fresh = 0;
    int ret = tell_page_entering(answer, page, last, err);
    for (int i = 0; i < page->__sizeEvent; i++) {
        fresh += vim_watch_is_new(&page->Event[i], last);
        vim_watch_keep_key(watch, &page->Event[i]);
    }
    if (!ret && fresh == page->__sizeEvent && (last ? fresh > 0 : fresh >= PAGE_COUNT_LEAST))
        return vim_watch_tell(answer, NULL, err);
    for (int i = 0; !ret && i < page->__sizeEvent; i++)
        if (vim_watch_is_new(&page->Event[i], last) && is_ours(&page->Event[i]))
            ret = vim_watch_tell(answer, user_of(&page->Event[i]), err);
    return ret;
}

static int tell_change(const struct vim_watch_answer *answer, const struct vim25__PropertyChange *change, struct err *err) {
    struct vim_watch *watch = answer->watch;
    struct vim25__AnyEvent event;
    if (!change->name || !change->val)
        return 0;
    if (str_eq(change->name, "latestPage") && change->__type == SOAP_TYPE_vim25__ArrayOfEvent)
        return tell_page(answer, change->val, err);
    if (!read_single(change->__type, change->val, &event) || !vim_watch_is_new(&event, watch->last_event))
        return 0;
    vim_watch_keep_key(watch, &event);
    return entering_host(&event) ? tell_entering(answer, &event, false, err) : vim_watch_tell(answer, user_of(&event), err);
}

static int tell_events(const struct vim_watch_answer *answer, const struct vim25__ObjectUpdate *update, struct err *err) {
    int ret = 0;
    for (int i = 0; !ret && i < update->__sizechangeSet; i++)
        ret = tell_change(answer, &update->changeSet[i], err);
    return ret;
}

static void skip_events(struct vim_watch *watch, int type, const void *value) {
    const struct vim25__ArrayOfEvent *page = value;
    struct vim25__AnyEvent event;
    if (read_single(type, value, &event))
        vim_watch_keep_key(watch, &event);
    for (int i = 0; value && type == SOAP_TYPE_vim25__ArrayOfEvent && i < page->__sizeEvent; i++)
        vim_watch_keep_key(watch, &page->Event[i]);
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

/* Tasks, and machines that somebody waits for. */
static int tell_followed(struct vim_context *ctx, const struct vim_watch_answer *answer,
                         const struct vim25__PropertyFilterUpdate *filter, struct err *err) {
    static char leave[] = "leave";
    int ret = 0;
    for (int i = 0; !ret && i < filter->__sizeobjectSet; i++) {
        ret = check_missing(ctx, &filter->objectSet[i], err);
        if (!ret)
            vim_follows_tell(answer->watch->follows, &filter->objectSet[i]);
    }
    for (int i = 0; !ret && i < filter->__sizemissingSet; i++)
        vim_follows_tell(answer->watch->follows, &(struct vim25__ObjectUpdate){.kind = leave, .obj = filter->missingSet[i].obj});
    return ret;
}

static int tell_filter(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__PropertyFilterUpdate *filter,
                       struct err *err) {
    static char leave[] = "leave";
    const struct vim_watch *watch = answer->watch;
    int ret = 0;
    if (watch->follows && filter->filter && str_eq(filter->filter->__item, watch->site.followed.filter))
        return tell_followed(ctx, answer, filter, err);
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

static int vim_watch_take_answer(struct vim_context *ctx, struct vim_watch_answer *answer, const struct vim25__UpdateSet *set,
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
static int vim_watch_op_wait(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_watch_answer *answer = arg;
    struct vim_watch *watch = answer->watch;
    int wait_s = (int)watch->max_wait_s, objects = (int)watch->max_object_updates, ret;
    struct vim25__WaitOptions options = {.maxWaitSeconds = &wait_s, .maxObjectUpdates = &objects};
    VIM_REQUEST(ctx, WaitForUpdatesEx, "PropertyCollector", watch->site.collector, .options = &options);
    request.version = vim_in_lines(ctx, watch->version, "the version");
    ctx->timeout_ms = (long)watch->max_wait_s * 1000 + KAAS_VIM_WATCH_MARGIN_MS;
    ctx->reply_max_bytes = KAAS_VIM_WATCH_REPLY_BYTES_MAX;
    ret = VIM_CALL(ctx, WaitForUpdatesEx, &request, &response, err);
    ctx->timeout_ms = 0;
    ctx->reply_max_bytes = 0;
    return ret ? ret : vim_watch_take_answer(ctx, answer, response.returnval, err);
}

/* -- what it needs at the server ----------------------------------------------------------------------------------- */

/* One collector with four filters. Compute resources and machines are in views of their own, so that only the former lead up
 * through their folders: thousands of virtual machine folders are never looked at. Filters tell whole properties
 * (partialUpdates false), since a part of a list would have to be put into what we do not keep. */

/* ---- removing ---- */

static void destroy_collector(struct vim_context *ctx, const char *id) {
    if (ctx->err.code || str_empty(id)) /* no connection; nothing */
        return;
    VIM_REQUEST(ctx, DestroyPropertyCollector, "PropertyCollector", id);
    (void)VIM_CALL(ctx, DestroyPropertyCollector, &request, &response, NULL);
}

static void destroy_events(struct vim_context *ctx, const char *id) {
    if (ctx->err.code || str_empty(id))
        return;
    VIM_REQUEST(ctx, DestroyCollector, "EventHistoryCollector", id);
    (void)VIM_CALL(ctx, DestroyCollector, &request, &response, NULL);
}

static void destroy_view(struct vim_context *ctx, const char *id) {
    if (!str_empty(id))
        vim_destroy_view(ctx, id);
}

/* The collector first: its filters go with it, and a call that waits on it ends. */
static int vim_watch_op_clean(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_watch_site *site = arg;
    (void)err;
    destroy_collector(ctx, site->collector);
    destroy_view(ctx, site->clusters);
    destroy_view(ctx, site->machines);
    vim_follows_clean(ctx, &site->followed);
    destroy_events(ctx, site->events);
    return 0;
}

/* ---- making ---- */

static int create_collector(struct vim_context *ctx, char out[VIM_VIEW_BYTES], struct err *err) {
    int ret;
    VIM_REQUEST(ctx, CreatePropertyCollector, "PropertyCollector", ctx->content.property_collector);
    ret = VIM_CALL(ctx, CreatePropertyCollector, &request, &response, err);
    return ret ? ret : vim_keep_id(ctx, response.returnval, "the collector", out, err);
}

static int create_filter(struct vim_context *ctx, const char *collector, struct vim25__PropertyFilterSpec *spec,
                         struct err *err) {
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    VIM_REQUEST(ctx, CreateFilter, "PropertyCollector", collector, .spec = spec, .partialUpdates = xsd__boolean__false_);
    return VIM_CALL(ctx, CreateFilter, &request, &response, err);
}

/* The compute resources of a view, and by a traversal that goes up through `parent` again and again just those folders and datacenters
 * that lie above them. A property spec for "ComputeResource" is one for clusters, too, which are derived from it. */
static struct vim25__PropertyFilterSpec *cluster_spec(struct vim_context *ctx, const char *view) {
    static const char *const both[] = {"name", "parent", NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "ContainerView", view, 3);
    if (!spec)
        return NULL;
    vim_in_paths(ctx, &spec->propSet[0], "ComputeResource", both);
    vim_in_paths(ctx, &spec->propSet[1], "Folder", both);
    vim_in_paths(ctx, &spec->propSet[2], "Datacenter", both);
    vim_in_view(ctx, &spec->objectSet[0], vim_in_way_up(ctx));
    return spec;
}

static int watch_clusters(struct vim_context *ctx, struct vim_watch_site *site, struct err *err) {
    static const char *const types[] = {"ClusterComputeResource", "ComputeResource", NULL};
    int ret = vim_create_view(ctx, types, site->clusters, err);
    return ret ? ret : create_filter(ctx, site->collector, cluster_spec(ctx, site->clusters), err);
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
        skip_events(watch, object->propSet[i].__type, object->propSet[i].val);
    return 0;
}

static int watch_events(struct vim_context *ctx, struct vim_watch *watch, const struct vim_one *one, struct err *err) {
    int ret = vim_retrieve_one(ctx, one, skip_object, watch, err);
    return ret ? ret : watch_property(ctx, &watch->site, one, err);
}

int vim_collect_events(struct vim_context *ctx, char out[VIM_VIEW_BYTES], struct err *err) {
    static const char *const classes[] = {
        "PermissionAddedEvent", "PermissionUpdatedEvent", "PermissionRemovedEvent", "RoleAddedEvent",
        "RoleUpdatedEvent",     "RoleRemovedEvent",       "SessionTerminatedEvent", "EnteringMaintenanceModeEvent"};
    enum xsd__boolean yes = xsd__boolean__true_;
    int page = PAGE_COUNT;
    struct vim25__EventFilterSpec filter = {
        .disableFullMessage = &yes, .maxCount = &page, .__sizeeventTypeId = (int)ARRAY_COUNT(classes)};
    int ret;
    VIM_REQUEST(ctx, CreateCollectorForEvents, "EventManager", ctx->content.event_manager, .filter = &filter);
    filter.eventTypeId = vim_in_texts(ctx, classes, ARRAY_COUNT(classes), "a class of events");
    ret = VIM_CALL(ctx, CreateCollectorForEvents, &request, &response, err);
    return ret ? ret : vim_keep_id(ctx, response.returnval, "the collector", out, err);
}

static int watch_page(struct vim_context *ctx, struct vim_watch *watch, struct err *err) {
    struct vim_one one = {"EventHistoryCollector", watch->site.events, "latestPage"};
    int ret = vim_collect_events(ctx, watch->site.events, err);
    return ret ? ret : watch_events(ctx, watch, &one, err);
}

/* The newest event of all, which may pass unseen when another follows at once. */
static int watch_latest(struct vim_context *ctx, struct vim_watch *watch, struct err *err) {
    struct vim_one one = {"EventManager", ctx->content.event_manager, "latestEvent"};
    return watch_events(ctx, watch, &one, err);
}

/* A refusal leaves connection and session as they are. */
static bool vim_watch_is_refusal(const struct vim_context *ctx) {
    return !ctx->err.code && ctx->fault.kind != VIM_FAULT_NOT_AUTHENTICATED && ctx->fault.kind != VIM_FAULT_BAD_VERSION;
}

/* Events make rights act at once; without them they act when they have become too old. So a refusal is no failure. */
static int watch_permissions(struct vim_context *ctx, struct vim_watch *watch, struct err *err) {
    struct err why = {0};
    int ret;
    if (!ctx->content.event_manager[0])
        return 0;
    ret = watch_page(ctx, watch, &why); /* by a collector of just the classes that we want */
    if (ret && vim_watch_is_refusal(ctx)) {
        err_clear(&why);
        ret = watch_latest(ctx, watch, &why);
    }
    if (ret && vim_watch_is_refusal(ctx)) {
        log_event(LOG_LEVEL_DEBUG, "vim_watch_events_refused", "peer", ctx->route->peer, "reason", why.text, NULL);
        memset(&ctx->fault, 0, sizeof(ctx->fault));
        return 0;
    }
    return err_move(err, ret, &why);
}

static int vim_watch_op_make(struct vim_context *ctx, void *arg, struct err *err) {
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
    return ret || !watch->follows ? ret
                                  : vim_follows_begin(watch->follows, ctx, watch->site.collector, &watch->site.followed, err);
}

/* -- life, and the loop around the calls --------------------------------------------------------------------------- */

static int vim_watch_check_options(const struct vim_watch_options *o, struct err *err) {
    if (o->max_wait_s > KAAS_VIM_WATCH_WAIT_S_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "vCenter cannot be made to wait for more than %d s", KAAS_VIM_WATCH_WAIT_S_MAX);
    if (o->max_object_updates > OBJECTS_COUNT_UPDATE_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "an answer of vCenter may hold at most %u objects", OBJECTS_COUNT_UPDATE_MAX);
    return 0;
}

int vim_watch_new(struct vim_client *client, const struct vim_watch_options *options, struct vim_watch **out, struct err *err) {
    _cleanup_(vim_watch_free) struct vim_watch *w = NULL;
    int ret = vim_watch_check_options(options, err);
    if (ret)
        return ret;
    w = calloc(1, sizeof(*w));
    if (!w)
        return err_set(err, ERR_NOMEM, "out of memory");
    w->client = client;
    w->follows = options->follows;
    w->max_wait_s = options->max_wait_s ? options->max_wait_s : KAAS_VIM_WATCH_WAIT_S;
    w->max_object_updates = options->max_object_updates ? options->max_object_updates : KAAS_VIM_WATCH_OBJECTS_COUNT;
    (void)pthread_mutex_init(&w->lock, NULL);
    clock_init_cond(&w->changed);
    w->extension_key = str_dup(options->extension_key);
    if (options->extension_key && !w->extension_key)
        return err_set(err, ERR_NOMEM, "out of memory");
    ret = vim_context_new(&client->route, &w->ctx, err);
    if (ret)
        return ret;
    vim_client_put_beside(client, w->ctx);
    *out = STEAL(w);
    return 0;
}

/* On a connection of the pool, since our own may be cancelled; and with the very session it was made in, so that nobody logs in
 * just to clean up. */
static void clean_up(struct vim_watch *w) {
    _cleanup_secret_ char *cookie = NULL;
    struct vim_run run = {.identity = VIM_AS_GIVEN, .fn = vim_watch_op_clean, .arg = &w->site};
    if (!w->site.collector[0] || !w->is_reachable)
        return;
    (void)pthread_mutex_lock(&w->client->lock);
    if (w->client->cookie && w->client->session_no == w->site.session_no && !w->client->is_canceled)
        cookie = str_dup(w->client->cookie);
    (void)pthread_mutex_unlock(&w->client->lock);
    run.cookie = cookie;
    if (cookie)
        (void)vim_client_run(w->client, &run, NULL);
}

void vim_watch_free(struct vim_watch *w) {
    if (!w)
        return;
    if (w->ctx) {
        if (w->follows)
            vim_follows_end(w->follows);
        clean_up(w);
        vim_client_take_beside(w->client, w->ctx);
        vim_context_free(w->ctx);
    }
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->changed);
    free(w->extension_key);
    free(w);
}

void vim_watch_cancel(struct vim_watch *w) {
    (void)pthread_mutex_lock(&w->lock);
    w->is_canceled = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    vim_context_cancel(w->ctx);
}

/* ---- pace ---- */

/* Waits until the next question may be asked; a cancel ends it. */
static void keep_pace(struct vim_watch *w) {
    int64_t ms = w->not_before_ms - clock_mono_ms();
    const struct timespec until = clock_deadline(ms > 0 ? ms : 0);
    LOCKED(&w->lock);
    for (int rc = 0; ms > 0 && !rc && !w->is_canceled;)
        rc = pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

static bool vim_watch_is_canceled(struct vim_watch *w) {
    bool answer;
    (void)pthread_mutex_lock(&w->lock);
    answer = w->is_canceled;
    (void)pthread_mutex_unlock(&w->lock);
    return answer || __atomic_load_n(&w->ctx->is_canceled, __ATOMIC_SEQ_CST);
}

/* ---- calls ---- */

static int vim_watch_run(struct vim_watch *w, vim_op_fn *fn, void *arg, struct err *err) {
    struct vim_run op = {.identity = VIM_AS_US, .fn = fn, .arg = arg};
    int ret = vim_client_run_on(w->client, w->ctx, &op, err);
    if (ret != ERR_CANCELED)
        w->is_reachable = ret != ERR_TIMEOUT && ret != ERR_UNREACHABLE && ret != ERR_TLS;
    return ret;
}

/* Makes what the watch consists of, unless that is there and of the session that the client has now. */
static int vim_watch_make(struct vim_watch *w, const struct vim_watch_events *events, struct err *err) {
    bool has_cookie;
    uint64_t no;
    int ret;
    if (vim_watch_is_canceled(w)) /* not to log in again just to be told so */
        return err_set(err, ERR_CANCELED, "the watch of vCenter %s was ended", w->client->peer);
    ret = vim_ensure_session(w->client, err);
    if (ret)
        return ret;
    no = vim_client_current_session(w->client, &has_cookie);
    if (w->site.session_no != no) {
        memset(&w->site, 0, sizeof(w->site)); /* gone with its session */
        w->site.session_no = no;
        w->is_made = false;
    }
    if (w->is_made)
        return 0;
    w->is_whole = false;
    w->version[0] = '\0';
    w->object_count = 0;
    w->last_event = 0;
    w->has_page = false;
    ret = vim_watch_run(w, vim_watch_op_make, w, err);
    if (ret)
        return ret;
    w->is_made = true;
    return events->restarted ? events->restarted(events->arg, err) : 0;
}

/* One answer. */
static int vim_watch_ask(struct vim_watch *w, struct vim_watch_answer *answer, struct err *err) {
    bool had_news = answer->has_news;
    int64_t asked_ms;
    int ret;
    keep_pace(w);
    asked_ms = clock_mono_ms();
    answer->is_truncated = answer->has_news = answer->is_list_stale = false;
    ret = vim_watch_run(w, vim_watch_op_wait, answer, err);
    w->not_before_ms = answer->is_truncated ? 0 : asked_ms + (answer->has_news ? SPACING_MS : EMPTY_SPACING_MS);
    answer->has_news |= had_news;
    return ret;
}

static int tell_settled(struct vim_watch *w, const struct vim_watch_answer *answer, struct err *err) {
    if (!answer->has_news)
        return 0;
    w->is_whole = true;
    return answer->events->settled ? answer->events->settled(answer->events->arg, err) : 0;
}

static int vim_watch_try_next(struct vim_watch *w, const struct vim_watch_events *events, struct err *err) {
    struct vim_watch_answer answer = {.watch = w, .events = events};
    int ret;
    memset(&w->ctx->fault, 0, sizeof(w->ctx->fault)); /* of the call before */
    ret = vim_watch_make(w, events, err);
    for (unsigned i = 0; !ret && i <= ANSWERS_COUNT_MAX; i++) {
        if (i == ANSWERS_COUNT_MAX)
            return err_set(err, ERR_TOO_LARGE, "%s does not come to an end with its changes", w->client->peer);
        ret = vim_watch_ask(w, &answer, err);
        if (!answer.is_truncated)
            break;
    }
    return ret ? ret : tell_settled(w, &answer, err);
}

/* The failure means just that what we made is gone. */
static bool vim_watch_is_lost(const struct vim_watch *w) {
    enum vim_fault_kind kind = w->ctx->fault.kind;
    return kind == VIM_FAULT_NOT_AUTHENTICATED || kind == VIM_FAULT_STALE || kind == VIM_FAULT_OBJECT_GONE ||
           kind == VIM_FAULT_CANCELED;
}

/* As vim_client_run: a session that somebody else has made meanwhile may have ended, too, before a login that is refused says why. */
int vim_watch_next(struct vim_watch *w, const struct vim_watch_events *events, struct err *err) {
    struct err why = {0};
    int ret = vim_watch_try_next(w, events, &why);
    for (unsigned i = 0; i < VIM_RENEWALS_MAX && ret && vim_watch_is_lost(w); i++) {
        const bool is_session_lost = w->ctx->fault.kind == VIM_FAULT_NOT_AUTHENTICATED;
        w->is_made = false;
        err_clear(&why);
        ret = is_session_lost ? vim_client_renew_session(w->client, w->site.session_no, &why) : 0;
        if (ret)
            break;
        ret = vim_watch_try_next(w, events, &why);
    }
    if (ret)
        w->is_made = false;
    return err_move(err, ret, &why);
}

/* -- reading once -------------------------------------------------------------------------------------------------- */

static int tell_content(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property properties[] = {
        [NAME] = {"name", SOAP_TYPE_string, VIM_OPTIONAL},
        [PARENT] = {"parent", SOAP_TYPE_vim25__ManagedObjectReference, VIM_OPTIONAL}};
    const struct vim_watch_events *events = arg;
    struct vim_watch_object told = {.op = VIM_WATCH_ENTER};
    if (!vim_watch_identify(object->obj, &told))
        return 0;
    for (enum member m = NAME; m <= PARENT; m++) {
        const void *value = NULL;
        int ret = vim_property_get(ctx, object, &properties[m], &value, err);
        if (ret)
            return ret;
        vim_watch_take_value(&told, m, properties[m].type, (void *)(uintptr_t)value);
    }
    return events->object(events->arg, &told, err);
}

static int op_clusters(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const types[] = {"ClusterComputeResource", NULL};
    const struct vim_watch_events *events = arg;
    char view[VIM_VIEW_BYTES];
    int ret = events->restarted(events->arg, err);
    if (!ret)
        ret = vim_create_view(ctx, types, view, err);
    if (ret)
        return ret;
    ret = vim_retrieve(ctx, cluster_spec(ctx, view), tell_content, arg, err);
    vim_destroy_view(ctx, view);
    return ret;
}

int vim_read_clusters(struct vim_client *client, const struct vim_watch_events *events, struct err *err) {
    struct vim_watch_events copy = *events;
    return vim_client_run_as_us(client, op_clusters, &copy, err);
}
