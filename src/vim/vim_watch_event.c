/* Live watching: events about permissions, roles and sessions that an administrator ended. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of events grow. What has a key that was told is passed over, since a page comes whole each time; its events are in no
 * order. A page of which no event is known may have lost others before: then it may have been anybody. */
#include <string.h>

#include "str.h"
#include "vim_watch_private.h"

#define PRINCIPAL_BYTES_MAX 512U
#define PAGE_COUNT_LEAST 10 /* size of a page that vCenter uses by itself */

static int tell(const struct vim_watch_answer *answer, const char *user, struct err *err) {
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
    default: return false;
    }
}

static void keep_key(struct vim_watch *watch, const struct vim25__AnyEvent *event) {
    if (event->key && *event->key > watch->last_event)
        watch->last_event = *event->key;
}

/* An event without key cannot be told from one that was told: better once too often. */
static bool is_new(const struct vim25__AnyEvent *event, int last) {
    return !event->key || *event->key > last;
}

static int tell_page(const struct vim_watch_answer *answer, const struct vim25__ArrayOfEvent *page, struct err *err) {
    struct vim_watch *watch = answer->watch;
    int last = watch->last_event, fresh = 0, ret = 0;
    for (int i = 0; i < page->__sizeEvent; i++) {
        fresh += is_new(&page->Event[i], last);
        keep_key(watch, &page->Event[i]);
    }
    if (fresh == page->__sizeEvent && (last ? fresh > 0 : fresh >= PAGE_COUNT_LEAST))
        return tell(answer, NULL, err);
    for (int i = 0; !ret && i < page->__sizeEvent; i++)
        if (is_new(&page->Event[i], last) && is_ours(&page->Event[i]))
            ret = tell(answer, user_of(&page->Event[i]), err);
    return ret;
}

int vim_watch_tell_events(const struct vim_watch_answer *answer, const struct vim25__PropertyChange *change, struct err *err) {
    struct vim_watch *watch = answer->watch;
    struct vim25__AnyEvent event;
    if (!change->name || !change->val)
        return 0;
    if (str_eq(change->name, "latestPage") && change->__type == SOAP_TYPE_vim25__ArrayOfEvent)
        return tell_page(answer, change->val, err);
    if (!read_single(change->__type, change->val, &event) || !is_new(&event, watch->last_event))
        return 0;
    keep_key(watch, &event);
    return tell(answer, user_of(&event), err);
}

void vim_watch_skip_events(struct vim_watch *watch, int type, const void *value) {
    const struct vim25__ArrayOfEvent *page = value;
    struct vim25__AnyEvent event;
    if (read_single(type, value, &event))
        keep_key(watch, &event);
    for (int i = 0; value && type == SOAP_TYPE_vim25__ArrayOfEvent && i < page->__sizeEvent; i++)
        keep_key(watch, &page->Event[i]);
}
