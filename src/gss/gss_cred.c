/* Credentials of the acceptor: one for each thread that accepts at a time. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libkrb5 locks a credential while it accepts: two threads with one are slower than one thread. */
#include <errno.h>
#include <fcntl.h>
#include <gssapi/gssapi_ext.h>
#include <profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "gss_private.h"
#include "str.h"

const gss_OID_desc gss_oid_krb5 = {9, (void *)(uintptr_t) "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
const gss_OID_desc gss_oid_spnego = {6, (void *)(uintptr_t) "\x2b\x06\x01\x05\x05\x02"};

static void gss_slot_free(struct gss_slot *slot) {
    OM_uint32 minor;
    if (!slot)
        return;
    (void)gss_release_cred(&minor, &slot->cred);
    free(slot);
}

/* Only krb5, also inside SPNEGO: otherwise a plug-in for NTLM that somebody installs would change what we accept. */
static OM_uint32 acquire(const struct gss_acceptor *acceptor, unsigned long generation, gss_cred_id_t *out) {
    gss_OID_desc mechs[2] = {gss_oid_krb5, gss_oid_spnego};
    gss_OID_set_desc all = {2, mechs}, krb5_alone = {1, mechs};
    _cleanup_free_ char *keytab = str_format("MEMORY:kaas-%p-%lu", (const void *)acceptor, generation);
    _cleanup_free_ char *cache = str_format("file2:%s", acceptor->replay_cache);
    gss_key_value_element_desc elements[] = {{"keytab", keytab}, {"rcache", cache}};
    const gss_key_value_set_desc store = {2, elements};
    OM_uint32 minor, major = GSS_S_FAILURE;
    if (keytab && cache)
        major = gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &all, GSS_C_ACCEPT, &store, out, NULL, NULL);
    if (GSS_ERROR(major))
        return major;
    major = gss_set_neg_mechs(&minor, *out, &krb5_alone);
    if (GSS_ERROR(major))
        (void)gss_release_cred(&minor, out);
    return major;
}

static bool renew(const struct gss_acceptor *acceptor, unsigned long generation, struct gss_slot *slot) {
    OM_uint32 minor;
    if (slot->cred && slot->generation == generation)
        return true;
    (void)gss_release_cred(&minor, &slot->cred);
    slot->generation = generation;
    return !GSS_ERROR(acquire(acceptor, generation, &slot->cred));
}

/* An idle one, or an empty one. The keytab in memory must not go while a credential is made of it: *keys is another handle to it. */
static struct gss_slot *find(struct gss_acceptor *acceptor, unsigned long *generation, krb5_keytab *keys,
                             struct gss_answer *out) {
    struct gss_slot *slot = NULL;
    *keys = NULL;
    (void)pthread_mutex_lock(&acceptor->lock);
    if (!gss_keytab_refresh(acceptor)) {
        (void)snprintf(out->why, sizeof(out->why), "%s", acceptor->why);
    } else {
        slot = acceptor->idle;
        if (slot)
            acceptor->idle = slot->next;
        *generation = acceptor->generation;
        if (!slot || slot->generation != *generation)
            (void)krb5_kt_dup(acceptor->context, acceptor->keys, keys);
        slot = slot ? slot : calloc(1, sizeof(*slot));
    }
    (void)pthread_mutex_unlock(&acceptor->lock);
    return slot;
}

static void let_go(struct gss_acceptor *acceptor, krb5_keytab keys) {
    if (!keys)
        return;
    (void)pthread_mutex_lock(&acceptor->lock);
    (void)krb5_kt_close(acceptor->context, keys);
    (void)pthread_mutex_unlock(&acceptor->lock);
}

struct gss_slot *gss_slot_take(struct gss_acceptor *acceptor, struct gss_answer *out) {
    krb5_keytab keys = NULL;
    unsigned long generation = 0;
    struct gss_slot *slot = find(acceptor, &generation, &keys, out);
    out->verdict = GSS_UNAVAILABLE;
    out->reason = GSS_REASON_KEYTAB;
    if (slot && !renew(acceptor, generation, slot)) {
        if (!gss_replay_cache_works(acceptor, out->why))
            out->reason = GSS_REASON_REPLAY_CACHE;
        gss_slot_free(slot);
        slot = NULL;
    }
    let_go(acceptor, keys);
    return slot;
}

