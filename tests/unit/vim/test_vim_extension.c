/* Extension records: all members in and out, versions, certificates, refusals.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "clock.h"
#include "secret.h"
#include "str.h"
#include "vim.h"
#include "vim_extension.h"
#include "vim_fake.h"
#include "x509.h"

/* Every member that the API knows, in the server's order. */
#define EVERYTHING                                                                                                                                           \
    "<description><label>KaaS &lt;&amp;&gt; \xe2\x82\xac</label><summary>two\nlines</summary></description><key>com.cisco.kaas</key>"                        \
    "<company>Cisco</company><type>kaas</type><version>1.2.3.4</version><subjectName>CN=kaas</subjectName>"                                                  \
    "<server><url>https://k/p.json</url><description><label>sl</label><summary>ss</summary></description><company>sc</company>"                              \
    "<type>MANIFEST_SERVER</type><adminEmail>a@k</adminEmail><adminEmail>b@k</adminEmail><serverThumbprint>AB:CD</serverThumbprint>"                         \
    "<serverCertificate>PEM</serverCertificate></server>"                                                                                                    \
    "<server><url>https://k/v2/</url><description><label>tl</label><summary>ts</summary></description><company>tc</company>"                                 \
    "<type>KAAS_API</type><adminEmail>c@k</adminEmail></server>"                                                                                             \
    "<client><version>1.2</version><description><label>cl</label><summary>cs</summary></description><company>cc</company>"                                   \
    "<type>vsphere-client-remote</type><url>https://k/p.json</url></client>"                                                                                 \
    "<taskList><taskID>t1</taskID></taskList><taskList><taskID>t2</taskID></taskList>"                                                                       \
    "<eventList><eventID>e1</eventID><eventTypeSchema>&lt;EventType/&gt;</eventTypeSchema></eventList><eventList><eventID>e2</eventID></eventList>"          \
    "<faultList><faultID>f1</faultID></faultList><privilegeList><privID>Kaas.View</privID><privGroupName>Kaas</privGroupName></privilegeList>"               \
    "<resourceList><locale>en</locale><module>task</module><data><key>k1</key><value>v1</value></data><data><key>k2</key><value/></data></resourceList>"     \
    "<lastHeartbeatTime>2026-01-31T12:00:00.123456789Z</lastHeartbeatTime><healthInfo><url>https://k/health</url></healthInfo>"                              \
    "<ovfConsumerInfo><callbackUrl>https://k/ovf</callbackUrl><sectionType>s1</sectionType><sectionType>s2</sectionType></ovfConsumerInfo>"                  \
    "<extendedProductInfo><companyUrl>https://c</companyUrl><productUrl>https://p</productUrl><managementUrl>https://m</managementUrl>"                      \
    "<self type=\"VirtualMachine\">vm-7</self></extendedProductInfo>"                                                                                        \
    "<managedEntityInfo><type>node</type><smallIconUrl>https://s</smallIconUrl><iconUrl>https://i</iconUrl><description>d</description></managedEntityInfo>" \
    "<shownInSolutionManager>true</shownInSolutionManager>"                                                                                                  \
    "<solutionManagerInfo><tab><label>tab</label><url>https://t</url></tab><smallIconUrl>https://si</smallIconUrl></solutionManagerInfo>"

static struct vim_extension *find_everything(struct fake_world *w) {
    struct vim_extension *e = NULL;
    fake_answer(w->fake, "FindExtension", "<returnval>" EVERYTHING "</returnval>");
    assert_int_equal(vim_find_extension(w->client, "com.cisco.kaas", &e, NULL), 0);
    assert_non_null(e);
    return e;
}

static void every_member_is_read(void **state) {
    struct vim_extension *e = find_everything(*state);
    assert_string_equal(e->description.label, "KaaS <&> \xe2\x82\xac");
    assert_string_equal(e->description.summary, "two\nlines");
    assert_string_equal(e->subject_name, "CN=kaas");
    assert_int_equal(e->server_count, 2);
    assert_int_equal(e->servers[0].admin_emails.count, 2);
    assert_string_equal(e->servers[0].admin_emails.items[1], "b@k");
    assert_string_equal(e->servers[0].certificate, "PEM");
    assert_null(e->servers[1].certificate);
    assert_null(e->servers[1].thumbprint);
    assert_string_equal(e->clients[0].type, "vsphere-client-remote");
    assert_int_equal(e->tasks.count, 2);
    assert_string_equal(e->events[0].schema, "<EventType/>");
    assert_null(e->events[1].schema);
    assert_string_equal(e->privileges[0].group, "Kaas");
    assert_string_equal(e->resources[0].data[1].value, "");
    assert_string_equal(e->last_heartbeat_time, "2026-01-31T12:00:00.123456789Z");
    assert_string_equal(e->ovf_section_types.items[1], "s2");
    assert_string_equal(e->self_moref, "vm-7");
    assert_string_equal(e->managed_entities[0].icon_url, "https://i");
    assert_true(e->has_shown_in_solution_manager && e->shown_in_solution_manager);
    assert_string_equal(e->solution_tabs[0].url, "https://t");
    assert_string_equal(e->solution_small_icon_url, "https://si");
    vim_extension_free(e);
}

