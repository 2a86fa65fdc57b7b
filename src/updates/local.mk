# Newer versions: the signed release file, and what the replicas run.
noinst_LIBRARIES += src/updates/libupdates.a
src_updates_libupdates_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_UPDATES)
src_updates_libupdates_a_SOURCES = \
    src/updates/release_file.c \
    src/updates/release_file.h \
    src/updates/release_source.c \
    src/updates/release_source.h \
    src/updates/updates.c \
    src/updates/updates.h
