/* How things stand at a vCenter, asked now. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vc_status.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "str.h"
#include "verdict_ask.h"
#include "vim_authorization.h"
#include "vim_session.h"

/* What our session uses: reading the inventory, judging others' privileges (vSphere API reference: HasPrivilegeOnEntities). Without the
 * others all goes on but what their text says; an extension's own session may always update its own record. */
static const struct {
    const char *privilege, *limit;
} privileges[] = {
    {"System.View", NULL},
    {"System.Read", NULL},
    {"Sessions.TerminateSession",
     "sessions of ours that a fault left behind stay until they time out: Sessions.TerminateSession is missing on the root folder"},
    {"Extension.Register",
     "a record that somebody removes cannot be registered again by itself: Extension.Register is missing on the root folder"},
    {"Extension.Unregister", "leaving needs an account of the vCenter: Extension.Unregister is missing on the root folder"},
    {"Extension.Update", "the record cannot be repaired by itself: Extension.Update is missing on the root folder"},
};

void vc_status_done(struct vc_status *s) {
    if (!s)
        return;
    vcenter_done(&s->vc);
    vim_about_done(&s->about);
    free(s->record_version);
    x509_info_done(&s->certificate);
    x509_info_done(&s->seen);
    free(s->login_account);
    verdicts_done(&s->verdicts);
    memset(s, 0, sizeof(*s));
}

static void judge_record(struct link *link, struct vc_status *s, const struct vim_extension *found) {
    const struct link_env *env = link_env(link);
    struct extension_record wanted;
    const char *owner = extension_record_owner(found);
    s->record_version = str_dup(found->version);
    if (!str_eq(owner, env->installation)) {
        s->record = RECORD_FOREIGN;
        return;
    }
    if (extension_record_make_current(env, &s->vc, &wanted, NULL))
        return;
    s->differences_count = extension_record_compare(found, &wanted.record, s->about.api_version, s->differences);
    s->record = s->differences_count ? RECORD_OUTDATED : RECORD_OURS;
    extension_record_done(&wanted);
}

/* Without our own session the record cannot be read: unknown then. */
static void ask_record(struct link *link, struct vc_status *s) {
    const char *key = s->vc.extension_key ? s->vc.extension_key : link_env(link)->options.extension_key;
    struct vim_extension *found = NULL;
    const int64_t since_ms = clock_mono_ms();
    struct err err = {0};
    int rc = vim_find_extension(link_client(link), key, &found, &err);
    (void)link_note(link, since_ms, rc, &err);
    if (rc)
        return;
    if (found)
        judge_record(link, s, found);
    else
        s->record = RECORD_MISSING;
    vim_extension_free(found);
}

static void note_lacking(struct vc_status *s, size_t i) {
    if (!privileges[i].limit)
        s->missing[s->missing_count++] = privileges[i].privilege;
    else
        s->limits[s->limits_count++] = privileges[i].limit;
}

static void ask_privileges(struct link *link, struct vc_status *s) {
    _cleanup_done_(vim_user_session_done) struct vim_user_session own = {0};
    const char *names[ARRAY_COUNT(privileges)];
    bool granted[ARRAY_COUNT(privileges)] = {false};
    struct vim_root_query query = {.privileges = names, .count = ARRAY_COUNT(privileges)};
    int rc;
    if (vim_get_own_session(link_client(link), &own, NULL))
        return;
    if (own.is_extension)
        query.count--; /* Extension.Update, the last */
    for (size_t i = 0; i < query.count; i++)
        names[i] = privileges[i].privilege;
    query.subject.session_key = own.key;
    rc = vim_check_root_privileges(link_client(link), &query, granted, NULL);
    if (!rc || rc == ERR_UPSTREAM_DENIED) /* denied: who may not even ask has none */
        for (size_t i = 0; i < query.count; i++)
            if (!granted[i])
                note_lacking(s, i);
}

/* A password is not sent for a look: accounts get locked by wrong ones. How the link fares with it tells as much. */
static void add_account(struct link *link, struct vc_status *s, const struct login_credential *account) {
    struct login_attempt *attempt = &s->attempts[s->attempts_count];
    struct link_report report;
    link_get_report(link, &report);
    s->login_kind = account->kind;
    s->login_account = str_dup(account->user);
    *attempt = (struct login_attempt){.strategy = login_way_of_account(account->kind), .works = report.status.state == REMOTE_OK};
    if (!attempt->works)
        (void)err_set(&attempt->err, ERR_UPSTREAM, "%s", report.status.detail[0] ? report.status.detail : "not tried yet");
    s->attempts_count++;
}

