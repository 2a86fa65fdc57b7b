/* kaasctl key: what signs tokens, and what seals secrets in the database. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli_command.h"
#include "forget.h"
#include "names.h"
#include "os_user.h"
#include "setup_files.h"
#include "str.h"

#define CALL_LOOK "GET /v2/keys/master"
#define ASK_EVERY_NS 200000000L

/* -- keys that sign tokens -------------------------------------------------------------------------------------------------------- */

/* They come in one piece, which takes no limit as the pages of a list do. */
int cmd_key_tell_signing(struct cli *cli, json_t *answer, struct err *err) {
    return show_list(cli, json_object_get(answer, "items"), cli->command->object, err);
}

int cmd_key_rotate_signing(struct cli *cli, json_t *body, struct err *err) {
    const bool drops_old = opt_get(&cli->given, "drop-old") != NULL;
    json_put_bool(body, "immediately", opt_get(&cli->given, "now") != NULL);
    json_put_bool(body, "drop_old", drops_old);
    cli->is_asked = !drops_old;
    return cli_connect(cli, err); /* before the question */
}

/* -- keys that seal secrets ------------------------------------------------------------------------------------------------------- */

int cmd_key_tell_master(struct cli *cli, json_t *answer, struct err *err) {
    static const struct cli_column keys[] = {
        {"KEY", "id"}, {"SEALS", "seals", show_yes_no}, {"SEALED VALUES", "sealed_values"}, {NULL}};
    static const struct cli_column replicas[] = {{"REPLICA", "name"},
                                                 {"RUNNING", "is_running", show_yes_no},
                                                 {"HOLDS NEWEST", "holds_newest", show_yes_no},
                                                 {"KEYS", "keys", show_words},
                                                 {NULL}};
    int rc;
    if (cli->is_json)
        return show_json(cli, answer, err);
    rc = show_list(cli, json_object_get(answer, "keys"), keys, err);
    show_gap(cli);
    return rc ? rc : show_list(cli, json_object_get(answer, "replicas"), replicas, err);
}

/* How keys stand, and where the key file is, which is a matter of this host. */
static int cmd_key_look(struct cli *cli, const char **path, json_t **answer, struct err *err) {
    int rc = cli_refuse_server(cli, "kaasd", err);
    rc = rc ? rc : cli_load_config(cli, err);
    if (rc)
        return rc;
    *path = cli->config.secrets_master_key_file;
    return cli_send(cli, CALL_LOOK, NULL, NULL, answer, err);
}

static const char *cmd_key_sealing_id(const json_t *answer) {
    const json_t *keys = json_object_get(answer, "keys");
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (json_is_true(json_object_get(json_array_get(keys, i), "seals")))
            return json_get_string(json_array_get(keys, i), "id");
    return "";
}

/* A new key, unless one is waiting in the file since an attempt before. */
static int cmd_key_provide_key(struct cli *cli, const char *path, const json_t *answer, struct err *err) {
    char fresh[SEAL_KEY_ID_BYTES];
    struct seal_ids ids;
    int rc = master_key_file_read(path, &ids, err);
    if (rc || !str_eq(ids.items[ids.count - 1], cmd_key_sealing_id(answer)))
        return rc;
    rc = cli_ask(cli, err);
    if (rc)
        return rc;
    rc = master_key_file_add(path, fresh, err);
    if (!rc)
        cli_note("added master key %s to %s\n", fresh, path);
    return rc;
}

/* kaasd goes on by itself; this only looks on. */
static int cmd_key_look_on(struct cli *cli, struct err *err) {
    long long told = -1;
    for (;;) {
        _cleanup_json_ json_t *answer = NULL;
        const struct timespec pause = {.tv_nsec = ASK_EVERY_NS};
        long long remaining;
        int rc = cli_send(cli, CALL_LOOK, NULL, NULL, &answer, err);
        if (rc)
            return rc;
        remaining = (long long)json_get_int(answer, "remaining", 0);
        if (!remaining)
            return cmd_key_tell_master(cli, answer, err);
        if (remaining != told)
            cli_note("to be sealed anew: %lld\n", remaining);
        told = remaining;
        (void)nanosleep(&pause, NULL);
    }
}

