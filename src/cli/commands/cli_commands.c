/* THE table of commands of kaasctl: what each takes, calls and shows; also for help and completion. A plain call is one entry. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_command.h"

#define OPTIONS static const struct opt_spec
#define COLUMNS static const struct cli_column /* several a line, as they are shown: clang-format would put one */
#define ROW(...) \
    { __VA_ARGS__ }
#define END \
    { NULL }

/* -- this host ------------------------------------------------------------------------------------------------------------- */

OPTIONS init_options[] = {
    {"database-socket", "PATH", "unix socket of MariaDB"},
    {"database-host", "HOST[:PORT]", "MariaDB on another machine, by TLS"},
    {"database-ca-file", "FILE", "CA of its certificate"},
    {"database-admin", "USER", "database account that may create accounts (default: your own)"},
    {"database-admin-password-file", "FILE", "its password, - for standard input"},
    {"public-url", "URL", "https address under which vCenter and browsers reach kaasd"},
    {"listen", "ADDRESS:PORT", "where kaasd listens (default: all addresses, port of --public-url)"},
    {"admin", "NAME", "name of the first administrator (default admin)"},
    {"admin-password-file", "FILE", "file with the first administrator's password (default: a one-time password is made)"},
    {"ovf-env", "FILE", "OVF environment of the appliance, - for standard input: has address and password"},
    {"service-user", "NAME", "user that runs kaasd, for whom root makes the files (default kaas)"},
    END,
};

OPTIONS config_check_options[] = {
    {"service-user", "NAME", "user that runs kaasd, as whom root checks (default kaas, if there is one)"},
    END,
};

OPTIONS migrate_options[] = {
    {"done", "FILE", "a half-applied file whose statement took effect"},
    {"redo", "FILE", "a half-applied file whose statement did not take effect"},
    END,
};

#define DATABASE_ADMIN_OPTIONS                                                                                       \
    {"database-socket", "PATH", "unix socket of MariaDB (default: that of the configuration in the backup)"},        \
        {"database-admin", "USER", "database account that may create databases and accounts (default: your own)"}, { \
        "database-admin-password-file", "FILE", "its password, - for standard input"                                 \
    }

OPTIONS backup_options[] = {
    {"keep", "NUMBER", "in a folder: remove older good backups of this installation beyond so many (default: none)"},
    {"verify", NULL, "prove the backup TARGET instead, in a scratch database"},
    {"master-key", "FILE", "with --verify: master key file (default: that of this host)"},
    DATABASE_ADMIN_OPTIONS,
    END,
};

OPTIONS restore_options[] = {
    {"master-key", "FILE", "the master key file, which is not in the backup", .is_required = true},
    {"also", "FOLDER", "put files of the backup there as well", .is_repeatable = true},
    DATABASE_ADMIN_OPTIONS,
    {"service-user", "NAME", "user that runs kaasd, for whom root makes the files (default kaas)"},
    END,
};

OPTIONS support_bundle_options[] = {
    {"log", "FILE", "take the end of this log (default: that of the journal)"},
    END,
};

OPTIONS uninstall_options[] = {
    {"dry-run", NULL, "look at each vCenter and tell what would be done; change nothing"},
    {"records", NULL, "only list where records of this installation stand, by its database; kaasd need not run"},
    {"user", "NAME", "account of the vCenters, or VCENTER=NAME, used once and not kept (default: kaasd's own login, if it may)",
     OPT_OWN, NULL, 'u', .is_repeatable = true},
    {"password-file", "FILE", "file with its password, or VCENTER=FILE; - for standard input (default: ask)",
     .is_repeatable = true},
    {"force", NULL, "go on without a vCenter that cannot be reached or refuses, and with clusters made by KaaS; they stay"},
    {"drop-database", NULL, "drop the database and both accounts, too"},
    {"database-socket", "PATH", "unix socket of MariaDB"},
    {"database-admin", "USER", "database account that may drop accounts (default: your own)"},
    {"database-admin-password-file", "FILE", "its password, - for standard input"},
    END,
};

OPTIONS doctor_options[] = {
    {"vcenter", "VCENTER", "examine this vCenter step by step, registered or only added"},
    {"address", "HOST[:PORT]", "look at an address that was not added: name, port, certificate"},
    END,
};

OPTIONS pilot_options[] = {
    {"read-only", NULL, "say that nothing is to be changed; the pilot does nothing else", .is_required = true},
    {"vcenter", "ADDRESS[:PORT]", "the vCenter to be asked", OPT_TEXT, "vcenter", .is_required = true},
    {"user", "NAME", "account of the vCenter that may read all (ReadOnly will do)", OPT_TEXT, "user", 'u', .is_required = true},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)"},
    {"sha256", "HEX", "SHA-256 of the vCenter's certificate, compared beforehand", OPT_SHA256, "thumbprint",
     .also = "thumbprint"},
    {"ca-file", "FILE", "CA certificates that sign the vCenter's", OPT_CA_FILE, "ca_pem", .also = "ca"},
    {"tunnel-port", "PORT", "port of the tunnel (default 80, 0: not looked at)", OPT_PORT, "tunnel_port"},
    {"direct-port", "PORT", "port of vpxd itself (default 8089, 0: not looked at)", OPT_PORT, "direct_port"},
    {"wait", "SECONDS", "how long the vCenter is to hold a call that waits for news (default 60)"},
    {"record", "FOLDER", "keep the exchanges there, without names, addresses and secrets; it must be new or empty"},
    {"hx", "ADDRESS[:PORT]", "HX Connect of an HX cluster, to be asked as well", OPT_TEXT, "hx"},
    {"hx-user", "NAME", "its user (default local/admin); takes one of the five logins in 15 minutes", OPT_TEXT, "hx_user"},
    {"hx-password-file", "FILE", "file with that user's password, - for standard input (default: ask)"},
    {"hx-sha256", "HEX", "SHA-256 of HX Connect's certificate, compared beforehand", OPT_SHA256, "hx_thumbprint",
     .also = "hx-thumbprint"},
    {"hx-ca-file", "FILE", "CA certificates that sign it", OPT_CA_FILE, "hx_ca_pem", .also = "hx-ca"},
    END,
};

/* -- vCenters -------------------------------------------------------------------------------------------------------------- */

OPTIONS vcenter_add_options[] = {
    {"name", "NAME", "name shown to people (default: the address)", OPT_TEXT, "name"},
    {"sha256", "HEX", "SHA-256 of the certificate, compared beforehand", OPT_SHA256, "thumbprint_sha256", .also = "thumbprint"},
    {"ca-file", "FILE", "CA certificates that sign the vCenter's", OPT_CA_FILE, "ca_pem", .also = "ca"},
    {"tunnel-port", "PORT", "port for the login by certificate through the tunnel (default 80, 0: off)", OPT_PORT, "tunnel_port"},
    {"direct-port", "PORT", "port of vpxd for the direct login by certificate (default 0: off)", OPT_PORT, "direct_port"},
    END,
};

OPTIONS register_options[] = {
    {"user", "NAME", "vCenter account, used once and not kept (before the command: who signs in at --server)", OPT_OWN, NULL,
     'u'},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)"},
    {"take-over", NULL, "overwrite the record of another installation, after showing whose it is", OPT_TRUE, "take_over"},
    {"dry-run", NULL, "print the record, what differs, and the steps; change nothing", OPT_TRUE, "dry_run"},
    {"create-role", "[NAME]", "make a role with least privileges (--create-role=NAME; default \"Harmony KaaS\")"},
    {"ovf-env", "FILE", "OVF environment of a solution install, - for standard input: no account needed"},
    {"on", "PATH",
     "with --create-role: what is needed on objects on this folder, datacenter or vSphere cluster, as DC0/HX-East, or on all: /; may "
     "be repeated (default: the vSphere clusters with HX or Kubernetes clusters)",
     OPT_TEXTS, "role_on", 0, true},
    {"with-provisioning", NULL, "with --create-role and --on: what building clusters there needs, too", OPT_TRUE,
     "role_provisions"},
    {"create-alarms", NULL, "make an alarm that turns with the state of Kubernetes clusters", OPT_TRUE, "create_alarms"},
    {"service-account", "NAME", "service account of the extension to log in by where certificates cannot (8.0 U2)"},
    {"login-account", "NAME", "account to log in by where nothing else can; kept, sealed; gets the role"},
    {"login-password-file", "FILE", "file with the password of that account (default: ask)"},
    END,
};

OPTIONS unregister_options[] = {
    {"user", "NAME", "vCenter account, used once and not kept (default: kaasd's own login, if it may)", OPT_OWN, NULL, 'u'},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)"},
    {"dry-run", NULL, "print what would be removed; change nothing", OPT_TRUE, "dry_run"},
    END,
};

OPTIONS vcenter_status_options[] = {
    {"short", NULL, "one line for each, with what is not as it should be"},
    END,
};

OPTIONS vcenter_set_options[] = {
    {"name", "NAME", "name shown to people", OPT_TEXT, "name"},
    {"address", "HOST[:PORT]", "where it is now; the same vCenter must answer there"},
    {"port", "PORT", "port of the SDK endpoint (443)", OPT_PORT, "port"},
    {"tunnel-port", "PORT", "port for the login by certificate through the tunnel (0: off)", OPT_PORT, "tunnel_port"},
    {"direct-port", "PORT", "port of vpxd for the direct login by certificate (0: off)", OPT_PORT, "direct_port"},
    {"sha256", "HEX", "with --address: SHA-256 of its certificate there, compared beforehand", OPT_SHA256, "thumbprint_sha256",
     .also = "thumbprint"},
    {"ca-file", "FILE", "with --address: CA certificates that sign it there", OPT_CA_FILE, "ca_pem", .also = "ca"},
    END,
};

