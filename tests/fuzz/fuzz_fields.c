/* Fuzz target: lines of a request's header as they come from the wire, and the addresses and cookies in them. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http_request_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int is_so) {
    if (!is_so)
        abort();
}

/* As if this had been held back of a line of that name when it came in: it is put in there, or the request is refused. */
static void restore(struct http_request *req) {
    static const char held[] = "held-back";
    req->authorization_at = 24;
    strbuf_init_secret(&req->authorization, sizeof(held));
    strbuf_add(&req->authorization, held, sizeof(held) - 1);
    const int refused = http_fields_restore(req, NULL);
    const char *value = http_request_header(req, "Authorization");
    must(refused < 0 || (value && strstr(value, held)));
}

/* Cuts the text into lines and these into names and values, as the library does. */
static void take_lines(struct http_request *req, char *text) {
    while (text && *text) {
        char *name = strsep(&text, "\n"), *value = strchr(name, ':');
        if (!value)
            continue;
        *value++ = '\0';
        if (http_fields_add(req, (struct http_field){name, value, (unsigned)strlen(name), (unsigned)strlen(value), 0}, NULL))
            break;
    }
    if (req->fields_count && !strcasecmp(req->fields[0].name, "X-Held"))
        restore(req);
    must(!http_fields_join(req, NULL));
}

/* One field of each name, or a request that is refused. */
static void check_values(const struct http_request *req) {
    bool has_body = false;
    int64_t body_bytes = 0;
    const int refused = http_fields_check(req, &has_body, &body_bytes, NULL);
    for (unsigned i = 0; i < req->fields_count; i++) {
        const struct http_field *field = &req->fields[i];
        must(strlen(field->value) == field->value_len);
        for (unsigned j = 0; j < i; j++) /* one field of each name, or one that http_fields_check refuses */
            must(strcasecmp(req->fields[j].name, field->name) != 0 || refused < 0);
    }
}

/* Whatever stands left of the proxy's own address changes nothing. */
static void check_client(const char *list, const struct net_block *proxies) {
    const size_t more_bytes = strlen(list) + sizeof(", 203.0.113.9");
    char client[INET6_ADDRSTRLEN] = "peer", *more = malloc(more_bytes);
    uint8_t addr[16];
    must(more != NULL);
    http_client_behind(list, proxies, 1, client);
    must(!strcmp(client, "peer") || net_addr_parse(client, addr));
    (void)snprintf(more, more_bytes, "%s, 203.0.113.9", list);
    http_client_behind(more, proxies, 1, client);
    must(!strcmp(client, "203.0.113.9"));
    free(more);
}

static void check_cookie(const struct http_request *req) {
    size_t len = 0;
    const char *all = http_request_header(req, "Cookie"), *value = http_request_cookie(req, "__Host-kaas", &len);
    must(!value || (all && value > all && value + len <= all + strlen(all) && !memchr(value, ';', len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct http_request *req = http_request_new(NULL, 0, "/");
    char *text = malloc(n + 1);
    struct net_block proxies[1];
    must(req && text && net_block_parse("10.0.0.0/8", proxies));
    memcpy(text, data, n);
    text[n] = '\0';
    take_lines(req, text);
    check_values(req);
    check_cookie(req);
    (void)http_request_credentials(req, "Bearer");
    (void)http_request_is_media_type(req, "application/json");
    const char *list = http_request_header(req, "X-Forwarded-For");
    if (list)
        check_client(list, proxies);
    must(!http_request_keep_fields(req));
    memset(text, 'z', n);
    check_values(req);
    http_request_destroy(req);
    free(text);
    return 0;
}
