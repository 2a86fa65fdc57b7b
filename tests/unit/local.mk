# Test programs in C. A new one is a line in one of the two lists below; one over a made-up world has a line with its sources, too.
# All see every folder and are linked with whatever of the daemon they call.
UNIT_TESTS = \
    tests/unit/test_access_words \
    tests/unit/test_api_authn \
    tests/unit/test_api_input \
    tests/unit/test_api_pages \
    tests/unit/test_api_reply \
    tests/unit/test_challenge \
    tests/unit/test_cli_address \
    tests/unit/test_cli_opt \
    tests/unit/test_cli_prompt \
    tests/unit/test_cli_table \
    tests/unit/test_clock \
    tests/unit/test_cluster \
    tests/unit/test_config \
    tests/unit/test_copies \
    tests/unit/test_inventory_check \
    tests/unit/test_inventory_list \
    tests/unit/test_inventory_next \
    tests/unit/test_inventory_snapshot \
    tests/unit/test_inventory_state \
    tests/unit/test_err \
    tests/unit/test_finding \
    tests/unit/test_fsutil \
    tests/unit/test_groups \
    tests/unit/test_gss \
    tests/unit/test_hashmap \
    tests/unit/test_httpd_message \
    tests/unit/test_httpd_route \
    tests/unit/test_hx_peer \
    tests/unit/test_identity_groups \
    tests/unit/test_identity_login \
    tests/unit/test_identity_servers \
    tests/unit/test_json \
    tests/unit/test_kerberos_person \
    tests/unit/test_ldap_source \
    tests/unit/test_ldap_text \
    tests/unit/test_model \
    tests/unit/test_names \
    tests/unit/test_negotiate \
    tests/unit/test_net_addr \
    tests/unit/test_object_ref \
    tests/unit/test_ovf_env \
    tests/unit/test_pac \
    tests/unit/test_policy \
    tests/unit/test_policy_grants \
    tests/unit/test_rollup \
    tests/unit/test_secret \
    tests/unit/test_service \
    tests/unit/test_signon_linked \
    tests/unit/test_signon_login \
    tests/unit/test_signon_person \
    tests/unit/test_signon_rights \
    tests/unit/test_signon_session \
    tests/unit/test_store_errno \
    tests/unit/test_store_schema \
    tests/unit/test_str \
    tests/unit/test_strbuf \
    tests/unit/test_uuid \
    tests/unit/test_vim_decode \
    tests/unit/test_vim_extension \
    tests/unit/test_vim_inventory \
    tests/unit/test_vim_permission \
    tests/unit/test_vim_privilege \
    tests/unit/test_vim_pure \
    tests/unit/test_vim_watch_lists \
    tests/unit/test_watch \
    tests/unit/test_words \
    tests/unit/test_xml
# those that start threads
UNIT_THREAD_TESTS = \
    tests/unit/test_inventory_feed \
    tests/unit/test_singleflight \
    tests/unit/test_http_client \
    tests/unit/test_httpd_kept \
    tests/unit/test_httpd_limits \
    tests/unit/test_httpd_server \
    tests/unit/test_httpd_tls \
    tests/unit/test_httpd_waiting \
    tests/unit/test_scheduler \
    tests/unit/test_worker_pool \
    tests/unit/test_log \
    tests/unit/test_metric \
    tests/unit/test_net_look \
    tests/unit/test_platform_links \
    tests/unit/test_platform_login \
    tests/unit/test_platform_reconcile \
    tests/unit/test_platform_registration \
    tests/unit/test_seal \
    tests/unit/test_signon_memory \
    tests/unit/test_token \
    tests/unit/test_vim_client \
    tests/unit/test_vim_watch \
    tests/unit/test_watch_run \
    tests/unit/test_x509
# Driven by pytest (tests/integ/test_store.py), or by hand with tests/integ/with-mariadb.
STORE_TESTS = \
    tests/integ/store_audit_test \
    tests/integ/store_clusters_test \
    tests/integ/store_faults_test \
    tests/integ/store_objects_test \
    tests/integ/store_observations_test \
    tests/integ/store_people_test \
    tests/integ/store_platform_test \
    tests/integ/store_schema_test \
    tests/integ/store_test \
    tests/integ/store_audit_log_test \
    tests/integ/store_tx_test
