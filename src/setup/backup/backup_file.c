/* A backup as a file. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backup_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "clock.h"
#include "json.h"
#include "secret.h"
#include "str.h"

#define NO_BACKUP "this is no backup of kaasd, or it is damaged"

/* -- the head -------------------------------------------------------------------------------------------------------------- */

int backup_head_write(const struct backup_head *head, struct strbuf *out, struct err *err) {
    _cleanup_json_ json_t *all = json_object();
    json_put_int(all, "format", BACKUP_FORMAT);
    json_put_time(all, "at", head->at_ms);
    json_put_string(all, "version", head->version);
    json_put_string(all, "schema", head->schema);
    json_put_int(all, "schema_release", head->schema_release);
    json_put_string(all, "installation", head->installation);
    json_put_string(all, "master_key", head->key_id);
    json_put_string(all, "host", head->host);
    return json_write(all, out, err);
}

/* Texts of the head are shown to people before anything is proved. */
static bool backup_copy_text(const json_t *all, const char *name, char *out, size_t size) {
    const char *text = json_get_string(all, name);
    if (!text || strlen(text) >= size || str_has_control(text))
        return false;
    (void)snprintf(out, size, "%s", text);
    return true;
}

int backup_head_parse(const char *text, size_t n, struct backup_head *out, struct err *err) {
    _cleanup_json_ json_t *all = NULL;
    struct backup_head head = {0};
    if (json_parse(text, n, &all, NULL) || !json_is_object(all))
        return err_set(err, ERR_INVALID, NO_BACKUP);
    const int64_t format = json_get_int(all, "format", 0), release = json_get_int(all, "schema_release", -1);
    const char *at = json_get_string(all, "at");
    uint8_t id[4];
    if (format > BACKUP_FORMAT && backup_copy_text(all, "version", head.version, sizeof(head.version))) {
        (void)err_set(err, ERR_INVALID, "it has format %lld, which this program does not know: version %s made it",
                      (long long)format, head.version);
        return err_remedy(err, "use that version, or a newer one");
    }
    if (format != BACKUP_FORMAT || release < 0 || release > INT32_MAX || !at || !clock_parse(at, &head.at_ms) ||
        !backup_copy_text(all, "version", head.version, sizeof(head.version)) ||
        !backup_copy_text(all, "schema", head.schema, sizeof(head.schema)) ||
        !backup_copy_text(all, "installation", head.installation, sizeof(head.installation)) ||
        !backup_copy_text(all, "master_key", head.key_id, sizeof(head.key_id)) ||
        !backup_copy_text(all, "host", head.host, sizeof(head.host)) || strlen(head.key_id) != 8 ||
        !str_unhex(head.key_id, id, sizeof(id)))
        return err_set(err, ERR_INVALID, NO_BACKUP);
    head.schema_release = (unsigned)release;
    *out = head;
    return 0;
}

/* -- files of the host ----------------------------------------------------------------------------------------------------- */

static void backup_item_done(struct backup_item *item) {
    if (item->bytes)
        secret_wipe(item->bytes, item->count);
    free(item->bytes);
    free(item->path);
    free(item->owner);
    free(item->group);
}

void backup_items_done(struct backup_items *items) {
    if (!items)
        return;
    for (size_t i = 0; i < items->count; i++)
        backup_item_done(&items->items[i]);
    free(items->items);
    *items = (struct backup_items){0};
}

static void backup_wipe(json_t *files) {
    for (size_t i = 0; i < json_array_size(files); i++)
        json_wipe_string(json_object_get(json_array_get(files, i), "content"));
}

static int backup_add_item(const struct backup_item *item, json_t *files, struct err *err) {
    _cleanup_strbuf_ struct strbuf content;
    json_t *one = json_object();
    strbuf_init_secret(&content, 2 * BACKUP_ITEM_BYTES_MAX);
    str_base64(&content, item->bytes, item->count);
    json_put_string(one, "path", item->path);
    json_put_string(one, "owner", item->owner);
    json_put_string(one, "group", item->group);
    json_put_int(one, "mode", item->mode);
    json_put_string(one, "content", content.data);
    json_add(files, one);
    return strbuf_check(&content, item->path, err);
}

