/* What lies under the Kubernetes clusters: vSphere clusters, HyperFlex clusters and their controllers. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "platform.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "names.h"
#include "str.h"
#include "uuid.h"

void vsphere_cluster_done(struct vsphere_cluster *c) {
    members_done(vsphere_cluster_members, c, sizeof(*c));
}

/* -- paths of vSphere clusters ------------------------------------------------------------------------------------------------- */

typedef bool same_fn(const char *a, const char *b);

#define HOST_FOLDER "/host" /* of each datacenter, above its clusters */

/* One name, of `n` bytes as typed. */
static bool is_name(const char *typed, size_t n, const char *name, same_fn *same) {
    _cleanup_free_ char *plain = NULL;
    if (!name || (strlen(name) != n && !memchr(typed, '%', n)))
        return false;
    plain = strndup(typed, n);
    if (!plain)
        return false;
    if (same(plain, name))
        return true;
    vsphere_name_unescape(plain);
    return same(plain, name);
}

/* `above` is what stands above the cluster, `n` bytes: the datacenter, or that and its folder "host" with the folders in it; perhaps folders above it. */
static bool is_datacenter(const char *above, size_t n, const char *name, same_fn *same) {
    if (is_name(above, n, name, same))
        return true;
    for (const char *host = memmem(above, n, HOST_FOLDER, strlen(HOST_FOLDER)); host;
         host = memmem(host + 1, n - (size_t)(host + 1 - above), HOST_FOLDER, strlen(HOST_FOLDER))) {
        const char *end = host + strlen(HOST_FOLDER), *slash = memrchr(above, '/', (size_t)(host - above));
        const char *begin = slash ? slash + 1 : above;
        if ((end == above + n || *end == '/') && is_name(begin, (size_t)(host - begin), name, same))
            return true;
    }
    return false;
}

/* Names with a slash may stand in a path as they are: so each slash may be the one between datacenter and cluster. */
static bool platform_path_fits(const struct vsphere_cluster *c, const char *path, same_fn *same) {
    path += *path == '/';
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/'))
        if (is_name(slash + 1, strlen(slash + 1), c->name, same) &&
            is_datacenter(path, (size_t)(slash - path), c->datacenter, same))
            return true;
    return false;
}

bool vsphere_cluster_has_path(const struct vsphere_cluster *c, const char *path) {
    return platform_path_fits(c, path, str_eq);
}

bool vsphere_name_is(const char *name, const char *typed) {
    return is_name(typed, strlen(typed), name, str_eq);
}

bool vsphere_cluster_is_nearly(const struct vsphere_cluster *c, const char *path_or_name) {
    return platform_path_fits(c, path_or_name, name_same) || is_name(path_or_name, strlen(path_or_name), c->name, name_same);
}

static void platform_add_name(const char *name, struct strbuf *out) {
    for (; *name; name++)
        if (*name == '/' || *name == '\\' || *name == '%')
            strbuf_addf(out, "%%%02x", (unsigned)*name);
        else
            strbuf_addc(out, *name);
}

void vsphere_cluster_add_path(const struct vsphere_cluster *c, struct strbuf *out) {
    if (!c->datacenter || !c->name) {
        strbuf_adds(out, c->ref.moref);
        return;
    }
    platform_add_name(c->datacenter, out);
    strbuf_addc(out, '/');
    platform_add_name(c->name, out);
}

char *vsphere_cluster_path(const struct vsphere_cluster *c) {
    return c && c->datacenter && c->name ? str_format("%s/%s", c->datacenter, c->name) : NULL;
}

const char *vsphere_cluster_difference(const struct vsphere_cluster *a, const struct vsphere_cluster *b) {
    return object_ref_eq(&a->ref, &b->ref) ? members_difference(vsphere_cluster_members, a, b) : "ref";
}

void hx_cluster_done(struct hx_cluster *c) {
    members_done(hx_cluster_members, c, sizeof(*c));
}

void hx_cluster_free(struct hx_cluster *c) {
    hx_cluster_done(c);
    free(c);
}

const char *hx_cluster_name_source(const struct hx_cluster *hx) {
    return hx->is_name_read ? "hx" : hx->is_name_set ? "typed" : "vcenter";
}

const char *hx_cluster_address(const struct hx_cluster *hx) {
    return hx->connection_address ? hx->connection_address : hx->address;
}

const char *hx_cluster_difference(const struct hx_cluster *a, const struct hx_cluster *b) {
    if (!object_ref_eq(&a->vsphere_cluster, &b->vsphere_cluster))
        return "vsphere_cluster";
    return members_difference(hx_cluster_members, a, b);
}

void hx_alias_list_done(struct hx_alias_list *list) {
    for (size_t i = 0; list && i < list->count; i++)
        members_done(hx_alias_members, &list->items[i], sizeof(list->items[i]));
    if (list)
        free(list->items);
    if (list)
        *list = (struct hx_alias_list){0};
}

/* The guide's "uuid" may be the word itself or stand for one. */
static bool is_uuid_part(const char *part, size_t len) {
    char text[UUID_TEXT_BYTES];
    if (len == strlen("uuid"))
        return memcmp(part, "uuid", len) == 0;
    if (len != sizeof(text) - 1)
        return false;
    memcpy(text, part, len);
    text[len] = '\0';
    return uuid_is_valid(text);
}

