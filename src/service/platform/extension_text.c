/* Extension records for people: one line per member. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "extension_text.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"
#include "vim.h"
#include "x509.h"

#define CERTIFICATE_SINCE "8.0.2.0"
#define TEXT_BYTES_MAX 65536U
#define LINES_MAX 500U /* a record of others may be long; ours has about forty */

void record_lines_done(struct record_lines *lines) {
    if (!lines)
        return;
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->items[i].member);
        free(lines->items[i].now);
        free(lines->items[i].wanted);
    }
    free(lines->items);
    memset(lines, 0, sizeof(*lines));
}

/* One side at a time: first what is there, then what is wanted joins the lines by member. */
struct side {
    struct record_lines *lines;
    bool is_wanted, has_certificates;
    int failed; /* 0 or ERR_NOMEM */
};

static struct record_line *line_of(struct side *side, const char *member) {
    struct record_lines *lines = side->lines;
    struct record_line *items;
    for (size_t i = 0; i < lines->count; i++)
        if (str_eq(lines->items[i].member, member))
            return &lines->items[i];
    items = reallocarray(lines->items, lines->count + 1, sizeof(*items));
    if (!items)
        return NULL;
    lines->items = items;
    items += lines->count;
    memset(items, 0, sizeof(*items));
    items->member = str_dup(member);
    if (!items->member)
        return NULL;
    lines->count++;
    return items;
}

static void put(struct side *side, const char *member, const char *value) {
    struct record_line *line;
    char **to;
    if (!value || side->failed || side->lines->count >= LINES_MAX)
        return;
    line = line_of(side, member);
    if (!line) {
        side->failed = ERR_NOMEM;
        return;
    }
    to = side->is_wanted ? &line->wanted : &line->now;
    if (*to)
        return; /* a member that stands twice: the first one counts */
    *to = str_dup(value);
    if (!*to)
        side->failed = ERR_NOMEM;
}

static void put_kept(struct side *side, const char *member, const char *value) {
    put(side, member, value);
    for (size_t i = 0; value && i < side->lines->count; i++)
        if (str_eq(side->lines->items[i].member, member))
            side->lines->items[i].is_kept = true;
}

static void put_owned(struct side *side, const char *member, char *value) {
    put(side, member, value);
    free(value);
}

