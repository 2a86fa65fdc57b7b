/* Rules for names and texts that people give to things. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "names.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "limits.h"
#include "object_ref.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define HOST_BYTES_MAX 253 /* RFC 1123 section 2.1 with the length limits of RFC 1035 */
#define HOST_LABEL_BYTES_MAX 63

int name_check_text(const char *text, size_t max_chars, const char *what, struct err *err) {
    long chars = text ? str_utf8_chars(text, strlen(text)) : 0;
    if (chars < 0)
        return err_set(err, ERR_UNPROCESSABLE, "%s is not valid UTF-8", what);
    if ((size_t)chars > max_chars)
        return err_set(err, ERR_UNPROCESSABLE, "%s has %ld characters; up to %zu are allowed", what, chars, max_chars);
    return 0;
}

int name_check_line(const char *text, size_t max_chars, const char *what, struct err *err) {
    int rc = name_check_text(text, max_chars, what, err);
    if (rc)
        return rc;
    if (str_empty(text))
        return err_set(err, ERR_UNPROCESSABLE, "%s is empty", what);
    if (str_has_control(text))
        return err_set(err, ERR_UNPROCESSABLE, "%s has a control character, such as a tab or line end", what);
    return 0;
}

int name_check_kept(const char *name, const char *what, struct err *err) {
    int rc = name_check_line(name, KAAS_NAME_CHARS_MAX, what, err);
    if (rc)
        return rc;
    if (name[0] == ' ' || str_ends(name, " "))
        return err_set(err, ERR_UNPROCESSABLE, "%s begins or ends with a blank", what);
    return 0;
}

int name_check_visible(const char *text, const char *what, struct err *err) {
    uint32_t point;
    size_t n;
    for (; *text && (n = str_utf8_next(text, strlen(text), &point)); text += n)
        if (str_is_invisible(point)) {
            (void)err_set(err, ERR_UNPROCESSABLE, "%s has a character that nobody sees, U+%04X", what, (unsigned)point);
            return err_remedy(
                err, "leave it out: names that look alike must be alike; text that was pasted may bring such characters");
        }
    return 0;
}

int name_check(const char *name, const char *what, struct err *err) {
    int rc = name_check_kept(name, what, err);
    return rc ? rc : name_check_visible(name, what, err);
}

