/* Asking the person. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli_table.h"
#include "fsutil.h"
#include "limits.h"
#include "secret.h"
#include "str.h"

#define TERMINAL "/dev/tty"
#define LINE_BYTES_MAX 4096U

static volatile sig_atomic_t prompt_signal;

static void prompt_on_signal(int number) {
    prompt_signal = number;
}

static const int prompt_watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

/* What stood before. */
struct prompt_watch {
    struct sigaction actions[ARRAY_COUNT(prompt_watched)];
    sigset_t mask; /* under which input is waited for */
};

/* From here on they come only while somebody waits for input, so that none is lost on the way there; the terminal can be put right
 * before the signal does its work. */
static void prompt_watch_signals(struct prompt_watch *old) {
    struct sigaction action = {.sa_handler = prompt_on_signal};
    sigset_t held;
    prompt_signal = 0;
    (void)sigemptyset(&action.sa_mask);
    (void)sigemptyset(&held);
    for (size_t i = 0; i < ARRAY_COUNT(prompt_watched); i++)
        (void)sigaddset(&held, prompt_watched[i]);
    (void)pthread_sigmask(SIG_BLOCK, &held, &old->mask);
    for (size_t i = 0; i < ARRAY_COUNT(prompt_watched); i++)
        (void)sigaction(prompt_watched[i], &action, &old->actions[i]);
}

static void prompt_unwatch_signals(const struct prompt_watch *old) {
    (void)pthread_sigmask(SIG_SETMASK, &old->mask, NULL); /* what has come meanwhile is noted now */
    for (size_t i = 0; i < ARRAY_COUNT(prompt_watched); i++)
        (void)sigaction(prompt_watched[i], &old->actions[i], NULL);
    if (prompt_signal)
        (void)raise(prompt_signal);
}

/* Waits for input or a signal: -1, as read. */
static int prompt_await_input(int fd, const sigset_t *mask) {
    struct pollfd input = {.fd = fd, .events = POLLIN};
    int rc;
    do
        rc = ppoll(&input, 1, NULL, mask);
    while (rc < 0 && errno == EINTR && !prompt_signal);
    return rc < 0 ? -1 : 0;
}

/* With a watch `fd` does not block: the key that makes a signal takes back what was there to be read. */
static ssize_t prompt_read_byte(int fd, const struct prompt_watch *watch, char *c) {
    ssize_t n;
    do {
        if (watch && prompt_await_input(fd, &watch->mask))
            return -1;
        n = read(fd, c, 1);
    } while (watch && n < 0 && errno == EAGAIN);
    return n;
}

/* One line without its end, byte by byte: what follows belongs to the next reader. `watch` may be NULL. */
static int prompt_read_line(int fd, const struct prompt_watch *watch, struct strbuf *line, struct err *err) {
    ssize_t n;
    char c = 0;
    while ((n = prompt_read_byte(fd, watch, &c)) == 1 && c != '\n')
        strbuf_addc(line, c);
    c = 0;
    if (n < 0)
        return err_set(err, ERR_IO, "the input was given up: %m");
    if (n == 0 && !line->len)
        return err_set(err, ERR_IO, "the input ended before an answer");
    if (line->len && line->data[line->len - 1] == '\r')
        line->data[--line->len] = 0;
    return strbuf_check(line, "the line", err) ? line->failed : fs_skip_mark(line, "the input", err);
}

static void prompt_put(int fd, const char *text) {
    if (write(fd, text, strlen(text)) < 0)
        errno = 0; /* the person sees that nothing was asked */
}

static void prompt_put_question(int fd, const char *question) {
    _cleanup_strbuf_ struct strbuf clean;
    strbuf_init(&clean, LINE_BYTES_MAX);
    text_add_clean(&clean, question);
    prompt_put(fd, clean.data);
}

