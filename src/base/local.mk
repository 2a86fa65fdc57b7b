noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_CPPFLAGS = $(AM_CPPFLAGS) -iquote $(top_srcdir)/src/base $(UUID_CFLAGS)
src_base_libbase_a_SOURCES = \
    src/base/backoff.c \
    src/base/backoff.h \
    src/base/banned.h \
    src/base/cleanup.h \
    src/base/clock.c \
    src/base/clock.h \
    src/base/err.c \
    src/base/err.h \
    src/base/err_codes.def \
    src/base/finding.c \
    src/base/finding.h \
    src/base/singleflight.c \
    src/base/singleflight.h \
    src/base/fsutil.c \
    src/base/fsutil.h \
    src/base/hashmap.c \
    src/base/hashmap.h \
    src/base/worker_pool.c \
    src/base/worker_pool.h \
    src/base/limits.h \
    src/base/log.c \
    src/base/log.h \
    src/base/metric.c \
    src/base/metric.h \
    src/base/metrics.def \
    src/base/scheduler.c \
    src/base/scheduler.h \
    src/base/secret.c \
    src/base/secret.h \
    src/base/str.c \
    src/base/str.h \
    src/base/strbuf.c \
    src/base/strbuf.h \
    src/base/uuid.c \
    src/base/uuid.h
