/* Changing what is known of a vCenter: name, address, ports, trust. Layer 4 (service/platform).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vcenter_set.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "names.h"
#include "platform_audit.h"
#include "platform_links.h"
#include "session_sweep.h"
#include "str.h"
#include "vcenter_store.h"
#include "vim.h"

#define ASKED_MAX 16U /* more than the lane has threads */

int vcenter_check_unique(struct platform *platform, const struct vcenter *vc, struct err *err) {
    struct vcenter_list list = {0};
    int rc = vcenter_store_list(platform_options_of(platform)->store, &list, err);
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
    vcenter_list_done(&list);
    return rc;
}

/* A certificate that does not fit is shown beside the error, so that a person can see what answered. */
static int explain(struct platform *platform, const struct vcenter *where, struct x509_info *seen, int rc) {
    if (rc == ERR_TLS)
        (void)x509_lookup_server(where->address, where->port, platform_options_of(platform)->connect_timeout_ms, seen, NULL);
    return rc;
}

/* One inquiry of an address at a time: somebody who answers slowly holds one thread of the lane, whoever asks however often. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list below */
static const struct vcenter *asked[ASKED_MAX];

static int begin_asking(const struct vcenter *where, struct err *err) {
    const struct vcenter **place = NULL;
    bool is_twice = false;
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ASKED_MAX; i++) {
        if (!asked[i])
            place = &asked[i];
        else if (asked[i]->port == where->port && str_eq_nocase(asked[i]->address, where->address))
            is_twice = true;
    }
    if (place && !is_twice)
        *place = where;
    (void)pthread_mutex_unlock(&lock);
    if (place && !is_twice)
        return 0;
    (void)err_set(err, ERR_BUSY, "%s:%u is being asked already, and has not answered yet", where->address, where->port);
    return err_remedy(err, "wait until that has ended");
}

static void end_asking(const struct vcenter *where) {
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ASKED_MAX; i++)
        if (asked[i] == where)
            asked[i] = NULL;
    (void)pthread_mutex_unlock(&lock);
}

int vcenter_ask(struct platform *platform, const struct vcenter *where, struct vim_about *about, struct x509_info *seen,
                struct err *err) {
    const struct platform_options *options = platform_options_of(platform);
    _cleanup_free_ char *agent = session_agent(platform, "inquiry");
    struct vim_options client_options = {.host = where->address,
                                         .port = where->port,
                                         .ca_pem = where->ca_pem,
                                         .pin_sha256 = where->has_pin ? where->pin_sha256 : NULL,
                                         .user_agent = agent,
                                         .connect_timeout_ms = options->connect_timeout_ms,
                                         .call_timeout_ms = options->call_timeout_ms};
    struct vim_client *client = NULL;
    int rc = begin_asking(where, err);
    if (rc)
        return rc;
    rc = platform_open_client(platform, &client_options, &client, err);
    if (!rc)
        rc = vim_connect(client, about, err);
    (void)platform_close_client(platform, client);
    end_asking(where);
    return explain(platform, where, seen, rc);
}

static int replace_text(char **text, const char *with, struct err *err) {
    char *copy;
    if (!with)
        return 0;
    copy = str_dup(with);
    if (!copy)
        return err_set(err, ERR_NOMEM, "out of memory");
    free(*text);
    *text = copy;
    return 0;
}

static void replace_port(unsigned *port, const unsigned *with) {
    if (with)
        *port = *with;
}

static int replace_trust(struct vcenter *vc, const struct vcenter_change *change, struct err *err) {
    if (!change->pin_sha256 && !change->ca_pem)
        return 0;
    vc->has_pin = change->pin_sha256 != NULL;
    memset(vc->pin_sha256, 0, sizeof(vc->pin_sha256));
    if (vc->has_pin) {
        memcpy(vc->pin_sha256, change->pin_sha256, sizeof(vc->pin_sha256));
        free(vc->ca_pem);
        vc->ca_pem = NULL;
    }
    return replace_text(&vc->ca_pem, change->ca_pem, err);
}

