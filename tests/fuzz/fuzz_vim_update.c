/* Fuzz target: what a vCenter tells a watch, through the transport seam into the decoder of updates.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * First byte: 0 the answer to WaitForUpdatesEx, 1 the events before the watch, 2 the extension list read after a change in part; plus 4:
 * HTTP status 500; plus 8: tasks and machines are followed, too. The rest is that answer. What comes before is canned; what comes after is an outage. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "str.h"
#include "vim.h"
#include "vim_canned.h"
#include "vim_extension.h"
#include "vim_follow.h"
#include "vim_watch.h"

static const struct canned canned[] = {
    ANSWER(
        "RetrieveServiceContent",
        "<returnval>" REF("rootFolder") REF("propertyCollector") REF("viewManager") REF("sessionManager")
            REF("authorizationManager") REF("eventManager") REF(
                "extensionManager") "<about><apiType>VirtualCenter</apiType><instanceUuid>u</instanceUuid></about></returnval>"),
    ANSWER("Login", "<returnval><key>52</key><userName>u</userName></returnval>"),
    ANSWER("CreatePropertyCollector", "<returnval>c</returnval>"),
    ANSWER("CreateContainerView", "<returnval>v</returnval>"),
    ANSWER("CreateListView", "<returnval>l</returnval>"),
    ANSWER("CreateFilter", "<returnval>f</returnval>"),
    ANSWER("CreateCollectorForEvents", "<returnval>e</returnval>"),
    ANSWER("DestroyPropertyCollector", ""),
    ANSWER("DestroyView", ""),
    ANSWER("DestroyCollector", ""),
};
static const char no_events[] =
    OPEN "<RetrievePropertiesExResponse xmlns=\"urn:vim25\"><returnval><objects><obj>e</obj></objects>"
         "</returnval></RetrievePropertiesExResponse>" CLOSE;
static const char part_of_list[] =
    OPEN "<WaitForUpdatesExResponse xmlns=\"urn:vim25\"><returnval><version>1</version><filterSet><objectSet>"
         "<obj type=\"ExtensionManager\">em</obj><changeSet><name>extensionList[\"a\"]</name></changeSet></objectSet></filterSet>"
         "</returnval></WaitForUpdatesExResponse>" CLOSE;

enum place { IN_UPDATE, IN_EVENTS, IN_LIST, PLACE_COUNT };

static enum place tested_place;
static unsigned reads, waits;

static int give_read(struct strbuf *reply, long *status, struct err *err) {
    enum place place = reads++ ? IN_LIST : IN_EVENTS;
    if (tested.bytes && tested_place == place)
        return give_tested(reply, status);
    if (place == IN_LIST)
        return err_set(err, ERR_UNREACHABLE, "nothing more");
    strbuf_adds(reply, no_events);
    return 0;
}

static int give_update(struct strbuf *reply, long *status, struct err *err) {
    if (tested.bytes && tested_place == IN_UPDATE)
        return give_tested(reply, status);
    if (waits++ || tested_place != IN_LIST)
        return err_set(err, ERR_UNREACHABLE, "nothing more");
    strbuf_adds(reply, part_of_list);
    return 0;
}

static int run(void *conn, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err) {
    static const struct canned_table table = {canned, ARRAY_COUNT(canned)};
    (void)conn;
    *status = 200;
    if (give_canned(&table, x, reply))
        return 0;
    if (strstr(x->body, "<RetrievePropertiesEx"))
        return give_read(reply, status, err);
    return strstr(x->body, "<WaitForUpdatesEx") ? give_update(reply, status, err) : err_set(err, ERR_UNREACHABLE, "nothing more");
}

/* ---- listeners: they read every byte of every text ---- */

static size_t sum;

static int take(const char *text) {
    sum += text ? strlen(text) : 0;
    return 0;
}

static int on_object(void *arg, const struct vim_watch_object *o, struct err *err) {
    (void)arg, (void)err;
    if (!o->moref || (o->op == VIM_WATCH_LEAVE && o->unset))
        abort();
    return take(o->moref) + take(o->name) + take(o->parent_moref) + take(o->connection) + take(o->power) +
           take(o->instance_uuid) + take(o->bios_uuid) + take(o->host_moref);
}

static int on_extensions(void *arg, const struct vim_key_list *keys, const struct vim_extension *own, struct err *err) {
    (void)arg, (void)err;
    for (size_t i = 0; i < keys->count; i++)
        (void)take(keys->items[i]);
    return own ? take(own->key) + take(own->version) : 0;
}

static int on_permissions(void *arg, const char *user, struct err *err) {
    (void)arg, (void)err;
    return take(user);
}

static int on_maintenance(void *arg, const struct vim_watch_maintenance *begun, struct err *err) {
    (void)arg, (void)err;
    if (!begun->key && begun->is_old)
        abort();
    return take(begun->host_moref);
}

static void on_news(void *arg, const char *whom) {
    (void)arg;
    (void)take(whom);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct vim_watch_options options = {.extension_key = "k"};
    _cleanup_(vim_follows_free) struct vim_follows *follows = NULL;
    const struct vim_watch_events events = {NULL, NULL, on_object, on_extensions, on_permissions, on_maintenance, NULL};
    struct vim_watch *watch = NULL;
    if (size < 1)
        return 0;
    tested = (struct tested){data + 1, size - 1, data[0] & 4 ? 500 : 200};
    tested_place = (enum place)((data[0] & 3) % PLACE_COUNT);
    reads = waits = 0;
    if (vim_follows_new(on_news, NULL, &follows, NULL))
        abort();
    options.follows = data[0] & 8 ? follows : NULL;
    if (vim_watch_new(canned_client(run), &options, &watch, NULL))
        abort();
    (void)vim_watch_next(watch, &events, NULL);
    vim_watch_free(watch);
    tested.bytes = NULL;
    return 0;
}
