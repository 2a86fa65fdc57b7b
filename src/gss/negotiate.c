/* Taking tokens and challenges of HTTP Negotiate apart. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DER, read by slices: a slice is what is left of some value. A slice that turned out malformed is empty and bad, and stays so. */
#include "negotiate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "str.h"

#define TAG_OID 0x06
#define TAG_OCTETS 0x04
#define TAG_INTEGER 0x02
#define TAG_BITS 0x03
#define TAG_ENUM 0x0a
#define TAG_SEQUENCE 0x30
#define TAG_GSS 0x60    /* [APPLICATION 0] */
#define TAG_AP_REQ 0x6e /* [APPLICATION 14] */
#define TAG_TICKET 0x61 /* [APPLICATION 1] */
#define TAG_CHOICE(i) (0xa0 + (i))
#define MECHS_MAX 32U
#define FLAGS_BYTES 2U
#define STATE_BYTES 1U
#define MECH_BYTES_MAX 64U

static const uint8_t oid_spnego[] = {0x2b, 0x06, 0x01, 0x05, 0x05, 0x02};
static const uint8_t oid_krb5[] = {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02};
static const uint8_t oid_krb5_microsoft[] = {0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 0x01, 0x02, 0x02};
static const uint8_t oid_ntlm[] = {0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a};
static const uint8_t token_id_ap_req[] = {0x01, 0x00};

struct slice {
    const uint8_t *at;
    size_t left;
    bool is_bad;
};

/* -- DER ------------------------------------------------------------------------------------------------------------------ */

static struct slice bad_slice(void) {
    return (struct slice){.is_bad = true};
}

static uint8_t take_byte(struct slice *in) {
    if (!in->left) {
        *in = bad_slice();
        return 0;
    }
    in->left--;
    return *in->at++;
}

static struct slice take_bytes(struct slice *in, size_t n) {
    struct slice part = {.at = in->at, .left = n};
    if (in->is_bad || in->left < n) {
        *in = bad_slice();
        return *in;
    }
    in->at += n;
    in->left -= n;
    return part;
}

/* Definite lengths of up to four bytes; some clients write more bytes than they need. */
static size_t take_length(struct slice *in) {
    uint8_t first = take_byte(in);
    size_t length = first, count = first & 0x7f;
    if (first < 0x80)
        return length;
    if (!count || count > 4) {
        *in = bad_slice();
        return 0;
    }
    for (length = 0; count; count--)
        length = length << 8 | take_byte(in);
    return length;
}

static bool negotiate_is_next(const struct slice *in, uint8_t tag) {
    return in->left && *in->at == tag;
}

/* The contents of a value that must be there. */
static struct slice negotiate_take_value(struct slice *in, uint8_t tag) {
    if (!negotiate_is_next(in, tag)) {
        *in = bad_slice();
        return *in;
    }
    (void)take_byte(in);
    return take_bytes(in, take_length(in));
}

/* The contents of [i], which is there or not; an absent one is empty. */
static struct slice take_optional(struct slice *in, unsigned i) {
    return negotiate_is_next(in, (uint8_t)TAG_CHOICE(i)) ? negotiate_take_value(in, (uint8_t)TAG_CHOICE(i))
                                                         : (struct slice){.is_bad = in->is_bad};
}

/* [i] with one value of this kind in it. */
static struct slice take_member(struct slice *in, unsigned i, uint8_t tag) {
    struct slice outer = negotiate_take_value(in, (uint8_t)TAG_CHOICE(i));
    return negotiate_take_value(&outer, tag);
}

static long negotiate_to_number(struct slice in) {
    long value = 0;
    if (in.is_bad || !in.left || in.left > 5)
        return -1;
    for (; in.left; in.left--)
        value = value << 8 | *in.at++;
    return value;
}

static bool is_oid(struct slice in, const uint8_t *oid, size_t n) {
    return in.left == n && memcmp(in.at, oid, n) == 0;
}

/* Windows wrote one bit of it wrong, and goes on naming both (MS-SPNG 1.9, MS-KILE). */
static bool is_old_krb5(struct slice oid) {
    return is_oid(oid, oid_krb5_microsoft, sizeof(oid_krb5_microsoft));
}

static bool is_krb5(struct slice oid) {
    return is_oid(oid, oid_krb5, sizeof(oid_krb5)) || is_old_krb5(oid);
}

/* -- krb5 ------------------------------------------------------------------------------------------------------------------- */

struct sealed {
    long enctype, kvno;
    struct slice cipher;
};

