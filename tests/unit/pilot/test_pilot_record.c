/* Unit tests of src/pilot/pilot_record: what of the headers is kept, and that a recording has an end.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <unistd.h>

#include "pilot_record.h"
#include "str.h"

#define UUID "52aa0000-0000-4000-8000-000000000001"

static struct pilot_headers headers_of(const char *line) {
    struct pilot_headers headers = {.is_quoted = false};
    pilot_headers_take(&headers, line, strlen(line));
    return headers;
}

static void only_the_form_of_a_cookie_is_kept(void **state) {
    static const struct {
        const char *line, *form;
        bool is_quoted;
    } rows[] = {
        {"Set-Cookie: vmware_soap_session=\"0123456789abcdef0123456789abcdef01234567\"; Path=/; HttpOnly", "hex", true},
        {"set-cookie: vmware_soap_session=0123456789abcdef0123456789abcdef01234567", "hex", false},
        {"Set-Cookie: vmware_soap_session=" UUID "; Path=/", "uuid", false},
        {"Set-Cookie: vmware_soap_session=\"" UUID "\"", "uuid", true},
        {"Set-Cookie: vmware_soap_session=x; Path=/", "other", false},
        {"Set-Cookie: another=" UUID, NULL, false},
        {"Set-Cookie: vmware_soap_session=", NULL, false},
        {"X-Cookie: vmware_soap_session=x", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct pilot_headers headers = headers_of(rows[i].line);
        if (!str_eq(headers.cookie, rows[i].form) || headers.is_quoted != rows[i].is_quoted)
            fail_msg("%s is taken for %s", rows[i].line, headers.cookie ? headers.cookie : "none");
    }
}

static void a_usual_content_type_is_kept(void **state) {
    (void)state;
    assert_string_equal(headers_of("Content-Type: text/xml; charset=utf-8").content_type, "text/xml");
    assert_string_equal(headers_of("content-type: application/json").content_type, "application/json");
    assert_string_equal(headers_of("Content-Type: application/x-corp").content_type, "");
    assert_string_equal(headers_of("Server: corp").content_type, "");
}

/* A folder of the test's own, not made yet. */
static char folder[] = "/tmp/pilot-record-XXXXXX";

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    return rmdir(folder);
}

static void what_is_too_much_is_cut_and_told(void **state) {
    const struct http_exchange exchange = {.method = "GET"};
    const struct pilot_headers headers = {.date_ms = 0};
    struct strbuf answer;
    struct pilot_recorder recorder;
    struct pilot_recorded one = {.service = "hx",
                                 .way = "https",
                                 .name = "GET",
                                 .path = "/coreapi/v1/clusters",
                                 .exchange = &exchange,
                                 .headers = &headers,
                                 .answer = &answer,
                                 .status = 200};
    (void)state;
    strbuf_init(&answer, 1024);
    strbuf_adds(&answer, "[]");
    assert_int_equal(pilot_recorder_init(&recorder, folder, NULL), 0); /* it is there and empty */
    pilot_recorder_add(&recorder, &one);
    assert_int_equal(json_array_size(recorder.exchanges), 1);
    recorder.bytes = PILOT_RECORD_BYTES_MAX;
    pilot_recorder_add(&recorder, &one);
    pilot_recorder_add(&recorder, &one);
    assert_true(recorder.is_cut);
    assert_int_equal(json_array_size(recorder.exchanges), 1);
    pilot_recorder_done(&recorder);
    strbuf_done(&answer);
}

static void a_folder_that_cannot_be_made_is_named(void **state) {
    struct pilot_recorder recorder;
    struct err err = {0};
    (void)state;
    assert_int_equal(pilot_recorder_init(&recorder, "/nowhere/at/all", &err), ERR_IO);
    assert_non_null(strstr(err.text, "/nowhere/at/all"));
    pilot_recorder_done(&recorder);
    err_clear(&err);
    assert_int_equal(pilot_recorder_init(&recorder, "/etc", &err), ERR_EXISTS);
    assert_non_null(strstr(err.text, "/etc"));
    pilot_recorder_done(&recorder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_form_of_a_cookie_is_kept),
        cmocka_unit_test(a_usual_content_type_is_kept),
        cmocka_unit_test_setup_teardown(what_is_too_much_is_cut_and_told, set_up, tear_down),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
