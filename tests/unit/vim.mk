# Unit tests of src/vim: one program per module, linking only that module and lower storeys.
VIM_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/vim $(GSOAP_CFLAGS) -isystem src/vim/gen $(XML_CFLAGS) \
    $(CMOCKA_CFLAGS) -DWSDL_DIR='"$(abs_top_srcdir)/wsdl"'
VIM_TEST_COMMON = tests/unit/vim_fake.c tests/unit/vim_fake.h tests/unit/vim_schema.c tests/unit/unit.h

check_PROGRAMS += tests/unit/test_vim_pure
TESTS += tests/unit/test_vim_pure
tests_unit_test_vim_pure_SOURCES = tests/unit/test_vim_pure.c tests/unit/unit.h
tests_unit_test_vim_pure_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_pure_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_client
TESTS += tests/unit/test_vim_client
THREAD_TESTS += tests/unit/test_vim_client
tests_unit_test_vim_client_SOURCES = tests/unit/test_vim_client.c tests/unit/blocked.c tests/unit/blocked.h $(VIM_TEST_COMMON)
tests_unit_test_vim_client_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_client_LDFLAGS = $(AM_LDFLAGS) $(BLOCKED_LDFLAGS)
tests_unit_test_vim_client_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_decode
TESTS += tests/unit/test_vim_decode
tests_unit_test_vim_decode_SOURCES = tests/unit/test_vim_decode.c $(VIM_TEST_COMMON)
tests_unit_test_vim_decode_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_decode_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_privilege
TESTS += tests/unit/test_vim_privilege
tests_unit_test_vim_privilege_SOURCES = tests/unit/test_vim_privilege.c $(VIM_TEST_COMMON)
tests_unit_test_vim_privilege_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_privilege_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_inventory
TESTS += tests/unit/test_vim_inventory
tests_unit_test_vim_inventory_SOURCES = tests/unit/test_vim_inventory.c $(VIM_TEST_COMMON)
tests_unit_test_vim_inventory_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_inventory_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_extension
TESTS += tests/unit/test_vim_extension
tests_unit_test_vim_extension_SOURCES = tests/unit/test_vim_extension.c $(VIM_TEST_COMMON)
tests_unit_test_vim_extension_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_extension_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

VIM_WATCH_COMMON = tests/unit/vim_told.c tests/unit/vim_told.h tests/unit/vim_watch_world.c tests/unit/vim_watch_world.h \
    $(VIM_TEST_COMMON)

check_PROGRAMS += tests/unit/test_vim_watch
TESTS += tests/unit/test_vim_watch
THREAD_TESTS += tests/unit/test_vim_watch
tests_unit_test_vim_watch_SOURCES = tests/unit/test_vim_watch.c $(VIM_WATCH_COMMON)
tests_unit_test_vim_watch_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_watch_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_watch_lists
TESTS += tests/unit/test_vim_watch_lists
tests_unit_test_vim_watch_lists_SOURCES = tests/unit/test_vim_watch_lists.c $(VIM_WATCH_COMMON)
tests_unit_test_vim_watch_lists_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_watch_lists_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_vim_permission
TESTS += tests/unit/test_vim_permission
tests_unit_test_vim_permission_SOURCES = tests/unit/test_vim_permission.c $(VIM_TEST_COMMON)
tests_unit_test_vim_permission_CPPFLAGS = $(VIM_TEST_CPPFLAGS)
tests_unit_test_vim_permission_LDADD = $(LIBS_VIM) $(CMOCKA_LIBS)

# Driven by pytest against test vCenters, not run by itself.
check_PROGRAMS += tests/integ/vim_probe
tests_integ_vim_probe_SOURCES = tests/integ/vim_probe.c
tests_integ_vim_probe_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS)
tests_integ_vim_probe_LDADD = $(LIBS_VIM)

check_PROGRAMS += tests/integ/vim_watch_probe
tests_integ_vim_watch_probe_SOURCES = tests/integ/vim_watch_probe.c tests/unit/vim_told.c tests/unit/vim_told.h
tests_integ_vim_watch_probe_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) -iquote $(top_srcdir)/tests/unit
tests_integ_vim_watch_probe_LDADD = $(LIBS_VIM)
