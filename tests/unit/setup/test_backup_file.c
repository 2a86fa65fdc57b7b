/* Unit tests of src/port/sealed_file, src/setup/backup/backup_file and what they need of seal and gzip.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backup_file.h"
#include "cleanup.h"
#include "fsutil.h"
#include "gzip.h"
#include "secret.h"
#include "str.h"

#define HEAD                                                                                                                  \
    "{\"format\":1,\"at\":\"2026-11-27T02:00:00.000Z\",\"version\":\"0.4.0\",\"schema\":\"0126_x.sql\",\"schema_release\":3," \
    "\"installation\":\"5b2b4bde-5a0c-4f2e-9a3c-3d6c1b1f0a01\",\"master_key\":\"%s\",\"host\":\"kaas1\"}"
#define PLAIN_BYTES (3 * (size_t)SEALED_FILE_CHUNK_BYTES + 1000) /* four chunks */

static const uint8_t key_a[SEAL_KEY_BYTES] = {1, 2, 3}, key_b[SEAL_KEY_BYTES] = {3, 2, 1};

struct place {
    struct seal *seal, *other;
    char key_id[SEAL_KEY_ID_BYTES], path[64];
    char *head;
    uint8_t *plain;
    char *file; /* a good one of four chunks */
    size_t bytes;
    size_t ends[5]; /* of the head with its salt, and of each chunk */
};

static char *make_file(struct place *p, const void *plain, size_t n, size_t *bytes) {
    char *file = NULL;
    FILE *to = open_memstream(&file, bytes);
    struct sealed_file *f = NULL;
    assert_int_equal(sealed_file_new(to, p->head, p->seal, p->key_id, &f, NULL), 0);
    assert_int_equal(sealed_file_write(f, plain, n / 3, NULL), 0);
    assert_int_equal(sealed_file_write(f, (const char *)plain + n / 3, n - n / 3, NULL), 0);
    assert_int_equal(sealed_file_finish(f, NULL), 0);
    sealed_file_free(f);
    assert_int_equal(fclose(to), 0);
    return file;
}

static int setup(void **state) {
    struct place *p = calloc(1, sizeof(*p));
    assert_int_equal(seal_open_key(key_a, &p->seal, NULL), 0);
    assert_int_equal(seal_open_key(key_b, &p->other, NULL), 0);
    seal_id_of_key(key_a, p->key_id);
    p->head = str_format(HEAD, p->key_id);
    p->plain = malloc(PLAIN_BYTES);
    for (size_t i = 0; i < PLAIN_BYTES; i++)
        p->plain[i] = (uint8_t)((i * i) >> 7);
    p->file = make_file(p, p->plain, PLAIN_BYTES, &p->bytes);
    p->ends[0] = 8 + 4 + strlen(p->head) + 32;
    for (size_t i = 1; i < ARRAY_COUNT(p->ends); i++) {
        uint32_t word;
        memcpy(&word, p->file + p->ends[i - 1], sizeof(word));
        p->ends[i] = p->ends[i - 1] + 4 + (ntohl(word) & 0x7fffffff) + 16;
    }
    assert_int_equal(p->ends[4], p->bytes);
    (void)snprintf(p->path, sizeof(p->path), "/tmp/test_backup_file.%d", (int)getpid());
    *state = p;
    return 0;
}

static int teardown(void **state) {
    struct place *p = *state;
    (void)unlink(p->path);
    seal_free(p->seal);
    seal_free(p->other);
    free(p->head);
    free(p->plain);
    free(p->file);
    free(p);
    return 0;
}

/* Reads a file as a restore does; what was read goes to `out`, which may be NULL. */
static int read_file(const struct place *p, struct seal *seal, const char *file, size_t n, struct strbuf *out, struct err *err) {
    _cleanup_strbuf_ struct strbuf head, plain;
    _cleanup_(sealed_file_free) struct sealed_file *f = NULL;
    FILE *from = fmemopen((void *)(uintptr_t)file, n, "r");
    bool is_last = false;
    strbuf_init(&head, SEALED_FILE_HEAD_BYTES_MAX);
    strbuf_init_secret(&plain, SEALED_FILE_CHUNK_BYTES);
    assert_non_null(from);
    int rc = sealed_file_read_head(from, &head, err);
    rc = rc ? rc : sealed_file_open(from, head.data, seal, p->key_id, &f, err);
    while (!rc && !is_last) {
        rc = sealed_file_read(f, &plain, &is_last, err);
        if (!rc && out)
            strbuf_add(out, plain.data, plain.len);
    }
    if (!rc)
        assert_int_equal(sealed_file_read(f, &plain, &is_last, NULL), ERR_INVALID); /* nothing is behind the last one */
    (void)fclose(from);
    return rc;
}

