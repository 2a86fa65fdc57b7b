/* The commands of kaasctl, and the steps in which one runs. Layer 7 (cli). The table of all commands is cli_commands.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "cli_show.h"
#include "json.h"

/* One command. A plain call needs only its row of the table: options become the request, the object that the last argument names is found, the question is
 * asked, the call is made, the answer is shown. In texts and calls {1} stands for the first argument, {name} for the member `name` of the answer or else of
 * the object, and {name:10} for at most 10 bytes of it. */
struct cli_command {
    const char *group;               /* "vcenter"; for single words the command itself */
    const char *verb;                /* "add"; NULL for single words */
    const char *arguments;           /* "PRINCIPAL CLUSTER", "[USER]": one in brackets may be left out */
    const char *about;               /* one line */
    const struct opt_spec *options;  /* NULL: none of its own */
    const struct cli_kind *of;       /* kind of the object that the last argument names; NULL: no object is looked up */
    const char *call;                /* "PATCH /v2/users/{id}"; NULL: no call is made, the object that was found is shown */
    const char *question;            /* asked before the call; NULL: none */
    const struct cli_column *list;   /* columns, if the answer is a list; */
    const struct cli_column *object; /* or lines, if it is one object; */
    const char *says;                /* or one line that says that it is done */
    bool has_ids;                    /* -o name shows ids of its items even where they have names */
    int lines;                       /* items of a list that are shown without --lines; 0: all */
    const char *if_empty;            /* text of the error (wrong usage) if no option gives anything to send */
    const char *if_ambiguous; /* remedy when a name fits several objects, which are listed; "": kaasd's; NULL: cannot happen */
    int (*more)(struct cli *cli, json_t *body,
                struct err *err); /* refuses, or adds to the body what is not in the options; NULL: nothing */
    int (*send)(struct cli *cli, json_t *body, json_t **answer, struct err *err); /* in place of cli_call; NULL: that */
    int (*tell)(struct cli *cli, json_t *answer, struct err *err);                /* in place of cli_show_result; NULL: that */
    int (*run)(struct cli *cli, struct err *err);                                 /* in place of cli_run_steps; NULL: that */
};

/* All commands, in the order of the help; ended by a NULL group. */
extern const struct cli_command cli_commands[];

/* Options that every command takes; ended by a NULL name. */
extern const struct opt_spec cli_common_options[];

/* Reads argv into cli->command and cli->given. If a help or the version was asked for, cli->out has it, and cli->command stays NULL: there is nothing to
 * run. ERR_INVALID with exit status 2 for wrong usage. */
int cli_parse(struct cli *cli, int argc, char **argv, struct err *err);

/* -- steps, for commands that do more than one plain call ----------------------------------------------------------------------- */

/* Runs the steps of a plain call: options and `more` make the body, the object is found, the question asked, the call made, the answer shown. The
 * body is wiped. */
int cli_run_steps(struct cli *cli, struct err *err);

/* Finds the object of the kind `of` that the last argument names, once, and sets cli->object, which stays NULL if no argument is given. Errors of
 * cli_find. */
int cli_find_object(struct cli *cli, struct err *err);

/* Asks the command's question about cli->object, unless cli->is_asked. Errors of cli_confirm. */
int cli_ask(struct cli *cli, struct err *err);

/* Makes the command's call (or cli->call) with cli->object: as cli_send or, for a list, cli_list. */
int cli_call(struct cli *cli, json_t *body, json_t **answer, struct err *err);

/* Makes any call: `call` is "PUT /v2/users/{id}", with members of `object` put in; `body` is sent as the body, or as the query of a GET; a DELETE sends
 * neither. Both may be NULL. *answer is freed by json_decref, NULL if there is none; `answer` may be NULL. Connects if necessary. Errors of cli_client_call;
 * for a name that fits several objects, the candidates and the remedy of the command are added. */
int cli_send(struct cli *cli, const char *call, const json_t *object, json_t *body, json_t **answer, struct err *err);

/* Takes over the error of a call; for a name that fits several objects, adds the candidates and the remedy of the command. Returns its code. For calls that are
 * not made by cli_call, cli_send or cli_list, which do this themselves. */
int cli_fail(struct cli *cli, const struct err *why, struct err *err);

/* Gets a list, as many items as --lines says, or without it the command; says on standard error when there are more. `path` as the call of cli_send, without
 * GET; `query` as its body. *items is freed by json_decref. */
int cli_list(struct cli *cli, const char *path, const json_t *object, const json_t *query, json_t **items, struct err *err);

/* Appends the path of a call with its query, percent-encoded: as cli_send. ERR_NOMEM, ERR_TOO_LARGE. */
int cli_add_path(struct cli *cli, const char *text, const json_t *object, const json_t *query, struct strbuf *path,
                 struct err *err);

/* Shows the answer, or cli->object without one, as the command says (list, object, says). */
int cli_show_result(struct cli *cli, json_t *answer, struct err *err);

/* -- what commands do by themselves: the members `run`, `more` and `tell` of the table -------------------------------------------- */

typedef int cli_run_fn(struct cli *cli, struct err *err);
cli_run_fn cmd_login, cmd_logout, cmd_init, cmd_db_migrate, cmd_db_status, cmd_config_check, cmd_vcenter_status,
    cmd_cluster_import, cmd_audit_actions, cmd_audit_verify, cmd_audit_accept, cmd_session_end, cmd_key_rotate_master,
    cmd_key_remove_master, cmd_key_forget_sealed, cmd_doctor, cmd_health, cmd_version, cmd_metrics, cmd_backup, cmd_restore,
    cmd_uninstall, cmd_support_bundle, cmd_cluster_disconnect, cmd_cluster_delete, cmd_cluster_doctor, cmd_job_watch;
