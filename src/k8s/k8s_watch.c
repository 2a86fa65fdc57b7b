/* All nodes of a Kubernetes cluster, and each change of one as it happens. Layer 2 (k8s).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Facts: Kubernetes API concepts, "Efficient detection of changes", "Streaming lists", "410 Gone responses", "Retrieving large results sets in chunks". */
#include "k8s_watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "k8s_codec.h"
#include "k8s_private.h"
#include "secret.h"
#include "str.h"

#define PAGE_NODES 250
#define PAGES_MAX          \
    (2U * (K8S_NODES_MAX / \
           PAGE_NODES)) /* of one list: a server gives as many nodes a page as it is asked for, as long as there are some */
#define REFUSAL_BYTES_MAX (64UL * 1024) /* of the body of an answer that is not 200; the rest is not kept */
#define WATCH_S 600                     /* after which the server shall end a watch, which is then asked for anew */
#define EXPIRED_MAX 3U                  /* times in a row, without a list that is complete */

/* What the transfer under way is for. */
enum k8s_phase {
    K8S_LIST,    /* a page */
    K8S_INITIAL, /* the nodes that are there, then the changes (WatchList) */
    K8S_CHANGES, /* the changes since resource_version */
};

/* Where the server is, in copies: each transfer reads them anew. */
struct k8s_place {
    char *base;
    char *ca_pem, *verify_host, *cert_pem, *key_pem; /* NULL: none */
    uint8_t pin[32];
    struct http_client_options http; /* of these */
};

struct k8s_watch {
    struct http_streams *streams;
    struct k8s_watch_user user;
    struct k8s_place place;
    pthread_mutex_t lock; /* guards the next two */
    uint64_t stream;      /* the transfer under way; 0: none, the watch rests */
    bool is_stopping;
    /* Those of the transfer under way; of nobody else while there is one. */
    char *authorization; /* header line; NULL: none */
    const struct k8s_codec *codec;
    bool has_watch_list; /* as far as is known */
    enum k8s_phase phase;
    char resource_version[K8S_VERSION_BYTES_MAX + 1]; /* up to which all is told; "": no list is complete */
    char *continue_token;                             /* of the next page; NULL: the first */
    unsigned nodes, pages;                            /* told of the list */
    unsigned expired; /* times that the server had forgotten a version, since a list was complete */
    bool has_begun;   /* the user was told that a list begins */
    struct k8s_frames frames;
    struct strbuf body;     /* of a page, or of a refusal */
    int64_t began_ms;       /* the transfer */
    unsigned retry_after_s; /* of its answer's header */
    bool is_expired;        /* it told 410 as an event */
};

/* -- the next transfer --------------------------------------------------------------------------------------------- */

