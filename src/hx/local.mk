noinst_LIBRARIES += src/hx/libhx.a
src_hx_libhx_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/hx
src_hx_libhx_a_SOURCES = \
    src/hx/hx.h \
    src/hx/hx_client.c \
    src/hx/hx_decode.c \
    src/hx/hx_decode.h
