/* The verdict on a cluster's health: from what was asked to the row that every replica reads. Layer 4 (kubernetes).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "kubernetes_private.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "inventory.h"
#include "json.h"
#include "snapshot.h"
#include "str.h"

#define MISSING_MAX 16U /* more lines than there are rules */
#define JUDGED_BYTES_MAX (64U * 1024U)

static enum kube_contact kube_judge_contact(const struct kube_remote *at, int64_t *since_ms) {
    const struct remote_status *outcome = &at->outcome;
    *since_ms = at->silent_since_ms ? at->silent_since_ms : at->refused_since_ms ? at->refused_since_ms : outcome->since_ms;
    if (!outcome->checked_at_ms)
        return KUBE_CONTACT_NEVER;
    if (str_eq(outcome->reason, KUBE_REASON_OTHER))
        return KUBE_CONTACT_OTHER;
    return at->silent_since_ms ? KUBE_CONTACT_SILENT : at->refused_since_ms ? KUBE_CONTACT_REFUSED : KUBE_CONTACT_ANSWERS;
}

/* The lines of a text, in place. */
static size_t judge_lines(char *text, const char *lines[MISSING_MAX]) {
    size_t count = 0;
    for (char *line; text && count < MISSING_MAX && (line = strsep(&text, "\n"));)
        lines[count++] = line;
    return count;
}

static void judge_put_json(const struct kube_verdict *verdict, json_t *list) {
    for (size_t i = 0; i < verdict->reasons_count; i++) {
        const struct kube_reason *reason = &verdict->reasons[i];
        json_t *object = json_object();
        json_put_string(object, "reason", reason->word);
        json_put_string(object, "severity", kube_severity_name(reason->severity));
        json_put_string(object, "text", reason->text);
        json_put_string(object, "remedy", reason->remedy);
        json_put_time(object, "since", reason->since_ms);
        json_add(list, object);
    }
}

static int judge_write(const struct kube_verdict *verdict, struct kube_status *out, struct err *err) {
    _cleanup_json_ json_t *list = json_array();
    _cleanup_strbuf_ struct strbuf text;
    struct kube_summary summary;
    strbuf_init(&text, JUDGED_BYTES_MAX);
    judge_put_json(verdict, list);
    int rc = json_write(list, &text, err);
    rc = rc ? rc : kube_health_sum_up(verdict, &summary, err);
    if (rc)
        return rc;
    kube_summary_done(&out->health);
    out->health = summary;
    free(out->health_json);
    out->health_json = strbuf_steal(&text);
    return 0;
}

/* What the API server has told of itself. */
static int judge_copy_answers(const struct kube_answers *answers, struct kube_status *out, struct err *err) {
    int rc = str_replace(&out->missing_rights, answers->missing, err);
    return rc || !answers->version ? rc : str_replace(&out->version, answers->version, err);
}

/* A node that was declared and is not in Kubernetes is missing. */
static void judge_take_declared(const struct kube_remote *at, struct kube_facts *facts) {
    _cleanup_(inventory_snapshot_unref) struct inventory_snapshot *snapshot = inventory_get(at->k->options.inventory);
    const struct inventory_cluster *entry = snapshot ? inventory_find_cluster(snapshot, at->remote.id) : NULL;
    facts->control_plane_desired = entry ? entry->stated.control_plane_desired : -1;
    facts->workers_desired = entry ? entry->stated.workers_desired : -1;
}

static void judge_keep(const struct kube_verdict *verdict, struct kube_lasting *out) {
    *out = (struct kube_lasting){.state = verdict->state, .since_ms = verdict->since_ms, .count = verdict->reasons_count};
    for (size_t i = 0; i < out->count; i++) {
        out->reasons[i].kind = verdict->reasons[i].kind;
        out->reasons[i].since_ms = verdict->reasons[i].since_ms;
    }
}

