/* What makes audit lines of one replica a chain: hashes of lines, signed ends. Layer 2 (store), internal; pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * hash(line) = HMAC-SHA-256(key, word, hash of the line before, replica, number, time, columns). Each column that is not NULL goes in as its
 * place in enum audit_text, its length and its bytes: no two lines give the same input, and a column that a later release adds changes
 * nothing for lines without it. Who has the database but not the key can neither rebuild the chain nor sign another end of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIT_HASH_BYTES 32
#define AUDIT_KEY_BYTES 32
#define AUDIT_END_BYTES 72 /* number, hash, signature */

/* The texts of a line. Their places are part of what is hashed: new ones go to the end. */
enum audit_text {
    AUDIT_ACTION,
    AUDIT_PRINCIPAL_ID,
    AUDIT_PRINCIPAL_NAME,
    AUDIT_SOURCE,
    AUDIT_OBJECT_KIND,
    AUDIT_OBJECT_ID,
    AUDIT_OBJECT_NAME,
    AUDIT_ADDRESS,
    AUDIT_REQUEST_ID,
    AUDIT_RESULT,
    AUDIT_REASON,
    AUDIT_ACTING_ID,
    AUDIT_TEXTS
};

/* A line as it stands in the database. Borrowed; data NULL: SQL NULL. */
struct audit_image {
    unsigned replica_id;
    uint64_t seq;
    int64_t at_ms;
    struct {
        const void *data;
        size_t bytes;
    } texts[AUDIT_TEXTS];
};

/* An end of the chain of a replica: its last line, or the last one that was removed from the old end. */
struct audit_end {
    uint64_t seq;
    uint8_t hash[AUDIT_HASH_BYTES]; /* zeros: of no line, where a chain begins */
};

/* Whose end it is, which one, and the key it is signed with. */
struct audit_owner {
    const uint8_t *key; /* AUDIT_KEY_BYTES; borrowed */
    unsigned replica_id;
    enum audit_end_kind { AUDIT_END_HEAD, AUDIT_END_ANCHOR } kind;
};

/* The hash of a line behind the one with hash `before`. */
void audit_mac_line(const uint8_t key[AUDIT_KEY_BYTES], const struct audit_image *line, const uint8_t before[AUDIT_HASH_BYTES],
                    uint8_t out[AUDIT_HASH_BYTES]);

/* The signed form of an end. */
void audit_mac_sign(const struct audit_owner *owner, const struct audit_end *end, uint8_t out[AUDIT_END_BYTES]);

/* Reads it again; false if it is not one that was signed with this key for this kind and replica. */
bool audit_mac_check(const struct audit_owner *owner, const uint8_t *bytes, size_t n, struct audit_end *out);
