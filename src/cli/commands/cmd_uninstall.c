/* kaasctl uninstall: takes back what this installation wrote elsewhere, before its host is cleared. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * First everything is looked at, and nothing is changed while a vCenter cannot be asked; then step by step, each told at once. What has been taken
 * back is not there any more for the next run, so a run that failed half-way is repeated. */
#include <stdio.h>
#include <string.h>

#include "cli_command.h"
#include "cli_prompt.h"
#include "clock.h"
#include "first_setup.h"
#include "fsutil.h"
#include "hx_publication_store.h"
#include "kube_store.h"
#include "made_store.h"
#include "names.h"
#include "secret.h"
#include "setup_files.h"
#include "str.h"
#include "vcenter_store.h"

#define RECORDS_FILE \
    "records-left" /* beside the configuration, which is root's, for who removes the packages: debian/kaas-server.postrm */
#define RECORDS_BYTES_MAX (1024U * 1024U)
#define RECORDS_MODE 0644

struct uninstall {
    struct cli *cli;
    json_t *vcenters; /* those that we are registered with; "steps" of each, or the "problem" that it cannot be asked */
    json_t *hx;       /* HX clusters that may hold where we are */
    json_t *clusters; /* Kubernetes clusters that have an account of ours; "account" of each */
    json_t *made;     /* Kubernetes clusters that we have made; "provider" of each */
    json_t *sessions;
    struct setup_database_admin admin;
    char *admin_password; /* a secret */
    json_t *accounts; /* of --user: "of" which vCenter, none for all others; "body" of a call with name and password, a secret */
    json_t *own;      /* body of a call by our own login */
    struct strbuf records; /* what stands at the end, a name a line */
    bool is_dry, drops_database;
    unsigned stuck; /* vCenters that it cannot be done at */
};

static void uninstall_done(struct uninstall *u) {
    json_t *account;
    size_t i;
    json_decref(u->vcenters);
    json_decref(u->hx);
    json_decref(u->clusters);
    json_decref(u->made);
    json_decref(u->sessions);
    json_array_foreach (u->accounts, i, account)
        json_wipe_string(json_object_get(json_object_get(account, "body"), "password"));
    json_decref(u->accounts);
    json_decref(u->own);
    secret_free(u->admin_password);
    strbuf_done(&u->records);
}

/* -- looking: nothing is changed -------------------------------------------------------------------------------------------------- */

/* The body of a call to this vCenter. */
static json_t *uninstall_body(const struct uninstall *u, const json_t *vcenter) {
    json_t *body = u->own;
    const json_t *account;
    size_t i;
    json_array_foreach (u->accounts, i, account) {
        const char *of = json_get_string(account, "of");
        if (of && cli_is_vcenter(vcenter, of))
            return json_object_get(account, "body");
        if (!of)
            body = json_object_get(account, "body");
    }
    return body;
}

/* One without a record of ours has nothing that we could leave behind. */
static int uninstall_look_vcenter(struct uninstall *u, json_t *vcenter, struct err *err) {
    _cleanup_json_ json_t *plan = NULL;
    json_t *body = uninstall_body(u, vcenter);
    struct err why = {0};
    int rc;
    json_put_bool(body, "leave_providers", true);
    json_put_bool(body, "dry_run", true);
    rc = cli_send(u->cli, "POST /v2/vcenters/{id}/unregister", vcenter, body, &plan, &why);
    json_put_bool(body, "dry_run", false);
    if (rc == ERR_UNAVAILABLE || rc == ERR_NOMEM)
        return err_move(err, rc, &why);
    if (rc == ERR_NOT_REGISTERED || rc == ERR_CONFLICT) {
        json_put_string(vcenter, "nothing", why.text);
    } else if (rc) {
        json_put_string(vcenter, "problem", why.text);
        u->stuck++;
    } else {
        json_put(vcenter, "steps", json_incref(json_object_get(plan, "steps")));
    }
    return 0;
}

/* A name that fits none is mistyped: that vCenter would be asked by another account. */
static int uninstall_check_accounts(struct uninstall *u, const json_t *vcenters, struct err *err) {
    const json_t *account, *vcenter;
    size_t i, k;
    json_array_foreach (u->accounts, i, account) {
        const char *of = json_get_string(account, "of");
        size_t found = 0;
        json_array_foreach (vcenters, k, vcenter)
            found += of && cli_is_vcenter(vcenter, of);
        if (of && !found)
            return cli_usage(u->cli, err, "--user %s=...: there is no vCenter %s; see: kaasctl vcenter list", of, of);
    }
    return 0;
}

