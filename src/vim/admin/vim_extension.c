/* Calls of ExtensionManager. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_extension.h"

#include <string.h>

#include "str.h"
#include "vim.h"
#include "vim_client.h"
#include "vim_extension_private.h"
#include "vim_property.h"
#include "x509.h"

/* ---- reading ---- */

struct find {
    const char *key;
    struct vim_extension *found;
};

static int op_find(struct vim_context *ctx, void *arg, struct err *err) {
    struct find *find = arg;
    int ret;
    VIM_REQUEST(ctx, FindExtension, "ExtensionManager", ctx->content.extension_manager);
    request.extensionKey = vim_in_text(ctx, find->key, "the extension key");
    ret = VIM_CALL(ctx, FindExtension, &request, &response, err);
    if (ret || !response.returnval)
        return ret;
    return vim_extension_of_wire(response.returnval, &find->found, err);
}

int vim_find_extension(struct vim_client *client, const char *key, struct vim_extension **out, struct err *err) {
    struct find find = {.key = key};
    int ret = vim_client_run_as_us(client, op_find, &find, err);
    if (!ret)
        *out = find.found;
    return ret;
}

void vim_key_list_done(struct vim_key_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    memset(list, 0, sizeof(*list));
}

static int vim_extension_take_keys(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg,
                                   struct err *err) {
    static const struct vim_property property = {"extensionList", SOAP_TYPE_vim25__ArrayOfExtension, VIM_MAY_UNSET};
    struct vim_key_list *list = arg;
    const struct vim25__ArrayOfExtension *array;
    const void *value = NULL;
    int ret = vim_property_get(ctx, object, &property, &value, err);
    vim_key_list_done(list);
    array = value;
    if (ret || !array || array->__sizeExtension <= 0)
        return ret;
    list->items = calloc((size_t)array->__sizeExtension, sizeof(*list->items));
    if (!list->items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (int i = 0; i < array->__sizeExtension; i++) {
        if (str_empty(array->Extension[i].key))
            continue;
        list->items[list->count] = str_dup(array->Extension[i].key);
        if (!list->items[list->count++])
            return err_set(err, ERR_NOMEM, "out of memory");
    }
    return 0;
}

static int op_list_keys(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_one one = {"ExtensionManager", ctx->content.extension_manager, "extensionList"};
    return vim_retrieve_one(ctx, &one, vim_extension_take_keys, arg, err);
}

int vim_list_extension_keys(struct vim_client *client, struct vim_key_list *out, struct err *err) {
    struct vim_key_list list = {0};
    int ret = vim_client_run_as_us(client, op_list_keys, &list, err);
    if (ret)
        vim_key_list_done(&list);
    else
        *out = list;
    return ret;
}

/* ---- writing ---- */

struct write {
    const struct vim_extension *extension;
    const char *key, *pem, *account;
};

static int op_register(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    VIM_REQUEST(ctx, RegisterExtension, "ExtensionManager", ctx->content.extension_manager);
    request.extension = vim_in_extension(ctx, write->extension);
    return VIM_CALL(ctx, RegisterExtension, &request, &response, err);
}

static int vim_extension_op_update(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    VIM_REQUEST(ctx, UpdateExtension, "ExtensionManager", ctx->content.extension_manager);
    request.extension = vim_in_extension(ctx, write->extension);
    return VIM_CALL(ctx, UpdateExtension, &request, &response, err);
}

static int op_unregister(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    VIM_REQUEST(ctx, UnregisterExtension, "ExtensionManager", ctx->content.extension_manager);
    request.extensionKey = vim_in_text(ctx, write->key, "the extension key");
    return VIM_CALL(ctx, UnregisterExtension, &request, &response, err);
}

static int op_set_certificate(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    VIM_REQUEST(ctx, SetExtensionCertificate, "ExtensionManager", ctx->content.extension_manager);
    request.extensionKey = vim_in_text(ctx, write->key, "the extension key");
    request.certificatePem = vim_in_lines(ctx, write->pem, "the certificate");
    return VIM_CALL(ctx, SetExtensionCertificate, &request, &response, err);
}

/* Says which extension is not there. */
static int vim_extension_run_on_key(struct vim_client *client, vim_op_fn *fn, struct write *write, struct err *err) {
    struct err reason = {0};
    int ret = vim_client_run_as_us(client, fn, write, &reason);
    if (ret == ERR_NOT_FOUND)
        return err_set(err, ret, "vCenter %s has no extension %s", client->peer, write->key);
    return err_move(err, ret, &reason);
}

/* vCenter answers InvalidArgument for a key that is taken, and does not say so: asked first, so that the error is exact. */
int vim_register_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err) {
    struct write write = {.extension = extension};
    struct vim_extension *existing = NULL;
    int ret = vim_find_extension(client, extension->key, &existing, err);
    if (ret)
        return ret;
    if (existing) {
        vim_extension_free(existing);
        return err_set(err, ERR_EXISTS, "vCenter %s has an extension %s already", client->peer, extension->key);
    }
    return vim_client_run_as_us(client, op_register, &write, err);
}

int vim_update_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err) {
    struct write write = {.extension = extension, .key = extension->key};
    return vim_extension_run_on_key(client, vim_extension_op_update, &write, err);
}

int vim_unregister_extension(struct vim_client *client, const char *key, struct err *err) {
    struct write write = {.key = key};
    return vim_extension_run_on_key(client, op_unregister, &write, err);
}

/* vCenter is picky about the form of the text: 64 columns, LF, one certificate; so it is written anew from what was read. */
int vim_set_extension_certificate(struct vim_client *client, const char *key, const char *cert_pem, struct err *err) {
    struct write write = {.key = key};
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    int ret = x509_parse_pem(cert_pem, &info, err);
    if (ret)
        return ret;
    write.pem = info.pem;
    return vim_extension_run_on_key(client, op_set_certificate, &write, err);
}

static int op_set_account(struct vim_context *ctx, void *arg, struct err *err) {
    struct write *write = arg;
    if (!vim_version_is_at_least(ctx->content.version, "8.0.2.0")) {
        (void)err_set(err, ERR_UPSTREAM, "%s speaks API %s, which has no service accounts of extensions", ctx->route->peer,
                      ctx->content.version);
        return err_remedy(err, "use vCenter 8.0 U2 or newer, or another way to log in");
    }
    VIM_REQUEST(ctx, SetServiceAccount, "ExtensionManager", ctx->content.extension_manager);
    request.extensionKey = vim_in_text(ctx, write->key, "the extension key");
    request.serviceAccount = vim_in_text(ctx, write->account, "the service account");
    return VIM_CALL(ctx, SetServiceAccount, &request, &response, err);
}

int vim_set_service_account(struct vim_client *client, const char *key, const char *account, struct err *err) {
    struct write write = {.key = key, .account = account};
    return vim_extension_run_on_key(client, op_set_account, &write, err);
}