static struct kube_verdict judge_recall(const struct kube_lasting *last) {
    struct kube_verdict verdict = {.state = last->state, .since_ms = last->since_ms, .reasons_count = last->count};
    for (size_t i = 0; i < last->count; i++) {
        verdict.reasons[i].kind = last->reasons[i].kind;
        verdict.reasons[i].since_ms = last->reasons[i].since_ms;
    }
    return verdict;
}

int kube_judge(struct kube_remote *at, const struct kube_nodes *nodes, struct kube_status *out, struct err *err) {
    const struct kube_answers *answers = &at->answers;
    _cleanup_free_ char *missing = str_dup(answers->missing);
    const char *lines[MISSING_MAX];
    const struct kube_verdict before = judge_recall(&at->lasting);
    struct kube_verdict verdict;
    struct kube_facts facts = {.now_ms = clock_wall_ms(),
                               .contact_tries = at->bad_tries,
                               .contact_text = at->outcome.detail,
                               .readyz = answers->readyz,
                               .version = answers->version,
                               .has_nodes = nodes != NULL,
                               .nodes = nodes ? nodes->items : NULL,
                               .nodes_count = nodes ? nodes->count : 0,
                               .pods = answers->pods,
                               .pods_count = answers->pods_count,
                               .certificate = answers->certificate,
                               .token = {(2 * out->token_renew_at_ms - out->token_until_ms) / 1000,
                                         out->token_until_ms / 1000}, /* it is renewed at half */
                               .has_clock = answers->has_clock,
                               .clock_skew_s = answers->skew_ms / 1000,
                               .missing = lines,
                               .missing_count = judge_lines(missing, lines)};
    judge_take_declared(at, &facts);
    facts.contact = kube_judge_contact(at, &facts.contact_since_ms);
    kube_health_judge(&facts, &before, &verdict);
    judge_keep(&verdict, &at->lasting);
    int rc = judge_copy_answers(answers, out, err);
    return rc ? rc : judge_write(&verdict, out, err);
}

/* -- what another replica has judged ------------------------------------------------------------------------------------------------ */

static bool judge_find_kind(const char *word, enum kube_reason_kind *kind) {
    static const char *const words[] = {
#define KUBE_REASON(symbol, word, severity, remedy) [KUBE_REASON_##symbol] = word,
#include "kube_reasons.def"
#undef KUBE_REASON
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (str_eq(words[i], word)) {
            *kind = (enum kube_reason_kind)i;
            return true;
        }
    return false;
}

/* It has been tried often enough already: the first try of ours that ends in the same way is one more. */
static void judge_begin_contact(struct kube_remote *at) {
    at->silent_since_ms = at->refused_since_ms = 0;
    at->bad_tries = 0;
    for (size_t i = 0; i < at->lasting.count; i++) {
        if (at->lasting.reasons[i].kind == KUBE_REASON_NO_ANSWER)
            at->silent_since_ms = at->lasting.reasons[i].since_ms;
        else if (at->lasting.reasons[i].kind == KUBE_REASON_REFUSED)
            at->refused_since_ms = at->lasting.reasons[i].since_ms;
    }
    if (at->silent_since_ms || at->refused_since_ms)
        at->bad_tries = KUBE_PATIENCE_TRIES;
}

void kube_judge_begin(struct kube_remote *at) {
    const struct kube_status *status = &at->status;
    _cleanup_json_ json_t *list = NULL;
    json_t *item;
    size_t i;
    struct kube_lasting *last = &at->lasting;
    *last = (struct kube_lasting){.state = status->health.state, .since_ms = status->health.since_ms};
    if (status->health_json)
        (void)json_parse(status->health_json, strlen(status->health_json), &list, NULL);
    json_array_foreach (list, i, item) {
        const char *since = json_get_string(item, "since");
        if (last->count < KUBE_REASONS && judge_find_kind(json_get_string(item, "reason"), &last->reasons[last->count].kind) &&
            since && clock_parse(since, &last->reasons[last->count].since_ms))
            last->count++;
    }
    judge_begin_contact(at);
}
