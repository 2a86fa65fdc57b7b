/* Unit tests of src/hx/hx_decode: what HX Connect answers, and what it must not get away with. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "hx_decode.h"
#include "str.h"

#define UUID "9004183636114227531:5445300663653806560"

static int decode(enum hx_answer answer, const char *text, struct hx_facts *facts, struct err *err) {
    err_clear(err);
    return hx_decode_facts(answer, text, strlen(text), facts, err);
}

/* Refused, with this code and this word in the text. */
static void refuse(enum hx_answer answer, const char *text, int code, const char *word) {
    _cleanup_done_(hx_facts_done) struct hx_facts facts = HX_FACTS_NONE;
    struct err err = {0};
    facts.uuid = str_dup(answer == HX_ANSWER_CLUSTERS ? NULL : UUID);
    const int rc = decode(answer, text, &facts, &err);
    if (rc != code || !strstr(err.text, word))
        print_message("%.200s: %d \"%s\"\n", text, rc, err.text);
    assert_int_equal(rc, code);
    assert_non_null(strstr(err.text, word));
}

static void a_token_is_read(void **state) {
    static const char text[] =
        "{\"access_token\":\"eyJ.a.b\",\"refresh_token\":\"r/+=~\",\"token_type\":\"Bearer\",\"expires_in\":1555200,\"more\":{}}";
    struct hx_token token;
    (void)state;
    memset(&token, 0x5a, sizeof(token)); /* the caller need not have set it */
    assert_int_equal(hx_decode_token(text, strlen(text), &token, NULL), 0);
    assert_string_equal(token.access, "eyJ.a.b");
    assert_string_equal(token.refresh, "r/+=~");
    assert_string_equal(token.type, "Bearer");
    hx_token_done(&token);
    assert_null(token.access);
    hx_token_done(&token);
    hx_token_done(NULL);
}

/* Blanks at its ends would stand in the header twice. */
static void blanks_around_the_type_of_a_token_are_cut(void **state) {
    static const char *const types[] = {"Bearer", "Bearer ", " Bearer", "  Bearer  "};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(types); i++) {
        struct hx_token token = {0};
        _cleanup_free_ char *text =
            str_format("{\"access_token\":\"eyJ\",\"refresh_token\":\"abc\",\"token_type\":\"%s\"}", types[i]);
        assert_int_equal(hx_decode_token(text, strlen(text), &token, NULL), 0);
        assert_string_equal(token.type, "Bearer");
        hx_token_done(&token);
    }
}

