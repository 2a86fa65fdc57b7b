noinst_LIBRARIES += src/directory/libdirectory.a
src_directory_libdirectory_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) -iquote $(top_srcdir)/src/directory
src_directory_libdirectory_a_SOURCES = \
    src/directory/directory.c \
    src/directory/directory.h \
    src/directory/load.c \
    src/directory/load.h \
    src/directory/query.c \
    src/directory/query.h \
    src/directory/render.c \
    src/directory/render.h \
    src/directory/snapshot.c \
    src/directory/snapshot.h
