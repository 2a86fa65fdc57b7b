/* Many long HTTPS transfers on one thread, over libcurl. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Other threads only put transfers at the head of the list and mark some as stopped; the thread alone takes them out and frees them. So it may walk along
 * the list without the lock once it has read the head. */
#include "http_stream.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cleanup.h"
#include "clock.h"
#include "http_curl.h"
#include "str.h"

#define WAIT_MS_MAX 1000
#define PIECE_BYTES \
    4096L /* each transfer has a buffer of it, for as long as it lasts; libcurl's default of 16 KiB is no quicker */

struct http_stream {
    struct http_stream *next;
    uint64_t id;
    struct http_stream_user user;
    CURL *curl;
    struct curl_slist *headers;
    struct http_tls tls;
    struct http_reach reach;
    struct http_head head;
    char *peer; /* for messages */
    char error_text[CURL_ERROR_SIZE];
    int64_t idle_ms, heard_ms; /* limit; when a piece came last, or the transfer began */
    bool is_begun;             /* curl knows it */
    atomic_bool is_stopped;    /* set by other threads */
    struct err refused;        /* what on_data said; code 0: nothing */
};

struct http_streams {
    CURLM *multi;
    pthread_t thread;
    pthread_mutex_t lock;      /* guards all below */
    pthread_cond_t ended;      /* a transfer has left the list */
    struct http_stream *first; /* all that have not ended */
    uint64_t last_id;
    bool is_ending;
};

/* -- one transfer -------------------------------------------------------------------------------------------------- */

static void http_stream_free(struct http_stream *stream) {
    if (!stream)
        return;
    curl_easy_cleanup(stream->curl);
    curl_slist_free_all(stream->headers);
    http_tls_done(&stream->tls);
    free(stream->peer);
    free(stream);
}
CLEANUP_DEFINE(struct http_stream, http_stream_free);

static size_t on_piece(char *bytes, size_t size, size_t count, void *arg) {
    struct http_stream *stream = arg;
    size_t n = size * count;
    long status = 0;
    stream->heard_ms = clock_mono_ms();
    (void)curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
    return stream->user.on_data(stream->user.arg, status, bytes, n, &stream->refused) ? 0 : n;
}

static CURLcode http_stream_setup(struct http_stream *stream, const struct http_stream_request *request) {
    CURL *curl = stream->curl;
    CURLcode rc;
    if ((rc = http_curl_setup(curl, &stream->tls, &stream->reach, stream->error_text)) ||
        (rc = http_curl_setup_client(curl, request->client)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, PIECE_BYTES)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L)) || (rc = curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_URL, request->url)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_HTTPHEADER, stream->headers)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_head_line)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_HEADERDATA, &stream->head)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_piece)) ||
        (rc = curl_easy_setopt(curl, CURLOPT_WRITEDATA, stream)))
        return rc;
    return curl_easy_setopt(curl, CURLOPT_PRIVATE, stream);
}

static int http_stream_make(const struct http_stream_request *request, const struct http_stream_user *user,
                            struct http_stream **out, struct err *err) {
    _cleanup_(http_stream_free) struct http_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = http_tls_init(&stream->tls, request->client, err);
    if (!rc)
        rc = http_tls_begin(&stream->tls, request->url, err);
    if (!rc)
        rc = http_curl_headers(request->headers, &stream->headers, err);
    if (rc)
        return rc;
    stream->user = *user;
    stream->head = (struct http_head){.on_line = user->on_header, .arg = user->arg};
    stream->reach.policy = request->client->networks;
    stream->idle_ms = request->idle_ms;
    stream->curl = curl_easy_init();
    stream->peer = http_curl_peer(request->url, request->client->unix_socket, request->client->proxy);
    if (!stream->curl || !stream->peer || http_stream_setup(stream, request))
        return err_set(err, ERR_NOMEM, "out of memory");
    *out = STEAL(stream);
    return 0;
}

/* Why curl has ended a transfer; 0 if the answer is complete. */
static int http_stream_verdict(const struct http_stream *stream, CURLcode code, struct err *err) {
    struct http_outcome outcome = {code, stream->curl, stream->error_text, stream->peer, &stream->tls, &stream->reach};
    if (stream->refused.code) {
        *err = stream->refused;
        return err->code;
    }
    int rc = http_head_check(&stream->head, stream->peer, err);
    return rc || !code ? rc : http_curl_error(&outcome, err);
}

/* -- the thread ---------------------------------------------------------------------------------------------------- */

static struct http_stream *http_streams_first(struct http_streams *streams, bool *is_ending) {
    LOCKED(&streams->lock);
    *is_ending = streams->is_ending;
    return streams->first;
}

static void http_streams_unlink(struct http_streams *streams, const struct http_stream *stream) {
    LOCKED(&streams->lock);
    struct http_stream **at = &streams->first;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    (void)pthread_cond_broadcast(&streams->ended);
}

/* Tells the user that it is over, with `err` unless its code is 0, and frees the transfer. */
static void http_stream_end(struct http_streams *streams, struct http_stream *stream, const struct err *err) {
    long status = 0;
    (void)curl_easy_getinfo(stream->curl, CURLINFO_RESPONSE_CODE, &status);
    if (stream->is_begun)
        (void)curl_multi_remove_handle(streams->multi, stream->curl);
    stream->user.on_end(stream->user.arg, status, err->code ? err : NULL);
    http_streams_unlink(streams, stream);
    http_stream_free(stream);
}

