# Unit tests of src/jobs.
check_PROGRAMS += tests/unit/test_jobs_scheduler
TESTS += tests/unit/test_jobs_scheduler
THREAD_TESTS += tests/unit/test_jobs_scheduler
tests_unit_test_jobs_scheduler_SOURCES = tests/unit/test_jobs_scheduler.c tests/unit/unit.h
tests_unit_test_jobs_scheduler_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/jobs $(CMOCKA_CFLAGS)
tests_unit_test_jobs_scheduler_LDADD = src/jobs/libjobs.a $(LIBS_BASE) $(CMOCKA_LIBS)
