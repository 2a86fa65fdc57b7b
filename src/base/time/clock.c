/* The two clocks, replaceable in tests. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static atomic_bool is_fake;
static _Atomic int64_t fake_mono_ms, fake_wall_ms;

static int64_t read_ms(clockid_t id) {
    struct timespec now = {0};
    (void)clock_gettime(id, &now); /* cannot fail for these ids */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void) {
    if (atomic_load_explicit(&is_fake, memory_order_acquire))
        return atomic_load(&fake_mono_ms);
    return read_ms(CLOCK_MONOTONIC);
}

int64_t clock_mono_coarse_ms(void) {
    if (atomic_load_explicit(&is_fake, memory_order_acquire))
        return atomic_load(&fake_mono_ms);
    return read_ms(CLOCK_MONOTONIC_COARSE);
}

int64_t clock_wall_ms(void) {
    if (atomic_load_explicit(&is_fake, memory_order_acquire))
        return atomic_load(&fake_wall_ms);
    return read_ms(CLOCK_REALTIME);
}

int64_t clock_wall_s(void) {
    return clock_wall_ms() / 1000;
}

void clock_fake(int64_t mono_ms, int64_t wall_ms) {
    atomic_store(&fake_mono_ms, mono_ms);
    atomic_store(&fake_wall_ms, wall_ms);
    atomic_store_explicit(&is_fake, true, memory_order_release);
}

void clock_advance_ms(int64_t by_ms) {
    atomic_fetch_add(&fake_mono_ms, by_ms);
    atomic_fetch_add(&fake_wall_ms, by_ms);
}

void clock_unfake(void) {
    atomic_store_explicit(&is_fake, false, memory_order_release);
}

struct timespec clock_deadline(int64_t ms) {
    struct timespec at;
    int64_t ns;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    ns = at.tv_nsec + ms % 1000 * 1000000;
    return (struct timespec){.tv_sec = at.tv_sec + (time_t)(ms / 1000 + ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

void clock_init_cond(pthread_cond_t *cond) {
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

/* RFC 3339 knows the years 0 to 9999 only; what lies outside 1970 to 9999 is shown as the nearer end. */
#define LAST_WALL_MS INT64_C(253402300799999)

/* The same time is asked for again and again: every list tells how old the data are. */
void clock_format(int64_t wall_ms, char *out) {
    static _Thread_local int64_t last_ms = -1;
    static _Thread_local char last[CLOCK_RFC3339_BYTES];
    int64_t shown_ms = wall_ms < 0 ? 0 : wall_ms;
    if (shown_ms > LAST_WALL_MS)
        shown_ms = LAST_WALL_MS;
    if (shown_ms != last_ms) {
        const time_t seconds = (time_t)(shown_ms / 1000);
        struct tm tm;
        size_t n;
        (void)gmtime_r(&seconds, &tm);
        n = strftime(last, sizeof(last), "%Y-%m-%dT%H:%M:%S", &tm);
        (void)snprintf(last + n, sizeof(last) - n, ".%03uZ", (unsigned)(shown_ms % 1000));
    }
    last_ms = shown_ms;
    memcpy(out, last, sizeof(last));
}

/* Exactly `digits` digits, with a value up to max; *text moves behind them. */
static bool clock_take_number(const char **text, int digits, int max, int *out) {
    *out = 0;
    for (int i = 0; i < digits; i++, (*text)++) {
        if (**text < '0' || **text > '9')
            return false;
        *out = *out * 10 + (**text - '0');
    }
    return *out <= max;
}

static bool take_char(const char **text, char c) {
    if (**text != c)
        return false;
    (*text)++;
    return true;
}

static bool clock_take_date(const char **text, struct tm *tm) {
    bool is_good = clock_take_number(text, 4, 9999, &tm->tm_year) && take_char(text, '-') &&
                   clock_take_number(text, 2, 12, &tm->tm_mon) && take_char(text, '-') &&
                   clock_take_number(text, 2, 31, &tm->tm_mday) && take_char(text, 'T');
    tm->tm_year -= 1900;
    tm->tm_mon -= 1;
    return is_good && tm->tm_mon >= 0 && tm->tm_mday > 0;
}

static bool take_time(const char **text, struct tm *tm, int *ms) {
    int scale = 100;
    *ms = 0;
    if (!clock_take_number(text, 2, 23, &tm->tm_hour) || !take_char(text, ':') || !clock_take_number(text, 2, 59, &tm->tm_min) ||
        !take_char(text, ':') || !clock_take_number(text, 2, 60, &tm->tm_sec))
        return false;
    if (!take_char(text, '.'))
        return true;
    if (**text < '0' || **text > '9')
        return false;
    for (; **text >= '0' && **text <= '9'; (*text)++, scale /= 10)
        *ms += (**text - '0') * scale;
    return true;
}

static bool take_zone(const char **text, int *minutes) {
    int sign = **text == '-' ? -1 : 1, hours = 0, rest = 0;
    *minutes = 0;
    if (take_char(text, 'Z'))
        return true;
    if (!take_char(text, '+') && !take_char(text, '-'))
        return false;
    if (!clock_take_number(text, 2, 23, &hours) || !take_char(text, ':') || !clock_take_number(text, 2, 59, &rest))
        return false;
    *minutes = sign * (hours * 60 + rest);
    return true;
}

bool clock_parse(const char *text, int64_t *wall_ms) {
    struct tm tm = {0};
    int ms = 0, minutes = 0, day, second;
    time_t seconds;
    if (!clock_take_date(&text, &tm) || !take_time(&text, &tm, &ms) || !take_zone(&text, &minutes) || *text)
        return false;
    day = tm.tm_mday;
    second = tm.tm_sec; /* 60 would carry over */
    tm.tm_sec = 0;
    seconds = timegm(&tm); /* the 30th of February becomes a day in March */
    if (tm.tm_mday != day)
        return false;
    *wall_ms = ((int64_t)seconds + second - (int64_t)minutes * 60) * 1000 + ms;
    return true;
}
