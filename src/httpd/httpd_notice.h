/* What the library reports, and what we report of the same kinds: sorted, reworded, not too often. Layer 2 (httpd), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdarg.h>

struct httpd;

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

void httpd_notice_note(struct httpd *httpd, enum notice_kind kind); /* of our own, with a fixed text */
void httpd_notice_log(void *cls, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));
