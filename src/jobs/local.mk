noinst_LIBRARIES += src/jobs/libjobs.a
src_jobs_libjobs_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_SERVICES) -iquote $(top_srcdir)/src/jobs
src_jobs_libjobs_a_SOURCES = \
    src/jobs/scheduler.c \
    src/jobs/scheduler.h
