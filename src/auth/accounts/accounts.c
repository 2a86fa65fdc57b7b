/* Service accounts: adding, changing, removing. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "accounts.h"

#include <stdlib.h>
#include <string.h>

#include "audit_store.h"
#include "clock.h"
#include "ldapdirs_private.h"
#include "names.h"
#include "user_store.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"
#include "x509.h"

#define CHANGE_TRIES 3

/* -- what is said about it in the audit log --------------------------------------------------------------------------------- */

static void accounts_describe_text(struct strbuf *reason, const char *what, const char *before, const char *after) {
    if (!str_eq(before, after))
        strbuf_addf(reason, "%s%s: %s -> %s", reason->len ? "; " : "", what, before ? before : "-", after ? after : "-");
}

static char *list_hx(const struct service_account *a) {
    struct strbuf text;
    strbuf_init(&text, SERVICE_HX_CLUSTERS_COUNT_MAX * UUID_TEXT_BYTES);
    for (size_t i = 0; i < a->hx_clusters_count; i++)
        strbuf_addf(&text, "%s%s", i ? "," : "", a->hx_clusters[i]);
    return strbuf_steal(&text);
}

static char *list_certificates(const struct service_account *a) {
    struct strbuf text;
    strbuf_init(&text, SERVICE_CERTIFICATES_COUNT_MAX * SERVICE_FINGERPRINT_BYTES);
    for (size_t i = 0; i < a->certificates_count; i++)
        strbuf_addf(&text, "%s%.16s", i ? "," : "", a->certificates[i].sha256);
    return strbuf_steal(&text);
}

/* What has changed, in words; empty: nothing has. */
static char *accounts_describe(const struct service_account *before, const struct service_account *after) {
    _cleanup_free_ char *hx_before = list_hx(before), *hx_after = list_hx(after);
    _cleanup_free_ char *pins_before = list_certificates(before), *pins_after = list_certificates(after);
    struct strbuf reason;
    strbuf_init(&reason, SERVICE_HX_CLUSTERS_COUNT_MAX * UUID_TEXT_BYTES * 4);
    members_describe(service_account_members, before, after, &reason);
    accounts_describe_text(&reason, "certificates", pins_before, pins_after);
    accounts_describe_text(&reason, "hx_clusters", hx_before, hx_after);
    return strbuf_steal(&reason);
}

/* -- adding ----------------------------------------------------------------------------------------------------------------- */

int accounts_add(struct ldapdirs *ldapdirs, const struct actor *actor, struct service_account *wanted, struct err *err) {
    const struct service_account nothing = {.name = NULL};
    _cleanup_free_ char *reason = accounts_describe(&nothing, wanted);
    char id[UUID_TEXT_BYTES];
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "service_account.create",
                                                                                    .object_kind = "service_account",
                                                                                    .object_id = id,
                                                                                    .object_name = wanted->name,
                                                                                    .reason = reason});
    int rc = service_account_check(wanted, err);
    if (rc)
        return rc;
    uuid_new(id);
    free(wanted->id);
    wanted->id = str_dup(id);
    wanted->created_at_ms = wanted->updated_at_ms = clock_wall_ms();
    wanted->version_no = 1;
    if (!wanted->id)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = service_store_insert(ldapdirs->options.runtime->store, wanted, &line, err);
    if (rc == ERR_EXISTS)
        (void)err_remedy(err, "a name and a credential belong to one account; see: kaasctl service list, or GET /v2/services");
    return ldapdir_finish(ldapdirs, &line, rc, err);
}

/* -- changing --------------------------------------------------------------------------------------------------------------- */

/* The end of a certificate that was seen before is known on. */
static void keep_ends(const struct service_account *before, struct service_account *a) {
    for (size_t i = 0; i < a->certificates_count; i++)
        for (size_t j = 0; !a->certificates[i].not_after_ms && j < before->certificates_count; j++)
            if (str_eq(before->certificates[j].sha256, a->certificates[i].sha256))
                a->certificates[i].not_after_ms = before->certificates[j].not_after_ms;
}

static bool has_lost_a_credential(const struct service_account *before, const struct service_account *after) {
    bool is_lost = (before->subject && !str_eq(before->subject, after->subject)) ||
                   (before->kerberos && !str_eq(before->kerberos, after->kerberos));
    for (size_t i = 0; !is_lost && i < before->certificates_count; i++) {
        bool is_there = false;
        for (size_t j = 0; !is_there && j < after->certificates_count; j++)
            is_there = str_eq(before->certificates[i].sha256, after->certificates[j].sha256);
        is_lost = !is_there;
    }
    return is_lost;
}

