noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_CPPFLAGS = $(AM_CPPFLAGS) $(OWN_BASE) $(UUID_CFLAGS)
src_base_libbase_a_SOURCES = \
    src/base/time/backoff.c \
    src/base/time/backoff.h \
    src/base/core/banned.h \
    src/base/core/cleanup.h \
    src/base/time/clock.c \
    src/base/time/clock.h \
    src/base/core/err.c \
    src/base/core/err.h \
    src/base/core/err_codes.def \
    src/base/core/finding.c \
    src/base/core/finding.h \
    src/base/work/singleflight.c \
    src/base/work/singleflight.h \
    src/base/text/fsutil.c \
    src/base/text/fsutil.h \
    src/base/core/hashmap.c \
    src/base/core/hashmap.h \
    src/base/work/worker_pool.c \
    src/base/work/worker_pool.h \
    src/base/core/limits.h \
    src/base/work/log.c \
    src/base/work/log.h \
    src/base/work/metric.c \
    src/base/work/metric.h \
    src/base/work/metrics.def \
    src/base/work/scheduler.c \
    src/base/work/scheduler.h \
    src/base/core/secret.c \
    src/base/core/secret.h \
    src/base/text/str.c \
    src/base/text/str.h \
    src/base/text/strbuf.c \
    src/base/text/strbuf.h \
    src/base/core/uuid.c \
    src/base/core/uuid.h
