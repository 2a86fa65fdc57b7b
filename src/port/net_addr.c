/* Addresses of clients: one form for IPv4 and IPv6, and who counts as one; and looking at names and ports. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A party is the upper half of an IPv6 address, or the lower half of an IPv4 address in its IPv6 form: that is 0000:ffff and the address, which is
 * nobody's upper half. */
#include "net_addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "str.h"

#define PARTY_LOCAL 1U    /* not an address: a unix socket */
#define PARTY_LOOPBACK 2U /* ::1 and the unspecified address, whose upper half is 0 */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

bool net_addr_parse(const char *text, uint8_t out[16]) {
    struct in6_addr ip6;
    struct in_addr ip4;
    if (text && inet_pton(AF_INET6, text, &ip6) == 1) {
        memcpy(out, &ip6, 16);
        return true;
    }
    if (!text || inet_pton(AF_INET, text, &ip4) != 1)
        return false;
    memcpy(out, mapped, sizeof(mapped));
    memcpy(out + sizeof(mapped), &ip4, sizeof(ip4));
    return true;
}

void net_addr_format(const uint8_t addr[16], char *out) {
    bool is_v4 = !memcmp(addr, mapped, sizeof(mapped));
    if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? addr + sizeof(mapped) : addr, out, NET_ADDRESS_BYTES))
        out[0] = '\0';
}

