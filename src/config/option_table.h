/* Options as rows of a table, and their values in a struct. Inside src/config only. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon_config.h"
#include "err.h"
#include "strbuf.h"

enum option_kind {
    OPTION_STRING,
    OPTION_PATH,
    OPTION_BOOL,
    OPTION_INTEGER,
    OPTION_DURATION,
    OPTION_SIZE,
    OPTION_ENUM,
    OPTION_LIST
};

enum {
    OPTION_RELOAD = 1,           /* may change while kaasd runs */
    OPTION_FILE = 2,             /* names a file that must be readable */
    OPTION_SECRET_FILE = 4,      /* the same, and closed to others */
    OPTION_SECRET_OF_OTHERS = 8, /* closed to others, perhaps to us, too */
    OPTION_DIRECTORY = 16,       /* names a folder that must be there */
    OPTION_DIRECTORY_MADE = 32,  /* names a folder that is made if missing */
};

/* Tests one value (of a list: one item) further. ERR_CONFIG with what it should be; texts start with the value, the key is put before. */
typedef int option_check_fn(const char *text, struct err *err);

struct option {
    enum option_kind kind;
    size_t offset; /* of the member */
    const char *key;
    const char *fallback; /* default, as text */
    int64_t min, max;
    const char *words;
    unsigned flags;
    option_check_fn *check;
    const char *help;
};

struct option_table {
    const struct option *rows;
    size_t count;
};

/* The table of kaasd (options.def). */
extern const struct option_table option_table_daemon;

/* option_table.c */
const struct option *option_find(const struct option_table *table, const char *key); /* NULL: none */
bool option_is_section(const struct option_table *table, const char *path);          /* some key lies below */
/* The key meant, given the wrong one below `prefix` ("" at the top); NULL: nothing is near. Static text. */
const char *option_nearest(const struct option_table *table, const char *prefix, const char *name);
int option_defaults(const struct option_table *table, void *target, struct err *err); /* target is zeroed before; ERR_NOMEM */
void option_done_all(const struct option_table *table, void *target);

/* option_value.c: parses one scalar (`is_quoted`: was written in quotes) into its place. ERR_CONFIG with text, "must be ...", and remedy; ERR_NOMEM.
 * Lists take item by item. */
int option_parse(const struct option *o, const char *text, bool is_quoted, void *target, struct err *err);
int option_add_item(const struct option *o, const char *text, void *target, struct err *err);
void option_done(const struct option *o, void *target);
/* Appends the value as one would write it in the file. */
void option_write(const struct option *o, const void *target, struct strbuf *out);
bool option_eq(const struct option *o, const void *a, const void *b);
/* "a duration of 1m to 1h": what the option takes, for messages and the reference page. */
void option_describe(const struct option *o, struct strbuf *out);

/* Check what a value must look like beyond its type: 0, or ERR_CONFIG and what is expected. */
option_check_fn option_check_listen, option_check_url, option_check_proxy, option_check_network, option_check_hx_name,
    option_check_host, option_check_identifier, option_check_privilege, option_check_extension_key, option_check_email,
    option_check_replica, option_check_http_proxy;

/* Where a fault is; line and column from 1, or 0 for none. */
struct config_place {
    const char *name; /* of the file, or what else the fault is in */
    size_t line, column;
};

/* Adds a line about a fault; remedy may be "". */
void config_report_add(struct config_report *report, const struct config_place *place, const char *text, const char *remedy);
bool config_report_is_full(const struct config_report *report);

/* The remedy for a file that this user has no right to read. Returns err->code. */
int config_tell_user(struct err *err);

/* Reads a text over what `target` holds, with the line of each option set in `lines` (one per row). Faults go to `report`. */
struct config_source {
    const char *name, *text;
    size_t n;
};
int config_yaml_read(const struct option_table *table, const struct config_source *source, void *target, unsigned *lines,
                     struct config_report *report, struct err *err); /* 0 or ERR_NOMEM */
