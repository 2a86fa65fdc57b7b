/* The account that kaasd logs in by where certificates cannot. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "login_account.h"

#include <stdlib.h>
#include <string.h>

#include "inventory.h"
#include "names.h"
#include "platform_store.h"
#include "query.h"
#include "rotation_work.h"
#include "snapshot.h"
#include "str.h"
#include "vcenter_store.h"
#include "vim_authorization.h"

#define REMOVE_ACCOUNT_ACTION "vcenter.remove_login_account"
#define LACKS_TOLD_MAX 4 /* in the text of an error */

void login_account_done(struct login_account *account) {
    if (!account)
        return;
    free(account->user);
    memset(account, 0, sizeof(*account));
}

void login_account_verdict_done(struct login_account_verdict *verdict) {
    if (!verdict)
        return;
    for (size_t i = 0; i < verdict->lacks_count; i++) {
        free(verdict->lacks[i].object_id);
        free(verdict->lacks[i].name);
    }
    free(verdict->lacks);
    free(verdict->user);
    memset(verdict, 0, sizeof(*verdict));
}

/* -- what is stored ---------------------------------------------------------------------------------------------------------- */

static bool is_account(const struct login_credential *c) {
    return c->generation && c->kind != CREDENTIAL_CERTIFICATE;
}

static int refuse_none(const struct vcenter *vc, struct err *err) {
    (void)err_set(err, ERR_NOT_FOUND, "no login account is stored for vCenter %s: kaasd logs in there by certificate, or not yet",
                  vc->name);
    return err_remedy(err, "set one: kaasctl vcenter set-login-account %s --user NAME", name_word(vc->name, vc->id));
}

static int load_in_force(struct link *link, struct login_material *out, struct err *err) {
    const struct platform_options *options = &link_env(link)->options;
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    int rc = link_get_info(link, &vc, err);
    if (!rc)
        rc = login_material_load(options->runtime->store, options->runtime->seal, vc.id, out, err);
    return rc || is_account(&out->active) ? rc : refuse_none(&vc, err);
}

int login_account_load(struct link *link, struct login_account *out, struct err *err) {
    _cleanup_done_(login_material_done) struct login_material have = {0};
    int rc = load_in_force(link, &have, err);
    if (rc)
        return rc;
    *out =
        (struct login_account){.user = STEAL(have.active.user), .kind = have.active.kind, .set_at_ms = have.active.created_at_ms};
    return 0;
}

/* -- what it may ------------------------------------------------------------------------------------------------------------- */

/* Global.LogEvent of the role is asked where events are posted: on the vSphere clusters. */
static const struct {
    const char *id;
    bool is_needed;
} on_root[] =
    {
        {"System.View", true},
        {"System.Read", true},
        {"Sessions.ValidateSession", false},
        {"Sessions.TerminateSession", false},
        {"Extension.Update", false},
        {"Extension.Register", false},
        {"Extension.Unregister", false},
},
  on_clusters[] = {
      {"System.Read", true}, /* on what is used: what cannot be read any more would be taken for gone */
      {"Global.LogEvent", false},
};

/* An account that has just logged in. */
struct look {
    struct link *link;
    struct vim_client *client;
    struct vim_user_session own;
    struct vsphere_cluster_list clusters;
    struct object_set used; /* of these: with HX clusters or Kubernetes clusters */
    struct login_account_verdict *verdict;
};

static void look_done(struct look *look) {
    vim_user_session_done(&look->own);
    vsphere_cluster_list_done(&look->clusters);
    object_set_done(&look->used);
}

/* Takes over `lack`, whose texts may be NULL for want of memory. */
static int add_lack(struct login_account_verdict *v, struct login_account_lack lack, struct err *err) {
    struct login_account_lack *more = reallocarray(v->lacks, v->lacks_count + 1, sizeof(*more));
    if (more) {
        v->lacks = more;
        v->lacks[v->lacks_count++] = lack;
    }
    if (more && lack.object_id && lack.name)
        return 0;
    if (!more) {
        free(lack.object_id);
        free(lack.name);
    }
    return err_set(err, ERR_NOMEM, "out of memory");
}

static int look_at_root(struct look *look, struct err *err) {
    const char *ids[ARRAY_COUNT(on_root)];
    bool granted[ARRAY_COUNT(on_root)] = {false};
    const struct vim_root_query query = {
        .subject = {.session_key = look->own.key}, .privileges = ids, .count = ARRAY_COUNT(on_root)};
    struct vim_root root = {.moref = "", .name = "root folder"};
    struct err why = {0};
    int rc;
    for (size_t i = 0; i < ARRAY_COUNT(on_root); i++)
        ids[i] = on_root[i].id;
    (void)vim_lookup_root(look->client, &root, NULL);
    rc = vim_check_root_privileges(look->client, &query, granted, &why);
    if (rc && rc != ERR_UPSTREAM_DENIED) /* denied: who may not even ask about it has none there */
        return err_move(err, rc, &why);
    rc = 0;
    for (size_t i = 0; !rc && i < ARRAY_COUNT(on_root); i++)
        if (!granted[i])
            rc = add_lack(
                look->verdict,
                (struct login_account_lack){on_root[i].id, str_dup(root.moref), str_dup(root.name), on_root[i].is_needed}, err);
    return rc;
}

