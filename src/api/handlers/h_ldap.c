/* Handlers of /v2/ldap: the directories that people sign in by. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "directories.h"
#include "api_call.h"
#include "kerberos.h"
#include "limits.h"
#include "member_json.h"
#include "reply.h"
#include "str.h"
#include "strbuf.h"
#include "views.h"

#define LIST_BYTES_MAX 16384U

/* -- views ----------------------------------------------------------------------------------------------------------------- */

static json_t *words_view(const char *words) {
    json_t *array = json_array();
    const char *at = words ? words : "";
    size_t n;
    for (at += strspn(at, " "); (n = strcspn(at, " ")) != 0; at += n, at += strspn(at, " "))
        (void)json_array_append_new(array, json_stringn(at, n));
    return array;
}

/* What is configured, and nothing that changes by itself. */
static json_t *ldap_bare_view(const struct ldap_source *s) {
    json_t *object = member_json_show(ldap_source_members, s);
    (void)json_object_set_new(object, "urls", words_view(s->urls));
    json_put_string(object, "user_filter", ldap_source_user_filter(s));
    json_put_string(object, "group_filter", ldap_source_group_filter(s));
    (void)json_object_set_new(object, "realms", words_view(s->realms));
    return object;
}

static json_t *ldap_full_view(const struct directory_report *report) {
    const bool is_failing = report->state == DIRECTORY_FAILING;
    json_t *object = ldap_bare_view(&report->source), *status = json_object();
    json_put_string(status, "state", directory_state_name(report->state));
    view_put_time(status, "since", report->since_ms);
    view_put_text(status, "server", report->server[0] ? report->server : NULL);
    view_put_time(status, "certificate_expires_at", report->certificate_end_ms);
    view_put_text(status, "detail", is_failing ? report->why.text : NULL);
    view_put_text(status, "remedy", is_failing && report->why.remedy[0] ? report->why.remedy : NULL);
    (void)json_object_set_new(object, "status", status);
    return object;
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

static const char *h_ldap_list_key(const void *arg, size_t i, char *buffer, size_t n) {
    (void)buffer;
    (void)n;
    return ((const struct directory_report_list *)arg)->items[i].source.name;
}

static json_t *h_ldap_list_item(const void *arg, size_t i) {
    return ldap_full_view(&((const struct directory_report_list *)arg)->items[i]);
}

int h_ldap_list(struct api_call *call, struct http_response *resp, struct err *err) {
    static const char *const known[] = {"limit", "cursor", NULL};
    struct directory_report_list all = {0};
    struct reply_list list = {.key = h_ldap_list_key, .item = h_ldap_list_item, .arg = &all};
    int rc = http_request_check_query(call->req, known, err);
    if (!rc)
        rc = directories_list(call->api->options.identity, &all, err);
    list.count = all.count;
    if (!rc)
        rc = reply_list(call, resp, &list, err);
    directory_report_list_done(&all);
    return rc;
}

static int ldap_find(struct directory_report_list *all, const char *name, struct directory_report **out, struct err *err) {
    for (size_t i = 0; i < all->count; i++)
        if (str_eq(all->items[i].source.name, name)) {
            *out = &all->items[i];
            return 0;
        }
    (void)err_set(err, ERR_NOT_FOUND, "there is no directory named %.40s", name);
    return err_remedy(err, "see: kaasctl ldap list, or GET /v2/ldap");
}

static int ldap_answer(struct api_call *call, struct http_response *resp, int status, const char *name, struct err *err) {
    struct directory_report_list all = {0};
    struct directory_report *found = NULL;
    int rc = directories_list(call->api->options.identity, &all, err);
    if (!rc)
        rc = ldap_find(&all, name, &found, err);
    if (!rc)
        rc = reply_named(call, resp, status, (struct reply_named){ldap_full_view(found), ldap_bare_view(&found->source)}, err);
    directory_report_list_done(&all);
    return rc;
}

int h_ldap_show(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = api_check_no_query(call, err);
    return rc ? rc : ldap_answer(call, resp, 200, http_request_param(call->req, "name"), err);
}

/* -- what is wanted -------------------------------------------------------------------------------------------------------- */

static const struct json_member new_more[] = {
    {"name", JSON_KIND_STRING, true, false},  {"urls", JSON_KIND_ARRAY, true, false},
    {"realms", JSON_KIND_ARRAY, false, true}, {"bind_password", JSON_KIND_STRING, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};
static const struct json_member patch_more[] = {
    {"urls", JSON_KIND_ARRAY, false, false},
    {"realms", JSON_KIND_ARRAY, false, true},
    {"bind_password", JSON_KIND_STRING, false, false},
    {NULL, JSON_KIND_ANY, false, false},
};

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
    const struct actor actor = api_actor(call);
    struct directory_wish wish = {0};
    _cleanup_free_ char *name = NULL;
    struct json_member expected[MEMBER_JSON_MAX];
    member_json_expect(&(struct member_body){ldap_source_members, BY_ADMIN, true, new_more}, expected);
    int rc = api_read_members(call, expected, err);
    if (!rc)
        rc = str_replace(&wish.source.name, json_get_string(call->body, "name"), err);
    if (!rc)
        rc = read_source(call->body, &wish.source, err);
    wish.password = rc ? NULL : json_get_string(call->body, "bind_password");
    if (!rc)
        rc = directories_add(call->api->options.identity, &actor, &wish, err);
    name = STEAL(wish.source.name);
    ldap_source_done(&wish.source);
    if (rc)
        return rc;
    reply_location(resp, "/v2/ldap/", name);
    return ldap_answer(call, resp, 201, name, err);
}

/* What is there, if it is what an If-Match speaks of; *version_no 0: none did. */
static int ldap_read_current(struct api_call *call, struct ldap_source *out, int64_t *version_no, struct err *err) {
    struct directory_report_list all = {0};
    struct directory_report *found = NULL;
    int rc = directories_list(call->api->options.identity, &all, err);
    if (!rc)
        rc = ldap_find(&all, http_request_param(call->req, "name"), &found, err);
    if (!rc)
        rc = reply_check_version(call, ldap_bare_view(&found->source), found->source.version_no, version_no, err);
    if (!rc)
        rc = ldap_source_copy(&found->source, out, err);
    directory_report_list_done(&all);
    return rc;
}

/* Without If-Match what was read a moment ago is what is changed, so that nothing is lost to somebody else unseen. */
int h_ldap_patch(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct directory_wish wish = {0};
    int64_t version_no = 0;
    struct json_member expected[MEMBER_JSON_MAX];
    member_json_expect(&(struct member_body){ldap_source_members, BY_ADMIN, false, patch_more}, expected);
    int rc = api_read_patch(call, expected, err);
    if (!rc)
        rc = ldap_read_current(call, &wish.source, &version_no, err);
    if (!rc)
        rc = read_source(call->body, &wish.source, err);
    wish.password = rc ? NULL : json_get_string(call->body, "bind_password");
    if (!rc)
        rc = directories_change(call->api->options.identity, &actor, &wish, err);
    ldap_source_done(&wish.source);
    return rc ? rc : ldap_answer(call, resp, 200, http_request_param(call->req, "name"), err);
}

int h_ldap_remove(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct actor actor = api_actor(call);
    struct ldap_source source = {0};
    int64_t version_no = 0;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = ldap_read_current(call, &source, &version_no, err);
    if (!rc)
        rc = directories_remove(call->api->options.identity, &actor, source.name, version_no, err);
    ldap_source_done(&source);
    if (!rc)
        http_response_set_status(resp, 204);
    return rc;
}

/* -- looking for what is wrong --------------------------------------------------------------------------------------------- */

static const struct json_member test_members[] = {
    {"username", JSON_KIND_STRING, false, true},
    {NULL, JSON_KIND_ANY, false, false},
};

static json_t *test_json(const struct directory_test *test) {
    json_t *object = json_object();
    json_put_string(object, "name", test->name);
    json_put_string(object, "status", finding_status_name(test->worst));
    json_put_time(object, "checked_at", test->checked_at_ms);
    json_put_int(object, "duration_ms", test->duration_ms);
    (void)json_object_set_new(object, "findings", view_findings(&test->findings));
    return object;
}

int h_ldap_test(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    struct directory_test_wish wish = {.name = http_request_param(call->req, "name")};
    struct kerberos_status tokens = {0};
    struct directory_test test = {0};
    const char *user;
    int rc = api_read_members(call, test_members, err);
    user = rc ? NULL : json_get_string(call->body, "username");
    if (!rc && user && (!*user || strlen(user) > 256 || str_has_control(user)))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"username\" must have 1 to 256 characters and no control characters");
    if (!rc && options->kerberos)
        rc = kerberos_get_status(options->kerberos, &tokens, err);
    if (rc)
        return rc;
    wish.user = user;
    wish.tokens = &tokens;
    rc = directories_test(options->identity, &wish, &test, err);
    kerberos_status_done(&tokens);
    if (rc)
        return rc;
    rc = reply_json(resp, 200, test_json(&test), err);
    directory_test_done(&test);
    return rc;
}
