/* From the texts of a bundle to objects. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bundle.h"

#include <stdlib.h>
#include <string.h>

#include "digest.h"
#include "str.h"
#include "yaml.h"

#define PLACEHOLDER "${kaas."
#define SUMS_REMEDY "write it anew in the folder: sha256sum bundle.yaml manifests/*.yaml >SHA256SUMS"
#define NAME_BYTES_MAX 253U /* Kubernetes: a DNS subdomain name */
#define SHOWN_BYTES 60

static const struct yaml_limits bundle_limits = {
    .bytes = BUNDLE_FILE_BYTES_MAX, .depth = BUNDLE_DEPTH_MAX, .nodes = BUNDLE_NODES_MAX};

void bundle_done(struct bundle *bundle) {
    for (size_t i = 0; i < bundle->count; i++) {
        free(bundle->objects[i].place);
        json_decref(bundle->objects[i].json);
    }
    free(bundle->objects);
    free(bundle->name);
    free(bundle->version);
    *bundle = (struct bundle){0};
}

/* One document as JSON, with its place put before what is wrong with it; *out NULL: there is nothing but comments in it. */
static int document_read(const char *place, unsigned first_line, const char *text, size_t n, json_t **out, struct err *err) {
    _cleanup_yaml_ struct yaml_doc doc = {0};
    struct yaml_place where = {0, 0};
    struct err why = {0};
    *out = NULL;
    int rc = yaml_parse(text, n, &bundle_limits, &doc, &where, &why);
    const bool is_empty = !rc && (!doc.count || (doc.nodes->kind == YAML_SCALAR && doc.nodes->is_plain && !doc.nodes->text[0]));
    if (is_empty)
        return 0;
    rc = rc ? rc : yaml_json(&doc, out, &where, &why);
    if (!rc || rc == ERR_NOMEM)
        return err_move(err, rc, &why);
    (void)err_set(err, rc, "%s:%u: %s", place, first_line + (where.line ? where.line - 1 : 0), why.text);
    return err_remedy(err, "%s", why.remedy[0] ? why.remedy : "correct the line");
}

/* -- bundle.yaml --------------------------------------------------------------------------------------------------- */