static int add_cluster_lack(struct look *look, const struct vsphere_cluster *c, size_t privilege, struct err *err) {
    const struct login_account_lack lack = {on_clusters[privilege].id, str_dup(c->ref.moref),
                                            str_format("%s/%s", c->datacenter ? c->datacenter : "?", c->name),
                                            on_clusters[privilege].is_needed && object_set_has(&look->used, &c->ref)};
    return add_lack(look->verdict, lack, err);
}

static int look_at_clusters(struct look *look, size_t privilege, struct err *err) {
    const struct vsphere_cluster_list *list = &look->clusters;
    _cleanup_free_ const char **morefs = calloc(list->count + 1, sizeof(*morefs));
    _cleanup_free_ const struct vsphere_cluster **asked = calloc(list->count + 1, sizeof(*asked));
    _cleanup_free_ bool *granted = calloc(list->count + 1, sizeof(*granted));
    struct vim_privilege_query query = {
        .subject = {.session_key = look->own.key}, .privilege = on_clusters[privilege].id, .clusters = morefs};
    int rc;
    if (!morefs || !asked || !granted)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_gone) {
            morefs[query.count] = list->items[i].ref.moref;
            asked[query.count++] = &list->items[i];
        }
    rc = vim_check_privileges(look->client, &query, granted, err);
    for (size_t i = 0; !rc && i < query.count; i++)
        if (!granted[i])
            rc = add_cluster_lack(look, asked[i], privilege, err);
    return rc;
}

static int login_account_list_clusters(struct look *look, struct err *err) {
    const struct platform_options *options = &link_env(look->link)->options;
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(options->inventory);
    int rc = snapshot ? 0 : err_set(err, ERR_UNAVAILABLE, "the inventory has not been read yet");
    if (!rc)
        rc = inventory_objects_of_interest(snapshot, link_id(look->link), &look->used, err);
    return rc ? rc : platform_store_list_vsphere(options->runtime->store, link_id(look->link), &look->clusters, err);
}

static int login_account_look(struct look *look, struct err *err) {
    int rc = vim_get_own_session(look->client, &look->own, err);
    if (!rc)
        rc = login_account_list_clusters(look, err);
    if (!rc)
        rc = look_at_root(look, err);
    for (size_t i = 0; !rc && i < ARRAY_COUNT(on_clusters); i++)
        rc = look_at_clusters(look, i, err);
    return rc;
}

/* ERR_FORBIDDEN with what is needed and missing. */
static int judge(struct link *link, const struct login_account_verdict *v, struct err *err) {
    char name[LINK_NAME_BYTES];
    _cleanup_strbuf_ struct strbuf missing;
    size_t count = 0;
    strbuf_init(&missing, ERR_TEXT_BYTES);
    for (size_t i = 0; i < v->lacks_count; i++)
        if (v->lacks[i].is_needed && count++ < LACKS_TOLD_MAX)
            strbuf_addf(&missing, "%s%s on %s (%s)", count > 1 ? ", " : "", v->lacks[i].privilege, v->lacks[i].name,
                        v->lacks[i].object_id);
    if (!count)
        return 0;
    if (count > LACKS_TOLD_MAX)
        strbuf_addf(&missing, " and %zu more", count - LACKS_TOLD_MAX);
    (void)err_set(err, ERR_FORBIDDEN, "%s lacks %s", v->user, missing.data);
    link_get_name(link, name);
    return err_remedy(
        err,
        "have a role with these granted to it there (" DOC_PAGE(
            "admin/vcenter.md") ", \"Privileges\"), or have one made: "
                                "kaasctl vcenter register %.100s --user administrator@vsphere.local --login-account %.100s --create-role",
        name_word(name, link_id(link)), name_quote(v->user).text);
}

/* -- one login --------------------------------------------------------------------------------------------------------------- */

/* Errors are of the login or of a needed privilege; *out is filled as far as it came. */
static int login_account_try(struct link *link, const struct login_credential *c, struct login_account_verdict *out,
                             struct err *err) {
    struct vim_client *client = NULL;
    _cleanup_done_(look_done) struct look look = {.link = link, .verdict = out};
    int rc = str_replace(&out->user, c->user, err);
    out->kind = c->kind;
    if (!rc)
        rc = session_open_task(link, "login account", &client, err);
    if (!rc)
        rc = login_by_account(client, c, err);
    look.client = client;
    if (!rc)
        rc = login_account_look(&look, err);
    session_close_task(link, client);
    return rc ? rc : judge(link, out, err);
}

