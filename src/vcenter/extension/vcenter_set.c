/* Adding, changing and removing vCenters. Layer 4 (vcenter). Joining one is registration.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "link_task.h"
#include "names.h"
#include "platform_links.h"
#include "registration.h"
#include "str.h"
#include "vcenter_store.h"
#include "vim.h"

/* Names and addresses are how people refer to vCenters: another one in the database may have neither. ERR_EXISTS. */
static int vcenter_set_check_unique(struct platform *platform, const struct vcenter *vc, struct err *err) {
    _cleanup_done_(vcenter_list_done) struct vcenter_list list = {0};
    int rc = vcenter_store_list(platform_options_of(platform)->runtime->store, &list, err);
    for (size_t i = 0; !rc && i < list.count; i++) {
        const struct vcenter *other = &list.items[i];
        if (vc->id && str_eq_nocase(other->id, vc->id))
            continue;
        if (str_eq_nocase(other->address, vc->address) && other->port == vc->port)
            rc = err_set(err, ERR_EXISTS, "%s:%u is the vCenter %s, which is configured already", vc->address, vc->port,
                         other->name);
        else if (str_eq_nocase(other->name, vc->name))
            rc = err_set(err, ERR_EXISTS, "a vCenter with the name \"%s\" is configured already", vc->name);
    }
    return rc;
}

static int ask_certificate(const struct platform_options *options, const struct vcenter *vc, struct x509_info *seen,
                           struct err *err) {
    int rc = x509_lookup_server(vc->address, vc->port, options->networks, options->connect_timeout_ms, seen, err);
    if (rc)
        return rc;
    (void)err_set(err, ERR_CERT_UNCONFIRMED, "the certificate of %s:%u is not confirmed; nothing was sent", vc->address,
                  vc->port);
    return err_remedy(err,
                      "compare the SHA-256 with the one the vCenter shows, then send the same request with thumbprint_sha256");
}

