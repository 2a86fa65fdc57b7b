module kaas.test/vcsim-old

go 1.21

require github.com/vmware/govmomi v0.24.2

require github.com/google/uuid v0.0.0-20170306145142-6a5e28554805 // indirect
