# Unit tests of src/base: one program per module, linking only that module and lower storeys.

check_PROGRAMS += tests/unit/test_clock
TESTS += tests/unit/test_clock
tests_unit_test_clock_SOURCES = tests/unit/test_clock.c tests/unit/unit.h
tests_unit_test_clock_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_clock_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_err
TESTS += tests/unit/test_err
tests_unit_test_err_SOURCES = tests/unit/test_err.c tests/unit/unit.h
tests_unit_test_err_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_err_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_finding
TESTS += tests/unit/test_finding
tests_unit_test_finding_SOURCES = tests/unit/test_finding.c tests/unit/unit.h
tests_unit_test_finding_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_finding_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reallocarray
tests_unit_test_finding_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_flight
TESTS += tests/unit/test_flight
THREAD_TESTS += tests/unit/test_flight
tests_unit_test_flight_SOURCES = tests/unit/test_flight.c tests/unit/unit.h
tests_unit_test_flight_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_flight_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_fsutil
TESTS += tests/unit/test_fsutil
tests_unit_test_fsutil_SOURCES = tests/unit/test_fsutil.c tests/unit/unit.h
tests_unit_test_fsutil_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_fsutil_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_hashmap
TESTS += tests/unit/test_hashmap
tests_unit_test_hashmap_SOURCES = tests/unit/test_hashmap.c tests/unit/unit.h
tests_unit_test_hashmap_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_hashmap_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calloc
tests_unit_test_hashmap_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_lane
TESTS += tests/unit/test_lane
THREAD_TESTS += tests/unit/test_lane
tests_unit_test_lane_SOURCES = tests/unit/test_lane.c tests/unit/unit.h
tests_unit_test_lane_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_lane_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_log
TESTS += tests/unit/test_log
THREAD_TESTS += tests/unit/test_log
tests_unit_test_log_SOURCES = tests/unit/test_log.c tests/unit/unit.h
tests_unit_test_log_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_log_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_metric
TESTS += tests/unit/test_metric
THREAD_TESTS += tests/unit/test_metric
tests_unit_test_metric_SOURCES = tests/unit/test_metric.c tests/unit/unit.h
tests_unit_test_metric_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_metric_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_secret
TESTS += tests/unit/test_secret
tests_unit_test_secret_SOURCES = tests/unit/test_secret.c tests/unit/unit.h
tests_unit_test_secret_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_secret_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_str
TESTS += tests/unit/test_str
tests_unit_test_str_SOURCES = tests/unit/test_str.c tests/unit/unit.h
tests_unit_test_str_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_str_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_strbuf
TESTS += tests/unit/test_strbuf
tests_unit_test_strbuf_SOURCES = tests/unit/test_strbuf.c tests/unit/unit.h
tests_unit_test_strbuf_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_strbuf_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

check_PROGRAMS += tests/unit/test_uuid
TESTS += tests/unit/test_uuid
tests_unit_test_uuid_SOURCES = tests/unit/test_uuid.c tests/unit/unit.h
tests_unit_test_uuid_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(CMOCKA_CFLAGS)
tests_unit_test_uuid_LDADD = $(LIBS_BASE) $(CMOCKA_LIBS)

# No test by itself: tests/world/clock.py lays it under the daemon. A library, whatever automake calls it, and never with a sanitizer.
check_PROGRAMS += tests/integ/forward_clock.so
tests_integ_forward_clock_so_SOURCES = tests/integ/forward_clock.c
tests_integ_forward_clock_so_CPPFLAGS = -D_GNU_SOURCE
tests_integ_forward_clock_so_CFLAGS = -std=gnu11 $(KAAS_WARN_CFLAGS) -fPIC
tests_integ_forward_clock_so_LDFLAGS = -shared -pthread -Wl,--version-script=$(top_srcdir)/tests/integ/forward_clock.map
tests_integ_forward_clock_so_DEPENDENCIES = tests/integ/forward_clock.map
EXTRA_DIST += tests/integ/forward_clock.map
