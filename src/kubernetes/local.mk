# Connections to Kubernetes clusters: kaasd asks their API servers itself.
noinst_LIBRARIES += src/kubernetes/libkubernetes.a
src_kubernetes_libkubernetes_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_REMOTE) $(OWN_JOB) -iquote $(top_srcdir)/src/k8s $(OWN_KUBERNETES)
src_kubernetes_libkubernetes_a_SOURCES = \
    src/kubernetes/account.c \
    src/kubernetes/ask.c \
    src/kubernetes/bootstrap_token.c \
    src/kubernetes/bootstrap_token.h \
    src/kubernetes/bundle_apply.c \
    src/kubernetes/bundles.c \
    src/kubernetes/bundles.h \
    src/kubernetes/connect.c \
    src/kubernetes/heal.c \
    src/kubernetes/judge.c \
    src/kubernetes/kube_admin.c \
    src/kubernetes/kube_admin.h \
    src/kubernetes/kube_client.c \
    src/kubernetes/kube_mirror.c \
    src/kubernetes/kube_mirror.h \
    src/kubernetes/kube_remote.c \
    src/kubernetes/kube_token.c \
    src/kubernetes/kubernetes.c \
    src/kubernetes/kubernetes.h \
    src/kubernetes/kubernetes_private.h \
    src/kubernetes/leave_job.c \
    src/kubernetes/let_pass.c \
    src/kubernetes/probe.c