bool net_https_origin(const char *address, unsigned port, char out[NET_ORIGIN_BYTES]) {
    char host[NET_ORIGIN_BYTES], text[NET_ADDRESS_BYTES], number[16] = "";
    struct in6_addr ip6;
    int n;
    if (inet_pton(AF_INET6, address, &ip6) == 1 && inet_ntop(AF_INET6, &ip6, text, sizeof(text)))
        n = snprintf(host, sizeof(host), "[%s]", text);
    else
        n = snprintf(host, sizeof(host), "%s", address);
    if (n <= 0 || (size_t)n >= sizeof(host))
        return false;
    for (char *p = host; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    if (port && port != 443)
        (void)snprintf(number, sizeof(number), ":%u", port);
    n = snprintf(out, NET_ORIGIN_BYTES, "https://%s%s", host, number);
    return n > 0 && n < NET_ORIGIN_BYTES;
}

uint64_t net_addr_party(const uint8_t addr[16]) {
    const uint8_t *half = memcmp(addr, mapped, sizeof(mapped)) == 0 ? addr + 8 : addr;
    uint64_t party = 0;
    for (int i = 0; i < 8; i++)
        party = party << 8 | half[i];
    return party ? party : PARTY_LOOPBACK;
}

uint64_t net_party(const char *text) {
    uint8_t addr[16];
    return net_addr_parse(text, addr) ? net_addr_party(addr) : PARTY_LOCAL;
}

uint64_t net_party_site(uint64_t party) {
    return party >> 32 == 0xffff ? party >> 8 : party >> 16;
}

bool net_block_parse(const char *text, struct net_block *out) {
    char addr[INET6_ADDRSTRLEN];
    size_t len = strcspn(text, "/");
    bool is_v4 = !memchr(text, ':', len);
    int64_t most = is_v4 ? 32 : 128, bits = most;
    struct net_block block;
    if (len >= sizeof(addr))
        return false;
    memcpy(addr, text, len);
    addr[len] = '\0';
    if (text[len] == '/' && !str_to_i64(text + len + 1, 0, most, &bits))
        return false;
    if (!net_addr_parse(addr, block.addr))
        return false;
    block.bits = (unsigned)bits + (is_v4 ? 96 : 0);
    *out = block;
    return true;
}

static bool net_block_covers(const struct net_block *block, const uint8_t addr[16]) {
    unsigned whole = block->bits / 8, part = block->bits % 8;
    if (memcmp(block->addr, addr, whole))
        return false;
    return !part || !((block->addr[whole] ^ addr[whole]) >> (8 - part));
}

bool net_block_has(const struct net_block *blocks, size_t count, const uint8_t addr[16]) {
    for (size_t i = 0; i < count; i++)
        if (net_block_covers(&blocks[i], addr))
            return true;
    return false;
}

/* -- looking at the network: names and ports, each look bounded in time -------------------------------------------- */

/* -- names ------------------------------------------------------------------------------------------------------------------ */

/* getaddrinfo has no time limit, so it runs in a thread of its own, which outlives an asker that no longer waits: the last of the two
 * frees. */
struct name_look {
    pthread_mutex_t lock; /* guards what is below */
    pthread_cond_t ended;
    char *host;
    bool is_done, is_abandoned;
    int result; /* of getaddrinfo */
    struct net_addresses found;
};

static void net_addr_look_free(struct name_look *look) {
    (void)pthread_mutex_destroy(&look->lock);
    (void)pthread_cond_destroy(&look->ended);
    free(look->host);
    free(look);
}

static void net_addr_take(const struct addrinfo *list, struct net_addresses *out) {
    for (const struct addrinfo *a = list; a && out->count < NET_ADDRESSES_MAX; a = a->ai_next)
        if (!getnameinfo(a->ai_addr, a->ai_addrlen, out->items[out->count], NET_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST))
            out->count++;
}

static void *look_up(void *arg) {
    struct name_look *look = arg;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *list = NULL;
    struct net_addresses found = {.count = 0};
    int result = getaddrinfo(look->host, NULL, &hints, &list);
    bool is_mine;
    if (!result) {
        net_addr_take(list, &found);
        freeaddrinfo(list);
    }
    (void)pthread_mutex_lock(&look->lock);
    look->result = result;
    look->found = found;
    look->is_done = true;
    is_mine = look->is_abandoned;
    (void)pthread_cond_signal(&look->ended);
    (void)pthread_mutex_unlock(&look->lock);
    if (is_mine)
        net_addr_look_free(look);
    return NULL;
}

static int net_addr_look_new(const char *host, struct name_look **out) {
    struct name_look *look = calloc(1, sizeof(*look));
    if (!look)
        return ERR_NOMEM;
    (void)pthread_mutex_init(&look->lock, NULL);
    clock_init_cond(&look->ended);
    look->host = str_dup(host);
    if (!look->host) {
        net_addr_look_free(look);
        return ERR_NOMEM;
    }
    *out = look;
    return 0;
}

static int net_addr_start_thread(struct name_look *look) {
    pthread_attr_t attr;
    pthread_t thread;
    int rc;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    rc = pthread_create(&thread, &attr, look_up, look);
    (void)pthread_attr_destroy(&attr);
    return rc;
}

/* False if the time was up: the thread then frees the look. */
static bool net_addr_wait_for(struct name_look *look, long timeout_ms) {
    const struct timespec until = clock_deadline(timeout_ms);
    bool is_done;
    (void)pthread_mutex_lock(&look->lock);
    while (!look->is_done && !pthread_cond_timedwait(&look->ended, &look->lock, &until))
        ;
    is_done = look->is_done;
    look->is_abandoned = !is_done;
    (void)pthread_mutex_unlock(&look->lock);
    return is_done;
}

static int net_addr_describe(int result, const char *host, struct err *err) {
    switch (result) {
    case 0: return 0;
    case EAI_AGAIN: return err_set(err, ERR_UNREACHABLE, "no name server answers the question for %s", host);
    case EAI_MEMORY: return err_set(err, ERR_NOMEM, "out of memory");
    case EAI_NONAME:
    case EAI_NODATA: return err_set(err, ERR_NOT_FOUND, "the name %s is not known", host);
    default: return err_set(err, ERR_NOT_FOUND, "the name %s cannot be resolved: %s", host, gai_strerror(result));
    }
}

int net_lookup_name(const char *host, long timeout_ms, struct net_addresses *out, struct err *err) {
    struct name_look *look = NULL;
    int rc;
    if (net_addr_look_new(host, &look))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (net_addr_start_thread(look)) {
        net_addr_look_free(look);
        return err_set(err, ERR_NOMEM, "no thread for a name look-up");
    }
    if (!net_addr_wait_for(look, timeout_ms)) {
        (void)err_set(err, ERR_TIMEOUT, "no name server answered the question for %s within %ld ms", host, timeout_ms);
        return err_because(err, ERR_CAUSE_NAME);
    }
    rc = net_addr_describe(look->result, host, err);
    if (!rc && !look->found.count)
        rc = err_set(err, ERR_NOT_FOUND, "the name %s has no address", host);
    if (rc)
        (void)err_because(err, ERR_CAUSE_NAME);
    if (!rc)
        *out = look->found;
    net_addr_look_free(look);
    return rc;
}

/* -- ports ------------------------------------------------------------------------------------------------------------------ */

static int wait_connected(int fd, long timeout_ms) {
    const int64_t until_ms = clock_mono_ms() + timeout_ms;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int why = 0, n;
    socklen_t len = sizeof(why);
    do {
        const int64_t left_ms = until_ms - clock_mono_ms();
        n = poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0)
        return ETIMEDOUT;
    return n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) ? errno : why;
}

