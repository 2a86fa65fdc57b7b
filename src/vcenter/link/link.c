/* The link to one vCenter: client, worker pool, state. Layer 4 (vcenter). Logging in is link_login.c.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "link.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event_plan.h"
#include "limits.h"
#include "link_login.h"
#include "names.h"
#include "str.h"
#include "vcenter_store.h"
#include "worker_pool.h"
#include "vim.h"
#include "x509.h"

#define MACHINE_THREADS 2U /* of the client's connections, so that sign-ons always find one */
#define MACHINE_QUEUE_COUNT 512U
#define RETIRE_GRACE_MS 500
#define RETIRE_LOGOUT_MS 3000 /* on a connection of its own: TCP, TLS, and the call */

static const struct remote_kind link_kind;

struct link {
    struct remote remote; /* first: a link is a remote */
    const struct link_env *env;
    struct vim_client *client;
    struct watch *watch;
    struct worker_pool *machine_workers;
    atomic_bool is_verified;    /* the identity was checked since the watch last ended */
    atomic_bool is_in_admin;    /* a registration or unregistration runs */
    atomic_uint tasks;          /* that have a session of their own */
    struct event_budget events; /* touched by the work LINK_WORK_EVENTS only */

    /* what its own session is made with */
    atomic_bool is_loaded;          /* false: the next login reads the credentials again */
    atomic_bool is_identity_fresh;  /* link_connect has just compared it: the login that follows need not */
    struct login_material material; /* touched by the login only, which the client's session lock serialises */
    struct login_refusals refusals;
    pthread_mutex_t follow_lock; /* whoever changes the account and the work that follows the change exchange the session once */

    /* guarded by the remote's lock */
    struct vcenter info;
    struct link_report report; /* its status is the remote's */
    char *session_account;     /* that its own session was made by; NULL: by a certificate, or there was none yet */
    struct verdicts verdicts;
};

struct link *link_of(struct remote *remote) {
    return (struct link *)(void *)remote;
}

struct remote *link_remote(struct link *link) {
    return &link->remote;
}

static const struct link_watch_ops *watch_ops(const struct link *link) {
    return link->env->options.watch;
}

const char *link_state_name(enum remote_state state) {
    static const char *const names[] = {
        [REMOTE_IDLE] = "not_registered", [REMOTE_NEW] = "connecting",  [REMOTE_OK] = "connected",
        [REMOTE_FAILING] = "unreachable", [REMOTE_REFUSED] = "refused",
    };
    return names[state];
}

struct event_budget *link_event_budget(struct link *link) {
    return &link->events;
}

struct link *link_ref(struct link *link) {
    (void)remote_ref(&link->remote);
    return link;
}

void link_unref(struct link *link) {
    remote_unref(link ? &link->remote : NULL);
}

const char *link_id(const struct link *link) {
    return link->remote.id;
}

struct worker_pool *link_pool(const struct link *link) {
    return link->remote.workers;
}

struct worker_pool *link_machine_pool(const struct link *link) {
    return link->machine_workers;
}

struct vim_client *link_client(const struct link *link) {
    return link->client;
}

const struct link_env *link_env(const struct link *link) {
    return link->env;
}

struct watch *link_watch(const struct link *link) {
    return link->watch;
}

enum remote_state link_get_state(struct link *link) {
    return remote_get_state(&link->remote);
}

bool link_is_away(struct link *link) {
    const enum remote_state state = link_get_state(link);
    return state == REMOTE_FAILING || state == REMOTE_REFUSED;
}

char *link_get_extension_key(struct link *link) {
    LOCKED(&link->remote.lock);
    return str_dup(link->info.extension_key);
}

int link_get_info(struct link *link, struct vcenter *out, struct err *err) {
    LOCKED(&link->remote.lock);
    return vcenter_copy(&link->info, out, err);
}

void link_get_report(struct link *link, struct link_report *out) {
    LOCKED(&link->remote.lock);
    *out = link->report;
    out->status = link->remote.status;
}

void link_note_record(struct link *link, const struct record_note *note) {
    LOCKED(&link->remote.lock);
    link->report.record = *note;
}

/* Needs the lock. */
static void link_set_state(struct link *link, enum remote_state state, const struct err *why) {
    (void)remote_status_set(&link->remote.status, state, "", why, clock_wall_ms());
}

