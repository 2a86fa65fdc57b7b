# First set-up, files of the host, master keys, backups, support bundles.
noinst_LIBRARIES += src/setup/libsetup.a
src_setup_libsetup_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_SETUP)
src_setup_libsetup_a_SOURCES = \
    src/setup/backup/backup.c \
    src/setup/backup/backup.h \
    src/setup/backup/backup_file.c \
    src/setup/backup/backup_file.h \
    src/setup/backup/backup_health.c \
    src/setup/backup/backup_health.h \
    src/setup/backup/db_tool.c \
    src/setup/backup/db_tool.h \
    src/setup/first/first_setup.c \
    src/setup/first/first_setup.h \
    src/setup/keys/forget.c \
    src/setup/keys/forget.h \
    src/setup/keys/host_secrets.c \
    src/setup/keys/host_secrets.h \
    src/setup/support/masker.c \
    src/setup/support/masker.h \
    src/setup/first/os_user.c \
    src/setup/first/os_user.h \
    src/setup/backup/restore.c \
    src/setup/backup/restore.h \
    src/setup/keys/sealing.c \
    src/setup/keys/sealing.h \
    src/setup/first/setup_check.c \
    src/setup/first/setup_check.h \
    src/setup/first/setup_files.c \
    src/setup/first/setup_files.h \
    src/setup/backup/sql_rows.c \
    src/setup/backup/sql_rows.h \
    src/setup/support/support_bundle.c \
    src/setup/support/support_bundle.h
