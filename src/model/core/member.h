/* The members of a record as a table, by which it is copied, compared, checked, stored, read and shown. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a record stands below its struct, in the order in which the API shows the members, and ends with MEMBERS_END. What follows from it:
 * here copy, comparison and check; columns in store/core/db_table.h; JSON in api/core/member_json.h and inventory/render.c. Lists and records inside
 * a record are made by hand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "strbuf.h"

enum member_kind {
    MEMBER_TEXT,     /* char *, malloc'ed or NULL */
    MEMBER_CHARS,    /* char[n]; "" is no text */
    MEMBER_INT,      /* int */
    MEMBER_UNSIGNED, /* unsigned, or an enum with its words */
    MEMBER_LONG,     /* int64_t; in JSON it is a wall-clock time, 0: never. Or uint64_t, not in JSON */
    MEMBER_BOOL,     /* bool */
    MEMBER_PART,     /* written by other code: the row only gives its place in JSON */
};

/* What a value must be like; see names.h. */
enum member_rule {
    RULE_NONE,
    RULE_UUID,
    RULE_VM_UUID, /* of a virtual machine: given in one of several ways (vm_uuid_parse), kept plain */
    RULE_NAME,
    RULE_TEXT, /* of up to `max` characters */
    RULE_LINE, /* of one line, up to `max` characters */
    RULE_KUBERNETES_VERSION,
    RULE_HTTPS_URL,
    RULE_IP_ADDRESS,
    RULE_COUNT, /* 0 to `max`; -1: unknown */
    RULE_WORD,  /* a text, or the enum's value, out of `words` */
};

/* Who may give a member in a body of the API. */
enum member_writer {
    BY_ADMIN = 1,  /* create and change */
    BY_REPORT = 2, /* a program that reports */
};

enum member_flag {
    MEMBER_KEY = 1,        /* column by which the row is found */
    MEMBER_VERSION = 2,    /* column that begins with 1 and rises with every update, which must find what the record holds */
    MEMBER_FIXED = 4,      /* column that an update leaves as it is */
    MEMBER_LOWER = 8,      /* column that is stored in lower case */
    MEMBER_ZERO_NULL = 16, /* column that is NULL for the enum's value 0 */
    MEMBER_STRICT = 32,    /* a word that is not known is an error; else it is read as `unknown` */
    MEMBER_OPTIONAL = 64,  /* may be NULL, also in JSON; not needed to create */
    MEMBER_HIDDEN = 128,   /* not shown, though it has a name in JSON */
    MEMBER_ASIDE = 256,    /* members_same does not compare it */
    MEMBER_MOVING = 512,   /* changes in memory before it does in the database: members_difference does not compare it */
    MEMBER_NOCASE = 1024,  /* ASCII case does not count */
    MEMBER_EMPTY = 2048,   /* column that is "" where there is no text */
    MEMBER_CUT = 4096,     /* column that holds no more than the first `max` characters */
};

struct member {
    const char *name;
    enum member_kind kind;
    size_t offset, bytes;
    const char *column;       /* NULL: not stored, or by hand */
    const char *json;         /* name in the API and in errors; NULL: not known there */
    unsigned flags;           /* enum member_flag */
    unsigned writers;         /* enum member_writer; 0: nobody but kaasd itself */
    enum member_rule rule;    /* what members_check requires */
    long max;                 /* of the rule, or of a MEMBER_UNSIGNED that is given */
    const char *const *words; /* ended by NULL: of an enum in the order of its values, or allowed for a text */
    unsigned unknown;         /* what a word of a newer version is read as */
    unsigned first;           /* the least value of an enum or MEMBER_UNSIGNED that anybody may give */
};

#define MEMBER_OF(record, member) (((struct record *)0)->member)
#define MEMBER_KIND(record, member) \
    _Generic(&MEMBER_OF(record, member), char **                    \
             : MEMBER_TEXT, char(*)[sizeof(MEMBER_OF(record, member))] \
             : MEMBER_CHARS, int *                                  \
             : MEMBER_INT, unsigned *                               \
             : MEMBER_UNSIGNED, int64_t *                           \
             : MEMBER_LONG, uint64_t *                              \
             : MEMBER_LONG, bool *                                  \
             : MEMBER_BOOL)
/* A row: the member, its column and its name in JSON, then further fields of struct member: MEMBER_AS(cluster, created_at_ms, "created_at_ms",
 * "created_at", .flags = MEMBER_FIXED). */
#define MEMBER_AS(record, member, column_, json_, ...)                                                   \
    {                                                                                                    \
        .name = #member, .kind = MEMBER_KIND(record, member), .offset = offsetof(struct record, member), \
        .bytes = sizeof(MEMBER_OF(record, member)), .column = column_, .json = json_, __VA_ARGS__        \
    }
/* A row for a member whose column and name in JSON are its own name. */
#define MEMBER(record, member, ...) MEMBER_AS(record, member, #member, #member, __VA_ARGS__)
#define MEMBER_PART_OF(json_) \
    { .name = json_, .kind = MEMBER_PART, .json = json_ }
#define MEMBERS_END \
    { .name = NULL }

/* The text of a member, or the word of an enum (NULL if it has none). "" of a MEMBER_CHARS is NULL. Borrowed. Of other kinds NULL. */
const char *member_text(const struct member *m, const void *record);
/* The number of a member: MEMBER_INT, MEMBER_UNSIGNED, MEMBER_LONG, MEMBER_BOOL. */
int64_t member_number(const struct member *m, const void *record);
void member_set_number(const struct member *m, void *record, int64_t number);
/* Sets an enum by its word; false if there is no such word. */
bool member_set_word(const struct member *m, void *record, const char *word);
/* The address of the pointer of a MEMBER_TEXT; of the first char of a MEMBER_CHARS. */
char **member_text_at(const struct member *m, void *record);
char *member_chars_at(const struct member *m, void *record);

/* Frees the texts and zeroes all `bytes` of the record; NULL is allowed. */
void members_done(const struct member *members, void *record, size_t bytes);

/* Copies all `bytes` of a record to `out`, uninitialised, with texts of its own. ERR_NOMEM; `noun` is "a cluster". */
int members_copy(const struct member *members, const void *from, void *out, size_t bytes, const char *noun, struct err *err);

/* The bytes that all texts of the record need, each with its NUL. */
size_t members_text_bytes(const struct member *members, const void *record);
/* Copies the texts to `to`, one after the other, and makes the record point there. Returns the address behind the last one. */
char *members_put_texts(const struct member *members, void *record, char *to);

/* True if two records are equal but for members with MEMBER_ASIDE. */
bool members_same(const struct member *members, const void *a, const void *b);
/* The name of the first member in which they differ, MEMBER_ASIDE included, MEMBER_MOVING not; NULL: none. Static. */
const char *members_difference(const struct member *members, const void *a, const void *b);

/* Appends what differs in members that an administrator may give, as "name: east -> west; disabled: no -> yes". */
void members_describe(const struct member *members, const void *before, const void *after, struct strbuf *out);

/* Checks each member against its rule. ERR_UNPROCESSABLE naming the member; `where` is put before its name ("nodes[]."). */
int members_check(const struct member *members, const void *record, const char *where, struct err *err);

/* The word at `value`, or `fallback` when there is none. `words` as above. */
const char *words_get(const char *const *words, unsigned value, const char *fallback);
/* Place of a word; false if it is not there or NULL. */
bool words_find(const char *const *words, const char *word, unsigned *out);
