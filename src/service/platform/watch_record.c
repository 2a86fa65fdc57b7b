/* Has our extension record changed? Layer 4 (service/platform). SPDX-License-Identifier: GPL-3.0-or-later */
#include "watch_record.h"

#include <stddef.h>

#include "hashmap.h"

/* NULL and "" differ. */
static void add(uint64_t *digest, const char *text) {
    *digest = text ? hash64_text(*digest, text) : hash64(*digest, "", 0);
}

static void end_list(uint64_t *digest) {
    *digest = hash64(*digest, "e", 1); /* no text: those have a NUL */
}

static void add_texts(uint64_t *digest, const struct vim_texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        add(digest, texts->items[i]);
    end_list(digest);
}

static void add_server(uint64_t *digest, const struct vim_ext_server *s) {
    add(digest, s->url);
    add(digest, s->description.label);
    add(digest, s->description.summary);
    add(digest, s->company);
    add(digest, s->type);
    add_texts(digest, &s->admin_emails);
    add(digest, s->thumbprint);
    add(digest, s->certificate);
}

static void add_client(uint64_t *digest, const struct vim_ext_client *c) {
    add(digest, c->version);
    add(digest, c->description.label);
    add(digest, c->description.summary);
    add(digest, c->company);
    add(digest, c->type);
    add(digest, c->url);
}

static void add_resource(uint64_t *digest, const struct vim_ext_resource *r) {
    add(digest, r->locale);
    add(digest, r->module);
    for (size_t i = 0; i < r->data_count; i++) {
        add(digest, r->data[i].key);
        add(digest, r->data[i].value);
    }
    end_list(digest);
}

static void add_lists(uint64_t *digest, const struct vim_extension *x) {
    for (size_t i = 0; i < x->server_count; i++)
        add_server(digest, &x->servers[i]);
    for (size_t i = 0; i < x->client_count; i++)
        add_client(digest, &x->clients[i]);
    for (size_t i = 0; i < x->event_count; i++) {
        add(digest, x->events[i].id);
        add(digest, x->events[i].schema);
    }
    for (size_t i = 0; i < x->privilege_count; i++) {
        add(digest, x->privileges[i].id);
        add(digest, x->privileges[i].group);
    }
    for (size_t i = 0; i < x->resource_count; i++)
        add_resource(digest, &x->resources[i]);
}

uint64_t watch_record_digest(const struct vim_extension *x) {
    const char *const texts[] = {
        x->description.label, x->description.summary, x->key,         x->company,     x->type,           x->version,
        x->subject_name,      x->health_url,          x->company_url, x->product_url, x->management_url,
    };
    uint64_t digest = 0;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        add(&digest, texts[i]);
    add_texts(&digest, &x->tasks);
    add_texts(&digest, &x->faults);
    add_lists(&digest, x);
    return digest;
}
