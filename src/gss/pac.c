/* Reading the logon information of a PAC. Layer 2 (gss); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NDR, little endian: a fixed block of 216 bytes, then, in the order of their pointers, what these point to, each aligned to 4 bytes. A cursor with a
 * sticky error goes over it once; every count is held against what is left before anything is taken for granted. */
#include "pac.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "str.h"

#define SUBS_MAX 15U /* of a SID, MS-DTYP 2.4.2 */
#define SID_TEXT_BYTES 192U
#define NAME_UNITS_MAX 512U
#define GROUP_ENABLED 0x4U
#define GROUP_DENY_ONLY 0x10U
#define FLAG_EXTRA_SIDS 0x20U
#define FLAG_RESOURCE_GROUPS 0x200U
#define TEXTS_COUNT 8U

struct cursor {
    const uint8_t *at, *end;
    const uint8_t *start; /* what alignment counts from */
    bool is_bad;
};

struct sid {
    uint8_t authority[6];
    unsigned count;
    uint32_t subs[SUBS_MAX];
};

/* A text of the fixed block; what it points to comes later. */
struct text {
    uint16_t bytes, max_bytes;
    bool is_there;
};

/* Names of texts, in their order. */
enum { TEXT_ACCOUNT, TEXT_FULL_NAME, TEXT_SERVER = 6, TEXT_DOMAIN };

struct fixed {
    uint64_t password_set_at;
    struct text texts[TEXTS_COUNT];
    uint32_t user, primary, flags;
    uint32_t groups, sids, resources; /* counts */
    bool has_groups, has_domain, has_sids, has_resource_domain, has_resources;
};

struct reading {
    struct cursor in;
    struct fixed fixed;
    struct pac_person *out;
    bool has_primary; /* it was among the groups and did not count there */
    int rc;           /* 0 or ERR_NOMEM */
};

/* -- cursor --------------------------------------------------------------------------------------------------------------- */

static size_t pac_left(const struct cursor *in) {
    return in->is_bad ? 0 : (size_t)(in->end - in->at);
}

static const uint8_t *pac_take(struct cursor *in, size_t n) {
    const uint8_t *from = in->at;
    if (pac_left(in) < n) {
        in->is_bad = true;
        return NULL;
    }
    in->at += n;
    return from;
}

static void pac_align(struct cursor *in) {
    (void)pac_take(in, (size_t)(4 - (in->at - in->start) % 4) % 4);
}

static uint16_t take_u16(struct cursor *in) {
    const uint8_t *p = pac_take(in, 2);
    return p ? (uint16_t)((uint32_t)p[0] | (uint32_t)p[1] << 8) : 0;
}

static uint32_t take_u32(struct cursor *in) {
    const uint8_t *p = pac_take(in, 4);
    return p ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24 : 0;
}

/* A count of items of so many bytes each, as it stands before them; it must be the one that was announced. */
static bool pac_take_count(struct cursor *in, uint32_t wanted, size_t item_bytes) {
    pac_align(in);
    if (take_u32(in) != wanted || wanted > KAAS_GROUPS_MAX || pac_left(in) / item_bytes < wanted)
        in->is_bad = true;
    return !in->is_bad;
}

/* -- texts ------------------------------------------------------------------------------------------------------------------ */

static struct text pac_take_text(struct cursor *in) {
    struct text text = {.bytes = take_u16(in), .max_bytes = take_u16(in)};
    text.is_there = take_u32(in) != 0;
    if (text.bytes > text.max_bytes || (text.bytes | text.max_bytes) % 2 || (text.bytes && !text.is_there))
        in->is_bad = true;
    return text;
}

static size_t put_utf8(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(c | (n == 2 ? 0xc0U : n == 3 ? 0xe0U : 0xf0U));
    return n;
}

