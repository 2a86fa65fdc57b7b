/* Tasks: what is told of them, and their cancellation. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * TaskInfo: vSphere Web Services API reference 8.0U3. */
#include <stdio.h>
#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_property.h"
#include "vim_task_private.h"

const char *const vim_task_paths[] = {"info.progress", "info.cancelable", "info.result", "info.error", "info.state", NULL};

static void vim_task_take_state(struct vim_task *task, const char *word) {
    static const struct {
        const char *word;
        enum vim_task_phase phase;
    } words[] = {
        {"queued", VIM_TASK_QUEUED}, {"running", VIM_TASK_RUNNING}, {"success", VIM_TASK_DONE}, {"error", VIM_TASK_FAILED}};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (str_eq(words[i].word, word))
            task->phase = words[i].phase;
}

static enum vim_trouble vim_task_trouble(const struct vim_fault *fault) {
    switch (fault->kind) {
    case VIM_FAULT_NAME_TAKEN: return VIM_TROUBLE_NAME_TAKEN;
    case VIM_FAULT_POWER: return VIM_TROUBLE_POWER;
    case VIM_FAULT_OBJECT_GONE: return VIM_TROUBLE_GONE;
    case VIM_FAULT_CANCELED: return VIM_TROUBLE_CANCELED;
    case VIM_FAULT_NONE:
    case VIM_FAULT_OTHER:
    case VIM_FAULT_INVALID_LOGIN:
    case VIM_FAULT_NOT_AUTHENTICATED:
    case VIM_FAULT_NO_PERMISSION:
    case VIM_FAULT_METHOD_NOT_FOUND:
    case VIM_FAULT_BAD_VERSION:
    case VIM_FAULT_STALE:
    default: return VIM_TROUBLE_OTHER;
    }
}

static void vim_task_take_fault(struct vim_task *task, const struct vim_fault *fault, const char *operation) {
    err_clear(&task->why);
    (void)vim_fault_report(fault, operation, &task->why);
    task->trouble = vim_task_trouble(fault);
    (void)snprintf(task->object, sizeof(task->object), "%s", fault->object);
}

static void vim_task_take_error(struct vim_task *task, const struct vim25__LocalizedMethodFault *told) {
    struct vim_fault fault;
    const struct vim_fault_source source = {.type = told->__type, .value = told->fault, .text = told->localizedMessage};
    vim_fault_read(&source, &fault);
    if (source.value) {
        vim_task_take_fault(task, &fault, "its task");
    } else { /* a type that we do not know: its own words are all there is */
        err_clear(&task->why);
        (void)err_set(&task->why, ERR_UPSTREAM, "vCenter's task failed: %s", fault.text[0] ? fault.text : "it does not say why");
    }
}

void vim_task_take(struct vim_task *task, const char *path, int type, const void *val) {
    if (str_eq(path, "info.progress"))
        task->percent = val && type == SOAP_TYPE_int ? *(const int *)val : 0;
    else if (str_eq(path, "info.cancelable"))
        task->is_cancelable = val && type == SOAP_TYPE_xsd__boolean && *(const enum xsd__boolean *)val == xsd__boolean__true_;
    else if (str_eq(path, "info.result") && val && type == SOAP_TYPE_vim25__ManagedObjectReference) {
        const char *id = ((const struct vim25__ManagedObjectReference *)val)->__item;
        (void)snprintf(task->result, sizeof(task->result), "%s", id && strlen(id) < sizeof(task->result) ? id : "");
    } else if (str_eq(path, "info.error") && val && type == SOAP_TYPE_vim25__LocalizedMethodFault)
        vim_task_take_error(task, val);
    else if (str_eq(path, "info.state") && val && (type == SOAP_TYPE_vim25__TaskInfoState || type == SOAP_TYPE_string))
        vim_task_take_state(task, val);
    if (task->phase == VIM_TASK_FAILED && !task->why.code)
        (void)err_set(&task->why, ERR_UPSTREAM, "vCenter's task failed: it does not say why");
}

int vim_task_begin(struct vim_context *ctx, int rc, const struct vim25__ManagedObjectReference *ref, struct vim_task *out,
                   struct err *err) {
    const bool is_refused = rc && ctx->fault.kind != VIM_FAULT_NONE && ctx->fault.kind != VIM_FAULT_NOT_AUTHENTICATED &&
                            ctx->fault.kind != VIM_FAULT_BAD_VERSION;
    char id[VIM_VIEW_BYTES];
    *out = (struct vim_task){.phase = VIM_TASK_QUEUED};
    if (is_refused) {
        vim_task_take_fault(out, &ctx->fault, ctx->operation);
        out->phase = VIM_TASK_FAILED;
        memset(&ctx->fault, 0, sizeof(ctx->fault));
        return 0;
    }
    rc = rc ? rc : vim_keep_id(ctx, ref, "the task", id, err);
    if (!rc && strlen(id) >= sizeof(out->moref))
        rc = vim_call_lacks(ctx, ctx->operation, "a usable id of the task", err);
    if (!rc)
        (void)snprintf(out->moref, sizeof(out->moref), "%s", id);
    return rc;
}

/* -- canceling -------------------------------------------------------------------------------------------------------------- */

static int vim_task_op_cancel(struct vim_context *ctx, void *arg, struct err *err) {
    struct err why = {0};
    VIM_REQUEST(ctx, CancelTask, VIM_TASK, arg);
    int rc = VIM_CALL(ctx, CancelTask, &request, &response, &why);
    if (rc && (str_eq(ctx->fault.name, "InvalidState") || str_eq(ctx->fault.name, "NotSupported") ||
               ctx->fault.kind == VIM_FAULT_OBJECT_GONE)) {
        memset(&ctx->fault, 0, sizeof(ctx->fault));
        return 0;
    }
    return err_move(err, rc, &why);
}

int vim_cancel_task(struct vim_client *client, const char *moref, struct err *err) {
    return vim_client_run_as_us(client, vim_task_op_cancel, (char *)(uintptr_t)moref, err);
}
