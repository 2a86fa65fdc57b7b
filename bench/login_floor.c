/* The least that a sign-on by SPNEGO can be with these libraries: TLS and HTTP by libmicrohttpd with a thread for each connection, the token accepted by
 * libkrb5, and, with a socket of the database, one row in a durable transaction: of its own, or shared with those that come at the same time. No person, role, session or audit log: what the product
 * does besides comes on top. Run by bench/login.py --floor; no measurement by itself. Not part of the product.
 *
 * login_floor CERT KEY KEYTAB RCACHE [DATABASE-SOCKET [shared]]: prints the port, serves until standard input ends.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gssapi/gssapi_ext.h>
#include <microhttpd.h>
#include <mysql.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench_util.h"

#define TEXT_BYTES_MAX 65536U
#define ROW_BYTES 200U  /* of a session or a line of the audit log */
#define BODY_BYTES 595U /* as long as the product's answer */
#define WORD "Negotiate "
#define WORD_BYTES (sizeof(WORD) - 1)
#define ROWS_MAX 4U /* of one transaction */

static const char *keytab, *replay_cache, *database_socket;
static bool is_shared;
static char body[BODY_BYTES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static unsigned long arrived, written; /* rows, numbered as they come; lock guards these */
static bool is_writing;

/* What a thread, that is a connection, keeps. */
static __thread gss_cred_id_t cred;
static __thread MYSQL *database;
static __thread MYSQL_STMT *inserts[ROWS_MAX]; /* of one row, two, ... */

static gss_cred_id_t own_cred(void) {
    gss_key_value_element_desc elements[] = {{"keytab", keytab}, {"rcache", replay_cache}};
    const gss_key_value_set_desc store = {2, elements};
    OM_uint32 minor;
    if (!cred && GSS_ERROR(gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_ACCEPT, &store,
                                                 &cred, NULL, NULL)))
        bench_die("the keytab");
    return cred;
}

static MYSQL_STMT *own_insert(unsigned rows) {
    static const char text[] = "INSERT INTO floor.sign_on (text) VALUES (?), (?), (?), (?)";
    MYSQL_STMT **insert = &inserts[rows - 1];
    if (*insert)
        return *insert;
    if (!database &&
        (!(database = mysql_init(NULL)) || !mysql_real_connect(database, NULL, "root", NULL, NULL, 0, database_socket, 0)))
        bench_die("the database");
    *insert = mysql_stmt_init(database);
    if (!*insert || mysql_stmt_prepare(*insert, text, sizeof(text) - 1 - (ROWS_MAX - rows) * (sizeof(", (?)") - 1)))
        bench_die("the statement");
    return *insert;
}

static void write_rows(unsigned rows) {
    char text[ROW_BYTES];
    unsigned long n = sizeof(text);
    MYSQL_BIND binds[ROWS_MAX];
    memset(text, 'x', sizeof(text));
    memset(binds, 0, sizeof(binds));
    for (unsigned i = 0; i < rows; i++)
        binds[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING, .buffer = text, .buffer_length = sizeof(text), .length = &n};
    if (mysql_stmt_bind_param(own_insert(rows), binds) || mysql_stmt_execute(own_insert(rows)))
        bench_die("a row");
}

