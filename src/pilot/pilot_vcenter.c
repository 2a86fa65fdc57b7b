/* Probes of a vCenter: its product, our session, and what it says of rights. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pilot_private.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"
#include "vim_authorization.h"

#define OLDEST_API "7.0.0.0"
#define CLOCK_APART_S 5 /* CurrentTime and Date, which are asked for at once */
#define CLOCK_WARNING_S 60

void pilot_probe_api(struct pilot *p, struct finding *f) {
    struct err err = {0};
    if (!pilot_say_rc(f, vim_connect(p->client, &p->about, &err), &err))
        return;
    p->has[PILOT_NEEDS_API] = true;
    finding_say(f, FINDING_OK, "%s; we speak API %s", p->about.full_name, p->about.api_version);
    if (vim_version_is_at_least(p->about.api_version, OLDEST_API))
        return;
    f->status = FINDING_FAILED;
    finding_advise(f, "this vCenter is older than 7.0, the oldest that is supported: upgrade it");
}

/* -- certificates as logins ---------------------------------------------------------------------------------------------------- */

/* A certificate that nobody knows, of an extension that nobody has registered: that vCenter says so is what is wanted. */
static int try_way(struct pilot *p, enum vim_strategy strategy, struct err *err) {
    const struct x509_request request = {.common_name = "Harmony KaaS pilot", .valid_days = 1};
    _cleanup_free_ char *cert = NULL;
    _cleanup_secret_ char *key = NULL;
    char id[UUID_TEXT_BYTES], extension[UUID_TEXT_BYTES + 32];
    const struct vim_extension_login *login;
    int rc = x509_make_self_signed(&request, &cert, &key, err);
    uuid_new(id);
    (void)snprintf(extension, sizeof(extension), "com.example.kaas.pilot.%.8s", id);
    login = &(struct vim_extension_login){strategy, extension, cert, key};
    return rc ? rc : vim_probe_extension_login(p->client, login, err);
}

void pilot_probe_way(struct pilot *p, struct finding *f) {
    const struct {
        enum vim_strategy strategy;
        bool is_there;
    } ways[] = {{VIM_STRATEGY_TUNNEL, p->has_tunnel}, {VIM_STRATEGY_DIRECT, p->has_direct}};
    finding_say(f, FINDING_SKIPPED, "neither the tunnel nor the direct port is there");
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct err err = {0};
        if (!ways[i].is_there)
            continue;
        if (!try_way(p, ways[i].strategy, &err)) {
            finding_say(f, FINDING_OK, "vCenter gets a certificate of 3072 bits by %s", vim_strategy_name(ways[i].strategy));
            f->remedy[0] = '\0';
            return;
        }
        finding_say_error(f, FINDING_FAILED, &err);
    }
}

/* -- our session --------------------------------------------------------------------------------------------------------------- */

void pilot_probe_login(struct pilot *p, struct finding *f) {
    struct err err = {0};
    int rc = vim_login_password(p->client, p->options->vcenter.user, p->options->vcenter.password, &err);
    if (!rc)
        rc = vim_get_own_session(p->client, &p->own, &err);
    if (!pilot_say_rc(f, rc, &err))
        return;
    p->has[PILOT_NEEDS_SESSION] = true;
    finding_say(f, FINDING_OK, "signed in as %s", p->own.user_name);
}

void pilot_probe_cookie(struct pilot *p, struct finding *f) {
    static const char *const forms[] = {[VIM_COOKIE_HEX] = "40 hex digits",
                                        [VIM_COOKIE_UUID] = "a UUID, as session keys are",
                                        [VIM_COOKIE_OTHER] = "neither 40 hex digits nor a UUID"};
    _cleanup_done_(vim_user_session_done) struct vim_user_session read = {0};
    enum vim_cookie_form form = VIM_COOKIE_OTHER;
    struct err err = {0};
    if (!pilot_say_rc(f, vim_peek_own_session(p->client, &form, &read, &err), &err))
        return;
    finding_say(f, FINDING_OK, "the cookie alone shows whose session it is; it is %s", forms[form]);
    if (!str_eq(read.key, p->own.key)) {
        finding_say(f, FINDING_FAILED, "the cookie alone shows another session than the login gave");
    } else if (form == VIM_COOKIE_UUID) { /* what cannot be told from a session key is not taken for a cookie */
        f->status = FINDING_FAILED;
        finding_advise(f, "sign-on by session_id answers 422 here; tickets and passwords work");
    }
}

