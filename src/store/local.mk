noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(OWN_STORE) $(MARIADB_CFLAGS)
src_store_libstore_a_SOURCES = \
    src/store/audit/audit_chain.c \
    src/store/audit/audit_chain.h \
    src/store/audit/audit_start.c \
    src/store/audit/audit_lines.c \
    src/store/audit/audit_renew.c \
    src/store/audit/audit_store.h \
    src/store/audit/audit_tx.c \
    src/store/audit/audit_tx.h \
    src/store/audit/audit_verify.c \
    src/store/core/accounts.c \
    src/store/core/change_store.c \
    src/store/core/change_store.h \
    src/store/core/database.c \
    src/store/core/database.h \
    src/store/core/db_conn.c \
    src/store/core/db_conn.h \
    src/store/core/db_stmt.c \
    src/store/core/db_stmt.h \
    src/store/core/db_table.c \
    src/store/core/db_table.h \
    src/store/core/group_commit.c \
    src/store/core/group_commit.h \
    src/store/core/migrate.c \
    src/store/core/migrate.h \
    src/store/core/replica_store.c \
    src/store/core/replica_store.h \
    src/store/core/store_new.c \
    src/store/core/store.h \
    src/store/core/store_schema.h \
    src/store/core/store_tx.c \
    src/store/core/store_tx.h \
    src/store/tables/cluster_store.c \
    src/store/tables/cluster_store.h \
    src/store/tables/cluster_tx.h \
    src/store/tables/code_store.c \
    src/store/tables/code_store.h \
    src/store/tables/grant_store.c \
    src/store/tables/grant_store.h \
    src/store/tables/hx_identity_store.c \
    src/store/tables/hx_identity_store.h \
    src/store/tables/hx_publication_store.c \
    src/store/tables/hx_publication_store.h \
    src/store/tables/hx_store.c \
    src/store/tables/hx_store.h \
    src/store/tables/key_store.c \
    src/store/tables/key_store.h \
    src/store/tables/ldap_store.c \
    src/store/tables/ldap_store.h \
    src/store/tables/observation_store.c \
    src/store/tables/observation_store.h \
    src/store/tables/peer_store.c \
    src/store/tables/peer_store.h \
    src/store/tables/platform_store.c \
    src/store/tables/platform_store.h \
    src/store/tables/record_tx.c \
    src/store/tables/record_tx.h \
    src/store/tables/session_store.c \
    src/store/tables/session_store.h \
    src/store/tables/session_tx.h \
    src/store/tables/user_store.c \
    src/store/tables/user_store.h \
    src/store/tables/vcenter_store.c \
    src/store/tables/vcenter_store.h
# made from sql/*.sql: see sql/local.mk
nodist_src_store_libstore_a_SOURCES = src/store/sql_files.c
