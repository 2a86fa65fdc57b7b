/* Service accounts: whose a proof is, and what a session of one may still do. Layer 4 (service/identity). In memory only.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "accounts.h"
#include "str.h"

/* An account that is disabled, and one that there is not, sound the same to whoever asks. */
static int refuse(const char *why, struct err *err) {
    (void)err_set(err, ERR_CREDENTIALS, "no service account signs in by this");
    err_detail(err, "%s", why);
    return ERR_CREDENTIALS;
}

static int take(const struct service_account *found, const struct service_account **out, struct err *err) {
    if (found->is_disabled)
        return refuse("the service account is disabled", err);
    *out = found;
    return 0;
}

static bool is_pinned(const struct service_account *a, const char *sha256) {
    for (size_t i = 0; i < a->certificates_count; i++)
        if (str_eq(a->certificates[i].sha256, sha256))
            return true;
    return false;
}

static const struct service_account *find_pinned(const struct dir_platform *p, const char *sha256) {
    for (size_t i = 0; i < p->services_count; i++)
        if (is_pinned(&p->services[i], sha256))
            return &p->services[i];
    return NULL;
}

static const struct service_account *find_subject(const struct dir_platform *p, const char *subject) {
    _cleanup_free_ char *text = NULL;
    if (!*subject || service_subject_read(subject, &text, NULL))
        return NULL;
    for (size_t i = 0; i < p->services_count; i++)
        if (str_eq(p->services[i].subject, text))
            return &p->services[i];
    return NULL;
}

static const char *what_is_wrong(const struct accounts_proof *proof, int64_t now_ms) {
    if (proof->is_revoked)
        return "the certificate was revoked, or the revocation list is out of date";
    if (now_ms < proof->not_before_ms)
        return "the certificate is not valid yet";
    return now_ms >= proof->not_after_ms ? "the certificate has expired" : NULL;
}

int accounts_find_by_certificate(const struct dir_platform *p, const struct accounts_proof *proof, int64_t now_ms,
                                 const struct service_account **out, struct err *err) {
    const char *wrong = what_is_wrong(proof, now_ms);
    const struct service_account *found = find_pinned(p, proof->sha256);
    if (wrong)
        return refuse(wrong, err);
    if (found)
        return take(found, out, err);
    if (!proof->is_trusted)
        return refuse("the certificate is pinned to no account, and its chain is not good under server.client_ca_file", err);
    found = find_subject(p, proof->subject);
    return found ? take(found, out, err) : refuse("no account has the certificate's subject", err);
}

int accounts_find_by_kerberos(const struct dir_platform *p, const char *principal, const struct service_account **out,
                              struct err *err) {
    for (size_t i = 0; i < p->services_count; i++)
        if (p->services[i].kerberos && str_eq(p->services[i].kerberos, principal))
            return take(&p->services[i], out, err);
    return refuse("no account has this Kerberos principal", err);
}

int accounts_check_session(const struct dir_platform *p, const struct principal *who, const struct service_account **out,
                           struct err *err) {
    const struct service_account *a;
    *out = NULL;
    if (!who->service_id && !who->acting_id)
        return 0;
    a = who->service_id ? dir_find_service(p, who->service_id) : NULL;
    if (!a || a->is_disabled)
        return err_set(err, ERR_SESSION_ENDED, "the service account of this session was removed or disabled");
    if (who->acting_id && !a->may_delegate)
        return err_set(err, ERR_SESSION_ENDED, "the service account may not act for people any more");
    *out = a;
    return 0;
}
