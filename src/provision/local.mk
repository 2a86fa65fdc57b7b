# Clusters that kaasd makes: where, their machines, their keys, what their machines are told, and the jobs.
noinst_LIBRARIES += src/provision/libprovision.a
src_provision_libprovision_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_VCENTER) $(OWN_KUBERNETES) -iquote $(top_srcdir)/src/k8s $(OWN_PROVISION) \
    -iquote $(top_srcdir)/extension
src_provision_libprovision_a_SOURCES = \
    extension/provision_role.def \
    src/provision/cluster_admin.c \
    src/provision/cluster_admin.h \
    src/provision/cluster_pki.c \
    src/provision/cluster_pki.h \
    src/provision/create_job.c \
    src/provision/delete_job.c \
    src/provision/kubeadm_docs.c \
    src/provision/kubeadm_docs.h \
    src/provision/machine_boot.c \
    src/provision/machine_call.c \
    src/provision/machine_end.c \
    src/provision/machine_steps.c \
    src/provision/machine_steps.h \
    src/provision/machine_steps_private.h \
    src/provision/making.c \
    src/provision/making_plan.c \
    src/provision/node_data.c \
    src/provision/node_data.h \
    src/provision/node_files.h \
    src/provision/node_phase.c \
    src/provision/node_phase.h \
    src/provision/node_phases.def \
    src/provision/node_plan.c \
    src/provision/node_plan.h \
    src/provision/provider_check.c \
    src/provision/provider_resolve.c \
    src/provision/providers.c \
    src/provision/providers.h \
    src/provision/providers_private.h \
    src/provision/provision.c \
    src/provision/provision.h \
    src/provision/provision_private.h

# What machines are given as it is: compiled in.
nodist_src_provision_libprovision_a_SOURCES = src/provision/node_files.c
NODE_FILES = src/provision/node_start.sh src/provision/arp_probe.py
EXTRA_DIST += $(NODE_FILES) src/provision/embed.sh
src/provision/node_files.c: $(NODE_FILES) src/provision/embed.sh
	$(AM_V_GEN)$(MKDIR_P) src/provision && \
	sh $(top_srcdir)/src/provision/embed.sh node_file_start=$(top_srcdir)/src/provision/node_start.sh \
	    node_file_arp_probe=$(top_srcdir)/src/provision/arp_probe.py >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += src/provision/node_files.c
CLEANFILES += src/provision/node_files.c
