/* What the files of this folder share. Layer 4 (kubernetes), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit.h"
#include "http_stream.h"
#include "json.h"
#include "k8s.h"
#include "k8s_watch.h"
#include "kube_health.h"
#include "kube_mirror.h"
#include "kube_store.h"
#include "kubernetes.h"
#include "lease_store.h"
#include "remotes.h"
#include "secret.h"
#include "worker_pool.h"

#define KUBE_LEASE_PREFIX "kube:" /* and the id of the cluster */
#define KUBE_LEASE_MS 10000   /* another replica takes over so long after the holder has died, and looks every three seconds */
#define KUBE_ACCOUNT_BYTES 16 /* "kaas-", 8 hex digits, NUL */

struct kubernetes {
    struct kubernetes_options options;
    struct worker_pool *workers;
    struct http_streams *streams;
    struct remotes *remotes;
    struct remote_work work[REMOTE_WORK_MAX];
    atomic_llong follow_at_ms; /* monotonic clock: when the database is read again */
    unsigned tick_no;          /* of the tick only */

    pthread_mutex_t lock;             /* guards what is below */
    char account[KUBE_ACCOUNT_BYTES]; /* of this installation in every cluster; "": not known yet */
    bool is_stopping;
    struct connecting *connecting; /* what connects, looks or leaves just now */
};

/* -- account.c: what kaasd makes in a cluster, and what it may do there ---------------------------------------------------------- */

/* The name of our account, the same in every cluster. Errors of the store. */
int kube_account_name(struct kubernetes *k, char out[KUBE_ACCOUNT_BYTES], struct err *err);

/* Which of the objects were made just now, a bit each. */
struct kube_made {
    unsigned bits; /* made for sure */
    unsigned
        touched; /* these, those that were there and were brought into form, and those of which the answer was lost; never the namespace, which others may use */
};
#define KUBE_ADMIN_REMEDY "give the kubeconfig of an administrator of the cluster (cluster-admin); it is used once and not kept"
/* Whether the credential is taken at all. Errors of k8s_call. */
int kube_account_check_sign_in(struct k8s_client *client, struct err *err);
/* Asks whether this credential may make our objects. ERR_UPSTREAM_DENIED names what it lacks; errors of k8s_call. */
int kube_account_check_maker(struct k8s_client *client, struct err *err);
/* Makes our objects, or brings them into the form that they are to have. On an error `made` tells what is to be taken back. Errors of k8s_call. */
int kube_account_make(struct k8s_client *client, const char *account, struct kube_made *made, struct err *err);
/* Takes back what was made, `objects` in bits as in kube_made; what cannot be is appended as a finding. */
void kube_account_undo(struct k8s_client *client, const char *account, unsigned objects, struct findings *steps);
/* A new token of our account. *token is freed by secret_free; *until_ms is its end by the server's word, told by our clock (wall clock), however wrong either is. Errors of k8s_call; ERR_PROTOCOL. */
int kube_account_get_token(struct k8s_client *client, const char *account, char **token, int64_t *until_ms, struct err *err);
/* The rules that our role has lost, "nodes: list, watch" a line each, with the feature that goes with each. *missing is malloc'ed, NULL: none. Errors of k8s_call. */
int kube_account_list_missing(struct k8s_client *client, const char *account, char **missing, struct err *err);
/* Deletes our binding, with which Kubernetes removes all else. The credential is that of our account. Errors of k8s_call. */
int kube_account_remove(struct k8s_client *client, const char *account, struct err *err);
/* Appends a finding for each of our objects: that it will be removed, that it is, or, with a code in `why`, that it stays and why. */
void kube_account_tell_removal(const char *account, enum kube_leave how, const struct err *why, struct findings *steps);

/* -- ask.c: single questions to an API server ------------------------------------------------------------------------------------ */

