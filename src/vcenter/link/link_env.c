/* What links are given: who we are, the store and the seal, how we talk to vCenters, the audit log. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "link_env.h"

#include <stdlib.h>

#include "metric.h"
#include "store.h"
#include "str.h"

int link_env_init(struct link_env *env, const struct platform_options *from, struct err *err) {
    struct platform_options *to = &env->options;
    *to = *from;
    to->extension_key = str_dup(from->extension_key);
    to->server_cert_pem = str_dup(from->server_cert_pem);
    to->admin_email = str_dup(from->admin_email);
    to->view_privilege = str_dup(from->view_privilege);
    if (to->extension_key && to->admin_email && to->view_privilege)
        return 0;
    return err_set(err, ERR_NOMEM, "out of memory");
}

static void link_env_free_text(const char *text) {
    free((void *)(uintptr_t)text);
}

void link_env_done(struct link_env *env) {
    link_env_free_text(env->options.extension_key);
    link_env_free_text(env->options.server_cert_pem);
    link_env_free_text(env->options.admin_email);
    link_env_free_text(env->options.view_privilege);
}

int link_env_set_server_cert(struct link_env *env, const char *cert_pem, bool *differs, struct err *err) {
    char *copy = str_dup(cert_pem);
    if (cert_pem && !copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    LOCKED(env->lock);
    *differs = !str_eq(env->options.server_cert_pem, copy);
    link_env_free_text(env->options.server_cert_pem);
    env->options.server_cert_pem = copy;
    return 0;
}

int link_env_get_server_cert(const struct link_env *env, char **out, struct err *err) {
    LOCKED(env->lock);
    *out = str_dup(env->options.server_cert_pem);
    return *out || !env->options.server_cert_pem ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

struct vim_options link_env_client(const struct link_env *env, const struct vcenter *vc, const char *user_agent) {
    return (struct vim_options){
        .host = vc->address,
        .port = vc->port,
        .ca_pem = vc->ca_pem,
        .pin_sha256 = vc->has_pin ? vc->pin_sha256 : NULL,
        .instance_uuid = vc->id,
        .user_agent = user_agent,
        .networks = env->options.networks,
        .tunnel_port = vc->tunnel_port,
        .direct_port = vc->direct_port,
        .connect_timeout_ms = env->options.connect_timeout_ms,
        .call_timeout_ms = env->options.call_timeout_ms,
    };
}

char *session_agent(const struct link_env *env, const char *task) {
    return str_format(SESSION_AGENT_PRODUCT "%s (%s; %s%s%s)", env->options.runtime->version, env->installation,
                      store_replica_name(env->options.runtime->store), task ? "; " : "", task ? task : "");
}

/* -- the audit log --------------------------------------------------------------------------------------------------------- */

struct audit_record platform_audit_make(const struct link_env *env, const struct actor *actor, const struct audit_event *what) {
    struct audit_event event = *what;
    event.object_kind = "vcenter";
    if (!actor)
        event.principal_name = store_replica_name(env->options.runtime->store);
    return audit_record_make(actor, &event);
}

int platform_audit_begin(const struct link_env *env, const struct audit_record *line, struct platform_begun *begun,
                         struct err *err) {
    const struct audit_record now = audit_record_now(line, 0);
    struct store *store = env->options.runtime->store;
    struct platform_begun new = {""};
    int rc = 0;
    if (str_eq(line->event.source, AUDIT_SOURCE_SYSTEM))
        rc = operation_store_find(store, &line->event, new.id, err);
    if (!rc && !new.id[0]) {
        uuid_new(new.id);
        rc = operation_store_begin(store, new.id, &now, err);
    }
    if (!rc)
        *begun = new;
    return rc;
}

void platform_audit_finish(const struct link_env *env, const struct audit_record *line) {
    struct platform_begun begun = {""};
    if (!operation_store_find(env->options.runtime->store, &line->event, begun.id, NULL) && begun.id[0])
        platform_audit_end(env, line, 0, &begun);
}

void platform_audit_end(const struct link_env *env, const struct audit_record *line, int rc, const struct platform_begun *begun) {
    struct store *store = env->options.runtime->store;
    const struct audit_record now = audit_record_now(line, rc);
    const struct operation_end end = {begun->id, &now};
    if (!begun->id[0])
        audit_store_append_outcome(store, line, rc, NULL);
    else if (operation_store_end(store, &end, NULL))
        metric_add(audit_store_lost(), 1);
}