static int uninstall_look_vcenters(struct uninstall *u, struct err *err) {
    _cleanup_json_ json_t *all = NULL;
    json_t *vcenter;
    size_t i;
    int rc = cli_list(u->cli, "/v2/vcenters", NULL, NULL, &all, err);
    rc = rc ? rc : uninstall_check_accounts(u, all, err);
    json_array_foreach (all, i, vcenter) {
        if (rc || !json_get_bool(vcenter, "registered", false))
            continue;
        json_add(u->vcenters, json_incref(vcenter));
        rc = uninstall_look_vcenter(u, vcenter, err);
    }
    return rc;
}

static int uninstall_look_hx(struct uninstall *u, struct err *err) {
    _cleanup_json_ json_t *all = NULL;
    json_t *hx;
    size_t i;
    int rc = cli_list(u->cli, "/v2/hx-clusters", NULL, NULL, &all, err);
    json_array_foreach (all, i, hx) {
        _cleanup_json_ json_t *publication = NULL;
        if (!rc)
            rc = cli_send(u->cli, "GET /v2/hx-clusters/{id}/publication", hx, NULL, &publication, err);
        if (!rc && json_get_string(publication, "expires_at"))
            json_add(u->hx, json_incref(hx));
    }
    return rc;
}

/* What Kubernetes calls our account, as the binding that owns it; all objects of it have that name. */
static const char *uninstall_account(const json_t *steps) {
    return json_get_string(json_array_get(steps, 0), "server");
}

static int uninstall_look_clusters(struct uninstall *u, struct err *err) {
    _cleanup_json_ json_t *all = NULL;
    json_t *connection;
    size_t i;
    int rc = cli_list(u->cli, "/v2/cluster-connections", NULL, NULL, &all, err);
    json_array_foreach (all, i, connection) {
        _cleanup_json_ json_t *told = NULL, *one = json_deep_copy(json_object_get(connection, "cluster"));
        if (!rc)
            rc = cli_send(u->cli, "DELETE /v2/clusters/{id}/connection?show=true", one, NULL, &told, err);
        json_put_string(one, "account", uninstall_account(json_object_get(told, "steps")));
        json_put_string(one, "address", json_get_string(connection, "address"));
        if (!rc)
            json_add(u->clusters, json_incref(one));
    }
    return rc;
}

static int uninstall_look_made(struct uninstall *u, struct err *err) {
    _cleanup_json_ json_t *all = NULL;
    const json_t *provider, *cluster;
    size_t i, k;
    int rc = cli_list(u->cli, "/v2/providers", NULL, NULL, &all, err);
    json_array_foreach (all, i, provider) {
        json_array_foreach (json_object_get(provider, "clusters"), k, cluster) {
            json_t *one = json_deep_copy(cluster);
            json_put_string(one, "provider", json_get_string(provider, "name"));
            json_add(u->made, one);
        }
    }
    return rc;
}

/* Is this "VCENTER=...", for this vCenter? */
static bool uninstall_is_of(const char *given, const char *vcenter, size_t n) {
    return !strncmp(given, vcenter, n) && given[n] == '=';
}

/* The password file for an account: "VCENTER=FILE", or for the others "FILE", in which any = may be. NULL: none is given. */
static const char *uninstall_password_file(const struct cli *cli, const char *of) {
    const char *given, *user;
    for (size_t at = 0; (given = opt_next(&cli->given, "password-file", &at));) {
        bool is_its = !of || uninstall_is_of(given, of, strlen(of));
        for (size_t i = 0; !of && (user = opt_next(&cli->given, "user", &i));)
            is_its = is_its && !(strrchr(user, '=') && uninstall_is_of(given, user, (size_t)(strrchr(user, '=') - user)));
        if (is_its)
            return of ? given + strlen(of) + 1 : given;
    }
    return NULL;
}

