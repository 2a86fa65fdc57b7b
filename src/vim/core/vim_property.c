/* Typed values of properties, and RetrievePropertiesEx with its pages. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * vCenter gives 100 objects at a time, whatever was asked. A token may be any text, "0" included: its presence counts. Pages that
 * nobody reads stay in vpxd's memory, so they are cancelled. */
#include "vim_property.h"

#include <string.h>

#include "limits.h"
#include "names.h"
#include "str.h"
#include "vim_text.h"

#define PAGES_COUNT_MAX 10000U

static const struct vim25__DynamicProperty *vim_property_find_value(const struct vim25__ObjectContent *object, const char *name) {
    for (int i = 0; i < object->__sizepropSet; i++)
        if (str_eq(object->propSet[i].name, name))
            return &object->propSet[i];
    return NULL;
}

/* NULL: the server says nothing of it. */
static const struct vim25__MissingProperty *find_missing(const struct vim25__ObjectContent *object, const char *name) {
    for (int i = 0; i < object->__sizemissingSet; i++)
        if (str_eq(object->missingSet[i].path, name))
            return &object->missingSet[i];
    return NULL;
}

static const char *id_of(const struct vim25__ObjectContent *object) {
    return object->obj && object->obj->__item ? object->obj->__item : "an object";
}

/* The fault for which the server left a property out; kind NONE if it was simply unset (NULL). */
static void read_missing(const struct vim25__MissingProperty *missing, struct vim_fault *out) {
    struct vim_fault_source source = {0};
    out->kind = VIM_FAULT_NONE;
    if (!missing)
        return;
    if (missing->fault) {
        source.type = missing->fault->__type;
        source.value = missing->fault->fault;
        source.text = missing->fault->localizedMessage;
    }
    vim_fault_read(&source, out);
}

static int report_absent(struct vim_context *ctx, const struct vim25__ObjectContent *object, const struct vim_property *property,
                         struct err *err) {
    struct vim_fault fault;
    read_missing(find_missing(object, property->name), &fault);
    if (fault.kind == VIM_FAULT_NOT_AUTHENTICATED || (fault.kind != VIM_FAULT_NONE && property->occurrence != VIM_OPTIONAL)) {
        ctx->fault = fault;
        return vim_fault_report(&fault, "reading properties", err);
    }
    if (property->occurrence != VIM_REQUIRED)
        return 0;
    return err_set(err, ERR_PROTOCOL, "%s sent no property %s of %s", ctx->route->peer, property->name, id_of(object));
}

int vim_property_get(struct vim_context *ctx, const struct vim25__ObjectContent *object, const struct vim_property *property,
                     const void **out, struct err *err) {
    const struct vim25__DynamicProperty *found = vim_property_find_value(object, property->name);
    int ret;
    if (found && found->val && found->__type == property->type) {
        *out = found->val;
        return 0;
    }
    if (found && property->occurrence != VIM_OPTIONAL)
        return err_set(err, ERR_PROTOCOL, "%s sent property %s of %s with a type that it should not have", ctx->route->peer,
                       property->name, id_of(object));
    ret = report_absent(ctx, object, property, err);
    if (!ret)
        *out = NULL;
    return ret;
}

bool vim_object_is_denied(const struct vim25__ObjectContent *object) {
    bool is_denied = !object->__sizepropSet && object->__sizemissingSet > 0;
    for (int i = 0; is_denied && i < object->__sizemissingSet; i++) {
        struct vim_fault fault;
        read_missing(&object->missingSet[i], &fault);
        is_denied = fault.kind == VIM_FAULT_NO_PERMISSION;
    }
    return is_denied;
}

/* -- pages --------------------------------------------------------------------------------------------------------- */

struct vim25__PropertyFilterSpec *vim_in_filter(struct vim_context *ctx, const char *type, const char *id, size_t prop_count) {
    struct vim25__PropertyFilterSpec *spec = vim_in_alloc(ctx, 1, sizeof(*spec));
    if (!spec)
        return NULL;
    spec->propSet = vim_in_alloc(ctx, prop_count, sizeof(*spec->propSet));
    spec->objectSet = vim_in_alloc(ctx, 1, sizeof(*spec->objectSet));
    if (!spec->propSet || !spec->objectSet)
        return NULL;
    spec->__sizepropSet = (int)prop_count;
    spec->__sizeobjectSet = 1;
    spec->objectSet[0].obj = vim_in_ref(ctx, type, id);
    return spec;
}

