/* Command line options, read by tables. Layer 7 (cli). The kind of an option says what its value becomes, see cli_command.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Not getopt_long: options of a command and those of the program may bear the same name (--user), wrong ones get a "did you mean", and a
 * password given as an argument is refused without being repeated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* What an option becomes in the request of its command: a member of the body, or a parameter of the query of a GET. */
enum opt_kind {
    OPT_OWN,          /* nothing: the command itself reads it */
    OPT_TEXT,         /* its value as a text */
    OPT_TEXT_OR_NULL, /* likewise; "" becomes null, which removes the member */
    OPT_TEXTS,        /* array of all values that are given, without "" */
    OPT_TRUE,         /* a flag: true */
    OPT_FALSE,        /* a flag: false */
    OPT_TIME,         /* a time: RFC 3339, or how long ago: 30m */
    OPT_PORT,         /* a number, 0 to 65535 */
    OPT_SHA256,       /* a thumbprint as a text */
    OPT_CA_FILE,      /* the text of a file with certificates; "" becomes null */
    OPT_REPLICAS,     /* notations of cli_address.h, as the next two */
    OPT_LABEL,
    OPT_NODE,
};

/* One option. A list of them ends with a NULL name; what is left out is 0. */
struct opt_spec {
    const char *name;  /* without dashes */
    const char *value; /* word for the value in the help; NULL: a flag; "[NAME]": may be left out, then --name=VALUE */
    const char *about; /* one line of help */
    enum opt_kind kind;
    const char *member; /* of the request */
    char letter;        /* 0: none */
    bool is_repeatable;
    bool is_required;
    const char *also; /* another name that is accepted, but not shown in the help; NULL: none */
};

/* Which options are known: those of the command win over the common ones. */
struct opt_tables {
    const struct opt_spec *own; /* NULL: none */
    const struct opt_spec *common;
};

struct opt_value {
    const struct opt_spec *spec;
    const char *value; /* NULL for a flag; borrowed from argv */
    bool is_common;
};

/* The options and words of a command line. Texts are borrowed from argv. */
struct opt_given {
    struct opt_value *values;
    size_t values_count;
    const char **words; /* arguments that are no options */
    size_t words_count;
};

/* Makes room for all of `argc` arguments. ERR_NOMEM. Freed by opt_done. */
int opt_init(struct opt_given *given, size_t argc, struct err *err);
void opt_done(struct opt_given *given);

/* Reads arguments from `argv` (ended by NULL) and adds them to `given`. With `stop_at_word` it ends before the first word that is no
 * option. *used gets the number of arguments read. ERR_INVALID for unknown, repeated, incomplete options. */
int opt_read(const struct opt_tables *tables, const char *const *argv, bool stop_at_word, size_t *used, struct opt_given *given,
             struct err *err);

/* Value of an option of the command ("" for a flag), or NULL if it was not given. */
const char *opt_get(const struct opt_given *given, const char *name);

/* The same for a common option. */
const char *opt_get_common(const struct opt_given *given, const char *name);

/* Iterates over the values of a repeatable option of the command: *at begins at 0; NULL at the end. */
const char *opt_next(const struct opt_given *given, const char *name, size_t *at);

/* "Did you mean": the nearest of several words. Begin with cli_near_init, offer each word, then look at `best`. */
struct cli_near {
    const char *typed;
    const char *best; /* NULL: none is near enough */
    unsigned distance;
};

/* Starts a search for a word near to `typed`, which must outlive it. */
void cli_near_init(struct cli_near *near, const char *typed);

/* Offers a word; it is kept, not copied, if it is the nearest so far. NULL is ignored. */
void cli_near_try(struct cli_near *near, const char *word);
