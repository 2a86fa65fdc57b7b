# The web page. Its built files (ui-plugin/dist) come with the source tarball, so that a build from it needs no Node; in a git tree `make`
# makes them by npm. PAGEDIR names another folder with built files; configure --without-page leaves the page out.
pagedir = $(pkgdatadir)/ui
page_source = $(srcdir)/ui-plugin
page_inputs = index.html panel.html vsphere.html package-lock.json package.json src tsconfig.json vite.config.ts
page_missing = { echo "the web page is not built: install Node 18 and npm and run make again, or give a folder with its built files" \
    "(make install PAGEDIR=FOLDER), or leave it out (configure --without-page)" >&2; exit 1; }

# Without npm a page that is there is taken as it is.
all-local: page
page:
	@test "$(WITH_PAGE)" = yes && test -z "$(PAGEDIR)" || exit 0; \
	cd "$(page_source)" || exit 1; \
	test -f dist/index.html && test -z "`find $(page_inputs) -type f -newer dist/index.html`" && exit 0; \
	if command -v npm >/dev/null; then \
	  echo "  GEN      ui-plugin/dist"; \
	  npm ci --no-audit --no-fund --loglevel=error && npm run build --loglevel=error && touch dist/index.html; \
	elif test ! -f dist/index.html; then \
	  echo "npm was not found: the web page is not built, and 'make install' will ask for it" >&2; \
	fi

install-page:
	@test "$(WITH_PAGE)" = yes || exit 0; \
	from="$(PAGEDIR)"; test -n "$$from" || from="$(page_source)/dist"; \
	test -f "$$from/index.html" || $(page_missing); \
	$(MKDIR_P) "$(DESTDIR)$(pagedir)" && rm -f "$(DESTDIR)$(pagedir)"/* && $(INSTALL_DATA) "$$from"/* "$(DESTDIR)$(pagedir)/"

uninstall-page:
	rm -rf "$(DESTDIR)$(pagedir)"

# A tarball without the page, built and as source, would be half a product. The built one is its newest file: nobody builds it again.
EXTRA_DIST += ui-plugin/.npmrc ui-plugin/README.md ui-plugin/index.html ui-plugin/panel.html ui-plugin/vsphere.html ui-plugin/package-lock.json ui-plugin/package.json \
    ui-plugin/src ui-plugin/test ui-plugin/tsconfig.json ui-plugin/vite.config.ts
dist-page: page
	@test -f "$(page_source)/dist/index.html" || $(page_missing)
	$(MKDIR_P) "$(distdir)/ui-plugin/dist" && cp -p "$(page_source)"/dist/* "$(distdir)/ui-plugin/dist/"
	touch "$(distdir)/ui-plugin/dist/index.html"

.PHONY: page install-page uninstall-page
