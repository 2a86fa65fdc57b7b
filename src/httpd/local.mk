noinst_LIBRARIES += src/httpd/libhttpd.a
src_httpd_libhttpd_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/httpd $(MHD_CFLAGS) $(GNUTLS_CFLAGS)
src_httpd_libhttpd_a_SOURCES = \
    src/httpd/http_coding.c \
    src/httpd/http_fields.c \
    src/httpd/http_request.c \
    src/httpd/http_request.h \
    src/httpd/http_request_private.h \
    src/httpd/http_response.c \
    src/httpd/http_response.h \
    src/httpd/http_text.c \
    src/httpd/http_text.h \
    src/httpd/httpd.c \
    src/httpd/httpd.h \
    src/httpd/httpd_answer.c \
    src/httpd/httpd_conn.c \
    src/httpd/httpd_early.c \
    src/httpd/httpd_handle.c \
    src/httpd/httpd_handshake.c \
    src/httpd/httpd_listen.c \
    src/httpd/httpd_notice.c \
    src/httpd/httpd_press.c \
    src/httpd/httpd_private.h \
    src/httpd/httpd_recv.c \
    src/httpd/httpd_request.c \
    src/httpd/httpd_slow.c \
    src/httpd/httpd_sweep.c \
    src/httpd/httpd_tls.c \
    src/httpd/route.c \
    src/httpd/route.h
