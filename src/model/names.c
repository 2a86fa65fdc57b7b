/* Rules for names and texts that people give to things. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "names.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "cleanup.h"
#include "limits.h"
#include "object_ref.h"
#include "str.h"
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

/* Labels of letters, digits and inner hyphens. If the last is a number, it was meant as an IPv4 address and is none. */
static bool is_host_name(const char *host) {
    const char *label = host;
    for (;;) {
        size_t n = strspn(label, LETTERS DIGITS "-");
        if (!n || n > HOST_LABEL_BYTES_MAX || label[0] == '-' || label[n - 1] == '-')
            return false;
        if (!label[n])
            return label[strspn(label, DIGITS)] != '\0';
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

/* -- which passwords of local users are good enough ---------------------------------------------------------------- */

#define DIFFERENT_MIN 5

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
    if (name_bytes && !strncasecmp(password, user_name, name_bytes) && bytes < name_bytes + DIFFERENT_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "the password is little more than the name of the user");
    return 0;
}