int backup_items_write(const struct backup_items *items, struct strbuf *out, struct err *err) {
    _cleanup_json_ json_t *all = json_object();
    json_t *files = json_array();
    int rc = 0;
    json_put(all, "files", files);
    for (size_t i = 0; i < items->count && !rc; i++)
        rc = backup_add_item(&items->items[i], files, err);
    rc = rc ? rc : json_write(all, out, err);
    backup_wipe(files);
    return rc;
}

/* It is root who will write there. */
static bool backup_is_path(const char *path) {
    return path && *path == '/' && !str_ends(path, "/") && !str_has_control(path) && !strstr(path, "/../") &&
           !str_ends(path, "/..");
}

static int backup_read_item(json_t *one, struct backup_item *out, struct err *err) {
    const char *content = json_get_string(one, "content"), *path = json_get_string(one, "path"),
               *owner = json_get_string(one, "owner"), *group = json_get_string(one, "group");
    const int64_t mode = json_get_int(one, "mode", -1);
    const size_t n = content ? strlen(content) : 0;
    if (!content || n > 2 * BACKUP_ITEM_BYTES_MAX || !backup_is_path(path) || str_empty(owner) || str_empty(group) || mode < 0 ||
        mode > 0777)
        return err_set(err, ERR_INVALID, NO_BACKUP);
    out->path = str_dup(path);
    out->owner = str_dup(owner);
    out->group = str_dup(group);
    out->mode = (unsigned)mode;
    out->bytes = calloc(1, n + 1);
    if (!out->path || !out->owner || !out->group || !out->bytes)
        return err_set(err, ERR_NOMEM, "out of memory");
    const long count = str_unbase64(content, n, out->bytes, n);
    out->count = count < 0 ? 0 : (size_t)count;
    return count < 0 || count > (long)BACKUP_ITEM_BYTES_MAX ? err_set(err, ERR_INVALID, NO_BACKUP) : 0;
}

int backup_items_parse(const char *text, size_t n, struct backup_items *out, struct err *err) {
    _cleanup_json_ json_t *all = NULL;
    struct backup_items items = {0};
    json_t *files;
    int rc = 0;
    if (json_parse(text, n, &all, NULL))
        return err_set(err, ERR_INVALID, NO_BACKUP);
    files = json_object_get(all, "files");
    const size_t count = json_array_size(files);
    if (!count || count > BACKUP_ITEMS_MAX)
        return err_set(err, ERR_INVALID, NO_BACKUP);
    items.items = calloc(count, sizeof(*items.items));
    if (!items.items)
        return err_set(err, ERR_NOMEM, "out of memory");
    for (; items.count < count && !rc; items.count++)
        rc = backup_read_item(json_array_get(files, items.count), &items.items[items.count], err);
    backup_wipe(files);
    if (rc)
        backup_items_done(&items);
    else
        *out = items;
    return rc;
}

/* -- reading --------------------------------------------------------------------------------------------------------------- */

#define OTHER_COPY "take another copy of it, or an older backup; nothing was changed"

/* Names the file in the error. */
static int backup_tell(const struct backup_reader *r, int rc, const struct err *why, struct err *err) {
    if (!rc)
        return 0;
    (void)err_set(err, rc, "%.200s: %s", r->path ? r->path : "", why->text);
    return err_remedy(err, "%s", *why->remedy || rc == ERR_NOMEM ? why->remedy : OTHER_COPY);
}

int backup_open(const char *path, struct backup_reader *r, struct err *err) {
    struct err why = {0};
    struct stat st;
    *r = (struct backup_reader){.path = str_dup(path)};
    strbuf_init(&r->head_text, SEALED_FILE_HEAD_BYTES_MAX);
    strbuf_init_secret(&r->chunk, SEALED_FILE_CHUNK_BYTES);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe must not hang it */
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open the backup %s: %m", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !(r->file = fdopen(fd, "r"))) {
        (void)close(fd);
        return err_set(err, ERR_IO, "%s is not a regular file", path);
    }
    int rc = sealed_file_read_head(r->file, &r->head_text, &why);
    rc = rc ? rc : backup_head_parse(r->head_text.data, r->head_text.len, &r->head, &why);
    return backup_tell(r, rc, &why, err);
}

