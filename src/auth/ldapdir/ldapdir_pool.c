/* Asking a directory: which server, whose connection, what happens when one is lost, and which domain it is. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Servers are asked in the order in which they are configured. One that failed is given a rest, growing from one second to a minute, as long as another is
 * there; while all of them rest, questions are refused at once, but for one each time a rest ends. One that failed only once is asked rather than refusing:
 * a connection that is lost is no outage. Who has just met the failure of the last good one tries those that rest as well: one of them may be back. */
#include "ldapdir_pool.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backoff.h"
#include "clock.h"
#include "gss_ticket.h"
#include "ldap_text.h"
#include "log.h"
#include "names.h"
#include "seal.h"
#include "str.h"
#include "uuid.h"

#define IDLE_MS 60000
#define ASK_MS 15000 /* later no further server is tried: somebody waits */
#define BIND_PASSWORD_BYTES_MAX 4096U

static const struct backoff server_rest = {.first_ms = 1000, .max_ms = 60000, .jitter_percent = 20};

/* -- life ------------------------------------------------------------------------------------------------------------------ */

int source_new(struct ldap_row *row, struct ldapdir **out, struct err *err) {
    struct ldapdir *source = calloc(1, sizeof(*source));
    const char *urls;
    if (!source)
        return err_set(err, ERR_NOMEM, "out of memory");
    source->row = *row;
    *row = (struct ldap_row){0};
    atomic_init(&source->refs, 1);
    (void)pthread_mutex_init(&source->lock, NULL);
    source->state = source->row.source.is_disabled ? LDAPDIR_DISABLED : LDAPDIR_UNKNOWN;
    source->since_ms = clock_wall_ms();
    urls = source->row.source.urls;
    while (source->servers_count < LDAP_SOURCE_URLS_MAX &&
           ldap_source_next_url(&urls, &source->servers[source->servers_count].url))
        source->servers_count++;
    *out = source;
    return 0;
}

struct ldapdir *source_ref(struct ldapdir *source) {
    atomic_fetch_add(&source->refs, 1);
    return source;
}

void source_unref(struct ldapdir *source) {
    if (!source || atomic_fetch_sub(&source->refs, 1) != 1)
        return;
    for (size_t i = 0; i < source->idle_count; i++)
        ldap_conn_free(source->idle[i].conn);
    ldap_source_done(&source->row.source);
    free(source->row.sealed);
    (void)pthread_mutex_destroy(&source->lock);
    free(source);
}

/* -- which server ---------------------------------------------------------------------------------------------------------- */

/* A server, and how it was when it was chosen. */
struct choice {
    size_t server;
    unsigned failures;
    bool is_resting;
};

static struct choice choice_of_locked(const struct ldapdir *source, size_t server) {
    return (struct choice){.server = server,
                           .failures = source->servers[server].failures,
                           .is_resting = source->servers[server].retry_at_ms > clock_mono_ms()};
}

/* `tried`: those that this question has tried already, one bit each. A server that rests is chosen if it has failed no more than `failures_max` times. */
static bool choose_locked(struct ldapdir *source, unsigned tried, unsigned failures_max, struct choice *out) {
    for (size_t i = 0; i < source->servers_count; i++) {
        const struct choice choice = choice_of_locked(source, i);
        if ((tried & 1U << i) || (choice.is_resting && choice.failures > failures_max))
            continue;
        if (choice.failures && !choice.is_resting) /* the first to come tries it; others go past until that is known */
            source->servers[i].retry_at_ms = clock_mono_ms() + 2 * source->options->connect_timeout_ms;
        *out = choice;
        return true;
    }
    return false;
}

static int source_choose(struct ldapdir *source, unsigned tried, struct choice *out, struct err *err) {
    int64_t soonest_ms = INT64_MAX;
    bool is_found;
    if (atomic_load(source->is_stopped))
        return err_set(err, ERR_CANCELED, "the service is stopping");
    (void)pthread_mutex_lock(&source->lock);
    is_found = choose_locked(source, tried, 0, out) || choose_locked(source, tried, 1, out) ||
               (tried && choose_locked(source, tried, UINT_MAX, out));
    for (size_t i = 0; i < source->servers_count; i++)
        if (source->servers[i].retry_at_ms < soonest_ms)
            soonest_ms = source->servers[i].retry_at_ms;
    (void)pthread_mutex_unlock(&source->lock);
    if (is_found)
        return 0;
    (void)err_set(err, ERR_UNREACHABLE, "no server of the directory %s answers", source->row.source.name);
    if (err && !err->retry_after_s) {
        const int64_t left_ms = soonest_ms - clock_mono_ms();
        err->retry_after_s = left_ms > 1000 ? (unsigned)((left_ms + 999) / 1000) : 1;
    }
    return ERR_UNREACHABLE;
}

