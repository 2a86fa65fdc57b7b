/* Where a virtual machine is, by the UUID that its guest reads. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "vim.h"
#include "vim_fake.h"
#include "vim_location.h"

#define AS_GUEST "33221100-5544-7766-8899-aabbccddeeff"
#define TURNED "00112233-4455-6677-8899-aabbccddeeff"

#define MACHINE                                                                                          \
    "<returnval><objects><obj type=\"VirtualMachine\">vm-1</obj><propSet><name>runtime.host</name>"      \
    "<val type=\"HostSystem\" xsi:type=\"ManagedObjectReference\">host-11</val></propSet><propSet>"      \
    "<name>config.datastoreUrl</name><val xsi:type=\"ArrayOfVirtualMachineConfigInfoDatastoreUrlPair\">" \
    "<VirtualMachineConfigInfoDatastoreUrlPair><name>a%2fb</name><url>ds:///vmfs/volumes/1/</url>"       \
    "</VirtualMachineConfigInfoDatastoreUrlPair></val></propSet></objects></returnval>"
#define HOST                                                                                                            \
    "<returnval><objects><obj type=\"HostSystem\">host-11</obj><propSet><name>name</name><val xsi:type=\"xsd:string\">" \
    "esx-3</val></propSet></objects></returnval>"

static bool was_sent(struct fake_world *w, const char *op, const char *text) {
    return strstr(fake_last(w->fake, op), text);
}

static void a_machine_is_found_in_either_order_of_bytes(void **state) {
    struct fake_world *w = *state;
    struct vim_location at;
    for (int misses = 0; misses < 2; misses++) {
        if (misses)
            fake_answer(w->fake, "FindByUuid", "");
        fake_answer(w->fake, "FindByUuid", "<returnval type=\"VirtualMachine\">vm-1</returnval>");
        fake_answer(w->fake, "RetrievePropertiesEx", MACHINE);
        fake_answer(w->fake, "RetrievePropertiesEx", HOST);
        assert_int_equal(vim_lookup_location(w->client, AS_GUEST, &at, NULL), 0);
        assert_true(was_sent(w, "FindByUuid", misses ? ">" TURNED "<" : ">" AS_GUEST "<"));
        assert_true(was_sent(w, "FindByUuid", ">true<"));
        assert_string_equal(at.host, "host-11");
        assert_string_equal(at.host_name, "esx-3");
        assert_int_equal(at.datastore_count, 1);
        assert_string_equal(at.datastores[0].name, "a/b");
        assert_string_equal(at.datastores[0].url, "ds:///vmfs/volumes/1/");
    }
}

static void a_machine_of_elsewhere_is_not_found(void **state) {
    struct fake_world *w = *state;
    struct vim_location at;
    fake_answer(w->fake, "FindByUuid", "");
    fake_answer(w->fake, "FindByUuid", "");
    assert_int_equal(vim_lookup_location(w->client, AS_GUEST, &at, NULL), ERR_NOT_FOUND);
    assert_int_equal(vim_lookup_location(w->client, "nothing", &at, NULL), ERR_UNPROCESSABLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_machine_is_found_in_either_order_of_bytes),
        TEST(a_machine_of_elsewhere_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
