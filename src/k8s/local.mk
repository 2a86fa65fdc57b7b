# Structs and descriptions of the messages, made from kubernetes.proto by nanopb's generator (-> src/k8s/gen in the build tree): a library of its own,
# compiled without warnings, neither in git nor in the tarball. One stamp stands for the set; a failure leaves nothing.
kubernetes_gen = src/k8s/gen/kubernetes.pb.c src/k8s/gen/kubernetes.pb.h
kubernetes_in = src/k8s/kubernetes.proto src/k8s/kubernetes.options
EXTRA_DIST += $(kubernetes_in)
BUILT_SOURCES += $(kubernetes_gen)
CLEANFILES += $(kubernetes_gen) src/k8s/gen/kubernetes.proto src/k8s/gen/kubernetes.options src/k8s/gen/kubernetes.stamp

src/k8s/gen/kubernetes.stamp: $(kubernetes_in)
	$(AM_V_GEN)rm -f $(kubernetes_gen) $@; $(MKDIR_P) src/k8s/gen && \
	for file in $(kubernetes_in); do cp -f "$(srcdir)/$$file" src/k8s/gen/ || exit 1; done && \
	(cd src/k8s/gen && $(NANOPB_GENERATOR) -q --error-on-unmatched -L '#include "protobuf.h"' kubernetes.proto) || \
	{ rm -f $(kubernetes_gen); exit 1; }; touch $@

$(kubernetes_gen): src/k8s/gen/kubernetes.stamp
	@test -f $@ || { rm -f src/k8s/gen/kubernetes.stamp; $(MAKE) $(AM_MAKEFLAGS) src/k8s/gen/kubernetes.stamp; }

noinst_LIBRARIES += src/k8s/libkubernetes.a
nodist_src_k8s_libkubernetes_a_SOURCES = src/k8s/gen/kubernetes.pb.c
src_k8s_libkubernetes_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE)
src_k8s_libkubernetes_a_CFLAGS = -std=gnu11 $(KAAS_HARD_CFLAGS) $(KAAS_SAN_CFLAGS) -w
$(src_k8s_libkubernetes_a_OBJECTS): src/k8s/gen/kubernetes.stamp

noinst_LIBRARIES += src/k8s/libk8s.a
src_k8s_libk8s_a_CPPFLAGS = $(AM_CPPFLAGS) -isystem src/k8s/gen $(SEE_MODEL) -iquote $(top_srcdir)/src/k8s
src_k8s_libk8s_a_SOURCES = \
    src/k8s/etcd_client.c \
    src/k8s/etcd_client.h \
    src/k8s/etcd_decode.c \
    src/k8s/k8s.h \
    src/k8s/k8s_client.c \
    src/k8s/k8s_codec.c \
    src/k8s/k8s_codec.h \
    src/k8s/k8s_json.c \
    src/k8s/k8s_objects.c \
    src/k8s/k8s_objects.h \
    src/k8s/k8s_private.h \
    src/k8s/k8s_protobuf.c \
    src/k8s/k8s_status.c \
    src/k8s/k8s_told.c \
    src/k8s/k8s_told.h \
    src/k8s/k8s_watch.c \
    src/k8s/k8s_watch.h \
    src/k8s/kubeconfig.c \
    src/k8s/kubeconfig.h \
    src/k8s/kubeconfig_write.c
$(src_k8s_libk8s_a_OBJECTS): src/k8s/gen/kubernetes.stamp
