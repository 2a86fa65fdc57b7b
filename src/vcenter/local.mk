# The vCenters: links to them, our extension there, the live watch, the doctor.
noinst_LIBRARIES += src/vcenter/libvcenter.a
src_vcenter_libvcenter_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_INVENTORY) $(OWN_VCENTER) -iquote $(top_srcdir)/extension
src_vcenter_libvcenter_a_SOURCES = \
    extension/role.def \
    extension/texts.def \
    src/vcenter/doctor/doctor.c \
    src/vcenter/doctor/doctor.h \
    src/vcenter/doctor/doctor_net.c \
    src/vcenter/doctor/doctor_private.h \
    src/vcenter/doctor/doctor_vcenter.c \
    src/vcenter/extension/extension_record.c \
    src/vcenter/extension/extension_record.h \
    src/vcenter/extension/manifest_log.c \
    src/vcenter/extension/manifest_log.h \
    src/vcenter/extension/ovf_install.c \
    src/vcenter/extension/ovf_install.h \
    src/vcenter/extension/reconcile.c \
    src/vcenter/extension/reconcile.h \
    src/vcenter/extension/record_note.h \
    src/vcenter/extension/registration.c \
    src/vcenter/extension/registration.h \
    src/vcenter/extension/rotation.c \
    src/vcenter/extension/rotation.h \
    src/vcenter/extension/vcenter_set.c \
    src/vcenter/extension/vcenter_set.h \
    src/vcenter/link/discovery.c \
    src/vcenter/link/discovery.h \
    src/vcenter/link/hx_addresses.c \
    src/vcenter/link/hx_addresses.h \
    src/vcenter/link/link.c \
    src/vcenter/link/link.h \
    src/vcenter/link/link_env.c \
    src/vcenter/link/link_env.h \
    src/vcenter/link/link_login.c \
    src/vcenter/link/link_login.h \
    src/vcenter/link/link_task.c \
    src/vcenter/link/link_task.h \
    src/vcenter/link/link_work.c \
    src/vcenter/link/link_work.h \
    src/vcenter/link/platform_health.c \
    src/vcenter/link/platform_health.h \
    src/vcenter/link/platform_links.c \
    src/vcenter/link/platform_links.h \
    src/vcenter/link/vc_people.c \
    src/vcenter/link/vc_people.h \
    src/vcenter/link/vc_status.c \
    src/vcenter/link/vc_status.h \
    src/vcenter/watch/watch_mirror.c \
    src/vcenter/watch/watch_mirror.h \
    src/vcenter/watch/watch_run_private.h \
    src/vcenter/watch/watch_read.c \
    src/vcenter/watch/watch_run.c \
    src/vcenter/watch/watch_run.h \
    src/vcenter/watch/watch_save.c
