# Durable jobs: tables of steps, whoever's work they are.
noinst_LIBRARIES += src/job/libjob.a
src_job_libjob_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_JOB)
src_job_libjob_a_SOURCES = \
    src/job/job_run.c \
    src/job/jobs.c \
    src/job/jobs.h \
    src/job/jobs_private.h
