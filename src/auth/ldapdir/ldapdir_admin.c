/* Directories as administrators have them: adding, changing, removing, and looking for what is wrong. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ldapdirs_private.h"
#include "ldapdir_people.h"
#include "ldap_text.h"
#include "limits.h"
#include "net_addr.h"
#include "seal.h"
#include "str.h"
#include "x509.h"

#define SEALED_BYTES_MAX 4096U
#define NO_AUTH_DATA_REQUIRED 0x2000000LL /* userAccountControl (MS-ADTS 2.2.16) */
#define FILTER_BYTES_MAX 16384U
#define SERVICES_MAX 100U

/* -- adding, changing, removing -------------------------------------------------------------------------------------------- */

static struct audit_record admin_make_line(const struct actor *actor, const char *action, const char *name, const char *reason) {
    return audit_record_make(
        actor, &(struct audit_event){
                   .action = action, .object_kind = "directory", .object_id = name, .object_name = name, .reason = reason});
}

int ldapdir_finish(struct ldapdirs *ldapdirs, const struct audit_record *line, int rc, const struct err *why) {
    const struct ldapdir_options *options = &ldapdirs->options;
    if (rc)
        audit_store_append_outcome(options->runtime->store, line, rc, why);
    else
        runtime_note_written(options->runtime);
    return rc;
}

static int admin_finish(struct ldapdirs *ldapdirs, const struct audit_record *line, int rc, const struct err *why) {
    if (!rc)
        (void)ldapdir_sync(ldapdirs, NULL); /* else the change feed brings it */
    return ldapdir_finish(ldapdirs, line, rc, why);
}

static int seal_password(struct ldapdirs *ldapdirs, const char *password, struct ldap_row *row, struct err *err) {
    _cleanup_free_ char *purpose = str_format("ldap-bind:%s", row->source.name);
    _cleanup_strbuf_ struct strbuf sealed;
    int rc;
    strbuf_init(&sealed, SEALED_BYTES_MAX);
    if (!purpose)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = seal_seal(ldapdirs->options.runtime->seal, purpose, password, strlen(password), &sealed, err);
    if (rc)
        return rc;
    free(row->sealed);
    row->sealed_bytes = sealed.len;
    row->sealed = (uint8_t *)strbuf_steal(&sealed);
    row->source.has_password = true;
    return 0;
}

/* What the wish makes of a row: its sealed password stays, unless there is a new one. */
static int admin_apply(struct ldapdirs *ldapdirs, const struct ldapdir_wish *wish, struct ldap_row *row, struct err *err) {
    const size_t password_bytes = wish->password ? strlen(wish->password) : 1;
    struct ldap_source wanted;
    int rc;
    if (!password_bytes || password_bytes > KAAS_PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE,
                       "bind_password must have 1 to %d bytes: an empty one would be no proof (RFC 4513 5.1.2)",
                       KAAS_PASSWORD_BYTES_MAX);
    rc = ldap_source_copy(&wish->source, &wanted, err);
    if (rc)
        return rc;
    wanted.created_at_ms = row->source.created_at_ms;
    wanted.version_no = row->source.version_no;
    wanted.updated_at_ms = clock_wall_ms();
    ldap_source_done(&row->source);
    row->source = wanted;
    if (wanted.bind != LDAP_BIND_PASSWORD) {
        free(STEAL(row->sealed));
        row->sealed_bytes = 0;
    }
    row->source.has_password = row->sealed != NULL || wish->password;
    rc = ldap_source_check(&row->source, err);
    if (!rc && wish->password && row->source.bind == LDAP_BIND_PASSWORD)
        rc = seal_password(ldapdirs, wish->password, row, err);
    return rc;
}