/* A password that is known to be refused is not sent; one that is refused now is known from now on, for all who log in here. */
static int try_stored(struct link *link, struct login_account_verdict *out, struct err *verdict, struct err *err) {
    _cleanup_done_(login_material_done) struct login_material have = {0};
    char name[LINK_NAME_BYTES];
    int rc = load_in_force(link, &have, err);
    if (rc)
        return rc;
    link_get_name(link, name);
    if (login_is_refused(link_refusals(link), have.active.generation)) {
        out->kind = have.active.kind;
        (void)err_set(verdict, ERR_CREDENTIALS,
                      "the password of %s was refused; it is not sent again, so that the account is not locked",
                      have.active.user);
        (void)err_remedy(verdict, "give the right one: kaasctl vcenter set-login-account %s --user %s",
                         name_word(name, link_id(link)), name_quote(have.active.user).text);
        return str_replace(&out->user, have.active.user, err);
    }
    if (login_account_try(link, &have.active, out, verdict) == ERR_CREDENTIALS)
        login_note_refused(link_refusals(link), have.active.generation, verdict->cause);
    return 0;
}

static int try_given(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                     struct err *verdict, struct err *err) {
    _cleanup_done_(login_credential_done) struct login_credential given = {0};
    int rc = login_credential_take_account(request->kind, request->user, request->password, &given, err);
    if (!rc)
        (void)login_account_try(link, &given, out, verdict);
    return rc;
}

int login_account_test(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                       struct err *err) {
    int rc = request->user ? try_given(link, request, out, &out->err, err) : try_stored(link, out, &out->err, err);
    out->works = !rc && !out->err.code;
    return rc;
}

/* -- set --------------------------------------------------------------------------------------------------------------------- */

/* It is in force; that the link's session is still the old one's is put right later, if it cannot be done now. */
static void follow(struct link *link) {
    if (link_follow_login(link, NULL))
        link_request(link, LINK_WORK_LOGIN);
    link_retry_login(link);
}

static int login_account_move_to(struct rotation_work *w, const struct login_account_request *request,
                                 struct login_account_verdict *out, struct err *err) {
    int rc = login_credential_take_account(request->kind, request->user, request->password, &w->fresh, err);
    if (!rc)
        rc = login_account_try(w->link, &w->fresh, out, err);
    if (!rc)
        rc = admin_lease_renew(&w->lease, err);
    if (!rc)
        rc = rotation_begin_operation(w, err);
    return rc ? rc : rotation_to_fresh(w, err);
}

int login_account_set(struct link *link, const struct login_account_request *request, struct login_account_verdict *out,
                      struct err *err) {
    _cleanup_done_(rotation_work_done) struct rotation_work w = {.link = link, .actor = &request->actor};
    struct err why = {0};
    int rc = rotation_work_begin(&w, SET_ACCOUNT_ACTION, &why);
    if (!rc)
        rc = login_account_move_to(&w, request, out, &why);
    out->works = !rc;
    rotation_note_in_audit(&w, rc, &why);
    if (!rc)
        follow(link);
    return err_move(err, rc, &why);
}

/* -- remove ------------------------------------------------------------------------------------------------------------------ */

/* The new certificate is as good as any to find out whether one comes through. */
static int require_way(struct rotation_work *w, struct err *err) {
    struct login_attempt attempts[LOGIN_STRATEGIES_MAX];
    size_t count = login_probe(link_client(w->link), &w->vc, &w->fresh, NULL, attempts);
    for (size_t i = 0; i < count; i++)
        if (attempts[i].works)
            return 0;
    (void)err_set(err, ERR_CONFLICT, "without the account kaasd could not log in to vCenter %s: no certificate gets there (%s)",
                  w->vc.name, count ? attempts[0].err.text : "no port is set for it");
    return err_remedy(
        err,
        "open port 80 of the vCenter for us (kaasctl vcenter set %s --tunnel-port 80), or set another account; nothing was changed",
        name_word(w->vc.name, w->vc.id));
}

static int login_account_move_off(struct rotation_work *w, struct err *err) {
    int rc = is_account(&w->have.active) ? rotation_make_certificate(w, err) : refuse_none(&w->vc, err);
    if (!rc)
        rc = require_way(w, err);
    if (!rc)
        rc = rotation_begin_operation(w, err);
    return rc ? rc : rotation_to_fresh(w, err);
}

/* The account itself is not ours; the role that registering made goes when we leave. */
static char *tell_left(struct rotation_work *w) {
    _cleanup_done_(registration_row_done) struct registration_row row = {0};
    if (registration_store_load(w->options->runtime->store, w->vc.id, &row, NULL) || !row.role_name)
        return str_format("the account %s", w->have.active.user);
    return str_format(
        "the account %s, and the role \"%s\" with its permissions, which registering made and unregistering removes",
        w->have.active.user, row.role_name);
}

int login_account_remove(struct link *link, const struct actor *actor, char **left, struct err *err) {
    _cleanup_done_(rotation_work_done) struct rotation_work w = {.link = link, .actor = actor};
    struct err why = {0};
    int rc = rotation_work_begin(&w, REMOVE_ACCOUNT_ACTION, &why);
    if (!rc)
        rc = login_account_move_off(&w, &why);
    rotation_note_in_audit(&w, rc, &why);
    if (!rc)
        *left = tell_left(&w);
    if (!rc)
        follow(link);
    return err_move(err, rc, &why);
}