void backup_close(struct backup_reader *r) {
    sealed_file_free(r->sealed);
    if (r->file)
        (void)fclose(r->file);
    strbuf_done(&r->head_text);
    strbuf_done(&r->chunk);
    backup_items_done(&r->items);
    free(r->path);
}

static int backup_wrong_key(const struct backup_reader *r, struct seal *seal, struct err *err) {
    char held[SEAL_KEYS_MAX * (SEAL_KEY_ID_BYTES + 1)] = "";
    struct seal_ids ids;
    seal_get_ids(seal, &ids);
    for (size_t i = 0, at = 0; i < ids.count; i++)
        at += (size_t)snprintf(held + at, sizeof(held) - at, "%s%s", i ? ", " : "", ids.items[i]);
    (void)err_set(err, ERR_CONFIG, "the backup %.200s is sealed by master key %s, and the key file holds %s", r->path,
                  r->head.key_id, held);
    return err_remedy(err, "give the master key file of that time by --master-key; nothing was changed");
}

/* `n` bytes, over chunks. */
static int backup_take(struct backup_reader *r, void *out, size_t n, struct err *err) {
    char *to = out;
    while (n) {
        const size_t there = r->chunk.len - r->at, part = there < n ? there : n;
        memcpy(to, r->chunk.data + r->at, part);
        r->at += part;
        to += part;
        n -= part;
        if (n && r->is_last)
            return err_set(err, ERR_INVALID, NO_BACKUP);
        int rc = n ? sealed_file_read(r->sealed, &r->chunk, &r->is_last, err) : 0;
        if (rc)
            return rc;
        if (n)
            r->at = 0;
    }
    return 0;
}

static int backup_read_items(struct backup_reader *r, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    uint32_t word = 0;
    int rc = backup_take(r, &word, sizeof(word), err);
    const size_t n = ntohl(word);
    strbuf_init_secret(&text, BACKUP_ITEMS_BYTES_MAX);
    if (!rc && n > BACKUP_ITEMS_BYTES_MAX)
        rc = err_set(err, ERR_INVALID, NO_BACKUP);
    if (rc)
        return rc;
    strbuf_reserve(&text, n);
    rc = strbuf_check(&text, "files of the host", err);
    rc = rc ? rc : backup_take(r, text.data, n, err);
    return rc ? rc : backup_items_parse(text.data, n, &r->items, err);
}

int backup_unseal(struct backup_reader *r, struct seal *seal, struct err *err) {
    struct err why = {0};
    int rc = sealed_file_open(r->file, r->head_text.data, seal, r->head.key_id, &r->sealed, &why);
    if (rc == ERR_NOT_FOUND)
        return backup_wrong_key(r, seal, err);
    rc = rc ? rc : backup_read_items(r, &why);
    return backup_tell(r, rc, &why, err);
}

int backup_next(struct backup_reader *r, const char **bytes, size_t *n, struct err *err) {
    struct err why = {0};
    while (r->at == r->chunk.len && !r->is_last) {
        int rc = sealed_file_read(r->sealed, &r->chunk, &r->is_last, &why);
        if (rc)
            return backup_tell(r, rc, &why, err);
        r->at = 0;
    }
    *bytes = r->chunk.data + r->at;
    *n = r->chunk.len - r->at;
    r->at = r->chunk.len;
    return 0;
}

int backup_check(const char *path, struct seal *seal, struct err *err) {
    _cleanup_done_(backup_close) struct backup_reader r;
    const char *bytes;
    size_t n = 1;
    int rc = backup_open(path, &r, err);
    rc = rc ? rc : backup_unseal(&r, seal, err);
    while (!rc && n)
        rc = backup_next(&r, &bytes, &n, err);
    return rc;
}
