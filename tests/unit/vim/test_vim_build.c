/* Making and changing virtual machines: what is sent, what is understood of devices, tasks and refusals. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "vim.h"
#include "vim_build.h"
#include "vim_fake.h"

#define TASK "<returnval type=\"Task\">task-7</returnval>"
#define DISK "<VirtualDevice xsi:type=\"VirtualDisk\"><key>2000</key><capacityInKB>8</capacityInKB></VirtualDevice>"
#define CARD(class, key, mac, network)                                                                                     \
    "<VirtualDevice xsi:type=\"" class "\"><key>" key "</key><backing xsi:type=\"VirtualEthernetCardNetworkBackingInfo\">" \
                                       "<deviceName>x</deviceName><network type=\"Network\">" network                      \
                                       "</network></backing><addressType>assigned</addressType>"                           \
                                       "<macAddress>" mac "</macAddress></VirtualDevice>"
#define OBJECT(properties) "<returnval><objects><obj type=\"VirtualMachine\">vm-9</obj>" properties "</objects></returnval>"
#define PROPERTY(name, type, value) "<propSet><name>" name "</name><val xsi:type=\"" type "\">" value "</val></propSet>"

static const struct vim_clone clone_of = {.source = "vm-9",
                                          .folder = "group-v3",
                                          .pool = "resgroup-8",
                                          .datastore = "datastore-4",
                                          .name = "prod-cp-1",
                                          .instance_uuid = "11111111-2222-4333-8444-555555555555",
                                          .network = {"Network", "network-5", "Nodes"}};

static void answer_devices(struct fake_world *w) {
    fake_answer(w->fake, "RetrievePropertiesEx",
                OBJECT(PROPERTY("config.hardware.device", "ArrayOfVirtualDevice",
                                DISK CARD("VirtualE1000", "4000", "00:50:56:00:00:01", "network-1")
                                    DISK CARD("VirtualVmxnet3", "4001", "00:50:56:00:00:02", "network-1"))));
}

static bool was_sent(struct fake_world *w, const char *op, const char *text) {
    return strstr(fake_last(w->fake, op), text);
}

/* Devices of classes that we do not know stand between those that we do. */
static void a_clone_has_one_card_on_its_network(void **state) {
    struct fake_world *w = *state;
    struct vim_task task;
    answer_devices(w);
    fake_answer(w->fake, "CloneVM_Task", TASK);
    assert_int_equal(vim_clone_machine(w->client, &clone_of, &task, NULL), 0);
    assert_string_equal(task.moref, "task-7");
    assert_int_equal(task.phase, VIM_TASK_QUEUED);
    assert_true(was_sent(w, "CloneVM_Task", "VirtualE1000\"><key>4000</key>") || was_sent(w, "CloneVM_Task", ":key>4000</"));
    assert_true(was_sent(w, "CloneVM_Task", "4001</"));
    assert_true(was_sent(w, "CloneVM_Task", "type=\"Network\">network-5</"));
    assert_true(was_sent(w, "CloneVM_Task", "instanceUuid>11111111-2222-4333-8444-555555555555</"));
    assert_true(was_sent(w, "CloneVM_Task", "vAppConfigRemoved>true</"));
    assert_false(was_sent(w, "CloneVM_Task", "2000</"));
}

/* vCenter may refuse by the call what it could refuse by the task. */
static void a_refused_call_is_a_failed_task(void **state) {
    struct fake_world *w = *state;
    struct vim_task task;
    answer_devices(w);
    fake_fault(w->fake, "CloneVM_Task",
               "<DuplicateNameFault xmlns=\"urn:vim25\" xsi:type=\"DuplicateName\"><name>prod-cp-1</name>"
               "<object type=\"VirtualMachine\">vm-77</object></DuplicateNameFault>",
               "The name 'prod-cp-1' already exists.");
    assert_int_equal(vim_clone_machine(w->client, &clone_of, &task, NULL), 0);
    assert_int_equal(task.phase, VIM_TASK_FAILED);
    assert_int_equal(task.trouble, VIM_TROUBLE_NAME_TAKEN);
    assert_string_equal(task.object, "vm-77");
    assert_int_equal(task.why.code, ERR_EXISTS);
    fake_fault(w->fake, "PowerOnVM_Task",
               "<TaskInProgressFault xmlns=\"urn:vim25\" xsi:type=\"TaskInProgress\"><task type=\"Task\">task-1</task>"
               "</TaskInProgressFault>",
               "busy");
    assert_int_equal(vim_power_on(w->client, "vm-9", &task, NULL), 0);
    assert_int_equal(task.why.code, ERR_BUSY); /* it passes */
    fake_fault(w->fake, "PowerOnVM_Task",
               "<InsufficientMemoryResourcesFault xmlns=\"urn:vim25\" xsi:type=\"InsufficientMemoryResourcesFault\"/>",
               "no memory");
    assert_int_equal(vim_power_on(w->client, "vm-9", &task, NULL), 0);
    assert_int_equal(task.why.code, ERR_UPSTREAM);
    assert_non_null(strstr(task.why.remedy, "more memory"));
}