/* "VCENTER=USER", or "USER" for all others. Used for this and not kept, as by kaasctl vcenter unregister. */
static int uninstall_add_account(struct uninstall *u, const char *given, struct err *err) {
    const char *mark = strrchr(given, '='), *user = mark ? mark + 1 : given;
    _cleanup_free_ char *of = mark ? str_format("%.*s", (int)(mark - given), given) : NULL;
    _cleanup_free_ char *question = str_format("Password of %s at %s: ", user, of ? of : "the vCenters");
    _cleanup_secret_ char *password = NULL;
    const json_t *other;
    size_t i;
    json_array_foreach (u->accounts, i, other)
        if (str_eq(json_get_string(other, "of"), of))
            return cli_usage(u->cli, err, "--user gives two accounts for %s", of ? of : "all vCenters that are not named");
    int rc = cli_get_password(u->cli, uninstall_password_file(u->cli, of), question, &password, err);
    if (rc)
        return rc;
    json_t *account = json_object(), *body = json_object();
    json_put_string(account, "of", of);
    json_put_string(body, "username", user);
    json_put_string(body, "password", password);
    json_put(account, "body", body);
    json_add(u->accounts, account);
    return 0;
}

static int uninstall_get_accounts(struct uninstall *u, struct err *err) {
    const char *given;
    int rc = 0;
    for (size_t at = 0; !rc && (given = opt_next(&u->cli->given, "user", &at));)
        rc = uninstall_add_account(u, given, err);
    return rc;
}

static int uninstall_look(struct uninstall *u, struct err *err) {
    const char *file = opt_get(&u->cli->given, "database-admin-password-file");
    int rc = uninstall_get_accounts(u, err);
    if (!rc && u->drops_database && file)
        rc = prompt_read_password(file, &u->admin_password, err);
    if (rc)
        return rc;
    u->admin.password = u->admin_password;
    rc = u->drops_database ? setup_check_admin(&u->cli->config, &u->admin, err) : 0;
    if (!rc)
        rc = uninstall_look_made(u, err);
    if (!rc)
        rc = uninstall_look_clusters(u, err);
    if (!rc)
        rc = uninstall_look_vcenters(u, err);
    if (!rc)
        rc = uninstall_look_hx(u, err);
    return rc ? rc : cli_list(u->cli, "/v2/sessions", NULL, NULL, &u->sessions, err);
}

/* -- telling what there is to do ---------------------------------------------------------------------------------------------------- */

static void uninstall_tell_vcenter(struct cli *cli, const json_t *vcenter) {
    const char *name = json_get_string(vcenter, "name"), *problem = json_get_string(vcenter, "problem"),
               *nothing = json_get_string(vcenter, "nothing");
    const json_t *step;
    size_t i;
    if (problem || nothing) {
        show_line(cli, "vCenter %s: %s: %s", name, problem ? "NOT POSSIBLE" : "nothing of ours is there",
                  problem ? problem : nothing);
        return;
    }
    show_line(cli, "vCenter %s:", name);
    json_array_foreach (json_object_get(vcenter, "steps"), i, step)
        show_line(cli, "  %zu. %s", i + 1, json_string_value(step));
}

static int uninstall_tell_plan(struct uninstall *u, struct err *err) {
    struct cli *cli = u->cli;
    _cleanup_json_ json_t *plan = NULL;
    const json_t *item;
    size_t i;
    if (cli->is_json && u->is_dry) {
        plan = json_object();
        json_put(plan, "vcenters", json_incref(u->vcenters));
        json_put(plan, "hx_clusters", json_incref(u->hx));
        json_put(plan, "made", json_incref(u->made));
        json_put(plan, "clusters", json_incref(u->clusters));
        json_put_int(plan, "sessions", (int64_t)json_array_size(u->sessions));
        json_put_bool(plan, "drop_database", u->drops_database);
        return show_json(cli, plan, err);
    }
    show_line(cli, "%s",
              u->is_dry ? "Dry run: nothing is changed. Without --dry-run these steps would follow" : "This will be done");
    json_array_foreach (u->made, i, item)
        show_line(cli, "Kubernetes cluster %s: made by KaaS with the provider %s: %s", json_get_string(item, "name"),
                  json_get_string(item, "provider"),
                  !u->is_dry && opt_get(&cli->given, "force") ? "its machines STAY, and its keys are lost"
                                                              : "NOT POSSIBLE until it is deleted");
    json_array_foreach (u->clusters, i, item)
        show_line(cli, "Kubernetes cluster %s: remove our account %s", json_get_string(item, "name"),
                  json_get_string(item, "account"));
    json_array_foreach (u->hx, i, item)
        show_line(cli, "HX cluster %s: withdraw where KaaS is", json_get_string(item, "name"));
    json_array_foreach (u->vcenters, i, item)
        uninstall_tell_vcenter(cli, item);
    if (!json_array_size(u->vcenters))
        show_line(cli, "vCenters: registered at none");
    show_line(cli, "sessions: end %zu", json_array_size(u->sessions));
    if (u->drops_database)
        show_line(cli, "database: drop %s and the accounts %s and %s, with everything in it", cli->config.database_name,
                  cli->config.database_user, cli->config.database_owner_user);
    else
        show_line(cli, "database: %s stays; --drop-database drops it", cli->config.database_name);
    return 0;
}

