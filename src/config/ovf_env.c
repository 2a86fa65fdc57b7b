/* The OVF environment that a vCenter gives to an appliance it deploys. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Property names: vSphere Client SDK, "Solution installation". Those of the list of vCenters (since 8.0 Update 2) are documented by what they tell
 * only, so they are found by the end of their names. */
#include "ovf_env.h"

#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "xml.h"

#define VALUE_BYTES_MAX 4096U
#define HTTPS "https://"
#define OF_A_SOLUTION "is this the environment of an appliance that the vSphere Client deployed as a solution?"

#define KEY "@*[local-name()='key']"
#define VALUE_OF(test) "//*[local-name()='PropertySection']/*[local-name()='Property'][" test "]/@*[local-name()='value']"

void ovf_env_done(struct ovf_env *env) {
    if (!env)
        return;
    secret_free(env->token);
    free(env->endpoint);
    free(env->host);
    free(env->guid);
    free(env->hostname);
    memset(env, 0, sizeof(*env));
}

/* The first value counts; more of them are released at once, as one may be a token. */
static void ovf_env_take_value(void *arg, const struct xml_node *node) {
    char **value = arg, *text;
    if (*value)
        return;
    text = xml_node_text(node, "");
    if (text && *text && strlen(text) <= VALUE_BYTES_MAX && !str_has_control(text))
        *value = text;
    else
        secret_free(text);
}

static int ovf_env_read_value(struct xml_doc *doc, const char *xpath, char **out, struct err *err) {
    int rc = xml_each(doc, xpath, ovf_env_take_value, out, err);
    return rc < 0 ? rc : 0;
}

static int ovf_env_require(const char *value, const char *key, const char *remedy, struct err *err) {
    if (value)
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "the OVF environment has no usable property \"%s\"", key);
    return err_remedy(err, "%s", remedy);
}

static int read_thumbprint(struct xml_doc *doc, struct ovf_env *env, struct err *err) {
    _cleanup_free_ char *text = NULL;
    int rc = ovf_env_read_value(doc, VALUE_OF(KEY "='solutionInstall.postDeployData.thumbprint'"), &text, err);
    if (!rc)
        rc = ovf_env_require(text, "solutionInstall.postDeployData.thumbprint", OF_A_SOLUTION, err);
    if (rc || str_to_sha256(text, env->thumbprint))
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "the thumbprint in the OVF environment is not a SHA-256");
    return err_remedy(err,
                      "SHA-1 is not accepted: register with an account instead: kaasctl vcenter register VCENTER --user NAME");
}

static int refuse_endpoint(struct err *err) {
    return err_set(err, ERR_UNPROCESSABLE,
                   "the property \"solutionInstall.postDeployData.endpoint\" of the OVF environment is not an https address");
}

/* "https://host[:port]/path", also with an IPv6 address in brackets. */
static int split_endpoint(struct ovf_env *env, struct err *err) {
    const char *at = env->endpoint + strlen(HTTPS), *end;
    int64_t port = 443;
    size_t n;
    if (!str_starts(env->endpoint, HTTPS))
        return refuse_endpoint(err);
    n = strcspn(at, "/?#");
    end = *at == '[' ? memchr(at, ']', n) : memchr(at, ':', n);
    if (memchr(at, '@', n) || !n || (*at == '[' && !end))
        return refuse_endpoint(err);
    env->host = *at == '[' ? str_format("%.*s", (int)(end - at - 1), at + 1)
                           : str_format("%.*s", (int)(end ? (size_t)(end - at) : n), at);
    if (*at == '[')
        end = end[1] == ':' ? end + 1 : NULL;
    if (end) {
        _cleanup_free_ char *text = str_format("%.*s", (int)(at + n - end - 1), end + 1);
        if (!text || !str_to_i64(text, 1, 65535, &port))
            return refuse_endpoint(err);
    }
    env->port = (unsigned)port;
    return env->host && *env->host ? 0 : refuse_endpoint(err);
}

static int ovf_env_read_all(struct xml_doc *doc, struct ovf_env *env, struct err *err) {
    int rc = ovf_env_read_value(doc, VALUE_OF(KEY "='solutionInstall.token'"), &env->token, err);
    if (!rc)
        rc = ovf_env_require(env->token, "solutionInstall.token", OF_A_SOLUTION, err);
    if (!rc)
        rc = ovf_env_read_value(doc, VALUE_OF(KEY "='solutionInstall.postDeployData.endpoint'"), &env->endpoint, err);
    if (!rc)
        rc = ovf_env_require(env->endpoint, "solutionInstall.postDeployData.endpoint", OF_A_SOLUTION, err);
    if (!rc)
        rc = split_endpoint(env, err);
    if (!rc)
        rc = read_thumbprint(doc, env, err);
    if (!rc)
        rc = ovf_env_read_value(doc, VALUE_OF("starts-with(" KEY ",'solutionInstall.') and contains(" KEY ",'.guid')"),
                                &env->guid, err);
    return rc ? rc
              : ovf_env_read_value(doc, VALUE_OF("starts-with(" KEY ",'solutionInstall.') and contains(" KEY ",'.hostname')"),
                                   &env->hostname, err);
}

static int ovf_env_open(const char *text, size_t n, struct xml_doc **out, struct err *err) {
    struct err why = {0};
    int rc;
    if (n > OVF_ENV_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "an OVF environment has at most %u bytes", OVF_ENV_BYTES_MAX);
    rc = xml_parse(text, n, out, &why);
    if (rc == ERR_PROTOCOL || rc == ERR_TOO_LARGE)
        return err_set(err, ERR_UNPROCESSABLE, "this is no OVF environment: %.200s", why.text);
    return err_move(err, rc, &why);
}

int ovf_env_parse(const char *text, size_t n, struct ovf_env *out, struct err *err) {
    struct xml_doc *doc = NULL;
    struct ovf_env env = {0};
    int rc = ovf_env_open(text, n, &doc, err);
    if (!rc)
        rc = ovf_env_read_all(doc, &env, err);
    xml_free(doc);
    if (rc) {
        ovf_env_done(&env);
        return rc;
    }
    *out = env;
    return 0;
}

void ovf_appliance_done(struct ovf_appliance *appliance) {
    if (!appliance)
        return;
    free(appliance->public_url);
    secret_free(appliance->admin_password);
    memset(appliance, 0, sizeof(*appliance));
}

int ovf_appliance_parse(const char *text, size_t n, struct ovf_appliance *out, struct err *err) {
    struct xml_doc *doc = NULL;
    struct ovf_appliance appliance = {0};
    int rc = ovf_env_open(text, n, &doc, err);
    if (!rc)
        rc = ovf_env_read_value(doc, VALUE_OF(KEY "='kaas.public_url'"), &appliance.public_url, err);
    if (!rc)
        rc = ovf_env_require(appliance.public_url, "kaas.public_url",
                             "set it where the virtual machine was deployed, and start it again", err);
    if (!rc)
        rc = ovf_env_read_value(doc, VALUE_OF(KEY "='kaas.admin_password'"), &appliance.admin_password, err);
    xml_free(doc);
    if (rc) {
        ovf_appliance_done(&appliance);
        return rc;
    }
    *out = appliance;
    return 0;
}