static int accounts_write_changed(struct ldapdirs *ldapdirs, const struct actor *actor, const struct service_account *before,
                                  struct service_account *a, struct err *err) {
    _cleanup_free_ char *reason = accounts_describe(before, a);
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "service_account.change",
                                                                                    .object_kind = "service_account",
                                                                                    .object_id = a->id,
                                                                                    .object_name = a->name,
                                                                                    .reason = reason});
    struct service_change change = {.audit = &line, .ends_own = a->is_disabled || has_lost_a_credential(before, a)};
    int64_t next = 0;
    if (!reason || !*reason) /* nothing new is no change */
        return reason ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    change.ends_delegated = change.ends_own || (before->may_delegate && !a->may_delegate);
    a->updated_at_ms = line.at_ms;
    return ldapdir_finish(ldapdirs, &line, service_store_update(ldapdirs->options.runtime->store, a, &change, &next, err), err);
}

static int accounts_change_once(struct ldapdirs *ldapdirs, const struct actor *actor, const struct account_edit *edit,
                                struct err *err) {
    _cleanup_(service_account_free) struct service_account *a = NULL;
    struct service_account before = {.id = NULL};
    int rc = service_store_load(ldapdirs->options.runtime->store, edit->id, &a, err);
    if (rc)
        return rc;
    if (edit->version_no && a->version_no != edit->version_no) {
        (void)err_set(err, ERR_PRECONDITION, "the service account has been changed since it was read; nothing was done");
        return err_remedy(err, "read it again and repeat the change");
    }
    rc = service_account_copy(a, &before, err);
    if (!rc)
        rc = edit->fn(edit->arg, a, err);
    if (!rc)
        rc = service_account_check(a, err);
    if (!rc) {
        keep_ends(&before, a);
        rc = accounts_write_changed(ldapdirs, actor, &before, a, err);
    }
    service_account_done(&before);
    return rc;
}

int accounts_change(struct ldapdirs *ldapdirs, const struct actor *actor, const struct account_edit *edit, struct err *err) {
    struct err why = {0};
    int rc = ERR_PRECONDITION;
    for (int i = 0; rc == ERR_PRECONDITION && i < CHANGE_TRIES; i++) {
        err_clear(&why);
        rc = accounts_change_once(ldapdirs, actor, edit, &why);
        if (edit->version_no)
            break;
    }
    return err_move(err, rc, &why);
}

/* -- removing, noting ------------------------------------------------------------------------------------------------------- */

int accounts_remove(struct ldapdirs *ldapdirs, const struct actor *actor, const char *id, int64_t version_no, struct err *err) {
    _cleanup_(service_account_free) struct service_account *a = NULL;
    struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "service_account.remove", .object_kind = "service_account", .object_id = id});
    struct service_removal removal = {.id = id, .version_no = version_no, .now_ms = clock_wall_ms(), .audit = &line};
    int rc = service_store_load(ldapdirs->options.runtime->store, id, &a, err);
    if (rc)
        return rc;
    line.event.object_name = a->name;
    rc = service_store_delete(ldapdirs->options.runtime->store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return ldapdir_finish(ldapdirs, &line, rc, err);
}

void accounts_note_certificate(struct ldapdirs *ldapdirs, const char *id, const struct service_certificate *certificate) {
    struct err ignored = {0};
    (void)service_store_note_certificate(ldapdirs->options.runtime->store, id, certificate, &ignored);
}

/* -- service accounts: whose a credential is, and what a session of one may still do. In memory only -------------------- */

/* An account that is disabled, and one that there is not, sound the same to whoever asks. */
static int accounts_refuse(const char *why, struct err *err) {
    (void)err_set(err, ERR_CREDENTIALS, "no service account signs in by this");
    err_detail(err, "%s", why);
    return ERR_CREDENTIALS;
}

static int accounts_take(const struct service_account *found, const struct service_account **out, struct err *err) {
    if (found->is_disabled)
        return accounts_refuse("the service account is disabled", err);
    *out = found;
    return 0;
}

static bool is_pinned(const struct service_account *a, const char *sha256) {
    for (size_t i = 0; i < a->certificates_count; i++)
        if (str_eq(a->certificates[i].sha256, sha256))
            return true;
    return false;
}

