# Test programs in C, in a folder for each of src.
# A new one is a line in one of the two lists below; one over a made-up world has a line with its sources, too.
# All see every folder and are linked with whatever of the daemon they call.
UNIT_TESTS = \
    tests/unit/api/test_api_authn \
    tests/unit/api/test_api_bounds \
    tests/unit/api/test_api_input \
    tests/unit/api/test_api_kube \
    tests/unit/api/test_api_pages \
    tests/unit/api/test_api_reply \
    tests/unit/api/test_api_views \
    tests/unit/auth/test_ldapdir_groups \
    tests/unit/auth/test_ldapdir_login \
    tests/unit/auth/test_ldapdir_servers \
    tests/unit/auth/test_kerberos_person \
    tests/unit/auth/test_service \
    tests/unit/auth/test_signon_linked \
    tests/unit/auth/test_signon_login \
    tests/unit/auth/test_signon_person \
    tests/unit/auth/test_signon_rights \
    tests/unit/auth/test_signon_session \
    tests/unit/base/test_clock \
    tests/unit/base/test_err \
    tests/unit/base/test_finding \
    tests/unit/base/test_fsutil \
    tests/unit/base/test_hashmap \
    tests/unit/base/test_secret \
    tests/unit/base/test_str \
    tests/unit/base/test_strbuf \
    tests/unit/base/test_uuid \
    tests/unit/cli/test_cli_address \
    tests/unit/cli/test_cli_logins \
    tests/unit/cli/test_cli_opt \
    tests/unit/cli/test_cli_prompt \
    tests/unit/cli/test_cli_table \
    tests/unit/cli/test_cli_yaml \
    tests/unit/config/test_config \
    tests/unit/config/test_ovf_env \
    tests/unit/gss/test_challenge \
    tests/unit/gss/test_gss \
    tests/unit/gss/test_negotiate \
    tests/unit/gss/test_pac \
    tests/unit/httpd/test_httpd_message \
    tests/unit/httpd/test_httpd_route \
    tests/unit/hx/test_hx_decode \
    tests/unit/inventory/test_inventory_check \
    tests/unit/inventory/test_inventory_impact \
    tests/unit/inventory/test_inventory_list \
    tests/unit/inventory/test_inventory_next \
    tests/unit/inventory/test_inventory_snapshot \
    tests/unit/inventory/test_inventory_sources \
    tests/unit/inventory/test_inventory_state \
    tests/unit/k8s/test_k8s_bad \
    tests/unit/k8s/test_k8s_codec \
    tests/unit/k8s/test_k8s_objects \
    tests/unit/k8s/test_kubeconfig \
    tests/unit/kubernetes/test_bundle_apply \
    tests/unit/kubernetes/test_bootstrap_token \
    tests/unit/kubernetes/test_kube_account \
    tests/unit/kubernetes/test_kube_mirror \
    tests/unit/kubernetes/test_let_pass \
    tests/unit/ldap/test_ldap_text \
    tests/unit/model/test_access_words \
    tests/unit/model/test_bundle \
    tests/unit/model/test_cluster \
    tests/unit/model/test_cluster_spec \
    tests/unit/model/test_copies \
    tests/unit/model/test_groups \
    tests/unit/model/test_host_impact \
    tests/unit/model/test_hx_claim \
    tests/unit/model/test_hx_peer \
    tests/unit/model/test_hx_publication \
    tests/unit/model/test_kube_health \
    tests/unit/model/test_kube_readyz \
    tests/unit/model/test_kube_version \
    tests/unit/model/test_ldap_source \
    tests/unit/model/test_model \
    tests/unit/model/test_names \
    tests/unit/model/test_object_ref \
    tests/unit/model/test_policy \
    tests/unit/model/test_policy_grants \
    tests/unit/model/test_provider \
    tests/unit/model/test_rollup \
    tests/unit/model/test_words \
    tests/unit/pilot/test_pilot_guard \
    tests/unit/pilot/test_pilot_pseudonym \
    tests/unit/pilot/test_pilot_record \
    tests/unit/port/test_json \
    tests/unit/port/test_log_json \
    tests/unit/port/test_net_addr \
    tests/unit/port/test_pki \
    tests/unit/port/test_protobuf \
    tests/unit/port/test_signature \
    tests/unit/port/test_xml \
    tests/unit/port/test_yaml \
    tests/unit/provision/test_node_data \
    tests/unit/provision/test_node_phase \
    tests/unit/setup/test_backup_file \
    tests/unit/setup/test_backup_health \
    tests/unit/setup/test_masker \
    tests/unit/setup/test_sql_rows \
    tests/unit/setup/test_support_bundle \
    tests/unit/store/test_migrate \
    tests/unit/store/test_store_errno \
    tests/unit/updates/test_release_file \
    tests/unit/vcenter/test_event_plan \
    tests/unit/vcenter/test_verdict \
    tests/unit/vcenter/test_watch \
    tests/unit/vim/test_vim_alarm \
    tests/unit/vim/test_vim_clusters \
    tests/unit/vim/test_vim_decode \
    tests/unit/vim/test_vim_build \
    tests/unit/vim/test_vim_event \
    tests/unit/vim/test_vim_extension \
    tests/unit/vim/test_vim_guest \
    tests/unit/vim/test_vim_location \
    tests/unit/vim/test_vim_machine \
    tests/unit/vim/test_vim_permission \
    tests/unit/vim/test_vim_privilege \
    tests/unit/vim/test_vim_site \
    tests/unit/vim/test_vim_pure \
    tests/unit/vim/test_vim_watch_lists