static void test_round_trip(void **state) {
    struct place *p = *state;
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, 2 * PLAIN_BYTES);
    assert_int_equal(read_file(p, p->seal, p->file, p->bytes, &out, NULL), 0);
    assert_int_equal(out.len, PLAIN_BYTES);
    assert_memory_equal(out.data, p->plain, PLAIN_BYTES);
    size_t bytes = 0, again_bytes = 0;
    _cleanup_free_ char *empty = make_file(p, "", 0, &bytes), *again = make_file(p, "", 0, &again_bytes);
    strbuf_reset(&out);
    assert_int_equal(read_file(p, p->seal, empty, bytes, &out, NULL), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(bytes, again_bytes);
    assert_memory_not_equal(empty + p->ends[0], again + p->ends[0], bytes - p->ends[0]); /* each file has a key of its own */
}

static void refuse(struct place *p, const char *file, size_t n) {
    struct err err = {0};
    assert_int_equal(read_file(p, p->seal, file, n, NULL, &err), ERR_INVALID);
    assert_true(err.text[0]);
}

static void test_cut_off(void **state) {
    struct place *p = *state;
    for (size_t i = 0; i < ARRAY_COUNT(p->ends); i++)
        for (size_t near = 0; near < 3; near++) {
            const size_t n = p->ends[i] + near - 1;
            if (n < p->bytes)
                refuse(p, p->file, n);
        }
    for (size_t n = 1; n < p->ends[0]; n++)
        refuse(p, p->file, n);
}

static void test_moved(void **state) {
    struct place *p = *state;
    _cleanup_strbuf_ struct strbuf made;
    strbuf_init(&made, 2 * p->bytes);
    /* swapped chunks */
    strbuf_add(&made, p->file, p->ends[0]);
    strbuf_add(&made, p->file + p->ends[1], p->ends[2] - p->ends[1]);
    strbuf_add(&made, p->file + p->ends[0], p->ends[1] - p->ends[0]);
    strbuf_add(&made, p->file + p->ends[2], p->bytes - p->ends[2]);
    refuse(p, made.data, made.len);
    /* one is missing */
    strbuf_reset(&made);
    strbuf_add(&made, p->file, p->ends[1]);
    strbuf_add(&made, p->file + p->ends[2], p->bytes - p->ends[2]);
    refuse(p, made.data, made.len);
    /* one twice */
    strbuf_reset(&made);
    strbuf_add(&made, p->file, p->ends[1]);
    strbuf_add(&made, p->file + p->ends[0], p->bytes - p->ends[0]);
    refuse(p, made.data, made.len);
    /* something behind the end */
    strbuf_reset(&made);
    strbuf_add(&made, p->file, p->bytes);
    strbuf_addc(&made, 0);
    refuse(p, made.data, made.len);
    /* cut at a border, and said to be the last one */
    strbuf_reset(&made);
    strbuf_add(&made, p->file, p->ends[2]);
    made.data[p->ends[1]] |= (char)0x80;
    refuse(p, made.data, made.len);
    /* the last one is said to be none */
    strbuf_reset(&made);
    strbuf_add(&made, p->file, p->bytes);
    made.data[p->ends[3]] &= 0x7f;
    refuse(p, made.data, made.len);
}

static void test_changed(void **state) {
    struct place *p = *state;
    _cleanup_free_ char *copy = malloc(p->bytes);
    const size_t places[] = {0, 7, 8, 11, 12, 60, p->ends[0] - 1, p->ends[0], p->ends[0] + 4, p->ends[1] - 1, p->bytes - 1};
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        memcpy(copy, p->file, p->bytes);
        copy[places[i]] ^= 1;
        refuse(p, copy, p->bytes);
    }
}

static void test_wrong_key(void **state) {
    struct place *p = *state;
    struct err err = {0};
    assert_int_equal(read_file(p, p->other, p->file, p->bytes, NULL, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, p->key_id));
}

