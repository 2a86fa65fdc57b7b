/* WWW-Authenticate taken apart: schemes, commas in quoted strings, tokens, several lines.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "negotiate.h"

static struct challenge of(const char *const *lines) {
    struct challenge found = {0};
    for (; *lines; lines++)
        challenge_read(&found, *lines, strlen(*lines));
    return found;
}
#define OF(...) of((const char *const[]){__VA_ARGS__, NULL})

static void who_asks_for_negotiate(void **state) {
    static const struct {
        const char *line;
        bool is_there, negotiate;
        const char *token;
    } cases[] = {
        {"WWW-Authenticate: Negotiate", true, true, NULL},
        {"www-authenticate:NEGOTIATE", true, true, NULL},
        {"WWW-Authenticate: Negotiate YWJj", true, true, "YWJj"},
        {"WWW-Authenticate: \t Negotiate   YWI=  ", true, true, "YWI="},
        {"WWW-Authenticate: Basic realm=\"a, Negotiate b\"", true, false, NULL},
        {"WWW-Authenticate: Basic realm=\"a\\\", Negotiate b\", Negotiate YQ==, NTLM", true, true, "YQ=="},
        {"WWW-Authenticate: Digest realm=\"x\", nonce = \"Negotiate\", Negotiate", true, true, NULL},
        {"WWW-Authenticate: Basic realm=\"never ends, Negotiate", true, false, NULL},
        {"WWW-Authenticate: Negotiated YWJj, XNegotiate", true, false, NULL},
        {"WWW-Authenticate: NTLM, Basic", true, false, NULL},
        {"WWW-Authenticate: , ,", false, false, NULL},
        {"WWW-Authenticate:", false, false, NULL},
        {"Authenticate: Negotiate", false, false, NULL},
        {"WWW-Authenticate", false, false, NULL},
        {"", false, false, NULL},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct challenge found = OF(cases[i].line);
        if (found.is_there != cases[i].is_there || found.negotiate != cases[i].negotiate || found.is_bad || found.is_twice ||
            !found.token != !cases[i].token || (found.token && strcmp(found.token, cases[i].token) != 0))
            fail_msg("\"%s\" was read as something else", cases[i].line);
        challenge_done(&found);
    }
}

static void lines_count_together(void **state) {
    struct challenge found = OF("Server: x", "WWW-Authenticate: NTLM", "WWW-Authenticate: Negotiate YQ==", "Date: y");
    (void)state;
    assert_true(found.negotiate);
    assert_string_equal(found.token, "YQ==");
    challenge_done(&found);
    assert_null(found.token);
}

static void two_tokens_are_one_too_many(void **state) {
    struct challenge found = OF("WWW-Authenticate: Negotiate YQ==", "WWW-Authenticate: Negotiate YQ==");
    (void)state;
    assert_true(found.is_twice);
    challenge_done(&found);
    found = OF("WWW-Authenticate: Negotiate, Negotiate YQ==");
    assert_false(found.is_twice);
    challenge_done(&found);
}

static void what_is_no_token(void **state) {
    char *line = calloc(1, CHALLENGE_TOKEN_CHARS_MAX + 64);
    const int head = snprintf(line, 64, "WWW-Authenticate: Negotiate ");
    struct challenge found = OF("WWW-Authenticate: Negotiate YQ==\x01");
    (void)state;
    assert_true(found.is_bad);
    challenge_done(&found);
    found = OF("WWW-Authenticate: Negotiate \"YQ==\"");
    assert_true(found.is_bad);
    challenge_done(&found);
    assert_true(line && head > 0);
    memset(line + head, 'A', CHALLENGE_TOKEN_CHARS_MAX);
    found = OF(line);
    assert_false(found.is_bad);
    challenge_done(&found);
    line[(size_t)head + CHALLENGE_TOKEN_CHARS_MAX] = 'A';
    found = OF(line);
    assert_true(found.is_bad && !found.token);
    challenge_done(&found);
    free(line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_for_negotiate),
        cmocka_unit_test(lines_count_together),
        cmocka_unit_test(two_tokens_are_one_too_many),
        cmocka_unit_test(what_is_no_token),
    };
    return cmocka_run_group_tests_name("challenge", tests, NULL, NULL);
}
