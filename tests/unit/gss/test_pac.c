/* Reading the logon information of PACs: which groups count, and everything that is malformed.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "limits.h"
#include "pac.h"

#define DOMAIN "sid:S-1-5-21-1-2-3-"
#define FIRST_TEXT (20U + 48U) /* where the header of the first text is */
#define FIRST_BODY 236U        /* and what it points to */

/* Logon information as a KDC packs it (MS-PAC 2.5). */
struct made {
    uint8_t *bytes;
    size_t n;
};

struct pair {
    uint32_t rid, attributes;
};

struct sid {
    unsigned count;
    uint32_t subs[16];
    uint8_t authority;
};

struct wanted {
    uint32_t user, primary, flags;
    const struct pair *groups, *resources;
    const struct sid *sids;
    const uint32_t *sid_attributes;
    uint32_t groups_count, resources_count, sids_count;
    const struct sid *domain, *resource_domain;
    const uint16_t *name;
    unsigned name_units;
};

static const struct sid domain = {4, {21, 1, 2, 3}, 5}, other = {4, {21, 9, 9, 9}, 5};

static void put(struct made *m, uint64_t value, size_t bytes) {
    m->bytes = realloc(m->bytes, m->n + bytes);
    assert_non_null(m->bytes);
    for (size_t i = 0; i < bytes; i++, value >>= 8)
        m->bytes[m->n++] = (uint8_t)value;
}

static void put_align(struct made *m) {
    while (m->n % 4)
        put(m, 0, 1);
}

static void put_text(struct made *m, unsigned units) {
    put(m, units * 2, 2);
    put(m, units * 2, 2);
    put(m, units ? 0x20004 : 0, 4);
}

static void put_name(struct made *m, const uint16_t *name, unsigned units) {
    if (!units)
        return;
    put_align(m);
    put(m, units, 4);
    put(m, 0, 4);
    put(m, units, 4);
    for (unsigned i = 0; i < units; i++)
        put(m, name[i], 2);
}

static void put_sid(struct made *m, const struct sid *sid) {
    if (!sid)
        return;
    put_align(m);
    put(m, sid->count, 4);
    put(m, 1, 1);
    put(m, sid->count, 1);
    put(m, 0, 5);
    put(m, sid->authority, 1);
    for (unsigned i = 0; i < sid->count && i < 16; i++)
        put(m, sid->subs[i], 4);
}

static void put_pairs(struct made *m, const struct pair *pairs, uint32_t count) {
    if (!count)
        return;
    put_align(m);
    put(m, count, 4);
    for (uint32_t i = 0; i < count; i++) {
        put(m, pairs ? pairs[i].rid : 5000 + i, 4);
        put(m, pairs ? pairs[i].attributes : 7, 4);
    }
}

static void put_extra(struct made *m, const struct wanted *w) {
    if (!w->sids_count)
        return;
    put_align(m);
    put(m, w->sids_count, 4);
    for (uint32_t i = 0; i < w->sids_count; i++) {
        put(m, 0x20030, 4);
        put(m, w->sid_attributes ? w->sid_attributes[i] : 7, 4);
    }
    for (uint32_t i = 0; i < w->sids_count; i++)
        put_sid(m, &w->sids[i]);
}

static void put_fixed(struct made *m, const struct wanted *w) {
    put(m, 0, 8), put(m, 0, 8), put(m, 0, 8);
    put(m, 133000000000000000, 8);
    put(m, 0, 8), put(m, 0, 8);
    put_text(m, w->name_units);
    put_text(m, w->name_units);
    for (int i = 0; i < 4; i++)
        put_text(m, 0);
    put(m, 0, 4);
    put(m, w->user, 4);
    put(m, w->primary, 4);
    put(m, w->groups_count, 4);
    put(m, w->groups_count ? 0x20008 : 0, 4);
    put(m, w->flags, 4);
    put(m, 0, 8), put(m, 0, 8);
    put_text(m, 0);
    put_text(m, 0);
    put(m, w->domain ? 0x20010 : 0, 4);
    for (int i = 0; i < 10; i++)
        put(m, 0, 4);
    put(m, w->sids_count, 4);
    put(m, w->sids_count ? 0x20014 : 0, 4);
    put(m, w->resource_domain ? 0x20018 : 0, 4);
    put(m, w->resources_count, 4);
    put(m, w->resources_count ? 0x2001c : 0, 4);
}

