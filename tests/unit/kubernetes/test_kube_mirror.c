/* Unit tests of src/kubernetes/kube_mirror: the nodes of a cluster in memory, as a watch tells them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "kube_mirror.h"
#include "str.h"
#include "strbuf.h"

struct world {
    struct kube_mirror mirror;
    struct k8s_watch_user user;
    unsigned changes; /* how often it said that something has changed */
};

static void note_change(void *arg) {
    ((struct world *)arg)->changes++;
}

static int begin_world(void **state) {
    struct world *w = calloc(1, sizeof(*w));
    kube_mirror_init(&w->mirror, note_change, w);
    w->user = kube_mirror_user(&w->mirror);
    *state = w;
    return 0;
}

static int end_world(void **state) {
    struct world *w = *state;
    kube_mirror_done(&w->mirror);
    free(w);
    return 0;
}

static struct kube_node node_of(const char *name, const char *uid) {
    return (struct kube_node){.name = str_dup(name), .uid = str_dup(uid)};
}

static void tell(struct world *w, struct kube_node node) {
    assert_int_equal(w->user.node(w->user.arg, &node, NULL), 0);
    assert_null(node.name);
}

static void tell_gone(struct world *w, const char *name, const char *uid) {
    struct kube_node node = node_of(name, uid);
    w->user.gone(w->user.arg, &node);
    kube_node_done(&node);
}

/* "a/1 b/2": names and uids; "?": not all known. */
static const char *shown(struct world *w) {
    static char text[512];
    struct kube_node *nodes;
    size_t count, n = 0;
    uint64_t version;
    text[0] = 0;
    if (kube_mirror_copy(&w->mirror, &nodes, &count, &version, NULL) == ERR_NOT_FOUND)
        return "?";
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s/%s", i ? " " : "", nodes[i].name, nodes[i].uid);
    kube_nodes_free(nodes, count);
    return text;
}

static void a_list_is_known_when_it_is_complete(void **state) {
    struct world *w = *state;
    w->user.begin(w->user.arg);
    tell(w, node_of("b", "2"));
    tell(w, node_of("c", "3"));
    tell(w, node_of("a", "1"));
    assert_string_equal(shown(w), "?");
    assert_int_equal(w->changes, 0);
    w->user.complete(w->user.arg);
    assert_string_equal(shown(w), "a/1 b/2 c/3");
    assert_int_equal(w->changes, 1);
}

static void what_a_new_list_does_not_tell_is_gone(void **state) {
    struct world *w = *state;
    a_list_is_known_when_it_is_complete(state);
    w->user.begin(w->user.arg);
    tell(w, node_of("b", "2"));
    assert_string_equal(shown(w), "a/1 b/2 c/3"); /* until all is told */
    w->user.complete(w->user.arg);
    assert_string_equal(shown(w), "b/2");
}

static uint64_t version_of(struct world *w) {
    struct kube_node *nodes;
    size_t count;
    uint64_t version = 0;
    assert_int_equal(kube_mirror_copy(&w->mirror, &nodes, &count, &version, NULL), 0);
    kube_nodes_free(nodes, count);
    return version;
}

static void only_news_is_told(void **state) {
    struct world *w = *state;
    struct kube_node beat = node_of("a", "1"), ill = node_of("a", "1"), cordoned = node_of("a", "1");
    a_list_is_known_when_it_is_complete(state);
    beat.conditions[KUBE_NODE_READY].heartbeat_s = 1000;
    const uint64_t version = version_of(w);
    tell(w, beat);
    assert_int_equal(w->changes, 1);
    assert_int_equal(version_of(w), version);
    ill.conditions[KUBE_NODE_READY].truth = KUBE_FALSE;
    tell(w, ill);
    assert_int_equal(w->changes, 2);
    assert_int_equal(version_of(w), version + 1);
    cordoned.conditions[KUBE_NODE_READY].truth = KUBE_FALSE;
    cordoned.is_cordoned = true;
    tell(w, cordoned);
    assert_int_equal(w->changes, 3);
}

