/* Live watching against canned answers: what is asked, what is told, what is made anew when.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>

#include "clock.h"
#include "limits.h"
#include "str.h"
#include "unit.h"
#include "vim_watch_world.h"

#define FAULT(name) "<" name "Fault xmlns=\"urn:vim25\" xsi:type=\"" name "\"/>"
#define VM_ON(id, host) OBJECT("enter", "VirtualMachine", id, REFERENCE("runtime.host", "HostSystem", host))

static unsigned made(struct watch_world *w) {
    return fake_count(w->fake, "CreatePropertyCollector");
}

/* A watch that has told a first picture with one machine. */
static void begin(struct watch_world *w) {
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", VM_ON("vm-1", "host-1")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nenter vm vm-1 host=host-1\nsettled\n");
}

/* ---- what is told ---- */

static void first_picture(void **state) {
    struct watch_world *w = *state;
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("1",
                        OBJECT("enter", "ClusterComputeResource", "domain-c7",
                               TEXT("name", "HX%2fEast") REFERENCE("parent", "Folder", "group-h1"))
                            OBJECT("enter", "ComputeResource", "domain-s9", TEXT("name", "alone"))
                                OBJECT("enter", "Folder", "group-h1", REFERENCE("parent", "Datacenter", "datacenter-2"))
                                    OBJECT("enter", "Datacenter", "datacenter-2", TEXT("name", "DC 100%25"))
                                        OBJECT("enter", "HostSystem", "host-1",
                                               TEXT("name", "esx1") REFERENCE("parent", "ClusterComputeResource", "domain-c7")
                                                   CHANGE("runtime.connectionState", "HostSystemConnectionState", "connected")
                                                       CHANGE("runtime.powerState", "HostSystemPowerState", "standBy")
                                                           CHANGE("runtime.inMaintenanceMode", "xsd:boolean", "true"))
                                            OBJECT("enter", "VirtualMachine", "vm-1",
                                                   TEXT("name", "node-1") TEXT("config.instanceUuid", "5012ABCD") TEXT(
                                                       "config.uuid", "4212ABCD") CHANGE("config.template", "xsd:boolean", "0")
                                                       REFERENCE("runtime.host", "HostSystem", "host-1")
                                                           CHANGE("runtime.powerState", "VirtualMachinePowerState", "hibernating")
                                                               CHANGE("runtime.connectionState", "VirtualMachineConnectionState",
                                                                      "connected"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\n"
                      "enter cluster domain-c7 name=HX/East parent=group-h1\n"
                      "enter plain domain-s9 name=alone\n"
                      "enter folder group-h1 parent=datacenter-2\n"
                      "enter datacenter datacenter-2 name=DC 100%\n"
                      "enter host host-1 name=esx1 parent=domain-c7 connection=connected power=standBy maintenance=1\n"
                      "enter vm vm-1 name=node-1 instance=5012abcd bios=4212abcd host=host-1 power=hibernating "
                      "connection=connected template=0\n"
                      "settled\n");
}

static void what_is_asked(void **state) {
    struct watch_world *w = *state;
    const char *wait, *filter;
    begin(w);
    assert_int_equal(fake_count(w->fake, "CreateFilter"), 3);
    filter = fake_last(w->fake, "CreateFilter"); /* the last: machines */
    assert_non_null(strstr(filter, ">session[k]pc<"));
    assert_non_null(strstr(filter, ">session[k]machines<"));
    assert_non_null(strstr(filter, "<partialUpdates>false<"));
    assert_null(strstr(filter, "<path>parent<")); /* machines lead nowhere */
    assert_null(strstr(filter, ">all<"));
    wait = fake_last(w->fake, "WaitForUpdatesEx");
    assert_non_null(strstr(wait, ">session[k]pc<"));
    assert_non_null(strstr(wait, "<version/>"));
    assert_non_null(strstr(wait, "<maxWaitSeconds>60</maxWaitSeconds><maxObjectUpdates>500</maxObjectUpdates>"));
    fake_answer(w->fake, "WaitForUpdatesEx", "");
    watch_next(w, 0, NULL);
    assert_non_null(strstr(fake_last(w->fake, "WaitForUpdatesEx"), "<version>1</version>"));
    told_is(&w->told, "");
    assert_int_equal(made(w), 1);
}

static void changes_are_partial(void **state) {
    struct watch_world *w = *state;
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("2", OBJECT("modify", "VirtualMachine", "vm-1", REFERENCE("runtime.host", "HostSystem", "host-2"))
                                 OBJECT("modify", "HostSystem", "host-1", CHANGE("runtime.inMaintenanceMode", "xsd:boolean", "1"))
                                     OBJECT("leave", "VirtualMachine", "vm-9", "") OBJECT("leave", "HostSystem", "host-9", "")
                                         OBJECT("leave", "ClusterComputeResource", "domain-c9", TEXT("name", "left over"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "modify vm vm-1 host=host-2\nmodify host host-1 maintenance=1\nleave vm vm-9\nleave host host-9\n"
                      "leave cluster domain-c9\nsettled\n");
}

/* A value goes away in four ways: a change without value, a removal, a fault, an object above it. */
static void values_go_away(void **state) {
    struct watch_world *w = *state;
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("2",
                        OBJECT("modify", "VirtualMachine", "vm-1", UNSET("runtime.host")) OBJECT(
                            "modify", "VirtualMachine", "vm-2", "<changeSet><name>config.uuid</name><op>remove</op></changeSet>")
                            OBJECT("modify", "VirtualMachine", "vm-3",
                                   "<missingSet><path>name</path><fault><fault xsi:type=\"NoPermission\"/></fault></missingSet>")
                                OBJECT("modify", "VirtualMachine", "vm-4", UNSET("config"))
                                    OBJECT("modify", "VirtualMachine", "vm-5", UNSET("config.uuid") TEXT("config.uuid", "a"))
                                        OBJECT("modify", "VirtualMachine", "vm-6",
                                               TEXT("name", "a") UNSET(
                                                   "name")) "<missingSet><obj type=\"VirtualMachine\">vm-7</obj></missingSet>"));
    watch_next(w, 0, NULL);
    told_is(&w->told, "modify vm vm-1 unset=80\nmodify vm vm-2 unset=40\nmodify vm vm-3 unset=1\nmodify vm vm-4 unset=160\n"
                      "modify vm vm-5 bios=a\nmodify vm vm-6 unset=1\nleave vm vm-7\nsettled\n");
}

static void strange_updates_spoil_nothing(void **state) {
    struct watch_world *w = *state;
    char *long_id = malloc(200), *text;
    assert_non_null(long_id);
    memset(long_id, 'v', 199);
    long_id[199] = '\0';
    begin(w);
    text = str_format(
        UPDATES("2", "<objectSet/><objectSet><kind>enter</kind></objectSet><objectSet><obj>vm-2</obj></objectSet>" OBJECT(
                         "enter", "VirtualMachine", "", TEXT("name", "no id")) OBJECT("enter", "VirtualMachine", "%s", "")
                         OBJECT("enter", "Datastore", "datastore-1", TEXT("name", "ds"))
                             OBJECT("enter", "VirtualMachine", "vm-3",
                                    TEXT("guest.ipAddress", "1.2.3.4") CHANGE("name", "NoSuchType", "<a><b/></a>")
                                        CHANGE("runtime.host", "xsd:string", "host-1") CHANGE("config.template", "xsd:int", "1")
                                            TEXT("config.uuid", "&#xD800;"))
                                 OBJECT("hover", "VirtualMachine", "vm-4", TEXT("name", "kind that we do not know"))
                                     OBJECT("enter", "VirtualMachine", "vm-5", REFERENCE("runtime.host", "HostSystem", "%s"))),
        long_id, long_id);
    assert_non_null(text);
    fake_answer(w->fake, "WaitForUpdatesEx", text);
    watch_next(w, 0, NULL);
    told_is(&w->told,
            "enter vm vm-3 bios=  unset=181\nmodify vm vm-4 name=kind that we do not know\nenter vm vm-5 unset=80\nsettled\n");
    free(long_id);
    free(text);
}

/* ---- truncated, time-out ---- */

static void truncated_answers_are_one_update(void **state) {
    struct watch_world *w = *state;
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx", MORE_UPDATES("1", VM_ON("vm-1", "host-1")));
    fake_answer(w->fake, "WaitForUpdatesEx", MORE_UPDATES("2", VM_ON("vm-2", "host-1")));
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("3", VM_ON("vm-3", "host-1")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nenter vm vm-1 host=host-1\nenter vm vm-2 host=host-1\nenter vm vm-3 host=host-1\nsettled\n");
    assert_non_null(strstr(fake_last(w->fake, "WaitForUpdatesEx"), "<version>2</version>"));
}

static void an_empty_world_is_settled_too(void **state) {
    struct watch_world *w = *state;
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx", "<returnval><version>1</version></returnval>");
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nsettled\n");
}

static void endless_truncation_has_an_end(void **state) {
    struct watch_world *w = *state;
    struct err err = {0};
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx", "<returnval><version>1</version><truncated>true</truncated></returnval>");
    watch_next(w, ERR_PROTOCOL, &err);
    assert_non_null(strstr(err.text, "vc.example.test:443"));
}

static void answers_without_version_are_refused(void **state) {
    struct watch_world *w = *state;
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx", "<returnval><filterSet/></returnval>");
    watch_next(w, ERR_PROTOCOL, NULL);
}

static void too_many_objects(void **state) {
    struct watch_world *w = *state;
    struct strbuf b;
    strbuf_init(&b, 64U << 20);
    begin(w);
    strbuf_adds(&b, "<returnval><version>2</version><filterSet>");
    for (int i = 0; i < KAAS_VIM_OBJECTS_COUNT_MAX / 4; i++)
        strbuf_adds(&b, OBJECT("enter", "VirtualMachine", "v", ""));
    strbuf_adds(&b, "</filterSet><truncated>true</truncated></returnval>");
    w->told.is_without_machines = true;
    for (int i = 0; i < 4; i++)
        fake_answer(w->fake, "WaitForUpdatesEx", b.data);
    watch_next(w, ERR_TOO_LARGE, NULL);
    told_is(&w->told, "");
    strbuf_done(&b);
}

/* A server that does not wait is asked once per second, not as fast as it answers. */
static void hasty_servers_set_no_pace(void **state) {
    struct watch_world *w = *state;
    int64_t start;
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx", "");
    fake_answer(w->fake, "WaitForUpdatesEx", "");
    start = clock_mono_ms();
    watch_next(w, 0, NULL);
    watch_next(w, 0, NULL);
    assert_true(clock_mono_ms() - start > 500);
}

/* ---- made anew ---- */

static void lose_by(struct watch_world *w, const char *detail) {
    watch_expect_made(w, 1);
    fake_fault(w->fake, "WaitForUpdatesEx", detail, "lost");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", VM_ON("vm-1", "host-1")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nenter vm vm-1 host=host-1\nsettled\n");
    assert_non_null(strstr(fake_last(w->fake, "WaitForUpdatesEx"), "<version/>"));
}

static void what_is_lost_is_made_anew(void **state) {
    struct watch_world *w = *state;
    begin(w);
    lose_by(w, FAULT("InvalidCollectorVersion"));
    lose_by(w, FAULT("ManagedObjectNotFound"));
    lose_by(w, FAULT("RequestCanceled"));
    assert_int_equal(made(w), 4);
    assert_int_equal(fake_count(w->fake, "Login"), 1);
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 3); /* the session lives: nothing piles up in it */
    assert_int_equal(fake_count(w->fake, "DestroyView"), 6);
}

static void lost_session_is_renewed_twice(void **state) {
    struct watch_world *w = *state;
    begin(w);
    lose_by(w, FAULT("NotAuthenticated"));
    assert_int_equal(fake_count(w->fake, "Login"), 2);
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 0); /* gone with its session */
    watch_expect_made(w, 2);
    for (int i = 0; i < 3; i++)
        fake_fault(w->fake, "WaitForUpdatesEx", FAULT("NotAuthenticated"), "");
    watch_next(w, ERR_CREDENTIALS, NULL);
    assert_int_equal(fake_count(w->fake, "Login"), 4);
    told_is(&w->told, "restarted\nrestarted\n");
}

/* Two sessions end at once, the one of the watch and the one that came after it: the login that is refused then is what is told. */
static void what_a_refused_login_says_is_told(void **state) {
    struct watch_world *w = *state;
    struct err err = {0};
    begin(w);
    watch_expect_made(w, 1);
    fake_fault(w->fake, "WaitForUpdatesEx", FAULT("NotAuthenticated"), "");
    fake_fault(w->fake, "WaitForUpdatesEx", FAULT("NotAuthenticated"), "");
    fake_answer(w->fake, "Login", "<returnval><key>52</key><userName>kaas</userName></returnval>");
    fake_fault(w->fake, "Login", FAULT("InvalidLogin"), "no");
    watch_next(w, ERR_UPSTREAM_DENIED, &err);
    assert_non_null(strstr(err.text, "does not accept kaasd's own login"));
}

static void session_lost_inside_an_answer(void **state) {
    struct watch_world *w = *state;
    begin(w);
    watch_expect_made(w, 1);
    fake_answer(
        w->fake, "WaitForUpdatesEx",
        UPDATES("2", OBJECT("modify", "VirtualMachine", "vm-1",
                            "<missingSet><path>name</path><fault><fault xsi:type=\"NotAuthenticated\"/></fault></missingSet>")));
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", VM_ON("vm-1", "host-1")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nenter vm vm-1 host=host-1\nsettled\n"); /* not: the machine has no name */
    assert_int_equal(fake_count(w->fake, "Login"), 2);
}

