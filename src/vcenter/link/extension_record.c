/* The record by which a vCenter knows us: building, merging, comparing. Layer 4 (vcenter). Its own texts are extension/texts.def.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "extension_record.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "hashmap.h"
#include "link_env.h"
#include "vcenter_store.h"
#include "str.h"
#include "vim.h"
#include "vim_event.h"
#include "x509.h"

#define COMPANY "Cisco Systems, Inc."
#define LABEL "Harmony KaaS"
#define SUMMARY "Kubernetes clusters as a service on vSphere and HyperFlex"
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

/* The structure of eventTypeSchema is that of ExtensionEventTypeInfo in the API reference. */
#define ARGUMENT(name) "<argument><name>" name "</name><type>string</type></argument>"
#define SCHEMA(id, description, arguments)                                                                                     \
    "<EventType><eventTypeID>" id "</eventTypeID><description>" description "</description><arguments>" ARGUMENT(VIM_EVENT_ID) \
        arguments "</arguments></EventType>"
/* Resource keys as vCenter reads them (vim.Extension): privilege.<id>.label and .summary; of events .category, .description, and the texts for the
 * places where an event may be shown. */
#define EVENT_TEXTS(id, category, description, text)                                                                          \
    {id ".category", category}, {id ".description", description}, {id ".fullFormat", text}, {id ".formatOnDatacenter", text}, \
        {id ".formatOnComputeResource", text}, {id ".formatOnHost", text}, {id ".formatOnVm", text},

static const struct vim_ext_privilege privileges[] = {
#define PRIVILEGE(id, group, label, summary) {id, group},
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de)
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

static const struct vim_ext_event events[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de) {id, SCHEMA(id, description, arguments)},
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

static const struct vim_key_value auth_texts[] = {
    {"privilege.KaaS.label", LABEL},
    {"privilege.KaaS.summary", SUMMARY},
#define PRIVILEGE(id, group, label, summary) {"privilege." id ".label", label}, {"privilege." id ".summary", summary},
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de)
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

static const struct vim_key_value event_texts[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de) \
    EVENT_TEXTS(id, severity, description, text)
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

static const struct vim_key_value event_texts_de[] = {
#define PRIVILEGE(id, group, label, summary)
#define EVENT(kind, id, severity, arguments, description, text, description_de, text_de) \
    EVENT_TEXTS(id, severity, description_de, text_de)
#include "texts.def"
#undef PRIVILEGE
#undef EVENT
};

/* What virtual machines of ours are called, by the type in their config.managedBy: vCenter shows them by it. */
static const struct vim_ext_managed managed[] = {
    {.type = EXTENSION_MANAGED_NODE, .description = "Node of a Kubernetes cluster, made by " LABEL}};

#define RESOURCES_COUNT 4

static int fill_resources(struct extension_record *r, const char *installation, struct err *err) {
    r->resources = calloc(RESOURCES_COUNT, sizeof(*r->resources));
    r->owner = calloc(1, sizeof(*r->owner));
    if (!r->resources || !r->owner)
        return err_set(err, ERR_NOMEM, "out of memory");
    *r->owner = (struct vim_key_value){OWNER_KEY, installation};
    r->resources[0] = (struct vim_ext_resource){LOCALE, "auth", auth_texts, ARRAY_COUNT(auth_texts)};
    r->resources[1] = (struct vim_ext_resource){LOCALE, "event", event_texts, ARRAY_COUNT(event_texts)};
    r->resources[2] = (struct vim_ext_resource){"de", "event", event_texts_de, ARRAY_COUNT(event_texts_de)};
    r->resources[3] = (struct vim_ext_resource){LOCALE, OWNER_MODULE, r->owner, 1};
    r->record.resources = r->resources;
    r->record.resource_count = RESOURCES_COUNT;
    return 0;
}