# those that start threads
UNIT_THREAD_TESTS = \
    tests/unit/auth/test_signon_memory \
    tests/unit/base/test_log \
    tests/unit/base/test_metric \
    tests/unit/base/test_scheduler \
    tests/unit/base/test_singleflight \
    tests/unit/base/test_worker_pool \
    tests/unit/httpd/test_httpd_kept \
    tests/unit/httpd/test_httpd_limits \
    tests/unit/httpd/test_httpd_server \
    tests/unit/httpd/test_httpd_stress \
    tests/unit/httpd/test_httpd_tls \
    tests/unit/httpd/test_httpd_waiting \
    tests/unit/hx/test_hx_client \
    tests/unit/hyperflex/test_hyperflex \
    tests/unit/inventory/test_inventory_feed \
    tests/unit/k8s/test_k8s_client \
    tests/unit/k8s/test_k8s_watch \
    tests/unit/port/test_http_client \
    tests/unit/port/test_http_stream \
    tests/unit/port/test_net_look \
    tests/unit/port/test_seal \
    tests/unit/port/test_x509 \
    tests/unit/port/test_x509_chain \
    tests/unit/remote/test_remote \
    tests/unit/token/test_token \
    tests/unit/vcenter/test_platform_links \
    tests/unit/vcenter/test_platform_login \
    tests/unit/vcenter/test_platform_reconcile \
    tests/unit/vcenter/test_platform_registration \
    tests/unit/vcenter/test_watch_run \
    tests/unit/vim/test_vim_client \
    tests/unit/vim/test_vim_watch
# Driven by pytest (tests/integ/store/test_store.py), or by hand with tests/unit/store/with-mariadb.
STORE_TESTS = \
    tests/unit/job/test_jobs \
    tests/unit/provision/test_cluster_pki \
    tests/unit/store/test_store \
    tests/unit/store/test_store_audit \
    tests/unit/store/test_store_audit_log \
    tests/unit/store/test_store_clusters \
    tests/unit/store/test_store_events \
    tests/unit/store/test_store_faults \
    tests/unit/store/test_store_kube \
    tests/unit/store/test_store_machines \
    tests/unit/store/test_store_objects \
    tests/unit/store/test_store_locks \
    tests/unit/store/test_store_observations \
    tests/unit/store/test_store_people \
    tests/unit/store/test_store_platform \
    tests/unit/store/test_store_schema \
    tests/unit/store/test_store_providers \
    tests/unit/store/test_store_secrets \
    tests/unit/store/test_store_tx
check_PROGRAMS += $(UNIT_TESTS) $(UNIT_THREAD_TESTS) $(STORE_TESTS)
TESTS += $(UNIT_TESTS) $(UNIT_THREAD_TESTS)
THREAD_TESTS += $(UNIT_THREAD_TESTS)

