/* Extension records of vCenter, all members. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The structs only point: a caller that builds a record on the stack keeps its texts alive for the call; a record that was read owns
 * its memory through `owner`. To change one that was read: copy the struct, replace pointers, update, and free the read one last.
 * Texts are NULL where unset; lists are pointer and count. General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cleanup.h"
#include "err.h"

struct json_t;
struct vim_client;
struct vim_arena;

struct vim_texts {
    const char *const *items;
    size_t count;
};
struct vim_description {
    const char *label, *summary;
};
struct vim_key_value {
    const char *key, *value;
};

struct vim_ext_server {
    const char *url;
    struct vim_description description;
    const char *company, *type;
    struct vim_texts admin_emails; /* one or more */
    const char *thumbprint;        /* "AB:CD:..." */
    const char *certificate;       /* PEM; sent only from API 8.0.2.0 on */
};
struct vim_ext_client {
    const char *version;
    struct vim_description description;
    const char *company, *type, *url;
};
struct vim_ext_event {
    const char *id, *schema;
};
struct vim_ext_privilege {
    const char *id, *group;
};
struct vim_ext_resource {
    const char *locale, *module;
    const struct vim_key_value *data;
    size_t data_count;
};
struct vim_ext_managed {
    const char *type, *small_icon_url, *icon_url, *description;
};
struct vim_ext_tab {
    const char *label, *url;
};

/* vim.Extension. Required: description, key, version. */
struct vim_extension {
    struct vim_description description;
    const char *key, *company, *type, *version, *subject_name;
    const struct vim_ext_server *servers;
    size_t server_count;
    const struct vim_ext_client *clients;
    size_t client_count;
    struct vim_texts tasks; /* task type ids */
    const struct vim_ext_event *events;
    size_t event_count;
    struct vim_texts faults; /* fault ids */
    const struct vim_ext_privilege *privileges;
    size_t privilege_count;
    const struct vim_ext_resource *resources;
    size_t resource_count;
    const char *last_heartbeat_time; /* xsd:dateTime; NULL in a request: now */
    const char *health_url;
    bool has_ovf_consumer;
    const char *ovf_callback_url;
    struct vim_texts ovf_section_types;
    bool has_product;
    const char *company_url, *product_url, *management_url;
    const char *self_type, *self_moref; /* the appliance's own VM; both or neither */
    const struct vim_ext_managed *managed_entities;
    size_t managed_count;
    bool has_shown_in_solution_manager, shown_in_solution_manager;
    bool has_solution_manager;
    const struct vim_ext_tab *solution_tabs;
    size_t solution_tab_count;
    const char *solution_small_icon_url;
    struct vim_arena *owner; /* memory of a record that was read; NULL in one that was built */
};

/* Frees a record that vim_find_extension gave. NULL is allowed. */
void vim_extension_free(struct vim_extension *extension);
CLEANUP_DEFINE(struct vim_extension, vim_extension_free);

/* Asks for the record with this key. *out is NULL, with 0, when there is none. Freed by vim_extension_free. */
int vim_find_extension(struct vim_client *client, const char *key, struct vim_extension **out, struct err *err);

/* The record as a JSON object, for a vCenter that speaks `api_version` (NULL: unknown); NULL without memory. */
struct json_t *vim_extension_json(const struct vim_extension *extension, const char *api_version);

struct vim_key_list {
    char **items;
    size_t count;
};
void vim_key_list_done(struct vim_key_list *list); /* NULL is allowed */

/* The keys of all registered extensions. */
int vim_list_extension_keys(struct vim_client *client, struct vim_key_list *out, struct err *err);

/* Registers a new record. Needs Extension.Register. ERR_EXISTS if the key is taken, ERR_UPSTREAM naming a member vCenter refuses,
 * ERR_UNPROCESSABLE naming a member that is missing. */
int vim_register_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err);

/* Replaces the whole record. A changed subject_name makes vCenter forget the certificate: set it again afterwards. ERR_NOT_FOUND. */
int vim_update_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err);

/* Removes the record with exactly this key. ERR_NOT_FOUND. */
int vim_unregister_extension(struct vim_client *client, const char *key, struct err *err);

/* Stores the certificate with which the extension logs in; the first certificate of `cert_pem` is sent in 64-column form. Set it
 * last: register and update may clear it. ERR_NOT_FOUND, ERR_UNPROCESSABLE (no certificate in the text). */
int vim_set_extension_certificate(struct vim_client *client, const char *key, const char *cert_pem, struct err *err);

/* Ties a service account of vCenter's SSO to the extension (API 8.0.2.0 or newer); it can then log in by name and password.
 * `account` with the letter case it was made with. The former account is detached. Needs Extension.Update. ERR_NOT_FOUND (no such
 * extension), ERR_UPSTREAM (no such account; or vCenter is older, told without asking it). */
int vim_set_service_account(struct vim_client *client, const char *key, const char *account, struct err *err);