/* The thumbprint that HX Connect and vCenter pin is that of the certificate behind public_url. */
static int fill_certificate(struct extension_record *r, const struct link_env *env, struct err *err) {
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
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
    add_server(r, EXTENSION_SERVER_TYPE, r->api_url);
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
    r->version = version_text(options->runtime->version, env->plugin_version, registration_no);
    r->manifest_url = str_format("%s/plugin/plugin.json", options->runtime->public_url);
    r->api_url = str_format("%s/v2/", options->runtime->public_url);
    r->health_url = str_format("%s/healthz", options->runtime->public_url);
    r->product_url = str_format("%s/ui/", options->runtime->public_url);
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
    record->managed_entities = managed;
    record->managed_count = ARRAY_COUNT(managed);
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
    int rc = registration_store_load(options->runtime->store, vc->id, &row, err);
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

/* vSphere Web Services API reference, ExtensionManager.UpdateExtension: a changed subjectName clears certificate and public key. */
bool extension_record_clears_certificate(const struct vim_extension *found, const struct vim_extension *wanted) {
    return !str_eq(found->subject_name, wanted->subject_name);
}

/* -- one walk over all members: lines for people, digests for comparing -------------------------------------------------- */

#define TEXT_BYTES_MAX 65536U
#define PATH_BYTES 600
#define LINES_MAX 500U /* a record of others may be long; ours has about 150 */

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

/* What is compared, in the order of vim.Extension. All else is kept from the record that was found. */
static const char *const compared[] = {
    "description",
    "company",
    "version",
    "subjectName",
    "server",
    "client",
    "taskList",
    "eventList",
    "faultList",
    "privilegeList",
    "resourceList",
    "healthInfo",
    "extendedProductInfo",
    "managedEntityInfo",
};
_Static_assert(ARRAY_COUNT(compared) <= EXTENSION_DIFFERENCES_MAX, "all fit");
#define KEPT ARRAY_COUNT(compared)

/* One walk over a record: to lines for people (first what is there, then what is wanted joins them by member), or to a digest of each member
 * that is compared. Digests are sums: order means nothing but where a path has an index. */
struct side {
    struct record_lines *lines; /* NULL: digests are made */
    uint64_t digests[KEPT + 1];
    bool is_wanted, has_certificates;
    int failed; /* 0 or ERR_NOMEM */
};

static void add_digest(struct side *side, const char *path, const char *value, bool is_kept) {
    const size_t n = strcspn(path, ".[");
    size_t i = is_kept ? KEPT : 0;
    while (i < KEPT && (strlen(compared[i]) != n || memcmp(compared[i], path, n) != 0))
        i++;
    side->digests[i] += hash64_text(hash64_text(0, path), value);
}

static struct record_line *line_of(struct side *side, const char *path) {
    struct record_lines *lines = side->lines;
    struct record_line *items;
    for (size_t i = 0; i < lines->count; i++)
        if (str_eq(lines->items[i].member, path))
            return &lines->items[i];
    items = reallocarray(lines->items, lines->count + 1, sizeof(*items));
    if (!items)
        return NULL;
    lines->items = items;
    items += lines->count;
    memset(items, 0, sizeof(*items));
    items->member = str_dup(path);
    if (!items->member)
        return NULL;
    lines->count++;
    return items;
}

/* Of a path that stands twice people see the first value. */
static void add_line(struct side *side, const char *path, const char *value, bool is_kept) {
    struct record_line *line;
    char **to;
    if (side->failed || side->lines->count >= LINES_MAX)
        return;
    line = line_of(side, path);
    if (!line) {
        side->failed = ERR_NOMEM;
        return;
    }
    line->is_kept = line->is_kept || is_kept;
    to = side->is_wanted ? &line->wanted : &line->now;
    if (!*to && !(*to = str_dup(value)))
        side->failed = ERR_NOMEM;
}

/* A member that is not set is left out. */
__attribute__((format(printf, 3, 4))) static void extension_record_put(struct side *side, const char *value, const char *path_fmt,
                                                                       ...) {
    char path[PATH_BYTES];
    va_list args;
    va_start(args, path_fmt);
    (void)vsnprintf(path, sizeof(path), path_fmt, args);
    va_end(args);
    if (value && side->lines)
        add_line(side, path, value, false);
    else if (value)
        add_digest(side, path, value, false);
}

static void extension_record_put_kept(struct side *side, const char *path, const char *value) {
    if (value && side->lines)
        add_line(side, path, value, true);
    else if (value)
        add_digest(side, path, value, true);
}

static int extension_record_compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A list whose order means nothing: of items that begin with their text, so many bytes each. Sorted for people. */
static void extension_record_put_set(struct side *side, const char *member, const void *items, size_t item_bytes, size_t count) {
    _cleanup_free_ const char **texts = side->lines ? calloc(count + 1, sizeof(const char *)) : NULL;
    _cleanup_strbuf_ struct strbuf joined;
    strbuf_init(&joined, TEXT_BYTES_MAX);
    if (side->lines && !texts)
        side->failed = ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        const char *text = *(const char *const *)((const char *)items + i * item_bytes);
        if (texts)
            texts[i] = text ? text : "";
        else if (!side->lines)
            extension_record_put(side, text ? text : "", "%s", member);
    }
    if (!texts || !count)
        return;
    qsort(texts, count, sizeof(*texts), extension_record_compare_texts);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&joined, "%s%s", i ? ", " : "", texts[i]);
    extension_record_put(side, joined.data, "%s", member);
}

