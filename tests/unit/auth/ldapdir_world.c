/* Directories in memory for tests of src/auth/ldapdir. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdarg.h>
#include <strings.h>

#include "clock.h"
#include "gss_ticket.h"
#include "ldapdir_world.h"
#include "ldap_conn.h"
#include "ldap_store.h"
#include "ldap_text.h"
#include "names.h"
#include "sid_bytes.h"
#include "seal.h"
#include "str.h"

#define VALUE_BYTES_MAX 4096U

struct ldapdir_world iw;

struct ldap_conn {
    char host[254];
    const char *dn; /* bound as; NULL: nobody */
};

struct ldap_entry {
    const struct world_entry *entry;
};

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...) {
    size_t n = strlen(iw.log);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(iw.log + n, sizeof(iw.log) - n, fmt, args);
    va_end(args);
}

/* -- connections ----------------------------------------------------------------------------------------------------------------- */

void ldap_conn_prepare(void) {}

int ldap_conn_open(const struct ldap_target *target, struct ldap_conn **out, struct err *err) {
    char host[8] = "";
    struct ldap_conn *conn;
    (void)snprintf(host, sizeof(host), "%.3s", target->url->host);
    note("open %s\n", host);
    if (iw.dead_hosts && strstr(iw.dead_hosts, host)) {
        iw.refused++;
        return err_set(err, iw.dead_code ? iw.dead_code : ERR_UNREACHABLE, "%s is dead", host);
    }
    iw.opened++;
    conn = calloc(1, sizeof(*conn));
    assert_non_null(conn);
    (void)snprintf(conn->host, sizeof(conn->host), "%s", host);
    *out = conn;
    return 0;
}

void ldap_conn_free(struct ldap_conn *conn) {
    if (!conn)
        return;
    iw.closed++;
    free(conn);
}

int64_t ldap_conn_cert_ends_ms(const struct ldap_conn *conn) {
    (void)conn;
    return 0;
}

/* As a server does: an empty password is a bind as nobody, and succeeds (RFC 4513 5.1.2). */
int ldap_conn_bind_password(struct ldap_conn *conn, const char *dn, const char *password, struct err *err) {
    note("bind %s\n", dn);
    iw.binds++;
    conn->dn = NULL;
    if (!*password)
        return 0;
    if (str_eq(dn, "kaas@ad.test") || str_eq(dn, "cn=kaas,dc=lab,dc=test")) {
        conn->dn = "kaas";
        return str_eq(password, iw.own_password) ? 0 : err_set(err, ERR_CREDENTIALS, "refused");
    }
    for (size_t i = 0; iw.entries[i]; i++)
        if (str_eq(iw.entries[i]->dn, dn) && str_eq(iw.entries[i]->password, password)) {
            conn->dn = iw.entries[i]->dn;
            return 0;
        }
    (void)err_set(err, ERR_CREDENTIALS, "refused");
    (void)err_detail(err, "wrong password");
    return ERR_CREDENTIALS;
}

int ldap_conn_bind_gssapi(struct ldap_conn *conn, void *credential, struct err *err) {
    (void)conn;
    (void)credential;
    return err_set(err, ERR_INTERNAL, "no source of this world has a keytab");
}

/* -- entries --------------------------------------------------------------------------------------------------------------------- */

char *ldap_entry_dn(const struct ldap_entry *entry) {
    return str_dup(entry->entry->dn);
}

static const char *find(const struct world_entry *entry, const char *attr) {
    for (size_t i = 0; i < WORLD_VALUES_MAX && entry->values[i].attr; i++)
        if (str_eq_nocase(entry->values[i].attr, attr))
            return entry->values[i].text;
    return NULL;
}

char *ldap_entry_text(const struct ldap_entry *entry, const char *attr) {
    return str_dup(find(entry->entry, attr));
}

int64_t ldap_entry_number(const struct ldap_entry *entry, const char *attr, int64_t fallback) {
    int64_t number = fallback;
    const char *text = find(entry->entry, attr);
    return text && str_to_i64(text, INT64_MIN, INT64_MAX, &number) ? number : fallback;
}

/* Of objectSid and tokenGroups, whatever is no SID is told as it is. */
int ldap_entry_each(const struct ldap_entry *entry, const char *attr, ldap_value_fn *fn, void *arg, struct err *err) {
    const struct world_entry *e = entry->entry;
    int rc = 0;
    for (size_t i = 0; !rc && i < WORLD_VALUES_MAX && e->values[i].attr; i++) {
        const char *text = e->values[i].text;
        uint8_t bytes[LDAP_SID_BYTES_MAX];
        size_t n = strlen(text);
        if (!str_eq_nocase(e->values[i].attr, attr))
            continue;
        if (sid_bytes(text, bytes, &n))
            rc = fn(arg, bytes, n, err);
        else if (str_eq(attr, "objectGUID") && ldap_text_guid_bytes(text, bytes))
            rc = fn(arg, bytes, 16, err);
        else
            rc = fn(arg, text, strlen(text), err);
    }
    return rc;
}