check_PROGRAMS += $(UNIT_TESTS) $(UNIT_THREAD_TESTS) $(STORE_TESTS)
TESTS += $(UNIT_TESTS) $(UNIT_THREAD_TESTS)
THREAD_TESTS += $(UNIT_THREAD_TESTS)

tests/unit/%.o tests/integ/%.o: AM_CPPFLAGS += $(SEE_ENTRIES) -iquote $(top_srcdir)/src/ldap -iquote $(top_srcdir)/src/gss -iquote $(top_srcdir)/tests/unit \
    $(CMOCKA_CFLAGS) $(GSOAP_CFLAGS) -isystem src/vim/gen $(XML_CFLAGS) $(MARIADB_CFLAGS) $(KRB5_CFLAGS) $(CJOSE_CFLAGS) $(OPENSSL_CFLAGS) \
    -DWSDL_DIR='"$(abs_top_srcdir)/wsdl"'
LDADD = tests/unit/libhelpers.a $(src_daemon_kaasd_LDADD) $(CMOCKA_LIBS)

# What helps and stands for nothing of the daemon's.
check_LIBRARIES = tests/unit/libhelpers.a
tests_unit_libhelpers_a_SOURCES = \
    tests/integ/store_fixture.c \
    tests/integ/store_fixture.h \
    tests/unit/blocked.c \
    tests/unit/blocked.h \
    tests/unit/httpd_fixture.c \
    tests/unit/httpd_fixture.h \
    tests/unit/sid_bytes.h \
    tests/unit/tls_server.c \
    tests/unit/tls_server.h \
    tests/unit/unit.h \
    tests/unit/vim_fake.c \
    tests/unit/vim_fake.h \
    tests/unit/vim_schema.c \
    tests/unit/vim_told.c \
    tests/unit/vim_told.h \
    tests/unit/vim_watch_world.c \
    tests/unit/vim_watch_world.h

# Worlds stand for the folders below the one under test: a database, directories and a vCenter in memory.
DIR_WORLD = tests/unit/inventory_world.c tests/unit/inventory_world.h
IDENTITY_WORLD = tests/unit/identity_world.c tests/unit/identity_world.h
PLATFORM_WORLD = tests/unit/platform_world.c tests/unit/platform_world.h tests/unit/platform_world_reg.c tests/unit/platform_world_reg.h \
    tests/unit/platform_world_watch.c tests/unit/platform_world_watch.h
SIGNON_WORLD = tests/unit/signon_world.c tests/unit/signon_world.h
tests_unit_test_api_input_SOURCES = tests/unit/test_api_input.c $(DIR_WORLD)
tests_unit_test_inventory_check_SOURCES = tests/unit/test_inventory_check.c $(DIR_WORLD)
tests_unit_test_inventory_feed_SOURCES = tests/unit/test_inventory_feed.c $(DIR_WORLD)
tests_unit_test_inventory_list_SOURCES = tests/unit/test_inventory_list.c $(DIR_WORLD)
tests_unit_test_inventory_next_SOURCES = tests/unit/test_inventory_next.c $(DIR_WORLD)
tests_unit_test_inventory_snapshot_SOURCES = tests/unit/test_inventory_snapshot.c $(DIR_WORLD)
tests_unit_test_inventory_state_SOURCES = tests/unit/test_inventory_state.c $(DIR_WORLD)
tests_unit_test_identity_groups_SOURCES = tests/unit/test_identity_groups.c $(IDENTITY_WORLD)
tests_unit_test_identity_login_SOURCES = tests/unit/test_identity_login.c $(IDENTITY_WORLD)
tests_unit_test_identity_servers_SOURCES = tests/unit/test_identity_servers.c $(IDENTITY_WORLD)
tests_unit_test_kerberos_person_SOURCES = tests/unit/test_kerberos_person.c $(IDENTITY_WORLD)
tests_unit_test_platform_links_SOURCES = tests/unit/test_platform_links.c $(PLATFORM_WORLD)
tests_unit_test_platform_login_SOURCES = tests/unit/test_platform_login.c $(PLATFORM_WORLD)
tests_unit_test_platform_reconcile_SOURCES = tests/unit/test_platform_reconcile.c $(PLATFORM_WORLD)
tests_unit_test_platform_registration_SOURCES = tests/unit/test_platform_registration.c $(PLATFORM_WORLD)
tests_unit_test_watch_SOURCES = tests/unit/test_watch.c $(PLATFORM_WORLD)
tests_unit_test_watch_run_SOURCES = tests/unit/test_watch_run.c $(PLATFORM_WORLD)
tests_unit_test_signon_linked_SOURCES = tests/unit/test_signon_linked.c $(SIGNON_WORLD)
tests_unit_test_signon_login_SOURCES = tests/unit/test_signon_login.c $(SIGNON_WORLD)
tests_unit_test_signon_memory_SOURCES = tests/unit/test_signon_memory.c $(SIGNON_WORLD)
tests_unit_test_signon_person_SOURCES = tests/unit/test_signon_person.c $(SIGNON_WORLD)
tests_unit_test_signon_rights_SOURCES = tests/unit/test_signon_rights.c $(SIGNON_WORLD)
tests_unit_test_signon_session_SOURCES = tests/unit/test_signon_session.c $(SIGNON_WORLD)

