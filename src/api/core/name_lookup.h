/* People and groups given by name in a body or a query, in place of an id. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api_call.h"

/* The members that may be given in place of `id_member`: the names "group" or "person", and "directory" to search. For lists of json_member. */
#define NAME_LOOKUP_MEMBERS JSON_TAKES(STRING, "group"), JSON_TAKES(STRING, "person"), JSON_TAKES(STRING, "directory")

/* Checks that exactly one of id, group and person is given, and no directory beside an id; in the body, or in the query if no body was read. *is_named: it is
 * a name. ERR_UNPROCESSABLE. */
int name_lookup_check(const struct api_call *call, const char *id_member, bool *is_named, struct err *err);

/* Continues the call in a worker pool that may wait for the given directory, or for all if none is given. Errors of api_admit and ldapdir_lookup_pool. */
int name_lookup_go(struct api_call *call, api_handler_fn *fn, struct err *err);

/* Looks up the id of the given name; in such a worker pool; freed by the caller. ERR_AMBIGUOUS with the candidates in the problem; ERR_UNPROCESSABLE if there
 * is none, or none that gives rights; errors of ldapdir_lookup if a directory does not answer. */
int name_lookup_id(struct api_call *call, char **id, struct err *err);
/* As name_lookup_id, for this reference. */
struct ldapdir_reference;
int name_lookup_find(struct api_call *call, const struct ldapdir_reference *reference, char **id, struct err *err);
