noinst_LIBRARIES += src/directory/libdirectory.a
src_directory_libdirectory_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) -iquote $(top_srcdir)/src/directory
src_directory_libdirectory_a_SOURCES = \
    src/directory/check.c \
    src/directory/compare.c \
    src/directory/compare.h \
    src/directory/cursor.c \
    src/directory/cursor.h \
    src/directory/directory.c \
    src/directory/directory.h \
    src/directory/directory_private.h \
    src/directory/entry.c \
    src/directory/entry.h \
    src/directory/load.c \
    src/directory/load.h \
    src/directory/lookup.c \
    src/directory/query.c \
    src/directory/query.h \
    src/directory/render.c \
    src/directory/render.h \
    src/directory/snapshot.c \
    src/directory/snapshot.h \
    src/directory/snapshot_next.c \
    src/directory/snapshot_next.h \
    src/directory/visibility.c \
    src/directory/watch.c \
    src/directory/watch.h