/* The version of the server, "1.36.3", malloc'ed. Errors of k8s_call; ERR_PROTOCOL. */
int kube_ask_version(struct k8s_client *client, char **version, struct err *err);
/* The uid of the namespace kube-system, which is the identity of the cluster, malloc'ed. Errors of k8s_call; ERR_PROTOCOL. */
int kube_ask_identity(struct k8s_client *client, char **uid, struct err *err);
/* Sends a JSON body and reads a JSON answer, which the caller json_decref's. `type`: media type of the body. *is_created (may be NULL) tells a status of 201, *date_ms (may be
 * NULL) is as in struct k8s_call. Errors of k8s_call; ERR_PROTOCOL. */
struct kube_question {
    const char *method, *path, *type;
    json_t *body; /* taken over; NULL: none */
    bool *is_created;
    int64_t *date_ms;
};
int kube_ask(struct k8s_client *client, const struct kube_question *question, json_t **answer, struct err *err);

/* -- probe.c and judge.c ---------------------------------------------------------------------------------------------------------- */

/* What the API server has answered, beside its nodes. */
struct kube_answers {
    struct kube_readyz readyz; /* as it was told last */
    bool is_readiness_told;    /* when it was asked last */
    char *version;             /* "1.36.3"; NULL: not known yet */
    char *missing;             /* rights that we lack, a line each; NULL: none */
    bool has_clock;
    int64_t skew_ms;              /* its clock less ours, as of the last answer */
    struct kube_term certificate; /* of the server */
    struct kube_pod *pods;        /* of its control plane */
    size_t pods_count;
    unsigned pods_ill;                                       /* how often in a row some of them were not ready */
    int64_t identity_ms, rights_ms, pods_ms, certificate_ms; /* monotonic clock: when each is asked next; 0: now */
};
void kube_answers_done(struct kube_answers *answers); /* leaves one in which nothing is known */

/* What of a verdict the next one needs: a verdict is 10 KB. */
struct kube_lasting {
    enum cluster_state state;
    int64_t since_ms; /* wall clock, as those of the reasons */
    struct {
        enum kube_reason_kind kind;
        int64_t since_ms;
    } reasons[KUBE_REASONS];
    size_t count;
};

/* How often a connection was connected anew from its cluster's CA, or that was tried. */
struct kube_heals {
    unsigned count;  /* in a row */
    int64_t last_ms; /* monotonic clock */
};

struct kube_remote;
/* Asks what is due: readiness each time, the rest more rarely. 0 also where the readiness checks fail. Errors of k8s_call; ERR_CONFLICT: this is another cluster. */
int kube_probe(struct kube_remote *at, struct err *err);
/* After a 403: which right that was is asked at the next probe, not only when it is due. */
void kube_probe_note_denied(struct kube_remote *at);
/* At the beginning of a lease: takes over since when what is the way it is, from the replica before, and that the server has been silent, or has refused us. */
void kube_judge_begin(struct kube_remote *at);
#define KUBE_REASON_OTHER "other_cluster" /* of the connection's state */
/* Puts the verdict on all that is known into `out`; `nodes` NULL: they are not known. ERR_NOMEM. */
int kube_judge(struct kube_remote *at, const struct kube_nodes *nodes, struct kube_status *out, struct err *err);

/* -- kube_remote.c: one connection as a remote ----------------------------------------------------------------------------------- */

struct kube_remote {
    struct remote remote; /* first; its lock guards what is below, but for what is the job's own */
    struct kubernetes *k;
    struct kube_connection connection; /* as it was read; another version of it is another remote */
    struct kube_status status;         /* as it was read or written last */
    unsigned tick_no;                  /* the last one that found the connection */
    struct k8s_client *client;         /* of our account; NULL: none yet */
    bool is_holder;                    /* this replica holds the lease */
    struct lease_fence fence;          /* of that */
    struct kube_heals heals;

    pthread_mutex_t
        watching; /* guards the next two; the watch is started by the job, and stopped by it or by whoever ends the remote */
    struct k8s_watch *watch; /* NULL: none was needed yet */
    bool is_watching;        /* it was started; the mirror tells whether it has ended since, of which the job takes notice */

