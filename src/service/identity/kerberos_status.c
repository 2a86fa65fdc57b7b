/* Kerberos: life, allowed realms, and how it stands with the keytab. Layer 4 (service/identity).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kerberos_private.h"
#include "str.h"

static const char *const aes[] = {"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96", "aes256-cts-hmac-sha384-192",
                                  "aes128-cts-hmac-sha256-128", NULL};

static int read_enctypes(const char *const *names, int out[GSS_ENCTYPES_MAX], struct err *err) {
    size_t n = 0;
    for (; *names; names++) {
        int enctype = gss_enctype_parse(*names);
        if (!enctype || n + 1 == GSS_ENCTYPES_MAX) {
            (void)err_set(err, ERR_CONFIG, "auth.kerberos.encryption_types names \"%.60s\", which is %s", *names,
                          enctype ? "one too many" : "no encryption type that libkrb5 knows");
            return err_remedy(err, "use names as in krb5.conf, such as aes256-cts-hmac-sha1-96");
        }
        out[n++] = enctype;
    }
    return 0;
}

static char **copy_texts(const char *const *from) {
    size_t n = 0;
    char **copy;
    while (from && from[n])
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = str_dup(from[i]);
        if (copy[i])
            continue;
        while (i--)
            free(copy[i]);
        free((void *)copy);
        return NULL;
    }
    return copy;
}

const char *kerberos_live_check_name(enum kerberos_live_check check) {
    static const char *const words[] = {
        [KERBEROS_ASK_NOBODY] = "off", [KERBEROS_ASK_PRIVILEGED] = "privileged", [KERBEROS_ASK_ALL] = "always"};
    return words[check];
}

int kerberos_new(const struct kerberos_options *options, struct kerberos **out, struct err *err) {
    const bool has_types = options->encryption_types && options->encryption_types[0];
    struct gss_options gss = {.keytab = options->keytab, .replay_cache = options->replay_cache};
    struct kerberos *k = calloc(1, sizeof(*k));
    int rc = k ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (rc)
        return rc;
    (void)pthread_mutex_init(&k->lock, NULL);
    k->store = options->store;
    k->identity = options->identity;
    k->looks_at_bindings = options->looks_at_bindings;
    k->requires_pac = options->requires_pac;
    k->live_check = options->live_check;
    k->is_privileged = options->is_privileged;
    k->arg = options->arg;
    k->realms = copy_texts(options->realms);
    rc = k->realms ? read_enctypes(has_types ? options->encryption_types : aes, gss.enctypes, err)
                   : err_set(err, ERR_NOMEM, "out of memory");
    if (!rc)
        rc = gss_acceptor_new(&gss, &k->acceptor, err);
    if (rc) {
        kerberos_free(k);
        return rc;
    }
    kerberos_tick(k);
    *out = k;
    return 0;
}

void kerberos_free(struct kerberos *k) {
    if (!k)
        return;
    gss_acceptor_free(k->acceptor);
    for (char **realm = k->realms; realm && *realm; realm++)
        free(*realm);
    free((void *)k->realms);
    (void)pthread_mutex_destroy(&k->lock);
    free(k);
}

/* -- realms ----------------------------------------------------------------------------------------------------------------- */

static const char *realm_of(const char *principal) {
    const char *at = strrchr(principal, '@');
    return at ? at + 1 : "";
}

/* Realms are compared as they stand: case matters (RFC 4120 section 6.1). */
bool kerberos_allows_realm(struct kerberos *k, const char *realm) {
    if (!k->realms[0])
        return gss_acceptor_is_of_realm(k->acceptor, realm);
    for (size_t i = 0; k->realms[i]; i++)
        if (str_eq(k->realms[i], realm))
            return true;
    return false;
}

/* -- status ----------------------------------------------------------------------------------------------------------------- */

void kerberos_status_done(struct kerberos_status *status) {
    if (!status)
        return;
    for (size_t i = 0; i < status->keys_count; i++)
        free(status->keys[i].principal);
    free(status->keys);
    for (size_t i = 0; i < status->realms_count; i++)
        free(status->realms[i]);
    free((void *)status->realms);
    memset(status, 0, sizeof(*status));
}

static bool has_realm(const struct kerberos_status *status, const char *realm) {
    for (size_t i = 0; i < status->realms_count; i++)
        if (str_eq(status->realms[i], realm))
            return true;
    return false;
}

/* There is room for as many as there are keys, or configured realms. */
static int add_realm(struct kerberos_status *status, const char *realm) {
    if (has_realm(status, realm))
        return 0;
    status->realms[status->realms_count] = str_dup(realm);
    return status->realms[status->realms_count] ? (int)(status->realms_count++, 0) : ERR_NOMEM;
}

static int list_realms(const struct kerberos *k, struct kerberos_status *out) {
    size_t n = 0;
    int rc = 0;
    while (k->realms[n])
        n++;
    out->realms = calloc(n + out->keys_count + 1, sizeof(*out->realms));
    if (!out->realms)
        return ERR_NOMEM;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add_realm(out, k->realms[i]);
    for (size_t i = 0; !rc && !n && i < out->keys_count; i++)
        rc = out->keys[i].is_used ? add_realm(out, realm_of(out->keys[i].principal)) : 0;
    return rc;
}

static int list_keys(struct gss_keys *keys, struct kerberos_status *out) {
    out->keys = calloc(keys->count + 1, sizeof(*out->keys));
    if (!out->keys)
        return ERR_NOMEM;
    for (size_t i = 0; i < keys->count; i++) {
        struct gss_key *from = &keys->items[i];
        struct kerberos_key *to = &out->keys[out->keys_count++];
        *to = (struct kerberos_key){
            .principal = STEAL(from->principal), .kvno = from->kvno, .made_at_ms = from->made_at_ms, .is_used = from->is_used};
        memcpy(to->encryption_type, from->enctype_name, sizeof(to->encryption_type));
        if (from->is_used && from->kvno > out->newest_kvno)
            out->newest_kvno = from->kvno;
    }
    return 0;
}

int kerberos_get_status(struct kerberos *k, struct kerberos_status *out, struct err *err) {
    struct kerberos_status status = {.looks_at_bindings = k->looks_at_bindings,
                                     .requires_pac = k->requires_pac,
                                     .live_check = k->live_check,
                                     .since_ms = atomic_load(&k->since_ms)};
    struct gss_keys keys;
    int rc;
    (void)gss_acceptor_look(k->acceptor, &keys, &status.problem);
    rc = list_keys(&keys, &status);
    if (!rc)
        rc = list_realms(k, &status);
    gss_keys_done(&keys);
    if (rc) {
        kerberos_status_done(&status);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = status;
    return 0;
}

void kerberos_tick(struct kerberos *k) {
    struct gss_keys keys;
    struct err err = {0};
    const bool is_usable = gss_acceptor_look(k->acceptor, &keys, &err) == 0;
    if (atomic_exchange(&k->is_usable, is_usable) != is_usable || !atomic_load(&k->since_ms))
        atomic_store(&k->since_ms, clock_wall_ms());
    gss_keys_done(&keys);
}

bool kerberos_is_usable(const struct kerberos *k) {
    return atomic_load(&k->is_usable);
}
