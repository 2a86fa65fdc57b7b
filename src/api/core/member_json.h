/* Bodies and answers by the table of a record's members (member.h). Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "json.h"
#include "member.h"

/* What a body may hold: the members that a writer may give, and `more`, made by hand. */
struct member_body {
    const struct member *members; /* NULL: none */
    enum member_writer writer;
    bool is_new;                    /* all that is not MEMBER_OPTIONAL must be there */
    const struct json_member *more; /* JSON_MEMBERS(...); NULL: none */
    bool may_be_empty;              /* of a patch: it may change nothing */
};
/* As json_check. */
int member_json_check(json_t *object, const struct member_body *body, const char *where, struct err *err);

/* Puts the members of a checked body over those of the record; null empties a text. What is not there stays. ERR_UNPROCESSABLE for a word
 * that there is not, ERR_NOMEM. */
int member_json_read(const json_t *object, const struct member *members, enum member_writer writer, void *record,
                     struct err *err);

/* A new object with all members that are shown, in the order of the table; parts made by hand are null: set them, they keep their place. */
json_t *member_json_show(const struct member *members, const void *record);
