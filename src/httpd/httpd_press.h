/* What keeps a few clients from using up what all share. Layer 2 (httpd), for the files of this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_conn;
struct http_request;
struct httpd;

#define HTTPD_PRESS_SLOTS 4096U

struct httpd_press {
    _Atomic unsigned per_address[HTTPD_PRESS_SLOTS]; /* connections, by a hash of the peer's party or user id */
    _Atomic int64_t full_us[HTTPD_PRESS_SLOTS];      /* when the allowance of requests is whole again; monotonic */
    _Atomic size_t held_bytes;                       /* of large bodies that are coming in or going out */
};

/* Counts a connection by its peer, which is no trusted proxy. Ends it at once if the address has too many. */
void httpd_press_begin(struct http_conn *conn, const uint8_t addr[16]);
/* The same by user id, for peers on a unix socket: one user cannot lock the others out of it. */
void httpd_press_begin_uid(struct http_conn *conn);
void httpd_press_end(struct http_conn *conn);

/* Takes one request from the allowance of the peer's address: a second's worth of requests_per_client_max, filled up at that rate. False if
 * none is left. Trusted proxies and unix peers are not counted. Server thread of the connection; costs no lock. */
bool httpd_press_admits(struct http_conn *conn);

/* `total` bytes of a body are in memory for this request, until it ends. False if all large bodies together are too much. */
bool httpd_press_hold(struct http_request *req, size_t total);
void httpd_press_let_go(struct http_request *req);

/* Would this connection go on, were there room for all? While there is little, those that hold it without using it are cut. */
bool httpd_press_cuts(const struct http_conn *conn, int phase, int64_t now_ms);