/* -- filters (RFC 4515) ------------------------------------------------------------------------------------------------------------- */

/* The value up to the parenthesis, unescaped. */
static void read_value(const char **at, char out[VALUE_BYTES_MAX]) {
    size_t n = 0;
    for (; **at && **at != ')'; (*at)++) {
        uint8_t byte = (uint8_t) * *at;
        assert_true(n + 1 < VALUE_BYTES_MAX);
        if (byte == '\\') {
            char hex[3] = {(*at)[1], (*at)[2], '\0'};
            byte = (uint8_t)strtoul(hex, NULL, 16);
            *at += 2;
        }
        out[n++] = (char)byte;
    }
    out[n] = '\0';
}

static bool has_value(const struct world_entry *entry, const char *attr, const char *value) {
    for (size_t i = 0; i < WORLD_VALUES_MAX && entry->values[i].attr; i++)
        if (str_eq_nocase(entry->values[i].attr, attr) && name_same(entry->values[i].text, value))
            return true;
    return false;
}

static bool passes_item(const struct world_entry *entry, const char **at) {
    char attr[64] = "", value[VALUE_BYTES_MAX];
    size_t n = strcspn(*at, "=");
    bool is_any;
    assert_true(n < sizeof(attr));
    memcpy(attr, *at, n);
    *at += n + 1;
    is_any = **at == '*' && (*at)[1] == ')';
    read_value(at, value);
    if (is_any)
        return str_eq_nocase(attr, "objectClass") || find(entry, attr);
    return has_value(entry, attr, value);
}

/* One filter in its parentheses; *at is moved behind it. */
static bool passes(const struct world_entry *entry, const char **at) {
    bool is_good;
    if (*(*at)++ != '(')
        fail_msg("no filter: %s", *at - 1);
    if (**at == '&' || **at == '|') {
        const bool is_and = *(*at)++ == '&';
        is_good = is_and;
        while (**at == '(') {
            const bool part = passes(entry, at);
            is_good = is_and ? is_good && part : is_good || part;
        }
    } else {
        is_good = passes_item(entry, at);
    }
    if (*(*at)++ != ')')
        fail_msg("no filter: %s", *at - 1);
    return is_good;
}

/* -- searches ----------------------------------------------------------------------------------------------------------------------- */

static bool is_below(const char *dn, const char *base) {
    const size_t n = strlen(dn), m = strlen(base);
    return n >= m && str_eq_nocase(dn + n - m, base) && (n == m || dn[n - m - 1] == ',');
}

/* "<SID=...>" and "<GUID=...>" are names of Active Directory's own. */
static bool is_base(const struct world_entry *entry, const char *base) {
    char id[200] = "";
    if (sscanf(base, "<SID=%199[^>]>", id) == 1)
        return str_eq(find(entry, "objectSid"), id);
    if (sscanf(base, "<GUID=%199[^>]>", id) == 1)
        return str_eq(find(entry, "objectGUID"), id);
    return str_eq_nocase(entry->dn, base);
}

int ldap_conn_search(struct ldap_conn *conn, const struct ldap_query *query, ldap_entry_fn *fn, void *arg, struct err *err) {
    unsigned found = 0;
    int rc = 0;
    note("search %s %s\n", query->base, query->filter);
    iw.searches++;
    if (iw.lose_after && !--iw.lose_after)
        return err_set(err, iw.lose_code ? iw.lose_code : ERR_UNREACHABLE, "the connection to %s is lost", conn->host);
    assert_string_equal(conn->dn, "kaas"); /* nothing is asked as somebody else, or as nobody */
    if (iw.search_code)
        return err_set(err, iw.search_code, "as the test wants it");
    for (size_t i = 0; !rc && iw.entries[i]; i++) {
        const struct ldap_entry entry = {iw.entries[i]};
        const char *filter = query->filter;
        if (query->scope == LDAP_SEARCH_BASE ? !is_base(entry.entry, query->base) : !is_below(entry.entry->dn, query->base))
            continue;
        if (!passes(entry.entry, &filter))
            continue;
        if (*filter)
            fail_msg("something stands behind the filter: %s", filter);
        if (++found > query->entries_max)
            return err_set(err, ERR_TOO_LARGE, "too many entries");
        rc = fn(arg, &entry, err);
    }
    return rc;
}

/* -- what else the room needs ------------------------------------------------------------------------------------------------------- */