/* By the blocks of Unicode that have their letters, in which not much else is. */
static const char *script_of(uint32_t point) {
    static const struct {
        uint32_t first, last;
        const char *script;
    } ranges[] = {
        {'A', 'Z', "Latin"},        {'a', 'z', "Latin"},          {0xc0, 0x2af, "Latin"},    {0x370, 0x3ff, "Greek"},
        {0x400, 0x52f, "Cyrillic"}, {0x1c80, 0x1c8f, "Cyrillic"}, {0x1e00, 0x1eff, "Latin"}, {0x1f00, 0x1fff, "Greek"},
        {0x2c60, 0x2c7f, "Latin"},  {0xa640, 0xa69f, "Cyrillic"}, {0xa720, 0xa7ff, "Latin"}, {0xff21, 0xff5a, "Latin"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(ranges); i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return ranges[i].script;
    return NULL;
}

int name_check_script(const char *name, const char *what, struct err *err) {
    const char *script = NULL;
    uint32_t point;
    size_t n;
    for (; *name && (n = str_utf8_next(name, strlen(name), &point)); name += n) {
        const char *other = script_of(point);
        if (!other)
            continue;
        if (script && !str_eq(script, other)) {
            (void)err_set(err, ERR_UNPROCESSABLE, "%s has letters of two scripts, %s and %s", what, script, other);
            return err_remedy(err, "write all of it in one: letters of the two look alike, and so would people");
        }
        script = other;
    }
    return 0;
}

static const char *names_skip_number(const char *text) {
    size_t n = strspn(text, DIGITS);
    return n ? text + n : NULL;
}

/* MAJOR.MINOR.PATCH, then what Semantic Versioning 2.0.0 calls pre-release and build. */
static bool is_kubernetes_version(const char *text) {
    for (int i = 0; i < 3; i++) {
        if (i && *text++ != '.')
            return false;
        text = names_skip_number(text);
        if (!text)
            return false;
    }
    if (!*text)
        return true;
    return (*text == '-' || *text == '+') && text[1] && text[1 + strspn(text + 1, LETTERS DIGITS ".+-")] == '\0';
}

/* Words of a pre-release of Kubernetes itself: what distributions write behind a hyphen ("-eks-a737599", "-gke.100") comes after the release. */
static bool is_prerelease(const char *rest) {
    return str_starts(rest, "-alpha") || str_starts(rest, "-beta") || str_starts(rest, "-rc");
}

int kubernetes_version_compare(const char *a, const char *b) {
    const size_t n = strspn(a, DIGITS ".");
    if (n == strspn(b, DIGITS ".") && !strncmp(a, b, n) && is_prerelease(a + n) != is_prerelease(b + n))
        return is_prerelease(a + n) ? -1 : 1;
    return strverscmp(a, b);
}

int name_check_kubernetes_version(const char *version, struct err *err) {
    if (str_empty(version))
        return err_set(err, ERR_UNPROCESSABLE, "kubernetes_version is empty");
    if (strlen(version) <= KAAS_VERSION_BYTES_MAX && is_kubernetes_version(version))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "kubernetes_version \"%.80s\" is not a Kubernetes version", version);
    (void)err_remedy(err, "write three numbers, as in 1.31.2, v1.31.2 or 1.31.2-rc.1");
    return ERR_UNPROCESSABLE;
}

/* If the last label is a number, the host was meant as an IPv4 address, and libcurl takes it for one: 2130706433 and 0x7f.1 are 127.0.0.1. */
static bool is_number_label(const char *label) {
    const bool is_hex = label[0] == '0' && (label[1] == 'x' || label[1] == 'X');
    return is_hex ? !label[2 + strspn(label + 2, DIGITS "abcdefABCDEF")] : !label[strspn(label, DIGITS)];
}

/* Labels of letters, digits and inner hyphens. */
static bool is_host_name(const char *host) {
    const char *label = host;
    for (;;) {
        size_t n = strspn(label, LETTERS DIGITS "-");
        if (!n || n > HOST_LABEL_BYTES_MAX || label[0] == '-' || label[n - 1] == '-')
            return false;
        if (!label[n])
            return !is_number_label(label);
        if (label[n] != '.')
            return false;
        label += n + 1;
    }
}

static bool names_is_ip_address(const char *host) {
    struct in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

static const char *host_remedy(const char *host) {
    if (strstr(host, "://"))
        return "leave out the scheme: type vc.example.com, not https://vc.example.com";
    if (strchr(host, '['))
        return "leave out the brackets around the IPv6 address";
    if (strchr(host, '/'))
        return "leave out the path: type vc.example.com, not vc.example.com/ui";
    if (strchr(host, ':'))
        return "give the port apart from the host name";
    if (str_ends(host, "."))
        return "leave out the dot at the end";
    return "type a host name such as vc.example.com or an IP address";
}

int name_check_host(const char *host, const char *what, struct err *err) {
    if (str_empty(host))
        return err_set(err, ERR_UNPROCESSABLE, "%s is empty", what);
    if (strlen(host) <= HOST_BYTES_MAX && (names_is_ip_address(host) || is_host_name(host)))
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s \"%.100s\" is neither a host name nor an IP address", what, host);
    (void)err_remedy(err, "%s", host_remedy(host));
    return ERR_UNPROCESSABLE;
}

int name_check_ip_address(const char *address, const char *what, struct err *err) {
    if (!str_empty(address) && names_is_ip_address(address))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s \"%.100s\" is not an IP address", what, address ? address : "");
}

/* Splits "host", "host:port", "[v6]" and "[v6]:port"; false if it is none of them. `host` needs HOST_BYTES_MAX + 1 bytes. */
static bool split_authority(const char *text, size_t len, char *host, const char **port, size_t *port_len) {
    const char *end = text + len, *host_end;
    if (len && *text == '[') {
        host_end = memchr(++text, ']', len - 1);
        *port = host_end ? host_end + 1 : NULL;
    } else {
        host_end = memchr(text, ':', len);
        host_end = host_end ? host_end : end;
        *port = host_end;
    }
    if (!host_end || host_end - text > HOST_BYTES_MAX)
        return false;
    memcpy(host, text, (size_t)(host_end - text));
    host[host_end - text] = '\0';
    *port_len = (size_t)(end - *port);
    return true;
}

