/* Command line options, read by tables. Layer 7 (cli). What becomes of a value is said by its kind, see cli_command.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Not getopt_long: options of a command and those of the program may bear the same name (--user), wrong ones get a "did you mean", and a
 * password given as an argument is refused without being repeated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* What an option is to the request of its command: a member of the body, or a parameter of the query of a GET. */
enum opt_kind {
    OPT_OWN,          /* nothing: the command itself looks at it */
    OPT_TEXT,         /* as it is */
    OPT_TEXT_OR_NULL, /* likewise; "" is null, which takes the member away */
    OPT_TEXTS,        /* array of all that are given, without "" */
    OPT_TRUE,         /* flag */
    OPT_FALSE,        /* flag */
    OPT_TIME,         /* RFC 3339; or how long ago: 30m */
    OPT_PORT,         /* 0 to 65535 */
    OPT_SHA256,       /* text of a thumbprint */
    OPT_CA_FILE,      /* text of a file with certificates; "" is null */
    OPT_REPLICAS,     /* notations of cli_address.h */
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
    const char *also; /* another name that is taken, and not told; NULL: none */
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

/* What was found. Texts are borrowed from argv. */
struct opt_given {
    struct opt_value *values;
    size_t values_count;
    const char **words; /* what is no option */
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

/* Goes through a repeatable option of the command: *at begins at 0; NULL at the end. */
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
