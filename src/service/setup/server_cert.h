/* The certificate that kaasd shows: the configured one, or one of its own making. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "daemon_config.h"
#include "err.h"

struct server_cert_paths {
    char *cert, *key;
    bool is_own;   /* in state_dir: none is configured */
    bool is_there; /* both files */
};

/* Where certificate and key are, or will be made. ERR_NOMEM. Freed by server_cert_paths_done. */
int server_cert_find(const struct config *config, struct server_cert_paths *out, struct err *err);
void server_cert_paths_done(struct server_cert_paths *paths); /* a zeroed struct is allowed */
#define _cleanup_server_cert_paths_ __attribute__((cleanup(server_cert_paths_done)))

/* Reads both. Texts are malloc'ed; the key is freed by secret_free. ERR_NOT_FOUND, ERR_IO, ERR_CONFIG (the key is open to others), naming the file. */
int server_cert_read(const struct server_cert_paths *paths, char **cert_pem, char **key_pem, struct err *err);

/* The same, after making a self-signed certificate where none is configured and none was made before. */
int server_cert_load(const struct config *config, char **cert_pem, char **key_pem, struct err *err);
