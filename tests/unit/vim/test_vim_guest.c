/* The addresses that guests of virtual machines report. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "strbuf.h"

#include "vim.h"
#include "vim_fake.h"
#include "vim_guest.h"

#define NIC(network, addresses) \
    "<GuestNicInfo><network>" network "</network>" addresses "<connected>true</connected></GuestNicInfo>"
#define IP(text) "<ipAddress>" text "</ipAddress>"
#define MACHINE(id, name, nics)                                                        \
    "<objects><obj type=\"VirtualMachine\">" id                                        \
    "</obj><propSet><name>guest.net</name><val xsi:type=\"ArrayOfGuestNicInfo\">" nics \
    "</val></propSet><propSet><name>name</name><val xsi:type=\"xsd:string\">" name "</val></propSet></objects>"

static const struct vim_guest_query query = {.cluster = "domain-c7", .name_prefix = "stCtlVM", .network = "Management"};

static int ask(struct fake_world *w, const char *answer, struct vim_guest_addresses *out, struct err *err) {
    fake_answer(w->fake, "RetrievePropertiesEx", answer);
    return vim_list_guest_addresses(w->client, &query, out, err);
}

static void those_on_the_network_are_taken_once(void **state) {
    struct fake_world *w = *state;
    struct vim_guest_addresses found;
    assert_int_equal(
        ask(w,
            "<returnval>" MACHINE("vm-1", "stCtlVM-1",
                                  NIC("Management", IP("10.0.0.1") IP("10.0.0.9") IP("fe80::1")) NIC("Data", IP("10.1.0.1")))
                MACHINE("vm-2", "stCtlVM-2",
                        NIC("Management", IP("10.0.0.9") IP("") IP("10.0.0.2")) NIC("Management 2", IP("9.9.9.9")))
                    MACHINE("vm-3", "web stCtlVM", NIC("Management", IP("10.0.0.3"))) "</returnval>",
            &found, NULL),
        0);
    assert_int_equal(found.count, 4);
    assert_string_equal(found.items[0], "10.0.0.1");
    assert_string_equal(found.items[1], "10.0.0.9");
    assert_string_equal(found.items[2], "fe80::1");
    assert_string_equal(found.items[3], "10.0.0.2");
    assert_non_null(strstr(fake_last(w->fake, "RetrievePropertiesEx"), ">domain-c7<"));
    vim_guest_addresses_done(&found);
}

static void machines_without_tools_spoil_nothing(void **state) {
    struct fake_world *w = *state;
    struct vim_guest_addresses found;
    assert_int_equal(
        ask(w,
            "<returnval><objects/><objects><obj type=\"VirtualMachine\">vm-1</obj></objects>"
            "<objects><obj type=\"VirtualMachine\">vm-2</obj><propSet><name>name</name><val xsi:type=\"xsd:string\">stCtlVM-2</val>"
            "</propSet><missingSet><path>guest.net</path><fault><fault xsi:type=\"NoPermission\"><privilegeId>System.Read"
            "</privilegeId></fault></fault></missingSet></objects>" MACHINE(
                "vm-3", "stCtlVM-3",
                "<GuestNicInfo/><GuestNicInfo><ipAddress>10.0.0.1</ipAddress></GuestNicInfo>") "</returnval>",
            &found, NULL),
        0);
    assert_int_equal(found.count, 0);
    assert_int_equal(ask(w, "", &found, NULL), 0);
    assert_int_equal(found.count, 0);
}

static void a_flood_of_addresses_is_cut(void **state) {
    struct fake_world *w = *state;
    struct vim_guest_addresses found;
    struct strbuf b;
    strbuf_init(&b, 1U << 20);
    strbuf_adds(&b, "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj><propSet><name>guest.net</name>"
                    "<val xsi:type=\"ArrayOfGuestNicInfo\"><GuestNicInfo><network>Management</network>");
    for (int i = 0; i < 3 * VIM_GUEST_ADDRESSES_MAX; i++)
        strbuf_addf(&b, "<ipAddress>10.0.%d.1</ipAddress>", i);
    strbuf_adds(&b,
                "</GuestNicInfo></val></propSet><propSet><name>name</name><val xsi:type=\"xsd:string\">stCtlVM</val></propSet>"
                "</objects></returnval>");
    assert_int_equal(ask(w, b.data, &found, NULL), 0);
    assert_int_equal(found.count, VIM_GUEST_ADDRESSES_MAX);
    vim_guest_addresses_done(&found);
    strbuf_done(&b);
}

static void a_cluster_that_is_gone_is_told(void **state) {
    struct fake_world *w = *state;
    struct vim_guest_addresses found;
    fake_fault(
        w->fake, "RetrievePropertiesEx",
        "<ManagedObjectNotFoundFault xmlns=\"urn:vim25\" xsi:type=\"ManagedObjectNotFound\"><obj type=\"ClusterComputeResource\">"
        "domain-c7</obj></ManagedObjectNotFoundFault>",
        "");
    assert_int_equal(vim_list_guest_addresses(w->client, &query, &found, NULL), ERR_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(those_on_the_network_are_taken_once),
        TEST(machines_without_tools_spoil_nothing),
        TEST(a_flood_of_addresses_is_cut),
        TEST(a_cluster_that_is_gone_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