/* The certificate that is shown now; a name that is trusted by CA is judged by whether we got through. */
static void look_at_certificate(struct link *link, struct vc_status *s) {
    long timeout_ms = link_env(link)->options.connect_timeout_ms;
    if (x509_lookup_server(s->vc.address, s->vc.port, link_env(link)->options.networks, timeout_ms, &s->seen, NULL))
        return;
    s->is_trusted =
        s->vc.has_pin ? !memcmp(s->seen.sha256, s->vc.pin_sha256, sizeof(s->vc.pin_sha256)) : s->about.instance_uuid != NULL;
}

#define PROBE_DAYS 30
#define PROBE_MS (7 * CLOCK_DAY_MS) /* until another one is made */

/* Any certificate does for a probe: all have the same one, since a key takes longer than all questions of a look. */
static int copy_probe(struct login_credential *out, struct err *err) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct login_credential made;
    static int64_t made_at_ms; /* monotonic clock */
    static const struct x509_request request = {
        .common_name = "probe", .organization = "Harmony KaaS", .valid_days = PROBE_DAYS, .key_bits = X509_PROBE_KEY_BITS};
    LOCKED(&lock);
    int rc = 0;
    if (!made.cert_pem || clock_mono_ms() - made_at_ms >= PROBE_MS) {
        login_credential_done(&made);
        rc = x509_make_self_signed(&request, &made.cert_pem, &made.key_pem, err);
        made_at_ms = clock_mono_ms();
    }
    if (rc)
        return rc;
    out->cert_pem = str_dup(made.cert_pem);
    out->key_pem = str_dup(made.key_pem);
    return out->cert_pem && out->key_pem ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Our own certificate is used when there is one, since it is also shown. Not at another vCenter than ours. */
static int ask_strategies(struct link *link, struct vc_status *s, bool is_right_vcenter, struct err *err) {
    const struct platform_options *options = &link_env(link)->options;
    _cleanup_done_(login_material_done) struct login_material material = {0};
    struct login_credential probe = {0}, *with = &material.active;
    bool is_account;
    int rc = login_material_load(options->runtime->store, options->runtime->seal, s->vc.id, &material, err);
    is_account = !rc && material.active.generation && material.active.kind != CREDENTIAL_CERTIFICATE;
    if (!rc && material.active.generation && !is_account) {
        s->has_certificate = true;
        rc = x509_parse_pem(material.active.cert_pem, &s->certificate, err);
    } else if (!rc) {
        with = &probe;
        rc = copy_probe(&probe, err);
    }
    if (!rc && !s->vc.extension_key)
        s->vc.extension_key = str_dup(options->extension_key);
    if (!rc && s->about.instance_uuid && is_right_vcenter)
        s->attempts_count = login_probe(link_client(link), &s->vc, with, NULL, s->attempts);
    if (is_account)
        add_account(link, s, &material.active);
    login_credential_done(&probe);
    return rc;
}

int vc_status_lookup(struct link *link, struct vc_status *out, struct err *err) {
    struct vc_status s = {.record = RECORD_UNKNOWN, .checked_at_ms = clock_wall_ms()};
    const int64_t since_ms = clock_mono_ms();
    struct err why = {0};
    int rc = link_get_info(link, &s.vc, err);
    if (rc)
        return rc;
    rc = vim_connect(link_client(link), &s.about, &why);
    if (!rc && s.vc.registered_at_ms)
        rc = vim_ensure_session(link_client(link), &why);
    link_note_asked(link, since_ms, rc, &why);
    if (!rc && s.vc.registered_at_ms) {
        ask_record(link, &s);
        ask_privileges(link, &s);
        (void)verdict_work(link_remote(link), NULL); /* what it cannot ask stays as it was */
    }
    look_at_certificate(link, &s);
    rc = ask_strategies(link, &s, rc != ERR_CONFLICT, err);
    link_get_report(link, &s.report);
    watch_get_report(link_watch(link), &s.watch);
    if (!rc)
        rc = link_get_verdicts(link, &s.verdicts, err);
    if (rc) {
        vc_status_done(&s);
        return rc;
    }
    *out = s;
    return 0;
}
