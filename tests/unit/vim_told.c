/* Writes down what a watch tells, one line each.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_told.h"

#include <inttypes.h>
#include <string.h>

#include "str.h"
#include "vim_extension.h"

static int end_line(struct told *told, const char *name, struct err *err) {
    strbuf_adds(&told->text, "\n");
    return str_eq(told->fail_at, name) ? err_set(err, ERR_DATABASE, "made to fail") : 0;
}

static void add(struct told *told, const char *name, const char *value) {
    if (value)
        strbuf_addf(&told->text, " %s=%s", name, value);
}

static void add_flag(struct told *told, const char *name, bool has, bool value) {
    if (has)
        strbuf_addf(&told->text, " %s=%d", name, value);
}

static int on_restarted(void *arg, struct err *err) {
    struct told *told = arg;
    strbuf_adds(&told->text, "restarted");
    return end_line(told, "restarted", err);
}

static int on_object(void *arg, const struct vim_watch_object *o, struct err *err) {
    static const char *const kinds[] = {"cluster", "datacenter", "folder", "host", "vm"};
    static const char *const ops[] = {"enter", "modify", "leave"};
    struct told *told = arg;
    if (told->is_without_machines && o->kind == VIM_OBJECT_VM)
        return 0;
    strbuf_addf(&told->text, "%s %s %s", ops[o->op], o->is_plain ? "plain" : kinds[o->kind], o->moref);
    add(told, "name", o->name);
    add(told, "parent", o->parent_moref);
    add(told, "instance", o->instance_uuid);
    add(told, "bios", o->bios_uuid);
    add(told, "host", o->host_moref);
    if (o->kind == VIM_OBJECT_HOST)
        add(told, "connection", o->connection);
    add(told, "power", o->power);
    if (o->kind != VIM_OBJECT_HOST)
        add(told, "connection", o->connection);
    add_flag(told, "maintenance", o->has_in_maintenance, o->in_maintenance);
    add_flag(told, "template", o->has_is_template, o->is_template);
    if (o->unset)
        strbuf_addf(&told->text, " unset=%x", o->unset);
    return end_line(told, kinds[o->kind], err);
}

static int on_extensions(void *arg, const struct vim_key_list *keys, const struct vim_extension *own, struct err *err) {
    struct told *told = arg;
    strbuf_adds(&told->text, "extensions");
    for (size_t i = 0; i < keys->count; i++)
        strbuf_addf(&told->text, " %s", keys->items[i]);
    if (own)
        strbuf_addf(&told->text, " own=%s/%s", own->key, own->version);
    return end_line(told, "extensions", err);
}

static int on_permissions(void *arg, const char *user, struct err *err) {
    struct told *told = arg;
    strbuf_addf(&told->text, "permissions %s", user ? user : "of all");
    return end_line(told, "permissions", err);
}

static int on_maintenance(void *arg, const struct vim_watch_maintenance *begun, struct err *err) {
    struct told *told = arg;
    strbuf_addf(&told->text, "maintenance %s key=%d at=%" PRId64 "%s", begun->host_moref, begun->key, begun->at_ms,
                begun->is_old ? " old" : "");
    return end_line(told, "maintenance", err);
}

static int on_settled(void *arg, struct err *err) {
    struct told *told = arg;
    strbuf_adds(&told->text, "settled");
    return end_line(told, "settled", err);
}

void told_init(struct told *told) {
    memset(told, 0, sizeof(*told));
    strbuf_init(&told->text, 64U << 20);
    told->events =
        (struct vim_watch_events){told, on_restarted, on_object, on_extensions, on_permissions, on_maintenance, on_settled};
}

void told_done(struct told *told) {
    strbuf_done(&told->text);
}
