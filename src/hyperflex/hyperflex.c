/* The HX clusters that kaasd is connected to: who is read when, with which token, and what came of it. Layer 4 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "hyperflex.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "clock.h"
#include "http_client.h"
#include "hx.h"
#include "hx_identity_store.h"
#include "hx_store.h"
#include "limits.h"
#include "replica_store.h"
#include "seal.h"
#include "secret.h"
#include "str.h"
#include "worker_pool.h"

#define HYPERFLEX_THREADS 4U
#define HYPERFLEX_QUEUE_COUNT 256U
#define HYPERFLEX_AT_ONCE 8U /* under way, of the worker pool and of those who ask */
#define CALLS_MAX 12         /* of one try: a login, a renewal, a login again, and what is read */
#define SEALED_BYTES_MAX 16384U
#define TOKEN_RENEW_MS (9 * CLOCK_DAY_MS)    /* half of the 18 days that a token is good for */
#define REPLICA_GONE_MS (60 * INT64_C(1000)) /* a replica beats its heart every 10 s */
#define SIGN_OUT_MS 3000                     /* for all HX clusters together */
#define LEASE_NAME_BYTES (sizeof("hx:") + UUID_TEXT_BYTES)

struct hyperflex {
    struct hyperflex_options options;
    struct worker_pool *workers;
    pthread_cond_t left;            /* a place was left, or it is stopped */
    pthread_mutex_t inherited;      /* held while somebody logs in with what was inherited */
    pthread_mutex_t lock;           /* guards what follows */
    struct hx_status_list statuses; /* as of the last tick */
    struct place {
        const char *hx_id;        /* NULL: the place is free */
        struct hx_client *client; /* that hyperflex_stop ends; NULL: not made yet */
    } places[HYPERFLEX_AT_ONCE];
    char *ca_pem;           /* of hx.ca_file; NULL: none */
    int64_t next_search_ms; /* monotonic clock */
    bool is_stopped;
};

/* One try at one HX cluster, by the holder of its lease. */
struct visit {
    struct hyperflex *h;
    const struct actor *actor; /* who asked; NULL: kaasd by itself */
    struct place *place;       /* NULL: none is needed */
    struct hx_connection *connection;
    struct hx_status *status;
    struct hx_client *client;
    struct hx_token token; /* access NULL: none */
    enum hx_connection_state old_state;
    char old_reason[sizeof(((struct hx_status *)0)->reason)];
    char older_id[UUID_TEXT_BYTES]; /* it turned out to be this HX cluster; "": not */
};

/* -- secrets ------------------------------------------------------------------------------------------------------- */

/* `purpose` is malloc'ed and freed here; NULL: out of memory. */
static int secret_seal_for(struct hyperflex *h, char *purpose, const char *text, struct hx_sealed *out, struct err *err) {
    _cleanup_free_ char *mine = purpose;
    _cleanup_strbuf_ struct strbuf sealed;
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    if (!mine)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = seal_seal(h->options.seal, mine, text, strlen(text), &sealed, err);
    if (rc)
        return rc;
    out->count = sealed.len;
    out->bytes = (uint8_t *)strbuf_steal(&sealed);
    return 0;
}