static void a_token_that_is_none_is_refused(void **state) {
    static const struct {
        const char *text;
        int code;
        const char *word;
    } cases[] = {
        {"", ERR_PROTOCOL, "not valid JSON"},
        {"<html>Secret1</html>", ERR_PROTOCOL, "not valid JSON"},
        {"[]", ERR_PROTOCOL, "access_token"},
        {"{\"access_token\":1,\"refresh_token\":\"Secret1\",\"token_type\":\"B\"}", ERR_PROTOCOL, "access_token"},
        {"{\"access_token\":\"\",\"refresh_token\":\"Secret1\",\"token_type\":\"B\"}", ERR_PROTOCOL, "access_token"},
        {"{\"access_token\":\"Secret1\",\"token_type\":\"B\"}", ERR_PROTOCOL, "refresh_token"},
        {"{\"access_token\":\"Secret1\",\"refresh_token\":\"Secret1\"}", ERR_PROTOCOL, "token_type"},
        {"{\"access_token\":\"Secret1\",\"refresh_token\":\"Secret1\",\"token_type\":\"B\\r\\nX-Evil: 1\"}", ERR_PROTOCOL,
         "token_type"},
        {"{\"access_token\":\"Secret1\\r\\nX-Evil: 1\",\"refresh_token\":\"Secret1\",\"token_type\":\"B\"}", ERR_PROTOCOL,
         "access_token"},
        {"{\"access_token\":\"Secret1 \",\"refresh_token\":\"Secret1\",\"token_type\":\"B\"}", ERR_PROTOCOL, "access_token"},
        {"{\"access_token\":\"Secret1\\u007f\",\"refresh_token\":\"a\",\"token_type\":\"B\"}", ERR_PROTOCOL, "access_token"},
        {"{\"access_token\":\"Secret1\\u00e9\",\"refresh_token\":\"a\",\"token_type\":\"B\"}", ERR_PROTOCOL, "access_token"},
        {"{\"access_token\":\"Secret1\",\"refresh_token\":\"a\",\"token_type\":\"123456789012345678901234567890123\"}",
         ERR_PROTOCOL, "32"},
        {"{\"access_token\":\"Secret1\",\"refresh_token\":\"a\",\"token_type\":\"  \"}", ERR_PROTOCOL, "token_type"},
        {"{\"access_token\":\"Secret1\",\"refresh_token\":\"a\",\"token_type\":\"B X\"}", ERR_PROTOCOL, "token_type"},
        {"{\"access_token\":\"a\",\"access_token\":\"Secret1\"}", ERR_PROTOCOL, "twice"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", ERR_TOO_LARGE, "nested"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct hx_token token = {0};
        struct err err = {0};
        const int rc = hx_decode_token(cases[i].text, strlen(cases[i].text), &token, &err);
        if (rc != cases[i].code || !strstr(err.text, cases[i].word))
            print_message("%s: %d \"%s\"\n", cases[i].text, rc, err.text);
        assert_int_equal(rc, cases[i].code);
        assert_non_null(strstr(err.text, cases[i].word));
        assert_null(strstr(err.text, "Secret1"));
        assert_null(token.access);
        assert_null(token.refresh);
    }
}

static void a_token_has_a_longest_length(void **state) {
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        char access[HX_TOKEN_CHARS_MAX + 2];
        struct hx_token token = {0};
        memset(access, 'a', HX_TOKEN_CHARS_MAX + more);
        access[HX_TOKEN_CHARS_MAX + more] = '\0';
        _cleanup_free_ char *text =
            str_format("{\"access_token\":\"%s\",\"refresh_token\":\"r\",\"token_type\":\"Bearer\"}", access);
        assert_int_equal(hx_decode_token(text, strlen(text), &token, NULL), more ? ERR_PROTOCOL : 0);
        hx_token_done(&token);
    }
}

static void all_facts_are_read(void **state) {
    _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
    struct err err = {0};
    (void)state;
    assert_int_equal(decode(HX_ANSWER_CLUSTERS, "[{\"uuid\":\"" UUID "\",\"name\":\"HX-East \\u00fc\",\"x\":[1]}]", &f, &err), 0);
    assert_int_equal(decode(HX_ANSWER_ABOUT, "{\"uuid\":\"" UUID "\",\"productVersion\":\"5.5.2a-39363\"}", &f, &err), 0);
    assert_int_equal(decode(HX_ANSWER_DETAIL, "{\"numNodesConfigured\":4,\"numNodesOnline\":3}", &f, &err), 0);
    assert_int_equal(decode(HX_ANSWER_HEALTH,
                            "{\"uuid\":\"" UUID "\",\"state\":\"ONLINE\",\"resiliencyDetails\":{\"resiliencyState\":\"WARNING\","
                            "\"messages\":[\"Node down.\\r\\nLook.\",\"\",7,\"Second\"]}}",
                            &f, &err),
                     0);
    assert_int_equal(decode(HX_ANSWER_STATS,
                            "{\"spaceStatus\":\"NORMAL\",\"totalCapacityInBytes\":1.2E13,\"usedCapacityInBytes\":1099511627776}",
                            &f, &err),
                     0);
    assert_int_equal(decode(HX_ANSWER_ALARMS, "[{},{}]", &f, &err), 0);
    assert_int_equal(decode(HX_ANSWER_VCENTER, "{\"vCenterDatacenter\":\"DC\",\"vCenterClusterName\":\"East\"}", &f, &err), 0);
    assert_string_equal(f.uuid, UUID);
    assert_string_equal(f.name, "HX-East \xc3\xbc");
    assert_string_equal(f.version, "5.5.2a-39363");
    assert_string_equal(f.state, "ONLINE");
    assert_string_equal(f.resiliency, "WARNING");
    assert_string_equal(f.messages, "Node down.  Look.\nSecond");
    assert_string_equal(f.space, "NORMAL");
    assert_true(f.capacity_bytes == 12000000000000 && f.used_bytes == 1099511627776);
    assert_true(f.nodes_configured == 4 && f.nodes_online == 3 && f.alarms == 2);
    assert_string_equal(f.datacenter, "DC");
    assert_string_equal(f.vsphere_cluster, "East");
}

