/* Credentials that vCenters check: sharing, refusals, and what becomes of a good one. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The first of several identical credentials has work put into the vCenter's worker pool; all of them wait for it by a singleflight, without a thread. That
 * work is no part of the first one's request: whether its client is still there makes no difference to the others. */
#include "signon_vcenter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "digest.h"
#include "gate.h"
#include "singleflight.h"
#include "limits.h"
#include "log.h"
#include "metric.h"
#include "net_addr.h"
#include "rights_cache.h"
#include "secret.h"
#include "session_rights.h"
#include "session_store.h"
#include "sessions.h"
#include "signon_ask.h"
#include "signon_state.h"
#include "str.h"
#include "strbuf.h"

#define CREDENTIAL_BYTES_MAX 4096U /* vCenter, user name and secret together */
#define SIGNON_REFUSAL_MS 2000

/* What a vCenter said about a credential, shared by identical sign-ons that joined one singleflight. */
struct outcome {
    atomic_uint refs;
    struct vim_user_session who;
    struct shared_objects *rights;
};

static enum source credential_source(enum vc_credential_kind kind) {
    switch (kind) {
    case VC_CREDENTIAL_COOKIE: return SOURCE_VC_SESSION;
    case VC_CREDENTIAL_TICKET:
    case VC_CREDENTIAL_PLUGIN: return SOURCE_VC_TICKET; /* the plug-in's session id becomes a ticket */
    case VC_CREDENTIAL_KEY: return SOURCE_VC_KEY;
    case VC_CREDENTIAL_USER: return SOURCE_VC_SERVICE;
    case VC_CREDENTIAL_PASSWORD:
    default: return SOURCE_VC_PASSWORD;
    }
}

static int64_t credential_lifetime_ms(const struct signon *s, enum vc_credential_kind kind) {
    const bool is_own = kind == VC_CREDENTIAL_COOKIE ||
                        kind == VC_CREDENTIAL_PASSWORD; /* the other kinds are presented by somebody else for the person */
    return is_own ? s->options.session_lifetime_ms : s->options.ticket_session_lifetime_ms;
}

static void *outcome_ref(void *p) {
    (void)atomic_fetch_add(&((struct outcome *)p)->refs, 1);
    return p;
}

static void outcome_unref(void *p) {
    struct outcome *o = p;
    if (!o || atomic_fetch_sub(&o->refs, 1) != 1)
        return;
    vim_user_session_done(&o->who);
    shared_objects_unref(o->rights);
    free(o);
}

struct singleflight *signon_checks_new(void) {
    static const struct singleflight_options options = {.result_ref = outcome_ref,
                                                        .result_unref = outcome_unref,
                                                        .waiters_max = KAAS_SIGNONS_WAITING_MAX,
                                                        .waiters_per_call_max = KAAS_SIGNONS_SHARED_MAX};
    _Static_assert(DIGEST_SHA256_BYTES == SINGLEFLIGHT_KEY_BYTES, "a digest is a key");
    return singleflight_new(&options);
}

struct signon_check {
    struct signon *signon;
    struct signon_credential credential; /* texts borrowed, as the two next */
    const char *address, *request_id;
    uint8_t digest[DIGEST_SHA256_BYTES]; /* of vCenter, user and secret */
    struct gate gate;
    struct singleflight_waiter waiter;
    struct singleflight_call *call; /* the call that this check leads; NULL: another check leads it */
    bool is_settled;                /* the waiter holds the outcome */
    bool is_in_worker;
    worker_fn *run;
    void *run_arg;
};

/* -- asking, in the worker pool of the vCenter ------------------------------------------------------------------------------- */

/* The session key by which rights are asked; NULL: by user name, as a session that kaasd opened for the check (clone, password) has ended. */
static const char *credential_key(const struct signon_credential *credential, const struct vim_user_session *who) {
    return credential->kind == VC_CREDENTIAL_COOKIE || credential->kind == VC_CREDENTIAL_KEY ? who->key : NULL;
}

