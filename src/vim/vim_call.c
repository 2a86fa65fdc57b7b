/* Around each SOAP call: putting texts in, turning the outcome into an error. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_call.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "secret.h"
#include "str.h"

struct soap *vim_call_begin(struct vim_context *ctx, const char *operation) {
    const char *id = log_request_id();
    ctx->operation = operation;
    memset(&ctx->fault, 0, sizeof(ctx->fault));
    (void)snprintf(ctx->action, sizeof(ctx->action), "urn:vim25/%s", ctx->content.version);
    (void)snprintf(ctx->operation_id, sizeof(ctx->operation_id), "%s", id);
    ctx->header.vim25__operationID = ctx->operation_id;
    ctx->soap->header = str_empty(id) || str_has_control(id) ? NULL : &ctx->header;
    return ctx->soap;
}

static int report_fault(struct vim_context *ctx, struct err *err) {
    const struct SOAP_ENV__Fault *fault = ctx->soap->fault;
    struct vim_fault_source source = {0};
    if (fault) {
        source.code = fault->faultcode;
        source.text = fault->faultstring;
    }
    if (fault && fault->detail) {
        source.type = fault->detail->__type;
        source.value = fault->detail->__fault;
        source.any = fault->detail->__any;
    }
    vim_fault_read(&source, &ctx->fault);
    return vim_fault_report(&ctx->fault, ctx->operation, err);
}

static int report_codec(struct vim_context *ctx, int rc, struct err *err) {
    if (rc == SOAP_EOM)
        return err_set(err, ERR_NOMEM, "out of memory while reading the answer of vCenter");
    if (rc == SOAP_LEVEL)
        err_set(err, ERR_PROTOCOL, "the answer of %s to %s is nested too deep", ctx->route->peer, ctx->operation);
    else
        err_set(err, ERR_PROTOCOL, "the answer of %s to %s could not be understood (codec error %d after %zu bytes)",
                ctx->route->peer, ctx->operation, rc, ctx->reply_at);
    return ERR_PROTOCOL;
}

static int outcome_of(struct vim_context *ctx, int rc, struct err *err) {
    if (rc == SOAP_OK)
        return 0;
    if (ctx->err.code) {
        if (err && !err->code)
            *err = ctx->err;
        return ctx->err.code;
    }
    return rc == SOAP_FAULT ? report_fault(ctx, err) : report_codec(ctx, rc, err);
}

int vim_call_end(struct vim_context *ctx, int rc, struct err *err) {
    int ret = outcome_of(ctx, rc, err);
    log_event(LOG_LEVEL_DEBUG, "vim_call", "peer", ctx->route->peer, "operation", ctx->operation, "outcome", err_slug(ret),
              "fault", ctx->fault.name[0] ? ctx->fault.name : NULL, NULL);
    return ret;
}

int vim_call_lacks(struct vim_context *ctx, const char *operation, const char *what, struct err *err) {
    return err_set(err, ERR_PROTOCOL, "the answer of %s to %s lacks %s", ctx->route->peer, operation, what);
}

/* XML 1.0 section 2.2: no C0 but tab, LF, CR; no U+FFFE, U+FFFF. */
static bool fits_xml(const char *text, bool allow_lines) {
    const unsigned char *s = (const unsigned char *)text;
    if (str_utf8_chars(text, strlen(text)) < 0 || (!allow_lines && str_has_control(text)))
        return false;
    for (; *s; s++) {
        if (*s < 0x20 && *s != '\t' && *s != '\n' && *s != '\r')
            return false;
        if (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe)
            return false;
    }
    return true;
}

static bool is_fit(struct vim_context *ctx, const char *text, const char *what, bool allow_lines) {
    if (!text)
        err_set(&ctx->err, ERR_UNPROCESSABLE, "%s is missing", what);
    else if (!fits_xml(text, allow_lines))
        err_set(&ctx->err, ERR_UNPROCESSABLE, "%s holds control characters or is not valid UTF-8", what);
    return !ctx->err.code;
}

static char *copy_in(struct vim_context *ctx, const char *text) {
    char *copy = soap_strdup(ctx->soap, text);
    if (!copy)
        err_set(&ctx->err, ERR_NOMEM, "out of memory");
    return copy;
}

char *vim_in_text(struct vim_context *ctx, const char *text, const char *what) {
    return is_fit(ctx, text, what, false) ? copy_in(ctx, text) : NULL;
}

char *vim_in_lines(struct vim_context *ctx, const char *text, const char *what) {
    return is_fit(ctx, text, what, true) ? copy_in(ctx, text) : NULL;
}

char *vim_in_optional(struct vim_context *ctx, const char *text, const char *what) {
    return text ? vim_in_lines(ctx, text, what) : NULL;
}

char *vim_in_secret(struct vim_context *ctx, const char *text, const char *what) {
    return is_fit(ctx, text, what, false) ? (char *)(uintptr_t)text : NULL;
}

void *vim_in_alloc(struct vim_context *ctx, size_t count, size_t size) {
    void *room;
    size_t bytes;
    if (!count || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    room = soap_malloc(ctx->soap, bytes);
    if (room)
        memset(room, 0, bytes);
    else
        err_set(&ctx->err, ERR_NOMEM, "out of memory");
    return room;
}

char **vim_in_texts(struct vim_context *ctx, const char *const *texts, size_t count, const char *what) {
    char **list = vim_in_alloc(ctx, count, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        list[i] = vim_in_lines(ctx, texts[i], what);
    return list;
}

struct vim25__ManagedObjectReference *vim_in_ref(struct vim_context *ctx, const char *type, const char *id) {
    struct vim25__ManagedObjectReference *ref = vim_in_alloc(ctx, 1, sizeof(*ref));
    if (!ref)
        return NULL;
    ref->type = vim_in_text(ctx, type, "type of an object");
    ref->__item = vim_in_text(ctx, id, "id of an object");
    return ref;
}