/* Likewise; takes over the bytes, too. *out is freed by secret_free; NULL: none is kept. */
static int secret_unseal_for(struct hyperflex *h, char *purpose, struct hx_sealed sealed, char **out, struct err *err) {
    _cleanup_free_ char *mine = purpose;
    _cleanup_free_ uint8_t *bytes = sealed.bytes;
    _cleanup_strbuf_ struct strbuf plain;
    strbuf_init_secret(&plain, SEALED_BYTES_MAX);
    *out = NULL;
    if (!mine)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = bytes ? seal_unseal(h->options.seal, mine, bytes, sealed.count, &plain, err) : 0;
    if (rc || !bytes)
        return rc;
    *out = str_dup(plain.data);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static int secret_seal(struct hyperflex *h, const char *hx_id, enum hx_secret_kind kind, const char *text, struct hx_sealed *out,
                       struct err *err) {
    return secret_seal_for(h, str_format("hx-%s:%s", hx_secret_kind_name(kind), hx_id), text, out, err);
}

static int secret_unseal(struct hyperflex *h, const char *hx_id, enum hx_secret_kind kind, char **out, struct err *err) {
    struct hx_sealed sealed = {0};
    *out = NULL;
    int rc = hx_store_load_secret(h->options.store, hx_id, kind, &sealed, err);
    return rc ? rc : secret_unseal_for(h, str_format("hx-%s:%s", hx_secret_kind_name(kind), hx_id), sealed, out, err);
}

/* A token is kept as "type LF access LF refresh". */
static int token_load(struct visit *v, struct err *err) {
    _cleanup_secret_ char *text = NULL;
    char *at;
    int rc = secret_unseal(v->h, v->connection->hx_id, HX_SECRET_TOKEN, &text, err);
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
static int token_keep(struct visit *v, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    struct hx_sealed sealed = {0};
    strbuf_init_secret(&text, SEALED_BYTES_MAX);
    strbuf_addf(&text, "%s\n%s\n%s", v->token.type, v->token.access, v->token.refresh);
    int rc = strbuf_check(&text, "a token", err);
    if (!rc)
        rc = secret_seal(v->h, v->connection->hx_id, HX_SECRET_TOKEN, text.data, &sealed, err);
    v->status->token_at_ms = clock_wall_ms();
    if (!rc)
        rc = hx_store_save_status(v->h->options.store, v->status, &sealed, NULL, err);
    if (rc) {
        (void)hx_revoke(v->client, &v->token, NULL);
        hx_token_done(&v->token);
    }
    free(sealed.bytes);
    return rc;
}

/* -- the connection ------------------------------------------------------------------------------------------------------ */

static char *hyperflex_get_ca(struct hyperflex *h) {
    LOCKED(&h->lock);
    return str_dup(h->ca_pem);
}

static bool hyperflex_has_ca(struct hyperflex *h) {
    LOCKED(&h->lock);
    return h->ca_pem != NULL;
}

static int visit_make_client(struct visit *v, struct err *err) {
    const struct hx_connection *c = v->connection;
    _cleanup_free_ char *shared_ca = c->ca_pem || c->sha256 ? NULL : hyperflex_get_ca(v->h);
    uint8_t pin[32];
    const struct hx_options options = {
        .address = c->address,
        .port = c->port,
        .networks = v->h->options.networks,
        .trust = {.ca_pem = shared_ca ? shared_ca : c->ca_pem,
                  .pin_sha256 = c->sha256 && str_unhex(c->sha256, pin, sizeof(pin)) ? pin : NULL},
        .connect_timeout_ms = v->h->options.call_timeout_ms,
        .call_timeout_ms = v->h->options.call_timeout_ms,
    };
    return hx_client_new(&options, &v->client, err);
}

/* So that hyperflex_stop can end it. */
static int visit_announce(struct visit *v, struct err *err) {
    LOCKED(&v->h->lock);
    if (v->h->is_stopped)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    v->place->client = v->client;
    return 0;
}

static void visit_end(struct visit *v) {
    (void)pthread_mutex_lock(&v->h->lock);
    if (v->place)
        *v->place = (struct place){0};
    (void)pthread_cond_broadcast(&v->h->left);
    (void)pthread_mutex_unlock(&v->h->lock);
    hx_client_free(v->client);
    hx_token_done(&v->token);
    hx_connection_free(v->connection);
    hx_status_free(v->status);
}

static int visit_load(struct visit *v, const char *hx_id, struct err *err) {
    int rc = hx_store_load(v->h->options.store, hx_id, &v->connection, err);
    if (!rc)
        rc = hx_store_load_status(v->h->options.store, hx_id, &v->status, err);
    if (rc)
        return rc;
    v->old_state = v->status->state;
    memcpy(v->old_reason, v->status->reason, sizeof(v->old_reason));
    return 0;
}

/* -- logging in -------------------------------------------------------------------------------------------------------- */

#define PASSWORD_REMEDY \
    "see at HX Connect that this user can sign in there (a local one is local/NAME), then: kaasctl hx connect HX with the right password"

#define INHERITED_REMEDY \
    "see at HX Connect that this user can sign in there, then: kaasctl vcenter set-hx-credential VCENTER, or kaasctl hx connect HX with another"

static int check_login_time(const struct visit *v, struct err *err) {
    char when[CLOCK_RFC3339_BYTES];
    const int64_t now_ms = clock_wall_ms(), next_ms = v->status->next_login_at_ms;
    if (now_ms >= next_ms || next_ms - now_ms > HYPERFLEX_LOGIN_GAP_MS) /* further away: a clock was put back */
        return 0;
    clock_format(next_ms, when);
    (void)err_set(err, ERR_UNAVAILABLE, "HX lets a user log in 5 times in 15 minutes, people included: kaasd logs in again at %s",
                  when);
    return err_remedy(err, "wait; a connection that is set anew is tried at once");
}

/* What one HX cluster of a vCenter refused the others are spared: the account may be one of the vCenter's, which locks it for all. */
static int check_inherited(const struct visit *v, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct err why = {0};
    int rc = v->connection->is_inherited
                 ? hx_store_load_credential_of(v->h->options.store, v->connection->hx_id, &credential, &why)
                 : ERR_NOT_FOUND;
    if (rc == ERR_NOT_FOUND || (!rc && !credential->refused_at_ms))
        return 0;
    if (rc)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_CREDENTIALS,
                  "another HX cluster of its vCenter has refused the user %s and the password: it is tried at none",
                  credential->user_name);
    return err_remedy(err, INHERITED_REMEDY);
}

static void note_inherited_refusal(const struct visit *v) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    if (v->connection->is_inherited && !hx_store_load_credential_of(v->h->options.store, v->connection->hx_id, &credential, NULL))
        (void)hx_store_refuse_credential(v->h->options.store, credential->vcenter_id, clock_wall_ms(), NULL);
}

/* The time of the next one is stored before HX is asked, so that no crash and no other replica makes it two. */
static int visit_login_alone(struct visit *v, struct err *err) {
    _cleanup_secret_ char *password = NULL;
    struct err why = {0};
    int rc = check_login_time(v, err);
    if (!rc)
        rc = check_inherited(v, err);
    if (!rc)
        rc = secret_unseal(v->h, v->connection->hx_id, HX_SECRET_PASSWORD, &password, err);
    if (!rc && !password)
        rc = err_set(err, ERR_CONFIG, "no password is kept for it");
    v->status->next_login_at_ms = rc ? v->status->next_login_at_ms : clock_wall_ms() + HYPERFLEX_LOGIN_GAP_MS;
    if (!rc)
        rc = hx_store_save_status(v->h->options.store, v->status, NULL, NULL, err);
    if (rc)
        return rc;
    rc = hx_login(v->client, v->connection->user_name, password, &v->token, &why);
    if (rc == ERR_UNAUTHENTICATED) {
        v->status->refusals++;
        v->status->next_login_at_ms = clock_wall_ms() + HYPERFLEX_REFUSED_GAP_MS;
        note_inherited_refusal(v);
    }
    if (rc)
        return err_move(err, rc, &why);
    v->status->refusals = 0;
    return token_keep(v, err);
}

