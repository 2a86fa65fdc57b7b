/* Asking the person: passwords without echo, confirmation; secrets from files. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "strbuf.h"

/* True if there is somebody to ask: standard input is a terminal. */
bool prompt_has_terminal(void);

/* Asks on /dev/tty without echo. *out is freed by secret_free. ERR_INVALID if there is no terminal, ERR_IO if the input ended. A signal while
 * asking restores the terminal and then ends the program. */
int prompt_password(const char *question, char **out, struct err *err);

/* Reads the first line of a file, or of standard input for "-". A regular file must be closed to group and others. *out is freed by
 * secret_free. ERR_IO, ERR_CONFIG, ERR_INVALID (empty or longer than KAAS_PASSWORD_BYTES_MAX). */
int prompt_read_password(const char *path, char **out, struct err *err);

/* Asks on the terminal for a line; *out is malloc'ed, NULL for an empty answer. ERR_IO without a terminal. */
int prompt_text(const char *question, char **out, struct err *err);

/* Appends all of standard input. ERR_IO, ERR_TOO_LARGE, ERR_NOMEM. */
int prompt_read_input(struct strbuf *out, struct err *err);