/* A word that people type and that stands in messages. */
static bool bundle_is_word(const char *text, const char *more) {
    size_t n = 0;
    for (; text && text[n]; n++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-", text[n]) && !strchr(more, text[n]))
            return false;
    return n > 0 && n <= SHOWN_BYTES;
}

static int head_take(struct bundle *bundle, json_t *head, struct err *err) {
    int rc = json_check(head, JSON_MEMBERS(JSON_NEEDS(STRING, "kind"), JSON_NEEDS(STRING, "name"), JSON_NEEDS(STRING, "version")),
                        "bundle.yaml", err);
    if (rc)
        return err_remedy(err, "write kind: Bundle, name and version into bundle.yaml, and nothing else");
    const char *name = json_get_string(head, "name"), *version = json_get_string(head, "version");
    if (!str_eq(json_get_string(head, "kind"), "Bundle") || !bundle_is_word(name, "") ||
        !bundle_is_word(version, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.+_")) {
        (void)err_set(err, ERR_UNPROCESSABLE, "bundle.yaml: the kind is not Bundle, or name or version is no plain word");
        return err_remedy(err, "write kind: Bundle, name: kube-router, version: v2.1.0");
    }
    rc = str_replace(&bundle->name, name, err);
    return rc ? rc : str_replace(&bundle->version, version, err);
}

int bundle_read_head(struct bundle *bundle, const char *text, size_t n, struct err *err) {
    _cleanup_json_ json_t *head = NULL;
    int rc = document_read("bundle.yaml", 1, text, n, &head, err);
    if (rc || head)
        return rc ? rc : head_take(bundle, head, err);
    (void)err_set(err, ERR_UNPROCESSABLE, "bundle.yaml: there is nothing in it");
    return err_remedy(err, "write kind: Bundle, name and version into it");
}

/* -- values -------------------------------------------------------------------------------------------------------- */

/* What stands for a name, new, in *out: a string, or a list where the cluster has several. */
static int value_of(const char *name, size_t n, const struct bundle_values *values, json_t **out, struct err *err) {
    const struct {
        const char *name, *text;
        bool is_list;
    } known[] = {{"pod_network", values->pod_network, false},
                 {"service_network", values->service_network, false},
                 {"service_addresses", NULL, true}};
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (strlen(known[i].name) != n || memcmp(known[i].name, name, n) != 0)
            continue;
        *out = known[i].is_list ? json_array() : known[i].text ? json_string(known[i].text) : NULL;
        for (size_t a = 0; known[i].is_list && a < values->service_addresses_count; a++)
            json_add(*out, json_string(values->service_addresses[a]));
        if (*out && (!known[i].is_list || json_array_size(*out)))
            return 0;
        (void)err_set(err, ERR_UNPROCESSABLE, "it wants " PLACEHOLDER "%s}, and the cluster has none", known[i].name);
        return err_remedy(err, "give the provider %s, or leave the bundle out", known[i].name);
    }
    (void)err_set(err, ERR_UNPROCESSABLE, "there is no value " PLACEHOLDER "%.*s}", (int)(n < SHOWN_BYTES ? n : SHOWN_BYTES),
                  name);
    return err_remedy(err, "write one of pod_network, service_network, service_addresses behind " PLACEHOLDER);
}

/* The text with its values in, new; a text that is nothing but the name of a list becomes that list. `at`: the first placeholder. */
static int text_fill(const char *text, const char *at, const struct bundle_values *values, json_t **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf filled;
    strbuf_init(&filled, BUNDLE_FILE_BYTES_MAX);
    for (; at; at = strstr(text, PLACEHOLDER)) {
        _cleanup_json_ json_t *value = NULL;
        const char *name = at + strlen(PLACEHOLDER);
        const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
        int rc = value_of(name, n, values, &value, err);
        if (rc)
            return rc;
        const bool is_closed = name[n] == '}', is_alone = at == text && !filled.len && is_closed && !name[n + 1];
        if (!is_closed || (json_is_array(value) && !is_alone)) {
            (void)err_set(err, ERR_UNPROCESSABLE, PLACEHOLDER "%.*s %s", (int)n, name,
                          is_closed ? "is a list, and stands within a text" : "has no closing }");
            return err_remedy(err, "write " PLACEHOLDER "%.*s}, a list as a value by itself", (int)n, name);
        }
        if (json_is_array(value)) {
            *out = STEAL(value);
            return 0;
        }
        strbuf_add(&filled, text, (size_t)(at - text));
        strbuf_adds(&filled, json_string_value(value));
        text = name + n + 1;
    }
    strbuf_adds(&filled, text);
    int rc = strbuf_check(&filled, "a text of the manifest", err);
    *out = rc ? NULL : json_stringn(filled.data, filled.len);
    return rc || *out ? rc : err_set(err, ERR_NOMEM, "out of memory");
}

/* *filled: what takes the place of the value, new; NULL: it stays. */
static int value_fill(json_t *value, const struct bundle_values *values, json_t **filled, struct err *err) {
    json_t *item, *new = NULL;
    size_t i;
    int rc = 0;
    *filled = NULL;
    if (json_is_string(value)) {
        const char *at = strstr(json_string_value(value), PLACEHOLDER);
        return at ? text_fill(json_string_value(value), at, values, filled, err) : 0;
    }
    for (void *it = json_object_iter(value); it && !rc; it = json_object_iter_next(value, it)) {
        rc = value_fill(json_object_iter_value(it), values, &new, err);
        if (new &&json_object_iter_set_new(value, it, new))
            rc = err_set(err, ERR_NOMEM, "out of memory");
    }
    json_array_foreach (value, i, item) {
        rc = rc ? rc : value_fill(item, values, &new, err);
        if (!rc && new &&json_array_set_new(value, i, new))
            rc = err_set(err, ERR_NOMEM, "out of memory");
    }
    return rc;
}

/* -- objects ------------------------------------------------------------------------------------------------------- */

/* Nothing of it would have to be escaped in a path. */
static bool path_is_safe(const char *text, const char *more) {
    const size_t n = text ? strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:/") : 0;
    if (!n || text[n] || n > NAME_BYTES_MAX || str_eq(text, ".") || str_eq(text, ".."))
        return false;
    return !text[strcspn(text, more)];
}

static int object_refuse(const char *place, const char *what, const char *remedy, struct err *err) {
    (void)err_set(err, ERR_UNPROCESSABLE, "%s: %s", place, what);
    return err_remedy(err, "%s", remedy);
}

static int object_check(const char *place, const json_t *object, struct err *err) {
    const json_t *metadata = json_object_get(object, "metadata"), *namespace = json_object_get(metadata, "namespace");
    const char *api = json_get_string(object, "apiVersion"), *kind = json_get_string(object, "kind");
    const char *slash = api ? strchr(api, '/') : NULL;
    if (!path_is_safe(api, ":_") || str_starts(api, "/") || (slash && (!slash[1] || strchr(slash + 1, '/'))))
        return object_refuse(place, "it has no apiVersion of Kubernetes", "write apiVersion: apps/v1, or whatever it is of", err);
    if (!path_is_safe(kind, ".-_:/"))
        return object_refuse(place, "it has no kind", "write kind: ConfigMap, or whatever it is", err);
    if (json_object_get(object, "items"))
        return object_refuse(place, "it is a list of objects", "write each as a document of its own, with --- between", err);
    if (!path_is_safe(json_get_string(metadata, "name"), "/"))
        return object_refuse(place, "it has no metadata.name, or one with characters that no name has", "give it a name", err);
    if (namespace && !path_is_safe(json_string_value(namespace), "./_:"))
        return object_refuse(place, "its metadata.namespace is no name of a namespace", "correct it, or leave it out", err);
    return 0;
}

static bool object_is_same(const json_t *a, const json_t *b) {
    const json_t *in_a = json_object_get(a, "metadata"), *in_b = json_object_get(b, "metadata");
    return str_eq(json_get_string(a, "kind"), json_get_string(b, "kind")) &&
           str_eq(json_get_string(a, "apiVersion"), json_get_string(b, "apiVersion")) &&
           str_eq(json_get_string(in_a, "name"), json_get_string(in_b, "name")) &&
           str_eq(json_get_string(in_a, "namespace"), json_get_string(in_b, "namespace"));
}

/* Takes `object` over. */
static int object_add(struct bundle *bundle, const char *place, json_t *object, struct err *err) {
    _cleanup_json_ json_t *json = object;
    int rc = object_check(place, json, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < bundle->count; i++)
        if (object_is_same(bundle->objects[i].json, json)) {
            (void)err_set(err, ERR_UNPROCESSABLE, "%s: the same object is at %s", place, bundle->objects[i].place);
            return err_remedy(err, "remove one of them");
        }
    if (bundle->count == BUNDLE_OBJECTS_MAX) {
        (void)err_set(err, ERR_TOO_LARGE, "%s: there are more than %u objects", place, BUNDLE_OBJECTS_MAX);
        return err_remedy(err, "make two bundles of it");
    }
    struct bundle_object *more = realloc(bundle->objects, (bundle->count + 1) * sizeof(*more));
    if (!more)
        return err_set(err, ERR_NOMEM, "out of memory");
    bundle->objects = more;
    more[bundle->count] = (struct bundle_object){.place = str_dup(place)};
    if (!more[bundle->count].place)
        return err_set(err, ERR_NOMEM, "out of memory");
    more[bundle->count++].json = STEAL(json);
    return 0;
}

static int document_add(struct bundle *bundle, const char *name, unsigned line, const char *text, size_t n,
                        const struct bundle_values *values, struct err *err) {
    _cleanup_json_ json_t *object = NULL, *filled = NULL;
    char place[BUNDLE_FILE_NAME_BYTES + 16];
    struct err why = {0};
    (void)snprintf(place, sizeof(place), "%s:%u", name, line);
    int rc = document_read(name, line, text, n, &object, err);
    if (rc || !object)
        return rc;
    if (!json_is_object(object))
        return object_refuse(place, "it is no object of Kubernetes", "write apiVersion, kind and metadata", err);
    rc = value_fill(object, values, &filled, &why);
    if (!rc)
        return object_add(bundle, place, STEAL(object), err);
    (void)err_set(err, rc, "%s: %s", place, why.text);
    return err_remedy(err, "%s", why.remedy);
}

/* A line that begins a document: in YAML it does so wherever it stands (1.2.2, rule c-forbidden). */
static bool begins_document(const char *line, size_t n) {
    return n >= 3 && !memcmp(line, "---", 3) && (n == 3 || strchr(" \t\r\n", line[3]));
}

int bundle_add_manifest(struct bundle *bundle, const char *name, const char *text, size_t n, const struct bundle_values *values,
                        struct err *err) {
    unsigned line = 0, first_line = 1;
    size_t first = 0, at = 0;
    while (at < n) {
        const char *end = memchr(text + at, '\n', n - at);
        line++;
        if (at > first && begins_document(text + at, n - at)) {
            int rc = document_add(bundle, name, first_line, text + first, at - first, values, err);
            if (rc)
                return rc;
            first = at;
            first_line = line;
        }
        at = end ? (size_t)(end - text) + 1 : n;
    }
    return document_add(bundle, name, first_line, text + first, n - first, values, err);
}

/* -- SHA256SUMS ---------------------------------------------------------------------------------------------------- */

static int sum_refuse(struct err *err, const char *name, const char *what) {
    (void)err_set(err, ERR_UNPROCESSABLE, "SHA256SUMS: %s%s%s", name, name[0] ? " " : "", what);
    return err_remedy(err, SUMS_REMEDY);
}

/* "DIGEST  NAME", or "DIGEST *NAME" of a file that was read as binary. */
static bool sum_read(const char *line, size_t n, struct bundle_sum *out) {
    char hex[65];
    if (n < sizeof(hex) + 2 || n - sizeof(hex) - 1 >= sizeof(out->name) || line[64] != ' ' || !strchr(" *", line[65]))
        return false;
    memcpy(hex, line, 64);
    hex[64] = 0;
    memcpy(out->name, line + 66, n - 66);
    out->name[n - 66] = 0;
    out->is_met = false;
    return strspn(hex, "0123456789abcdefABCDEF") == 64 && str_unhex(hex, out->sha256, 32) && !str_has_control(out->name) &&
           str_utf8_chars(out->name, n - 66) > 0;
}

int bundle_sums_read(struct bundle_sums *sums, const char *text, size_t n, struct err *err) {
    sums->count = 0;
    while (n) {
        const char *end = memchr(text, '\n', n);
        const size_t length = end ? (size_t)(end - text) : n;
        if (sums->count == ARRAY_COUNT(sums->items))
            return sum_refuse(err, "", "has more lines than a bundle has files");
        if (!sum_read(text, length, &sums->items[sums->count]))
            return sum_refuse(err, "", "has a line that sha256sum does not print");
        sums->count++;
        n -= length + (end != NULL);
        text += length + (end != NULL);
    }
    return 0;
}

int bundle_sums_meet(struct bundle_sums *sums, const char *name, const void *bytes, size_t n, struct err *err) {
    uint8_t digest[DIGEST_SHA256_BYTES];
    digest_sha256(bytes, n, digest);
    for (size_t i = 0; i < sums->count; i++)
        if (str_eq(sums->items[i].name, name)) {
            if (memcmp(sums->items[i].sha256, digest, sizeof(digest)) != 0)
                return sum_refuse(err, name, "is not the file that it was: its digest differs");
            sums->items[i].is_met = true;
            return 0;
        }
    return sum_refuse(err, name, "is not in it");
}

int bundle_sums_check(const struct bundle_sums *sums, struct err *err) {
    for (size_t i = 0; i < sums->count; i++)
        if (!sums->items[i].is_met)
            return sum_refuse(err, sums->items[i].name, "is no file of the bundle, or was not copied");
    return 0;
}
