/* Reading the keytab into memory. Layer 2 (gss).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libkrb5 would open, lock and read the file for each token. In memory it costs less, and keys of encryption types that are not taken are not even there.
 * One look at the file with each token tells whether it is another one, so that a keytab that was replaced counts from the next token on. */
#include "gss_acceptor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gss_acceptor_private.h"
#include "str.h"

void gss_keys_done(struct gss_keys *keys) {
    if (!keys)
        return;
    for (size_t i = 0; i < keys->count; i++)
        free(keys->items[i].principal);
    free(keys->items);
    *keys = (struct gss_keys){0};
}

bool gss_takes_enctype(const struct gss_acceptor *acceptor, int enctype) {
    for (size_t i = 0; i < GSS_ENCTYPES_MAX && acceptor->enctypes[i]; i++)
        if (acceptor->enctypes[i] == enctype)
            return true;
    return false;
}

int gss_enctype_parse(const char *name) {
    char text[64];
    krb5_enctype enctype = 0;
    if (strlen(name) >= sizeof(text))
        return 0;
    (void)snprintf(text, sizeof(text), "%s", name); /* the library wants to be able to write */
    return krb5_string_to_enctype(text, &enctype) ? 0 : enctype;
}

static void gss_keytab_say(struct gss_acceptor *acceptor, krb5_error_code code) {
    const char *text = krb5_get_error_message(acceptor->context, code);
    (void)snprintf(acceptor->why, sizeof(acceptor->why), "%s", text);
    krb5_free_error_message(acceptor->context, text);
}

void gss_keytab_drop(struct gss_acceptor *acceptor) {
    if (acceptor->keys)
        (void)krb5_kt_close(acceptor->context, acceptor->keys);
    acceptor->keys = NULL;
    gss_keys_done(&acceptor->list);
}

/* -- one entry ----------------------------------------------------------------------------------------------------------- */

static bool gss_keytab_note_key(struct gss_acceptor *acceptor, const krb5_keytab_entry *entry) {
    struct gss_keys *list = &acceptor->list;
    struct gss_key *items, key = {.kvno = entry->vno, .enctype = entry->key.enctype, .made_at_ms = 1000LL * entry->timestamp};
    char *principal = NULL;
    if (!(list->count & (list->count - 1))) {
        items = realloc(list->items, (list->count ? 2 * list->count : 1) * sizeof(*items));
        if (!items)
            return false;
        list->items = items;
    }
    if (krb5_unparse_name(acceptor->context, entry->principal, &principal))
        return false;
    key.principal = str_dup(principal);
    krb5_free_unparsed_name(acceptor->context, principal);
    if (krb5_enctype_to_name(key.enctype, false, key.enctype_name, sizeof(key.enctype_name)))
        (void)snprintf(key.enctype_name, sizeof(key.enctype_name), "enctype %d", key.enctype);
    key.is_used = gss_takes_enctype(acceptor, key.enctype);
    if (key.principal)
        list->items[list->count++] = key;
    return key.principal != NULL;
}

static krb5_error_code gss_keytab_take_entry(struct gss_acceptor *acceptor, krb5_keytab memory, krb5_keytab_entry *entry) {
    if (acceptor->list.count >= GSS_KEYS_MAX)
        return 0;
    if (!gss_keytab_note_key(acceptor, entry))
        return ENOMEM;
    return gss_takes_enctype(acceptor, entry->key.enctype) ? krb5_kt_add_entry(acceptor->context, memory, entry) : 0;
}

static krb5_error_code copy_entries(struct gss_acceptor *acceptor, krb5_keytab file, krb5_keytab memory) {
    krb5_context context = acceptor->context;
    krb5_keytab_entry entry;
    krb5_kt_cursor cursor;
    krb5_error_code code = krb5_kt_start_seq_get(context, file, &cursor);
    if (code)
        return code;
    while (!code) {
        code = krb5_kt_next_entry(context, file, &entry, &cursor);
        if (code)
            break;
        code = gss_keytab_take_entry(acceptor, memory, &entry);
        (void)krb5_free_keytab_entry_contents(context, &entry);
    }
    (void)krb5_kt_end_seq_get(context, file, &cursor);
    return code == KRB5_KT_END ? 0 : code;
}

/* -- the file ---------------------------------------------------------------------------------------------------------------- */

static krb5_error_code open_keytabs(struct gss_acceptor *acceptor, krb5_keytab *file, krb5_keytab *memory) {
    _cleanup_free_ char *from = str_format("FILE:%s", acceptor->keytab);
    _cleanup_free_ char *to = str_format("MEMORY:kaas-%p-%lu", (void *)acceptor, acceptor->generation);
    krb5_error_code code = from && to ? krb5_kt_resolve(acceptor->context, from, file) : ENOMEM;
    if (code)
        return code;
    code = krb5_kt_resolve(acceptor->context, to, memory);
    if (code)
        (void)krb5_kt_close(acceptor->context, *file);
    return code;
}

static bool gss_keytab_has_used_key(const struct gss_keys *list) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].is_used)
            return true;
    return false;
}

static void gss_keytab_read_file(struct gss_acceptor *acceptor) {
    krb5_keytab file, memory;
    krb5_error_code code = open_keytabs(acceptor, &file, &memory);
    if (code) {
        gss_keytab_say(acceptor, code);
        return;
    }
    code = copy_entries(acceptor, file, memory);
    (void)krb5_kt_close(acceptor->context, file);
    if (!code && gss_keytab_has_used_key(&acceptor->list)) {
        acceptor->keys = memory;
        return;
    }
    if (code)
        gss_keytab_say(acceptor, code);
    else
        (void)snprintf(acceptor->why, sizeof(acceptor->why), "none of its %zu keys has an encryption type that is accepted",
                       acceptor->list.count);
    (void)krb5_kt_close(acceptor->context, memory);
}

static bool gss_keytab_is_same(const struct stat *a, const struct stat *b) {
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool gss_keytab_refresh(struct gss_acceptor *acceptor) {
    struct stat now;
    if (stat(acceptor->keytab, &now) != 0) {
        (void)snprintf(acceptor->why, sizeof(acceptor->why), "%s", strerror(errno));
        acceptor->was_seen = false;
        gss_keytab_drop(acceptor);
        return false;
    }
    if (acceptor->was_seen && gss_keytab_is_same(&now, &acceptor->seen))
        return acceptor->keys != NULL;
    gss_keytab_drop(acceptor);
    acceptor->generation++;
    acceptor->seen = now;
    acceptor->was_seen = true;
    gss_keytab_read_file(acceptor);
    return acceptor->keys != NULL;
}

bool gss_acceptor_is_of_realm(struct gss_acceptor *acceptor, const char *realm) {
    bool is_known = false;
    LOCKED(&acceptor->lock);
    for (size_t i = 0; !is_known && i < acceptor->list.count; i++) {
        const struct gss_key *key = &acceptor->list.items[i];
        const char *at = strrchr(key->principal, '@');
        is_known = key->is_used && at && str_eq(at + 1, realm);
    }
    return is_known;
}