/* Needs the lock. Without a registration there is nobody to keep in touch with. */
static void link_try_now(struct link *link) {
    link->remote.is_wanted = link->info.registered_at_ms != 0;
    remote_try_at(&link->remote, 0);
}

void link_request(struct link *link, unsigned bits) {
    remote_request(&link->remote, bits);
}

/* Needs the lock. Without a registration there is no session to judge by. */
static void link_judge_answer(struct link *link) {
    if (link->info.registered_at_ms)
        verdicts_note_answer(&link->verdicts, name_word(link->info.name, link->info.id), clock_wall_ms());
    else
        verdicts_note_reached(&link->verdicts, clock_wall_ms());
}

/* Needs the lock. */
static void link_note_success(struct link *link) {
    link->remote.failures = 0;
    link_judge_answer(link);
    if (link->remote.status.state != REMOTE_OK)
        remote_try_at(&link->remote, clock_mono_ms() + link->env->options.keepalive_ms);
    link_set_state(link, link->info.registered_at_ms ? REMOTE_OK : REMOTE_IDLE, NULL);
}

/* Needs the lock. ERR_CREDENTIALS: one session after the other has ended while somebody made the next, as registering does. That says nothing yet: the next
 * contact logs in, and if that is refused, tells why. */
static void link_note_failure(struct link *link, int rc, const struct err *err) {
    enum vc_fault fault;
    if (rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS || rc == ERR_PROTOCOL)
        link_set_state(link, REMOTE_FAILING, err);
    else if (rc == ERR_UPSTREAM_DENIED || (rc == ERR_CREDENTIALS && link->remote.failures) || rc == ERR_CONFLICT ||
             rc == ERR_CONFIG)
        link_set_state(link, REMOTE_REFUSED, err);
    else if (rc == ERR_CREDENTIALS || !err || !err->cause)
        return;
    fault = err ? vc_fault_of(err, link->report.record.state) : VC_FAULT_NONE;
    if (fault)
        verdicts_note_fault(&link->verdicts, fault, err, name_word(link->info.name, link->info.id), clock_wall_ms());
}

/* One that was noted. */
struct outcome {
    int64_t since_ms;
    int rc;
    const struct err *err;
    bool is_asked;
};

static void link_note_outcome(struct link *link, const struct outcome *o) {
    bool was_connected;
    (void)pthread_mutex_lock(&link->remote.lock);
    was_connected = link->remote.status.state == REMOTE_OK;
    if (!o->rc)
        link->report.last_contact_ms = clock_wall_ms();
    if (!remote_is_news(&link->remote, o->since_ms)) {
        (void)pthread_mutex_unlock(&link->remote.lock);
        return;
    }
    if (!o->rc)
        link_note_success(link);
    else if (o->is_asked || link->info.registered_at_ms)
        link_note_failure(link, o->rc, o->err);
    if (was_connected && link->remote.status.state != REMOTE_OK)
        remote_try_soon(&link->remote);
    (void)pthread_mutex_unlock(&link->remote.lock);
    if (was_connected != (link_get_state(link) == REMOTE_OK))
        watch_ops(link)->note_link(link->watch, link_get_state(link) != REMOTE_IDLE);
    remote_follow(&link->remote, was_connected);
}

int link_note(struct link *link, int64_t since_ms, int rc, const struct err *err) {
    link_note_outcome(link, &(struct outcome){.since_ms = since_ms, .rc = rc, .err = err});
    return rc;
}

void link_note_asked(struct link *link, int64_t since_ms, int rc, const struct err *err) {
    link_note_outcome(link, &(struct outcome){.since_ms = since_ms, .rc = rc, .err = err, .is_asked = true});
}

void link_note_answer(struct link *link, int64_t since_ms) {
    LOCKED(&link->remote.lock);
    link->report.last_contact_ms = clock_wall_ms();
    if (remote_is_news(&link->remote, since_ms) && link->remote.status.state == REMOTE_FAILING) {
        link_set_state(link, link->info.registered_at_ms ? REMOTE_NEW : REMOTE_IDLE, NULL);
        verdicts_note_reached(&link->verdicts, clock_wall_ms());
        link_try_now(link);
    }
}

void link_note_certificates(struct link *link, const struct link_certificates *seen) {
    LOCKED(&link->remote.lock);
    if (seen->vcenter_not_after_ms)
        link->report.certificates.vcenter_not_after_ms = seen->vcenter_not_after_ms;
    if (seen->login_not_after_ms)
        link->report.certificates.login_not_after_ms = seen->login_not_after_ms;
}

