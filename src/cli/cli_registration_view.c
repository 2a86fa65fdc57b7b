/* What registering or unregistering found and did, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_registration_view.h"

#include "cli_show.h"
#include "cli_table.h"
#include "str.h"

enum set { READING, PROVISIONING };

/* The same list that kaasd gives to vCenter. */
static const struct {
    const char *id;
    enum set set;
    const char *why;
} privileges[] = {
#define ROLE_PRIVILEGE(id, set, why) {id, set, why},
#include "role.def"
#undef ROLE_PRIVILEGE
};

static void add_privileges(struct table *t, enum set set) {
    for (size_t i = 0; i < ARRAY_COUNT(privileges); i++) {
        if (privileges[i].set != set)
            continue;
        table_add(t, privileges[i].id);
        table_add(t, privileges[i].why);
    }
}

static int write_privileges(struct strbuf *out, enum set set, struct err *err) {
    _cleanup_table_ struct table t;
    table_init_plain(&t, 2, 2);
    add_privileges(&t, set);
    return table_write(&t, out, err);
}

int registration_view_role(const char *name, bool with_provisioning, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init(&text, 65536);
    strbuf_addf(&text, "The role \"%s\" gets, beside what every role can see:\n\nFor reading and for its own registration\n",
                name);
    rc = write_privileges(&text, READING, err);
    if (!rc && with_provisioning) {
        strbuf_adds(&text, "\nFor provisioning\n");
        rc = write_privileges(&text, PROVISIONING, err);
    }
    if (!with_provisioning)
        strbuf_adds(&text, "\nNothing for provisioning; add that by --with-provisioning.\n");
    if (!rc)
        rc = strbuf_check(&text, "list of privileges", err);
    if (!rc)
        cli_note("%s\n", text.data);
    return rc;
}

char *registration_view_found(const json_t *registration) {
    const char *key = json_get_string(registration, "extension_key"), *record = json_get_string(registration, "record"),
               *owner = json_get_string(registration, "owner");
    if (str_eq(record, "missing"))
        return str_format("there is no extension %s", key);
    if (str_eq(record, "foreign") && owner)
        return str_format("the extension %s belongs to another installation of Harmony KaaS (%s)", key, owner);
    if (str_eq(record, "foreign"))
        return str_format("the extension %s was not written by Harmony KaaS", key);
    return str_format("the extension %s is ours%s", key,
                      str_eq(record, "outdated") ? ", but differs from what it should be" : "");
}

static bool is_changed(const json_t *member) {
    return !str_eq(json_get_string(member, "now"), json_get_string(member, "wanted"));
}

static void add_member(struct table *t, const json_t *member) {
    const char *now = json_get_string(member, "now"), *wanted = json_get_string(member, "wanted");
    const char *kept = json_get_bool(member, "kept", false) ? " (not ours, kept)" : "";
    table_add(t, !is_changed(member) ? "=" : !now ? "+" : !wanted ? "-" : "~");
    table_add(t, json_get_string(member, "member"));
    if (now && wanted && is_changed(member))
        table_addf(t, "%s -> %s", now, wanted);
    else
        table_addf(t, "%s%s", wanted ? wanted : now, kept);
}

int registration_view_members(struct cli *cli, const json_t *registration, bool is_whole, struct err *err) {
    const json_t *member;
    _cleanup_table_ struct table t;
    size_t i, added = 0;
    int rc;
    table_init_plain(&t, 3, 2);
    json_array_foreach (json_object_get(registration, "members"), i, member)
        if (is_whole || (is_changed(member) && json_get_string(member, "now")))
            add_member(&t, member);
        else
            added += is_changed(member);
    rc = table_write(&t, &cli->out, err);
    if (!rc && added)
        show_line(cli, "  and %zu new members; --dry-run shows all", added);
    return rc;
}

static void write_title(struct cli *cli, const char *title) {
    if (!cli->is_json)
        strbuf_addc(&cli->out, '\n');
    show_line(cli, "%s", title);
}

static int write_strategies(struct cli *cli, const json_t *list, struct err *err) {
    const json_t *way;
    _cleanup_table_ struct table t;
    size_t i;
    table_init_plain(&t, 2, 2);
    if (!json_array_size(list))
        return 0;
    json_array_foreach (list, i, way) {
        const char *reason = json_get_string(way, "reason");
        table_add(&t, json_get_string(way, "name"));
        table_addf(&t, "%s%s%s", json_get_bool(way, "works", false) ? "works" : "does not work", reason ? ": " : "",
                   reason ? reason : "");
    }
    write_title(cli, "Ways to log in");
    return table_write(&t, &cli->out, err);
}

static void write_steps(struct cli *cli, const json_t *list) {
    const json_t *step;
    size_t i;
    write_title(cli, "Without --dry-run these steps would follow");
    json_array_foreach (list, i, step)
        show_line(cli, "  %zu. %s", i + 1, json_string_value(step));
}

int registration_view_write(struct cli *cli, const json_t *vcenter, const json_t *registration, struct err *err) {
    bool is_joining = json_array_size(json_object_get(registration, "strategies")) != 0; /* else the whole record goes */
    _cleanup_free_ char *found = registration_view_found(registration);
    int rc;
    show_line(cli, "Dry run at vCenter %s (%s) as %s: nothing was changed", json_get_string(vcenter, "name"),
              json_get_string(vcenter, "address"), json_get_string(registration, "account"));
    show_line(cli, "Found: %s", found ? found : "");
    rc = write_strategies(cli, json_object_get(registration, "strategies"), err);
    if (!rc && is_joining) {
        write_title(cli, "Record (= as it is, + added, - removed, ~ changed)");
        rc = registration_view_members(cli, registration, true, err);
    }
    if (!rc)
        write_steps(cli, json_object_get(registration, "steps"));
    return rc;
}

void registration_view_left(struct cli *cli, const json_t *registration) {
    const json_t *left = json_object_get(registration, "left"), *item;
    size_t i;
    if (json_array_size(left))
        show_line(cli, "left at the vCenter:");
    json_array_foreach (left, i, item)
        show_line(cli, "  %s", json_string_value(item));
}