/* EncryptedData. */
static struct sealed negotiate_take_sealed(struct slice *in, unsigned i) {
    struct slice body = take_member(in, i, TAG_SEQUENCE);
    struct sealed sealed = {.kvno = -1};
    struct slice kvno;
    sealed.enctype = negotiate_to_number(take_member(&body, 0, TAG_INTEGER));
    kvno = take_optional(&body, 1);
    if (kvno.left)
        sealed.kvno = negotiate_to_number(negotiate_take_value(&kvno, TAG_INTEGER));
    sealed.cipher = take_member(&body, 2, TAG_OCTETS);
    if (body.is_bad)
        *in = bad_slice();
    return sealed;
}

static struct sealed negotiate_take_ticket(struct slice *in) {
    struct slice outer = negotiate_take_value(in, (uint8_t)TAG_CHOICE(3));
    struct slice ticket = negotiate_take_value(&outer, TAG_TICKET);
    struct slice body = negotiate_take_value(&ticket, TAG_SEQUENCE);
    (void)negotiate_take_value(&body, (uint8_t)TAG_CHOICE(0)); /* version */
    (void)negotiate_take_value(&body, (uint8_t)TAG_CHOICE(1)); /* realm */
    (void)negotiate_take_value(&body, (uint8_t)TAG_CHOICE(2)); /* name of the service */
    struct sealed sealed = negotiate_take_sealed(&body, 3);
    if (body.is_bad)
        *in = bad_slice();
    return sealed;
}

static bool read_ap_req(struct slice in, struct negotiate_token *out) {
    struct slice outer = negotiate_take_value(&in, TAG_AP_REQ);
    struct slice body = negotiate_take_value(&outer, TAG_SEQUENCE);
    (void)negotiate_take_value(&body, (uint8_t)TAG_CHOICE(0)); /* version */
    (void)negotiate_take_value(&body, (uint8_t)TAG_CHOICE(1)); /* type */
    (void)negotiate_take_value(&body, (uint8_t)TAG_CHOICE(2)); /* options */
    struct sealed ticket = negotiate_take_ticket(&body);
    struct sealed authenticator = negotiate_take_sealed(&body, 4);
    if (body.is_bad || body.left || outer.left || in.left || !authenticator.cipher.left)
        return false;
    out->ticket_enctype = (int)ticket.enctype;
    out->ticket_kvno = ticket.kvno;
    out->session_enctype = (int)authenticator.enctype;
    out->authenticator = (struct negotiate_part){authenticator.cipher.at, authenticator.cipher.left};
    return true;
}

/* Behind the OID of krb5: two bytes that say what it is. */
static bool read_krb5_body(struct slice oid, struct slice in, struct negotiate_token *out) {
    struct slice id = take_bytes(&in, sizeof(token_id_ap_req));
    if (is_old_krb5(oid))
        out->old_oid = (struct negotiate_part){oid.at, oid.left};
    return is_oid(id, token_id_ap_req, sizeof(token_id_ap_req)) && read_ap_req(in, out);
}

/* In the frame of GSS-API. One of another mechanism is nobody's here: the library goes on without it. */
static bool read_framed(struct slice in, struct negotiate_token *out) {
    struct slice body = negotiate_take_value(&in, TAG_GSS);
    struct slice oid = negotiate_take_value(&body, TAG_OID);
    return !in.left && !body.is_bad && (!is_krb5(oid) || read_krb5_body(oid, body, out));
}

/* -- SPNEGO ----------------------------------------------------------------------------------------------------------------- */

static bool read_mechs(struct slice list, struct negotiate_token *out) {
    struct slice mechs = negotiate_take_value(&list, TAG_SEQUENCE);
    for (unsigned i = 0; mechs.left && i < MECHS_MAX; i++) {
        struct slice oid = negotiate_take_value(&mechs, TAG_OID);
        out->offers_krb5 |= is_krb5(oid);
        out->offers_ntlm |= is_oid(oid, oid_ntlm, sizeof(oid_ntlm));
    }
    return !list.is_bad && !list.left && !mechs.is_bad && !mechs.left;
}

/* What one mechanism says: of interest is krb5 only. */
static bool read_mech_token(struct slice in, struct negotiate_token *out) {
    struct slice token = negotiate_take_value(&in, TAG_OCTETS);
    if (in.is_bad || in.left)
        return false;
    return !negotiate_is_next(&token, TAG_GSS) || read_framed(token, out);
}

/* libkrb5 (1.20) reads on inside such a part, behind its first value, for what comes next. What it may find there is not what we see: so there must
 * be one value and no more, of a length that the library takes. */
static void skip_single(struct slice *in, unsigned i, uint8_t tag, size_t most) {
    struct slice part = take_optional(in, i), value = part.left ? negotiate_take_value(&part, tag) : part;
    if (part.is_bad || part.left || value.is_bad || value.left > most)
        *in = bad_slice();
}

