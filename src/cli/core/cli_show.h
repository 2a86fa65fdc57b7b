/* Shows answers of kaasd: for people in columns, for programs as JSON, YAML or names. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "cli.h"
#include "cli_table.h"
#include "json.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* what a row of a table does not say is not there */

/* One column of a list, or one line of an object. Lists end with a NULL title. */
struct cli_column {
    const char *title;
    const char *member;                                /* "a.b" goes into objects; NULL: the whole item */
    void (*add)(struct table *t, const json_t *value); /* NULL: strings and numbers as they are */
};

/* How a member is shown; each adds one cell, "-" for null or a missing member. */
void show_time(struct table *t, const json_t *value); /* RFC 3339 without fractions */
void show_yes_no(struct table *t, const json_t *value);
void show_bytes(struct table *t, const json_t *value);    /* 40 TiB */
void show_replicas(struct table *t, const json_t *value); /* 4/5 */
void show_state(struct table *t, const json_t *value);    /* of a cluster; one that was typed by hand is marked */
const char *show_source_word(const char *state_source);   /* "asked" is Kubernetes for people; others as they are; may be NULL */
void show_state_source(struct table *t, const json_t *value);         /* of a cluster: who typed or reported it, and when */
void show_words(struct table *t, const json_t *value);                /* strings, joined by a comma */
void show_object_names(struct table *t, const json_t *value);         /* of objects, joined by a comma */
void show_places(struct table *t, const json_t *value);               /* vSphere clusters as paths */
void show_found(struct table *t, const json_t *value);                /* a thing at a vCenter: path (managed object id) */
void show_hx_names(struct table *t, const json_t *value);             /* of HX clusters; with their place if two have one name */
void show_labels(struct table *t, const json_t *value);               /* key=value */
void show_given(struct table *t, const json_t *value);                /* whether there is a text */
void show_service_certificates(struct table *t, const json_t *value); /* thumbprints, and how long they are valid */
void show_certificate_count(struct table *t, const json_t *value);    /* of a text with certificates */

/* The value at "a.b" of an object, or NULL. Borrowed. */
const json_t *show_member(const json_t *object, const char *path);

/* Appends rows without titles, indented. */
int show_rows(const json_t *items, const struct cli_column *columns, struct strbuf *out, struct err *err);

/* Appends lines of an object: a title and a value for each column. */
int show_pairs(const json_t *object, const struct cli_column *columns, struct strbuf *out, struct err *err);

/* Appends a list: a table, or the items as show_json. */
int show_list(struct cli *cli, const json_t *items, const struct cli_column *columns, struct err *err);

/* Appends an object: a line for each column, or as show_json. */
int show_object(struct cli *cli, const json_t *object, const struct cli_column *columns, struct err *err);

/* Appends a value for programs, with a newline, in the format of --output: JSON, indented; YAML; or the name or id of the object or of each item, by lines. */
int show_json(struct cli *cli, const json_t *value, struct err *err);
/* The same for one of several values in a row: JSON is in one line. */
int show_json_line(struct cli *cli, const json_t *value, struct err *err);

/* Appends a line, harmless for the terminal; nothing with --output json. */
void show_line(struct cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends a line, and below it each text of a list, indented; nothing with --output json. */
void show_lines(struct cli *cli, const char *title, const json_t *list);

/* An empty line between parts; nothing with --output json. */
void show_gap(struct cli *cli);

/* -- what step-by-step examinations found, laid out for people ----------------------------------------------------- */

/* The number of findings with this status. */
size_t findings_count(const json_t *findings, const char *status);

/* Appends findings (objects with title, status, finding, remedy, and server if there are several), a remedy below each, and a line that sums them up. */
int findings_write(struct cli *cli, const json_t *findings, struct err *err);

/* Sets the program's exit status to CLI_FAILED if one of the findings has failed. */
void findings_judge(struct cli *cli, const json_t *findings);
