/* A ticket of our own, got by a key, and tickets for services by it. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libkrb5 waits for a KDC that is silent for half a minute and longer, and nothing ends that wait. So a thread of its own waits, which is left behind
 * when the time is up or the service stops; it ends by itself and gives back what it holds. */
#include "gss_ticket.h"

#include <errno.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "str.h"
#include "uuid.h"

#define THREADS_MAX 32U /* that wait for KDCs, those left behind counted */

struct gss_ticket {
    atomic_uint refs; /* the owner, and a thread that asks the KDC */
    char *keytab, *account, *cache_name;
    int64_t until_ms; /* monotonic clock */
    long timeout_ms;
    krb5_context context;
    krb5_ccache cache;
    krb5_keytab keytab_handle;
    krb5_principal principal;
    gss_cred_id_t credential; /* GSS_C_NO_CREDENTIAL until somebody asks for it */
};

static void gss_ticket_unref(struct gss_ticket *ticket) {
    if (atomic_fetch_sub(&ticket->refs, 1) > 1)
        return;
    if (ticket->cache)
        (void)krb5_cc_destroy(ticket->context, ticket->cache);
    if (ticket->keytab_handle)
        (void)krb5_kt_close(ticket->context, ticket->keytab_handle);
    if (ticket->principal)
        krb5_free_principal(ticket->context, ticket->principal);
    if (ticket->context)
        krb5_free_context(ticket->context);
    free(ticket->keytab);
    free(ticket->account);
    free(ticket->cache_name);
    free(ticket);
}

void gss_ticket_free(struct gss_ticket *ticket) {
    OM_uint32 minor;
    if (!ticket)
        return;
    (void)gss_release_cred(&minor, &ticket->credential);
    (void)gss_krb5_ccache_name(&minor, NULL, NULL); /* of this thread */
    gss_ticket_unref(ticket);
}

/* -- what is wrong --------------------------------------------------------------------------------------------------------- */

static enum gss_ticket_fault fault_of(krb5_error_code code) {
    switch (code) {
    case KRB5_KDC_UNREACH:
    case KRB5_REALM_CANT_RESOLVE:
    case KRB5_REALM_UNKNOWN: return GSS_TICKET_FAULT_KDC;
    case KRB5KRB_AP_ERR_SKEW:
    case KRB5_KDCREP_SKEW: return GSS_TICKET_FAULT_SKEW;
    case KRB5KDC_ERR_PREAUTH_FAILED:
    case KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN:
    case KRB5KDC_ERR_CLIENT_REVOKED:
    case KRB5KDC_ERR_CLIENT_NOTYET:
    case KRB5KDC_ERR_KEY_EXP: return GSS_TICKET_FAULT_ACCOUNT;
    case KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN:
    case KRB5_ERR_HOST_REALM_UNKNOWN: return GSS_TICKET_FAULT_SERVICE;
    default: return GSS_TICKET_FAULT_OTHER;
    }
}

static int code_of(enum gss_ticket_fault fault) {
    switch (fault) {
    case GSS_TICKET_FAULT_KDC: return ERR_UNREACHABLE;
    case GSS_TICKET_FAULT_SKEW:
    case GSS_TICKET_FAULT_ACCOUNT: return ERR_CREDENTIALS;
    case GSS_TICKET_FAULT_SERVICE: return ERR_NOT_FOUND;
    case GSS_TICKET_FAULT_NONE:
    case GSS_TICKET_FAULT_KEYTAB:
    case GSS_TICKET_FAULT_OTHER:
    default: return ERR_CONFIG;
    }
}

static const char *gss_remedy_for(enum gss_ticket_fault fault) {
    switch (fault) {
    case GSS_TICKET_FAULT_KDC:
        return "see that krb5.conf names a KDC of the realm, or that DNS does, and that it can be reached from here";
    case GSS_TICKET_FAULT_SKEW: return "run chrony here and on the domain controllers: clocks must agree to 5 minutes";
    case GSS_TICKET_FAULT_SERVICE:
        return "see with 'setspn -Q' that exactly one account has this SPN, and that krb5.conf maps the host to its realm";
    case GSS_TICKET_FAULT_NONE:
    case GSS_TICKET_FAULT_KEYTAB:
    case GSS_TICKET_FAULT_ACCOUNT:
    case GSS_TICKET_FAULT_OTHER:
    default:
        return "look with 'klist -k': the keytab must be readable for the user that kaasd runs as, and hold the newest key of this "
               "account; in Active Directory an SPN gets no ticket, the account does";
    }
}

static int gss_ticket_failed(const struct gss_ticket *ticket, krb5_error_code code, enum gss_ticket_fault fault, const char *what,
                             struct err *err) {
    const char *text = krb5_get_error_message(ticket->context, code);
    int rc = err_set(err, code_of(fault), "no ticket for %s: %s", what, text);
    krb5_free_error_message(ticket->context, text);
    (void)err_remedy(err, "%s", gss_remedy_for(fault));
    return rc;
}

/* -- the KDC --------------------------------------------------------------------------------------------------------------- */