    /* the job's own: one job at a time runs for a remote */
    char *token;                           /* wiped */
    unsigned token_no, watch_token_no;     /* which token that is, and with which the watch was begun */
    int64_t watch_began_ms, watch_next_ms; /* monotonic clock: when the watch was begun; before which it is not begun again */
    unsigned watch_failures;               /* watches in a row that ended soon after they had begun, */
    struct err watch_why;                  /* the last one for this */
    struct remote_status outcome;          /* of the last contact */
    int64_t held_since_ms;                 /* monotonic clock: since when we have the lease */
    int64_t silent_since_ms;               /* wall clock: since when it does not answer; 0: it does */
    int64_t refused_since_ms;              /* wall clock: since when it refuses our token; 0: it does not */
    unsigned bad_tries;                    /* in a row that ended like the last one */
    struct err heal_why;                   /* connecting anew from the cluster's CA failed for this; code 0: it did not */
    struct kube_answers answers;
    struct kube_lasting lasting; /* of the last verdict */
    struct kube_mirror mirror;   /* has a lock of its own */
    uint64_t saved_version;      /* of the mirror, as it was saved last; 0: not yet */
    int64_t nodes_saved_ms;      /* monotonic clock */
};

extern const struct remote_kind kube_remote_kind;
/* The remote whose first member this is. */
struct kube_remote *kube_remote_of(struct remote *remote);
/* Makes a remote of what was read; both are taken over (set to zero). ERR_NOMEM. */
int kube_remote_new(struct kubernetes *k, struct kube_connection *connection, struct kube_status *status,
                    struct kube_remote **out, struct err *err);
/* A remote_work_fn: judges what is known and writes down what differs. */
int kube_remote_save(struct remote *remote, struct err *err);
#define KUBE_WORK_SAVE 1U

/* -- kube_token.c ------------------------------------------------------------------------------------------------------------------ */

/* Seals a token of this connection. out->bytes is freed by the caller. */
int kube_seal_token(struct kubernetes *k, const char *cluster_id, const char *token, struct secret_value *out, struct err *err);
/* The stored token; *token is freed by secret_free. ERR_UNAUTHENTICATED: none is stored, since the master key that sealed it was forgotten; errors of the store and of seal_unseal. */
int kube_load_token(struct kubernetes *k, const char *cluster_id, char **token, struct err *err);
/* When a token of this life is renewed: at half of it. */
int64_t kube_renew_at_ms(int64_t now_ms, int64_t until_ms);

/* -- heal.c ------------------------------------------------------------------------------------------------------------------------ */

/* After our token was refused. True: the cluster, which kaasd has made, is connected anew from its CA, so that this remote gives way to another. False: it was not made, it is
 * too early, or that failed: then *why says so. Blocks as kubernetes_connect. */
bool kube_heal(struct kube_remote *at, struct err *why);
/* What the next remote of this connection goes on with. */
struct kube_heals kube_get_heals(struct kube_remote *at);

/* -- connect.c ------------------------------------------------------------------------------------------------------------------- */

/* Ends the calls of all that connects, looks or leaves; whatever begins from now on ends at once. */
void kube_connect_stop(struct kubernetes *k);

/* After a connection was written or removed: the list shows it at once, and the next tick sees it. */
static inline void kubernetes_wake(struct kubernetes *k) {
    atomic_store(&k->follow_at_ms, 0);
    runtime_note_written(k->options.runtime);
}

/* -- kube_client.c ---------------------------------------------------------------------------------------------------------------- */

/* Where an API server is, and how it is trusted, for a client of it; borrows from the connection. `pin` outlives its use. */
struct k8s_endpoint kube_endpoint(const struct kubernetes *k, const struct kube_connection *connection, uint8_t pin[32]);
/* A client that has no connection yet takes the place of the one before: the next question goes by a connection of its own, as the watch's next transfer does. Of the job only.
 * ERR_CONFIG, ERR_NOMEM: the one before stays. */
int kube_use_new_client(struct kube_remote *at, const char *token, struct err *err);
