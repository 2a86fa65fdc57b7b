/* Unit tests of src/pilot/pilot_pseudonym: what of an exchange is kept, what is replaced, and by what.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "pilot_pseudonym.h"
#include "str.h"

static const struct pseudonyms names = {.key = {7, 7, 7}, .now_ms = INT64_C(1700000000000)};

static char *text_of(const char *text) {
    struct strbuf out;
    strbuf_init(&out, 65536);
    pseudonym_text(&names, text, &out);
    return strbuf_steal(&out);
}

static char *xml_of(const char *text) {
    struct strbuf out;
    struct err err = {0};
    strbuf_init(&out, 65536);
    if (pseudonym_xml(&names, text, strlen(text), &out, &err))
        fail_msg("%s: %s", text, err.text);
    return strbuf_steal(&out);
}

static void words_of_the_protocols_are_kept(void **state) {
    static const char *const kept[] = {"",
                                       "true",
                                       "12",
                                       "-7",
                                       "System.Read",
                                       "connected",
                                       "ONLINE",
                                       "currentSession",
                                       "urn:vim25",
                                       "com.springpath.sysmgmt.domain-c7",
                                       "com.springpath.sysmgmt.uuid.domain-c7",
                                       "VirtualMachine"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(kept); i++) {
        char *text = text_of(kept[i]);
        assert_string_equal(text, kept[i]);
        free(text);
    }
}

static void a_name_in_other_case_has_the_same_one(void **state) {
    char *small = text_of("VSPHERE.LOCAL\\Anna-m\u00fcller"), *capital = text_of("VSPHERE.LOCAL\\anna-M\u00dcLLER");
    (void)state;
    assert_string_equal(small, capital);
    free(small);
    free(capital);
}

static void all_else_is_replaced_in_its_form(void **state) {
    static const struct {
        const char *text, *gone, *left; /* no part of it; what it still looks like */
    } rows[] = {
        {"esx01.corp.example", "corp", "."},
        {"VSPHERE.LOCAL\\Administrator", "Administrator", "\\"},
        {"192.0.2.77", "192.0.2.77", "198."},
        {"https://10.77.12.34:8443/", "77", "https://198."},
        {"a@[2001:db8:77::9]:1.", "77", "@[2001:db8::"},
        {"00:50:56:9a:bc:de", "00:50", ":"},
        {"name.10.77.12.34.", "77", "."},
        {"k8s-10.20.30.40", ".20", "."},
        {"node.7.example", ".7.", "."},
        {"2001:db8:77::1", "77::1", "2001:db8::"},
        {"50010000-0000-4000-8000-000000000001", "50010000", "-"},
        {"session[50010000-0000-4000-8000-000000000001]x", "50010000", "session["},
        {"https://hx.corp.example:8443/a", "corp", "https://"},
        {"Ask Hubert, room 4711", "Hubert", "text-"},
        {"123456", "123456", "10"},
        {"2026-05-05T10:00:00.123Z", "2026", "1970-01-01T00:00:00Z"},
        {"stCtlVM-east-1", "east", "stCtlVM-"},
        {"com.springpath.sysmgmt.corp.domain-c7", "corp", ".domain-c7"},
        {"com.springpath.sysmgmt.k8s-10.20.30.40", ".20", "com.springpath.sysmgmt.x"},
        {"com.springpath.sysmgmt.k8s-10.20.30.40", "40", "com.springpath.sysmgmt.x"},
        {"com.springpath.sysmgmt.node-10.20.30.40", "node-10", "com.springpath.sysmgmt.x"},
        {"com.springpath.sysmgmt.10.77.12.34.domain-c7", "77", ".domain-c7"},
        {"com.springpath.sysmgmt20", "mgmt20", "."},
        {"com.springpath.sysmgmt/20", "20", "/"},
        {"AB:CD:AB:CD:AB:CD:AB:CD:AB:CD:AB:CD:AB:CD:AB:CD:AB:CD:AB:CD", "AB:CD:AB:CD", ":"},
        {"domain-c7", "domain-c7", "x"}, /* it is a name where it is no reference */
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char *text = text_of(rows[i].text), *again = text_of(rows[i].text);
        if (strstr(text, rows[i].gone) || !strstr(text, rows[i].left))
            fail_msg("%s became %s", rows[i].text, text);
        assert_string_equal(text, again);
        free(text);
        free(again);
    }
}

