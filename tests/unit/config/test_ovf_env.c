/* Reading the OVF environment of an appliance: what is taken, what is refused, that no value shows in a message.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "ovf_env.h"
#include "str.h"

#define THUMBPRINT "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99"
#define PROPERTY(key, value) "<Property oe:key=\"solutionInstall." key "\" oe:value=\"" value "\"/>"
#define ENDPOINT(url) PROPERTY("postDeployData.endpoint", url)
#define GOOD_ENDPOINT ENDPOINT("https://vc.test:8443/x")
#define GOOD_THUMBPRINT PROPERTY("postDeployData.thumbprint", THUMBPRINT)
#define TOKEN PROPERTY("token", "s3cret-token")
#define DOCUMENT(properties)                                                                                                   \
    "<Environment xmlns=\"http://schemas.dmtf.org/ovf/environment/1\" xmlns:oe=\"http://schemas.dmtf.org/ovf/environment/1\">" \
    "<PropertySection>" properties "</PropertySection></Environment>"

static struct ovf_env env;
static struct err err;

static int parse(const char *text) {
    err_clear(&err);
    memset(&env, 0, sizeof(env));
    return ovf_env_parse(text, strlen(text), &env, &err);
}

static void all_members_are_read(void **state) {
    (void)state;
    assert_int_equal(parse(DOCUMENT(TOKEN GOOD_ENDPOINT GOOD_THUMBPRINT PROPERTY("vCenters.0.guid", "g-1")
                                        PROPERTY("vCenters.0.hostname", "vc.test") PROPERTY("vCenters.1.guid", "g-2"))),
                     0);
    assert_string_equal(env.token, "s3cret-token");
    assert_string_equal(env.endpoint, "https://vc.test:8443/x");
    assert_string_equal(env.host, "vc.test");
    assert_int_equal(env.port, 8443);
    assert_int_equal(env.thumbprint[0], 0xAA);
    assert_string_equal(env.guid, "g-1");
    assert_string_equal(env.hostname, "vc.test");
    ovf_env_done(&env);
}

static void old_ones_do_without_the_list_of_vcenters(void **state) {
    (void)state;
    assert_int_equal(parse(DOCUMENT(TOKEN ENDPOINT("https://vc.test/x") GOOD_THUMBPRINT)), 0);
    assert_int_equal(env.port, 443);
    assert_null(env.guid);
    ovf_env_done(&env);
}

static void addresses_are_split(void **state) {
    (void)state;
    assert_int_equal(parse(DOCUMENT(TOKEN ENDPOINT("https://[2001:db8::1]:9443/x") GOOD_THUMBPRINT)), 0);
    assert_string_equal(env.host, "2001:db8::1");
    assert_int_equal(env.port, 9443);
    ovf_env_done(&env);
    assert_int_equal(parse(DOCUMENT(TOKEN ENDPOINT("https://[2001:db8::1]") GOOD_THUMBPRINT)), 0);
    assert_int_equal(env.port, 443);
    ovf_env_done(&env);
}

static void what_cannot_be_used_is_refused(void **state) {
    static const char *const texts[] = {
        "",
        "<",
        "<Environment/>",
        "<!DOCTYPE x><Environment/>",
        DOCUMENT(GOOD_ENDPOINT GOOD_THUMBPRINT),
        DOCUMENT(PROPERTY("token", "") GOOD_ENDPOINT GOOD_THUMBPRINT),
        DOCUMENT(PROPERTY("token", "s3cret-token&#10;Injected: x") GOOD_ENDPOINT GOOD_THUMBPRINT),
        DOCUMENT(TOKEN GOOD_THUMBPRINT),
        DOCUMENT(TOKEN GOOD_ENDPOINT),
        DOCUMENT(TOKEN GOOD_ENDPOINT PROPERTY("postDeployData.thumbprint", "AA:BB")),
        DOCUMENT(TOKEN ENDPOINT("http://vc.test/x") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https://") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https:///x") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https://user@vc.test/x") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https://vc.test:99999/x") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https://vc.test:/x") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https://[::1/x") GOOD_THUMBPRINT),
        DOCUMENT(TOKEN ENDPOINT("https://[]/x") GOOD_THUMBPRINT),
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        assert_int_equal(parse(texts[i]), ERR_UNPROCESSABLE);
        assert_int_equal(err.code, ERR_UNPROCESSABLE);
        assert_null(strstr(err.text, "s3cret"));
        assert_null(strstr(err.detail, "s3cret"));
    }
}

static void long_texts_are_refused(void **state) {
    char *text = calloc(1, OVF_ENV_BYTES_MAX + 2);
    (void)state;
    assert_non_null(text);
    memset(text, ' ', OVF_ENV_BYTES_MAX + 1);
    assert_int_equal(parse(text), ERR_TOO_LARGE);
    free(text);
}

static void what_was_typed_for_the_appliance_is_read(void **state) {
    struct ovf_appliance typed;
    static const char both[] = DOCUMENT("<Property oe:key=\"kaas.public_url\" oe:value=\"https://kaas.test:8443\"/>"
                                        "<Property oe:key=\"kaas.admin_password\" oe:value=\"s3cret &lt;words&gt;\"/>"),
                      one[] = DOCUMENT("<Property oe:key=\"kaas.public_url\" oe:value=\"https://kaas.test:8443\"/>"
                                       "<Property oe:key=\"kaas.admin_password\" oe:value=\"\"/>"),
                      none[] = DOCUMENT("<Property oe:key=\"kaas.admin_password\" oe:value=\"s3cret\"/>");
    (void)state;
    assert_int_equal(ovf_appliance_parse(both, strlen(both), &typed, &err), 0);
    assert_string_equal(typed.public_url, "https://kaas.test:8443");
    assert_string_equal(typed.admin_password, "s3cret <words>");
    ovf_appliance_done(&typed);
    assert_int_equal(ovf_appliance_parse(one, strlen(one), &typed, &err), 0);
    assert_null(typed.admin_password);
    ovf_appliance_done(&typed);
    err_clear(&err);
    assert_int_equal(ovf_appliance_parse(none, strlen(none), &typed, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "kaas.public_url"));
    assert_null(strstr(err.text, "s3cret"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_are_read),   cmocka_unit_test(old_ones_do_without_the_list_of_vcenters),
        cmocka_unit_test(addresses_are_split),    cmocka_unit_test(what_cannot_be_used_is_refused),
        cmocka_unit_test(long_texts_are_refused), cmocka_unit_test(what_was_typed_for_the_appliance_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
