/* Around each SOAP call: putting texts in, turning the outcome into an error. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "vim_context.h"

/* Calls operation `op` with pointers to its request and response structs; 0, or the error with ctx->fault set for a fault. The
 * response lives until vim_context_reset. A request text that was refused by vim_in_* ends the call before anything is sent. */
#define VIM_CALL(ctx, op, request, response, err)                                                                              \
    vim_call_end((ctx),                                                                                                        \
                 soap_call___vim25__##op(vim_call_begin((ctx), #op), (ctx)->route->url, (ctx)->action, (request), (response)), \
                 (err))

/* The two halves of VIM_CALL; use the macro. */
struct soap *vim_call_begin(struct vim_context *ctx, const char *operation);
int vim_call_end(struct vim_context *ctx, int rc, struct err *err);

/* Request members. What XML cannot carry (bad UTF-8, control characters), or a required text that is missing, is noted in
 * ctx->err, naming `what`; the call then fails with ERR_UNPROCESSABLE. Results live until vim_context_reset. */
char *vim_in_text(struct vim_context *ctx, const char *text, const char *what);     /* required, one line */
char *vim_in_lines(struct vim_context *ctx, const char *text, const char *what);    /* required, tabs and line ends allowed */
char *vim_in_optional(struct vim_context *ctx, const char *text, const char *what); /* NULL stays NULL; lines allowed */
/* A required secret: not copied, so it must stay where it is during the call. */
char *vim_in_secret(struct vim_context *ctx, const char *text, const char *what);
char **vim_in_texts(struct vim_context *ctx, const char *const *texts, size_t count, const char *what);
/* A reference to a managed object. */
struct vim25__ManagedObjectReference *vim_in_ref(struct vim_context *ctx, const char *type, const char *id);
/* Zeroed room; NULL (and ctx->err) without memory, or for no items. */
void *vim_in_alloc(struct vim_context *ctx, size_t count, size_t size);

/* "vCenter's answer to OP lacks X": ERR_PROTOCOL. */
int vim_call_lacks(struct vim_context *ctx, const char *operation, const char *what, struct err *err);