static void references_still_fit(void **state) {
    char *upn = text_of("alice@corp.local"), *stored = text_of("CORP.LOCAL\\Alice");
    char *at = strchr(upn, '@'), *slash = strchr(stored, '\\');
    (void)state;
    assert_non_null(at);
    assert_non_null(slash);
    *at = *slash = '\0';
    str_lower(stored);
    assert_string_equal(at + 1, stored);
    str_lower(slash + 1);
    assert_string_equal(upn, slash + 1);
    free(upn);
    free(stored);
}

static void xml_keeps_its_form_and_no_secret(void **state) {
    char *text =
        xml_of("<?xml version=\"1.0\"?><!-- corp --><v:Login xmlns:v=\"urn:vim25\" xmlns:o=\"http://corp.example\" id=\"corp\">\n"
               " <_this type=\"SessionManager\">SessionManager</_this><o:password>p&amp;w</o:password>\n"
               " <obj type=\"Folder\">group-d1</obj><name>group-d1</name><e/></v:Login>");
    (void)state;
    assert_null(strstr(text, "corp"));
    assert_null(strstr(text, "p&amp;w"));
    assert_non_null(strstr(text, "<_this type=\"SessionManager\">SessionManager</_this><o:password>redacted</o:password>"));
    assert_non_null(strstr(text, "<obj type=\"Folder\">group-d1</obj><name>x"));
    assert_true(str_starts(text, "<v:Login xmlns:v=\"urn:vim25\" xmlns:o=\"urn:x"));
    assert_true(str_ends(text, "<e/></v:Login>"));
    free(text);
    text = xml_of("<AcquireCloneTicketResponse><returnval>cst-VCT-52aa</returnval></AcquireCloneTicketResponse>");
    assert_string_equal(text, "<AcquireCloneTicketResponse><returnval>redacted</returnval></AcquireCloneTicketResponse>");
    free(text);
}

static void the_time_of_the_server_is_its_distance_from_ours(void **state) {
    char *text =
        xml_of("<CurrentTimeResponse><returnval>2023-11-14T22:15:20Z</returnval></CurrentTimeResponse>"); /* 120 s ahead */
    (void)state;
    assert_non_null(strstr(text, "<returnval>1970-01-01T00:02:00"));
    free(text);
}

static void what_is_no_xml_is_refused(void **state) {
    static const char *const bad[] = {"<a>",
                                      "<a></b>",
                                      "</a>",
                                      "<a b></a>",
                                      "<a b=c></a>",
                                      "<a>&nothing;</a>",
                                      "<a>&#0;</a>",
                                      "<a>&#x110000;</a>",
                                      "<!DOCTYPE a><a/>",
                                      "<a><![CDATA[x]]></a>",
                                      "<a",
                                      "<!-- a",
                                      "<>"};
    struct strbuf out, deep;
    (void)state;
    strbuf_init(&out, 65536);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        if (pseudonym_xml(&names, bad[i], strlen(bad[i]), &out, NULL) != ERR_PROTOCOL)
            fail_msg("%s was taken", bad[i]);
    assert_int_equal(pseudonym_xml(&names, "<a>\0</a>", 8, &out, NULL), ERR_PROTOCOL);
    strbuf_init(&deep, 65536);
    for (unsigned i = 0; i < PSEUDONYM_DEPTH_MAX + 1; i++)
        strbuf_adds(&deep, "<a>");
    assert_int_equal(pseudonym_xml(&names, deep.data, deep.len, &out, NULL), ERR_PROTOCOL);
    strbuf_done(&deep);
    strbuf_done(&out);
}

