/* Verdicts on a vCenter and on what we use there. Layer 4 (vcenter). SPDX-License-Identifier: GPL-3.0-or-later */
#include "verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"
#include "strbuf.h"

const char *verdict_value_name(enum verdict_value value) {
    static const char *const names[] = {[VERDICT_UNKNOWN] = "unknown", [VERDICT_YES] = "yes", [VERDICT_NO] = "no"};
    return names[value];
}

void verdicts_done(struct verdicts *v) {
    if (!v)
        return;
    free(v->objects);
    memset(v, 0, sizeof(*v));
}

int verdicts_copy(const struct verdicts *from, struct verdicts *out, struct err *err) {
    struct verdict_object *objects = calloc(from->count + 1, sizeof(*objects));
    if (!objects)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (from->count)
        memcpy(objects, from->objects, from->count * sizeof(*objects));
    *out = *from;
    out->objects = objects;
    return 0;
}

const struct verdict *verdicts_find_bad(const struct verdicts *v, enum verdict_kind *kind) {
    for (*kind = 0; *kind < VERDICT_KINDS; (*kind)++)
        if (v->of[*kind].value == VERDICT_NO)
            return &v->of[*kind];
    return NULL;
}

/* The time of a value that stays what it was stays, too. */
static void verdict_set(struct verdict *v, enum verdict_value value, int64_t now_ms) {
    if (v->value != value || !v->since_ms)
        v->since_ms = now_ms;
    v->value = value;
    v->fault = VC_FAULT_NONE;
    v->text[0] = v->remedy[0] = '\0';
}

static void verdict_set_no(struct verdict *v, enum vc_fault fault, const struct err *err, const char *name, int64_t now_ms) {
    const bool has_text = err && err->text[0];
    verdict_set(v, VERDICT_NO, now_ms);
    v->fault = fault;
    (void)snprintf(v->text, sizeof(v->text), "%s", has_text ? err->text : vc_fault_text(fault));
    if (err && err->remedy[0])
        (void)snprintf(v->remedy, sizeof(v->remedy), "%s", err->remedy);
    else
        vc_fault_remedy(fault, name, v->remedy);
}

void verdicts_forget(struct verdicts *v, enum verdict_kind from, int64_t now_ms) {
    for (enum verdict_kind kind = from; kind < VERDICT_KINDS; kind++)
        verdict_set(&v->of[kind], VERDICT_UNKNOWN, now_ms);
    for (size_t i = 0; i < v->count; i++) {
        verdict_set(&v->objects[i].authorised, VERDICT_UNKNOWN, now_ms);
        v->objects[i].missing_count = 0;
    }
}

static void verdicts_note_clock(struct verdicts *v, const char *name, int64_t now_ms) {
    struct err err = {0};
    if (llabs(v->clock_off_s) <= VERDICT_CLOCK_OFF_MAX_S) {
        verdict_set(&v->of[VERDICT_VALID], VERDICT_YES, now_ms);
        return;
    }
    (void)err_set(&err, ERR_UPSTREAM, "vCenter's clock is %lld s %s ours", llabs(v->clock_off_s),
                  v->clock_off_s > 0 ? "ahead of" : "behind");
    verdict_set_no(&v->of[VERDICT_VALID], VC_FAULT_CLOCK_SKEW, &err, name, now_ms);
}

void verdicts_note_answer(struct verdicts *v, const char *name, int64_t now_ms) {
    verdict_set(&v->of[VERDICT_REACHABLE], VERDICT_YES, now_ms);
    verdicts_note_clock(v, name, now_ms);
}

void verdicts_note_reached(struct verdicts *v, int64_t now_ms) {
    verdict_set(&v->of[VERDICT_REACHABLE], VERDICT_YES, now_ms);
    verdicts_forget(v, VERDICT_VALID, now_ms);
}

void verdicts_note_fault(struct verdicts *v, enum vc_fault fault, const struct err *err, const char *name, int64_t now_ms) {
    const enum verdict_kind bad = vc_fault_verdict(fault);
    for (enum verdict_kind kind = 0; kind < bad; kind++)
        verdict_set(&v->of[kind], VERDICT_YES, now_ms);
    verdict_set_no(&v->of[bad], fault, err, name, now_ms);
    if (bad != VERDICT_AUTHORISED)
        verdicts_forget(v, bad + 1, now_ms);
}

/* -- privileges ------------------------------------------------------------------------------------------------------------ */

#define UNSEEN_TOLD_MAX 10

static bool verdict_is_unseen(const struct verdict_object *o) {
    return o->is_unseen_hx && o->authorised.value == VERDICT_NO;
}

