/* The record by which a vCenter knows us: building, merging, comparing. Layer 4 (service/platform). Its own texts are extension/texts.def.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "extension_record.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "link_env.h"
#include "platform_links.h"
#include "vcenter_store.h"
#include "str.h"
#include "vim.h"
#include "x509.h"

#define COMPANY "Cisco Systems, Inc."
#define LABEL "Harmony KaaS"
#define SUMMARY "Kubernetes clusters as a service on vSphere and HyperFlex"
#define SERVER_TYPE "KAAS_API"
#define MANIFEST_TYPE "MANIFEST_SERVER"
#define CLIENT_TYPE "vsphere-client-remote"
#define LOCALE "en"
#define OWNER_MODULE "kaas"
#define OWNER_KEY "owner.installation"
#define CERTIFICATE_SINCE "8.0.2.0"

const char *record_state_name(enum record_state state) {
    static const char *const names[] = {
        [RECORD_OURS] = "ours",       [RECORD_OUTDATED] = "outdated", [RECORD_FOREIGN] = "foreign",
        [RECORD_MISSING] = "missing", [RECORD_UNKNOWN] = "unknown",
    };
    return names[state];
}

static const struct vim_ext_privilege privileges[] = {
#define PRIVILEGE(id, group, label, summary) {id, group},
#define EVENT(id, category, description)
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

static const struct vim_ext_event events[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(id, category, description) {id, NULL},
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

/* Resource keys as vCenter reads them: privilege.<id>.label and .summary, <event id>.category and .description (vim.Extension). */
static const struct vim_key_value auth_texts[] = {
    {"privilege.KaaS.label", LABEL},
    {"privilege.KaaS.summary", SUMMARY},
#define PRIVILEGE(id, group, label, summary) {"privilege." id ".label", label}, {"privilege." id ".summary", summary},
#define EVENT(id, category, description)
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

static const struct vim_key_value event_texts[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(id, category, description) \
    {id ".category", category}, {id ".description", description}, {id ".fullFormat", description},
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

#define RESOURCES_COUNT 3

static int fill_resources(struct extension_record *r, const char *installation, struct err *err) {
    r->resources = calloc(RESOURCES_COUNT, sizeof(*r->resources));
    r->owner = calloc(1, sizeof(*r->owner));
    if (!r->resources || !r->owner)
        return err_set(err, ERR_NOMEM, "out of memory");
    *r->owner = (struct vim_key_value){OWNER_KEY, installation};
    r->resources[0] = (struct vim_ext_resource){LOCALE, "auth", auth_texts, ARRAY_COUNT(auth_texts)};
    r->resources[1] = (struct vim_ext_resource){LOCALE, "event", event_texts, ARRAY_COUNT(event_texts)};
    r->resources[2] = (struct vim_ext_resource){LOCALE, OWNER_MODULE, r->owner, 1};
    r->record.resources = r->resources;
    r->record.resource_count = RESOURCES_COUNT;
    return 0;
}

/* The thumbprint that HX Connect and vCenter pin is that of the certificate behind public_url. */
static int fill_certificate(struct extension_record *r, const struct link_env *env, struct err *err) {
    struct x509_info info = {0};
    int rc = link_env_get_server_cert(env, &r->certificate, err);
    if (rc || !r->certificate)
        return rc;
    rc = x509_parse_pem(r->certificate, &info, err);
    if (rc)
        return rc;
    r->thumbprint = malloc(X509_THUMBPRINT_TEXT_BYTES);
    if (r->thumbprint)
        x509_thumbprint_text(info.sha256, r->thumbprint);
    else
        rc = err_set(err, ERR_NOMEM, "out of memory");
    x509_info_done(&info);
    return rc;
}

static void add_server(struct extension_record *r, const char *type, const char *url) {
    r->servers[r->record.server_count++] = (struct vim_ext_server){
        .url = url,
        .description = {LABEL, SUMMARY},
        .company = COMPANY,
        .type = type,
        .admin_emails = {&r->email, 1},
        .thumbprint = r->thumbprint,
        .certificate = r->certificate,
    };
}

/* The server of the manifest comes first (vSphere Client SDK); its trust is that of the whole plug-in. Without a web page there is no
 * plug-in: vCenter would show one without manifest as failed. HX Connect looks for the type KAAS_API. */
static int fill_servers(struct extension_record *r, const struct link_env *env, struct err *err) {
    int rc = fill_certificate(r, env, err);
    r->email = env->options.admin_email;
    r->record.servers = r->servers;
    if (*env->plugin_version) {
        add_server(r, MANIFEST_TYPE, r->manifest_url);
        r->client = (struct vim_ext_client){.version = r->version,
                                            .description = {LABEL, SUMMARY},
                                            .company = COMPANY,
                                            .type = CLIENT_TYPE,
                                            .url = r->manifest_url};
        r->record.clients = &r->client;
        r->record.client_count = 1;
    }
    add_server(r, SERVER_TYPE, r->api_url);
    return rc;
}

/* The program's version with the number of the registration behind it, "2.1.0.3". The vSphere Client keeps what it fetched for a key and
 * version, and notices a change by nothing but another version; users of other plug-ins report that one that was unregistered and
 * registered again under the same version does not come back until caches are cleared by hand (VMware KB 53035). So each registration,
 * and each repair that changes where or by which certificate we are found, counts up. All replicas read the number from the database, so they
 * want the same record. What is not made of digits and dots ("-rc1") is left out: vCenter takes dotted versions only.
 * The number of the plug-in's content (plugin_manifest.h) is in the same part, since versions of more than four are nowhere seen: the page of
 * registration 3 with content 48213 is "2.1.0.348213". */
#define CONTENT_NUMBERS 100000U
#define REGISTRATION_NUMBERS 20000U
static char *version_text(const char *program, const char *plugin, unsigned registration_no) {
    const char *last = strrchr(plugin, '.');
    unsigned number = registration_no;
    int n = (int)strspn(program, "0123456789.");
    while (n && program[n - 1] == '.')
        n--;
    if (last)
        number =
            registration_no % REGISTRATION_NUMBERS * CONTENT_NUMBERS + (unsigned)strtoul(last + 1, NULL, 10) % CONTENT_NUMBERS;
    return str_format("%.*s.%u", n, program, number);
}

static int fill_texts(struct extension_record *r, const struct link_env *env, unsigned registration_no, struct err *err) {
    const struct platform_options *options = &env->options;
    r->version = version_text(options->version, env->plugin_version, registration_no);
    r->manifest_url = str_format("%s/plugin/plugin.json", options->public_url);
    r->api_url = str_format("%s/v2/", options->public_url);
    r->health_url = str_format("%s/healthz", options->public_url);
    r->product_url = str_format("%s/ui/", options->public_url);
    return r->version && r->manifest_url && r->api_url && r->health_url && r->product_url
               ? 0
               : err_set(err, ERR_NOMEM, "out of memory");
}

int extension_record_make(const struct link_env *env, const struct extension_name *name, struct extension_record *out,
                          struct err *err) {
    struct vim_extension *record = &out->record;
    int rc;

    memset(out, 0, sizeof(*out));
    rc = fill_texts(out, env, name->registration_no, err);
    record->description = (struct vim_description){LABEL, SUMMARY};
    record->key = name->key;
    record->company = COMPANY;
    record->version = out->version;
    record->privileges = privileges;
    record->privilege_count = ARRAY_COUNT(privileges);
    record->events = events;
    record->event_count = ARRAY_COUNT(events);
    record->health_url = out->health_url;
    record->has_product = true;
    record->product_url = out->product_url;
    if (!rc)
        rc = fill_resources(out, env->installation, err);
    if (!rc)
        rc = fill_servers(out, env, err);
    if (rc)
        extension_record_done(out);
    return rc;
}

int extension_record_make_current(const struct link_env *env, const struct vcenter *vc, struct extension_record *out,
                                  struct err *err) {
    const struct platform_options *options = &env->options;
    struct extension_name name = {.key = vc->extension_key ? vc->extension_key : options->extension_key};
    struct registration_row row = {0};
    int rc = registration_store_load(options->store, vc->id, &row, err);
    if (rc)
        return rc;
    name.registration_no = row.registration_no;
    registration_row_done(&row);
    return extension_record_make(env, &name, out, err);
}

void extension_record_keep(struct extension_record *r, const struct vim_extension *found) {
    struct vim_extension *record = &r->record;
    record->type = found->type;
    record->has_ovf_consumer = found->has_ovf_consumer;
    record->ovf_callback_url = found->ovf_callback_url;
    record->ovf_section_types = found->ovf_section_types;
    record->company_url = found->company_url;
    record->management_url = found->management_url;
    record->self_type = found->self_type;
    record->self_moref = found->self_moref;
    record->managed_entities = found->managed_entities;
    record->managed_count = found->managed_count;
    record->has_shown_in_solution_manager = found->has_shown_in_solution_manager;
    record->shown_in_solution_manager = found->shown_in_solution_manager;
    record->has_solution_manager = found->has_solution_manager;
    record->solution_tabs = found->solution_tabs;
    record->solution_tab_count = found->solution_tab_count;
    record->solution_small_icon_url = found->solution_small_icon_url;
}

void extension_record_done(struct extension_record *r) {
    if (!r)
        return;
    free(r->resources);
    free(r->owner);
    free(r->version);
    free(r->manifest_url);
    free(r->certificate);
    free(r->api_url);
    free(r->health_url);
    free(r->product_url);
    free(r->thumbprint);
    memset(r, 0, sizeof(*r));
}

const char *extension_record_owner(const struct vim_extension *found) {
    for (size_t i = 0; i < found->resource_count; i++) {
        const struct vim_ext_resource *resource = &found->resources[i];
        if (!str_eq(resource->module, OWNER_MODULE))
            continue;
        for (size_t j = 0; j < resource->data_count; j++)
            if (str_eq(resource->data[j].key, OWNER_KEY))
                return resource->data[j].value;
    }
    return NULL;
}

static bool same_texts(const struct vim_texts *a, const struct vim_texts *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = str_eq(a->items[i], b->items[i]);
    return same;
}

static bool same_description(const struct vim_description *a, const struct vim_description *b) {
    return str_eq(a->label, b->label) && str_eq(a->summary, b->summary);
}

static bool same_server(const struct vim_ext_server *a, const struct vim_ext_server *b, bool has_certificates) {
    if (!str_eq(a->url, b->url) || !str_eq(a->type, b->type) || !str_eq(a->company, b->company))
        return false;
    if (!same_description(&a->description, &b->description) || !same_texts(&a->admin_emails, &b->admin_emails))
        return false;
    return str_eq_nocase(a->thumbprint, b->thumbprint) && (!has_certificates || str_eq(a->certificate, b->certificate));
}

static bool same_servers(const struct vim_extension *a, const struct vim_extension *b, bool has_certificates) {
    bool same = a->server_count == b->server_count;
    for (size_t i = 0; same && i < a->server_count; i++)
        same = same_server(&a->servers[i], &b->servers[i], has_certificates);
    return same;
}

static bool same_client(const struct vim_ext_client *a, const struct vim_ext_client *b) {
    return str_eq(a->url, b->url) && str_eq(a->type, b->type) && str_eq(a->company, b->company) &&
           str_eq(a->version, b->version) && same_description(&a->description, &b->description);
}

static bool same_clients(const struct vim_extension *a, const struct vim_extension *b) {
    bool same = a->client_count == b->client_count;
    for (size_t i = 0; same && i < a->client_count; i++)
        same = same_client(&a->clients[i], &b->clients[i]);
    return same;
}

/* The order of privileges, events and texts means nothing, so it does not count. Ids and keys do not repeat in a list of ours. */

static bool has_privilege(const struct vim_extension *in, const struct vim_ext_privilege *p) {
    for (size_t i = 0; i < in->privilege_count; i++)
        if (str_eq(in->privileges[i].id, p->id))
            return str_eq(in->privileges[i].group, p->group);
    return false;
}

static bool same_privileges(const struct vim_extension *found, const struct vim_extension *wanted) {
    bool same = found->privilege_count == wanted->privilege_count;
    for (size_t i = 0; same && i < wanted->privilege_count; i++)
        same = has_privilege(found, &wanted->privileges[i]);
    return same;
}

static bool has_event(const struct vim_extension *in, const char *id) {
    for (size_t i = 0; i < in->event_count; i++)
        if (str_eq(in->events[i].id, id))
            return true;
    return false;
}

static bool same_events(const struct vim_extension *found, const struct vim_extension *wanted) {
    bool same = found->event_count == wanted->event_count;
    for (size_t i = 0; same && i < wanted->event_count; i++)
        same = has_event(found, wanted->events[i].id);
    return same;
}

static bool has_text(const struct vim_ext_resource *in, const struct vim_key_value *text) {
    for (size_t i = 0; i < in->data_count; i++)
        if (str_eq(in->data[i].key, text->key))
            return str_eq(in->data[i].value, text->value);
    return false;
}

static bool same_resource(const struct vim_ext_resource *found, const struct vim_ext_resource *wanted) {
    bool same = found->data_count == wanted->data_count;
    for (size_t i = 0; same && i < wanted->data_count; i++)
        same = has_text(found, &wanted->data[i]);
    return same;
}

static bool has_resource(const struct vim_extension *in, const struct vim_ext_resource *r) {
    for (size_t i = 0; i < in->resource_count; i++)
        if (str_eq(in->resources[i].locale, r->locale) && str_eq(in->resources[i].module, r->module))
            return same_resource(&in->resources[i], r);
    return false;
}

static bool same_resources(const struct vim_extension *found, const struct vim_extension *wanted) {
    bool same = found->resource_count == wanted->resource_count;
    for (size_t i = 0; same && i < wanted->resource_count; i++)
        same = has_resource(found, &wanted->resources[i]);
    return same;
}

size_t extension_record_compare(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                                const char *out[EXTENSION_DIFFERENCES_MAX]) {
    bool has_certificates = api_version && vim_version_is_at_least(api_version, CERTIFICATE_SINCE);
    size_t n = 0;
    if (!same_description(&found->description, &wanted->description))
        out[n++] = "description";
    if (!str_eq(found->company, wanted->company))
        out[n++] = "company";
    if (!str_eq(found->version, wanted->version))
        out[n++] = "version";
    if (found->subject_name)
        out[n++] = "subjectName";
    if (!same_servers(found, wanted, has_certificates))
        out[n++] = "server";
    if (!same_clients(found, wanted))
        out[n++] = "client";
    if (!same_texts(&found->tasks, &wanted->tasks))
        out[n++] = "taskList";
    if (!same_events(found, wanted))
        out[n++] = "eventList";
    if (!same_texts(&found->faults, &wanted->faults))
        out[n++] = "faultList";
    if (!same_privileges(found, wanted))
        out[n++] = "privilegeList";
    if (!same_resources(found, wanted))
        out[n++] = "resourceList";
    if (!str_eq(found->health_url, wanted->health_url))
        out[n++] = "healthInfo";
    if (!found->has_product || !str_eq(found->product_url, wanted->product_url))
        out[n++] = "extendedProductInfo";
    return n;
}

/* vSphere Web Services API reference, ExtensionManager.UpdateExtension: a changed subjectName clears certificate and public key. */
bool extension_record_clears_certificate(const struct vim_extension *found, const struct vim_extension *wanted) {
    return !str_eq(found->subject_name, wanted->subject_name);
}

/* -- extension records for people: one line per member ------------------------------------------------------------- */

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
    const char **event_ids = array_of(record->event_count), **privilege_ids = array_of(record->privilege_count);
    for (size_t i = 0; event_ids && i < record->event_count; i++)
        event_ids[i] = record->events[i].id ? record->events[i].id : "";
    for (size_t i = 0; privilege_ids && i < record->privilege_count; i++)
        privilege_ids[i] = record->privileges[i].id ? record->privileges[i].id : "";
    put_texts(side, "taskList", &record->tasks);
    put_list(side, "eventList", event_ids, record->event_count);
    put_texts(side, "faultList", &record->faults);
    put_list(side, "privilegeList", privilege_ids, record->privilege_count);
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