/* ":1" to ":65535", or nothing. */
static bool is_port(const char *text, size_t len) {
    char digits[6] = "";
    int64_t port;
    if (!len)
        return true;
    if (*text != ':' || len < 2 || len > sizeof(digits))
        return false;
    memcpy(digits, text + 1, len - 1);
    return str_to_i64(digits, 1, 65535, &port);
}

static bool is_authority(const char *text, size_t len) {
    char host[HOST_BYTES_MAX + 1];
    const char *port;
    size_t port_len;
    bool is_v6 = len && *text == '[';
    if (!split_authority(text, len, host, &port, &port_len) || !is_port(port, port_len))
        return false;
    return is_v6 ? strchr(host, ':') && names_is_ip_address(host) : names_is_ip_address(host) || is_host_name(host);
}

/* The parts of RFC 3986 that matter here; what follows the authority is free but for blanks. */
static const char *url_fault(const char *url) {
    static const char scheme[] = "https://";
    size_t len = strlen(url);
    const char *rest = url + sizeof(scheme) - 1;
    if (len > KAAS_URL_BYTES_MAX)
        return "is too long";
    if (str_utf8_chars(url, len) < 0 || str_has_control(url) || strchr(url, ' '))
        return "has a blank or control character";
    if (strncasecmp(url, scheme, sizeof(scheme) - 1) != 0)
        return "does not begin with https://";
    len = strcspn(rest, "/?#");
    if (memchr(rest, '@', len))
        return "has a user name in it";
    return is_authority(rest, len) ? NULL : "has no valid host";
}

int name_check_https_url(const char *url, const char *what, struct err *err) {
    const char *fault;
    if (str_empty(url))
        return err_set(err, ERR_UNPROCESSABLE, "%s is empty", what);
    fault = url_fault(url);
    if (!fault)
        return 0;
    /* The URL itself is not repeated: a user name in it may come with a password. */
    (void)err_set(err, ERR_UNPROCESSABLE, "%s %s", what, fault);
    (void)err_remedy(err, "write an address such as https://k8s.example.com:6443/, up to %u bytes", KAAS_URL_BYTES_MAX);
    return ERR_UNPROCESSABLE;
}

int name_check_moref(const char *moref, const char *what, struct err *err) {
    size_t len = moref ? strlen(moref) : 0;
    if (len && len < MOREF_BYTES && strspn(moref, LETTERS DIGITS "-_.") == len)
        return 0;
    (void)err_set(err, ERR_UNPROCESSABLE, "%s \"%.100s\" is not a managed object id", what, moref ? moref : "");
    (void)err_remedy(err, "give an id such as domain-c7: 1 to %d letters, digits, '-', '_' or '.'", MOREF_BYTES - 1);
    return ERR_UNPROCESSABLE;
}

int name_check_uuid(const char *id, const char *what, struct err *err) {
    if (uuid_is_valid(id))
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s \"%.80s\" is not a UUID", what, id ? id : "");
}

void vsphere_name_unescape(char *name) {
    char *to = name;
    for (const char *from = name; *from; from++) {
        char plain = 0;
        if (*from == '%')
            plain = !strncasecmp(from, "%2f", 3)   ? '/'
                    : !strncasecmp(from, "%5c", 3) ? '\\'
                    : !strncasecmp(from, "%25", 3) ? '%'
                                                   : 0;
        *to++ = plain ? plain : *from;
        from += plain ? 2 : 0;
    }
    *to = '\0';
}

/* The 16 bytes, in the order in which vSphere shows them. */
static bool read_serial(const char *text, char *out) {
    static const size_t hyphens[] = {8, 13, 18, 23};
    size_t n = 0, next = 0;
    for (; *text; text++) {
        if (*text == ' ' || *text == '-')
            continue;
        if (next < ARRAY_COUNT(hyphens) && n == hyphens[next]) {
            out[n++] = '-';
            next++;
        }
        if (n == UUID_TEXT_BYTES - 1)
            return false;
        out[n++] = *text;
    }
    out[n] = '\0';
    return uuid_is_valid(out);
}

bool vm_uuid_parse(const char *text, char *out) {
    static const char scheme[] = "vsphere://", serial[] = "VMware-";
    if (!strncasecmp(text, serial, sizeof(serial) - 1))
        return read_serial(text + sizeof(serial) - 1, out);
    if (!strncasecmp(text, scheme, sizeof(scheme) - 1))
        text += sizeof(scheme) - 1;
    if (!uuid_is_valid(text))
        return false;
    memcpy(out, text, UUID_TEXT_BYTES);
    return true;
}

