/* One connection to a directory server: reaching it, TLS, binding, searching. Layer 2 (ldap); the only file that sees libldap.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * We resolve and connect by ourselves, and hand the socket to libldap: its own look-up of names holds a lock of the process while a name server is
 * silent, so one source would stall the others, and its connect cannot be told apart from TLS. */
#include "ldap_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <ldap.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openldap.h> /* ldap_init_fd */
#include <pthread.h>
#include <sasl/sasl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "ldap_text.h"
#include "net_addr.h"
#include "str.h"
#include "x509.h"

#define ANSWER_BYTES_MAX ((ber_len_t)16 * 1024 * 1024)
/* Where libldap opens a lost connection anew. */
#define LDAP_NOWHERE "ldapi://%2Fnonexistent"

struct ldap_conn {
    LDAP *ld;
    long call_timeout_ms;
    int64_t cert_ends_ms;
    bool is_started; /* TLS is there */
    bool is_for_kerberos, is_sealed;
    char place[280]; /* "ldaps://dc1.ad.test:636", for messages */
};

struct ldap_entry {
    LDAP *ld;
    LDAPMessage *message;
};

/* A thread that cuts a socket when the time is up. */
struct ldap_guard {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the two below */
    pthread_cond_t ended;
    bool is_over, has_fired;
    struct timespec until; /* monotonic */
    int fd;                /* a duplicate: it stays what it is, whoever closes the other */
};

/* -- a limit for what libldap does not limit ----------------------------------------------------------------------- */

static void *ldap_conn_watch(void *arg) {
    struct ldap_guard *guard = arg;
    int rc = 0;
    LOCKED(&guard->lock);
    while (!guard->is_over && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&guard->ended, &guard->lock, &guard->until);
    if (!guard->is_over) {
        guard->has_fired = true;
        (void)shutdown(guard->fd, SHUT_RDWR); /* whoever waits for the peer is told that it is gone */
    }
    return NULL;
}

static void ldap_conn_release(struct ldap_guard *guard) {
    (void)pthread_mutex_destroy(&guard->lock);
    (void)pthread_cond_destroy(&guard->ended);
    (void)close(guard->fd);
}

static int ldap_guard_begin(struct ldap_guard *guard, int fd, long timeout_ms, struct err *err) {
    *guard = (struct ldap_guard){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    if (guard->fd < 0)
        return err_set(err, ERR_NOMEM, "no descriptor for a connection to a directory");
    guard->until = clock_deadline(timeout_ms);
    (void)pthread_mutex_init(&guard->lock, NULL);
    clock_init_cond(&guard->ended);
    if (!pthread_create(&guard->thread, NULL, ldap_conn_watch, guard))
        return 0;
    ldap_conn_release(guard);
    return err_set(err, ERR_NOMEM, "no thread for a connection to a directory");
}

static bool ldap_guard_end(struct ldap_guard *guard) {
    (void)pthread_mutex_lock(&guard->lock);
    guard->is_over = true;
    (void)pthread_cond_signal(&guard->ended);
    (void)pthread_mutex_unlock(&guard->lock);
    (void)pthread_join(guard->thread, NULL);
    ldap_conn_release(guard);
    return guard->has_fired;
}

/* 0 if TLS is in place, or sealing by Kerberos. libldap opens a lost connection anew by itself, and would go on without TLS. */
static int ldap_check_tls(struct ldap_conn *conn, struct err *err) {
    if (conn->is_sealed || (conn->is_started && ldap_tls_inplace(conn->ld)))
        return 0;
    return err_set(err, ERR_UNREACHABLE, "the connection to %s is lost", conn->place);
}

/* For a result code of libldap, with the server named; `doing` is "search". */
static int ldap_failed(struct ldap_conn *conn, int code, const char *doing, struct err *err) {
    char *why = NULL;
    int rc = ERR_UPSTREAM;
    if (code == LDAP_TIMEOUT || code == LDAP_TIMELIMIT_EXCEEDED)
        return err_set(err, ERR_TIMEOUT, "%s did not answer a %s within %ld ms", conn->place, doing, conn->call_timeout_ms);
    if (code == LDAP_NO_MEMORY)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (code == LDAP_SERVER_DOWN || code == LDAP_UNAVAILABLE || code == LDAP_BUSY || code == LDAP_CONNECT_ERROR)
        rc = ERR_UNREACHABLE;
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &why);
    (void)err_set(err, rc, "%s refuses a %s: %s", conn->place, doing, ldap_err2string(code));
    (void)err_detail(err, "%s", why ? why : "no more is known");
    ldap_memfree(why);
    return rc;
}

/* -- the socket ------------------------------------------------------------------------------------------------------------ */

