noinst_LIBRARIES += src/api/libapi.a
src_api_libapi_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_SERVICES) -iquote $(top_srcdir)/src/httpd $(OWN_API)
src_api_libapi_a_SOURCES = \
    src/api/api.c \
    src/api/api.h \
    src/api/core/api_call.c \
    src/api/core/api_call.h \
    src/api/core/api_options.h \
    src/api/core/authn.c \
    src/api/core/authn.h \
    src/api/core/bounds.c \
    src/api/core/bounds.def \
    src/api/core/bounds.h \
    src/api/core/openapi_text.h \
    src/api/core/pages.c \
    src/api/core/pages.h \
    src/api/core/problem.c \
    src/api/core/problem.h \
    src/api/core/reply.c \
    src/api/core/reply.h \
    src/api/core/routes.def \
    src/api/handlers/clusters/cluster_input.c \
    src/api/handlers/clusters/cluster_input.h \
    src/api/handlers/clusters/cluster_list.c \
    src/api/handlers/clusters/cluster_list.h \
    src/api/handlers/clusters/cluster_watch.c \
    src/api/handlers/clusters/cluster_watch.h \
    src/api/handlers/clusters/list_wait.c \
    src/api/handlers/clusters/list_wait.h \
    src/api/handlers/admin/h_audit.c \
    src/api/handlers/clusters/h_clusters.c \
    src/api/handlers/clusters/h_clusters_import.c \
    src/api/handlers/admin/h_explain.c \
    src/api/handlers/admin/h_grants.c \
    src/api/handlers/hx/h_hx.c \
    src/api/handlers/hx/h_hx_connections.c \
    src/api/handlers/hx/h_hx_credentials.c \
    src/api/handlers/clusters/h_jobs.c \
    src/api/handlers/clusters/h_jobs.h \
    src/api/handlers/admin/h_keys.c \
    src/api/handlers/clusters/h_kube.c \
    src/api/handlers/clusters/h_kubeconfig.c \
    src/api/handlers/admin/h_ldap.c \
    src/api/handlers/auth/h_login.c \
    src/api/handlers/admin/h_operation.c \
    src/api/handlers/admin/h_panel.c \
    src/api/handlers/provision/h_providers.c \
    src/api/handlers/admin/h_role_mappings.c \
    src/api/handlers/admin/h_services.c \
    src/api/handlers/auth/h_sessions.c \
    src/api/handlers/admin/h_users.c \
    src/api/handlers/provision/h_create.c \
    src/api/handlers/vcenter/h_vcenters.c \
    src/api/handlers/vcenter/h_vcenters_join.c \
    src/api/handlers/auth/login_call.c \
    src/api/handlers/auth/login_call.h \
    src/api/core/member_json.c \
    src/api/core/member_json.h \
    src/api/core/name_lookup.c \
    src/api/core/name_lookup.h \
    src/api/handlers/vcenter/plugin_manifest.c \
    src/api/handlers/vcenter/plugin_manifest.h \
    src/api/core/views.c \
    src/api/core/views.h
nodist_src_api_libapi_a_SOURCES = src/api/openapi_text.c
EXTRA_DIST += src/api/embed_text.sh

# The contract is served by the daemon, so it is part of it.
src/api/openapi_text.c: $(top_srcdir)/docs/openapi.yaml $(top_srcdir)/src/api/embed_text.sh
	$(AM_V_GEN)$(MKDIR_P) src/api && \
	sh $(top_srcdir)/src/api/embed_text.sh openapi_text $(top_srcdir)/docs/openapi.yaml >$@.tmp && mv $@.tmp $@
CLEANFILES += src/api/openapi_text.c