static struct made make(const struct wanted *w) {
    struct made m = {0};
    uint32_t body;
    put(&m, 0xcccccccc00081001, 8);
    put(&m, 0, 8);
    put(&m, 0x20000, 4);
    put_fixed(&m, w);
    put_name(&m, w->name, w->name_units);
    put_name(&m, w->name, w->name_units);
    put_pairs(&m, w->groups, w->groups_count);
    put_sid(&m, w->domain);
    put_extra(&m, w);
    put_sid(&m, w->resource_domain);
    put_pairs(&m, w->resources, w->resources_count);
    body = (uint32_t)m.n - 16;
    memcpy(m.bytes + 8, &body, 4);
    return m;
}

static int read_made(const struct wanted *w, struct pac_person *out) {
    struct made m = make(w);
    struct err err = {0};
    int rc = pac_read_logon(m.bytes, m.n, out, &err);
    assert_int_equal(rc, err.code);
    free(m.bytes);
    return rc;
}

static void expect_groups(const struct wanted *w, size_t count, const char *const *ids) {
    struct pac_person person;
    assert_int_equal(read_made(w, &person), 0);
    assert_int_equal(person.groups.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(person.groups.ids[i], ids[i]);
    pac_person_done(&person);
}

/* -- what counts ---------------------------------------------------------------------------------------------------------- */

static void groups_of_the_domain(void **state) {
    static const struct pair groups[] = {{1200, 7}, {513, 7},     {1100, 4},    {1200, 7},
                                         {1300, 3}, {1400, 0x14}, {1500, 0x10}, {1600, 0}};
    static const char *const ids[] = {DOMAIN "1100", DOMAIN "1200", DOMAIN "513"};
    const struct wanted w = {
        .user = 1104, .primary = 513, .groups = groups, .groups_count = UNIT_COUNT(groups), .domain = &domain};
    (void)state;
    expect_groups(&w, 3, ids);
}

static void the_person(void **state) {
    static const uint16_t name[] = {'Z', 'o', 0xeb, ' ', 0xd83d, 0xde00, 0x20ac};
    const struct wanted w = {.user = 1104, .primary = 513, .domain = &domain, .name = name, .name_units = UNIT_COUNT(name)};
    struct pac_person person;
    (void)state;
    assert_int_equal(read_made(&w, &person), 0);
    assert_string_equal(person.sid, DOMAIN "1104");
    assert_string_equal(person.account, "Zo\xc3\xab \xf0\x9f\x98\x80\xe2\x82\xac");
    assert_string_equal(person.full_name, person.account);
    assert_true(person.password_set_at == 133000000000000000);
    assert_int_equal(person.groups.count, 1); /* the primary group, though it is not listed */
    pac_person_done(&person);
}

/* Listed as one that does not count, it does not count as primary group either. */
static void primary_group_for_denial(void **state) {
    static const struct pair groups[] = {{513, 0x17}, {1200, 7}};
    static const char *const ids[] = {DOMAIN "1200"};
    const struct wanted w = {.user = 1104, .primary = 513, .groups = groups, .groups_count = 2, .domain = &domain};
    (void)state;
    expect_groups(&w, 1, ids);
}

static void extra_sids(void **state) {
    static const struct sid sids[] = {{5, {21, 9, 9, 9, 500}, 5},
                                      {1, {1}, 18},
                                      {2, {32, 544}, 5},
                                      {5, {21, 0, 0, 0, 497}, 5},
                                      {1, {15}, 5},
                                      {4, {21, 9, 9, 9}, 5},
                                      {6, {21, 9, 9, 9, 1, 1}, 5},
                                      {5, {21, 9, 9, 9, 501}, 5},
                                      {5, {21, 9, 9, 9, 502}, 16}};
    static const uint32_t attributes[] = {7, 7, 7, 7, 7, 7, 7, 0x10, 7};
    static const char *const ids[] = {DOMAIN "513", "sid:S-1-5-21-9-9-9-500"};
    struct wanted w = {.user = 1104,
                       .primary = 513,
                       .domain = &domain,
                       .sids = sids,
                       .sid_attributes = attributes,
                       .sids_count = UNIT_COUNT(sids),
                       .flags = 0x20};
    (void)state;
    expect_groups(&w, 2, ids);
    w.flags = 0; /* without the flag they say nothing */
    expect_groups(&w, 1, ids);
}

static void resource_groups(void **state) {
    static const struct pair resources[] = {{1800, 7}, {1801, 0x17}};
    static const char *const ids[] = {DOMAIN "513", "sid:S-1-5-21-9-9-9-1800"};
    struct wanted w = {.user = 1104,
                       .primary = 513,
                       .domain = &domain,
                       .resource_domain = &other,
                       .resources = resources,
                       .resources_count = 2,
                       .flags = 0x200};
    (void)state;
    expect_groups(&w, 2, ids);
    w.flags = 0x20;
    expect_groups(&w, 1, ids);
    w.flags = 0x200;
    w.resource_domain = NULL;
    expect_groups(&w, 1, ids);
}

/* UserId 0: the first of the extra SIDs is the person, no group. */
static void person_of_another_domain(void **state) {
    static const struct sid sids[] = {{5, {21, 9, 9, 9, 500}, 5}, {5, {21, 9, 9, 9, 501}, 5}};
    const struct wanted w = {.sids = sids, .sids_count = 2, .flags = 0x20};
    struct pac_person person;
    (void)state;
    assert_int_equal(read_made(&w, &person), 0);
    assert_string_equal(person.sid, "sid:S-1-5-21-9-9-9-500");
    assert_int_equal(person.groups.count, 1);
    assert_string_equal(person.groups.ids[0], "sid:S-1-5-21-9-9-9-501");
    pac_person_done(&person);
}

/* -- what is refused -------------------------------------------------------------------------------------------------------- */

static void expect_refusal(const struct wanted *w, const char *words) {
    struct made m = make(w);
    struct pac_person person;
    struct err err = {0};
    assert_int_equal(pac_read_logon(m.bytes, m.n, &person, &err), ERR_UNPROCESSABLE);
    if (!strstr(err.text, words))
        fail_msg("%s: %s", words, err.text);
    free(m.bytes);
}

static void nobody(void **state) {
    static const struct sid builtin[] = {{2, {32, 544}, 5}};
    static const struct sid full = {15, {21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 5};
    (void)state;
    expect_refusal(&(struct wanted){.user = 1104}, "no SID");
    expect_refusal(&(struct wanted){.flags = 0x20}, "no SID");
    expect_refusal(&(struct wanted){.sids = builtin, .sids_count = 1, .flags = 0x20}, "no SID");
    expect_refusal(&(struct wanted){.user = 1104, .primary = 513, .domain = &full}, "no SID");
}

static void malformed_parts(void **state) {
    static const struct sid empty = {0, {0}, 5}, long_sid = {16, {21, 1, 2, 3}, 5};
    static const uint16_t lone_high[] = {'a', 0xd800}, lone_low[] = {0xdc00, 'a'}, wrong_low[] = {0xd800, 'a'};
    struct wanted w = {.user = 1104, .domain = &empty};
    (void)state;
    expect_refusal(&w, "malformed");
    w.domain = &long_sid;
    expect_refusal(&w, "malformed");
    w = (struct wanted){.user = 1104, .domain = &domain, .name = lone_high, .name_units = 2};
    expect_refusal(&w, "malformed");
    w.name = lone_low;
    expect_refusal(&w, "malformed");
    w.name = wrong_low;
    expect_refusal(&w, "malformed");
    w.name = lone_high + 1; /* alone it would take more bytes than a unit is given room for */
    w.name_units = 1;
    expect_refusal(&w, "malformed");
}

static void too_many_groups(void **state) {
    static const struct pair resources[] = {{1800, 7}};
    struct wanted w = {.user = 1104, .domain = &domain, .groups_count = KAAS_GROUPS_MAX};
    struct pac_person person;
    (void)state;
    assert_int_equal(read_made(&w, &person), 0);
    assert_int_equal(person.groups.count, KAAS_GROUPS_MAX);
    pac_person_done(&person);
    w.resource_domain = &other, w.resources = resources, w.resources_count = 1, w.flags = 0x200;
    expect_refusal(&w, "more than");
    w = (struct wanted){.user = 1104, .domain = &domain, .groups_count = KAAS_GROUPS_MAX + 1};
    expect_refusal(&w, "malformed");
}

/* A text may fill its room and no more: the room in its header (a), the room before its units (b), and how many units it has say the same. Each in a
 * buffer of its very size, so that a reader that trusts one of them is caught beyond the end. */
static void texts_fit_their_room(void **state) {
    static const uint16_t name[] = {'a', 'n', 'n', 'a', '1'};
    static const struct {
        uint16_t bytes, room; /* in the header */
        uint32_t room_units;  /* before the units */
        bool is_good;
    } rows[] = {
        {10, 10, 5, true}, {10, 12, 6, true},  {10, 65534, 32767, true}, /* room to spare */
        {10, 8, 4, false}, {10, 0, 0, false},  {10, 2, 1, false},        /* more text than room */
        {10, 8, 5, false}, {10, 12, 5, false}, {10, 10, 6, false},       /* two rooms */
        {9, 10, 5, false}, {10, 11, 5, false},
    };
    const struct wanted w = {.user = 1104, .domain = &domain, .name = name, .name_units = UNIT_COUNT(name)};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct made m = make(&w);
        struct pac_person person;
        memcpy(m.bytes + FIRST_TEXT, &rows[i].bytes, 2);
        memcpy(m.bytes + FIRST_TEXT + 2, &rows[i].room, 2);
        memcpy(m.bytes + FIRST_BODY, &rows[i].room_units, 4);
        int rc = pac_read_logon(m.bytes, m.n, &person, NULL);
        if (rc != (rows[i].is_good ? 0 : ERR_UNPROCESSABLE))
            fail_msg("%u bytes in a room of %u and %u units: %d", rows[i].bytes, rows[i].room, rows[i].room_units, rc);
        if (!rc)
            assert_string_equal(person.account, "anna1");
        if (!rc)
            pac_person_done(&person);
        free(m.bytes);
    }
}

/* Names that cannot be shown are left out; the groups count all the same. */
static void names_unfit_for_showing(void **state) {
    static const uint16_t control[] = {'a', 7}, zero[] = {'a', 0, 'b'};
    struct wanted w = {.user = 1104, .domain = &domain, .name = control, .name_units = 2};
    static uint16_t endless[600];
    struct pac_person person;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(endless); i++)
        endless[i] = 'x';
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_made(&w, &person), 0);
        assert_null(person.account);
        assert_null(person.full_name);
        pac_person_done(&person);
        w.name = i ? endless : zero;
        w.name_units = i ? UNIT_COUNT(endless) : 3;
    }
}

