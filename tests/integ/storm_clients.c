/* Clients by the thousand in one thread, well-behaved or bad, that cost the machine as little as they can. For test_overload.py and bench/storm.py.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * storm_clients KIND ADDRESS PORT COUNT PER_SECOND: COUNT connections from ADDRESS to 127.0.0.1, all together at most PER_SECOND requests (0: the
 * next as soon as the answer is there), until the input ends. Writes "up" when all have been connected once. A line of input starts the counts
 * anew. At the end: seconds since then, answers by status, connections that ended as "closed", times of answers. STORM_TOKEN holds a token. */
#include "storm_clients.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define HANDSHAKES_MAX 64 /* under way at a time: fewer than the queue of a listening socket holds */
#define STEP_MS 5
#define SAMPLES_MAX 1000000U
#define AHEAD_MS 50 /* what was not done in time is made up for, up to this */
#define STATUSES 600U
#define BAD_NICE 10 /* on few cores they would take what they attack */

static struct {
    const struct storm_kind *kind;
    struct sockaddr_in from, to;
    unsigned count, handshaking, known;
    double per_second, credit;
    SSL_CTX *tls;
    int epoll_fd;
    struct storm_client *clients, *first, *last; /* the queue of those whose turn has not come */
    unsigned long answers[STATUSES], closed;
    uint32_t *samples;
    size_t samples_count;
    int64_t since_us;
} all;

