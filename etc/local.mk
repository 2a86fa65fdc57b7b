# Service unit, system user, bundles for clusters, sample configuration, alert rules and dashboard (docs/local.mk installs these as pages), what goes into the appliance and
# the node image.
systemdsystemunitdir = $(prefix)/lib/systemd/system
sysusersdir = $(prefix)/lib/sysusers.d
systemdsystemunit_DATA = etc/kaasd.service etc/kaas-backup.service etc/kaas-backup.timer
EXTRA_DIST += etc/kaasd.service.in etc/kaas-backup.service.in etc/kaas-backup.timer etc/kaas.sysusers etc/kaasd.yaml.sample etc/prometheus/kaas-alerts.yaml \
    etc/prometheus/kaas-alerts-days-test.yaml etc/prometheus/kaas-alerts-test.yaml etc/grafana/kaas.json etc/appliance/first-boot \
    etc/appliance/harmony-kaas.ovf.in etc/appliance/kaas-first-boot.service \
    etc/node/cloud.cfg etc/node/containerd.toml etc/node/kaas-node-check etc/node/kaas-node.ovf.in \
    etc/node/kubelet.service etc/node/modules.conf etc/node/pause.c etc/node/sysctl.conf etc/node/units.preset etc/node/wait-online.conf $(BUNDLE_FILES)
BUNDLE_FILES = etc/bundles/kube-router/SHA256SUMS etc/bundles/kube-router/bundle.yaml etc/bundles/kube-router/manifests/kube-router.yaml \
    etc/bundles/metallb/SHA256SUMS etc/bundles/metallb/bundle.yaml etc/bundles/metallb/manifests/10-kinds.yaml \
    etc/bundles/metallb/manifests/20-programs.yaml etc/bundles/metallb/manifests/30-addresses.yaml

etc/kaasd.service: $(srcdir)/etc/kaasd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && sed -e 's|@sbindir[@]|$(sbindir)|g' $(srcdir)/etc/kaasd.service.in >$@.tmp && mv $@.tmp $@
etc/kaas-backup.service: $(srcdir)/etc/kaas-backup.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) etc && sed -e 's|@bindir[@]|$(bindir)|g' $(srcdir)/etc/kaas-backup.service.in >$@.tmp && mv $@.tmp $@
CLEANFILES += etc/kaasd.service etc/kaas-backup.service

# Which schema of the database this version makes: an older one that is to be installed over it looks there (kaas-server.preinst).
install-data-local: install-page install-docs install-bundles
	$(MKDIR_P) "$(DESTDIR)$(sysusersdir)" && $(INSTALL_DATA) $(srcdir)/etc/kaas.sysusers "$(DESTDIR)$(sysusersdir)/kaas.conf"
	$(MKDIR_P) "$(DESTDIR)$(pkgdatadir)" && \
	  sed -n 's/^#define STORE_SCHEMA_RELEASE \([0-9]*\)U$$/\1/p' $(srcdir)/src/store/core/store_schema.h >"$(DESTDIR)$(pkgdatadir)/schema-release"
install-bundles:
	for file in $(BUNDLE_FILES); do to="$(DESTDIR)$(pkgdatadir)/$${file#etc/}"; \
	  $(MKDIR_P) "$${to%/*}" && $(INSTALL_DATA) "$(srcdir)/$$file" "$$to" || exit 1; done
.PHONY: install-bundles
# On the machine itself, where systemd looks: its user, and the unit as it is now. Packages (DESTDIR) leave that to their own scripts.
install-data-hook:
	@test -z "$(DESTDIR)" && test `id -u` = 0 || exit 0; \
	case "$(sysusersdir)" in /usr/lib/sysusers.d | /usr/local/lib/sysusers.d) ;; *) exit 0 ;; esac; \
	command -v systemd-sysusers >/dev/null || { \
	  id -u kaas >/dev/null 2>&1 || echo "make the user of the service: useradd --system --home-dir /var/lib/kaas --shell /usr/sbin/nologin kaas"; \
	  exit 0; }; \
	echo "systemd-sysusers $(sysusersdir)/kaas.conf"; systemd-sysusers "$(sysusersdir)/kaas.conf" || exit 1; \
	test ! -d /run/systemd/system || { echo "systemctl daemon-reload"; systemctl daemon-reload; }
uninstall-local: uninstall-page uninstall-docs
	rm -f "$(DESTDIR)$(sysusersdir)/kaas.conf" "$(DESTDIR)$(pkgdatadir)/schema-release"
	rm -rf "$(DESTDIR)$(pkgdatadir)/bundles"
uninstall-hook:
	@rmdir "$(DESTDIR)$(pkgdatadir)" 2>/dev/null || :
