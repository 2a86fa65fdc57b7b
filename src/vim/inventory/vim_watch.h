/* Watches a vCenter: tells its objects, and their changes as they happen. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One watch is one pending WaitForUpdatesEx call. It has a connection and a PropertyCollector of its own, beside the pool of its
 * client; it shares the client's session and login, but neither fills the pool nor moves the breaker. The first answers after
 * `restarted` tell everything there is; later ones tell changes. Answers are handed out while they are read: texts live only
 * during the call of the event function. General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"

struct vim_client;
struct vim_extension;
struct vim_follows;
struct vim_key_list;
struct vim_watch;

struct vim_watch_options {
    const char *extension_key;   /* our record's key; NULL: no record is handed out as our own. Copied */
    unsigned max_wait_s;         /* how long vCenter holds a call without news; 0: KAAS_VIM_WATCH_WAIT_S */
    unsigned max_object_updates; /* objects per answer; 0: KAAS_VIM_WATCH_OBJECTS_COUNT */
    struct vim_follows *
        follows; /* what becomes of its tasks and machines is written into it (vim_follow.h); outlives the watch; NULL: nothing is followed */
};

/* ENTER: seen for the first time (or again after it left), with all members that have a value; MODIFY: some members changed;
 * LEAVE: gone, or not visible to us any more; then only `moref` is set. A MODIFY may come for an object that is not known: take it
 * as "these members have these values now". */
enum vim_watch_op { VIM_WATCH_ENTER, VIM_WATCH_MODIFY, VIM_WATCH_LEAVE };

/* Members that have no value any more (unset, or we may not read them). Bits of `unset`. */
enum vim_watch_member {
    VIM_WATCH_NAME = 1 << 0,
    VIM_WATCH_PARENT = 1 << 1,
    VIM_WATCH_CONNECTION = 1 << 2,
    VIM_WATCH_POWER = 1 << 3,
    VIM_WATCH_MAINTENANCE = 1 << 4,
    VIM_WATCH_INSTANCE_UUID = 1 << 5,
    VIM_WATCH_BIOS_UUID = 1 << 6,
    VIM_WATCH_HOST = 1 << 7,
    VIM_WATCH_TEMPLATE = 1 << 8,
};

/* Kinds of objects that a watch tells of. Clusters lead to their datacenter through folders: cluster -> folder -> ... -> datacenter. */
enum vim_object_kind {
    VIM_OBJECT_CLUSTER,    /* also the plain ComputeResource that stands above a host outside of any cluster */
    VIM_OBJECT_DATACENTER, /* above some cluster */
    VIM_OBJECT_FOLDER,     /* between a cluster and its datacenter; folders of virtual machines are not told */
    VIM_OBJECT_HOST,
    VIM_OBJECT_VM,
    VIM_OBJECT_KINDS
};

/* What is told of one object. A text that is NULL, and a bool without its has_ flag, was not told this time, or the kind has no such
 * member; it is as before unless its bit stands in `unset`. States are vCenter's own words, in an open list. */
struct vim_watch_object {
    enum vim_object_kind kind;
    enum vim_watch_op op;
    unsigned unset;
    bool is_plain;            /* VIM_OBJECT_CLUSTER: it is a plain ComputeResource, no vSphere cluster */
    const char *moref;        /* never NULL */
    const char *name;         /* of all but folders; vCenter's %2f, %5c and %25 turned back */
    const char *parent_moref; /* of a cluster or folder: the folder or datacenter above; of a host: the compute resource */
    const char
        *connection;   /* host, machine: "connected", "disconnected", ("notResponding"; "orphaned", "inaccessible", "invalid") */
    const char *power; /* host, machine: "poweredOn", "poweredOff", ("suspended"; "standBy", "unknown") */
    const char *host_moref;                /* of a machine, as all below */
    const char *instance_uuid, *bios_uuid; /* in lower case */
    bool has_is_template, is_template;
    bool has_in_maintenance, in_maintenance; /* of a host */
};

