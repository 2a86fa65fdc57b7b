/* From what a person types to the object at kaasd. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_find.h"

#include <stdio.h>
#include <string.h>

#include "cli_near.h"
#include "cli_show.h"
#include "cli_table.h"
#include "str.h"
#include "uuid.h"

#define ADDRESS_BYTES 300
#define PORT_USUAL 443

/* What differs between the kinds of things. */
struct kind {
    const char *word;       /* "vCenter" */
    const char *command;    /* that lists them */
    const char *collection; /* of the interface */
    void (*describe)(struct table *t, const json_t *item);
    bool has_no_case; /* names are compared without regard to it */
};

/* What is looked for, and what was found. */
struct search {
    const struct kind *kind;
    const char *ref;
    json_t *found; /* array of everything that fits */
    struct cli_near near;
};

char *cli_path_of(const char *collection, const json_t *object, const char *verb) {
    const char *id = json_get_string(object, "id");
    return str_format("/v2/%s/%s%s%s", collection, id && uuid_is_valid(id) ? id : "", verb ? "/" : "", verb ? verb : "");
}

static void begin(struct search *s, const struct kind *kind, const char *ref) {
    s->kind = kind;
    s->ref = ref;
    s->found = json_array();
    cli_near_init(&s->near, ref);
}

static void offer(struct search *s, json_t *item, bool fits) {
    cli_near_try(&s->near, json_get_string(item, "name"));
    if (fits)
        (void)json_array_append(s->found, item);
}

static int not_found(const struct search *s, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "there is no %s \"%s\"", s->kind->word, s->ref);
    if (s->near.best)
        return err_remedy(err, "did you mean \"%s\"?", s->near.best);
    return err_remedy(err, "see: kaasctl %s list", s->kind->command);
}