static const struct wanted *whole(void) {
    static const struct pair groups[] = {{513, 7}, {1200, 7}};
    static const struct sid sids[] = {{5, {21, 9, 9, 9, 500}, 5}};
    static const uint16_t name[] = {'a', 'n', 'n', 'a', '1'};
    static const struct wanted w = {.user = 1104,
                                    .primary = 513,
                                    .groups = groups,
                                    .groups_count = 2,
                                    .domain = &domain,
                                    .sids = sids,
                                    .sids_count = 1,
                                    .resource_domain = &other,
                                    .resources = groups,
                                    .resources_count = 2,
                                    .flags = 0x220,
                                    .name = name,
                                    .name_units = 5};
    return &w;
}

/* Cut off anywhere, with the length in the header cut as well or not. */
static void cut_off_anywhere(void **state) {
    struct made m = make(whole());
    struct pac_person person;
    (void)state;
    for (size_t n = 0; n < m.n; n++) {
        uint8_t *copy = malloc(n + 1);
        uint32_t body = (uint32_t)(n > 16 ? n - 16 : 0);
        memcpy(copy, m.bytes, n);
        assert_int_equal(pac_read_logon(copy, n, &person, NULL), ERR_UNPROCESSABLE);
        if (n > 12)
            memcpy(copy + 8, &body, 4);
        assert_int_equal(pac_read_logon(copy, n, &person, NULL), ERR_UNPROCESSABLE);
        free(copy);
    }
    free(m.bytes);
}

