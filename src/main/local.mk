sbin_PROGRAMS += src/main/kaasd
src_main_kaasd_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ENTRIES) -iquote $(top_srcdir)/src/service/setup -iquote $(top_srcdir)/src/main \
    -DKAAS_PAGE_DIR='"$(pkgdatadir)/ui"'
src_main_kaasd_SOURCES = \
    src/main/daemon.c \
    src/main/notify.c \
    src/main/notify.h \
    src/main/wire.c \
    src/main/wire.h \
    src/main/wire_glue.c \
    src/main/wire_health.c \
    src/main/wire_jobs.c \
    src/main/wire_private.h
LIBS_ADAPTERS = src/store/libstore.a src/ldap/libldap-kaas.a src/gss/libgss.a src/vim/libvim.a src/vim/libvim25.a
LIBS_FOREIGN = $(MARIADB_LIBS) $(GSOAP_LIBS) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) $(XML_LIBS) $(CRYPT_LIBS) $(UUID_LIBS) \
    $(YAML_LIBS) $(CJOSE_LIBS) $(ZLIB_LIBS) $(LDAP_LIBS) $(KRB5_LIBS)
src_main_kaasd_LDADD = src/api/libapi.a src/service/libsignon.a src/service/libplatform.a src/service/libclusters.a \
    src/service/libaccess.a src/service/libsealing.a src/service/libidentity.a \
    src/service/libsetup.a src/directory/libdirectory.a src/httpd/libhttpd.a $(LIBS_ADAPTERS) src/token/libtoken.a src/config/libconfig.a \
    src/policy/libpolicy.a src/model/libmodel.a src/port/libport.a src/base/libbase.a $(MHD_LIBS) $(GNUTLS_LIBS) $(LIBS_FOREIGN)
