/* Reading the release file and its signature. Layer 4 (updates).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "release_source.h"

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fsutil.h"
#include "http_client.h"
#include "release_store.h"
#include "str.h"

#define HOUR_MS (3600 * INT64_C(1000))
#define FOLDER_PERIOD_MS (5 * 60 * INT64_C(1000))
#define PEM_BYTES_MAX (4U * 1024U * 1024U)

struct release_source {
    char *url, *folder; /* one of them is "" */
    long timeout_ms;
    struct signature_keys *keys;
    struct http_client *client; /* NULL for a folder */
};

static int release_source_read_pem(const char *path, struct strbuf *pem, struct err *err) {
    strbuf_init(pem, PEM_BYTES_MAX);
    return fs_read_text(path, pem, err);
}

/* Whoever writes the configuration chooses the address: no network is closed to it. */
static int release_source_make_client(struct release_source *source, const struct config *config, struct err *err) {
    _cleanup_strbuf_ struct strbuf ca = {0};
    int rc = release_source_read_pem(config->updates_ca_file, &ca, err);
    if (rc == ERR_NOT_FOUND)
        (void)err_remedy(err, "install ca-certificates, or name the CAs of the server by updates.ca_file");
    const struct http_client_options options = {
        .trust.ca_pem = ca.data,
        .proxy = *config->updates_proxy ? config->updates_proxy : NULL,
        .user_agent = "harmony-kaas/" PACKAGE_VERSION,
        .connect_timeout_ms = source->timeout_ms,
    };
    return rc ? rc : http_client_new(&options, &source->client, err);
}

static int release_source_fill(struct release_source *source, const struct config *config, struct err *err) {
    _cleanup_strbuf_ struct strbuf pem = {0};
    int rc = release_source_read_pem(config->updates_key_file, &pem, err);
    if (!rc)
        rc = signature_keys_read(pem.data, &source->keys, err);
    if (!rc && (!(source->url = str_dup(config->updates_url)) || !(source->folder = str_dup(config->updates_folder))))
        rc = err_set(err, ERR_NOMEM, "out of memory");
    return rc || !*config->updates_url ? rc : release_source_make_client(source, config, err);
}

int release_source_new(const struct config *config, struct release_source **out, struct err *err) {
    *out = NULL;
    if (!*config->updates_url && !*config->updates_folder)
        return 0;
    struct release_source *source = calloc(1, sizeof(*source));
    if (!source)
        return err_set(err, ERR_NOMEM, "out of memory");
    source->timeout_ms = (long)config->updates_call_timeout_ms;
    int rc = release_source_fill(source, config, err);
    if (rc)
        release_source_free(source);
    else
        *out = source;
    return rc;
}

void release_source_free(struct release_source *source) {
    if (!source)
        return;
    http_client_free(source->client);
    signature_keys_free(source->keys);
    free(source->folder);
    free(source->url);
    free(source);
}

const struct signature_keys *release_source_keys(const struct release_source *source) {
    return source->keys;
}

int64_t release_source_period_ms(const struct release_source *source, bool is_bad) {
    if (!source->client)
        return FOLDER_PERIOD_MS;
    return is_bad ? HOUR_MS : CLOCK_DAY_MS;
}

void release_source_cancel(struct release_source *source) {
    if (source->client)
        http_client_cancel(source->client);
}

/* -- reading ------------------------------------------------------------------------------------------------------------------ */

static int release_source_check_status(long status, const char *what, struct err *err) {
    if (status == 200)
        return 0;
    if (status / 100 == 3) {
        (void)err_set(err, ERR_UPSTREAM,
                      "the server of updates.url answers for the %s with a redirect (%ld), which is not followed", what, status);
        return err_remedy(err, "set updates.url to where the file itself is");
    }
    (void)err_set(err, status == 404 ? ERR_NOT_FOUND : ERR_UPSTREAM,
                  "the server of updates.url answers for the %s with HTTP status %ld", what, status);
    return err_remedy(err, "see that updates.url names the release file, and that its signature is beside it as .sig");
}

static int release_source_fetch(struct release_source *source, const char *suffix, const char *what, struct strbuf *out,
                                struct err *err) {
    _cleanup_free_ char *url = str_format("%s%s", source->url, suffix);
    const struct http_exchange exchange = {
        .method = "GET", .url = url, .timeout_ms = source->timeout_ms, .reply_max_bytes = out->max_bytes};
    struct err why = {0};
    long status = 0;
    if (!url)
        return err_set(err, ERR_NOMEM, "out of memory");
    int rc = http_client_run(source->client, &exchange, out, &status, &why);
    if (rc == ERR_TOO_LARGE)
        return err_set(err, rc, "the %s is larger than %zu bytes", what, out->max_bytes);
    return rc ? err_move(err, rc, &why) : release_source_check_status(status, what, err);
}

static int release_source_read_file(const struct release_source *source, const char *suffix, struct strbuf *out,
                                    struct err *err) {
    _cleanup_free_ char *path = str_format("%s/release.json%s", source->folder, suffix);
    int rc = path ? fs_read(path, out, err) : err_set(err, ERR_NOMEM, "out of memory");
    return rc ? err_remedy(
                    err,
                    "put release.json and release.json.sig of the newest release into updates.folder, readable for the service")
              : 0;
}

int release_source_read(struct release_source *source, struct strbuf *content, struct strbuf *signature, struct err *err) {
    int rc = source->client ? release_source_fetch(source, ".sig", "signature", signature, err)
                            : release_source_read_file(source, ".sig", signature, err);
    if (rc)
        return rc;
    return source->client ? release_source_fetch(source, "", "release file", content, err)
                          : release_source_read_file(source, "", content, err);
}