static int prompt_read_without_echo(int fd, struct strbuf *line, struct err *err) {
    struct prompt_watch watch;
    struct termios shown, hidden;
    int rc;
    if (tcgetattr(fd, &shown))
        return err_set(err, ERR_IO, TERMINAL " is not a terminal: %m");
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    prompt_watch_signals(&watch);
    rc = tcsetattr(fd, TCSAFLUSH, &hidden) ? err_set(err, ERR_IO, "the echo of the terminal cannot be switched off") : 0;
    if (!rc && fcntl(fd, F_SETFL, O_NONBLOCK))
        rc = err_set(err, ERR_IO, "the terminal cannot be waited for: %m");
    if (!rc)
        rc = prompt_read_line(fd, &watch, line, err);
    (void)tcsetattr(fd, TCSAFLUSH, &shown);
    prompt_put(fd, "\n");
    prompt_unwatch_signals(&watch);
    return rc;
}

bool prompt_has_terminal(void) {
    return isatty(STDIN_FILENO);
}

static int prompt_finish_password(struct strbuf *line, char **out, struct err *err) {
    char *text;
    if (!line->len)
        return err_set(err, ERR_INVALID, "the password is empty");
    if (line->len > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_INVALID, "the password is longer than %d bytes", KAAS_PASSWORD_BYTES_MAX);
    if (str_utf8_chars(line->data, line->len) < 0) {
        (void)err_set(err, ERR_INVALID, "the password is not valid UTF-8");
        return err_remedy(err, "type it in a terminal, or write the file with an editor, whose coding is UTF-8");
    }
    text = strbuf_steal(line);
    if (!text)
        return err_set(err, ERR_NOMEM, "out of memory");
    *out = text;
    return 0;
}

int prompt_password(const char *question, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf line;
    _cleanup_close_ int fd = open(TERMINAL, O_RDWR | O_CLOEXEC | O_NOCTTY);
    int rc;
    strbuf_init_secret(&line, LINE_BYTES_MAX);
    if (fd < 0) {
        (void)err_set(err, ERR_INVALID, "there is no terminal to ask for the password");
        return err_remedy(err, "use --password-file FILE, or --password-file - for standard input");
    }
    prompt_put_question(fd, question);
    rc = prompt_read_without_echo(fd, &line, err);
    return rc ? rc : prompt_finish_password(&line, out, err);
}

static int prompt_open_file(const char *path, struct strbuf *line, struct err *err) {
    struct stat st;
    _cleanup_close_ int fd = -1;
    int rc;
    if (str_eq(path, "-"))
        return prompt_read_line(STDIN_FILENO, NULL, line, err);
    if (!stat(path, &st) && S_ISREG(st.st_mode)) {
        rc = fs_read_secret_text(path, line, err);
        line->len = rc ? 0 : strcspn(line->data, "\r\n");
        if (!rc && line->alloc)
            line->data[line->len] = 0;
        return rc;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY); /* a pipe of the shell: <(command) */
    return fd < 0 ? err_set(err, ERR_IO, "cannot open %s: %m", path) : prompt_read_line(fd, NULL, line, err);
}

int prompt_read_password(const char *path, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf line;
    int rc;
    strbuf_init_secret(&line, LINE_BYTES_MAX);
    rc = prompt_open_file(path, &line, err);
    return rc ? rc : prompt_finish_password(&line, out, err);
}

int prompt_text(const char *question, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf line;
    _cleanup_close_ int fd = open(TERMINAL, O_RDWR | O_CLOEXEC | O_NOCTTY);
    int rc;
    strbuf_init(&line, LINE_BYTES_MAX);
    if (fd < 0)
        return err_set(err, ERR_IO, "there is no terminal to ask on");
    prompt_put_question(fd, question);
    rc = prompt_read_line(fd, NULL, &line, err);
    if (!rc)
        *out = line.len ? strbuf_steal(&line) : NULL;
    return rc;
}

int prompt_read_input(struct strbuf *out, struct err *err) {
    char part[16384];
    ssize_t n;
    while ((n = read(STDIN_FILENO, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
        if (n > 0)
            strbuf_add(out, part, (size_t)n);
    secret_wipe(part, sizeof(part));
    if (n < 0)
        return err_set(err, ERR_IO, "standard input cannot be read: %m");
    return strbuf_check(out, "standard input", err) ? out->failed : fs_skip_mark(out, "standard input", err);
}
