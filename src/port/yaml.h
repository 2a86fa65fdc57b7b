/* YAML: one document from outside, as nodes with their places, and its JSON form. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "json.h"

/* A place in the text, both from 1, the column in characters; 0 where there is none. */
struct yaml_place {
    unsigned line, column;
};

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

/* A key or a value. What is inside a list or map stands right behind it: items, or key, value, key, value. */
struct yaml_node {
    enum yaml_kind kind;
    bool is_plain; /* a scalar without quotes, and no block of text */
    bool has_tag;  /* "!something" was written before it */
    struct yaml_place place;
    unsigned span; /* number of nodes: itself and all inside it */
    char *text;    /* of a scalar, as written, without quotes and escapes; valid UTF-8 without NUL. Else NULL */
};

/* All nodes in the order of the text; the first is the outermost value. None if nothing but comments was written. */
struct yaml_doc {
    struct yaml_node *nodes;
    unsigned count;
};
void yaml_done(struct yaml_doc *doc); /* wipes the texts, which may be secrets; a zeroed struct is allowed */
#define _cleanup_yaml_ _cleanup_done_(yaml_done)

/* The next node at the same level: for (in = list + 1; in < yaml_next(list); in = yaml_next(in)). Behind the last one comes no node. */
static inline const struct yaml_node *yaml_next(const struct yaml_node *node) {
    return node + node->span;
}

struct yaml_limits {
    size_t bytes;
    unsigned depth; /* of lists and maps in each other */
    unsigned nodes; /* keys and values, lists and maps included; each costs 32 bytes, used or not */
};

/* Reads a text in UTF-8, with or without a byte order mark. Anchors, aliases, %TAG, a second document and a NUL in a text are refused; tags, keys of any
 * kind and keys that are given twice are left to whoever reads the nodes (yaml_json refuses them). JSON is YAML, but for escapes of surrogates, which are
 * refused. Caller yaml_done's *out. ERR_UNPROCESSABLE, or ERR_TOO_LARGE by the limits, with text, remedy, and the place in *where (line 0: the text as a
 * whole); ERR_NOMEM. Nothing of the text is part of a message. */
int yaml_parse(const char *text, size_t n, const struct yaml_limits *limits, struct yaml_doc *out, struct yaml_place *where,
               struct err *err);

/* The document as JSON, which the caller json_decref's. A plain scalar is what the core schema of YAML 1.2 says (section 10.3):
 *   null       null Null NULL ~ and nothing at all
 *   boolean    true True TRUE false False FALSE; yes, no, on and off are texts
 *   integer    [-+]?[0-9]+ in base 10 (010 is ten), 0o17, 0x1F
 *   real       [-+]?(.5 | 5. | 5.5)([eE][-+]?[0-9]+)?, and 1e3
 *   string     all else; and whatever is quoted or a block
 * Refused are tags, keys that are no strings, keys that are given twice, merge keys (<<), integers beyond 64 bits, reals that a double cannot hold,
 * .inf and .nan. Errors as of yaml_parse; a key that is given twice is named. */
int yaml_json(const struct yaml_doc *doc, json_t **out, struct yaml_place *where, struct err *err);

/* The place of a JSON value, by its way from the outermost one, as in "users[0].user.token" ("" is the outermost one itself; keys with . or [ are not
 * found): its node, or NULL if it is not there. Where that is the value of a key, the node before it is the key. For documents that yaml_json has taken. */
const struct yaml_node *yaml_find(const struct yaml_doc *doc, const char *path);
