/* From what a person types to the object at kaasd. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_find.h"

#include <stdio.h>
#include <string.h>

#include "cli_show.h"
#include "cli_table.h"
#include "str.h"
#include "uuid.h"

#define ADDRESS_BYTES 300
#define PORT_USUAL 443

char *cli_path_of(const char *collection, const json_t *object, const char *verb) {
    const char *id = json_get_string(object, "id");
    return str_format("/v2/%s/%s%s%s", collection, id && uuid_is_valid(id) ? id : "", verb ? "/" : "", verb ? verb : "");
}

static int cli_find_none(const struct cli_kind *kind, const char *ref, const char *near, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "there is no %s \"%s\"", kind->word, ref);
    return near ? err_remedy(err, "did you mean \"%s\"?", near) : err_remedy(err, "see: kaasctl %s list", kind->command);
}

static int find_several(struct cli *cli, const struct cli_kind *kind, const char *ref, const json_t *found, struct err *err) {
    _cleanup_table_ struct table t;
    json_t *item;
    size_t i;
    table_init_plain(&t, 3, 2);
    json_array_foreach ((json_t *)(uintptr_t)found, i, item)
        kind->describe(&t, item);
    (void)table_write(&t, &cli->more, NULL);
    (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits %zu %ss", ref, json_array_size(found), kind->word);
    return err_remedy(err, "use the id:");
}

/* -- vCenters ------------------------------------------------------------------------------------------------------------- */

static void find_address_of(const json_t *vcenter, char out[ADDRESS_BYTES]) {
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
    find_address_of(vcenter, address);
    table_add(t, address);
}

/* The spellings of a vCenter, i from 0; NULL after the last. */
static const char *find_spelling(const json_t *vcenter, size_t i, char buffer[ADDRESS_BYTES]) {
    const char *address = json_get_string(vcenter, "address");
    switch (i) {
    case 0: return json_get_string(vcenter, "id");
    case 1: return json_get_string(vcenter, "name");
    case 2: return address;
    case 3: find_address_of(vcenter, buffer); return buffer;
    case 4: (void)snprintf(buffer, ADDRESS_BYTES, "[%s]", address ? address : ""); return buffer;
    default: return NULL;
    }
}

/* Names are compared exactly, host names and ids without regard to case. */
static bool find_is_spelled(const char *name, size_t i, const char *ref) {
    return i == 1 ? str_eq(name, ref) : str_eq_nocase(name, ref);
}

bool cli_is_vcenter(const json_t *vcenter, const char *ref) {
    char buffer[ADDRESS_BYTES];
    const char *name;
    for (size_t i = 0; (name = find_spelling(vcenter, i, buffer)); i++)
        if (find_is_spelled(name, i, ref))
            return true;
    return false;
}

/* Where the text behind "VCENTER:" begins if `text` starts with a name of this vCenter and a colon, else NULL. */
static const char *find_after_vcenter(const json_t *vcenter, const char *text) {
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
        const char *after = find_after_vcenter(item, text);
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

static void find_describe_vcenter(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    show_vcenter_address(t, item);
}

const struct cli_kind cli_vcenters = {"vCenter", "vcenter", "vcenters", find_describe_vcenter, cli_is_vcenter, false};

/* -- clusters and HX clusters --------------------------------------------------------------------------------------------- */

/* An id may be a name as well, in theory: then the id counts. */
static int find_by_own_id(struct cli *cli, const char *collection, const char *ref, json_t **out, struct err *err) {
    _cleanup_free_ char *path = str_format("/v2/%s/%s", collection, ref);
    struct err why = {0};
    int rc;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = cli_client_get(cli->client, path, out, &why);
    return rc == ERR_NOT_FOUND ? rc : err_move(err, rc, &why);
}

static void find_describe_cluster(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    show_places(t, show_member(item, "placement.vsphere_clusters"));
}

static void find_describe_hx(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    show_places(t, json_object_get(item, "vsphere_cluster"));
}

static void find_describe_user(struct table *t, const json_t *item) {
    table_add(t, json_get_string(item, "id"));
    table_add(t, json_get_string(item, "name"));
    table_add(t, json_get_string(item, "full_name"));
}

static bool cli_find_has_name(const json_t *item, const char *ref) {
    return str_eq(json_get_string(item, "name"), ref);
}

static bool find_has_name_nocase(const json_t *item, const char *ref) {
    return str_eq_nocase(json_get_string(item, "name"), ref);
}

const struct cli_kind cli_clusters = {"cluster", "cluster", "clusters", find_describe_cluster, cli_find_has_name, true};
const struct cli_kind cli_hx_clusters = {"HX cluster", "hx", "hx-clusters", find_describe_hx, cli_find_has_name, true};
const struct cli_kind cli_users = {"user", "user", "users", find_describe_user, find_has_name_nocase, true};
const struct cli_kind cli_services = {"service account", "service", "services", find_describe_user, cli_find_has_name, true};

int cli_find(struct cli *cli, const struct cli_kind *kind, const char *ref, json_t **out, struct err *err) {
    _cleanup_free_ char *path = str_format("/v2/%s", kind->collection);
    _cleanup_json_ json_t *items = NULL, *found = json_array();
    struct cli_near near;
    json_t *item;
    size_t i;
    int rc = path ? cli_connect(cli, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    if (kind->has_own_path && uuid_is_valid(ref)) {
        rc = find_by_own_id(cli, kind->collection, ref, out, err);
        if (rc != ERR_NOT_FOUND)
            return rc;
    }
    rc = cli_client_list(cli->client, path, &items, err);
    if (rc)
        return rc;
    cli_near_init(&near, ref);
    json_array_foreach (items, i, item) {
        cli_near_try(&near, json_get_string(item, "name"));
        if (kind->fits(item, ref))
            (void)json_array_append(found, item);
    }
    if (!json_array_size(found))
        return cli_find_none(kind, ref, near.best, err);
    if (json_array_size(found) > 1)
        return find_several(cli, kind, ref, found, err);
    *out = json_incref(json_array_get(found, 0));
    return 0;
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
