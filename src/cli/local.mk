bin_PROGRAMS += src/cli/kaasctl
src_cli_kaasctl_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(OWN_STORE) \
    $(OWN_SETUP) $(OWN_PILOT) $(OWN_CLI) -iquote $(top_srcdir)/extension
src_cli_kaasctl_SOURCES = \
    src/cli/commands/cli_commands.c \
    src/cli/commands/cmd_access.c \
    src/cli/commands/cmd_audit.c \
    src/cli/commands/cmd_backup.c \
    src/cli/commands/cmd_cluster.c \
    src/cli/commands/cmd_cluster_import.c \
    src/cli/commands/cmd_cluster_listed.c \
    src/cli/commands/cmd_cluster_listed.h \
    src/cli/commands/cmd_connect.c \
    src/cli/commands/cmd_create.c \
    src/cli/commands/cmd_doctor.c \
    src/cli/commands/cmd_hx.c \
    src/cli/commands/cmd_impact.c \
    src/cli/commands/cmd_job.c \
    src/cli/commands/cmd_key.c \
    src/cli/commands/cmd_ldap.c \
    src/cli/commands/cmd_login.c \
    src/cli/commands/cmd_pilot.c \
    src/cli/commands/cmd_provider.c \
    src/cli/commands/cmd_service.c \
    src/cli/commands/cmd_session.c \
    src/cli/commands/cmd_setup.c \
    src/cli/commands/cmd_support_bundle.c \
    src/cli/commands/cmd_uninstall.c \
    src/cli/commands/cmd_user.c \
    src/cli/commands/cmd_vcenter.c \
    src/cli/commands/cmd_vcenter_register.c \
    src/cli/commands/cmd_vcenter_status.c \
    src/cli/core/cli.c \
    src/cli/core/cli.h \
    src/cli/core/cli_address.c \
    src/cli/core/cli_address.h \
    src/cli/core/cli_client.c \
    src/cli/core/cli_client.h \
    src/cli/core/cli_command.c \
    src/cli/core/cli_command.h \
    src/cli/core/cli_login.c \
    src/cli/core/cli_login.h \
    src/cli/core/cli_logins.c \
    src/cli/core/cli_logins.h \
    src/cli/core/exit_status.def \
    src/cli/core/cli_opt.c \
    src/cli/core/cli_opt.h \
    src/cli/core/cli_prompt.c \
    src/cli/core/cli_prompt.h \
    src/cli/core/cli_show.c \
    src/cli/core/cli_show.h \
    src/cli/core/cli_table.c \
    src/cli/core/cli_table.h \
    src/cli/core/cli_yaml.c \
    src/cli/core/cli_yaml.h \
    src/cli/core/kaasctl.c
src_cli_kaasctl_LDADD = src/pilot/libpilot.a src/hx/libhx.a src/vim/libvim.a src/vim/libvim25.a $(GSOAP_LIBS) src/setup/libsetup.a src/store/libstore.a src/token/libtoken.a src/config/libconfig.a \
    src/model/libmodel.a src/port/libport.a src/base/libbase.a $(MARIADB_LIBS) $(CURL_LIBS) $(OPENSSL_LIBS) $(JANSSON_LIBS) \
    $(XML_LIBS) $(CRYPT_LIBS) $(UUID_LIBS) $(YAML_LIBS) $(ZLIB_LIBS)

dist_man_MANS += docs/man/kaasctl.1 docs/man/kaasd.8 docs/man/kaasd.yaml.5
# The file bears the name of the command, as bash-completion looks for it.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = etc/bash-completion/kaasctl
