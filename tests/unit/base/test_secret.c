/* Secrets: wiping, comparison, no core dumps.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
        cmocka_unit_test(compares),
        cmocka_unit_test(protects_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