void vim_in_paths(struct vim_context *ctx, struct vim25__PropertySpec *out, const char *type, const char *const *paths) {
    size_t n = 0;
    while (paths[n])
        n++;
    out->type = vim_in_text(ctx, type, "type of an object");
    out->pathSet = vim_in_texts(ctx, paths, n, "a property path");
    out->__sizepathSet = out->pathSet ? (int)n : 0;
}

struct reader {
    vim_object_fn *fn;
    void *arg;
    unsigned pages;
    int objects;
    char *token; /* of the next page; NULL: none */
};

/* Takes one page. The token is copied first, so that unread pages can be cancelled even when a later step fails. */
static int take_page(struct vim_context *ctx, const struct vim25__RetrieveResult *page, struct reader *reader, struct err *err) {
    int ret = 0;
    free(reader->token);
    reader->token = NULL;
    if (!page)
        return 0;
    if (page->token && !(reader->token = str_dup(page->token)))
        return err_set(err, ERR_NOMEM, "out of memory");
    reader->pages++;
    reader->objects += page->__sizeobjects;
    if (reader->objects > KAAS_VIM_OBJECTS_COUNT_MAX || reader->pages > PAGES_COUNT_MAX)
        return err_set(err, ERR_TOO_LARGE, "%s has more than %d objects of this kind", ctx->route->peer,
                       KAAS_VIM_OBJECTS_COUNT_MAX);
    for (int i = 0; !ret && i < page->__sizeobjects; i++)
        ret = reader->fn(ctx, &page->objects[i], reader->arg, err);
    return ret;
}

static int read_first_page(struct vim_context *ctx, struct vim25__PropertyFilterSpec *spec, struct reader *reader,
                           struct err *err) {
    struct vim25__RetrieveOptions options = {0};
    int ret;
    VIM_REQUEST(ctx, RetrievePropertiesEx, "PropertyCollector", ctx->content.property_collector, .__sizespecSet = 1,
                .specSet = spec, .options = &options);
    ret = VIM_CALL(ctx, RetrievePropertiesEx, &request, &response, err);
    return ret ? ret : take_page(ctx, response.returnval, reader, err);
}

static int read_next_page(struct vim_context *ctx, struct reader *reader, struct err *err) {
    int ret;
    vim_context_reset(ctx);
    VIM_REQUEST(ctx, ContinueRetrievePropertiesEx, "PropertyCollector", ctx->content.property_collector);
    request.token = vim_in_lines(ctx, reader->token, "the page token");
    ret = VIM_CALL(ctx, ContinueRetrievePropertiesEx, &request, &response, err);
    return ret ? ret : take_page(ctx, response.returnval, reader, err);
}

/* Best effort: simulators do not know this call, and a server that is away needs none. */
static void cancel_rest(struct vim_context *ctx, const char *token) {
    struct vim_fault fault = ctx->fault;
    if (ctx->err.code) /* no connection */
        return;
    VIM_REQUEST(ctx, CancelRetrievePropertiesEx, "PropertyCollector", ctx->content.property_collector);
    request.token = vim_in_lines(ctx, token, "the page token");
    (void)VIM_CALL(ctx, CancelRetrievePropertiesEx, &request, &response, NULL);
    ctx->fault = fault;
}

int vim_retrieve(struct vim_context *ctx, struct vim25__PropertyFilterSpec *spec, vim_object_fn *fn, void *arg, struct err *err) {
    struct reader reader = {.fn = fn, .arg = arg};
    int ret;
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    ret = read_first_page(ctx, spec, &reader, err);
    while (!ret && reader.token)
        ret = read_next_page(ctx, &reader, err);
    if (reader.token)
        cancel_rest(ctx, reader.token);
    free(reader.token);
    return ret;
}

struct one_arg {
    vim_object_fn *fn;
    void *arg;
    unsigned count;
};