static int vcenter_set_fill(const struct vim_about *about, struct vcenter *vc, struct err *err) {
    vc->id = str_dup(about->instance_uuid);
    vc->version = str_dup(about->version);
    vc->build = str_dup(about->build);
    vc->api_version = str_dup(about->api_version);
    vc->created_at_ms = clock_wall_ms();
    return vc->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

/* The one we know already may have moved. */
static int explain_known(struct platform *platform, const struct vcenter *vc, struct err *err) {
    struct vcenter *known = NULL;
    if (vcenter_store_load(platform_options_of(platform)->runtime->store, vc->id, &known, NULL))
        return ERR_EXISTS;
    err_clear(err);
    (void)err_set(err, ERR_EXISTS, "at %s:%u answers the vCenter %s (%s), which is configured already with the address %s:%u",
                  vc->address, vc->port, known->name, known->id, known->address, known->port);
    (void)err_remedy(err, "if it has moved, run: kaasctl vcenter set %s --address %s", name_word(known->name, known->id),
                     vc->address);
    vcenter_free(known);
    return ERR_EXISTS;
}

static struct audit_record vcenter_set_make_line(struct platform *platform, const struct actor *actor, const struct vcenter *vc) {
    return platform_audit_make(
        platform_env(platform), actor,
        &(struct audit_event){.action = "vcenter.add", .object_id = vc->id, .object_name = vc->name ? vc->name : vc->address});
}

static int vcenter_set_insert_row(struct platform *platform, const struct actor *actor, const struct vim_about *about,
                                  struct vcenter *vc, struct err *err) {
    struct audit_record line;
    int rc = vcenter_set_fill(about, vc, err);
    if (rc)
        return rc;
    line = vcenter_set_make_line(platform, actor, vc);
    rc = vcenter_store_insert(platform_options_of(platform)->runtime->store, vc, &line, err);
    return rc == ERR_EXISTS ? explain_known(platform, vc, err) : rc;
}

/* What was stored is in the audit log already; and to look at a certificate is not to add anything. */
static void note_refused(struct platform *platform, const struct actor *actor, const struct vcenter *vc, int rc,
                         const struct err *why) {
    struct audit_record line = vcenter_set_make_line(platform, actor, vc);
    if (!rc || rc == ERR_CERT_UNCONFIRMED)
        return;
    line.event.reason = why->text;
    audit_store_append_outcome(platform_options_of(platform)->runtime->store, &line, rc, NULL);
}

static int vcenter_set_ask_and_insert(struct platform *platform, const struct actor *actor, struct vcenter *vc,
                                      struct x509_info *seen, struct err *err) {
    _cleanup_done_(vim_about_done) struct vim_about about = {0};
    int rc = name_check_host(vc->address, "address", err);
    if (!rc)
        rc = vc->name ? name_check(vc->name, "name", err) : str_replace(&vc->name, vc->address, err);
    if (!rc)
        rc = vcenter_set_check_unique(platform, vc, err);
    if (!rc && !vc->ca_pem && !vc->has_pin)
        rc = ask_certificate(platform_options_of(platform), vc, seen, err);
    if (!rc)
        rc = vcenter_ask(platform, vc, &about, seen, err);
    return rc ? rc : vcenter_set_insert_row(platform, actor, &about, vc, err);
}

int registration_add(struct platform *platform, const struct actor *actor, const struct vcenter *wish, char id[37],
                     struct x509_info *seen, struct err *err) {
    struct vcenter vc = {0};
    struct err why = {0};
    int rc = vcenter_copy(wish, &vc, &why);
    if (!rc)
        rc = vcenter_set_ask_and_insert(platform, actor, &vc, seen, &why);
    note_refused(platform, actor, &vc, rc, &why);
    if (!rc)
        (void)snprintf(id, 37, "%s", vc.id);
    if (!rc)
        rc = platform_sync(platform, &why);
    (void)err_move(err, rc, &why);
    vcenter_done(&vc);
    runtime_note_written(platform_env(platform)->options.runtime);
    return rc;
}

/* *is_removed: the row is gone, and the line in the audit log. */
static int vcenter_set_remove_row(struct platform *platform, const struct audit_record *line, bool *is_removed, struct err *err) {
    const struct platform_options *options = platform_options_of(platform);
    const char *id = line->event.object_id;
    const struct audit_record now = audit_record_now(line, 0);
    struct vcenter *row = NULL;
    int rc = vcenter_store_load(options->runtime->store, id, &row, err);
    rc = rc ? rc : vcenter_store_check_unprovided(options->runtime->store, id, err); /* before anybody unregisters in vain */
    if (!rc && row->registered_at_ms) {
        rc = err_set(err, ERR_CONFLICT, "we are still registered with vCenter %s", row->name);
        (void)err_remedy(err, "run first: kaasctl vcenter unregister %s", name_word(row->name, row->id));
    }
    if (!rc)
        rc = vcenter_store_delete(options->runtime->store, id, now.at_ms, &now, err);
    *is_removed = !rc;
    if (rc == ERR_CONFLICT)
        (void)err_remedy(err, "remove or move the clusters that are placed on it first");
    if (!rc)
        rc = platform_sync(platform, err);
    vcenter_free(row);
    return rc;
}

/* Not while it is being registered: the record would be left there, and the key be gone. */
int registration_remove(struct platform *platform, const char *id, const struct actor *actor, struct err *err) {
    _cleanup_(link_unref) struct link *link = NULL;
    struct admin_lease lease = {0};
    struct vcenter vc = {0};
    struct err why = {0};
    struct audit_record line =
        platform_audit_make(platform_env(platform), actor, &(struct audit_event){.action = "vcenter.remove", .object_id = id});
    bool is_removed = false;
    int rc = platform_find(platform, id, &link, &why);
    if (!rc)
        rc = link_get_info(link, &vc, &why);
    line.event.object_name = vc.name;
    if (!rc)
        rc = admin_lease_await(link, &lease, &why);
    if (!rc)
        rc = vcenter_set_remove_row(platform, &line, &is_removed, &why);
    admin_lease_release(&lease);
    line.event.reason = rc ? why.text : NULL;
    if (!is_removed)
        audit_store_append_outcome(platform_options_of(platform)->runtime->store, &line, rc, NULL);
    vcenter_done(&vc);
    runtime_note_written(platform_env(platform)->options.runtime);
    return err_move(err, rc, &why);
}

/* -- changing what is known of a vCenter: name, address, ports, trust ---------------------------------------------- */

#define ASKED_MAX 16U /* more than the worker pool has threads */

/* A certificate that does not fit is shown beside the error, so that a person can see what answered. */
static int vcenter_set_explain(struct platform *platform, const struct vcenter *where, struct x509_info *seen, int rc) {
    if (rc == ERR_TLS)
        (void)x509_lookup_server(where->address, where->port, platform_options_of(platform)->networks,
                                 platform_options_of(platform)->connect_timeout_ms, seen, NULL);
    return rc;
}

/* One inquiry of an address at a time: somebody who answers slowly holds one thread of the worker pool, whoever asks however often. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list below */
static const struct vcenter *asked[ASKED_MAX];

static int begin_asking(const struct vcenter *where, struct err *err) {
    const struct vcenter **place = NULL;
    bool is_twice = false;
    LOCKED(&lock);
    for (size_t i = 0; i < ASKED_MAX; i++) {
        if (!asked[i])
            place = &asked[i];
        else if (asked[i]->port == where->port && str_eq_nocase(asked[i]->address, where->address))
            is_twice = true;
    }
    if (place && !is_twice) {
        *place = where;
        return 0;
    }
    (void)err_set(err, ERR_BUSY, "%s:%u is being asked already, and has not answered yet", where->address, where->port);
    return err_remedy(err, "wait until that has ended");
}

static void end_asking(const struct vcenter *where) {
    LOCKED(&lock);
    for (size_t i = 0; i < ASKED_MAX; i++)
        if (asked[i] == where)
            asked[i] = NULL;
}

int vcenter_ask(struct platform *platform, const struct vcenter *where, struct vim_about *about, struct x509_info *seen,
                struct err *err) {
    _cleanup_free_ char *agent = session_agent(platform_env(platform), "inquiry");
    struct vim_options options = link_env_client(platform_env(platform), where, agent);
    struct vim_client *client = NULL;
    int rc = begin_asking(where, err);
    if (rc)
        return rc;
    options.instance_uuid = NULL; /* who it is is the question */
    rc = platform_open_client(platform, &options, &client, err);
    if (!rc)
        rc = vim_connect(client, about, err);
    (void)platform_close_client(platform, client);
    end_asking(where);
    return vcenter_set_explain(platform, where, seen, rc);
}

static void replace_port(unsigned *port, unsigned with) {
    if (with != VCENTER_PORT_SAME)
        *port = with;
}

static bool vcenter_set_is_trust(const struct vcenter *wish) {
    return wish->has_pin || wish->ca_pem;
}

/* A name that was made of the address moves with it. */
static int lay_over(struct vcenter *vc, const struct vcenter *wish, struct err *err) {
    const char *name = !wish->name && str_eq(vc->name, vc->address) ? wish->address : wish->name;
    int rc = wish->address ? name_check_host(wish->address, "address", err) : 0;
    if (!rc && wish->name)
        rc = name_check(wish->name, "name", err);
    if (!rc && wish->address)
        rc = str_replace(&vc->address, wish->address, err);
    if (!rc && name)
        rc = str_replace(&vc->name, name, err);
    replace_port(&vc->port, wish->port);
    replace_port(&vc->tunnel_port, wish->tunnel_port);
    replace_port(&vc->direct_port, wish->direct_port);
    if (rc || !vcenter_set_is_trust(wish))
        return rc;
    vc->has_pin = wish->has_pin;
    memcpy(vc->pin_sha256, wish->pin_sha256, sizeof(vc->pin_sha256));
    return str_replace(&vc->ca_pem, wish->ca_pem, err);
}

/* Nothing is stored for an address where another vCenter answers, or none. */
static int check_identity(struct platform *platform, const struct vcenter *wanted, struct x509_info *seen, struct err *err) {
    _cleanup_done_(vim_about_done) struct vim_about about = {0};
    int rc = vcenter_ask(platform, wanted, &about, seen, err);
    if (!rc && !str_eq_nocase(about.instance_uuid, wanted->id)) {
        rc = err_set(err, ERR_CONFLICT, "at %s:%u answers the vCenter with instance UUID %s, but %s has %s; nothing was changed",
                     wanted->address, wanted->port, about.instance_uuid, wanted->name, wanted->id);
        (void)err_remedy(err, "check the address; another vCenter is added by: kaasctl vcenter add %s", wanted->address);
    }
    return rc;
}

/* The new link makes its first contact now and not with the next tick. */
static void vcenter_set_hurry(struct platform *platform, const char *id) {
    struct link *link = NULL;
    if (platform_find(platform, id, &link, NULL))
        return;
    remote_tick(link_remote(link), clock_mono_ms());
    link_unref(link);
}

static struct audit_record set_make_line(struct platform *platform, const char *id, const struct vcenter *row,
                                         const struct vcenter_change *change) {
    const bool is_trust = vcenter_set_is_trust(change->wish);
    return platform_audit_make(platform_env(platform), &change->actor,
                               &(struct audit_event){.action = is_trust ? "vcenter.trust" : "vcenter.change",
                                                     .object_id = id,
                                                     .object_name = row ? row->name : NULL});
}

static int vcenter_set_store_row(struct platform *platform, const struct vcenter *row, const struct vcenter_change *change,
                                 const char *changed, bool *is_stored, struct err *err) {
    struct audit_record line = set_make_line(platform, row->id, row, change);
    line.event.reason = changed;
    int64_t version_no = 0;
    int rc = vcenter_store_update(platform_options_of(platform)->runtime->store, row, &line, &version_no, err);
    *is_stored = !rc;
    if (!rc)
        rc = platform_sync(platform, err);
    runtime_note_written(platform_env(platform)->options.runtime);
    if (!rc)
        vcenter_set_hurry(platform, row->id);
    return rc;
}

static int vcenter_set_check_change(struct platform *platform, struct vcenter *row, const struct vcenter_change *change,
                                    struct x509_info *seen, struct err *err) {
    const struct vcenter *wish = change->wish;
    const bool asks_there = wish->address || wish->port != VCENTER_PORT_SAME || vcenter_set_is_trust(wish);
    int rc = 0;
    if (change->version_no && change->version_no != row->version_no) {
        rc = err_set(err, ERR_PRECONDITION, "the vCenter has been changed since it was read; nothing was done");
        (void)err_remedy(err, "read it again and repeat the change");
    }
    if (!rc)
        rc = lay_over(row, wish, err);
    if (!rc)
        rc = vcenter_set_check_unique(platform, row, err);
    if (!rc && asks_there)
        rc = check_identity(platform, row, seen, err);
    return rc;
}

int vcenter_change(struct platform *platform, const char *id, const struct vcenter_change *change, struct x509_info *seen,
                   struct err *err) {
    struct vcenter *row = NULL;
    bool is_stored = false; /* then its line is, too */
    _cleanup_free_ char *name = NULL, *changed = NULL;
    struct err why = {0};
    int rc = vcenter_store_load(platform_options_of(platform)->runtime->store, id, &row, &why);
    if (!rc) {
        name = str_dup(row->name);
        rc = vcenter_set_check_change(platform, row, change, seen, &why);
    }
    if (!rc && !str_eq(name, row->name))
        changed = str_format("name: %s -> %s", name ? name : "none", row->name ? row->name : "none");
    if (!rc)
        rc = vcenter_set_store_row(platform, row, change, changed, &is_stored, &why);
    if (!is_stored) {
        struct audit_record line = set_make_line(platform, id, row, change);
        line.event.reason = why.text;
        audit_store_append_outcome(platform_options_of(platform)->runtime->store, &line, rc, NULL);
    }
    (void)err_move(err, rc, &why);
    vcenter_free(row);
    return rc;
}
