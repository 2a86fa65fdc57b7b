EXTRA_DIST += docs/ARCHITECTURE.md docs/CONTRIBUTING.md docs/audit.md docs/compatibility.md docs/configuration.md docs/http.md docs/identity.md docs/openapi.yaml docs/performance.md docs/vcenter.md