static void set_state_locked(struct ldapdir *source, enum ldapdir_state state) {
    if (source->state != state)
        source->since_ms = clock_wall_ms();
    source->state = state;
}

static void source_note_good(struct ldapdir *source, size_t i, const struct ldap_conn *conn) {
    const struct ldap_url *url = &source->servers[i].url;
    LOCKED(&source->lock);
    source->servers[i].failures = 0;
    source->servers[i].retry_at_ms = 0;
    if (ldap_conn_cert_ends_ms(conn))
        source->servers[i].cert_ends_ms = ldap_conn_cert_ends_ms(conn);
    (void)snprintf(source->server, sizeof(source->server), "%s://%s:%u", url->is_tls ? "ldaps" : "ldap", url->host, url->port);
    set_state_locked(source, LDAPDIR_OK);
}

static bool is_any_good_locked(const struct ldapdir *source) {
    for (size_t i = 0; i < source->servers_count; i++)
        if (!source->servers[i].failures)
            return true;
    return false;
}

/* Takes out the connections to a server that failed: they would make the next ones wait for nothing. */
static size_t purge_idle_locked(struct ldapdir *source, size_t server, struct ldap_conn *out[SOURCE_IDLE_MAX]) {
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < source->idle_count; i++)
        if (source->idle[i].server == server)
            out[count++] = source->idle[i].conn;
        else
            source->idle[kept++] = source->idle[i];
    source->idle_count = kept;
    return count;
}

/* Questions that meet the same failure count it once, whether they were under way or came during the rest. */
static void source_note_bad(struct ldapdir *source, const struct choice *choice, const struct err *why) {
    struct source_server *server = &source->servers[choice->server];
    const uint32_t random_number = random_u32();
    struct ldap_conn *old[SOURCE_IDLE_MAX];
    size_t count;
    (void)pthread_mutex_lock(&source->lock);
    if (!choice->is_resting && server->failures <= choice->failures) {
        server->failures++;
        server->retry_at_ms = clock_mono_ms() + backoff_delay_ms(&server_rest, server->failures, random_number);
    }
    if (!is_any_good_locked(source)) {
        set_state_locked(source, LDAPDIR_FAILING);
        source->why = *why;
    }
    count = purge_idle_locked(source, choice->server, old);
    (void)pthread_mutex_unlock(&source->lock);
    for (size_t k = 0; k < count; k++)
        ldap_conn_free(old[k]);
}

/* -- connections ----------------------------------------------------------------------------------------------------------- */

struct ldap_target source_target(const struct ldapdir *source, const struct ldap_url *url) {
    return (struct ldap_target){.url = url,
                                .ca_file = source->row.source.ca_file,
                                .ca_pem = source->row.source.ca_pem,
                                .connect_timeout_ms = source->options->connect_timeout_ms,
                                .call_timeout_ms = source->options->call_timeout_ms};
}

static int bind_password(struct ldapdir *source, struct ldap_conn *conn, struct err *err) {
    const struct ldap_row *row = &source->row;
    _cleanup_free_ char *purpose = str_format("ldap-bind:%s", row->source.name);
    struct strbuf plain;
    int rc;
    if (!purpose)
        return err_set(err, ERR_NOMEM, "out of memory");
    strbuf_init_secret(&plain, BIND_PASSWORD_BYTES_MAX);
    rc = seal_unseal(source->options->runtime->seal, purpose, row->sealed, row->sealed_bytes, &plain, err);
    if (!rc)
        rc = ldap_conn_bind_password(conn, row->source.bind_dn, plain.data, err);
    strbuf_done(&plain);
    return rc;
}

