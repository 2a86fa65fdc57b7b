/* THE table of commands of kaasctl. Layer 6 (cli). Help and completion are made from it.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "cli.h"

struct cli_command {
    const char *group;     /* "vcenter"; for single words the command itself */
    const char *verb;      /* "add"; NULL for single words */
    const char *arguments; /* for the help: "ADDRESS[:PORT]", or "" */
    const char *about;     /* one line */
    size_t words_min, words_max;
    const struct opt_spec *options; /* NULL: none of its own */
    int (*run)(struct cli *cli, struct err *err);
};

/* All commands, in the order of the help; ended by a NULL group. */
extern const struct cli_command cli_commands[];

/* Options that every command takes; ended by a NULL name. */
extern const struct opt_spec cli_common_options[];

/* What kaasctl can do, one function each; options are those of their table. All: 0 or a negative code with `err` set. */
int cmd_init(struct cli *cli, struct err *err);
int cmd_db_migrate(struct cli *cli, struct err *err);
int cmd_db_status(struct cli *cli, struct err *err);
int cmd_config_check(struct cli *cli, struct err *err);
int cmd_vcenter_add(struct cli *cli, struct err *err);
int cmd_vcenter_list(struct cli *cli, struct err *err);
int cmd_vcenter_show(struct cli *cli, struct err *err);
int cmd_vcenter_rm(struct cli *cli, struct err *err);
int cmd_vcenter_register(struct cli *cli, struct err *err);
int cmd_vcenter_register_ovf(struct cli *cli, struct err *err);
int cmd_vcenter_unregister(struct cli *cli, struct err *err);
int cmd_vcenter_status(struct cli *cli, struct err *err);
int cmd_vcenter_rescan(struct cli *cli, struct err *err);
int cmd_vcenter_clusters(struct cli *cli, struct err *err);
int cmd_cluster_add(struct cli *cli, struct err *err);
int cmd_cluster_set(struct cli *cli, struct err *err);
int cmd_cluster_status(struct cli *cli, struct err *err);
int cmd_cluster_list(struct cli *cli, struct err *err);
int cmd_cluster_show(struct cli *cli, struct err *err);
int cmd_cluster_rm(struct cli *cli, struct err *err);
int cmd_cluster_nodes(struct cli *cli, struct err *err);
int cmd_cluster_import(struct cli *cli, struct err *err);
int cmd_hx_list(struct cli *cli, struct err *err);
int cmd_hx_show(struct cli *cli, struct err *err);
int cmd_hx_set(struct cli *cli, struct err *err);
int cmd_peer_list(struct cli *cli, struct err *err);
int cmd_peer_show(struct cli *cli, struct err *err);
int cmd_peer_set(struct cli *cli, struct err *err);
int cmd_peer_test(struct cli *cli, struct err *err);
int cmd_peer_remove(struct cli *cli, struct err *err);
int cmd_ldap_list(struct cli *cli, struct err *err);
int cmd_ldap_show(struct cli *cli, struct err *err);
int cmd_ldap_set(struct cli *cli, struct err *err);
int cmd_ldap_test(struct cli *cli, struct err *err);
int cmd_ldap_remove(struct cli *cli, struct err *err);
int cmd_user_list(struct cli *cli, struct err *err);
int cmd_user_add(struct cli *cli, struct err *err);
int cmd_user_set(struct cli *cli, struct err *err);
int cmd_user_remove(struct cli *cli, struct err *err);
int cmd_user_password(struct cli *cli, struct err *err);
int cmd_service_list(struct cli *cli, struct err *err);
int cmd_service_show(struct cli *cli, struct err *err);
int cmd_service_add(struct cli *cli, struct err *err);
int cmd_service_set(struct cli *cli, struct err *err);
int cmd_service_remove(struct cli *cli, struct err *err);
int cmd_grant_list(struct cli *cli, struct err *err);
int cmd_grant_add(struct cli *cli, struct err *err);
int cmd_grant_remove(struct cli *cli, struct err *err);
int cmd_role_mapping_list(struct cli *cli, struct err *err);
int cmd_role_mapping_add(struct cli *cli, struct err *err);
int cmd_role_mapping_remove(struct cli *cli, struct err *err);
int cmd_audit_list(struct cli *cli, struct err *err);
int cmd_audit_actions(struct cli *cli, struct err *err);
int cmd_audit_verify(struct cli *cli, struct err *err);
int cmd_audit_accept(struct cli *cli, struct err *err);
int cmd_vcenter_set(struct cli *cli, struct err *err);
int cmd_vcenter_set_password(struct cli *cli, struct err *err);
int cmd_vcenter_trust(struct cli *cli, struct err *err);
int cmd_vcenter_rotate(struct cli *cli, struct err *err);
int cmd_kerberos_status(struct cli *cli, struct err *err);
int cmd_key_list(struct cli *cli, struct err *err);
int cmd_key_rotate_signing(struct cli *cli, struct err *err);
int cmd_key_master(struct cli *cli, struct err *err);
int cmd_key_rotate_master(struct cli *cli, struct err *err);
int cmd_key_remove_master(struct cli *cli, struct err *err);
int cmd_access_explain(struct cli *cli, struct err *err);
int cmd_session_list(struct cli *cli, struct err *err);
int cmd_session_end(struct cli *cli, struct err *err);
int cmd_doctor(struct cli *cli, struct err *err);
int cmd_health(struct cli *cli, struct err *err);
int cmd_version(struct cli *cli, struct err *err);
int cmd_whoami(struct cli *cli, struct err *err);