int cmd_key_rotate_master(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *before = NULL, *after = NULL;
    const char *path = NULL;
    int rc = cmd_key_look(cli, &path, &before, err);
    if (rc)
        return rc;
    if (json_get_int(before, "remaining", 0)) { /* one that was begun is ended first */
        cli_note("a rotation is under way\n");
        return cmd_key_look_on(cli, err);
    }
    rc = cmd_key_provide_key(cli, path, before, err);
    if (rc)
        return rc;
    rc = cli_send(cli, "POST /v2/keys/master/rotate", NULL, NULL, &after, err);
    if (rc)
        return rc;
    cli_note("master key %s seals from now on\n", cmd_key_sealing_id(after));
    rc = cmd_key_look_on(cli, err);
    if (!rc)
        show_line(
            cli,
            "All secrets are sealed by %s. Old copies of the database still need the old key: keep it with them. Then: kaasctl key "
            "remove-master %s",
            cmd_key_sealing_id(after), cmd_key_sealing_id(before));
    return rc;
}

static int cmd_key_check_unused(const json_t *answer, const char *id, struct err *err) {
    const json_t *keys = json_object_get(answer, "keys");
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const json_t *key = json_array_get(keys, i);
        long long values = (long long)json_get_int(key, "sealed_values", 0);
        if (!str_eq(json_get_string(key, "id"), id))
            continue;
        if (json_is_true(json_object_get(key, "seals")))
            return err_set(err, ERR_CONFLICT, "master key %s is the one that seals", id);
        if (values) {
            (void)err_set(err, ERR_CONFLICT, "master key %s still seals %lld values", id, values);
            return err_remedy(err, "wait for kaasctl key rotate-master to end");
        }
        return 0;
    }
    return err_set(err, ERR_NOT_FOUND, "kaasd holds no master key %.16s", id);
}

int cmd_key_remove_master(struct cli *cli, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    const char *path = NULL, *id = cli_word(cli, 0);
    int rc = cmd_key_look(cli, &path, &answer, err);
    if (rc)
        return rc;
    rc = cmd_key_check_unused(answer, id, err);
    if (rc)
        return rc;
    rc = cli_ask(cli, err);
    if (rc)
        return rc;
    rc = master_key_file_remove(path, id, err);
    if (!rc)
        show_line(cli, "master key %s is no longer in %s; copy the file to the other replicas", id, path);
    return rc;
}

/* -- a master key that is lost ---------------------------------------------------------------------------------------------------- */

/* A line for each thing that has to be registered or typed anew, with the command for it, if there is one. */
static void cmd_key_put_loss(const struct seal_loss *loss, json_t *list) {
    const struct name_quoted name = name_quote(loss->name), user = name_quote(loss->user);
    const char *what = NULL;
    _cleanup_free_ char *command = NULL;
    json_t *one;
    switch (loss->owner) {
    case SEAL_OWNER_VCENTER_LOGIN:
        what = "vCenter";
        command = str_format("kaasctl vcenter register %s --user ADMINISTRATOR", name.text);
        break;
    case SEAL_OWNER_LDAP_SOURCE:
        what = "directory";
        command = str_format("kaasctl ldap set %s --bind-password-file -", name.text);
        break;
    case SEAL_OWNER_HX_CREDENTIAL:
        what = "HX user of vCenter";
        command = str_format("kaasctl vcenter set-hx-credential %s --user %s", name.text, user.text);
        break;
    case SEAL_OWNER_HX_CONNECTION:
        what = "HX cluster";
        command = str_format("kaasctl hx connect %s --user %s", name.text, user.text);
        break;
    case SEAL_OWNER_KUBE_CONNECTION:
        what = "Kubernetes cluster";
        command = str_format("kaasctl cluster reconnect %s --kubeconfig FILE", name.text);
        break;
    case SEAL_OWNER_CLUSTER_PKI: what = "keys of the Kubernetes cluster"; break;
    case SEAL_OWNER_SIGNING_KEY: /* made anew by themselves */
    case SEAL_OWNER_AUDIT_KEY:
    case SEAL_OWNER_COUNT:
    default: return;
    }
    one = json_object();
    json_put_string(one, "kind", what);
    json_put_string(one, "name", loss->name);
    json_put_string(one, "command", command);
    json_add(list, one);
}