OPTIONS vcenter_trust_options[] = {
    {"sha256", "HEX", "SHA-256 of the new certificate, compared beforehand", OPT_SHA256, "thumbprint_sha256",
     .also = "thumbprint"},
    {"ca-file", "FILE", "CA certificates that sign it", OPT_CA_FILE, "ca_pem", .also = "ca"},
    {"yes-after-look", NULL, "show both certificates and trust the new one without asking"},
    END,
};

OPTIONS set_password_options[] = {
    {"password-file", "FILE", "file with the new password, - for standard input (default: ask)"},
    END,
};

OPTIONS login_account_options[] = {
    {"user", "NAME", "the account, with its domain: user@domain", OPT_TEXT, "username"},
    {"service-account", NULL, "it is a service account of this extension (vCenter 8.0 Update 2 or newer)"},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)"},
    END,
};

COLUMNS login_account_columns[] = {
    {"Account", "username"},
    {"Kind", "kind"},
    {"Set", "set_at", show_time},
    END,
};

/* clang-format off */
COLUMNS vcenter_list[] = {
    {"NAME", "name"}, {"ADDRESS", NULL, show_vcenter_address}, {"STATE", "state"}, {"VERSION", "version"},
    {"REGISTERED", "registered", show_yes_no}, {"LOGIN", "login_strategy"}, {"ID", "id"}, END,
};

COLUMNS vcenter_columns[] = {
    {"Name", "name"}, {"Id", "id"}, {"Address", "address"}, {"Port", "port"}, {"Tunnel port", "tunnel_port"},
    {"Direct port", "direct_port"}, {"State", "state"}, {"Reason", "state_reason"}, {"Version", "version"},
    {"Build", "build"}, {"API version", "api_version"}, {"Registered", "registered", show_yes_no},
    {"Login", "login_strategy"}, {"Trusted by", "trust.mode"}, {"Thumbprint", "trust.thumbprint_sha256"},
    {"CA", "trust.ca_subjects", show_words}, {"Last contact", "last_contact_at", show_time},
    {"Added", "created_at", show_time}, END,
};

COLUMNS vsphere_cluster_list[] = {
    {"PATH", "path"}, {"MOREF", "moref"}, {"HX CLUSTER", "hx_cluster_id"}, END,
};

COLUMNS rescan_columns[] = {
    {"vSphere clusters", "vsphere_clusters"}, {"HX clusters", "hx_clusters"}, {"  added", "added"},
    {"  changed", "changed"}, {"  gone", "gone"}, {"Ignored keys", "ignored_keys", show_words},
    {"Scanned", "scanned_at", show_time}, END,
};
/* clang-format on */

/* -- clusters -------------------------------------------------------------------------------------------------------------- */

#define CLUSTER_OPTIONS(is_needed)                                                                                               \
    ROW("name", "NAME", "name of the cluster", OPT_TEXT, "name", 0, false, is_needed),                                           \
        ROW("vsphere-cluster", "[VCENTER:]DATACENTER/CLUSTER", "where it runs; may be repeated", OPT_OWN, NULL, 0, true,         \
            is_needed),                                                                                                          \
        ROW("vcenter", "VCENTER", "vCenter of all --vsphere-cluster, which then are paths only"),                                \
        ROW("kubernetes-version", "VERSION", "such as 1.31.2", OPT_TEXT, "kubernetes_version", 0, false, is_needed),             \
        ROW("description", "TEXT", "free text", OPT_TEXT, "description"),                                                        \
        ROW("api-endpoint", "URL", "https address of the Kubernetes API", OPT_TEXT, "api_endpoint"),                             \
        ROW("dashboard-url", "URL", "https address of the dashboard", OPT_TEXT, "dashboard_url"),                                \
        ROW("control-plane", "[READY/]DESIRED", "nodes of the control plane", OPT_REPLICAS, "control_plane"),                    \
        ROW("workers", "[READY/]DESIRED", "worker nodes", OPT_REPLICAS, "workers"),                                              \
        ROW("state", "STATE", "unknown, creating, ready, updating, degraded, unreachable, failed, deleting", OPT_TEXT, "state"), \
        ROW("state-reason", "TEXT", "why, for people", OPT_TEXT, "state_reason"),                                                \
        ROW("label", "KEY=VALUE", "label; may be repeated", OPT_LABEL, "labels", 0, true),                                       \
        ROW("node", "NAME,ROLE[,VCENTER_ID,VM_UUID]", "node, ROLE control_plane or worker; may be repeated", OPT_NODE, "nodes",  \
            0, true)

OPTIONS cluster_add_options[] = {CLUSTER_OPTIONS(true), END};

OPTIONS cluster_set_options[] = {
    CLUSTER_OPTIONS(false),
    {"clear", "MEMBER",
     "empty description, state-reason, api-endpoint, dashboard-url, labels, nodes or label:KEY; may be repeated", OPT_OWN, NULL,
     0, true},
    END,
};

OPTIONS cluster_status_options[] = {
    {"state", "STATE", "creating, ready, updating, degraded, unreachable, failed, deleting or unknown", OPT_TEXT, "state", 0,
     false, true},
    {"reason", "TEXT", "why, for people; without it there is none", OPT_TEXT, "reason"},
    {"periodic", NULL, "of a program that says so again every few minutes: without another one the state becomes unknown"},
    {"control-plane", "[READY/]DESIRED", "nodes of the control plane", OPT_REPLICAS, "control_plane"},
    {"workers", "[READY/]DESIRED", "worker nodes", OPT_REPLICAS, "workers"},
    {"kubernetes-version", "VERSION", "e.g. 1.31.2", OPT_TEXT, "kubernetes_version"},
    {"api-endpoint", "URL", "https address of its API server", OPT_TEXT, "api_endpoint"},
    {"node", "NAME,ROLE[,VCENTER_ID,VM_UUID]", "a node of all it has, ROLE control_plane or worker; may be repeated", OPT_NODE,
     "nodes", 0, true},
    END,
};

OPTIONS cluster_list_options[] = {
    {"hx-cluster", "NAME|ID", "only those on this HX cluster"},
    {"vcenter", "VCENTER", "only those on this vCenter", OPT_TEXT, "vcenter"},
    {"vsphere-cluster", "PATH", "only those on this vSphere cluster, as in cluster add", OPT_TEXT, "vsphere_cluster"},
    {"state", "STATE[,STATE]", "only those in one of these states", OPT_TEXT, "state"},
    {"query", "TEXT", "only those with each of these words in name, description, version, state or labels", OPT_TEXT, "q", 'q'},
    {"sort", "KEY",
     "name, state, kubernetes_version, control_plane, workers, hx_cluster, created_at, updated_at; -KEY for the reverse",
     OPT_TEXT, "sort"},
    {"lines", "NUMBER", "so many at most (default all)"},
    {"watch", NULL, "show the list anew whenever it changes, until interrupted", OPT_OWN, NULL, 'w'},
    END,
};

OPTIONS cluster_connect_options[] = {
    {"kubeconfig", "FILE", "file that says how to reach the cluster, - for standard input; used once, and kept nowhere"},
    {"context", "NAME", "context of it (default: the current one)", OPT_TEXT, "context"},
    {"address", "URL", "https address of the API server, in place of a kubeconfig", OPT_TEXT, "address"},
    {"token-file", "FILE",
     "with --address: file with a token of somebody who may make accounts and roles there, - for standard input"},
    {"ca-file", "FILE", "with --address: CA certificates that sign the server's", OPT_CA_FILE, "ca_pem", .also = "ca"},
    {"sha256", "HEX", "where there is no CA: SHA-256 of the server's certificate, compared beforehand", OPT_SHA256,
     "thumbprint_sha256", .also = "thumbprint"},
    {"dry-run", NULL, "go through the steps that make nothing", OPT_TRUE, "dry_run"},
    END,
};

OPTIONS cluster_create_options[] = {
    {"file", "FILE", "what the cluster is to be, as a document in YAML or JSON; options go before it", OPT_OWN, NULL, 'f'},
    {"provider", "PROVIDER", "where it is made, by name or id", OPT_TEXT, "provider"},
    {"control-planes", "N", "machines of the control plane: 1, 3, 5 or 7 (default: 1)"},
    {"workers", "N", "machines for what runs in the cluster (default: 0)"},
    {"kubernetes-version", "VERSION", "e.g. 1.36.3 (default: that of the provider's template)", OPT_TEXT, "kubernetes_version"},
    {"control-plane-cpus", "N", "CPUs of each (default: 2)"},
    {"control-plane-memory", "MIB", "memory of each (default: 4096)"},
    {"worker-cpus", "N", "CPUs of each (default: 2)"},
    {"worker-memory", "MIB", "memory of each (default: 4096)"},
    {"pod-network", "CIDR", "addresses of its pods (default: 10.244.0.0/16)", OPT_TEXT, "pod_network"},
    {"service-network", "CIDR", "addresses of its Services (default: 10.96.0.0/12)", OPT_TEXT, "service_network"},
    {"network", "NAME", "what connects its pods: the name of a bundle, or bridge (default: kube-router)", OPT_TEXT, "network"},
    {"api-address", "ADDRESS", "of its API (default: the first of the provider's that is free)", OPT_TEXT, "api_address"},
    {"api-external", "HOST:PORT", "a balancer of your own in front of its API, in place of an address", OPT_TEXT, "api_external"},
    {"service-addresses", "RANGE",
     "of the provider's, for its Services; may be given again, \"\" for none (default: 8 that are free)", OPT_TEXTS,
     "service_addresses", 0, true},
    {"no-wait", NULL, "do not show the job's lines: it goes on by itself", OPT_OWN},
    END,
};

