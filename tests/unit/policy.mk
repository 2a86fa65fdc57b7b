# Unit tests of src/policy: one program per module, linking only that module and lower storeys.

check_PROGRAMS += tests/unit/test_policy
TESTS += tests/unit/test_policy
tests_unit_test_policy_SOURCES = tests/unit/test_policy.c tests/unit/unit.h
tests_unit_test_policy_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model -iquote $(top_srcdir)/src/policy $(CMOCKA_CFLAGS)
tests_unit_test_policy_LDADD = $(LIBS_MODEL) $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_policy_grants
TESTS += tests/unit/test_policy_grants
tests_unit_test_policy_grants_SOURCES = tests/unit/test_policy_grants.c tests/unit/unit.h
tests_unit_test_policy_grants_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model -iquote $(top_srcdir)/src/policy $(CMOCKA_CFLAGS)
tests_unit_test_policy_grants_LDADD = $(LIBS_MODEL) $(LIBS_BASE) $(CMOCKA_LIBS)