static bool negotiate_read_init(struct slice in, struct negotiate_token *out) {
    struct slice choice = negotiate_take_value(&in, (uint8_t)TAG_CHOICE(0));
    struct slice body = negotiate_take_value(&choice, TAG_SEQUENCE);
    struct slice mechs = take_optional(&body, 0), token;
    skip_single(&body, 1, TAG_BITS, FLAGS_BYTES);
    token = take_optional(&body, 2);
    (void)take_optional(&body, 3); /* MIC */
    if (body.is_bad || body.left || choice.left || in.left || !mechs.left)
        return false;
    return read_mechs(mechs, out) && (!token.left || read_mech_token(token, out));
}

static bool negotiate_read_next(struct slice in, struct negotiate_token *out) {
    struct slice choice = negotiate_take_value(&in, (uint8_t)TAG_CHOICE(1));
    struct slice body = negotiate_take_value(&choice, TAG_SEQUENCE), token;
    skip_single(&body, 0, TAG_ENUM, STATE_BYTES);
    skip_single(&body, 1, TAG_OID, MECH_BYTES_MAX);
    token = take_optional(&body, 2);
    (void)take_optional(&body, 3); /* MIC */
    if (body.is_bad || body.left || choice.left || in.left)
        return false;
    return !token.left || read_mech_token(token, out);
}

/* SPNEGO, krb5 or another mechanism, told by the OID. */
static enum negotiate_kind read_gss(struct slice in, struct negotiate_token *out) {
    struct slice outer = in, body = negotiate_take_value(&outer, TAG_GSS), oid = negotiate_take_value(&body, TAG_OID);
    if (outer.is_bad || outer.left || body.is_bad)
        return NEGOTIATE_MALFORMED;
    if (is_oid(oid, oid_spnego, sizeof(oid_spnego)))
        return negotiate_read_init(body, out) ? NEGOTIATE_SPNEGO : NEGOTIATE_MALFORMED;
    if (!is_krb5(oid))
        return NEGOTIATE_OTHER;
    return read_krb5_body(oid, body, out) ? NEGOTIATE_KRB5 : NEGOTIATE_MALFORMED;
}

static enum negotiate_kind negotiate_read_kind(struct slice in, struct negotiate_token *out) {
    static const char ntlm[] = "NTLMSSP"; /* with its NUL */
    if (in.left >= sizeof(ntlm) && memcmp(in.at, ntlm, sizeof(ntlm)) == 0)
        return NEGOTIATE_NTLM;
    if (negotiate_is_next(&in, TAG_GSS))
        return read_gss(in, out);
    if (negotiate_is_next(&in, (uint8_t)TAG_CHOICE(1)))
        return negotiate_read_next(in, out) ? NEGOTIATE_SPNEGO_NEXT : NEGOTIATE_MALFORMED;
    return read_ap_req(in, out) ? NEGOTIATE_AP_REQ : NEGOTIATE_MALFORMED;
}

void negotiate_read(const uint8_t *token, size_t n, struct negotiate_token *out) {
    struct negotiate_token found = {.ticket_kvno = -1};
    found.kind = negotiate_read_kind((struct slice){.at = token, .left = n}, &found);
    *out = found.kind == NEGOTIATE_MALFORMED ? (struct negotiate_token){.ticket_kvno = -1} : found;
}

/* The bytes of a DER length of up to four. */
static size_t put_length(size_t length, uint8_t *out) {
    size_t count = length < 0x80 ? 0 : length < 0x100 ? 1 : length < 0x10000 ? 2 : length < 0x1000000 ? 3 : 4;
    out[0] = (uint8_t)(count ? 0x80 | count : length);
    for (size_t i = count; i > 0; i--, length >>= 8)
        out[i] = (uint8_t)length;
    return count + 1;
}

int negotiate_frame(const uint8_t *ap_req, size_t n, uint8_t **out, size_t *out_n, struct err *err) {
    const size_t inside = 2 + sizeof(oid_krb5) + sizeof(token_id_ap_req) + n;
    uint8_t *framed = malloc(inside + 6), *at = framed;
    if (!framed)
        return err_set(err, ERR_NOMEM, "out of memory");
    *at++ = TAG_GSS;
    at += put_length(inside, at);
    *at++ = TAG_OID;
    *at++ = sizeof(oid_krb5);
    memcpy(at, oid_krb5, sizeof(oid_krb5));
    at += sizeof(oid_krb5);
    memcpy(at, token_id_ap_req, sizeof(token_id_ap_req));
    at += sizeof(token_id_ap_req);
    memcpy(at, ap_req, n);
    *out = framed;
    *out_n = (size_t)(at - framed) + n;
    return 0;
}