int name_check_vm_uuid(const char *id, const char *what, struct err *err) {
    if (!name_check_uuid(id, what, err))
        return 0;
    return err_remedy(err,
                      "write it as 420e3f74-ea84-f9a2-7736-6106bb5dbf6b, or as the node shows it: its systemUUID, its providerID"
                      " (vsphere://...), or the serial number of its machine (VMware-42 0e ...)");
}

/* -- names without case ------------------------------------------------------------------------------------------------ */

/* From capital to small letter: the pairs of Windows' table (names.h) beyond ASCII, checked against Unicode by tests/lint/test_name_pairs.py. Two go the other way, so that no
 * name grows: U+2C65 and U+2C66 take a byte more than their capitals. */
static const struct letter_run {
    uint16_t first, last, step;
    int32_t add;
} letter_runs[] = {
    {0x00c0, 0x00d6, 1, 32},    {0x00d8, 0x00de, 1, 32},     {0x0100, 0x012e, 2, 1},      {0x0132, 0x0136, 2, 1},
    {0x0139, 0x0147, 2, 1},     {0x014a, 0x0176, 2, 1},      {0x0178, 0x0178, 1, -121},   {0x0179, 0x017d, 2, 1},
    {0x0181, 0x0181, 1, 210},   {0x0182, 0x0184, 2, 1},      {0x0186, 0x0186, 1, 206},    {0x0187, 0x0187, 1, 1},
    {0x0189, 0x018a, 1, 205},   {0x018b, 0x018b, 1, 1},      {0x018e, 0x018e, 1, 79},     {0x018f, 0x018f, 1, 202},
    {0x0190, 0x0190, 1, 203},   {0x0191, 0x0191, 1, 1},      {0x0193, 0x0193, 1, 205},    {0x0194, 0x0194, 1, 207},
    {0x0196, 0x0196, 1, 211},   {0x0197, 0x0197, 1, 209},    {0x0198, 0x0198, 1, 1},      {0x019c, 0x019c, 1, 211},
    {0x019d, 0x019d, 1, 213},   {0x019f, 0x019f, 1, 214},    {0x01a0, 0x01a4, 2, 1},      {0x01a6, 0x01a6, 1, 218},
    {0x01a7, 0x01a7, 1, 1},     {0x01a9, 0x01a9, 1, 218},    {0x01ac, 0x01ac, 1, 1},      {0x01ae, 0x01ae, 1, 218},
    {0x01af, 0x01af, 1, 1},     {0x01b1, 0x01b2, 1, 217},    {0x01b3, 0x01b5, 2, 1},      {0x01b7, 0x01b7, 1, 219},
    {0x01b8, 0x01b8, 1, 1},     {0x01bc, 0x01bc, 1, 1},      {0x01c4, 0x01c4, 1, 2},      {0x01c7, 0x01c7, 1, 2},
    {0x01ca, 0x01ca, 1, 2},     {0x01cd, 0x01db, 2, 1},      {0x01de, 0x01ee, 2, 1},      {0x01f1, 0x01f1, 1, 2},
    {0x01f4, 0x01f4, 1, 1},     {0x01f6, 0x01f6, 1, -97},    {0x01f7, 0x01f7, 1, -56},    {0x01f8, 0x021e, 2, 1},
    {0x0220, 0x0220, 1, -130},  {0x0222, 0x0232, 2, 1},      {0x023b, 0x023b, 1, 1},      {0x023d, 0x023d, 1, -163},
    {0x0241, 0x0241, 1, 1},     {0x0243, 0x0243, 1, -195},   {0x0244, 0x0244, 1, 69},     {0x0245, 0x0245, 1, 71},
    {0x0246, 0x024e, 2, 1},     {0x0370, 0x0372, 2, 1},      {0x0376, 0x0376, 1, 1},      {0x0386, 0x0386, 1, 38},
    {0x0388, 0x038a, 1, 37},    {0x038c, 0x038c, 1, 64},     {0x038e, 0x038f, 1, 63},     {0x0391, 0x03a1, 1, 32},
    {0x03a3, 0x03ab, 1, 32},    {0x03cf, 0x03cf, 1, 8},      {0x03d8, 0x03ee, 2, 1},      {0x03f7, 0x03f7, 1, 1},
    {0x03f9, 0x03f9, 1, -7},    {0x03fa, 0x03fa, 1, 1},      {0x03fd, 0x03ff, 1, -130},   {0x0400, 0x040f, 1, 80},
    {0x0410, 0x042f, 1, 32},    {0x0460, 0x0480, 2, 1},      {0x048a, 0x04be, 2, 1},      {0x04c0, 0x04c0, 1, 15},
    {0x04c1, 0x04cd, 2, 1},     {0x04d0, 0x0522, 2, 1},      {0x0531, 0x0556, 1, 48},     {0x10a0, 0x10c5, 1, 7264},
    {0x1e00, 0x1e94, 2, 1},     {0x1ea0, 0x1efe, 2, 1},      {0x1f08, 0x1f0f, 1, -8},     {0x1f18, 0x1f1d, 1, -8},
    {0x1f28, 0x1f2f, 1, -8},    {0x1f38, 0x1f3f, 1, -8},     {0x1f48, 0x1f4d, 1, -8},     {0x1f59, 0x1f5f, 2, -8},
    {0x1f68, 0x1f6f, 1, -8},    {0x1f88, 0x1f8f, 1, -8},     {0x1f98, 0x1f9f, 1, -8},     {0x1fa8, 0x1faf, 1, -8},
    {0x1fb8, 0x1fb9, 1, -8},    {0x1fba, 0x1fbb, 1, -74},    {0x1fbc, 0x1fbc, 1, -9},     {0x1fc8, 0x1fcb, 1, -86},
    {0x1fcc, 0x1fcc, 1, -9},    {0x1fd8, 0x1fd9, 1, -8},     {0x1fda, 0x1fdb, 1, -100},   {0x1fe8, 0x1fe9, 1, -8},
    {0x1fea, 0x1feb, 1, -112},  {0x1fec, 0x1fec, 1, -7},     {0x1ff8, 0x1ff9, 1, -128},   {0x1ffa, 0x1ffb, 1, -126},
    {0x1ffc, 0x1ffc, 1, -9},    {0x2132, 0x2132, 1, 28},     {0x2160, 0x216f, 1, 16},     {0x2183, 0x2183, 1, 1},
    {0x24b6, 0x24cf, 1, 26},    {0x2c00, 0x2c2e, 1, 48},     {0x2c60, 0x2c60, 1, 1},      {0x2c62, 0x2c62, 1, -10743},
    {0x2c63, 0x2c63, 1, -3814}, {0x2c64, 0x2c64, 1, -10727}, {0x2c65, 0x2c65, 1, -10795}, {0x2c66, 0x2c66, 1, -10792},
    {0x2c67, 0x2c6b, 2, 1},     {0x2c6d, 0x2c6d, 1, -10780}, {0x2c6e, 0x2c6e, 1, -10749}, {0x2c6f, 0x2c6f, 1, -10783},
    {0x2c72, 0x2c72, 1, 1},     {0x2c75, 0x2c75, 1, 1},      {0x2c80, 0x2ce2, 2, 1},      {0xa640, 0xa65e, 2, 1},
    {0xa662, 0xa66c, 2, 1},     {0xa680, 0xa696, 2, 1},      {0xa722, 0xa72e, 2, 1},      {0xa732, 0xa76e, 2, 1},
    {0xa779, 0xa77b, 2, 1},     {0xa77d, 0xa77d, 1, -35332}, {0xa77e, 0xa786, 2, 1},      {0xa78b, 0xa78b, 1, 1},
    {0xff21, 0xff3a, 1, 32},
};

