/* Container views, and the ways through the inventory that begin at them. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_view.h"

#include <string.h>

#include "str.h"

int vim_keep_id(struct vim_context *ctx, const struct vim25__ManagedObjectReference *ref, const char *what,
                char out[VIM_VIEW_BYTES], struct err *err) {
    if (!ref || str_empty(ref->__item) || strlen(ref->__item) >= VIM_VIEW_BYTES)
        return vim_call_lacks(ctx, ctx->operation, what, err);
    memcpy(out, ref->__item, strlen(ref->__item) + 1);
    return 0;
}

int vim_create_view(struct vim_context *ctx, const char *const *types, char out[VIM_VIEW_BYTES], struct err *err) {
    struct _vim25__CreateContainerView request = {.recursive = xsd__boolean__true_};
    struct _vim25__CreateContainerViewResponse response;
    size_t n = 0;
    int ret;
    while (types[n])
        n++;
    request._USCOREthis = vim_in_ref(ctx, "ViewManager", ctx->content.view_manager);
    request.container = vim_in_ref(ctx, "Folder", ctx->content.root_folder);
    request.type = vim_in_texts(ctx, types, n, "a type");
    request.__sizetype = (int)n;
    ret = VIM_CALL(ctx, CreateContainerView, &request, &response, err);
    return ret ? ret : vim_keep_id(ctx, response.returnval, "the view", out, err);
}

void vim_destroy_view(struct vim_context *ctx, const char *view) {
    struct _vim25__DestroyView request = {0};
    struct _vim25__DestroyViewResponse response;
    struct vim_fault fault = ctx->fault;
    if (ctx->err.code) /* no connection */
        return;
    request._USCOREthis = vim_in_ref(ctx, "ContainerView", view);
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

/* vCenter writes '/', '\' and '%' in names as %2f, %5c and %25 (API reference, ManagedEntity.name). */
void vim_unescape_name(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++) {
        char plain = 0;
        if (*from == '%')
            plain = !strncasecmp(from, "%2f", 3)   ? '/'
                    : !strncasecmp(from, "%5c", 3) ? '\\'
                    : !strncasecmp(from, "%25", 3) ? '%'
                                                   : 0;
        *to++ = plain ? plain : *from;
        from += plain ? 2 : 0;
    }
    *to = '\0';
}