/* Tells an item of which nothing is set from none. */
static void extension_record_note_count(struct side *side, const char *member, size_t count) {
    for (size_t i = 0; !side->lines && i < count; i++)
        add_digest(side, member, "", false);
}

/* A whole PEM text tells people nothing. */
static char *certificate_text(const char *pem) {
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    if (!pem)
        return NULL;
    if (x509_parse_pem(pem, &info, NULL))
        return str_dup("not a certificate");
    x509_thumbprint_text(info.sha256, thumbprint);
    return str_format("certificate of %s, SHA-256 %s", info.subject, thumbprint);
}

/* Digests of thumbprints are made without regard to case. */
static void put_thumbprint(struct side *side, size_t i, const char *thumbprint) {
    char upper[X509_THUMBPRINT_TEXT_BYTES];
    size_t n = 0;
    while (thumbprint && thumbprint[n] && n + 1 < sizeof(upper)) {
        upper[n] = (char)toupper((unsigned char)thumbprint[n]);
        n++;
    }
    upper[n] = 0;
    extension_record_put(side, !thumbprint || side->lines || thumbprint[n] ? thumbprint : upper, "server[%zu].serverThumbprint",
                         i);
}

static void put_server(struct side *side, size_t i, const struct vim_ext_server *server) {
    _cleanup_free_ char *certificate = side->lines && side->has_certificates ? certificate_text(server->certificate) : NULL;
    extension_record_put(side, server->type, "server[%zu].type", i);
    extension_record_put(side, server->url, "server[%zu].url", i);
    extension_record_put(side, server->company, "server[%zu].company", i);
    extension_record_put(side, server->description.label, "server[%zu].description.label", i);
    extension_record_put(side, server->description.summary, "server[%zu].description.summary", i);
    for (size_t j = 0; j < server->admin_emails.count; j++)
        extension_record_put(side, server->admin_emails.items[j], "server[%zu].adminEmail", i);
    put_thumbprint(side, i, server->thumbprint);
    if (side->has_certificates)
        extension_record_put(side, side->lines ? certificate : server->certificate, "server[%zu].serverCertificate", i);
}

static void put_client(struct side *side, size_t i, const struct vim_ext_client *client) {
    extension_record_put(side, client->type, "client[%zu].type", i);
    extension_record_put(side, client->url, "client[%zu].url", i);
    extension_record_put(side, client->version, "client[%zu].version", i);
    extension_record_put(side, client->company, "client[%zu].company", i);
    extension_record_put(side, client->description.label, "client[%zu].description.label", i);
    extension_record_put(side, client->description.summary, "client[%zu].description.summary", i);
}