static void the_end_of_another_node_of_that_name_is_none(void **state) {
    struct world *w = *state;
    a_list_is_known_when_it_is_complete(state);
    tell(w, node_of("b", "2-again"));
    tell_gone(w, "b", "2");
    assert_string_equal(shown(w), "a/1 b/2-again c/3");
    tell_gone(w, "b", "2-again");
    tell_gone(w, "never", "0");
    assert_string_equal(shown(w), "a/1 c/3");
    assert_int_equal(w->changes, 3);
}

static void the_end_of_the_watch_keeps_what_is_known(void **state) {
    struct world *w = *state;
    struct err why = {0}, told = {0};
    a_list_is_known_when_it_is_complete(state);
    (void)err_set(&why, ERR_UPSTREAM_DENIED, "no");
    assert_false(kube_mirror_has_ended(&w->mirror, &told));
    w->user.end(w->user.arg, &why);
    assert_true(kube_mirror_has_ended(&w->mirror, &told));
    assert_int_equal(told.code, ERR_UPSTREAM_DENIED);
    assert_string_equal(shown(w), "a/1 b/2 c/3");
    kube_mirror_begin(&w->mirror);
    assert_false(kube_mirror_has_ended(&w->mirror, NULL));
    kube_mirror_clear(&w->mirror);
    assert_string_equal(shown(w), "?");
}

/* Whoever asks who answers does so before kube_mirror_begin, or when it is doubted. */
static void what_goes_on_by_itself_is_doubted(void **state) {
    struct world *w = *state;
    kube_mirror_begin(&w->mirror);
    a_list_is_known_when_it_is_complete(state);
    assert_false(kube_mirror_is_doubtful(&w->mirror));
    w->user.resume(w->user.arg);
    assert_true(kube_mirror_is_doubtful(&w->mirror));
    kube_mirror_set_doubtful(&w->mirror, false);
    w->user.begin(w->user.arg);
    assert_true(kube_mirror_is_doubtful(&w->mirror));
    kube_mirror_set_doubtful(&w->mirror, false);
    kube_mirror_begin(&w->mirror);
    w->user.resume(w->user.arg);
    assert_false(kube_mirror_is_doubtful(&w->mirror));
    w->user.resume(w->user.arg);
    assert_true(kube_mirror_is_doubtful(&w->mirror));
}

/* A list is bounded by the watch; what changes afterwards is here. */
static void endless_new_nodes_have_an_end(void **state) {
    struct world *w = *state;
    struct err err = {0};
    unsigned told = 0;
    int rc = 0;
    a_list_is_known_when_it_is_complete(state);
    while (!rc && told < 3 * K8S_NODES_MAX) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n-%06u", told++);
        struct kube_node node = node_of(name, "u");
        rc = w->user.node(w->user.arg, &node, &err);
        kube_node_done(&node);
    }
    assert_int_equal(rc, ERR_TOO_LARGE);
    assert_int_equal(told, 2 * K8S_NODES_MAX - 3 + 1);
    tell(w, node_of("a", "1")); /* one that is there may change */
}

/* A thousand nodes in an order that is nobody's. */
static void many_stay_in_order(void **state) {
    struct world *w = *state;
    struct kube_node *nodes;
    uint64_t version;
    size_t count;
    w->user.begin(w->user.arg);
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n-%04u", i * 617 % 1000);
        tell(w, node_of(name, "u"));
    }
    w->user.complete(w->user.arg);
    assert_int_equal(kube_mirror_copy(&w->mirror, &nodes, &count, &version, NULL), 0);
    assert_int_equal(count, 1000);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(nodes[i - 1].name, nodes[i].name) < 0);
    kube_nodes_free(nodes, count);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_world, end_world)
int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_list_is_known_when_it_is_complete),
        CASE(what_a_new_list_does_not_tell_is_gone),
        CASE(only_news_is_told),
        CASE(the_end_of_another_node_of_that_name_is_none),
        CASE(the_end_of_the_watch_keeps_what_is_known),
        CASE(what_goes_on_by_itself_is_doubted),
        CASE(endless_new_nodes_have_an_end),
        CASE(many_stay_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
