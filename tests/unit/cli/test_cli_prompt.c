/* Passwords asked on a terminal: a signal that comes at the worst moment.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli_prompt.h"
#include "secret.h"

#define LIMIT_S 30 /* a child that hangs dies of another signal */

static int awkward_signal;

/* In place of libc's, which it calls: the signal comes when the echo is off and nobody reads yet. */
int tcsetattr(int fd, int actions, const struct termios *wanted) {
    int (*real)(int, int, const struct termios *) = NULL;
    *(void **)&real = dlsym(RTLD_NEXT, "tcsetattr");
    assert_non_null(real);
    int rc = real(fd, actions, wanted);
    if (awkward_signal && !(wanted->c_lflag & (tcflag_t)ECHO))
        (void)raise(awkward_signal);
    return rc;
}

/* As a program that a login shell has started on that terminal. */
static void ask(const char *terminal) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};
    char *password = NULL;
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (size_t i = 0; i < UNIT_COUNT(numbers); i++)
        (void)signal(numbers[i], SIG_DFL);
    (void)alarm(LIMIT_S);
    if (setsid() < 0 || open(terminal, O_RDWR) < 0) /* the first terminal that the leader of a session opens is its own */
        _exit(2);
    if (prompt_password("Password: ", &password, NULL))
        _exit(3);
    _exit(strcmp(password, "typed") != 0);
}

struct terminal {
    int master, slave;
    pid_t child;
};

static struct terminal begin(int number) {
    struct terminal t = {.master = posix_openpt(O_RDWR | O_NOCTTY)};
    char name[64];
    assert_true(t.master >= 0);
    assert_int_equal(grantpt(t.master), 0);
    assert_int_equal(unlockpt(t.master), 0);
    assert_int_equal(ptsname_r(t.master, name, sizeof(name)), 0);
    t.slave = open(name, O_RDWR | O_NOCTTY);
    assert_true(t.slave >= 0);
    awkward_signal = number;
    t.child = fork();
    assert_true(t.child >= 0);
    if (!t.child)
        ask(name);
    awkward_signal = 0;
    return t;
}

static bool echoes(const struct terminal *t) {
    struct termios now;
    assert_int_equal(tcgetattr(t->slave, &now), 0);
    return now.c_lflag & (tcflag_t)ECHO;
}

static int end(struct terminal *t) {
    int status = 0;
    assert_int_equal(waitpid(t->child, &status, 0), t->child);
    assert_true(echoes(t));
    (void)close(t->slave);
    (void)close(t->master);
    return status;
}

static void a_signal_before_the_reading_is_not_lost(void **state) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(numbers); i++) {
        struct terminal t = begin(numbers[i]);
        int status = end(&t);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
    }
}

static void what_is_typed_is_read(void **state) {
    struct terminal t = begin(0);
    (void)state;
    UNIT_WAIT_FOR(!echoes(&t));
    assert_int_equal(write(t.master, "typed\n", 6), 6);
    assert_int_equal(end(&t), 0);
}

/* The end of input in the middle of a line hands over what there is, and a signal counts while the rest is waited for. */
static void a_signal_in_the_middle_of_a_line_counts(void **state) {
    struct terminal t = begin(0);
    int status;
    (void)state;
    UNIT_WAIT_FOR(!echoes(&t));
    assert_int_equal(write(t.master, "ty\004", 3), 3);
    assert_int_equal(kill(t.child, SIGINT), 0);
    status = end(&t);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
}

/* Of a file that an editor of Windows wrote, by standard input. */
static void a_byte_order_mark_is_no_part_of_a_password(void **state) {
    static const struct {
        const char *bytes;
        size_t n;
        const char *password; /* NULL: refused */
    } rows[] = {{"secret\n", 7, "secret"}, {"\xef\xbb\xbfsecret\r\n", 11, "secret"}, {"\xff\xfes\0e\0\n\0", 8, NULL}};
    const int before = dup(STDIN_FILENO);
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        char *password = NULL;
        struct err err = {0};
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], rows[i].bytes, rows[i].n), (ssize_t)rows[i].n);
        (void)close(ends[1]);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        (void)close(ends[0]);
        assert_int_equal(prompt_read_password("-", &password, &err), rows[i].password ? 0 : ERR_CONFIG);
        if (rows[i].password)
            assert_string_equal(password, rows[i].password);
        else
            assert_non_null(strstr(err.text, "UTF-16"));
        secret_free(password);
    }
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    (void)close(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_before_the_reading_is_not_lost),
        cmocka_unit_test(what_is_typed_is_read),
        cmocka_unit_test(a_signal_in_the_middle_of_a_line_counts),
        cmocka_unit_test(a_byte_order_mark_is_no_part_of_a_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
