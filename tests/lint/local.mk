# Rules of the house that need nothing but a shell and the compiler. The others are pytest files beside this one, run by scripts/check.
LINT_TESTS = \
    tests/lint/headers.sh \
    tests/lint/layers.sh \
    tests/lint/foreign.sh \
    tests/lint/banned.sh \
    tests/lint/hardening.sh
TESTS += $(LINT_TESTS)
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
EXTRA_DIST += $(LINT_TESTS) tests/lint/common.sh tests/FLAKY tests/lint/circles.txt tests/lint/foreign.txt tests/lint/layers.txt tests/lint/sizes.txt

# The rules alone, and everything but the rules: for scripts/check, which counts them apart. Automake's check-TESTS would build all tests, not only those it runs.
check-lint: all $(check_DATA)
	rm -f $(LINT_TESTS:.sh=.log) $(LINT_TESTS:.sh=.trs) $(TEST_SUITE_LOG)
	$(MAKE) $(AM_MAKEFLAGS) $(TEST_SUITE_LOG) TEST_LOGS='$(LINT_TESTS:.sh=.log)'
check-units: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(filter-out $(LINT_TESTS),$(TESTS))'
# What pytest runs beside the daemon, and beside a database alone.
world-programs: all
	$(MAKE) $(AM_MAKEFLAGS) $(filter tests/integ/%,$(check_PROGRAMS))
store-programs: all
	$(MAKE) $(AM_MAKEFLAGS) $(STORE_TESTS)
# Where threads meet, for a build with ThreadSanitizer: these tests, and the store programs, which pytest runs beside a database.
thread-programs: $(BUILT_SOURCES)
	$(MAKE) $(AM_MAKEFLAGS) $(THREAD_TESTS) $(STORE_TESTS)
check-threads: thread-programs
	rm -f $(THREAD_TESTS:=.log) $(THREAD_TESTS:=.trs) $(TEST_SUITE_LOG)
	$(MAKE) $(AM_MAKEFLAGS) $(TEST_SUITE_LOG) TEST_LOGS='$(THREAD_TESTS:=.log)'
.PHONY: check-lint check-units world-programs store-programs thread-programs check-threads

# What the tests must know of this build: for each folder the flags its sources are compiled with, then compiler and programs.
check_DATA = tests/lint/flags.txt
CLEANFILES += tests/lint/flags.txt
tests/lint/flags.txt: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/lint && { \
	  for folder in src/base/core src/base/text src/base/time src/base/work; do echo "$$folder $(src_base_libbase_a_CPPFLAGS)"; done; \
	  echo 'src/port $(src_port_libport_a_CPPFLAGS)'; \
	  for folder in src/model/access src/model/cluster src/model/core src/model/hx src/model/kubernetes src/model/provision src/model/vsphere; do echo "$$folder $(src_model_libmodel_a_CPPFLAGS)"; done; \
	  echo 'src/config $(src_config_libconfig_a_CPPFLAGS)'; \
	  echo 'src/token $(src_token_libtoken_a_CPPFLAGS)'; \
	  for folder in src/store src/store/audit src/store/core src/store/tables; do echo "$$folder $(src_store_libstore_a_CPPFLAGS)"; done; \
	  for folder in src/vim/admin src/vim/core src/vim/inventory src/vim/machine src/vim/session; do echo "$$folder $(src_vim_libvim_a_CPPFLAGS)"; done; \
	  echo 'src/hx $(src_hx_libhx_a_CPPFLAGS)'; \
	  echo 'src/k8s $(src_k8s_libk8s_a_CPPFLAGS)'; \
	  echo 'src/ldap $(src_ldap_libldap_kaas_a_CPPFLAGS)'; \
	  echo 'src/gss $(src_gss_libgss_a_CPPFLAGS)'; \
	  echo 'src/httpd $(src_httpd_libhttpd_a_CPPFLAGS)'; \
	  echo 'src/remote $(src_remote_libremote_a_CPPFLAGS)'; \
	  echo 'src/inventory $(src_inventory_libinventory_a_CPPFLAGS)'; \
	  echo 'src/job $(src_job_libjob_a_CPPFLAGS)'; \
	  echo 'src/hyperflex $(src_hyperflex_libhyperflex_a_CPPFLAGS)'; \
	  echo 'src/kubernetes $(src_kubernetes_libkubernetes_a_CPPFLAGS)'; \
	  echo 'src/provision $(src_provision_libprovision_a_CPPFLAGS)'; \
	  echo 'src/pilot $(src_pilot_libpilot_a_CPPFLAGS)'; \
	  for folder in src/setup/backup src/setup/first src/setup/keys src/setup/support; do echo "$$folder $(src_setup_libsetup_a_CPPFLAGS)"; done; \
	  echo 'src/updates $(src_updates_libupdates_a_CPPFLAGS)'; \
	  for folder in src/vcenter/doctor src/vcenter/events src/vcenter/extension src/vcenter/link src/vcenter/machines src/vcenter/watch; do echo "$$folder $(src_vcenter_libvcenter_a_CPPFLAGS)"; done; \
	  for folder in src/auth/accounts src/auth/login src/auth/rights src/auth/session src/auth/ldapdir; do echo "$$folder $(src_auth_libauth_a_CPPFLAGS)"; done; \
	  for folder in src/api src/api/core src/api/handlers/admin src/api/handlers/auth src/api/handlers/clusters src/api/handlers/hx src/api/handlers/provision src/api/handlers/vcenter; do echo "$$folder $(src_api_libapi_a_CPPFLAGS)"; done; \
	  echo 'src/daemon $(src_daemon_kaasd_CPPFLAGS)'; \
	  for folder in src/cli/commands src/cli/core; do echo "$$folder $(src_cli_kaasctl_CPPFLAGS)"; done; \
	  echo 'CC $(CC)'; \
	  echo 'CFLAGS $(CFLAGS)'; \
	  echo 'PROGRAMS $(sbin_PROGRAMS) $(bin_PROGRAMS)'; \
	} > $@
