/* The client programs of MariaDB. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "str.h"
#include "strbuf.h"

#define OPTIONS_FD 3
#define OPTIONS_PATH \
    "--defaults-file=/dev/fd/3" /* the first argument, as these programs want it: no other option file is read then */
#define OPTIONS_BYTES_MAX 16384U
#define SAID_BYTES_MAX 300U

/* A value of an option file: in quotes a # begins no comment, and a backslash escapes. */
static void db_tool_add_option(struct strbuf *out, const char *name, const char *value) {
    if (str_empty(value))
        return;
    strbuf_addf(out, "%s=\"", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\\' || *c == '"')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *c);
    }
    strbuf_adds(out, "\"\n");
}

/* The option file, in memory. Returns the descriptor, or an error. */
static int make_options(const struct store_options *login, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init_secret(&text, OPTIONS_BYTES_MAX);
    strbuf_adds(&text, "[client]\n");
    db_tool_add_option(&text, "user", login->user);
    db_tool_add_option(&text, "password", login->password);
    if (login->host) {
        db_tool_add_option(&text, "host", login->host);
        strbuf_addf(&text, "port=%u\nprotocol=tcp\nssl-verify-server-cert\n", login->port ? login->port : 3306);
        db_tool_add_option(&text, "ssl-ca", login->ca_file);
    } else {
        strbuf_adds(&text, "protocol=socket\n");
        db_tool_add_option(&text, "socket", login->unix_socket);
    }
    int rc = strbuf_check(&text, "option file", err);
    if (rc)
        return rc;
    const int fd = memfd_create("kaas-options", MFD_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0600) || write(fd, text.data, text.len) != (ssize_t)text.len || lseek(fd, 0, SEEK_SET)) {
        (void)err_set(err, ERR_IO, "an option file cannot be made in memory: %m");
        if (fd >= 0)
            (void)close(fd);
        return ERR_IO;
    }
    return fd;
}

static int db_tool_spawn(struct db_tool *tool, const char *const *arguments, int options, int theirs, bool is_reading,
                         struct err *err) {
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C";
    char *environment[] = {path, locale, NULL};
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, theirs, is_reading ? STDIN_FILENO : STDOUT_FILENO);
    if (!failed)
        failed = is_reading ? posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
                            : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, tool->said, STDERR_FILENO);
    failed = failed ? failed
                    : posix_spawn_file_actions_adddup2(&actions, options, OPTIONS_FD); /* last: it may lie on another's place */
    if (!failed)
        failed = posix_spawnp(&tool->pid, tool->program, &actions, NULL, (char *const *)(uintptr_t)arguments, environment);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT) {
        (void)err_set(err, ERR_NOT_FOUND, "the program %s is not installed", tool->program);
        return err_remedy(err, "sudo apt-get install mariadb-client");
    }
    return failed ? err_set(err, ERR_IO, "%s cannot be run: %s", tool->program, strerror(failed)) : 0;
}

/* A pair of sockets, not a pipe: one that has ended must not end us by a signal. */
static int db_tool_start(const char *program, const char *const *arguments, const struct store_options *login, bool is_reading,
                         struct db_tool *out, struct err *err) {
    struct db_tool tool = {.program = program, .fd = -1};
    _cleanup_close_ int options = make_options(login, err), theirs = -1;
    int ends[2], rc;
    if (options < 0)
        return options;
    tool.said = memfd_create("kaas-said", MFD_CLOEXEC);
    if (tool.said < 0)
        return err_set(err, ERR_IO, "%s cannot be run: %m", program);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        (void)close(tool.said);
        return err_set(err, ERR_IO, "%s cannot be run: %m", program);
    }
    tool.fd = ends[0];
    theirs = ends[1];
    rc = db_tool_spawn(&tool, arguments, options, theirs, is_reading, err);
    if (rc) {
        (void)close(tool.fd);
        (void)close(tool.said);
        return rc;
    }
    *out = tool;
    return 0;
}

int db_tool_dump(const struct store_options *login, const char *database, struct db_tool *out, struct err *err) {
    const char *const arguments[] = {"mariadb-dump",
                                     OPTIONS_PATH,
                                     "--single-transaction",
                                     "--quick",
                                     "--hex-blob",
                                     "--no-tablespaces",
                                     "--skip-add-locks",
                                     "--skip-disable-keys",
                                     "--skip-triggers",
                                     "--default-character-set=utf8mb4",
                                     "--",
                                     database,
                                     NULL};
    return db_tool_start(arguments[0], arguments, login, false, out, err);
}

/* Binary mode: nothing in what is read is a command of the client itself. */
int db_tool_load(const struct store_options *login, const char *database, struct db_tool *out, struct err *err) {
    const char *const arguments[] = {"mariadb", OPTIONS_PATH, "--batch", "--binary-mode", "--default-character-set=utf8mb4",
                                     "--",      database,     NULL};
    return db_tool_start(arguments[0], arguments, login, true, out, err);
}

int db_tool_read(struct db_tool *tool, char *bytes, size_t size, size_t *n, struct err *err) {
    ssize_t got;
    do
        got = read(tool->fd, bytes, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_set(err, ERR_IO, "%s cannot be read: %m", tool->program);
    *n = (size_t)got;
    return 0;
}

int db_tool_write(struct db_tool *tool, const char *bytes, size_t n, struct err *err) {
    while (n) {
        const ssize_t sent = send(tool->fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            tool->is_cut = true;
            return err_set(err, ERR_IO, "%s takes no more: %m", tool->program);
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* The last line that tells an error. The client writes the statement before it, which may hold secrets and is not for us to show. */
static void db_tool_read_said(const struct db_tool *tool, char said[SAID_BYTES_MAX]) {
    static const char *const begins[] = {"ERROR ", "mariadb-dump: ", "mysqldump: ", "mariadb: "};
    char text[4 * SAID_BYTES_MAX];
    struct stat st;
    *said = '\0';
    if (fstat(tool->said, &st))
        return;
    const off_t from = st.st_size > (off_t)sizeof(text) - 1 ? st.st_size - (off_t)sizeof(text) + 1 : 0;
    const ssize_t n = pread(tool->said, text, sizeof(text) - 1, from);
    text[n > 0 ? n : 0] = '\0';
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        for (size_t i = 0; i < ARRAY_COUNT(begins); i++)
            if (str_starts(line, begins[i]))
                (void)snprintf(said, SAID_BYTES_MAX, "%s", line);
    str_trim_utf8(said);
}

int db_tool_finish(struct db_tool *tool, struct err *err) {
    char said[SAID_BYTES_MAX];
    int status = 0;
    (void)close(tool->fd);
    while (waitpid(tool->pid, &status, 0) < 0 && errno == EINTR)
        ;
    db_tool_read_said(tool, said);
    (void)close(tool->said);
    if (WIFEXITED(status) && !WEXITSTATUS(status) && !tool->is_cut)
        return 0;
    if (WIFSIGNALED(status))
        return err_set(err, ERR_IO, "%s was ended by signal %d", tool->program, WTERMSIG(status));
    return err_set(err, ERR_IO, "%s failed with status %d%s%s", tool->program, WEXITSTATUS(status), *said ? ": " : "", said);
}

void db_tool_stop(struct db_tool *tool) {
    (void)close(tool->fd);
    (void)close(tool->said);
    (void)kill(tool->pid, SIGTERM);
    while (waitpid(tool->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
