/* Fuzz target: the readers of Negotiate. The first byte chooses: a token as bytes, the value of a header, or header lines of a server.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_inside(const uint8_t *token, size_t n, const struct negotiate_part *part) {
    if (part->bytes && (part->bytes < token || part->bytes + part->count > token + n || !part->count))
        abort();
}

/* A bare AP-REQ with its frame is a token of krb5 with the same authenticator. */
static void check_frame(const uint8_t *token, size_t n, const struct negotiate_token *seen) {
    struct negotiate_token again;
    uint8_t *framed;
    size_t framed_bytes;
    if (negotiate_frame(token, n, &framed, &framed_bytes, NULL))
        abort();
    negotiate_read(framed, framed_bytes, &again);
    if (again.kind != NEGOTIATE_KRB5 || again.authenticator.count != seen->authenticator.count ||
        memcmp(again.authenticator.bytes, seen->authenticator.bytes, seen->authenticator.count) != 0 ||
        again.ticket_enctype != seen->ticket_enctype || again.ticket_kvno != seen->ticket_kvno)
        abort();
    free(framed);
}

static void read_token(const uint8_t *token, size_t n) {
    struct negotiate_token seen;
    negotiate_read(token, n, &seen);
    check_inside(token, n, &seen.authenticator);
    check_inside(token, n, &seen.old_oid);
    if (seen.kind == NEGOTIATE_MALFORMED && (seen.authenticator.bytes || seen.offers_krb5 || seen.offers_ntlm))
        abort();
    if (seen.kind == NEGOTIATE_AP_REQ)
        check_frame(token, n, &seen);
}

static void read_text(const char *text) {
    _cleanup_free_ uint8_t *token = NULL;
    _cleanup_free_ char *again = NULL;
    struct err err = {0};
    size_t n;
    if (negotiate_decode(text, &token, &n, &err)) {
        if (!err.code)
            abort();
        return;
    }
    again = negotiate_encode(token, n);
    if (!again || strcmp(again, text) != 0) /* one text for one token */
        abort();
    read_token(token, n);
}

/* Lines as a server sends them, each of them of exactly its size. */
static void read_lines(const uint8_t *text, size_t n) {
    struct challenge found = {0};
    for (size_t i = 0, length; i <= n; i += length + 1) {
        const uint8_t *end = i < n ? memchr(text + i, '\n', n - i) : NULL;
        length = end ? (size_t)(end - text) - i : n - i;
        char *line = malloc(length ? length : 1);
        if (!line)
            abort();
        memcpy(line, text + i, length);
        challenge_read(&found, line, length);
        free(line);
    }
    if ((found.negotiate && !found.is_there) ||
        (found.token && (!found.negotiate || strlen(found.token) > CHALLENGE_TOKEN_CHARS_MAX)))
        abort();
    challenge_done(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    uint8_t *copy;
    if (!n)
        return 0;
    copy = malloc(n); /* of exactly this size, so that a byte too many is seen */
    if (!copy)
        abort();
    memcpy(copy, data + 1, n - 1);
    copy[n - 1] = '\0';
    if (data[0] % 2)
        read_text((const char *)copy);
    else if (data[0] & 2)
        read_lines(copy, n - 1);
    else {
        uint8_t *token = malloc(n > 1 ? n - 1 : 1);
        memcpy(token, copy, n - 1);
        read_token(token, n - 1);
        free(token);
    }
    free(copy);
    return 0;
}