/* A name that was made of the address moves with it. */
static int lay_over(struct vcenter *vc, const struct vcenter_change *change, struct err *err) {
    bool is_named_by_address = str_eq(vc->name, vc->address);
    int rc = change->address ? name_check_host(change->address, "address", err) : 0;
    if (!rc && change->name)
        rc = name_check(change->name, "name", err);
    if (!rc && change->port && (!*change->port || *change->port > 65535))
        rc = err_set(err, ERR_UNPROCESSABLE, "the member \"port\" must be a number from 1 to 65535");
    if (!rc)
        rc = replace_text(&vc->address, change->address, err);
    if (!rc)
        rc = replace_text(&vc->name, is_named_by_address && !change->name ? change->address : change->name, err);
    replace_port(&vc->port, change->port);
    replace_port(&vc->tunnel_port, change->tunnel_port);
    replace_port(&vc->direct_port, change->direct_port);
    return rc ? rc : replace_trust(vc, change, err);
}

/* Nothing is stored for an address where another vCenter answers, or none. */
static int check_identity(struct platform *platform, const struct vcenter *wanted, struct x509_info *seen, struct err *err) {
    struct vim_about about = {0};
    int rc = vcenter_ask(platform, wanted, &about, seen, err);
    if (!rc && !str_eq_nocase(about.instance_uuid, wanted->id)) {
        rc = err_set(err, ERR_CONFLICT, "at %s:%u answers the vCenter with instance UUID %s, but %s has %s; nothing was changed",
                     wanted->address, wanted->port, about.instance_uuid, wanted->name, wanted->id);
        (void)err_remedy(err, "check the address; another vCenter is added by: kaasctl vcenter add %s", wanted->address);
    }
    vim_about_done(&about);
    return rc;
}

/* The new link makes its first contact now and not with the next tick. */
static void hurry(struct platform *platform, const char *id) {
    struct link *link = NULL;
    if (platform_find(platform, id, &link, NULL))
        return;
    link_tick(link, clock_mono_ms());
    link_unref(link);
}

static struct audit_record make_line(struct platform *platform, const char *id, const struct vcenter *row,
                                     const struct vcenter_change *change) {
    const bool is_trust = change->pin_sha256 || change->ca_pem;
    return platform_audit_make(platform, &change->actor,
                               &(struct audit_event){.action = is_trust ? "vcenter.trust" : "vcenter.change",
                                                     .object_id = id,
                                                     .object_name = row ? row->name : NULL});
}

static int store_row(struct platform *platform, const struct vcenter *row, const struct vcenter_change *change, bool *is_stored,
                     struct err *err) {
    const struct audit_record line = make_line(platform, row->id, row, change);
    int64_t version_no = 0;
    int rc = vcenter_store_update(platform_options_of(platform)->store, row, &line, &version_no, err);
    *is_stored = !rc;
    if (!rc)
        rc = platform_sync(platform, err);
    platform_note_written(platform);
    if (!rc)
        hurry(platform, row->id);
    return rc;
}

static int check_change(struct platform *platform, struct vcenter *row, const struct vcenter_change *change,
                        struct x509_info *seen, struct err *err) {
    bool asks_there = change->address || change->port || change->pin_sha256 || change->ca_pem;
    int rc = 0;
    if (change->version_no && change->version_no != row->version_no) {
        rc = err_set(err, ERR_PRECONDITION, "the vCenter has been changed since it was read; nothing was done");
        (void)err_remedy(err, "read it again and repeat the change");
    }
    if (!rc)
        rc = lay_over(row, change, err);
    if (!rc)
        rc = vcenter_check_unique(platform, row, err);
    if (!rc && asks_there)
        rc = check_identity(platform, row, seen, err);
    return rc;
}

int vcenter_change(struct platform *platform, const char *id, const struct vcenter_change *change, struct x509_info *seen,
                   struct err *err) {
    struct vcenter *row = NULL;
    bool is_stored = false; /* then its line is, too */
    struct err why = {0};
    int rc = vcenter_store_load(platform_options_of(platform)->store, id, &row, &why);
    if (!rc)
        rc = check_change(platform, row, change, seen, &why);
    if (!rc)
        rc = store_row(platform, row, change, &is_stored, &why);
    if (!is_stored) {
        struct audit_record line = make_line(platform, id, row, change);
        line.event.reason = why.text;
        audit_store_append_outcome(platform_options_of(platform)->store, &line, rc);
    }
    (void)err_move(err, rc, &why);
    vcenter_free(row);
    return rc;
}