/* What is asked of the KDC in a thread of its own. Freed by whoever is the last to look at it. */
struct exchange {
    krb5_error_code (*ask)(struct exchange *x);
    struct gss_ticket *ticket;
    krb5_principal service; /* NULL: our own ticket */
    char *name;             /* of the service, as the KDC has it */
    krb5_error_code code;
    bool is_done, is_left; /* guarded by `lock` */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned threads;
static bool is_stopped;

static void init_changed(void) {
    clock_init_cond(&changed);
}

void gss_ticket_stop(void) {
    (void)pthread_once(&once, init_changed);
    LOCKED(&lock);
    is_stopped = true;
    (void)pthread_cond_broadcast(&changed);
}

bool gss_ticket_is_waiting(void) {
    LOCKED(&lock);
    return threads > 0;
}

static void exchange_free(struct exchange *x) {
    if (x->service)
        krb5_free_principal(x->ticket->context, x->service);
    gss_ticket_unref(x->ticket);
    free(x->name);
    free(x);
}

static void *gss_ticket_run_exchange(void *arg) {
    struct exchange *x = arg;
    bool is_left;
    x->code = x->ask(x);
    (void)pthread_mutex_lock(&lock);
    threads--;
    x->is_done = true;
    is_left = x->is_left;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    if (is_left)
        exchange_free(x);
    return NULL;
}

/* Needs the lock. Signals belong to the main thread. */
static int gss_ticket_start_locked(struct exchange *x, struct err *err) {
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int rc;
    if (is_stopped)
        return err_set(err, ERR_CANCELED, "the service is stopping");
    if (threads >= THREADS_MAX)
        return err_set(err, ERR_BUSY, "as many as may be wait for a KDC already");
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    rc = pthread_create(&thread, &attr, gss_ticket_run_exchange, x);
    (void)pthread_attr_destroy(&attr);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc)
        return err_set(err, ERR_BUSY, "no thread could be started to ask the KDC");
    threads++;
    return 0;
}

static int gss_ticket_give_up(const struct gss_ticket *ticket, enum gss_ticket_fault *fault, struct err *err) {
    const char *account = ticket->account;
    const long timeout_ms = ticket->timeout_ms;
    if (is_stopped)
        return err_set(err, ERR_CANCELED, "the service is stopping");
    *fault = GSS_TICKET_FAULT_KDC;
    (void)err_set(err, ERR_UNREACHABLE, "no ticket for %s: no KDC has answered within %ld ms", account, timeout_ms);
    return err_remedy(err, "%s", gss_remedy_for(GSS_TICKET_FAULT_KDC));
}

/* Runs it. Not 0: it never began, or was left behind; *x is not ours any more. */
static int gss_ticket_run(struct exchange *x, enum gss_ticket_fault *fault, struct err *err) {
    int rc;
    (void)pthread_once(&once, init_changed);
    LOCKED(&lock);
    rc = gss_ticket_start_locked(x, err);
    if (!rc) {
        const int64_t left_ms = x->ticket->until_ms - clock_mono_ms();
        const struct timespec until = clock_deadline(left_ms > 0 ? left_ms : 0);
        for (int waited = 0; !x->is_done && !is_stopped && waited != ETIMEDOUT;)
            waited = pthread_cond_timedwait(&changed, &lock, &until);
        if (!x->is_done)
            rc = gss_ticket_give_up(x->ticket, fault, err);
        x->is_left = rc != 0;
    }
    if (rc && !x->is_left)
        exchange_free(x);
    return rc;
}

static struct exchange *exchange_new(struct gss_ticket *ticket, krb5_error_code (*ask)(struct exchange *x)) {
    struct exchange *x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    (void)atomic_fetch_add(&ticket->refs, 1);
    x->ticket = ticket;
    x->ask = ask;
    return x;
}

/* -- our own --------------------------------------------------------------------------------------------------------------- */

static krb5_error_code ask_ticket(struct exchange *x) {
    struct gss_ticket *t = x->ticket;
    krb5_get_init_creds_opt *options = NULL;
    krb5_creds creds = {0};
    krb5_error_code code;
    (void)((code = krb5_kt_resolve(t->context, t->keytab, &t->keytab_handle)) ||
           (code = krb5_parse_name(t->context, t->account, &t->principal)) ||
           (code = krb5_cc_resolve(t->context, t->cache_name, &t->cache)) ||
           (code = krb5_cc_initialize(t->context, t->cache, t->principal)) ||
           (code = krb5_get_init_creds_opt_alloc(t->context, &options)) ||
           (code = krb5_get_init_creds_keytab(t->context, &creds, t->principal, t->keytab_handle, 0, NULL, options)) ||
           (code = krb5_cc_store_cred(t->context, t->cache, &creds)));
    krb5_free_cred_contents(t->context, &creds);
    krb5_get_init_creds_opt_free(t->context, options);
    return code;
}

