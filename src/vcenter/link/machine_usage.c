/* What virtual machines use now, for all who look. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "machine_usage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "digest.h"
#include "limits.h"
#include "link.h"
#include "log.h"
#include "str.h"
#include "strbuf.h"

#define ANSWERS_KEPT 256U
#define KEEP_MS 10000 /* vCenter has new numbers every 20 s (VirtualMachineQuickStats) */
#define KEY_TEXT_BYTES_MAX (KAAS_NODES_PER_CLUSTER_MAX * 128U)

_Static_assert(SINGLEFLIGHT_KEY_BYTES == DIGEST_SHA256_BYTES, "the key of a question is a SHA-256");

struct answer {
    atomic_uint references;
    struct vim_machine_list found;
};

struct kept_answer {
    uint8_t key[SINGLEFLIGHT_KEY_BYTES];
    int64_t until_ms; /* monotonic; 0: free */
    struct answer *answer;
    int code; /* 0 with an answer */
    struct err err;
};

struct machine_usage {
    struct singleflight *questions;
    pthread_mutex_t lock; /* guards kept */
    struct kept_answer kept[ANSWERS_KEPT];
};

/* Under way, with copies of what was given. */
struct usage_question {
    struct machine_usage *usage;
    struct singleflight_call *lead;
    struct link *link;
    uint8_t key[SINGLEFLIGHT_KEY_BYTES];
    char **morefs;
    size_t count;
    char *request_id;
};

/* -- answers --------------------------------------------------------------------------------------------------------- */

static void *answer_ref(void *p) {
    struct answer *answer = p;
    (void)atomic_fetch_add(&answer->references, 1);
    return answer;
}

static void answer_unref(void *p) {
    struct answer *answer = p;
    if (!answer || atomic_fetch_sub(&answer->references, 1) != 1)
        return;
    vim_machine_list_done(&answer->found);
    free(answer);
}

static struct kept_answer *place_of(struct machine_usage *usage, const uint8_t *key) {
    return &usage->kept[key[0] % ANSWERS_KEPT];
}

static void keep(struct machine_usage *usage, const uint8_t *key, int code, struct answer *answer, const struct err *why) {
    struct kept_answer *place = place_of(usage, key);
    LOCKED(&usage->lock);
    answer_unref(place->answer);
    *place = (struct kept_answer){.until_ms = clock_mono_ms() + KEEP_MS, .code = code, .err = *why};
    memcpy(place->key, key, sizeof(place->key));
    place->answer = answer ? answer_ref(answer) : NULL;
}

static bool find_kept(struct machine_usage *usage, const uint8_t *key, struct singleflight_waiter *waiter) {
    const struct kept_answer *place = place_of(usage, key);
    LOCKED(&usage->lock);
    if (place->until_ms <= clock_mono_ms() || memcmp(place->key, key, sizeof(place->key)) != 0)
        return false;
    waiter->code = place->code;
    waiter->err = place->err;
    waiter->result = place->answer ? answer_ref(place->answer) : NULL;
    return true;
}

/* -- questions --------------------------------------------------------------------------------------------------------- */

static void question_free(struct usage_question *q) {
    for (size_t i = 0; q->morefs && i < q->count; i++)
        free(q->morefs[i]);
    free(q->morefs);
    free(q->request_id);
    link_unref(q->link);
    free(q);
}

static int question_new(struct machine_usage *usage, const struct machine_question *asked, struct usage_question **out,
                        struct err *err) {
    struct usage_question *q = calloc(1, sizeof(*q));
    if (!q)
        return err_set(err, ERR_NOMEM, "out of memory");
    *q = (struct usage_question){.usage = usage, .link = link_ref(asked->link), .request_id = str_dup(asked->request_id)};
    q->morefs = calloc(asked->count + 1, sizeof(*q->morefs));
    bool is_complete = q->morefs && q->request_id;
    for (; is_complete && q->count < asked->count; q->count++)
        is_complete = (q->morefs[q->count] = str_dup(asked->morefs[q->count])) != NULL;
    if (is_complete) {
        *out = q;
        return 0;
    }
    question_free(q);
    return err_set(err, ERR_NOMEM, "out of memory");
}