int seal_unseal(struct seal *seal, const char *purpose, const void *sealed, size_t n, struct strbuf *out, struct err *err) {
    (void)seal;
    (void)err;
    assert_true(str_starts(purpose, "ldap-bind:"));
    strbuf_add(out, sealed, n);
    return 0;
}

int gss_ticket_ask(const struct gss_account *account, struct gss_ticket **out, enum gss_ticket_fault *fault, struct err *err) {
    (void)account, (void)out, (void)fault;
    return err_set(err, ERR_INTERNAL, "no source of this world has a keytab");
}

int gss_ticket_get_service(struct gss_ticket *ticket, const char *service, char **name, enum gss_ticket_fault *fault,
                           struct err *err) {
    (void)ticket, (void)service, (void)name, (void)fault;
    return err_set(err, ERR_INTERNAL, "no source of this world has a keytab");
}

void gss_ticket_free(struct gss_ticket *ticket) {
    (void)ticket;
}

void gss_ticket_stop(void) {}

bool gss_ticket_is_waiting(void) {
    return false;
}

void *gss_ticket_get_credential(struct gss_ticket *ticket) {
    (void)ticket;
    return NULL;
}

static struct ldap_row make_row(const char *name, enum ldap_kind kind, const char *urls, const char *base) {
    const bool is_ad = kind == LDAP_KIND_AD;
    struct ldap_row row = {.source = {.name = str_dup(name),
                                      .kind = kind,
                                      .urls = str_dup(urls),
                                      .search_base = str_dup(base),
                                      .bind = LDAP_BIND_PASSWORD,
                                      .bind_dn = str_dup(is_ad ? "kaas@ad.test" : "cn=kaas,dc=lab,dc=test"),
                                      .realms = str_dup(is_ad ? "AD.TEST" : "LAB.TEST"),
                                      .version_no = iw.version_no},
                           .sealed = (uint8_t *)str_dup(WORLD_OWN_PASSWORD),
                           .sealed_bytes = sizeof(WORLD_OWN_PASSWORD) - 1};
    return row;
}

int ldap_store_list(struct store *store, struct ldap_row_list *out, struct err *err) {
    struct ldap_row *rows = calloc(3, sizeof(*rows));
    size_t n = 0;
    (void)store;
    assert_non_null(rows);
    if (iw.is_database_away) {
        free(rows);
        return err_set(err, ERR_UNAVAILABLE, "the database is away");
    }
    rows[n] = make_row("ad", LDAP_KIND_AD, "ldaps://dc1.ad.test ldaps://dc2.ad.test", WORLD_AD_BASE);
    rows[n++].source.is_disabled = iw.is_ad_off;
    if (!iw.has_no_lab) {
        rows[n] = make_row("lab", LDAP_KIND_OPENLDAP, "ldaps://lab.test", WORLD_LAB_BASE);
        rows[n++].source.is_disabled = iw.is_lab_off;
    }
    rows[n] = make_row("off", LDAP_KIND_OPENLDAP, "ldaps://off.test", "dc=off,dc=test");
    rows[n++].source.is_disabled = true;
    *out = (struct ldap_row_list){rows, n};
    return 0;
}

void ldap_row_list_done(struct ldap_row_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        ldap_source_done(&list->items[i].source);
        free(list->items[i].sealed);
    }
    free(list->items);
}

/* -- the world ---------------------------------------------------------------------------------------------------------------------- */

void ldapdir_world_sync(void) {
    iw.version_no++;
    assert_int_equal(ldapdir_sync(iw.ldapdirs, NULL), 0);
}

int ldapdir_world_set_up(void **state) {
    static const struct runtime runtime;
    (void)state;
    memset(&iw, 0, sizeof(iw));
    iw.own_password = WORLD_OWN_PASSWORD;
    clock_fake(1000000, WORLD_NOW_MS);
    assert_int_equal(
        ldapdir_new(&(struct ldapdir_options){.runtime = &runtime, .connect_timeout_ms = 5000, .call_timeout_ms = 5000},
                    &iw.ldapdirs, NULL),
        0);
    ldapdir_world_sync();
    return 0;
}

int ldapdir_world_tear_down(void **state) {
    (void)state;
    ldapdir_free(iw.ldapdirs);
    iw.ldapdirs = NULL;
    clock_unfake();
    assert_int_equal(iw.opened, iw.closed);
    return 0;
}

void ldapdir_world_add(const struct world_entry *entry) {
    size_t n = 0;
    while (iw.entries[n])
        n++;
    assert_true(n + 1 < UNIT_COUNT(iw.entries));
    iw.entries[n] = entry;
}

void ldapdir_world_forget(void) {
    iw.log[0] = '\0';
    iw.searches = iw.binds = 0;
}
