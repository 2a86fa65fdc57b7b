# Unit tests of src/service: each room alone, over a database and a vCenter in memory.
SIGNON_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/signon $(CMOCKA_CFLAGS)
SIGNON_TEST_WORLD = tests/unit/signon_world.c tests/unit/signon_world.h tests/unit/unit.h
LIBS_SIGNON = src/service/libsignon.a src/token/libtoken.a $(LIBS_MODEL) $(LIBS_PORT) $(CJOSE_LIBS)

check_PROGRAMS += tests/unit/test_signon_login
TESTS += tests/unit/test_signon_login
tests_unit_test_signon_login_SOURCES = tests/unit/test_signon_login.c $(SIGNON_TEST_WORLD)
tests_unit_test_signon_login_CPPFLAGS = $(SIGNON_TEST_CPPFLAGS)
tests_unit_test_signon_login_LDADD = $(LIBS_SIGNON) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_signon_person
TESTS += tests/unit/test_signon_person
tests_unit_test_signon_person_SOURCES = tests/unit/test_signon_person.c $(SIGNON_TEST_WORLD)
tests_unit_test_signon_person_CPPFLAGS = $(SIGNON_TEST_CPPFLAGS)
tests_unit_test_signon_person_LDADD = $(LIBS_SIGNON) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_signon_session
TESTS += tests/unit/test_signon_session
tests_unit_test_signon_session_SOURCES = tests/unit/test_signon_session.c $(SIGNON_TEST_WORLD)
tests_unit_test_signon_session_CPPFLAGS = $(SIGNON_TEST_CPPFLAGS)
tests_unit_test_signon_session_LDADD = $(LIBS_SIGNON) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_signon_memory
TESTS += tests/unit/test_signon_memory
THREAD_TESTS += tests/unit/test_signon_memory
tests_unit_test_signon_memory_SOURCES = tests/unit/test_signon_memory.c $(SIGNON_TEST_WORLD)
tests_unit_test_signon_memory_CPPFLAGS = $(SIGNON_TEST_CPPFLAGS)
tests_unit_test_signon_memory_LDADD = $(LIBS_SIGNON) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_signon_linked
TESTS += tests/unit/test_signon_linked
tests_unit_test_signon_linked_SOURCES = tests/unit/test_signon_linked.c $(SIGNON_TEST_WORLD)
tests_unit_test_signon_linked_CPPFLAGS = $(SIGNON_TEST_CPPFLAGS)
tests_unit_test_signon_linked_LDADD = $(LIBS_SIGNON) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_signon_rights
TESTS += tests/unit/test_signon_rights
tests_unit_test_signon_rights_SOURCES = tests/unit/test_signon_rights.c $(SIGNON_TEST_WORLD)
tests_unit_test_signon_rights_CPPFLAGS = $(SIGNON_TEST_CPPFLAGS)
tests_unit_test_signon_rights_LDADD = $(LIBS_SIGNON) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_ovf_env
TESTS += tests/unit/test_ovf_env
tests_unit_test_ovf_env_SOURCES = tests/unit/test_ovf_env.c tests/unit/unit.h
tests_unit_test_ovf_env_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/service/platform $(CMOCKA_CFLAGS)
tests_unit_test_ovf_env_LDADD = src/service/libplatform.a $(LIBS_PORT) $(CMOCKA_LIBS)

PLATFORM_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/platform $(CMOCKA_CFLAGS)
PLATFORM_TEST_WORLD = tests/unit/platform_world.c tests/unit/platform_world.h tests/unit/platform_world_reg.c \
    tests/unit/platform_world_reg.h tests/unit/platform_world_watch.c tests/unit/platform_world_watch.h tests/unit/unit.h
# of src/vim only the order of versions is the real one
LIBS_PLATFORM = src/service/libplatform.a src/vim/libvim.a $(LIBS_MODEL) $(LIBS_PORT)

