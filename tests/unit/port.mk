# Unit tests of src/port: one program per module, linking only that module and lower storeys.
PORT_TESTS = tests/unit/test_http_client tests/unit/test_json tests/unit/test_net_addr tests/unit/test_net_look tests/unit/test_seal tests/unit/test_x509 tests/unit/test_xml
check_PROGRAMS += $(PORT_TESTS)
TESTS += $(PORT_TESTS)
THREAD_TESTS += $(filter-out %_json %_net_addr %_xml, $(PORT_TESTS))
TEST_PORT_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/tests/unit $(CMOCKA_CFLAGS) $(OPENSSL_CFLAGS)

tests_unit_test_http_client_SOURCES = tests/unit/test_http_client.c tests/unit/tls_server.c tests/unit/tls_server.h
tests_unit_test_http_client_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_http_client_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

tests_unit_test_x509_SOURCES = tests/unit/test_x509.c tests/unit/tls_server.c tests/unit/tls_server.h
tests_unit_test_x509_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_x509_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

tests_unit_test_net_addr_SOURCES = tests/unit/test_net_addr.c
tests_unit_test_net_addr_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_net_addr_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

tests_unit_test_net_look_SOURCES = tests/unit/test_net_look.c
tests_unit_test_net_look_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_net_look_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

tests_unit_test_json_SOURCES = tests/unit/test_json.c
tests_unit_test_json_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_json_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

# digest and passwd, too
tests_unit_test_seal_SOURCES = tests/unit/test_seal.c
tests_unit_test_seal_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_seal_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

tests_unit_test_xml_SOURCES = tests/unit/test_xml.c
tests_unit_test_xml_CPPFLAGS = $(TEST_PORT_CPPFLAGS)
tests_unit_test_xml_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)
