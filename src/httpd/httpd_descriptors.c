/* Whether the descriptors that servers need fit in what the process may open. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A process that finds out under load has clients wait and database connections fail. So it is counted before the start. */
#include <sys/resource.h>

#include "httpd_private.h"
#include "limits.h"
#include "str.h"

#define OF_A_THREAD 2U /* its epoll set and the eventfd that wakes it */
#define OF_A_SERVER \
    (1U + OF_A_THREAD + HTTPD_LINGER_MAX) /* the listening socket; the sweeper's two; connections read to their end */

struct need {
    rlim_t rest;        /* what does not depend on connections_max */
    rlim_t connections; /* of all servers */
    unsigned most;      /* of one server */
    unsigned with_most; /* how many servers have that many */
};

static unsigned connections_of(const struct httpd_options *o) {
    return o->connections_max ? o->connections_max : KAAS_HTTP_CONNECTIONS_DEFAULT;
}

static void add(struct need *need, const struct httpd_options *o) {
    const unsigned n = connections_of(o);
    need->rest += OF_A_SERVER + OF_A_THREAD * httpd_threads(o->threads);
    need->connections += n;
    if (n > need->most) {
        need->most = n;
        need->with_most = 0;
    }
    need->with_most += n == need->most;
}

static int fail(const struct need *need, rlim_t hard, struct err *err) {
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
            add(&need, &servers[i]);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < need.rest + need.connections)
        return fail(&need, limit.rlim_max, err);
    limit.rlim_cur = limit.rlim_max; /* nothing here uses select(), which needs small numbers */
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return err_set(err, ERR_CONFIG, "cannot raise the limit of file descriptors to %lu", (unsigned long)limit.rlim_max);
    return 0;
}
