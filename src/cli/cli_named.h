/* People and groups of directories, given by name. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "json.h"

/* For tables of options. */
#define CLI_NAMED_OPTIONS                                                                              \
    {"group", "NAME", "a group by its name in the directory, or its DN, in place of an id", 0, false}, \
        {"person", "NAME", "likewise a person, also as DOMAIN\\\\NAME", 0, false}, {                   \
        "directory", "NAME", "in which directory the name is looked up; else in all", 0, false         \
    }

/* Is somebody named by --group or --person, and no id (NULL: none) given beside it? Wrong usage of them is told. */
int cli_named_check(struct cli *cli, const char *id, bool *is_named, struct err *err);
/* Puts what the options say into the body of a request. */
void cli_named_put(struct cli *cli, json_t *body);
/* The same into a query. */
void cli_named_add_query(struct cli *cli, struct strbuf *path);
/* What a call with a name ended with, for a person: candidates of a name that fits several are told below the error, `rest` how to go on with an id. Returns the code. */
int cli_named_fail(struct cli *cli, const char *rest, const struct err *why, struct err *err);
/* Sends it, and fails as above. *answer is freed by json_decref. */
struct cli_named_post {
    const char *path, *rest;
    json_t *body;
};
int cli_named_post(struct cli *cli, const struct cli_named_post *post, json_t **answer, struct err *err);
