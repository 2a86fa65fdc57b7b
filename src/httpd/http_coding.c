/* Which content codings a client takes: Accept-Encoding. Layer 2 (httpd). RFC 9110 section 12.5.3.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <strings.h>

#include "http_request_private.h"
#include "str.h"

#define WEIGHT_MAX 1000
#define NOT_NAMED (-1)

/* Weights in thousandths. */
struct weights {
    int gzip, identity, any;
};

static const char *http_coding_skip_blanks(const char *p) {
    return p + strspn(p, " \t");
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] ); *p moves behind it. -1 if it is none. */
static int read_qvalue(const char **p) {
    int value;
    if (**p != '0' && **p != '1')
        return -1;
    value = *(*p)++ == '1' ? WEIGHT_MAX : 0;
    if (**p != '.')
        return value;
    (*p)++;
    for (int unit = 100; unit && is_digit(**p); unit /= 10)
        value += (*(*p)++ - '0') * unit;
    return value > WEIGHT_MAX || is_digit(**p) ? -1 : value;
}

/* OWS [ ";" OWS "q=" qvalue ] OWS up to the comma or the end; -1 if malformed. */
static int read_weight(const char **p) {
    int value = WEIGHT_MAX;
    *p = http_coding_skip_blanks(*p);
    if (**p == ';') {
        *p = http_coding_skip_blanks(*p + 1);
        if (strncasecmp(*p, "q=", 2) != 0)
            return -1;
        *p += 2;
        value = read_qvalue(p);
        *p = http_coding_skip_blanks(*p);
    }
    return **p && **p != ',' ? -1 : value;
}

static bool http_coding_is_named(const char *text, size_t n, const char *name) {
    return strlen(name) == n && !strncasecmp(text, name, n);
}

static void http_coding_take(struct weights *w, const char *name, size_t n, int weight) {
    if (http_coding_is_named(name, n, "gzip") || http_coding_is_named(name, n, "x-gzip")) /* section 8.4.1.3: the same */
        w->gzip = weight;
    else if (http_coding_is_named(name, n, "identity"))
        w->identity = weight;
    else if (n == 1 && *name == '*')
        w->any = weight;
}

/* What is malformed names nothing: to send a text as it is, is never wrong. */
static void http_coding_read_list(const char *p, struct weights *w) {
    while (*(p += strspn(p, ", \t"))) {
        const char *name = p;
        const size_t n = strcspn(p, ",; \t");
        p += n;
        int weight = read_weight(&p);
        if (weight >= 0)
            http_coding_take(w, name, n, weight);
        p += strcspn(p, ",");
    }
}

bool http_request_accepts_gzip(const struct http_request *req) {
    struct weights w = {NOT_NAMED, NOT_NAMED, NOT_NAMED};
    const char *list = http_request_header(req, "Accept-Encoding");
    if (list)
        http_coding_read_list(list, &w);
    const int gzip = w.gzip != NOT_NAMED ? w.gzip : w.any;
    return gzip > 0 && gzip >= w.identity;
}
