noinst_LIBRARIES += src/gss/libgss.a
src_gss_libgss_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/gss $(KRB5_CFLAGS)
src_gss_libgss_a_SOURCES = \
    src/gss/gss_accept.c \
    src/gss/gss_acceptor.h \
    src/gss/gss_acceptor_private.h \
    src/gss/gss_init.c \
    src/gss/gss_init.h \
    src/gss/gss_keytab.c \
    src/gss/gss_ticket.c \
    src/gss/gss_ticket.h \
    src/gss/negotiate.c \
    src/gss/negotiate.h \
    src/gss/pac.c \
    src/gss/pac.h