/* Filters end with the session they were made in, also when somebody else of this client has logged in again. */
static void session_of_others_is_noticed(void **state) {
    struct watch_world *w = *state;
    begin(w);
    assert_int_equal(vim_login_password(w->client, "kaas@vsphere.local", "p", NULL), 0);
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", VM_ON("vm-2", "host-1")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nenter vm vm-2 host=host-1\nsettled\n");
}

static void other_errors_are_returned(void **state) {
    struct watch_world *w = *state;
    struct err err = {0};
    begin(w);
    fake_fault(w->fake, "WaitForUpdatesEx", FAULT("SystemError"), "oh no");
    watch_next(w, ERR_UPSTREAM, &err);
    assert_non_null(strstr(err.text, "oh no"));
    begin(w); /* the next one starts anew */
    fake_error(w->fake, "WaitForUpdatesEx", ERR_TIMEOUT);
    watch_next(w, ERR_TIMEOUT, NULL);
    fake_error(w->fake, "DestroyPropertyCollector", ERR_UNREACHABLE);
    watch_next(w, ERR_UNREACHABLE, NULL); /* told by the first call, not by each of them */
    assert_int_equal(made(w), 2);
    begin(w);
    assert_int_equal(fake_count(w->fake, "Login"), 1);
}

static void what_is_half_made_is_removed(void **state) {
    struct watch_world *w = *state;
    fake_answer(w->fake, "CreateContainerView", "<returnval type=\"ContainerView\">session[k]half</returnval>");
    fake_fault(w->fake, "CreateContainerView", FAULT("SystemError"), "");
    watch_next(w, ERR_UPSTREAM, NULL);
    told_is(&w->told, "");
    begin(w);
    assert_non_null(strstr(fake_last(w->fake, "DestroyView"), ">session[k]half<"));
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 1);
}

