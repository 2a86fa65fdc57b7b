/* Handlers of /v2/ldap: the directories that people sign in by. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "ldapdirs.h"
#include "api_call.h"
#include "kerberos.h"
#include "member_json.h"
#include "reply.h"
#include "str.h"
#include "strbuf.h"
#include "views.h"

#define LIST_BYTES_MAX 16384U

/* -- views ----------------------------------------------------------------------------------------------------------------- */

/* What is configured, and nothing that changes by itself. */
static json_t *ldap_view_bare(const struct ldap_source *s) {
    json_t *object = member_json_show(ldap_source_members, s);
    json_put(object, "urls", view_words(s->urls));
    json_put_string(object, "user_filter", ldap_source_user_filter(s));
    json_put_string(object, "group_filter", ldap_source_group_filter(s));
    json_put(object, "realms", view_words(s->realms));
    return object;
}

static json_t *ldap_view(const struct api_call *call, const void *record) {
    const struct ldapdir_report *report = record;
    const bool is_failing = report->state == LDAPDIR_FAILING;
    json_t *object = ldap_view_bare(&report->source), *status = json_object();
    (void)call;
    json_put_string(status, "state", ldapdir_state_name(report->state));
    view_put_time(status, "since", report->since_ms);
    view_put_text(status, "server", report->server[0] ? report->server : NULL);
    view_put_time(status, "certificate_expires_at", report->certificate_end_ms);
    view_put_text(status, "detail", is_failing ? report->why.text : NULL);
    view_put_text(status, "remedy", is_failing && report->why.remedy[0] ? report->why.remedy : NULL);
    json_put(object, "status", status);
    return object;
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

static const char *ldap_key(const void *record, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct ldapdir_report *)record)->source.name;
}

int h_ldap_list(struct api_call *call, struct http_response *resp, struct err *err) {
    struct ldapdir_report_list all = {0};
    int rc = ldapdir_list(call->api->options.ldapdirs, &all, err);
    if (!rc)
        rc = view_list(call, resp, VIEW_LIST(all.items, all.count, ldap_key, ldap_view), err);
    ldapdir_report_list_done(&all);
    return rc;
}

static int ldap_find(struct ldapdir_report_list *all, const char *name, struct ldapdir_report **out, struct err *err) {
    for (size_t i = 0; i < all->count; i++)
        if (str_eq(all->items[i].source.name, name)) {
            *out = &all->items[i];
            return 0;
        }
    (void)err_set(err, ERR_NOT_FOUND, "there is no directory named %.40s", name);
    return err_remedy(err, "see: kaasctl ldap list, or GET /v2/ldap");
}

static int ldap_answer(struct api_call *call, struct http_response *resp, int status, const char *name, struct err *err) {
    struct ldapdir_report_list all = {0};
    struct ldapdir_report *found = NULL;
    int rc = ldapdir_list(call->api->options.ldapdirs, &all, err);
    if (!rc)
        rc = ldap_find(&all, name, &found, err);
    if (!rc)
        rc = reply_named(call, resp, status, (struct reply_named){ldap_view(call, found), ldap_view_bare(&found->source)}, err);
    ldapdir_report_list_done(&all);
    return rc;
}

int h_ldap_show(struct api_call *call, struct http_response *resp, struct err *err) {
    return ldap_answer(call, resp, 200, http_request_param(call->req, "name"), err);
}

/* -- what is wanted -------------------------------------------------------------------------------------------------------- */

const struct member_body h_ldap_add_body = {.members = ldap_source_members,
                                            .writer = BY_ADMIN,
                                            .is_new = true,
                                            .more = JSON_MEMBERS(JSON_NEEDS(STRING, "name"), JSON_NEEDS(ARRAY, "urls"),
                                                                 JSON_TAKES_NULL(ARRAY, "realms"),
                                                                 JSON_TAKES(STRING, "bind_password"))};
const struct member_body h_ldap_patch_body = {
    .members = ldap_source_members,
    .writer = BY_ADMIN,
    .more = JSON_MEMBERS(JSON_TAKES(ARRAY, "urls"), JSON_TAKES_NULL(ARRAY, "realms"), JSON_TAKES(STRING, "bind_password"))};

/* An array of words as one text. */
static int read_words(const json_t *array, const char *what, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    json_t *item;
    size_t i;
    int rc;
    strbuf_init(&text, LIST_BYTES_MAX);
    json_array_foreach (array, i, item) {
        const char *word = json_string_value(item);
        if (!word || !*word || strpbrk(word, " \t\r\n"))
            return err_set(err, ERR_UNPROCESSABLE, "%s[%zu] is no word", what, i);
        strbuf_addf(&text, "%s%s", i ? " " : "", word);
    }
    rc = strbuf_check(&text, what, err);
    return rc ? rc : str_replace(out, text.len ? text.data : NULL, err);
}