/* A password goes to whom it was given for: whoever may change addresses must not learn it by naming a server of their own. */
static int check_old_password(const struct ldap_row *row, const struct ldapdir_wish *wish, struct err *err) {
    const struct ldap_source *was = &row->source, *wanted = &wish->source;
    if (!row->sealed || wish->password || wanted->bind != LDAP_BIND_PASSWORD)
        return 0;
    if (str_eq(was->urls, wanted->urls) && str_eq(was->ca_file, wanted->ca_file) && str_eq(was->ca_pem, wanted->ca_pem) &&
        str_eq(was->bind_dn, wanted->bind_dn))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "bind_password must be given again with other servers, another CA or another bind_dn");
    return err_remedy(err, "it is stored for what was there before, and is not sent anywhere else");
}

int ldapdir_add(struct ldapdirs *ldapdirs, const struct actor *actor, const struct ldapdir_wish *wish, struct err *err) {
    _cleanup_(ldap_row_free) struct ldap_row *row = calloc(1, sizeof(*row));
    const struct audit_record line = admin_make_line(actor, "directory.create", wish->source.name, wish->source.urls);
    size_t count;
    int rc;
    if (!row)
        return err_set(err, ERR_NOMEM, "out of memory");
    (void)pthread_mutex_lock(&ldapdirs->lock);
    count = ldapdirs->count;
    (void)pthread_mutex_unlock(&ldapdirs->lock);
    if (count >= LDAPDIR_MAX)
        return err_set(err, ERR_CONFLICT, "there are %d directories already", LDAPDIR_MAX);
    rc = admin_apply(ldapdirs, wish, row, err);
    if (rc)
        return rc;
    row->source.created_at_ms = row->source.updated_at_ms;
    return admin_finish(ldapdirs, &line, ldap_store_insert(ldapdirs->options.runtime->store, row, &line, err), err);
}

int ldapdir_change(struct ldapdirs *ldapdirs, const struct actor *actor, const struct ldapdir_wish *wish, struct err *err) {
    _cleanup_(ldap_row_free) struct ldap_row *row = NULL;
    const struct audit_record line = admin_make_line(actor, "directory.change", wish->source.name, wish->source.urls);
    int rc = ldap_store_load(ldapdirs->options.runtime->store, wish->source.name, &row, err);
    if (rc)
        return rc;
    if (wish->source.version_no != row->source.version_no) {
        (void)err_set(err, ERR_PRECONDITION, "the directory has been changed since it was read; nothing was done");
        return err_remedy(err, "read it again and repeat the change");
    }
    rc = check_old_password(row, wish, err);
    if (!rc)
        rc = admin_apply(ldapdirs, wish, row, err);
    if (rc)
        return rc;
    return admin_finish(ldapdirs, &line, ldap_store_update(ldapdirs->options.runtime->store, row, &line, err), err);
}

int ldapdir_remove(struct ldapdirs *ldapdirs, const struct actor *actor, const char *name, int64_t version_no, struct err *err) {
    const struct audit_record line = admin_make_line(actor, "directory.remove", name, NULL);
    const struct ldap_removal removal = {.name = name, .version_no = version_no, .audit = &line};
    int rc = ldap_store_delete(ldapdirs->options.runtime->store, &removal, err);
    if (rc == ERR_PRECONDITION)
        (void)err_remedy(err, "read it again and repeat the removal");
    return admin_finish(ldapdirs, &line, rc, err);
}

/* -- looking for what is wrong ------------------------------------------------------------------------------------------------ */

/* A test uses connections of its own and looks at each server, so it answers while the worker pool of the directory is full of questions that hang. It changes
 * nothing. */

void ldapdir_test_done(struct ldapdir_test *test) {
    if (!test)
        return;
    findings_done(&test->findings);
    *test = (struct ldapdir_test){0};
}

/* -- steps ----------------------------------------------------------------------------------------------------------------- */

struct ldapdir_visit {
    struct ldapdir *source;
    struct ldapdir_test *test;
    const struct ldap_url *url;
    const struct ldapdir_test_wish *wish;
    struct net_addresses addresses;
    struct ldap_conn *conn;
    struct account account;
};

