/* What a command of kaasctl is, and the steps in which it runs. Layer 7 (cli). The table of all of them is cli_commands.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "cli_find.h"
#include "cli_show.h"
#include "json.h"

/* One command, which is one entry of the table if it is a plain call: options become the request, what an argument names is found, the person is
 * asked, the call is made, the answer is shown. Texts with {1} or {name} are those of cli_expand. */
struct cli_command {
    const char *group;               /* "vcenter"; for single words the command itself */
    const char *verb;                /* "add"; NULL for single words */
    const char *arguments;           /* "PRINCIPAL CLUSTER", "[USER]": one in brackets may be left out */
    const char *about;               /* one line */
    const struct opt_spec *options;  /* NULL: none of its own */
    const struct cli_kind *of;       /* what the last argument names; NULL: nothing that is looked up */
    const char *call;                /* "PATCH /v2/users/{id}"; NULL: none, what was found is shown */
    const char *question;            /* before the call; NULL: none */
    const struct cli_column *list;   /* the answer is a list that has these columns; */
    const struct cli_column *object; /* or one object; */
    const char *says;                /* or one line says that it is done */
    int lines;                       /* of a list, where --lines is not given; 0: all */
    bool has_secret;                 /* in its body */
    const char *if_empty;            /* wrong usage, if nothing is given that could be sent */
    const char *if_ambiguous; /* remedy when a name fits several, which are told; "": that of kaasd; NULL: it does not happen */
    int (*more)(struct cli *cli, json_t *body, struct err *err);   /* puts what the options alone do not say; NULL: nothing */
    int (*tell)(struct cli *cli, json_t *answer, struct err *err); /* shows it in place of the three above; NULL: they do */
    int (*run)(struct cli *cli, struct err *err);                  /* all of it in place of the above; NULL: they do */
};

/* All commands, in the order of the help; ended by a NULL group. */
extern const struct cli_command cli_commands[];

/* Options that every command takes; ended by a NULL name. */
extern const struct opt_spec cli_common_options[];

/* Reads argv into cli->command and cli->given. cli->command stays NULL when there is nothing to run because a help or the version was asked for; it
 * is in cli->out then. Everything wrong: ERR_INVALID with exit status 2. */
int cli_parse(struct cli *cli, int argc, char **argv, struct err *err);

/* Runs cli->command. 0 or a negative code, with cli->status where that alone does not tell the exit status. */
int cli_run(struct cli *cli, struct err *err);

/* -- steps, for commands that do more than one plain call ----------------------------------------------------------------------- */

/* Puts the options of the command into the body as their kinds say. ERR_INVALID (usage), ERR_IO. */
int cli_put_options(struct cli *cli, json_t *body, struct err *err);

/* The same for the query of a path. */
void cli_add_query(struct cli *cli, struct strbuf *path);

/* Wrong usage with if_empty if there is nothing in the body. */
int cli_check_body(struct cli *cli, const json_t *body, struct err *err);

/* Appends `text` with {1} replaced by the first argument, {name} by that member of `first`, or else of `second`, and {name:10} by at most
 * 10 bytes of it. Both may be NULL. ERR_NOMEM, ERR_TOO_LARGE. */
int cli_expand(struct cli *cli, const char *text, const json_t *first, const json_t *second, struct strbuf *out, struct err *err);

/* Asks the command's question, of this object (or NULL). As cli_confirm. */
int cli_ask(struct cli *cli, const json_t *object, struct err *err);

/* Makes the command's call: `object` is what was found, `body` what is sent; both may be NULL. *answer is freed by json_decref, NULL if
 * there is none. Connects if necessary. Errors of cli_client_call, with candidates below where the command has if_ambiguous. */
int cli_call(struct cli *cli, const json_t *object, json_t *body, json_t **answer, struct err *err);

/* Takes over an error of a call; a name that fits several is told with the candidates and the remedy of the command. Returns its code. */
int cli_fail(struct cli *cli, const struct err *why, struct err *err);

/* Shows the answer, or without one the object, as the command has it. */
int cli_show_result(struct cli *cli, const json_t *object, json_t *answer, struct err *err);

/* -- what commands do by themselves: the members `run`, `more` and `tell` of the table -------------------------------------------- */

typedef int cli_run_fn(struct cli *cli, struct err *err);
cli_run_fn cmd_init, cmd_db_migrate, cmd_db_status, cmd_config_check, cmd_vcenter_add, cmd_vcenter_register,
    cmd_vcenter_unregister, cmd_vcenter_status, cmd_vcenter_set, cmd_vcenter_trust, cmd_vcenter_set_password, cmd_cluster_list,
    cmd_cluster_import, cmd_peer_set, cmd_user_add, cmd_user_password, cmd_service_set, cmd_grant_list, cmd_grant_remove,
    cmd_role_mapping_remove, cmd_ldap_set, cmd_ldap_remove, cmd_audit_actions, cmd_audit_verify, cmd_audit_accept,
    cmd_session_end, cmd_key_rotate_master, cmd_key_remove_master, cmd_key_rotate_signing, cmd_doctor, cmd_version;
typedef int cli_more_fn(struct cli *cli, json_t *body, struct err *err);
cli_more_fn cmd_service_add, cmd_grant_add, cmd_role_mapping_add, cmd_ldap_test, cmd_cluster_add, cmd_cluster_set;
typedef int cli_tell_fn(struct cli *cli, json_t *answer, struct err *err);
cli_tell_fn cmd_hx_tell_list, cmd_peer_tell_test, cmd_access_tell, cmd_ldap_tell_test, cmd_whoami_tell, cmd_kerberos_tell,
    cmd_health_tell, cmd_key_tell_signing, cmd_key_tell_master, cmd_cluster_tell_status;

/* Appends the status of a vCenter (the API's VcenterStatus) as a block of lines. ERR_NOMEM. */
int cmd_vcenter_show_status(struct cli *cli, const json_t *status, struct err *err);
