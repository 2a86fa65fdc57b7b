/* People and groups given by name in a body or a query, in place of an id. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* The members that stand for `id_member`: "group", "person", both as names, and "directory" where to look. For lists of json_member. */
#define NAME_LOOKUP_MEMBERS JSON_TAKES(STRING, "group"), JSON_TAKES(STRING, "person"), JSON_TAKES(STRING, "directory")

/* Is just one of the id, a group and a person given, and no directory beside an id? In the body, or in the query where none was
 * read. *is_named: it is no id. ERR_UNPROCESSABLE, of a query ERR_INVALID. */
int name_lookup_check(const struct api_call *call, const char *id_member, bool *is_named, struct err *err);

/* Continues in a worker where the directory that is named, or any if none is, may be waited for. */
int name_lookup_go(struct api_call *call, api_handler_fn *fn, struct err *err);

/* The id of what is named, in such a worker pool; freed by the caller. ERR_AMBIGUOUS with the candidates in the problem; ERR_UNPROCESSABLE if there is none, or none that
 * counts; 502, 503, 504 where a directory does not answer. */
int name_lookup_id(struct api_call *call, char **id, struct err *err);
/* The same for a name that came in another way. */
struct ldapdir_reference;
int name_lookup_find(struct api_call *call, const struct ldapdir_reference *reference, char **id, struct err *err);
