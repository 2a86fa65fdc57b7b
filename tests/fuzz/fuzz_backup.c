/* Fuzz target: a backup. The first byte says what the rest is: 'f' a whole file, sealed by a key that is known here; 'h' its head; 'i' its files of the
 * host; 'g' a compressed chunk; so that what lies behind the seal is reached by changed bytes, too. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backup_file.h"
#include "cleanup.h"
#include "gzip.h"
#include "sql_rows.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must_tell(int rc, const struct err *err) {
    if (rc && (err->code != rc || !err->text[0]))
        abort();
}

static void try_file(const uint8_t *data, size_t n) {
    static const uint8_t key[SEAL_KEY_BYTES] = {1, 2, 3};
    struct seal *seal = NULL;
    struct err err = {0};
    _cleanup_close_ int fd = memfd_create("backup", MFD_CLOEXEC);
    _cleanup_free_ char *path = str_format("/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n || seal_open_key(key, &seal, NULL))
        abort();
    must_tell(backup_check(path, seal, &err), &err);
    seal_free(seal);
}

static void try_head(const char *text, size_t n) {
    struct backup_head head;
    struct err err = {0};
    int rc = backup_head_parse(text, n, &head, &err);
    must_tell(rc, &err);
    if (!rc && (strlen(head.key_id) != 8 || str_has_control(head.host) || str_has_control(head.version)))
        abort();
}

static void try_items(const char *text, size_t n) {
    struct backup_items items;
    struct err err = {0};
    int rc = backup_items_parse(text, n, &items, &err);
    must_tell(rc, &err);
    if (rc)
        return;
    for (size_t i = 0; i < items.count; i++)
        if (items.items[i].path[0] != '/' || strstr(items.items[i].path, "/../") || items.items[i].mode > 0777)
            abort();
    backup_items_done(&items);
}

static void try_chunk(const char *packed, size_t n) {
    _cleanup_strbuf_ struct strbuf plain;
    struct err err = {0};
    strbuf_init_secret(&plain, SEALED_FILE_CHUNK_BYTES);
    must_tell(gzip_unpack(packed, n, &plain, &err), &err);
}

/* Counted in two pieces as in one. */
static void try_rows(const char *sql, size_t n) {
    static struct sql_rows whole, pieces;
    memset(&whole, 0, sizeof(whole));
    memset(&pieces, 0, sizeof(pieces));
    sql_rows_feed(&whole, sql, n);
    sql_rows_feed(&pieces, sql, n / 2);
    sql_rows_feed(&pieces, sql + n / 2, n - n / 2);
    if (whole.count != pieces.count || whole.place != pieces.place)
        abort();
    (void)sql_rows_parse(sql, n, &whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *rest = (const char *)data + 1;
    switch (n ? data[0] : 0) {
    case 'f': try_file(data + 1, n - 1); break;
    case 'h': try_head(rest, n - 1); break;
    case 'i': try_items(rest, n - 1); break;
    case 'r': try_rows(rest, n - 1); break;
    case 'g': try_chunk(rest, n - 1); break;
    default: break;
    }
    return 0;
}
