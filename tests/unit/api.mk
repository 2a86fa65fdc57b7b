# Unit tests of src/api: its parts that decide something by themselves. Whole requests are driven by pytest.
API_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_SERVICES) -iquote $(top_srcdir)/src/httpd -iquote $(top_srcdir)/src/api $(CMOCKA_CFLAGS)

check_PROGRAMS += tests/unit/test_api_input
TESTS += tests/unit/test_api_input
tests_unit_test_api_input_SOURCES = tests/unit/test_api_input.c $(DIR_TEST_WORLD)
tests_unit_test_api_input_CPPFLAGS = $(API_TEST_CPPFLAGS)
tests_unit_test_api_input_LDADD = src/api/libapi.a $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_api_reply
TESTS += tests/unit/test_api_reply
tests_unit_test_api_reply_SOURCES = tests/unit/test_api_reply.c tests/unit/unit.h
tests_unit_test_api_reply_CPPFLAGS = $(API_TEST_CPPFLAGS)
tests_unit_test_api_reply_LDADD = src/api/libapi.a $(LIBS_MODEL) $(LIBS_PORT) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_api_pages
TESTS += tests/unit/test_api_pages
tests_unit_test_api_pages_SOURCES = tests/unit/test_api_pages.c tests/unit/unit.h
tests_unit_test_api_pages_CPPFLAGS = $(API_TEST_CPPFLAGS)
tests_unit_test_api_pages_LDADD = src/api/libapi.a $(LIBS_HTTPD) $(LIBS_PORT) $(CMOCKA_LIBS)

# over real sessions in memory; what signs on and asks for rights is the test's
check_PROGRAMS += tests/unit/test_api_authn
TESTS += tests/unit/test_api_authn
tests_unit_test_api_authn_SOURCES = tests/unit/test_api_authn.c tests/unit/unit.h
tests_unit_test_api_authn_CPPFLAGS = $(API_TEST_CPPFLAGS)
tests_unit_test_api_authn_LDADD = src/api/libapi.a src/service/libsignon.a src/service/libidentity.a $(LIBS_DIRECTORY) $(CMOCKA_LIBS)
