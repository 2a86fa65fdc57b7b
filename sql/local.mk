# The migration files, in order. They are compiled into libstore (src/store/local.mk).
SQL_FILES = \
    sql/0001_schema_migrations.sql \
    sql/0002_leases.sql \
    sql/0003_installation.sql \
    sql/0004_replicas.sql \
    sql/0005_replica_of_tools.sql \
    sql/0006_change_log.sql \
    sql/0007_vcenters.sql \
    sql/0008_vcenter_credentials.sql \
    sql/0009_vsphere_clusters.sql \
    sql/0010_hx_clusters.sql \
    sql/0011_clusters.sql \
    sql/0012_cluster_placements.sql \
    sql/0013_cluster_labels.sql \
    sql/0014_nodes.sql \
    sql/0015_users.sql \
    sql/0016_grants.sql \
    sql/0017_sessions.sql \
    sql/0018_signing_keys.sql \
    sql/0019_audit.sql \
    sql/0020_cluster_reports.sql \
    sql/0021_node_vms.sql \
    sql/0022_node_observations.sql \
    sql/0025_credential_user.sql \
    sql/0030_session_vcenters.sql \
    sql/0035_vcenter_registrations.sql \
    sql/0040_manifest_fetches.sql \
    sql/0045_session_must_change.sql \
    sql/0046_audit_keys.sql \
    sql/0050_signing_key_start.sql \
    sql/0051_master_key_choice.sql \
    sql/0052_replica_master_keys.sql \
    sql/0060_change_log_tx.sql \
    sql/0061_schema_release.sql \
    sql/0070_session_person.sql \
    sql/0071_role_mappings.sql \
    sql/0075_ldap_sources.sql \
    sql/0078_used_proofs.sql \
    sql/0080_service_accounts.sql \
    sql/0081_service_certificates.sql \
    sql/0082_service_hx_clusters.sql \
    sql/0085_audit_chain.sql \
    sql/0086_audit_heads.sql \
    sql/0087_audit_keys.sql \
    sql/0088_hx_peers.sql \
    sql/0093_audit_deeds.sql \
    sql/0100_sessions_principal.sql
EXTRA_DIST += $(SQL_FILES) sql/embed.sh sql/README.md

src/store/sql_files.c: $(SQL_FILES) sql/embed.sh
	$(AM_V_GEN)$(MKDIR_P) src/store && \
	sh $(top_srcdir)/sql/embed.sh $(SQL_FILES:%=$(top_srcdir)/%) >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += src/store/sql_files.c
CLEANFILES += src/store/sql_files.c
