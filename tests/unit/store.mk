# Tests of src/store. The pure parts run as unit tests; what needs a server is driven by pytest (tests/integ/test_store.py), or by hand
# with tests/integ/with-mariadb.
LIBS_STORE = src/store/libstore.a $(LIBS_MODEL) $(LIBS_PORT) $(MARIADB_LIBS)

check_PROGRAMS += tests/unit/test_store_errno
TESTS += tests/unit/test_store_errno
tests_unit_test_store_errno_SOURCES = tests/unit/test_store_errno.c tests/unit/unit.h
tests_unit_test_store_errno_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/store $(MARIADB_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_store_errno_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_store_schema
TESTS += tests/unit/test_store_schema
tests_unit_test_store_schema_SOURCES = tests/unit/test_store_schema.c tests/unit/unit.h
tests_unit_test_store_schema_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/store $(CMOCKA_CFLAGS)
tests_unit_test_store_schema_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

STORE_TEST_SOURCES = tests/integ/store_fixture.c tests/integ/store_fixture.h tests/unit/unit.h
STORE_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/store -iquote $(top_srcdir)/tests/unit $(CMOCKA_CFLAGS)

check_PROGRAMS += tests/integ/store_test
tests_integ_store_test_SOURCES = tests/integ/store_test.c tests/unit/blocked.c tests/unit/blocked.h $(STORE_TEST_SOURCES)
tests_integ_store_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS) $(MARIADB_CFLAGS)
tests_integ_store_test_LDFLAGS = $(AM_LDFLAGS) $(BLOCKED_LDFLAGS) -Wl,--wrap=mysql_stmt_bind_result
tests_integ_store_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_tx_test
tests_integ_store_tx_test_SOURCES = tests/integ/store_tx_test.c $(STORE_TEST_SOURCES)
tests_integ_store_tx_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_tx_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_schema_test
tests_integ_store_schema_test_SOURCES = tests/integ/store_schema_test.c $(STORE_TEST_SOURCES)
tests_integ_store_schema_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_schema_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_objects_test
tests_integ_store_objects_test_SOURCES = tests/integ/store_objects_test.c $(STORE_TEST_SOURCES)
tests_integ_store_objects_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_objects_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_clusters_test
tests_integ_store_clusters_test_SOURCES = tests/integ/store_clusters_test.c $(STORE_TEST_SOURCES)
tests_integ_store_clusters_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_clusters_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_people_test
tests_integ_store_people_test_SOURCES = tests/integ/store_people_test.c $(STORE_TEST_SOURCES)
tests_integ_store_people_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_people_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_trail_test
tests_integ_store_trail_test_SOURCES = tests/integ/store_trail_test.c $(STORE_TEST_SOURCES)
tests_integ_store_trail_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_trail_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_audit_test
tests_integ_store_audit_test_SOURCES = tests/integ/store_audit_test.c $(STORE_TEST_SOURCES)
tests_integ_store_audit_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_audit_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_platform_test
tests_integ_store_platform_test_SOURCES = tests/integ/store_platform_test.c $(STORE_TEST_SOURCES)
tests_integ_store_platform_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_platform_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_observations_test
tests_integ_store_observations_test_SOURCES = tests/integ/store_observations_test.c $(STORE_TEST_SOURCES)
tests_integ_store_observations_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_observations_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/integ/store_faults_test
tests_integ_store_faults_test_SOURCES = tests/integ/store_faults_test.c $(STORE_TEST_SOURCES)
tests_integ_store_faults_test_CPPFLAGS = $(STORE_TEST_CPPFLAGS)
tests_integ_store_faults_test_LDADD = $(LIBS_STORE) $(CMOCKA_LIBS)

EXTRA_DIST += tests/integ/with-mariadb
