noinst_LIBRARIES += src/config/libconfig.a
src_config_libconfig_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) $(OWN_MODEL) -iquote $(top_srcdir)/src/config
src_config_libconfig_a_SOURCES = \
    src/config/config_load.c \
    src/config/config_report.c \
    src/config/config_yaml.c \
    src/config/daemon_config.h \
    src/config/option_table.c \
    src/config/option_table.h \
    src/config/option_value.c \
    src/config/options.def \
    src/config/ovf_env.c \
    src/config/ovf_env.h
