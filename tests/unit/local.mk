include tests/unit/base.mk
include tests/unit/port.mk
include tests/unit/model.mk
include tests/unit/policy.mk
include tests/unit/config.mk
include tests/unit/token.mk
include tests/unit/store.mk
include tests/unit/vim.mk
include tests/unit/gss.mk
include tests/unit/ldap.mk
include tests/unit/httpd.mk
include tests/unit/directory.mk
include tests/unit/service.mk
include tests/unit/api.mk
include tests/unit/jobs.mk
include tests/unit/cli.mk

# Shared by all unit tests. A test lists itself as:
#   check_PROGRAMS += tests/unit/test_NAME
#   TESTS += tests/unit/test_NAME
#   tests_unit_test_NAME_SOURCES = tests/unit/test_NAME.c
#   tests_unit_test_NAME_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_...) $(CMOCKA_CFLAGS)
#   tests_unit_test_NAME_LDADD = src/.../lib....a $(LIBS_BASE) $(CMOCKA_LIBS)
LIBS_BASE = src/base/libbase.a $(UUID_LIBS)
LIBS_PORT = src/port/libport.a $(LIBS_BASE) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) $(XML_LIBS) $(CRYPT_LIBS) $(ZLIB_LIBS)
LIBS_MODEL = src/policy/libpolicy.a src/model/libmodel.a
# of programs that know by tests/unit/blocked.h that another thread waits
BLOCKED_LDFLAGS = -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_cond_wait -Wl,--wrap=pthread_cond_timedwait
