/* What the library wants to say, sorted into few kinds, reworded and rate-limited. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Its own words mislead ("received handshake message out of context" is any client that gave up a TLS handshake), and a port scan
 * would fill the log. Unknown messages pass as they are. */
#include "httpd_private.h"
#include "metric.h"
#include "str.h"

#define NOTICE_INTERVAL_MS 60000
#define NOTICE_TEXT_BYTES 256

static const struct {
    const char *name, *text;
} kinds[NOTICE_COUNT_] = {
    [NOTICE_TLS_HANDSHAKE] = {"tls_handshake_failed", "a TLS handshake failed or was given up by the client"},
    [NOTICE_CLIENT_GONE] = {"client_gone", "a client went away before its request or our answer was complete"},
    [NOTICE_CONNECTION_LIMIT] = {"connection_limit", "the limit of connections is reached; new ones are turned away"},
    [NOTICE_ADDRESS_LIMIT] = {"address_limit",
                              "one client address or user has as many connections as it may; further ones are closed"},
    [NOTICE_ADDRESS_RATE] = {"address_rate", "one client address sends more requests than it may; they wait for a refusal"},
    [NOTICE_PRESSURE] = {"pressure", "connections or memory for bodies run short: those that do not use theirs are cut early"},
    [NOTICE_DESCRIPTORS] = {"descriptors_exhausted", "no file descriptor is left; new connections wait"},
    [NOTICE_BAD_REQUEST] = {"bad_request", "a request was malformed and refused by the HTTP library"},
    [NOTICE_LIBRARY] = {"library", NULL},
};

/* Beginnings of the library's format strings (0.9.75), not of its translated or filled-in texts. */
static const struct {
    const char *start;
    enum notice_kind kind;
} known[] = {
    {"Error: received handshake message out of context", NOTICE_TLS_HANDSHAKE},
    {"Failed to setup TLS", NOTICE_TLS_HANDSHAKE},
    {"Failed to send", NOTICE_CLIENT_GONE},
    {"Connection was closed", NOTICE_CLIENT_GONE},
    {"Connection socket is closed", NOTICE_CLIENT_GONE},
    {"Socket has been disconnected", NOTICE_CLIENT_GONE},
    {"Socket disconnected", NOTICE_CLIENT_GONE},
    {"Closing connection (", NOTICE_CLIENT_GONE},
    {"Application reported internal error", NOTICE_CLIENT_GONE}, /* we say so of clients that closed while they waited */
    {"Server reached connection limit", NOTICE_CONNECTION_LIMIT},
    {"Hit process or system resource limit", NOTICE_DESCRIPTORS},
    {"Error processing request", NOTICE_BAD_REQUEST},
    {"Received HTTP/1.1 request without", NOTICE_BAD_REQUEST},
    {"Failed to parse", NOTICE_BAD_REQUEST},
    {"Too large value", NOTICE_BAD_REQUEST},
    {"Not enough memory in pool", NOTICE_BAD_REQUEST},
};

static enum notice_kind httpd_notice_find_kind(const char *fmt) {
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (str_starts(fmt, known[i].start))
            return known[i].kind;
    return NOTICE_LIBRARY;
}

static void httpd_notice_tell(struct httpd *httpd, enum notice_kind kind, const char *text) {
    unsigned long suppressed = 0;
    metric_add(metric_get(METRIC_HTTP_NOTICES, kinds[kind].name), 1);
    if (log_limit_pass(&httpd->notices[kind], NOTICE_INTERVAL_MS, 0, &suppressed) && httpd->options.hooks.notice)
        httpd->options.hooks.notice(httpd->options.app, kinds[kind].name, text, suppressed);
}

void httpd_notice_note(struct httpd *httpd, enum notice_kind kind) {
    httpd_notice_tell(httpd, kind, kinds[kind].text);
}

void httpd_notice_log(struct httpd *httpd, const char *fmt, va_list args) {
    enum notice_kind kind = httpd_notice_find_kind(fmt);
    char raw[NOTICE_TEXT_BYTES];
    if (kinds[kind].text) {
        httpd_notice_tell(httpd, kind, kinds[kind].text);
        return;
    }
    (void)vsnprintf(raw, sizeof(raw), fmt, args);
    raw[strcspn(raw, "\r\n")] = '\0';
    httpd_notice_tell(httpd, kind, raw);
}