/* Of events and privileges people see the ids. Which schema an event has is not compared. */
static void put_ids(struct side *side, const struct vim_extension *record) {
    extension_record_put_set(side, "taskList", record->tasks.items, sizeof(char *), record->tasks.count);
    extension_record_put_set(side, "eventList", record->events, sizeof(*record->events), record->event_count);
    extension_record_put_set(side, "faultList", record->faults.items, sizeof(char *), record->faults.count);
    extension_record_put_set(side, "privilegeList", record->privileges, sizeof(*record->privileges), record->privilege_count);
    for (size_t i = 0; !side->lines && i < record->event_count; i++)
        extension_record_put_kept(side, record->events[i].id ? record->events[i].id : "", record->events[i].schema);
    for (size_t i = 0; !side->lines && i < record->privilege_count; i++)
        extension_record_put(side, record->privileges[i].group, "privilegeList.%s", record->privileges[i].id);
}

static void put_others(struct side *side, const struct vim_extension *record) {
    _cleanup_free_ char *self = record->self_type ? str_format("%s:%s", record->self_type, record->self_moref) : NULL;
    extension_record_put_kept(side, "ovfConsumerInfo.callbackUrl", record->ovf_callback_url);
    extension_record_put_kept(side, "extendedProductInfo.self", self);
    extension_record_put_kept(side, "extendedProductInfo.companyUrl", record->company_url);
    if (record->has_product)
        extension_record_put(side, record->product_url, "extendedProductInfo.productUrl");
    extension_record_put_kept(side, "extendedProductInfo.managementUrl", record->management_url);
    extension_record_put_set(side, "managedEntityInfo", record->managed_entities, sizeof(*record->managed_entities),
                             record->managed_count);
    for (size_t i = 0; !side->lines && i < record->managed_count; i++)
        extension_record_put(side, record->managed_entities[i].description, "managedEntityInfo.%s",
                             record->managed_entities[i].type);
    if (record->has_shown_in_solution_manager)
        extension_record_put_kept(side, "shownInSolutionManager", record->shown_in_solution_manager ? "true" : "false");
    for (size_t i = 0; i < record->solution_tab_count; i++)
        extension_record_put_kept(side, "solutionManagerInfo.tab", record->solution_tabs[i].url);
}

/* Texts of resources in full: the owner mark is among them. */
static void put_record(struct side *side, const struct vim_extension *record) {
    extension_record_put(side, record->key, "key");
    extension_record_put(side, record->version, "version");
    extension_record_put(side, record->description.label, "description.label");
    extension_record_put(side, record->description.summary, "description.summary");
    extension_record_put(side, record->company, "company");
    extension_record_put_kept(side, "type", record->type);
    extension_record_put(side, record->subject_name, "subjectName");
    for (size_t i = 0; i < record->server_count; i++)
        put_server(side, i, &record->servers[i]);
    for (size_t i = 0; i < record->client_count; i++)
        put_client(side, i, &record->clients[i]);
    put_ids(side, record);
    for (size_t i = 0; i < record->resource_count; i++) {
        const struct vim_ext_resource *r = &record->resources[i];
        for (size_t j = 0; j < r->data_count; j++)
            extension_record_put(side, r->data[j].value, "resourceList[%s/%s].%s", r->locale, r->module, r->data[j].key);
    }
    extension_record_put(side, record->health_url, "healthInfo.url");
    put_others(side, record);
    extension_record_note_count(side, "server", record->server_count);
    extension_record_note_count(side, "client", record->client_count);
    extension_record_note_count(side, "resourceList", record->resource_count);
}

static bool holds_certificates(const char *api_version) {
    return api_version && vim_version_is_at_least(api_version, CERTIFICATE_SINCE);
}

size_t extension_record_compare(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                                const char *out[EXTENSION_DIFFERENCES_MAX]) {
    struct side is = {.has_certificates = holds_certificates(api_version)}, should_be = is;
    size_t n = 0;
    put_record(&is, found);
    put_record(&should_be, wanted);
    for (size_t i = 0; i < ARRAY_COUNT(compared); i++)
        if (is.digests[i] != should_be.digests[i])
            out[n++] = compared[i];
    return n;
}

uint64_t extension_record_digest(const struct vim_extension *record) {
    struct side side = {.has_certificates = true};
    put_record(&side, record);
    return hash64(0, side.digests, sizeof(side.digests));
}

int extension_text_lines(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                         struct record_lines *out, struct err *err) {
    struct record_lines lines = {0};
    struct side side = {.lines = &lines, .has_certificates = holds_certificates(api_version)};
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