static void test_derive(void **state) {
    struct place *p = *state;
    /* RFC 5869 has no case with a key of 32 bytes; this is of Python's cryptography: HKDF(SHA256, 32, b"salt", b"info").derive(key_a) */
    static const char want[] = "bc1c951d0852ee0fe77fa7d1f60e4e85";
    uint8_t key[SEAL_KEY_BYTES], again[SEAL_KEY_BYTES];
    char hex[2 * SEAL_KEY_BYTES + 1];
    struct seal_derivation from = {.key_id = p->key_id, .salt = "salt", .salt_bytes = 4, .info = "info", .info_bytes = 4};
    assert_int_equal(seal_derive(p->seal, &from, key, NULL), 0);
    str_hex(key, sizeof(key), hex);
    assert_memory_equal(hex, want, sizeof(want) - 1);
    from.info = "inf0";
    assert_int_equal(seal_derive(p->seal, &from, again, NULL), 0);
    assert_memory_not_equal(key, again, sizeof(key));
    from.key_id = "nonsense";
    assert_int_equal(seal_derive(p->seal, &from, again, NULL), ERR_NOT_FOUND);
}

static void test_unpack(void **state) {
    _cleanup_strbuf_ struct strbuf packed, plain;
    (void)state;
    strbuf_init(&packed, 100000);
    strbuf_init(&plain, 50000);
    _cleanup_free_ char *zeros = calloc(1, 60000);
    assert_int_equal(gzip_pack(zeros, 50000, 6, &packed, NULL), 0);
    assert_int_equal(gzip_unpack(packed.data, packed.len, &plain, NULL), 0);
    assert_int_equal(plain.len, 50000);
    for (size_t n = 0; n < packed.len; n++) {
        strbuf_reset(&plain);
        assert_int_equal(gzip_unpack(packed.data, n, &plain, NULL), ERR_INVALID);
    }
    strbuf_addc(&packed, 'x');
    strbuf_reset(&plain);
    assert_int_equal(gzip_unpack(packed.data, packed.len, &plain, NULL), ERR_INVALID);
    strbuf_reset(&packed);
    strbuf_reset(&plain);
    assert_int_equal(gzip_pack(zeros, 50001, 6, &packed, NULL), 0);
    assert_int_equal(gzip_unpack(packed.data, packed.len, &plain, NULL), ERR_TOO_LARGE);
}

/* -- what is in it --------------------------------------------------------------------------------------------------------- */