static int ask_vcenter(struct signon_check *c, struct outcome *o, struct err *err) {
    struct asked_at asked = asked_now();
    struct object_set set = {0};
    const struct vc_credential given = {.kind = c->credential.kind, .user = c->credential.user, .secret = c->credential.secret};
    int rc = signon_ask_credential(&c->signon->asker, c->credential.vcenter_id, &given, &o->who, err);
    if (rc)
        return rc;
    if (o->who.is_extension) { /* a program's standing session carries rights that no person has */
        (void)err_set(err, ERR_FORBIDDEN, "this is the session of an extension, not of a person");
        return err_remedy(err, "hand over the session or a clone ticket of the person who is signed in");
    }
    rc = signon_ask_rights(&c->signon->asker, c->credential.vcenter_id, credential_key(&c->credential, &o->who), o->who.user_name,
                           &set, err);
    if (rc) {
        object_set_done(&set);
        return rc;
    }
    o->rights = shared_objects_new(&set, asked);
    return o->rights ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

static struct refusal *refusal_of(const struct signon_check *c) {
    size_t index;
    memcpy(&index, c->digest, sizeof(index));
    return &c->signon->refusals[index % SIGNON_REFUSALS_COUNT];
}

static bool was_refused_just_now(const struct signon_check *c) {
    const struct refusal *r = refusal_of(c);
    LOCKED(&c->signon->lock);
    return clock_mono_ms() < r->until_ms && secret_eq(r->digest, sizeof(r->digest), c->digest, sizeof(c->digest));
}

static void credential_note_refusal(const struct signon_check *c) {
    struct refusal *r = refusal_of(c);
    LOCKED(&c->signon->lock);
    memcpy(r->digest, c->digest, sizeof(r->digest));
    r->until_ms = clock_mono_ms() + SIGNON_REFUSAL_MS;
}

/* signon_refuse_unasked gives the same error for a vCenter that is not joined, so the remedy must fit both. */
static int refuse_credential(enum vc_credential_kind credential, struct err *err) {
    static const char *const texts[] = {
        [VC_CREDENTIAL_COOKIE] = "the vCenter does not know this session; it may have ended",
        [VC_CREDENTIAL_TICKET] = "the vCenter does not accept this clone ticket; it works once and for a short time",
        [VC_CREDENTIAL_PLUGIN] = "the vCenter does not accept this session id of a plug-in; it may have ended",
        [VC_CREDENTIAL_PASSWORD] = "the vCenter does not accept this user name and password",
        [VC_CREDENTIAL_KEY] = "the vCenter has no live session with this key of this user",
        [VC_CREDENTIAL_USER] = "the vCenter does not know this user",
    };
    (void)err_set(err, ERR_CREDENTIALS, "%s", texts[credential]);
    if (credential == VC_CREDENTIAL_PASSWORD)
        return err_remedy(err, "check vCenter, user name and password");
    return err_remedy(err,
                      credential == VC_CREDENTIAL_USER ? "check the user name" : "check that it is of the vCenter that is named");
}

/* A ticket works only once, so its check is not shared and its refusal not kept. */
static bool is_shared(const struct signon_check *c) {
    return c->credential.kind != VC_CREDENTIAL_TICKET;
}

/* Asks the throttle again: guesses that came together, before the first was refused, do not all pass. */
static int signon_vcenter_check_now(struct signon_check *c, struct outcome *o, struct err *err) {
    struct err why = {0};
    int rc = gate_check(&c->gate, &why);
    if (!rc)
        rc = ask_vcenter(c, o, &why);
    if (rc == ERR_CREDENTIALS && is_shared(c))
        credential_note_refusal(c);
    if (rc == ERR_CREDENTIALS)
        return refuse_credential(c->credential.kind, err);
    return err_move(err, rc, &why);
}

static void signon_vcenter_run_check(void *arg, bool is_canceled) {
    struct signon_check *c = arg;
    struct outcome *o = calloc(1, sizeof(*o));
    struct err why = {0};
    int rc;
    log_set_request_id(c->request_id);
    if (o)
        atomic_init(&o->refs, 1);
    if (!o) {
        rc = err_set(&why, ERR_NOMEM, "out of memory");
    } else if (is_canceled) {
        /* the check gave way to another party's work, or the worker pool ends: the service stops, or the vCenter got another address */
        rc = err_set(&why, ERR_UNAVAILABLE,
                     "too much of yours waits for the vCenter, or the link to it is being made anew; try again shortly");
        why.retry_after_s = 1;
    } else {
        rc = signon_vcenter_check_now(c, o, &why);
    }
    if (rc)
        outcome_unref(STEAL(o));
    c->is_in_worker = !is_canceled;
    singleflight_complete(c->signon->checks, c->call, rc, o, &why);
}

/* -- waiting ------------------------------------------------------------------------------------------------------------ */

/* The lengths in front keep bytes from moving between name and secret. A text that does not fit is not digested in part: two different secrets would be one
 * credential. */
static int digest_credential(const struct signon *s, const struct signon_credential *credential, uint8_t out[DIGEST_SHA256_BYTES],
                             struct err *err) {
    const char *user = credential->user ? credential->user : "";
    _cleanup_strbuf_ struct strbuf text;
    int rc;
    strbuf_init_secret(&text, CREDENTIAL_BYTES_MAX);
    strbuf_addf(&text, "%s %d %zu %zu ", credential->vcenter_id, (int)credential->kind, strlen(user), strlen(credential->secret));
    strbuf_adds(&text, user);
    strbuf_adds(&text, credential->secret);
    rc = strbuf_check(&text, "user name and password", err);
    if (!rc)
        digest_hmac_sha256(s->secret, sizeof(s->secret), text.data, text.len, out);
    return rc;
}

int signon_check_new(struct signon *s, const struct actor *actor, const struct signon_credential *credential,
                     struct signon_check **out, struct err *err) {
    struct signon_check *c = calloc(1, sizeof(*c));
    int rc;
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory");
    c->signon = s;
    c->credential = *credential;
    c->address = actor->address;
    c->request_id = actor->request_id;
    rc = digest_credential(s, credential, c->digest, err);
    if (rc)
        free(c);
    else
        *out = c;
    return rc;
}

void signon_check_free(struct signon_check *c) {
    if (!c)
        return;
    singleflight_leave(c->signon->checks, &c->waiter);
    gate_done(&c->gate);
    free(c);
}

static void count_waiting(int64_t n) {
    metric_add(metric_get(METRIC_SIGNONS_WAITING), n);
}

/* The throttle counts one answer as one guess, or one success, however many checks share it: the leading check notes it. */
static void on_completed(void *arg, bool is_canceled) {
    struct signon_check *c = arg;
    count_waiting(-1);
    if (c->call)
        gate_note(&c->gate, c->waiter.code);
    c->is_settled = true;
    c->run(c->run_arg, is_canceled);
}

/* CORP\anna is anna@CORP: both are one name at the throttle. */
static char *credential_account(const char *user) {
    const char *slash = strchr(user, '\\');
    return slash ? str_format("%s@%.*s", slash + 1, (int)(slash - user), user) : str_dup(user);
}

/* Only passwords can be guessed. */
static int open_gate(struct gate *gate, struct signon *s, const struct actor *actor, const struct signon_credential *credential,
                     struct err *err) {
    _cleanup_free_ char *account = credential->kind == VC_CREDENTIAL_PASSWORD ? credential_account(credential->user) : NULL;
    if (credential->kind != VC_CREDENTIAL_PASSWORD)
        return 0;
    return account ? gate_open(gate, s, actor, credential->vcenter_id, account, err) : err_set(err, ERR_NOMEM, "out of memory");
}

/* Refuses a credential without asking the vCenter: if the throttle says so, or the vCenter has just refused it. */
static int signon_vcenter_check_known(struct signon_check *c, struct err *err) {
    const struct actor actor = {.address = c->address, .request_id = c->request_id};
    int rc = open_gate(&c->gate, c->signon, &actor, &c->credential, err);
    if (rc || !is_shared(c) || !was_refused_just_now(c))
        return rc;
    gate_note(&c->gate, ERR_CREDENTIALS);
    return refuse_credential(c->credential.kind, err);
}

int signon_check_wait(struct signon_check *c, worker_fn *run, void *arg, struct err *err) {
    struct singleflight_call *lead = NULL;
    struct err why = {0};
    int rc;
    c->run = run;
    c->run_arg = arg;
    c->waiter.run = on_completed;
    c->waiter.arg = c;
    c->waiter.code = signon_vcenter_check_known(c, &c->waiter.err);
    if (c->waiter.code) {
        c->is_settled = true;
        run(arg, false);
        return 0;
    }
    count_waiting(1);
    rc = singleflight_join(c->signon->checks, is_shared(c) ? c->digest : NULL, &c->waiter, &lead, err);
    if (rc)
        count_waiting(-1);
    if (!lead) /* without `lead` the check may be over and freed by now */
        return rc;
    c->call = lead;
    rc = signon_submit(&c->signon->asker, c->credential.vcenter_id, net_party(c->address), signon_vcenter_run_check, c, &why);
    if (rc) /* the worker pool is full: all checks that joined this call get the error; else the check may be over and freed by now */
        singleflight_complete(c->signon->checks, c->call, rc, NULL, &why);
    return 0;
}

bool signon_check_is_in_worker(const struct signon_check *c) {
    return c->is_in_worker;
}

int signon_refuse_unasked(struct signon *s, const struct actor *actor, const struct signon_credential *credential,
                          const char *reason, struct err *err) {
    const struct audit_event event = {.action = "login",
                                      .principal_name = credential->user,
                                      .source = source_name(credential_source(credential->kind)),
                                      .reason = reason};
    const struct audit_record line = signon_make_line(actor, NULL, &event);
    struct gate gate = {0};
    int rc = open_gate(&gate, s, actor, credential, err);
    if (!rc) {
        rc = refuse_credential(credential->kind, err);
        gate_note(&gate, rc);
    }
    gate_done(&gate);
    signon_audit(s, &line, rc);
    return rc;
}

/* -- signing in -------------------------------------------------------------------------------------------------------- */

static int signon_vcenter_check_take(struct signon_check *c, struct outcome **out, struct err *err) {
    if (!c->is_settled || (!c->waiter.code && !c->waiter.result))
        return err_set(err, ERR_INTERNAL, "the check gave no result");
    if (!c->waiter.code)
        *out = outcome_ref(c->waiter.result);
    return err_move(err, c->waiter.code, &c->waiter.err);
}

/* *who borrows texts of credential and outcome; its id is malloc'ed, freed by the caller after it has written the audit log. */
static int name_person(const struct signon_credential *credential, struct outcome *o, struct principal *who, struct err *err) {
    who->id = principal_vc_id(credential->vcenter_id, o->who.user_name);
    who->name = o->who.user_name;
    who->full_name = o->who.full_name;
    who->role = ROLE_USER;
    who->source = credential_source(credential->kind);
    who->vcenter_id = (char *)(uintptr_t)credential->vcenter_id;
    who->vc_user = o->who.user_name;
    who->vc_session_key = (char *)(uintptr_t)credential_key(credential, &o->who);
    who->acting_id = (char *)(uintptr_t)credential->acting_id;
    who->service_id = (char *)(uintptr_t)credential->service_id;
    return who->id ? 0 : err_set(err, ERR_NOMEM, "out of memory");
}

int signon_login_vcenter(struct signon *s, const struct actor *actor, struct signon_check *check, struct signon_issued *out,
                         struct err *err) {
    const struct signon_credential *credential = &check->credential;
    const struct audit_event event = {.action = "login",
                                      .principal_name = credential->user,
                                      .acting_id = credential->acting_id,
                                      .source = source_name(credential_source(credential->kind)),
                                      .object_kind = "vcenter",
                                      .object_id = credential->vcenter_id};
    struct audit_record line = signon_make_line(actor, NULL, &event);
    struct outcome *outcome = NULL;
    struct principal who = {0}; /* texts of credential and outcome, but for the id */
    int rc = signon_vcenter_check_take(check, &outcome, err);
    if (!rc && outcome) {
        rc = name_person(credential, outcome, &who, err);
        line = signon_make_line(actor, &who, &event);
    }
    if (!rc && outcome) {
        const int64_t usual_ms = credential_lifetime_ms(s, credential->kind);
        const int64_t left_ms = credential->ends_at_ms ? credential->ends_at_ms - clock_wall_ms() : usual_ms;
        const struct signon_new_session wanted = {
            .who = &who, .lifetime_ms = left_ms < usual_ms ? left_ms : usual_ms, .rights = outcome->rights, .line = &line};
        rc = signon_open_session(s, &wanted, out, err);
    }
    if (rc)
        signon_audit(s, &line, rc);
    free(who.id);
    outcome_unref(outcome);
    return rc;
}

/* -- who looks at a page of the vSphere Client, without signing in ------------------------------------------------------------------- */

void signon_plugin_person_done(struct signon_plugin_person *person) {
    if (!person)
        return;
    free(person->principal_id);
    shared_objects_unref(person->objects);
    memset(person, 0, sizeof(*person));
}

static struct plugin_entry *plugin_entry_of(struct signon *s, const uint8_t digest[DIGEST_SHA256_BYTES]) {
    size_t index;
    memcpy(&index, digest, sizeof(index));
    return &s->plugin_people[index % SIGNON_PLUGIN_PEOPLE_COUNT];
}

/* The kept person of this digest, with one reference for the caller; NULL if absent. */
static struct rights_subject *plugin_entry_get(struct signon *s, const uint8_t digest[DIGEST_SHA256_BYTES]) {
    const struct plugin_entry *entry = plugin_entry_of(s, digest);
    LOCKED(&s->lock);
    if (!entry->subject || clock_mono_ms() >= entry->until_ms ||
        !secret_eq(entry->digest, sizeof(entry->digest), digest, DIGEST_SHA256_BYTES))
        return NULL;
    rights_subject_ref(entry->subject);
    return entry->subject;
}

/* Takes the reference. */
static void plugin_entry_put(struct signon *s, const uint8_t digest[DIGEST_SHA256_BYTES], struct rights_subject *subject) {
    struct plugin_entry *entry = plugin_entry_of(s, digest);
    struct rights_subject *old;
    (void)pthread_mutex_lock(&s->lock);
    old = entry->subject;
    *entry = (struct plugin_entry){.subject = subject, .until_ms = clock_mono_ms() + SIGNON_PLUGIN_MS};
    memcpy(entry->digest, digest, sizeof(entry->digest));
    (void)pthread_mutex_unlock(&s->lock);
    rights_subject_unref(old);
}

void signon_forget_plugin_people(struct signon *s) {
    for (size_t i = 0; i < SIGNON_PLUGIN_PEOPLE_COUNT; i++)
        rights_subject_unref(STEAL(s->plugin_people[i].subject));
}

/* Takes the reference to `objects`. */
static int name_plugin_person(struct rights_subject *subject, struct shared_objects *objects, struct signon_plugin_person *out,
                              struct err *err) {
    char *id = principal_vc_id(rights_subject_vcenter(subject), rights_subject_user(subject));
    if (!id) {
        shared_objects_unref(objects);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = (struct signon_plugin_person){id, objects};
    return 0;
}

bool signon_find_plugin_person(struct signon *s, const struct signon_credential *credential, struct signon_plugin_person *out) {
    _cleanup_(rights_subject_unref) struct rights_subject *subject = NULL;
    uint8_t digest[DIGEST_SHA256_BYTES];
    struct rights_known known;
    enum signon_part_state state;
    memset(out, 0, sizeof(*out));
    if (digest_credential(s, credential, digest, NULL))
        return false;
    subject = plugin_entry_get(s, digest);
    if (!subject)
        return false;
    rights_subject_read(subject, false, &known);
    state = signon_judge(s, &known, false);
    if (!known.objects || known.is_narrow || (state != SIGNON_PART_FRESH && state != SIGNON_PART_AGING)) {
        shared_objects_unref(known.objects);
        return false;
    }
    return !name_plugin_person(subject, known.objects, out, NULL);
}

int signon_take_plugin_person(struct signon *s, struct signon_check *check, struct signon_plugin_person *out, struct err *err) {
    struct rights_subject *subject = NULL;
    struct outcome *outcome = NULL;
    int rc = signon_vcenter_check_take(check, &outcome, err);
    memset(out, 0, sizeof(*out));
    if (rc)
        return rc;
    subject = rights_subject_get(s->cache, &(struct rights_person){check->credential.vcenter_id, outcome->who.user_name, NULL});
    rc = subject ? name_plugin_person(subject, shared_objects_ref(outcome->rights), out, err)
                 : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc) {
        rights_subject_offer(subject, shared_objects_ref(outcome->rights));
        plugin_entry_put(s, check->digest, STEAL(subject));
    }
    rights_subject_unref(subject);
    outcome_unref(outcome);
    return rc;
}

/* -- one person over several vCenters: each knows the person by a credential of its own ------------------------------------- */

bool signon_is_first_vcenter(struct live_session *live, const char *vcenter_id) {
    const struct principal *who = live_session_who(live);
    return source_is_vcenter(who->source) && str_eq_nocase(who->vcenter_id, vcenter_id);
}

static int signon_vcenter_refuse_first(struct live_session *live, const char *vcenter_id, struct err *err) {
    if (!signon_is_first_vcenter(live, vcenter_id))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "this is the vCenter by which you signed in");
    return err_remedy(err, "to leave it, or to come by another credential, sign out and sign in again");
}

