/* Unit tests of src/remote: when contact is made, what work is done, who takes whose place. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "clock.h"
#include "remotes.h"
#include "worker_pool.h"

/* A made-up system. */
struct thing {
    struct remote remote; /* first */
    atomic_uint contacts, works, begun_ends, ends;
    atomic_int outcome, work_outcome;
    atomic_bool is_held; /* a contact waits until it is false */
};

static struct worker_pool *workers;
static atomic_uint freed;

static struct thing *thing_of(struct remote *remote) {
    return (struct thing *)(void *)remote;
}

static int thing_contact(struct remote *remote, struct err *err) {
    struct thing *t = thing_of(remote);
    const int rc = atomic_load(&t->outcome);
    struct err why = {0};
    atomic_fetch_add(&t->contacts, 1);
    while (atomic_load(&t->is_held))
        (void)sched_yield();
    if (rc)
        (void)err_set(&why, rc, "it says no");
    (void)pthread_mutex_lock(&remote->lock);
    const bool was_ok = remote->status.state == REMOTE_OK;
    (void)remote_status_set(&remote->status, rc ? REMOTE_FAILING : REMOTE_OK, rc ? "no" : "", rc ? &why : NULL, clock_wall_ms());
    (void)pthread_mutex_unlock(&remote->lock);
    remote_follow(remote, was_ok);
    return err_move(err, rc, &why);
}

static int thing_work(struct remote *remote, struct err *err) {
    struct thing *t = thing_of(remote);
    atomic_fetch_add(&t->works, 1);
    const int rc = atomic_load(&t->work_outcome);
    return rc ? err_set(err, rc, "not now") : 0;
}

static void thing_begin_end(struct remote *remote) {
    atomic_fetch_add(&thing_of(remote)->begun_ends, 1);
}

static void thing_end(struct remote *remote) {
    atomic_fetch_add(&thing_of(remote)->ends, 1);
}

static void thing_free(struct remote *remote) {
    remote_done(remote);
    free(remote);
    atomic_fetch_add(&freed, 1);
}

static const struct remote_kind thing_kind = {
    .name = "thing", .contact = thing_contact, .begin_end = thing_begin_end, .end = thing_end, .free = thing_free};

enum { ON_REQUEST = 1, AT_CONNECT = 2, ANY_STATE = 4 };
static const struct remote_work thing_works[REMOTE_WORK_MAX] = {
    {.bit = ON_REQUEST, .name = "on_request", .run = thing_work},
    {.bit = AT_CONNECT, .name = "at_connect", .run = thing_work, .at_connect = true},
    {.bit = ANY_STATE, .name = "any_state", .run = thing_work, .in_any_state = true},
};

static struct thing *thing_new(const char *id) {
    struct thing *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    t->remote.workers = workers;
    t->remote.period_ms = 600000;
    t->remote.is_wanted = true;
    assert_int_equal(remote_init(&t->remote, &thing_kind, thing_works, id, NULL), 0);
    return t;
}