static void test_head(void **state) {
    struct place *p = *state;
    struct backup_head head = {0}, again = {0};
    _cleanup_strbuf_ struct strbuf text;
    struct err err = {0};
    strbuf_init(&text, SEALED_FILE_HEAD_BYTES_MAX);
    assert_int_equal(backup_head_parse(p->head, strlen(p->head), &head, NULL), 0);
    assert_string_equal(head.key_id, p->key_id);
    assert_string_equal(head.schema, "0126_x.sql");
    assert_int_equal(head.schema_release, 3);
    assert_int_equal(backup_head_write(&head, &text, NULL), 0);
    assert_int_equal(backup_head_parse(text.data, text.len, &again, NULL), 0);
    assert_memory_equal(&head, &again, sizeof(head));
    static const char *const bad[] = {"", "[]", "{}", "{\"format\":1}", "{\"format\":2}"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_int_equal(backup_head_parse(bad[i], strlen(bad[i]), &again, NULL), ERR_INVALID);
    static const char newer[] = "{\"format\":2,\"version\":\"9.1\"}";
    assert_int_equal(backup_head_parse(newer, strlen(newer), &again, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, "version 9.1"));
}

static void test_items(void **state) {
    struct backup_item made[] = {
        {.path = (char *)(uintptr_t) "/etc/kaas/kaasd.yaml",
         .owner = (char *)(uintptr_t) "root",
         .group = (char *)(uintptr_t) "kaas",
         .mode = 0640,
         .bytes = (uint8_t *)(uintptr_t) "a\0b",
         .count = 3},
        {.path = (char *)(uintptr_t) "/etc/kaas/empty",
         .owner = (char *)(uintptr_t) "root",
         .group = (char *)(uintptr_t) "root",
         .mode = 0600,
         .bytes = (uint8_t *)(uintptr_t) "",
         .count = 0},
    };
    const struct backup_items items = {made, 2};
    struct backup_items again = {0};
    _cleanup_strbuf_ struct strbuf text;
    (void)state;
    strbuf_init_secret(&text, BACKUP_ITEMS_BYTES_MAX);
    assert_int_equal(backup_items_write(&items, &text, NULL), 0);
    assert_int_equal(backup_items_parse(text.data, text.len, &again, NULL), 0);
    assert_int_equal(again.count, 2);
    assert_string_equal(again.items[0].path, "/etc/kaas/kaasd.yaml");
    assert_string_equal(again.items[0].group, "kaas");
    assert_int_equal(again.items[0].mode, 0640);
    assert_int_equal(again.items[0].count, 3);
    assert_memory_equal(again.items[0].bytes, "a\0b", 3);
    assert_int_equal(again.items[1].count, 0);
    backup_items_done(&again);
#define ITEM(path, mode, content) \
    "{\"files\":[{\"path\":\"" path "\",\"owner\":\"root\",\"group\":\"root\",\"mode\":" mode ",\"content\":\"" content "\"}]}"
    static const char good[] = ITEM("/a", "384", "YQ");
    assert_int_equal(backup_items_parse(good, strlen(good), &again, NULL), 0);
    backup_items_done(&again);
    static const char *const bad[] = {ITEM("a", "384", "YQ"),
                                      ITEM("/a/../b", "384", "YQ"),
                                      ITEM("/a/..", "384", "YQ"),
                                      ITEM("/a", "2048", "YQ"),
                                      ITEM("/a", "384", "Y"),
                                      ITEM("/a\\n", "384", "YQ"),
                                      "{\"files\":[]}",
                                      "{\"files\":[{}]}",
                                      "{\"files\":3}",
                                      ITEM("/a/", "384", "YQ"),
                                      "{}"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_int_equal(backup_items_parse(bad[i], strlen(bad[i]), &again, NULL), ERR_INVALID);
}

/* A whole backup, whose files take more than a chunk. */
static void test_reader(void **state) {
    struct place *p = *state;
    _cleanup_strbuf_ struct strbuf text, all;
    struct backup_item made = {.path = (char *)(uintptr_t) "/etc/kaas/kaasd.yaml",
                               .owner = (char *)(uintptr_t) "root",
                               .group = (char *)(uintptr_t) "kaas",
                               .mode = 0640,
                               .bytes = p->plain,
                               .count = 2000000};
    const struct backup_items items = {&made, 1};
    struct err err = {0};
    size_t bytes = 0;
    strbuf_init_secret(&text, BACKUP_ITEMS_BYTES_MAX);
    strbuf_init_secret(&all, 2 * (size_t)BACKUP_ITEMS_BYTES_MAX);
    assert_int_equal(backup_items_write(&items, &text, NULL), 0);
    const uint32_t word = htonl((uint32_t)text.len);
    strbuf_add(&all, &word, sizeof(word));
    strbuf_add(&all, text.data, text.len);
    strbuf_adds(&all, "CREATE TABLE a;\n");
    _cleanup_free_ char *file = make_file(p, all.data, all.len, &bytes);
    assert_int_equal(fs_write_new(p->path, file, bytes, 0600, NULL), 0);
    _cleanup_done_(backup_close) struct backup_reader r;
    const char *piece = NULL;
    size_t n = 0;
    assert_int_equal(backup_open(p->path, &r, NULL), 0);
    assert_string_equal(r.head.host, "kaas1");
    assert_int_equal(backup_unseal(&r, p->seal, NULL), 0);
    assert_int_equal(r.items.count, 1);
    assert_int_equal(r.items.items[0].count, 2000000);
    assert_memory_equal(r.items.items[0].bytes, p->plain, 2000000);
    assert_int_equal(backup_next(&r, &piece, &n, NULL), 0);
    assert_int_equal(n, strlen("CREATE TABLE a;\n"));
    assert_memory_equal(piece, "CREATE TABLE a;\n", n);
    assert_int_equal(backup_next(&r, &piece, &n, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(backup_check(p->path, p->seal, NULL), 0);
    assert_int_equal(backup_check(p->path, p->other, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, p->key_id));
    seal_id_of_key(key_b, made.path = (char[SEAL_KEY_ID_BYTES]){0});
    assert_non_null(strstr(err.text, made.path)); /* both are named */
    assert_int_equal(truncate(p->path, (off_t)bytes - 1), 0);
    assert_int_equal(backup_check(p->path, p->seal, NULL), ERR_INVALID);
    (void)unlink(p->path);
    assert_int_equal(backup_check(p->path, p->seal, NULL), ERR_NOT_FOUND);
    assert_int_equal(backup_check("/dev/null", p->seal, NULL), ERR_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_cut_off),   cmocka_unit_test(test_moved),
        cmocka_unit_test(test_changed),    cmocka_unit_test(test_wrong_key), cmocka_unit_test(test_derive),
        cmocka_unit_test(test_unpack),     cmocka_unit_test(test_head),      cmocka_unit_test(test_items),
        cmocka_unit_test(test_reader),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