/* One code point of UTF-16; a lone surrogate is an error. What it gives then takes no more room than what is there in its place. */
static uint32_t take_point(struct cursor *in) {
    uint32_t high = take_u16(in), low;
    if (high < 0xd800 || high > 0xdfff)
        return high;
    low = take_u16(in);
    if (high > 0xdbff || low < 0xdc00 || low > 0xdfff) {
        in->is_bad = true;
        return 0xfffd;
    }
    return 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
}

/* The words of one text; NULL when it is empty or no text that may be shown. */
static char *take_words(struct reading *r, size_t units) {
    const uint8_t *bytes = pac_take(&r->in, units * 2);
    struct cursor words = {.at = bytes, .end = bytes ? bytes + units * 2 : NULL, .start = bytes, .is_bad = !bytes};
    char *text = units && bytes ? malloc(units * 3 + 1) : NULL, *at = text;
    if (!text) {
        r->rc = units && bytes ? ERR_NOMEM : r->rc;
        return NULL;
    }
    while (pac_left(&words))
        at += put_utf8(take_point(&words), at);
    *at = '\0';
    r->in.is_bad |= words.is_bad;
    if (!words.is_bad && strlen(text) == (size_t)(at - text) && !str_has_control(text))
        return text;
    free(text);
    return NULL;
}

/* What a text points to: greatest size, offset, size, then the units. */
static char *take_body(struct reading *r, const struct text *text, bool is_wanted) {
    struct cursor *in = &r->in;
    size_t units = text->bytes / 2U;
    if (!text->is_there)
        return NULL;
    pac_align(in);
    if (take_u32(in) != text->max_bytes / 2U || take_u32(in) != 0 || take_u32(in) != units)
        in->is_bad = true;
    if (is_wanted && units <= NAME_UNITS_MAX)
        return take_words(r, units);
    (void)pac_take(in, units * 2);
    return NULL;
}

/* -- SIDs ------------------------------------------------------------------------------------------------------------------- */

static void pac_take_sid(struct cursor *in, struct sid *out) {
    uint32_t wanted;
    const uint8_t *head;
    pac_align(in);
    wanted = take_u32(in);
    head = pac_take(in, 8);
    if (!head || head[0] != 1 || head[1] != wanted || !wanted || wanted > SUBS_MAX) {
        in->is_bad = true;
        return;
    }
    memcpy(out->authority, head + 2, sizeof(out->authority));
    out->count = wanted;
    for (unsigned i = 0; i < wanted; i++)
        out->subs[i] = take_u32(in);
}

/* S-1-5-21-a-b-c-rid: only these are given out by a domain. S-1-5-32-..., S-1-18-... and the like mean something else on every machine, and
 * S-1-5-21-0-0-0-... are no groups but remarks on the sign-on (MS-DTYP section 2.4.2.4). */
static bool is_of_domain(const struct sid *sid) {
    static const uint8_t nt[6] = {0, 0, 0, 0, 0, 5};
    return memcmp(sid->authority, nt, sizeof(nt)) == 0 && sid->count == 5 && sid->subs[0] == 21 &&
           (sid->subs[1] | sid->subs[2] | sid->subs[3]);
}

static void format_sid(const struct sid *sid, char out[SID_TEXT_BYTES]) {
    int n = snprintf(out, SID_TEXT_BYTES, "sid:S-1-%u", sid->authority[5]);
    for (unsigned i = 0; i < sid->count; i++)
        n += snprintf(out + n, SID_TEXT_BYTES - (size_t)n, "-%" PRIu32, sid->subs[i]);
}

/* A domain that is full already has none; no such SID is of a domain. */
static struct sid sid_below(const struct sid *domain, uint32_t rid) {
    struct sid sid = *domain;
    if (sid.count < SUBS_MAX)
        sid.subs[sid.count] = rid;
    sid.count++;
    return sid;
}

static void add_group(struct reading *r, const struct sid *sid) {
    char text[SID_TEXT_BYTES];
    if (r->rc || !is_of_domain(sid))
        return;
    format_sid(sid, text);
    r->rc = group_set_add(&r->out->groups, text, NULL);
}

