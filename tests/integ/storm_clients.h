/* Kinds of clients, for storm_clients.c and storm_kinds.c only.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum storm_stage { OUTSIDE, HANDSHAKING, READY, SENDING, READING, WAITING };

/* What they do after the answer (AGAIN, LEAVE, STAY) or after the request (DRIP: a byte now and then; DEAF: do not read, leave). */
enum storm_after { AGAIN, LEAVE, STAY, DRIP, DEAF };

struct storm_text {
    char *text;
    size_t len;
};

struct storm_client {
    SSL *ssl;
    int fd;
    enum storm_stage stage;
    bool is_known; /* was connected once */
    bool is_queued;
    unsigned expected; /* answers */
    size_t sent, body_left;
    int64_t due_ms, begun_us;
    struct storm_client *next; /* in the queue */
    struct storm_text own;     /* what it sends, if not the shared text */
    size_t head_len;
    char head[2048];
};

struct storm_kind {
    const char *name;
    enum storm_after after;
    int pause_ms;                            /* before it comes back, leaves or sends the next byte */
    void (*prepare)(struct storm_client *c); /* the next request */
    bool is_good;
};

extern struct storm_text storm_shared; /* what all of them send; made once */
extern const char *storm_token;

const struct storm_kind *storm_kind_find(const char *name); /* NULL: there is none */
void storm_die(const char *what) __attribute__((noreturn));
