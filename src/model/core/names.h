/* Rules for names and texts that people give to things, and for passwords. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Checks a free text: valid UTF-8 of at most max_chars characters; NULL and "" are allowed. ERR_UNPROCESSABLE. */
int name_check_text(const char *text, size_t max_chars, const char *what, struct err *err);

/* Checks a text of one line: as name_check_text, not empty, without control characters. ERR_UNPROCESSABLE. */
int name_check_line(const char *text, size_t max_chars, const char *what, struct err *err);

/* Checks a name of a cluster or vCenter as it is kept: valid UTF-8, 1 to KAAS_NAME_CHARS_MAX characters, no control characters, no blank at
 * either end. `what` names the member in the message. ERR_UNPROCESSABLE. */
int name_check_kept(const char *name, const char *what, struct err *err);

/* Checks that a text, valid UTF-8, has no invisible code point (str_is_invisible): "a<U+200B>b" looks like "ab", and U+202E reverses the text behind it.
 * ERR_UNPROCESSABLE with the code point. */
int name_check_visible(const char *text, const char *what, struct err *err);

/* Checks a name that somebody gives: as name_check_kept and name_check_visible. Names that were stored before that rule stay. ERR_UNPROCESSABLE. */
int name_check(const char *name, const char *what, struct err *err);

/* Checks that a name, valid UTF-8, does not mix letters of the scripts Latin, Greek and Cyrillic, which share shapes: "admin" with a Cyrillic a looks
 * like another name. ERR_UNPROCESSABLE. */
int name_check_script(const char *name, const char *what, struct err *err);

/* Orders versions of Kubernetes: by their numbers, then alpha, beta and release candidates before the release (Semantic Versioning 2.0.0, 11), then what
 * distributions put behind it. As strcmp. */
int kubernetes_version_compare(const char *a, const char *b);

/* Checks a Kubernetes version "1.31.2" (no leading v; optional -suffix or +suffix of letters, digits, dots, dashes). ERR_UNPROCESSABLE. */
int name_check_kubernetes_version(const char *version, struct err *err);

/* Checks an absolute https URL without user info, blanks or control characters, at most
 * KAAS_URL_BYTES_MAX bytes. The message does not repeat it. ERR_UNPROCESSABLE. */
int name_check_https_url(const char *url, const char *what, struct err *err);

/* Checks a host name (RFC 1123) or IPv4/IPv6 address without port, brackets or scheme. ERR_UNPROCESSABLE with what to type instead. */
int name_check_host(const char *host, const char *what, struct err *err);

/* Checks an IPv4 or IPv6 address. ERR_UNPROCESSABLE. */
int name_check_ip_address(const char *address, const char *what, struct err *err);

/* Checks a managed object id: 1 to 80 characters out of letters, digits, '-', '_', '.'. ERR_UNPROCESSABLE. */
int name_check_moref(const char *moref, const char *what, struct err *err);

/* Checks that it is a UUID; NULL is none. ERR_UNPROCESSABLE. */
int name_check_uuid(const char *id, const char *what, struct err *err);

/* Turns what vCenter writes for '/', '\\' and '%' in names, %2f, %5c and %25 in either case (API reference, ManagedEntity.name), back in place. */
void vsphere_name_unescape(char *name);

/* Reads the UUID of a virtual machine as others write it: plain, "vsphere://UUID" (a node's providerID), "VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b" (the
 * serial number of SMBIOS). `out` has UUID_TEXT_BYTES. False if it is none of them. */
bool vm_uuid_parse(const char *text, char *out);

/* As name_check_uuid, with a remedy that names the forms that people can give (vm_uuid_parse). */
int name_check_vm_uuid(const char *id, const char *what, struct err *err);

/* -- names without case: of people, groups and their domains, and what people call things -------------------------- */

/* Two spellings are one name if they differ in nothing but the case of letters as Windows sees it, of which Active Directory is part: by its published table of capitals ([MS-UCODEREF]
 * 3.1.5.3.2). It has the pairs of one small letter and one capital of Unicode 5.1 below U+10000, in Latin, Greek, Cyrillic, Armenian, Georgian, Glagolitic, Coptic, and no others: so U+00DF
 * (sharp s), U+0130 and U+0131 (i with and without dot), U+03C2 (final sigma), U+017F, U+212A (Kelvin) and U+01C5 are each nothing but themselves, and composed and decomposed letters are two.
 * The locale does not matter. Not for UUIDs and host names, which are ASCII: str_eq_nocase. docs/design/sign-on.md, "Names", has the reasons. */

/* Folds a name in place to the one spelling that all its spellings share. It never gets longer. Bytes that are no UTF-8 stay. */
void name_fold(char *name);
/* Order by the folded spelling: <0, 0, >0. */
int name_compare(const char *a, const char *b);
/* True if the name is all ASCII. Such a name is never the same as one that is not. */
bool name_is_ascii(const char *name);
/* True if both are spellings of one name, or both are NULL. */
bool name_same(const char *a, const char *b);

/* -- names in commands that people are told to type ---------------------------------------------------------------- */

/* How people type a thing in a command: its name, or its id where the name is empty or would need quotes in a shell. Borrowed. */
const char *name_word(const char *name, const char *id);

#define NAME_QUOTED_BYTES 1024
struct name_quoted {
    char text[NAME_QUOTED_BYTES];
};
/* How people type a text in a command: as it is where a shell takes it so, else quoted, 'it'\''s $HOME'. "NAME" if it is empty or too long. */
struct name_quoted name_quote(const char *text);

/* -- which passwords of local users are good enough ---------------------------------------------------------------- */

#define PASSWORD_CHARS_MIN \
    12 /* length is what counts; there are no rules about kinds of characters (NIST SP 800-63B, section 3.1.1.2) */
#define PASSWORD_BYTES_MAX 500 /* crypt(3) takes 511 */

/* Checks that a password is good enough for this user. The message does not repeat it. ERR_UNPROCESSABLE with what is wanted. */
int password_check(const char *password, const char *user_name, struct err *err);
