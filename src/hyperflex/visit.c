/* One try at one HX cluster: signs in with as few logins as can be, reads it, and notes what came of it. Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "hx.h"
#include "hx_identity_store.h"
#include "hx_store.h"
#include "lease_store.h"
#include "limits.h"
#include "secret.h"
#include "str.h"

#define TOKEN_BYTES_MAX 16384U
#define CONNECT_MAX_MS 10000L /* HX may be slow to answer, not to take the connection */
#define LOGIN_WAIT_MAX_MS (HX_RETRY_MAX_S * INT64_C(1000))
#define TOKEN_RENEW_MS (9 * CLOCK_DAY_MS) /* half of the 18 days that a token is good for */

/* -- secrets ------------------------------------------------------------------------------------------------------- */

int visit_seal(struct hyperflex *h, const char *hx_id, enum hx_secret_kind kind, const char *text, struct secret_value *out,
               struct err *err) {
    const struct secret_place place = hx_store_place(hx_id, kind);
    return secret_seal(h->options.runtime->seal, &place, text, out, err);
}

static int visit_unseal(struct hyperflex *h, const char *hx_id, enum hx_secret_kind kind, char **out, struct err *err) {
    const struct secret_place place = hx_store_place(hx_id, kind);
    return secret_store_open(h->options.runtime->store, h->options.runtime->seal, &place, out, err);
}

/* A token is kept as "type LF access LF refresh". */
static int token_load(struct hx_visit *v, struct err *err) {
    _cleanup_secret_ char *text = NULL;
    char *at;
    int rc = visit_unseal(v->h, v->connection->hx_id, HX_SECRET_TOKEN, &text, err);
    if (rc || !text)
        return rc;
    at = text;
    const char *type = strsep(&at, "\n"), *access = strsep(&at, "\n");
    if (!access || !at)
        return err_set(err, ERR_INTERNAL, "the token of HX cluster %s is kept in another form", v->connection->hx_id);
    v->token = (struct hx_token){.type = str_dup(type), .access = str_dup(access), .refresh = str_dup(at)};
    return v->token.type && v->token.access && v->token.refresh ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* Keeps it and how the connection stands. One that cannot be kept is given back: it would be one of the eight for 18 days. */
static int token_keep(struct hx_visit *v, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct secret_value sealed = {0};
    strbuf_init_secret(&text, TOKEN_BYTES_MAX);
    strbuf_addf(&text, "%s\n%s\n%s", v->token.type, v->token.access, v->token.refresh);
    int rc = strbuf_check(&text, "a token", err);
    if (!rc)
        rc = visit_seal(v->h, v->connection->hx_id, HX_SECRET_TOKEN, text.data, &sealed, err);
    v->status->token_at_ms = clock_wall_ms();
    if (!rc)
        rc = hx_store_save_status(v->h->options.runtime->store, v->status, &sealed, NULL, &v->at->fence, err);
    if (rc) {
        (void)hx_revoke(v->client, &v->token, NULL);
        hx_token_done(&v->token);
    }
    free(sealed.bytes);
    return rc;
}

/* -- the connection ------------------------------------------------------------------------------------------------------ */

int visit_make_client(struct hx_visit *v, struct err *err) {
    const struct hx_connection *c = v->connection;
    _cleanup_free_ char *shared_ca = c->ca_pem || c->sha256 ? NULL : hyperflex_get_ca(v->h);
    uint8_t pin[32];
    const struct hx_options options = {
        .address = c->address,
        .port = c->port,
        .networks = v->h->options.networks,
        .trust = {.ca_pem = shared_ca ? shared_ca : c->ca_pem,
                  .pin_sha256 = c->sha256 && str_unhex(c->sha256, pin, sizeof(pin)) ? pin : NULL},
        .connect_timeout_ms = v->h->options.call_timeout_ms < CONNECT_MAX_MS ? v->h->options.call_timeout_ms : CONNECT_MAX_MS,
        .call_timeout_ms = v->h->options.call_timeout_ms,
    };
    return hx_client_new(&options, &v->client, err);
}

void visit_end(struct hx_visit *v) {
    if (v->at)
        hx_remote_leave(v->at);
    hx_client_free(v->client);
    hx_token_done(&v->token);
    hx_connection_free(v->connection);
    hx_status_free(v->status);
}

int visit_load(struct hx_visit *v, const char *hx_id, struct err *err) {
    int rc = hx_store_load(v->h->options.runtime->store, hx_id, &v->connection, err);
    return rc ? rc : hx_store_load_status(v->h->options.runtime->store, hx_id, &v->status, err);
}

/* -- logging in -------------------------------------------------------------------------------------------------------- */

/* Which password is to be set anew: that of this HX cluster, or the one that those of its vCenter inherit. As err_remedy. */
static int visit_advise_password(const struct hx_visit *v, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    const char *hx_id = v->connection->hx_id;
    if (v->connection->is_inherited && !hx_store_load_credential_of(v->h->options.runtime->store, hx_id, &credential, NULL))
        return err_remedy(err,
                          "see at HX Connect that this user can sign in there, then: kaasctl vcenter set-hx-credential %s, or "
                          "kaasctl hx connect %s with another",
                          credential->vcenter_id, hx_id);
    return err_remedy(err,
                      "see at HX Connect that this user can sign in there (a local one is local/NAME), then: kaasctl hx connect "
                      "%s. If it can, this release may want a client_id, which kaasd does not send: tell the developers",
                      hx_id);
}

static int check_login_time(const struct hx_visit *v, struct err *err) {
    char when[CLOCK_RFC3339_BYTES];
    const int64_t now_ms = clock_wall_ms(), next_ms = v->status->next_login_at_ms;
    if (now_ms >= next_ms || next_ms - now_ms > LOGIN_WAIT_MAX_MS) /* further away: a clock was put back */
        return 0;
    clock_format(next_ms, when);
    (void)err_set(err, ERR_UNAVAILABLE, "HX lets a user log in 5 times in 15 minutes, people included: kaasd logs in again at %s",
                  when);
    return err_remedy(err, "wait; a connection that is set anew is tried at once");
}

/* Ten refusals lock an account, and people may add theirs: not even who asks for a test gets one more. */
static int check_refusals(const struct hx_visit *v, struct err *err) {
    if (v->status->refusals < HX_REFUSALS_MAX)
        return 0;
    (void)err_set(err, ERR_UNAUTHENTICATED, "HX has refused the user %s and the password %u times: they are not tried again",
                  v->connection->user_name, v->status->refusals);
    return visit_advise_password(v, err);
}

/* What one HX cluster of a vCenter refused the others are spared: the account may be one of the vCenter's, which locks it for all. */
static int check_inherited(struct hx_visit *v, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct err why = {0};
    int rc = v->connection->is_inherited
                 ? hx_store_load_credential_of(v->h->options.runtime->store, v->connection->hx_id, &credential, &why)
                 : ERR_NOT_FOUND;
    v->credential_no = credential ? credential->version_no : 0;
    if (rc == ERR_NOT_FOUND || (!rc && !credential->refused_at_ms))
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_CREDENTIALS,
                  "another HX cluster of its vCenter has refused the user %s and the password: it is tried at none",
                  credential->user_name);
    return visit_advise_password(v, err);
}

