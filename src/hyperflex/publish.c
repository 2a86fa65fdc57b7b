/* What HX clusters are told of where KaaS is: what, when, and what came of it. Layer 5 (hyperflex).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "hx_publication_store.h"
#include "hx_store.h"
#include "hyperflex_private.h"
#include "link_env.h"
#include "peer_store.h"
#include "platform_links.h"
#include "replica_store.h"
#include "str.h"
#include "x509.h"

#define BODY_BYTES_MAX (64UL * 1024)

/* -- what is said -------------------------------------------------------------------------------------------------------------- */

/* The same for all HX clusters. Texts malloc'ed. */
struct publish_source {
    char *certificate; /* PEM; NULL: nothing can be published */
    char installation[UUID_TEXT_BYTES];
    int64_t since_ms; /* wall clock: we say so since then */
};

static void publish_source_done(struct publish_source *source) {
    free(source->certificate);
}

/* It never changes, so it is read once. */
int publish_get_installation(struct hyperflex *h, char out[UUID_TEXT_BYTES], struct err *err) {
    char read[UUID_TEXT_BYTES] = "";
    (void)pthread_mutex_lock(&h->lock);
    memcpy(out, h->installation, UUID_TEXT_BYTES);
    (void)pthread_mutex_unlock(&h->lock);
    int rc = out[0] ? 0 : installation_store_load(h->options.runtime->store, read, err);
    if (rc || out[0])
        return rc;
    memcpy(out, read, UUID_TEXT_BYTES);
    LOCKED(&h->lock);
    memcpy(h->installation, read, UUID_TEXT_BYTES);
    return 0;
}

static int64_t publish_note_certificate(struct hyperflex *h, const char *pem) {
    uint8_t now[DIGEST_SHA256_BYTES];
    digest_sha256(pem, strlen(pem), now);
    LOCKED(&h->lock);
    if (!h->certificate_since_ms || memcmp(now, h->certificate_sha256, sizeof(now)) != 0) {
        memcpy(h->certificate_sha256, now, sizeof(now));
        h->certificate_since_ms = clock_wall_ms();
    }
    return h->certificate_since_ms;
}

static int publish_source_load(struct hyperflex *h, struct publish_source *out, struct err *err) {
    _cleanup_free_ char *pem = NULL;
    *out = (struct publish_source){0};
    int rc = publish_get_installation(h, out->installation, err);
    if (rc || !str_starts(h->options.runtime->public_url, "https://"))
        return rc;
    rc = link_env_get_server_cert(platform_env(h->options.platform), &pem, err);
    if (rc || !pem)
        return rc;
    out->since_ms = publish_note_certificate(h, pem);
    out->certificate = STEAL(pem);
    return 0;
}

static void publish_put_url(json_t *object, const char *name, const struct hyperflex *h, const char *path) {
    _cleanup_free_ char *url = str_format("%s%s", h->options.runtime->public_url, path);
    json_put(object, name, url ? json_string(url) : NULL);
}

/* All but nonce and end, and the digest of that. `place` NULL: we are not registered with its vCenter, and *out is NULL. */
static int publish_make(const struct hyperflex *h, const struct publish_source *source, const struct hx_place *place,
                        json_t **out, char digest[HX_DIGEST_BYTES], struct err *err) {
    uint8_t sha256[DIGEST_SHA256_BYTES];
    *out = NULL;
    if (!place || !source->certificate)
        return 0;
    _cleanup_json_ json_t *object = json_object();
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, BODY_BYTES_MAX);
    json_put_string(object, "name", "Harmony KaaS");
    json_put_string(object, "instance_id", source->installation);
    publish_put_url(object, "api_url", h, "/v2/");
    publish_put_url(object, "ui_url", h, "/ui/");
    publish_put_url(object, "panel_url", h, "/ui/panel");
    json_put_string(object, "version", h->options.runtime->version);
    json_put_string(object, "certificate_pem", source->certificate);
    json_put_string(object, "vcenter_id", place->vcenter_id);
    json_put_string(object, "extension_key", place->extension_key);
    int rc = json_write(object, &text, err);
    if (rc)
        return rc;
    digest_sha256(text.data, text.len, sha256);
    str_hex(sha256, sizeof(sha256), digest);
    *out = STEAL(object);
    return 0;
}

