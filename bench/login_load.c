/* Sends sign-ons with ready-made tokens, as fast as the server answers: login_load HOST PORT METHOD PATH CONNECTIONS < TOKENS. Run by bench/login.py; no
 * measurement by itself. One token a line, in base64; each is sent once, by the connection that is free. Prints seconds, good and bad answers.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_util.h"

#define TOKENS_MAX 200000U
#define CONNECTIONS_MAX 64U
#define ANSWER_BYTES 65536U

static char *tokens[TOKENS_MAX];
static unsigned tokens_count;
static _Atomic unsigned next_token, good, bad;
static const char *host, *method, *path;
static unsigned port;
static SSL_CTX *context;
static pthread_barrier_t begin;

static void read_tokens(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 1) {
        if (tokens_count == TOKENS_MAX)
            bench_die("too many tokens");
        line[n - 1] = '\0';
        tokens[tokens_count++] = strdup(line);
    }
    free(line);
}

static SSL *open_connection(int *fd) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    SSL *ssl = SSL_new(context);
    int on = 1;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1 || *fd < 0 || connect(*fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        bench_die("connect");
    (void)setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!ssl || SSL_set_fd(ssl, *fd) != 1 || SSL_connect(ssl) != 1)
        bench_die("TLS handshake");
    return ssl;
}

/* Where the body ends, as soon as the head is whole; 0 before. */
static size_t end_of_answer(const char *text) {
    const char *end = strstr(text, "\r\n\r\n"), *field = text;
    size_t body = 0;
    if (!end)
        return 0;
    while ((field = strstr(field, "\r\n")) && field < end) {
        field += 2;
        if (strncasecmp(field, "Content-Length:", 15) == 0)
            body = strtoul(field + 15, NULL, 10);
    }
    return (size_t)(end - text) + 4 + body;
}

static bool is_answered_well(SSL *ssl, char *answer) {
    size_t n = 0, whole = 0;
    while (!whole || n < whole) {
        int got = SSL_read(ssl, answer + n, (int)(ANSWER_BYTES - 1 - n));
        if (got <= 0)
            bench_die("the server closed the connection");
        n += (size_t)got;
        answer[n] = '\0';
        whole = end_of_answer(answer);
    }
    return strncmp(answer, "HTTP/1.1 200", 12) == 0;
}

static void *run_connection(void *arg) {
    static const char form[] = "%s %s HTTP/1.1\r\nHost: localhost\r\nX-KaaS: 1\r\n%sAuthorization: Negotiate %s\r\n\r\n";
    char *answer = malloc(ANSWER_BYTES), *request = malloc(ANSWER_BYTES);
    int fd;
    SSL *ssl = open_connection(&fd);
    unsigned i;
    (void)arg;
    (void)pthread_barrier_wait(&begin);
    while ((i = atomic_fetch_add(&next_token, 1)) < tokens_count) {
        int n = snprintf(request, ANSWER_BYTES, form, method, path, *method == 'P' ? "Content-Length: 0\r\n" : "", tokens[i]);
        if (n <= 0 || (unsigned)n >= ANSWER_BYTES || SSL_write(ssl, request, n) != n)
            bench_die("sending");
        bool is_good = is_answered_well(ssl, answer);
        if (!is_good && atomic_load(&bad) == 0)
            (void)fprintf(stderr, "%s\n", answer);
        atomic_fetch_add(is_good ? &good : &bad, 1);
    }
    SSL_free(ssl);
    (void)close(fd);
    free(answer);
    free(request);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[CONNECTIONS_MAX];
    unsigned count;
    if (argc != 6)
        bench_die("login_load HOST PORT METHOD PATH CONNECTIONS");
    host = argv[1], port = (unsigned)strtoul(argv[2], NULL, 10), method = argv[3], path = argv[4];
    count = (unsigned)strtoul(argv[5], NULL, 10);
    read_tokens();
    context = SSL_CTX_new(TLS_client_method());
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) || /* the same for whoever answers */
        !SSL_CTX_set_ciphersuites(context, "TLS_AES_256_GCM_SHA384") || !count || count > CONNECTIONS_MAX ||
        pthread_barrier_init(&begin, NULL, count + 1))
        bench_die("setting up");
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, run_connection, NULL))
            bench_die("a thread");
    (void)pthread_barrier_wait(&begin);
    double began = bench_now_s();
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    (void)printf("%.6f %u %u\n", bench_now_s() - began, atomic_load(&good), atomic_load(&bad));
    SSL_CTX_free(context);
    return 0;
}
