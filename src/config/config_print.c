/* Effective settings, and the reference page. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "option_table.h"
#include "str.h"

void config_print(const struct config *config, struct strbuf *out) {
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        const struct option *o = &option_table_daemon.rows[i];
        strbuf_addf(out, "%s = ", o->key);
        option_write(o, config, out);
        if (config->lines[i])
            strbuf_addf(out, "  # line %u\n", config->lines[i]);
        else
            strbuf_adds(out, "  # default\n");
    }
}

void config_print_unreloadable(const struct config *old, const struct config *new, struct strbuf *out) {
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        const struct option *o = &option_table_daemon.rows[i];
        if (!(o->flags & OPTION_RELOAD) && !option_eq(o, old, new))
            strbuf_addf(out, "%s%s", out->len ? ", " : "", o->key);
    }
}

static const char intro[] =
    "# Configuration of kaasd\n"
    "\n"
    "kaasd reads one YAML file, by default `" CONFIG_DEFAULT_PATH
    "`; `kaasd --check-config` tells what is wrong with it. Every option has a\n"
    "default, so the file names only what differs. A dot in a key below is a nested section:\n"
    "\n"
    "```yaml\n"
    "server:\n"
    "  listen: \"*:8443\"\n"
    "  public_url: https://kaas.example.com:8443\n"
    "```\n"
    "\n"
    "Durations are a number with one of the units `ms`, `s`, `m`, `h`, `d`; sizes one of `B`, `KiB`, `MiB`, `GiB`. Secrets never stand in the file:\n"
    "options name the files that hold them. Anchors, aliases, tags and several documents are refused. What is marked *reloadable* takes\n"
    "effect on SIGHUP, the rest at the next start.\n";

/* Writes a heading where the first part of the key changes; keys without a dot get one of their own. */
static void write_section(const char *key, const char *previous, struct strbuf *out) {
    size_t n = strcspn(key, ".");
    if (previous && strcspn(previous, ".") == n && !memcmp(previous, key, n))
        return;
    strbuf_addf(out, "\n## %.*s\n", (int)n, key);
}

static void write_option(const struct option *o, struct strbuf *out) {
    strbuf_addf(out, "\n### `%s`\n\n%s\n\n", o->key, o->help);
    strbuf_adds(out, "Takes ");
    option_describe(o, out);
    if (o->kind == OPTION_LIST)
        strbuf_adds(out, ". Default: `[]`");
    else
        strbuf_addf(out, ". Default: %s%s%s", *o->fallback ? "`" : "", *o->fallback ? o->fallback : "empty",
                    *o->fallback ? "`" : "");
    strbuf_adds(out, o->flags & OPTION_RELOAD ? ". Reloadable.\n" : ".\n");
}

void config_write_reference(struct strbuf *out) {
    const struct option_table *table = &option_table_daemon;
    strbuf_adds(out, intro);
    for (size_t i = 0; i < table->count; i++) {
        write_section(table->rows[i].key, i ? table->rows[i - 1].key : NULL, out);
        write_option(&table->rows[i], out);
    }
}
