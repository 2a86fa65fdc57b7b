/* People and groups given by name in a body or a query, in place of an id. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "name_lookup.h"

#include <string.h>

#include "ldapdir.h"
#include "problem.h"
#include "views.h"

#define NAME_BYTES_MAX 1000U

/* A member of the body, or a parameter of the query where there is no body. */
static const char *name_lookup_given(const struct api_call *call, const char *name) {
    return call->body ? json_get_string(call->body, name) : http_request_query(call->req, name);
}

int name_lookup_check(const struct api_call *call, const char *id_member, bool *is_named, struct err *err) {
    const char *id = name_lookup_given(call, id_member), *group = name_lookup_given(call, "group"),
               *person = name_lookup_given(call, "person");
    const char *name = group ? group : person, *kind = call->body ? "member" : "query parameter";
    *is_named = !id;
    if ((id != NULL) + (group != NULL) + (person != NULL) != 1)
        return err_set(err, ERR_UNPROCESSABLE, "give one of the %ss \"%s\", \"group\" and \"person\"", kind, id_member);
    if (id)
        return name_lookup_given(call, "directory")
                   ? err_set(err, ERR_UNPROCESSABLE, "the %s \"directory\" goes with \"group\" or \"person\"", kind)
                   : 0;
    if (!*name || strlen(name) > NAME_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the %s \"%s\" must have 1 to %u bytes", kind, group ? "group" : "person",
                       NAME_BYTES_MAX);
    return 0;
}

int name_lookup_go(struct api_call *call, api_handler_fn *fn, struct err *err) {
    struct worker_pool *workers = NULL;
    int rc = api_admit(call, BOUND_OUTSIDE, err);
    if (!rc)
        rc = ldapdir_lookup_pool(call->api->options.ldapdirs, name_lookup_given(call, "directory"), &workers, err);
    return rc ? rc : api_go_slow(call, workers ? workers : call->api->options.outside, fn, err);
}

static json_t *name_lookup_candidate(const struct ldapdir_match *match) {
    json_t *object = json_object();
    json_put_string(object, "id", match->id);
    json_put_string(object, "name", match->name ? match->name : match->dn);
    json_put_string(object, "path", match->dn);
    json_put_string(object, "directory", match->directory);
    return object;
}

int name_lookup_find(struct api_call *call, const struct ldapdir_reference *reference, char **id, struct err *err) {
    struct ldapdir_matches found;
    int rc = ldapdir_lookup(call->api->options.ldapdirs, reference, &found, err);
    if (!rc) {
        *id = STEAL(found.items[0].id);
    } else if (rc == ERR_AMBIGUOUS && found.count) {
        json_t *list = json_array();
        for (size_t i = 0; i < found.count; i++)
            json_add(list, name_lookup_candidate(&found.items[i]));
        problem_add(call, "candidates", list);
    }
    ldapdir_matches_done(&found);
    return rc;
}

int name_lookup_id(struct api_call *call, char **id, struct err *err) {
    const char *group = name_lookup_given(call, "group");
    const struct ldapdir_reference reference = {.source = name_lookup_given(call, "directory"),
                                                .kind = group ? LDAPDIR_GROUP : LDAPDIR_PERSON,
                                                .name = group ? group : name_lookup_given(call, "person")};
    return name_lookup_find(call, &reference, id, err);
}
