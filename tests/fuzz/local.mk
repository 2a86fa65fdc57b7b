# Fuzz targets (configure --enable-fuzzing with CC=clang): one program per decoder of outside bytes, run as
#   tests/fuzz/fuzz_NAME -max_total_time=60 NEW_FOLDER SOURCE/tests/fuzz/corpus/NAME
# Seeds are kept small; what a run finds goes into NEW_FOLDER.
EXTRA_DIST += tests/fuzz/corpus
if FUZZING
FUZZ_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL)
FUZZ_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
FUZZ_TARGETS = tests/fuzz/fuzz_backup tests/fuzz/fuzz_bundle tests/fuzz/fuzz_coding tests/fuzz/fuzz_config tests/fuzz/fuzz_etcd \
    tests/fuzz/fuzz_fields tests/fuzz/fuzz_hx tests/fuzz/fuzz_json tests/fuzz/fuzz_k8s tests/fuzz/fuzz_kubeconfig \
    tests/fuzz/fuzz_ldap tests/fuzz/fuzz_masker tests/fuzz/fuzz_negotiate tests/fuzz/fuzz_node_phase tests/fuzz/fuzz_ovf \
    tests/fuzz/fuzz_pac tests/fuzz/fuzz_pilot tests/fuzz/fuzz_provider tests/fuzz/fuzz_recv tests/fuzz/fuzz_release \
    tests/fuzz/fuzz_route tests/fuzz/fuzz_token tests/fuzz/fuzz_vim tests/fuzz/fuzz_vim_update tests/fuzz/fuzz_xml \
    tests/fuzz/fuzz_yaml
noinst_PROGRAMS += $(FUZZ_TARGETS)

# The targets and what they are linked with, without the programs that nobody fuzzes.
fuzz-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(FUZZ_TARGETS)

tests_fuzz_fuzz_backup_SOURCES = tests/fuzz/fuzz_backup.c
tests_fuzz_fuzz_backup_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_SETUP)
tests_fuzz_fuzz_backup_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_backup_LDADD = src/setup/libsetup.a $(LIBS_PORT)

tests_fuzz_fuzz_bundle_SOURCES = tests/fuzz/fuzz_bundle.c
tests_fuzz_fuzz_bundle_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_bundle_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_bundle_LDADD = $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c
tests_fuzz_fuzz_config_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_config_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_config_LDADD = $(LIBS_CONFIG)

tests_fuzz_fuzz_coding_SOURCES = tests/fuzz/fuzz_coding.c
tests_fuzz_fuzz_coding_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/httpd
tests_fuzz_fuzz_coding_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_coding_LDADD = src/httpd/libhttpd.a $(LIBS_PORT) $(MHD_LIBS) $(GNUTLS_LIBS)

tests_fuzz_fuzz_etcd_SOURCES = tests/fuzz/fuzz_etcd.c
tests_fuzz_fuzz_etcd_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/k8s
tests_fuzz_fuzz_etcd_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_etcd_LDADD = src/k8s/libk8s.a src/k8s/libkubernetes.a $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_fields_SOURCES = tests/fuzz/fuzz_fields.c
tests_fuzz_fuzz_fields_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/httpd
tests_fuzz_fuzz_fields_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_fields_LDADD = src/httpd/libhttpd.a $(LIBS_PORT) $(MHD_LIBS) $(GNUTLS_LIBS)

tests_fuzz_fuzz_hx_SOURCES = tests/fuzz/fuzz_hx.c
tests_fuzz_fuzz_hx_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/hx
tests_fuzz_fuzz_hx_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_hx_LDADD = src/hx/libhx.a $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c
tests_fuzz_fuzz_json_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_json_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_json_LDADD = $(LIBS_PORT)

tests_fuzz_fuzz_k8s_SOURCES = tests/fuzz/fuzz_k8s.c
tests_fuzz_fuzz_k8s_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/k8s
tests_fuzz_fuzz_k8s_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_k8s_LDADD = src/k8s/libk8s.a src/k8s/libkubernetes.a $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_kubeconfig_SOURCES = tests/fuzz/fuzz_kubeconfig.c
tests_fuzz_fuzz_kubeconfig_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/k8s
tests_fuzz_fuzz_kubeconfig_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_kubeconfig_LDADD = src/k8s/libk8s.a src/k8s/libkubernetes.a $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_ldap_SOURCES = tests/fuzz/fuzz_ldap.c tests/unit/sid_bytes.h
tests_fuzz_fuzz_ldap_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/ldap -iquote $(top_srcdir)/tests/unit
tests_fuzz_fuzz_ldap_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_ldap_LDADD = src/ldap/libldap-kaas.a $(LIBS_BASE)

