# Unit tests of src/directory, over a database in memory (dir_world.c) instead of src/store.
DIR_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) $(CMOCKA_CFLAGS)
DIR_TEST_WORLD = tests/unit/dir_world.c tests/unit/dir_world.h tests/unit/unit.h
LIBS_DIRECTORY = src/directory/libdirectory.a $(LIBS_MODEL) $(LIBS_PORT)

check_PROGRAMS += tests/unit/test_dir_snapshot
TESTS += tests/unit/test_dir_snapshot
tests_unit_test_dir_snapshot_SOURCES = tests/unit/test_dir_snapshot.c $(DIR_TEST_WORLD)
tests_unit_test_dir_snapshot_CPPFLAGS = $(DIR_TEST_CPPFLAGS)
tests_unit_test_dir_snapshot_LDADD = $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_dir_list
TESTS += tests/unit/test_dir_list
tests_unit_test_dir_list_SOURCES = tests/unit/test_dir_list.c $(DIR_TEST_WORLD)
tests_unit_test_dir_list_CPPFLAGS = $(DIR_TEST_CPPFLAGS)
tests_unit_test_dir_list_LDADD = $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_dir_feed
TESTS += tests/unit/test_dir_feed
THREAD_TESTS += tests/unit/test_dir_feed
tests_unit_test_dir_feed_SOURCES = tests/unit/test_dir_feed.c $(DIR_TEST_WORLD)
tests_unit_test_dir_feed_CPPFLAGS = $(DIR_TEST_CPPFLAGS)
tests_unit_test_dir_feed_LDADD = $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_dir_state
TESTS += tests/unit/test_dir_state
tests_unit_test_dir_state_SOURCES = tests/unit/test_dir_state.c $(DIR_TEST_WORLD)
tests_unit_test_dir_state_CPPFLAGS = $(DIR_TEST_CPPFLAGS)
tests_unit_test_dir_state_LDADD = $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_dir_check
TESTS += tests/unit/test_dir_check
tests_unit_test_dir_check_SOURCES = tests/unit/test_dir_check.c $(DIR_TEST_WORLD)
tests_unit_test_dir_check_CPPFLAGS = $(DIR_TEST_CPPFLAGS)
tests_unit_test_dir_check_LDADD = $(LIBS_DIRECTORY) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_dir_next
TESTS += tests/unit/test_dir_next
tests_unit_test_dir_next_SOURCES = tests/unit/test_dir_next.c $(DIR_TEST_WORLD)
tests_unit_test_dir_next_CPPFLAGS = $(DIR_TEST_CPPFLAGS)
tests_unit_test_dir_next_LDADD = $(LIBS_DIRECTORY) $(CMOCKA_LIBS)
