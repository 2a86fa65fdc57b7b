# Unit tests of src/config: one program per module, linking only that module and lower storeys.
check_PROGRAMS += tests/unit/test_config
TESTS += tests/unit/test_config
LIBS_CONFIG = src/config/libconfig.a $(LIBS_MODEL) $(LIBS_BASE) $(YAML_LIBS)
tests_unit_test_config_SOURCES = tests/unit/test_config.c
tests_unit_test_config_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(CMOCKA_CFLAGS)
tests_unit_test_config_LDADD = $(LIBS_CONFIG) $(CMOCKA_LIBS)