/* What is missing, null or of another kind is not told, and harms nothing else. */
static void what_is_not_told_is_unset(void **state) {
    static const char *const texts[] = {"{}", "{\"uuid\":null,\"state\":null,\"resiliencyDetails\":null,\"spaceStatus\":null}",
                                        "{\"state\":1,\"resiliencyDetails\":[],\"spaceStatus\":\"\",\"productVersion\":{},"
                                        "\"totalCapacityInBytes\":\"12\",\"usedCapacityInBytes\":-1,\"numNodesOnline\":1e30,"
                                        "\"numNodesConfigured\":-0.5,\"vCenterDatacenter\":true}",
                                        "{\"resiliencyDetails\":{\"messages\":\"all is well\"}}",
                                        "{\"resiliencyDetails\":{\"messages\":[]}}"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
        struct err err = {0};
        for (int answer = HX_ANSWER_ABOUT; answer < HX_ANSWERS_COUNT; answer++)
            if (answer != HX_ANSWER_ALARMS)
                assert_int_equal(decode((enum hx_answer)answer, texts[i], &f, &err), 0);
        assert_true(!f.version && !f.state && !f.resiliency && !f.space && !f.datacenter && !f.vsphere_cluster && !f.messages);
        assert_true(f.capacity_bytes == -1 && f.used_bytes == -1 && f.nodes_configured == -1 && f.nodes_online == -1 &&
                    f.alarms == -1);
    }
}

static void answers_of_something_else_are_refused(void **state) {
    (void)state;
    refuse(HX_ANSWER_CLUSTERS, "{}", ERR_PROTOCOL, "not a list");
    refuse(HX_ANSWER_CLUSTERS, "[]", ERR_PROTOCOL, "lists 0 clusters");
    refuse(HX_ANSWER_CLUSTERS, "[{},{}]", ERR_PROTOCOL, "lists 2 clusters");
    refuse(HX_ANSWER_CLUSTERS, "[7]", ERR_PROTOCOL, "uuid");
    refuse(HX_ANSWER_CLUSTERS, "[{\"name\":\"a\"}]", ERR_PROTOCOL, "uuid");
    refuse(HX_ANSWER_CLUSTERS, "[{\"uuid\":\"1:2\"}]", ERR_PROTOCOL, "name");
    refuse(HX_ANSWER_CLUSTERS, "[{\"uuid\":\"1:2\",\"name\":\"\"}]", ERR_PROTOCOL, "name");
    refuse(HX_ANSWER_CLUSTERS, "[{\"uuid\":\"1:2\",\"name\":\"a\\nb\"}]", ERR_PROTOCOL, "name");
    refuse(HX_ANSWER_CLUSTERS, "[{\"uuid\":\"1:2\",\"name\":\"a\\u0085b\"}]", ERR_PROTOCOL, "name");
    refuse(HX_ANSWER_CLUSTERS, "[{\"uuid\":\"1:2\",\"name\":\"123456789012345678901234567890123456789012345678901\"}]",
           ERR_PROTOCOL, "50");
    refuse(HX_ANSWER_HEALTH, "[]", ERR_PROTOCOL, "not an object");
    refuse(HX_ANSWER_ALARMS, "{}", ERR_PROTOCOL, "not a list");
    refuse(HX_ANSWER_STATS, "{\"spaceStatus\":\"\xff\"}", ERR_PROTOCOL, "UTF-8");
    refuse(HX_ANSWER_STATS, "{\"spaceStatus\":\"a\\u0000b\"}", ERR_PROTOCOL, "NUL");
    refuse(HX_ANSWER_STATS, "{\"totalCapacityInBytes\":99999999999999999999}", ERR_PROTOCOL, "too large");
}