tests_fuzz_fuzz_masker_SOURCES = tests/fuzz/fuzz_masker.c
tests_fuzz_fuzz_masker_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_SETUP)
tests_fuzz_fuzz_masker_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_masker_LDADD = src/setup/libsetup.a $(LIBS_PORT)

tests_fuzz_fuzz_negotiate_SOURCES = tests/fuzz/fuzz_negotiate.c
tests_fuzz_fuzz_negotiate_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/gss
tests_fuzz_fuzz_negotiate_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_negotiate_LDADD = src/gss/libgss.a $(LIBS_BASE)

tests_fuzz_fuzz_node_phase_SOURCES = tests/fuzz/fuzz_node_phase.c
tests_fuzz_fuzz_node_phase_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_PROVISION)
tests_fuzz_fuzz_node_phase_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_node_phase_LDADD = src/provision/libprovision.a $(LIBS_PORT)

tests_fuzz_fuzz_ovf_SOURCES = tests/fuzz/fuzz_ovf.c
tests_fuzz_fuzz_ovf_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_ovf_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_ovf_LDADD = src/config/libconfig.a $(LIBS_PORT)

tests_fuzz_fuzz_pac_SOURCES = tests/fuzz/fuzz_pac.c
tests_fuzz_fuzz_pac_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/gss
tests_fuzz_fuzz_pac_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_pac_LDADD = src/gss/libgss.a src/model/libmodel.a $(LIBS_BASE)

tests_fuzz_fuzz_pilot_SOURCES = tests/fuzz/fuzz_pilot.c
tests_fuzz_fuzz_pilot_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_PILOT)
tests_fuzz_fuzz_pilot_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_pilot_LDADD = src/pilot/libpilot.a $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_provider_SOURCES = tests/fuzz/fuzz_provider.c
tests_fuzz_fuzz_provider_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_provider_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_provider_LDADD = $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_recv_SOURCES = tests/fuzz/fuzz_recv.c
tests_fuzz_fuzz_recv_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/httpd $(GNUTLS_CFLAGS) $(MHD_CFLAGS)
tests_fuzz_fuzz_recv_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_recv_LDADD = src/httpd/libhttpd.a $(LIBS_PORT) $(MHD_LIBS) $(GNUTLS_LIBS)

tests_fuzz_fuzz_release_SOURCES = tests/fuzz/fuzz_release.c
tests_fuzz_fuzz_release_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_UPDATES)
tests_fuzz_fuzz_release_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_release_LDADD = src/updates/libupdates.a $(LIBS_MODEL) $(LIBS_PORT)

tests_fuzz_fuzz_route_SOURCES = tests/fuzz/fuzz_route.c
tests_fuzz_fuzz_route_CPPFLAGS = $(FUZZ_CPPFLAGS) -iquote $(top_srcdir)/src/httpd
tests_fuzz_fuzz_route_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_route_LDADD = src/httpd/libhttpd.a $(LIBS_PORT) $(MHD_LIBS) $(GNUTLS_LIBS)

tests_fuzz_fuzz_token_SOURCES = tests/fuzz/fuzz_token.c
tests_fuzz_fuzz_token_CPPFLAGS = $(FUZZ_CPPFLAGS) $(CJOSE_CFLAGS)
tests_fuzz_fuzz_token_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_token_LDADD = $(LIBS_TOKEN)

tests_fuzz_fuzz_vim_SOURCES = tests/fuzz/fuzz_vim.c tests/fuzz/vim_canned.c tests/fuzz/vim_canned.h
tests_fuzz_fuzz_vim_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_VIM)
tests_fuzz_fuzz_vim_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_vim_LDADD = $(LIBS_VIM)

tests_fuzz_fuzz_vim_update_SOURCES = tests/fuzz/fuzz_vim_update.c tests/fuzz/vim_canned.c tests/fuzz/vim_canned.h
tests_fuzz_fuzz_vim_update_CPPFLAGS = $(FUZZ_CPPFLAGS) $(OWN_VIM)
tests_fuzz_fuzz_vim_update_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_vim_update_LDADD = $(LIBS_VIM)

tests_fuzz_fuzz_xml_SOURCES = tests/fuzz/fuzz_xml.c
tests_fuzz_fuzz_xml_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_xml_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_xml_LDADD = $(LIBS_PORT)

tests_fuzz_fuzz_yaml_SOURCES = tests/fuzz/fuzz_yaml.c
tests_fuzz_fuzz_yaml_CPPFLAGS = $(FUZZ_CPPFLAGS)
tests_fuzz_fuzz_yaml_LDFLAGS = $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_yaml_LDADD = $(LIBS_PORT)
endif