/* Whoever finds nobody writing writes for all who wait. */
static void write_shared(void) {
    (void)pthread_mutex_lock(&lock);
    const unsigned long mine = ++arrived;
    while (written < mine) {
        if (is_writing) {
            (void)pthread_cond_wait(&moved, &lock);
            continue;
        }
        const unsigned long waiting = arrived - written, rows = waiting < ROWS_MAX ? waiting : ROWS_MAX;
        is_writing = true;
        (void)pthread_mutex_unlock(&lock);
        write_rows((unsigned)rows);
        (void)pthread_mutex_lock(&lock);
        written += rows;
        is_writing = false;
        (void)pthread_cond_broadcast(&moved);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* The reply as text, to be freed; NULL where the token is refused. */
static char *accept_token(const char *text) {
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_buffer_desc token = {.value = malloc(TEXT_BYTES_MAX)}, reply = GSS_C_EMPTY_BUFFER;
    size_t n = strlen(text);
    char *out = NULL;
    OM_uint32 minor;
    if (!token.value || n >= TEXT_BYTES_MAX)
        bench_die("a token");
    int bytes = EVP_DecodeBlock(token.value, (const unsigned char *)text, (int)n);
    for (size_t i = n; i > 0 && text[i - 1] == '='; i--)
        bytes--;
    token.length = bytes > 0 ? (size_t)bytes : 0;
    OM_uint32 major = gss_accept_sec_context(&minor, &context, own_cred(), &token, GSS_C_NO_CHANNEL_BINDINGS, NULL, NULL, &reply,
                                             NULL, NULL, NULL);
    if (major == GSS_S_COMPLETE && (out = malloc(WORD_BYTES + reply.length * 2 + 8))) {
        memcpy(out, WORD, WORD_BYTES);
        (void)EVP_EncodeBlock((unsigned char *)out + WORD_BYTES, reply.value, (int)reply.length);
    }
    (void)gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
    (void)gss_release_buffer(&minor, &reply);
    free(token.value);
    return out;
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url, const char *method, const char *version,
                              const char *data, size_t *n, void **ctx) {
    static int seen;
    const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    (void)cls, (void)url, (void)method, (void)version, (void)data, (void)n;
    if (!*ctx) {
        *ctx = &seen;
        return MHD_YES;
    }
    char *reply = given && strncmp(given, WORD, WORD_BYTES) == 0 ? accept_token(given + WORD_BYTES) : NULL;
    if (reply && database_socket && is_shared)
        write_shared();
    else if (reply && database_socket)
        write_rows(1);
    struct MHD_Response *r = MHD_create_response_from_buffer(sizeof(body), body, MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(r, "WWW-Authenticate", reply ? reply : "Negotiate");
    enum MHD_Result ok = MHD_queue_response(c, reply ? 200 : 401, r);
    MHD_destroy_response(r);
    free(reply);
    return ok;
}

static char *load_text(const char *path) {
    char *text = calloc(1, TEXT_BYTES_MAX);
    FILE *f = fopen(path, "re");
    if (!f || !text || !fread(text, 1, TEXT_BYTES_MAX - 1, f))
        bench_die(path);
    (void)fclose(f);
    return text;
}

static void make_table(void) {
    MYSQL *mysql = mysql_init(NULL);
    if (!mysql || !mysql_real_connect(mysql, NULL, "root", NULL, NULL, 0, database_socket, 0) ||
        mysql_query(mysql, "CREATE DATABASE IF NOT EXISTS floor") ||
        mysql_query(
            mysql,
            "CREATE TABLE IF NOT EXISTS floor.sign_on (id BIGINT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(250)) ENGINE=InnoDB"))
        bench_die("the table");
    mysql_close(mysql);
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char c;
    if (argc < 5)
        bench_die("login_floor CERT KEY KEYTAB RCACHE [DATABASE-SOCKET [shared]]");
    keytab = argv[3], replay_cache = argv[4], database_socket = argv[5];
    is_shared = argc == 7;
    memset(body, 'x', sizeof(body));
    if (database_socket)
        make_table();
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&at, &n))
        bench_die("listen");
    struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_TLS, 0,
                                            NULL, NULL, answer, NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_HTTPS_MEM_CERT,
                                            load_text(argv[1]), MHD_OPTION_HTTPS_MEM_KEY, load_text(argv[2]), MHD_OPTION_END);
    if (!d)
        bench_die("MHD_start_daemon");
    (void)printf("%u\n", ntohs(at.sin_port));
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &c, 1) > 0) {}
    MHD_stop_daemon(d);
    return 0;
}