static bool pac_counts(uint32_t attributes) {
    return (attributes & GROUP_ENABLED) && !(attributes & GROUP_DENY_ONLY);
}

/* -- the parts, in their order ------------------------------------------------------------------------------------------------ */

static void pac_take_fixed(struct cursor *in, struct fixed *out) {
    (void)pac_take(in, 24);
    out->password_set_at = take_u32(in);
    out->password_set_at |= (uint64_t)take_u32(in) << 32;
    (void)pac_take(in, 16);
    for (unsigned i = 0; i < TEXT_SERVER; i++)
        out->texts[i] = pac_take_text(in);
    (void)pac_take(in, 4);
    out->user = take_u32(in);
    out->primary = take_u32(in);
    out->groups = take_u32(in);
    out->has_groups = take_u32(in) != 0;
    out->flags = take_u32(in);
    (void)pac_take(in, 16);
    out->texts[TEXT_SERVER] = pac_take_text(in);
    out->texts[TEXT_DOMAIN] = pac_take_text(in);
    out->has_domain = take_u32(in) != 0;
    (void)pac_take(in, 40);
    out->sids = take_u32(in);
    out->has_sids = take_u32(in) != 0;
    out->has_resource_domain = take_u32(in) != 0;
    out->resources = take_u32(in);
    out->has_resources = take_u32(in) != 0;
    if ((out->groups && !out->has_groups) || (out->sids && !out->has_sids) || (out->resources && !out->has_resources))
        in->is_bad = true;
}

/* Where the groups are listed; their domain comes later. */
static const uint8_t *take_rids(struct cursor *in, bool is_there, uint32_t count) {
    if (!is_there || !pac_take_count(in, count, 8))
        return NULL;
    return pac_take(in, (size_t)count * 8);
}

static void add_rids(struct reading *r, const struct sid *domain, const uint8_t *rids, uint32_t count) {
    struct cursor list = {.at = rids, .end = rids ? rids + (size_t)count * 8 : NULL, .start = rids, .is_bad = !rids};
    while (pac_left(&list)) {
        uint32_t rid = take_u32(&list), attributes = take_u32(&list);
        struct sid sid = sid_below(domain, rid);
        if (pac_counts(attributes))
            add_group(r, &sid);
        else if (rid == r->fixed.primary)
            r->has_primary = true;
    }
}

static void add_domain_groups(struct reading *r, const struct sid *domain, const uint8_t *rids) {
    struct sid primary = sid_below(domain, r->fixed.primary);
    add_rids(r, domain, rids, rids ? r->fixed.groups : 0);
    if (!r->has_primary && r->fixed.primary)
        add_group(r, &primary);
}

static void set_user(struct reading *r, const struct sid *sid) {
    char text[SID_TEXT_BYTES];
    if (r->rc || r->in.is_bad || !is_of_domain(sid))
        return;
    format_sid(sid, text);
    r->out->sid = str_dup(text);
    r->rc = r->out->sid ? 0 : ERR_NOMEM;
}

/* Attributes first, all of them, then the SIDs. The first one is the person's own if the fixed block names none. */
static void take_extra_sids(struct reading *r) {
    const uint8_t *heads = take_rids(&r->in, r->fixed.has_sids, r->fixed.sids);
    struct cursor list = {.at = heads, .end = heads ? heads + (size_t)r->fixed.sids * 8 : NULL, .start = heads, .is_bad = !heads};
    bool is_user = !r->fixed.user;
    while (pac_left(&list) && !r->in.is_bad) {
        struct sid sid = {0};
        bool is_there = take_u32(&list) != 0;
        uint32_t attributes = take_u32(&list);
        if (!is_there) {
            r->in.is_bad = true;
            return;
        }
        pac_take_sid(&r->in, &sid);
        if (is_user)
            set_user(r, &sid);
        else if (!r->in.is_bad && (r->fixed.flags & FLAG_EXTRA_SIDS) && pac_counts(attributes))
            add_group(r, &sid);
        is_user = false;
    }
}