static json_t *cmd_key_list_losses(const struct forget *f) {
    json_t *list = json_array();
    for (size_t i = 0; i < f->losses.count; i++)
        cmd_key_put_loss(&f->losses.items[i], list);
    return list;
}

/* One that works has its keys in memory: nothing is lost as long as it runs. */
static int cmd_key_check_daemon(struct cli *cli, struct err *err) {
    if (cli_connect_public(cli, NULL) || cli_send(cli, "GET /readyz", NULL, NULL, NULL, NULL))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "kaasd runs here, and works: it holds its master keys in memory");
    return err_remedy(err, "look for a copy of the key file first; if there is none: systemctl stop kaasd, then repeat this");
}

static int cmd_key_ask_forget(struct cli *cli, const struct forget *f, const json_t *list, struct err *err) {
    cli_note("master key %s is not in %s%s.", f->missing.data, cli->config.secrets_master_key_file,
             f->held.len ? "" : ", which is not there");
    cli_note("What it sealed is given up for good, and has to be registered or typed anew:");
    for (size_t i = 0; i < json_array_size(list); i++)
        cli_note("  %s %s", json_get_string(json_array_get(list, i), "kind"), json_get_string(json_array_get(list, i), "name"));
    cli_note("and the keys of tokens%s.", f->is_audit_key_lost ? ", and the key of the audit log" : "");
    return cli_confirm(
        cli, "Is there no copy of the key file anywhere, with another replica or beside a backup? Type yes to go on without it: ",
        err);
}

static int cmd_key_tell_forgotten(struct cli *cli, const struct forget *f, json_t *list, struct err *err) {
    const char *path = cli->config.secrets_master_key_file;
    _cleanup_json_ json_t *told = json_object();
    show_line(cli, "Master key %s seals from now on: %s %s; keep a copy of it in another place, and copy it to other replicas.",
              f->key_id, path, f->is_key_new ? "was made" : "holds it");
    show_line(
        cli,
        "Users, grants, clusters and vCenters are as they were. Tokens that were issued are good no more: everybody signs in again.");
    if (f->is_audit_key_lost)
        show_line(
            cli,
            "The audit log has a new key: %llu lines were taken as they stand. On each other host: kaasctl audit accept-restore",
            (unsigned long long)f->audit_lines);
    show_line(cli, "Next:");
    show_line(cli, "  systemctl restart kaasd");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *command = json_get_string(one, "command");
        if (command)
            show_line(cli, "  %s", command);
        else
            show_line(cli, "  %s %s: its nodes go on, but there can be no further one; move what runs there to a new cluster",
                      json_get_string(one, "kind"), json_get_string(one, "name"));
    }
    if (!cli->is_json)
        return 0;
    json_put_string(told, "master_key", f->key_id);
    json_put_bool(told, "is_new", f->is_key_new);
    json_put_int(told, "audit_lines", (int64_t)f->audit_lines);
    json_put(told, "to_do", json_incref(list));
    return show_json(cli, told, err);
}

int cmd_key_forget_sealed(struct cli *cli, struct err *err) {
    _cleanup_free_ char *config_path = cli_config_path_absolute(cli), *who = os_user_describe(geteuid(), getpid());
    _cleanup_done_(forget_done) struct forget f = {.config = NULL};
    _cleanup_json_ json_t *list = NULL;
    struct setup_user user;
    int rc = cli_refuse_server(cli, "kaasd", err);
    if (rc)
        return rc;
    rc = setup_find_user(opt_get(&cli->given, "service-user"), &user, err);
    if (rc)
        return cli_as_usage(cli, rc);
    rc = cli_load_config(cli, err);
    rc = rc ? rc : cmd_key_check_daemon(cli, err);
    rc = rc ? rc : forget_look(&cli->config, config_path, &f, err);
    if (rc)
        return rc;
    list = cmd_key_list_losses(&f);
    rc = cmd_key_ask_forget(cli, &f, list, err);
    rc = rc ? rc : forget_run(&f, who, &user, err);
    return rc ? rc : cmd_key_tell_forgotten(cli, &f, list, err);
}
