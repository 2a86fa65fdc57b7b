# What the systems out there that kaasd keeps in touch with have in common.
noinst_LIBRARIES += src/remote/libremote.a
src_remote_libremote_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_REMOTE)
src_remote_libremote_a_SOURCES = \
    src/remote/remote.c \
    src/remote/remote.h \
    src/remote/remote_work.c \
    src/remote/remote_work.h \
    src/remote/remotes.c \
    src/remote/remotes.h
