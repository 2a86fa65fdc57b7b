noinst_LIBRARIES += src/model/libmodel.a
src_model_libmodel_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) $(OWN_MODEL)
src_model_libmodel_a_SOURCES = \
    src/model/access/audit.c \
    src/model/access/audit.h \
    src/model/access/audit_actions.def \
    src/model/core/change.c \
    src/model/core/change.h \
    src/model/cluster/cluster.c \
    src/model/cluster/cluster.h \
    src/model/access/grant.c \
    src/model/access/grant.h \
    src/model/hx/hx_connection.c \
    src/model/hx/hx_connection.h \
    src/model/kubernetes/kube_node.c \
    src/model/kubernetes/kube_node.h \
    src/model/access/ldap_source.c \
    src/model/access/ldap_source.h \
    src/model/core/member.c \
    src/model/core/member.h \
    src/model/core/names.c \
    src/model/core/names.h \
    src/model/core/object_ref.c \
    src/model/core/object_ref.h \
    src/model/core/remote_status.c \
    src/model/core/remote_status.h \
    src/model/access/permission.def \
    src/model/vsphere/platform.c \
    src/model/vsphere/platform.h \
    src/model/access/policy.c \
    src/model/access/policy.h \
    src/model/access/principal.c \
    src/model/access/principal.h \
    src/model/cluster/rollup.c \
    src/model/cluster/rollup.h \
    src/model/access/service_account.c \
    src/model/access/service_account.h \
    src/model/access/session.c \
    src/model/access/session.h \
    src/model/vsphere/vcenter.c \
    src/model/vsphere/vcenter.h
