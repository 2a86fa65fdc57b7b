/* The library's answers for shared texts, used again and again. Layer 2 (httpd).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library copies every header into memory of its own, three allocations each: making and destroying an answer costs more than all
 * the rest of a short request. Texts that are sent often are shared ones (http_shared), and from one time to the next only a header or two
 * differ; so each shared text keeps the answers made for it. One is lent to one request at a time, from before it is queued until
 * the request is completed; then nobody reads its headers any more, and they may be changed for the next. */
#include <pthread.h>

#include "httpd_private.h"
#include "str.h"

#define SPARES_MAX 16U /* of one text; more are in use at a time only while clients are slow to read */

struct http_spare {
    struct http_spare *next;
    struct MHD_Response *mhd;
    bool has_body, is_closing; /* the second: of no use for another request */
    struct strbuf text;        /* with fields: the headers it has now */
    unsigned fields_count;
    struct http_header fields[HTTP_RESPONSE_FIELDS_MAX];
    const char *values[HTTP_RESPONSE_FIELDS_MAX]; /* the library's copies */
};

static void spare_free(struct http_spare *spare) {
    if (spare->mhd)
        MHD_destroy_response(spare->mhd);
    strbuf_done(&spare->text);
    free(spare);
}

void httpd_spares_free(struct http_spares *spares) {
    while (spares->first) {
        struct http_spare *next = spares->first->next;
        spare_free(spares->first);
        spares->first = next;
    }
}

static struct http_spare *take(struct http_spares *spares) {
    (void)pthread_mutex_lock(&spares->lock);
    struct http_spare *spare = spares->first;
    if (spare) {
        spares->first = spare->next;
        spares->count--;
    }
    (void)pthread_mutex_unlock(&spares->lock);
    return spare;
}

static const char *name_of(const struct strbuf *text, const struct http_header *field) {
    return text->data + field->name;
}

static const char *value_of(const struct strbuf *text, const struct http_header *field) {
    return text->data + field->value;
}

static bool has_same_names(const struct http_spare *spare, const struct http_response *resp) {
    bool is_same = spare->fields_count == resp->fields_count;
    for (unsigned i = 0; is_same && i < resp->fields_count; i++)
        is_same =
            spare->fields[i].name_len == resp->fields[i].name_len &&
            !memcmp(name_of(&spare->text, &spare->fields[i]), name_of(&resp->text, &resp->fields[i]), resp->fields[i].name_len);
    return is_same;
}

static const char *library_value(const struct http_spare *spare, const char *name) {
    return MHD_get_response_header(spare->mhd, name);
}

/* The request id changes with every answer. A value as long as the old one is written over the library's copy of that, which nobody reads
 * between two answers: taking it out and putting it in is three allocations. */
static bool set_value(struct http_spare *spare, unsigned i, const char *name, const char *value, size_t n) {
    if (spare->fields[i].value_len == n && spare->values[i]) {
        memcpy((char *)(uintptr_t)spare->values[i], value, n);
        return true;
    }
    if (MHD_del_response_header(spare->mhd, name, value_of(&spare->text, &spare->fields[i])) != MHD_YES ||
        MHD_add_response_header(spare->mhd, name, value) != MHD_YES)
        return false;
    spare->values[i] = library_value(spare, name);
    return true;
}

static bool change(struct http_spare *spare, const struct http_response *resp) {
    for (unsigned i = 0; i < resp->fields_count; i++) {
        const struct http_header *field = &resp->fields[i];
        const char *value = value_of(&resp->text, field), *old = value_of(&spare->text, &spare->fields[i]);
        bool is_same = spare->fields[i].value_len == field->value_len && !memcmp(old, value, field->value_len);
        if (!is_same && !set_value(spare, i, name_of(&resp->text, field), value, field->value_len))
            return false;
    }
    return true;
}

static struct http_spare *make(struct http_response *resp, bool has_body) {
    struct http_spare *spare = calloc(1, sizeof(*spare));
    size_t n = 0;
    const char *data = http_shared_data(resp->shared, &n);
    if (!spare)
        return NULL;
    spare->has_body = has_body;
    spare->is_closing = resp->is_closing;
    spare->mhd = MHD_create_response_from_buffer(has_body ? n : 0, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
    if (spare->mhd && httpd_add_headers(resp, spare->mhd)) {
        for (unsigned i = 0; i < resp->fields_count; i++)
            spare->values[i] = library_value(spare, name_of(&resp->text, &resp->fields[i]));
        return spare;
    }
    spare_free(spare);
    return NULL;
}

/* What the answer has from now on; `resp` needs its headers no longer. */
static void remember(struct http_spare *spare, struct http_response *resp) {
    struct strbuf old = spare->text;
    spare->text = resp->text;
    spare->fields_count = resp->fields_count;
    memcpy(spare->fields, resp->fields, resp->fields_count * sizeof(resp->fields[0]));
    resp->text = old;
    resp->text.max_bytes = spare->text.max_bytes;
    strbuf_reset(&resp->text);
    resp->fields_count = 0;
}

struct MHD_Response *httpd_spare_use(struct http_request *req, struct http_response *resp, bool has_body) {
    struct http_spare *spare = resp->is_closing ? NULL : take(http_shared_spares(resp->shared, has_body));
    if (spare && (!has_same_names(spare, resp) || !change(spare, resp))) {
        spare_free(spare);
        spare = NULL;
    }
    if (!spare)
        spare = make(resp, has_body);
    if (!spare)
        return NULL;
    remember(spare, resp);
    req->spare = spare;
    req->spare_of = resp->shared; /* with its reference */
    resp->kind = HTTP_BODY_NONE;
    return spare->mhd;
}

void httpd_spare_give_back(struct http_request *req) {
    struct http_spare *spare = req->spare;
    if (!spare)
        return;
    struct http_spares *spares = http_shared_spares(req->spare_of, spare->has_body);
    (void)pthread_mutex_lock(&spares->lock);
    bool is_kept = !spare->is_closing && spares->count < SPARES_MAX;
    if (is_kept) {
        spare->next = spares->first;
        spares->first = spare;
        spares->count++;
    }
    (void)pthread_mutex_unlock(&spares->lock);
    if (!is_kept)
        spare_free(spare);
    http_shared_unref(req->spare_of);
    req->spare = NULL;
    req->spare_of = NULL;
}