bool hx_extension_key_parse(const char *key, char *moref_out) {
    const char *rest, *dot;
    size_t len;
    if (!str_starts(key, HX_KEY_PREFIX))
        return false;
    rest = key + strlen(HX_KEY_PREFIX);
    dot = strchr(rest, '.');
    if (dot && is_uuid_part(rest, (size_t)(dot - rest)))
        rest = dot + 1;
    len = strlen(rest);
    if (strchr(rest, '.') || is_uuid_part(rest, len) || name_check_moref(rest, "key", NULL))
        return false;
    memcpy(moref_out, rest, len + 1);
    return true;
}

/* -- controllers of HX clusters that we sign in to ----------------------------------------------------------------- */

#define SHA256_BYTES 32

const char *const hx_peer_state_words[] = {
    [HX_PEER_UNKNOWN] = "unknown", [HX_PEER_OK] = "ok", [HX_PEER_FAILING] = "failing", NULL};

const char *hx_peer_state_name(enum hx_peer_state state) {
    return words_get(hx_peer_state_words, state, "unknown");
}

void hx_peer_done(struct hx_peer *peer) {
    members_done(hx_peer_members, peer, sizeof(*peer));
}

void hx_peer_free(struct hx_peer *peer) {
    hx_peer_done(peer);
    free(peer);
}

void hx_peer_list_done(struct hx_peer_list *list) {
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++)
        hx_peer_done(&list->items[i]);
    free(list->items);
    *list = (struct hx_peer_list){0};
}

/* -- checks ---------------------------------------------------------------------------------------------------------------- */

/* RFC 1964 writes principals with escapes; nobody calls a service or its account so. */
static bool platform_is_name(const char *text) {
    const size_t n = strlen(text);
    return n && n <= HX_PEER_NAME_BYTES_MAX && str_utf8_chars(text, n) >= 0 && !str_has_control(text) && !strpbrk(text, " \\");
}

static int check_spn(const char *spn, struct err *err) {
    const char *slash = spn ? strchr(spn, '/') : NULL, *at = spn ? strchr(spn, '@') : NULL;
    if (!spn || (platform_is_name(spn) && slash && slash != spn && slash[1] && slash[1] != '@' && !strchr(slash + 1, '/') &&
                 (!at || (at > slash && at[1] && !strchr(at + 1, '@')))))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "spn \"%.100s\" is not the name of a service", spn);
    return err_remedy(err, "write HTTP/hx-east.example.com, with @REALM behind it if krb5.conf does not know its realm");
}

static int platform_check_principal(const char *principal, struct err *err) {
    const char *at = principal ? strrchr(principal, '@') : NULL;
    if (!principal || (platform_is_name(principal) && at && at != principal && at[1] && strchr(principal, '@') == at))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "principal \"%.100s\" is not a Kerberos principal with its realm", principal);
    return err_remedy(err, "write it as the keytab has it: svc-kaas@EXAMPLE.COM");
}

static int platform_check_trust(struct hx_peer *peer, struct err *err) {
    uint8_t bytes[SHA256_BYTES];
    char hex[HX_PEER_SHA256_BYTES];
    if (!peer->ca_pem == !peer->sha256) {
        (void)err_set(err, ERR_UNPROCESSABLE, "give either ca_pem or thumbprint_sha256");
        return err_remedy(err,
                          "the CA that signs the peer's certificate, or the SHA-256 of the certificate as the peer shows it");
    }
    if (peer->ca_pem && strlen(peer->ca_pem) > HX_PEER_CA_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "ca_pem is longer than %u bytes", HX_PEER_CA_BYTES_MAX);
    if (!peer->sha256)
        return 0;
    if (!str_to_sha256(peer->sha256, bytes))
        return err_set(err, ERR_UNPROCESSABLE, "thumbprint_sha256 is not a SHA-256 in hexadecimal digits");
    str_hex(bytes, sizeof(bytes), hex);
    return str_replace(&peer->sha256, hex, err);
}

int hx_peer_check(struct hx_peer *peer, struct err *err) {
    int rc = name_check_https_url(peer->url, "url", err);
    if (!rc && strchr(peer->url, '#'))
        rc = err_set(err, ERR_UNPROCESSABLE, "url has a fragment, which is sent to nobody");
    if (!rc)
        rc = check_spn(peer->spn, err);
    if (!rc)
        rc = platform_check_principal(peer->principal, err);
    if (!rc && !peer->spn && strchr(peer->url, '['))
        rc = err_set(err, ERR_UNPROCESSABLE, "spn is needed where the url has an address instead of a name");
    return rc ? rc : platform_check_trust(peer, err);
}

char *hx_peer_spn(const struct hx_peer *peer) {
    const char *host = strstr(peer->url, "://");
    if (peer->spn)
        return str_dup(peer->spn);
    host = host ? host + strlen("://") : peer->url;
    return str_format("HTTP/%.*s", (int)strcspn(host, ":/?#"), host);
}
