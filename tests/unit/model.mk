# Unit tests of src/model: one program per module, linking only that module and lower storeys.

check_PROGRAMS += tests/unit/test_names
TESTS += tests/unit/test_names
tests_unit_test_names_SOURCES = tests/unit/test_names.c tests/unit/unit.h
tests_unit_test_names_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_names_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_hx_peer
TESTS += tests/unit/test_hx_peer
tests_unit_test_hx_peer_SOURCES = tests/unit/test_hx_peer.c tests/unit/unit.h
tests_unit_test_hx_peer_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_hx_peer_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_object_ref
TESTS += tests/unit/test_object_ref
tests_unit_test_object_ref_SOURCES = tests/unit/test_object_ref.c tests/unit/unit.h
tests_unit_test_object_ref_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_object_ref_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_words
TESTS += tests/unit/test_words
tests_unit_test_words_SOURCES = tests/unit/test_words.c tests/unit/unit.h
tests_unit_test_words_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_words_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_copies
TESTS += tests/unit/test_copies
tests_unit_test_copies_SOURCES = tests/unit/test_copies.c tests/unit/unit.h
tests_unit_test_copies_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_copies_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_model
TESTS += tests/unit/test_model
tests_unit_test_model_SOURCES = tests/unit/test_model.c tests/unit/unit.h
tests_unit_test_model_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_model_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_cluster
TESTS += tests/unit/test_cluster
tests_unit_test_cluster_SOURCES = tests/unit/test_cluster.c tests/unit/unit.h
tests_unit_test_cluster_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_cluster_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_rollup
TESTS += tests/unit/test_rollup
tests_unit_test_rollup_SOURCES = tests/unit/test_rollup.c tests/unit/unit.h
tests_unit_test_rollup_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_rollup_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)
# the allocations of the code under test, so that each can be made to fail
tests_unit_test_copies_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc -Wl,--wrap=strdup

check_PROGRAMS += tests/unit/test_groups
TESTS += tests/unit/test_groups
tests_unit_test_groups_SOURCES = tests/unit/test_groups.c tests/unit/unit.h
tests_unit_test_groups_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_groups_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_access_words
TESTS += tests/unit/test_access_words
tests_unit_test_access_words_SOURCES = tests/unit/test_access_words.c tests/unit/unit.h
tests_unit_test_access_words_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/model $(CMOCKA_CFLAGS)
tests_unit_test_access_words_LDADD = src/model/libmodel.a $(LIBS_BASE) $(CMOCKA_LIBS)