static const struct service_account *find_pinned(const struct inventory_platform *p, const char *sha256) {
    for (size_t i = 0; i < p->services_count; i++)
        if (is_pinned(&p->services[i], sha256))
            return &p->services[i];
    return NULL;
}

static const struct service_account *find_subject(const struct inventory_platform *p, const char *subject) {
    _cleanup_free_ char *text = NULL;
    if (!*subject || service_subject_read(subject, &text, NULL))
        return NULL;
    for (size_t i = 0; i < p->services_count; i++)
        if (str_eq(p->services[i].subject, text))
            return &p->services[i];
    return NULL;
}

static const char *what_is_wrong(const struct accounts_credential *credential, int64_t now_ms) {
    if (credential->is_revoked)
        return "the certificate was revoked, or the revocation list is out of date";
    if (now_ms < credential->not_before_ms)
        return "the certificate is not valid yet";
    return now_ms >= credential->not_after_ms ? "the certificate has expired" : NULL;
}

int accounts_find_by_certificate(const struct inventory_platform *p, const struct accounts_credential *credential, int64_t now_ms,
                                 const struct service_account **out, struct err *err) {
    const char *wrong = what_is_wrong(credential, now_ms);
    const struct service_account *found = find_pinned(p, credential->sha256);
    if (wrong)
        return accounts_refuse(wrong, err);
    if (found)
        return accounts_take(found, out, err);
    if (!credential->is_trusted)
        return accounts_refuse("the certificate is pinned to no account, and its chain is not good under server.client_ca_file",
                               err);
    found = find_subject(p, credential->subject);
    return found ? accounts_take(found, out, err) : accounts_refuse("no account has the certificate's subject", err);
}

int accounts_find_by_kerberos(const struct inventory_platform *p, const char *principal, const struct service_account **out,
                              struct err *err) {
    for (size_t i = 0; i < p->services_count; i++)
        if (p->services[i].kerberos && str_eq(p->services[i].kerberos, principal))
            return accounts_take(&p->services[i], out, err);
    return accounts_refuse("no account has this Kerberos principal", err);
}

int accounts_check_session(const struct inventory_platform *p, const struct principal *who, const struct service_account **out,
                           struct err *err) {
    const struct service_account *a;
    *out = NULL;
    if (!who->service_id && !who->acting_id)
        return 0;
    a = who->service_id ? inventory_find_service(p, who->service_id) : NULL;
    if (!a || a->is_disabled)
        return err_set(err, ERR_SESSION_ENDED, "the service account of this session was removed or disabled");
    if (who->acting_id && !a->may_delegate)
        return err_set(err, ERR_SESSION_ENDED, "the service account may not act for people any more");
    *out = a;
    return 0;
}

/* -- health -------------------------------------------------------------------------------------------------------------- */

struct ending {
    const struct service_account *account;
    int64_t at_ms;
    unsigned count;
};

/* What ends next among accounts that are in use. */
static struct ending find_ending(const struct inventory_platform *platform, int64_t before_ms) {
    struct ending found = {.at_ms = INT64_MAX};
    for (size_t i = 0; i < platform->services_count; i++) {
        const struct service_account *a = &platform->services[i];
        for (size_t j = 0; !a->is_disabled && j < a->certificates_count; j++) {
            const int64_t at_ms = a->certificates[j].not_after_ms;
            if (!at_ms || at_ms > before_ms)
                continue;
            found.count++;
            if (at_ms < found.at_ms) {
                found.account = a;
                found.at_ms = at_ms;
            }
        }
    }
    return found;
}

void services_check_health(const struct inventory_platform *platform, struct findings *out) {
    const int64_t now_ms = clock_wall_ms();
    const struct ending found = find_ending(platform, now_ms + X509_EXPIRY_WARNING_MS);
    char at[CLOCK_RFC3339_BYTES];
    struct finding f = {.step = "service_certificates"};
    if (!found.account)
        return;
    clock_format(found.at_ms, at);
    f.since_ms = found.at_ms - X509_EXPIRY_WARNING_MS;
    finding_say(&f, FINDING_WARNING,
                "%u client certificates of service accounts have ended or will within %d days; first of \"%s\" at %s",
                found.count, X509_EXPIRY_WARNING_DAYS, found.account->name, at);
    finding_advise(&f, "give the new certificate beside the old one: kaasctl service set %s --add-certificate FILE",
                   name_word(found.account->name, found.account->id));
    findings_add(out, &f);
}
