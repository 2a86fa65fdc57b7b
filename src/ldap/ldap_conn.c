/* One connection to a directory server: reaching it, TLS. Layer 2 (ldap).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * We resolve and connect by ourselves, and hand the socket to libldap: its own look-up of names holds a lock of the process while a name server is
 * silent, so one source would stall the others, and its connect cannot be told apart from TLS. */
#include "ldap_conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openldap.h> /* ldap_init_fd */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "ldap_guard.h"
#include "ldap_private.h"
#include "net_look.h"
#include "str.h"
#include "x509.h"

#define ANSWER_BYTES_MAX ((ber_len_t)16 * 1024 * 1024)

/* -- the socket ------------------------------------------------------------------------------------------------------------ */

static int find_address(const char *address, unsigned port, struct addrinfo **out) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    char service[8];
    (void)snprintf(service, sizeof(service), "%u", port);
    return getaddrinfo(address, service, &hints, out);
}

/* errno of what became of it, 0 if it is there. */
static int wait_connected(int fd, int64_t until_ms) {
    struct pollfd look = {.fd = fd, .events = POLLOUT};
    socklen_t n = sizeof(int);
    int64_t left_ms = until_ms - clock_mono_ms();
    int error = 0, count = poll(&look, 1, left_ms > 0 ? (int)left_ms : 0);
    if (count < 0)
        return errno == EINTR ? wait_connected(fd, until_ms) : errno;
    if (!count)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) ? errno : error;
}

/* A peer that stalls in the middle of an answer must not hold the thread: reads are given up by the kernel. */
static void set_limits(int fd, long call_timeout_ms) {
    const struct timeval limit = {.tv_sec = call_timeout_ms / 1000, .tv_usec = call_timeout_ms % 1000 * 1000};
    const int one = 1, flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK); /* libldap would spin */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

static int connect_to(const struct addrinfo *to, int64_t until_ms, int *error) {
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        *error = errno;
        return -1;
    }
    *error = connect(fd, to->ai_addr, to->ai_addrlen) ? errno : 0;
    if (*error == EINPROGRESS)
        *error = wait_connected(fd, until_ms);
    if (!*error)
        return fd;
    (void)close(fd);
    return -1;
}

/* The first address that answers. */
static int reach(const struct ldap_target *target, int *out, struct err *err) {
    const struct ldap_url *url = target->url;
    const int64_t until_ms = clock_mono_ms() + target->connect_timeout_ms;
    struct net_addresses found = {.count = 0};
    struct err why = {0};
    int error = 0, fd = -1, rc = net_lookup_name(url->host, target->connect_timeout_ms, &found, &why);
    for (size_t i = 0; !rc && fd < 0 && i < found.count; i++) {
        struct addrinfo *to = NULL;
        if (find_address(found.items[i], url->port, &to))
            continue;
        fd = connect_to(to, until_ms, &error);
        freeaddrinfo(to);
    }
    if (rc) /* a name that is not known is no missing object of ours */
        return err_set(err, rc == ERR_NOT_FOUND ? ERR_UNREACHABLE : rc, "%s", why.text);
    if (fd < 0 && error == ETIMEDOUT)
        return err_set(err, ERR_TIMEOUT, "%s port %u did not answer within %ld ms", url->host, url->port,
                       target->connect_timeout_ms);
    if (fd < 0)
        return err_set(err, ERR_UNREACHABLE, "%s port %u cannot be reached: %s", url->host, url->port, strerrordesc_np(error));
    *out = fd;
    return 0;
}

/* -- TLS ------------------------------------------------------------------------------------------------------------------- */

