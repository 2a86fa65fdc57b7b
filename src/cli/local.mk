bin_PROGRAMS += src/cli/kaasctl
src_cli_kaasctl_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/store \
    -iquote $(top_srcdir)/src/service/setup -iquote $(top_srcdir)/src/cli -iquote $(top_srcdir)/extension
src_cli_kaasctl_SOURCES = \
    src/cli/cli.c \
    src/cli/cli.h \
    src/cli/cli_address.c \
    src/cli/cli_address.h \
    src/cli/cli_client.c \
    src/cli/cli_client.h \
    src/cli/cli_command.c \
    src/cli/cli_command.h \
    src/cli/cli_commands.c \
    src/cli/cli_find.c \
    src/cli/cli_find.h \
    src/cli/cli_opt.c \
    src/cli/cli_opt.h \
    src/cli/cli_prompt.c \
    src/cli/cli_prompt.h \
    src/cli/cli_show.c \
    src/cli/cli_show.h \
    src/cli/cli_table.c \
    src/cli/cli_table.h \
    src/cli/cmd_access.c \
    src/cli/cmd_audit.c \
    src/cli/cmd_cluster.c \
    src/cli/cmd_cluster_import.c \
    src/cli/cmd_doctor.c \
    src/cli/cmd_hx.c \
    src/cli/cmd_key.c \
    src/cli/cmd_ldap.c \
    src/cli/cmd_service.c \
    src/cli/cmd_session.c \
    src/cli/cmd_setup.c \
    src/cli/cmd_user.c \
    src/cli/cmd_vcenter.c \
    src/cli/cmd_vcenter_register.c \
    src/cli/cmd_vcenter_status.c \
    src/cli/kaasctl.c
src_cli_kaasctl_LDADD = src/service/libsetup.a src/store/libstore.a src/token/libtoken.a src/config/libconfig.a src/policy/libpolicy.a \
    src/model/libmodel.a src/port/libport.a src/base/libbase.a $(MARIADB_LIBS) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) \
    $(XML_LIBS) $(CRYPT_LIBS) $(UUID_LIBS) $(YAML_LIBS)

dist_man_MANS += docs/man/kaasctl.1 docs/man/kaasd.8 docs/man/kaasd.yaml.5
# The file bears the name of the command, as bash-completion looks for it.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = etc/bash-completion/kaasctl
