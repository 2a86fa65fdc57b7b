/* Writes down what a watch tells, one line each.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_told.h"

#include <string.h>

#include "str.h"
#include "vim_extension.h"

static int end_line(struct told *told, const char *name, struct err *err) {
    strbuf_adds(&told->text, "\n");
    return str_eq(told->fail_at, name) ? err_set(err, ERR_DATABASE, "made to fail") : 0;
}

static void begin(struct told *told, enum vim_watch_op op, const char *name, const char *moref) {
    static const char *const ops[] = {"enter", "modify", "leave"};
    strbuf_addf(&told->text, "%s %s %s", ops[op], name, moref);
}

static void add(struct told *told, const char *name, const char *value) {
    if (value)
        strbuf_addf(&told->text, " %s=%s", name, value);
}

static void add_flag(struct told *told, const char *name, bool has, bool value) {
    if (has)
        strbuf_addf(&told->text, " %s=%d", name, value);
}

static void add_unset(struct told *told, unsigned unset) {
    if (unset)
        strbuf_addf(&told->text, " unset=%x", unset);
}

static int on_restarted(void *arg, struct err *err) {
    struct told *told = arg;
    strbuf_adds(&told->text, "restarted");
    return end_line(told, "restarted", err);
}

static int on_cluster(void *arg, const struct vim_watch_cluster *c, struct err *err) {
    struct told *told = arg;
    begin(told, c->op, c->is_plain ? "plain" : "cluster", c->moref);
    add(told, "name", c->name);
    add(told, "parent", c->parent_moref);
    add_unset(told, c->unset);
    return end_line(told, "cluster", err);
}

static int on_datacenter(void *arg, const struct vim_watch_datacenter *d, struct err *err) {
    struct told *told = arg;
    begin(told, d->op, "datacenter", d->moref);
    add(told, "name", d->name);
    add_unset(told, d->unset);
    return end_line(told, "datacenter", err);
}

static int on_folder(void *arg, const struct vim_watch_folder *f, struct err *err) {
    struct told *told = arg;
    begin(told, f->op, "folder", f->moref);
    add(told, "parent", f->parent_moref);
    add_unset(told, f->unset);
    return end_line(told, "folder", err);
}

static int on_host(void *arg, const struct vim_watch_host *h, struct err *err) {
    struct told *told = arg;
    begin(told, h->op, "host", h->moref);
    add(told, "name", h->name);
    add(told, "parent", h->parent_moref);
    add(told, "connection", h->connection);
    add(told, "power", h->power);
    add_flag(told, "maintenance", h->has_in_maintenance, h->in_maintenance);
    add_unset(told, h->unset);
    return end_line(told, "host", err);
}

static int on_vm(void *arg, const struct vim_watch_vm *v, struct err *err) {
    struct told *told = arg;
    begin(told, v->op, "vm", v->moref);
    add(told, "name", v->name);
    add(told, "instance", v->instance_uuid);
    add(told, "bios", v->bios_uuid);
    add(told, "host", v->host_moref);
    add(told, "power", v->power);
    add(told, "connection", v->connection);
    add_flag(told, "template", v->has_is_template, v->is_template);
    add_unset(told, v->unset);
    return end_line(told, "vm", err);
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

static int on_settled(void *arg, struct err *err) {
    struct told *told = arg;
    strbuf_adds(&told->text, "settled");
    return end_line(told, "settled", err);
}

void told_init(struct told *told) {
    memset(told, 0, sizeof(*told));
    strbuf_init(&told->text, 64U << 20);
    told->events = (struct vim_watch_events){told,    on_restarted, on_cluster,    on_datacenter,  on_folder,
                                             on_host, on_vm,        on_extensions, on_permissions, on_settled};
}

void told_done(struct told *told) {
    strbuf_done(&told->text);
}