/* With the server's ticket in the cache the library need not ask a KDC, whose silence it would wait for. What else is wrong, the bind tells. */
static int bind_keytab(struct ldapdir *source, const struct ldap_url *url, struct ldap_conn *conn, struct err *err) {
    const struct gss_account account = {source->row.source.keytab, source->row.source.principal,
                                        source->options->call_timeout_ms};
    _cleanup_(gss_ticket_free) struct gss_ticket *ticket = NULL;
    _cleanup_free_ char *service = str_format("ldap/%s", url->host), *name = NULL;
    enum gss_ticket_fault fault;
    struct err why = {0};
    int rc = service ? gss_ticket_ask(&account, &ticket, &fault, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    rc = gss_ticket_get_service(ticket, service, &name, &fault, &why);
    if (rc == ERR_CANCELED || rc == ERR_BUSY || fault == GSS_TICKET_FAULT_KDC)
        return err_move(err, rc, &why);
    return ldap_conn_bind_gssapi(conn, gss_ticket_get_credential(ticket), err);
}

/* Some servers take Kerberos only where it seals the connection itself, instead of TLS. */
static int bind_sealed(struct ldapdir *source, const struct ldap_url *url, struct ldap_conn **conn, struct err *err) {
    struct ldap_target target = source_target(source, url);
    ldap_conn_free(STEAL(*conn));
    target.is_for_kerberos = true;
    int rc = ldap_conn_open(&target, conn, err);
    return rc ? rc : bind_keytab(source, url, *conn, err);
}

int source_bind(struct ldapdir *source, const struct ldap_url *url, struct ldap_conn **conn, struct err *err) {
    struct err why = {0};
    int rc;
    if (source->row.source.bind == LDAP_BIND_PASSWORD)
        return bind_password(source, *conn, err);
    rc = bind_keytab(source, url, *conn, &why);
    if (rc == ERR_UPSTREAM_DENIED && !url->is_tls)
        return bind_sealed(source, url, conn, err);
    return err_move(err, rc, &why);
}

/* One that is bound and was used lately; the others of its age are closed. */
static struct ldap_conn *source_take_idle(struct ldapdir *source, struct choice *out) {
    const int64_t oldest_ms = clock_mono_ms() - IDLE_MS;
    struct ldap_conn *found = NULL, *old[SOURCE_IDLE_MAX];
    size_t old_count = 0;
    (void)pthread_mutex_lock(&source->lock);
    while (!found && source->idle_count) {
        const struct source_idle *idle = &source->idle[--source->idle_count];
        if (idle->used_at_ms < oldest_ms) {
            old[old_count++] = idle->conn;
            continue;
        }
        found = idle->conn;
        *out = choice_of_locked(source, idle->server);
    }
    (void)pthread_mutex_unlock(&source->lock);
    for (size_t i = 0; i < old_count; i++)
        ldap_conn_free(old[i]);
    return found;
}

static void source_give_idle(struct ldapdir *source, struct ldap_conn *conn, size_t server) {
    (void)pthread_mutex_lock(&source->lock);
    if (source->idle_count < SOURCE_IDLE_MAX)
        source->idle[source->idle_count++] =
            (struct source_idle){.conn = STEAL(conn), .server = server, .used_at_ms = clock_mono_ms()};
    (void)pthread_mutex_unlock(&source->lock);
    ldap_conn_free(conn);
}

/* -- asking ---------------------------------------------------------------------------------------------------------------- */

/* Is it the connection, rather than the question? */
static bool is_loss(int rc) {
    return rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_TLS;
}

struct ldapdir_question {
    source_fn *fn;
    void *arg;
    bool is_bound;
};

/* A wrong password of ours is not the fault of who asks, and must not be taken for theirs. */
static int ldapdir_pool_ours(struct ldapdir *source, int rc, struct err *err) {
    if (rc != ERR_CREDENTIALS)
        return rc;
    if (err) {
        char detail[ERR_TEXT_BYTES];
        (void)snprintf(detail, sizeof(detail), "%s", err->detail);
        err_clear(err);
        (void)err_set(err, ERR_UPSTREAM, "the directory %s does not accept what kaasd binds with", source->row.source.name);
        (void)err_detail(err, "%s", detail);
        (void)err_remedy(err, "an administrator runs: kaasctl ldap test %s", source->row.source.name);
    }
    return ERR_UPSTREAM;
}

/* On a new connection to one server. */
static int source_ask_server(struct ldapdir *source, const struct choice *choice, const struct ldapdir_question *question,
                             bool *is_asked, struct err *err) {
    const struct ldap_url *url = &source->servers[choice->server].url;
    const struct ldap_target target = source_target(source, url);
    _cleanup_(ldap_conn_free) struct ldap_conn *conn = NULL;
    struct err why = {0};
    int rc = ldap_conn_open(&target, &conn, &why);
    *is_asked = false;
    if (!rc && question->is_bound)
        rc = ldapdir_pool_ours(source, source_bind(source, url, &conn, &why), &why);
    if (!rc) {
        rc = question->fn(conn, question->arg, &why);
        *is_asked = !is_loss(rc);
    }
    if (*is_asked)
        source_note_good(source, choice->server, conn);
    else
        source_note_bad(source, choice, &why);
    if (*is_asked && question->is_bound)
        source_give_idle(source, STEAL(conn), choice->server);
    return err_move(err, rc, &why);
}

/* On a connection that is there already; *is_done is false if there was none, or what there was is lost. */
static int source_ask_idle(struct ldapdir *source, const struct ldapdir_question *question, bool *is_done, struct err *err) {
    struct choice choice = {0};
    struct ldap_conn *conn;
    *is_done = false;
    while (!*is_done && (conn = source_take_idle(source, &choice)) != NULL) {
        struct err why = {0};
        int rc = question->fn(conn, question->arg, &why);
        *is_done = !is_loss(rc);
        if (*is_done) {
            source_give_idle(source, conn, choice.server);
            return err_move(err, rc, &why);
        }
        ldap_conn_free(conn);
        if (rc == ERR_TIMEOUT) /* else it was closed while it rested, which says nothing about the server */
            source_note_bad(source, &choice, &why);
    }
    return 0;
}

static int source_ask_any(struct ldapdir *source, const struct ldapdir_question *question, struct err *err) {
    const int64_t until_ms = clock_mono_ms() + ASK_MS;
    unsigned tried = 0;
    struct err why = {0};
    bool is_done = false;
    int rc = question->is_bound ? source_ask_idle(source, question, &is_done, &why) : 0;
    while (!is_done) {
        struct err next = {0};
        struct choice choice = {0};
        int found = source_choose(source, tried, &choice, &next);
        if (found) { /* what the last one said is worth more */
            rc = rc ? rc : found;
            why = why.code ? why : next;
            break;
        }
        tried |= 1U << choice.server;
        err_clear(&why);
        rc = source_ask_server(source, &choice, question, &is_done, &why);
        is_done = is_done || clock_mono_ms() > until_ms;
    }
    return err_move(err, rc, &why);
}

int source_ask(struct ldapdir *source, source_fn *fn, void *arg, struct err *err) {
    return source_ask_any(source, &(struct ldapdir_question){.fn = fn, .arg = arg, .is_bound = true}, err);
}

int source_ask_fresh(struct ldapdir *source, source_fn *fn, void *arg, struct err *err) {
    return source_ask_any(source, &(struct ldapdir_question){.fn = fn, .arg = arg}, err);
}

/* -- looking after it ------------------------------------------------------------------------------------------------------ */

static int ldapdir_pool_ignore(void *arg, const struct ldap_entry *entry, struct err *err) {
    (void)arg;
    (void)entry;
    (void)err;
    return 0;
}

/* The entry below which people are looked for: readable by those who may look for them. */
static int source_look(struct ldap_conn *conn, void *arg, struct err *err) {
    static const char *const attrs[] = {"1.1", NULL}; /* none: RFC 4511 4.5.1.8 */
    const struct ldapdir *source = arg;
    const struct ldap_query query = {.base = source->row.source.search_base,
                                     .scope = LDAP_SEARCH_BASE,
                                     .filter = "(objectClass=*)",
                                     .attrs = attrs,
                                     .entries_max = 1};
    return ldap_conn_search(conn, &query, ldapdir_pool_ignore, NULL, err);
}

void source_probe(struct ldapdir *source) {
    struct err err = {0};
    if (source_ask(source, source_look, source, &err))
        log_error(LOG_LEVEL_DEBUG, "directory_probe_failed", &err, "directory", source->row.source.name, NULL);
}

/* -- "DOMAIN\user", as Windows writes names: is that the domain of this directory? --------------------------------- */

/* The NetBIOS name of a domain stands in the configuration partition of its forest, in the cross reference to the domain (MS-ADTS 6.1.1.2.1.1.3); it never changes while
 * kaasd runs, and so is asked for once. */

#define FILTER_BYTES_MAX 4096U

struct asking {
    const char *attr;
    char *text;
};

static int source_take_text(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct asking *asking = arg;
    (void)err;
    if (!asking->text)
        asking->text = ldap_entry_text(entry, asking->attr);
    return 0;
}

int source_ask_root(struct ldap_conn *conn, const char *attr, char **out, struct err *err) {
    const char *const attrs[] = {attr, NULL};
    const struct ldap_query query = {
        .base = "", .scope = LDAP_SEARCH_BASE, .filter = "(objectClass=*)", .attrs = attrs, .entries_max = 1};
    struct asking asking = {.attr = attr};
    int rc = ldap_conn_search(conn, &query, source_take_text, &asking, err);
    *out = asking.text;
    return rc;
}

static int ask_partition(struct ldap_conn *conn, const char *configuration, const char *domain, char **out, struct err *err) {
    static const char *const attrs[] = {"nETBIOSName", NULL};
    _cleanup_free_ char *base = str_format("CN=Partitions,%s", configuration);
    struct ldap_query query = {.base = base, .scope = LDAP_SEARCH_SUBTREE, .attrs = attrs, .entries_max = 2};
    struct asking asking = {.attr = "nETBIOSName"};
    _cleanup_strbuf_ struct strbuf filter;
    int rc;
    strbuf_init(&filter, FILTER_BYTES_MAX);
    strbuf_adds(&filter, "(&(objectClass=crossRef)(nETBIOSName=*)(nCName=");
    ldap_text_filter(&filter, domain, strlen(domain));
    strbuf_adds(&filter, "))");
    rc = base ? strbuf_check(&filter, "search filter", err) : err_set(err, ERR_NOMEM, "out of memory");
    query.filter = filter.data;
    if (!rc)
        rc = ldap_conn_search(conn, &query, source_take_text, &asking, err);
    *out = asking.text;
    return rc;
}

static int ask_domain(struct ldap_conn *conn, void *arg, struct err *err) {
    struct ldapdir *source = arg;
    _cleanup_free_ char *configuration = NULL, *domain = NULL, *name = NULL;
    int rc = source_ask_root(conn, "configurationNamingContext", &configuration, err);
    if (!rc)
        rc = source_ask_root(conn, "defaultNamingContext", &domain, err);
    if (!rc && configuration && domain)
        rc = ask_partition(conn, configuration, domain, &name, err);
    if (rc || !name || strlen(name) >= sizeof(source->domain))
        return rc;
    LOCKED(&source->lock);
    (void)snprintf(source->domain, sizeof(source->domain), "%s", name);
    return 0;
}

static bool is_known_domain(struct ldapdir *source, const char *domain) {
    LOCKED(&source->lock);
    return name_same(source->domain, domain);
}

/* By its NetBIOS name, or by its DNS name, where that is a realm that the directory serves. */
static int is_domain(struct ldapdir *source, const char *domain, bool *out, struct err *err) {
    bool is_asked;
    *out = ldap_source_serves(&source->row.source, domain) || is_known_domain(source, domain);
    (void)pthread_mutex_lock(&source->lock);
    is_asked = source->domain[0] != '\0';
    (void)pthread_mutex_unlock(&source->lock);
    if (*out || is_asked || source->row.source.kind != LDAP_KIND_AD)
        return 0;
    int rc = source_ask(source, ask_domain, source, err);
    *out = !rc && is_known_domain(source, domain);
    return rc;
}

int source_skip_domain(struct ldapdir *source, const char *name, const char **rest, struct err *err) {
    const char *end = strchr(name, '\\');
    _cleanup_free_ char *domain = end ? strndup(name, (size_t)(end - name)) : NULL;
    bool is_ours = false;
    int rc;
    *rest = name;
    if (!end)
        return 0;
    rc = domain ? is_domain(source, domain, &is_ours, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    *rest = end + 1;
    if (is_ours && end[1])
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "\"%.60s\" is not the domain of the directory %s", domain, source->row.source.name);
    return err_remedy(err, "write the name alone, or as NAME@REALM, or choose the directory of that domain");
}