/* -- doing it ------------------------------------------------------------------------------------------------------------------------ */

/* One that cannot be asked holds nobody up: nobody has the token of our account there then, which ends within a day. */
static int uninstall_disconnect(struct uninstall *u, const json_t *cluster, struct err *err) {
    const char *name = json_get_string(cluster, "name"), *account = json_get_string(cluster, "account");
    struct err why = {0};
    int rc = cli_send(u->cli, "DELETE /v2/clusters/{id}/connection", cluster, NULL, NULL, &why);
    if (rc == ERR_UNAVAILABLE)
        return err_move(err, rc, &why);
    if (!rc) {
        show_line(u->cli, "Kubernetes cluster %s: account %s removed", name, account);
        return 0;
    }
    strbuf_addf(&u->records, "Kubernetes cluster %s at %s, account %s\n", name, json_get_string(cluster, "address"), account);
    cli_note("kaasctl: the account %s stays in Kubernetes cluster %s: %s; remove it there: kubectl delete clusterrolebinding %s",
             account, name, why.text, account);
    return cli_send(u->cli, "DELETE /v2/clusters/{id}/connection?forget=true", cluster, NULL, NULL, err);
}

/* One that cannot be told forgets it by itself (docs/hx-publish.md), and holds nobody up. */
static int uninstall_withdraw(struct uninstall *u, const json_t *hx, struct err *err) {
    const char *name = json_get_string(hx, "name"), *expires;
    _cleanup_json_ json_t *publication = NULL;
    struct err why = {0};
    int rc = cli_send(u->cli, "DELETE /v2/hx-clusters/{id}/publication", hx, NULL, &publication, &why);
    if (rc == ERR_UNAVAILABLE)
        return err_move(err, rc, &why);
    expires = json_get_string(publication, "expires_at");
    if (!rc && !expires) {
        show_line(u->cli, "HX cluster %s: withdrawn", name);
        return 0;
    }
    strbuf_addf(&u->records, "HX cluster %s, until it forgets by itself\n", name);
    cli_note("kaasctl: HX cluster %s could not be told: %s; it forgets by itself%s%.10s", name,
             rc ? why.text : json_get_string(publication, "detail"), expires ? " on " : ", within three days",
             expires ? expires : "");
    return 0;
}

static void uninstall_leave(struct uninstall *u, const char *name) {
    const char *key = u->cli->config.vcenter_extension_key;
    strbuf_addf(&u->records, "vCenter %s, extension %s\n", name, key);
    cli_note("kaasctl: the extension %s stays at vCenter %s: remove it there, for instance by govc extension.unregister %s, when "
             "that names this installation (" DOC_PAGE("admin/vcenter.md") ", \"Removing everything\")",
             key, name, key);
}

static int uninstall_unregister(struct uninstall *u, const json_t *vcenter, struct err *err) {
    const char *name = json_get_string(vcenter, "name");
    _cleanup_json_ json_t *answer = NULL;
    int rc;
    if (json_get_string(vcenter, "nothing"))
        return 0;
    if (json_get_string(vcenter, "problem")) { /* as --force allows */
        uninstall_leave(u, name);
        return 0;
    }
    rc = cli_send(u->cli, "POST /v2/vcenters/{id}/unregister", vcenter, uninstall_body(u, vcenter), &answer, err);
    if (rc)
        return rc;
    show_line(u->cli, "vCenter %s: extension %s removed", name, json_get_string(answer, "extension_key"));
    if (json_array_size(json_object_get(answer, "left")))
        show_lines(u->cli, "  left at the vCenter:", json_object_get(answer, "left"));
    return 0;
}

