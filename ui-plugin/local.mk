# The web page. Its built files (ui-plugin/dist) come with the source tarball, so that a build from it needs no Node; in a git
# tree `npm ci && npm run build` makes them (scripts/setup does). PAGEDIR names another folder with built files.
pagedir = $(pkgdatadir)/ui

install-page:
	$(MKDIR_P) "$(DESTDIR)$(pagedir)"
	@from="$(PAGEDIR)"; test -n "$$from" || from="$(srcdir)/ui-plugin/dist"; \
	if test -f "$$from/index.html"; then \
	  for f in "$$from"/*; do $(INSTALL_DATA) "$$f" "$(DESTDIR)$(pagedir)/" || exit 1; done; \
	else echo "the web page is not built: nothing to install in $(pagedir) (see ui-plugin/README.md)"; fi

uninstall-page:
	rm -rf "$(DESTDIR)$(pagedir)"

# A tarball without the page, built and as source, would be half a product.
EXTRA_DIST += ui-plugin/.npmrc ui-plugin/README.md ui-plugin/index.html ui-plugin/package-lock.json ui-plugin/package.json ui-plugin/public \
    ui-plugin/src ui-plugin/test ui-plugin/tsconfig.json ui-plugin/vite.config.ts
dist-page:
	@test -f "$(srcdir)/ui-plugin/dist/index.html" || { echo "build the page first: npm ci && npm run build in ui-plugin" >&2; exit 1; }
	$(MKDIR_P) "$(distdir)/ui-plugin/dist" && cp -p "$(srcdir)"/ui-plugin/dist/* "$(distdir)/ui-plugin/dist/"

.PHONY: install-page uninstall-page