tests/unit/%.o tests/integ/%.o: AM_CPPFLAGS += $(SEE_ENTRIES) -iquote $(top_srcdir)/src/ldap -iquote $(top_srcdir)/src/gss -iquote \
    $(top_srcdir)/src/hx -iquote $(top_srcdir)/src/k8s $(OWN_PILOT) -iquote $(top_srcdir)/tests/unit \
    $(CMOCKA_CFLAGS) $(GSOAP_CFLAGS) -isystem src/k8s/gen -isystem src/vim/gen $(XML_CFLAGS) $(MARIADB_CFLAGS) $(KRB5_CFLAGS) $(CJOSE_CFLAGS) $(OPENSSL_CFLAGS) \
    -DWSDL_DIR='"$(abs_top_srcdir)/wsdl"' -DCORPUS_DIR='"$(abs_top_srcdir)/tests/fuzz/corpus"'
LDADD = tests/unit/libhelpers.a src/pilot/libpilot.a $(src_daemon_kaasd_LDADD) $(CMOCKA_LIBS)

# What helps and stands for nothing of the daemon's.
check_LIBRARIES = tests/unit/libhelpers.a
tests_unit_libhelpers_a_SOURCES = \
    tests/unit/blocked.c \
    tests/unit/blocked.h \
    tests/unit/httpd/httpd_fixture.c \
    tests/unit/httpd/httpd_fixture.h \
    tests/unit/k8s/k8s_forms.c \
    tests/unit/k8s/k8s_forms.h \
    tests/unit/sid_bytes.h \
    tests/unit/store/store_fixture.c \
    tests/unit/store/store_fixture.h \
    tests/unit/tls_server.c \
    tests/unit/tls_server.h \
    tests/unit/unit.h \
    tests/unit/vim/vim_fake.c \
    tests/unit/vim/vim_fake.h \
    tests/unit/vim/vim_schema.c \
    tests/unit/vim/vim_watch_world.c \
    tests/unit/vim/vim_watch_world.h \
    tests/unit/vim_told.c \
    tests/unit/vim_told.h

# Worlds stand for the folders below the one under test: a database, directories and a vCenter in memory.
DIR_WORLD = tests/unit/inventory_world.c tests/unit/inventory_world.h
HYPERFLEX_WORLD = tests/unit/hyperflex/hyperflex_world.c tests/unit/hyperflex/hyperflex_world.h
IDENTITY_WORLD = tests/unit/auth/ldapdir_world.c tests/unit/auth/ldapdir_world.h
PLATFORM_WORLD = tests/unit/vcenter/platform_world.c tests/unit/vcenter/platform_world.h tests/unit/vcenter/platform_world_reg.c \
    tests/unit/vcenter/platform_world_reg.h \
    tests/unit/vcenter/platform_world_watch.c tests/unit/vcenter/platform_world_watch.h
