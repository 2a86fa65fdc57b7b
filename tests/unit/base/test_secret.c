/* Secrets: wiping, also of what is freed, comparison, no core dumps.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"

static void wipes(void **state) {
    char text[] = "hunter2";
    static const char zeroes[sizeof(text)];
    (void)state;
    secret_wipe(text, sizeof(text));
    assert_memory_equal(text, zeroes, sizeof(text));
    secret_wipe(NULL, 0);
    secret_free(NULL);
    secret_free(str_dup("gone"));
}

#define LINKS_BYTES 32U /* the allocator writes its own over the beginning of what is freed */

/* A plain memset before a free would be left out. */
static void fill(char *block, size_t n, char with) {
    for (volatile char *at = block; n--; at++)
        *at = with;
}

/* How many bytes of a block that was freed, from `from` on, are as they were filled. */
__attribute__((no_sanitize("address", "thread"))) static size_t count_left(uintptr_t block, size_t from, size_t n, char with) {
    const volatile char *bytes = (const volatile char *)block;
    size_t left = 0;
    for (size_t i = from; i < n; i++)
        left += bytes[i] == with;
    return left;
}

static void assert_wiped(uintptr_t block, size_t from, size_t n, char with) {
    if (SECRET_FREED_IS_WIPED)
        assert_int_equal(count_left(block, from, n, with), 0);
}

static void what_is_freed_is_wiped(void **state) {
    static const size_t sizes[] = {64, 1000, 5000, 100000}; /* of each kind of list that the allocator has */
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        char *block = malloc(sizes[i]);
        char *wall = malloc(sizes[i]); /* keeps it from the end of the heap, which may be given back */
        assert_non_null(block);
        const volatile uintptr_t at = (uintptr_t)block;
        fill(block, sizes[i], 'q');
        free(block);
        assert_wiped(at, LINKS_BYTES, sizes[i], 'q');
        free(wall);
    }
}

static void what_is_moved_is_wiped(void **state) {
    char *block = malloc(500);
    char *wall = malloc(500);
    (void)state;
    assert_non_null(block);
    const volatile uintptr_t at = (uintptr_t)block;
    fill(block, 500, 'q');
    char *moved = realloc(block, 4000);
    assert_non_null(moved);
    assert_int_not_equal((uintptr_t)moved, at);
    assert_int_equal(count_left((uintptr_t)moved, 0, 500, 'q'), 500);
    assert_wiped(at, LINKS_BYTES, 500, 'q');
    fill(moved, 4000, 'r');
    const volatile uintptr_t long_at = (uintptr_t)moved;
    char *cut = realloc(moved, 100);
    assert_non_null(cut);
    assert_int_equal(count_left((uintptr_t)cut, 0, 100, 'r'), 100);
    assert_wiped(long_at, 100 + LINKS_BYTES, 4000, 'r');
    free(cut);
    free(wall);
    free(realloc(NULL, 10));
}

/* getline(3) makes the block that it was given larger. */
static void what_a_library_moves_is_wiped(void **state) {
    char text[4000];
    size_t n = 500;
    char *line = malloc(n), *wall = malloc(n);
    (void)state;
    assert_non_null(line);
    const volatile uintptr_t at = (uintptr_t)line;
    fill(line, n, 'q');
    memset(text, 'q', sizeof(text));
    FILE *file = fmemopen(text, sizeof(text), "r");
    assert_non_null(file);
    assert_int_equal(getline(&line, &n, file), sizeof(text));
    assert_int_not_equal((uintptr_t)line, at);
    assert_wiped(at, LINKS_BYTES, 500, 'q');
    (void)fclose(file);
    free(line);
    free(wall);
}

static void compares(void **state) {
    (void)state;
    assert_true(secret_eq("abc", 3, "abc", 3));
    assert_true(secret_eq("", 0, NULL, 0));
    assert_false(secret_eq("abc", 3, "abd", 3));
    assert_false(secret_eq("abc", 3, "bbc", 3));
    assert_false(secret_eq("abc", 3, "abc", 2));
    assert_false(secret_eq("\x01", 1, "\x81", 1)); /* every bit counts */
}

/* In a child, since the test program itself should stay debuggable. */
static int look_in_child(void) {
    struct rlimit core;
    secret_protect_process();
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return 1;
    if (getrlimit(RLIMIT_CORE, &core) || core.rlim_cur || core.rlim_max)
        return 2;
    return 0;
}

static void protects_the_process(void **state) {
    int status = -1;
    pid_t child = fork();
    (void)state;
    if (child == 0)
        _exit(look_in_child());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wipes),
        cmocka_unit_test(what_is_freed_is_wiped),
        cmocka_unit_test(what_is_moved_is_wiped),
        cmocka_unit_test(what_a_library_moves_is_wiped),
        cmocka_unit_test(compares),
        cmocka_unit_test(protects_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