# kaasctl is no library.
tests_unit_test_cli_address_SOURCES = tests/unit/test_cli_address.c src/cli/core/cli_address.c
tests_unit_test_cli_address_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_opt_SOURCES = tests/unit/test_cli_opt.c src/cli/core/cli_opt.c
tests_unit_test_cli_opt_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_prompt_SOURCES = tests/unit/test_cli_prompt.c src/cli/core/cli_prompt.c src/cli/core/cli_table.c
tests_unit_test_cli_prompt_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_table_SOURCES = tests/unit/test_cli_table.c src/cli/core/cli_table.c
tests_unit_test_cli_table_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
CLI_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(OWN_CLI) $(CMOCKA_CFLAGS)

# whose request and answer are made of plain values, in place of those of src/httpd
tests_unit_test_api_reply_LDFLAGS = $(AM_LDFLAGS) -Wl,--allow-multiple-definition
# the allocations of the code under test, so that each can be made to fail
tests_unit_test_copies_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=strdup
tests_unit_test_finding_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reallocarray
tests_unit_test_hashmap_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
# of programs that know by tests/unit/blocked.h that another thread waits
WRAP_FOR_BLOCKED = -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_cond_wait -Wl,--wrap=pthread_cond_timedwait
tests_unit_test_vim_client_LDFLAGS = $(AM_LDFLAGS) $(WRAP_FOR_BLOCKED)
tests_integ_store_test_LDFLAGS = $(AM_LDFLAGS) $(WRAP_FOR_BLOCKED) -Wl,--wrap=mysql_stmt_bind_result

# A few seconds of everything at once; more rounds by hand or under the sanitizers.
check_PROGRAMS += tests/integ/http_stress
TESTS += tests/integ/http_stress
THREAD_TESTS += tests/integ/http_stress

# No tests by themselves: pytest runs them.
check_PROGRAMS += tests/integ/pac_probe tests/integ/storm_clients tests/integ/vim_probe tests/integ/vim_watch_probe
tests_integ_storm_clients_SOURCES = tests/integ/storm_clients.c tests/integ/storm_clients.h tests/integ/storm_kinds.c

# Nor this: tests/world/clock.py lays it under the daemon. A library, whatever automake calls it, and never with a sanitizer.
check_PROGRAMS += tests/integ/forward_clock.so
tests_integ_forward_clock_so_SOURCES = tests/integ/forward_clock.c
tests_integ_forward_clock_so_CPPFLAGS = -D_GNU_SOURCE
tests_integ_forward_clock_so_CFLAGS = -std=gnu11 $(KAAS_WARN_CFLAGS) -fPIC
tests_integ_forward_clock_so_LDFLAGS = -shared -pthread -Wl,--version-script=$(top_srcdir)/tests/integ/forward_clock.map
tests_integ_forward_clock_so_LDADD =
tests_integ_forward_clock_so_DEPENDENCIES = tests/integ/forward_clock.map
EXTRA_DIST += tests/integ/forward_clock.map tests/integ/with-mariadb

# For the programs of tests/fuzz and bench.
LIBS_BASE = src/base/libbase.a $(UUID_LIBS)
LIBS_PORT = src/port/libport.a $(LIBS_BASE) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) $(XML_LIBS) $(CRYPT_LIBS) $(ZLIB_LIBS)
LIBS_MODEL = src/model/libmodel.a
LIBS_CONFIG = src/config/libconfig.a $(LIBS_MODEL) $(LIBS_BASE) $(YAML_LIBS)
LIBS_TOKEN = src/token/libtoken.a $(LIBS_MODEL) $(LIBS_PORT) $(CJOSE_LIBS)