/* -- base64 ----------------------------------------------------------------------------------------------------------------- */

int negotiate_decode(const char *text, uint8_t **out, size_t *n, struct err *err) {
    size_t length = strlen(text), pads = length && text[length - 1] == '=' ? 1U + (length > 1 && text[length - 2] == '=') : 0;
    const size_t count = length / 4 * 3 - pads;
    uint8_t *bytes;
    if (!length || length % 4)
        return err_set(err, ERR_INVALID, "the token is not base64");
    if (count > NEGOTIATE_TOKEN_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the token is larger than %u bytes", NEGOTIATE_TOKEN_BYTES_MAX);
    bytes = malloc(count);
    if (!bytes)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (str_unbase64(text, length - pads, bytes, count) < 0) {
        free(bytes);
        return err_set(err, ERR_INVALID, "the token is not base64");
    }
    *out = bytes;
    *n = count;
    return 0;
}

char *negotiate_encode(const uint8_t *bytes, size_t n) {
    struct strbuf text;
    strbuf_init(&text, (n + 2) / 3 * 4);
    str_base64(&text, bytes, n);
    while (text.len % 4)
        strbuf_addc(&text, '=');
    return strbuf_steal(&text);
}

/* -- reading WWW-Authenticate -------------------------------------------------------------------------------------- */

/* A line may hold several challenges, and each of them commas of its own: a new challenge begins where behind a comma stands a word that no "=" follows. A token68 has
 * "=" at its end only, and no commas. */

struct span {
    const char *at;
    size_t n;
};

void challenge_done(struct challenge *challenge) {
    if (!challenge)
        return;
    free(challenge->token);
    *challenge = (struct challenge){0};
}

static bool negotiate_is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_token68(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("-._~+/=", c));
}

static struct span negotiate_trim(struct span s) {
    while (s.n && negotiate_is_blank(s.at[0]))
        s = (struct span){s.at + 1, s.n - 1};
    while (s.n && negotiate_is_blank(s.at[s.n - 1]))
        s.n--;
    return s;
}

/* Up to the next comma that is in no quoted string. */
static struct span negotiate_take_part(struct span *rest) {
    struct span part = {rest->at, 0};
    bool is_quoted = false;
    for (; part.n < rest->n && (is_quoted || rest->at[part.n] != ','); part.n++) {
        if (is_quoted && rest->at[part.n] == '\\' && part.n + 1 < rest->n)
            part.n++;
        else if (rest->at[part.n] == '"')
            is_quoted = !is_quoted;
    }
    rest->at += part.n < rest->n ? part.n + 1 : part.n;
    rest->n -= part.n < rest->n ? part.n + 1 : part.n;
    return negotiate_trim(part);
}

static size_t word_length(struct span s) {
    size_t n = 0;
    while (n < s.n && !negotiate_is_blank(s.at[n]) && s.at[n] != '=')
        n++;
    return n;
}

/* A parameter of the challenge before: name, "=", value. */
static bool is_parameter(struct span part) {
    size_t n = word_length(part);
    while (n < part.n && negotiate_is_blank(part.at[n]))
        n++;
    return n < part.n && part.at[n] == '=';
}

static void negotiate_take_token(struct challenge *challenge, struct span token) {
    bool is_good = token.n <= CHALLENGE_TOKEN_CHARS_MAX;
    for (size_t i = 0; is_good && i < token.n; i++)
        is_good = is_token68(token.at[i]);
    challenge->is_twice = challenge->is_twice || challenge->token;
    if (!is_good || challenge->token) {
        challenge->is_bad = challenge->is_bad || !is_good;
        return;
    }
    challenge->token = strndup(token.at, token.n);
    challenge->is_bad = challenge->is_bad || !challenge->token;
}

static void take_challenge(struct challenge *challenge, struct span part) {
    static const char scheme[] = "Negotiate";
    const size_t n = word_length(part);
    const struct span rest = negotiate_trim((struct span){part.at + n, part.n - n});
    challenge->is_there = true;
    if (n != sizeof(scheme) - 1 || strncasecmp(part.at, scheme, n) != 0)
        return;
    challenge->negotiate = true;
    if (rest.n)
        negotiate_take_token(challenge, rest);
}

void challenge_read(struct challenge *challenge, const char *line, size_t n) {
    static const char name[] = "WWW-Authenticate:";
    const size_t head = sizeof(name) - 1;
    struct span rest;
    if (n < head || strncasecmp(line, name, head) != 0)
        return;
    rest = (struct span){line + head, n - head};
    while (rest.n) {
        struct span part = negotiate_take_part(&rest);
        if (part.n && !is_parameter(part))
            take_challenge(challenge, part);
    }
}