/* A socket in *out, closed by the caller, for which connecting has ended or (EINPROGRESS) begun. */
static int begin_connecting(const char *address, unsigned port, int *out) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *to = NULL;
    char service[8];
    int why = 0;
    (void)snprintf(service, sizeof(service), "%u", port);
    *out = -1;
    if (getaddrinfo(address, service, &hints, &to))
        return EINVAL;
    *out = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*out < 0 || connect(*out, to->ai_addr, to->ai_addrlen))
        why = errno;
    freeaddrinfo(to);
    return why;
}

int net_connect(const char *address, unsigned port, long timeout_ms, int *out) {
    int fd, why = begin_connecting(address, port, &fd);
    if (why == EINPROGRESS)
        why = wait_connected(fd, timeout_ms);
    if (!why)
        *out = fd;
    else if (fd >= 0)
        (void)close(fd);
    return why;
}

static void try_some(struct net_try *tries, size_t count, long timeout_ms) {
    const int64_t until_ms = clock_mono_ms() + timeout_ms;
    int fds[NET_TRIES_AT_ONCE];
    for (size_t i = 0; i < count; i++)
        tries[i].why = begin_connecting(tries[i].address, tries[i].port, &fds[i]);
    for (size_t i = 0; i < count; i++) {
        const int64_t left_ms = until_ms - clock_mono_ms();
        if (tries[i].why == EINPROGRESS)
            tries[i].why = wait_connected(fds[i], left_ms > 0 ? (long)left_ms : 0);
        if (fds[i] >= 0)
            (void)close(fds[i]);
    }
}

void net_try_ports(struct net_try *tries, size_t count, long timeout_ms) {
    for (size_t at = 0; at < count; at += NET_TRIES_AT_ONCE)
        try_some(tries + at, count - at < NET_TRIES_AT_ONCE ? count - at : NET_TRIES_AT_ONCE, timeout_ms);
}

int net_probe_port(const char *address, unsigned port, long timeout_ms, struct err *err) {
    int fd = -1, why = net_connect(address, port, timeout_ms, &fd);
    switch (why) {
    case 0: (void)close(fd); return 0;
    case EINVAL: return err_set(err, ERR_INVALID, "%s is not a numeric address", address);
    case ETIMEDOUT: return err_set(err, ERR_TIMEOUT, "no answer from %s port %u", address, port);
    case ECONNREFUSED:
        (void)err_set(err, ERR_UNREACHABLE, "%s refuses connections on port %u", address, port);
        return err_because(err, ERR_CAUSE_PORT);
    default: return err_set(err, ERR_UNREACHABLE, "%s port %u cannot be reached: %s", address, port, strerrordesc_np(why));
    }
}

bool net_same_address(const char *a, const char *b) {
    uint8_t x[16], y[16];
    return net_addr_parse(a, x) && net_addr_parse(b, y) && !memcmp(x, y, sizeof(x));
}
