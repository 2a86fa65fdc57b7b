/* The listening socket. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * We open the socket ourselves: the library knows no unix sockets of its own, and its messages would not name the address. */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "cleanup.h"
#include "httpd_private.h"
#include "limits.h"
#include "str.h"

#define THREADS_MAX 64U
#define BACKLOG_COUNT 1024 /* the kernel lowers it to net.core.somaxconn */

static int fail_address(const char *listen, const char *why, struct err *err) {
    int r = err_set(err, ERR_CONFIG, "listen address \"%s\": %s", listen, why);
    err_remedy(err, "write it as 192.0.2.1:8443, [2001:db8::1]:8443, *:8443 or unix:/path/to/socket");
    return r;
}

static int fail_io(const char *listen, const char *what, struct err *err) {
    int code = errno;
    int r = err_set(err, ERR_IO, "cannot %s \"%s\": %s", what, listen, strerror(code));
    if (code == EADDRINUSE)
        err_remedy(err, "another program uses this address: stop it or choose another port");
    if (code == EACCES)
        err_remedy(err, "choose a port above 1023, or a folder this user may write to");
    return r;
}

/* Splits "host:port"; "*" and an empty host mean every address. */
static int parse_tcp(const char *listen, struct addrinfo **out, struct err *err) {
    char host[INET6_ADDRSTRLEN + 2];
    const char *colon = strrchr(listen, ':');
    size_t n = colon ? (size_t)(colon - listen) : 0;
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    int64_t port;
    if (!colon || !str_to_i64(colon + 1, 0, 65535, &port))
        return fail_address(listen, "the port must be a number from 0 to 65535", err);
    bool is_bracketed = n >= 2 && listen[0] == '[' && listen[n - 1] == ']';
    const char *from = is_bracketed ? listen + 1 : listen;
    n -= is_bracketed ? 2 : 0;
    if (n >= sizeof(host) || (!is_bracketed && memchr(from, ':', n)))
        return fail_address(listen, "the address is malformed", err);
    memcpy(host, from, n);
    host[n] = '\0';
    if (!strcmp(host, "*"))
        (void)snprintf(host, sizeof(host), "::");
    if (!*host || getaddrinfo(host, colon + 1, &hints, out) != 0)
        return fail_address(listen, "the host must be an IP address", err);
    return 0;
}

static int bind_tcp(struct httpd *httpd, const struct addrinfo *addr, struct err *err) {
    const char *listen_text = httpd->options.listen;
    int on = 1, only6 = !str_starts(listen_text, "*:");
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {0};
    socklen_t bound_len = sizeof(bound);
    int fd _cleanup_close_ = socket(addr->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fail_io(listen_text, "make a socket for", err);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (addr->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only6, sizeof(only6));
    if (bind(fd, addr->ai_addr, addr->ai_addrlen) != 0 || listen(fd, BACKLOG_COUNT) != 0 ||
        getsockname(fd, &bound.any, &bound_len) != 0)
        return fail_io(listen_text, "listen on", err);
    httpd->port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    httpd->listen_fd = fd;
    fd = -1;
    return 0;
}

/* A socket file left behind by a crash refuses connections: it may go. One that answers belongs to a running server. */
static int httpd_listen_remove_stale(const char *path, const struct sockaddr_un *addr, struct err *err) {
    struct stat st;
    if (lstat(path, &st) != 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, ERR_CONFIG, "\"%s\" exists and is not a socket", path);
    int fd _cleanup_close_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0) {
        int r = err_set(err, ERR_IO, "another server answers at \"%s\"", path);
        err_remedy(err, "stop it first");
        return r;
    }
    return unlink(path) == 0 ? 0 : fail_io(path, "remove the old socket", err);
}

static int bind_unix(struct httpd *httpd, const char *path, struct err *err) {
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    unsigned mode = httpd->options.unix_mode ? httpd->options.unix_mode : 0600;
    if (!*path || strlen(path) >= sizeof(addr.sun_path))
        return fail_address(httpd->options.listen, "the path is empty or too long for a unix socket (107 bytes)", err);
    memcpy(addr.sun_path, path, strlen(path) + 1);
    int r = httpd_listen_remove_stale(path, &addr, err);
    if (r)
        return r;
    int fd _cleanup_close_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Nobody can connect before listen, so the mode is right from the first moment on. */
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
        return fail_io(path, "listen on", err);
    httpd->unix_path = str_dup(path);
    if (chmod(path, mode & 0777) != 0 || listen(fd, BACKLOG_COUNT) != 0)
        return fail_io(path, "listen on", err);
    httpd->listen_fd = fd;
    fd = -1;
    return 0;
}

