noinst_LIBRARIES += src/service/libplatform.a src/service/libsignon.a src/service/libclusters.a
src_service_libplatform_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/platform \
    -iquote $(top_srcdir)/extension
src_service_libplatform_a_SOURCES = \
    extension/role.def \
    extension/texts.def \
    src/service/platform/discovery.c \
    src/service/platform/discovery.h \
    src/service/platform/doctor.c \
    src/service/platform/doctor.h \
    src/service/platform/doctor_vcenter.c \
    src/service/platform/doctor_net.c \
    src/service/platform/doctor_private.h \
    src/service/platform/extension_record.c \
    src/service/platform/extension_record.h \
    src/service/platform/link.c \
    src/service/platform/link.h \
    src/service/platform/link_login.c \
    src/service/platform/link_login.h \
    src/service/platform/link_work.c \
    src/service/platform/link_work.h \
    src/service/platform/manifest_log.c \
    src/service/platform/manifest_log.h \
    src/service/platform/ovf_env.c \
    src/service/platform/ovf_env.h \
    src/service/platform/ovf_install.c \
    src/service/platform/ovf_install.h \
    src/service/platform/link_env.c \
    src/service/platform/link_env.h \
    src/service/platform/platform_health.c \
    src/service/platform/platform_health.h \
    src/service/platform/platform_links.c \
    src/service/platform/platform_links.h \
    src/service/platform/reconcile.c \
    src/service/platform/reconcile.h \
    src/service/platform/record_note.h \
    src/service/platform/registration.c \
    src/service/platform/registration.h \
    src/service/platform/rotation.c \
    src/service/platform/rotation.h \
    src/service/platform/link_task.c \
    src/service/platform/link_task.h \
    src/service/platform/vc_people.c \
    src/service/platform/vc_people.h \
    src/service/platform/vc_status.c \
    src/service/platform/vc_status.h \
    src/service/platform/vcenter_set.c \
    src/service/platform/vcenter_set.h \
    src/service/platform/watch_mirror.c \
    src/service/platform/watch_mirror.h \
    src/service/platform/watch_private.h \
    src/service/platform/watch_read.c \
    src/service/platform/watch_run.c \
    src/service/platform/watch_run.h \
    src/service/platform/watch_save.c
src_service_libsignon_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/signon
src_service_libsignon_a_SOURCES = \
    src/service/signon/bearer.c \
    src/service/signon/bearer.h \
    src/service/signon/group_pool.c \
    src/service/signon/group_pool.h \
    src/service/signon/key_rotation.c \
    src/service/signon/live_session.c \
    src/service/signon/live_session.h \
    src/service/signon/login.c \
    src/service/signon/login.h \
    src/service/signon/proof.c \
    src/service/signon/proof.h \
    src/service/signon/rights.c \
    src/service/signon/rights.h \
    src/service/signon/rights_board.c \
    src/service/signon/rights_board.h \
    src/service/signon/role_rules.c \
    src/service/signon/role_rules.h \
    src/service/signon/sessions.c \
    src/service/signon/sessions.h \
    src/service/signon/signing_keys.c \
    src/service/signon/signing_keys.h \
    src/service/signon/signon.c \
    src/service/signon/signon.h \
    src/service/signon/signon_options.h \
    src/service/signon/signon_state.h \
    src/service/signon/throttle.c \
    src/service/signon/throttle.h
noinst_LIBRARIES += src/service/libaccess.a
src_service_libaccess_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/access
src_service_libaccess_a_SOURCES = \
    src/service/access/access.c \
    src/service/access/access.h
noinst_LIBRARIES += src/service/libsealing.a
src_service_libsealing_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/sealing
src_service_libsealing_a_SOURCES = \
    src/service/sealing/sealing.c \
    src/service/sealing/sealing.h

src_service_libclusters_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_DIRECTORY) -iquote $(top_srcdir)/src/service/clusters
src_service_libclusters_a_SOURCES = \
    src/service/clusters/clusters.c \
    src/service/clusters/clusters.h
noinst_LIBRARIES += src/service/libsetup.a
src_service_libsetup_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) -iquote $(top_srcdir)/src/service/setup
src_service_libsetup_a_SOURCES = \
    src/service/setup/first_setup.c \
    src/service/setup/first_setup.h \
    src/service/setup/setup_files.c \
    src/service/setup/setup_files.h \
    src/service/setup/setup_check.c \
    src/service/setup/setup_check.h