OPTIONS cluster_disconnect_options[] = {
    {"forget", NULL, "also if the cluster is gone; what could not be removed there is told"},
    {"when-back", NULL, "as soon as the cluster answers, as a job that waits for it for up to a week", OPT_OWN},
    {"no-wait", NULL, "with --when-back: do not show the job's lines", OPT_OWN},
    END,
};

OPTIONS cluster_kubeconfig_options[] = {
    {"admin", NULL, "of an administrator, who may do everything there; there is no other yet", OPT_TRUE, "admin",
     .is_required = true},
    END,
};

OPTIONS cluster_health_options[] = {
    {"watch", NULL, "show it anew whenever it changes, until interrupted", OPT_OWN, NULL, 'w'},
    END,
};

OPTIONS cluster_import_options[] = {
    {"atomic", NULL, "import all lines or none"},
    {"update", NULL, "change records whose name is there already"},
    END,
};

/* clang-format off */
COLUMNS cluster_list[] = {
    {"NAME", "name"}, {"STATE", NULL, show_state}, {"VERSION", "kubernetes_version"},
    {"CONTROL PLANE", "control_plane", show_replicas}, {"WORKERS", "workers", show_replicas},
    {"VSPHERE CLUSTERS", "placement.vsphere_clusters", show_places}, {"DESCRIPTION", "description"}, END,
};

COLUMNS cluster_columns[] = {
    {"Name", "name"}, {"Id", "id"}, {"Description", "description"}, {"State", "state"}, {"  reason", "state_reason"},
    {"  source", NULL, show_state_source}, {"Kubernetes", "kubernetes_version"}, {"API endpoint", "api_endpoint"},
    {"Dashboard", "dashboard_url"}, {"Control plane", "control_plane", show_replicas},
    {"Workers", "workers", show_replicas}, {"vSphere clusters", "placement.vsphere_clusters", show_places},
    {"HX clusters", "placement.hx_clusters", show_hx_names}, {"  source", "placement.source"},
    {"  hidden", "placement.hidden"}, {"Labels", "labels", show_labels}, {"Created", "created_at", show_time},
    {"Updated", "updated_at", show_time}, {"Observed", "observed_at", show_time}, END,
};

COLUMNS cluster_connection_list[] = {
    {"CLUSTER", "cluster.name"}, {"ADDRESS", "address"}, {"STATE", "status.state"}, {"REASON", "status.reason"},
    {"CHECKED", "status.checked_at", show_time}, {"VERSION", "status.version"}, {"TOKEN UNTIL", "status.token_until", show_time}, END,
};

COLUMNS cluster_connection_columns[] = {
    {"Cluster", "cluster.name"}, {"  id", "cluster.id"}, {"  uid of kube-system", "cluster_uid"}, {"Address", "address"},
    {"  name in TLS", "tls_server_name"}, {"CA", "ca_pem", show_given}, {"SHA-256", "thumbprint_sha256"},
    {"State", "status.state"}, {"  since", "status.since", show_time}, {"  checked", "status.checked_at", show_time},
    {"  reason", "status.reason"}, {"  detail", "status.detail"}, {"  remedy", "status.remedy"}, {"Version", "status.version"},
    {"Token until", "status.token_until", show_time}, {"Missing rights", "status.missing_rights"},
    {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time}, END,
};

COLUMNS cluster_health_columns[] = {
    {"Cluster", "cluster.name"}, {"State", "state"}, {"  reason", "state_reason"}, {"  source", "state_source"},
    {"  since", "state_since", show_time}, {"Connection", "connection.state"}, {"  since", "connection.since", show_time},
    {"  checked", "connection.checked_at", show_time}, {"  reason", "connection.reason"}, {"  detail", "connection.detail"},
    {"  remedy", "connection.remedy"}, {"Version", "connection.version"}, END,
};

COLUMNS node_list[] = {
    {"NAME", "name"}, {"ROLE", "role"}, {"STATE", "state"}, {"VM", "vm.name"}, {"MATCHED BY", "vm.match"}, {"POWER", "vm.power"},
    {"CONNECTION", "vm.connection"}, {"HOST", "host.name"}, {"VSPHERE CLUSTER", "vsphere_cluster", show_places},
    {"DECLARED VM", "vm_instance_uuid"}, END,
};
/* clang-format on */

/* -- HX clusters and their controllers ------------------------------------------------------------------------------------- */

OPTIONS job_list_options[] = {
    {"object", "ID", "only those about this object", OPT_TEXT, "object_id"},
    {"kind", "KIND", "only those of this kind, such as cluster.disconnect", OPT_TEXT, "kind"},
    {"state", "STATE", "only those in this state: queued, running, undoing, done, failed, canceled", OPT_TEXT, "state"},
    END,
};

OPTIONS no_wait_options[] = {
    {"no-wait", NULL, "do not show the job's lines: it goes on by itself", OPT_OWN},
    END,
};

/* clang-format off */
COLUMNS job_list[] = {
    {"ID", "id"}, {"TITLE", "title"}, {"STATE", "state"}, {"BEGAN", "created_at", show_time}, {"ENDED", "ended_at", show_time},
    {"BY", "created_by"}, {"REASON", "reason"}, END,
};

COLUMNS job_columns[] = {
    {"Job", "title"}, {"Id", "id"}, {"Kind", "kind"}, {"State", "state"}, {"  reason", "reason"}, {"  remedy", "remedy"},
    {"Replica", "owner"}, {"Began", "created_at", show_time}, {"  by", "created_by"}, {"Started", "started_at", show_time},
    {"Ended", "ended_at", show_time}, END,
};
/* clang-format on */

OPTIONS impact_host_options[] = {
    {"vcenter", "VCENTER", "of this vCenter, where several have such a host", OPT_TEXT, "vcenter"},
    END,
};

OPTIONS hx_list_options[] = {
    {"vcenter", "VCENTER", "only those of this vCenter", OPT_TEXT, "vcenter"},
    END,
};

OPTIONS hx_set_options[] = {
    {"name", "NAME", "name of the HX cluster; empty: the discovered one again", OPT_TEXT_OR_NULL, "name"},
    {"address", "HOST", "management address, as people open HX Connect; empty: none", OPT_TEXT_OR_NULL, "management_address"},
    END,
};

OPTIONS hx_credential_options[] = {
    {"user", "NAME", "user of HX that kaasd logs in as (default: admin)", OPT_TEXT, "user_name"},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)"},
    END,
};

COLUMNS hx_credential_columns[] = {
    {"User", "user_name"},
    {"Refused by an HX cluster", "refused_at", show_time},
    {"Created", "created_at", show_time},
    {"Updated", "updated_at", show_time},
    END,
};

OPTIONS hx_connect_options[] = {
    {"address", "HOST", "address of HX Connect (default: the management address, else one that vCenter tells)", OPT_TEXT,
     "address"},
    {"port", "PORT", "its port (default: 443)", OPT_PORT, "port"},
    {"user", "NAME", "user of HX that kaasd logs in as (default: admin)", OPT_TEXT, "user_name"},
    {"password-file", "FILE", "file with its password, - for standard input (default: ask)"},
    {"inherit", NULL, "user and password are those of its vCenter (kaasctl vcenter set-hx-credential)"},
    {"ca-file", "FILE", "CA of HX's certificate: its text is stored (default: hx.ca_file of kaasd)", OPT_CA_FILE, "ca_pem",
     .also = "ca"},
    {"sha256", "HEX", "or SHA-256 of the certificate itself", OPT_SHA256, "thumbprint_sha256", .also = "thumbprint"},
    END,
};

OPTIONS peer_set_options[] = {
    {"url", "URL", "https address at the controller that only those get who have signed in", OPT_TEXT_OR_NULL, "url"},
    {"spn", "SPN", "its service principal name (default: HTTP/ and the host of the address)", OPT_TEXT_OR_NULL, "spn"},
    {"principal", "NAME", "our account in the keytab; \"\": the first that is no SPN", OPT_TEXT_OR_NULL, "principal"},
    {"ca-file", "FILE", "CA of its certificate: its text is stored", OPT_CA_FILE, "ca_pem", .also = "ca"},
    {"sha256", "HEX", "or SHA-256 of the certificate itself", OPT_TEXT_OR_NULL, "thumbprint_sha256", .also = "thumbprint"},
    END,
};

/* clang-format off */
COLUMNS hx_list[] = {
    {"NAME", "name"}, {"NAME FROM", "name_source"}, {"VCENTER", "vcenter_name"}, {"VSPHERE CLUSTER", "vsphere_cluster", show_places},
    {"ADDRESS", "management_address"}, {"HX UUID", "hx_uuid"}, {"PRESENT", "present", show_yes_no}, {"LAST SEEN", "last_seen_at", show_time},
    {"ID", "id"}, END,
};

COLUMNS hx_columns[] = {
    {"Name", "name"}, {"Id", "id"}, {"Name from", "name_source"}, {"HX uuid", "hx_uuid"}, {"vCenter", "vcenter_name"}, {"vSphere cluster", "vsphere_cluster", show_places},
    {"Moref", "vsphere_cluster.moref"}, {"Management address", "management_address"}, {"Address from", "address_source"}, {"Panel in", "panel_origins", show_words},
    {"Present", "present", show_yes_no}, {"Last seen", "last_seen_at", show_time}, {"Clusters", "clusters.total"}, {"HX says", "facts.read_at", show_time},
    {"  version", "facts.version"}, {"  state", "facts.state"}, {"  resiliency", "facts.resiliency"}, {"  space", "facts.space"}, {"  capacity", "facts.capacity_bytes", show_bytes},
    {"  used", "facts.used_bytes", show_bytes}, {"  nodes", "facts.nodes_configured"}, {"  nodes online", "facts.nodes_online"}, {"  alarms", "facts.alarms"}, END,
};

