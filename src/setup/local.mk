# First set-up, files of the host, master keys, backups, support bundles.
noinst_LIBRARIES += src/setup/libsetup.a
src_setup_libsetup_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_SETUP)
src_setup_libsetup_a_SOURCES = \
    src/setup/backup.c \
    src/setup/backup.h \
    src/setup/backup_file.c \
    src/setup/backup_file.h \
    src/setup/backup_health.c \
    src/setup/backup_health.h \
    src/setup/db_tool.c \
    src/setup/db_tool.h \
    src/setup/first_setup.c \
    src/setup/first_setup.h \
    src/setup/forget.c \
    src/setup/forget.h \
    src/setup/host_secrets.c \
    src/setup/host_secrets.h \
    src/setup/masker.c \
    src/setup/masker.h \
    src/setup/os_user.c \
    src/setup/os_user.h \
    src/setup/restore.c \
    src/setup/restore.h \
    src/setup/sealing.c \
    src/setup/sealing.h \
    src/setup/setup_check.c \
    src/setup/setup_check.h \
    src/setup/setup_files.c \
    src/setup/setup_files.h \
    src/setup/sql_rows.c \
    src/setup/sql_rows.h \
    src/setup/support_bundle.c \
    src/setup/support_bundle.h
