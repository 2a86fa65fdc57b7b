/* Fuzz target: answers of a vCenter, through the transport seam into every decoder of src/vim.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * First byte: which call; second: HTTP status 500 if odd; the rest is the answer. What comes before and after that answer is canned. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "secret.h"
#include "str.h"
#include "vim.h"
#include "vim_alarm.h"
#include "vim_canned.h"
#include "vim_event.h"
#include "vim_extension.h"
#include "vim_guest.h"
#include "vim_location.h"
#include "vim_machine.h"
#include "vim_authorization.h"
#include "vim_object.h"
#include "vim_session.h"
#include "vim_site.h"
#include "vim_watch.h"

static const struct canned canned[] = {
    ANSWER("RetrieveServiceContent",
           "<returnval>" REF("rootFolder") REF("propertyCollector")
               REF("viewManager") "<about><apiType>"
                                  "VirtualCenter</apiType><instanceUuid>u</instanceUuid></about>" REF("sessionManager")
                                      REF("authorizationManager") REF("extensionManager") REF("eventManager") REF("alarmManager")
                                          REF("searchIndex") "</returnval>"),
    ANSWER("Login", "<returnval><key>52</key><userName>u</userName></returnval>"),
    ANSWER("CreateContainerView", "<returnval type=\"ContainerView\">v</returnval>"),
    ANSWER("DestroyView", ""),
    ANSWER("Logout", ""),
    ANSWER("CancelRetrievePropertiesEx", ""),
    ANSWER("AddAuthorizationRole", "<returnval>1</returnval>"),
    ANSWER("CreateCollectorForEvents", "<returnval type=\"EventHistoryCollector\">session[1]2</returnval>"),
    ANSWER("DestroyCollector", ""),
    ANSWER("GetAlarm", "<returnval type=\"Alarm\">alarm-1</returnval><returnval type=\"Alarm\">alarm-2</returnval>"),
    ANSWER("FindByUuid", "<returnval type=\"VirtualMachine\">vm-1</returnval>"),
};
static int is_version_tested;

static int run(void *conn, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err) {
    static const struct canned_table table = {canned, ARRAY_COUNT(canned)};
    (void)conn;
    *status = 200;
    if (!x->body && is_version_tested && tested.bytes)
        return give_tested(reply, status);
    if (give_canned(&table, x, reply))
        return 0;
    return tested.bytes ? give_tested(reply, status) : err_set(err, ERR_UNREACHABLE, "nothing more");
}

static struct vim_client *get_client(void) {
    static int is_ready;
    struct vim_client *client = canned_client(run);
    if (!is_ready && vim_ensure_session(client, NULL))
        abort();
    is_ready = 1;
    return client;
}

/* ---- calls; results are freed so that leaks show ---- */

static void call_peek(struct vim_client *client) {
    struct vim_user_session s = {0};
    (void)vim_peek_session(client, "0123456789abcdef0123456789abcdef01234567", &s, NULL);
    vim_user_session_done(&s);
}

static void call_sessions(struct vim_client *client) {
    struct vim_session_list list = {0};
    (void)vim_list_sessions(client, &list, NULL);
    vim_session_list_done(&list);
}

static void call_keys(struct vim_client *client) {
    struct vim_key_list list = {0};
    (void)vim_list_extension_keys(client, &list, NULL);
    vim_key_list_done(&list);
}

static void call_find(struct vim_client *client) {
    struct vim_extension *e = NULL;
    (void)vim_find_extension(client, "k", &e, NULL);
    vim_extension_free(e);
}

static void call_machines(struct vim_client *client) {
    static const char *const morefs[] = {"vm-1", "vm-2"};
    struct vim_machine_list found = {0};
    (void)vim_list_machines(client, morefs, 2, &found, NULL);
    vim_machine_list_done(&found);
}

/* The same answers as those about clusters. */
static void call_guests(struct vim_client *client) {
    const struct vim_guest_query query = {.cluster = "domain-c7", .name_prefix = "st", .network = "m"};
    struct vim_guest_addresses found = {.count = 0};
    (void)vim_list_guest_addresses(client, &query, &found, NULL);
    vim_guest_addresses_done(&found);
}

static int on_restarted(void *arg, struct err *err) {
    (void)arg, (void)err;
    return 0;
}

/* Every text is read to its end. */
static int on_object(void *arg, const struct vim_watch_object *told, struct err *err) {
    size_t *bytes = arg;
    (void)err;
    *bytes += strlen(told->moref) + strlen(told->name ? told->name : "") + strlen(told->parent_moref ? told->parent_moref : "");
    return 0;
}

/* Each of them is given the answer. */
static void call_places(struct vim_client *client) {
    struct vim_place_list list = {0};
    (void)vim_list_places(client, &list, NULL);
    vim_place_list_done(&list);
}