COLUMNS address_list[] = {
    {"ADDRESS", "address"}, {"PORT", "port"}, {"FROM", "source"}, {"TRUSTED", "trusted", show_yes_no},
    {"SHA-256", "certificate.sha256"}, {"DETAIL", "detail"}, END,
};

COLUMNS hx_node_list[] = {
    {"CLUSTER", "cluster.name"}, {"NAME", "name"}, {"ROLE", "role"}, {"VM", "vm.name"}, {"POWER", "vm.power"},
    {"CONNECTION", "vm.connection"}, {"HOST", "host.name"}, {"VSPHERE CLUSTER", "vsphere_cluster", show_places}, END,
};

COLUMNS connection_list[] = {
    {"HX CLUSTER", "hx_cluster.name"}, {"ADDRESS", "address"}, {"STATE", "status.state"}, {"REASON", "status.reason"},
    {"CHECKED", "status.checked_at", show_time}, {"NAME AT HX", "status.facts.name"}, {"VERSION", "status.facts.version"},
    {"HEALTH", "status.facts.resiliency"}, END,
};

COLUMNS connection_columns[] = {
    {"HX cluster", "hx_cluster.name"}, {"  id", "hx_cluster.id"}, {"Address", "address"}, {"Port", "port"},
    {"User", "user_name"}, {"  of the vCenter", "inherited", show_yes_no}, {"SHA-256", "thumbprint_sha256"}, {"CA", "ca_pem", show_given},
    {"State", "status.state"}, {"  since", "status.since", show_time}, {"  checked", "status.checked_at", show_time},
    {"  milliseconds", "status.duration_ms"}, {"  reason", "status.reason"}, {"  detail", "status.detail"},
    {"  remedy", "status.remedy"}, {"  refused logins", "status.refusals"},
    {"  next login", "status.next_login_at", show_time}, {"HX says", "status.facts.read_at", show_time},
    {"  name", "status.facts.name"}, {"  uuid", "status.facts.uuid"}, {"  version", "status.facts.version"},
    {"  state", "status.facts.state"}, {"  resiliency", "status.facts.resiliency"}, {"  messages", "status.facts.messages"},
    {"  space", "status.facts.space"}, {"  capacity", "status.facts.capacity_bytes", show_bytes},
    {"  used", "status.facts.used_bytes", show_bytes}, {"  nodes", "status.facts.nodes_configured"},
    {"  nodes online", "status.facts.nodes_online"}, {"  alarms", "status.facts.alarms"}, {"  datacenter", "status.facts.datacenter"},
    {"  vSphere cluster", "status.facts.vsphere_cluster"}, {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time}, END,
};

COLUMNS publication_columns[] = {
    {"HX cluster", "hx_cluster.name"}, {"  id", "hx_cluster.id"}, {"Wanted", "wanted", show_yes_no}, {"State", "state"},
    {"  since", "since", show_time}, {"  tried", "tried_at", show_time}, {"  reason", "reason"}, {"  detail", "detail"},
    {"  remedy", "remedy"}, {"Published", "published_at", show_time}, {"  held until", "expires_at", show_time},
    {"  next try", "next_at", show_time}, END,
};

COLUMNS peer_list[] = {
    {"HX CLUSTER", "hx_cluster.name"}, {"URL", "url"}, {"STATE", "status.state"}, {"REASON", "status.reason"},
    {"CHECKED", "status.checked_at", show_time}, END,
};

COLUMNS peer_columns[] = {
    {"HX cluster", "hx_cluster.name"}, {"  id", "hx_cluster.id"}, {"URL", "url"}, {"SPN", "spn"},
    {"Principal", "principal"}, {"SHA-256", "thumbprint_sha256"}, {"CA", "ca_pem", show_given},
    {"State", "status.state"}, {"  since", "status.since", show_time}, {"  checked", "status.checked_at", show_time},
    {"  milliseconds", "status.duration_ms"}, {"  signed in as", "status.signed_in_as"},
    {"  reason", "status.reason"}, {"  detail", "status.detail"}, {"  remedy", "status.remedy"},
    {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time}, END,
};
/* clang-format on */

/* -- local users and service accounts -------------------------------------------------------------------------------------- */

#define ROLE_ABOUT "user, service, provisioner or admin"

OPTIONS user_list_options[] = {
    {"role", "ROLE", "only users with this role", OPT_TEXT, "role"},
    END,
};

OPTIONS user_add_options[] = {
    {"role", "ROLE", ROLE_ABOUT " (default user)", OPT_TEXT, "role"},
    {"full-name", "TEXT", "name of the person", OPT_TEXT, "full_name"},
    {"password-file", "FILE", "file with the password, - for standard input (default: a one-time password is made)"},
    {"keep-password", NULL, "with --password-file: need not be changed at the first use"},
    END,
};

OPTIONS user_set_options[] = {
    {"name", "NAME", "name to sign in with", OPT_TEXT, "name"},
    {"full-name", "TEXT", "name of the person; empty: none", OPT_TEXT_OR_NULL, "full_name"},
    {"role", "ROLE", ROLE_ABOUT, OPT_TEXT, "role"},
    {"disable", NULL, "ends all sessions; no sign-on until enabled", OPT_TRUE, "disabled"},
    {"enable", NULL, "may sign in again", OPT_FALSE, "disabled"},
    {"must-change-password", NULL, "nothing else until the password is changed", OPT_TRUE, "must_change_password"},
    END,
};

OPTIONS user_password_options[] = {
    {"password-file", "FILE", "file with the new password, - for standard input (default: a one-time password; your own: ask)"},
    {"old-password-file", "FILE", "your own: file with the old password, which signs in, too (default: ask once)"},
    {"keep-password", NULL, "with USER and --password-file: need not be changed at the first use"},
    END,
};

/* clang-format off */
COLUMNS user_list[] = {
    {"NAME", "name"}, {"ROLE", "role"}, {"DISABLED", "disabled", show_yes_no},
    {"MUST CHANGE PASSWORD", "must_change_password", show_yes_no}, {"FULL NAME", "full_name"}, {"ID", "id"}, END,
};

COLUMNS user_columns[] = {
    {"Name", "name"}, {"Id", "id"}, {"Principal", "principal_id"}, {"Full name", "full_name"}, {"Role", "role"},
    {"Disabled", "disabled", show_yes_no}, {"Must change password", "must_change_password", show_yes_no},
    {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time}, END,
};
/* clang-format on */

#define SERVICE_CREDENTIALS                                                                                              \
    ROW("description", "TEXT", "free text", OPT_TEXT_OR_NULL, "description"),                                            \
        ROW("subject", "DN", "of certificates of server.client_ca_file, such as CN=hx-east,O=Example", OPT_TEXT_OR_NULL, \
            "subject"),                                                                                                  \
        ROW("kerberos", "PRINCIPAL", "Kerberos principal with its realm", OPT_TEXT_OR_NULL, "kerberos")

OPTIONS service_add_options[] = {
    {"certificate", "FILE|SHA256", "client certificate that is trusted by itself; may be repeated", OPT_OWN, NULL, 0, true},
    {"hx-cluster", "HX", "HX cluster that it is for; may be repeated; without any it sees nothing", OPT_OWN, NULL, 0, true},
    {"may-delegate", NULL, "it may sign in for users of vCenters", OPT_TRUE, "may_delegate"},
    SERVICE_CREDENTIALS,
    END,
};

OPTIONS service_set_options[] = {
    {"name", "NAME", "another name", OPT_TEXT_OR_NULL, "name"},
    {"add-certificate", "FILE|SHA256", "one certificate more; may be repeated", OPT_OWN, NULL, 0, true},
    {"remove-certificate", "SHA256", "one certificate less: its sessions end; may be repeated", OPT_OWN, NULL, 0, true},
    {"add-hx-cluster", "HX", "one HX cluster more; may be repeated", OPT_OWN, NULL, 0, true},
    {"remove-hx-cluster", "HX", "one HX cluster less; may be repeated", OPT_OWN, NULL, 0, true},
    {"may-delegate", NULL, "it may sign in for users of vCenters", OPT_TRUE, "may_delegate"},
    {"no-delegate", NULL, "it may not: sessions in which it acts for somebody end", OPT_FALSE, "may_delegate"},
    {"disable", NULL, "nobody signs in by it: its sessions end", OPT_TRUE, "disabled"},
    {"enable", NULL, "it may sign in again", OPT_FALSE, "disabled"},
    SERVICE_CREDENTIALS,
    END,
};

/* clang-format off */
COLUMNS service_list[] = {
    {"NAME", "name"}, {"HX CLUSTERS", "hx_clusters", show_hx_names}, {"ACTS FOR PEOPLE", "may_delegate", show_yes_no},
    {"DISABLED", "disabled", show_yes_no}, {"ID", "id"}, END,
};

COLUMNS service_columns[] = {
    {"Id", "id"}, {"Principal", "principal_id"}, {"Name", "name"}, {"Description", "description"},
    {"Certificates", "certificates", show_service_certificates}, {"Subject", "subject"}, {"Kerberos", "kerberos"},
    {"HX clusters", "hx_clusters", show_hx_names}, {"Acts for people", "may_delegate", show_yes_no},
    {"Disabled", "disabled", show_yes_no}, {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time},
    END,
};
/* clang-format on */