/* The administrator may know what the one who signs in must not: the detail goes along. */
static void say_error(struct finding *f, const struct err *err, const char *remedy) {
    if (err->detail[0])
        finding_say(f, FINDING_FAILED, "%.300s (%.200s)", err->text, err->detail);
    else
        finding_say(f, FINDING_FAILED, "%s", err->text);
    finding_advise(f, "%s", err->remedy[0] ? err->remedy : remedy);
}

static void ldapdir_admin_look_name(struct ldapdir_visit *v, struct finding *f) {
    struct err err = {0};
    if (net_lookup_name(v->url->host, v->source->options->connect_timeout_ms, &v->addresses, &err)) {
        (void)err_remedy(&err, "correct the address (kaasctl ldap set %s --url URL), or the name servers of this host",
                         v->source->row.source.name);
        say_error(f, &err, err.remedy);
    } else if (str_eq(v->url->host, v->addresses.items[0])) {
        finding_say(f, FINDING_OK, "%s is an address, no name has to be looked up", v->url->host);
    } else {
        finding_say(f, FINDING_OK, "%s is %s%s", v->url->host, v->addresses.items[0],
                    v->addresses.count > 1 ? " and others" : "");
    }
}

static void look_port(struct ldapdir_visit *v, struct finding *f) {
    struct err err = {0};
    int rc = ERR_UNREACHABLE;
    for (size_t i = 0; rc && i < v->addresses.count; i++) {
        err_clear(&err);
        rc = net_probe_port(v->addresses.items[i], v->url->port, v->source->options->connect_timeout_ms, &err);
    }
    if (rc)
        say_error(
            f, &err,
            "see that the directory runs, and that no firewall is between: 636 for ldaps://, 389 for ldap:// with StartTLS");
    else
        finding_say(f, FINDING_OK, "port %u is open", v->url->port);
}

static void look_tls(struct ldapdir_visit *v, struct finding *f) {
    const struct ldap_target target = source_target(v->source, v->url);
    struct err err = {0};
    int64_t left_ms;
    if (ldap_conn_open(&target, &v->conn, &err)) {
        say_error(f, &err, "see that the server's certificate is valid and names the host of its address, and give its CA");
        return;
    }
    left_ms = ldap_conn_cert_ends_ms(v->conn) - clock_wall_ms();
    finding_say(f, FINDING_OK, "%s, the certificate is trusted%s", v->url->is_tls ? "TLS" : "StartTLS",
                ldap_conn_cert_ends_ms(v->conn) ? "" : "; when it ends is not known");
    if (ldap_conn_cert_ends_ms(v->conn) && left_ms < X509_EXPIRY_WARNING_MS) {
        finding_say(f, FINDING_WARNING, "the certificate is trusted, but ends in %lld days", (long long)(left_ms / CLOCK_DAY_MS));
        finding_advise(f, "renew it at the directory; with one that has ended nobody signs in by it");
    }
}

static void look_bind(struct ldapdir_visit *v, struct finding *f) {
    const struct ldap_source *s = &v->source->row.source;
    const bool is_keytab = s->bind == LDAP_BIND_KEYTAB;
    struct err err = {0};
    if (source_bind(v->source, v->url, &v->conn, &err)) {
        if (is_keytab)
            (void)err_remedy(&err, "see " DOC_PAGE("admin/identity.md") " for the keytab");
        else
            (void)err_remedy(
                &err, "set the account's DN and password again: kaasctl ldap set %s --bind-dn DN --bind-password-file FILE",
                s->name);
        say_error(f, &err, err.remedy);
    } else {
        finding_say(f, FINDING_OK, "as %.300s, by %s", is_keytab ? s->principal : s->bind_dn, ldap_bind_name(s->bind));
    }
}