/* Objects by name, and what is looked at before machines are built. */
static void call_site(struct vim_client *client) {
    static const char *const types[] = {"Folder", "VirtualMachine", NULL};
    const struct tested given = tested;
    struct vim_object_list objects = {0};
    struct vim_reach reach = {0};
    struct vim_source source = {0};
    struct vim_used_addresses used = {0};
    struct vim_datastore store;
    if (!vim_list_objects(client, types, &objects, NULL))
        for (size_t i = 0; i < objects.count; i++) {
            free(vim_object_path(&objects, &objects.items[i]));
            (void)vim_object_around(&objects, &objects.items[i], "Datacenter");
        }
    vim_object_list_done(&objects);
    tested = given;
    call_places(client);
    tested = given;
    (void)vim_lookup_datastore(client, "d", &store, NULL);
    tested = given;
    (void)vim_lookup_reach(client, "c", &reach, NULL);
    vim_reach_done(&reach);
    tested = given;
    (void)vim_lookup_source(client, "v", &source, NULL);
    vim_source_done(&source);
    tested = given;
    (void)vim_list_used_addresses(client, &used, NULL);
    vim_used_addresses_done(&used);
}

static void call_clusters(struct vim_client *client) {
    const struct tested given = tested;
    size_t bytes = 0;
    const struct vim_watch_events events = {.arg = &bytes, .restarted = on_restarted, .object = on_object};
    (void)vim_read_clusters(client, &events, NULL);
    tested = given;
    call_places(client);
    tested = given;
    call_guests(client);
    tested = given;
    call_machines(client);
}

static void call_privileges(struct vim_client *client) {
    static const char *const clusters[] = {"domain-c7", "domain-c70"};
    struct vim_privilege_query q = {.subject = {.user_name = "u"}, .privilege = "System.Read", .clusters = clusters, .count = 2};
    bool granted[2];
    (void)vim_check_privileges(client, &q, granted, NULL);
    q.subject = (struct vim_subject){.session_key = "52"};
    (void)vim_check_privileges(client, &q, granted, NULL);
}

static void call_clone(struct vim_client *client) {
    struct vim_user_session s = {0};
    (void)vim_clone_session(client, "t", &s, NULL);
    vim_user_session_done(&s);
}

static void call_role(struct vim_client *client) {
    int id;
    (void)vim_add_role(client, "Admin", NULL, 0, &id, NULL);
}

static void call_keepalive(struct vim_client *client) {
    (void)vim_keepalive(client, NULL);
}

static void call_versions(struct vim_client *client) {
    struct vim_about about = {0};
    is_version_tested = 1;
    (void)vim_connect(client, &about, NULL);
    is_version_tested = 0;
    vim_about_done(&about);
}

static void call_certificate(struct vim_client *client) {
    (void)vim_unregister_extension(client, "k", NULL);
}

static void call_event(struct vim_client *client) {
    const struct vim_event_argument id = {VIM_EVENT_ID, "1"};
    const struct vim_event event = {.type = "com.cisco.kaas.cluster.added",
                                    .severity = "info",
                                    .cluster_moref = "domain-c7",
                                    .cluster_name = "HX-East",
                                    .arguments = &id,
                                    .argument_count = 1};
    bool is_there = false;
    (void)vim_find_event(client, &event, &is_there, NULL);
}

static void call_alarms(struct vim_client *client) {
    struct vim_alarm_list list = {0};
    (void)vim_list_alarms(client, &list, NULL);
    vim_alarm_list_done(&list);
}

static void call_location(struct vim_client *client) {
    struct vim_location found;
    (void)vim_lookup_location(client, "50010000-0000-4000-8000-000000000101", &found, NULL);
}

static void call_permissions(struct vim_client *client) {
    const struct tested given = tested;
    const struct vim_entity entity = {"ClusterComputeResource", "domain-c7"};
    struct vim_permission_list list = {0};
    struct vim_root root;
    int id;
    (void)vim_list_permissions(client, &entity, &list, NULL);
    vim_permission_list_done(&list);
    tested = given;
    (void)vim_lookup_role(client, "Admin", &id, NULL);
    tested = given;
    (void)vim_lookup_root(client, &root, NULL);
}

/* What the pilot looks at, and the ticket of a plug-in, which is JSON. */
static void call_looks(struct vim_client *client) {
    const struct tested given = tested;
    struct vim_page page;
    char *ticket = NULL;
    size_t count = 0;
    (void)vim_look_at_page(client, &page, NULL);
    tested = given;
    (void)vim_look_at_events(client, &count, NULL);
    tested = given;
    if (!vim_plugin_ticket(client, "0123456789abcdef0123456789abcdef", "6f1c9a2e-3b57-4d0a-9c11-0a1b2c3d4e5f", &ticket, NULL))
        secret_free(ticket);
}

/* The first byte of a seed is a digit or what follows the digits in ASCII: '0' is the first call. */
static void (*const calls[])(struct vim_client *client) = {
    call_peek,   call_sessions, call_keys,        call_find,     call_clusters,    call_privileges,
    call_clone,  call_role,     call_keepalive,   call_versions, call_certificate, call_event,
    call_alarms, call_location, call_permissions, call_looks,    call_site,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct vim_client *client = get_client();
    if (size < 2)
        return 0;
    tested = (struct tested){data + 2, size - 2, data[1] & 1 ? 500 : 200};
    calls[(uint8_t)(data[0] - '0') % ARRAY_COUNT(calls)](client);
    tested.bytes = NULL;
    return 0;
}
