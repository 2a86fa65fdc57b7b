/* Registering with the one-time token of a solution install. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The token registers the record and nothing else: vCenter has no call by which it would take the login certificate along. What works at once is
 * the plug-in in the vSphere Client and being found by HX Connect; signing in needs the certificate, or an account. */
#include "ovf_install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link_task.h"
#include "clock.h"
#include "http_client.h"
#include "json.h"
#include "names.h"
#include "ovf_env.h"
#include "platform_links.h"
#include "vcenter_store.h"
#include "secret.h"
#include "str.h"
#include "vim.h"

#define REPLY_BYTES_MAX 65536U
#define BODY_BYTES_MAX (1024U * 1024U)

/* What makes the plug-in shown and us found by HX Connect: a registration brings the rest. */
static int record_text(const struct vim_extension *record, const char *api_version, struct strbuf *out, struct err *err) {
    struct vim_extension told = *record;
    char now[CLOCK_RFC3339_BYTES];
    json_t *extension;
    _cleanup_json_ json_t *body = NULL;
    clock_format(clock_wall_ms(), now);
    told.last_heartbeat_time = now;
    told.has_product = false;
    extension = vim_extension_json(&told, api_version);
    body = json_pack("{s:[{s:o}]}", "vcenterExtensions", "extension", extension);
    return json_write(body, out, err);
}

/* -- which vCenter ---------------------------------------------------------------------------------------------------------- */

static bool is_named(struct link *link, const struct ovf_env *env, const struct vcenter *vc) {
    if (env->guid)
        return str_eq_nocase(link_id(link), env->guid);
    return (str_eq_nocase(vc->address, env->host) && vc->port == env->port) || str_eq_nocase(vc->address, env->hostname);
}

static struct link *ovf_install_find_known(struct platform *platform, const struct ovf_env *env) {
    struct link *found = NULL;
    size_t count = 0;
    struct link **links = platform_list(platform, &count);
    for (size_t i = 0; i < count; i++) {
        struct vcenter vc = {0};
        if (!found && !link_get_info(links[i], &vc, NULL) && is_named(links[i], env, &vc))
            found = link_ref(links[i]);
        vcenter_done(&vc);
        link_unref(links[i]);
    }
    free(links);
    return found;
}

/* The environment and a person must not disagree about what is trusted. */
static int check_trust(struct link *link, const struct ovf_env *env, struct err *err) {
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    int rc = link_get_info(link, &vc, err);
    if (!rc && vc.has_pin && vc.port == env->port && str_eq_nocase(vc.address, env->host) &&
        memcmp(vc.pin_sha256, env->thumbprint, sizeof(vc.pin_sha256)) != 0) {
        (void)err_set(err, ERR_CONFLICT,
                      "the OVF environment names another certificate for vCenter %s than the one that is trusted", vc.name);
        rc = err_remedy(err, "find out which is right: kaasctl vcenter trust %s", name_word(vc.name, vc.id));
    }
    if (!rc && vc.registered_at_ms)
        rc = err_set(err, ERR_CONFLICT, "we are registered with vCenter %s already", vc.name);
    return rc;
}

static int add_unknown(struct platform *platform, const struct ovf_install_request *request, const struct ovf_env *env,
                       struct ovf_install_result *out, struct err *err) {
    struct vcenter wish = {.address = env->host, .port = env->port, .has_pin = true, .tunnel_port = request->tunnel_port};
    struct x509_info seen = {0};
    int rc;
    memcpy(wish.pin_sha256, env->thumbprint, sizeof(wish.pin_sha256));
    rc = registration_add(platform, &request->actor, &wish, out->vcenter_id, &seen, err);
    x509_info_done(&seen);
    out->was_added = !rc;
    if (rc || !env->guid || str_eq_nocase(out->vcenter_id, env->guid))
        return rc;
    (void)registration_remove(platform, out->vcenter_id, &request->actor, NULL);
    return err_set(err, ERR_CONFLICT, "at %s:%u answers the vCenter %s, not the one of the OVF environment", env->host, env->port,
                   out->vcenter_id);
}

static int ovf_install_find_or_add(struct platform *platform, const struct ovf_install_request *request,
                                   const struct ovf_env *env, struct ovf_install_result *out, struct link **link,
                                   struct err *err) {
    int rc = 0;
    *link = ovf_install_find_known(platform, env);
    if (*link)
        (void)snprintf(out->vcenter_id, sizeof(out->vcenter_id), "%s", link_id(*link));
    else
        rc = add_unknown(platform, request, env, out, err);
    if (!rc && !*link)
        rc = platform_find(platform, out->vcenter_id, link, err);
    return rc ? rc : check_trust(*link, env, err);
}

