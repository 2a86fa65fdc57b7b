/* What all commands of kaasctl share: the run under way, its options, connection and output. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "cli_client.h"
#include "cli_login.h"
#include "cli_opt.h"
#include "daemon_config.h"
#include "err.h"
#include "json.h"
#include "strbuf.h"

/* Exit statuses: CLI_OK, CLI_FAILED, ... */
enum cli_status {
#define EXIT_STATUS(symbol, number, text) CLI_##symbol = (number),
#include "exit_status.def"
#undef EXIT_STATUS
};

/* --output */
enum cli_format { CLI_TABLE, CLI_JSON, CLI_YAML, CLI_NAME };

/* One run of the program. */
struct cli {
    const struct cli_command *command;
    struct opt_given given;    /* words are the arguments behind the command */
    struct cli_client *client; /* NULL until cli_connect */
    char *server;              /* where kaasd is, in place of the admin socket; NULL: that. Valid from cli_choose_server on */
    struct cli_login login;    /* the kept login there, by which this command is signed in, or which it is about */
    json_t *ca_pem;            /* with `server`: what the kept login there trusts; NULL: none */
    const char *named_server;  /* by an argument, as --server; NULL: by none */
    bool is_about_login;       /* what this machine is does not matter */
    bool has_chosen;
    char *password;     /* of --user: what was asked for at the sign-on, or is known before; NULL: not known yet. A secret */
    char *one_time;     /* a password that was made here, to be told once; NULL: none. A secret */
    json_t *object;     /* what the command is about: what its last argument names, or it found by itself; NULL: nothing (yet) */
    const char *call;   /* in place of the command's; NULL: none */
    bool wants_help;    /* "help" before the command */
    bool is_asked;      /* the command's question has been answered, or need not be asked */
    bool is_done;       /* nothing is left to do: the steps end here */
    int64_t ends_at_ms; /* by the clock that never jumps: --timeout; 0: none */
    struct config config;
    bool has_config;
    enum cli_format format; /* --output */
    bool is_json;           /* not a table: for programs, by show_json */
    bool has_ids;           /* what is shown is known by its ids, whatever it is named */
    unsigned documents;     /* of YAML, shown so far */
    bool is_quiet_error;    /* the error has been told line by line */
    enum cli_status status; /* set where the error code alone does not tell the exit status */
    int signal;             /* the program ends by this one, once it has tidied up; 0: it does not */
    struct strbuf out;      /* for standard output, written at the end of the run */
    struct strbuf more;     /* lines below an error */
};

/* Path of the configuration file. Never NULL. */
const char *cli_config_path(const struct cli *cli);

/* The same from the root on: options name files by absolute paths, and those beside the configuration file are made from its path. Caller frees; NULL
 * without memory. */
char *cli_config_path_absolute(const struct cli *cli);

/* Loads the configuration into cli->config, once; faults are told line by line. ERR_CONFIG. */
int cli_load_config(struct cli *cli, struct err *err);

/* Finds out, once, where kaasd is: cli->server, and cli->login.kept where it is asked by that. By --server, --config, KAAS_SERVER; without these at the
 * admin socket of this machine's configuration, if that may be read, else where one signed in last (kaasctl login). ERR_CONFIG for a file of logins
 * that is not one's own. */
int cli_choose_server(struct cli *cli, struct err *err);

/* Who signs in with a password: --user or KAAS_USER; NULL: not said. */
const char *cli_user(const struct cli *cli);

/* The file with the CA of the server's certificate: --ca-file or KAAS_CA_FILE; NULL: not said. */
const char *cli_ca_file(const struct cli *cli);

/* Signs cli->client in at cli->server by a password, which is asked for unless --password-file is given. Errors of cli_client_sign_in. */
int cli_sign_in(struct cli *cli, const struct cli_account *who, struct err *err);

/* Refuses a server that was named, for what is done on the host of kaasd. */
int cli_refuse_server(struct cli *cli, const char *why, struct err *err);

/* Makes cli->client if there is none yet: by the admin socket, or at the server by the kept login, or with a sign-on. */
int cli_connect(struct cli *cli, struct err *err);

/* As cli_connect, but without signing in: for what everybody may ask. */
int cli_connect_public(struct cli *cli, struct err *err);

/* Hands on a code; if it is an error the exit status is that of wrong usage (2). */
int cli_as_usage(struct cli *cli, int rc);

/* Records wrong usage. Returns ERR_INVALID. */
#define cli_usage(cli, err, ...) cli_as_usage((cli), err_set((err), ERR_INVALID, __VA_ARGS__))

/* The i-th argument behind the command, or NULL. */
const char *cli_word(const struct cli *cli, size_t i);

/* A password from the file, or asked for if `path` is NULL; nobody to ask is wrong usage. *out is freed by secret_free. */
int cli_get_password(struct cli *cli, const char *path, const char *question, char **out, struct err *err);

/* Asks whether to do it, unless --yes is given. 0: go on. Without a terminal, or if the answer is not yes: exit status 6. */
int cli_confirm(struct cli *cli, const char *question, struct err *err);

/* Writes what is in cli->out to standard output and empties it. ERR_IO; when nobody reads it any more, also without a word (SIGPIPE). */
int cli_flush(struct cli *cli, struct err *err);

/* Says on standard error that what was shown is older than it should be, if kaasd has said so. */
void cli_tell_stale(const struct cli *cli);

/* Writes a text to standard error, now, harmless for the terminal; newlines are kept. */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Exit status for an error code. */
enum cli_status cli_status_of(int code);