SIGNON_WORLD = tests/unit/auth/signon_world.c tests/unit/auth/signon_world.h
tests_unit_api_test_api_input_SOURCES = tests/unit/api/test_api_input.c $(DIR_WORLD)
tests_unit_hyperflex_test_hyperflex_SOURCES = tests/unit/hyperflex/test_hyperflex.c $(HYPERFLEX_WORLD)
tests_unit_inventory_test_inventory_check_SOURCES = tests/unit/inventory/test_inventory_check.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_feed_SOURCES = tests/unit/inventory/test_inventory_feed.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_impact_SOURCES = tests/unit/inventory/test_inventory_impact.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_list_SOURCES = tests/unit/inventory/test_inventory_list.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_next_SOURCES = tests/unit/inventory/test_inventory_next.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_snapshot_SOURCES = tests/unit/inventory/test_inventory_snapshot.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_sources_SOURCES = tests/unit/inventory/test_inventory_sources.c $(DIR_WORLD)
tests_unit_inventory_test_inventory_state_SOURCES = tests/unit/inventory/test_inventory_state.c $(DIR_WORLD)
tests_unit_auth_test_ldapdir_groups_SOURCES = tests/unit/auth/test_ldapdir_groups.c $(IDENTITY_WORLD)
tests_unit_auth_test_ldapdir_login_SOURCES = tests/unit/auth/test_ldapdir_login.c $(IDENTITY_WORLD)
tests_unit_auth_test_ldapdir_servers_SOURCES = tests/unit/auth/test_ldapdir_servers.c $(IDENTITY_WORLD)
tests_unit_auth_test_kerberos_person_SOURCES = tests/unit/auth/test_kerberos_person.c $(IDENTITY_WORLD)
tests_unit_vcenter_test_platform_links_SOURCES = tests/unit/vcenter/test_platform_links.c $(PLATFORM_WORLD)
tests_unit_vcenter_test_platform_login_SOURCES = tests/unit/vcenter/test_platform_login.c $(PLATFORM_WORLD)
tests_unit_vcenter_test_platform_reconcile_SOURCES = tests/unit/vcenter/test_platform_reconcile.c $(PLATFORM_WORLD)
tests_unit_vcenter_test_platform_registration_SOURCES = tests/unit/vcenter/test_platform_registration.c $(PLATFORM_WORLD)
tests_unit_vcenter_test_watch_SOURCES = tests/unit/vcenter/test_watch.c $(PLATFORM_WORLD)
tests_unit_vcenter_test_watch_run_SOURCES = tests/unit/vcenter/test_watch_run.c $(PLATFORM_WORLD)
tests_unit_auth_test_signon_linked_SOURCES = tests/unit/auth/test_signon_linked.c $(SIGNON_WORLD)
tests_unit_auth_test_signon_login_SOURCES = tests/unit/auth/test_signon_login.c $(SIGNON_WORLD)
tests_unit_auth_test_signon_memory_SOURCES = tests/unit/auth/test_signon_memory.c $(SIGNON_WORLD)
tests_unit_auth_test_signon_person_SOURCES = tests/unit/auth/test_signon_person.c $(SIGNON_WORLD)
tests_unit_auth_test_signon_rights_SOURCES = tests/unit/auth/test_signon_rights.c $(SIGNON_WORLD)
tests_unit_auth_test_signon_session_SOURCES = tests/unit/auth/test_signon_session.c $(SIGNON_WORLD)

# kaasctl is no library.
tests_unit_cli_test_cli_address_SOURCES = tests/unit/cli/test_cli_address.c src/cli/core/cli_address.c
tests_unit_cli_test_cli_address_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_cli_test_cli_logins_SOURCES = tests/unit/cli/test_cli_logins.c src/cli/core/cli_logins.c
tests_unit_cli_test_cli_logins_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_cli_test_cli_opt_SOURCES = tests/unit/cli/test_cli_opt.c src/cli/core/cli_opt.c
tests_unit_cli_test_cli_opt_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_cli_test_cli_prompt_SOURCES = tests/unit/cli/test_cli_prompt.c src/cli/core/cli_prompt.c src/cli/core/cli_table.c
tests_unit_cli_test_cli_prompt_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_cli_test_cli_table_SOURCES = tests/unit/cli/test_cli_table.c src/cli/core/cli_table.c
tests_unit_cli_test_cli_table_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_cli_test_cli_yaml_SOURCES = tests/unit/cli/test_cli_yaml.c src/cli/core/cli_yaml.c src/cli/core/cli_table.c
tests_unit_cli_test_cli_yaml_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
CLI_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(OWN_CLI) $(CMOCKA_CFLAGS)

# whose request and answer are made of plain values, in place of those of src/httpd
tests_unit_api_test_api_kube_LDFLAGS = $(AM_LDFLAGS) -Wl,--allow-multiple-definition
tests_unit_api_test_api_reply_LDFLAGS = $(AM_LDFLAGS) -Wl,--allow-multiple-definition
# the allocations of the code under test, so that each can be made to fail
tests_unit_k8s_test_kubeconfig_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup
tests_unit_model_test_copies_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=strdup
tests_unit_base_test_finding_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reallocarray
tests_unit_base_test_hashmap_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
# of programs that know by tests/unit/blocked.h that another thread waits
WRAP_FOR_BLOCKED = -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_cond_wait -Wl,--wrap=pthread_cond_timedwait
tests_unit_vim_test_vim_client_LDFLAGS = $(AM_LDFLAGS) $(WRAP_FOR_BLOCKED)
tests_unit_store_test_store_LDFLAGS = $(AM_LDFLAGS) $(WRAP_FOR_BLOCKED) -Wl,--wrap=mysql_stmt_bind_result

