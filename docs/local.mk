# The pages for those who run, use and connect to it, and the examples, as they are installed: messages name them there, and so do the pages. What
# only the project's own developers read is not among them. tests/lint/test_pages.py holds that each page that is named is installed.
DOC_PAGES = README.md CHANGELOG.md chart/README.md docs/operations.md docs/http.md docs/panel.md docs/hx-integration.md docs/hx-publish.md \
    $(patsubst $(top_srcdir)/%,%,$(wildcard $(top_srcdir)/docs/admin/*.md $(top_srcdir)/docs/guides/*.md))
DOC_CONTRACTS = docs/openapi.yaml docs/hx-publish.yaml $(patsubst $(top_srcdir)/%,%,$(wildcard $(top_srcdir)/docs/pictures/*))
DOC_SAMPLES = etc/kaasd.yaml.sample etc/node/kaas-node-check etc/prometheus/kaas-alerts.yaml etc/grafana/kaas.json
DOC_EXAMPLES = $(shell cd $(top_srcdir) && find examples -type f ! -path '*/__pycache__/*' | LC_ALL=C sort)

# to: where $$file goes
DOC_TO = case $$file in etc/*) to=examples/$${file\#\#*/} ;; *) to=$${file\#docs/} ;; esac; to="$(DESTDIR)$(docdir)/$$to"
# In README.md the table for developers is left out, and the manual pages, which lie elsewhere.
DOC_SED = sed -e '/^| to work on it/,/^$$/d' -e '/^| `docs\/man\//d' -e 's,\(^\|[^[:alnum:]_./-]\)docs/\([a-z]\),\1$(docdir)/\2,g' \
    -e 's,\.\./\.\./etc/\(prometheus\|grafana\)/,../,g' -e 's,\(^\|[^[:alnum:]_./-]\)etc/\(prometheus\|grafana\)/,\1$(docdir)/examples/,g' \
    -e 's,\(^\|[^[:alnum:]_./-]\)\(examples/[a-z]\|chart/README\.md\|README\.md\|CHANGELOG\.md\),\1$(docdir)/\2,g'

install-docs:
	@echo " $(MKDIR_P) '$(DESTDIR)$(docdir)' and its pages"; umask 022; \
	for file in $(DOC_PAGES) $(DOC_SAMPLES) $(DOC_EXAMPLES); do \
	  $(DOC_TO); $(MKDIR_P) "$${to%/*}" && $(DOC_SED) "$(srcdir)/$$file" >"$$to" || exit 1; \
	  test ! -x "$(srcdir)/$$file" || chmod 755 "$$to" || exit 1; done; \
	for file in $(DOC_CONTRACTS); do $(DOC_TO); $(MKDIR_P) "$${to%/*}" && $(INSTALL_DATA) "$(srcdir)/$$file" "$$to" || exit 1; done
uninstall-docs:
	@for file in $(DOC_PAGES) $(DOC_SAMPLES) $(DOC_EXAMPLES) $(DOC_CONTRACTS); do $(DOC_TO); rm -f "$$to"; done; \
	find "$(DESTDIR)$(docdir)" -depth -type d -empty -exec rmdir {} ';' 2>/dev/null || :
.PHONY: install-docs uninstall-docs
