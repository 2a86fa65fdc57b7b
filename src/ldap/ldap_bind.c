/* One connection to a directory server: proving who asks. Layer 2 (ldap).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <sasl/sasl.h>
#include <stdio.h>
#include <string.h>

#include "ldap_conn.h"
#include "ldap_private.h"
#include "str.h"

#define REFUSED "the credentials were not accepted"
#define NO_SEAL "maxssf=0"                  /* inside TLS: Windows refuses a second sealing, Samba as well */
#define SEAL "minssf=128,maxssf=2147483647" /* at least AES */
#define LEAST_SSF 128

/* What Active Directory says behind "data" when it refuses (MS-ERREF; the codes of LogonUser). For the log and the trail only. */
static const struct reason {
    const char *code, *text;
} reasons[] = {
    {"525", "no such account"},         {"52e", "wrong password"},          {"52f", "account restrictions"},
    {"530", "not at this time of day"}, {"531", "not from this computer"},  {"532", "the password has expired"},
    {"533", "the account is disabled"}, {"701", "the account has expired"}, {"773", "the password must be changed first"},
    {"775", "the account is locked"},
};

static const char *reason_of(const char *diagnostic) {
    const char *at = diagnostic ? strstr(diagnostic, "data ") : NULL;
    for (size_t i = 0; at && i < ARRAY_COUNT(reasons); i++)
        if (!strncmp(at + 5, reasons[i].code, 3) && (at[8] == ',' || !at[8] || at[8] == ' '))
            return reasons[i].text;
    return NULL;
}

static bool is_refusal(int code) {
    return code == LDAP_INVALID_CREDENTIALS || code == LDAP_INSUFFICIENT_ACCESS || code == LDAP_INAPPROPRIATE_AUTH ||
           code == LDAP_NO_SUCH_OBJECT || code == LDAP_INVALID_DN_SYNTAX || code == LDAP_CONSTRAINT_VIOLATION ||
           code == LDAP_UNWILLING_TO_PERFORM;
}

static int refused(struct ldap_conn *conn, int code, struct err *err) {
    char *diagnostic = NULL;
    const char *reason;
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &diagnostic);
    reason = reason_of(diagnostic);
    (void)err_set(err, ERR_CREDENTIALS, REFUSED);
    (void)err_detail(err, "%s: %s", reason ? reason : ldap_err2string(code), diagnostic ? diagnostic : "");
    ldap_memfree(diagnostic);
    return ERR_CREDENTIALS;
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
    if (is_refusal(rc))
        return refused(conn, rc, err);
    return rc ? ldap_failed(conn, rc, "bind", err) : 0;
}

/* GSSAPI asks for nothing that is not in the credentials: each question gets its default, or an empty answer. It asks before it needs credentials, and
 * libldap has no earlier place to hand them over; those that it acquires by itself it never releases (Cyrus SASL 2.1.28). */
static int answer(LDAP *ld, unsigned flags, void *credential, void *questions) {
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
    return ldap_sasl_interactive_bind_s(conn->ld, NULL, "GSSAPI", NULL, NULL, LDAP_SASL_QUIET, answer, credential);
}

static int gssapi_refused(struct ldap_conn *conn, int code, struct err *err) {
    char *diagnostic = NULL;
    const bool wants_seal = code == LDAP_STRONG_AUTH_REQUIRED && !conn->is_for_kerberos;
    (void)ldap_get_option(conn->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &diagnostic);
    (void)err_set(err, wants_seal ? ERR_UPSTREAM_DENIED : ERR_CREDENTIALS, "%s does not accept our Kerberos credentials",
                  conn->place);
    (void)err_detail(err, "%s: %s", ldap_err2string(code), diagnostic ? diagnostic : "");
    ldap_memfree(diagnostic);
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
