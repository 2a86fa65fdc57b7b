# The HX clusters that kaasd is connected to by their REST API.
noinst_LIBRARIES += src/hyperflex/libhyperflex.a
src_hyperflex_libhyperflex_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_VCENTER) -iquote $(top_srcdir)/src/gss -iquote $(top_srcdir)/src/hx $(OWN_HYPERFLEX)
src_hyperflex_libhyperflex_a_SOURCES = \
    src/hyperflex/addresses.c \
    src/hyperflex/connections.c \
    src/hyperflex/hx_remote.c \
    src/hyperflex/hyperflex.c \
    src/hyperflex/hyperflex.h \
    src/hyperflex/hyperflex_private.h \
    src/hyperflex/peer_sign_in.c \
    src/hyperflex/peers.c \
    src/hyperflex/peers.h \
    src/hyperflex/publish.c \
    src/hyperflex/publish.h \
    src/hyperflex/publish_ask.c \
    src/hyperflex/search.c \
    src/hyperflex/visit.c
