noinst_LIBRARIES += src/policy/libpolicy.a
src_policy_libpolicy_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/model -iquote $(top_srcdir)/src/policy
src_policy_libpolicy_a_SOURCES = \
    src/policy/permission.def \
    src/policy/policy.c \
    src/policy/policy.h
