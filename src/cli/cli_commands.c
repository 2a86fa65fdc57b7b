/* THE table of commands of kaasctl, and the options of each. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_commands.h"
#include "cli_named.h"

#define OPTIONS static const struct opt_spec
#define END \
    { NULL, NULL, NULL, 0, false }

const struct opt_spec cli_common_options[] = {
    {"config", "FILE", "configuration of kaasd (default " CONFIG_DEFAULT_PATH ")", 'c', false},
    {"server", "URL", "talk to https://HOST:PORT instead of the admin socket", 0, false},
    {"ca-file", "FILE", "CA of the server's certificate (default: those of the system)", 0, false},
    {"user", "NAME", "who signs in at --server", 'u', false},
    {"source", "SOURCE", "who checks the password: local (default), vcenter:NAME, or a directory", 0, false},
    {"password-file", "FILE", "file with the password, - for standard input (default: ask)", 0, false},
    {"output", "FORMAT", "table (default) or json", 'o', false},
    {"yes", NULL, "do not ask for confirmation", 'y', false},
    {"help", NULL, "print help, then exit", 'h', false},
    {"version", NULL, "print the version, then exit", 0, false},
    END,
};

OPTIONS init_options[] = {
    {"database-socket", "PATH", "unix socket of MariaDB", 0, false},
    {"database-host", "HOST[:PORT]", "MariaDB on another machine, by TLS", 0, false},
    {"database-ca-file", "FILE", "CA of its certificate", 0, false},
    {"database-admin", "USER", "database account that may create accounts (default: your own)", 0, false},
    {"database-admin-password-file", "FILE", "its password, - for standard input", 0, false},
    {"public-url", "URL", "https address under which vCenter and browsers reach kaasd", 0, false},
    {"listen", "ADDRESS:PORT", "where kaasd listens (default: all addresses, port of --public-url)", 0, false},
    {"admin", "NAME", "name of the first administrator (default admin)", 0, false},
    {"admin-password-file", "FILE", "file with the first administrator's password (default: a one-time password is made)", 0,
     false},
    {"service-user", "NAME", "user that runs kaasd, for whom root makes the files (default kaas)", 0, false},
    END,
};

OPTIONS config_check_options[] = {
    {"service-user", "NAME", "user that runs kaasd, as whom root checks (default kaas, if there is one)", 0, false},
    END,
};

OPTIONS migrate_options[] = {
    {"done", "FILE", "a half-applied file whose statement took effect", 0, false},
    {"redo", "FILE", "a half-applied file whose statement did not take effect", 0, false},
    END,
};

OPTIONS vcenter_add_options[] = {
    {"name", "NAME", "name shown to people (default: the address)", 0, false},
    {"thumbprint", "SHA256", "SHA-256 of the certificate, compared beforehand", 0, false},
    {"ca-file", "FILE", "CA certificates that sign the vCenter's", 0, false},
    {"tunnel-port", "PORT", "port for the login by certificate through the tunnel (default 80, 0: off)", 0, false},
    {"direct-port", "PORT", "port of vpxd for the direct login by certificate (default 0: off)", 0, false},
    END,
};

OPTIONS register_options[] = {
    {"user", "NAME", "vCenter account, used once and not kept (before the command: who signs in at --server)", 'u', false},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)", 0, false},
    {"take-over", NULL, "overwrite the record of another installation, after showing whose it is", 0, false},
    {"dry-run", NULL, "print the record, what differs, and the steps; change nothing", 0, false},
    {"create-role", "[NAME]", "make a role with least privileges (--create-role=NAME; default \"Harmony KaaS\")", 0, false},
    {"ovf-env", "FILE", "OVF environment of a solution install, - for standard input: no account needed", 0, false},
    {"with-provisioning", NULL, "with --create-role: what provisioning needs, too", 0, false},
    {"service-account", "NAME", "service account of the extension to log in by where certificates cannot (8.0 U2)", 0, false},
    {"login-account", "NAME", "account to log in by where nothing else can; kept, sealed; gets the role", 0, false},
    {"login-password-file", "FILE", "file with the password of that account (default: ask)", 0, false},
    END,
};

OPTIONS vcenter_status_options[] = {
    {"short", NULL, "one line for each, with what is not as it should be", 0, false},
    END,
};

OPTIONS vcenter_set_options[] = {
    {"name", "NAME", "name shown to people", 0, false},
    {"address", "HOST[:PORT]", "where it is now; the same vCenter must answer there", 0, false},
    {"port", "PORT", "port of the SDK endpoint (443)", 0, false},
    {"tunnel-port", "PORT", "port for the login by certificate through the tunnel (0: off)", 0, false},
    {"direct-port", "PORT", "port of vpxd for the direct login by certificate (0: off)", 0, false},
    {"thumbprint", "SHA256", "with --address: SHA-256 of its certificate there, compared beforehand", 0, false},
    {"ca-file", "FILE", "with --address: CA certificates that sign it there", 0, false},
    END,
};

OPTIONS vcenter_trust_options[] = {
    {"sha256", "HEX", "SHA-256 of the new certificate, compared beforehand", 0, false},
    {"ca-file", "FILE", "CA certificates that sign it", 0, false},
    {"yes-after-look", NULL, "show both certificates and trust the new one without asking", 0, false},
    END,
};

OPTIONS set_password_options[] = {
    {"password-file", "FILE", "file with the new password, - for standard input (default: ask)", 0, false},
    END,
};

OPTIONS unregister_options[] = {
    {"user", "NAME", "vCenter account, used once and not kept (default: kaasd's own login, if it may)", 'u', false},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)", 0, false},
    {"dry-run", NULL, "print what would be removed; change nothing", 0, false},
    END,
};

#define CLUSTER_OPTIONS                                                                                                     \
    {"name", "NAME", "name of the cluster", 0, false},                                                                      \
        {"vsphere-cluster", "[VCENTER:]DATACENTER/CLUSTER", "where it runs; may be repeated", 0, true},                     \
        {"vcenter", "VCENTER", "vCenter of all --vsphere-cluster, which then are paths only", 0, false},                    \
        {"kubernetes-version", "VERSION", "such as 1.31.2", 0, false}, {"description", "TEXT", "free text", 0, false},      \
        {"api-endpoint", "URL", "https address of the Kubernetes API", 0, false},                                           \
        {"dashboard-url", "URL", "https address of the dashboard", 0, false},                                               \
        {"control-plane", "[READY/]DESIRED", "nodes of the control plane", 0, false},                                       \
        {"workers", "[READY/]DESIRED", "worker nodes", 0, false},                                                           \
        {"state", "STATE", "unknown, creating, ready, updating, degraded, unreachable, failed, deleting", 0, false},        \
        {"state-reason", "TEXT", "why, for people", 0, false}, {"label", "KEY=VALUE", "label; may be repeated", 0, true}, { \
        "node", "NAME,ROLE[,VCENTER_ID,VM_UUID]", "node, ROLE control_plane or worker; may be repeated", 0, true            \
    }

OPTIONS cluster_add_options[] = {CLUSTER_OPTIONS, END};
OPTIONS cluster_set_options[] = {
    CLUSTER_OPTIONS,
    {"clear", "MEMBER",
     "empty description, state-reason, api-endpoint, dashboard-url, labels, nodes or label:KEY; may be repeated", 0, true},
    END,
};

OPTIONS cluster_status_options[] = {
    {"state", "STATE", "creating, ready, updating, degraded, unreachable, failed, deleting or unknown", 0, false},
    {"reason", "TEXT", "why, for people; without it there is none", 0, false},
    {"control-plane", "[READY/]DESIRED", "nodes of the control plane", 0, false},
    {"workers", "[READY/]DESIRED", "worker nodes", 0, false},
    {"kubernetes-version", "VERSION", "e.g. 1.31.2", 0, false},
    {"api-endpoint", "URL", "https address of its API server", 0, false},
    {"node", "NAME,ROLE[,VCENTER_ID,VM_UUID]", "a node of all it has, ROLE control_plane or worker; may be repeated", 0, true},
    END,
};

OPTIONS cluster_list_options[] = {
    {"hx-cluster", "NAME|ID", "only those on this HX cluster", 0, false},
    {"vcenter", "VCENTER", "only those on this vCenter", 0, false},
    {"vsphere-cluster", "PATH", "with --vcenter: only those on this vSphere cluster", 0, false},
    {"state", "STATE[,STATE]", "only those in one of these states", 0, false},
    {"query", "TEXT", "only those with this text in name or description", 'q', false},
    {"sort", "KEY", "name, state, kubernetes_version, created_at, updated_at; -KEY for the reverse", 0, false},
    {"lines", "NUMBER", "so many at most (default all)", 0, false},
    {"watch", NULL, "show the list anew whenever it changes, until interrupted", 'w', false},
    END,
};

OPTIONS cluster_import_options[] = {
    {"atomic", NULL, "import all lines or none", 0, false},
    {"update", NULL, "change records whose name is there already", 0, false},
    END,
};

OPTIONS hx_list_options[] = {
    {"vcenter", "VCENTER", "only those of this vCenter", 0, false},
    END,
};

OPTIONS hx_set_options[] = {
    {"name", "NAME", "name of the HX cluster; empty: the discovered one again", 0, false},
    {"address", "HOST", "management address; empty: none", 0, false},
    END,
};

OPTIONS peer_set_options[] = {
    {"url", "URL", "https address at the controller that only those get who have signed in", 0, false},
    {"spn", "SPN", "its service principal name (default: HTTP/ and the host of the address)", 0, false},
    {"principal", "NAME", "our account in the keytab; \"\": the first that is no SPN", 0, false},
    {"ca", "FILE", "CA of its certificate: its text is stored", 0, false},
    {"sha256", "HEX", "or SHA-256 of the certificate itself", 0, false},
    END,
};

OPTIONS session_options[] = {
    {"principal", "PRINCIPAL", "only those of this person or program, by id or name", 0, false},
    END,
};

OPTIONS rotate_signing_options[] = {
    {"now", NULL, "sign with it after a moment, instead of publishing it first for a while", 0, false},
    {"drop-old", NULL, "end all tokens of the old key, too: for a key that others know", 0, false},
    END,
};

OPTIONS ldap_set_options[] = {
    {"kind", "KIND", "ad (Active Directory) or openldap (any other LDAP server)", 0, false},
    {"url", "URL", "ldaps://HOST[:PORT], or ldap://HOST[:PORT] for StartTLS; may be repeated: tried in this order", 0, true},
    {"ca", "FILE", "CA of the servers' certificates: its text is stored", 0, false},
    {"ca-path", "PATH", "the same as a file that lies on each replica", 0, false},
    {"search-base", "DN", "below which people are looked for", 0, false},
    {"user-filter", "FILTER", "which entry a name means, {name} stands for the name; \"\": the usual one", 0, false},
    {"group-base", "DN", "below which groups are looked for; \"\": the search base", 0, false},
    {"group-filter", "FILTER", "which groups count; \"\": the usual one", 0, false},
    {"bind", "WAY", "password or keytab: what kaasd itself looks things up with", 0, false},
    {"bind-dn", "DN", "account for password; in Active Directory also a user principal name", 0, false},
    {"bind-password-file", "FILE", "file with its password, - for standard input; kept sealed", 0, false},
    {"keytab", "PATH", "file with the account's key, on each replica", 0, false},
    {"principal", "NAME", "account in the keytab, such as svc-kaas@AD.EXAMPLE.COM", 0, false},
    {"realm", "REALM", "Kerberos realm whose people are looked up here; may be repeated", 0, true},
    {"disable", NULL, "do not use it", 0, false},
    {"enable", NULL, "use it again", 0, false},
    END,
};

#define ROLE_ABOUT "user, service, provisioner or admin"

OPTIONS user_list_options[] = {
    {"role", "ROLE", "only users with this role", 0, false},
    END,
};

OPTIONS user_add_options[] = {
    {"role", "ROLE", ROLE_ABOUT " (default user)", 0, false},
    {"full-name", "TEXT", "name of the person", 0, false},
    {"password-file", "FILE", "file with the password, - for standard input (default: a one-time password is made)", 0, false},
    {"keep-password", NULL, "with --password-file: need not be changed at the first use", 0, false},
    END,
};

OPTIONS user_set_options[] = {
    {"name", "NAME", "name to sign in with", 0, false},
    {"full-name", "TEXT", "name of the person; empty: none", 0, false},
    {"role", "ROLE", ROLE_ABOUT, 0, false},
    {"disable", NULL, "ends all sessions; no sign-on until enabled", 0, false},
    {"enable", NULL, "may sign in again", 0, false},
    {"must-change-password", NULL, "nothing else until the password is changed", 0, false},
    END,
};

OPTIONS user_password_options[] = {
    {"password-file", "FILE", "file with the new password, - for standard input (default: a one-time password; your own: ask)", 0,
     false},
    {"old-password-file", "FILE", "your own: file with the old password, which signs in, too (default: ask once)", 0, false},
    {"keep-password", NULL, "with USER and --password-file: need not be changed at the first use", 0, false},
    END,
};

#define GRANT_TARGETS                                                                               \
    {"cluster", "NAME|ID", "on this Kubernetes cluster", 0, false},                                 \
        {"vsphere-cluster", "[VCENTER:]DATACENTER/CLUSTER", "on this vSphere cluster", 0, false}, { \
        "hx-cluster", "NAME|ID", "on this HX cluster", 0, false                                     \
    }

OPTIONS grant_list_options[] = {
    {"principal", "PRINCIPAL", "only those of this local user, vc:VCENTER:USER, or id of a person or group", 0, false},
    CLI_NAMED_OPTIONS,
    GRANT_TARGETS,
    END,
};
OPTIONS grant_add_options[] = {
    {"role", "ROLE", "viewer (default), or admin: who also gives and takes away grants on it", 0, false},
    CLI_NAMED_OPTIONS,
    GRANT_TARGETS,
    END,
};
OPTIONS grant_remove_options[] = {CLI_NAMED_OPTIONS, GRANT_TARGETS, END};

#define SERVICE_PROOFS                                                                                           \
    {"description", "TEXT", "free text", 0, false},                                                              \
        {"subject", "DN", "of certificates of server.client_ca_file, such as CN=hx-east,O=Example", 0, false}, { \
        "kerberos", "PRINCIPAL", "Kerberos principal with its realm", 0, false                                   \
    }
OPTIONS service_add_options[] = {
    {"certificate", "FILE|SHA256", "client certificate that is trusted by itself; may be repeated", 0, true},
    {"hx-cluster", "HX", "HX cluster that it is for; may be repeated; without any it sees nothing", 0, true},
    {"may-delegate", NULL, "it may sign in for users of vCenters", 0, false},
    SERVICE_PROOFS,
    END,
};
OPTIONS service_set_options[] = {
    {"name", "NAME", "another name", 0, false},
    {"add-certificate", "FILE|SHA256", "one certificate more; may be repeated", 0, true},
    {"remove-certificate", "SHA256", "one certificate less: its sessions end; may be repeated", 0, true},
    {"add-hx-cluster", "HX", "one HX cluster more; may be repeated", 0, true},
    {"remove-hx-cluster", "HX", "one HX cluster less; may be repeated", 0, true},
    {"may-delegate", NULL, "it may sign in for users of vCenters", 0, false},
    {"no-delegate", NULL, "it may not: sessions in which it acts for somebody end", 0, false},
    {"disable", NULL, "nobody signs in by it: its sessions end", 0, false},
    {"enable", NULL, "it may sign in again", 0, false},
    SERVICE_PROOFS,
    END,
};

OPTIONS role_mapping_list_options[] = {
    {"role", "ROLE", "only those that give this role", 0, false},
    END,
};
OPTIONS role_mapping_add_options[] = {
    {"role", "ROLE", "user, provisioner or admin", 0, false},
    {"privilege", "PRIVILEGE", "SUBJECT is a vCenter: whoever has this privilege on its root folder; with --role admin", 0,
     false},
    {"note", "TEXT", "what it is for", 0, false},
    CLI_NAMED_OPTIONS,
    END,
};

OPTIONS audit_list_options[] = {
    {"since", "TIME", "of this time or later, as 2026-03-01T00:00:00Z", 0, false},
    {"until", "TIME", "before this time", 0, false},
    {"action", "ACTION", "of this kind, such as login or cluster.create: see audit actions", 0, false},
    {"principal", "ID", "by this principal", 0, false},
    {"acting", "ID", "by this program, for others", 0, false},
    {"source", "WAY", "by people who had signed in this way, such as local or kerberos", 0, false},
    {"address", "ADDRESS", "from this client address", 0, false},
    {"object-kind", "KIND", "on objects of this kind", 0, false},
    {"object", "ID", "on this object", 0, false},
    {"result", "RESULT", "ok, or the code of an error", 0, false},
    {"request-id", "ID", "what this request did", 0, false},
    {"lines", "NUMBER", "so many at most (default 100)", 0, false},
    END,
};

OPTIONS doctor_options[] = {
    {"vcenter", "VCENTER", "examine this vCenter step by step, registered or only added", 0, false},
    {"address", "HOST[:PORT]", "look at an address that was not added: name, port, certificate", 0, false},
    END,
};

const struct cli_command cli_commands[] = {
    {"init", NULL, "", "first set-up: configuration, key, database, administrator", 0, 0, init_options, cmd_init},
    {"db", "migrate", "", "bring the database schema up to this version", 0, 0, migrate_options, cmd_db_migrate},
    {"db", "status", "", "tell whether the database schema fits this version", 0, 0, NULL, cmd_db_status},
    {"config", "check", "", "check the configuration and its files", 0, 0, config_check_options, cmd_config_check},
    {"vcenter", "add", "ADDRESS[:PORT]", "add a vCenter after confirming its certificate", 1, 1, vcenter_add_options,
     cmd_vcenter_add},
    {"vcenter", "register", "[VCENTER]", "make kaasd an extension of the vCenter", 0, 1, register_options, cmd_vcenter_register},
    {"vcenter", "unregister", "VCENTER", "remove kaasd's extension from the vCenter", 1, 1, unregister_options,
     cmd_vcenter_unregister},
    {"vcenter", "list", "", "list the vCenters", 0, 0, NULL, cmd_vcenter_list},
    {"vcenter", "show", "VCENTER", "show one vCenter", 1, 1, NULL, cmd_vcenter_show},
    {"vcenter", "status", "[VCENTER]", "ask the vCenters how things stand", 0, 1, vcenter_status_options, cmd_vcenter_status},
    {"vcenter", "rescan", "VCENTER", "read inventory and HX extensions again", 1, 1, NULL, cmd_vcenter_rescan},
    {"vcenter", "clusters", "VCENTER", "list the vSphere clusters of a vCenter", 1, 1, NULL, cmd_vcenter_clusters},
    {"vcenter", "set", "VCENTER", "change name, address or ports", 1, 1, vcenter_set_options, cmd_vcenter_set},
    {"vcenter", "trust", "VCENTER", "trust the certificate that the vCenter shows now", 1, 1, vcenter_trust_options,
     cmd_vcenter_trust},
    {"vcenter", "rotate-certificate", "VCENTER", "log in with a new certificate from now on", 1, 1, NULL, cmd_vcenter_rotate},
    {"vcenter", "set-password", "VCENTER", "tell kaasd the new password of its account there", 1, 1, set_password_options,
     cmd_vcenter_set_password},
    {"vcenter", "rm", "VCENTER", "forget a vCenter", 1, 1, NULL, cmd_vcenter_rm},
    {"cluster", "add", "", "add the record of a Kubernetes cluster", 0, 0, cluster_add_options, cmd_cluster_add},
    {"cluster", "list", "", "list the Kubernetes clusters", 0, 0, cluster_list_options, cmd_cluster_list},
    {"cluster", "show", "CLUSTER", "show one cluster", 1, 1, NULL, cmd_cluster_show},
    {"cluster", "set", "CLUSTER", "change the record of a cluster", 1, 1, cluster_set_options, cmd_cluster_set},
    {"cluster", "status", "CLUSTER", "report the status of a cluster, as its provisioner does", 1, 1, cluster_status_options,
     cmd_cluster_status},
    {"cluster", "nodes", "CLUSTER", "list the nodes of a cluster", 1, 1, NULL, cmd_cluster_nodes},
    {"cluster", "import", "FILE", "add the records in a file with one JSON object a line", 1, 1, cluster_import_options,
     cmd_cluster_import},
    {"cluster", "rm", "CLUSTER", "remove the record of a cluster", 1, 1, NULL, cmd_cluster_rm},
    {"hx", "list", "", "list the HX clusters", 0, 0, hx_list_options, cmd_hx_list},
    {"hx", "show", "HX", "show one HX cluster", 1, 1, NULL, cmd_hx_show},
    {"hx", "set", "HX", "set name or management address of an HX cluster", 1, 1, hx_set_options, cmd_hx_set},
    {"peer", "list", "", "list the controllers of HX clusters that kaasd signs in to", 0, 0, NULL, cmd_peer_list},
    {"peer", "show", "HX", "show the controller of an HX cluster, and whether it lets kaasd in", 1, 1, NULL, cmd_peer_show},
    {"peer", "set", "HX", "have kaasd sign in to the controller of an HX cluster by Kerberos", 1, 1, peer_set_options,
     cmd_peer_set},
    {"peer", "test", "HX", "sign in to it now", 1, 1, NULL, cmd_peer_test},
    {"peer", "remove", "HX", "sign in to it no more", 1, 1, NULL, cmd_peer_remove},
    {"user", "list", "", "list the local users", 0, 0, user_list_options, cmd_user_list},
    {"user", "add", "NAME", "add a local user", 1, 1, user_add_options, cmd_user_add},
    {"user", "set", "USER", "change a local user", 1, 1, user_set_options, cmd_user_set},
    {"user", "remove", "USER", "remove a local user", 1, 1, NULL, cmd_user_remove},
    {"user", "password", "[USER]", "set a user's password, or change your own", 0, 1, user_password_options, cmd_user_password},
    {"service", "list", "", "list the service accounts: programs that sign in", 0, 0, NULL, cmd_service_list},
    {"service", "show", "SERVICE", "show a service account", 1, 1, NULL, cmd_service_show},
    {"service", "add", "NAME", "add a service account", 1, 1, service_add_options, cmd_service_add},
    {"service", "set", "SERVICE", "change a service account", 1, 1, service_set_options, cmd_service_set},
    {"service", "remove", "SERVICE", "remove a service account", 1, 1, NULL, cmd_service_remove},
    {"grant", "list", "", "list who may see what by grants", 0, 0, grant_list_options, cmd_grant_list},
    {"grant", "add", "[PRINCIPAL]", "let a user or group see a cluster, vSphere cluster or HX cluster", 0, 1, grant_add_options,
     cmd_grant_add},
    {"grant", "remove", "[ID|PRINCIPAL]", "take a grant away", 0, 1, grant_remove_options, cmd_grant_remove},
    {"role-mapping", "list", "", "list which groups and people have which role", 0, 0, role_mapping_list_options,
     cmd_role_mapping_list},
    {"role-mapping", "add", "[SUBJECT]", "give a group or person a role, by name or by id: sid:S-1-5-21-..., ldap:SOURCE:UUID", 0,
     1, role_mapping_add_options, cmd_role_mapping_add},
    {"role-mapping", "remove", "ID|SUBJECT|NAME", "take a role away", 1, 1, NULL, cmd_role_mapping_remove},
    {"ldap", "list", "", "list the directories that people sign in by", 0, 0, NULL, cmd_ldap_list},
    {"ldap", "show", "NAME", "show a directory, and how it is", 1, 1, NULL, cmd_ldap_show},
    {"ldap", "set", "NAME", "add a directory, or change one", 1, 1, ldap_set_options, cmd_ldap_set},
    {"ldap", "test", "NAME [USER]", "walk to each server step by step, with a remedy for each failure", 1, 2, NULL,
     cmd_ldap_test},
    {"ldap", "remove", "NAME", "remove a directory", 1, 1, NULL, cmd_ldap_remove},
    {"audit", "list", "", "list who did what, newest first", 0, 0, audit_list_options, cmd_audit_list},
    {"audit", "actions", "", "list the kinds of deeds that are written down", 0, 0, NULL, cmd_audit_actions},
    {"audit", "verify", "", "find out whether lines were removed, changed or put in", 0, 0, NULL, cmd_audit_verify},
    {"audit", "accept-restore", "", "let this replica go on with a database that is older than its audit lines", 0, 0, NULL,
     cmd_audit_accept},
    {"access", "explain", "PRINCIPAL CLUSTER", "say why somebody sees a cluster, or does not", 2, 2, NULL, cmd_access_explain},
    {"session", "list", "", "list who is signed in", 0, 0, session_options, cmd_session_list},
    {"session", "end", "[ID]", "end a session, or all of a person", 0, 1, session_options, cmd_session_end},
    {"kerberos", "status", "", "show what is in the keytab, and whether it can be used", 0, 0, NULL, cmd_kerberos_status},
    {"key", "list", "", "list the keys that sign tokens", 0, 0, NULL, cmd_key_list},
    {"key", "master", "", "show which master keys seal secrets, and which replicas hold them", 0, 0, NULL, cmd_key_master},
    {"key", "rotate-master", "", "seal all secrets with a new master key", 0, 0, NULL, cmd_key_rotate_master},
    {"key", "remove-master", "KEY", "take an old master key that seals nothing out of the key file", 1, 1, NULL,
     cmd_key_remove_master},
    {"key", "rotate-signing", "", "sign tokens with a new key", 0, 0, rotate_signing_options, cmd_key_rotate_signing},
    {"doctor", NULL, "", "look for what is wrong, with a remedy for each finding", 0, 0, doctor_options, cmd_doctor},
    {"health", NULL, "", "health of kaasd in detail", 0, 0, NULL, cmd_health},
    {"version", NULL, "", "versions of kaasctl and kaasd", 0, 0, NULL, cmd_version},
    {"whoami", NULL, "", "who you are to kaasd", 0, 0, NULL, cmd_whoami},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};