/* The link is told nothing of the outcome: what somebody looks at must not change what health says of the vCenter, and the link finds out by itself. */
static int question_ask(const struct usage_question *q, struct answer **out, struct err *err) {
    struct answer *answer = calloc(1, sizeof(*answer));
    int rc = answer ? vim_list_machines(link_client(q->link), (const char *const *)q->morefs, q->count, &answer->found, err)
                    : err_set(err, ERR_NOMEM, "out of memory");
    if (rc) {
        free(answer);
        return rc;
    }
    atomic_init(&answer->references, 1);
    *out = answer;
    return 0;
}

static void question_run(void *arg, bool is_canceled) {
    struct usage_question *q = arg;
    struct machine_usage *usage = q->usage;
    struct singleflight_call *lead = q->lead;
    struct answer *answer = NULL;
    struct err why = {0};
    int rc;
    if (is_canceled) {
        rc = err_set(&why, ERR_CANCELED, "the question was given up");
    } else {
        log_set_request_id(q->request_id);
        rc = question_ask(q, &answer, &why);
        log_set_request_id(NULL);
        keep(usage, q->key, rc, answer, &why);
    }
    question_free(q);
    singleflight_complete(usage->questions, lead, rc, answer, &why);
}

static int make_key(const struct machine_question *asked, uint8_t key[SINGLEFLIGHT_KEY_BYTES], struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, KEY_TEXT_BYTES_MAX);
    strbuf_adds(&text, link_id(asked->link));
    for (size_t i = 0; i < asked->count; i++)
        strbuf_addf(&text, "\n%s", asked->morefs[i]);
    if (text.failed)
        return err_set(err, ERR_NOMEM, "out of memory");
    digest_sha256(text.data, text.len, key);
    return 0;
}

static void question_begin(struct usage_question *q, uint64_t party) {
    struct machine_usage *usage = q->usage;
    struct singleflight_call *lead = q->lead;
    struct err why = {0};
    int rc = worker_pool_submit_for(link_pool(q->link), party, question_run, q, &why);
    if (!rc)
        return;
    question_free(q);
    singleflight_complete(usage->questions, lead, rc, NULL, &why);
}

int machine_usage_ask(struct machine_usage *usage, const struct machine_question *question, struct singleflight_waiter *waiter,
                      struct err *err) {
    uint8_t key[SINGLEFLIGHT_KEY_BYTES];
    struct singleflight_call *lead = NULL;
    struct usage_question *q = NULL;
    int rc = make_key(question, key, err);
    if (rc)
        return rc;
    if (find_kept(usage, key, waiter)) {
        waiter->run(waiter->arg, false);
        return 0;
    }
    const uint64_t party = question->party;
    rc = question_new(usage, question, &q, err);
    if (!rc)
        rc = singleflight_join(usage->questions, key, waiter, &lead, err);
    if (rc || !lead) { /* somebody asks already, and the waiter may be gone */
        if (q)
            question_free(q);
        return rc;
    }
    q->lead = lead;
    memcpy(q->key, key, sizeof(q->key));
    question_begin(q, party);
    return 0;
}

const struct vim_machine_list *machine_usage_get(const struct singleflight_waiter *waiter) {
    return &((const struct answer *)waiter->result)->found;
}

void machine_usage_leave(struct machine_usage *usage, struct singleflight_waiter *waiter) {
    singleflight_leave(usage->questions, waiter);
    memset(waiter, 0, sizeof(*waiter));
}

/* -- life -------------------------------------------------------------------------------------------------------------- */

int machine_usage_new(struct machine_usage **out, struct err *err) {
    struct machine_usage *usage = calloc(1, sizeof(*usage));
    if (usage)
        usage->questions = singleflight_new(&(struct singleflight_options){.result_ref = answer_ref,
                                                                           .result_unref = answer_unref,
                                                                           .waiters_max = KAAS_SIGNONS_WAITING_MAX,
                                                                           .waiters_per_call_max = KAAS_SIGNONS_SHARED_MAX});
    if (!usage || !usage->questions) {
        free(usage);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)pthread_mutex_init(&usage->lock, NULL);
    *out = usage;
    return 0;
}

void machine_usage_free(struct machine_usage *usage) {
    if (!usage)
        return;
    for (size_t i = 0; i < ANSWERS_KEPT; i++)
        answer_unref(usage->kept[i].answer);
    singleflight_free(usage->questions);
    (void)pthread_mutex_destroy(&usage->lock);
    free(usage);
}