static int pass_one(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    struct one_arg *one = arg;
    one->count++;
    return one->fn(ctx, object, one->arg, err);
}

int vim_retrieve_one(struct vim_context *ctx, const struct vim_one *one, vim_object_fn *fn, void *arg, struct err *err) {
    const char *paths[] = {one->path, NULL};
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, one->type, one->id, 1);
    struct one_arg pass = {.fn = fn, .arg = arg};
    int ret;
    if (spec)
        vim_in_paths(ctx, &spec->propSet[0], one->type, paths);
    ret = vim_retrieve(ctx, spec, pass_one, &pass, err);
    if (!ret && !pass.count)
        ret = err_set(err, ERR_PROTOCOL, "%s sent nothing about %s %s", ctx->route->peer, one->type, one->id);
    return ret;
}

/* -- container views, and the ways through the inventory that begin at them ---------------------------------------- */

int vim_keep_id(struct vim_context *ctx, const struct vim25__ManagedObjectReference *ref, const char *what,
                char out[VIM_VIEW_BYTES], struct err *err) {
    if (!ref || str_empty(ref->__item) || strlen(ref->__item) >= VIM_VIEW_BYTES)
        return vim_call_lacks(ctx, ctx->operation, what, err);
    memcpy(out, ref->__item, strlen(ref->__item) + 1);
    return 0;
}

int vim_create_view(struct vim_context *ctx, const char *const *types, char out[VIM_VIEW_BYTES], struct err *err) {
    size_t n = 0;
    int ret;
    while (types[n])
        n++;
    VIM_REQUEST(ctx, CreateContainerView, "ViewManager", ctx->content.view_manager, .recursive = xsd__boolean__true_);
    request.container = vim_in_ref(ctx, "Folder", ctx->content.root_folder);
    request.type = vim_in_texts(ctx, types, n, "a type");
    request.__sizetype = (int)n;
    ret = VIM_CALL(ctx, CreateContainerView, &request, &response, err);
    return ret ? ret : vim_keep_id(ctx, response.returnval, "the view", out, err);
}

void vim_destroy_view(struct vim_context *ctx, const char *view) {
    struct vim_fault fault = ctx->fault;
    if (ctx->err.code) /* no connection */
        return;
    VIM_REQUEST(ctx, DestroyView, "ContainerView", view);
    (void)VIM_CALL(ctx, DestroyView, &request, &response, NULL);
    ctx->fault = fault;
}

void vim_in_view(struct vim_context *ctx, struct vim25__ObjectSpec *out, struct vim25__TraversalSpec *next) {
    struct vim25__TraversalSpec *into = vim_in_alloc(ctx, 1, sizeof(*into));
    enum xsd__boolean *yes = vim_in_alloc(ctx, 1, sizeof(*yes));
    if (!into || !yes) /* ctx->err tells */
        return;
    *yes = xsd__boolean__true_;
    into->name = vim_in_text(ctx, "view", "a name");
    into->type = vim_in_text(ctx, "ContainerView", "a type");
    into->path = vim_in_text(ctx, "view", "a path");
    if (next) {
        into->__type = SOAP_TYPE_vim25__TraversalSpec;
        into->selectSet = next;
    }
    out->skip = yes;
    out->__type = SOAP_TYPE_vim25__TraversalSpec;
    out->selectSet = into;
}

/* It selects itself by its name. */
struct vim25__TraversalSpec *vim_in_way_up(struct vim_context *ctx) {
    struct vim25__TraversalSpec *up = vim_in_alloc(ctx, 1, sizeof(*up));
    struct vim25__SelectionSpec *again = vim_in_alloc(ctx, 1, sizeof(*again));
    if (!up || !again)
        return NULL;
    again->name = vim_in_text(ctx, "up", "a name");
    up->name = again->name;
    up->type = vim_in_text(ctx, "ManagedEntity", "a type");
    up->path = vim_in_text(ctx, "parent", "a path");
    up->__type = SOAP_TYPE_vim25__SelectionSpec;
    up->selectSet = again;
    return up;
}

void vim_unescape_name(char *name) {
    vim_text_one_line(name);
    vsphere_name_unescape(name);
}