typedef int cli_more_fn(struct cli *cli, json_t *body, struct err *err);
cli_more_fn cmd_vcenter_add, cmd_vcenter_set, cmd_vcenter_trust, cmd_vcenter_set_password, cmd_vcenter_set_login_account,
    cmd_vcenter_test_login_account, cmd_vcenter_set_hx_credential, cmd_vcenter_register, cmd_vcenter_unregister, cmd_cluster_add,
    cmd_cluster_set, cmd_cluster_status, cmd_cluster_list, cmd_cluster_create, cmd_cluster_connect, cmd_hx_connect, cmd_peer_set,
    cmd_user_add, cmd_user_password, cmd_service_add, cmd_service_set, cmd_grant_list, cmd_grant_add, cmd_grant_remove,
    cmd_role_mapping_add, cmd_role_mapping_remove, cmd_ldap_set, cmd_ldap_remove, cmd_ldap_test, cmd_key_rotate_signing,
    cmd_provider_apply, cmd_provider_remove;
typedef int cli_send_fn(struct cli *cli, json_t *body, json_t **answer, struct err *err);
cli_send_fn cmd_grant_send_new, cmd_vcenter_send, cmd_vcenter_send_trust, cmd_cluster_send_list, cmd_cluster_send_connect,
    cmd_cluster_send_health, cmd_job_send_begin, cmd_pilot_send;
typedef int cli_tell_fn(struct cli *cli, json_t *answer, struct err *err);
cli_tell_fn cmd_vcenter_tell_login_account, cmd_vcenter_tell_added, cmd_vcenter_tell_registered, cmd_vcenter_tell_unregistered,
    cmd_hx_tell, cmd_hx_tell_publication, cmd_peer_tell_test, cmd_user_tell_added, cmd_user_tell_password, cmd_access_tell,
    cmd_ldap_tell_test, cmd_whoami_tell, cmd_kerberos_tell, cmd_health_tell, cmd_key_tell_signing, cmd_key_tell_master,
    cmd_cluster_tell_status, cmd_cluster_tell_kubeconfig, cmd_cluster_tell_connected, cmd_cluster_tell_test,
    cmd_cluster_tell_health, cmd_impact_tell_host, cmd_pilot_tell, cmd_job_tell, cmd_job_tell_begun, cmd_provider_tell_check;

/* True for the error of a call that passes: kaasd is away or has no place just now, and will be back. Who watches something goes on. */
bool cmd_cluster_is_passing(int code);

struct setup_user;
/* Checks that kaasd can start as this user with this configuration; tells faults line by line. ERR_CONFIG if there are any. */
int cmd_config_check_as(struct cli *cli, const struct setup_user *user, const char *path, struct err *err);

/* Puts a password for cli->object, a vCenter, into the body: from the file that the option `file` names, or asked for with `whose` ("Password of root") and the
 * vCenter's name in the question. Errors of cli_get_password. */
int cmd_vcenter_put_password(struct cli *cli, json_t *body, const char *whose, const char *file, struct err *err);

/* Shows a certificate (the API's Certificate) under a title, on standard error. */
void cmd_note_certificate(const char *title, const json_t *certificate);

/* Adds a line for each way by which kaasd can log in to a vCenter, with whether it works. */
void cmd_vcenter_add_ways(struct table *t, const char *indent, const json_t *ways);

/* Appends the status of a vCenter (the API's VcenterStatus) as a block of lines. ERR_NOMEM. */
int cmd_vcenter_show_status(struct cli *cli, const json_t *status, struct err *err);

/* -- finding what an argument names ---------------------------------------------------------------------- */

/* A kind of objects that have names and ids. */
struct cli_kind {
    const char *word;                                  /* "vCenter" */
    const char *command;                               /* the command that lists them */
    const char *path;                                  /* of the list in the REST interface */
    const struct cli_column *shown;                    /* three columns of the candidates when a name fits several */
    bool (*fits)(const json_t *item, const char *ref); /* true if `ref` names the item */
    bool has_own_path;                                 /* PATH/ID is asked before the list is searched */
};

/* vCenters by instance UUID, name, address or address:port; local users by name in any case, or id; the others by name or id. */
extern const struct cli_kind cli_vcenters, cli_clusters, cli_hx_clusters, cli_users, cli_services;

/* Finds the one object of this kind that `ref` names. *out is the API's object, freed by json_decref. Connects if necessary.
 * ERR_NOT_FOUND; ERR_AMBIGUOUS with the candidates listed below the error. */
int cli_find(struct cli *cli, const struct cli_kind *kind, const char *ref, json_t **out, struct err *err);

/* True if `ref` names this vCenter. */
bool cli_is_vcenter(const json_t *vcenter, const char *ref);

/* True if `path` means this vSphere cluster, an object with datacenter and name (vsphere_cluster_has_path). */
bool cli_has_path(const json_t *vsphere, const char *path);

/* For columns: the address of a vCenter, with the port if it is not the usual one. */
void show_vcenter_address(struct table *t, const json_t *vcenter);

/* Splits "VCENTER:REST" at the longest prefix that names one of these vCenters: *vcenter is borrowed from the array, *rest points into `text`. Without
 * such a prefix *vcenter is the only vCenter of the array, or NULL if there are several, and *rest is `text`. ERR_AMBIGUOUS. */
int cli_split_vcenter(const json_t *vcenters, const char *text, const json_t **vcenter, const char **rest, struct err *err);

/* Adds the `candidates` of the server's last problem, if there are any, below the error. */
void cli_add_candidates(struct cli *cli);
