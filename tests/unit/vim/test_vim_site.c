/* What is looked at before machines are built: objects by name and path, reach, room, templates, addresses, privileges.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "vim.h"
#include "vim_authorization.h"
#include "vim_fake.h"
#include "vim_object.h"
#include "vim_site.h"

#define VIEW "<returnval type=\"ContainerView\">view-1</returnval>"
#define PROP(name, type, value) "<propSet><name>" name "</name><val xsi:type=\"" type "\">" value "</val></propSet>"
#define NAMED(type, id, name, parent_type, parent)                                                   \
    "<objects><obj type=\"" type "\">" id                                                            \
    "</obj>" PROP("name", "xsd:string", name) "<propSet><name>parent</name><val type=\"" parent_type \
                                              "\" xsi:type=\"ManagedObjectReference\">" parent "</val></propSet></objects>"
#define ONE(type, id, props) "<returnval><objects><obj type=\"" type "\">" id "</obj>" props "</objects></returnval>"

static void objects_have_the_paths_of_govc(void **state) {
    static const char *const types[] = {"Folder", "Datacenter", "ResourcePool", NULL};
    struct fake_world *w = *state;
    struct vim_object_list list = {0};
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval>" NAMED("ResourcePool", "resgroup-9", "a%2fb", "ClusterComputeResource", "domain-c7")
                    NAMED("Folder", "group-v1", "vm", "Datacenter", "datacenter-2")
                        NAMED("Folder", "group-v3", "kaas", "Folder", "group-v1")
                            NAMED("Datacenter", "datacenter-2", "DC0", "Folder", "group-d1")
                                NAMED("ClusterComputeResource", "domain-c7", "East", "Folder", "group-h1")
                                    NAMED("Folder", "group-h1", "host", "Datacenter", "datacenter-2") "</returnval>");
    assert_int_equal(vim_list_objects(w->client, types, &list, NULL), 0);
    assert_int_equal(list.count, 6);
    const struct vim_object *folder = vim_object_find(&list, "group-v3"), *pool = vim_object_find(&list, "resgroup-9");
    assert_string_equal(folder->name, "kaas");
    assert_null(vim_object_find(&list, "group-v"));
    assert_null(vim_object_find(&list, NULL));
    char *path = vim_object_path(&list, folder), *pool_path = vim_object_path(&list, pool);
    assert_string_equal(path, "/DC0/vm/kaas");
    assert_string_equal(pool_path, "/DC0/host/East/a/b");
    assert_string_equal(vim_object_around(&list, pool, "ClusterComputeResource")->moref, "domain-c7");
    assert_string_equal(vim_object_around(&list, pool, "Datacenter")->moref, "datacenter-2");
    assert_null(vim_object_around(&list, folder, "ClusterComputeResource"));
    free(path);
    free(pool_path);
    vim_object_list_done(&list);
}

static void a_datastore_tells_its_room(void **state) {
    struct fake_world *w = *state;
    struct vim_datastore store;
    fake_answer(w->fake, "RetrievePropertiesEx",
                ONE("Datastore", "datastore-1",
                    PROP("summary.freeSpace", "xsd:long", "5") PROP("summary.capacity", "xsd:long", "9") PROP(
                        "summary.accessible", "xsd:boolean", "true") PROP("summary.maintenanceMode", "xsd:string", "normal")));
    assert_int_equal(vim_lookup_datastore(w->client, "datastore-1", &store, NULL), 0);
    assert_true(store.free_bytes == 5 && store.capacity_bytes == 9 && store.is_accessible && !store.is_in_maintenance);
    fake_answer(w->fake, "RetrievePropertiesEx",
                ONE("Datastore", "datastore-1", PROP("summary.maintenanceMode", "xsd:string", "enteringMaintenance")));
    assert_int_equal(vim_lookup_datastore(w->client, "datastore-1", &store, NULL), 0);
    assert_true(store.free_bytes == -1 && !store.is_accessible && store.is_in_maintenance);
    fake_answer(w->fake, "RetrievePropertiesEx", "");
    assert_int_equal(vim_lookup_datastore(w->client, "datastore-1", &store, NULL), ERR_NOT_FOUND);
}

static void a_cluster_reaches_what_its_hosts_have(void **state) {
    struct fake_world *w = *state;
    struct vim_reach reach = {0};
    fake_answer(
        w->fake, "RetrievePropertiesEx",
        ONE("ClusterComputeResource", "domain-c7",
            PROP(
                "datastore", "ArrayOfManagedObjectReference",
                "<ManagedObjectReference type=\"Datastore\" xsi:type=\"ManagedObjectReference\">datastore-1</ManagedObjectReference>"
                "<ManagedObjectReference type=\"Datastore\" xsi:type=\"ManagedObjectReference\">datastore-2</ManagedObjectReference>")
                PROP(
                    "network", "ArrayOfManagedObjectReference",
                    "<ManagedObjectReference type=\"Network\" xsi:type=\"ManagedObjectReference\">network-7</ManagedObjectReference>")));
    assert_int_equal(vim_lookup_reach(w->client, "domain-c7", &reach, NULL), 0);
    assert_int_equal(reach.datastore_count, 2);
    assert_string_equal(reach.datastores[1], "datastore-2");
    assert_int_equal(reach.network_count, 1);
    assert_string_equal(reach.networks[0], "network-7");
    vim_reach_done(&reach);
}

#define OPTION(key, type, value) "<OptionValue><key>" key "</key><value xsi:type=\"" type "\">" value "</value></OptionValue>"

static void a_template_tells_what_it_is(void **state) {
    struct fake_world *w = *state;
    struct vim_source source = {0};
    fake_answer(w->fake, "RetrievePropertiesEx",
                ONE("VirtualMachine", "vm-9",
                    PROP("config.template", "xsd:boolean", "true") PROP("config.version", "xsd:string", "vmx-17")
                        PROP("config.tools.toolsVersion", "xsd:int", "2147483647")
                            PROP("config.extraConfig", "ArrayOfOptionValue",
                                 OPTION("guestinfo.other", "xsd:string", "x") OPTION("guestinfo.kaas.node", "xsd:string", "{}")
                                     OPTION("guestinfo.kaas.node", "xsd:int", "5"))));
    assert_int_equal(vim_lookup_source(w->client, "vm-9", &source, NULL), 0);
    assert_true(source.is_template && source.has_had_tools && source.hardware == 17);
    assert_string_equal(source.contract, "{}");
    vim_source_done(&source);
    fake_answer(w->fake, "RetrievePropertiesEx", ONE("VirtualMachine", "vm-9", PROP("config.version", "xsd:string", "other")));
    assert_int_equal(vim_lookup_source(w->client, "vm-9", &source, NULL), 0);
    assert_true(!source.is_template && !source.has_had_tools && source.hardware == -1 && !source.contract);
}

static void guests_report_addresses(void **state) {
    struct fake_world *w = *state;
    struct vim_used_addresses used = {0};
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(
        w->fake, "RetrievePropertiesEx",
        "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj>" PROP("name", "xsd:string", "a%2fb") PROP(
            "guest.net", "ArrayOfGuestNicInfo",
            "<GuestNicInfo><network>n</network><ipAddress>10.9.0.25</ipAddress><ipAddress>fe80::1</ipAddress><ipAddress>nonsense</ipAddress>"
            "<connected>true</connected><deviceConfigId>4000</deviceConfigId></GuestNicInfo>") "</objects>"
                                                                                               "<objects><obj type=\"VirtualMachine\">vm-2</obj>" PROP(
                                                                                                   "name", "xsd:string",
                                                                                                   "off") "</objects></returnval>");
    assert_int_equal(vim_list_used_addresses(w->client, &used, NULL), 0);
    assert_int_equal(used.count, 2);
    assert_string_equal(used.items[0].address, "10.9.0.25");
    assert_string_equal(used.items[0].machine, "a/b");
    assert_string_equal(used.items[1].address, "fe80::1");
    vim_used_addresses_done(&used);
}

#define GONE(id)                                                                                                  \
    "<ManagedObjectNotFoundFault xsi:type=\"ManagedObjectNotFound\" xmlns=\"urn:vim25\"><obj type=\"Folder\">" id \
    "</obj></ManagedObjectNotFoundFault>"

static void privileges_on_any_object(void **state) {
    static const char *const wanted[] = {"System.Read", "Folder.Create"};
    const struct vim_entity folder = {"Folder", "group-v3"};
    const struct vim_entity_query query = {.subject = {.session_key = "52"}, .entity = &folder, .privileges = wanted, .count = 2};
    enum vim_entity_state judged = VIM_ENTITY_GONE;
    struct fake_world *w = *state;
    bool granted[2] = {false, true};
    fake_answer(
        w->fake, "HasPrivilegeOnEntities",
        "<returnval><entity type=\"Folder\">group-v3</entity><privAvailability><privId>System.Read</privId><isGranted>true</isGranted>"
        "</privAvailability><privAvailability><privId>Folder.Create</privId><isGranted>false</isGranted></privAvailability></returnval>");
    assert_int_equal(vim_check_entity(w->client, &query, granted, &judged, NULL), 0);
    assert_true(judged == VIM_ENTITY_JUDGED && granted[0] && !granted[1]);
    assert_non_null(strstr(fake_last(w->fake, "HasPrivilegeOnEntities"), "type=\"Folder\">group-v3<"));
    fake_fault(w->fake, "HasPrivilegeOnEntities", GONE("group-v3"), "gone");
    assert_int_equal(vim_check_entity(w->client, &query, granted, &judged, NULL), 0);
    assert_true(judged == VIM_ENTITY_GONE && !granted[0] && !granted[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(objects_have_the_paths_of_govc), TEST(a_datastore_tells_its_room), TEST(a_cluster_reaches_what_its_hosts_have),
        TEST(a_template_tells_what_it_is),    TEST(guests_report_addresses),    TEST(privileges_on_any_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
