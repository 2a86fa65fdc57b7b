noinst_LIBRARIES += src/api/libapi.a
src_api_libapi_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_SERVICES) -iquote $(top_srcdir)/src/httpd -iquote $(top_srcdir)/src/api
src_api_libapi_a_SOURCES = \
    src/api/api.c \
    src/api/api.h \
    src/api/api_call.c \
    src/api/api_call.h \
    src/api/api_options.h \
    src/api/authn.c \
    src/api/authn.h \
    src/api/cluster_input.c \
    src/api/cluster_input.h \
    src/api/cluster_watch.c \
    src/api/cluster_watch.h \
    src/api/h_audit.c \
    src/api/h_clusters.c \
    src/api/h_clusters_import.c \
    src/api/h_explain.c \
    src/api/h_grants.c \
    src/api/h_hx.c \
    src/api/h_keys.c \
    src/api/h_ldap.c \
    src/api/h_login.c \
    src/api/login_call.c \
    src/api/login_call.h \
    src/api/h_operation.c \
    src/api/h_role_mappings.c \
    src/api/h_services.c \
    src/api/h_sessions.c \
    src/api/h_users.c \
    src/api/h_vcenters.c \
    src/api/h_vcenters_join.c \
    src/api/list_memo.c \
    src/api/list_memo.h \
    src/api/list_wait.c \
    src/api/list_wait.h \
    src/api/member_json.c \
    src/api/member_json.h \
    src/api/name_lookup.c \
    src/api/name_lookup.h \
    src/api/openapi_text.h \
    src/api/pages.c \
    src/api/pages.h \
    src/api/plugin_manifest.c \
    src/api/plugin_manifest.h \
    src/api/problem.c \
    src/api/problem.h \
    src/api/reply.c \
    src/api/reply.h \
    src/api/routes.def \
    src/api/views.c \
    src/api/views.h
nodist_src_api_libapi_a_SOURCES = src/api/openapi_text.c
EXTRA_DIST += src/api/embed_text.sh

# The contract is served by the daemon, so it is part of it.
src/api/openapi_text.c: $(top_srcdir)/docs/openapi.yaml $(top_srcdir)/src/api/embed_text.sh
	$(AM_V_GEN)$(MKDIR_P) src/api && \
	sh $(top_srcdir)/src/api/embed_text.sh openapi_text $(top_srcdir)/docs/openapi.yaml >$@.tmp && mv $@.tmp $@
CLEANFILES += src/api/openapi_text.c