/* A host has begun to enter maintenance mode: no machine runs there when it has ended, and none is moved away by that itself (vSphere API reference,
 * EnteringMaintenanceModeEvent, HostSystem.EnterMaintenanceMode_Task). */
struct vim_watch_maintenance {
    const char *host_moref;
    int key;       /* of vCenter's event: of two the later one has the greater key */
    int64_t at_ms; /* by vCenter's clock; 0: not told */
    bool is_old;   /* it happened before the watch began */
};

/* The functions that a watch calls. Each may be NULL; a negative return ends vim_watch_next with it, and the next call starts anew. They run in
 * the thread of vim_watch_next, without locks of ours. */
struct vim_watch_events {
    void *arg;
    /* All that was told is void; a full picture follows. Also before the very first one. */
    int (*restarted)(void *arg, struct err *err);
    int (*object)(void *arg, const struct vim_watch_object *object, struct err *err);
    /* The whole list of registered keys; `own` is the record with our key, NULL if there is none. Also told when only some
     * member of some record changed. Not told at all if we may not read the list. */
    int (*extensions)(void *arg, const struct vim_key_list *keys, const struct vim_extension *own, struct err *err);
    /* An event of vCenter says that permissions changed or an administrator ended a session: those of `user` ("VSPHERE.LOCAL\\alice", as vCenter writes
     * it). A NULL `user` means everybody: a group or role changed, or events may have been missed. Events before `restarted` are not told: after it,
     * assume changes for everybody, too. */
    int (*permissions)(void *arg, const char *user, struct err *err);
    /* Once for each, in the order of their keys; those that the newest page still has when the watch begins, too. Not told where we may read no events. */
    int (*maintenance)(void *arg, const struct vim_watch_maintenance *begun, struct err *err);
    /* The last answer of an update has been told: what was told since `restarted` is complete. */
    int (*settled)(void *arg, struct err *err);
};

/* Makes a watch; nothing is sent yet. `client` must outlive it. ERR_UNPROCESSABLE (max_wait_s over KAAS_VIM_WATCH_WAIT_S_MAX),
 * ERR_NOMEM. */
int vim_watch_new(struct vim_client *client, const struct vim_watch_options *options, struct vim_watch **out, struct err *err);

/* Waits for changes and tells them, up to `settled`; 0 also when the wait ended without any. First makes the session, collector and views
 * where they are missing. When vCenter has forgotten session, collector or version, everything is made anew, once, and `restarted` comes
 * first. After an error the next call starts anew; the caller waits a little before it. A server that answers at once, with or without
 * changes, is asked no more than a few times per second. One thread at a time.
 * Errors: vim.h; ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX objects; ERR_NOT_REGISTERED without a way to log in. A peer that
 * vanished is noticed within KAAS_VIM_WATCH_MARGIN_MS after the wait should have ended, mostly earlier. */
int vim_watch_next(struct vim_watch *watch, const struct vim_watch_events *events, struct err *err);

/* From another thread: ends a pending vim_watch_next at once, and every later one, with ERR_CANCELED. A login that it is just making
 * is the client's: vim_client_cancel ends that, too. */
void vim_watch_cancel(struct vim_watch *watch);

/* Frees; destroys collector and views at vCenter if our session lives and the last call got an answer, errors ignored. No
 * vim_watch_next may be running. NULL is allowed. */
void vim_watch_free(struct vim_watch *watch);
CLEANUP_DEFINE(struct vim_watch, vim_watch_free);

/* Reads once the clusters that our session may see, with the folders and datacenters above them: calls `restarted`, again if the session was
 * lost on the way, and `object` with VIM_WATCH_ENTER for each; both functions are needed. An object may be told twice.
 * ERR_TOO_LARGE over KAAS_VIM_OBJECTS_COUNT_MAX objects. */
int vim_read_clusters(struct vim_client *client, const struct vim_watch_events *events, struct err *err);