static void a_uuid_is_two_numbers_of_64_bits(void **state) {
    static const char *const bad[] = {"",
                                      "1",
                                      "1:",
                                      ":1",
                                      "1:2:3",
                                      "1:2 ",
                                      "-1:2",
                                      "+1:2",
                                      "1/2",
                                      "1:2/..",
                                      "a:b",
                                      "18446744073709551616:1",
                                      "1:18446744073709551616",
                                      "99999999999999999999:1",
                                      "000000000000000000001:1",
                                      "9d5d1d0e-5f0c-4d5e-8b8a-0d7c0a1b2c3d"};
    static const char *const good[] = {"0:0", "18446744073709551615:18446744073709551615", UUID};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        _cleanup_free_ char *list = str_format("[{\"uuid\":\"%s\",\"name\":\"a\"}]", bad[i]);
        _cleanup_free_ char *about = str_format("{\"uuid\":\"%s\"}", bad[i]);
        refuse(HX_ANSWER_CLUSTERS, list, ERR_PROTOCOL, "uuid");
        refuse(HX_ANSWER_ABOUT, about, ERR_PROTOCOL, "uuid");
    }
    for (size_t i = 0; i < UNIT_COUNT(good); i++) {
        _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
        struct err err = {0};
        _cleanup_free_ char *list = str_format("[{\"uuid\":\"%s\",\"name\":\"a\"}]", good[i]);
        assert_int_equal(decode(HX_ANSWER_CLUSTERS, list, &f, &err), 0);
        assert_string_equal(f.uuid, good[i]);
        assert_true(strlen(good[i]) <= HX_UUID_CHARS_MAX);
    }
}

static void another_uuid_is_a_lie(void **state) {
    (void)state;
    refuse(HX_ANSWER_ABOUT, "{\"uuid\":\"1:2\"}", ERR_PROTOCOL, "1:2");
    refuse(HX_ANSWER_ABOUT, "{\"uuid\":\"1:2\"}", ERR_PROTOCOL, UUID);
    refuse(HX_ANSWER_HEALTH, "{\"uuid\":\"1:2\"}", ERR_PROTOCOL, UUID);
    refuse(HX_ANSWER_HEALTH, "{\"uuid\":7}", ERR_PROTOCOL, "uuid");
}

static void texts_are_cut_and_cleaned(void **state) {
    _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
    struct err err = {0};
    char longer[HX_MESSAGE_CHARS_MAX * 2 + 3] = "";
    (void)state;
    for (size_t i = 0; i < HX_MESSAGE_CHARS_MAX + 1; i++)
        memcpy(longer + 2 * i, "\xc3\xbc", 3);
    _cleanup_free_ char *vcenter =
        str_format("{\"vCenterDatacenter\":\"%s\",\"vCenterClusterName\":\"a\\u001b[2J\\u009bb\"}", longer);
    assert_int_equal(decode(HX_ANSWER_VCENTER, vcenter, &f, &err), 0);
    assert_int_equal(str_utf8_chars(f.datacenter, strlen(f.datacenter)), HX_INVENTORY_CHARS_MAX);
    assert_string_equal(f.vsphere_cluster, "a [2J b");

    _cleanup_strbuf_ struct strbuf health;
    strbuf_init(&health, 100000);
    strbuf_adds(&health, "{\"resiliencyDetails\":{\"messages\":[\"last\"");
    for (unsigned i = 0; i < HX_MESSAGES_COUNT_MAX; i++)
        strbuf_addf(&health, ",\"%s\"", longer);
    strbuf_adds(&health, "]}}");
    assert_int_equal(decode(HX_ANSWER_HEALTH, health.data, &f, &err), 0);
    assert_int_equal(strlen(f.messages), 4 + (HX_MESSAGES_COUNT_MAX - 1) * (1 + 2 * HX_MESSAGE_CHARS_MAX));
    assert_true(str_starts(f.messages, "last\n\xc3\xbc"));
}

static void alarms_are_counted_to_a_bound(void **state) {
    (void)state;
    for (unsigned more = 0; more < 2; more++) {
        _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
        _cleanup_strbuf_ struct strbuf list;
        struct err err = {0};
        strbuf_init(&list, 100000);
        strbuf_adds(&list, "[0");
        for (unsigned i = 1; i < HX_ALARMS_COUNT_MAX + more; i++)
            strbuf_adds(&list, ",0");
        strbuf_adds(&list, "]");
        assert_int_equal(decode(HX_ANSWER_ALARMS, list.data, &f, &err), more ? ERR_TOO_LARGE : 0);
        assert_int_equal(f.alarms, more ? -1 : (int64_t)HX_ALARMS_COUNT_MAX);
    }
}

