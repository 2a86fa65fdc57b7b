/* A ticket of our own, got by a key, and tickets for services by it. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "gss_ticket.h"

#include <gssapi/gssapi_krb5.h>
#include <krb5.h>
#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "uuid.h"

struct gss_ticket {
    krb5_context context;
    krb5_ccache cache;
    krb5_keytab keytab;
    krb5_principal principal;
    gss_cred_id_t credential; /* GSS_C_NO_CREDENTIAL until somebody asks for it */
};

void gss_ticket_free(struct gss_ticket *ticket) {
    OM_uint32 minor;
    if (!ticket)
        return;
    (void)gss_release_cred(&minor, &ticket->credential);
    (void)gss_krb5_ccache_name(&minor, NULL, NULL); /* of this thread */
    if (ticket->cache)
        (void)krb5_cc_destroy(ticket->context, ticket->cache);
    if (ticket->keytab)
        (void)krb5_kt_close(ticket->context, ticket->keytab);
    if (ticket->principal)
        krb5_free_principal(ticket->context, ticket->principal);
    if (ticket->context)
        krb5_free_context(ticket->context);
    free(ticket);
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

static const char *remedy_for(enum gss_ticket_fault fault) {
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

static int failed(const struct gss_ticket *ticket, krb5_error_code code, enum gss_ticket_fault fault, const char *what,
                  struct err *err) {
    const char *text = krb5_get_error_message(ticket->context, code);
    int rc = err_set(err, code_of(fault), "no ticket for %s: %s", what, text);
    krb5_free_error_message(ticket->context, text);
    (void)err_remedy(err, "%s", remedy_for(fault));
    return rc;
}

/* -- our own --------------------------------------------------------------------------------------------------------------- */

static krb5_error_code get_ticket(struct gss_ticket *t, const char *keytab, const char *principal, const char *cache) {
    krb5_get_init_creds_opt *options = NULL;
    krb5_creds creds = {0};
    krb5_error_code code = krb5_kt_resolve(t->context, keytab, &t->keytab);
    if (!code)
        code = krb5_parse_name(t->context, principal, &t->principal);
    if (!code)
        code = krb5_cc_resolve(t->context, cache, &t->cache);
    if (!code)
        code = krb5_cc_initialize(t->context, t->cache, t->principal);
    if (!code)
        code = krb5_get_init_creds_opt_alloc(t->context, &options);
    if (!code)
        code = krb5_get_init_creds_keytab(t->context, &creds, t->principal, t->keytab, 0, NULL, options);
    if (!code)
        code = krb5_cc_store_cred(t->context, t->cache, &creds);
    krb5_free_cred_contents(t->context, &creds);
    krb5_get_init_creds_opt_free(t->context, options);
    return code;
}

static int refuse_account(const struct gss_ticket *ticket, krb5_error_code code, const struct gss_account *account,
                          enum gss_ticket_fault *fault, struct err *err) {
    _cleanup_free_ char *what = str_format("%s by the keytab %s", account->principal, account->keytab);
    *fault = fault_of(code);
    if (*fault == GSS_TICKET_FAULT_OTHER || *fault == GSS_TICKET_FAULT_SERVICE)
        *fault = GSS_TICKET_FAULT_KEYTAB;
    return failed(ticket, code, *fault, what ? what : account->principal, err);
}

int gss_ticket_ask(const struct gss_account *account, struct gss_ticket **out, enum gss_ticket_fault *fault, struct err *err) {
    _cleanup_(gss_ticket_free) struct gss_ticket *ticket = calloc(1, sizeof(*ticket));
    char id[UUID_TEXT_BYTES];
    _cleanup_free_ char *file = str_format("FILE:%s", account->keytab), *cache = NULL;
    krb5_error_code code;
    OM_uint32 minor;
    uuid_new(id);
    cache = str_format("MEMORY:kaas-%s", id);
    *fault = GSS_TICKET_FAULT_OTHER;
    if (!ticket || !file || !cache)
        return err_set(err, ERR_NOMEM, "out of memory");
    code = krb5_init_context(&ticket->context);
    if (code)
        return err_set(err, ERR_CONFIG, "libkrb5 cannot be used: is krb5.conf readable and right?");
    code = get_ticket(ticket, file, account->principal, cache);
    if (code)
        return refuse_account(ticket, code, account, fault, err);
    if (gss_krb5_ccache_name(&minor, cache, NULL))
        return err_set(err, ERR_NOMEM, "out of memory");
    *fault = GSS_TICKET_FAULT_NONE;
    *out = STEAL(ticket);
    return 0;
}

int gss_ticket_new(const char *keytab, const char *principal, struct gss_ticket **out, struct err *err) {
    const struct gss_account account = {keytab, principal};
    enum gss_ticket_fault fault;
    return gss_ticket_ask(&account, out, &fault, err);
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
static krb5_error_code fetch(struct gss_ticket *t, krb5_principal service, char **name) {
    krb5_creds wanted = {.client = t->principal, .server = service}, *got = NULL;
    char *text = NULL;
    krb5_error_code code = krb5_get_credentials(t->context, 0, t->cache, &wanted, &got);
    if (!code)
        code = krb5_unparse_name(t->context, got->server, &text);
    if (!code && !(*name = str_dup(text)))
        code = KRB5_CC_NOMEM;
    krb5_free_unparsed_name(t->context, text);
    krb5_free_creds(t->context, got);
    return code;
}

int gss_ticket_get_service(struct gss_ticket *ticket, const char *service, char **name, enum gss_ticket_fault *fault,
                           struct err *err) {
    krb5_principal principal = NULL;
    krb5_error_code code = parse_service(ticket->context, service, &principal);
    *fault = code ? GSS_TICKET_FAULT_SERVICE : GSS_TICKET_FAULT_NONE;
    if (code)
        return err_set(err, ERR_UNPROCESSABLE, "%s is no name of a service such as HTTP/host", service);
    code = fetch(ticket, principal, name);
    krb5_free_principal(ticket->context, principal);
    if (!code)
        return 0;
    *fault = fault_of(code);
    return failed(ticket, code, *fault, service, err);
}

void *gss_ticket_get_credential(struct gss_ticket *ticket) {
    OM_uint32 minor;
    if (!ticket->credential)
        (void)gss_krb5_import_cred(&minor, ticket->cache, NULL, NULL, &ticket->credential);
    return ticket->credential;
}