/* One that has ended by itself meanwhile is no failure. */
static int uninstall_end_sessions(struct uninstall *u, struct err *err) {
    unsigned ended = 0;
    json_t *session;
    size_t i;
    json_array_foreach (u->sessions, i, session) {
        struct err why = {0};
        int rc = cli_send(u->cli, "DELETE /v2/sessions/{id}", session, NULL, NULL, &why);
        if (rc && rc != ERR_NOT_FOUND)
            return err_move(err, rc, &why);
        ended += !rc;
    }
    show_line(u->cli, "sessions: %u ended", ended);
    return 0;
}

static int uninstall_drop(struct uninstall *u, struct err *err) {
    const struct config *config = &u->cli->config;
    int rc = u->drops_database ? setup_drop_database(config, &u->admin, err) : 0;
    if (!rc && u->drops_database)
        show_line(u->cli, "database: %s is dropped, with the accounts %s and %s", config->database_name, config->database_user,
                  config->database_owner_user);
    return rc;
}

/* For who removes the packages when the database cannot be asked any more. While that is there, it knows better. */
static int uninstall_note_records(struct uninstall *u, struct err *err) {
    _cleanup_free_ char *path = db_settings_beside(cli_config_path(u->cli), RECORDS_FILE);
    int rc = path ? strbuf_check(&u->records, "the list of records", err) : err_set(err, ERR_NOMEM, "out of memory");
    return rc ? rc : fs_write_atomic(path, u->records.data, u->records.len, RECORDS_MODE, err);
}

static void uninstall_leave_made(struct uninstall *u, const json_t *cluster) {
    const char *name = json_get_string(cluster, "name"), *provider = json_get_string(cluster, "provider");
    strbuf_addf(&u->records, "machines of Kubernetes cluster %s, made with the provider %s\n", name, provider);
    cli_note("kaasctl: the machines of Kubernetes cluster %s stay at the vCenter, in the folder %s where the provider %s says",
             name, name, provider);
}

static int uninstall_do(struct uninstall *u, struct err *err) {
    const json_t *item;
    size_t i;
    int rc = 0;
    json_array_foreach (u->made, i, item)
        uninstall_leave_made(u, item);
    json_array_foreach (u->clusters, i, item) {
        rc = rc ? rc : uninstall_disconnect(u, item, err);
        rc = rc ? rc : cli_flush(u->cli, err);
    }
    /* HX before the vCenters: it may ask the vCenter's record whether it is us who withdraw */
    json_array_foreach (u->hx, i, item) {
        rc = rc ? rc : uninstall_withdraw(u, item, err);
        rc = rc ? rc : cli_flush(u->cli, err);
    }
    json_array_foreach (u->vcenters, i, item) {
        rc = rc ? rc : uninstall_unregister(u, item, err);
        rc = rc ? rc : cli_flush(u->cli, err);
    }
    rc = rc ? rc : uninstall_end_sessions(u, err);
    rc = rc ? rc : uninstall_drop(u, err);
    return rc || !u->drops_database ? rc : uninstall_note_records(u, err);
}

static void uninstall_tell_left(struct uninstall *u) {
    struct cli *cli = u->cli;
    const char *config = cli_config_path(cli);
    show_gap(cli);
    show_line(cli, "Left on this host, and on that of each replica:");
    show_line(cli, "  kaasd, which runs on until: systemctl disable --now kaasd");
    show_line(cli, "  the packages: apt-get purge kaas-server kaas-cli kaas-ui");
    show_line(cli, "  %s and the files beside it, and %s", config, cli->config.state_dir);
    show_line(cli, "  the master key %s: without it no backup of the database can be read", cli->config.secrets_master_key_file);
    if (!u->drops_database)
        show_line(cli, "  the database %s with the accounts %s and %s", cli->config.database_name, cli->config.database_user,
                  cli->config.database_owner_user);
}

/* -- the command ------------------------------------------------------------------------------------------------------------------- */

/* Without us nobody knows which machines are whose, nor has the keys of their cluster. */
static int uninstall_check_made(struct uninstall *u, struct err *err) {
    const size_t count = json_array_size(u->made);
    const char *first = json_get_string(json_array_get(u->made, 0), "name");
    if (!count)
        return 0;
    (void)err_set(err, ERR_CONFLICT, "%zu Kubernetes cluster%s made by KaaS, nothing was changed: %s%s", count,
                  count == 1 ? " was" : "s were", first, count == 1 ? "" : " and others");
    return err_remedy(err, "delete it first: kaasctl cluster delete %s; with --force its machines stay, and its keys are lost",
                      name_quote(first).text);
}

