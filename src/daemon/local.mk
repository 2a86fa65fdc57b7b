sbin_PROGRAMS += src/daemon/kaasd
src_daemon_kaasd_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ENTRIES) -iquote $(top_srcdir)/src/daemon \
    -DKAAS_BUNDLES_DIR='"$(pkgdatadir)/bundles"' -DKAAS_PAGE_DIR='"$(pkgdatadir)/ui"'
src_daemon_kaasd_SOURCES = \
    src/daemon/daemon.c \
    src/daemon/events.def \
    src/daemon/machine_uuid.c \
    src/daemon/machine_uuid.h \
    src/daemon/module_auth.c \
    src/daemon/module_hyperflex.c \
    src/daemon/module_inventory.c \
    src/daemon/module_job.c \
    src/daemon/module_kubernetes.c \
    src/daemon/module_provision.c \
    src/daemon/module_setup.c \
    src/daemon/module_vcenter.c \
    src/daemon/modules.def \
    src/daemon/notify.c \
    src/daemon/notify.h \
    src/daemon/wire.c \
    src/daemon/wire.h \
    src/daemon/wire_glue.c \
    src/daemon/wire_health.c \
    src/daemon/wire_metrics.c \
    src/daemon/wire_periodic.c \
    src/daemon/wire_private.h
LIBS_ADAPTERS = src/store/libstore.a src/ldap/libldap-kaas.a src/gss/libgss.a src/hx/libhx.a src/k8s/libk8s.a src/k8s/libkubernetes.a src/vim/libvim.a src/vim/libvim25.a
LIBS_FOREIGN = $(MARIADB_LIBS) $(GSOAP_LIBS) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) $(XML_LIBS) $(CRYPT_LIBS) $(UUID_LIBS) \
    $(YAML_LIBS) $(CJOSE_LIBS) $(NANOPB_LIBS) $(ZLIB_LIBS) $(LDAP_LIBS) $(KRB5_LIBS)
src_daemon_kaasd_LDADD = src/api/libapi.a src/auth/libauth.a src/setup/libsetup.a src/updates/libupdates.a src/hyperflex/libhyperflex.a src/provision/libprovision.a src/kubernetes/libkubernetes.a src/vcenter/libvcenter.a src/job/libjob.a \
    src/remote/libremote.a src/inventory/libinventory.a src/httpd/libhttpd.a $(LIBS_ADAPTERS) src/token/libtoken.a src/config/libconfig.a \
    src/model/libmodel.a src/port/libport.a src/base/libbase.a $(MHD_LIBS) $(GNUTLS_LIBS) $(LIBS_FOREIGN)
