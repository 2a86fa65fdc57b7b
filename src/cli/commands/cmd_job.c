/* kaasctl job, and commands that begin a job: shown line by line as they come. A job goes on in kaasd whatever becomes of this program, so its id is told first.
 * Layer 7 (cli). SPDX-License-Identifier: GPL-3.0-or-later */
#include "cleanup.h"
#include "cli_command.h"
#include "clock.h"
#include "str.h"

#include <inttypes.h>
#include <time.h>

#define JOB_WAIT_S 30
#define JOB_PAUSE_S 2
#define JOB_RENEW_MS (5LL * 60 * 1000) /* tokens live for a quarter of an hour */

static bool job_has_ended(const char *state) {
    return str_eq(state, "done") || str_eq(state, "failed") || str_eq(state, "canceled");
}

/* -- show --------------------------------------------------------------------------------------------------------------------------- */

int cmd_job_tell(struct cli *cli, json_t *job, struct err *err) {
    static const struct cli_column steps[] = {
        {"STEP", "title"},
        {"STATE", "state"},
        {"STARTED", "started_at", show_time},
        {"ENDED", "ended_at", show_time},
        {"REASON", "reason"},
        {"REMEDY", "remedy"},
        {NULL},
    };
    int rc = show_object(cli, job, cli->command->object, err);
    if (rc || cli->is_json)
        return rc;
    show_gap(cli);
    return show_list(cli, json_object_get(job, "steps"), steps, err);
}

/* -- watch -------------------------------------------------------------------------------------------------------------------------- */

struct job_watching {
    struct cli *cli;
    json_t *job; /* with the member `id` */
    int64_t after, renewed_ms;
    char state[11];
};

static void job_show_lines(struct job_watching *w, const json_t *answer) {
    const json_t *line;
    size_t i;
    json_array_foreach (json_object_get(answer, "items"), i, line) {
        const char *at = json_get_string(line, "at");
        w->after = json_get_int(line, "seq", w->after);
        if (w->cli->is_json)
            (void)show_json_line(w->cli, line, NULL);
        else
            show_line(w->cli, "%.8s  %s", at ? at + sizeof("2026-01-31T") - 1 : "", json_get_string(line, "text"));
    }
}

static int job_renew(struct job_watching *w, struct err *err) {
    struct cli *cli = w->cli;
    if (clock_mono_ms() - w->renewed_ms < JOB_RENEW_MS)
        return 0;
    w->renewed_ms = clock_mono_ms();
    return cli->login.kept ? cli_login_renew(&cli->login, err) : cli_client_renew(cli->client, err);
}

/* Lines behind the last one; kaasd holds the request until there is one. */
static int job_look(struct job_watching *w, struct err *err) {
    _cleanup_json_ json_t *answer = NULL;
    _cleanup_free_ char *call = str_format("GET /v2/jobs/{id}/lines?after=%" PRId64 "&wait=%d", w->after, JOB_WAIT_S);
    int rc = call ? job_renew(w, err) : err_set(err, ERR_NOMEM, "out of memory");
    rc = rc ? rc : cli_send(w->cli, call, w->job, NULL, &answer, err);
    if (rc)
        return rc;
    job_show_lines(w, answer);
    /* what ends a job is told with its last line: behind that nothing comes */
    if (!json_array_size(json_object_get(answer, "items")) || job_has_ended(json_get_string(answer, "state")))
        (void)snprintf(w->state, sizeof(w->state), "%s", json_get_string(answer, "state"));
    return cli_flush(w->cli, err);
}

/* A job that failed is an answer, and a failure for scripts. */
static int job_tell_end(struct job_watching *w, struct err *err) {
    _cleanup_json_ json_t *job = NULL;
    int rc = cli_send(w->cli, "GET /v2/jobs/{id}", w->job, NULL, &job, err);
    if (rc || str_eq(w->state, "done"))
        return rc;
    w->cli->status = CLI_FAILED;
    if (w->cli->is_json || !json_get_string(job, "reason"))
        return 0;
    show_gap(w->cli);
    show_line(w->cli, "%s", json_get_string(job, "reason"));
    if (json_get_string(job, "remedy"))
        show_line(w->cli, "remedy: %s", json_get_string(job, "remedy"));
    show_line(w->cli, "then:   kaasctl job retry %s", json_get_string(w->job, "id"));
    return 0;
}

static int job_follow(struct cli *cli, const char *id, struct err *err) {
    static const struct timespec pause = {.tv_sec = JOB_PAUSE_S};
    _cleanup_json_ json_t *job = json_pack("{ss}", "id", id);
    struct job_watching w = {.cli = cli, .job = job, .renewed_ms = clock_mono_ms()};
    struct err why = {0};
    bool is_known = false;
    int rc = 0;
    while (!job_has_ended(w.state)) {
        rc = job_look(&w, &why);
        if (rc && !(is_known && cmd_cluster_is_passing(rc) && !cli_client_is_out_of_time(cli->client)))
            return err_move(err, rc, &why);
        is_known = true;
        if (rc) {
            cli_note("kaasctl: %s; the job goes on, trying again", why.text);
            err_clear(&why);
            (void)nanosleep(&pause, NULL);
        }
    }
    return job_tell_end(&w, err);
}

int cmd_job_watch(struct cli *cli, struct err *err) {
    return job_follow(cli, cli_word(cli, 0), err);
}

/* Its options are this program's own: nothing is sent. */
int cmd_job_send_begin(struct cli *cli, json_t *body, json_t **answer, struct err *err) {
    (void)body;
    return cli_call(cli, NULL, answer, err);
}

/* The answer of a call that begins a job. */
int cmd_job_tell_begun(struct cli *cli, json_t *answer, struct err *err) {
    const char *id = json_get_string(answer, "job_id");
    if (cli->is_json)
        return show_json(cli, answer, err);
    show_line(cli, "job %s has begun; it goes on by itself, also without this command: kaasctl job watch %s", id, id);
    int rc = cli_flush(cli, err);
    return rc || opt_get(&cli->given, "no-wait") ? rc : job_follow(cli, id, err);
}