void pilot_probe_rest_session(struct pilot *p, struct finding *f) {
    const struct pilot_server *server = &p->options->vcenter;
    _cleanup_done_(vim_user_session_done) struct vim_user_session read = {0};
    struct err err = {0};
    int rc = vim_look_at_rest_session(p->client, server->user, server->password, &read, &err);
    if (rc == ERR_NOT_FOUND) {
        finding_say(f, FINDING_SKIPPED, "%s", err.text);
    } else if (rc == ERR_CREDENTIALS) {
        finding_say(f, FINDING_FAILED, "SOAP knows no session of the id that POST /api/session gave");
        finding_advise(f, "sign in by the session cookie of SOAP or by a clone ticket; documented from 8.0 Update 3 on");
    } else if (pilot_say_rc(f, rc, &err)) {
        finding_say(f, str_eq(read.user_name, p->own.user_name) ? FINDING_OK : FINDING_FAILED, "SOAP shows the session of %s",
                    read.user_name);
    }
}

void pilot_probe_clock(struct pilot *p, struct finding *f) {
    const int64_t before_ms = clock_wall_ms();
    int64_t theirs_ms = 0, date_ms, off_s;
    struct err err = {0};
    if (!pilot_say_rc(f, vim_lookup_time(p->client, &theirs_ms, &err), &err))
        return;
    off_s = (theirs_ms - (before_ms + clock_wall_ms()) / 2) / 1000;
    date_ms = p->vcenter_guard.date_ms;
    if (!date_ms)
        finding_say(f, FINDING_FAILED, "CurrentTime tells the time, and no answer has a Date");
    else if (llabs(theirs_ms - date_ms) / 1000 > CLOCK_APART_S)
        finding_say(f, FINDING_FAILED, "CurrentTime and Date differ by %lld s", llabs(theirs_ms - date_ms) / 1000);
    else if (llabs(off_s) > CLOCK_WARNING_S)
        finding_say(f, FINDING_OK, "CurrentTime and Date agree; that clock is %lld s %s ours", llabs(off_s),
                    off_s > 0 ? "ahead of" : "behind");
    else
        finding_say(f, FINDING_OK, "CurrentTime and Date agree, and with our clock");
    if (llabs(off_s) > CLOCK_WARNING_S)
        finding_advise(f, "let both follow the same time servers: certificates and Kerberos depend on it");
}

/* -- rights -------------------------------------------------------------------------------------------------------------------- */

/* On the root folder. The first two are what all rests on; the others tell whether this account could register kaasd, and be its account. */
static const char *const privileges[] = {
    "System.View",     "System.Read",      "Sessions.ValidateSession", "Sessions.TerminateSession",
    "Global.LogEvent", "Extension.Update", "Extension.Register",       "Extension.Unregister",
};
#define VITAL_COUNT 2U

void pilot_probe_privileges(struct pilot *p, struct finding *f) {
    bool granted[ARRAY_COUNT(privileges)] = {false};
    const struct vim_root_query query = {
        .subject = {.session_key = p->own.key}, .privileges = privileges, .count = ARRAY_COUNT(privileges)};
    _cleanup_strbuf_ struct strbuf missing;
    struct err err = {0};
    strbuf_init(&missing, sizeof(f->text));
    if (!pilot_say_rc(f, vim_check_root_privileges(p->client, &query, granted, &err), &err))
        return;
    for (size_t i = 0; i < ARRAY_COUNT(privileges); i++)
        if (!granted[i])
            strbuf_addf(&missing, "%s%s", missing.len ? ", " : "", privileges[i]);
    finding_say(f, granted[0] && granted[1] ? FINDING_OK : FINDING_FAILED, "%s%s on the root folder",
                missing.len ? "this account has not: " : "this account has all that a registration needs", missing.data);
    if (f->status == FINDING_FAILED)
        finding_advise(f, "give the account a role with System.Read on the vCenter object, propagating (ReadOnly will do)");
}

/* Does the subject hold System.View on the root folder? */
static int may_view(struct pilot *p, const struct vim_subject *subject, bool *granted, struct err *err) {
    return vim_check_root_privileges(
        p->client, &(struct vim_root_query){.subject = *subject, .privileges = privileges, .count = 1}, granted, err);
}

/* A second session of the same account, whose key the first one asks about. */
static int open_other(struct pilot *p, struct vim_client **out, struct vim_user_session *session, struct err *err) {
    const struct pilot_server *server = &p->options->vcenter;
    const struct vim_options options = {.host = server->address,
                                        .port = server->port,
                                        .ca_pem = server->trust.ca_pem,
                                        .pin_sha256 = server->trust.pin_sha256,
                                        .user_agent = "Harmony-KaaS-pilot",
                                        .transport = &p->vcenter_guard.transport};
    int rc = vim_client_new(&options, out, err);
    if (!rc)
        rc = vim_login_password(*out, server->user, server->password, err);
    return rc ? rc : vim_get_own_session(*out, session, err);
}

