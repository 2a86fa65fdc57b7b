noinst_LIBRARIES += src/model/libmodel.a
src_model_libmodel_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/model
src_model_libmodel_a_SOURCES = \
    src/model/audit.c \
    src/model/audit.h \
    src/model/audit_actions.def \
    src/model/change.c \
    src/model/change.h \
    src/model/cluster.c \
    src/model/cluster.h \
    src/model/grant.c \
    src/model/grant.h \
    src/model/hx_connection.c \
    src/model/hx_connection.h \
    src/model/ldap_source.c \
    src/model/ldap_source.h \
    src/model/member.c \
    src/model/member.h \
    src/model/names.c \
    src/model/names.h \
    src/model/object_ref.c \
    src/model/object_ref.h \
    src/model/permission.def \
    src/model/platform.c \
    src/model/platform.h \
    src/model/policy.c \
    src/model/policy.h \
    src/model/principal.c \
    src/model/principal.h \
    src/model/rollup.c \
    src/model/rollup.h \
    src/model/service_account.c \
    src/model/service_account.h \
    src/model/session.c \
    src/model/session.h \
    src/model/vcenter.c \
    src/model/vcenter.h
