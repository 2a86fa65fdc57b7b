/* The server's time. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "str.h"
#include "vim_client.h"

/* Minutes of "+02:00"; 0 for "Z" and for none, which vCenter means as UTC. Negative: something else. */
static int read_zone(const char *text, int *minutes) {
    int hours = 0, rest = 0, n = 0;
    *minutes = 0;
    if (!*text || str_eq(text, "Z"))
        return 0;
    if ((*text != '+' && *text != '-') || sscanf(text + 1, "%2d:%2d%n", &hours, &rest, &n) != 2 || text[1 + n] || hours < 0 ||
        hours > 14 || rest < 0 || rest > 59)
        return -1;
    *minutes = (hours * 60 + rest) * (*text == '-' ? -1 : 1);
    return 0;
}

/* Milliseconds of ".123456789"; *text moves behind it. */
static int read_fraction(const char **text) {
    int ms = 0, scale = 100;
    if (**text != '.')
        return 0;
    for ((*text)++; **text >= '0' && **text <= '9'; (*text)++) {
        ms += (**text - '0') * scale;
        scale /= 10;
    }
    return ms;
}

/* xsd:dateTime with any number of digits of a second. */
static int parse_time(const char *text, int64_t *out_ms) {
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int ms, minutes;
    time_t seconds;
    if (!rest)
        return -1;
    ms = read_fraction(&rest);
    if (read_zone(rest, &minutes))
        return -1;
    seconds = timegm(&tm);
    *out_ms = ((int64_t)seconds - (int64_t)minutes * 60) * 1000 + ms;
    return 0;
}

static int op_time(struct vim_context *ctx, void *arg, struct err *err) {
    int64_t *out_ms = arg;
    struct _vim25__CurrentTime request = {0};
    struct _vim25__CurrentTimeResponse response;
    int ret;
    request._USCOREthis = vim_in_ref(ctx, "ServiceInstance", "ServiceInstance");
    ret = VIM_CALL(ctx, CurrentTime, &request, &response, err);
    if (ret)
        return ret;
    if (!response.returnval || parse_time(response.returnval, out_ms))
        return vim_call_lacks(ctx, "CurrentTime", "a time", err);
    return 0;
}

int vim_lookup_time(struct vim_client *client, int64_t *out_ms, struct err *err) {
    int64_t ms = 0;
    int ret = vim_client_run_as_us(client, op_time, &ms, err);
    if (!ret)
        *out_ms = ms;
    return ret;
}
