# Service unit, system user, sample configuration.
systemdsystemunitdir = $(prefix)/lib/systemd/system
sysusersdir = $(prefix)/lib/sysusers.d
systemdsystemunit_DATA = etc/kaasd.service
examplesdir = $(docdir)/examples
examples_DATA = etc/kaasd.yaml.sample
EXTRA_DIST += etc/kaasd.service.in etc/kaas.sysusers etc/kaasd.yaml.sample

etc/kaasd.service: $(srcdir)/etc/kaasd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && sed -e 's|@sbindir[@]|$(sbindir)|g' $(srcdir)/etc/kaasd.service.in >$@.tmp && mv $@.tmp $@
CLEANFILES += etc/kaasd.service

install-data-local: install-page
	$(MKDIR_P) "$(DESTDIR)$(sysusersdir)" && $(INSTALL_DATA) $(srcdir)/etc/kaas.sysusers "$(DESTDIR)$(sysusersdir)/kaas.conf"
uninstall-local: uninstall-page
	rm -f "$(DESTDIR)$(sysusersdir)/kaas.conf"