static enum hx_publication_step publish_next(const struct hyperflex *h, const struct publish_source *source,
                                             const struct hx_publication *row, const char *digest) {
    return hx_publication_next(&(struct hx_publication_case){.row = row,
                                                             .is_automatic = h->options.publishes,
                                                             .digest = digest,
                                                             .digest_since_ms = source->since_ms,
                                                             .now_ms = clock_wall_ms()});
}

/* -- looking ------------------------------------------------------------------------------------------------------------------- */

int hyperflex_load_publication(struct hyperflex *h, const char *hx_id, struct hx_publication **out, struct err *err) {
    _cleanup_(hx_publication_free) struct hx_publication *row = NULL;
    struct err why = {0};
    int rc = hx_publication_store_load(h->options.runtime->store, hx_id, &row, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    if (rc) {
        row = calloc(1, sizeof(*row));
        if (!row || str_replace(&row->hx_id, hx_id, NULL))
            return err_set(err, ERR_NOMEM, "out of memory");
        row->is_wanted = h->options.publishes;
    }
    *out = STEAL(row);
    return 0;
}

int publish_begin(struct publication *p, const char *hx_id, struct err *err) {
    struct hyperflex *h = p->h;
    _cleanup_done_(publish_source_done) struct publish_source source = {0};
    _cleanup_done_(hx_place_done) struct hx_place place = {0};
    struct err why = {0};
    int rc = hyperflex_load_publication(h, hx_id, &p->row, err);
    if (!rc)
        rc = publish_source_load(h, &source, err);
    if (rc)
        return rc;
    rc = hx_publication_store_load_place(h->options.runtime->store, hx_id, &place, &why);
    if (rc && rc != ERR_NOT_FOUND)
        return err_move(err, rc, &why);
    rc = publish_make(h, &source, rc ? NULL : &place, &p->registration, p->digest, err);
    if (rc)
        return rc;
    memcpy(p->installation, source.installation, sizeof(p->installation));
    p->old_state = p->row->state;
    memcpy(p->old_reason, p->row->reason, sizeof(p->old_reason));
    p->step = publish_next(h, &source, p->row->version_no ? p->row : NULL, p->registration ? p->digest : NULL);
    return 0;
}

void publish_end(struct publication *p) {
    hx_publication_free(p->row);
    json_decref(p->registration);
}

bool publish_may_visit(const struct hx_status *status) {
    return status->remote.state == REMOTE_OK || (status->remote.state == REMOTE_FAILING && !status->refusals &&
                                                 remote_status_is_time(&status->remote, clock_wall_ms()));
}

static const struct hx_publication *publish_find_row(const struct hx_publication_list *list, const char *hx_id) {
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].hx_id, hx_id))
            return &list->items[i];
    return NULL;
}

static const struct hx_place *publish_find_place(const struct hx_place_list *list, const char *hx_id) {
    for (size_t i = 0; i < list->count; i++)
        if (str_eq(list->items[i].hx_id, hx_id))
            return &list->items[i];
    return NULL;
}

static void publish_keep(struct hyperflex *h, struct hx_publication_list *rows) {
    (void)pthread_mutex_lock(&h->lock);
    const struct hx_publication_list old = h->publications;
    h->publications = *rows;
    *rows = old;
    (void)pthread_mutex_unlock(&h->lock);
}

/* All that one look at all HX clusters needs. */
struct publish_look {
    struct hx_publication_list rows;
    struct hx_place_list places;
    struct hx_peer_list peers;
    struct publish_source source;
};

static void publish_look_done(struct publish_look *look) {
    hx_publication_list_done(&look->rows);
    hx_place_list_done(&look->places);
    hx_peer_list_done(&look->peers);
    publish_source_done(&look->source);
}

static int publish_look_load(struct hyperflex *h, struct publish_look *look, struct err *err) {
    int rc = hx_publication_store_list(h->options.runtime->store, &look->rows, err);
    if (!rc)
        rc = hx_publication_store_list_places(h->options.runtime->store, &look->places, err);
    if (!rc)
        rc = peer_store_list(h->options.runtime->store, &look->peers, err);
    return rc ? rc : publish_source_load(h, &look->source, err);
}

static int publish_request(struct hyperflex *h, const struct publish_look *look, const char *hx_id, unsigned tick_no,
                           struct err *err) {
    _cleanup_json_ json_t *registration = NULL;
    char digest[HX_DIGEST_BYTES];
    int rc = publish_make(h, &look->source, publish_find_place(&look->places, hx_id), &registration, digest, err);
    if (rc || !publish_next(h, &look->source, publish_find_row(&look->rows, hx_id), registration ? digest : NULL))
        return rc;
    return hx_remote_request(h, hx_id, HX_WORK_PUBLISH, tick_no, err);
}