int httpd_listen_open(struct httpd *httpd, struct err *err) {
    const char *text = httpd->options.listen;
    struct addrinfo *addr = NULL;
    if (str_empty(text))
        return fail_address("", "it is missing", err);
    httpd->is_unix = str_starts(text, "unix:");
    if (httpd->is_unix)
        return bind_unix(httpd, text + strlen("unix:"), err);
    int r = parse_tcp(text, &addr, err);
    if (r)
        return r;
    r = bind_tcp(httpd, addr, err);
    freeaddrinfo(addr);
    return r;
}

void httpd_listen_close(struct httpd *httpd) {
    if (httpd->unix_path)
        (void)unlink(httpd->unix_path);
    free(httpd->unix_path);
    httpd->unix_path = NULL;
    if (httpd->listen_fd >= 0)
        (void)close(httpd->listen_fd);
    httpd->listen_fd = -1;
}

unsigned httpd_threads(unsigned wanted) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = wanted ? wanted : cores > 0 ? (unsigned)cores : 1;
    return n < THREADS_MAX ? n : THREADS_MAX;
}

/* -- whether the descriptors that servers need fit in what the process may open ------------------------------------ */

/* A process that finds out under load has clients wait and database connections fail. So it is counted before the start. */

#define OF_A_THREAD 2U /* its epoll set and the eventfd that wakes it */
#define OF_A_SERVER \
    (1U + OF_A_THREAD + HTTPD_LINGER_MAX) /* the listening socket; the sweeper's two; connections read to their end */

struct need {
    rlim_t rest;        /* what does not depend on connections_max */
    rlim_t connections; /* of all servers */
    unsigned most;      /* of one server */
    unsigned with_most; /* how many servers have that many */
};

static void httpd_listen_add(struct need *need, const struct httpd_options *o) {
    const unsigned n = o->connections_max ? o->connections_max : KAAS_HTTP_CONNECTIONS_DEFAULT;
    need->rest += OF_A_SERVER + OF_A_THREAD * httpd_threads(o->threads);
    need->connections += n;
    if (n > need->most) {
        need->most = n;
        need->with_most = 0;
    }
    need->with_most += n == need->most;
}

static int httpd_listen_fail(const struct need *need, rlim_t hard, struct err *err) {
    const rlim_t total = need->rest + need->connections;
    const rlim_t others = total - (rlim_t)need->most * need->with_most;
    const unsigned long fits = hard > others ? (unsigned long)((hard - others) / need->with_most) : 0;
    int r = err_set(err, ERR_CONFIG,
                    "%u connections and what else is open need %lu file descriptors, but this process may open only %lu",
                    need->most, (unsigned long)total, (unsigned long)hard);
    if (fits)
        err_remedy(err,
                   "raise the limit (LimitNOFILE=%lu in the systemd unit, ulimit -Hn) or lower the number of connections to %lu",
                   (unsigned long)total, fits);
    else
        err_remedy(err, "raise the limit: LimitNOFILE=%lu in the systemd unit, ulimit -Hn", (unsigned long)total);
    return r;
}

int httpd_check_descriptors(const struct httpd_options *servers, size_t count, unsigned rest, struct err *err) {
    struct rlimit limit;
    struct need need = {.rest = rest};
    for (size_t i = 0; i < count; i++)
        if (!str_empty(servers[i].listen))
            httpd_listen_add(&need, &servers[i]);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < need.rest + need.connections)
        return httpd_listen_fail(&need, limit.rlim_max, err);
    limit.rlim_cur = limit.rlim_max; /* nothing here uses select(), which needs small numbers */
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return err_set(err, ERR_CONFIG, "cannot raise the limit of file descriptors to %lu", (unsigned long)limit.rlim_max);
    return 0;
}