static int ldapdir_admin_count_entry(void *arg, const struct ldap_entry *entry, struct err *err) {
    (void)entry;
    (void)err;
    ++*(unsigned *)arg;
    return 0;
}

static void look_base(struct ldapdir_visit *v, struct finding *f) {
    static const char *const attrs[] = {"1.1", NULL};
    const char *base = v->source->row.source.search_base;
    const struct ldap_query query = {
        .base = base, .scope = LDAP_SEARCH_BASE, .filter = "(objectClass=*)", .attrs = attrs, .entries_max = 1};
    struct err err = {0};
    unsigned count = 0;
    if (ldap_conn_search(v->conn, &query, ldapdir_admin_count_entry, &count, &err)) {
        say_error(f, &err, "see that the account may read the directory");
        return;
    }
    finding_say(f, count ? FINDING_OK : FINDING_FAILED, count ? "%.400s is there" : "%.400s is not there, or must not be read",
                base);
    if (!count)
        finding_advise(f, "correct the search base, or let the account read it");
}

static void look_user(struct ldapdir_visit *v, struct finding *f) {
    struct err err = {0};
    if (account_find(v->conn, &v->source->row.source, v->wish->user, &v->account, &err)) {
        say_error(f, &err, "see that user_filter is right, and that the account may read people");
        return;
    }
    if (!v->account.dn) {
        finding_say(f, FINDING_FAILED, "no account, or several, of the name %.200s", v->wish->user);
        finding_advise(
            f,
            "see that the person is below search_base, that user_filter fits, and that the account may read objectSid (AD) or entryUUID");
        return;
    }
    finding_say(f, FINDING_OK, "%.200s is %.200s", v->account.dn, v->account.id);
    if (*v->account.refusal) {
        finding_say(f, FINDING_WARNING, "%.200s is there, but may not sign in: %s", v->account.dn, v->account.refusal);
        finding_advise(f, "that is for the administrators of the directory");
    }
}

static void look_groups(struct ldapdir_visit *v, struct finding *f) {
    struct group_set groups = {0};
    struct err err = {0};
    if (account_groups(v->conn, &v->source->row.source, &v->account, &groups, &err)) {
        say_error(f, &err,
                  "see that the account may read groups (in AD: tokenGroups, by the group Windows Authorization Access Group)");
        return;
    }
    finding_say(f, groups.count ? FINDING_OK : FINDING_WARNING, "%zu group%s%s%.200s%s", groups.count,
                groups.count == 1 ? "" : "s", groups.count ? ", such as " : "", groups.count ? groups.ids[0] : "",
                groups.count ? "" : " that may give a role");
    if (!groups.count)
        finding_advise(
            f,
            "see that the account may read groups (in AD: tokenGroups, by the group Windows Authorization Access Group; elsewhere: "
            "member or memberOf), and group_base and group_filter");
    group_set_done(&groups);
}

/* The name of a service, of a realm of this directory, that the keytab has keys for; the first of its keys stands for all. */
static bool is_our_service(const struct ldapdir_visit *v, const char *const *principal) {
    const char *const *first = v->wish->principals;
    const char *at = strrchr(*principal, '@');
    while (!str_eq(*first, *principal))
        first++;
    return first == principal && at && strchr(*principal, '/') && ldap_source_serves(&v->source->row.source, at + 1);
}

static bool has_service(const struct ldapdir_visit *v) {
    for (size_t i = 0; i < v->wish->principals_count; i++)
        if (v->source->row.source.kind == LDAP_KIND_AD && is_our_service(v, &v->wish->principals[i]))
            return true;
    return false;
}

struct services {
    unsigned count;
    char without_pac[128]; /* one whose tickets have none; "": all have */
};

static int test_take_service(void *arg, const struct ldap_entry *entry, struct err *err) {
    struct services *services = arg;
    _cleanup_free_ char *name = ldap_entry_text(entry, "sAMAccountName");
    (void)err;
    services->count++;
    if (ldap_entry_number(entry, "userAccountControl", 0) & NO_AUTH_DATA_REQUIRED)
        (void)snprintf(services->without_pac, sizeof(services->without_pac), "%s", name ? name : "an account");
    return 0;
}