/* With what was inherited one logs in after the other, over all replicas: the second is to know what came of the first. */
static int visit_login(struct visit *v, struct err *err) {
    static const char lease[] = "hx-inherited-login";
    struct store *store = v->h->options.store;
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

static int visit_renew(struct visit *v, struct err *err) {
    struct hx_token fresh = {0};
    int rc = hx_refresh(v->client, &v->token, &fresh, err);
    if (rc)
        return rc;
    hx_token_done(&v->token);
    v->token = fresh;
    return token_keep(v, err);
}

/* A token that is good for a while yet, by the cheapest way: the kept one, one for the kept one, a login. */
static int visit_get_token(struct visit *v, struct err *err) {
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
static int visit_read(struct visit *v, struct hx_facts *facts, struct err *err) {
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

static const char *visit_reason(int rc) {
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
    default: return "protocol";
    }
}

static const char *visit_remedy(int rc) {
    switch (rc) {
    case ERR_TLS: return "compare the certificate with the one at HX itself, then: kaasctl hx connect HX --ca FILE, or --sha256";
    case ERR_TIMEOUT: return "see that HX Connect is not overloaded; hx.call_timeout is how long it is waited for";
    case ERR_UNREACHABLE: return "see that the address is that of HX Connect, and that no firewall is between";
    case ERR_FORBIDDEN: return "give the user a role at HX that may read (Administration Guide: the user admin may)";
    case ERR_TOO_MANY: return "wait: others have logged in too often with this user; give kaasd a user of its own";
    case ERR_CONFIG: return "see kaasctl key list for the master keys; kaasctl hx connect HX sets the password anew";
    default: return "see that the address is that of HX Connect, and which release it is (docs/admin/compatibility.md)";
    }
}

/* When it is tried again by itself. Who cannot be reached costs HX nothing; every other failure may have cost it several calls. */
static int64_t visit_wait_ms(const struct visit *v, int rc, const struct err *why) {
    const int64_t every_ms = v->h->options.read_every_ms;
    int64_t wait_ms = every_ms;
    if (rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS)
        wait_ms = every_ms < HYPERFLEX_RETRY_MS ? every_ms : HYPERFLEX_RETRY_MS;
    const int64_t asked_ms = (int64_t)why->retry_after_s * 1000;
    return wait_ms > asked_ms ? wait_ms : asked_ms;
}

static void visit_note_failure(struct visit *v, int rc, const struct err *why) {
    struct hx_status *s = v->status;
    const bool is_over = s->refusals >= (v->connection->is_inherited ? 1 : HX_REFUSALS_MAX);
    s->state = is_over ? HX_CONNECTION_REFUSED : HX_CONNECTION_FAILING;
    (void)snprintf(s->reason, sizeof(s->reason), "%s", is_over ? "refused" : visit_reason(rc));
    (void)snprintf(s->detail, sizeof(s->detail), "%s", why->text);
    (void)snprintf(s->remedy, sizeof(s->remedy), "%s",
                   rc == ERR_UNAUTHENTICATED || is_over ? v->connection->is_inherited ? INHERITED_REMEDY : PASSWORD_REMEDY
                   : why->remedy[0]                     ? why->remedy
                                                        : visit_remedy(rc));
    str_trim_utf8(s->detail);
    str_trim_utf8(s->remedy);
    s->next_at_ms = is_over ? 0 : clock_wall_ms() + visit_wait_ms(v, rc, why);
}

static void visit_note_success(struct visit *v, struct hx_facts *facts) {
    struct hx_status *s = v->status;
    s->state = HX_CONNECTION_OK;
    s->reason[0] = s->detail[0] = s->remedy[0] = '\0';
    hx_facts_done(&s->facts);
    s->facts = *facts;
    *facts = HX_FACTS_NONE;
    s->read_at_ms = clock_wall_ms();
    s->next_at_ms = s->read_at_ms + v->h->options.read_every_ms;
}

static int visit_save(struct visit *v, struct err *err) {
    struct hx_status *s = v->status;
    const bool is_news = s->state != v->old_state || !str_eq(s->reason, v->old_reason);
    const bool is_good = s->state == HX_CONNECTION_OK;
    struct audit_event event = {.action = "hx_connection.state",
                                .object_kind = "hx_connection",
                                .object_id = s->hx_id,
                                .principal_name = v->actor ? NULL : store_replica_name(v->h->options.store),
                                .result = is_good ? err_slug(0) : "upstream_error",
                                .reason = is_good ? s->facts.name : s->reason};
    const struct audit_record line = audit_record_make(v->actor, &event);
    if (is_news)
        s->since_ms = s->checked_at_ms;
    int rc = hx_store_save_status(v->h->options.store, s, NULL, is_news ? &line : NULL, err);
    if (!rc && is_news && v->h->options.on_news)
        v->h->options.on_news(v->h->options.arg, s);
    return rc;
}

/* -- who it says that it is ---------------------------------------------------------------------------------------------- */

/* The older one gets our connection, which works: its own does not, or it has none. */
static int visit_hand_over(struct visit *v, const char *older_id, struct err *err) {
    _cleanup_(hx_connection_free) struct hx_connection *theirs = NULL;
    _cleanup_secret_ char *password = NULL;
    struct hx_sealed sealed = {0};
    struct err why = {0};
    int rc = hx_store_load(v->h->options.store, older_id, &theirs, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    rc = secret_unseal(v->h, v->connection->hx_id, HX_SECRET_PASSWORD, &password, err);
    if (!rc && !password)
        rc = err_set(err, ERR_CONFIG, "no password is kept for it");
    if (!rc)
        rc = secret_seal(v->h, older_id, HX_SECRET_PASSWORD, password, &sealed, err);
    struct hx_connection ours = *v->connection; /* all texts borrowed */
    _cleanup_free_ char *id = ours.hx_id = str_dup(older_id);
    if (!rc && !id)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    ours.version_no = theirs ? theirs->version_no : 0;
    ours.updated_at_ms = clock_wall_ms();
    if (!rc)
        rc = hx_store_put(v->h->options.store, &ours, &sealed, NULL, err);
    free(sealed.bytes);
    return rc;
}

/* It is one that we know, and has moved: from now on that is what it is, and this visit has no record any more to write to. */
static int visit_become(struct visit *v, const struct hx_identity *told, const struct hx_identity_outcome *outcome,
                        struct err *err) {
    int rc = outcome->is_older_read ? 0 : visit_hand_over(v, outcome->older_id, err);
    if (!rc)
        rc = hx_identity_store_merge(v->h->options.store, told, outcome->older_id, err);
    if (rc)
        return rc;
    (void)hx_revoke(v->client, &v->token, NULL);
    memcpy(v->older_id, outcome->older_id, sizeof(v->older_id));
    if (v->h->options.on_set)
        v->h->options.on_set(v->h->options.arg);
    return 0;
}

/* The record of the HX cluster takes over who it says that it is. */
static int visit_identify(struct visit *v, const struct hx_facts *facts, struct err *err) {
    const struct audit_event event = {.action = "hx_cluster.change",
                                      .object_kind = "hx_cluster",
                                      .object_id = v->status->hx_id,
                                      .principal_name = v->actor ? NULL : store_replica_name(v->h->options.store),
                                      .reason = facts->name};
    struct audit_record line = audit_record_make(v->actor, &event);
    const struct hx_identity told = {v->status->hx_id, facts->uuid, facts->name, &line};
    struct hx_identity_outcome outcome = {.is_older_read = false};
    int rc = hx_identity_store_save(v->h->options.store, &told, &outcome, err);
    if (rc || !outcome.older_id[0])
        return rc;
    line.event.action = "hx_cluster.merge";
    line.event.reason = outcome.older_id;
    return visit_become(v, &told, &outcome, err);
}

/* What is wrong with us, the database included, or was stopped, says nothing of HX. */
static bool visit_is_our_fault(int rc) {
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
static int visit_walk(struct visit *v, struct err *err) {
    struct hx_facts facts = HX_FACTS_NONE;
    const int64_t begin_ms = clock_mono_ms();
    struct err why = {0};
    int rc = visit_make_client(v, &why);
    if (!rc)
        rc = visit_announce(v, err);
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
    v->status->checked_at_ms = clock_wall_ms();
    v->status->duration_ms = clock_mono_ms() - begin_ms;
    if (rc)
        visit_note_failure(v, rc, &why);
    else
        visit_note_success(v, &facts);
    hx_facts_done(&facts);
    return visit_save(v, err);
}

/* -- looking for addresses --------------------------------------------------------------------------------------------------- */

#define LOOK_MS 3000L

/* A client is made of it for a try, so that a bad file is told when it is read. */
int hyperflex_set_ca(struct hyperflex *h, const char *ca_pem, struct err *err) {
    const struct http_client_options options = {.trust = {.ca_pem = ca_pem}};
    struct http_client *client = NULL;
    char *copy = str_dup(ca_pem), *old;
    int rc = ca_pem ? http_client_new(&options, &client, err) : 0;
    http_client_free(client);
    if (!rc && ca_pem && !copy)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        free(copy);
        return rc;
    }
    (void)pthread_mutex_lock(&h->lock);
    old = h->ca_pem;
    h->ca_pem = copy;
    (void)pthread_mutex_unlock(&h->lock);
    free(old);
    return 0;
}

int hyperflex_list_addresses(struct hyperflex *h, const char *hx_id, struct hx_addresses *out, struct err *err) {
    return h->options.list_addresses(h->options.arg, hx_id, out, err);
}

static long hyperflex_look_ms(const struct hyperflex *h) {
    return h->options.call_timeout_ms < LOOK_MS ? h->options.call_timeout_ms : LOOK_MS;
}

static bool hyperflex_trusts(struct hyperflex *h, const struct hx_address *where) {
    _cleanup_free_ char *ca = hyperflex_get_ca(h), *url = str_format("https://%s:%u/", where->address, where->port);
    const struct http_client_options options = {
        .networks = h->options.networks, .trust = {.ca_pem = ca}, .connect_timeout_ms = hyperflex_look_ms(h)};
    const struct http_exchange handshake = {
        .method = "GET", .url = url, .timeout_ms = hyperflex_look_ms(h), .is_handshake = true};
    _cleanup_strbuf_ struct strbuf nothing;
    struct http_client *client = NULL;
    long status;
    strbuf_init(&nothing, 1);
    int rc = ca && url ? http_client_new(&options, &client, NULL) : ERR_CONFIG;
    if (!rc)
        rc = http_client_run(client, &handshake, &nothing, &status, NULL);
    http_client_free(client);
    return !rc;
}

void hyperflex_look_at(struct hyperflex *h, const struct hx_address *where, struct hyperflex_look *out) {
    *out = (struct hyperflex_look){0};
    if (!x509_lookup_server(where->address, where->port, h->options.networks, hyperflex_look_ms(h), &out->certificate,
                            &out->problem))
        out->is_trusted = hyperflex_trusts(h, where);
}

/* -- who may try --------------------------------------------------------------------------------------------------------- */

static bool hyperflex_is_due(const struct hyperflex *h, const struct hx_status *status) {
    const int64_t now_ms = clock_wall_ms(), next_ms = status->next_at_ms;
    if (!h->options.read_every_ms || status->state == HX_CONNECTION_REFUSED)
        return false;
    return now_ms >= next_ms || next_ms - now_ms > 2 * CLOCK_DAY_MS; /* further away: a clock was put back */
}

/* The place where this HX cluster is asked, else a free one; NULL: all are taken by others. */
static struct place *place_find(struct hyperflex *h, const char *hx_id) {
    struct place *found = NULL;
    for (size_t i = 0; i < HYPERFLEX_AT_ONCE; i++)
        if (str_eq(h->places[i].hx_id, hx_id))
            return &h->places[i];
        else if (!h->places[i].hx_id)
            found = &h->places[i];
    return found;
}

/* A lease holds for all of this replica: it is the place that keeps two of us from asking one HX cluster. Who was asked to, waits for the other. */
static int place_take(struct visit *v, const char *hx_id, struct err *err) {
    struct hyperflex *h = v->h;
    struct place *place = NULL;
    LOCKED(&h->lock);
    while (!h->is_stopped && (place = place_find(h, hx_id)) && place->hx_id && v->actor)
        (void)pthread_cond_wait(&h->left, &h->lock);
    if (h->is_stopped)
        return err_set(err, ERR_CANCELED, "kaasd is stopping");
    if (!place || place->hx_id)
        return err_set(err, ERR_BUSY, "too many HX clusters are asked at once; try again shortly");
    place->hx_id = hx_id;
    v->place = place;
    return 0;
}

/* With its lease: HX sees one of us at a time. */
static int hyperflex_try_alone(struct visit *v, const char *hx_id, struct err *err) {
    struct store *store = v->h->options.store;
    const char *holder = store_replica_name(store);
    char lease[LEASE_NAME_BYTES];
    bool is_mine = false;
    (void)snprintf(lease, sizeof(lease), "hx:%s", hx_id);
    int rc = lease_store_acquire(store, lease, holder, CALLS_MAX * v->h->options.call_timeout_ms, &is_mine, err);
    if (rc || !is_mine)
        return rc ? rc : err_set(err, ERR_BUSY, "another replica asks this HX cluster just now; try again shortly");
    rc = visit_load(v, hx_id, err);
    if (!rc && (v->actor || hyperflex_is_due(v->h, v->status)))
        rc = visit_walk(v, err);
    (void)lease_store_release(store, lease, holder, NULL);
    return rc;
}

/* older_id[0]: it turned out to be that one. */
static int hyperflex_try(struct hyperflex *h, const struct actor *actor, const char *hx_id, char older_id[UUID_TEXT_BYTES],
                         struct err *err) {
    struct visit v = {.h = h, .actor = actor};
    int rc = place_take(&v, hx_id, err);
    if (!rc)
        rc = hyperflex_try_alone(&v, hx_id, err);
    memcpy(older_id, v.older_id, sizeof(v.older_id));
    visit_end(&v);
    return rc;
}

/* -- life ---------------------------------------------------------------------------------------------------------------- */

int hyperflex_new(const struct hyperflex_options *options, struct hyperflex **out, struct err *err) {
    const struct worker_pool_options workers = {.name = "hyperflex",
                                                .threads = HYPERFLEX_THREADS,
                                                .queue_count = HYPERFLEX_QUEUE_COUNT,
                                                .thread_begin = options->thread_begin,
                                                .thread_end = options->thread_end};
    struct hyperflex *h = calloc(1, sizeof(*h));
    if (!h)
        return err_set(err, ERR_NOMEM, "out of memory");
    h->options = *options;
    (void)pthread_mutex_init(&h->inherited, NULL);
    (void)pthread_mutex_init(&h->lock, NULL);
    (void)pthread_cond_init(&h->left, NULL);
    int rc = worker_pool_new(&workers, &h->workers, err);
    if (rc)
        hyperflex_free(h);
    else
        *out = h;
    return rc;
}

void hyperflex_stop(struct hyperflex *h) {
    if (!h)
        return;
    (void)pthread_mutex_lock(&h->lock);
    h->is_stopped = true;
    (void)pthread_cond_broadcast(&h->left);
    for (size_t i = 0; i < HYPERFLEX_AT_ONCE; i++)
        if (h->places[i].client)
            hx_client_cancel(h->places[i].client);
    (void)pthread_mutex_unlock(&h->lock);
    if (h->workers)
        worker_pool_stop(h->workers);
}

void hyperflex_free(struct hyperflex *h) {
    if (!h)
        return;
    hyperflex_stop(h);
    worker_pool_free(h->workers);
    hx_status_list_done(&h->statuses);
    free(h->ca_pem);
    (void)pthread_cond_destroy(&h->left);
    (void)pthread_mutex_destroy(&h->inherited);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

/* -- giving tokens back -------------------------------------------------------------------------------------------------- */

/* What is kept of before: its token will be of no use any more. False: there is none. */
static bool visit_load_token(struct visit *v, const char *hx_id) {
    return !visit_load(v, hx_id, NULL) && v->status->token_at_ms && !token_load(v, NULL) && v->token.access;
}

/* HX keeps a token for 18 days that nobody gives back. One that does not answer is no reason to fail. */
static void visit_give_back(struct visit *v) {
    if (!visit_make_client(v, NULL))
        (void)hx_revoke(v->client, &v->token, NULL);
}

static bool has_other_replicas(struct hyperflex *h) {
    struct replica_list list = {0};
    bool is_any = replica_store_list(h->options.store, &list, NULL) != 0; /* who knows */
    for (size_t i = 0; i < list.count; i++)
        is_any = is_any || (list.items[i].id && list.items[i].id != store_get_replica(h->options.store) &&
                            list.items[i].heartbeat_age_ms >= 0 && list.items[i].heartbeat_age_ms < REPLICA_GONE_MS);
    replica_list_done(&list);
    return is_any;
}

void hyperflex_sign_out(struct hyperflex *h) {
    static const struct hx_sealed none = {0};
    const int64_t until_ms = clock_mono_ms() + SIGN_OUT_MS;
    struct hx_status_list list = {0};
    if (!h || has_other_replicas(h) || hx_store_list_statuses(h->options.store, &list, NULL))
        return;
    if (h->options.call_timeout_ms > SIGN_OUT_MS / 3)
        h->options.call_timeout_ms = SIGN_OUT_MS / 3;
    for (size_t i = 0; i < list.count && clock_mono_ms() < until_ms; i++) {
        struct visit v = {.h = h};
        if (list.items[i].token_at_ms && visit_load_token(&v, list.items[i].hx_id)) {
            visit_give_back(&v);
            v.status->token_at_ms = 0;
            (void)hx_store_save_status(h->options.store, v.status, &none, NULL, NULL);
        }
        visit_end(&v);
    }
    hx_status_list_done(&list);
}

/* -- setting ------------------------------------------------------------------------------------------------------------- */

int hyperflex_list(struct hyperflex *h, struct hx_connection_list *out, struct err *err) {
    return hx_store_list(h->options.store, out, err);
}

int hyperflex_list_statuses(struct hyperflex *h, struct hx_status_list *out, struct err *err) {
    return hx_store_list_statuses(h->options.store, out, err);
}

int hyperflex_load(struct hyperflex *h, const char *hx_id, struct hx_connection **out, struct err *err) {
    return hx_store_load(h->options.store, hx_id, out, err);
}

int hyperflex_load_status(struct hyperflex *h, const char *hx_id, struct hx_status **out, struct err *err) {
    return hx_store_load_status(h->options.store, hx_id, out, err);
}

static int hyperflex_check_password(const char *password, struct err *err) {
    if (!str_empty(password) && strlen(password) <= KAAS_PASSWORD_BYTES_MAX)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "password must have 1 to %d bytes", KAAS_PASSWORD_BYTES_MAX);
}

/* A CA that cannot be read is told now, not by the first failure. */
static int hyperflex_check(struct hyperflex *h, struct hx_connection *wish, const char *password, struct err *err) {
    struct visit v = {.connection = wish, .h = h};
    struct err why = {0};
    int rc = hx_connection_check(wish, err);
    if (!rc)
        rc = hyperflex_check_password(password, err);
    if (!rc && !wish->ca_pem && !wish->sha256 && !hyperflex_has_ca(h)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "neither ca_pem nor thumbprint_sha256 is given, and there is no hx.ca_file");
        rc = err_remedy(err, "give the SHA-256 of the certificate as a browser shows it at HX Connect, or the CA that signs it");
    }
    if (rc)
        return rc;
    rc = visit_make_client(&v, &why);
    hx_client_free(v.client);
    return rc == ERR_CONFIG ? err_set(err, ERR_UNPROCESSABLE, "ca_pem: %s", why.text) : err_move(err, rc, &why);
}

/* A refusal is noted, too. */
static int hyperflex_finish(struct hyperflex *h, const struct audit_record *line, int rc) {
    if (rc)
        audit_store_append_outcome(h->options.store, line, rc);
    return rc;
}

/* User and password of the vCenter for a wish that names neither. */
static int hyperflex_inherit(struct hyperflex *h, struct hx_connection *wish, char **password, struct err *err) {
    _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
    struct hx_sealed sealed = {0};
    struct err why = {0};
    int rc = hx_store_load_credential_of(h->options.store, wish->hx_id, &credential, &why);
    if (rc == ERR_NOT_FOUND) {
        (void)err_set(err, ERR_UNPROCESSABLE,
                      "neither user_name nor password is given, and the HX cluster's vCenter has none to inherit");
        return err_remedy(err, "give both, or set them for the vCenter: kaasctl vcenter set-hx-credential VCENTER");
    }
    if (rc)
        return err_move(err, rc, &why);
    wish->is_inherited = true;
    rc = str_replace(&wish->user_name, credential->user_name, err);
    if (!rc)
        rc = hx_store_load_credential_secret(h->options.store, credential->vcenter_id, &sealed, err);
    return rc ? rc : secret_unseal_for(h, str_format("hx-credential:%s", credential->vcenter_id), sealed, password, err);
}

static int hyperflex_write(struct hyperflex *h, const struct actor *actor, struct hx_connection *wish, const char *password,
                           struct err *err) {
    const struct audit_record line =
        audit_record_make(actor, &(struct audit_event){.action = "hx_connection.set",
                                                       .object_kind = "hx_connection",
                                                       .object_id = wish->hx_id,
                                                       .principal_name = actor ? NULL : store_replica_name(h->options.store),
                                                       .reason = wish->address});
    struct visit before = {.h = h};
    struct hx_sealed sealed = {0};
    int rc = secret_seal(h, wish->hx_id, HX_SECRET_PASSWORD, password, &sealed, err);
    if (rc)
        return rc;
    const bool has_token = visit_load_token(&before, wish->hx_id);
    wish->updated_at_ms = clock_wall_ms();
    rc = hyperflex_finish(h, &line, hx_store_put(h->options.store, wish, &sealed, &line, err));
    if (!rc && has_token)
        visit_give_back(&before);
    visit_end(&before);
    free(sealed.bytes);
    return rc;
}

int hyperflex_put(struct hyperflex *h, const struct actor *actor, struct hx_connection *wish, const char *password,
                  struct err *err) {
    _cleanup_secret_ char *inherited = NULL;
    int rc = 0;
    if (!wish->user_name != !password)
        return err_set(err, ERR_UNPROCESSABLE, "give both user_name and password, or neither to use those of the vCenter");
    if (!password)
        rc = hyperflex_inherit(h, wish, &inherited, err);
    password = password ? password : inherited;
    if (!rc)
        rc = hyperflex_check(h, wish, password, err);
    if (!rc)
        rc = hyperflex_write(h, actor, wish, password, err);
    if (!rc && h->options.on_set)
        h->options.on_set(h->options.arg);
    return rc;
}

int hyperflex_remove(struct hyperflex *h, const struct actor *actor, const char *hx_id, int64_t version_no, struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_connection.remove", .object_kind = "hx_connection", .object_id = hx_id});
    const struct hx_removal removal = {.hx_id = hx_id, .version_no = version_no, .audit = &line};
    struct visit before = {.h = h};
    const bool has_token = visit_load_token(&before, hx_id);
    int rc = hyperflex_finish(h, &line, hx_store_delete(h->options.store, &removal, err));
    if (!rc && has_token)
        visit_give_back(&before);
    visit_end(&before);
    return rc;
}

int hyperflex_test(struct hyperflex *h, const struct actor *actor, const char *hx_id, struct hx_status **out, struct err *err) {
    char older_id[UUID_TEXT_BYTES], none[UUID_TEXT_BYTES];
    int rc = hyperflex_try(h, actor, hx_id, older_id, err);
    if (!rc && older_id[0])
        rc = hyperflex_try(h, actor, older_id, none, err);
    return rc ? rc : hyperflex_load_status(h, older_id[0] ? older_id : hx_id, out, err);
}

/* -- what HX clusters of a vCenter inherit -------------------------------------------------------------------------------------- */

int hyperflex_load_credential(struct hyperflex *h, const char *vcenter_id, struct hx_credential **out, struct err *err) {
    return hx_store_load_credential(h->options.store, vcenter_id, out, err);
}

/* Those that have it already are set anew with what it is now; one that cannot be stays as it is. */
static void hyperflex_pass_on(struct hyperflex *h, const struct actor *actor, const char *vcenter_id) {
    struct hx_connection_list list = {0};
    int rc = hx_store_list(h->options.store, &list, NULL);
    for (size_t i = 0; !rc && i < list.count; i++) {
        _cleanup_(hx_credential_free) struct hx_credential *credential = NULL;
        struct hx_connection *heir = &list.items[i];
        if (!heir->is_inherited || hx_store_load_credential_of(h->options.store, heir->hx_id, &credential, NULL) ||
            !str_eq(credential->vcenter_id, vcenter_id))
            continue;
        free(heir->user_name);
        heir->user_name = NULL;
        (void)hyperflex_put(h, actor, heir, NULL, NULL);
    }
    hx_connection_list_done(&list);
}

int hyperflex_put_credential(struct hyperflex *h, const struct actor *actor, struct hx_credential *wish, const char *password,
                             struct err *err) {
    const struct audit_record line = audit_record_make(actor, &(struct audit_event){.action = "hx_credential.set",
                                                                                    .object_kind = "vcenter",
                                                                                    .object_id = wish->vcenter_id,
                                                                                    .reason = wish->user_name});
    struct hx_sealed sealed = {0};
    int rc = hx_user_name_check(wish->user_name, err);
    if (!rc)
        rc = hyperflex_check_password(password, err);
    if (!rc)
        rc = secret_seal_for(h, str_format("hx-credential:%s", wish->vcenter_id), password, &sealed, err);
    if (rc)
        return rc;
    wish->updated_at_ms = clock_wall_ms();
    rc = hyperflex_finish(h, &line, hx_store_put_credential(h->options.store, wish, &sealed, &line, err));
    free(sealed.bytes);
    if (rc)
        return rc;
    hyperflex_pass_on(h, actor, wish->vcenter_id);
    (void)pthread_mutex_lock(&h->lock);
    h->next_search_ms = 0;
    (void)pthread_mutex_unlock(&h->lock);
    if (h->options.on_set)
        h->options.on_set(h->options.arg);
    return 0;
}

int hyperflex_remove_credential(struct hyperflex *h, const struct actor *actor, const char *vcenter_id, int64_t version_no,
                                struct err *err) {
    const struct audit_record line = audit_record_make(
        actor, &(struct audit_event){.action = "hx_credential.remove", .object_kind = "vcenter", .object_id = vcenter_id});
    const struct hx_removal removal = {.hx_id = vcenter_id, .version_no = version_no, .audit = &line};
    return hyperflex_finish(h, &line, hx_store_delete_credential(h->options.store, &removal, err));
}

/* The first address whose certificate the CA of hx.ca_file vouches for. */
static void search_connect(struct hyperflex *h, const char *hx_id) {
    _cleanup_done_(hx_addresses_done) struct hx_addresses found = {.count = 0};
    bool is_trusted = false;
    if (hyperflex_list_addresses(h, hx_id, &found, NULL))
        return;
    for (size_t i = 0; !is_trusted && i < found.count; i++) {
        struct hx_connection wish = {.port = found.items[i].port};
        is_trusted = hyperflex_trusts(h, &found.items[i]);
        if (is_trusted && !str_replace(&wish.hx_id, hx_id, NULL) && !str_replace(&wish.address, found.items[i].address, NULL))
            (void)hyperflex_put(h, NULL, &wish, NULL, NULL);
        hx_connection_done(&wish);
    }
}

/* HX clusters that have appeared since. One replica does it; what fails is tried the next time. */
static void search_run(void *arg, bool is_canceled) {
    static const char lease[] = "hx-search";
    struct hyperflex *h = arg;
    struct store *store = h->options.store;
    char **heirs = NULL;
    size_t count = 0;
    bool is_mine = false;
    if (is_canceled || lease_store_acquire(store, lease, store_replica_name(store), h->options.read_every_ms, &is_mine, NULL) ||
        !is_mine)
        return;
    (void)hx_store_list_heirs(store, &heirs, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        search_connect(h, heirs[i]);
        free(heirs[i]);
    }
    free(heirs);
}

static bool search_is_due(struct hyperflex *h) {
    LOCKED(&h->lock);
    if (!h->options.read_every_ms || !h->ca_pem || clock_mono_ms() < h->next_search_ms)
        return false;
    h->next_search_ms = clock_mono_ms() + h->options.read_every_ms;
    return true;
}

/* -- by itself ------------------------------------------------------------------------------------------------------------- */

struct errand {
    struct hyperflex *h;
    char hx_id[UUID_TEXT_BYTES];
};

/* What cannot be stored, or is asked elsewhere, stays due. */
static void hyperflex_run_errand(void *arg, bool is_canceled) {
    _cleanup_free_ struct errand *errand = arg;
    struct err err = {0};
    char older_id[UUID_TEXT_BYTES];
    if (!is_canceled)
        (void)hyperflex_try(errand->h, NULL, errand->hx_id, older_id, &err);
}

static void hyperflex_send_off(struct hyperflex *h, const char *hx_id) {
    struct errand *errand = calloc(1, sizeof(*errand));
    if (!errand)
        return;
    errand->h = h;
    (void)snprintf(errand->hx_id, sizeof(errand->hx_id), "%s", hx_id);
    if (worker_pool_submit(h->workers, hyperflex_run_errand, errand, NULL))
        free(errand);
}

/* Those that are due go together, and nobody goes twice: not before the last round is over. */
int hyperflex_tick(struct hyperflex *h, struct err *err) {
    struct worker_pool_stats stats;
    struct hx_status_list fresh = {0}, old;
    int rc = hyperflex_list_statuses(h, &fresh, err);
    if (rc)
        return rc;
    worker_pool_get_stats(h->workers, &stats);
    for (size_t i = 0; !stats.waiting && !stats.running && i < fresh.count; i++)
        if (hyperflex_is_due(h, &fresh.items[i]))
            hyperflex_send_off(h, fresh.items[i].hx_id);
    if (search_is_due(h))
        (void)worker_pool_submit(h->workers, search_run, h, NULL);
    (void)pthread_mutex_lock(&h->lock);
    old = h->statuses;
    h->statuses = fresh;
    (void)pthread_mutex_unlock(&h->lock);
    hx_status_list_done(&old);
    return 0;
}

bool hyperflex_find_status(struct hyperflex *h, const char *hx_id, struct hx_status *out) {
    LOCKED(&h->lock);
    for (size_t i = 0; i < h->statuses.count; i++)
        if (str_eq(h->statuses.items[i].hx_id, hx_id))
            return !members_copy(hx_status_members, &h->statuses.items[i], out, sizeof(*out), "a status", NULL);
    return false;
}

/* -- health ------------------------------------------------------------------------------------------------------------------ */

static void hyperflex_check_one(const struct hx_status *s, const struct inventory_platform *platform, struct findings *out) {
    const struct hx_cluster *hx = inventory_find_hx(platform, s->hx_id);
    struct finding f = {.step = "hx_connection", .is_elsewhere = true, .since_ms = s->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", s->hx_id);
    if (s->reason[0]) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", s->detail);
        finding_advise(&f, "%s", s->remedy);
    }
    findings_add(out, &f);
}

void hyperflex_check_health(struct hyperflex *h, const struct inventory_platform *platform, struct findings *out) {
    LOCKED(&h->lock);
    for (size_t i = 0; i < h->statuses.count; i++)
        hyperflex_check_one(&h->statuses.items[i], platform, out);
}
