# Unit tests of src/cli: one program per module, with just the sources under test, since kaasctl is no library.
CLI_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/cli $(CMOCKA_CFLAGS)

check_PROGRAMS += tests/unit/test_cli_opt
TESTS += tests/unit/test_cli_opt
tests_unit_test_cli_opt_SOURCES = tests/unit/test_cli_opt.c tests/unit/unit.h src/cli/cli_opt.c src/cli/cli_near.c
tests_unit_test_cli_opt_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_opt_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cli_table
TESTS += tests/unit/test_cli_table
tests_unit_test_cli_table_SOURCES = tests/unit/test_cli_table.c tests/unit/unit.h src/cli/cli_table.c
tests_unit_test_cli_table_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_table_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cli_address
TESTS += tests/unit/test_cli_address
tests_unit_test_cli_address_SOURCES = tests/unit/test_cli_address.c tests/unit/unit.h src/cli/cli_address.c
tests_unit_test_cli_address_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_address_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cli_prompt
TESTS += tests/unit/test_cli_prompt
tests_unit_test_cli_prompt_SOURCES = tests/unit/test_cli_prompt.c tests/unit/unit.h src/cli/cli_prompt.c src/cli/cli_table.c
tests_unit_test_cli_prompt_CPPFLAGS = $(CLI_TEST_CPPFLAGS)
tests_unit_test_cli_prompt_LDADD = $(LIBS_PORT) $(CMOCKA_LIBS)
