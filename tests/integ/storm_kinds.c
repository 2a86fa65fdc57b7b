/* What the clients of storm_clients.c send, and how they behave.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "storm_clients.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct storm_text storm_shared;
const char *storm_token = "";
static unsigned serial;

#define HOST "Host: localhost\r\n"
#define JSON "Content-Type: application/json\r\n"

#define PIPELINE_DEEP 1000

static char *repeat(const char *text, size_t times, size_t *len) {
    const size_t n = strlen(text);
    char *out = malloc(n * times + 1);
    if (!out)
        storm_die("malloc");
    for (size_t i = 0; i < times; i++)
        memcpy(out + i * n, text, n);
    out[n * times] = '\0';
    *len = n * times;
    return out;
}

/* `more` times the letter `fill` between head and tail. */
static void set_shared(const char *head, char fill, size_t more, const char *tail) {
    const size_t n = strlen(head), m = strlen(tail);
    storm_shared.text = malloc(n + more + m);
    if (!storm_shared.text)
        storm_die("malloc");
    memcpy(storm_shared.text, head, n);
    memset(storm_shared.text + n, fill, more);
    memcpy(storm_shared.text + n + more, tail, m);
    storm_shared.len = n + more + m;
}

static const char *asking(const char *what, const char *fields) {
    static char text[8192];
    (void)snprintf(text, sizeof(text), "%s HTTP/1.1\r\n" HOST "%s%s%s%s", what, *storm_token ? "Authorization: Bearer " : "",
                   storm_token, *storm_token ? "\r\n" : "", fields);
    return text;
}

static void prepare_list(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared(asking("GET /v2/clusters", "\r\n"), 0, 0, "");
}

static void prepare_big_list(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared(asking("GET /v2/clusters?limit=500", "\r\n"), 0, 0, "");
}

static void prepare_pipeline(struct storm_client *c) {
    if (!storm_shared.text)
        storm_shared.text = repeat(asking("GET /v2/clusters", "\r\n"), PIPELINE_DEEP, &storm_shared.len);
    c->expected = PIPELINE_DEEP;
}

static void prepare_health(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared("GET /healthz HTTP/1.1\r\n" HOST "\r\n", 0, 0, "");
}

static void prepare_big_header(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared("GET /healthz HTTP/1.1\r\n" HOST "X-Big: ", 'a', 65536, "\r\n\r\n");
}

static void prepare_slow_header(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared("GET /healthz HTTP/1.1\r\n" HOST "X-Slow: ", 0, 0, "");
}

static void prepare_slow_body(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared("POST /v2/login/password HTTP/1.1\r\n" HOST JSON "X-KaaS: 1\r\nContent-Length: 9000\r\n\r\n{", 0, 0, "");
}

static void prepare_fat_body(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared(asking("POST /v2/clusters", JSON "Content-Length: 1000000\r\n\r\n"), ' ', 900000, "");
}

/* Below what is counted. */
static void prepare_half_body(struct storm_client *c) {
    (void)c;
    if (!storm_shared.text)
        set_shared(asking("POST /v2/clusters", JSON "Content-Length: 65000\r\n\r\n"), ' ', 64000, "");
}

static void set_own(struct storm_client *c, const char *text) {
    free(c->own.text);
    c->own.text = repeat(text, 1, &c->own.len);
}

static void prepare_bad_token(struct storm_client *c) {
    char text[8192];
    const int keep = (int)strlen(storm_token) - 12;
    (void)snprintf(text, sizeof(text), "GET /v2/clusters HTTP/1.1\r\n" HOST "Authorization: Bearer %.*s%012u\r\n\r\n",
                   keep < 0 ? 0 : keep, storm_token, serial++);
    set_own(c, text);
}

static void prepare_signon(struct storm_client *c) {
    char body[128], text[512];
    int n = snprintf(body, sizeof(body), "{\"username\": \"nobody-%u\", \"password\": \"wrong\"}", serial++);
    (void)snprintf(text, sizeof(text),
                   "POST /v2/login/password HTTP/1.1\r\n" HOST JSON "X-KaaS: 1\r\nContent-Length: %d\r\n\r\n%s", n, body);
    set_own(c, text);
}

static const struct storm_kind kinds[] = {
    {"good", AGAIN, 50, prepare_list, true},
    {"lists", AGAIN, 500, prepare_list, false},
    {"bad_tokens", AGAIN, 500, prepare_bad_token, false},
    {"signons", AGAIN, 500, prepare_signon, false},
    {"churn", LEAVE, 50, prepare_health, false},
    {"pipeline", LEAVE, 50, prepare_pipeline, false},
    {"big_header", LEAVE, 50, prepare_big_header, false},
    {"fat_body", STAY, 500, prepare_fat_body, false},
    {"half_body", STAY, 500, prepare_half_body, false},
    {"idle", STAY, 500, prepare_health, false},
    {"slow_header", DRIP, 1000, prepare_slow_header, false},
    {"slow_body", DRIP, 1000, prepare_slow_body, false},
    {"slow_reader", DEAF, 5000, prepare_big_list, false},
};

const struct storm_kind *storm_kind_find(const char *name) {
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}
