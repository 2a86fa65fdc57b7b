/* The hash map and the hash of its keys.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "hashmap.h"

#define ITEMS 5000U

struct item {
    struct hashmap_node node;
    unsigned key;
    bool is_in, is_met;
};

static struct item items[ITEMS];
static bool is_without_memory;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) {
    return is_without_memory ? NULL : __real_calloc(n, size);
}

static bool is_item(const void *item, const void *key) {
    return ((const struct item *)item)->key == *(const unsigned *)key;
}

static uint64_t hash_of(unsigned key) {
    return hash64(hash_seed(), &key, sizeof(key));
}

static struct item *find(const struct hashmap *map, unsigned key) {
    return hashmap_find(map, hash_of(key), is_item, &key);
}

static void insert(struct hashmap *map, unsigned key) {
    items[key] = (struct item){.key = key, .is_in = true};
    hashmap_insert(map, &items[key].node, hash_of(key));
}

/* Everything that is in is found and met once, and nothing else. */
static void check(const struct hashmap *map) {
    size_t count = 0;
    for (struct item *i = hashmap_first(map, 0); i; i = hashmap_next(map, &i->node)) {
        assert_true(i->is_in && !i->is_met);
        i->is_met = true;
        count++;
    }
    assert_int_equal(count, map->count);
    for (unsigned key = 0; key < ITEMS; key++) {
        assert_ptr_equal(find(map, key), items[key].is_in ? &items[key] : NULL);
        assert_int_equal(items[key].is_in, items[key].is_met);
        items[key].is_met = false;
    }
}

static int set_up(void **state) {
    (void)state;
    memset(items, 0, sizeof(items));
    return 0;
}

static void an_empty_one_has_nothing(void **state) {
    struct hashmap map = {0};
    (void)state;
    check(&map);
    hashmap_done(&map);
}

static void what_is_in_is_found_while_it_grows(void **state) {
    struct hashmap map = {0};
    (void)state;
    for (unsigned key = 0; key < ITEMS; key++) {
        insert(&map, key);
        if (key % 500 == 0)
            check(&map);
    }
    assert_int_equal(map.count, ITEMS);
    assert_true(map.mask >= ITEMS / 2);
    check(&map);
    hashmap_done(&map);
    assert_null(hashmap_first(&map, 0));
}

static void what_was_taken_out_is_gone(void **state) {
    struct hashmap map = {0};
    (void)state;
    for (unsigned key = 0; key < ITEMS; key++)
        insert(&map, key);
    for (unsigned key = 0; key < ITEMS; key += 3) {
        hashmap_remove(&map, &items[key].node);
        items[key].is_in = false;
    }
    check(&map);
    insert(&map, 3);
    check(&map);
    hashmap_done(&map);
}

static void what_is_met_may_be_taken_out(void **state) {
    struct hashmap map = {0};
    struct item *next;
    (void)state;
    for (unsigned key = 0; key < ITEMS; key++)
        insert(&map, key);
    for (struct item *i = hashmap_first(&map, 0); i; i = next) {
        next = hashmap_next(&map, &i->node);
        if (i->key % 2)
            continue;
        hashmap_remove(&map, &i->node);
        i->is_in = false;
    }
    assert_int_equal(map.count, ITEMS / 2);
    check(&map);
    hashmap_done(&map);
}

static void without_memory_for_buckets_it_works_on(void **state) {
    struct hashmap map = {0};
    (void)state;
    is_without_memory = true;
    for (unsigned key = 0; key < 20; key++)
        insert(&map, key);
    check(&map);
    hashmap_remove(&map, &items[7].node);
    items[7].is_in = false;
    is_without_memory = false;
    check(&map);
    for (unsigned key = 20; key < 40; key++)
        insert(&map, key);
    check(&map);
    is_without_memory = true;
    for (unsigned key = 40; key < 200; key++)
        insert(&map, key);
    is_without_memory = false;
    check(&map);
    hashmap_done(&map);
}