static void a_change_takes_keys_away_and_caps_values(void **state) {
    struct fake_world *w = *state;
    struct vim_task task;
    struct vim_change change = {.moref = "vm-9",
                                .cpus = 4,
                                .memory_mib = 8192,
                                .options = {{"guestinfo.userdata", NULL}, {"guestinfo.metadata", "a <b> & c"}},
                                .option_count = 2};
    fake_answer(w->fake, "ReconfigVM_Task", TASK);
    assert_int_equal(vim_change_machine(w->client, &change, &task, NULL), 0);
    assert_true(was_sent(w, "ReconfigVM_Task", "numCPUs>4</"));
    assert_true(was_sent(w, "ReconfigVM_Task", "memoryMB>8192</"));
    assert_true(was_sent(w, "ReconfigVM_Task", "a &lt;b&gt; &amp; c</"));
    assert_false(was_sent(w, "ReconfigVM_Task", "deviceChange"));
    char *large = calloc(1, VIM_OPTION_BYTES_MAX + 2);
    assert_non_null(large);
    memset(large, 'x', VIM_OPTION_BYTES_MAX + 1);
    change.options[1].value = large;
    assert_int_equal(vim_change_machine(w->client, &change, &task, NULL), ERR_TOO_LARGE);
    free(large);
}

static void a_machine_is_read_with_what_its_guest_says(void **state) {
    struct fake_world *w = *state;
    struct vim_machine_now now;
    fake_answer(
        w->fake, "RetrievePropertiesEx",
        OBJECT(PROPERTY("name", "xsd:string", "prod%2fcp") PROPERTY("config.instanceUuid", "xsd:string", "ABCD") PROPERTY(
            "runtime.powerState", "VirtualMachinePowerState",
            "poweredOn") PROPERTY("config.hardware.device", "ArrayOfVirtualDevice",
                                  DISK CARD("VirtualVmxnet3", "4000", "00:50:56:00:00:09", "network-5"))
                   PROPERTY("config.extraConfig", "ArrayOfOptionValue",
                            "<OptionValue><key>guestinfo.userdata</key><value xsi:type=\"xsd:string\">---</value></OptionValue>"
                            "<OptionValue><key>guestinfo.metadata</key><value xsi:type=\"xsd:string\">m</value></OptionValue>"
                            "<OptionValue><key>guestinfo.kaas.phase</key><value xsi:type=\"xsd:string\">join\nx</value>"
                            "</OptionValue>")));
    assert_int_equal(vim_read_machine(w->client, "vm-9", &clone_of.network, &now, NULL), 0);
    assert_string_equal(now.name, "prod/cp");
    assert_string_equal(now.instance_uuid, "abcd");
    assert_string_equal(now.mac, "00:50:56:00:00:09");
    assert_true(now.is_on_network && now.guest.is_on && now.guest.has_metadata && !now.guest.has_userdata);
    assert_string_equal(now.guest.phase, "join x");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clone_has_one_card_on_its_network, fake_world_set_up, fake_world_tear_down),
        cmocka_unit_test_setup_teardown(a_refused_call_is_a_failed_task, fake_world_set_up, fake_world_tear_down),
        cmocka_unit_test_setup_teardown(a_change_takes_keys_away_and_caps_values, fake_world_set_up, fake_world_tear_down),
        cmocka_unit_test_setup_teardown(a_machine_is_read_with_what_its_guest_says, fake_world_set_up, fake_world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
