noinst_LIBRARIES += src/store/libstore.a
src_store_libstore_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/store $(MARIADB_CFLAGS)
src_store_libstore_a_SOURCES = \
    src/store/accounts.c \
    src/store/audit_chain.c \
    src/store/audit_chain.h \
    src/store/audit_mac.c \
    src/store/audit_mac.h \
    src/store/audit_notes.c \
    src/store/store_new.c \
    src/store/audit_side.h \
    src/store/audit_start.c \
    src/store/audit_verify.c \
    src/store/audit_store.c \
    src/store/audit_tx.c \
    src/store/audit_store.h \
    src/store/audit_tx.h \
    src/store/change_store.c \
    src/store/change_store.h \
    src/store/cluster_store.c \
    src/store/cluster_store.h \
    src/store/cluster_tx.h \
    src/store/db_conn.c \
    src/store/db_conn.h \
    src/store/db_pool.c \
    src/store/db_pool.h \
    src/store/db_stmt.c \
    src/store/db_stmt.h \
    src/store/db_table.c \
    src/store/db_table.h \
    src/store/grant_store.c \
    src/store/grant_store.h \
    src/store/group_commit.c \
    src/store/group_commit.h \
    src/store/key_store.c \
    src/store/key_store.h \
    src/store/ldap_store.c \
    src/store/ldap_store.h \
    src/store/migrate.c \
    src/store/observation_store.c \
    src/store/observation_store.h \
    src/store/peer_store.c \
    src/store/peer_store.h \
    src/store/platform_store.c \
    src/store/platform_store.h \
    src/store/replica_store.c \
    src/store/replica_store.h \
    src/store/migrate.h \
    src/store/session_open.c \
    src/store/session_open.h \
    src/store/session_store.c \
    src/store/session_store.h \
    src/store/session_tx.h \
    src/store/store.h \
    src/store/store_prune.c \
    src/store/store_prune.h \
    src/store/store_schema.h \
    src/store/store_tx.c \
    src/store/store_tx.h \
    src/store/user_store.c \
    src/store/user_store.h \
    src/store/vcenter_store.c \
    src/store/vcenter_store.h
# made from sql/*.sql: see sql/local.mk
nodist_src_store_libstore_a_SOURCES = src/store/sql_files.c
