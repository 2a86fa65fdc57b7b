/* Insides of the server, shared by the files of this folder only. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "err.h"
#include "http_request_private.h"
#include "httpd.h"
#include "log.h"

/* What a connection is waiting for; each wait has a time limit that the sweeper enforces. */
enum conn_phase {
    CONN_HEADER, /* the next request's headers */
    CONN_BODY,
    CONN_WORK, /* the handler; ended by the slow deadline, never by cutting the connection */
    CONN_SEND,
};

#define CONN_NO_DEADLINE INT64_MAX

/* The header line that a TLS connection is in the middle of (httpd_recv.c). */
struct http_line {
    char begin[14];
    bool is_held; /* a part of the line is in the request, hidden from the library */
    bool is_past; /* the rest of the line goes to the library */
    size_t bytes; /* bytes of the line that the library has */
};

struct http_conn {
    struct http_conn *prev, *next; /* guarded by httpd->lock */
    struct http_request *waiting;  /* suspended request; guarded by httpd->lock */
    struct httpd *httpd;
    struct MHD_Connection *mhd;
    _Atomic int64_t since_ms, deadline_ms; /* start and deadline of the phase; since_ms only if there is a deadline */
    _Atomic int phase;
    unsigned slot; /* of httpd_press; 0: none */
    int fd;
    _Atomic bool is_parked; /* suspended in its handshake, waiting for the client */
    bool is_watched;        /* the sweeper's epoll set tells when the client closes; guarded by httpd->lock */
    bool is_kept;           /* an event for it may be in the sweeper's hands: freed by the sweeper; guarded by httpd->lock */
    bool is_handshaking;
    struct http_line line; /* TLS; server thread only */
    size_t header_bytes;   /* TLS: bytes received while the request's headers are awaited; server thread only */
    void *kept;            /* of http_request_keep_for_next, with kept_destroy; server thread only */
    void (*kept_destroy)(void *);
    struct http_request *request; /* request that the library has begun to read; server thread only */
    bool is_lingering;            /* answered before all of the request was read */
    bool is_proxy;                /* trusted proxy: its X-Forwarded-For names the client */
    bool has_uid;
    uid_t uid;
    pid_t pid;
    char peer[INET6_ADDRSTRLEN];
};

#define HTTPD_LINGER_MAX 64U
struct http_linger {
    int fd;
    int64_t until_ms;
};

/* A certificate and its key; kept as long as a handshake may still use it. */
struct tls_identity {
    struct tls_identity *older;
    int64_t retired_ms;
    gnutls_pcert_st *chain;
    unsigned chain_count;
    gnutls_privkey_t key;
};

/* Trust in client certificates (httpd_tls.c). */
struct peer_trust {
    gnutls_x509_trust_list_t cas; /* CAs with their revocation lists; NULL: none */
    int64_t crl_until_ms;         /* wall clock; when the first of the lists is out of date */
};
struct httpd_peers {
    pthread_rwlock_t lock;
    struct peer_trust trust;
};

/* Counters that keep a few clients from using up connections, requests and memory (httpd_press.c). */
#define HTTPD_PRESS_SLOTS 4096U

struct httpd_press {
    _Atomic unsigned per_address[HTTPD_PRESS_SLOTS]; /* connections, by a hash of the peer's party or user id */
    _Atomic int64_t full_us[HTTPD_PRESS_SLOTS];      /* when the address's allowance of requests is full again; monotonic */
    _Atomic size_t held_bytes;                       /* memory of large bodies being received or sent */
};

/* Kinds of notices, of the library and of ours, reworded and limited in rate (httpd_notice.c). */
enum notice_kind {
    NOTICE_TLS_HANDSHAKE,
    NOTICE_CLIENT_GONE,
    NOTICE_CONNECTION_LIMIT,
    NOTICE_ADDRESS_LIMIT,
    NOTICE_ADDRESS_RATE,
    NOTICE_PRESSURE,
    NOTICE_DESCRIPTORS,
    NOTICE_BAD_REQUEST,
    NOTICE_LIBRARY,
    NOTICE_COUNT_
};

struct httpd {
    struct httpd_options options; /* pointers to the caller's memory only for routes, app */
    struct MHD_Daemon *mhd;
    struct route_table *routes;
    struct net_block *proxies;
    size_t proxies_count;
    bool is_unix, is_tls, trusts_unix;
    int listen_fd;
    unsigned port;
    char *unix_path;
    char *tls_priority;
    _Atomic bool is_stopping;

    pthread_mutex_t lock; /* guards conns, ended, lingers, identity */
    pthread_t sweeper;
    bool has_sweeper;
    int epoll_fd, stop_fd; /* of the sweeper: epoll set of its connections; eventfd that ends the thread */
    struct http_conn *conns;
    struct http_conn *ended; /* kept connections (is_kept) that have ended */
    unsigned lingers_count;
    struct http_linger lingers[HTTPD_LINGER_MAX];
    struct tls_identity *identity;
    struct httpd_peers peers;

    _Atomic unsigned connections, suspended, parked, requests_alive;
    _Atomic unsigned long requests, completed, slow_started, slow_done, abandoned, gone, cut_header, cut_body, cut_send;
    _Atomic unsigned long cut_address, paced;
    struct httpd_press press;
    struct log_limit notices[NOTICE_COUNT_];
};

/* Each of these files calls those above it only. */

