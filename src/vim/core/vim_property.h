/* Reading properties: specs, pages, typed values. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "vim_context.h"

/* What a property that is missing in an answer means. */
enum vim_occurrence {
    VIM_OPTIONAL,  /* unset, not readable or of a type we do not know: NULL */
    VIM_MAY_UNSET, /* unset: NULL; not readable: the fault as an error */
    VIM_REQUIRED,  /* any absence is an error */
};

struct vim_property {
    const char *name;
    int type;
    enum vim_occurrence occurrence;
};

/* Finds a property of `object` and checks that its value has the gSOAP type property->type (SOAP_TYPE_...). *out lives until the next page or
 * reset. ERR_PROTOCOL for another type; the error of vim_fault_report for a fault in the missing set. A property that is missing because of
 * NotAuthenticated is always an error and sets ctx->fault. */
int vim_property_get(struct vim_context *ctx, const struct vim25__ObjectContent *object, const struct vim_property *property,
                     const void **out, struct err *err);

/* True if no property that was asked of the object may be read, for lack of a privilege. A lost session is no such lack. */
bool vim_object_is_denied(const struct vim25__ObjectContent *object);

/* Called for each object of each page; a negative return ends the reading with it. */
typedef int vim_object_fn(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err);

/* RetrievePropertiesEx with all its pages; unread ones are cancelled. `spec` lives in the context's memory and is gone afterwards.
 * ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX objects. */
int vim_retrieve(struct vim_context *ctx, struct vim25__PropertyFilterSpec *spec, vim_object_fn *fn, void *arg, struct err *err);

/* Reads one property of one object. ERR_PROTOCOL if the answer holds no object. */
struct vim_one {
    const char *type, *id, *path;
};
int vim_retrieve_one(struct vim_context *ctx, const struct vim_one *one, vim_object_fn *fn, void *arg, struct err *err);

/* Makes a filter spec of `prop_count` zeroed PropertySpecs and one ObjectSpec for the object. NULL without memory. */
struct vim25__PropertyFilterSpec *vim_in_filter(struct vim_context *ctx, const char *type, const char *id, size_t prop_count);

/* Fills a PropertySpec; `paths` ends with NULL. */
void vim_in_paths(struct vim_context *ctx, struct vim25__PropertySpec *out, const char *type, const char *const *paths);

/* -- container views, and the ways through the inventory that begin at them ---------------------------------------- */

/* Ids of views, filters and collectors hold the session's key. */
#define VIM_VIEW_BYTES ((size_t)VIM_ID_BYTES * 4)

/* Makes a view of all objects of these types (ended by NULL) below the root folder; it ends with the session at the latest. */
int vim_create_view(struct vim_context *ctx, const char *const *types, char out[VIM_VIEW_BYTES], struct err *err);

/* Destroys a view. Tells no failure, and leaves ctx->fault alone. */
void vim_destroy_view(struct vim_context *ctx, const char *view);

/* Makes an ObjectSpec lead from the view, which is left out, to the objects in it; and from those by `next` on, if given. */
void vim_in_view(struct vim_context *ctx, struct vim25__ObjectSpec *out, struct vim25__TraversalSpec *next);

/* A TraversalSpec that leads from an object up through `parent` to the root. NULL without memory. */
struct vim25__TraversalSpec *vim_in_way_up(struct vim_context *ctx);

/* Makes an EventHistoryCollector for the events that a watch tells of (vim_watch.c): about permissions, roles, ended sessions, and hosts that enter maintenance mode. */
int vim_collect_events(struct vim_context *ctx, char out[VIM_VIEW_BYTES], struct err *err);

/* Copies the id that an operation gave. ERR_PROTOCOL, naming `what`, if there is none or it is too long. */
int vim_keep_id(struct vim_context *ctx, const struct vim25__ManagedObjectReference *ref, const char *what,
                char out[VIM_VIEW_BYTES], struct err *err);

/* Makes a name one line, and unescapes vCenter's %2f, %5c and %25, in place. */
void vim_unescape_name(char *name);
