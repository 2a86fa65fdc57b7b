/* Unit tests of src/port/protobuf, with messages of src/k8s/kubernetes.proto. tests/unit/k8s has more rows of bad bytes.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "protobuf.h"

#include <kubernetes.pb.h>

#define SPAN(text) ((struct str_span){text, sizeof(text) - 1})

static void texts_lie_in_what_was_read(void **state) {
    static const char bytes[] = "\x0a\x05Ready\x12\x00\x2a\x03"
                                "a\0b";
    kubernetes_NodeCondition condition = {0};
    (void)state;
    assert_int_equal(protobuf_read(SPAN(bytes), &kubernetes_NodeCondition_msg, "a condition", &condition, NULL), 0);
    assert_ptr_equal(condition.type.at, bytes + 2);
    assert_int_equal(condition.type.n, 5);
    assert_int_equal(condition.status.n, 0);
    assert_int_equal(condition.reason.n, 3);
    assert_memory_equal(condition.reason.at, "a\0b", 3);
    assert_false(condition.has_last_heartbeat_time);
}

static void a_message_in_parts_is_put_together(void **state) {
    kubernetes_Node node = {0};
    (void)state;
    assert_int_equal(
        protobuf_read(SPAN("\x12\x03\x1a\x01p\x12\x02\x20\x01\x12\x03\x1a\x01q"), &kubernetes_Node_msg, "a node", &node, NULL),
        0);
    assert_true(str_span_eq(node.spec.provider_id, "q"));
    assert_true(node.spec.unschedulable);
}

struct calls {
    char text[100];
    size_t n;
    size_t fail_at; /* the call that fails; 0: none */
};

static int note_call(void *arg, struct str_span item, struct err *err) {
    struct calls *calls = arg;
    memcpy(calls->text + calls->n, item.at, item.n);
    calls->n += item.n;
    calls->text[calls->n++] = '|';
    if (calls->fail_at && !--calls->fail_at)
        return err_set(err, ERR_CANCELED, "enough");
    return 0;
}

static const char labels[] = "\x5a\x01"
                             "1\x0a\x01n\x5a\x00\x5a\x02"
                             "22"; /* three labels, the name between */

static void each_is_handed_on_in_its_order(void **state) {
    struct calls calls = {0};
    kubernetes_ObjectMeta meta = {.labels = {note_call, &calls}};
    (void)state;
    assert_int_equal(protobuf_read(SPAN(labels), &kubernetes_ObjectMeta_msg, "metadata", &meta, NULL), 0);
    assert_memory_equal(calls.text, "1||22|", 6);
    assert_int_equal(calls.n, 6);
    assert_true(str_span_eq(meta.name, "n"));
    meta = (kubernetes_ObjectMeta){0}; /* nobody wants them */
    assert_int_equal(protobuf_read(SPAN(labels), &kubernetes_ObjectMeta_msg, "metadata", &meta, NULL), 0);
    assert_true(str_span_eq(meta.name, "n"));
}

static void an_error_of_who_is_called_is_that_of_the_reading(void **state) {
    struct calls calls = {.fail_at = 2};
    kubernetes_Node node = {.metadata.labels = {note_call, &calls}};
    _cleanup_strbuf_ struct strbuf bytes;
    struct err err = {0};
    (void)state;
    strbuf_init(&bytes, 100);
    strbuf_addc(&bytes, 0x0a);
    strbuf_addc(&bytes, sizeof(labels) - 1);
    strbuf_add(&bytes, labels, sizeof(labels) - 1);
    assert_int_equal(protobuf_read((struct str_span){bytes.data, bytes.len}, &kubernetes_Node_msg, "a node", &node, &err),
                     ERR_CANCELED);
    assert_string_equal(err.text, "enough");
    assert_int_equal(calls.n, 3);
    calls = (struct calls){.fail_at = 1};
    assert_int_equal(protobuf_read((struct str_span){bytes.data, bytes.len}, &kubernetes_Node_msg, "a node", &node, NULL),
                     ERR_CANCELED);
}

static void what_is_wrong_is_named(void **state) {
    static const struct {
        struct str_span bytes;
        const char *text;
    } rows[] = {
        {{"\x0a", 1}, "a condition is not valid protobuf: it ends too early"},
        {{"\x0a\x02x", 3}, "a condition is not valid protobuf: it ends too early"},
        {{"\x08\x01", 2}, "a condition is not valid protobuf: a member has the wrong wire type"},
        {{"\x1a\x03\x0a\x01x", 5}, "a condition is not valid protobuf: a member has the wrong wire type"},
        {{"\x0b\x0c", 2}, "a condition is not valid protobuf: a member has a wire type that nobody uses"},
        {{"\x1a\x02\x08\x80", 4}, "a condition is not valid protobuf: it ends too early"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        kubernetes_NodeCondition condition = {0};
        struct err err = {0};
        assert_int_equal(protobuf_read(rows[i].bytes, &kubernetes_NodeCondition_msg, "a condition", &condition, &err),
                         ERR_PROTOCOL);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void an_empty_message_is_one(void **state) {
    kubernetes_Node node = {0};
    (void)state;
    assert_int_equal(protobuf_read((struct str_span){0}, &kubernetes_Node_msg, "a node", &node, NULL), 0);
    assert_false(node.has_metadata);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_lie_in_what_was_read),     cmocka_unit_test(a_message_in_parts_is_put_together),
        cmocka_unit_test(each_is_handed_on_in_its_order), cmocka_unit_test(an_error_of_who_is_called_is_that_of_the_reading),
        cmocka_unit_test(what_is_wrong_is_named),         cmocka_unit_test(an_empty_message_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