/* -- posting it ------------------------------------------------------------------------------------------------------------- */

static int ovf_install_judge(long status, const struct strbuf *reply, const struct ovf_env *env, struct err *err) {
    if (status == 200)
        return 0;
    if (status == 401 || status == 403) {
        (void)err_set(err, ERR_CREDENTIALS,
                      "%s does not accept the token of the OVF environment: it is good once, and not for long", env->host);
        return err_remedy(err, "register with an account instead: kaasctl vcenter register VCENTER --user NAME");
    }
    return err_set(err, ERR_UPSTREAM, "%s refused the extension with status %ld: %.300s", env->host, status,
                   reply->len ? reply->data : "no reason given");
}

static int ovf_install_post(const struct platform_options *options, const struct ovf_env *env, const struct strbuf *body,
                            struct err *err) {
    _cleanup_secret_ char *token = str_format("solution-install-token: %s", env->token);
    const char *const headers[] = {"Content-Type: application/json", "Accept: application/json", token, NULL};
    struct http_client_options client_options = {.networks = options->networks,
                                                 .trust = {.pin_sha256 = env->thumbprint},
                                                 .user_agent = "Harmony-KaaS",
                                                 .connect_timeout_ms = options->connect_timeout_ms};
    struct http_exchange exchange = {.method = "POST",
                                     .url = env->endpoint,
                                     .headers = headers,
                                     .body = body->data,
                                     .body_bytes = body->len,
                                     .timeout_ms = options->call_timeout_ms,
                                     .reply_max_bytes = REPLY_BYTES_MAX};
    struct http_client *client = NULL;
    _cleanup_strbuf_ struct strbuf reply;
    long status = 0;
    int rc = token ? http_client_new(&client_options, &client, err) : err_set(err, ERR_NOMEM, "out of memory");
    strbuf_init(&reply, REPLY_BYTES_MAX);
    if (!rc)
        rc = http_client_run(client, &exchange, &reply, &status, err);
    http_client_free(client);
    return rc ? rc : ovf_install_judge(status, &reply, env, err);
}

static int make_and_post(struct platform *platform, struct link *link, const struct ovf_env *env, struct err *err) {
    const struct platform_options *options = platform_options_of(platform);
    _cleanup_done_(extension_record_done) struct extension_record record = {0};
    struct extension_name name = {0};
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    _cleanup_strbuf_ struct strbuf body;
    int rc = link_get_info(link, &vc, err);
    strbuf_init(&body, BODY_BYTES_MAX);
    name.key = vc.extension_key ? vc.extension_key : options->extension_key;
    if (!rc)
        rc = registration_store_count(options->runtime->store, vc.id, &name.registration_no, err);
    if (!rc)
        rc = extension_record_make(platform_env(platform), &name, &record, err);
    if (!rc)
        rc = record_text(&record.record, vc.api_version, &body, err);
    return rc ? rc : ovf_install_post(options, env, &body, err);
}

int ovf_install(struct platform *platform, const struct ovf_install_request *request, struct ovf_install_result *out,
                struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    struct ovf_install_result result = {0};
    struct admin_lease lease = {0};
    struct platform_begun begun = {""};
    struct audit_record line =
        platform_audit_make(platform_env(platform), &request->actor, &(struct audit_event){.action = "vcenter.solution_install"});
    struct ovf_env env = {0};
    int rc = str_starts(platform_options_of(platform)->runtime->public_url, "https://")
                 ? ovf_env_parse(request->environment, request->environment_bytes, &env, err)
                 : err_set(err, ERR_CONFLICT, "server.public_url is not set, so the vCenter could not be told where we are");
    if (!rc)
        rc = ovf_install_find_or_add(platform, request, &env, &result, &link, err);
    if (!rc)
        rc = admin_lease_take(link, &lease, err);
    line.event.object_id = result.vcenter_id[0] ? result.vcenter_id : NULL;
    if (!rc)
        rc = platform_audit_begin(platform_env(platform), &line, &begun, err);
    if (!rc)
        rc = make_and_post(platform, link, &env, err);
    admin_lease_release(&lease);
    line.event.reason = rc && err ? err->text : NULL;
    platform_audit_end(platform_env(platform), &line, rc, &begun);
    ovf_env_done(&env);
    if (!rc)
        *out = result;
    return rc;
}
