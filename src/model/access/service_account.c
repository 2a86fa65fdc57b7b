/* Service accounts: memory, limits, comparison, and the spelling of their credentials. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "service_account.h"

#include <stdlib.h>
#include <string.h>

#include "str.h"
#include "strbuf.h"

void service_account_clear_hx_clusters(struct service_account *a) {
    for (size_t i = 0; i < a->hx_clusters_count; i++)
        free(a->hx_clusters[i]);
    free(a->hx_clusters);
    a->hx_clusters = NULL;
    a->hx_clusters_count = 0;
}

void service_account_done(struct service_account *a) {
    if (!a)
        return;
    free(a->certificates);
    service_account_clear_hx_clusters(a);
    members_done(service_account_members, a, sizeof(*a));
}

void service_account_free(struct service_account *a) {
    service_account_done(a);
    free(a);
}

int service_account_copy(const struct service_account *from, struct service_account *out, struct err *err) {
    struct service_account copy;
    int rc = members_copy(service_account_members, from, &copy, sizeof(copy), "a service account", err);
    if (rc)
        return rc;
    copy.certificates = NULL;
    copy.hx_clusters = NULL;
    copy.certificates_count = copy.hx_clusters_count = 0;
    for (size_t i = 0; !rc && i < from->certificates_count; i++)
        rc = service_account_add_certificate(&copy, &from->certificates[i], err);
    for (size_t i = 0; !rc && i < from->hx_clusters_count; i++)
        rc = service_account_add_hx_cluster(&copy, from->hx_clusters[i], err);
    if (rc) {
        service_account_done(&copy);
        return rc;
    }
    *out = copy;
    return 0;
}

/* Makes room for one more item at `at`; NULL without memory. */
static void *open_gap(void *items, size_t count, size_t at, size_t item_bytes) {
    char *moved = reallocarray(items, count + 1, item_bytes);
    if (moved)
        memmove(moved + (at + 1) * item_bytes, moved + at * item_bytes, (count - at) * item_bytes);
    return moved;
}

int service_account_add_certificate(struct service_account *a, const struct service_certificate *c, struct err *err) {
    struct service_certificate *items;
    size_t at = 0;
    while (at < a->certificates_count && strcmp(a->certificates[at].sha256, c->sha256) < 0)
        at++;
    if (at < a->certificates_count && str_eq(a->certificates[at].sha256, c->sha256)) {
        if (c->not_after_ms)
            a->certificates[at].not_after_ms = c->not_after_ms;
        return 0;
    }
    if (a->certificates_count == SERVICE_CERTIFICATES_COUNT_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "a service account may have %u certificates", SERVICE_CERTIFICATES_COUNT_MAX);
    items = open_gap(a->certificates, a->certificates_count, at, sizeof(*items));
    if (!items)
        return err_set(err, ERR_NOMEM, "no memory for a certificate");
    a->certificates = items;
    a->certificates[at] = *c;
    a->certificates_count++;
    return 0;
}