/* As compared with the runs: which of them, if any, has this code point between its ends. */
static int names_compare_run(const void *key, const void *run) {
    const uint32_t point = *(const uint32_t *)key;
    const struct letter_run *r = run;
    return point < r->first ? -1 : point > r->last;
}

static uint32_t names_fold_point(uint32_t point) {
    const struct letter_run *run;
    if (point < 0x80)
        return point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
    run = bsearch(&point, letter_runs, ARRAY_COUNT(letter_runs), sizeof(*letter_runs), names_compare_run);
    return run && (point - run->first) % run->step == 0 ? (uint32_t)((int32_t)point + run->add) : point;
}

#define NO_POINT 0x110000U /* and more: a byte that is no UTF-8 */

/* The next code point of a name, folded, and how many bytes it took; 0 at the end. */
static uint32_t names_next(const char *at, size_t *n) {
    uint32_t point;
    *n = 1;
    if ((unsigned char)*at < 0x80)
        return names_fold_point((unsigned char)*at);
    *n = str_utf8_next(at, strnlen(at, 4), &point);
    if (*n)
        return names_fold_point(point);
    *n = 1;
    return NO_POINT + (unsigned char)*at;
}

/* Writes a code point of a table above, of two or three bytes. */
static char *names_put(char *to, uint32_t point) {
    if (point >= 0x800) {
        *to++ = (char)(0xe0 | point >> 12);
        *to++ = (char)(0x80 | (point >> 6 & 0x3f));
    } else {
        *to++ = (char)(0xc0 | point >> 6);
    }
    *to++ = (char)(0x80 | (point & 0x3f));
    return to;
}