static struct timeval time_of(long ms) {
    return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

/* A peer that stalls in the middle of an answer must not hold the thread: reads are given up by the kernel. */
static void set_limits(int fd, long call_timeout_ms) {
    const struct timeval limit = time_of(call_timeout_ms);
    const int one = 1, flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK); /* libldap would spin */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

/* The first address that answers. */
static int ldap_conn_reach(const struct ldap_target *target, int *out, struct err *err) {
    const struct ldap_url *url = target->url;
    const int64_t until_ms = clock_mono_ms() + target->connect_timeout_ms;
    struct net_addresses found = {.count = 0};
    struct err why = {0};
    int error = 0, fd = -1, rc = net_lookup_name(url->host, target->connect_timeout_ms, &found, &why);
    for (size_t i = 0; !rc && fd < 0 && i < found.count; i++)
        error = net_connect(found.items[i], url->port, (long)(until_ms - clock_mono_ms()), &fd);
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

static int ldap_conn_set_options(struct ldap_conn *conn, const struct ldap_target *target) {
    const struct timeval connect = time_of(target->connect_timeout_ms), call = time_of(target->call_timeout_ms);
    const int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, least = LDAP_OPT_X_TLS_PROTOCOL_TLS1_2;
    ber_len_t most = ANSWER_BYTES_MAX;
    Sockbuf *sb = NULL;
    int rc;
    if ((rc = ldap_set_option(conn->ld, LDAP_OPT_PROTOCOL_VERSION, &version)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_NETWORK_TIMEOUT, &connect)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_TIMEOUT, &call)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_RESTART, LDAP_OPT_OFF)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_X_SASL_NOCANON, LDAP_OPT_ON)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand)) ||
        (rc = ldap_set_option(conn->ld, LDAP_OPT_X_TLS_PROTOCOL_MIN, &least)) ||
        (rc = ldap_get_option(conn->ld, LDAP_OPT_SOCKBUF, &sb)))
        return rc;
    (void)ber_sockbuf_ctrl(sb, LBER_SB_OPT_SET_MAX_INCOMING, &most);
    return 0;
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
static int64_t ldap_conn_read_end(LDAP *ld) {
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

static int ldap_conn_secure(struct ldap_conn *conn, const struct ldap_target *target, struct err *err) {
    int code = LDAP_SUCCESS, rc = set_trust(conn, target, err);
    if (!rc)
        rc = shake_hands(conn, target, &code, err);
    if (rc)
        return rc;
    if (code)
        return tls_failed(conn, code, target->url, err);
    conn->is_started = true;
    conn->cert_ends_ms = ldap_conn_read_end(conn->ld);
    (void)ldap_set_option(conn->ld, LDAP_OPT_URI, LDAP_NOWHERE);
    return ldap_check_tls(conn, err);
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
    return ldap_conn_set_options(conn, target) ? err_set(err, ERR_INTERNAL, "libldap refuses an option") : 0;
}

int ldap_conn_open(const struct ldap_target *target, struct ldap_conn **out, struct err *err) {
    _cleanup_(ldap_conn_free) struct ldap_conn *conn = calloc(1, sizeof(*conn));
    _cleanup_close_ int fd = -1;
    int rc = conn ? ldap_conn_reach(target, &fd, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    conn->call_timeout_ms = target->call_timeout_ms;
    conn->is_for_kerberos = target->is_for_kerberos;
    rc = take_socket(conn, target, &fd, err);
    if (!rc && !conn->is_for_kerberos)
        rc = ldap_conn_secure(conn, target, err);
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

/* -- binding: proving who asks -------------------------------------------------------- */

#define REFUSED "the credentials were not accepted"
#define NO_SEAL "maxssf=0"                  /* inside TLS: Windows refuses a second sealing, Samba as well */
#define SEAL "minssf=128,maxssf=2147483647" /* at least AES */
#define LEAST_SSF 128

static bool ldap_conn_is_refusal(int code) {
    return code == LDAP_INVALID_CREDENTIALS || code == LDAP_INSUFFICIENT_ACCESS || code == LDAP_INAPPROPRIATE_AUTH ||
           code == LDAP_NO_SUCH_OBJECT || code == LDAP_INVALID_DN_SYNTAX || code == LDAP_CONSTRAINT_VIOLATION ||
           code == LDAP_UNWILLING_TO_PERFORM;
}

/* How we connect is refused, whoever it is: that is for an administrator to mend. */
static int way_refused(struct ldap_conn *conn, const struct ldap_reason *reason, const char *diagnostic, struct err *err) {
    (void)err_set(err, ERR_UPSTREAM_DENIED, "%s refuses the bind: %s", conn->place, reason->text);
    (void)err_detail(err, "%s", diagnostic);
    return err_remedy(err, "%s", reason->remedy);
}

static int ldap_conn_refused(struct ldap_conn *conn, int code, struct err *err) {
    char *diagnostic = NULL;
    const struct ldap_reason *reason;
    int rc = ERR_CREDENTIALS;
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &diagnostic);
    reason = ldap_text_reason(diagnostic);
    if (reason && reason->remedy) {
        rc = way_refused(conn, reason, diagnostic, err);
    } else {
        (void)err_set(err, rc, REFUSED);
        (void)err_detail(err, "%s: %s", reason ? reason->text : ldap_err2string(code), diagnostic ? diagnostic : "");
    }
    ldap_memfree(diagnostic);
    return rc;
}

int ldap_conn_bind_password(struct ldap_conn *conn, const char *dn, const char *password, struct err *err) {
    struct berval secret = {.bv_val = (char *)(uintptr_t)password, .bv_len = strlen(password)};
    int rc = conn->is_for_kerberos ? err_set(err, ERR_INTERNAL, "no password without TLS") : ldap_check_tls(conn, err);
    if (rc)
        return rc;
    if (!*dn || !secret.bv_len) {
        (void)err_set(err, ERR_CREDENTIALS, REFUSED);
        return err_detail(err, "empty %s: never sent, it would be an anonymous bind", *dn ? "password" : "name");
    }
    rc = ldap_sasl_bind_s(conn->ld, dn, LDAP_SASL_SIMPLE, &secret, NULL, NULL, NULL);
    if (ldap_conn_is_refusal(rc))
        return ldap_conn_refused(conn, rc, err);
    return rc ? ldap_failed(conn, rc, "bind", err) : 0;
}

/* GSSAPI asks for nothing that is not in the credentials: each question gets its default, or an empty answer. It asks before it needs credentials, and
 * libldap has no earlier place to hand them over; those that it acquires by itself it never releases (Cyrus SASL 2.1.28). */
static int ldap_conn_answer(LDAP *ld, unsigned flags, void *credential, void *questions) {
    (void)flags;
    (void)ldap_set_option(ld, LDAP_OPT_X_SASL_GSS_CREDS, credential);
    for (sasl_interact_t *q = questions; q->id != SASL_CB_LIST_END; q++) {
        q->result = q->defresult ? q->defresult : "";
        q->len = (unsigned)strlen(q->result);
    }
    return LDAP_SUCCESS;
}

static int bind_gssapi(struct ldap_conn *conn, const char *properties, void *credential) {
    (void)ldap_set_option(conn->ld, LDAP_OPT_X_SASL_SECPROPS, (void *)(uintptr_t)properties);
    return ldap_sasl_interactive_bind_s(conn->ld, NULL, "GSSAPI", NULL, NULL, LDAP_SASL_QUIET, ldap_conn_answer, credential);
}

static int gssapi_fail(struct ldap_conn *conn, int code, const char *diagnostic, struct err *err) {
    const struct ldap_reason *reason = ldap_text_reason(diagnostic);
    const bool wants_seal = code == LDAP_STRONG_AUTH_REQUIRED && !conn->is_for_kerberos;
    if (reason && reason->remedy)
        return way_refused(conn, reason, diagnostic, err);
    (void)err_set(err, wants_seal ? ERR_UPSTREAM_DENIED : ERR_CREDENTIALS, "%s does not accept our Kerberos credentials",
                  conn->place);
    (void)err_detail(err, "%s: %s", reason ? reason->text : ldap_err2string(code), diagnostic ? diagnostic : "");
    if (wants_seal)
        return err_remedy(
            err,
            "use the server's ldap:// address, where Kerberos seals the connection; or have Samba allow it inside TLS (ldap server "
            "require strong auth = allow_sasl_over_tls)");
    return err_remedy(
        err,
        "the server needs the service principal ldap/HOST for the host name of its address; here libsasl2-modules-gssapi-mit must "
        "be installed");
}

static int gssapi_refused(struct ldap_conn *conn, int code, struct err *err) {
    char *diagnostic = NULL;
    int rc;
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &diagnostic);
    rc = gssapi_fail(conn, code, diagnostic, err);
    ldap_memfree(diagnostic);
    return rc;
}

/* From here on everything is sealed; what is lost is not opened anew. */
static int begin_sealed(struct ldap_conn *conn, struct err *err) {
    ber_len_t ssf = 0;
    if (ldap_get_option(conn->ld, LDAP_OPT_X_SASL_SSF, &ssf) || ssf < LEAST_SSF)
        return err_set(err, ERR_TLS, "%s does not seal the connection", conn->place);
    conn->is_sealed = true;
    (void)ldap_set_option(conn->ld, LDAP_OPT_URI, LDAP_NOWHERE);
    return 0;
}

int ldap_conn_bind_gssapi(struct ldap_conn *conn, void *credential, struct err *err) {
    const int binding = LDAP_OPT_X_SASL_CBINDING_TLS_ENDPOINT; /* what Windows may ask for (LdapEnforceChannelBinding) */
    int rc = conn->is_for_kerberos ? 0 : ldap_check_tls(conn, err);
    if (rc)
        return rc;
    if (!conn->is_for_kerberos)
        (void)ldap_set_option(conn->ld, LDAP_OPT_X_SASL_CBINDING, &binding);
    rc = bind_gssapi(conn, conn->is_for_kerberos ? SEAL : NO_SEAL, credential);
    if (!rc)
        return conn->is_for_kerberos ? begin_sealed(conn, err) : 0;
    if (rc == LDAP_LOCAL_ERROR || rc == LDAP_INVALID_CREDENTIALS || rc == LDAP_AUTH_UNKNOWN ||
        rc == LDAP_AUTH_METHOD_NOT_SUPPORTED || rc == LDAP_STRONG_AUTH_REQUIRED)
        return gssapi_refused(conn, rc, err);
    return ldap_failed(conn, rc, "bind", err);
}

/* -- searching: questions and answers --------------------------------------------------- */

#define TEXT_BYTES_MAX 4096U

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

struct reading {
    const struct ldap_query *query;
    ldap_entry_fn *fn;
    void *arg;
};

static int ldap_conn_each(struct ldap_conn *conn, LDAPMessage *answer, const struct reading *reading, struct err *err) {
    unsigned count = 0;
    int rc = 0;
    for (LDAPMessage *m = ldap_first_entry(conn->ld, answer); !rc && m; m = ldap_next_entry(conn->ld, m)) {
        const struct ldap_entry entry = {.ld = conn->ld, .message = m};
        if (++count > reading->query->entries_max)
            return err_set(err, ERR_TOO_LARGE, "%s has more than %u entries for one question", conn->place,
                           reading->query->entries_max);
        rc = reading->fn(reading->arg, &entry, err);
    }
    return rc;
}

int ldap_conn_search(struct ldap_conn *conn, const struct ldap_query *query, ldap_entry_fn *fn, void *arg, struct err *err) {
    const int scope = query->scope == LDAP_SEARCH_BASE ? LDAP_SCOPE_BASE : LDAP_SCOPE_SUBTREE;
    struct timeval limit = time_of(conn->call_timeout_ms);
    LDAPMessage *answer = NULL;
    int rc = ldap_check_tls(conn, err);
    if (rc)
        return rc;
    rc = ldap_search_ext_s(conn->ld, query->base, scope, query->filter, (char **)(uintptr_t)query->attrs, 0, NULL, NULL, &limit,
                           (int)query->entries_max + 1, &answer);
    if (rc == LDAP_SUCCESS || rc == LDAP_REFERRAL || rc == LDAP_PARTIAL_RESULTS)
        rc = answer ? ldap_conn_each(conn, answer, &(struct reading){query, fn, arg}, err) : 0;
    else if (rc == LDAP_SIZELIMIT_EXCEEDED)
        rc = err_set(err, ERR_TOO_LARGE, "%s has more entries for one question than it or we allow", conn->place);
    else
        rc = rc == LDAP_NO_SUCH_OBJECT ? 0 : ldap_failed(conn, rc, "search", err);
    if (answer)
        (void)ldap_msgfree(answer);
    return rc;
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

char *ldap_entry_dn(const struct ldap_entry *entry) {
    char *dn = ldap_get_dn(entry->ld, entry->message);
    char *copy = str_dup(dn);
    ldap_memfree(dn);
    return copy;
}

static char *ldap_conn_text_of(const struct berval *value) {
    if (value->bv_len > TEXT_BYTES_MAX || memchr(value->bv_val, 0, value->bv_len) ||
        str_utf8_chars(value->bv_val, value->bv_len) < 0)
        return NULL;
    return strndup(value->bv_val, value->bv_len);
}

char *ldap_entry_text(const struct ldap_entry *entry, const char *attr) {
    struct berval **values = ldap_get_values_len(entry->ld, entry->message, attr);
    char *text = values && values[0] ? ldap_conn_text_of(values[0]) : NULL;
    ldap_value_free_len(values);
    return text;
}

int64_t ldap_entry_number(const struct ldap_entry *entry, const char *attr, int64_t fallback) {
    _cleanup_free_ char *text = ldap_entry_text(entry, attr);
    int64_t number = 0;
    return text && str_to_i64(text, INT64_MIN, INT64_MAX, &number) ? number : fallback;
}

int ldap_entry_each(const struct ldap_entry *entry, const char *attr, ldap_value_fn *fn, void *arg, struct err *err) {
    struct berval **values = ldap_get_values_len(entry->ld, entry->message, attr);
    int rc = 0;
    for (size_t i = 0; values && !rc && values[i]; i++)
        rc = fn(arg, values[i]->bv_val, values[i]->bv_len, err);
    ldap_value_free_len(values);
    return rc;
}