static bool publish_is_connected(const struct hx_status_list *statuses, const char *hx_id) {
    for (size_t i = 0; i < statuses->count; i++)
        if (str_eq(statuses->items[i].hx_id, hx_id))
            return true;
    return false;
}

int publish_request_due(struct hyperflex *h, const struct hx_status_list *statuses, unsigned tick_no, struct err *err) {
    _cleanup_done_(publish_look_done) struct publish_look look = {0};
    int rc = publish_look_load(h, &look, err);
    for (size_t i = 0; !rc && i < statuses->count; i++)
        if (publish_may_visit(&statuses->items[i]))
            rc = publish_request(h, &look, statuses->items[i].hx_id, tick_no, err);
    for (size_t i = 0; !rc && i < look.peers.count; i++)
        if (!publish_is_connected(statuses, look.peers.items[i].hx_id))
            rc = publish_request(h, &look, look.peers.items[i].hx_id, tick_no, err);
    if (!rc)
        publish_keep(h, &look.rows);
    return rc;
}

/* -- saying it ----------------------------------------------------------------------------------------------------------------- */

struct audit_record publish_line(const struct publication *p, bool is_wanted, const struct audit_event *what) {
    struct audit_event event = *what;
    event.action = is_wanted ? "hx_cluster.publish" : "hx_cluster.unpublish";
    event.object_kind = "hx_cluster";
    event.object_id = p->row->hx_id;
    event.principal_name = p->actor ? NULL : store_replica_name(p->h->options.runtime->store);
    return audit_record_make(p->actor, &event);
}

/* Of a visit that has the HX cluster alone; when its connection is removed, there is none. */
static const struct lease_fence *publish_fence(const struct publication *p) {
    return p->visit->at ? &p->visit->at->fence : NULL;
}

/* The nonce of a request, and what it is of, are stored before the request is sent: any replica may be asked for it meanwhile. */
static int publish_keep_nonce(struct publication *p, const char *nonce, const struct strbuf *body, struct err *err) {
    uint8_t sha256[DIGEST_SHA256_BYTES];
    digest_sha256(nonce, strlen(nonce), sha256);
    str_hex(sha256, sizeof(sha256), p->row->nonce_digest);
    digest_sha256(body->len ? body->data : "", body->len, sha256);
    str_hex(sha256, sizeof(sha256), p->row->body_sha256);
    p->row->nonce_until_ms = clock_wall_ms() + PUBLISH_NONCE_MS;
    return hx_publication_store_save(p->h->options.runtime->store, p->row, NULL, publish_fence(p), err);
}

static void publish_make_nonce(char out[PUBLISH_NONCE_CHARS + 1]) {
    uint8_t bytes[PUBLISH_NONCE_CHARS / 2];
    random_bytes(bytes, sizeof(bytes));
    str_hex(bytes, sizeof(bytes), out);
}

/* By our Kerberos account. What was wrong before HX answered has a word of its own, and the peer's remedy. */
static void publish_ask_peer(struct publication *p, const char *method, const char *path, const struct strbuf *body,
                             struct err *why) {
    unsigned retry_after_s = 0;
    const struct peers_request request = {.method = method,
                                          .path = path,
                                          .body = body,
                                          .reply_bytes_max = HX_REGISTRATION_REPLY_BYTES_MAX,
                                          .on_header = hx_note_retry_after,
                                          .on_header_arg = &retry_after_s};
    struct hx_peer_result result = {0};
    long status = 0;
    int rc = peers_exchange(p->visit->at, &request, &result, &status, why);
    if (rc == ERR_NOT_FOUND) /* the peer was removed: HX has said nothing */
        why->code = ERR_CANCELED;
    if (rc)
        return;
    if (result.state == HX_PEER_OK) {
        rc = hx_registration_judge("the address of its peer", status, retry_after_s, why);
        (void)snprintf(p->reason, sizeof(p->reason), "%s", visit_reason(rc));
        return;
    }
    (void)err_set(why, str_eq(result.reason, "refused") ? ERR_UNAUTHENTICATED : ERR_UPSTREAM, "%s", result.detail);
    (void)err_remedy(why, "%s", result.remedy);
    (void)snprintf(p->reason, sizeof(p->reason), "%s", result.reason);
}

