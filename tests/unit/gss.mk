# Unit tests of src/gss: one program per module, linking only that module and lower storeys.
GSS_TESTS = tests/unit/test_challenge tests/unit/test_gss tests/unit/test_negotiate tests/unit/test_pac
check_PROGRAMS += $(GSS_TESTS)
TESTS += $(GSS_TESTS)
TEST_GSS_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/gss $(CMOCKA_CFLAGS)
LIBS_GSS = src/gss/libgss.a src/model/libmodel.a $(LIBS_PORT) $(KRB5_LIBS)

tests_unit_test_challenge_SOURCES = tests/unit/test_challenge.c tests/unit/unit.h
tests_unit_test_challenge_CPPFLAGS = $(TEST_GSS_CPPFLAGS)
tests_unit_test_challenge_LDADD = src/gss/libgss.a $(LIBS_BASE) $(CMOCKA_LIBS)

tests_unit_test_gss_SOURCES = tests/unit/test_gss.c tests/unit/unit.h
tests_unit_test_gss_CPPFLAGS = $(TEST_GSS_CPPFLAGS) $(KRB5_CFLAGS)
tests_unit_test_gss_LDADD = $(LIBS_GSS) $(CMOCKA_LIBS)

tests_unit_test_negotiate_SOURCES = tests/unit/test_negotiate.c tests/unit/unit.h
tests_unit_test_negotiate_CPPFLAGS = $(TEST_GSS_CPPFLAGS)
tests_unit_test_negotiate_LDADD = src/gss/libgss.a $(LIBS_BASE) $(CMOCKA_LIBS)

tests_unit_test_pac_SOURCES = tests/unit/test_pac.c tests/unit/unit.h
tests_unit_test_pac_CPPFLAGS = $(TEST_GSS_CPPFLAGS)
tests_unit_test_pac_LDADD = src/gss/libgss.a src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

# run by tests/integ/test_kerberos_pac.py
check_PROGRAMS += tests/integ/pac_probe
tests_integ_pac_probe_SOURCES = tests/integ/pac_probe.c
tests_integ_pac_probe_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/gss
tests_integ_pac_probe_LDADD = src/gss/libgss.a src/model/libmodel.a $(LIBS_PORT)
