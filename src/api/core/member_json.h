/* Reads bodies and makes answers by the table of a record's members (member.h). Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "json.h"
#include "member.h"

/* The members that a body may have: those that `writer` may set, and `more`, which the handler reads itself. */
struct member_body {
    const struct member *members; /* NULL: none */
    enum member_writer writer;
    bool is_new;                    /* all that is not MEMBER_OPTIONAL must be there */
    const struct json_member *more; /* JSON_MEMBERS(...); NULL: none */
    bool may_be_empty;              /* a patch may be empty */
};
/* Checks an object by json_check. */
int member_json_check(json_t *object, const struct member_body *body, const char *where, struct err *err);

/* Copies the members of a checked body into the record; null empties a text, absent members stay. ERR_UNPROCESSABLE for an unknown word or a number out of
 * range, ERR_NOMEM. */
int member_json_read(const json_t *object, const struct member *members, enum member_writer writer, void *record,
                     struct err *err);

/* Makes an object with all members that are shown, in the order of the table; members that the caller has to set are null: set, they keep their place. */
json_t *member_json_show(const struct member *members, const void *record);
