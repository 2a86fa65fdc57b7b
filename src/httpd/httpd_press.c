/* Limits that keep a few clients from using up what all share. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is scarce: connections of one address, requests that one address can have answered in a second, connections at all, and memory for
 * bodies. The first two have limits of their own: a request too many waits a second for its 429 (httpd_slow_hold), since answering at once
 * would let those who do not listen ask again at once. When connections run short, connections that wait for a request are cut after a second
 * instead of up to 40; when memory does, clients that do not take their answer or do not send their body are cut after two seconds instead of
 * 60 or 30. Who works goes on. */
#include <sys/socket.h>

#include "clock.h"
#include "hashmap.h"
#include "httpd_private.h"
#include "limits.h"
#include "net_addr.h"

#define SECOND_US 1000000
#define IDLE_MS 1000 /* under pressure */
#define STUCK_MS 2000

/* Of a party or user id. Never 0. */
static unsigned slot_of(uint64_t who) {
    return (unsigned)(hash64(hash_seed(), &who, sizeof(who)) % (HTTPD_PRESS_SLOTS - 1)) + 1;
}

static void httpd_press_count(struct http_conn *conn, unsigned slot, unsigned max) {
    struct httpd *httpd = conn->httpd;
    conn->slot = slot;
    if (atomic_fetch_add(&httpd->press.per_address[conn->slot], 1) < max || !max)
        return;
    atomic_fetch_add(&httpd->cut_address, 1);
    httpd_notice_note(httpd, NOTICE_ADDRESS_LIMIT);
    (void)shutdown(conn->fd, SHUT_RDWR);
}

void httpd_press_begin(struct http_conn *conn, const uint8_t addr[16]) {
    if (!conn->is_proxy)
        httpd_press_count(conn, slot_of(net_addr_party(addr)), conn->httpd->options.connections_per_client_max);
}

void httpd_press_begin_uid(struct http_conn *conn) {
    const unsigned max = conn->httpd->options.connections_per_uid_max;
    if (max)
        httpd_press_count(conn, slot_of(conn->uid), max);
}

void httpd_press_end(struct http_conn *conn) {
    if (conn->slot)
        atomic_fetch_sub(&conn->httpd->press.per_address[conn->slot], 1);
}

/* The allowance as the time at which it will be whole again (generic cell rate algorithm): one number, exchanged without a lock. */
bool httpd_press_admits(struct http_conn *conn) {
    const int64_t rate = conn->httpd->options.requests_per_client_max, now_us = clock_mono_coarse_ms() * 1000;
    if (!rate || !conn->slot || conn->httpd->is_unix)
        return true;
    _Atomic int64_t *full_us = &conn->httpd->press.full_us[conn->slot];
    int64_t was_us = atomic_load_explicit(full_us, memory_order_relaxed), next_us;
    do {
        next_us = (was_us > now_us ? was_us : now_us) + SECOND_US / rate;
        if (next_us > now_us + SECOND_US)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(full_us, &was_us, next_us, memory_order_relaxed, memory_order_relaxed));
    return true;
}

bool httpd_press_hold(struct http_request *req, size_t total) {
    struct httpd_press *press = &req->httpd->press;
    if (total < KAAS_HTTP_LARGE_BYTES || total <= req->held_bytes)
        return true;
    const size_t more = total - req->held_bytes;
    if (atomic_fetch_add(&press->held_bytes, more) + more > KAAS_HTTP_HELD_BYTES_MAX) {
        atomic_fetch_sub(&press->held_bytes, more);
        return false;
    }
    req->held_bytes = total;
    return true;
}

void httpd_press_let_go(struct http_request *req) {
    if (req->held_bytes)
        atomic_fetch_sub(&req->httpd->press.held_bytes, req->held_bytes);
    req->held_bytes = 0;
}

static bool is_crowded(const struct httpd *httpd) {
    const unsigned max = httpd->options.connections_max;
    return atomic_load_explicit(&httpd->connections, memory_order_relaxed) > max - max / 8;
}

bool httpd_press_cuts(const struct http_conn *conn, int phase, int64_t now_ms) {
    const int64_t age_ms = now_ms - atomic_load_explicit(&conn->since_ms, memory_order_relaxed);
    if (phase == CONN_HEADER)
        return age_ms > IDLE_MS && is_crowded(conn->httpd);
    return age_ms > STUCK_MS &&
           (is_crowded(conn->httpd) ||
            atomic_load_explicit(&conn->httpd->press.held_bytes, memory_order_relaxed) > KAAS_HTTP_HELD_BYTES_MAX / 2);
}
