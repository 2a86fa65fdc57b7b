# Unit tests of src/token: one program per module, linking only that module and lower storeys.
check_PROGRAMS += tests/unit/test_token
TESTS += tests/unit/test_token
THREAD_TESTS += tests/unit/test_token
LIBS_TOKEN = src/token/libtoken.a $(LIBS_MODEL) $(LIBS_PORT) $(CJOSE_LIBS)
tests_unit_test_token_SOURCES = tests/unit/test_token.c
tests_unit_test_token_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(CMOCKA_CFLAGS) $(CJOSE_CFLAGS) $(OPENSSL_CFLAGS)
tests_unit_test_token_LDADD = $(LIBS_TOKEN) $(CMOCKA_LIBS)