/* -- who may do and see what ----------------------------------------------------------------------------------------------- */

/* People and groups of directories, given by name. */
#define NAMED_OPTIONS                                                                                              \
    ROW("group", "NAME", "a group by its name in the directory, or its DN, in place of an id", OPT_TEXT, "group"), \
        ROW("person", "NAME", "likewise a person, also as DOMAIN\\\\NAME", OPT_TEXT, "person"),                    \
        ROW("directory", "NAME", "in which directory the name is looked up; else in all", OPT_TEXT, "directory")

#define GRANT_TARGETS                                                                      \
    ROW("cluster", "NAME|ID", "on this Kubernetes cluster"),                               \
        ROW("vsphere-cluster", "[VCENTER:]DATACENTER/CLUSTER", "on this vSphere cluster"), \
        ROW("hx-cluster", "NAME|ID", "on this HX cluster")

OPTIONS grant_list_options[] = {
    {"principal", "PRINCIPAL", "only those of this local user, vc:VCENTER:USER, or id of a person or group"},
    NAMED_OPTIONS,
    GRANT_TARGETS,
    END,
};

OPTIONS grant_add_options[] = {
    {"role", "ROLE", "viewer (default), or admin: who also gives and takes away grants on it", OPT_TEXT, "role"},
    NAMED_OPTIONS,
    GRANT_TARGETS,
    END,
};

OPTIONS grant_remove_options[] = {NAMED_OPTIONS, GRANT_TARGETS, END};

OPTIONS role_mapping_list_options[] = {
    {"role", "ROLE", "only those that give this role", OPT_TEXT, "role"},
    END,
};

OPTIONS role_mapping_add_options[] = {
    {"role", "ROLE", "user, provisioner or admin", OPT_TEXT, "role"},
    {"privilege", "PRIVILEGE", "SUBJECT is a vCenter: whoever has this privilege on its root folder; with --role admin"},
    {"note", "TEXT", "what it is for", OPT_TEXT, "note"},
    NAMED_OPTIONS,
    END,
};

/* clang-format off */
COLUMNS grant_list[] = {
    {"PRINCIPAL", "principal_id"}, {"WHO", "principal_name"}, {"ROLE", "role"}, {"ON", "object_kind"},
    {"NAME", "object_name"}, {"ID", "id"}, END,
};

COLUMNS grant_columns[] = {
    {"Id", "id"}, {"Principal", "principal_id"}, {"  name", "principal_name"}, {"Role", "role"},
    {"On", "object_kind"}, {"  name", "object_name"}, {"  id", "object_id"}, {"Created", "created_at", show_time},
    END,
};

COLUMNS role_mapping_list[] = {
    {"SUBJECT", "subject_id"}, {"NAME", "subject_name"}, {"PRIVILEGE", "privilege"}, {"ROLE", "role"},
    {"NOTE", "note"}, {"ID", "id"}, END,
};

COLUMNS role_mapping_columns[] = {
    {"Id", "id"}, {"Kind", "kind"}, {"Subject", "subject_id"}, {"  name", "subject_name"}, {"Privilege", "privilege"},
    {"Role", "role"}, {"Note", "note"}, {"Created", "created_at", show_time}, END,
};
/* clang-format on */

/* -- providers ------------------------------------------------------------------------------------------------------------- */

OPTIONS provider_apply_options[] = {
    {"file", "FILE", "the document, YAML or JSON; - for standard input", .letter = 'f', .is_required = true},
    END,
};

/* clang-format off */
COLUMNS provider_list[] = {
    {"NAME", "name"}, {"VCENTER", "vcenter_name"}, {"VSPHERE CLUSTER", "places.vsphere_cluster.path"}, {"TEMPLATE", "places.template.name"},
    {"NODES", "document.nodes.addresses", show_words}, END,
};

COLUMNS provider_columns[] = {
    {"Name", "name"}, {"Id", "id"}, {"vCenter", "vcenter_name"}, {"vSphere cluster", "places.vsphere_cluster", show_found},
    {"Resource pool", "places.resource_pool", show_found}, {"Folder", "places.folder", show_found}, {"Datastore", "places.datastore", show_found},
    {"Network", "places.network", show_found}, {"Template", "places.template", show_found}, {"Nodes", "document.nodes.addresses", show_words},
    {"  prefix", "document.nodes.prefix"}, {"  gateway", "document.nodes.gateway"}, {"  DNS", "document.nodes.dns", show_words},
    {"  search", "document.nodes.search", show_words}, {"API addresses", "document.api_addresses", show_words},
    {"Service addresses", "document.service_addresses", show_words}, {"SSH keys", "document.ssh_keys", show_words}, {"NTP", "document.ntp", show_words},
    {"HTTP proxy", "document.proxy.http"}, {"HTTPS proxy", "document.proxy.https"}, {"  not for", "document.proxy.no_proxy", show_words},
    {"Clusters", "clusters", show_object_names},
    {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time}, END,
};
/* clang-format on */

/* -- directories ----------------------------------------------------------------------------------------------------------- */

OPTIONS ldap_set_options[] = {
    {"kind", "KIND", "ad (Active Directory) or openldap (any other LDAP server)", OPT_TEXT_OR_NULL, "kind"},
    {"url", "URL", "ldaps://HOST[:PORT], or ldap://HOST[:PORT] for StartTLS; may be repeated: tried in this order", OPT_TEXTS,
     "urls", 0, true},
    {"ca-file", "FILE", "CA of the servers' certificates: its text is stored", OPT_CA_FILE, "ca_pem", .also = "ca"},
    {"ca-path", "PATH", "the same as a file that lies on each replica", OPT_TEXT_OR_NULL, "ca_file"},
    {"search-base", "DN", "below which people are looked for", OPT_TEXT_OR_NULL, "search_base"},
    {"user-filter", "FILTER", "which entry a name means, {name} stands for the name; \"\": the usual one", OPT_TEXT_OR_NULL,
     "user_filter"},
    {"group-base", "DN", "below which groups are looked for; \"\": the search base", OPT_TEXT_OR_NULL, "group_base"},
    {"group-filter", "FILTER", "which groups count; \"\": the usual one", OPT_TEXT_OR_NULL, "group_filter"},
    {"bind", "WAY", "password or keytab: what kaasd itself looks things up with", OPT_TEXT_OR_NULL, "bind"},
    {"bind-dn", "DN", "account for password; in Active Directory also a user principal name", OPT_TEXT_OR_NULL, "bind_dn"},
    {"bind-password-file", "FILE", "file with its password, - for standard input; kept sealed"},
    {"keytab", "PATH", "file with the account's key, on each replica", OPT_TEXT_OR_NULL, "keytab"},
    {"principal", "NAME", "account in the keytab, such as svc-kaas@AD.EXAMPLE.COM", OPT_TEXT_OR_NULL, "principal"},
    {"realm", "REALM", "Kerberos realm whose people are looked up here; may be repeated", OPT_TEXTS, "realms", 0, true},
    {"disable", NULL, "do not use it", OPT_TRUE, "disabled"},
    {"enable", NULL, "use it again", OPT_FALSE, "disabled"},
    END,
};

/* clang-format off */
COLUMNS ldap_list[] = {
    {"NAME", "name"}, {"KIND", "kind"}, {"SERVERS", "urls", show_words}, {"SEARCH BASE", "search_base"},
    {"DISABLED", "disabled", show_yes_no}, {"STATE", "status.state"}, END,
};

COLUMNS ldap_columns[] = {
    {"Name", "name"}, {"Kind", "kind"}, {"Servers", "urls", show_words}, {"CA file", "ca_file"},
    {"CA stored", "ca_pem", show_certificate_count}, {"Search base", "search_base"}, {"User filter", "user_filter"},
    {"Group base", "group_base"}, {"Group filter", "group_filter"}, {"Bind", "bind"}, {"  DN", "bind_dn"},
    {"  password", "has_bind_password", show_yes_no}, {"  keytab", "keytab"}, {"  principal", "principal"},
    {"Realms", "realms", show_words}, {"Disabled", "disabled", show_yes_no}, {"State", "status.state"},
    {"  since", "status.since", show_time}, {"  server", "status.server"},
    {"  certificate until", "status.certificate_expires_at", show_time}, {"  reason", "status.detail"},
    {"  remedy", "status.remedy"}, {"Created", "created_at", show_time}, {"Updated", "updated_at", show_time}, END,
};
/* clang-format on */

/* -- audit log, sessions, keys --------------------------------------------------------------------------------------------- */

OPTIONS audit_list_options[] = {
    {"since", "TIME", "of this time or later, as 2026-03-01T00:00:00Z, or how long ago: 30m, 1h, 2d", OPT_TIME, "since"},
    {"until", "TIME", "before this time", OPT_TIME, "until"},
    {"action", "ACTION", "of this kind, such as login or cluster.create: see audit actions", OPT_TEXT, "action"},
    {"principal", "ID", "by this principal", OPT_TEXT, "principal_id"},
    {"acting", "ID", "by this program, for others", OPT_TEXT, "acting_id"},
    {"source", "WAY", "by people who had signed in this way, such as local or kerberos", OPT_TEXT, "source"},
    {"address", "ADDRESS", "from this client address", OPT_TEXT, "address"},
    {"object-kind", "KIND", "on objects of this kind", OPT_TEXT, "object_kind"},
    {"object", "ID", "on this object", OPT_TEXT, "object_id"},
    {"result", "RESULT", "ok, or the code of an error", OPT_TEXT, "result"},
    {"request-id", "ID", "what this request did", OPT_TEXT, "request_id"},
    {"lines", "NUMBER", "so many at most (default 100)"},
    END,
};

