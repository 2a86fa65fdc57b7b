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
    char *server;              /* URL of kaasd; NULL: its admin socket on this machine. Valid from cli_choose_server on */
    struct cli_login login;    /* the kept login at `server`, by which this command is signed in, or which it is about */
    json_t *ca_pem;            /* with `server`: the CA text of the kept login there; NULL: none */
    const char *named_server;  /* server given by an argument of the command, as by --server; NULL: none */
    bool is_about_login;       /* a command about logins: it never chooses the admin socket of this machine */
    bool has_chosen;           /* cli_choose_server has chosen */
    char *password;            /* of --user, asked for at the sign-on or known before; NULL: not known yet. A secret */
    char *one_time;            /* a password that was made here, to be told once; NULL: none. A secret */
    json_t *object;            /* what the last argument names, or the command has found itself; NULL: nothing (yet) */
    const char *call;          /* in place of the command's call; NULL: the command's */
    bool wants_help;           /* "help" before the command */
    bool is_asked;             /* the command's question has been answered, or need not be asked */
    bool is_done;              /* the command has done all: the further steps are left out */
    int64_t ends_at_ms;        /* by clock_mono_ms: end of --timeout; 0: none */
    struct config config;
    bool has_config;
    enum cli_format format; /* --output */
    bool is_json;           /* any format but a table: output is for programs, by show_json */
    bool has_ids;           /* with CLI_NAME shows ids even where there are names */
    unsigned documents;     /* number of YAML documents shown so far */
    bool is_quiet_error;    /* the error has been told line by line */
    enum cli_status status; /* set where the error code alone does not tell the exit status */
    int signal;             /* signal by which the program ends itself after it has tidied up; 0: none */
    struct strbuf out;      /* for standard output, written at the end of the run */
    struct strbuf more;     /* lines below an error */
};

/* Path of the configuration file. Never NULL. */
const char *cli_config_path(const struct cli *cli);

/* The same as an absolute path: options name files by absolute paths, and paths of files beside the configuration file are made from it. Caller frees; NULL
 * without memory. */
char *cli_config_path_absolute(const struct cli *cli);

/* Loads the configuration into cli->config, once; faults are told line by line. ERR_CONFIG. */
int cli_load_config(struct cli *cli, struct err *err);

/* Chooses once where kaasd is: sets cli->server, and cli->login.kept if a kept login is to be used. The choice is by --server, --config, KAAS_SERVER; without
 * these the admin socket of this machine's configuration, if that may be read, else the server of the last login (kaasctl login). ERR_CONFIG for a file of
 * logins that belongs to another user or is open to others. */
int cli_choose_server(struct cli *cli, struct err *err);

/* The user who signs in with a password: --user or KAAS_USER; NULL: not given. */
const char *cli_user(const struct cli *cli);

/* The file with the CA of the server's certificate: --ca-file or KAAS_CA_FILE; NULL: not given. */
const char *cli_ca_file(const struct cli *cli);

/* Signs cli->client in at cli->server by a password, which is asked for unless --password-file is given. Errors of cli_client_sign_in. */
int cli_sign_in(struct cli *cli, const struct cli_account *who, struct err *err);

/* ERR_INVALID if a server was named (--server, KAAS_SERVER), for commands that run on the host of kaasd; `why` is that host in the text. */
int cli_refuse_server(struct cli *cli, const char *why, struct err *err);

/* Makes cli->client if there is none yet: on the admin socket, or at cli->server, signed in by the kept login or by a password. */
int cli_connect(struct cli *cli, struct err *err);

/* As cli_connect, but without signing in: for calls that need no sign-on. */
int cli_connect_public(struct cli *cli, struct err *err);

/* Returns `rc`; if it is an error, sets the exit status to that of wrong usage (2). */
int cli_as_usage(struct cli *cli, int rc);

/* Records wrong usage. Returns ERR_INVALID. */
#define cli_usage(cli, err, ...) cli_as_usage((cli), err_set((err), ERR_INVALID, __VA_ARGS__))

/* The i-th argument behind the command, or NULL. */
const char *cli_word(const struct cli *cli, size_t i);

/* Reads a password from the file, or asks for it if `path` is NULL; without a terminal that is wrong usage. *out is freed by secret_free. */
int cli_get_password(struct cli *cli, const char *path, const char *question, char **out, struct err *err);

/* Asks the question, unless --yes is given. 0: go on. Without a terminal, or if the answer is not yes: an error, with exit status 6. */
int cli_confirm(struct cli *cli, const char *question, struct err *err);
/* The same for what cannot be undone: the answer must be this word, such as the name of what goes. */
int cli_confirm_by(struct cli *cli, const char *question, const char *word, struct err *err);

/* Writes cli->out to standard output and empties it. ERR_IO; if the reader of a pipe is gone, the program then ends by SIGPIPE without a message. */
int cli_flush(struct cli *cli, struct err *err);

/* Warns on standard error that the last answer is stale, if kaasd has said so (cli_client_stale). */
void cli_tell_stale(const struct cli *cli);

/* Writes a text to standard error, now, harmless for the terminal; newlines are kept. */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Exit status for an error code. */
enum cli_status cli_status_of(int code);
