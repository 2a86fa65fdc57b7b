/* A server with one route of each kind, and a client that sends bytes as they are. For the tests of src/httpd.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "httpd.h"
#include "worker_pool.h"

struct fixture {
    struct httpd_options options; /* change between fixture_init and fixture_start */
    struct httpd *httpd;
    struct worker_pool *workers;
    unsigned port;
    /* what the hooks saw */
    _Atomic unsigned before, after, errors, notices, delivered, abandoned;
    _Atomic int last_status;
    char last_path[256];
    /* /slow waits while the gate is shut */
    pthread_mutex_t gate_lock;
    pthread_cond_t gate_wake;
    bool gate_open;
    _Atomic unsigned slow_running, slow_finished, data_freed;
    worker_fn *_Atomic parked; /* work without a thread: to be run with parked_arg */
    void *parked_arg;
};

void fixture_init(
    struct fixture *f); /* 127.0.0.1, any port, two threads, one worker pool of 2 threads and 8 places, the gate open */
void fixture_start(struct fixture *f);
void fixture_gate(struct fixture *f, bool open);
void fixture_stop(struct fixture *f); /* server, worker pool, all checks of the counts */
struct httpd_stats fixture_stats(struct fixture *f);

struct reply {
    int status; /* 0: the connection ended without an answer */
    char *head; /* status line and header fields */
    char *body;
    size_t body_len;
};

int client_connect(unsigned port);
int client_connect_unix(const char *path);
void client_send(int fd, const char *text);
void client_send_bytes(int fd, const void *bytes, size_t n);
/* Reads one answer, waiting as long as it takes (a minute at most). `is_head`: no body follows whatever Content-Length says. */
void client_read(int fd, bool is_head, struct reply *out);
void reply_done(struct reply *r);
/* Value of a header field in static memory, NULL if absent. */
const char *reply_header(const struct reply *r, const char *name);
/* True once the server has closed the connection (waits for it). */
bool client_is_closed(int fd);

/* One request on a connection of its own; `request` is everything but the "Host" and "Connection: close" fields: the text before the
 * first CRLF, then more fields, then the body after an empty line. */
void client_ask(unsigned port, const char *request, struct reply *out);