/* First place whose id is not below this one. */
static size_t service_account_find_place(const struct service_account *a, const char *hx_cluster_id) {
    size_t low = 0, high = a->hx_clusters_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(a->hx_clusters[middle], hx_cluster_id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool service_account_has_hx_cluster(const struct service_account *a, const char *hx_cluster_id) {
    size_t at = service_account_find_place(a, hx_cluster_id);
    return at < a->hx_clusters_count && str_eq(a->hx_clusters[at], hx_cluster_id);
}

int service_account_add_hx_cluster(struct service_account *a, const char *hx_cluster_id, struct err *err) {
    size_t at = service_account_find_place(a, hx_cluster_id);
    char *copy, **items;
    if (at < a->hx_clusters_count && str_eq(a->hx_clusters[at], hx_cluster_id))
        return 0;
    if (a->hx_clusters_count == SERVICE_HX_CLUSTERS_COUNT_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "a service account may be limited to at most %u HX clusters",
                       SERVICE_HX_CLUSTERS_COUNT_MAX);
    copy = str_dup(hx_cluster_id);
    items = copy ? open_gap((void *)a->hx_clusters, a->hx_clusters_count, at, sizeof(*items)) : NULL;
    if (!items) {
        free(copy);
        return err_set(err, ERR_NOMEM, "no memory for the id of an HX cluster");
    }
    a->hx_clusters = items;
    a->hx_clusters[at] = copy;
    a->hx_clusters_count++;
    return 0;
}

int service_account_check(const struct service_account *a, struct err *err) {
    int rc = members_check(service_account_members, a, "", err);
    if (rc || a->certificates_count || a->subject || a->kerberos)
        return rc;
    (void)err_set(err, ERR_UNPROCESSABLE, "the service account has nothing to sign in by");
    return err_remedy(err, "give \"certificates\", \"subject\" or \"kerberos\"");
}

static bool same_certificates(const struct service_account *a, const struct service_account *b) {
    bool is_same = a->certificates_count == b->certificates_count;
    for (size_t i = 0; is_same && i < a->certificates_count; i++)
        is_same = str_eq(a->certificates[i].sha256, b->certificates[i].sha256) &&
                  a->certificates[i].not_after_ms == b->certificates[i].not_after_ms;
    return is_same;
}

static bool same_hx_clusters(const struct service_account *a, const struct service_account *b) {
    bool is_same = a->hx_clusters_count == b->hx_clusters_count;
    for (size_t i = 0; is_same && i < a->hx_clusters_count; i++)
        is_same = str_eq(a->hx_clusters[i], b->hx_clusters[i]);
    return is_same;
}

const char *service_account_difference(const struct service_account *a, const struct service_account *b) {
    const char *member = members_difference(service_account_members, a, b);
    if (member)
        return member;
    if (!same_certificates(a, b))
        return "certificates";
    return same_hx_clusters(a, b) ? NULL : "hx_clusters";
}

char *service_principal_id(const char *id) {
    return str_format("svc:%s", id);
}

/* -- service accounts: the spelling of what they prove themselves by ----------------------------------------------- */

int service_fingerprint_read(const char *text, char out[SERVICE_FINGERPRINT_BYTES], struct err *err) {
    uint8_t bytes[32];
    if (str_to_sha256(text, bytes)) {
        str_hex(bytes, sizeof(bytes), out);
        return 0;
    }
    /* What comes in PEM may be a private key: never repeated. */
    if (strstr(text, "-----BEGIN"))
        (void)err_set(err, ERR_UNPROCESSABLE, "the text in PEM holds no certificate that can be read");
    else
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is not the SHA-256 fingerprint of a certificate", text);
    return err_remedy(
        err, "give the 64 hexadecimal digits that `openssl x509 -fingerprint -sha256` prints, or the certificate itself");
}

static const char *service_account_skip_blanks(const char *p) {
    while (*p == ' ')
        p++;
    return p;
}

static bool is_type_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* "cn =" to "CN="; NULL if it is none. Returns what follows. */
static const char *service_account_copy_type(const char *p, struct strbuf *out) {
    const char *begin = p = service_account_skip_blanks(p);
    for (; is_type_char(*p); p++) {
        const char upper = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
        strbuf_add(out, &upper, 1);
    }
    if (p == begin)
        return NULL;
    p = service_account_skip_blanks(p);
    strbuf_adds(out, "=");
    return *p == '=' ? service_account_skip_blanks(p + 1) : NULL;
}

/* Up to the next separator that is not escaped; blanks before it do not count unless escaped (RFC 4514 section 2.4). */
static const char *service_account_copy_value(const char *p, struct strbuf *out) {
    const char *begin = p, *end = p;
    for (; *p && *p != ',' && *p != '+'; p++) {
        if (strchr("\";<>", *p)) /* must be escaped */
            return NULL;
        if (*p == '\\' && !*++p)
            return NULL;
        if (*p != ' ' || p[-1] == '\\')
            end = p + 1;
    }
    if (end == begin)
        return NULL;
    strbuf_add(out, begin, (size_t)(end - begin));
    return p;
}

static bool copy_subject(const char *text, struct strbuf *out) {
    const char *p = text;
    for (;;) {
        p = service_account_copy_type(p, out);
        p = p ? service_account_copy_value(p, out) : NULL;
        if (!p || !*p)
            return p != NULL;
        strbuf_add(out, p++, 1);
    }
}

int service_subject_read(const char *text, char **out, struct err *err) {
    _cleanup_strbuf_ struct strbuf made;
    strbuf_init(&made, SERVICE_SUBJECT_BYTES_MAX);
    if (str_utf8_chars(text, strlen(text)) < 0 || str_has_control(text) || !copy_subject(text, &made) || made.failed) {
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.200s\" is not the subject of a certificate", text);
        return err_remedy(
            err, "write it most specific part first, as `openssl x509 -subject -nameopt RFC2253` does: CN=hx-east,O=Example");
    }
    *out = str_dup(made.data);
    return *out ? 0 : err_set(err, ERR_NOMEM, "no memory for a subject");
}

int service_kerberos_read(const char *text, char **out, struct err *err) {
    const char *at = strrchr(text, '@');
    if (!at || at == text || !at[1] || strchr(text, ' ') || strchr(text, '@') != at || text[0] == '/' || at[-1] == '/' ||
        strlen(text) > SERVICE_KERBEROS_BYTES_MAX || str_utf8_chars(text, strlen(text)) < 0 || str_has_control(text)) {
        (void)err_set(err, ERR_UNPROCESSABLE, "\"%.100s\" is not a Kerberos principal", text);
        return err_remedy(err, "write it with its realm: hx-east@EXAMPLE.COM or HTTP/hx-east.example.com@EXAMPLE.COM");
    }
    *out = str_dup(text);
    return *out ? 0 : err_set(err, ERR_NOMEM, "no memory for a principal");
}