/* Puts what the body says over what `s` is. */
static int read_source(const json_t *body, struct ldap_source *s, struct err *err) {
    int rc = member_json_read(body, ldap_source_members, BY_ADMIN, s, err);
    if (!rc && json_object_get(body, "urls"))
        rc = read_words(json_object_get(body, "urls"), "urls", &s->urls, err);
    if (!rc && json_object_get(body, "realms"))
        rc = read_words(json_object_get(body, "realms"), "realms", &s->realms, err);
    return rc;
}

/* -- writing --------------------------------------------------------------------------------------------------------------- */

int h_ldap_add(struct api_call *call, struct http_response *resp, struct err *err) {
    struct ldapdir_wish wish = {.password = json_get_string(call->body, "bind_password")};
    const char *name = json_get_string(call->body, "name");
    int rc = str_replace(&wish.source.name, name, err);
    if (!rc)
        rc = read_source(call->body, &wish.source, err);
    if (!rc)
        rc = ldapdir_add(call->api->options.ldapdirs, API_ACTOR(call), &wish, err);
    ldap_source_done(&wish.source);
    if (rc)
        return rc;
    reply_location(resp, "/v2/ldap/", name);
    return ldap_answer(call, resp, 201, name, err);
}

/* What is there, if it is what an If-Match speaks of; *version_no 0: none did. */
static int ldap_read_current(struct api_call *call, struct ldap_source *out, int64_t *version_no, struct err *err) {
    struct ldapdir_report_list all = {0};
    struct ldapdir_report *found = NULL;
    int rc = ldapdir_list(call->api->options.ldapdirs, &all, err);
    if (!rc)
        rc = ldap_find(&all, http_request_param(call->req, "name"), &found, err);
    if (!rc)
        rc = reply_check_version(call, ldap_view_bare(&found->source), found->source.version_no, version_no, err);
    if (!rc)
        rc = ldap_source_copy(&found->source, out, err);
    ldapdir_report_list_done(&all);
    return rc;
}

/* Without If-Match what was read a moment ago is what is changed, so that nothing is lost to somebody else unseen. */
int h_ldap_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    struct ldapdir_wish wish = {.password = json_get_string(call->body, "bind_password")};
    int64_t version_no = 0;
    int rc = ldap_read_current(call, &wish.source, &version_no, err);
    if (!rc)
        rc = read_source(call->body, &wish.source, err);
    if (!rc)
        rc = ldapdir_change(call->api->options.ldapdirs, API_ACTOR(call), &wish, err);
    ldap_source_done(&wish.source);
    return rc ? rc : ldap_answer(call, resp, 200, http_request_param(call->req, "name"), err);
}

int h_ldap_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    struct ldap_source source = {0};
    int64_t version_no = 0;
    int rc = ldap_read_current(call, &source, &version_no, err);
    if (!rc)
        rc = ldapdir_remove(call->api->options.ldapdirs, API_ACTOR(call), source.name, version_no, err);
    ldap_source_done(&source);
    return view_nothing(resp, rc);
}

/* -- looking for what is wrong --------------------------------------------------------------------------------------------- */

const struct member_body h_ldap_test_body = {.more = JSON_MEMBERS(JSON_TAKES_NULL(STRING, "username"))};

static json_t *test_json(const struct ldapdir_test *test) {
    json_t *object = json_object();
    json_put_string(object, "name", test->name);
    json_put_string(object, "status", finding_status_name(test->worst));
    json_put_time(object, "checked_at", test->checked_at_ms);
    json_put_int(object, "duration_ms", test->duration_ms);
    json_put(object, "findings", view_findings(&test->findings));
    return object;
}

/* With the keys of our keytab. */
static int test_with_keys(struct api_call *call, const char *user, struct ldapdir_test *out, struct err *err) {
    const struct api_options *options = &call->api->options;
    struct ldapdir_test_wish wish = {.name = http_request_param(call->req, "name"), .user = user};
    struct kerberos_status tokens = {0};
    const char **principals;
    int rc = options->kerberos ? kerberos_get_status(options->kerberos, &tokens, err) : 0;
    if (rc)
        return rc;
    principals = calloc(tokens.keys_count + 1, sizeof(*principals));
    for (size_t i = 0; principals && i < tokens.keys_count; i++)
        principals[i] = tokens.keys[i].principal;
    wish.principals = principals;
    wish.principals_count = tokens.keys_count;
    wish.requires_pac = tokens.requires_pac;
    rc = principals ? ldapdir_test(options->ldapdirs, &wish, out, err) : err_set(err, ERR_NOMEM, "out of memory");
    free(principals);
    kerberos_status_done(&tokens);
    return rc;
}

int h_ldap_test(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *user = json_get_string(call->body, "username");
    struct ldapdir_test test = {0};
    int rc;
    if (user && (!*user || strlen(user) > 256 || str_has_control(user)))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"username\" must have 1 to 256 characters and no control characters");
    rc = test_with_keys(call, user, &test, err);
    if (rc)
        return rc;
    rc = reply_json(resp, 200, test_json(&test), err);
    ldapdir_test_done(&test);
    return rc;
}