OPTIONS session_options[] = {
    {"principal", "PRINCIPAL", "only those of this person or program, by id or name", OPT_TEXT, "principal"},
    END,
};

OPTIONS rotate_signing_options[] = {
    {"now", NULL, "sign with it after a moment, instead of publishing it first for a while"},
    {"drop-old", NULL, "end all tokens of the old key, too: for a key that others know"},
    END,
};

/* clang-format off */
COLUMNS audit_list[] = {
    {"TIME", "at", show_time}, {"WHO", "principal_name"}, {"ACTION", "action"}, {"RESULT", "result"},
    {"ON", "object_kind"}, {"NAME", "object_name"}, {"OBJECT ID", "object_id"}, {"REASON", "reason"},
    {"FROM", "address"}, END,
};

COLUMNS session_list[] = {
    {"ID", "id"}, {"NAME", "name"}, {"ROLE", "role"}, {"METHOD", "method"}, {"SIGNED IN", "signed_in_at", show_time},
    {"ENDS", "ends_at", show_time}, {"PRINCIPAL", "principal_id"}, END,
};

COLUMNS whoami_columns[] = {
    {"Name", "name"}, {"Id", "id"}, {"Role", "role"}, {"Source", "source"}, {"Signed in by", "method"},
    {"Must change password", "must_change_password", show_yes_no}, {"Signed in at", "signed_in_at", show_time},
    {"Session ends", "session_expires_at", show_time}, END,
};

COLUMNS kerberos_columns[] = {
    {"Configured", "configured", show_yes_no}, {"Usable", "usable", show_yes_no}, {"Problem", "problem"},
    {"Remedy", "remedy"}, {"Newest key version", "newest_kvno"}, {"Realms", "realms", show_words},
    {"Channel bindings", "channel_bindings"}, {"PAC required", "require_pac", show_yes_no},
    {"Live check", "live_check"}, END,
};

COLUMNS signing_list[] = {
    {"KID", "kid"}, {"STATE", "state"}, {"CREATED", "created_at", show_time}, {"SIGNS FROM", "signs_from", show_time},
    {"VERIFIES UNTIL", "verifies_until", show_time}, END,
};
/* clang-format on */

/* -- the table ------------------------------------------------------------------------------------------------------------- */

