/* Making, changing and destroying virtual machines. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What makes a task gives it in *out as it begins: its end is told by the watch (vim_watch.h). What vCenter refuses by a fault of the call it could as well have refused by
 * the task (vSphere API reference): so that is a task that has failed, with 0. General errors, of calls without an answer that can be used: vim.h. Managed object ids are
 * those of VirtualMachine, but where another type is named. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "vim_guest_state.h"
#include "vim_task.h"

struct vim_client;

/* The network that a machine's card is on. Borrowed. */
struct vim_network {
    const char *type, *moref, *name; /* "Network", or "DistributedVirtualPortgroup" */
};

struct vim_clone {
    const char *source; /* template or machine */
    const char *folder, *pool, *datastore;
    const char *name, *instance_uuid;
    struct vim_network network;
};
/* Clones, powered off: all disks in full, without vApp properties, and with one network card, a vmxnet3. */
int vim_clone_machine(struct vim_client *client, const struct vim_clone *clone, struct vim_task *out, struct err *err);

/* Further keys of extraConfig. NULL value: the key is taken away. */
struct vim_option {
    const char *key, *value;
};
#define VIM_OPTIONS_MAX 8

struct vim_change {
    const char *moref;
    int64_t cpus, memory_mib;            /* 0: as they are */
    const char *annotation;              /* NULL: as it is */
    const char *managed_by, *managed_as; /* key of an extension, and type; NULL: as they are */
    const struct vim_network *network;   /* the one card is to be on it; NULL: cards stay as they are */
    struct vim_option options[VIM_OPTIONS_MAX];
    size_t option_count;
};
/* ERR_TOO_LARGE for an option's value over VIM_OPTION_BYTES_MAX: no guest could read it. */
#define VIM_OPTION_BYTES_MAX 65536U
int vim_change_machine(struct vim_client *client, const struct vim_change *change, struct vim_task *out, struct err *err);

/* Power on, without a choice of the host, and off, without asking the guest. */
int vim_power_on(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err);
int vim_power_off(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err);
/* Asks the guest to shut down; that it is off is told by the watch. ERR_UPSTREAM if VMware Tools do not run there. */
int vim_shutdown_guest(struct vim_client *client, const char *moref, struct err *err);
/* Destroys a machine with its files, or a folder with all in it. */
int vim_destroy_machine(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err);
int vim_destroy_folder(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err);

/* Makes a folder of machines in the folder `parent`; its id goes to `out`. If there is an object of that name, that is its id, and *is_there is true. */
int vim_make_folder(struct vim_client *client, const char *parent, const char *name, char out[VIM_MOREF_BYTES], bool *is_there,
                    struct err *err);
/* Is nothing in this folder? ERR_NOT_FOUND: it is not there. */
int vim_is_folder_empty(struct vim_client *client, const char *moref, bool *is_empty, struct err *err);

/* The machine of this name in a folder, also one that is being cloned still; "" with 0: there is none. ERR_NOT_FOUND: the folder is not there. */
int vim_find_in_folder(struct vim_client *client, const char *folder, const char *name, char out[VIM_MOREF_BYTES],
                       struct err *err);
/* The machine with this instance UUID; "" with 0: there is none, none that we may see, or it is being cloned still. */
int vim_find_machine(struct vim_client *client, const char *instance_uuid, char out[VIM_MOREF_BYTES], struct err *err);

/* A machine as it is now. Nothing to free. */
struct vim_machine_now {
    char name[256];
    char instance_uuid[37]; /* lower case; "": it is being cloned still, or is out of reach */
    char managed_by[128];   /* key of an extension; "": nobody's */
    int64_t cpus, memory_mib;
    size_t card_count;  /* network cards; */
    char mac[18];       /* the address of the one that there is */
    bool is_on_network; /* it is the only one, and on the network that was asked for */
    struct vim_guest_state guest;
};
/* `network` may be NULL. ERR_NOT_FOUND: it is not there. */
int vim_read_machine(struct vim_client *client, const char *moref, const struct vim_network *network, struct vim_machine_now *out,
                     struct err *err);
