# The Kubernetes clusters in memory: snapshots, queries, the change feed; and writing their records.
noinst_LIBRARIES += src/inventory/libinventory.a
src_inventory_libinventory_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_INVENTORY)
src_inventory_libinventory_a_SOURCES = \
    src/inventory/clusters.c \
    src/inventory/clusters.h \
    src/inventory/hx_query.c \
    src/inventory/hx_query.h \
    src/inventory/impact.c \
    src/inventory/impact.h \
    src/inventory/inventory.c \
    src/inventory/inventory.h \
    src/inventory/load.c \
    src/inventory/load.h \
    src/inventory/query.c \
    src/inventory/query.h \
    src/inventory/render.c \
    src/inventory/render.h \
    src/inventory/resolve.c \
    src/inventory/snapshot.c \
    src/inventory/snapshot.h