/* Read, written back, read again: the very same bytes of members. */
static void round_trip_loses_nothing(void **state) {
    struct fake_world *w = *state;
    struct vim_extension *e = find_everything(w);
    const char *sent, *body;
    fake_answer(w->fake, "UpdateExtension", "");
    assert_int_equal(vim_update_extension(w->client, e, NULL), 0);
    sent = fake_last(w->fake, "UpdateExtension");
    body = strstr(sent, "<description>");
    assert_non_null(body);
    for (size_t i = 0; i < strlen(EVERYTHING); i++)
        if (body[i] != EVERYTHING[i])
            fail_msg("sent \"%.60s\" instead of \"%.60s\"", body + i, &EVERYTHING[i]);
    vim_extension_free(e);
}

static void members_newer_than_the_version_stay_home(void **state) {
    struct fake_world *w = *state;
    struct vim_extension *e;
    fake_set_version(w->fake, "8.0.1.0");
    assert_int_equal(vim_connect(w->client, NULL, NULL), 0);
    e = find_everything(w);
    fake_answer(w->fake, "UpdateExtension", "");
    assert_int_equal(vim_update_extension(w->client, e, NULL), 0);
    assert_null(strstr(fake_last(w->fake, "UpdateExtension"), "serverCertificate"));
    assert_non_null(strstr(fake_last(w->fake, "UpdateExtension"), "serverThumbprint"));
    assert_string_equal(fake_last_action(w->fake), "SOAPAction: \"urn:vim25/8.0.1.0\"");
    vim_extension_free(e);
}

static void smallest_record(void **state) {
    struct fake_world *w = *state;
    struct vim_extension e = {.description = {"l", "s"}, .key = "com.cisco.kaas", .version = "1"};
    clock_fake(0, 1769860800123);
    fake_answer(w->fake, "FindExtension", "");
    fake_answer(w->fake, "RegisterExtension", "");
    assert_int_equal(vim_register_extension(w->client, &e, NULL), 0);
    assert_non_null(strstr(fake_last(w->fake, "RegisterExtension"),
                           "<lastHeartbeatTime>2026-01-31T12:00:00.123Z</lastHeartbeatTime></extension>"));
    clock_unfake();
}

static void taken_key_is_told(void **state) {
    struct fake_world *w = *state;
    struct vim_extension e = {.description = {"l", "s"}, .key = "com.cisco.kaas", .version = "1"};
    struct err err = {0};
    fake_answer(w->fake, "FindExtension", "<returnval>" EVERYTHING "</returnval>");
    assert_int_equal(vim_register_extension(w->client, &e, &err), ERR_EXISTS);
    assert_non_null(strstr(err.text, "com.cisco.kaas"));
    assert_int_equal(fake_count(w->fake, "RegisterExtension"), 0);
}

static void expect_missing(struct fake_world *w, const struct vim_extension *e, const char *member) {
    struct err err = {0};
    assert_int_equal(vim_update_extension(w->client, e, &err), ERR_UNPROCESSABLE);
    if (!strstr(err.text, member))
        fail_msg("\"%s\" does not name %s", err.text, member);
    assert_int_equal(fake_count(w->fake, "UpdateExtension"), 0);
}

static void missing_members_are_named_before_sending(void **state) {
    static const char *const emails[] = {"a@k"};
    struct fake_world *w = *state;
    struct vim_ext_server server = {.url = "https://k", .description = {"l", "s"}, .company = "c", .type = "t"};
    struct vim_ext_client end = {.version = "1", .description = {"l", "s"}, .company = "c", .type = "t"};
    struct vim_ext_resource resource = {.locale = "en", .module = "task"};
    struct vim_extension e = {.description = {"l", "s"}, .key = "k"};
    expect_missing(w, &e, "version");
    e.version = "1";
    e.description.summary = NULL;
    expect_missing(w, &e, "description");
    e.description.summary = "bad\x0b";
    expect_missing(w, &e, "description");
    e.description.summary = "s\xef\xbf\xbf";
    expect_missing(w, &e, "description");
    e.description.summary = "s";
    e.servers = &server;
    e.server_count = 1;
    expect_missing(w, &e, "server.adminEmail");
    server.admin_emails.items = emails;
    server.admin_emails.count = 1;
    e.clients = &end;
    e.client_count = 1;
    expect_missing(w, &e, "client.url");
    end.url = "https://k";
    e.resources = &resource;
    e.resource_count = 1;
    expect_missing(w, &e, "resourceList.data");
}