static void listeners_may_fail(void **state) {
    struct watch_world *w = *state;
    struct err err = {0};
    begin(w);
    w->told.fail_at = "vm";
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("2", VM_ON("vm-2", "h") VM_ON("vm-3", "h")));
    watch_next(w, ERR_DATABASE, &err);
    told_is(&w->told, "enter vm vm-2 host=h\n");
    w->told.fail_at = NULL;
    begin(w);
}

/* ---- ending ---- */

static void *wait_aside(void *arg) {
    struct watch_world *w = arg;
    struct err err = {0};
    (void)vim_watch_next(w->watch, &w->told.events, &err);
    return (void *)(intptr_t)err.code;
}

static void cancel_ends_the_wait(void **state) {
    struct watch_world *w = *state;
    pthread_t thread;
    void *code;
    begin(w);
    fake_close_gate(w->fake);
    assert_int_equal(pthread_create(&thread, NULL, wait_aside, w), 0);
    fake_wait_at_gate(w->fake, 1);
    vim_watch_cancel(w->watch);
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_int_equal((intptr_t)code, ERR_CANCELED);
    fake_open_gate(w->fake);
    assert_int_equal(vim_logout(w->client, NULL), 0);
    watch_next(w, ERR_CANCELED, NULL);
    assert_false(fake_has_session(w->client));           /* it does not log in again */
    assert_int_equal(vim_keepalive(w->client, NULL), 0); /* only the watch is ended */
}