void name_fold(char *name) {
    char *to = name;
    size_t n;
    for (const char *from = name; *from; from += n) {
        const uint32_t point = names_next(from, &n);
        if (point < 0x80) {
            *to++ = (char)point;
        } else if (point >= 0x10000) {
            memmove(to, from, n);
            to += n;
        } else {
            to = names_put(to, point);
        }
    }
    *to = '\0';
}

int name_compare(const char *a, const char *b) {
    uint32_t x, y;
    size_t n, m;
    do {
        x = names_next(a, &n);
        y = names_next(b, &m);
        a += n;
        b += m;
    } while (x == y && x);
    return x < y ? -1 : x > y;
}

bool name_is_ascii(const char *name) {
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

bool name_same(const char *a, const char *b) {
    return a && b ? !name_compare(a, b) : a == b;
}

/* -- names in commands that people are told to type ---------------------------------------------------------------- */

#define PLAIN LETTERS DIGITS "._-" /* what every shell takes as it is */

const char *name_word(const char *name, const char *id) {
    return str_empty(name) || name[strspn(name, PLAIN)] || *name == '-' ? id : name;
}

struct name_quoted name_quote(const char *text) {
    struct name_quoted out = {"NAME"};
    _cleanup_strbuf_ struct strbuf word;
    strbuf_init(&word, sizeof(out.text) - 1);
    if (str_empty(text))
        return out;
    if (!text[strspn(text, PLAIN "@:/+,=%")]) {
        strbuf_adds(&word, text);
    } else {
        strbuf_adds(&word, "'");
        for (; *text; text++) /* between apostrophes stands anything but one */
            strbuf_adds(&word, *text == '\'' ? "'\\''" : (char[]){*text, '\0'});
        strbuf_adds(&word, "'");
    }
    if (!word.failed)
        (void)snprintf(out.text, sizeof(out.text), "%s", word.data);
    return out;
}

/* -- which passwords of local users are good enough ---------------------------------------------------------------- */

#define DIFFERENT_MIN 5

static bool names_begins(const char *text, const char *name) {
    uint32_t x, y;
    size_t n, m;
    for (; *name; text += n, name += m) {
        x = names_next(text, &n);
        y = names_next(name, &m);
        if (x != y)
            return false;
    }
    return true;
}

/* Different bytes are enough to tell "aaaaaaaaaaaa" and "121212121212" from a phrase. */
static unsigned names_count_different(const char *text) {
    bool seen[256] = {false};
    unsigned count = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        count += !seen[*p];
        seen[*p] = true;
    }
    return count;
}

int password_check(const char *password, const char *user_name, struct err *err) {
    size_t bytes = strlen(password), name_bytes = strlen(user_name);
    long chars = str_utf8_chars(password, bytes);
    if (chars < 0 || str_has_control(password))
        return err_set(err, ERR_UNPROCESSABLE, "the password has a control character or is not UTF-8");
    if (chars < PASSWORD_CHARS_MIN) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the password is too short: at least %d characters", PASSWORD_CHARS_MIN);
        return err_remedy(err, "several words that do not belong together are easy to remember and hard to guess");
    }
    if (bytes > PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the password is too long: at most %d bytes", PASSWORD_BYTES_MAX);
    if (names_count_different(password) < DIFFERENT_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "the password repeats a few characters only");
    if (name_bytes && names_begins(password, user_name) && bytes < name_bytes + DIFFERENT_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "the password is little more than the name of the user");
    return 0;
}
