noinst_LIBRARIES += src/token/libtoken.a
src_token_libtoken_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) $(OWN_MODEL) -iquote $(top_srcdir)/src/token \
    $(CJOSE_CFLAGS) $(JANSSON_CFLAGS)
src_token_libtoken_a_SOURCES = \
    src/token/token.h \
    src/token/token_cache.c \
    src/token/token_cache.h \
    src/token/token_set.c \
    src/token/token_set.h \
    src/token/token_verify.c