static int link_vcenter(struct signon *s, const char *sid, const struct signon_credential *credential, const struct outcome *o,
                        struct err *err) {
    const struct rights_person person = {credential->vcenter_id, o->who.user_name, credential_key(credential, &o->who)};
    _cleanup_(rights_subject_unref) struct rights_subject *subject = NULL;
    struct session_vcenter v = {.source = credential_source(credential->kind),
                                .user_name = o->who.user_name,
                                .session_key = (char *)(uintptr_t)person.session_key,
                                .added_at_ms = clock_wall_ms()};
    const struct session_addition addition = {
        .sid = sid, .vcenter = &v, .ends_at_ms = v.added_at_ms + credential_lifetime_ms(s, credential->kind)};
    int rc;
    (void)snprintf(v.vcenter_id, sizeof(v.vcenter_id), "%s", credential->vcenter_id);
    rc = session_store_add_vcenter(s->options.runtime->store, &addition, err);
    if (!rc)
        rc = signon_apply_session_change(s, sid, err);
    if (rc)
        return rc;
    subject = rights_subject_get(s->cache, &person);
    if (subject) /* rights that were asked with the credential need not be asked again */
        rights_subject_offer(subject, shared_objects_ref(o->rights));
    return 0;
}

int signon_add_vcenter(struct signon *s, const struct actor *actor, struct live_session *live, struct signon_check *check,
                       struct err *err) {
    const struct signon_credential *credential = &check->credential;
    struct audit_record line = signon_make_line(actor, live_session_who(live),
                                                &(struct audit_event){.action = "session.vcenter.add",
                                                                      .source = source_name(credential_source(credential->kind)),
                                                                      .object_kind = "vcenter",
                                                                      .object_id = credential->vcenter_id});
    struct outcome *outcome = NULL;
    int rc = signon_vcenter_refuse_first(live, credential->vcenter_id, err);
    if (!rc)
        rc = signon_vcenter_check_take(check, &outcome, err);
    if (!rc && outcome)
        rc = signon_check_pace(s, live_session_who(live), &line, err);
    if (!rc && outcome)
        rc = link_vcenter(s, live_session_sid(live), credential, outcome, err);
    signon_audit(s, &line, rc);
    outcome_unref(outcome);
    return rc;
}

int signon_remove_vcenter(struct signon *s, const struct actor *actor, struct live_session *live, const char *vcenter_id,
                          struct err *err) {
    const struct audit_record line = signon_make_line(
        actor, live_session_who(live),
        &(struct audit_event){.action = "session.vcenter.remove", .object_kind = "vcenter", .object_id = vcenter_id});
    int rc = signon_vcenter_refuse_first(live, vcenter_id, err);
    if (!rc)
        rc = session_store_remove_vcenter(s->options.runtime->store, live_session_sid(live), vcenter_id, err);
    if (!rc)
        rc = signon_apply_session_change(s, live_session_sid(live), err);
    signon_audit(s, &line, rc);
    return rc;
}
