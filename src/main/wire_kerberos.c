/* Kerberos in the daemon: making it, the certificate that clients bind themselves to, and what health says of the keytab. Layer 6 (main).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fsutil.h"
#include "kerberos.h"
#include "log.h"
#include "str.h"
#include "strbuf.h"
#include "wire_private.h"

#define THREADS 8U /* most of what one does is waiting for the database */
#define QUEUE_COUNT 1024U
#define PEM_BYTES_MAX (1024U * 1024U)

/* A folder that cannot be made is no reason not to start: health tells of it. */
static void make_cache_folder(const char *path) {
    _cleanup_free_ char *folder = str_dup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    struct err err = {0};
    if (!slash || slash == folder)
        return;
    *slash = 0;
    if (access(folder, F_OK) && fs_make_dirs(folder, 0755, &err))
        log_error(LOG_LEVEL_WARNING, "kerberos_folder", &err, NULL);
}

int wire_set_kerberos_certificate(struct wire *w, const struct config *config, const char *cert_pem) {
    _cleanup_strbuf_ struct strbuf pem;
    const char *path = config->auth_kerberos_channel_certificate;
    struct err err = {0};
    int rc = 0;
    strbuf_init(&pem, PEM_BYTES_MAX);
    if (!w->kerberos)
        return 0;
    if (*path)
        rc = fs_read(path, &pem, &err);
    if (!rc)
        rc = kerberos_set_certificate(w->kerberos, *path ? pem.data : cert_pem, &err);
    if (rc)
        log_error(LOG_LEVEL_WARNING, "kerberos_channel_bindings", &err, "hint",
                  "tokens that are bound to the TLS connection are taken without a look at what they are bound to", NULL);
    return rc;
}

static int make_lane(struct wire *w, struct err *err) {
    const struct lane_options options = {.name = "kerberos",
                                         .threads = THREADS,
                                         .queue_count = QUEUE_COUNT,
                                         .thread_begin = store_thread_begin,
                                         .thread_end = store_thread_end};
    return lane_new(&options, &w->kerberos_lane, err);
}

/* By role: who may do more than see what is shown to them. */
static bool is_privileged(void *arg, const char *principal_id, const struct group_set *groups) {
    struct wire *w = arg;
    return signon_mapped_role(w->signon, principal_id, groups) > ROLE_USER;
}

int wire_make_kerberos(struct wire *w, struct err *err) {
    const struct config *config = &w->config;
    const struct kerberos_options options = {
        .store = w->store,
        .identity = w->identity,
        .keytab = config->auth_kerberos_keytab,
        .replay_cache = config->auth_kerberos_replay_cache,
        .realms = (const char *const *)config->auth_kerberos_realms.items,
        .encryption_types = (const char *const *)config->auth_kerberos_encryption_types.items,
        .looks_at_bindings = config->auth_kerberos_channel_bindings != 0,
        .requires_pac = config->auth_kerberos_require_pac,
        .live_check = (enum kerberos_live_check)config->auth_kerberos_live_check,
        .is_privileged = is_privileged,
        .arg = w,
    };
    int rc;
    if (!*config->auth_kerberos_keytab)
        return 0;
    make_cache_folder(config->auth_kerberos_replay_cache);
    rc = make_lane(w, err);
    if (!rc)
        rc = kerberos_new(&options, &w->kerberos, err);
    if (!rc)
        (void)wire_set_kerberos_certificate(w, config, w->cert_pem);
    return rc;
}

/* Others than its owner and its group can read it, or change it: 0644, 0660. */
static bool is_open(const char *path, char *out, size_t n) {
    struct stat st;
    if (*path != '/' || stat(path, &st) || !(st.st_mode & (S_IRWXO | S_IWGRP)))
        return false;
    (void)snprintf(out, n, "the keytab %s is open to others (mode %04o): who reads it can make tickets for everybody", path,
                   st.st_mode & 07777U);
    return true;
}

void wire_check_kerberos(struct wire *w, struct findings *out) {
    struct finding f = {.step = "kerberos"};
    const char *path = w->config.auth_kerberos_keytab;
    struct kerberos_status status;
    char words[512];
    if (!w->kerberos || kerberos_get_status(w->kerberos, &status, NULL))
        return;
    f.since_ms = status.since_ms;
    if (status.problem.code) {
        finding_say_error(&f, FINDING_FAILED, &status.problem);
    } else if (is_open(path, words, sizeof(words))) {
        finding_say(&f, FINDING_WARNING, "%s", words);
        finding_advise(&f,
                       "chmod 0400 the file, owned by the user that kaasd runs as; if strangers could read it, make a new key");
    } else {
        finding_say(&f, FINDING_OK, "%zu keys, the newest of version %u", status.keys_count, status.newest_kvno);
    }
    findings_add(out, &f);
    kerberos_status_done(&status);
}

void wire_stop_kerberos(struct wire *w) {
    if (w->kerberos_lane)
        lane_stop(w->kerberos_lane);
}

void wire_free_kerberos(struct wire *w) {
    kerberos_free(w->kerberos);
    lane_free(w->kerberos_lane);
}