void gss_slot_give_back(struct gss_acceptor *acceptor, struct gss_slot *slot) {
    (void)pthread_mutex_lock(&acceptor->lock);
    slot->next = acceptor->idle;
    acceptor->idle = slot;
    (void)pthread_mutex_unlock(&acceptor->lock);
}

/* libkrb5 opens the file so, too; a link is none of ours. */
bool gss_replay_cache_works(const struct gss_acceptor *acceptor, char why[GSS_TEXT_BYTES]) {
    int fd _cleanup_close_ = open(acceptor->replay_cache, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return true;
    (void)snprintf(why, GSS_TEXT_BYTES, "%s", fd >= 0 ? "not a file" : strerror(errno));
    return false;
}

/* -- life ------------------------------------------------------------------------------------------------------------------- */

static int64_t read_skew_ms(krb5_context context) {
    struct _profile_t *profile = NULL;
    int skew_s = 300;
    if (krb5_get_profile(context, &profile) == 0) {
        (void)profile_get_integer(profile, "libdefaults", "clockskew", NULL, 300, &skew_s);
        profile_release(profile);
    }
    return skew_s * 1000LL;
}

int gss_acceptor_new(const struct gss_options *options, struct gss_acceptor **out, struct err *err) {
    struct gss_acceptor *acceptor = calloc(1, sizeof(*acceptor));
    krb5_error_code code;
    if (!acceptor)
        return err_set(err, ERR_NOMEM, "out of memory");
    code = krb5_init_context(&acceptor->context);
    if (code) {
        free(acceptor);
        (void)err_set(err, ERR_CONFIG, "libkrb5 cannot use krb5.conf: %s", error_message(code));
        return err_remedy(err, "correct /etc/krb5.conf, or the file that KRB5_CONFIG names");
    }
    (void)pthread_mutex_init(&acceptor->lock, NULL);
    acceptor->keytab = str_dup(options->keytab);
    acceptor->replay_cache = str_dup(options->replay_cache);
    memcpy(acceptor->enctypes, options->enctypes, sizeof(acceptor->enctypes));
    acceptor->skew_ms = read_skew_ms(acceptor->context);
    if (!acceptor->keytab || !acceptor->replay_cache) {
        gss_acceptor_free(acceptor);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = acceptor;
    return 0;
}

void gss_acceptor_free(struct gss_acceptor *acceptor) {
    if (!acceptor)
        return;
    while (acceptor->idle) {
        struct gss_slot *slot = acceptor->idle;
        acceptor->idle = slot->next;
        gss_slot_free(slot);
    }
    gss_keytab_drop(acceptor);
    krb5_free_context(acceptor->context);
    (void)pthread_mutex_destroy(&acceptor->lock);
    free(acceptor->keytab);
    free(acceptor->replay_cache);
    free(acceptor);
}

static int copy_keys(const struct gss_keys *from, struct gss_keys *out) {
    out->items = calloc(from->count + 1, sizeof(*out->items));
    if (!out->items)
        return ERR_NOMEM;
    for (size_t i = 0; i < from->count; i++) {
        out->items[i] = from->items[i];
        out->items[i].principal = str_dup(from->items[i].principal);
        out->count++;
        if (!out->items[i].principal)
            return ERR_NOMEM;
    }
    return 0;
}

static int fail_keytab(const struct gss_acceptor *acceptor, const char *why, struct err *err) {
    (void)err_set(err, ERR_CONFIG, "the keytab \"%s\" cannot be used: %s", acceptor->keytab, why);
    return err_remedy(
        err, "put a keytab there that this service may read, with AES keys of its HTTP/... principal; no restart is needed");
}

int gss_acceptor_look(struct gss_acceptor *acceptor, struct gss_keys *keys, struct err *err) {
    struct gss_keys copy = {0};
    char why[GSS_TEXT_BYTES];
    int rc = 0;
    (void)pthread_mutex_lock(&acceptor->lock);
    if (!gss_keytab_refresh(acceptor))
        rc = fail_keytab(acceptor, acceptor->why, err);
    if (copy_keys(&acceptor->list, &copy)) {
        gss_keys_done(&copy);
        rc = err_set(err, ERR_NOMEM, "out of memory");
    }
    (void)pthread_mutex_unlock(&acceptor->lock);
    if (!rc && !gss_replay_cache_works(acceptor, why)) {
        rc = err_set(err, ERR_CONFIG, "the replay cache \"%s\" cannot be written: %s", acceptor->replay_cache, why);
        (void)err_remedy(err, "make its folder, writable for this service, on a file system in memory");
    }
    *keys = copy;
    return rc;
}