void link_note_login(struct link *link, enum vim_strategy strategy, const char *account) {
    LOCKED(&link->remote.lock);
    link->report.has_strategy = true;
    link->report.strategy = strategy;
    free(link->session_account);
    link->session_account = str_dup(account);
}

struct login_refusals *link_refusals(struct link *link) {
    return &link->refusals;
}

/* -- verdicts --------------------------------------------------------------------------------------------------------------- */

int link_get_verdicts(struct link *link, struct verdicts *out, struct err *err) {
    LOCKED(&link->remote.lock);
    return verdicts_copy(&link->verdicts, out, err);
}

void link_note_clock(struct link *link, int64_t off_s) {
    LOCKED(&link->remote.lock);
    link->verdicts.clock_off_s = off_s;
    if (link->remote.status.state == REMOTE_OK)
        link_judge_answer(link);
}

void link_note_objects(struct link *link, struct verdict_object **objects, size_t count) {
    LOCKED(&link->remote.lock);
    if (link->remote.status.state == REMOTE_OK)
        verdicts_take_objects(&link->verdicts, objects, count, name_word(link->info.name, link->info.id), clock_wall_ms());
}

void link_inherit_verdicts(struct link *link, struct link *from) {
    struct verdicts theirs = {0};
    if (link_get_verdicts(from, &theirs, NULL))
        return;
    LOCKED(&link->remote.lock);
    verdicts_done(&link->verdicts);
    link->verdicts = theirs;
}

/* -- is it the vCenter we mean, with the certificate we trust ---------------------------------------------------------------- */

#define DAY_CHARS 10 /* "2026-11-21" of RFC 3339 */

/* The new certificate in a few words. */
static void link_describe(const struct x509_info *seen, char *out, size_t n) {
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES], from[CLOCK_RFC3339_BYTES], until[CLOCK_RFC3339_BYTES];
    x509_thumbprint_text(seen->sha256, thumbprint);
    clock_format(seen->not_before_ms, from);
    clock_format(seen->not_after_ms, until);
    (void)snprintf(out, n, "seen SHA-256 %s, %.60s, names %.90s, valid %.*s to %.*s", thumbprint, seen->subject,
                   seen->san[0] ? seen->san : "none", DAY_CHARS, from, DAY_CHARS, until);
}

