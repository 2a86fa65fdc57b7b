/* Jobs: words and memory. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "job.h"

#include <stdlib.h>

const char *const job_state_words[] = {[JOB_QUEUED] = "queued",
                                       [JOB_RUNNING] = "running",
                                       [JOB_UNDOING] = "undoing",
                                       [JOB_DONE] = "done",
                                       [JOB_FAILED] = "failed",
                                       [JOB_CANCELED] = "canceled",
                                       NULL};
const char *const job_step_state_words[] = {[JOB_STEP_PENDING] = "pending",
                                            [JOB_STEP_RUNNING] = "running",
                                            [JOB_STEP_WAITING] = "waiting",
                                            [JOB_STEP_DONE] = "done",
                                            [JOB_STEP_FAILED] = "failed",
                                            [JOB_STEP_UNDONE] = "undone",
                                            NULL};

bool job_state_is_active(enum job_state state) {
    return state == JOB_QUEUED || state == JOB_RUNNING || state == JOB_UNDOING;
}

void job_done(struct job *job) {
    members_done(job_members, job, sizeof(*job));
}

void job_free(struct job *job) {
    job_done(job);
    free(job);
}

void job_step_done(struct job_step *step) {
    members_done(job_step_members, step, sizeof(*step));
}

void job_list_done(struct job_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        job_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct job_list){0};
}

void job_step_list_done(struct job_step_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        job_step_done(&list->items[i]);
    if (list)
        free(list->items);
    if (list)
        *list = (struct job_step_list){0};
}

void job_line_list_done(struct job_line_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        free(list->items[i].text);
    if (list)
        free(list->items);
    if (list)
        *list = (struct job_line_list){0};
}
