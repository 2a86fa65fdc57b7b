/* Typed values of properties. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_property.h"

#include "str.h"

static const struct vim25__DynamicProperty *vim_property_find_value(const struct vim25__ObjectContent *object, const char *name) {
    for (int i = 0; i < object->__sizepropSet; i++)
        if (str_eq(object->propSet[i].name, name))
            return &object->propSet[i];
    return NULL;
}

static const struct vim25__MissingProperty *find_missing(const struct vim25__ObjectContent *object, const char *name) {
    for (int i = 0; i < object->__sizemissingSet; i++)
        if (str_eq(object->missingSet[i].path, name))
            return &object->missingSet[i];
    return NULL;
}

static const char *id_of(const struct vim25__ObjectContent *object) {
    return object->obj && object->obj->__item ? object->obj->__item : "an object";
}

/* The fault for which the server left the property out; kind NONE if it was simply unset. */
static void read_missing(const struct vim25__ObjectContent *object, const char *name, struct vim_fault *out) {
    const struct vim25__MissingProperty *missing = find_missing(object, name);
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
    read_missing(object, property->name, &fault);
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