static void put_at(struct side *side, const char *list, size_t i, const char *member, const char *value) {
    _cleanup_free_ char *path = str_format("%s[%zu].%s", list, i, member);
    if (path)
        put(side, path, value);
    else
        side->failed = ERR_NOMEM;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, since the order of these lists means nothing. Takes the array, not the texts. */
static void put_list(struct side *side, const char *member, const char **texts, size_t count) {
    _cleanup_strbuf_ struct strbuf joined;
    strbuf_init(&joined, TEXT_BYTES_MAX);
    if (!texts && count)
        side->failed = ERR_NOMEM;
    if (texts && count) {
        qsort(texts, count, sizeof(*texts), compare_texts);
        for (size_t i = 0; i < count; i++)
            strbuf_addf(&joined, "%s%s", i ? ", " : "", texts[i]);
        put(side, member, joined.data);
    }
    free(texts);
}

static const char **array_of(size_t count) {
    return calloc(count + 1, sizeof(const char *));
}

static void put_texts(struct side *side, const char *member, const struct vim_texts *texts) {
    const char **array = array_of(texts->count);
    for (size_t i = 0; array && i < texts->count; i++)
        array[i] = texts->items[i] ? texts->items[i] : "";
    put_list(side, member, array, texts->count);
}

/* A whole PEM text tells people nothing. */
static char *certificate_text(const char *pem) {
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    struct x509_info info = {0};
    char *text;
    if (!pem)
        return NULL;
    if (x509_parse_pem(pem, &info, NULL))
        return str_dup("not a certificate");
    x509_thumbprint_text(info.sha256, thumbprint);
    text = str_format("certificate of %s, SHA-256 %s", info.subject, thumbprint);
    x509_info_done(&info);
    return text;
}

static void put_server(struct side *side, size_t i, const struct vim_ext_server *server) {
    _cleanup_free_ char *certificate = side->has_certificates ? certificate_text(server->certificate) : NULL;
    put_at(side, "server", i, "type", server->type);
    put_at(side, "server", i, "url", server->url);
    put_at(side, "server", i, "company", server->company);
    put_at(side, "server", i, "description.label", server->description.label);
    put_at(side, "server", i, "description.summary", server->description.summary);
    for (size_t j = 0; j < server->admin_emails.count; j++)
        put_at(side, "server", i, "adminEmail", server->admin_emails.items[j]);
    put_at(side, "server", i, "serverThumbprint", server->thumbprint);
    put_at(side, "server", i, "serverCertificate", certificate);
}

static void put_client(struct side *side, size_t i, const struct vim_ext_client *client) {
    put_at(side, "client", i, "type", client->type);
    put_at(side, "client", i, "url", client->url);
    put_at(side, "client", i, "version", client->version);
    put_at(side, "client", i, "company", client->company);
    put_at(side, "client", i, "description.label", client->description.label);
    put_at(side, "client", i, "description.summary", client->description.summary);
}

static void put_ids(struct side *side, const struct vim_extension *record) {
    const char **events = array_of(record->event_count), **privileges = array_of(record->privilege_count);
    for (size_t i = 0; events && i < record->event_count; i++)
        events[i] = record->events[i].id ? record->events[i].id : "";
    for (size_t i = 0; privileges && i < record->privilege_count; i++)
        privileges[i] = record->privileges[i].id ? record->privileges[i].id : "";
    put_texts(side, "taskList", &record->tasks);
    put_list(side, "eventList", events, record->event_count);
    put_texts(side, "faultList", &record->faults);
    put_list(side, "privilegeList", privileges, record->privilege_count);
}

/* Short lists in full: the owner mark is among them. */
static void put_resource(struct side *side, const struct vim_ext_resource *resource) {
    _cleanup_free_ char *prefix = str_format("resourceList[%s/%s]", resource->locale, resource->module);
    for (size_t i = 0; prefix && i < resource->data_count; i++) {
        char *member = str_format("%s.%s", prefix, resource->data[i].key);
        if (member)
            put(side, member, resource->data[i].value);
        free(member);
    }
}

static void put_others(struct side *side, const struct vim_extension *record) {
    put_kept(side, "ovfConsumerInfo.callbackUrl", record->ovf_callback_url);
    if (record->self_type)
        put_owned(side, "extendedProductInfo.self", str_format("%s:%s", record->self_type, record->self_moref));
    put_kept(side, "extendedProductInfo.companyUrl", record->company_url);
    put(side, "extendedProductInfo.productUrl", record->product_url);
    put_kept(side, "extendedProductInfo.managementUrl", record->management_url);
    for (size_t i = 0; i < record->managed_count; i++)
        put_kept(side, "managedEntityInfo", record->managed_entities[i].type);
    if (record->has_shown_in_solution_manager)
        put_kept(side, "shownInSolutionManager", record->shown_in_solution_manager ? "true" : "false");
    for (size_t i = 0; i < record->solution_tab_count; i++)
        put_kept(side, "solutionManagerInfo.tab", record->solution_tabs[i].url);
}

static void put_record(struct side *side, const struct vim_extension *record) {
    put(side, "key", record->key);
    put(side, "version", record->version);
    put(side, "description.label", record->description.label);
    put(side, "description.summary", record->description.summary);
    put(side, "company", record->company);
    put_kept(side, "type", record->type);
    put(side, "subjectName", record->subject_name);
    for (size_t i = 0; i < record->server_count; i++)
        put_server(side, i, &record->servers[i]);
    for (size_t i = 0; i < record->client_count; i++)
        put_client(side, i, &record->clients[i]);
    put_ids(side, record);
    for (size_t i = 0; i < record->resource_count; i++)
        put_resource(side, &record->resources[i]);
    put(side, "healthInfo.url", record->health_url);
    put_others(side, record);
}

int extension_text_lines(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                         struct record_lines *out, struct err *err) {
    struct record_lines lines = {0};
    struct side side = {.lines = &lines,
                        .has_certificates = api_version && vim_version_is_at_least(api_version, CERTIFICATE_SINCE)};
    if (found)
        put_record(&side, found);
    side.is_wanted = true;
    if (wanted)
        put_record(&side, wanted);
    if (side.failed) {
        record_lines_done(&lines);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = lines;
    return 0;
}
