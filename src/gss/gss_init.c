/* The client's side of SPNEGO. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "gss_init.h"

#include <gssapi/gssapi_krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gss_acceptor_private.h"
#include "str.h"

_Static_assert(GSS_INIT_TEXT_BYTES == GSS_TEXT_BYTES, "gss_display fills it");

struct gss_initiator {
    gss_cred_id_t cred;
    gss_name_t service;
    gss_ctx_id_t context;
    uint8_t binding[GSS_BINDING_BYTES_MAX];
    size_t binding_bytes; /* 0: none */
    bool is_over;
};

static gss_OID gss_init_oid(const gss_OID_desc *constant) {
    return (gss_OID)(uintptr_t)constant;
}

void gss_initiator_free(struct gss_initiator *initiator) {
    OM_uint32 minor;
    if (!initiator)
        return;
    (void)gss_delete_sec_context(&minor, &initiator->context, GSS_C_NO_BUFFER);
    (void)gss_release_name(&minor, &initiator->service);
    (void)gss_release_cred(&minor, &initiator->cred);
    free(initiator);
}

/* Kerberos alone, also inside SPNEGO: whatever else is installed on this host, such as NTLM, is not offered. */
static OM_uint32 gss_init_take_credential(struct gss_initiator *initiator) {
    gss_OID_desc both[] = {gss_oid_krb5, gss_oid_spnego}, krb5[] = {gss_oid_krb5};
    gss_OID_set_desc mechs = {2, both}, inside = {1, krb5};
    OM_uint32 minor,
        major = gss_acquire_cred(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechs, GSS_C_INITIATE, &initiator->cred, NULL, NULL);
    return GSS_ERROR(major) ? major : gss_set_neg_mechs(&minor, initiator->cred, &inside);
}

int gss_initiator_new(const struct gss_target *target, struct gss_initiator **out, struct err *err) {
    _cleanup_(gss_initiator_free) struct gss_initiator *initiator = calloc(1, sizeof(*initiator));
    gss_buffer_desc name = {strlen(target->service), (void *)(uintptr_t)target->service};
    OM_uint32 minor;
    if (!initiator)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (target->binding && target->binding_bytes <= sizeof(initiator->binding)) {
        memcpy(initiator->binding, target->binding, target->binding_bytes);
        initiator->binding_bytes = target->binding_bytes;
    }
    if (GSS_ERROR(gss_init_take_credential(initiator)))
        return err_set(err, ERR_CREDENTIALS, "this thread has no ticket");
    if (GSS_ERROR(gss_import_name(&minor, &name, gss_init_oid(GSS_KRB5_NT_PRINCIPAL_NAME), &initiator->service)))
        return err_set(err, ERR_CREDENTIALS, "%s is no name of a principal", target->service);
    *out = STEAL(initiator);
    return 0;
}

void gss_init_step_done(struct gss_init_step *step) {
    if (!step)
        return;
    free(step->token);
    *step = (struct gss_init_step){0};
}

/* -- one step -------------------------------------------------------------------------------------------------------------- */

/* Minor codes are numbered anew by the mechglue, so words tell them apart. */
static void gss_init_judge(OM_uint32 major, struct gss_init_step *out) {
    if (GSS_ROUTINE_ERROR(major) == GSS_S_BAD_BINDINGS)
        out->fault = GSS_INIT_FAULT_BINDING;
    else if (GSS_ROUTINE_ERROR(major) == GSS_S_DEFECTIVE_TOKEN)
        out->fault = GSS_INIT_FAULT_TOKEN;
    else
        out->fault = strstr(out->why, "Clock skew") ? GSS_INIT_FAULT_SKEW : GSS_INIT_FAULT_REFUSED;
}

/* What one call of the library brought. */
struct call {
    OM_uint32 major, minor, flags;
    gss_OID mech;
    gss_buffer_desc token;
};

static void gss_init_finish(const struct call *call, struct gss_init_step *out) {
    out->is_proved = gss_is_krb5(call->mech) && (call->flags & GSS_C_MUTUAL_FLAG);
    if (out->is_proved)
        return;
    out->fault = GSS_INIT_FAULT_TOKEN;
    (void)snprintf(out->why, sizeof(out->why), "the context was made without a proof of the service");
}

static void gss_init_call_library(struct gss_initiator *initiator, const uint8_t *token, size_t n, struct call *call) {
    gss_buffer_desc in = {n, (void *)(uintptr_t)token};
    struct gss_channel_bindings_struct binding = {.application_data = {initiator->binding_bytes, initiator->binding}};
    call->major = gss_init_sec_context(&call->minor, initiator->cred, &initiator->context, initiator->service,
                                       gss_init_oid(&gss_oid_spnego), GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, GSS_C_INDEFINITE,
                                       initiator->binding_bytes ? &binding : GSS_C_NO_CHANNEL_BINDINGS,
                                       token ? &in : GSS_C_NO_BUFFER, &call->mech, &call->token, &call->flags, NULL);
}

int gss_initiator_step(struct gss_initiator *initiator, const uint8_t *token, size_t n, struct gss_init_step *out,
                       struct err *err) {
    struct call call = {0};
    OM_uint32 minor;
    int rc = 0;
    *out = (struct gss_init_step){0};
    if (initiator->is_over || (token && !initiator->context)) {
        out->fault = GSS_INIT_FAULT_TOKEN;
        (void)snprintf(out->why, sizeof(out->why), "a token beyond the end of the negotiation");
        return 0;
    }
    gss_init_call_library(initiator, token, n, &call);
    initiator->is_over = !(call.major & GSS_S_CONTINUE_NEEDED);
    if (GSS_ERROR(call.major)) {
        gss_display(call.minor, &gss_oid_krb5, out->why);
        gss_init_judge(call.major, out);
    } else {
        if (initiator->is_over)
            gss_init_finish(&call, out);
        if (!gss_copy_token(&call.token, &out->token, &out->token_bytes))
            rc = err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)gss_release_buffer(&minor, &call.token);
    return rc;
}