static char *k8s_watch_path(const struct k8s_watch *watch) {
    switch (watch->phase) {
    case K8S_LIST:
        return watch->continue_token ? str_format("/api/v1/nodes?limit=%d&continue=%s", PAGE_NODES, watch->continue_token)
                                     : str_format("/api/v1/nodes?limit=%d", PAGE_NODES);
    case K8S_INITIAL:
        return str_format(
            "/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            WATCH_S);
    case K8S_CHANGES:
    default:
        return str_format("/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s", WATCH_S,
                          watch->resource_version);
    }
}

/* -- what is told -------------------------------------------------------------------------------------------------- */

static void k8s_watch_ensure_begun(struct k8s_watch *watch) {
    if (!watch->has_begun)
        watch->user.begin(watch->user.arg);
    watch->has_begun = true;
}

/* A node of a list. */
static int k8s_watch_tell(void *arg, struct kube_node *node, struct err *err) {
    struct k8s_watch *watch = arg;
    k8s_watch_ensure_begun(watch);
    if (watch->nodes++ == K8S_NODES_MAX) {
        (void)err_set(err, ERR_TOO_LARGE, "Kubernetes at %s tells of more than %u nodes", watch->place.base, K8S_NODES_MAX);
        return err_remedy(err, "split the cluster: Kubernetes itself supports 5,000 nodes");
    }
    return watch->user.node(watch->user.arg, node, err);
}

static void k8s_watch_complete(struct k8s_watch *watch) {
    k8s_watch_ensure_begun(watch);
    watch->phase = K8S_CHANGES;
    watch->expired = 0;
    watch->user.complete(watch->user.arg);
}

/* Versions and tokens of pages go into an address as they are. */
static bool k8s_is_plain(const char *text) {
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~=")] == '\0';
}

static int k8s_watch_take_version(struct k8s_watch *watch, const char *version, struct err *err) {
    if (!*version || !k8s_is_plain(version))
        return err_set(err, ERR_PROTOCOL, "Kubernetes at %s tells a resourceVersion that is none", watch->place.base);
    memcpy(watch->resource_version, version, strlen(version) + 1);
    return 0;
}

static int k8s_watch_take(struct k8s_watch *watch, struct k8s_event *event, struct err *err) {
    int rc = event->type == K8S_ERROR ? 0 : k8s_watch_take_version(watch, event->resource_version, err);
    if (rc)
        return rc;
    switch (event->type) {
    case K8S_BOOKMARK:
        if (event->is_initial_end && watch->phase == K8S_INITIAL)
            k8s_watch_complete(watch);
        return 0;
    case K8S_DELETED: watch->user.gone(watch->user.arg, &event->node); return 0;
    case K8S_ERROR:
        watch->is_expired = event->status.code == 410;
        return err_set(err, ERR_UPSTREAM, "Kubernetes at %s ended the watch (%d): %s", watch->place.base, event->status.code,
                       event->status.message);
    case K8S_ADDED:
    case K8S_MODIFIED:
    default:
        return watch->phase == K8S_INITIAL ? k8s_watch_tell(watch, &event->node, err)
                                           : watch->user.node(watch->user.arg, &event->node, err);
    }
}

static int k8s_watch_take_events(struct k8s_watch *watch, struct err *err) {
    const void *bytes;
    size_t n;
    int rc = watch->codec->next_frame(&watch->frames, &bytes, &n, err);
    while (!rc && n) {
        struct k8s_event event = {0};
        rc = watch->codec->read_event(bytes, n, &event, err);
        if (!rc)
            rc = k8s_watch_take(watch, &event, err);
        k8s_event_done(&event);
        if (!rc)
            rc = watch->codec->next_frame(&watch->frames, &bytes, &n, err);
    }
    return rc;
}

static void k8s_watch_on_header(void *arg, const char *line, size_t n) {
    struct k8s_watch *watch = arg;
    k8s_note_retry_after(&watch->retry_after_s, line, n);
}

static int k8s_watch_on_data(void *arg, long status, const void *bytes, size_t n, struct err *err) {
    struct k8s_watch *watch = arg;
    if (status != 200) {
        if (watch->body.len + n <= REFUSAL_BYTES_MAX)
            strbuf_add(&watch->body, bytes, n);
        return 0;
    }
    if (watch->phase == K8S_LIST) {
        strbuf_add(&watch->body, bytes, n);
        return strbuf_check(&watch->body, "page of nodes", err);
    }
    int rc = k8s_frames_add(&watch->frames, bytes, n, err);
    return rc ? rc : k8s_watch_take_events(watch, err);
}

/* -- the end of a transfer ----------------------------------------------------------------------------------------- */

static void k8s_watch_from_scratch(struct k8s_watch *watch) {
    free(STEAL(watch->continue_token));
    watch->resource_version[0] = '\0';
    watch->nodes = watch->pages = 0;
    watch->has_begun = false;
    watch->phase = watch->has_watch_list ? K8S_INITIAL : K8S_LIST;
}

/* A page is whole: its nodes, and whether there is another. */
static int k8s_watch_take_page(struct k8s_watch *watch, struct err *err) {
    struct k8s_list_meta meta = {0};
    int rc = watch->codec->read_nodes(watch->body.data, watch->body.len, k8s_watch_tell, watch, &meta, err);
    if (!rc)
        rc = k8s_watch_take_version(watch, meta.resource_version, err);
    if (!rc && meta.continue_token && (!k8s_is_plain(meta.continue_token) || str_eq(meta.continue_token, watch->continue_token)))
        rc = err_set(err, ERR_PROTOCOL, "Kubernetes at %s tells a continue token that does not lead on", watch->place.base);
    if (!rc && meta.continue_token && ++watch->pages == PAGES_MAX)
        rc = err_set(err, ERR_TOO_LARGE, "the list of nodes of Kubernetes at %s does not end: %u pages", watch->place.base,
                     PAGES_MAX);
    if (!rc) {
        free(watch->continue_token);
        watch->continue_token = STEAL(meta.continue_token);
        if (!watch->continue_token)
            k8s_watch_complete(watch);
    }
    k8s_list_meta_done(&meta);
    return rc;
}

/* The server does not know what it was asked for: it is asked in an older way, if there is one. */
static bool k8s_watch_ask_for_less(struct k8s_watch *watch, long status) {
    if ((status == 400 || status == 422) && watch->phase == K8S_INITIAL)
        watch->has_watch_list = false;
    else if ((status == 406 || status == 415) && watch->codec == &k8s_codec_protobuf)
        watch->codec = &k8s_codec_json;
    else
        return false;
    if (watch->phase != K8S_CHANGES)
        k8s_watch_from_scratch(watch);
    return true;
}

/* What cannot be read as protobuf may come from something between that changes it: JSON passes there. */
static bool k8s_watch_try_json(struct k8s_watch *watch, const struct err *broken) {
    bool is_readable =
        broken->code != ERR_PROTOCOL && broken->code != ERR_TOO_LARGE; /* what is no length may look like a large one */
    if (is_readable || watch->codec == &k8s_codec_json || watch->phase == K8S_CHANGES)
        return false;
    watch->codec = &k8s_codec_json;
    k8s_watch_from_scratch(watch);
    return true;
}

/* The connection broke, or nothing came: proxies and servers do that to a watch. */
static bool k8s_watch_survives(const struct k8s_watch *watch, const struct err *broken) {
    bool is_cut = !broken->code || broken->code == ERR_UNREACHABLE || broken->code == ERR_TIMEOUT;
    return is_cut && watch->phase == K8S_CHANGES && clock_mono_ms() - watch->began_ms >= K8S_WATCH_SHORT_MS;
}

static int k8s_watch_refused(const struct k8s_watch *watch, long status, struct err *err) {
    return k8s_judge(watch->place.base + strlen("https://"), watch->phase == K8S_LIST ? "a list of nodes" : "a watch of nodes",
                     status, &watch->body, watch->retry_after_s, err);
}

/* Whether another transfer follows, which the state then asks for; if not, *why is the reason. */
static bool k8s_watch_goes_on(struct k8s_watch *watch, long status, const struct err *broken, struct err *why) {
    if (watch->is_expired || (!broken && status == 410)) {
        if (watch->is_expired)
            *why = *broken;
        else
            (void)k8s_watch_refused(watch, status, why);
        k8s_watch_from_scratch(watch);
        return ++watch->expired < EXPIRED_MAX;
    }
    if (broken) {
        *why = *broken;
        (void)err_remedy(why, "%s", k8s_transport_remedy(why->code));
        return k8s_watch_survives(watch, broken) || k8s_watch_try_json(watch, broken);
    }
    if (status != 200)
        return k8s_watch_ask_for_less(watch, status) || !k8s_watch_refused(watch, status, why);
    if (watch->phase == K8S_LIST) {
        bool is_taken = !k8s_watch_take_page(watch, why);
        (void)err_remedy(why, "%s", k8s_transport_remedy(why->code));
        return is_taken || k8s_watch_try_json(watch, why);
    }
    if (k8s_watch_survives(watch, &(struct err){0}))
        return true;
    if (!k8s_frames_are_empty(&watch->frames))
        (void)err_set(why, ERR_PROTOCOL, "the answer of Kubernetes at %s breaks off within an event", watch->place.base);
    (void)err_set(why, ERR_UPSTREAM, "Kubernetes at %s ends each watch at once", watch->place.base);
    (void)err_remedy(why, "see whether something between changes answers, or ends long connections");
    return k8s_watch_try_json(watch, why);
}

static void k8s_watch_on_end(void *arg, long status, const struct err *broken);

static int k8s_watch_begin_transfer(struct k8s_watch *watch, struct err *err) {
    _cleanup_free_ char *path = k8s_watch_path(watch), *url = path ? str_format("%s%s", watch->place.base, path) : NULL;
    const char *type = watch->phase == K8S_LIST ? watch->codec->list_type : watch->codec->watch_type;
    _cleanup_free_ char *accept = str_format("Accept: %s", type);
    const char *const headers[] = {accept, watch->authorization, NULL};
    const struct http_stream_request request = {&watch->place.http, url, headers, K8S_WATCH_IDLE_MS};
    const struct http_stream_user user = {watch, k8s_watch_on_header, k8s_watch_on_data, k8s_watch_on_end};
    if (!url || !accept)
        return err_set(err, ERR_NOMEM, "out of memory");
    strbuf_reset(&watch->body);
    k8s_frames_done(&watch->frames);
    k8s_frames_init(&watch->frames);
    watch->began_ms = clock_mono_ms();
    watch->retry_after_s = 0;
    watch->is_expired = false;
    if (watch->phase == K8S_CHANGES)
        watch->user.resume(watch->user.arg);
    LOCKED(&watch->lock);
    if (watch->is_stopping)
        return err_set(err, ERR_CANCELED, "the watch is stopped");
    return http_stream_start(watch->streams, &request, &user, &watch->stream, err);
}

/* No transfer is under way any more. True: somebody waits for that. */
static bool k8s_watch_rest(struct k8s_watch *watch) {
    LOCKED(&watch->lock);
    watch->stream = 0;
    return watch->is_stopping;
}

static void k8s_watch_on_end(void *arg, long status, const struct err *broken) {
    struct k8s_watch *watch = arg;
    struct err why = {0}, begun = {0};
    if (k8s_watch_goes_on(watch, status, broken, &why)) {
        if (!k8s_watch_begin_transfer(watch, &begun))
            return;
        why = begun;
    }
    if (!k8s_watch_rest(watch))
        watch->user.end(watch->user.arg, &why);
}

/* -- for other threads --------------------------------------------------------------------------------------------- */

static int k8s_place_copy(const struct k8s_endpoint *from, struct k8s_place *to, struct err *err) {
    const struct http_trust *trust = &from->trust;
    int rc = k8s_url_check(from->url, &to->base, err);
    if (rc)
        return rc;
    if ((trust->ca_pem && !(to->ca_pem = str_dup(trust->ca_pem))) ||
        (trust->verify_host && !(to->verify_host = str_dup(trust->verify_host))) ||
        (from->client_cert_pem && !(to->cert_pem = str_dup(from->client_cert_pem))) ||
        (from->client_key_pem && !(to->key_pem = str_dup(from->client_key_pem))))
        return err_set(err, ERR_NOMEM, "out of memory");
    if (trust->pin_sha256)
        memcpy(to->pin, trust->pin_sha256, sizeof(to->pin));
    to->http = k8s_http_options(from);
    to->http.trust = (struct http_trust){to->ca_pem, trust->pin_sha256 ? to->pin : NULL, to->verify_host};
    to->http.client_cert_pem = to->cert_pem;
    to->http.client_key_pem = to->key_pem;
    return 0;
}

static void k8s_place_done(struct k8s_place *place) {
    free(place->base);
    free(place->ca_pem);
    free(place->verify_host);
    free(place->cert_pem);
    secret_free(place->key_pem);
}

int k8s_watch_new(struct http_streams *streams, const struct k8s_endpoint *endpoint, const struct k8s_watch_user *user,
                  struct k8s_watch **out, struct err *err) {
    _cleanup_(k8s_watch_free) struct k8s_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&watch->lock, NULL);
    watch->streams = streams;
    watch->user = *user;
    strbuf_init(&watch->body, K8S_PAGE_BYTES_MAX);
    k8s_frames_init(&watch->frames);
    int rc = k8s_place_copy(endpoint, &watch->place, err);
    if (!rc)
        *out = STEAL(watch);
    return rc;
}

