/* One call of the interface: who asks, with which rights, over which data. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "access.h"
#include "api_options.h"
#include "bounds.h"
#include "clusters.h"
#include "http_request.h"
#include "http_response.h"
#include "json.h"
#include "link.h"
#include "member_json.h"
#include "policy.h"
#include "signon.h"
#include "snapshot.h"

struct api_endpoint;
struct cluster_watch;
struct list_memo;
struct machine_usage;
struct pages;
struct plugin_manifest;

/* The `app` of a server's requests. */
struct api_entrance {
    struct api *api;
    enum api_door door;
};

struct api {
    struct api_options options;
    struct api_entrance entrances[API_DOOR_COUNT];
    struct http_shared *openapi;
    char openapi_etag[24];
    struct pages *pages;
    struct plugin_manifest *manifest;
    struct cluster_watch *list_watch;
    _Atomic int bulks; /* number of large bodies in memory */
    struct list_memo *list_memo;
    struct bounds *bounds; /* NULL: none */
    struct machine_usage *machine_usage;
};

struct api_call;
/* A handler of one endpoint, or a part of it; returns as http_handler_fn. */
typedef int api_handler_fn(struct api_call *call, struct http_response *resp, struct err *err);

/* Data that lives as long as the call, with the function that frees it; all-zero: none. */
struct api_part {
    void *data;
    void (*free)(void *data);
};

/* Lives as long as the request, in its data slot. */
struct api_call {
    struct api *api;
    enum api_door door;
    struct http_request *req;
    const struct api_endpoint *endpoint;
    api_handler_fn *next;                /* continues the call in the worker pool */
    struct signon_bearer bearer;         /* empty on the admin socket and on public endpoints */
    struct principal self;               /* the session's principal with its role now; texts belong to the session */
    const struct principal *who;         /* the caller; NULL on public endpoints, and with the token of metrics.token_file */
    char *host_user;                     /* the name of self on the admin socket */
    struct signon_wait *wait;            /* wait for an answer about rights; NULL: none was needed */
    uint16_t rights_given_up;            /* bit i: waiting for part i gave no answer */
    bool is_bulk;                        /* counted in api->bulks */
    uint64_t list_mark;                  /* cluster_watch_mark from before the call read anything */
    struct inventory_snapshot *snapshot; /* NULL before the first load */
    struct link *link;                   /* of endpoints of one vCenter, and of sign-on by one */
    json_t *body;                        /* parsed request body; NULL before; its texts are wiped at the end */
    json_t *problem;                     /* extra members of a problem answer; NULL: none */
    char
        *negotiate; /* of WWW-Authenticate: Negotiate: a token, sent with any status, or "", sent with a 401; NULL: not offered */
    struct api_part feature; /* data of sign-on, of a watched list, of a question about machines */
    struct api_part later;   /* an answer that is compressed in a worker */
    struct viewer_key viewer;
    struct grant_picks *picks;    /* picked grants of `viewer`; NULL: none are needed */
    struct session_rights rights; /* `rights` and `linked` are not zeroed: valid are rights.count and viewer.linked_count items */
    struct viewer_vcenter linked[SESSION_VCENTERS_MAX]; /* vCenters of `viewer` */
};

/* Where a handler runs. */
enum api_pool {
    API_FAST, /* in the server thread, memory only */
    API_DATABASE,
    API_HASHING,
    API_OUTSIDE,
    API_VCENTER, /* worker pool of the vCenter {id}; call->link is set */
};

enum api_flag {
    API_PUBLIC = 1,        /* nobody needs to be signed in */
    API_SIGNON = 2,        /* needs the X-KaaS header */
    API_RIGHTS = 4,        /* the answer depends on the viewer's rights at a vCenter */
    API_ALWAYS = 8,        /* answers also while the replica is not ready */
    API_STATIC = 16,       /* files of the page: other headers */
    API_BULK = 128,        /* a large body: the caller is checked before it is read, and only a few are read at once */
    API_PLUGIN = 32,       /* the page inside the vSphere Client: may be framed by vCenter's origin */
    API_PASSWORD_DUE = 64, /* open to a session that must change its password, too */
    API_SCRAPED = 256,     /* open to the token of metrics.token_file, too */
    API_COOKIE = 1024,     /* takes the refresh cookie, with X-KaaS and without a token: `who` is NULL then */
    API_MANAGING = 512,    /* only for callers who may manage grants on some object; checked before query and body */
};

