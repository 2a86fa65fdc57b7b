/* Jobs: durable work with steps, as records. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "member.h"

#define JOB_STATE_BYTES 11 /* of the longest word, and NUL */
#define JOB_REASON_CHARS_MAX 600
#define JOB_REMEDY_CHARS_MAX 300
#define JOB_LINE_CHARS_MAX 600

enum job_state {
    JOB_QUEUED,  /* no replica has taken it yet */
    JOB_RUNNING, /* under way, also while all of its steps wait */
    JOB_UNDOING, /* was canceled: what was done is taken back, the last first */
    JOB_DONE,
    JOB_FAILED,  /* a step failed: it goes on from there by a retry, or is undone by a cancel */
    JOB_CANCELED /* what it had done was taken back */
};
extern const char *const job_state_words[];
/* Under way: a replica works on it, or will. */
bool job_state_is_active(enum job_state state);

/* Texts malloc'ed; NULL where there is none. Times are by the clock of the database. */
struct job {
    char *id;   /* UUID */
    char *kind; /* stable word, "cluster.disconnect" */
    char *title;
    char *object_kind, *object_id, *object_name; /* what it is about */
    char *params;                                /* JSON object; holds no secret */
    enum job_state state;
    char *reason, *remedy; /* why it failed, and what to do */
    char *created_by, *created_by_name, *request_id;
    int64_t created_at_ms, started_at_ms, ended_at_ms;
    bool is_cancel_asked;
    char *owner;        /* replica that works on it; NULL: none has yet */
    int64_t generation; /* rises with each replica that takes it */
};
static const struct member job_members[] = {
    MEMBER(job, id, .flags = MEMBER_KEY),
    MEMBER(job, kind),
    MEMBER(job, title),
    MEMBER(job, object_kind, .flags = MEMBER_OPTIONAL),
    MEMBER(job, object_id, .flags = MEMBER_OPTIONAL),
    MEMBER(job, object_name, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(job, params, "params", NULL),
    MEMBER(job, state, .words = job_state_words, .flags = MEMBER_STRICT),
    MEMBER(job, reason, .flags = MEMBER_OPTIONAL),
    MEMBER(job, remedy, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(job, created_by, "created_by", NULL),
    MEMBER_AS(job, created_by_name, "created_by_name", "created_by", .flags = MEMBER_OPTIONAL),
    MEMBER(job, request_id, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(job, created_at_ms, "created_at_ms", "created_at"),
    MEMBER_AS(job, started_at_ms, "started_at_ms", "started_at"),
    MEMBER_AS(job, ended_at_ms, "ended_at_ms", "ended_at"),
    MEMBER_AS(job, is_cancel_asked, "is_cancel_asked", "cancel_asked"),
    MEMBER(job, owner, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(job, generation, "generation", NULL),
    MEMBERS_END,
};
void job_done(struct job *job); /* NULL is allowed */
void job_free(struct job *job); /* NULL is allowed */
CLEANUP_DEFINE(struct job, job_free);

enum job_step_state {
    JOB_STEP_PENDING,
    JOB_STEP_RUNNING,
    JOB_STEP_WAITING, /* for what its reason says */
    JOB_STEP_DONE,
    JOB_STEP_FAILED,
    JOB_STEP_UNDONE
};
extern const char *const job_step_state_words[];

/* One step. Texts malloc'ed; NULL where there is none. */
struct job_step {
    unsigned no;
    char *name;   /* of its row in the table of the kind */
    char *item;   /* what it works on, of a step that there is once for each of several things */
    char *title;  /* for people */
    int after_no; /* the step that must be done before; -1: none */
    enum job_step_state state;
    int64_t started_at_ms, ended_at_ms;
    unsigned tries;
    int percent;           /* -1: not known */
    char *reason, *remedy; /* what it waits for, or why it failed */
    char *data;            /* JSON object: what was decided, by which the work is found again; NULL: nothing yet */
};
static const struct member job_step_members[] = {
    MEMBER_AS(job_step, no, "no", "number"),
    MEMBER(job_step, name),
    MEMBER(job_step, item, .flags = MEMBER_OPTIONAL),
    MEMBER(job_step, title),
    MEMBER_AS(job_step, after_no, "after_no", NULL),
    MEMBER(job_step, state, .words = job_step_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(job_step, started_at_ms, "started_at_ms", "started_at"),
    MEMBER_AS(job_step, ended_at_ms, "ended_at_ms", "ended_at"),
    MEMBER(job_step, tries),
    MEMBER_AS(job_step, percent, "percent", NULL),
    MEMBER(job_step, reason, .flags = MEMBER_OPTIONAL | MEMBER_CUT, .max = JOB_REASON_CHARS_MAX),
    MEMBER(job_step, remedy, .flags = MEMBER_OPTIONAL | MEMBER_CUT, .max = JOB_REMEDY_CHARS_MAX),
    MEMBER_AS(job_step, data, "data", NULL),
    MEMBERS_END,
};
void job_step_done(struct job_step *step); /* NULL is allowed */

struct job_list {
    struct job *items; /* newest first */
    size_t count;
};
void job_list_done(struct job_list *list); /* NULL is allowed */
struct job_step_list {
    struct job_step *items; /* by number, from 0 without gaps */
    size_t count;
};
void job_step_list_done(struct job_step_list *list); /* NULL is allowed */

/* What a job told. */
struct job_line {
    unsigned seq; /* from 1 */
    int64_t at_ms;
    int step_no; /* -1: of the job as a whole */
    char *text;
};
static const struct member job_line_members[] = {
    MEMBER(job_line, seq),
    MEMBER_AS(job_line, at_ms, "at_ms", "at"),
    MEMBER_AS(job_line, step_no, "step_no", NULL),
    MEMBER(job_line, text),
    MEMBERS_END,
};
struct job_line_list {
    struct job_line *items; /* by number */
    size_t count;
};
void job_line_list_done(struct job_line_list *list); /* NULL is allowed */