static void json_keeps_members_of_the_interface(void **state) {
    static const char text[] =
        "{\"uuid\":\"9004183636114227531:5445300663653806560\",\"name\":\"HX-East\",\"resiliencyState\":\"SLEEPING\","
        "\"productVersion\":\"5.5.2a-39363\",\"numNodesOnline\":4,\"usedCapacityInBytes\":123456789,"
        "\"access_token\":\"t0ken\",\"token_type\":\"Bearer \",\"expires_in\":\"t0ken\",\"client_secret\":\"t0ken\",\"id_token\":\"t0ken\",\"refresh_token\":\"t0ken\",\"esx01\":{\"a\":[true,null,\"corp\"]}}";
    static const char *const kept[] = {"\"resiliencyState\":\"SLEEPING\"",
                                       "\"productVersion\":\"5.5.2a-39363\"",
                                       "\"numNodesOnline\":4",
                                       "\"usedCapacityInBytes\":10",
                                       "\"access_token\":\"redacted\"",
                                       "\"client_secret\":\"redacted\"",
                                       "\"id_token\":\"redacted\"",
                                       "\"refresh_token\":\"redacted\"",
                                       "\"token_type\":\"Bearer \"",
                                       "\"expires_in\":\"x",
                                       "\"uuid\":\"10",
                                       ":10"};
    static const char *const gone[] = {
        "9004183636114227531", "5445300663653806560", "HX-East", "123456789", "t0ken", "esx01", "corp"};
    struct strbuf out;
    (void)state;
    strbuf_init(&out, 65536);
    assert_int_equal(pseudonym_json(&names, text, strlen(text), &out, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(kept); i++)
        if (!strstr(out.data, kept[i]))
            fail_msg("%s is not in %s", kept[i], out.data);
    for (size_t i = 0; i < UNIT_COUNT(gone); i++)
        assert_null(strstr(out.data, gone[i]));
    strbuf_done(&out);
}

static void paths_keep_their_words(void **state) {
    struct strbuf out;
    (void)state;
    strbuf_init(&out, 65536);
    pseudonym_path(&names, "/coreapi/v1/clusters/123456%3A654321/about", &out);
    assert_true(str_starts(out.data, "/coreapi/v1/clusters/10"));
    assert_true(str_ends(out.data, "/about"));
    assert_non_null(strstr(out.data, "%3A10"));
    assert_null(strstr(out.data, "123456"));
    strbuf_reset(&out);
    pseudonym_path(&names, "/aaa/v1/auth?grant_type=password", &out);
    assert_string_equal(out.data, "/aaa/v1/auth?grant_type=password");
    strbuf_done(&out);
}

static void another_key_gives_other_names(void **state) {
    struct pseudonyms other;
    struct strbuf out;
    char *text = text_of("esx01");
    (void)state;
    pseudonyms_init(&other);
    strbuf_init(&out, 1024);
    pseudonym_text(&other, "esx01", &out);
    assert_string_not_equal(out.data, text);
    pseudonyms_done(&other);
    strbuf_done(&out);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_protocols_are_kept),  cmocka_unit_test(a_name_in_other_case_has_the_same_one),
        cmocka_unit_test(all_else_is_replaced_in_its_form), cmocka_unit_test(references_still_fit),
        cmocka_unit_test(xml_keeps_its_form_and_no_secret), cmocka_unit_test(the_time_of_the_server_is_its_distance_from_ours),
        cmocka_unit_test(what_is_no_xml_is_refused),        cmocka_unit_test(json_keeps_members_of_the_interface),
        cmocka_unit_test(paths_keep_their_words),           cmocka_unit_test(another_key_gives_other_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