static struct timeval time_of(long ms) {
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

static int set_options(struct ldap_conn *conn, const struct ldap_target *target) {
    const struct timeval connect = time_of(target->connect_timeout_ms), call = time_of(target->call_timeout_ms);
    const int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, least = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2;
    ber_len_t most = ANSWER_BYTES_MAX;
    Sockbuf *sb = NULL;
    int rc = ldap_set_option(conn->ld, LDAP_OPT_PROTOCOL_VERSION, &version);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_NETWORK_TIMEOUT, &connect);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_TIMEOUT, &call);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_RESTART, LDAP_OPT_OFF);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_X_SASL_NOCANON, LDAP_OPT_ON);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_X_TLS_PROTOCOL_MIN, &least);
    rc = rc ? rc : ldap_get_option(conn->ld, LDAP_OPT_SOCKBUF, &sb);
    if (!rc)
        (void)ber_sockbuf_ctrl(sb, LBER_SB_OPT_SET_MAX_INCOMING, &most);
    return rc;
}

/* The library wants a file: one in memory, which lives as long as it is read. */
static int use_pem(struct ldap_conn *conn, const char *pem, int *fd) {
    char path[40];
    size_t n = strlen(pem);
    *fd = memfd_create("ca", MFD_CLOEXEC);
    if (*fd < 0 || write(*fd, pem, n) != (ssize_t)n)
        return LDAP_NO_MEMORY;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
    return ldap_set_option(conn->ld, LDAP_OPT_X_TLS_CACERTFILE, path);
}

static int set_trust(struct ldap_conn *conn, const struct ldap_target *target, struct err *err) {
    const int as_client = 0;
    _cleanup_close_ int fd = -1;
    int rc = LDAP_SUCCESS;
    if (target->ca_file && access(target->ca_file, R_OK)) {
        (void)err_set(err, ERR_CONFIG, "the CA file %s cannot be read: %s", target->ca_file, strerrordesc_np(errno));
        return err_remedy(err, "put it there for the user that kaasd runs as, or give the PEM text itself");
    }
    if (target->ca_file)
        rc = ldap_set_option(conn->ld, LDAP_OPT_X_TLS_CACERTFILE, target->ca_file);
    else if (target->ca_pem)
        rc = use_pem(conn, target->ca_pem, &fd);
    rc = rc ? rc : ldap_set_option(conn->ld, LDAP_OPT_X_TLS_NEWCTX, &as_client); /* reads it now */
    if (!rc)
        return 0;
    (void)err_set(err, ERR_CONFIG, "the CA of the directory cannot be used");
    return err_remedy(err, "it must be PEM certificates of the authority that made the servers' certificates");
}

/* When the server's certificate ends; 0 if that cannot be found out. */
static int64_t read_end(LDAP *ld) {
    struct berval der = {0};
    struct x509_info info = {0};
    int64_t ends_ms = 0;
    if (ldap_get_option(ld, LDAP_OPT_X_TLS_PEERCERT, &der) || !der.bv_val)
        return 0;
    if (!x509_parse_der(der.bv_val, der.bv_len, &info, NULL))
        ends_ms = info.not_after_ms;
    x509_info_done(&info);
    ber_memfree(der.bv_val);
    return ends_ms;
}

static int tls_failed(struct ldap_conn *conn, int code, const struct ldap_url *url, struct err *err) {
    char *why = NULL;
    if (code == LDAP_TIMEOUT)
        return err_set(err, ERR_TIMEOUT, "%s accepts the connection, but says nothing", conn->place);
    if (!url->is_tls && (code == LDAP_PROTOCOL_ERROR || code == LDAP_UNAVAILABLE || code == LDAP_UNWILLING_TO_PERFORM)) {
        (void)err_set(err, ERR_TLS, "%s offers no StartTLS: nothing was sent", conn->place);
        return err_remedy(err, "give the server a certificate, or use its ldaps:// address");
    }
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &why);
    (void)err_set(err, ERR_TLS, "TLS with %s failed, or its certificate is not trusted for this name: nothing was sent",
                  conn->place);
    /* libldap 2.5 with GnuTLS has no words for a certificate that is not trusted. */
    (void)err_detail(err, "%s: %s", ldap_err2string(code), why && !strstr(why, "unknown error") ? why : "no more is known");
    ldap_memfree(why);
    return err_remedy(err, "give the CA of the directory's certificates (ca_file or ca_pem), and an address that the certificate "
                           "names; ldaps:// is for ports with TLS from the first byte (636), ldap:// for StartTLS (389)");
}

