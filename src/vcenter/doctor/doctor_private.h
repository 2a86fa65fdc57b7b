/* What the steps of the doctor share. Layer 4 (vcenter); private to the doctor*.c files.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "doctor.h"
#include "http_client.h"
#include "link.h"
#include "link_login.h"
#include "net_addr.h"
#include "platform_links.h"
#include "vim.h"
#include "vim_extension.h"
#include "vim_session.h"
#include "x509.h"

/* One examination. */
struct doctor_visit {
    struct platform *platform;
    const struct link_env *env;
    struct link *link;
    struct doctor_report *report;
    const struct vcenter *vc;                  /* in the report */
    int64_t deadline_ms;                       /* monotonic clock */
    enum finding_status outcome[DOCTOR_STEPS]; /* worst finding of each step; FINDING_SKIPPED before it ran */
    struct net_addresses addresses;            /* after DOCTOR_NAME */
    const char *address;                       /* after DOCTOR_PORT: the one that answers, in `addresses` */
    struct x509_info seen;                     /* after DOCTOR_TLS: certificate of the SDK port */
    struct vim_client *client;                 /* the doctor's own client, with short time limits */
    struct vim_about about;                    /* after DOCTOR_API */
    const char *ref; /* how people type this vCenter in a command: its name, or its id if that would need quotes */
    struct login_material material;
    struct err material_err;     /* why `material` could not be read */
    struct vim_user_session own; /* after DOCTOR_LOGIN */
    struct login_used used;
    struct vim_extension *found; /* after DOCTOR_RECORD */
};

/* Runs one step: fills in status, text and remedy of its finding `f`. */
typedef void doctor_step_fn(struct doctor_visit *v, struct finding *f);

/* doctor_net.c: without any login */
doctor_step_fn doctor_look_name, doctor_look_port, doctor_look_tls, doctor_look_tunnel, doctor_look_direct, doctor_look_address;
/* doctor_vcenter.c: steps that talk to the vCenter, and what kaasd keeps there and knows of it */
doctor_step_fn doctor_look_api, doctor_look_ways, doctor_look_login, doctor_look_clock, doctor_look_privileges;
doctor_step_fn doctor_look_record, doctor_look_manifest, doctor_look_sessions, doctor_look_watch;
/* doctor_replicas.c: where in the vCenter the replicas run */
doctor_step_fn doctor_look_replicas;

/* Fetches the list of API versions, which needs no login, with this trust. *date_ms gets the time in the answer's Date header and stays as it is if there is
 * none; NULL: not wanted. The status of the answer is not looked at. Errors of http_client.h. */
int doctor_get_versions(const struct doctor_visit *v, const struct http_trust *trust, int64_t *date_ms, struct err *err);

/* The title of this step: that of its first finding, else its default title. Borrowed. */
const char *doctor_title(const struct doctor_visit *v, enum doctor_step step);

/* Time in ms that a call may take: `most_ms`, or what is left until the deadline if that is less; at least 1. */
long doctor_time_left_ms(const struct doctor_visit *v, long most_ms);

struct replica;
/* True if the replica wrote its last heartbeat less than a minute ago. */
bool doctor_is_alive(const struct replica *replica);

#define DOCTOR_TIME_BYTES 24
/* Writes "2026-01-31 12:00:00 UTC" to `out` and returns it. */
const char *doctor_time(int64_t wall_ms, char out[DOCTOR_TIME_BYTES]);

/* Judges the end of a certificate's validity and writes it as text to `words`: ok, warning within 30 days, failed after the end. */
enum finding_status doctor_judge_expiry(int64_t not_after_ms, char *words, size_t words_bytes);
