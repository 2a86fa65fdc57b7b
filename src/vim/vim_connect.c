/* First contact: version negotiation and ServiceContent; no login needed. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "str.h"
#include "vim_client.h"

void vim_about_done(struct vim_about *about) {
    if (!about)
        return;
    free(about->instance_uuid);
    free(about->full_name);
    free(about->version);
    free(about->build);
    free(about->api_version);
    free(about->server_api_version);
    memset(about, 0, sizeof(*about));
}

struct hello {
    const char *versions_url;
    struct vim_content content;
    struct vim_about about;
};

/* The reader of the list does not know whose it is: that is added here. */
static int choose_version(struct vim_context *ctx, struct hello *hello, struct err *err) {
    struct err why = {0};
    int ret = vim_version_choose(ctx->reply.data, ctx->reply.len, hello->content.version, &why);
    if (!ret)
        return 0;
    if (ret == ERR_TOO_LARGE) /* deep or long: no list of versions */
        ret = ERR_PROTOCOL;
    (void)err_set(err, ret, "/sdk/vimServiceVersions.xml of %s: %.400s", ctx->route->peer, why.text);
    return why.remedy[0] ? err_remedy(err, "%s", why.remedy) : ret;
}

static int negotiate(struct vim_context *ctx, struct hello *hello, struct err *err) {
    long status = 0;
    int ret;
    ctx->operation = "vimServiceVersions";
    ret = vim_context_get(ctx, hello->versions_url, &status, err);
    if (ret && ret != ERR_PROTOCOL)
        return ret;
    if (status == 503) {
        err_set(err, ERR_UNREACHABLE, "%s answers HTTP 503: vCenter's API service is down or still starting", ctx->route->peer);
        return err_remedy(err, "check on the appliance that the service vmware-vpxd runs; after a start it needs some minutes");
    }
    if (!ret && status == 200)
        ret = choose_version(ctx, hello, err);
    else if (!ret)
        ret = err_set(err, ERR_PROTOCOL, "%s answers HTTP %ld for /sdk/vimServiceVersions.xml", ctx->route->peer, status);
    if (ret == ERR_PROTOCOL)
        err_remedy(err, "check that this is the address and port of a vCenter, and not of a proxy or another web server");
    return ret;
}

/* Keeps the id of a manager, or notes which one is missing or too long. */
static void keep_id(const struct vim25__ManagedObjectReference *ref, char out[VIM_ID_BYTES], const char *what,
                    const char **missing) {
    if (!ref || str_empty(ref->__item) || strlen(ref->__item) >= VIM_ID_BYTES)
        *missing = what;
    else
        (void)snprintf(out, VIM_ID_BYTES, "%s", ref->__item);
}

static int keep_content(struct vim_context *ctx, const struct vim25__ServiceContent *from, struct hello *hello, struct err *err) {
    const char *missing = NULL, *optional = NULL;
    struct vim_content *to = &hello->content;
    keep_id(from->rootFolder, to->root_folder, "rootFolder", &missing);
    keep_id(from->propertyCollector, to->property_collector, "propertyCollector", &missing);
    keep_id(from->viewManager, to->view_manager, "viewManager", &missing);
    keep_id(from->sessionManager, to->session_manager, "sessionManager", &missing);
    keep_id(from->authorizationManager, to->authorization_manager, "authorizationManager", &missing);
    keep_id(from->extensionManager, to->extension_manager, "extensionManager", &missing);
    keep_id(from->eventManager, to->event_manager, "eventManager", &optional);
    (void)optional; /* without it we are just not told of events */
    return missing ? vim_call_lacks(ctx, "RetrieveServiceContent", missing, err) : 0;
}

