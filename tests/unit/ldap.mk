# Unit tests of src/ldap, and of the model that it goes by.
TEST_LDAP_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/ldap $(CMOCKA_CFLAGS)

check_PROGRAMS += tests/unit/test_ldap_text tests/unit/test_ldap_source
TESTS += tests/unit/test_ldap_text tests/unit/test_ldap_source
tests_unit_test_ldap_text_SOURCES = tests/unit/test_ldap_text.c tests/unit/sid_bytes.h tests/unit/unit.h
tests_unit_test_ldap_text_CPPFLAGS = $(TEST_LDAP_CPPFLAGS)
tests_unit_test_ldap_text_LDADD = src/ldap/libldap-kaas.a $(LIBS_BASE) $(CMOCKA_LIBS)
tests_unit_test_ldap_source_SOURCES = tests/unit/test_ldap_source.c tests/unit/unit.h
tests_unit_test_ldap_source_CPPFLAGS = $(TEST_LDAP_CPPFLAGS)
tests_unit_test_ldap_source_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)
