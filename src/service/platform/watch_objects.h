/* The objects in a watch's mirror. Layer 4 (service/platform); private to watch_mirror.c and watch_answer.c.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Virtual machines are struct node_vm. Each struct begins with its moref, by which the trees are sorted. */
#pragma once

#include <stdbool.h>

#include "watch_mirror.h"

struct watch_cluster {
    char *moref, *name, *parent;
    bool is_plain; /* above a host outside of any cluster */
};

struct watch_datacenter {
    char *moref, *name;
};

struct watch_folder {
    char *moref, *parent;
};

struct watch_host {
    char *moref, *name, *parent;
    enum host_connection connection;
};

/* The object with this moref (NULL is allowed), or NULL. */
void *watch_objects_find(void *const *tree, const char *moref);

/* A deep copy in the same order; vim_key_list_done gives it back. ERR_NOMEM. */
int watch_keys_copy(const struct vim_key_list *from, struct vim_key_list *out, struct err *err);
