/* Handler of GET /v2/login: in which ways people can sign in here. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Strangers read it, so it says what a sign-in form needs and no more: no addresses, no names of vCenters, no realms. */
#include "directories.h"
#include "api_call.h"
#include "kerberos.h"
#include "reply.h"

static json_t *directories_json(struct identity *identity) {
    char names[DIRECTORIES_MAX][LDAP_SOURCE_NAME_CHARS_MAX + 1];
    const size_t n = directories_get_names(identity, names, DIRECTORIES_MAX);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_string(names[i]));
    return list;
}

/* What does not work is not offered. */
static const char *kerberos_word(const struct api_options *options) {
    static const char *const words[] = {
        [API_KERBEROS_OFF] = "off", [API_KERBEROS_BUTTON] = "button", [API_KERBEROS_AUTO] = "auto"};
    const bool works = options->kerberos && kerberos_is_usable(options->kerberos);
    return words[works ? options->kerberos_offer : API_KERBEROS_OFF];
}

int h_login_ways(struct api_call *call, struct http_response *resp, struct err *err) {
    const struct api_options *options = &call->api->options;
    const struct dir_platform *platform = call->snapshot ? call->snapshot->platform : NULL;
    json_t *object;
    int rc = api_check_no_query(call, err);
    if (rc)
        return rc;
    object = json_object();
    json_put_bool(object, "vcenter", platform && platform->vcenters_count > 0);
    (void)json_object_set_new(object, "directories", directories_json(options->identity));
    json_put_string(object, "kerberos", kerberos_word(options));
    return reply_json(resp, 200, object, err);
}