void pilot_probe_session_rights(struct pilot *p, struct finding *f) {
    _cleanup_done_(vim_user_session_done) struct vim_user_session session = {0};
    _cleanup_(vim_client_free) struct vim_client *other = NULL;
    bool granted = false;
    struct err err = {0};
    int rc = open_other(p, &other, &session, &err);
    if (!rc)
        rc = may_view(p, &(struct vim_subject){.session_key = session.key}, &granted, &err);
    if (other)
        (void)vim_logout(other, NULL);
    if (!pilot_say_rc(f, rc, &err))
        return;
    finding_say(f, granted ? FINDING_OK : FINDING_FAILED, "the key of another session %s",
                granted ? "shows its rights" : "shows no rights");
    p->ended_key = str_dup(session.key);
}

void pilot_probe_user_rights(struct pilot *p, struct finding *f) {
    const char *stored = p->own.user_name, *slash = strchr(stored, '\\');
    bool granted = false;
    struct err err = {0};
    if (!pilot_say_rc(f, may_view(p, &(struct vim_subject){.user_name = stored}, &granted, &err), &err))
        return;
    finding_say(f, granted && slash ? FINDING_OK : FINDING_FAILED, "%s %s", stored,
                !granted ? "shows no rights, and it has some"
                : slash  ? "is taken, and shows its rights"
                         : "is not of the form DOMAIN\\user");
}

void pilot_probe_unknown_user(struct pilot *p, struct finding *f) {
    const char *slash = strchr(p->own.user_name, '\\');
    const int domain = slash ? (int)(slash + 1 - p->own.user_name) : 0;
    char id[UUID_TEXT_BYTES];
    bool granted = false;
    struct err err = {0};
    uuid_new(id);
    _cleanup_free_ char *nobody = str_format("%.*skaas-pilot-%.8s", domain, p->own.user_name, id);
    const struct vim_subject subject = {.user_name = nobody};
    int rc = nobody ? may_view(p, &subject, &granted, &err) : err_set(&err, ERR_NOMEM, "out of memory");
    if (rc == ERR_NOT_FOUND)
        finding_say(f, FINDING_OK, "UserNotFound for a name that nobody has");
    else if (pilot_say_rc(f, rc, &err))
        finding_say(f, granted ? FINDING_FAILED : FINDING_OK, "no fault for a name that nobody has, and %s",
                    granted ? "it has rights" : "no rights");
}

void pilot_probe_ticket(struct pilot *p, struct finding *f) {
    _cleanup_done_(vim_user_session_done) struct vim_user_session once = {0}, twice = {0};
    _cleanup_secret_ char *ticket = NULL;
    struct err err = {0};
    int rc = vim_acquire_clone_ticket(p->client, &ticket, &err);
    if (!rc)
        rc = vim_clone_session(p->client, ticket, &once, &err);
    if (!pilot_say_rc(f, rc, &err))
        return;
    if (!p->ended_key)
        p->ended_key = str_dup(once.key);
    rc = vim_clone_session(p->client, ticket, &twice, &err);
    if (!str_eq(once.user_name, p->own.user_name))
        finding_say(f, FINDING_FAILED, "the ticket gives a session of %s", once.user_name);
    else if (rc == ERR_CREDENTIALS)
        finding_say(f, FINDING_OK, "a ticket gives a session of ours without a login, and does so once");
    else if (pilot_say_rc(f, rc, &err))
        finding_say(f, FINDING_FAILED, "a ticket gives a session each time that it is shown");
}

void pilot_probe_unknown_key(struct pilot *p, struct finding *f) {
    char id[UUID_TEXT_BYTES];
    const char *const keys[] = {id, p->ended_key};
    struct err err = {0};
    uuid_new(id);
    finding_say(f, FINDING_OK, "%s no rights, and no fault",
                p->ended_key ? "unknown and ended keys show" : "an unknown key shows");
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++) {
        const char *which = i ? "the key of a session that has ended" : "a key that never was";
        bool granted = false;
        if (!keys[i])
            continue;
        if (may_view(p, &(struct vim_subject){.session_key = keys[i]}, &granted, &err))
            finding_say(f, FINDING_FAILED, "%s: %s", which, err.text);
        else if (granted)
            finding_say(f, FINDING_FAILED, "%s shows rights", which);
        err_clear(&err);
    }
}