/* Begins, or ends, what other threads and the clock ask for. Returns for how many ms there is nothing more to do. */
static int64_t http_stream_attend(struct http_streams *streams, struct http_stream *stream, bool is_ending) {
    struct err err = {0};
    if (is_ending || atomic_load(&stream->is_stopped))
        (void)err_set(&err, ERR_CANCELED, "the transfer from %s was given up", stream->peer);
    else if (!stream->is_begun && curl_multi_add_handle(streams->multi, stream->curl))
        (void)err_set(&err, ERR_NOMEM, "out of memory");
    int64_t now = clock_mono_ms();
    if (!stream->is_begun)
        stream->heard_ms = now;
    stream->is_begun = true;
    int64_t left_ms = stream->heard_ms + stream->idle_ms - now;
    if (!err.code && left_ms <= 0)
        (void)err_set(&err, ERR_TIMEOUT, "nothing has come from %s for %lld s", stream->peer,
                      (long long)(now - stream->heard_ms) / 1000);
    if (err.code)
        http_stream_end(streams, stream, &err);
    return left_ms;
}

/* Ends what curl has finished. */
static void http_streams_reap(struct http_streams *streams) {
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(streams->multi, &left));) {
        struct http_stream *stream = NULL;
        struct err err = {0};
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE || curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &stream))
            continue;
        (void)http_stream_verdict(stream, code, &err);
        http_stream_end(streams, stream, &err);
    }
}

static void *http_streams_run(void *arg) {
    struct http_streams *streams = arg;
    for (bool is_ending = false; !is_ending;) {
        int64_t wait_ms = WAIT_MS_MAX;
        int running;
        for (struct http_stream *stream = http_streams_first(streams, &is_ending), *next; stream; stream = next) {
            next = stream->next;
            int64_t left_ms = http_stream_attend(streams, stream, is_ending);
            wait_ms = left_ms > 0 && left_ms < wait_ms ? left_ms : wait_ms;
        }
        (void)curl_multi_perform(streams->multi, &running);
        http_streams_reap(streams);
        if (!is_ending)
            (void)curl_multi_poll(streams->multi, NULL, 0, (int)wait_ms, NULL);
    }
    return NULL;
}

/* -- for other threads --------------------------------------------------------------------------------------------- */

int http_streams_new(struct http_streams **out, struct err *err) {
    struct http_streams *streams = calloc(1, sizeof(*streams));
    if (!streams)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_init(&streams->lock, NULL);
    (void)pthread_cond_init(&streams->ended, NULL);
    streams->multi = curl_multi_init();
    if (streams->multi && !pthread_create(&streams->thread, NULL, http_streams_run, streams)) {
        (void)pthread_setname_np(streams->thread, "http-streams");
        *out = streams;
        return 0;
    }
    curl_multi_cleanup(streams->multi);
    free(streams);
    return err_set(err, ERR_NOMEM, "the thread of long transfers cannot be started");
}

static void http_streams_say_end(struct http_streams *streams) {
    LOCKED(&streams->lock);
    streams->is_ending = true;
}

void http_streams_free(struct http_streams *streams) {
    if (!streams)
        return;
    http_streams_say_end(streams);
    (void)curl_multi_wakeup(streams->multi);
    (void)pthread_join(streams->thread, NULL);
    curl_multi_cleanup(streams->multi);
    (void)pthread_cond_destroy(&streams->ended);
    (void)pthread_mutex_destroy(&streams->lock);
    free(streams);
}

static int http_streams_add(struct http_streams *streams, struct http_stream *stream, uint64_t *id, struct err *err) {
    LOCKED(&streams->lock);
    if (streams->is_ending)
        return err_set(err, ERR_CANCELED, "no transfer is begun any more");
    *id = stream->id = ++streams->last_id;
    stream->next = streams->first;
    streams->first = stream;
    return 0;
}

int http_stream_start(struct http_streams *streams, const struct http_stream_request *request,
                      const struct http_stream_user *user, uint64_t *id, struct err *err) {
    struct http_stream *stream = NULL;
    int rc = http_stream_make(request, user, &stream, err);
    if (rc)
        return rc;
    rc = http_streams_add(streams, stream, id, err);
    if (rc)
        http_stream_free(stream);
    else
        (void)curl_multi_wakeup(streams->multi);
    return rc;
}

static struct http_stream *http_stream_find(const struct http_streams *streams, uint64_t id) {
    struct http_stream *stream = streams->first;
    while (stream && stream->id != id)
        stream = stream->next;
    return stream;
}

void http_stream_stop(struct http_streams *streams, uint64_t id) {
    LOCKED(&streams->lock);
    struct http_stream *stream = http_stream_find(streams, id);
    if (!stream)
        return;
    atomic_store(&stream->is_stopped, true);
    (void)curl_multi_wakeup(streams->multi);
    while (http_stream_find(streams, id))
        (void)pthread_cond_wait(&streams->ended, &streams->lock);
}
