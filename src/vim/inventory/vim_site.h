/* What is looked at before machines are built somewhere: a datastore's room, what a vSphere cluster reaches, a template, addresses in use.
 * Layer 2 (vim). General errors: vim.h.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each is ERR_NOT_FOUND if there is no object with that managed object id, ERR_UPSTREAM_DENIED if we may not read it. *out is set on success only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct vim_client;

struct vim_datastore {
    int64_t free_bytes, capacity_bytes; /* -1: not told */
    bool is_accessible;
    bool is_in_maintenance; /* or on the way there */
};
int vim_lookup_datastore(struct vim_client *client, const char *moref, struct vim_datastore *out, struct err *err);

/* Managed object ids of what the hosts of a vSphere cluster have. */
struct vim_reach {
    char **datastores, **networks;
    size_t datastore_count, network_count;
};
void vim_reach_done(struct vim_reach *reach); /* NULL is allowed */
int vim_lookup_reach(struct vim_client *client, const char *cluster, struct vim_reach *out, struct err *err);

/* A machine that others are to be cloned from. */
struct vim_source {
    bool is_template;
    int64_t hardware;   /* version of its virtual hardware: 17 of "vmx-17"; -1: not told */
    bool has_had_tools; /* vCenter has seen VMware Tools in it; not so while it was imported and never powered on */
    char *contract;     /* value of guestinfo.kaas.node; NULL: not set */
};
void vim_source_done(struct vim_source *source); /* NULL is allowed */
int vim_lookup_source(struct vim_client *client, const char *moref, struct vim_source *out, struct err *err);

/* An address that VMware Tools in a machine report. The owner of a machine can make it report anything. */
struct vim_used_address {
    char address[46]; /* numeric */
    char *machine;    /* its name */
};
struct vim_used_addresses {
    struct vim_used_address *items;
    size_t count;
};
void vim_used_addresses_done(struct vim_used_addresses *used); /* NULL is allowed */
/* Those of all machines that we may read. Machines that are off, or without Tools, report none. ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX machines. */
int vim_list_used_addresses(struct vim_client *client, struct vim_used_addresses *out, struct err *err);