/* httpd_notice.c */
void httpd_notice_note(struct httpd *httpd, enum notice_kind kind); /* a notice of ours, with a fixed text */
/* A message of the library. */
void httpd_notice_log(struct httpd *httpd, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

/* httpd_listen.c */
unsigned httpd_threads(unsigned wanted); /* how many to start; 0: one for each core */
/* Makes the listening socket; sets listen_fd, is_unix, port, unix_path. */
int httpd_listen_open(struct httpd *httpd, struct err *err);
void httpd_listen_close(struct httpd *httpd);

/* httpd_press.c: limits that keep a few clients from using up shared resources */

/* Counts a connection by its peer's address; trusted proxies are not counted. Ends it at once if the address has too many. */
void httpd_press_begin(struct http_conn *conn, const uint8_t addr[16]);
/* As httpd_press_begin by user id, for peers on a unix socket, so that one user cannot lock the others out. */
void httpd_press_begin_uid(struct http_conn *conn);
void httpd_press_end(struct http_conn *conn);

/* Takes one request from the allowance of the peer's address: a second's worth of requests_per_client_max, filled up at that rate. False if
 * none is left. Trusted proxies and unix peers are not counted. Server thread of the connection; costs no lock. */
bool httpd_press_admits(struct http_conn *conn);

/* Counts `total` bytes of a body in memory for this request, until it ends. False if all large bodies together are too much. */
bool httpd_press_hold(struct http_request *req, size_t total);
void httpd_press_let_go(struct http_request *req);

/* True if this connection is to be cut before its deadline, because connections or memory are short and it holds them without using them. */
bool httpd_press_cuts(const struct http_conn *conn, int phase, int64_t now_ms);

/* httpd_recv.c */
/* Makes the session's received bytes pass through httpd_recv_take; `conn` is passed to the session's pull function. */
void httpd_recv_begin(gnutls_session_t session, struct http_conn *conn);
/* Which connection this thread works on, so that what the library says is known to be about it. */
void httpd_recv_note(struct http_conn *conn);   /* this one from now on */
void httpd_recv_forget(struct http_conn *conn); /* it ends: no longer this one */
struct http_conn *httpd_recv_current(void);     /* NULL: none */
/* Removes from n received bytes at `data` those that the library is not to see, and returns how many are left. */
size_t httpd_recv_take(struct http_conn *conn, char *data, size_t n);

/* httpd_handshake.c: TLS handshakes that wait for their clients, suspended. */
void httpd_handshake_begin(struct http_conn *conn);   /* nothing without TLS */
void httpd_handshake_ready(struct http_conn *conn);   /* in the sweeper: the client has sent something */
void httpd_handshake_resume_all(struct httpd *httpd); /* after the sweeper has ended */

/* httpd_request.c */
/* A new request of this connection, with its target; it is in no count yet. NULL without memory. */
struct http_request *httpd_request_new(struct http_conn *conn, const char *target);
void httpd_request_identify(struct http_request *req); /* sets id and client, from the header fields that were read */
/* Drops a reference; the last one calls the after hook and frees the request. */
void httpd_request_release(struct http_request *req);

/* httpd_slow.c */
void httpd_slow_start(struct http_request *req);                  /* in the server thread: suspends */
void httpd_slow_hold(struct http_request *req, int64_t ms);       /* in the server thread: suspends; the sweeper resumes */
void httpd_slow_end(struct http_request *req);                    /* in the server thread: after the resume */
unsigned httpd_slow_expire_all(struct httpd *httpd);              /* ends every wait; returns how many */
bool httpd_slow_expire(struct http_conn *conn, bool is_stopping); /* lock held; false if the worker pool was quicker */
void httpd_slow_gone(struct http_conn *conn);                     /* in the sweeper: the client has closed its side */

/* httpd_sweep.c */
int httpd_sweep_start(struct httpd *httpd, struct err *err);
void httpd_sweep_stop(struct httpd *httpd);
void httpd_sweep_done(struct httpd *httpd);
void httpd_sweep_linger(struct httpd *httpd, int fd); /* lock held */

/* httpd_conn.c */
void httpd_conn_notify(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode code);
struct http_conn *httpd_conn_of(struct MHD_Connection *mhd);          /* NULL if memory ran out when it began */
void httpd_conn_enter(struct http_conn *conn, enum conn_phase phase); /* sets phase and its deadline */
void httpd_conn_keep(struct http_request *req); /* moves what the request leaves for the next one to the connection */

/* httpd_tls.c */
int httpd_tls_load(struct httpd *httpd, const char *cert_pem, const char *key_pem, struct err *err);
void httpd_tls_done(struct httpd *httpd);
int httpd_tls_check_priority(const char *priority, struct err *err);
extern gnutls_certificate_retrieve_function2 *const httpd_tls_retrieve;
void httpd_peer_init(struct httpd_peers *peers);
void httpd_peer_done(struct httpd_peers *peers);

/* httpd_answer.c */
/* Answers the request, in its server thread: with what its handler made, or with an error by its result or by how its wait ended. MHD_NO: the library is to
 * close the connection. */
enum MHD_Result httpd_answer(struct http_request *req);
/* Makes the answer for an error, with all header fields but those that frame the message. */
void httpd_answer_make_error(struct http_request *req, const struct err *err, struct http_response *resp);

/* httpd_early.c: answers in place of those that the library makes by itself. Server thread only. */
/* The library's log, for httpd_notice_log; answers in its place when it says that it is about to. */
void httpd_early_log(void *cls, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
/* Answers a request whose header leaves the library no memory for an answer; the library then has to close the connection. False if that cannot be done. */
bool httpd_early_refuse(struct http_request *req, const struct err *err);

/* httpd_handle.c: the library's callbacks */
void *httpd_handle_target(void *cls, const char *target, struct MHD_Connection *mhd);
enum MHD_Result httpd_handle_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                                     const char *version, const char *upload, size_t *upload_bytes, void **context);
void httpd_handle_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code);