void storm_die(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_us(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t now_ms(void) {
    return now_us() / 1000;
}

/* -- one connection -------------------------------------------------------------------------------------------------------- */

static void watch(struct storm_client *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (epoll_ctl(all.epoll_fd, EPOLL_CTL_MOD, c->fd, &event) != 0)
        storm_die("epoll_ctl");
}

static void leave(struct storm_client *c) {
    if (c->stage == HANDSHAKING)
        all.handshaking--;
    if (!c->is_known) /* thrown out before it was in */
        all.known++;
    c->is_known = true;
    all.closed++;
    SSL_free(c->ssl);
    (void)close(c->fd);
    ERR_clear_error();
    c->ssl = NULL;
    c->stage = OUTSIDE;
    c->due_ms = now_ms() + all.kind->pause_ms;
}

static void come(struct storm_client *c) {
    struct epoll_event event = {.events = EPOLLOUT, .data.ptr = c};
    const struct linger hard = {.l_onoff = 1};
    const int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        storm_die("socket");
    (void)setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* or there would be no port left soon */
    if (bind(c->fd, (struct sockaddr *)&all.from, sizeof(all.from)) != 0)
        storm_die("bind");
    if (connect(c->fd, (struct sockaddr *)&all.to, sizeof(all.to)) != 0 && errno != EINPROGRESS)
        storm_die("connect");
    c->ssl = SSL_new(all.tls);
    if (!c->ssl || SSL_set_fd(c->ssl, c->fd) != 1)
        storm_die("SSL_new");
    SSL_set_connect_state(c->ssl);
    c->stage = HANDSHAKING;
    c->expected = 0;
    all.handshaking++;
    if (epoll_ctl(all.epoll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0)
        storm_die("epoll_ctl");
}

static void queue(struct storm_client *c) {
    c->stage = READY;
    watch(c, EPOLLIN | EPOLLRDHUP);
    if (c->is_queued) /* since before it was thrown out */
        return;
    c->is_queued = true;
    c->next = NULL;
    if (all.last)
        all.last->next = c;
    else
        all.first = c;
    all.last = c;
}

/* The call will be made again once the socket is ready; if that is no remedy, the connection is left. */
static void wait_for_socket(struct storm_client *c, int result) {
    const int error = SSL_get_error(c->ssl, result);
    if (error == SSL_ERROR_WANT_READ)
        watch(c, EPOLLIN | EPOLLRDHUP);
    else if (error == SSL_ERROR_WANT_WRITE)
        watch(c, EPOLLOUT | EPOLLIN);
    else
        leave(c);
}

static void wait_next(struct storm_client *c) {
    c->stage = WAITING;
    c->due_ms = now_ms() + all.kind->pause_ms;
    watch(c, all.kind->after == DEAF ? EPOLLRDHUP : EPOLLIN | EPOLLRDHUP);
}

static void go_on_sending(struct storm_client *c) {
    const struct storm_text *what = c->own.text ? &c->own : &storm_shared;
    while (c->sent < what->len) {
        const size_t left = what->len - c->sent;
        int n = SSL_write(c->ssl, what->text + c->sent, (int)(left < 16384 ? left : 16384));
        if (n <= 0) {
            wait_for_socket(c, n);
            return;
        }
        c->sent += (size_t)n;
    }
    if (all.kind->after == DRIP || all.kind->after == DEAF) {
        wait_next(c);
        return;
    }
    c->stage = READING;
    watch(c, EPOLLIN | EPOLLRDHUP);
}

static void begin(struct storm_client *c) {
    c->sent = c->head_len = c->body_left = 0;
    c->expected = 1;
    all.kind->prepare(c);
    c->stage = SENDING;
    c->begun_us = now_us();
    go_on_sending(c);
}

static void handshake(struct storm_client *c) {
    int r = SSL_do_handshake(c->ssl);
    if (r != 1) {
        wait_for_socket(c, r);
        return;
    }
    all.handshaking--;
    all.known += !c->is_known;
    c->is_known = true;
    queue(c);
}

static void count_answer(const struct storm_client *c, unsigned status) {
    all.answers[status < STATUSES ? status : 0]++;
    if (all.samples_count < SAMPLES_MAX && c->expected == 1)
        all.samples[all.samples_count++] = (uint32_t)(now_us() - c->begun_us);
}

/* The head is whole: its status, and how much body follows. */
static void take_head(struct storm_client *c, const char *end) {
    const char *length = strcasestr(c->head, "\r\ncontent-length:");
    count_answer(c, (unsigned)strtoul(c->head + strlen("HTTP/1.1 "), NULL, 10));
    c->body_left = length && length < end ? strtoull(length + strlen("\r\ncontent-length:"), NULL, 10) : 0;
    c->head_len = 0;
    c->expected -= c->expected > 0;
}

/* Takes what has come; true when the last answer that was asked for is complete. */
static bool take(struct storm_client *c, const char *data, size_t n) {
    while (n) {
        if (c->body_left) {
            const size_t part = n < c->body_left ? n : c->body_left;
            c->body_left -= part;
            data += part;
            n -= part;
            continue;
        }
        if (c->head_len + 1 == sizeof(c->head))
            c->head_len = 0; /* no head is that long */
        c->head[c->head_len++] = *data++;
        n--;
        c->head[c->head_len] = '\0';
        if (c->head_len >= 4 && !memcmp(c->head + c->head_len - 4, "\r\n\r\n", 4))
            take_head(c, c->head + c->head_len);
    }
    return !c->expected && !c->body_left;
}

static void follow(struct storm_client *c) {
    if (all.kind->after == AGAIN)
        queue(c);
    else if (all.kind->after == LEAVE)
        leave(c);
    else {
        c->stage = WAITING;
        watch(c, EPOLLIN | EPOLLRDHUP);
    }
}

static void receive(struct storm_client *c) {
    static char data[65536];
    for (;;) {
        int n = SSL_read(c->ssl, data, sizeof(data));
        if (n <= 0) {
            wait_for_socket(c, n);
            return;
        }
        if (take(c, data, (size_t)n) && c->stage == READING) {
            follow(c);
            return;
        }
    }
}

static void drip(struct storm_client *c) {
    int n = SSL_write(c->ssl, "a", 1);
    if (n == 1)
        c->due_ms = now_ms() + all.kind->pause_ms;
    else
        wait_for_socket(c, n);
}

static void on_socket(struct storm_client *c, uint32_t events) {
    switch (c->stage) {
    case HANDSHAKING: handshake(c); break;
    case SENDING:
        if (events & (EPOLLERR | EPOLLHUP))
            leave(c);
        else if (events & EPOLLIN)
            receive(c);
        if (c->stage == SENDING && events & EPOLLOUT)
            go_on_sending(c);
        break;
    case READY:
    case READING: receive(c); break;
    case WAITING:
        if (all.kind->after == DEAF)
            leave(c);
        else
            receive(c);
        break;
    case OUTSIDE: break;
    }
}

/* -- all of them ----------------------------------------------------------------------------------------------------------- */

static void tick(struct storm_client *c, int64_t ms) {
    if (ms < c->due_ms)
        return;
    if (c->stage == OUTSIDE && all.handshaking < HANDSHAKES_MAX)
        come(c);
    else if (c->stage == WAITING && all.kind->after == DRIP)
        drip(c);
    else if (c->stage == WAITING && all.kind->after == DEAF)
        leave(c);
}

static struct storm_client *next_in_turn(void) {
    while (all.first) {
        struct storm_client *c = all.first;
        all.first = c->next;
        if (!all.first)
            all.last = NULL;
        c->is_queued = false;
        if (c->stage == READY) /* not thrown out meanwhile */
            return c;
    }
    return NULL;
}

static void give_turns(double passed_s) {
    struct storm_client *c;
    const double most = all.per_second * AHEAD_MS / 1000 + 1;
    all.credit += passed_s * all.per_second;
    if (all.credit > most)
        all.credit = most;
    for (unsigned i = 0; i < all.count && (all.per_second <= 0 || all.credit >= 1) && (c = next_in_turn()); i++) {
        all.credit -= 1;
        begin(c);
    }
}

static int by_value(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double percentile_ms(double share) {
    return all.samples_count ? all.samples[(size_t)(share * (double)(all.samples_count - 1))] / 1000.0 : 0;
}

static void report(void) {
    qsort(all.samples, all.samples_count, sizeof(all.samples[0]), by_value);
    (void)printf("{\"seconds\": %.4f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"answers\": {\"closed\": %lu",
                 (double)(now_us() - all.since_us) / 1e6, percentile_ms(0.5), percentile_ms(0.99), all.closed);
    for (unsigned i = 0; i < STATUSES; i++)
        if (all.answers[i])
            (void)printf(", \"%u\": %lu", i, all.answers[i]);
    (void)printf("}}\n");
    (void)fflush(stdout);
}

static void start_counts(void) {
    memset(all.answers, 0, sizeof(all.answers));
    all.closed = 0;
    all.samples_count = 0;
    all.since_us = now_us();
}

/* False at the end of the input. */
static bool read_input(void) {
    char word[64];
    if (read(STDIN_FILENO, word, sizeof(word)) <= 0)
        return false;
    start_counts();
    return true;
}

static bool serve_events(void) {
    struct epoll_event events[256];
    const int n = epoll_wait(all.epoll_fd, events, 256, all.first && all.per_second <= 0 ? 0 : STEP_MS);
    bool goes_on = true;
    for (int i = 0; i < n; i++) {
        struct storm_client *c = events[i].data.ptr;
        if (!c)
            goes_on = read_input();
        else if (c->ssl)
            on_socket(c, events[i].events);
    }
    return goes_on;
}

static void tell_once_up(void) {
    static bool is_told;
    if (is_told || all.known < all.count)
        return;
    is_told = true;
    if (!all.kind->is_good) /* not before: on a busy machine they would never all be there */
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + BAD_NICE);
    (void)puts("up");
    (void)fflush(stdout);
}

static void run(void) {
    int64_t last_us = now_us(), tick_ms = 0;
    do {
        const int64_t us = now_us(), ms = us / 1000;
        if (ms >= tick_ms) {
            for (unsigned i = 0; i < all.count; i++)
                tick(&all.clients[i], ms);
            tick_ms = ms + (all.known < all.count ? STEP_MS : 4 * STEP_MS);
        }
        give_turns((double)(us - last_us) / 1e6);
        last_us = us;
        tell_once_up();
    } while (serve_events());
}

static void set_up(char **argv) {
    struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
    struct rlimit limit;
    all.kind = storm_kind_find(argv[1]);
    all.from.sin_family = all.to.sin_family = AF_INET;
    all.to.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10));
    all.to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    all.count = (unsigned)strtoul(argv[4], NULL, 10);
    all.per_second = strtod(argv[5], NULL);
    all.clients = calloc(all.count, sizeof(*all.clients));
    all.samples = calloc(SAMPLES_MAX, sizeof(*all.samples));
    all.tls = SSL_CTX_new(TLS_client_method());
    all.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    storm_token = getenv("STORM_TOKEN") ? getenv("STORM_TOKEN") : "";
    if (!all.kind || inet_pton(AF_INET, argv[2], &all.from.sin_addr) != 1 || !all.clients || !all.samples || !all.tls ||
        all.epoll_fd < 0)
        storm_die("storm_clients");
    (void)SSL_CTX_set_mode(all.tls,
                           SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (epoll_ctl(all.epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &input) != 0)
        storm_die("epoll_ctl");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv) {
    if (argc != 6) {
        (void)fprintf(stderr, "usage: storm_clients KIND ADDRESS PORT COUNT PER_SECOND\n");
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    set_up(argv);
    start_counts();
    run();
    report();
    return 0;
}