int k8s_watch_start(struct k8s_watch *watch, const char *token, struct err *err) {
    char *authorization = NULL;
    int rc = token ? k8s_authorization(token, &authorization, err) : 0;
    if (rc)
        return rc;
    secret_free(watch->authorization);
    watch->authorization = authorization;
    watch->expired = 0;
    if (watch->phase != K8S_CHANGES || !watch->resource_version[0]) {
        watch->codec = &k8s_codec_protobuf;
        watch->has_watch_list = true;
        k8s_watch_from_scratch(watch);
    }
    return k8s_watch_begin_transfer(watch, err);
}

static uint64_t k8s_watch_stream_under_way(struct k8s_watch *watch, bool is_stopping) {
    LOCKED(&watch->lock);
    watch->is_stopping = is_stopping;
    return watch->stream;
}

void k8s_watch_stop(struct k8s_watch *watch) {
    for (uint64_t stream; (stream = k8s_watch_stream_under_way(watch, true));)
        http_stream_stop(watch->streams, stream);
    (void)k8s_watch_stream_under_way(watch, false);
}

void k8s_watch_free(struct k8s_watch *watch) {
    if (!watch)
        return;
    k8s_watch_stop(watch);
    k8s_place_done(&watch->place);
    secret_free(watch->authorization);
    free(watch->continue_token);
    k8s_frames_done(&watch->frames);
    strbuf_done(&watch->body);
    (void)pthread_mutex_destroy(&watch->lock);
    free(watch);
}
