/* The configuration of kaasd: reading, checking, printing. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * All options stand in one table, options.def; struct config is made from it. (Not named config.h, which is autoconf's.) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "strbuf.h"

#define CONFIG_FILE_BYTES_MAX (1024U * 1024U)
#define CONFIG_ERRORS_SHOWN_MAX 20U
#define CONFIG_REPORT_BYTES_MAX (64U * 1024U)
#define CONFIG_DEFAULT_PATH "/etc/kaas/kaasd.yaml"

/* Texts of a list option, ended by NULL. */
struct config_list {
    char **items;
    size_t count;
};

/* Values of the ENUM members, in the order of their words in options.def. */
enum { CONFIG_LOG_ERROR, CONFIG_LOG_WARNING, CONFIG_LOG_NOTICE, CONFIG_LOG_INFO, CONFIG_LOG_DEBUG };

#define CONFIG_TYPE_STRING char * /* never NULL; "" is "not given" */
#define CONFIG_TYPE_PATH char *   /* absolute, or "" */
#define CONFIG_TYPE_BOOL bool
#define CONFIG_TYPE_INTEGER int64_t
#define CONFIG_TYPE_DURATION int64_t /* ms, as the member's name says */
#define CONFIG_TYPE_SIZE int64_t     /* bytes */
#define CONFIG_TYPE_ENUM int
#define CONFIG_TYPE_LIST struct config_list

enum {
#define OPTION(kind, member, ...) CONFIG_INDEX_##member,
#include "options.def"
#undef OPTION
    CONFIG_OPTIONS_COUNT
};

/* One member for each option. All-zero is "nothing in it". */
struct config {
#define OPTION(kind, member, ...) CONFIG_TYPE_##kind member;
#include "options.def"
#undef OPTION
    unsigned lines[CONFIG_OPTIONS_COUNT]; /* where the file sets the option; 0: default */
};

/* The faults of a configuration, one line each, as "file:line:column: text; remedy" or "option: text; remedy". */
struct config_report {
    struct strbuf text;
    struct strbuf warnings; /* "option: warning: text; remedy" */
    unsigned error_count;   /* the text ends after CONFIG_ERRORS_SHOWN_MAX of them */
};
void config_report_init(struct config_report *report);
void config_report_done(struct config_report *report); /* a zeroed struct is allowed */
#define _cleanup_config_report_ __attribute__((cleanup(config_report_done)))

/* Adds a line about an option; the remedy may be "". An option that has one already gets no second. A warning is no error. */
void config_report_fault(struct config_report *report, const char *option, const char *text, const char *remedy);
void config_report_warning(struct config_report *report, const char *option, const char *text, const char *remedy);

/* ERR_CONFIG with the first error, or 0 if there is none. `name` says in the text what has the errors: the file, "configuration". */
int config_report_finish(const struct config_report *report, const char *name, struct err *err);

/* Reads the file over the defaults. Every error found is a line of `report`, in order; then ERR_CONFIG, with the first of them in
 * `err`, and *out is untouched. ERR_NOT_FOUND, ERR_IO, ERR_TOO_LARGE (CONFIG_FILE_BYTES_MAX), ERR_NOMEM. */
int config_load(const char *path, struct config *out, struct config_report *report, struct err *err);

/* As config_load, from memory (for it, and for tests); `name` stands for the file in the messages. */
int config_parse(const char *name, const char *text, size_t n, struct config *out, struct config_report *report, struct err *err);

/* The number of bits that certificates.key_bits (an index, as every ENUM) stands for. */
int config_key_bits(const struct config *config);

/* Frees the values and zeroes the struct, which itself stays the caller's. NULL is allowed. */
void config_free(struct config *config);
#define _cleanup_config_ __attribute__((cleanup(config_free)))

/* Looks at the files and folders that the options name: whether they are there, readable, and, where they hold secrets, closed to
 * others. Adds a line per fault to `report` and returns ERR_CONFIG, or 0. */
int config_check_files(const struct config *config, struct config_report *report, struct err *err);

/* Iterates over the files that config_check_files requires to be readable: *at begins at 0. Borrowed; NULL at the end. */
const char *config_next_file(const struct config *config, size_t *at);

/* The same for the files that hold secrets, whether kaasd can read them or not. The keytab, which is binary, is not among them. */
const char *config_next_secret_file(const struct config *config, size_t *at);

/* Appends all options with their effective values, one per line, as "key = value  # default" or "# line n". Holds no secret,
 * since options only name the files that do. */
void config_print(const struct config *config, struct strbuf *out);

/* Appends the keys, joined by ", ", of the options that differ between the two and need a restart. */
void config_print_unreloadable(const struct config *old, const struct config *new, struct strbuf *out);

/* Appends the reference page of all options as Markdown. */
void config_write_reference(struct strbuf *out);
