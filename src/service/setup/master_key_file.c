/* The master key file as the administrator's tool changes it. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "master_key_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsutil.h"
#include "secret.h"
#include "str.h"
#include "uuid.h"

#define FILE_MODE 0600

int master_key_file_read(const char *path, struct seal_ids *out, struct err *err) {
    struct seal *seal = NULL;
    int rc = seal_open_file(path, &seal, err);
    if (!rc)
        seal_get_ids(seal, out);
    seal_free(seal);
    return rc;
}

static int load(const char *path, struct strbuf *bytes, struct stat *owner, struct err *err) {
    struct seal_ids ids;
    int rc = master_key_file_read(path, &ids, err); /* its form is right */
    if (!rc && stat(path, owner))
        rc = err_set(err, ERR_IO, "cannot look at %s", path);
    return rc ? rc : fs_read_secret(path, bytes, err);
}

static int store(const char *path, const struct strbuf *bytes, const struct stat *owner, struct err *err) {
    int rc = fs_write_atomic(path, bytes->data, bytes->len, FILE_MODE, err);
    if (!rc && (owner->st_uid != geteuid() || owner->st_gid != getegid()) && chown(path, owner->st_uid, owner->st_gid))
        rc = err_set(err, ERR_IO, "cannot give %s to its owner of before", path);
    return rc;
}

int master_key_file_add(const char *path, char key_id[SEAL_KEY_ID_BYTES], struct err *err) {
    _cleanup_strbuf_ struct strbuf bytes;
    uint8_t key[SEAL_KEY_BYTES];
    struct stat owner;
    int rc;
    strbuf_init_secret(&bytes, 4096);
    rc = load(path, &bytes, &owner, err);
    if (rc)
        return rc;
    if (bytes.len >= SEAL_KEYS_MAX * SEAL_KEY_BYTES) {
        (void)err_set(err, ERR_CONFLICT, "master key file %s holds %d keys already", path, SEAL_KEYS_MAX);
        return err_remedy(err, "take out old ones: kaasctl key remove-master");
    }
    random_bytes(key, sizeof(key));
    seal_id_of_key(key, key_id);
    strbuf_add(&bytes, key, sizeof(key));
    secret_wipe(key, sizeof(key));
    return store(path, &bytes, &owner, err);
}

int master_key_file_remove(const char *path, const char *key_id, struct err *err) {
    _cleanup_strbuf_ struct strbuf bytes, kept;
    char id[SEAL_KEY_ID_BYTES];
    struct stat owner;
    int rc;
    strbuf_init_secret(&bytes, 4096);
    strbuf_init_secret(&kept, 4096);
    rc = load(path, &bytes, &owner, err);
    for (size_t at = 0; !rc && at < bytes.len; at += SEAL_KEY_BYTES) {
        seal_id_of_key((const uint8_t *)bytes.data + at, id);
        if (!str_eq(id, key_id))
            strbuf_add(&kept, bytes.data + at, SEAL_KEY_BYTES);
    }
    if (rc)
        return rc;
    if (kept.len == bytes.len)
        return err_set(err, ERR_NOT_FOUND, "master key file %s holds no key %.16s", path, key_id);
    if (!kept.len)
        return err_set(err, ERR_CONFLICT, "%s is the only key in %s", key_id, path);
    return store(path, &kept, &owner, err);
}