static void publish_send(struct publication *p, const struct strbuf *body, const char *query, struct err *why) {
    const bool is_put = p->step == HX_PUBLICATION_PUT;
    if (!p->visit->connection) {
        _cleanup_free_ char *path = is_put ? str_dup(HX_REGISTRATION_PATH) : str_format(HX_REGISTRATION_PATH "?%s", query);
        if (path)
            publish_ask_peer(p, is_put ? "PUT" : "DELETE", path, body, why);
        else
            (void)err_set(why, ERR_NOMEM, "out of memory");
        return;
    }
    int rc = is_put ? hx_put_registration(p->visit->client, &p->visit->token, body, why)
                    : hx_delete_registration(p->visit->client, &p->visit->token, query, why);
    (void)snprintf(p->reason, sizeof(p->reason), "%s", visit_reason(rc));
}

/* From the moment that it is sent HX may hold it, whatever becomes of the answer. */
static int publish_put(struct publication *p, struct err *err, struct err *why) {
    const int64_t held_until_ms = p->row->expires_at_ms;
    char nonce[PUBLISH_NONCE_CHARS + 1];
    _cleanup_strbuf_ struct strbuf body;
    strbuf_init(&body, BODY_BYTES_MAX);
    publish_make_nonce(nonce);
    p->row->expires_at_ms = clock_wall_ms() + PUBLISH_HOLD_MS;
    memcpy(p->row->digest, p->digest, sizeof(p->row->digest));
    json_put_string(p->registration, "nonce", nonce);
    json_put_time(p->registration, "expires", p->row->expires_at_ms);
    int rc = json_write(p->registration, &body, err);
    if (!rc)
        rc = publish_keep_nonce(p, nonce, &body, err);
    if (rc)
        return rc;
    publish_send(p, &body, NULL, why);
    if (why->code == ERR_NOT_FOUND)
        p->row->expires_at_ms = 0;
    if (why->code == ERR_UNAUTHENTICATED || why->code == ERR_FORBIDDEN)
        p->row->expires_at_ms = held_until_ms;
    return 0;
}