static int gss_ticket_refuse_account(const struct gss_ticket *ticket, krb5_error_code code, const struct gss_account *account,
                                     enum gss_ticket_fault *fault, struct err *err) {
    _cleanup_free_ char *what = str_format("%s by the keytab %s", account->principal, account->keytab);
    *fault = fault_of(code);
    if (*fault == GSS_TICKET_FAULT_OTHER || *fault == GSS_TICKET_FAULT_SERVICE)
        *fault = GSS_TICKET_FAULT_KEYTAB;
    return gss_ticket_failed(ticket, code, *fault, what ? what : account->principal, err);
}

static struct gss_ticket *ticket_new(const struct gss_account *account) {
    struct gss_ticket *ticket = calloc(1, sizeof(*ticket));
    char id[UUID_TEXT_BYTES];
    if (!ticket)
        return NULL;
    atomic_init(&ticket->refs, 1);
    uuid_new(id);
    ticket->keytab = str_format("FILE:%s", account->keytab);
    ticket->account = str_dup(account->principal);
    ticket->cache_name = str_format("MEMORY:kaas-%s", id);
    ticket->timeout_ms = account->timeout_ms;
    ticket->until_ms = clock_mono_ms() + account->timeout_ms;
    if (ticket->keytab && ticket->account && ticket->cache_name)
        return ticket;
    gss_ticket_unref(ticket);
    return NULL;
}

int gss_ticket_ask(const struct gss_account *account, struct gss_ticket **out, enum gss_ticket_fault *fault, struct err *err) {
    _cleanup_(gss_ticket_free) struct gss_ticket *ticket = ticket_new(account);
    struct exchange *x = NULL;
    krb5_error_code code;
    OM_uint32 minor;
    int rc;
    *fault = GSS_TICKET_FAULT_OTHER;
    if (!ticket)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (krb5_init_context(&ticket->context))
        return err_set(err, ERR_CONFIG, "libkrb5 cannot be used: is krb5.conf readable and right?");
    x = exchange_new(ticket, ask_ticket);
    if (!x)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = gss_ticket_run(x, fault, err);
    if (rc)
        return rc;
    code = x->code;
    exchange_free(x);
    if (code)
        return gss_ticket_refuse_account(ticket, code, account, fault, err);
    if (gss_krb5_ccache_name(&minor, ticket->cache_name, NULL))
        return err_set(err, ERR_NOMEM, "out of memory");
    *fault = GSS_TICKET_FAULT_NONE;
    *out = STEAL(ticket);
    return 0;
}

/* -- services -------------------------------------------------------------------------------------------------------------- */

/* KRB5_NT_UNKNOWN: the host's name is taken as it stands, whatever dns_canonicalize_hostname says, since nobody vouches for DNS (RFC 4120 section 1.3). */
static krb5_error_code parse_service(krb5_context context, const char *service, krb5_principal *out) {
    const char *slash = strchr(service, '/');
    _cleanup_free_ char *kind = slash ? str_format("%.*s", (int)(slash - service), service) : NULL;
    if (!kind || !slash[1] || slash == service)
        return KRB5_PARSE_MALFORMED;
    if (strchr(slash, '@'))
        return krb5_parse_name(context, service, out);
    return krb5_sname_to_principal(context, slash + 1, kind, KRB5_NT_UNKNOWN, out);
}

/* Into the cache, where GSS-API finds it. */
static krb5_error_code ask_service(struct exchange *x) {
    struct gss_ticket *t = x->ticket;
    krb5_creds wanted = {.client = t->principal, .server = x->service}, *got = NULL;
    char *text = NULL;
    krb5_error_code code = krb5_get_credentials(t->context, 0, t->cache, &wanted, &got);
    if (!code)
        code = krb5_unparse_name(t->context, got->server, &text);
    if (!code && !(x->name = str_dup(text)))
        code = KRB5_CC_NOMEM;
    krb5_free_unparsed_name(t->context, text);
    krb5_free_creds(t->context, got);
    return code;
}

int gss_ticket_get_service(struct gss_ticket *ticket, const char *service, char **name, enum gss_ticket_fault *fault,
                           struct err *err) {
    struct exchange *x = exchange_new(ticket, ask_service);
    int rc;
    *fault = GSS_TICKET_FAULT_OTHER;
    if (!x)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (parse_service(ticket->context, service, &x->service)) {
        exchange_free(x);
        *fault = GSS_TICKET_FAULT_SERVICE;
        return err_set(err, ERR_UNPROCESSABLE, "%s is no name of a service such as HTTP/host", service);
    }
    rc = gss_ticket_run(x, fault, err);
    if (rc)
        return rc;
    *fault = x->code ? fault_of(x->code) : GSS_TICKET_FAULT_NONE;
    rc = x->code ? gss_ticket_failed(ticket, x->code, *fault, service, err) : 0;
    if (!rc)
        *name = STEAL(x->name);
    exchange_free(x);
    return rc;
}

void *gss_ticket_get_credential(struct gss_ticket *ticket) {
    OM_uint32 minor;
    if (!ticket->credential)
        (void)gss_krb5_import_cred(&minor, ticket->cache, NULL, NULL, &ticket->credential);
    return ticket->credential;
}