/* One recorded of HX 4.0 in its shape, with other values, and what makes it count or not. */
static void alarms_that_nobody_has_to_look_at_are_not_counted(void **state) {
    static const struct {
        const char *more;
        int64_t count;
    } cases[] = {
        {"\"acknowledged\":false,\"entityType\":\"VIRTCLUSTER\"", 1},
        {"\"acknowledged\":true,\"entityType\":\"VIRTCLUSTER\"", 0},
        {"\"acknowledged\":false,\"entityType\":\"VIRTUALMACHINE\"", 0},
        {"\"entityType\":\"VirtualMachine\"", 0},
        {"\"acknowledged\":null,\"entityType\":7", 1},
        {"\"x\":1", 1},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        _cleanup_done_(hx_facts_done) struct hx_facts f = HX_FACTS_NONE;
        struct err err = {0};
        _cleanup_free_ char *list = str_format(
            "[{\"acknowledgedTime\":0,\"acknowledgedTimeAsUTC\":\"\",\"description\":\"Default alarm\",\"entityName\":\"n\","
            "\"entityUuId\":\"vm-7\",\"message\":\"m\",\"name\":\"alarm-6.vm-7\",\"status\":\"CRITICAL\",\"triggeredTime\":1583000000000,"
            "\"triggeredTimeAsUTC\":\"2020-02-29T18:13:20Z\",\"uuid\":\"alarm-6!!Alarm!!x!!VirtualMachine!!vm-8\",%s}]",
            cases[i].more);
        assert_int_equal(decode(HX_ANSWER_ALARMS, list, &f, &err), 0);
        assert_int_equal(f.alarms, cases[i].count);
    }
}

static char *messages_of(const char *state, const char *resiliency, const char *message) {
    struct hx_facts f = HX_FACTS_NONE;
    struct err err = {0};
    _cleanup_free_ char *health =
        str_format("{\"state\":\"%s\",\"resiliencyDetails\":{\"resiliencyState\":\"%s\",\"messages\":[\"%s\"]}}", state,
                   resiliency, message);
    assert_int_equal(decode(HX_ANSWER_HEALTH, health, &f, &err), 0);
    char *messages = f.messages;
    f.messages = NULL;
    hx_facts_done(&f);
    return messages;
}

/* HX 4.0 says so of one that is well. */
static void one_that_is_well_has_no_reasons(void **state) {
    (void)state;
    assert_null(messages_of("ONLINE", "HEALTHY", "Storage cluster is healthy. "));
    _cleanup_free_ char *warns = messages_of("ONLINE", "WARNING", "  Storage cluster is unhealthy. ");
    _cleanup_free_ char *full = messages_of("ENOSPACE", "HEALTHY", "Out of space.");
    assert_string_equal(warns, "Storage cluster is unhealthy.");
    assert_string_equal(full, "Out of space.");
    assert_null(messages_of("OFFLINE", "OFFLINE", "   "));
}

static void retry_after_is_bounded(void **state) {
    static const struct {
        const char *line;
        unsigned seconds;
    } cases[] = {
        {"Retry-After: 120", 120},
        {"retry-after:7", 7},
        {"Retry-After: \t 5 \t", 5},
        {"Retry-After: 0", 1},
        {"Retry-After: 3600", 3600},
        {"Retry-After: 3601", 3600},
        {"Retry-After: 999999999999999999", 3600},
        {"Retry-After: 99999999999999999999999", 900},
        {"Retry-After: -1", 900},
        {"Retry-After: soon", 900},
        {"Retry-After:", 900},
        {"Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", 900},
        {"Retry-After", 0},
        {"X-Retry-After: 5", 0},
        {"", 0},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(hx_decode_retry_after(cases[i].line, strlen(cases[i].line)), cases[i].seconds);
    assert_int_equal(hx_decode_retry_after("Retry-After: 12345", 15), 12); /* no further than n */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_read),
        cmocka_unit_test(blanks_around_the_type_of_a_token_are_cut),
        cmocka_unit_test(a_token_that_is_none_is_refused),
        cmocka_unit_test(a_token_has_a_longest_length),
        cmocka_unit_test(all_facts_are_read),
        cmocka_unit_test(what_is_not_told_is_unset),
        cmocka_unit_test(answers_of_something_else_are_refused),
        cmocka_unit_test(a_uuid_is_two_numbers_of_64_bits),
        cmocka_unit_test(another_uuid_is_a_lie),
        cmocka_unit_test(texts_are_cut_and_cleaned),
        cmocka_unit_test(alarms_are_counted_to_a_bound),
        cmocka_unit_test(alarms_that_nobody_has_to_look_at_are_not_counted),
        cmocka_unit_test(one_that_is_well_has_no_reasons),
        cmocka_unit_test(retry_after_is_bounded),
    };
    return cmocka_run_group_tests_name("hx_decode", tests, NULL, NULL);
}