static void cancel_of_the_client_ends_the_wait(void **state) {
    struct watch_world *w = *state;
    pthread_t thread;
    void *code;
    begin(w);
    fake_close_gate(w->fake);
    assert_int_equal(pthread_create(&thread, NULL, wait_aside, w), 0);
    fake_wait_at_gate(w->fake, 1);
    vim_client_cancel(w->client);
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_int_equal((intptr_t)code, ERR_CANCELED);
}

/* A wait takes none of the pool's connections, and its end is no sign of a server in trouble. */
static void waiting_is_beside_the_pool(void **state) {
    struct watch_world *w = *state;
    begin(w);
    for (int i = 0; i < 5; i++) {
        watch_expect_made(w, i > 0);
        fake_error(w->fake, "WaitForUpdatesEx", ERR_TIMEOUT);
        watch_next(w, ERR_TIMEOUT, NULL);
    }
    assert_int_equal(vim_keepalive(w->client, NULL), 0);
}

static struct vim_watch *watch_again(struct watch_world *w) {
    static const struct vim_watch_options options = {0};
    vim_watch_free(w->watch);
    w->watch = NULL;
    assert_int_equal(vim_watch_new(w->client, &options, &w->watch, NULL), 0);
    return w->watch;
}

static void free_cleans_up(void **state) {
    struct watch_world *w = *state;
    begin(w);
    (void)watch_again(w);
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 1);
    assert_int_equal(fake_count(w->fake, "DestroyView"), 2);
    begin(w);
    fake_error(w->fake, "WaitForUpdatesEx", ERR_TIMEOUT); /* a server that is away is not asked to */
    watch_next(w, ERR_TIMEOUT, NULL);
    (void)watch_again(w);
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 1);
    begin(w);
    assert_int_equal(vim_login_password(w->client, "kaas@vsphere.local", "p", NULL), 0); /* it went with its session */
    (void)watch_again(w);
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 1);
    begin(w);
    assert_int_equal(vim_logout(w->client, NULL), 0); /* no login just to clean up */
    (void)watch_again(w);
    assert_int_equal(fake_count(w->fake, "DestroyPropertyCollector"), 1);
    assert_int_equal(fake_count(w->fake, "Login"), 2);
}

