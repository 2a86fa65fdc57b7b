/* Events of ours in vCenter's history. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "vim.h"
#include "vim_event.h"
#include "vim_fake.h"

#define ID "11111111-2222-4333-8444-555555555555"

static const struct vim_event_argument arguments[] = {{VIM_EVENT_ID, ID}, {"reason", "two\nlines & <more>"}};
static const struct vim_event event = {.type = "com.cisco.kaas.cluster.degraded",
                                       .severity = "warning",
                                       .cluster_moref = "domain-c7",
                                       .cluster_name = "HX-East",
                                       .arguments = arguments,
                                       .argument_count = 2};

static bool was_sent(struct fake_world *w, const char *op, const char *text) {
    return strstr(fake_last(w->fake, op), text);
}

static void an_event_bears_type_arguments_and_cluster(void **state) {
    struct fake_world *w = *state;
    fake_answer(w->fake, "PostEvent", "");
    assert_int_equal(vim_post_event(w->client, &event, NULL), 0);
    assert_true(was_sent(w, "PostEvent", "xsi:type=\"vim25:EventEx\"") || was_sent(w, "PostEvent", "xsi:type=\"EventEx\""));
    assert_true(was_sent(w, "PostEvent", ">domain-c7</"));
    assert_true(was_sent(w, "PostEvent", "com.cisco.kaas.cluster.degraded"));
    assert_true(was_sent(w, "PostEvent", "xsd:string\">" ID));
    assert_true(was_sent(w, "PostEvent", "two\nlines &amp; &lt;more&gt;"));
}

/* It is shown at the host then, and at what lies above. */
static void an_event_may_be_about_a_host(void **state) {
    struct fake_world *w = *state;
    struct vim_event at_host = event;
    bool is_there = false;
    at_host.host_moref = "host-12";
    at_host.host_name = "esx-12";
    fake_answer(w->fake, "PostEvent", "");
    assert_int_equal(vim_post_event(w->client, &at_host, NULL), 0);
    assert_true(was_sent(w, "PostEvent", "type=\"HostSystem\">host-12</"));
    assert_true(was_sent(w, "PostEvent", "type=\"ClusterComputeResource\">domain-c7</"));
    assert_true(was_sent(w, "PostEvent", "objectId>host-12</"));
    assert_true(was_sent(w, "PostEvent", "objectName>esx-12</"));
    fake_answer(w->fake, "CreateCollectorForEvents", "<returnval type=\"EventHistoryCollector\">c-1</returnval>");
    fake_answer(w->fake, "RetrievePropertiesEx", "<returnval/>");
    (void)vim_find_event(w->client, &at_host, &is_there, NULL);
    assert_true(was_sent(w, "CreateCollectorForEvents", "type=\"HostSystem\">host-12</"));
}

static void a_missing_privilege_is_told(void **state) {
    struct fake_world *w = *state;
    struct err err = {0};
    fake_fault(
        w->fake, "PostEvent",
        "<NoPermissionFault xmlns=\"urn:vim25\" xsi:type=\"NoPermission\"><object type=\"ClusterComputeResource\">domain-c7"
        "</object><privilegeId>Global.LogEvent</privilegeId></NoPermissionFault>",
        "");
    assert_int_equal(vim_post_event(w->client, &event, &err), ERR_UPSTREAM_DENIED);
    assert_non_null(strstr(err.text, "Global.LogEvent"));
}

static void an_event_that_is_refused_is_told(void **state) {
    struct fake_world *w = *state;
    fake_fault(w->fake, "PostEvent", "<InvalidEventFault xmlns=\"urn:vim25\" xsi:type=\"InvalidEvent\"/>", "no");
    assert_int_equal(vim_post_event(w->client, &event, NULL), ERR_UPSTREAM);
}

/* -- asking ------------------------------------------------------------------------------------------------------------------ */

#define PAGE(events)                                                                                    \
    "<returnval><objects><obj type=\"EventHistoryCollector\">c-1</obj><propSet><name>latestPage</name>" \
    "<val xsi:type=\"ArrayOfEvent\">" events "</val></propSet></objects></returnval>"
#define EVENT(name, id)                                                                                                          \
    "<Event xsi:type=\"EventEx\"><key>7</key><chainId>7</chainId><createdTime>2026-01-02T03:04:05Z</createdTime><userName/>"     \
    "<eventTypeId>com.cisco.kaas.cluster.degraded</eventTypeId><arguments><key>" name "</key><value xsi:type=\"xsd:string\">" id \
    "</value></arguments><arguments><key>odd</key><value xsi:type=\"xsd:int\">5</value></arguments></Event>"

static bool find(struct fake_world *w, const char *page) {
    bool is_there = false;
    fake_answer(w->fake, "CreateCollectorForEvents", "<returnval type=\"EventHistoryCollector\">c-1</returnval>");
    fake_answer(w->fake, "RetrievePropertiesEx", page);
    assert_int_equal(vim_find_event(w->client, &event, &is_there, NULL), 0);
    assert_true(was_sent(w, "CreateCollectorForEvents", ">domain-c7</"));
    assert_true(was_sent(w, "CreateCollectorForEvents", "com.cisco.kaas.cluster.degraded"));
    assert_true(was_sent(w, "DestroyCollector", ">c-1</"));
    return is_there;
}

static void an_event_is_found_by_its_id_alone(void **state) {
    struct fake_world *w = *state;
    assert_true(find(
        w, PAGE("<Event xsi:type=\"VmMessageEvent\"><key>1</key></Event>" EVENT(VIM_EVENT_ID, "other") EVENT(VIM_EVENT_ID, ID))));
    assert_false(find(w, PAGE(EVENT(VIM_EVENT_ID, "other") EVENT("clusterId", ID))));
    assert_false(find(w, PAGE("")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_event_bears_type_arguments_and_cluster),
        TEST(an_event_may_be_about_a_host),
        TEST(a_missing_privilege_is_told),
        TEST(an_event_that_is_refused_is_told),
        TEST(an_event_is_found_by_its_id_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