static int ambiguous(const struct search *s, struct cli *cli, struct err *err) {
    _cleanup_table_ struct table t;
    json_t *item;
    size_t i;
    table_init_plain(&t, 3, 2);
    json_array_foreach (s->found, i, item) {
        s->kind->describe(&t, item);
    }
    (void)table_write(&t, &cli->more, NULL);
    (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits %zu %ss", s->ref, json_array_size(s->found), s->kind->word);
    return err_remedy(err, "use the id:");
}

/* Ends a search: the one thing that fits, or an error. */
static int finish(struct search *s, struct cli *cli, json_t **out, struct err *err) {
    size_t count = json_array_size(s->found);
    int rc = count == 0 ? not_found(s, err) : count > 1 ? ambiguous(s, cli, err) : 0;
    if (!rc)
        *out = json_incref(json_array_get(s->found, 0));
    json_decref(s->found);
    return rc;
}

/* -- vCenters ------------------------------------------------------------------------------------------------------------- */

static void address_of(const json_t *vcenter, char out[ADDRESS_BYTES]) {
    const char *address = json_get_string(vcenter, "address");
    bool is_v6 = address && strchr(address, ':');
    (void)snprintf(out, ADDRESS_BYTES, "%s%s%s:%lld", is_v6 ? "[" : "", address ? address : "", is_v6 ? "]" : "",
                   (long long)json_get_int(vcenter, "port", PORT_USUAL));
}

void show_vcenter_address(struct table *t, const json_t *vcenter) {
    char address[ADDRESS_BYTES];
    if (json_get_int(vcenter, "port", PORT_USUAL) == PORT_USUAL) {
        table_add(t, json_get_string(vcenter, "address"));
        return;
    }
    address_of(vcenter, address);
    table_add(t, address);
}

/* The spellings of a vCenter, i from 0; NULL after the last. */
static const char *spelling(const json_t *vcenter, size_t i, char buffer[ADDRESS_BYTES]) {
    const char *address = json_get_string(vcenter, "address");
    switch (i) {
    case 0: return json_get_string(vcenter, "id");
    case 1: return json_get_string(vcenter, "name");
    case 2: return address;
    case 3: address_of(vcenter, buffer); return buffer;
    case 4: (void)snprintf(buffer, ADDRESS_BYTES, "[%s]", address ? address : ""); return buffer;
    default: return NULL;
    }
}

/* Names are compared exactly, host names and ids without regard to case. */
static bool is_spelled(const char *name, size_t i, const char *ref) {
    return i == 1 ? str_eq(name, ref) : str_eq_nocase(name, ref);
}

bool cli_is_vcenter(const json_t *vcenter, const char *ref) {
    char buffer[ADDRESS_BYTES];
    const char *name;
    for (size_t i = 0; (name = spelling(vcenter, i, buffer)); i++)
        if (is_spelled(name, i, ref))
            return true;
    return false;
}

/* Where the text behind "VCENTER:" begins if `text` starts with a name of this vCenter and a colon, else NULL. */
static const char *after_vcenter(const json_t *vcenter, const char *text) {
    for (const char *colon = strrchr(text, ':'); colon; colon = memrchr(text, ':', (size_t)(colon - text))) {
        _cleanup_free_ char *head = strndup(text, (size_t)(colon - text));
        if (head && *head && cli_is_vcenter(vcenter, head))
            return colon + 1;
    }
    return NULL;
}

int cli_split_vcenter(const json_t *vcenters, const char *text, const json_t **vcenter, const char **rest, struct err *err) {
    const json_t *item, *found = NULL;
    const char *best = text;
    size_t i, fitting = 0;
    json_array_foreach ((json_t *)(uintptr_t)vcenters, i, item) {
        const char *after = after_vcenter(item, text);
        if (!after || after < best)
            continue;
        fitting = after > best ? 1 : fitting + 1;
        best = after;
        found = item;
    }
    if (fitting > 1) {
        (void)err_set(err, ERR_AMBIGUOUS, "\"%.*s\" fits %zu vCenters", (int)(best - text) - 1, text, fitting);
        return err_remedy(err, "use ADDRESS:PORT, the name or the id; see: kaasctl vcenter list");
    }
    *vcenter = found;
    *rest = best;
    return 0;
}

int cli_list_vcenters(struct cli *cli, json_t **items, struct err *err) {
    int rc = cli_connect(cli, err);
    return rc ? rc : cli_client_list(cli->client, "/v2/vcenters", items, err);
}

static void describe_vcenter(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    show_vcenter_address(t, item);
}

int cli_find_vcenter(struct cli *cli, const char *ref, json_t **out, struct err *err) {
    static const struct kind kind = {"vCenter", "vcenter", "vcenters", describe_vcenter, false};
    _cleanup_json_ json_t *items = NULL;
    struct search search;
    json_t *item;
    size_t i;
    int rc = cli_list_vcenters(cli, &items, err);
    if (rc)
        return rc;
    begin(&search, &kind, ref);
    json_array_foreach (items, i, item) {
        offer(&search, item, cli_is_vcenter(item, ref));
    }
    return finish(&search, cli, out, err);
}

/* -- clusters and HX clusters --------------------------------------------------------------------------------------------- */

/* An id may be a name as well, in theory: then the id counts. */
static int get_by_id(struct cli *cli, const char *collection, const char *ref, json_t **out, struct err *err) {
    _cleanup_free_ char *path = str_format("/v2/%s/%s", collection, ref);
    struct err why = {0};
    int rc;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = cli_client_get(cli->client, path, out, &why);
    if (rc && rc != ERR_NOT_FOUND && err)
        *err = why;
    return rc;
}

static int find_by_name(struct cli *cli, struct search *search, const char *path, json_t **out, struct err *err) {
    _cleanup_json_ json_t *items = NULL;
    json_t *item;
    size_t i;
    int rc = cli_client_list(cli->client, path, &items, err);
    if (rc) {
        json_decref(search->found);
        return rc;
    }
    json_array_foreach (items, i, item) {
        const char *name = json_get_string(item, "name");
        offer(search, item, search->kind->has_no_case ? str_eq_nocase(name, search->ref) : str_eq(name, search->ref));
    }
    return finish(search, cli, out, err);
}

static void describe_cluster(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    show_places(t, show_member(item, "placement.vsphere_clusters"));
}

static void describe_hx(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    show_places(t, json_object_get(item, "vsphere_cluster"));
}

/* By the id, else by the name. */
static int find_object(struct cli *cli, const struct kind *kind, const char *ref, json_t **out, struct err *err) {
    _cleanup_free_ char *path = str_format("/v2/%s", kind->collection);
    struct search search;
    int rc = cli_connect(cli, err);
    if (!rc && !path)
        rc = err_set(err, ERR_NOMEM, "out of memory");
    if (!rc && uuid_is_valid(ref)) {
        rc = get_by_id(cli, kind->collection, ref, out, err);
        if (rc != ERR_NOT_FOUND)
            return rc;
        rc = 0;
    }
    if (rc)
        return rc;
    begin(&search, kind, ref);
    return find_by_name(cli, &search, path, out, err);
}

int cli_find_cluster(struct cli *cli, const char *ref, json_t **out, struct err *err) {
    static const struct kind kind = {"cluster", "cluster", "clusters", describe_cluster, false};
    return find_object(cli, &kind, ref, out, err);
}

int cli_find_hx(struct cli *cli, const char *ref, json_t **out, struct err *err) {
    static const struct kind kind = {"HX cluster", "hx", "hx-clusters", describe_hx, false};
    return find_object(cli, &kind, ref, out, err);
}

static void describe_user(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    table_add(t, json_get_string(item, "full_name"));
}

int cli_find_user(struct cli *cli, const char *ref, json_t **out, struct err *err) {
    static const struct kind kind = {"user", "user", "users", describe_user, true};
    return find_object(cli, &kind, ref, out, err);
}

int cli_find_service(struct cli *cli, const char *ref, json_t **out, struct err *err) {
    static const struct kind kind = {"service account", "service", "services", describe_user, false};
    return find_object(cli, &kind, ref, out, err);
}

/* -- candidates of the server --------------------------------------------------------------------------------------------- */

void cli_add_candidates(struct cli *cli) {
    const json_t *list = json_object_get(cli_client_problem(cli->client), "candidates"), *item;
    size_t i;
    if (!json_is_array(list))
        return;
    _cleanup_table_ struct table t;
    table_init_plain(&t, 3, 2);
    json_array_foreach ((json_t *)(uintptr_t)list, i, item) {
        const char *path = json_get_string(item, "path");
        table_add(&t, json_get_string(item, "id"));
        table_add(&t, json_get_string(item, "name"));
        table_add(&t, path ? path : json_get_string(item, "moref"));
    }
    (void)table_write(&t, &cli->more, NULL);
}