static int uninstall_check(struct uninstall *u, struct err *err) {
    const json_t *vcenter, *first = NULL;
    size_t i;
    if (!u->is_dry && opt_get(&u->cli->given, "force"))
        return 0;
    int rc = uninstall_check_made(u, err);
    if (rc || !u->stuck)
        return rc;
    json_array_foreach (u->vcenters, i, vcenter)
        if (!first && json_get_string(vcenter, "problem"))
            first = vcenter;
    (void)err_set(err, ERR_UPSTREAM, "at %u of %zu vCenters it is not possible, nothing was changed: %s: %s", u->stuck,
                  json_array_size(u->vcenters), json_get_string(first, "name"), json_get_string(first, "problem"));
    return err_remedy(err, "mend that, or give an account of that vCenter: --user %s=NAME; with --force its record stays there",
                      json_get_string(first, "name"));
}

/* What stands as the database has it: an answer also while kaasd does not run. */
static int uninstall_list_records(struct cli *cli, struct err *err) {
    _cleanup_(store_free) struct store *store = NULL;
    struct hx_publication_list told = {0};
    struct kube_connection_list clusters = {0};
    struct vcenter_list vcenters = {0};
    struct made_name_list made = {0};
    int rc = db_settings_open(&cli->config, cli_config_path(cli), DB_ACCOUNT_RUNTIME, &store, err);
    if (!rc)
        rc = vcenter_store_list(store, &vcenters, err);
    if (!rc)
        rc = hx_publication_store_list(store, &told, err);
    if (!rc)
        rc = kube_store_list(store, &clusters, err);
    if (!rc)
        rc = made_store_list_names(store, &made, err);
    for (size_t i = 0; !rc && i < made.count; i++)
        show_line(cli, "machines of Kubernetes cluster %s", made.items[i].name);
    for (size_t i = 0; !rc && i < clusters.count; i++)
        show_line(cli, "Kubernetes cluster %s at %s", clusters.items[i].cluster_id, clusters.items[i].address);
    for (size_t i = 0; !rc && i < vcenters.count; i++)
        if (vcenters.items[i].registered_at_ms)
            show_line(cli, "vCenter %s, extension %s", vcenters.items[i].name, vcenters.items[i].extension_key);
    for (size_t i = 0; !rc && i < told.count; i++)
        if (told.items[i].expires_at_ms > clock_wall_ms())
            show_line(cli, "HX cluster %s, until it forgets by itself", told.items[i].hx_id);
    vcenter_list_done(&vcenters);
    hx_publication_list_done(&told);
    kube_connection_list_done(&clusters);
    made_name_list_done(&made);
    return rc;
}

int cmd_uninstall(struct cli *cli, struct err *err) {
    __attribute__((cleanup(uninstall_done))) struct uninstall u = {
        .cli = cli,
        .vcenters = json_array(),
        .hx = json_array(),
        .clusters = json_array(),
        .made = json_array(),
        .accounts = json_array(),
        .own = json_object(),
        .admin = {.socket = opt_get(&cli->given, "database-socket"), .user = opt_get(&cli->given, "database-admin")},
        .is_dry = opt_get(&cli->given, "dry-run"),
        .drops_database = opt_get(&cli->given, "drop-database"),
    };
    int rc;
    strbuf_init(&u.records, RECORDS_BYTES_MAX);
    rc = cli_refuse_server(cli, "kaasd", err);
    rc = rc ? rc : cli_load_config(cli, err);
    if (rc)
        return rc;
    if (opt_get(&cli->given, "records"))
        return uninstall_list_records(cli, err);
    rc = uninstall_look(&u, err);
    if (!rc)
        rc = uninstall_tell_plan(&u, err);
    if (!rc)
        rc = uninstall_check(&u, err);
    if (rc || u.is_dry)
        return rc;
    rc = cli_flush(cli, err);
    if (!rc)
        rc = cli_ask(cli, err);
    if (!rc)
        rc = uninstall_do(&u, err);
    if (!rc)
        uninstall_tell_left(&u);
    return rc;
}