/* What libldap says; LDAP_TIMEOUT if it had to be stopped. */
static int shake_hands(struct ldap_conn *conn, const struct ldap_target *target, int *out, struct err *err) {
    struct ldap_guard guard;
    int fd = -1, code, rc = 0;
    if (ldap_get_option(conn->ld, LDAP_OPT_DESC, &fd) || fd < 0)
        return err_set(err, ERR_INTERNAL, "libldap has no socket");
    rc = ldap_guard_begin(&guard, fd, target->connect_timeout_ms, err);
    if (rc)
        return rc;
    code = target->url->is_tls ? ldap_install_tls(conn->ld) : ldap_start_tls_s(conn->ld, NULL, NULL);
    *out = ldap_guard_end(&guard) ? LDAP_TIMEOUT : code;
    return 0;
}

static int secure(struct ldap_conn *conn, const struct ldap_target *target, struct err *err) {
    int code = LDAP_SUCCESS, rc = set_trust(conn, target, err);
    if (!rc)
        rc = shake_hands(conn, target, &code, err);
    if (rc)
        return rc;
    if (code)
        return tls_failed(conn, code, target->url, err);
    conn->is_started = true;
    conn->cert_ends_ms = read_end(conn->ld);
    (void)ldap_set_option(conn->ld, LDAP_OPT_URI, LDAP_NOWHERE);
    return ldap_check_tls(conn, err);
}

int ldap_check_tls(struct ldap_conn *conn, struct err *err) {
    if (conn->is_sealed || (conn->is_started && ldap_tls_inplace(conn->ld)))
        return 0;
    return err_set(err, ERR_UNREACHABLE, "the connection to %s is lost", conn->place);
}

void ldap_conn_prepare(void) {
    int version = 0;
    (void)ldap_get_option(NULL, LDAP_OPT_PROTOCOL_VERSION, &version);
}

/* -- the whole ------------------------------------------------------------------------------------------------------------- */

static int take_socket(struct ldap_conn *conn, const struct ldap_target *target, int *fd, struct err *err) {
    const bool is_six = strchr(target->url->host, ':') != NULL;
    (void)snprintf(conn->place, sizeof(conn->place), "%s://%s%s%s:%u", target->url->is_tls ? "ldaps" : "ldap", is_six ? "[" : "",
                   target->url->host, is_six ? "]" : "", target->url->port);
    set_limits(*fd, target->call_timeout_ms);
    if (ldap_init_fd(*fd, LDAP_PROTO_TCP, conn->place, &conn->ld))
        return err_set(err, ERR_NOMEM, "out of memory");
    *fd = -1; /* closed with it */
    return set_options(conn, target) ? err_set(err, ERR_INTERNAL, "libldap refuses an option") : 0;
}

int ldap_conn_open(const struct ldap_target *target, struct ldap_conn **out, struct err *err) {
    _cleanup_(ldap_conn_free) struct ldap_conn *conn = calloc(1, sizeof(*conn));
    _cleanup_close_ int fd = -1;
    int rc = conn ? reach(target, &fd, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    conn->call_timeout_ms = target->call_timeout_ms;
    conn->is_for_kerberos = target->is_for_kerberos;
    rc = take_socket(conn, target, &fd, err);
    if (!rc && !conn->is_for_kerberos)
        rc = secure(conn, target, err);
    if (!rc)
        *out = STEAL(conn);
    return rc;
}

void ldap_conn_free(struct ldap_conn *conn) {
    if (!conn)
        return;
    if (conn->ld)
        (void)ldap_unbind_ext(conn->ld, NULL, NULL);
    free(conn);
}

int64_t ldap_conn_cert_ends_ms(const struct ldap_conn *conn) {
    return conn->cert_ends_ms;
}
