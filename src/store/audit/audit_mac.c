/* Hashes of audit lines and signed ends of their chain. Layer 2 (store); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "audit_mac.h"

#include <string.h>

#include "digest.h"
#include "secret.h"

#define LINE_WORD "kaas audit line 1"
#define TEXTS_BYTES_MAX \
    9600U /* all texts at their longest, four bytes for each character (sql/0019_audit.sql, sql/0085_audit_chain.sql) */
#define LINE_BYTES_MAX (TEXTS_BYTES_MAX + 256U)
#define NO_MORE_TEXTS 0xFFU

_Static_assert(AUDIT_END_BYTES == 8 + 2 * AUDIT_HASH_BYTES, "number, hash, signature");
_Static_assert(AUDIT_HASH_BYTES == DIGEST_SHA256_BYTES, "hashes are of SHA-256");

struct writer {
    uint8_t bytes[LINE_BYTES_MAX];
    size_t len;
};

/* What does not fit was never written like that: columns are shorter. The length that goes before it still tells the two apart. */
static void mac_put(struct writer *w, const void *data, size_t n) {
    size_t room = sizeof(w->bytes) - w->len;
    n = n < room ? n : room;
    if (n)
        memcpy(w->bytes + w->len, data, n);
    w->len += n;
}

static void mac_put_number(struct writer *w, uint64_t number) {
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(number >> (56 - 8 * i));
    mac_put(w, bytes, sizeof(bytes));
}

void audit_mac_line(const uint8_t key[AUDIT_KEY_BYTES], const struct audit_image *line, const uint8_t before[AUDIT_HASH_BYTES],
                    uint8_t out[AUDIT_HASH_BYTES]) {
    struct writer w;
    uint8_t tag;
    w.len = 0;
    mac_put(&w, LINE_WORD, sizeof(LINE_WORD));
    mac_put(&w, before, AUDIT_HASH_BYTES);
    mac_put_number(&w, line->replica_id);
    mac_put_number(&w, line->seq);
    mac_put_number(&w, (uint64_t)line->at_ms);
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        if (!line->texts[i].data)
            continue;
        tag = (uint8_t)i;
        mac_put(&w, &tag, 1);
        mac_put_number(&w, line->texts[i].bytes);
        mac_put(&w, line->texts[i].data, line->texts[i].bytes);
    }
    tag = NO_MORE_TEXTS;
    mac_put(&w, &tag, 1);
    digest_hmac_sha256(key, AUDIT_KEY_BYTES, w.bytes, w.len, out);
}

static void mac_sign(const struct audit_owner *owner, const uint8_t *plain, uint8_t *out) {
    static const char head_word[] = "kaas audit head 1", anchor_word[] = "kaas audit base 1";
    uint8_t bytes[sizeof(head_word) + 2 + 8 + AUDIT_HASH_BYTES];
    _Static_assert(sizeof(head_word) == sizeof(anchor_word), "both words are of one length");
    memcpy(bytes, owner->kind == AUDIT_END_HEAD ? head_word : anchor_word, sizeof(head_word));
    bytes[sizeof(head_word)] = (uint8_t)(owner->replica_id >> 8); /* SMALLINT in the database */
    bytes[sizeof(head_word) + 1] = (uint8_t)owner->replica_id;
    memcpy(bytes + sizeof(head_word) + 2, plain, 8 + AUDIT_HASH_BYTES);
    digest_hmac_sha256(owner->key, AUDIT_KEY_BYTES, bytes, sizeof(bytes), out);
}

void audit_mac_sign(const struct audit_owner *owner, const struct audit_end *end, uint8_t out[AUDIT_END_BYTES]) {
    for (size_t i = 0; i < 8; i++)
        out[i] = (uint8_t)(end->seq >> (56 - 8 * i));
    memcpy(out + 8, end->hash, AUDIT_HASH_BYTES);
    mac_sign(owner, out, out + 8 + AUDIT_HASH_BYTES);
}

bool audit_mac_check(const struct audit_owner *owner, const uint8_t *bytes, size_t n, struct audit_end *out) {
    uint8_t wanted[AUDIT_HASH_BYTES];
    if (!bytes || n != AUDIT_END_BYTES)
        return false;
    mac_sign(owner, bytes, wanted);
    if (!secret_eq(wanted, sizeof(wanted), bytes + 8 + AUDIT_HASH_BYTES, AUDIT_HASH_BYTES))
        return false;
    out->seq = 0;
    for (size_t i = 0; i < 8; i++)
        out->seq = out->seq << 8 | bytes[i];
    memcpy(out->hash, bytes + 8, AUDIT_HASH_BYTES);
    return true;
}