# No tests by themselves: pytest runs them.
check_PROGRAMS += tests/integ/auth/pac_probe tests/integ/bundle_probe tests/integ/etcd_probe tests/integ/kube_admin_probe \
    tests/integ/kube_watch_probe tests/integ/node_documents tests/integ/storm_clients tests/integ/vcenter/vim_probe \
    tests/integ/vcenter/vim_watch_probe
tests_integ_storm_clients_SOURCES = tests/integ/storm_clients.c tests/integ/storm_clients.h tests/integ/storm_kinds.c

# kaasd itself, with kinds of jobs that only try steps.
check_PROGRAMS += tests/integ/provision/machine_kaasd
tests_integ_provision_machine_kaasd_SOURCES = tests/integ/provision/machine_kaasd.c $(src_daemon_kaasd_SOURCES)
tests_integ_provision_machine_kaasd_CPPFLAGS = $(src_daemon_kaasd_CPPFLAGS)
tests_integ_provision_machine_kaasd_LDADD = $(src_daemon_kaasd_LDADD)
tests_integ_provision_machine_kaasd_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=platform_new -Wl,--wrap=jobs_new -Wl,--wrap=jobs_tick \
    -Wl,--wrap=job_store_begin -Wl,--wrap=job_store_take -Wl,--wrap=job_store_write -Wl,--wrap=made_store_insert \
    -Wl,--wrap=made_store_delete -Wl,--wrap=cluster_store_update -Wl,--wrap=cluster_store_delete -Wl,--wrap=pki_store_put \
    -Wl,--wrap=pki_store_delete -Wl,--wrap=secret_store_add -Wl,--wrap=secret_store_remove -Wl,--wrap=kube_store_put \
    -Wl,--wrap=kube_store_delete -Wl,--wrap=address_store_lease -Wl,--wrap=address_store_release -Wl,--wrap=machine_store_draw \
    -Wl,--wrap=machine_store_redraw -Wl,--wrap=machine_store_set -Wl,--wrap=machine_store_release -Wl,--wrap=machine_store_set_folder

# Nor these: tests/env/clock.py and ready_keys.py lay them under the daemon. Libraries, whatever automake calls them, and never with a sanitizer.
check_PROGRAMS += tests/integ/forward_clock.so tests/integ/ready_keys.so
tests_integ_forward_clock_so_SOURCES = tests/integ/forward_clock.c
tests_integ_forward_clock_so_CPPFLAGS = -D_GNU_SOURCE
tests_integ_forward_clock_so_CFLAGS = -std=gnu11 $(KAAS_WARN_CFLAGS) -fPIC
tests_integ_forward_clock_so_LDFLAGS = -shared -pthread -Wl,--version-script=$(top_srcdir)/tests/integ/forward_clock.map
tests_integ_forward_clock_so_LDADD =
tests_integ_forward_clock_so_DEPENDENCIES = tests/integ/forward_clock.map
tests_integ_ready_keys_so_SOURCES = tests/integ/ready_keys.c
tests_integ_ready_keys_so_CPPFLAGS = -D_GNU_SOURCE $(OPENSSL_CFLAGS)
tests_integ_ready_keys_so_CFLAGS = -std=gnu11 $(KAAS_WARN_CFLAGS) -fPIC
tests_integ_ready_keys_so_LDFLAGS = -shared
tests_integ_ready_keys_so_LDADD = $(OPENSSL_LIBS)
EXTRA_DIST += tests/integ/forward_clock.map tests/unit/store/with-mariadb

# For the programs of tests/fuzz and bench.
LIBS_BASE = src/base/libbase.a $(UUID_LIBS)
LIBS_PORT = src/port/libport.a $(LIBS_BASE) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) $(XML_LIBS) $(CRYPT_LIBS) $(ZLIB_LIBS) $(YAML_LIBS) $(NANOPB_LIBS)
LIBS_MODEL = src/model/libmodel.a
LIBS_CONFIG = src/config/libconfig.a $(LIBS_MODEL) $(LIBS_PORT)
LIBS_TOKEN = src/token/libtoken.a $(LIBS_MODEL) $(LIBS_PORT) $(CJOSE_LIBS)