static void options_are_checked(void **state) {
    struct watch_world *w = *state;
    struct vim_watch *other = NULL;
    struct vim_watch_options options = {.max_wait_s = KAAS_VIM_WATCH_WAIT_S_MAX + 1};
    assert_int_equal(vim_watch_new(w->client, &options, &other, NULL), ERR_UNPROCESSABLE);
    options = (struct vim_watch_options){.max_object_updates = 1000000};
    assert_int_equal(vim_watch_new(w->client, &options, &other, NULL), ERR_UNPROCESSABLE);
    options = (struct vim_watch_options){.max_wait_s = 7, .max_object_updates = 3};
    assert_int_equal(vim_watch_new(w->client, &options, &other, NULL), 0);
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", ""));
    assert_int_equal(vim_watch_next(other, &w->told.events, NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "WaitForUpdatesEx"), "<maxWaitSeconds>7</maxWaitSeconds><maxObjectUpdates>3<"));
    vim_watch_free(other);
    vim_watch_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, watch_set_up, watch_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(first_picture),
        TEST(what_is_asked),
        TEST(changes_are_partial),
        TEST(values_go_away),
        TEST(strange_updates_spoil_nothing),
        TEST(truncated_answers_are_one_update),
        TEST(an_empty_world_is_settled_too),
        TEST(endless_truncation_has_an_end),
        TEST(answers_without_version_are_refused),
        TEST(too_many_objects),
        TEST(hasty_servers_set_no_pace),
        TEST(what_is_lost_is_made_anew),
        TEST(lost_session_is_renewed_twice),
        TEST(what_a_refused_login_says_is_told),
        TEST(session_lost_inside_an_answer),
        TEST(session_of_others_is_noticed),
        TEST(other_errors_are_returned),
        TEST(what_is_half_made_is_removed),
        TEST(listeners_may_fail),
        TEST(cancel_ends_the_wait),
        TEST(cancel_of_the_client_ends_the_wait),
        TEST(waiting_is_beside_the_pool),
        TEST(free_cleans_up),
        TEST(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