/* Lengths and counts that contradict each other: each of them, one more and one less. */
static void counts_that_differ(void **state) {
    struct made m = make(whole());
    static const size_t places[] = {
        20 + 48,  20 + 50,            /* lengths of a name */
        20 + 108, 20 + 196, 20 + 208, /* numbers of groups, SIDs, resource groups */
        236,      240,      244,      /* a name: greatest size, offset, size */
        284,                          /* number of groups before them */
        304,                          /* of parts of the domain's SID, before it */
        309,                          /* in it */
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(places); i++)
        for (int by = -1; by <= 1; by += 2) {
            struct pac_person person;
            uint8_t before = m.bytes[places[i]];
            m.bytes[places[i]] = (uint8_t)(before + by);
            int rc = pac_read_logon(m.bytes, m.n, &person, NULL);
            if (rc != ERR_UNPROCESSABLE)
                fail_msg("byte %zu, %+d: %d", places[i], by, rc);
            m.bytes[places[i]] = before;
        }
    free(m.bytes);
}

static void headers_of_another_kind(void **state) {
    struct made m = make(whole());
    struct pac_person person;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        m.bytes[i] ^= 1;
        assert_int_equal(pac_read_logon(m.bytes, m.n, &person, NULL), ERR_UNPROCESSABLE);
        m.bytes[i] ^= 1;
    }
    memset(m.bytes + 16, 0, 4); /* a null pointer to the whole */
    assert_int_equal(pac_read_logon(m.bytes, m.n, &person, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(pac_read_logon(NULL, 0, &person, NULL), ERR_UNPROCESSABLE);
    free(m.bytes);
}

/* A count without a list, and a SID that is announced and not there. */
static void lists_that_are_missing(void **state) {
    static const size_t pointers[] = {20 + 112, 20 + 200, 20 + 212};
    struct made m = make(whole());
    struct pac_person person;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(pointers); i++) {
        uint8_t kept[4];
        memcpy(kept, m.bytes + pointers[i], 4);
        memset(m.bytes + pointers[i], 0, 4);
        assert_int_equal(pac_read_logon(m.bytes, m.n, &person, NULL), ERR_UNPROCESSABLE);
        memcpy(m.bytes + pointers[i], kept, 4);
    }
    assert_int_equal(pac_read_logon(m.bytes, m.n, &person, NULL), 0);
    pac_person_done(&person);
    pac_person_done(NULL);
    memset(m.bytes + 336, 0, 4); /* of the extra SID */
    assert_int_equal(pac_read_logon(m.bytes, m.n, &person, NULL), ERR_UNPROCESSABLE);
    free(m.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_the_domain),
        cmocka_unit_test(the_person),
        cmocka_unit_test(primary_group_for_denial),
        cmocka_unit_test(extra_sids),
        cmocka_unit_test(resource_groups),
        cmocka_unit_test(person_of_another_domain),
        cmocka_unit_test(nobody),
        cmocka_unit_test(malformed_parts),
        cmocka_unit_test(too_many_groups),
        cmocka_unit_test(texts_fit_their_room),
        cmocka_unit_test(names_unfit_for_showing),
        cmocka_unit_test(cut_off_anywhere),
        cmocka_unit_test(counts_that_differ),
        cmocka_unit_test(headers_of_another_kind),
        cmocka_unit_test(lists_that_are_missing),
    };
    return cmocka_run_group_tests_name("pac", tests, NULL, NULL);
}
