/* From what a person types to the object at kaasd. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_find.h"

#include <stdio.h>
#include <string.h>

#include "cli_command.h"
#include "str.h"
#include "uuid.h"

#define ADDRESS_BYTES 300
#define PORT_USUAL 443

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
    *vcenter = !found && json_array_size(vcenters) == 1 ? json_array_get(vcenters, 0) : found;
    *rest = best;
    return 0;
}

/* -- any kind ------------------------------------------------------------------------------------------------------------- */

static bool cli_find_has_name(const json_t *item, const char *ref) {
    return str_eq(json_get_string(item, "name"), ref);
}

static bool find_has_name_nocase(const json_t *item, const char *ref) {
    return str_eq_nocase(json_get_string(item, "name"), ref);
}

/* clang-format off */
#define SHOWN(...) (const struct cli_column[]){{"ID", "id"}, {"NAME", "name"}, __VA_ARGS__, {NULL}}
const struct cli_kind
    cli_vcenters = {"vCenter", "vcenter", "/v2/vcenters", SHOWN({"ADDRESS", NULL, show_vcenter_address}), cli_is_vcenter, false},
    cli_clusters = {"cluster", "cluster", "/v2/clusters", SHOWN({"ON", "placement.vsphere_clusters", show_places}), cli_find_has_name, true},
    cli_hx_clusters = {"HX cluster", "hx", "/v2/hx-clusters", SHOWN({"ON", "vsphere_cluster", show_places}), cli_find_has_name, true},
    cli_users = {"user", "user", "/v2/users", SHOWN({"FULL NAME", "full_name"}), find_has_name_nocase, true},
    cli_services = {"service account", "service", "/v2/services", SHOWN({"FULL NAME", "full_name"}), cli_find_has_name, true};
/* clang-format on */

static int cli_find_none(const struct cli_kind *kind, const char *ref, const char *near, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "there is no %s \"%s\"", kind->word, ref);
    return near ? err_remedy(err, "did you mean \"%s\"?", near) : err_remedy(err, "see: kaasctl %s list", kind->command);
}

static int find_several(struct cli *cli, const struct cli_kind *kind, const char *ref, const json_t *found, struct err *err) {
    (void)show_rows(found, kind->shown, &cli->more, NULL);
    (void)err_set(err, ERR_AMBIGUOUS, "\"%s\" fits %zu %ss", ref, json_array_size(found), kind->word);
    return err_remedy(err, "use the id:");
}

int cli_find(struct cli *cli, const struct cli_kind *kind, const char *ref, json_t **out, struct err *err) {
    _cleanup_json_ json_t *items = NULL, *found = json_array();
    struct cli_near near;
    json_t *item;
    size_t i;
    int rc;
    if (kind->has_own_path && uuid_is_valid(ref)) { /* an id may be a name as well, in theory: then the id counts */
        _cleanup_free_ char *call = str_format("GET %s/%s", kind->path, ref);
        struct err why = {0};
        rc = call ? cli_send(cli, call, NULL, NULL, out, &why) : err_set(&why, ERR_NOMEM, "out of memory");
        if (rc != ERR_NOT_FOUND)
            return err_move(err, rc, &why);
    }
    rc = cli_list(cli, kind->path, NULL, NULL, &items, err);
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

static void find_show_place(struct table *t, const json_t *candidate) {
    const char *path = json_get_string(candidate, "path");
    table_add(t, path ? path : json_get_string(candidate, "moref"));
}

void cli_add_candidates(struct cli *cli) {
    (void)show_rows(json_object_get(cli_client_problem(cli->client), "candidates"), SHOWN({"ON", NULL, find_show_place}),
                    &cli->more, NULL);
}
