/* Live watching against canned answers: the extension list, and events about permissions.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "str.h"
#include "unit.h"
#include "vim_watch_world.h"

#define FAULT(name) "<" name "Fault xmlns=\"urn:vim25\" xsi:type=\"" name "\"/>"
#define MANAGER(changes) OBJECT("modify", "ExtensionManager", "em", changes)
#define RECORD(key, version)                                                                                              \
    "<Extension xsi:type=\"Extension\"><description><label>l</label><summary>s</summary></description><key>" key "</key>" \
    "<version>" version "</version><lastHeartbeatTime>2026-01-31T12:00:00Z</lastHeartbeatTime></Extension>"
#define LIST(records) CHANGE("extensionList", "ArrayOfExtension", records)

/* ---- extensions ---- */

static void begin(struct watch_world *w) {
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("1", OBJECT("enter", "ExtensionManager", "em", LIST(RECORD("com.vmware.vim", "1") RECORD("a.b", "2")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nextensions com.vmware.vim a.b\nsettled\n");
}

static void the_list_comes_whole(void **state) {
    struct watch_world *w = *state;
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("2", MANAGER(LIST(RECORD("com.example.kaas", "1.2") RECORD("com.example.kaas2", "3") RECORD("", "4")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "extensions com.example.kaas com.example.kaas2 own=com.example.kaas/1.2\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("3", MANAGER(UNSET("extensionList"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "extensions\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("4", MANAGER(LIST(""))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "extensions\nsettled\n");
}

/* A server that tells parts in spite of partialUpdates=false is asked for the whole. */
static void parts_of_the_list_are_read_whole(void **state) {
    struct watch_world *w = *state;
    begin(w);
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("2", MANAGER("<changeSet><name>extensionList[\"a.b\"]</name><op>remove</op></changeSet>")
                                 OBJECT("leave", "VirtualMachine", "vm-1", "")));
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval><objects><obj type=\"ExtensionManager\">em</obj><propSet><name>extensionList</name>"
                "<val xsi:type=\"ArrayOfExtension\">" RECORD("com.vmware.vim", "1") "</val></propSet></objects></returnval>");
    watch_next(w, 0, NULL);
    told_is(&w->told, "leave vm vm-1\nextensions com.vmware.vim\nsettled\n");
    assert_int_equal(fake_count(w->fake, "RetrievePropertiesEx"), 1);
}

/* That we may not read the list does not mean that it is empty. */
static void an_unreadable_list_is_not_told(void **state) {
    struct watch_world *w = *state;
    watch_expect_made(w, 1);
    fake_answer(
        w->fake, "WaitForUpdatesEx",
        UPDATES("1",
                OBJECT("enter", "ExtensionManager", "em",
                       "<missingSet><path>extensionList</path><fault><fault xsi:type=\"NoPermission\"/></fault></missingSet>")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("2", OBJECT("modify", "ExtensionManager", "em", "")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "settled\n");
}

static void an_empty_list_is_told(void **state) {
    struct watch_world *w = *state;
    watch_expect_made(w, 1);
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", OBJECT("enter", "ExtensionManager", "em", "")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nextensions\nsettled\n");
}

/* ---- events ---- */

#define PERSON(class, key, name)                                                                                            \
    "<Event xsi:type=\"" class                                                                                              \
        "\"><key>" key "</key><chainId>1</chainId><createdTime>2026-01-31T12:00:00.1Z</createdTime>"                        \
        "<userName>VSPHERE.LOCAL\\admin</userName><entity><name>n</name><entity type=\"Folder\">group-d1</entity></entity>" \
        "<principal>" name "</principal><group>false</group><role><name>r</name><roleId>-2</roleId></role></Event>"
#define GROUP(key) \
    "<Event xsi:type=\"PermissionRemovedEvent\"><key>" key "</key><principal>CORP\\x</principal><group>true</group></Event>"
#define ROLE(key) "<Event xsi:type=\"RoleUpdatedEvent\"><key>" key "</key><role><name>r</name><roleId>5</roleId></role></Event>"
#define ENDED(key, name)                                                                                                  \
    "<Event xsi:type=\"SessionTerminatedEvent\"><key>" key "</key><userName>V\\admin</userName><sessionId>52</sessionId>" \
    "<terminatedUsername>" name "</terminatedUsername></Event>"
#define PAGE(events) CHANGE("latestPage", "ArrayOfEvent", events)
#define COLLECTOR(changes) OBJECT("modify", "EventHistoryCollector", "session[k]events", changes)
#define MANAGED(name, type, id) "<" name " type=\"" type "\">" id "</" name ">"

/* The fake vCenter has no event manager unless it says so. */
static void tell_event_manager(struct watch_world *w) {
    fake_answer(w->fake, "RetrieveServiceContent",
                "<returnval>" MANAGED("rootFolder", "Folder", "group-d1") MANAGED("propertyCollector", "PropertyCollector", "pc")
                    MANAGED("viewManager", "ViewManager",
                            "vm") "<about><apiType>VirtualCenter</apiType><instanceUuid>u"
                                  "</instanceUuid></about>" MANAGED("sessionManager", "SessionManager", "sm")
                                      MANAGED("authorizationManager", "AuthorizationManager", "am")
                                          MANAGED("eventManager", "EventManager", "ev")
                                              MANAGED("extensionManager", "ExtensionManager", "em") "</returnval>");
    assert_int_equal(vim_connect(w->client, NULL, NULL), 0);
}

static void begin_events(struct watch_world *w, const char *page) {
    char *old = str_format(
        "<returnval><objects><obj type=\"EventHistoryCollector\">session[k]events</obj>%s</objects></returnval>", page);
    assert_non_null(old);
    tell_event_manager(w);
    watch_expect_made(w, 1);
    fake_answer(w->fake, "CreateCollectorForEvents", "<returnval type=\"EventHistoryCollector\">session[k]events</returnval>");
    fake_answer(w->fake, "RetrievePropertiesEx", old);
    free(old);
}

#define OLD_PAGE(events) "<propSet><name>latestPage</name><val xsi:type=\"ArrayOfEvent\">" events "</val></propSet>"

static void events_from_now_on(void **state) {
    struct watch_world *w = *state;
    begin_events(w, OLD_PAGE(PERSON("PermissionAddedEvent", "10", "V\\old") ROLE("9")));
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("1", COLLECTOR(PAGE(PERSON("PermissionAddedEvent", "10", "V\\old") ROLE("9")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nsettled\n");
    assert_non_null(strstr(fake_last(w->fake, "CreateCollectorForEvents"),
                           "<disableFullMessage>true</disableFullMessage><eventTypeId>PermissionAddedEvent</eventTypeId>"));
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("2", COLLECTOR(PAGE(PERSON("PermissionUpdatedEvent", "12", "V\\alice") PERSON(
                                 "PermissionAddedEvent", "10", "V\\old") PERSON("PermissionRemovedEvent", "11", "V\\bob")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "permissions V\\alice\npermissions V\\bob\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("3", COLLECTOR(PAGE(PERSON("PermissionUpdatedEvent", "12", "V\\alice") GROUP("13") ENDED("15", "V\\carl")
                                                ROLE("14")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "permissions of all\npermissions V\\carl\npermissions of all\nsettled\n");
}

#define ENTERING(key, host)                                                                                                      \
    "<Event xsi:type=\"EnteringMaintenanceModeEvent\"><key>" key "</key><chainId>1</chainId>"                                    \
    "<createdTime>2026-01-31T12:00:00.25Z</createdTime><userName>V\\admin</userName><computeResource><name>East</name>"          \
    "<computeResource type=\"ClusterComputeResource\">domain-c7</computeResource></computeResource><host><name>esx</name><host " \
    "type=\"HostSystem\">" host "</host></host></Event>"
#define PERSON_ON_HOST(key, name)                                                                                              \
    "<Event xsi:type=\"PermissionAddedEvent\"><key>" key "</key><host><name>esx</name><host type=\"HostSystem\">host-9</host>" \
    "</host><principal>" name "</principal><group>false</group></Event>"
#define AT "at=1769860800250"

/* Those that are in the page at the beginning are told as old ones; each once, in order, whatever the order of the page. */
static void hosts_that_enter_maintenance_mode(void **state) {
    struct watch_world *w = *state;
    begin_events(w, OLD_PAGE(ENTERING("12", "host-2") ROLE("9") ENTERING("11", "host-1")));
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("1", COLLECTOR(PAGE(ENTERING("12", "host-2") ROLE("9") ENTERING("11", "host-1")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nmaintenance host-1 key=11 " AT " old\nmaintenance host-2 key=12 " AT " old\nsettled\n");
    assert_non_null(
        strstr(fake_last(w->fake, "CreateCollectorForEvents"), "<eventTypeId>EnteringMaintenanceModeEvent</eventTypeId>"));
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("2", COLLECTOR(PAGE(ENTERING("15", "host-1") PERSON_ON_HOST("14", "V\\al") ENTERING("12", "host-2")
                                                ENTERING("13", "host-3") ENTERING("11", "host-1")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "maintenance host-3 key=13 " AT "\nmaintenance host-1 key=15 " AT "\npermissions V\\al\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("3", COLLECTOR(PAGE(ENTERING("15", "host-1") "<Event xsi:type=\"EnteringMaintenanceModeEvent\">"
                                                                     "<key>16</key></Event>" ENTERING("12", "host-2")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "settled\n");
}

/* A page without any known event may have lost others, but has these. */
static void hosts_are_told_beside_lost_events(void **state) {
    struct watch_world *w = *state;
    begin_events(w, OLD_PAGE(ROLE("1")));
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", COLLECTOR(PAGE(ROLE("1")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("2", COLLECTOR(PAGE(ENTERING("7", "host-1") ROLE("8")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "maintenance host-1 key=7 " AT "\npermissions of all\nsettled\n");
}

static void strange_events_spoil_nothing(void **state) {
    struct watch_world *w = *state;
    begin_events(w, "");
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("1", COLLECTOR(PAGE("<Event/><Event xsi:type=\"NoSuchEvent\"><key>5</key><arguments><key>k</key>"
                                            "<value xsi:type=\"Odd\"><x/></value></arguments></Event>" PERSON(
                                                "PermissionAddedEvent", "6",
                                                "V\\a") "<Event><principal>V\\nokey</principal><group>false</group></Event>"))
                                 COLLECTOR(CHANGE("latestPage", "ArrayOfOddEvent", "<a/>") UNSET("latestPage"))
                                     OBJECT("leave", "VirtualMachine", "vm-1", "")));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\npermissions V\\a\npermissions V\\nokey\nleave vm vm-1\nsettled\n");
}

/* More happened than a page holds: it may have been anybody. */
static void lost_events_mean_everybody(void **state) {
    struct watch_world *w = *state;
    begin_events(w, OLD_PAGE(ROLE("1")));
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("1", COLLECTOR(PAGE(PERSON("PermissionAddedEvent", "200", "V\\a")
                                                PERSON("PermissionAddedEvent", "201", "V\\b")))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\npermissions of all\nsettled\n");
}

#define LATEST(class, members) CHANGE("latestEvent", class, members)
#define EVENTS_OF_MANAGER(changes) OBJECT("modify", "EventManager", "ev", changes)

static void newest_event_where_collectors_are_refused(void **state) {
    struct watch_world *w = *state;
    tell_event_manager(w);
    watch_expect_made(w, 1);
    fake_fault(w->fake, "CreateCollectorForEvents", FAULT("NoPermission"), "");
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval><objects><obj type=\"EventManager\">ev</obj><propSet><name>latestEvent</name>"
                "<val xsi:type=\"RoleAddedEvent\"><key>7</key></val></propSet></objects></returnval>");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", EVENTS_OF_MANAGER(LATEST("RoleAddedEvent", "<key>7</key>"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nsettled\n");
    fake_answer(
        w->fake, "WaitForUpdatesEx",
        UPDATES("2",
                EVENTS_OF_MANAGER(LATEST("PermissionRemovedEvent", "<key>8</key><principal>V\\a</principal><group>false</group>"))
                    EVENTS_OF_MANAGER(LATEST("UserLoginSessionEvent", "<key>9</key><ipAddress>1</ipAddress>"))
                        EVENTS_OF_MANAGER(LATEST("RoleRemovedEvent", "<key>10</key>")) EVENTS_OF_MANAGER(
                            LATEST("SessionTerminatedEvent", "<key>11</key><terminatedUsername>V\\b</terminatedUsername>"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "permissions V\\a\npermissions of all\npermissions V\\b\nsettled\n");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("3", EVENTS_OF_MANAGER(LATEST("RoleRemovedEvent", "<key>10</key>"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "settled\n"); /* once is enough */
    fake_answer(w->fake, "WaitForUpdatesEx",
                UPDATES("4", EVENTS_OF_MANAGER(
                                 LATEST("EnteringMaintenanceModeEvent",
                                        "<key>12</key><host><name>esx</name><host type=\"HostSystem\">host-4</host></host>"))));
    watch_next(w, 0, NULL);
    told_is(&w->told, "maintenance host-4 key=12 at=0\nsettled\n");
}

static void all_events_refused(void **state) {
    struct watch_world *w = *state;
    tell_event_manager(w);
    watch_expect_made(w, 1);
    fake_fault(w->fake, "CreateCollectorForEvents", FAULT("NoPermission"), "");
    fake_fault(w->fake, "RetrievePropertiesEx", FAULT("NoPermission"), "");
    fake_answer(w->fake, "WaitForUpdatesEx", UPDATES("1", ""));
    watch_next(w, 0, NULL);
    told_is(&w->told, "restarted\nsettled\n");
}

static void outage_is_no_refusal(void **state) {
    struct watch_world *w = *state;
    tell_event_manager(w);
    fake_error(w->fake, "CreateCollectorForEvents", ERR_UNREACHABLE);
    watch_next(w, ERR_UNREACHABLE, NULL);
    tell_event_manager(w);      /* asked anew who is there */
    for (int i = 0; i < 3; i++) /* nor is a lost session */
        fake_fault(w->fake, "CreateCollectorForEvents", FAULT("NotAuthenticated"), "");
    watch_next(w, ERR_CREDENTIALS, NULL);
    assert_int_equal(fake_count(w->fake, "Login"), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, watch_set_up, watch_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_list_comes_whole),
        TEST(parts_of_the_list_are_read_whole),
        TEST(an_unreadable_list_is_not_told),
        TEST(an_empty_list_is_told),
        TEST(events_from_now_on),
        TEST(hosts_that_enter_maintenance_mode),
        TEST(hosts_are_told_beside_lost_events),
        TEST(strange_events_spoil_nothing),
        TEST(lost_events_mean_everybody),
        TEST(newest_event_where_collectors_are_refused),
        TEST(all_events_refused),
        TEST(outage_is_no_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