static bool is_never_asked(const void *item, const void *key) {
    (void)item;
    (void)key;
    fail_msg("asked about an item with another hash");
    return false;
}

static void items_of_one_bucket_are_kept_apart(void **state) {
    struct hashmap map = {0};
    unsigned key;
    (void)state;
    for (key = 0; key < 10; key++) {
        items[key] = (struct item){.key = key};
        hashmap_insert(&map, &items[key].node, key < 5 ? 64 : 128);
    }
    for (key = 0; key < 10; key++)
        assert_ptr_equal(hashmap_find(&map, key < 5 ? 64 : 128, is_item, &key), &items[key]);
    key = 7;
    assert_null(hashmap_find(&map, 64, is_item, &key));
    assert_null(hashmap_find(&map, 192, is_never_asked, &key));
    hashmap_done(&map);
}

/* From any place on: everything is met from some place, and the rest follows as from the beginning. */
static void it_is_walked_from_a_place(void **state) {
    struct hashmap map = {0};
    size_t least = ITEMS, most = 0;
    (void)state;
    for (unsigned key = 0; key < ITEMS; key++)
        insert(&map, key);
    for (uint64_t place = 0; place <= map.mask; place += 97) {
        size_t count = 0;
        for (struct item *i = hashmap_first(&map, place); i; i = hashmap_next(&map, &i->node)) {
            assert_true((i->node.hash & map.mask) >= place);
            count++;
        }
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    assert_int_equal(most, ITEMS);
    assert_true(least < ITEMS / 20);
    hashmap_done(&map);
}

/* Made by: openssl mac -macopt hexkey:08070605040302010000000000000000 -macopt size:8 -macopt c-rounds:1 -macopt d-rounds:3 SIPHASH */
static void the_hash_is_siphash(void **state) {
    static const struct {
        size_t n;
        uint64_t hash;
    } known[] = {{0, 0x46eb7305a5f86efe},  {1, 0x1b2f9b596329d776},  {7, 0x1982e6c99f696ee9}, {8, 0x8218fef3664ebf27},
                 {15, 0xae454247329beff7}, {16, 0x30ec0e556bcd0c34}, {36, 0xfdb98654122af945}};
    char bytes[36], moved[37];
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    memcpy(moved + 1, bytes, sizeof(bytes));
    for (size_t i = 0; i < UNIT_COUNT(known); i++) {
        assert_int_equal(hash64(0x0102030405060708, bytes, known[i].n), known[i].hash);
        assert_int_equal(hash64(0x0102030405060708, moved + 1, known[i].n), known[i].hash);
    }
}

static void texts_have_ends(void **state) {
    (void)state;
    assert_int_equal(hash64_text(1, "cluster"), hash64(1, "cluster", 8));
    assert_int_not_equal(hash64_text(1, "cluster"), hash64_text(2, "cluster"));
    assert_int_not_equal(hash64_text(hash64_text(0, "ab"), "c"), hash64_text(hash64_text(0, "a"), "bc"));
    assert_int_not_equal(hash64_text(hash64_text(0, "ab"), ""), hash64_text(0, "ab"));
}

static void the_seed_stays(void **state) {
    (void)state;
    assert_int_equal(hash_seed(), hash_seed());
    assert_int_not_equal(hash_seed(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_empty_one_has_nothing, set_up),
        cmocka_unit_test_setup(what_is_in_is_found_while_it_grows, set_up),
        cmocka_unit_test_setup(what_was_taken_out_is_gone, set_up),
        cmocka_unit_test_setup(what_is_met_may_be_taken_out, set_up),
        cmocka_unit_test_setup(without_memory_for_buckets_it_works_on, set_up),
        cmocka_unit_test_setup(items_of_one_bucket_are_kept_apart, set_up),
        cmocka_unit_test_setup(it_is_walked_from_a_place, set_up),
        cmocka_unit_test(the_hash_is_siphash),
        cmocka_unit_test(texts_have_ends),
        cmocka_unit_test(the_seed_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