static void take_resource_groups(struct reading *r) {
    struct sid domain = {0};
    const uint8_t *rids;
    if (r->fixed.has_resource_domain)
        pac_take_sid(&r->in, &domain);
    rids = take_rids(&r->in, r->fixed.has_resources, r->fixed.resources);
    if (!r->in.is_bad && r->fixed.has_resource_domain && (r->fixed.flags & FLAG_RESOURCE_GROUPS))
        add_rids(r, &domain, rids, rids ? r->fixed.resources : 0);
}

static void take_domain_groups(struct reading *r, const uint8_t *rids) {
    struct sid domain = {0}, user;
    if (!r->fixed.has_domain)
        return;
    pac_take_sid(&r->in, &domain);
    if (r->in.is_bad)
        return;
    add_domain_groups(r, &domain, rids);
    user = sid_below(&domain, r->fixed.user);
    if (r->fixed.user)
        set_user(r, &user);
}

static void pac_take_all(struct reading *r) {
    const uint8_t *rids;
    pac_take_fixed(&r->in, &r->fixed);
    r->out->password_set_at = (int64_t)r->fixed.password_set_at;
    r->out->account = take_body(r, &r->fixed.texts[TEXT_ACCOUNT], true);
    r->out->full_name = take_body(r, &r->fixed.texts[TEXT_FULL_NAME], true);
    for (unsigned i = TEXT_FULL_NAME + 1; i < TEXT_SERVER; i++)
        (void)take_body(r, &r->fixed.texts[i], false);
    rids = take_rids(&r->in, r->fixed.has_groups, r->fixed.groups);
    (void)take_body(r, &r->fixed.texts[TEXT_SERVER], false);
    (void)take_body(r, &r->fixed.texts[TEXT_DOMAIN], false);
    take_domain_groups(r, rids);
    take_extra_sids(r);
    take_resource_groups(r);
}

/* The two headers that stand before anything packed this way, and the pointer to the whole. */
static void take_headers(struct cursor *in) {
    static const uint8_t common[4] = {1, 0x10, 8, 0}; /* version, little endian, length of this header */
    const uint8_t *head = pac_take(in, 8);
    uint32_t object_bytes = take_u32(in);
    (void)pac_take(in, 4);
    if (in->is_bad || memcmp(head, common, sizeof(common)) != 0 || object_bytes > pac_left(in)) {
        in->is_bad = true;
        return;
    }
    in->end = in->at + object_bytes;
    if (!take_u32(in))
        in->is_bad = true;
}

void pac_person_done(struct pac_person *person) {
    if (!person)
        return;
    free(person->sid);
    free(person->account);
    free(person->full_name);
    group_set_done(&person->groups);
    memset(person, 0, sizeof(*person));
}

static int pac_judge(const struct reading *r, struct err *err) {
    if (r->rc == ERR_NOMEM)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (r->rc)
        return err_set(err, ERR_UNPROCESSABLE, "the PAC names more than %u groups", KAAS_GROUPS_MAX);
    if (r->in.is_bad)
        return err_set(err, ERR_UNPROCESSABLE, "the logon information of the PAC is malformed");
    if (!r->out->sid)
        return err_set(err, ERR_UNPROCESSABLE, "the PAC holds no SID of a domain for the person");
    return 0;
}

int pac_read_logon(const uint8_t *bytes, size_t n, struct pac_person *out, struct err *err) {
    struct pac_person person = {0};
    struct reading r = {.in = {.at = bytes, .end = n ? bytes + n : bytes, .start = bytes}, .out = &person};
    int rc;
    take_headers(&r.in);
    pac_take_all(&r);
    rc = pac_judge(&r, err);
    if (rc) {
        pac_person_done(&person);
        return rc;
    }
    group_set_seal(&person.groups);
    *out = person;
    return 0;
}