struct api_endpoint {
    api_handler_fn *handler;
    enum api_pool workers;
    enum bound bound;
    enum permission permission; /* unless API_PUBLIC */
    unsigned flags;
    const char *const *query; /* names of the allowed parameters; NULL: the handler checks them */
    const char
        *body_type; /* media type of a JSON body that is read before the handler runs; NULL: no body, or the handler reads it */
    const struct member_body *body; /* its members; NULL: the handler checks them */
};

/* The data slot of the request, in its own memory; made on first use. */
struct api_call *api_call_of(struct http_request *req);

/* Sets a part of a call; what was there is freed. */
void api_set_part(struct api_part *part, void *data, void (*free)(void *data));

/* Counts one more request of this bound, by person or program, and by address; not on the admin socket, whose users may stop the service. For work that a
 * handler does only sometimes; the bound of its row is counted before it runs. ERR_TOO_MANY with retry_after_s, ERR_NOMEM. */
int api_admit(const struct api_call *call, enum bound bound, struct err *err);

/* Continues a call in a worker pool: runs `fn` there. Returns what http_request_go_slow returns. */
int api_run_in(struct api_call *call, struct worker_pool *workers, api_handler_fn *fn);
/* As api_run_in, for handlers that choose their worker pool themselves. ERR_INTERNAL if the row of the endpoint has no bound. */
int api_go_slow(struct api_call *call, struct worker_pool *workers, api_handler_fn *fn, struct err *err);

/* Gives snapshot and rights back. Call it before a wait of any length. */
void api_let_go(struct api_call *call);
/* api_let_go, and forgets the caller, as if authn_check had not run yet. */
void api_forget(struct api_call *call);
/* Starts the request again after a wait, as if it had just come: session, rights, snapshot, handler. An http_handler_fn. */
int api_look_again(struct http_request *req, struct http_response *resp, struct err *err);

/* Parses the body as JSON into call->body, unless that is done, and checks its members (NULL: the handler does); Content-Type must be `type`. ERR_MEDIA_TYPE,
 * ERR_JSON; ERR_UNPROCESSABLE names the member that is wrong. */
int api_read_members(struct api_call *call, const char *type, const struct member_body *body, struct err *err);

/* The caller as the modules below want it. Borrowed from the call. */
struct actor api_actor(const struct api_call *call);
/* The same as a pointer, until the end of the block. */
#define API_ACTOR(call) ((const struct actor[]){api_actor(call)})

/* Replaces call->snapshot by the newest one, which has what was just written. */
void api_renew_snapshot(struct api_call *call);

/* Sets call->link from a vCenter's instance UUID, instead of another one that was set. ERR_NOT_FOUND. */
int api_use_link(struct api_call *call, const char *vcenter_id, struct err *err);

/* -- all handlers, made from the route table ----------------------------------------------------------------------- */

/* The query of a row: the names of its parameters (QUERY), none (NO_QUERY), or checked by the handler (ANY_QUERY). */
#define QUERY(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PAGE "limit", "cursor"
#define NO_QUERY ((const char *const[]){NULL})
#define ANY_QUERY NULL

/* The body of a row. JSON: an object, PATCH: a merge patch (RFC 7396) that changes something; the members of both are HANDLER_body, beside the handler.
 * ANY_JSON: the handler checks the members; OWN_BODY: the handler reads the body itself. */
#define API_BODY_NO_BODY(handler) NULL, NULL
#define API_BODY_OWN_BODY(handler) NULL, NULL
#define API_BODY_ANY_JSON(handler) "application/json", NULL
#define API_BODY_JSON(handler) "application/json", &handler##_body
#define API_BODY_PATCH(handler) "application/merge-patch+json", &handler##_body
#define API_BODY_OF_NO_BODY(handler)
#define API_BODY_OF_OWN_BODY(handler)
#define API_BODY_OF_ANY_JSON(handler)
#define API_BODY_OF_JSON(handler) extern const struct member_body handler##_body;
#define API_BODY_OF_PATCH(handler) extern const struct member_body handler##_body;

/* Checks query and body by the row of the endpoint, and runs its handler; call it in the handler's worker pool. ERR_INVALID, ERR_FORBIDDEN, errors of
 * api_read_members. */
int api_handle(struct api_call *call, struct http_response *resp, struct err *err);

/* One prototype per row of routes.def; each handler answers as docs/openapi.yaml says and returns as http_handler_fn. */
#define ROUTE(method, pattern, handler, workers, bound, permission, flags, options, bytes, query, body) \
    API_BODY_OF_##body(handler) int handler(struct api_call *call, struct http_response *resp, struct err *err);
#include "routes.def"
#undef ROUTE