static int find_services(struct ldapdir_visit *v, struct services *out, struct err *err) {
    static const char *const attrs[] = {"sAMAccountName", "userAccountControl", NULL};
    const struct ldapdir_test_wish *wish = v->wish;
    _cleanup_free_ char *domain = NULL;
    struct ldap_query query = {.scope = LDAP_SEARCH_SUBTREE, .attrs = attrs, .entries_max = SERVICES_MAX};
    _cleanup_strbuf_ struct strbuf filter;
    int rc;
    strbuf_init(&filter, FILTER_BYTES_MAX);
    strbuf_adds(&filter, "(|");
    for (size_t i = 0; i < wish->principals_count; i++) {
        const char *principal = wish->principals[i];
        if (!is_our_service(v, &wish->principals[i]))
            continue;
        strbuf_adds(&filter, "(servicePrincipalName=");
        ldap_text_filter(&filter, principal, (size_t)(strrchr(principal, '@') - principal));
        strbuf_addc(&filter, ')');
    }
    strbuf_addc(&filter, ')');
    rc = strbuf_check(&filter, "search filter", err);
    if (!rc) /* the service's account is seldom where people are */
        rc = source_ask_root(v->conn, "defaultNamingContext", &domain, err);
    if (rc)
        return rc;
    query.base = domain ? domain : v->source->row.source.search_base;
    query.filter = filter.data;
    return ldap_conn_search(v->conn, &query, test_take_service, out, err);
}

static void look_services(struct ldapdir_visit *v, struct finding *f) {
    struct services services = {0};
    struct err err = {0};
    if (find_services(v, &services, &err)) {
        say_error(f, &err, "see that the account may read userAccountControl of the accounts that bear the names of the keytab");
        f->status = FINDING_WARNING; /* people sign in all the same */
        return;
    }
    finding_say(f, FINDING_OK,
                services.count ? "tickets for us come with groups" : "no account that may be read bears a name of the keytab");
    if (!*services.without_pac)
        return;
    finding_say(f, FINDING_WARNING, "tickets for %.100s come without groups: it has NO_AUTH_DATA_REQUIRED%s",
                services.without_pac, v->wish->requires_pac ? ", and auth.kerberos.require_pac refuses them" : "");
    finding_advise(f, "clear the bit 0x2000000 of userAccountControl of that account; people get new tickets then");
}

/* In the order in which they are done; each needs that none before it has failed. */
static const struct ldapdir_step {
    const char *name, *title;
    void (*look)(struct ldapdir_visit *v, struct finding *f);
} steps[] = {
    {"name", "Name resolution", ldapdir_admin_look_name},
    {"connect", "Connection", look_port},
    {"tls", "TLS", look_tls},
    {"bind", "Our account", look_bind},
    {"base", "Search base", look_base},
    {"kerberos", "Kerberos tickets", look_services},
    {"user", "Person", look_user},
    {"groups", "Groups", look_groups},
};

static bool test_is_wanted(const struct ldapdir_visit *v, const struct ldapdir_step *step) {
    if (step->look == look_user || step->look == look_groups)
        return v->wish->user;
    return step->look != look_services || has_service(v);
}

/* What it came to. */
static enum finding_status ldapdir_admin_test_judge(struct ldapdir_visit *v, const struct ldapdir_step *step,
                                                    const struct ldapdir_step *failed) {
    const int64_t begin_ms = clock_mono_ms();
    struct finding f = {.status = FINDING_SKIPPED};
    (void)snprintf(f.step, sizeof(f.step), "%s", step->name);
    (void)snprintf(f.title, sizeof(f.title), "%s", step->title);
    (void)snprintf(f.subject, sizeof(f.subject), "%s://%s:%u", v->url->is_tls ? "ldaps" : "ldap", v->url->host, v->url->port);
    if (failed)
        finding_say(&f, FINDING_SKIPPED, "needs \"%s\"", failed->title);
    else
        step->look(v, &f);
    f.duration_ms = clock_mono_ms() - begin_ms;
    findings_add(&v->test->findings, &f);
    return f.status;
}