static int keep_about(struct vim_context *ctx, const struct vim25__AboutInfo *from, struct hello *hello, struct err *err) {
    struct vim_about *to = &hello->about;
    if (!from)
        return vim_call_lacks(ctx, "RetrieveServiceContent", "about", err);
    if (from->apiType && !str_eq(from->apiType, "VirtualCenter")) {
        err_set(err, ERR_UPSTREAM, "%s is no vCenter: it says it is \"%.80s\" (API type %.40s)", ctx->route->peer,
                from->fullName ? from->fullName : "", from->apiType);
        return err_remedy(err, "give the address of the vCenter that manages this host");
    }
    if (str_empty(from->instanceUuid))
        return vim_call_lacks(ctx, "RetrieveServiceContent", "about.instanceUuid", err);
    to->instance_uuid = str_dup(from->instanceUuid);
    to->full_name = str_dup(from->fullName ? from->fullName : "");
    to->version = str_dup(from->version ? from->version : "");
    to->build = str_dup(from->build ? from->build : "");
    to->server_api_version = str_dup(from->apiVersion ? from->apiVersion : "");
    to->api_version = str_dup(hello->content.version);
    if (!to->instance_uuid || !to->full_name || !to->version || !to->build || !to->server_api_version || !to->api_version)
        return err_set(err, ERR_NOMEM, "out of memory");
    str_lower(to->instance_uuid);
    return 0;
}

static int op_hello(struct vim_context *ctx, void *arg, struct err *err) {
    struct hello *hello = arg;
    struct _vim25__RetrieveServiceContent request = {0};
    struct _vim25__RetrieveServiceContentResponse response;
    int ret = negotiate(ctx, hello, err);
    if (ret)
        return ret;
    ctx->content = hello->content;
    request._USCOREthis = vim_in_ref(ctx, "ServiceInstance", "ServiceInstance");
    ret = VIM_CALL(ctx, RetrieveServiceContent, &request, &response, err);
    if (ret)
        return ret;
    if (!response.returnval)
        return vim_call_lacks(ctx, "RetrieveServiceContent", "returnval", err);
    ret = keep_about(ctx, response.returnval->about, hello, err);
    return ret ? ret : keep_content(ctx, response.returnval, hello, err);
}

static int check_identity(const struct vim_client *client, const struct vim_about *about, struct err *err) {
    if (!client->instance_uuid || str_eq_nocase(about->instance_uuid, client->instance_uuid))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "another vCenter (%s) answers at the address of vCenter %s", about->instance_uuid,
                  client->instance_uuid);
    return err_remedy(err, "if the vCenter was replaced, remove it and add it again; if it moved, correct the address");
}

/* connect_lock is held */
static int say_hello(struct vim_client *client, struct vim_about *out, struct err *err) {
    struct hello hello = {.versions_url = client->versions_url};
    struct vim_run run = {.identity = VIM_AS_NOBODY, .is_before_connect = true, .fn = op_hello, .arg = &hello};
    int ret = vim_client_run(client, &run, err);
    if (!ret)
        ret = check_identity(client, &hello.about, err);
    if (ret) {
        vim_about_done(&hello.about);
        return ret;
    }
    (void)pthread_mutex_lock(&client->lock);
    client->content = hello.content;
    client->is_connected = true;
    (void)pthread_mutex_unlock(&client->lock);
    if (out)
        *out = hello.about;
    else
        vim_about_done(&hello.about);
    return 0;
}

int vim_connect(struct vim_client *client, struct vim_about *out, struct err *err) {
    int ret;
    (void)pthread_mutex_lock(&client->connect_lock);
    ret = say_hello(client, out, err);
    (void)pthread_mutex_unlock(&client->connect_lock);
    return ret;
}

static bool is_connected(struct vim_client *client) {
    bool answer;
    (void)pthread_mutex_lock(&client->lock);
    answer = client->is_connected;
    (void)pthread_mutex_unlock(&client->lock);
    return answer;
}

int vim_client_need_content(struct vim_client *client, struct err *err) {
    int ret = 0;
    if (is_connected(client))
        return 0;
    (void)pthread_mutex_lock(&client->connect_lock);
    if (!is_connected(client))
        ret = say_hello(client, NULL, err);
    (void)pthread_mutex_unlock(&client->connect_lock);
    return ret;
}
