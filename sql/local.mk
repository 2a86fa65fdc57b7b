# The migration files: embed.sh puts them in order. They are compiled into libstore (src/store/local.mk).
SQL_FILES = $(patsubst $(top_srcdir)/%,%,$(wildcard $(top_srcdir)/sql/*.sql))
EXTRA_DIST += $(SQL_FILES) sql/embed.sh sql/README.md

src/store/sql_files.c: $(SQL_FILES) sql/embed.sh
	$(AM_V_GEN)$(MKDIR_P) src/store && \
	sh $(top_srcdir)/sql/embed.sh $(SQL_FILES:%=$(top_srcdir)/%) >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += src/store/sql_files.c
CLEANFILES += src/store/sql_files.c