static int explain_pin(const struct vcenter *vc, const char *seen, struct err *err) {
    char trusted[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(vc->pin_sha256, trusted);
    return err_set(err, ERR_TLS, "%s:%u shows another certificate: trusted SHA-256 %s; %s", vc->address, vc->port, trusted, seen);
}

/* After ERR_TLS: looks at the certificate that is shown now (a handshake, nothing else) and rewrites *err so that it names both, with validity,
 * names and what to do. Leaves *err alone if the server cannot be asked. Blocks. */
static void explain_trust(struct link *link, struct err *err) {
    struct err why = *err;
    _cleanup_done_(x509_info_done) struct x509_info info = {0};
    _cleanup_done_(vcenter_done) struct vcenter vc = {0};
    char seen[ERR_TEXT_BYTES];
    long timeout_ms = link_env(link)->options.connect_timeout_ms;
    if (link_get_info(link, &vc, NULL))
        return;
    if (x509_lookup_server(vc.address, vc.port, link_env(link)->options.networks, timeout_ms, &info, NULL))
        return;
    link_describe(&info, seen, sizeof(seen));
    err_clear(err);
    if (vc.has_pin)
        (void)explain_pin(&vc, seen, err);
    else
        (void)err_set(err, ERR_TLS, "%.190s; %s", why.text, seen);
    (void)err_because(err, why.cause);
    (void)err_remedy(
        err, "nothing is sent to it; compare the SHA-256 with the one the vCenter shows, then run: kaasctl vcenter trust %s",
        name_word(vc.name, vc.id));
}

static int save_about(struct link *link, const struct vim_about *about, struct err *err) {
    const struct platform_options *options = &link_env(link)->options;
    _cleanup_done_(vcenter_done) struct vcenter info = {0};
    int64_t version_no = 0;
    int rc = link_get_info(link, &info, err);
    if (rc)
        return rc;
    if (!str_eq(info.version, about->version) || !str_eq(info.build, about->build) ||
        !str_eq(info.api_version, about->api_version)) {
        free(info.version);
        free(info.build);
        free(info.api_version);
        info.version = str_dup(about->version);
        info.build = str_dup(about->build);
        info.api_version = str_dup(about->api_version);
        rc = vcenter_store_update(options->runtime->store, &info, NULL, &version_no, err);
        runtime_note_written(link_env(link)->options.runtime);
        link_request(link, LINK_WORK_RECONCILE); /* another version may hold more of our record */
    }
    return rc;
}

int link_read_about(struct link *link, struct err *err) {
    _cleanup_done_(vim_about_done) struct vim_about about = {0};
    int rc = vim_connect(link_client(link), &about, err);
    if (rc == ERR_TLS && err)
        explain_trust(link, err);
    if (!rc)
        (void)save_about(link, &about, NULL); /* only shown: the database may be away */
    return rc;
}

/* -- its own session -------------------------------------------------------------------------------------------------------- */

void link_forget_material(struct link *link) {
    atomic_store(&link->is_loaded, false);
}

/* Loads credentials once; kept in memory so that a lost session can be renewed while the database is away. */
static int load_material(struct link *link, struct err *err) {
    const struct platform_options *options = &link->env->options;
    struct login_material fresh = {0};
    int rc;
    atomic_store(&link->is_loaded, true); /* first: a change that comes while we read makes it false again */
    rc = login_material_load(options->runtime->store, options->runtime->seal, link->remote.id, &fresh, err);
    if (rc) {
        atomic_store(&link->is_loaded, false);
        return rc;
    }
    login_material_done(&link->material);
    link->material = fresh;
    link->material.refusals = &link->refusals;
    return 0;
}

static int try_material(struct link *link, struct vim_client *client, struct login_used *used, struct err *err) {
    _cleanup_done_(vcenter_done) struct vcenter info = {0};
    struct link_report report;
    struct err why = {0};
    int rc = atomic_load(&link->is_loaded) ? 0 : load_material(link, &why);
    if (rc && !link->material.active.generation && !link->material.pending.generation)
        return err_move(err, rc, &why); /* else what is in memory will do while the database is away */
    rc = link_get_info(link, &info, err);
    if (rc)
        return rc;
    link_get_report(link, &report);
    return login_with_material(client, &info, &link->material, report.has_strategy ? &report.strategy : NULL, used, err);
}

static unsigned newest_generation(const struct login_material *m) {
    return m->pending.generation > m->active.generation ? m->pending.generation : m->active.generation;
}

/* A pending credential that vCenter accepted is the one it knows now. If that cannot be written, the next login settles it. The login
 * before this one may have left a session behind. */
static void settle_login(struct link *link, const struct login_used *used) {
    struct store *store = link->env->options.runtime->store;
    const bool is_pending = used->generation == link->material.pending.generation;
    const struct login_credential *c = is_pending ? &link->material.pending : &link->material.active;
    link_note_login(link, used->strategy, c->user);
    if (is_pending && !credential_store_promote(store, link->remote.id, used->generation, NULL, NULL)) {
        const struct audit_record line = platform_audit_make(
            link->env, NULL, &(struct audit_event){.action = login_change_action(c->kind), .object_id = link->remote.id});
        link_forget_material(link);
        platform_audit_finish(link->env, &line);
    }
    link_request(link, LINK_WORK_SWEEP);
}

/* vim_login_fn with a link. */
static int log_in(struct vim_client *client, void *arg, struct err *err) {
    struct link *link = arg;
    struct login_used used = {0};
    unsigned tried;
    int rc;
    if (link_is_retired(link)) /* its successor has a session of its own */
        return err_set(err, ERR_CANCELED, "the connection to this vCenter is being replaced");
    rc = atomic_exchange(&link->is_identity_fresh, false) ? 0 : vim_connect(client, NULL, err);
    if (rc)
        return rc;
    rc = try_material(link, client, &used, err);
    tried = newest_generation(&link->material);
    /* what is refused may have been replaced by another replica: it is read again, and tried if it is another one */
    if ((rc == ERR_CREDENTIALS || rc == ERR_NOT_REGISTERED) && !load_material(link, NULL) &&
        newest_generation(&link->material) != tried) {
        err_clear(err);
        rc = try_material(link, client, &used, err);
    }
    if (!rc)
        settle_login(link, &used);
    return rc;
}

static bool is_logged_in_by(struct link *link, const char *account) {
    LOCKED(&link->remote.lock);
    return link->report.has_strategy && str_eq(link->session_account, account);
}

int link_follow_login(struct link *link, struct err *err) {
    const struct platform_options *options = &link->env->options;
    _cleanup_done_(login_material_done) struct login_material now = {0};
    int rc;
    LOCKED(&link->follow_lock);
    rc = login_material_load(options->runtime->store, options->runtime->seal, link->remote.id, &now, err);
    if (rc || !now.active.generation || is_logged_in_by(link, now.active.user))
        return rc;
    link_forget_material(link);
    return vim_exchange_session(link->client, err);
}

void link_retry_login(struct link *link) {
    link_forget_material(link);
    vim_set_login(link->client, log_in, link); /* forgets the refusal */
    (void)pthread_mutex_lock(&link->remote.lock);
    link_try_now(link);
    (void)pthread_mutex_unlock(&link->remote.lock);
    remote_kick(&link->remote);
}

static int link_make_client(struct link *link, const struct vcenter *vc, struct err *err) {
    _cleanup_free_ char *agent = session_agent(link->env, NULL);
    const struct vim_options options = link_env_client(link->env, vc, agent);
    int rc = vim_client_new(&options, &link->client, err);
    if (!rc)
        vim_set_login(link->client, log_in, link);
    return rc;
}

static int make_pool(struct link *link, const struct vcenter *vc, struct err *err) {
    struct worker_pool_options workers = {.name = vc->name,
                                          .threads = KAAS_VIM_CONTEXTS_COUNT,
                                          .queue_count = KAAS_VIM_QUEUE_COUNT_MAX,
                                          .thread_begin = store_thread_begin,
                                          .thread_end = store_thread_end};
    int rc = worker_pool_new(&workers, &link->remote.workers, err);
    workers.threads = MACHINE_THREADS;
    workers.queue_count = MACHINE_QUEUE_COUNT;
    return rc ? rc : worker_pool_new(&workers, &link->machine_workers, err);
}

static void link_free(struct remote *remote) {
    struct link *link = link_of(remote);
    worker_pool_free(link->remote.workers);
    worker_pool_free(link->machine_workers);
    watch_ops(link)->free(link->watch);
    vim_client_free(link->client);
    login_material_done(&link->material);
    verdicts_done(&link->verdicts);
    vcenter_done(&link->info);
    free(link->session_account);
    (void)pthread_mutex_destroy(&link->follow_lock);
    remote_done(&link->remote);
    free(link);
}

int link_new(const struct link_env *env, const struct vcenter *vc, struct link **out, struct err *err) {
    struct link *link = calloc(1, sizeof(*link));
    int rc;
    if (!link)
        return err_set(err, ERR_NOMEM, "out of memory");
    link->env = env;
    link->remote.period_ms = env->options.keepalive_ms;
    (void)pthread_mutex_init(&link->follow_lock, NULL);
    rc = remote_init(&link->remote, &link_kind, env->work, vc->id, err);
    link_set_state(link, vc->registered_at_ms ? REMOTE_NEW : REMOTE_IDLE, NULL);
    link->remote.status.since_ms = clock_wall_ms();
    verdicts_forget(&link->verdicts, VERDICT_REACHABLE, clock_wall_ms());
    if (!rc)
        rc = vcenter_copy(vc, &link->info, err);
    link_try_now(link);
    if (!rc)
        rc = link_make_client(link, vc, err);
    if (!rc)
        rc = make_pool(link, vc, err);
    if (!rc)
        rc = watch_ops(link)->make(link, &link->watch, err);
    if (rc) {
        link_free(&link->remote);
        return rc;
    }
    *out = link;
    return 0;
}

static bool same_endpoint(const struct vcenter *a, const struct vcenter *b) {
    return str_eq(a->address, b->address) && a->port == b->port && a->tunnel_port == b->tunnel_port &&
           a->direct_port == b->direct_port && str_eq(a->ca_pem, b->ca_pem) && a->has_pin == b->has_pin &&
           !memcmp(a->pin_sha256, b->pin_sha256, sizeof(a->pin_sha256));
}

void link_get_name(struct link *link, char out[LINK_NAME_BYTES]) {
    LOCKED(&link->remote.lock);
    (void)snprintf(out, LINK_NAME_BYTES, "%s", link->info.name);
}

bool link_set_info(struct link *link, const struct vcenter *vc) {
    struct vcenter copy = {0};
    bool was_registered, needs_new;
    if (vcenter_copy(vc, &copy, NULL))
        return false;
    (void)pthread_mutex_lock(&link->remote.lock);
    needs_new = !same_endpoint(&link->info, vc);
    was_registered = link->info.registered_at_ms != 0;
    vcenter_done(&link->info);
    link->info = copy;
    link_forget_material(link); /* a new credential is told as a change of its vCenter, too */
    link->verdicts.drops_unused = true;
    if (was_registered != (vc->registered_at_ms != 0)) {
        link_try_now(link);
        link->remote.noted_since_ms = clock_mono_ms();
        link_set_state(link, vc->registered_at_ms ? REMOTE_NEW : REMOTE_IDLE, NULL);
        verdicts_forget(&link->verdicts, VERDICT_VALID, clock_wall_ms());
    }
    (void)pthread_mutex_unlock(&link->remote.lock);
    watch_ops(link)->note_link(link->watch, link_get_state(link) != REMOTE_IDLE);
    return needs_new;
}

int link_verify(struct link *link, struct err *err) {
    if (atomic_exchange(&link->is_verified, false))
        return 0;
    return link_read_about(link, err);
}

void link_forget_verified(struct link *link) {
    atomic_store(&link->is_verified, false);
}

int link_connect(struct link *link, struct err *err) {
    const int64_t since_ms = clock_mono_ms();
    int rc = link_read_about(link, err);
    if (!rc && link_get_state(link) != REMOTE_IDLE) {
        atomic_store(&link->is_identity_fresh, true);
        rc = vim_ensure_session(link->client, err);
        atomic_store(&link->is_identity_fresh, false);
        atomic_store(&link->is_verified, !rc);
    }
    return link_note(link, since_ms, rc, err);
}

static int link_contact(struct remote *remote, struct err *err) {
    struct link *link = link_of(remote);
    const int64_t since_ms = clock_mono_ms();
    if (link_get_state(link) != REMOTE_OK)
        return link_connect(link, err);
    return link_note(link, since_ms, vim_keepalive(link->client, err), err);
}

bool link_begin_admin(struct link *link) {
    return !atomic_exchange(&link->is_in_admin, true);
}

void link_end_admin(struct link *link) {
    atomic_store(&link->is_in_admin, false);
}

void link_begin_task(struct link *link) {
    (void)atomic_fetch_add(&link->tasks, 1);
}

void link_end_task(struct link *link) {
    (void)atomic_fetch_sub(&link->tasks, 1);
}

unsigned link_count_tasks(const struct link *link) {
    return atomic_load(&link->tasks);
}

bool link_is_retired(struct link *link) {
    return remote_is_retired(&link->remote);
}

static void link_on_tick(struct remote *remote) {
    struct link *link = link_of(remote);
    if (link_get_state(link) == REMOTE_OK && !link_is_retired(link))
        (void)watch_ops(link)->start(link->watch, NULL); /* without a thread now the next tick tries again */
    if (vim_take_orphan_hint(link->client))
        remote_queue_add(&remote->queue, LINK_WORK_SWEEP, true);
}

static void link_begin_end(struct remote *remote) {
    struct link *link = link_of(remote);
    watch_ops(link)->cancel(link->watch);
}

/* Calls that are under way get a moment to end by themselves; a vCenter that hangs is not waited for. */
static void link_end(struct remote *remote) {
    struct link *link = link_of(remote);
    link_begin_end(remote);
    const bool is_hopeless = link_get_state(link) == REMOTE_FAILING;
    if (!is_hopeless)
        (void)worker_pool_wait_idle(remote->workers, RETIRE_GRACE_MS);
    vim_client_cancel(link->client); /* the watch cleans nothing up: that is what the logout does */
    worker_pool_stop(remote->workers);
    worker_pool_stop(link->machine_workers);
    watch_ops(link)->stop(link->watch);
    if (!is_hopeless) /* else there is nobody to log out from */
        (void)vim_logout_within(link->client, RETIRE_LOGOUT_MS, NULL);
}

static const struct remote_kind link_kind = {
    .name = "vcenter",
    .contact = link_contact,
    .on_tick = link_on_tick,
    .begin_end = link_begin_end,
    .end = link_end,
    .free = link_free,
};
