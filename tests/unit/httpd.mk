# Unit tests of src/httpd: one program per module, linking only that module and lower storeys.
HTTPD_TESTS = tests/unit/test_httpd_kept tests/unit/test_httpd_limits tests/unit/test_httpd_message tests/unit/test_httpd_route tests/unit/test_httpd_server \
    tests/unit/test_httpd_tls tests/unit/test_httpd_waiting
check_PROGRAMS += $(HTTPD_TESTS)
TESTS += $(HTTPD_TESTS)
THREAD_TESTS += $(filter-out %_message %_route, $(HTTPD_TESTS))
TEST_HTTPD_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/httpd -iquote $(top_srcdir)/tests/unit $(CMOCKA_CFLAGS) \
    $(OPENSSL_CFLAGS)
LIBS_HTTPD = src/httpd/libhttpd.a $(LIBS_PORT) $(MHD_LIBS) $(GNUTLS_LIBS)
TEST_HTTPD_LDADD = $(LIBS_HTTPD) $(CMOCKA_LIBS)
HTTPD_FIXTURE = tests/unit/httpd_fixture.c tests/unit/httpd_fixture.h tests/unit/unit.h


tests_unit_test_httpd_kept_SOURCES = tests/unit/test_httpd_kept.c $(HTTPD_FIXTURE)
tests_unit_test_httpd_kept_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_kept_LDADD = $(TEST_HTTPD_LDADD)

tests_unit_test_httpd_server_SOURCES = tests/unit/test_httpd_server.c $(HTTPD_FIXTURE)
tests_unit_test_httpd_server_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_server_LDADD = $(TEST_HTTPD_LDADD)

tests_unit_test_httpd_waiting_SOURCES = tests/unit/test_httpd_waiting.c $(HTTPD_FIXTURE)
tests_unit_test_httpd_waiting_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_waiting_LDADD = $(TEST_HTTPD_LDADD)

tests_unit_test_httpd_limits_SOURCES = tests/unit/test_httpd_limits.c $(HTTPD_FIXTURE)
tests_unit_test_httpd_limits_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_limits_LDADD = $(TEST_HTTPD_LDADD)

tests_unit_test_httpd_message_SOURCES = tests/unit/test_httpd_message.c tests/unit/unit.h
tests_unit_test_httpd_message_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_message_LDADD = $(TEST_HTTPD_LDADD)

tests_unit_test_httpd_route_SOURCES = tests/unit/test_httpd_route.c tests/unit/unit.h
tests_unit_test_httpd_route_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_route_LDADD = $(TEST_HTTPD_LDADD)

# The test's certificates and its TLS client are OpenSSL; the server is GnuTLS.
tests_unit_test_httpd_tls_SOURCES = tests/unit/test_httpd_tls.c tests/unit/tls_server.c tests/unit/tls_server.h $(HTTPD_FIXTURE)
tests_unit_test_httpd_tls_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_unit_test_httpd_tls_LDADD = $(TEST_HTTPD_LDADD) $(OPENSSL_LIBS)

# A few seconds of everything at once; more rounds by hand or under the sanitizers.
check_PROGRAMS += tests/integ/http_stress
TESTS += tests/integ/http_stress
THREAD_TESTS += tests/integ/http_stress
tests_integ_http_stress_SOURCES = tests/integ/http_stress.c tests/unit/tls_server.c tests/unit/tls_server.h
tests_integ_http_stress_CPPFLAGS = $(TEST_HTTPD_CPPFLAGS)
tests_integ_http_stress_LDADD = $(TEST_HTTPD_LDADD) $(OPENSSL_LIBS)

# No test by itself: tests/world/storm.py runs it.
check_PROGRAMS += tests/integ/storm_clients
tests_integ_storm_clients_SOURCES = tests/integ/storm_clients.c tests/integ/storm_clients.h tests/integ/storm_kinds.c
tests_integ_storm_clients_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/tests/integ $(OPENSSL_CFLAGS)
tests_integ_storm_clients_LDADD = $(OPENSSL_LIBS)