static int publish_delete(struct publication *p, struct err *err, struct err *why) {
    _cleanup_strbuf_ struct strbuf nothing;
    char nonce[PUBLISH_NONCE_CHARS + 1];
    strbuf_init(&nothing, 1);
    publish_make_nonce(nonce);
    _cleanup_free_ char *query = str_format("instance_id=%s&nonce=%s", p->installation, nonce);
    int rc = query ? publish_keep_nonce(p, nonce, &nothing, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    publish_send(p, NULL, query, why);
    return 0;
}

/* -- what came of it ------------------------------------------------------------------------------------------------------------ */

static void publish_note_failure(struct publication *p, const struct err *why) {
    static const struct backoff retry = {.first_ms = PUBLISH_RETRY_MS, .max_ms = PUBLISH_RETRY_MAX_MS, .jitter_percent = 20};
    struct hx_publication *row = p->row;
    struct err told = *why;
    const bool is_refused = why->code == ERR_UNAUTHENTICATED || why->code == ERR_FORBIDDEN;
    const int64_t asked_ms = (int64_t)why->retry_after_s * 1000;
    row->state = is_refused ? HX_PUBLICATION_REFUSED : HX_PUBLICATION_FAILING;
    (void)snprintf(row->reason, sizeof(row->reason), "%s", is_refused ? "refused" : p->reason);
    (void)snprintf(row->detail, sizeof(row->detail), "%s", why->text);
    (void)visit_advise(row->hx_id, &told);
    (void)snprintf(row->remedy, sizeof(row->remedy), "%s", told.remedy);
    str_trim_utf8(row->detail);
    str_trim_utf8(row->remedy);
    const int64_t wait_ms = backoff_delay_ms(&retry, ++row->failures, random_u32());
    row->next_at_ms = clock_wall_ms() + (wait_ms > asked_ms ? wait_ms : asked_ms);
}

/* `why->code` 0: it went well. What cannot be taken back ends by itself. */
static void publish_note(struct publication *p, const struct err *why) {
    struct hx_publication *row = p->row;
    const int64_t now_ms = row->tried_at_ms = clock_wall_ms();
    const bool is_gone =
        p->step == HX_PUBLICATION_DELETE && (!why->code || why->code == ERR_NOT_FOUND || now_ms >= row->expires_at_ms);
    if (!is_gone && why->code && why->code != ERR_NOT_FOUND) {
        publish_note_failure(p, why);
        return;
    }
    row->state = is_gone ? HX_PUBLICATION_WITHDRAWN : why->code ? HX_PUBLICATION_NOT_SUPPORTED : HX_PUBLICATION_PUBLISHED;
    row->reason[0] = row->detail[0] = row->remedy[0] = '\0';
    row->failures = 0;
    row->next_at_ms = is_gone ? 0 : now_ms + PUBLISH_RENEW_MS;
    if (is_gone)
        row->expires_at_ms = 0;
    if (row->state == HX_PUBLICATION_PUBLISHED)
        row->published_at_ms = now_ms;
}

static int publish_save(struct publication *p, struct err *err) {
    struct hx_publication *row = p->row;
    const bool is_news = row->state != p->old_state || !str_eq(row->reason, p->old_reason);
    const struct audit_record line =
        publish_line(p, p->step == HX_PUBLICATION_PUT,
                     &(struct audit_event){.result = row->reason[0] ? "upstream_error" : err_slug(0),
                                           .reason = row->reason[0] ? row->reason : hx_publication_state_name(row->state)});
    if (is_news)
        row->since_ms = row->tried_at_ms;
    int rc = hx_publication_store_save(p->h->options.runtime->store, row, is_news ? &line : NULL, publish_fence(p), err);
    if (!rc && is_news && p->h->options.on_published)
        p->h->options.on_published(p->h->options.arg, row);
    return rc;
}

int publish_run(struct publication *p, struct err *err) {
    const struct hx_status *status = p->visit->status;
    struct err why = {0};
    int rc = 0;
    if (p->step == HX_PUBLICATION_REST)
        return 0;
    if (status && status->remote.state != REMOTE_OK) {
        (void)err_set(&why, ERR_UNAVAILABLE, "it cannot be read: %s", status->remote.detail);
        (void)err_remedy(&why, "%s", status->remote.remedy);
        (void)snprintf(p->reason, sizeof(p->reason), "%s", status->remote.reason);
        publish_note(p, &why);
        return publish_save(p, err);
    }
    rc = p->step == HX_PUBLICATION_PUT ? publish_put(p, err, &why) : publish_delete(p, err, &why);
    if (!rc && visit_is_our_fault(why.code) && why.code != ERR_NOT_FOUND)
        rc = err_move(err, why.code, &why);
    if (rc)
        return rc;
    publish_note(p, &why);
    return publish_save(p, err);
}

/* Nobody will come back: what HX was not told it forgets by itself. */
static void publish_leave_by(const struct hx_visit *before, const char *hx_id, bool is_able) {
    struct publication p = {.h = before->h, .visit = before};
    struct err why = {0};
    if (!publish_begin(&p, hx_id, NULL) && p.row->expires_at_ms) {
        p.step = HX_PUBLICATION_DELETE;
        if (is_able)
            (void)publish_delete(&p, NULL, &why);
        why.code = 0;
        publish_note(&p, &why);
        (void)publish_save(&p, NULL);
    }
    publish_end(&p);
}

void publish_leave(struct hx_visit *before) {
    const bool is_able = before->token.access && (before->client || !visit_make_client(before, NULL));
    publish_leave_by(before, before->connection->hx_id, is_able);
}

static int publish_leave_peer(struct hx_remote *at, struct err *err) {
    struct hx_visit visit = {.h = at->h};
    int rc = hx_remote_enter(at, true, HX_VISIT_MS(at->h), err);
    if (rc)
        return rc;
    visit.at = at;
    publish_leave_by(&visit, at->remote.id, true);
    visit_end(&visit);
    return 0;
}

int hyperflex_leave_peer(struct hyperflex *h, const char *hx_id, struct err *err) {
    _cleanup_(hx_connection_free) struct hx_connection *connection = NULL;
    _cleanup_(hx_publication_free) struct hx_publication *row = NULL;
    struct hx_remote *at = NULL;
    int rc = hyperflex_load_publication(h, hx_id, &row, err);
    if (rc || !row->expires_at_ms || peers_check(h, hx_id, NULL) ||
        hx_store_load(h->options.runtime->store, hx_id, &connection, NULL) != ERR_NOT_FOUND)
        return rc; /* HX holds nothing that came by the peer */
    rc = hx_remote_get(h, hx_id, &at, err);
    if (rc)
        return rc;
    rc = publish_leave_peer(at, err);
    remote_unref(&at->remote);
    return rc;
}