check_PROGRAMS += tests/unit/test_platform_registration
TESTS += tests/unit/test_platform_registration
THREAD_TESTS += tests/unit/test_platform_registration
tests_unit_test_platform_registration_SOURCES = tests/unit/test_platform_registration.c $(PLATFORM_TEST_WORLD)
tests_unit_test_platform_registration_CPPFLAGS = $(PLATFORM_TEST_CPPFLAGS)
tests_unit_test_platform_registration_LDADD = $(LIBS_PLATFORM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_platform_reconcile
TESTS += tests/unit/test_platform_reconcile
THREAD_TESTS += tests/unit/test_platform_reconcile
tests_unit_test_platform_reconcile_SOURCES = tests/unit/test_platform_reconcile.c $(PLATFORM_TEST_WORLD)
tests_unit_test_platform_reconcile_CPPFLAGS = $(PLATFORM_TEST_CPPFLAGS)
tests_unit_test_platform_reconcile_LDADD = $(LIBS_PLATFORM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_platform_login
TESTS += tests/unit/test_platform_login
THREAD_TESTS += tests/unit/test_platform_login
tests_unit_test_platform_login_SOURCES = tests/unit/test_platform_login.c $(PLATFORM_TEST_WORLD)
tests_unit_test_platform_login_CPPFLAGS = $(PLATFORM_TEST_CPPFLAGS)
tests_unit_test_platform_login_LDADD = $(LIBS_PLATFORM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_platform_links
TESTS += tests/unit/test_platform_links
THREAD_TESTS += tests/unit/test_platform_links
tests_unit_test_platform_links_SOURCES = tests/unit/test_platform_links.c $(PLATFORM_TEST_WORLD)
tests_unit_test_platform_links_CPPFLAGS = $(PLATFORM_TEST_CPPFLAGS)
tests_unit_test_platform_links_LDADD = $(LIBS_PLATFORM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_watch
TESTS += tests/unit/test_watch
tests_unit_test_watch_SOURCES = tests/unit/test_watch.c $(PLATFORM_TEST_WORLD)
tests_unit_test_watch_CPPFLAGS = $(PLATFORM_TEST_CPPFLAGS)
tests_unit_test_watch_LDADD = $(LIBS_PLATFORM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_watch_run
TESTS += tests/unit/test_watch_run
THREAD_TESTS += tests/unit/test_watch_run
tests_unit_test_watch_run_SOURCES = tests/unit/test_watch_run.c $(PLATFORM_TEST_WORLD)
tests_unit_test_watch_run_CPPFLAGS = $(PLATFORM_TEST_CPPFLAGS)
tests_unit_test_watch_run_LDADD = $(LIBS_PLATFORM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_service
TESTS += tests/unit/test_service
tests_unit_test_service_SOURCES = tests/unit/test_service.c tests/unit/unit.h
tests_unit_test_service_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_IDENTITY) -iquote $(top_srcdir)/src/service/identity $(CMOCKA_CFLAGS)
tests_unit_test_service_LDADD = src/service/libidentity.a $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

IDENTITY_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_IDENTITY) -iquote $(top_srcdir)/src/service/identity $(CMOCKA_CFLAGS)
IDENTITY_TEST_WORLD = tests/unit/identity_world.c tests/unit/identity_world.h tests/unit/sid_bytes.h tests/unit/unit.h
# of src/ldap and src/gss only the notations are the real ones
LIBS_IDENTITY = src/service/libidentity.a src/ldap/libldap-kaas.a $(LIBS_DIRECTORY)

check_PROGRAMS += tests/unit/test_identity_login
TESTS += tests/unit/test_identity_login
tests_unit_test_identity_login_SOURCES = tests/unit/test_identity_login.c $(IDENTITY_TEST_WORLD)
tests_unit_test_identity_login_CPPFLAGS = $(IDENTITY_TEST_CPPFLAGS)
tests_unit_test_identity_login_LDADD = $(LIBS_IDENTITY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_identity_groups
TESTS += tests/unit/test_identity_groups
tests_unit_test_identity_groups_SOURCES = tests/unit/test_identity_groups.c $(IDENTITY_TEST_WORLD)
tests_unit_test_identity_groups_CPPFLAGS = $(IDENTITY_TEST_CPPFLAGS)
tests_unit_test_identity_groups_LDADD = $(LIBS_IDENTITY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_identity_servers
TESTS += tests/unit/test_identity_servers
tests_unit_test_identity_servers_SOURCES = tests/unit/test_identity_servers.c $(IDENTITY_TEST_WORLD)
tests_unit_test_identity_servers_CPPFLAGS = $(IDENTITY_TEST_CPPFLAGS)
tests_unit_test_identity_servers_LDADD = $(LIBS_IDENTITY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_kerberos_person
TESTS += tests/unit/test_kerberos_person
tests_unit_test_kerberos_person_SOURCES = tests/unit/test_kerberos_person.c $(IDENTITY_TEST_WORLD)
tests_unit_test_kerberos_person_CPPFLAGS = $(IDENTITY_TEST_CPPFLAGS)
tests_unit_test_kerberos_person_LDADD = $(LIBS_IDENTITY) $(CMOCKA_LIBS)
