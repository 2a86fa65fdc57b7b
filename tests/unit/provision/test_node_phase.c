/* What machines tell: every word is known and said by the script, all else is capped. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "node_files.h"
#include "node_phase.h"
#include "str.h"

static void expect(const char *phase, const char *error, enum node_phase wanted_phase, enum node_fault wanted_fault,
                   const char *detail) {
    struct node_told told;
    node_phase_read(phase, error, &told);
    assert_int_equal(told.phase, wanted_phase);
    assert_int_equal(told.fault, wanted_fault);
    assert_string_equal(told.detail, detail);
}

static void test_read(void **state) {
    (void)state;
    expect(NULL, NULL, NODE_PHASE_NONE, NODE_FAULT_NONE, "");
    expect("", "", NODE_PHASE_NONE, NODE_FAULT_NONE, "");
    expect("checking", "none", NODE_PHASE_CHECKING, NODE_FAULT_NONE, "");
    expect("done", "none: what does not matter", NODE_PHASE_DONE, NODE_FAULT_NONE, "");
    expect("failed", "join-failed: error execution phase preflight", NODE_PHASE_FAILED, NODE_FAULT_JOIN_FAILED,
           "error execution phase preflight");
    expect("checking", "clock", NODE_PHASE_CHECKING, NODE_FAULT_CLOCK, "");
    expect("reboot", "no such word: x", NODE_PHASE_UNKNOWN, NODE_FAULT_UNKNOWN, "no such word: x");
    expect("unknown", "unknown: x", NODE_PHASE_UNKNOWN, NODE_FAULT_UNKNOWN, "unknown: x");
    expect("done ", ": x", NODE_PHASE_UNKNOWN, NODE_FAULT_UNKNOWN, ": x");
    expect("init",
           "kubelet: a\x1b[31mb\nc\xff"
           "d\xe2\x80\xaeu\xc3\xbc",
           NODE_PHASE_INIT, NODE_FAULT_KUBELET, "a [31mb c d u\xc3\xbc");
}

static void test_caps(void **state) {
    enum { BYTES = 70000 };
    char *text = calloc(1, BYTES + 1);
    struct node_told told;
    (void)state;
    memset(text, 'x', BYTES);
    node_phase_read(text, text, &told);
    assert_int_equal(told.phase, NODE_PHASE_UNKNOWN);
    assert_int_equal(told.fault, NODE_FAULT_UNKNOWN);
    assert_int_equal(strlen(told.detail), NODE_DETAIL_CHARS_MAX);
    memcpy(text, "kubelet: ", 9);
    for (size_t i = 9; i + 4 <= BYTES; i += 4)
        memcpy(text + i, "\xF0\x9F\x98\x80", 4);
    node_phase_read("join", text, &told);
    assert_int_equal(told.fault, NODE_FAULT_KUBELET);
    assert_int_equal(strlen(told.detail), NODE_DETAIL_CHARS_MAX * 4);
    free(text);
}

static void test_rows(void **state) {
    struct node_told told;
    (void)state;
    for (unsigned i = 0; i < NODE_PHASE_COUNT; i++)
        assert_true(strlen(node_phase_word(i)) && strlen(node_phase_text(i)));
    for (unsigned i = NODE_FAULT_NONE + 1; i < NODE_FAULT_COUNT; i++) {
        assert_true(strlen(node_fault_word(i)) && strlen(node_fault_text(i)) && strlen(node_fault_remedy(i)));
        node_phase_read("failed", node_fault_word(i), &told);
        assert_int_equal(told.fault, i);
    }
    assert_true(node_fault_is_lasting(NODE_FAULT_NO_PROGRAM));
    assert_false(node_fault_is_lasting(NODE_FAULT_CLOCK));
    assert_string_equal(node_fault_word(NODE_FAULT_COUNT), "unknown");
}

/* What the script gives up at lasts, what it looks at again does not, and each word is one that it says: but that of silence, and of what is not known. */
static void test_the_script_says_them(void **state) {
    (void)state;
    for (unsigned i = NODE_FAULT_NONE + 1; i < NODE_FAULT_COUNT; i++) {
        char gives_up[80], echoes[80];
        const char *word = node_fault_word(i);
        if (i == NODE_FAULT_SILENT || i == NODE_FAULT_UNKNOWN)
            continue;
        (void)snprintf(gives_up, sizeof(gives_up), "give_up %s ", word);
        (void)snprintf(echoes, sizeof(echoes), "echo \"%s ", word);
        const bool is_given_up = strstr(node_file_start, gives_up), is_echoed = strstr(node_file_start, echoes);
        if (i == NODE_FAULT_INIT_FAILED || i == NODE_FAULT_JOIN_FAILED)
            assert_non_null(strstr(node_file_start, "give_up \"$what-failed\" "));
        else if (i == NODE_FAULT_NO_MEMORY || i == NODE_FAULT_KUBELET)
            assert_non_null(
                strstr(node_file_start, i == NODE_FAULT_KUBELET ? "tell_error kubelet " : "tell_error killed-for-memory "));
        else if (is_given_up == is_echoed || is_given_up != node_fault_is_lasting(i))
            fail_msg("%s", word);
    }
}

static void test_error(void **state) {
    struct node_told told;
    struct err err = {0};
    (void)state;
    node_phase_read("failed", "little-memory: 300 MiB, of 1700 that it takes", &told);
    assert_int_equal(node_fault_set("prod-cp-x7f2k", &told, &err), ERR_UPSTREAM);
    assert_string_equal(err.text, "prod-cp-x7f2k: it has too little memory: 300 MiB, of 1700 that it takes");
    assert_non_null(strstr(err.remedy, "larger --control-plane-memory"));
    err = (struct err){0};
    told = (struct node_told){.fault = NODE_FAULT_SILENT};
    (void)node_fault_set("prod-cp-x7f2k", &told, &err);
    assert_string_equal(err.text, "prod-cp-x7f2k: the machine tells nothing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),  cmocka_unit_test(test_caps),
        cmocka_unit_test(test_rows),  cmocka_unit_test(test_the_script_says_them),
        cmocka_unit_test(test_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