static void note_inherited_refusal(const struct hx_visit *v) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct store *store = v->h->options.runtime->store;
    if (!v->connection->is_inherited || hx_store_load_credential_of(store, v->connection->hx_id, &credential, NULL))
        return;
    credential->version_no = v->credential_no; /* one that was set anew meanwhile was not refused */
    (void)hx_store_refuse_credential(store, credential, &v->at->fence, clock_wall_ms(), NULL);
}

/* The time of the next one is stored before HX is asked, so that no crash and no other replica makes it two. */
static int visit_login_alone(struct hx_visit *v, struct err *err) {
    _cleanup_secret_ char *password = NULL;
    struct err why = {0};
    int rc = check_refusals(v, err);
    if (!rc)
        rc = check_login_time(v, err);
    if (!rc)
        rc = check_inherited(v, err);
    if (!rc)
        rc = visit_unseal(v->h, v->connection->hx_id, HX_SECRET_PASSWORD, &password, err);
    if (!rc && !password)
        rc = err_set(err, ERR_CONFIG, "no password is kept for it");
    v->status->next_login_at_ms = rc ? v->status->next_login_at_ms : clock_wall_ms() + HYPERFLEX_LOGIN_GAP_MS;
    if (!rc)
        rc = hx_store_save_status(v->h->options.runtime->store, v->status, NULL, NULL, &v->at->fence, err);
    if (rc)
        return rc;
    rc = hx_login(v->client, v->connection->user_name, password, &v->token, &why);
    if (rc == ERR_UNAUTHENTICATED) {
        v->status->refusals++;
        v->status->next_login_at_ms = clock_wall_ms() + HYPERFLEX_REFUSED_GAP_MS;
        note_inherited_refusal(v);
    }
    const int64_t asked_ms = clock_wall_ms() + (int64_t)why.retry_after_s * 1000;
    if (v->status->next_login_at_ms < asked_ms)
        v->status->next_login_at_ms = asked_ms;
    if (rc)
        return err_move(err, rc, &why);
    v->status->refusals = 0;
    return token_keep(v, err);
}