static void ldapdir_admin_test_walk(struct ldapdir_visit *v) {
    const struct ldapdir_step *failed = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++)
        if (test_is_wanted(v, &steps[i]) && ldapdir_admin_test_judge(v, &steps[i], failed) == FINDING_FAILED)
            failed = &steps[i];
    ldap_conn_free(STEAL(v->conn));
    account_done(&v->account);
}

/* Also a source that is disabled: so it can be looked at before it is used. */
static struct ldapdir *ldapdir_admin_find_any(struct ldapdirs *ldapdirs, const char *name) {
    LOCKED(&ldapdirs->lock);
    for (size_t i = 0; i < ldapdirs->count; i++)
        if (str_eq(ldapdirs->sources[i]->row.source.name, name))
            return source_ref(ldapdirs->sources[i]);
    return NULL;
}

int ldapdir_test(struct ldapdirs *ldapdirs, const struct ldapdir_test_wish *wish, struct ldapdir_test *out, struct err *err) {
    _cleanup_(source_unref) struct ldapdir *source = ldapdir_admin_find_any(ldapdirs, wish->name);
    struct ldapdir_test test = {.checked_at_ms = clock_wall_ms()};
    const int64_t begin_ms = clock_mono_ms();
    if (!source)
        return err_set(err, ERR_NOT_FOUND, "there is no directory named %.40s", wish->name);
    (void)snprintf(test.name, sizeof(test.name), "%s", source->row.source.name);
    for (size_t i = 0; i < source->servers_count; i++) {
        struct ldapdir_visit visit = {.source = source, .test = &test, .url = &source->servers[i].url, .wish = wish};
        ldapdir_admin_test_walk(&visit);
    }
    test.worst = findings_worst(&test.findings, 0);
    test.duration_ms = clock_mono_ms() - begin_ms;
    if (findings_check(&test.findings, err)) {
        ldapdir_test_done(&test);
        return ERR_NOMEM;
    }
    *out = test;
    return 0;
}

/* -- health -------------------------------------------------------------------------------------------------------------- */

static void health_check_directory(const struct ldapdir_report *report, struct findings *out) {
    struct finding f = {.step = "directory", .since_ms = report->since_ms};
    const int64_t left_ms = report->certificate_end_ms - clock_wall_ms();
    if (report->state == LDAPDIR_DISABLED)
        return;
    (void)snprintf(f.subject, sizeof(f.subject), "%s", report->source.name);
    if (report->state == LDAPDIR_FAILING) {
        finding_say_error(&f, FINDING_WARNING, &report->why);
        if (!f.remedy[0])
            finding_advise(&f, "see which step fails: kaasctl ldap test %s", report->source.name);
    } else if (report->certificate_end_ms && left_ms <= X509_EXPIRY_WARNING_MS) {
        finding_say(&f, FINDING_WARNING, "the certificate of the directory %s ends in %lld days", report->source.name,
                    (long long)(left_ms > 0 ? left_ms / CLOCK_DAY_MS : 0));
        finding_advise(&f, "renew it at the directory; with one that has ended nobody signs in by it");
    }
    findings_add(out, &f);
}

void ldapdir_check_health(struct ldapdirs *ldapdirs, struct findings *out) {
    struct ldapdir_report_list list = {0};
    if (ldapdir_list(ldapdirs, &list, NULL))
        return;
    for (size_t i = 0; i < list.count; i++)
        health_check_directory(&list.items[i], out);
    ldapdir_report_list_done(&list);
}