const struct cli_command cli_commands[] = {
    {"init", NULL, "", "first set-up: configuration, key, database, administrator", .options = init_options, .run = cmd_init},
    {"db", "migrate", "", "bring the database schema up to this version", .options = migrate_options, .run = cmd_db_migrate},
    {"db", "status", "", "tell whether the database schema fits this version", .run = cmd_db_status},
    {"config", "check", "", "check the configuration and its files", .options = config_check_options, .run = cmd_config_check},
    {"backup", NULL, "TARGET", "write database and configuration into a file or folder, sealed", .options = backup_options,
     .run = cmd_backup},
    {"restore", NULL, "FILE", "put a backup back on an empty host", .options = restore_options, .run = cmd_restore},
    {"login", NULL, "[URL]", "sign in at a kaasd elsewhere, for the commands that follow", .run = cmd_login},
    {"logout", NULL, "[URL]", "end that, here and there", .run = cmd_logout},
    {"vcenter", "add", "ADDRESS[:PORT]", "add a vCenter after confirming its certificate", .options = vcenter_add_options,
     .call = "POST /v2/vcenters", .says = "added vCenter {name}: version {version}, instance {id}", .more = cmd_vcenter_add,
     .send = cmd_vcenter_send, .tell = cmd_vcenter_tell_added},
    {"vcenter", "register", "[VCENTER]", "make kaasd an extension of the vCenter", .options = register_options,
     .of = &cli_vcenters, .call = "POST /v2/vcenters/{id}/register", .more = cmd_vcenter_register,
     .tell = cmd_vcenter_tell_registered},
    {"vcenter", "unregister", "VCENTER", "remove kaasd's extension from the vCenter", .options = unregister_options,
     .of = &cli_vcenters, .call = "POST /v2/vcenters/{id}/unregister",
     .question =
         "Remove the extension from vCenter {name}, so that its people and kaasd cannot sign in by it any more? Type yes: ",
     .more = cmd_vcenter_unregister, .tell = cmd_vcenter_tell_unregistered},
    {"vcenter", "list", "", "list the vCenters", .call = "GET /v2/vcenters", .list = vcenter_list},
    {"vcenter", "show", "VCENTER", "show one vCenter", .of = &cli_vcenters, .object = vcenter_columns},
    {"vcenter", "status", "[VCENTER]", "ask the vCenters how things stand", .options = vcenter_status_options,
     .of = &cli_vcenters, .run = cmd_vcenter_status},
    {"vcenter", "rescan", "VCENTER", "read inventory and HX extensions again", .of = &cli_vcenters,
     .call = "POST /v2/vcenters/{id}/rescan", .object = rescan_columns},
    {"vcenter", "clusters", "VCENTER", "list the vSphere clusters of a vCenter", .of = &cli_vcenters,
     .call = "GET /v2/vcenters/{id}/vsphere-clusters", .list = vsphere_cluster_list},
    {"vcenter", "set", "VCENTER", "change name, address or ports", .options = vcenter_set_options, .of = &cli_vcenters,
     .call = "PATCH /v2/vcenters/{id}",
     .if_empty = "nothing to change: give --name, --address, --port, --tunnel-port or --direct-port", .object = vcenter_columns,
     .more = cmd_vcenter_set, .send = cmd_vcenter_send},
    {"vcenter", "trust", "VCENTER", "trust the certificate that the vCenter shows now", .options = vcenter_trust_options,
     .of = &cli_vcenters, .call = "POST /v2/vcenters/{id}/trust",
     .says = "trusted; kaasd connects to vCenter {name} again now: see 'kaasctl vcenter status {name}'",
     .more = cmd_vcenter_trust, .send = cmd_vcenter_send_trust},
    {"vcenter", "rotate-certificate", "VCENTER", "log in with a new certificate from now on", .of = &cli_vcenters,
     .call = "POST /v2/vcenters/{id}/rotate-certificate",
     .says =
         "kaasd logs in to vCenter {name} with a new certificate, valid until {not_after:10}; the old one is of no use any more"},
    {"vcenter", "hx-credential", "VCENTER", "show the user that its HX clusters inherit", .of = &cli_vcenters,
     .call = "GET /v2/vcenters/{id}/hx-credential", .object = hx_credential_columns},
    {"vcenter", "set-hx-credential", "VCENTER", "set user and password that its HX clusters inherit (see hx.names, hx.ca_file)",
     .options = hx_credential_options, .of = &cli_vcenters, .call = "PUT /v2/vcenters/{id}/hx-credential",
     .object = hx_credential_columns, .more = cmd_vcenter_set_hx_credential},
    {"vcenter", "remove-hx-credential", "VCENTER", "have its HX clusters inherit no user any more", .of = &cli_vcenters,
     .call = "DELETE /v2/vcenters/{id}/hx-credential",
     .question = "HX clusters of {name} that appear inherit nothing then. Type yes: ",
     .says = "HX clusters of {name} inherit no user any more; those that are connected keep theirs"},
    {"vcenter", "set-password", "VCENTER", "tell kaasd the new password of its account there", .options = set_password_options,
     .of = &cli_vcenters, .call = "POST /v2/vcenters/{id}/set-password",
     .says = "vCenter {name} accepts the new password; kaasd logs in with it from now on", .more = cmd_vcenter_set_password},
    {"vcenter", "login-account", "VCENTER", "show the account that kaasd logs in by, where that is no certificate",
     .of = &cli_vcenters, .call = "GET /v2/vcenters/{id}/login-account", .object = login_account_columns},
    {"vcenter", "set-login-account", "VCENTER", "have kaasd log in by this account from now on", .options = login_account_options,
     .of = &cli_vcenters, .call = "PUT /v2/vcenters/{id}/login-account", .more = cmd_vcenter_set_login_account,
     .tell = cmd_vcenter_tell_login_account},
    {"vcenter", "test-login-account", "VCENTER", "log in once by its account, or by one that is given, and tell what it may",
     .options = login_account_options, .of = &cli_vcenters, .call = "POST /v2/vcenters/{id}/login-account/test",
     .more = cmd_vcenter_test_login_account, .tell = cmd_vcenter_tell_login_account},
    {"vcenter", "remove-login-account", "VCENTER", "forget the account; kaasd logs in by certificate from now on",
     .of = &cli_vcenters, .call = "DELETE /v2/vcenters/{id}/login-account",
     .question = "Forget the account by which kaasd logs in to vCenter {name}? Type yes: ",
     .says = "kaasd logs in to vCenter {name} by certificate from now on; left there: {left}"},
    {"vcenter", "rotate-certificates", "", "log in to all vCenters with new certificates, one that is away when it is back",
     .options = no_wait_options, .call = "POST /v2/vcenters:rotate-certificates", .send = cmd_job_send_begin,
     .tell = cmd_job_tell_begun},
    {"vcenter", "rm", "VCENTER", "forget a vCenter", .of = &cli_vcenters, .call = "DELETE /v2/vcenters/{id}",
     .question = "Forget vCenter {name}? Type yes: ", .says = "vCenter {name} is forgotten"},
    {"cluster", "add", "", "add the record of a Kubernetes cluster", .options = cluster_add_options, .call = "POST /v2/clusters",
     .says = "added cluster {name} ({id})", .if_ambiguous = "", .more = cmd_cluster_add},
    {"cluster", "list", "", "list the Kubernetes clusters", .options = cluster_list_options, .call = "GET /v2/clusters",
     .list = cluster_list, .if_ambiguous = "give the id to --hx-cluster:", .more = cmd_cluster_list,
     .send = cmd_cluster_send_list},
    {"cluster", "show", "CLUSTER", "show one cluster", .of = &cli_clusters, .object = cluster_columns},
    {"cluster", "set", "CLUSTER", "change the record of a cluster", .options = cluster_set_options, .of = &cli_clusters,
     .call = "PATCH /v2/clusters/{id}", .says = "changed cluster {name} ({id})",
     .if_empty = "nothing to change: give at least one option", .if_ambiguous = "", .more = cmd_cluster_set},
    {"cluster", "status", "CLUSTER", "say how a cluster is", .options = cluster_status_options, .of = &cli_clusters,
     .call = "PUT /v2/clusters/{id}/status", .if_ambiguous = "", .more = cmd_cluster_status, .tell = cmd_cluster_tell_status},
    {"cluster", "nodes", "CLUSTER", "list the nodes of a cluster", .of = &cli_clusters, .call = "GET /v2/clusters/{id}/nodes",
     .list = node_list},
    {"cluster", "import", "FILE", "add the records in a file with one JSON object a line", .options = cluster_import_options,
     .run = cmd_cluster_import},
    {"cluster", "rm", "CLUSTER", "remove the record of a cluster", .of = &cli_clusters, .call = "DELETE /v2/clusters/{id}",
     .question = "Remove the record of cluster {name}? The cluster itself stays. Type yes: ",
     .says = "removed the record of cluster {name}"},
    {"cluster", "create", "NAME", "make a Kubernetes cluster at a provider", .options = cluster_create_options,
     .call = "POST /v2/clusters:create", .more = cmd_cluster_create, .tell = cmd_job_tell_begun},
    {"cluster", "delete", "CLUSTER", "delete a cluster that kaasd has made, with its machines", .options = no_wait_options,
     .of = &cli_clusters, .run = cmd_cluster_delete},
    {"cluster", "connect", "NAME", "have kaasd ask a Kubernetes cluster itself, by an account of its own there",
     .options = cluster_connect_options, .call = "POST /v2/clusters:connect", .more = cmd_cluster_connect,
     .send = cmd_cluster_send_connect, .tell = cmd_cluster_tell_connected},
    {"cluster", "reconnect", "CLUSTER", "connect a cluster again in place, by other credentials",
     .options = cluster_connect_options, .of = &cli_clusters, .call = "PUT /v2/clusters/{id}/connection",
     .more = cmd_cluster_connect, .send = cmd_cluster_send_connect, .tell = cmd_cluster_tell_connected},
    {"cluster", "disconnect", "CLUSTER", "remove from a cluster what kaasd made there, and ask it no more",
     .options = cluster_disconnect_options, .of = &cli_clusters, .call = "DELETE /v2/clusters/{id}/connection",
     .question = "Disconnect {name}? Type yes: ", .run = cmd_cluster_disconnect},
    {"cluster", "connections", "", "list the clusters that kaasd is connected to", .call = "GET /v2/cluster-connections",
     .list = cluster_connection_list},
    {"cluster", "connection", "CLUSTER", "show how kaasd is connected to a cluster", .of = &cli_clusters,
     .call = "GET /v2/clusters/{id}/connection", .object = cluster_connection_columns},
    {"cluster", "test", "CLUSTER", "go through the steps of its connection now", .of = &cli_clusters,
     .call = "POST /v2/clusters/{id}/connection/test", .tell = cmd_cluster_tell_test},
    {"cluster", "health", "CLUSTER", "show how a cluster is, and why", .options = cluster_health_options, .of = &cli_clusters,
     .call = "GET /v2/clusters/{id}/health", .object = cluster_health_columns, .send = cmd_cluster_send_health,
     .tell = cmd_cluster_tell_health},
    {"cluster", "doctor", "CLUSTER", "examine a cluster step by step, with a remedy for each finding", .of = &cli_clusters,
     .run = cmd_cluster_doctor},
    {"cluster", "kubeconfig", "CLUSTER", "print a kubeconfig of a cluster that KaaS has made, good for an hour",
     .options = cluster_kubeconfig_options, .of = &cli_clusters, .call = "POST /v2/clusters/{id}/kubeconfig",
     .tell = cmd_cluster_tell_kubeconfig},
    {"impact", "host", "HOST", "tell which clusters lose their quorum, and which nodes, without a host",
     .options = impact_host_options, .call = "GET /v2/impact/hosts?host={1}", .if_ambiguous = "", .tell = cmd_impact_tell_host},
    {"provider", "list", "", "list where clusters may be built", .call = "GET /v2/providers", .list = provider_list},
    {"provider", "show", "NAME", "show a provider, and what its places are at the vCenter", .call = "GET /v2/providers/{1}",
     .object = provider_columns},
    {"provider", "apply", "", "write a provider: add the one that a document names, or change it",
     .options = provider_apply_options, .call = "PUT /v2/providers/{name}", .object = provider_columns,
     .more = cmd_provider_apply},
    {"provider", "check", "NAME", "look at all that building there needs, with a remedy for what is missing",
     .call = "POST /v2/providers/{1}/check", .tell = cmd_provider_tell_check},
    {"provider", "remove", "NAME", "remove a provider that nothing was built by", .call = "DELETE /v2/providers/{1}",
     .question = "Remove provider {1}? At the vCenter nothing changes. Type yes: ", .says = "removed provider {1}",
     .more = cmd_provider_remove},
    {"job", "list", "", "list the jobs, newest first", .options = job_list_options, .call = "GET /v2/jobs", .list = job_list},
    {"job", "show", "JOB", "show a job and its steps", .call = "GET /v2/jobs/{1}", .object = job_columns, .tell = cmd_job_tell},
    {"job", "watch", "JOB", "show what a job tells, until it has ended", .run = cmd_job_watch},
    {"job", "cancel", "JOB", "have a job stop, and take back what it did", .call = "POST /v2/jobs/{1}/cancel",
     .says = "job {id} takes back what it did; kaasctl job watch {id} shows it"},
    {"job", "retry", "JOB", "have a job that failed or was canceled go on", .call = "POST /v2/jobs/{1}/retry",
     .says = "job {id} goes on; kaasctl job watch {id} shows it"},
    {"hx", "list", "", "list the HX clusters", .options = hx_list_options, .call = "GET /v2/hx-clusters", .list = hx_list,
     .tell = cmd_hx_tell},
    {"hx", "show", "HX", "show one HX cluster", .of = &cli_hx_clusters, .call = "GET /v2/hx-clusters/{id}", .object = hx_columns,
     .tell = cmd_hx_tell},
    {"hx", "nodes", "HX", "list the nodes of the Kubernetes clusters on it", .of = &cli_hx_clusters,
     .call = "GET /v2/hx-clusters/{id}/nodes", .list = hx_node_list},
    {"hx", "set", "HX", "set name or management address of an HX cluster", .options = hx_set_options, .of = &cli_hx_clusters,
     .call = "PATCH /v2/hx-clusters/{id}", .if_empty = "nothing to change: give --name or --address", .object = hx_columns,
     .tell = cmd_hx_tell},
    {"hx", "connections", "", "list the HX clusters that kaasd is connected to", .call = "GET /v2/hx-connections",
     .list = connection_list},
    {"hx", "connection", "HX", "show how kaasd is connected to an HX cluster, and what that says of itself",
     .of = &cli_hx_clusters, .call = "GET /v2/hx-clusters/{id}/connection", .object = connection_columns},
    {"hx", "addresses", "HX", "list where an HX cluster may be, by what vCenter tells, and who answers there",
     .of = &cli_hx_clusters, .call = "GET /v2/hx-clusters/{id}/addresses", .list = address_list},
    {"hx", "connect", "HX", "have kaasd read an HX cluster by a user of its own there", .options = hx_connect_options,
     .of = &cli_hx_clusters, .call = "PUT /v2/hx-clusters/{id}/connection", .object = connection_columns, .more = cmd_hx_connect},
    {"hx", "test", "HX", "read it now", .of = &cli_hx_clusters, .call = "POST /v2/hx-clusters/{id}/connection/test",
     .object = connection_columns, .tell = cmd_peer_tell_test},
    {"hx", "disconnect", "HX", "read it no more", .of = &cli_hx_clusters, .call = "DELETE /v2/hx-clusters/{id}/connection",
     .question = "Forget how {name} is reached, and its password? Type yes: ", .says = "{name} is read no more"},
    {"hx", "publication", "HX", "show what an HX cluster was told of where KaaS is", .of = &cli_hx_clusters,
     .call = "GET /v2/hx-clusters/{id}/publication", .object = publication_columns},
    {"hx", "publish", "HX", "tell it now where KaaS is, so that HX Connect can show the panel", .of = &cli_hx_clusters,
     .call = "POST /v2/hx-clusters/{id}/publication", .object = publication_columns, .tell = cmd_hx_tell_publication},
    {"hx", "unpublish", "HX", "withdraw that, and leave it so", .of = &cli_hx_clusters,
     .call = "DELETE /v2/hx-clusters/{id}/publication", .object = publication_columns, .tell = cmd_hx_tell_publication},
    {"peer", "list", "", "list the HX controllers that kaasd signs in to", .call = "GET /v2/hx-peers", .list = peer_list},
    {"peer", "show", "HX", "show the controller of an HX cluster, and whether it lets kaasd in", .of = &cli_hx_clusters,
     .call = "GET /v2/hx-clusters/{id}/peer", .object = peer_columns},
    {"peer", "set", "HX", "have kaasd sign in to the controller of an HX cluster by Kerberos", .options = peer_set_options,
     .of = &cli_hx_clusters, .call = "PUT /v2/hx-clusters/{id}/peer", .if_empty = "nothing to set: see kaasctl peer set --help",
     .object = peer_columns, .more = cmd_peer_set},
    {"peer", "test", "HX", "sign in to it now", .of = &cli_hx_clusters, .call = "POST /v2/hx-clusters/{id}/peer/test",
     .object = peer_columns, .tell = cmd_peer_tell_test},
    {"peer", "remove", "HX", "sign in to it no more", .of = &cli_hx_clusters, .call = "DELETE /v2/hx-clusters/{id}/peer",
     .question = "Sign in to the controller of {name} no more? Type yes: ", .says = "removed the peer of {name}"},
    {"user", "list", "", "list the local users", .options = user_list_options, .call = "GET /v2/users", .list = user_list},
    {"user", "add", "NAME", "add a local user", .options = user_add_options, .call = "POST /v2/users", .object = user_columns,
     .more = cmd_user_add, .tell = cmd_user_tell_added},
    {"user", "set", "USER", "change a local user", .options = user_set_options, .of = &cli_users, .call = "PATCH /v2/users/{id}",
     .if_empty = "nothing to change: see kaasctl user set --help", .object = user_columns},
    {"user", "remove", "USER", "remove a local user", .of = &cli_users, .call = "DELETE /v2/users/{id}",
     .question = "Remove user {name}, with all grants? Type yes: ", .says = "removed user {name}"},
    {"user", "password", "[USER]", "set a user's password, or change your own", .options = user_password_options,
     .of = &cli_users, .call = "POST /v2/users/{id}/password", .more = cmd_user_password, .tell = cmd_user_tell_password},
    {"service", "list", "", "list the service accounts: programs that sign in", .call = "GET /v2/services", .list = service_list},
    {"service", "show", "SERVICE", "show a service account", .of = &cli_services, .object = service_columns},
    {"service", "add", "NAME", "add a service account", .options = service_add_options, .call = "POST /v2/services",
     .object = service_columns, .more = cmd_service_add},
    {"service", "set", "SERVICE", "change a service account", .options = service_set_options, .of = &cli_services,
     .call = "PATCH /v2/services/{id}", .if_empty = "what shall be changed? See: kaasctl service set --help",
     .object = service_columns, .more = cmd_service_set},
    {"service", "remove", "SERVICE", "remove a service account", .of = &cli_services, .call = "DELETE /v2/services/{id}",
     .question = "Remove the service account {name}? Its sessions end. Type yes: ", .says = "removed service account {name}"},
    {"grant", "list", "", "list who may see what by grants", .options = grant_list_options, .call = "GET /v2/grants",
     .list = grant_list, .if_ambiguous = "give the id instead; see: kaasctl grant list", .more = cmd_grant_list},
    {"grant", "add", "[PRINCIPAL]", "let a user or group see a cluster, vSphere cluster or HX cluster",
     .options = grant_add_options, .call = "POST /v2/grants", .object = grant_columns,
     .if_ambiguous = "give the id instead: kaasctl grant add ID ...", .more = cmd_grant_add, .send = cmd_grant_send_new},
    {"grant", "remove", "[ID|PRINCIPAL]", "take a grant away", .options = grant_remove_options, .call = "DELETE /v2/grants/{id}",
     .says = "removed grant {id}", .if_ambiguous = "give the id instead; see: kaasctl grant list", .more = cmd_grant_remove},
    {"role-mapping", "list", "", "list which groups and people have which role", .options = role_mapping_list_options,
     .call = "GET /v2/role-mappings", .list = role_mapping_list},
    {"role-mapping", "add", "[SUBJECT]", "give a group or person a role, by name or by id: sid:S-1-5-21-..., ldap:SOURCE:UUID",
     .options = role_mapping_add_options, .call = "POST /v2/role-mappings", .object = role_mapping_columns,
     .if_ambiguous = "give the id instead: kaasctl role-mapping add ID ...", .more = cmd_role_mapping_add},
    {"role-mapping", "remove", "ID|SUBJECT|NAME", "take a role away", .call = "DELETE /v2/role-mappings/{id}",
     .says = "removed role mapping {id}", .more = cmd_role_mapping_remove},
    {"ldap", "list", "", "list the directories that people sign in by", .call = "GET /v2/ldap", .list = ldap_list},
    {"ldap", "show", "NAME", "show a directory, and how it is", .call = "GET /v2/ldap/{1}", .object = ldap_columns},
    {"ldap", "set", "NAME", "add a directory, or change one", .options = ldap_set_options, .call = "PATCH /v2/ldap/{1}",
     .if_empty = "nothing to set: see kaasctl ldap set --help", .object = ldap_columns, .more = cmd_ldap_set},
    {"ldap", "test", "NAME [USER]", "walk to each server step by step, with a remedy for each failure",
     .call = "POST /v2/ldap/{1}/test", .more = cmd_ldap_test, .tell = cmd_ldap_tell_test},
    {"ldap", "remove", "NAME", "remove a directory", .call = "DELETE /v2/ldap/{1}",
     .question = "Remove directory {1}? Who signed in by it is signed out. Type yes: ", .says = "removed directory {1}",
     .more = cmd_ldap_remove},
    {"audit", "list", "", "list who did what, newest first", .options = audit_list_options, .call = "GET /v2/audit",
     .list = audit_list, .lines = 100},
    {"audit", "actions", "", "list the actions that are written down", .run = cmd_audit_actions},
    {"audit", "verify", "", "find out whether lines were removed, changed or put in", .run = cmd_audit_verify},
    {"audit", "accept-restore", "", "let this replica go on with a database that is older than its audit lines",
     .call = "POST /v2/audit/accept-restore",
     .question =
         "What was written since the database was copied is lost for good then, and the audit log will tell who accepted that. Type yes: ",
     .says = "accepted; kaasd goes on within some seconds. Do the same on the host of each other replica that does not start",
     .run = cmd_audit_accept},
    {"access", "explain", "PRINCIPAL CLUSTER", "say why somebody sees a cluster, or does not", .of = &cli_clusters,
     .call = "GET /v2/clusters/{id}/explain?principal={1}", .tell = cmd_access_tell},
    {"session", "list", "", "list who is signed in", .options = session_options, .call = "GET /v2/sessions", .list = session_list,
     .has_ids = true},
    {"session", "end", "[ID]", "end a session, or all of a person", .options = session_options, .call = "DELETE /v2/sessions/{1}",
     .says = "session {1} has ended", .run = cmd_session_end},
    {"kerberos", "status", "", "show what is in the keytab, and whether it can be used", .call = "GET /v2/kerberos",
     .object = kerberos_columns, .tell = cmd_kerberos_tell},
    {"key", "list", "", "list the keys that sign tokens", .call = "GET /v2/keys/signing", .object = signing_list,
     .tell = cmd_key_tell_signing},
    {"key", "master", "", "show which master keys seal secrets, and which replicas hold them", .call = "GET /v2/keys/master",
     .tell = cmd_key_tell_master},
    {"key", "rotate-master", "", "seal all secrets with a new master key",
     .question = "Make a new master key and seal all secrets with it? Keep a copy of the key file afterwards. Type yes: ",
     .run = cmd_key_rotate_master},
    {"key", "remove-master", "KEY", "take an old master key that seals nothing out of the key file",
     .question = "Take the old master key out of the key file? Copies of the database made before need it. Type yes: ",
     .run = cmd_key_remove_master},
    {"key", "forget-sealed", "", "go on without a master key that is lost, and what it sealed", .options = config_check_options,
     .run = cmd_key_forget_sealed},
    {"key", "rotate-signing", "", "sign tokens with a new key", .options = rotate_signing_options,
     .call = "POST /v2/keys/signing/rotate",
     .question = "All tokens of the old key end with it: programs and pages must refresh or sign in again. Type yes: ",
     .says = "the new signing key {kid} is published; it signs from {signs_from:19}Z on", .more = cmd_key_rotate_signing},
    {"uninstall", NULL, "",
     "take back what this installation wrote at vCenters, HX and Kubernetes clusters, and end all sessions",
     .options = uninstall_options,
     .question = "Remove this installation from all these? Nobody can sign in by them any more. Type yes: ",
     .run = cmd_uninstall},
    {"doctor", NULL, "", "look for what is wrong, with a remedy for each finding", .options = doctor_options, .run = cmd_doctor},
    {"pilot", NULL, "", "hold what is assumed of a vCenter and an HX cluster against real ones, before anything is installed",
     .options = pilot_options, .send = cmd_pilot_send, .tell = cmd_pilot_tell},
    {"health", NULL, "", "health of kaasd in detail", .call = "GET /v2/health", .tell = cmd_health_tell, .run = cmd_health,
     .options = (const struct opt_spec[]){{"nagios", NULL, "one line and exit status of a plug-in of Nagios", OPT_OWN}, END}},
    {"metrics", NULL, "", "the metrics of kaasd, as Prometheus reads them", .run = cmd_metrics},
    {"support-bundle", NULL, "[FILE]", "write what helps to find a fault into a file, without secrets",
     .options = support_bundle_options, .run = cmd_support_bundle},
    {"version", NULL, "", "versions of kaasctl and kaasd", .run = cmd_version},
    {"whoami", NULL, "", "who you are to kaasd", .call = "GET /v2/whoami", .object = whoami_columns, .tell = cmd_whoami_tell},
    END,
};