static void unknown_key(void **state) {
    struct fake_world *w = *state;
    struct vim_extension *found = NULL;
    struct err err = {0};
    fake_answer(w->fake, "FindExtension", "");
    assert_int_equal(vim_find_extension(w->client, "nobody", &found, &err), 0);
    assert_null(found);
    fake_fault(w->fake, "UnregisterExtension", "<NotFoundFault xmlns=\"urn:vim25\" xsi:type=\"NotFound\"/>", "");
    assert_int_equal(vim_unregister_extension(w->client, "com.cisco.kaas", &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "com.cisco.kaas"));
    fake_answer(w->fake, "UnregisterExtension", "");
    assert_int_equal(vim_unregister_extension(w->client, "com.cisco.kaas", NULL), 0);
    fake_answer(w->fake, "FindExtension", "<returnval><company>no key</company></returnval>");
    assert_int_equal(vim_find_extension(w->client, "x", &found, NULL), ERR_PROTOCOL);
    assert_null(found);
}

static void sparse_record_is_read(void **state) {
    struct fake_world *w = *state;
    struct vim_extension *e = NULL;
    fake_answer(w->fake, "FindExtension",
                "<returnval><key>k</key><server/><resourceList/><ovfConsumerInfo/><extendedProductInfo/><solutionManagerInfo/>"
                "<shownInSolutionManager>false</shownInSolutionManager><brandNew><x/></brandNew></returnval>");
    assert_int_equal(vim_find_extension(w->client, "k", &e, NULL), 0);
    assert_null(e->version);
    assert_null(e->description.label);
    assert_int_equal(e->server_count, 1);
    assert_null(e->servers[0].url);
    assert_int_equal(e->resources[0].data_count, 0);
    assert_true(e->has_ovf_consumer && e->has_product && e->has_solution_manager);
    assert_true(e->has_shown_in_solution_manager && !e->shown_in_solution_manager);
    vim_extension_free(e);
}

static void certificate_is_sent_as_64_columns_leaf_only(void **state) {
    struct fake_world *w = *state;
    char *cert = NULL, *key = NULL, *chain;
    const char *sent;
    struct err err = {0};
    struct x509_request request = {.common_name = "kaas", .valid_days = 2, .key_bits = 2048};
    assert_int_equal(x509_make_self_signed(&request, &cert, &key, &err), 0);
    chain = str_format("some text before\r\n%s%s", cert, cert);
    fake_answer(w->fake, "SetExtensionCertificate", "");
    assert_int_equal(vim_set_extension_certificate(w->client, "com.cisco.kaas", chain, &err), 0);
    sent = strstr(fake_last(w->fake, "SetExtensionCertificate"), "<certificatePem>-----BEGIN CERTIFICATE-----\n");
    assert_non_null(sent);
    assert_null(strstr(sent + 20, "BEGIN CERTIFICATE-----\n-----")); /* one only */
    assert_null(strstr(strstr(sent, "END CERTIFICATE"), "BEGIN"));
    assert_true(strcspn(sent, "\r") > (size_t)(strstr(sent, "</certificatePem>") - sent));
    assert_int_equal(strcspn(strchr(sent, '\n') + 1, "\n"), 64);
    fake_fault(w->fake, "SetExtensionCertificate", "<NotFoundFault xmlns=\"urn:vim25\" xsi:type=\"NotFound\"/>", "");
    assert_int_equal(vim_set_extension_certificate(w->client, "com.cisco.kaas", chain, &err), ERR_NOT_FOUND);
    err_clear(&err);
    assert_int_equal(vim_set_extension_certificate(w->client, "com.cisco.kaas", "no certificate", &err), ERR_UNPROCESSABLE);
    assert_int_equal(fake_count(w->fake, "SetExtensionCertificate"), 2);
    free(chain);
    free(cert);
    secret_free(key);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_member_is_read), TEST(round_trip_loses_nothing), TEST(members_newer_than_the_version_stay_home),
        TEST(smallest_record),      TEST(taken_key_is_told),        TEST(missing_members_are_named_before_sending),
        TEST(unknown_key),          TEST(sparse_record_is_read),    TEST(certificate_is_sent_as_64_columns_leaf_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