/* All of them in one sentence. */
static void verdicts_say_unseen(const struct verdicts *v, struct strbuf *text) {
    size_t count = 0, told = 0;
    for (size_t i = 0; i < v->count; i++)
        count += verdict_is_unseen(&v->objects[i]);
    if (!count)
        return;
    strbuf_addf(text, "%sHX has registered %zu vSphere cluster%s that our account does not see: ", text->len ? "; " : "", count,
                count == 1 ? "" : "s");
    for (size_t i = 0; i < v->count && told < UNSEEN_TOLD_MAX; i++)
        if (verdict_is_unseen(&v->objects[i]))
            strbuf_addf(text, "%s%s", told++ ? ", " : "", v->objects[i].path);
    if (count > told)
        strbuf_addf(text, " and %zu more", count - told);
}

/* "System.Read, Global.LogEvent missing on /DC0/host/HX-East". */
static void verdict_object_say(const struct verdict_object *o, enum vc_fault fault, struct strbuf *text) {
    if (fault == VC_FAULT_OBJECT_GONE) {
        strbuf_addf(text, "%s is gone", o->path);
        return;
    }
    if (o->is_unseen_hx) {
        strbuf_addf(text, "HX has registered %s, which our account does not see", o->path);
        return;
    }
    for (size_t i = 0; i < o->missing_count; i++)
        strbuf_addf(text, "%s%s", i ? ", " : "", o->missing[i]);
    strbuf_addf(text, " missing on %s", o->moref[0] ? o->path : "the root folder");
}

static const struct verdict_object *verdicts_find(const struct verdicts *v, const char *moref) {
    for (size_t i = 0; i < v->count; i++)
        if (str_eq(v->objects[i].moref, moref))
            return &v->objects[i];
    return NULL;
}

static void verdict_object_judge(struct verdict_object *o, const struct verdict_object *before, const char *name,
                                 int64_t now_ms) {
    const enum vc_fault fault = o->authorised.fault;
    char remedy[VC_REMEDY_BYTES];
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    strbuf_init(&text, ERR_TEXT_BYTES - 1);
    (void)snprintf(remedy, sizeof(remedy), "%s", o->authorised.remedy);
    if (before)
        o->authorised = before->authorised;
    if (!fault) {
        verdict_set(&o->authorised, VERDICT_YES, now_ms);
        return;
    }
    verdict_object_say(o, fault, &text);
    (void)err_set(&err, ERR_UPSTREAM_DENIED, "%s", text.len ? text.data : o->path);
    (void)err_remedy(&err, "%s", remedy);
    verdict_set_no(&o->authorised, fault, &err, name, now_ms);
}

/* The vCenter's own: what is missing anywhere, in one line; the first object's fault and remedy. */
static void verdicts_sum_up(struct verdicts *v, const char *name, int64_t now_ms) {
    const struct verdict_object *first = NULL;
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    size_t more = 0;
    strbuf_init(&text, ERR_TEXT_BYTES - 1);
    for (size_t i = 0; i < v->count; i++) {
        const struct verdict *bad = &v->objects[i].authorised;
        if (bad->value != VERDICT_NO)
            continue;
        first = first ? first : &v->objects[i];
        if (v->objects[i].is_unseen_hx)
            continue;
        if (text.len + strlen(bad->text) + 40 < ERR_TEXT_BYTES)
            strbuf_addf(&text, "%s%s", text.len ? "; " : "", bad->text);
        else
            more++;
    }
    verdicts_say_unseen(v, &text);
    if (!first) {
        verdict_set(&v->of[VERDICT_AUTHORISED], VERDICT_YES, now_ms);
        return;
    }
    if (more)
        strbuf_addf(&text, "; and %zu more", more);
    (void)err_set(&err, ERR_UPSTREAM_DENIED, "%s", text.data);
    (void)err_remedy(&err, "%s", first->authorised.remedy);
    verdict_set_no(&v->of[VERDICT_AUTHORISED], first->authorised.fault, &err, name, now_ms);
}

void verdicts_take_objects(struct verdicts *v, struct verdict_object **objects, size_t count, const char *name, int64_t now_ms) {
    for (size_t i = 0; i < count; i++)
        verdict_object_judge(&(*objects)[i], verdicts_find(v, (*objects)[i].moref), name, now_ms);
    free(v->objects);
    v->objects = STEAL(*objects);
    v->count = count;
    v->asked_at_ms = now_ms;
    v->drops_unused = false;
    verdicts_sum_up(v, name, now_ms);
}
