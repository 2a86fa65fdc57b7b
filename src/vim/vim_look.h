/* Looking at how a vCenter answers, where the answer itself is not wanted: for the pilot. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is made for it at the vCenter (a view, a collector) is taken away again. General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct vim_client;
struct vim_user_session;

struct vim_page {
    size_t count;                       /* objects in the first page */
    bool has_more;                      /* others follow */
    char moref[128], instance_uuid[64]; /* of a virtual machine in it; empty: there is none, or it tells no UUID */
};
/* Asks for the instance UUIDs of all virtual machines without saying how many at a time, and takes the first page; the others are cancelled. */
int vim_look_at_page(struct vim_client *client, struct vim_page *out, struct err *err);

/* Makes a collector of the events by which permissions are watched, and counts what is in its latest page. ERR_UPSTREAM if the vCenter has no manager of events. */
int vim_look_at_events(struct vim_client *client, size_t *count, struct err *err);

/* Makes a session of the REST interface by name and password (POST /api/session), reads by its id as a cookie of SOAP whose it is, and ends it. Our own
 * session is not touched; our copies of the secrets are wiped. ERR_NOT_FOUND: this vCenter has no such call (before 7.0 Update 2); ERR_CREDENTIALS: REST takes name
 * and password, and SOAP knows no session of that id; ERR_UPSTREAM: REST gives no session. */
int vim_look_at_rest_session(struct vim_client *client, const char *user, const char *password, struct vim_user_session *out,
                             struct err *err);

/* GET of a page of the same host by whoever has no session: its HTTP status, which may be one that leads elsewhere. What it says is not looked at. */
int vim_look_at_path(struct vim_client *client, const char *path, long *status, struct err *err);