static int set_up(void **state) {
    const struct worker_pool_options options = {.name = "things", .threads = 2, .queue_count = 16};
    (void)state;
    clock_fake(1000000, 1800000000000);
    atomic_store(&freed, 0);
    assert_int_equal(worker_pool_new(&options, &workers, NULL), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    worker_pool_stop(workers);
    worker_pool_free(workers);
    clock_unfake();
    return 0;
}

static void wait_rest(void) {
    assert_true(worker_pool_wait_idle(workers, 60000));
}

static void tick(struct thing *t, int64_t later_ms) {
    clock_fake(clock_mono_ms() + later_ms, clock_wall_ms() + later_ms);
    remote_tick(&t->remote, clock_mono_ms());
    wait_rest();
}

static void contact_is_made_when_it_is_due(void **state) {
    struct thing *t = thing_new("a");
    (void)state;
    tick(t, 0);
    assert_int_equal(t->contacts, 1);
    assert_int_equal(remote_get_state(&t->remote), REMOTE_OK);
    tick(t, 599000);
    assert_int_equal(t->contacts, 1);
    tick(t, 1000);
    assert_int_equal(t->contacts, 2);
    thing_free(&t->remote);
}

/* 1 s, 2 s, 4 s ... 60 s, less up to 30 %. */
static void a_failure_is_tried_again_later_and_later(void **state) {
    struct thing *t = thing_new("a");
    (void)state;
    t->outcome = ERR_UNREACHABLE;
    tick(t, 0);
    for (unsigned i = 1; i < 9; i++) {
        const int64_t most_ms = (1000LL << (i - 1)) < 60000 ? 1000LL << (i - 1) : 60000;
        assert_int_equal(t->contacts, i);
        tick(t, most_ms * 7 / 10 - 1);
        assert_int_equal(t->contacts, i);
        tick(t, most_ms - most_ms * 7 / 10 + 1);
    }
    assert_int_equal(remote_get_state(&t->remote), REMOTE_FAILING);
    assert_string_equal(t->remote.status.detail, "it says no");
    t->outcome = 0;
    tick(t, 60000);
    assert_int_equal(remote_get_state(&t->remote), REMOTE_OK);
    assert_string_equal(t->remote.status.detail, "");
    thing_free(&t->remote);
}

/* Who asks during a contact may mean what that has not seen any more. */
static void a_contact_that_is_asked_for_during_one_is_made(void **state) {
    struct thing *t = thing_new("a");
    (void)state;
    t->is_held = true;
    remote_tick(&t->remote, clock_mono_ms());
    UNIT_WAIT_FOR(atomic_load(&t->contacts) == 1);
    (void)pthread_mutex_lock(&t->remote.lock);
    remote_try_at(&t->remote, 0);
    (void)pthread_mutex_unlock(&t->remote.lock);
    remote_tick(&t->remote, clock_mono_ms()); /* one job at a time */
    assert_int_equal(t->contacts, 1);
    t->is_held = false;
    wait_rest();
    tick(t, 0);
    assert_int_equal(t->contacts, 2);
    thing_free(&t->remote);
}

static void work_waits_for_contact_and_is_done_once(void **state) {
    struct thing *t = thing_new("a");
    (void)state;
    t->outcome = ERR_TIMEOUT;
    tick(t, 0);
    for (unsigned i = 0; i < 5; i++)
        remote_request(&t->remote, ON_REQUEST);
    tick(t, 0);
    assert_int_equal(t->works, 0);
    remote_request(&t->remote, ANY_STATE);
    wait_rest();
    assert_int_equal(t->works, 1);
    t->outcome = 0;
    tick(t, 1000);
    assert_int_equal(t->works, 3); /* what was asked for, and what is done at each connect */
    thing_free(&t->remote);
}

static void work_that_fails_is_done_again(void **state) {
    struct remote_work_state states[REMOTE_WORK_MAX];
    struct thing *t = thing_new("a");
    (void)state;
    tick(t, 0);
    assert_int_equal(t->works, 1);
    t->work_outcome = ERR_TIMEOUT;
    remote_request(&t->remote, ON_REQUEST);
    wait_rest();
    assert_int_equal(t->works, 2);
    assert_int_equal(remote_queue_get(&t->remote.queue, states), 3);
    assert_int_equal(states[0].failures, 1);
    assert_int_equal(states[0].err.code, ERR_TIMEOUT);
    tick(t, 600);
    assert_int_equal(t->works, 2);
    t->work_outcome = ERR_CANCELED; /* nothing to do any more */
    tick(t, 400);
    assert_int_equal(t->works, 3);
    tick(t, 100000);
    assert_int_equal(t->works, 3);
    thing_free(&t->remote);
}

/* What the database says is due is asked for again and again. */
static void what_is_due_waits_after_a_failure(void **state) {
    struct thing *t = thing_new("a");
    (void)state;
    tick(t, 0);
    assert_int_equal(t->works, 1); /* at connect */
    t->work_outcome = ERR_TIMEOUT;
    for (unsigned i = 0; i < 5; i++)
        remote_request_due(&t->remote, ANY_STATE);
    wait_rest();
    assert_int_equal(t->works, 2);
    remote_request(&t->remote, ANY_STATE); /* somebody asks: at once */
    wait_rest();
    assert_int_equal(t->works, 3);
    t->work_outcome = 0;
    tick(t, 2000);
    const unsigned works = t->works;
    remote_request_due(&t->remote, ANY_STATE);
    wait_rest();
    assert_int_equal(t->works, works + 1);
    thing_free(&t->remote);
}

static void one_that_is_not_wanted_is_left_in_peace(void **state) {
    struct thing *t = thing_new("a");
    (void)state;
    t->remote.is_wanted = false;
    tick(t, 0);
    tick(t, 600000);
    assert_int_equal(t->contacts, 0);
    t->remote.is_wanted = true;
    tick(t, 0);
    assert_int_equal(t->contacts, 1);
    thing_free(&t->remote);
}

/* -- sets -------------------------------------------------------------------------------------------------------------------- */

static void note_inheritance(struct remote *remote, struct remote *from) {
    thing_of(remote)->works = thing_of(from)->works + 100;
}

static void another_one_takes_its_place(void **state) {
    struct remotes *set = NULL;
    struct thing *a = thing_new("a"), *b = thing_new("A");
    struct remote *held;
    (void)state;
    assert_int_equal(remotes_new(&set, NULL), 0);
    assert_int_equal(remotes_put(set, &a->remote, note_inheritance, NULL), 0);
    held = remotes_find(set, "A");
    assert_ptr_equal(held, &a->remote);
    assert_int_equal(remotes_put(set, &b->remote, note_inheritance, NULL), 0);
    assert_int_equal(b->works, 100);
    assert_true(remote_is_retired(held));
    remotes_tick(set);
    wait_rest();
    assert_int_equal(a->contacts, 0); /* out of sight it does nothing more */
    assert_int_equal(b->contacts, 1);
    assert_int_equal(freed, 0); /* somebody has it yet */
    remote_unref(held);
    remotes_tick(set);
    assert_int_equal(freed, 1);
    remotes_stop(set, NULL, NULL);
    remotes_free(set);
    assert_int_equal(freed, 2);
}

static bool is_nobody(void *arg, struct remote *remote) {
    (void)arg, (void)remote;
    return false;
}

static void one_that_is_held_keeps_no_other_from_its_end(void **state) {
    struct remotes *set = NULL;
    struct thing *things[3];
    struct remote *held;
    (void)state;
    assert_int_equal(remotes_new(&set, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(things); i++) {
        things[i] = thing_new((char[]){(char)('a' + (int)i), 0});
        assert_int_equal(remotes_put(set, &things[i]->remote, NULL, NULL), 0);
    }
    held = remotes_find(set, "b");
    remotes_keep(set, is_nobody, NULL);
    remotes_tick(set);
    assert_int_equal(freed, 2);
    assert_true(thing_of(held)->ends > 0); /* ended, though somebody has it */
    remote_unref(held);
    remotes_tick(set);
    assert_int_equal(freed, 3);
    remotes_stop(set, NULL, NULL);
    remotes_free(set);
}

static bool is_b(void *arg, struct remote *remote) {
    (void)arg;
    return remote->id[0] == 'b';
}

static void what_is_not_wanted_is_put_away(void **state) {
    struct remotes *set = NULL;
    size_t count = 0;
    (void)state;
    assert_int_equal(remotes_new(&set, NULL), 0);
    for (const char *id = "abc"; *id; id++)
        assert_int_equal(remotes_put(set, &thing_new((char[]){*id, 0})->remote, NULL, NULL), 0);
    remotes_keep(set, is_b, NULL);
    assert_null(remotes_find(set, "a"));
    struct remote **list = remotes_list(set, &count);
    assert_int_equal(count, 1);
    assert_string_equal(list[0]->id, "b");
    remote_unref(list[0]);
    free(list);
    remotes_tick(set);
    assert_int_equal(freed, 2);
    remotes_stop(set, NULL, NULL);
    wait_rest();
    remotes_free(set);
}

static void at_the_end_all_are_ended(void **state) {
    struct remotes *set = NULL;
    struct thing *a = thing_new("a"), *b = thing_new("b"), *late = thing_new("c");
    (void)state;
    assert_int_equal(remotes_new(&set, NULL), 0);
    assert_int_equal(remotes_put(set, &a->remote, NULL, NULL), 0);
    assert_int_equal(remotes_put(set, &b->remote, NULL, NULL), 0);
    remotes_stop(set, NULL, NULL);
    assert_int_equal(a->begun_ends + b->begun_ends, 2);
    assert_int_equal(a->ends + b->ends, 2);
    remote_request(&a->remote, ANY_STATE);
    tick(a, 0);
    assert_int_equal(a->contacts + a->works, 0);
    assert_int_equal(remotes_put(set, &late->remote, NULL, NULL), ERR_CANCELED);
    assert_int_equal(freed, 1);
    remotes_free(set);
    assert_int_equal(freed, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(contact_is_made_when_it_is_due, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_is_tried_again_later_and_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_contact_that_is_asked_for_during_one_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_waits_for_contact_and_is_done_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_that_fails_is_done_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_due_waits_after_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_not_wanted_is_left_in_peace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_one_takes_its_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_held_keeps_no_other_from_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_wanted_is_put_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(at_the_end_all_are_ended, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