/* With what was inherited one logs in after the other, over all replicas: the second is to know what came of the first. */
static int visit_login(struct hx_visit *v, struct err *err) {
    static const char lease[] = "hx-inherited-login";
    struct store *store = v->h->options.runtime->store;
    bool is_mine = false;
    if (!v->connection->is_inherited)
        return visit_login_alone(v, err);
    LOCKED(&v->h->inherited);
    int rc = lease_store_acquire(store, lease, store_replica_name(store), 2 * v->h->options.call_timeout_ms, &is_mine, err);
    if (rc || !is_mine)
        return rc ? rc : err_set(err, ERR_BUSY, "another replica logs in with what was inherited just now");
    rc = visit_login_alone(v, err);
    (void)lease_store_release(store, lease, store_replica_name(store), NULL);
    return rc;
}

static int visit_renew(struct hx_visit *v, struct err *err) {
    struct hx_token fresh = {0};
    int rc = hx_refresh(v->client, &v->token, &fresh, err);
    if (rc)
        return rc;
    hx_token_done(&v->token);
    v->token = fresh;
    return token_keep(v, err);
}

/* A token that is good for a while yet, by the cheapest way: the kept one, one for the kept one, a login. */
static int visit_get_token(struct hx_visit *v, struct err *err) {
    struct err why = {0};
    int rc = token_load(v, &why);
    if (!rc && v->token.access && clock_wall_ms() - v->status->token_at_ms >= TOKEN_RENEW_MS)
        rc = visit_renew(v, &why);
    if (!rc && v->token.access)
        return 0;
    if (rc && rc != ERR_UNAUTHENTICATED)
        return err_move(err, rc, &why);
    hx_token_done(&v->token);
    return visit_login(v, err);
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

/* HX ends tokens, too: when it starts anew, when somebody revokes them, when the user has more than eight. */
static int visit_read(struct hx_visit *v, struct hx_facts *facts, struct err *err) {
    struct err why = {0};
    int rc = visit_get_token(v, err);
    if (rc)
        return rc;
    rc = hx_read(v->client, &v->token, facts, &why);
    if (rc != ERR_UNAUTHENTICATED)
        return err_move(err, rc, &why);
    err_clear(&why);
    rc = visit_renew(v, &why);
    if (rc == ERR_UNAUTHENTICATED) {
        hx_token_done(&v->token);
        err_clear(&why);
        rc = visit_login(v, &why);
    }
    if (!rc)
        rc = hx_read(v->client, &v->token, facts, &why);
    return err_move(err, rc, &why);
}

const char *visit_reason(int rc) {
    switch (rc) {
    case ERR_TLS: return "tls_untrusted";
    case ERR_TIMEOUT: return "timeout";
    case ERR_UNREACHABLE: return "unreachable";
    case ERR_TOO_LARGE: return "too_large";
    case ERR_UNAUTHENTICATED: return "refused";
    case ERR_CREDENTIALS: return "credential_refused"; /* check_inherited */
    case ERR_FORBIDDEN: return "forbidden";
    case ERR_TOO_MANY: return "rate_limited";
    case ERR_UNAVAILABLE: return "login_waits"; /* check_login_time */
    case ERR_CONFIG: return "secret_unreadable";
    case ERR_CONFLICT: return "uuid_taken"; /* hx_claim_check */
    case ERR_EXISTS: return "another_hx";   /* hx_identity_store_save */
    default: return "protocol";
    }
}

int visit_advise(const char *hx_id, struct err *err) {
    switch (err->code) {
    case ERR_TLS:
        return err_remedy(
            err, "compare the certificate with the one at HX itself, then: kaasctl hx connect %s --ca-file FILE, or --sha256",
            hx_id);
    case ERR_TIMEOUT:
        return err_remedy(err, "see that HX Connect is not overloaded; hx.call_timeout is how long it is waited for");
    case ERR_UNREACHABLE:
        return err_remedy(
            err, "see that the address is that of HX Connect (kaasctl hx addresses %s), and that no firewall is between", hx_id);
    case ERR_FORBIDDEN:
        return err_remedy(err, "give the user a role at HX that may read (Administration Guide: the user admin may)");
    case ERR_TOO_MANY:
        return err_remedy(err, "wait: others have logged in too often with this user; give kaasd a user of its own");
    case ERR_CONFIG:
        return err_remedy(err, "see kaasctl key list for the master keys; kaasctl hx connect %s sets the password anew", hx_id);
    default:
        return err_remedy(
            err, "see that the address is that of HX Connect, and which release it is (" DOC_PAGE("admin/compatibility.md") ")");
    }
}

/* When it is tried again by itself. Who cannot be reached costs HX nothing; every other failure may have cost it several calls. */
static int64_t visit_wait_ms(const struct hx_visit *v, int rc, const struct err *why) {
    const int64_t every_ms = v->h->options.read_every_ms;
    int64_t wait_ms = every_ms;
    if (rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS)
        wait_ms = every_ms < HYPERFLEX_RETRY_MS ? every_ms : HYPERFLEX_RETRY_MS;
    const int64_t asked_ms = (int64_t)why->retry_after_s * 1000;
    return wait_ms > asked_ms ? wait_ms : asked_ms;
}

/* True if that is news. */
static bool visit_note_failure(struct hx_visit *v, int rc, const struct err *why) {
    struct hx_status *s = v->status;
    struct err told = *why;
    const bool is_over = s->refusals >= (v->connection->is_inherited ? 1 : HX_REFUSALS_MAX);
    if (rc == ERR_UNAUTHENTICATED || is_over) {
        told.remedy[0] = '\0';
        (void)visit_advise_password(v, &told);
    }
    (void)visit_advise(s->hx_id, &told);
    s->remote.next_at_ms = is_over ? 0 : clock_wall_ms() + visit_wait_ms(v, rc, why);
    return remote_status_set(&s->remote, is_over ? REMOTE_REFUSED : REMOTE_FAILING, is_over ? "refused" : visit_reason(rc), &told,
                             s->remote.checked_at_ms);
}

static bool visit_note_success(struct hx_visit *v, struct hx_facts *facts) {
    struct hx_status *s = v->status;
    hx_facts_done(&s->facts);
    s->facts = *facts;
    *facts = HX_FACTS_NONE;
    s->read_at_ms = clock_wall_ms();
    s->remote.next_at_ms = s->read_at_ms + v->h->options.read_every_ms;
    return remote_status_set(&s->remote, REMOTE_OK, "", NULL, s->remote.checked_at_ms);
}

static int visit_save(struct hx_visit *v, bool is_news, struct err *err) {
    struct hx_status *s = v->status;
    const bool is_good = s->remote.state == REMOTE_OK;
    struct audit_event event = {.action = "hx_connection.state",
                                .object_kind = "hx_connection",
                                .object_id = s->hx_id,
                                .principal_name = v->actor ? NULL : store_replica_name(v->h->options.runtime->store),
                                .result = is_good ? err_slug(0) : "upstream_error",
                                .reason = is_good ? s->facts.name : s->remote.reason};
    const struct audit_record line = audit_record_make(v->actor, &event);
    int rc = hx_store_save_status(v->h->options.runtime->store, s, NULL, is_news ? &line : NULL, &v->at->fence, err);
    if (!rc && is_news && v->h->options.on_news)
        v->h->options.on_news(v->h->options.arg, s);
    return rc;
}

/* -- who it says that it is ---------------------------------------------------------------------------------------------- */

/* The older one gets our connection, which works: its own does not, or it has none. */
static int visit_hand_over(struct hx_visit *v, const char *older_id, struct err *err) {
    _cleanup_(hx_connection_free) struct hx_connection *theirs = NULL;
    _cleanup_secret_ char *password = NULL;
    struct secret_value sealed = {0};
    struct err why = {0};
    int rc = hx_store_load(v->h->options.runtime->store, older_id, &theirs, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    rc = visit_unseal(v->h, v->connection->hx_id, HX_SECRET_PASSWORD, &password, err);
    if (!rc && !password)
        rc = err_set(err, ERR_CONFIG, "no password is kept for it");
    if (!rc)
        rc = visit_seal(v->h, older_id, HX_SECRET_PASSWORD, password, &sealed, err);
    struct hx_connection ours = *v->connection; /* all texts borrowed */
    _cleanup_free_ char *id = ours.hx_id = str_dup(older_id);
    if (!rc && !id)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    ours.version_no = theirs ? theirs->version_no : 0;
    ours.updated_at_ms = clock_wall_ms();
    if (!rc)
        rc = hx_store_put(v->h->options.runtime->store, &ours, &sealed, NULL, &v->at->fence, err);
    free(sealed.bytes);
    return rc;
}

/* It is one that we know, and has moved: from now on that is what it is, and this visit has no record any more to write to. */
static int visit_become(struct hx_visit *v, const struct hx_identity *told, const struct hx_identity_outcome *outcome,
                        struct err *err) {
    int rc = outcome->is_older_read ? 0 : visit_hand_over(v, outcome->older_id, err);
    if (!rc)
        rc = hx_identity_store_merge(v->h->options.runtime->store, told, outcome->older_id, err);
    if (rc)
        return rc;
    (void)hx_revoke(v->client, &v->token, NULL);
    memcpy(v->older_id, outcome->older_id, sizeof(v->older_id));
    if (v->h->options.on_set)
        v->h->options.on_set(v->h->options.arg);
    return 0;
}

/* The record of the HX cluster takes over who it says that it is. */
static int visit_identify(struct hx_visit *v, const struct hx_facts *facts, struct err *err) {
    const struct audit_event event = {.action = "hx_cluster.change",
                                      .object_kind = "hx_cluster",
                                      .object_id = v->status->hx_id,
                                      .principal_name = v->actor ? NULL : store_replica_name(v->h->options.runtime->store),
                                      .reason = facts->name};
    struct audit_record line = audit_record_make(v->actor, &event);
    const struct hx_identity told = {.hx_id = v->status->hx_id,
                                     .uuid = facts->uuid,
                                     .name = facts->name,
                                     .datacenter = facts->datacenter,
                                     .vsphere_cluster = facts->vsphere_cluster,
                                     .audit = &line,
                                     .fence = &v->at->fence};
    struct hx_identity_outcome outcome = {.is_older_read = false};
    int rc = hx_identity_store_save(v->h->options.runtime->store, &told, &outcome, err);
    if (rc || !outcome.older_id[0])
        return rc;
    line.event.action = "hx_cluster.merge";
    line.event.reason = outcome.older_id;
    return visit_become(v, &told, &outcome, err);
}

bool visit_is_our_fault(int rc) {
    switch (rc) {
    case ERR_CANCELED:
    case ERR_NOMEM:
    case ERR_INTERNAL:
    case ERR_DATABASE:
    case ERR_BUSY:
    case ERR_SCHEMA:
    case ERR_PRECONDITION: /* the connection was set anew or removed meanwhile */
    case ERR_NOT_FOUND: return true;
    default: return false;
    }
}

/* What is wrong with HX or the connection is noted. */
int visit_run(struct hx_visit *v, struct err *err) {
    struct hx_facts facts = HX_FACTS_NONE;
    const int64_t begin_ms = clock_mono_ms();
    struct err why = {0};
    int rc = visit_make_client(v, &why);
    if (!rc)
        rc = hx_remote_show(v->at, v->client, NULL, err);
    if (rc && !why.code)
        return rc;
    if (!rc)
        rc = visit_read(v, &facts, &why);
    if (!rc)
        rc = visit_identify(v, &facts, &why);
    if (visit_is_our_fault(rc))
        return err_move(err, rc, &why);
    if (v->older_id[0]) {
        hx_facts_done(&facts);
        return 0;
    }
    v->status->remote.checked_at_ms = clock_wall_ms();
    v->status->duration_ms = clock_mono_ms() - begin_ms;
    const bool is_news = rc ? visit_note_failure(v, rc, &why) : visit_note_success(v, &facts);
    hx_facts_done(&facts);
    return visit_save(v, is_news, err);
}

/* -- giving a token back ---------------------------------------------------------------------------------------------------- */

bool visit_load_token(struct hx_visit *v, const char *hx_id) {
    return !visit_load(v, hx_id, NULL) && v->status->token_at_ms && !token_load(v, NULL) && v->token.access;
}

void visit_give_back(struct hx_visit *v) {
    if (v->client || !visit_make_client(v, NULL))
        (void)hx_revoke(v->client, &v->token, NULL);
}
