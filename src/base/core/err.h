/* Error codes and the error record that travels with a call. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions return 0 or one negative ERR_* code and describe the first failure in a struct err. */
#pragma once

#include <stdarg.h>

enum err_code {
    ERR_OK = 0,
    ERR_ORDER_BASE_ = -1000,
#define ERR(symbol, slug, status, text) ERR_ORDER_##symbol,
#include "err_codes.def"
#undef ERR
    ERR_ORDER_END_,
#define ERR(symbol, slug, status, text) ERR_##symbol = -(ERR_ORDER_##symbol - ERR_ORDER_BASE_),
#include "err_codes.def"

/* Where a page of the documentation lies once it is installed (docs/local.mk): a literal, for messages. DOC_PAGE("admin/vcenter.md") is
 * docs/admin/vcenter.md here. tests/lint/test_pages.py holds that there is such a page, and that no message names one in another way. */
#define DOC_PAGE(name) KAAS_DOCDIR "/" name
#undef ERR
};

/* The cause of an error, for codes that have several causes, each with a remedy of its own. */
enum err_cause {
    ERR_CAUSE_NONE = 0,
    ERR_CAUSE_NAME,               /* the name does not resolve */
    ERR_CAUSE_NETWORK,            /* the address is one that kaasd does not connect to */
    ERR_CAUSE_PORT,               /* the port accepts no connections */
    ERR_CAUSE_NO_ANSWER,          /* the peer has not answered for a while */
    ERR_CAUSE_STARTING,           /* the service behind it is down or starting: HTTP 503 */
    ERR_CAUSE_PIN,                /* the server shows another certificate than the trusted one */
    ERR_CAUSE_CA,                 /* the trusted CA has not signed the certificate */
    ERR_CAUSE_CERTIFICATE_ENDED,  /* the certificate has expired */
    ERR_CAUSE_CERTIFICATE_EARLY,  /* the certificate is not valid yet */
    ERR_CAUSE_CERTIFICATE_NAME,   /* the certificate is for another name */
    ERR_CAUSE_OTHER_PEER,         /* another system answers than the one that is meant */
    ERR_CAUSE_LOGIN,              /* the credentials of a login were refused */
    ERR_CAUSE_PASSWORD_ENDED,     /* the password is right, but has expired */
    ERR_CAUSE_LOCKED,             /* the account is locked */
    ERR_CAUSE_CLIENT_CERTIFICATE, /* our certificate did not arrive */
    ERR_CAUSE_PRIVILEGE,          /* a privilege is missing */
    ERR_CAUSE_CHOICE,             /* one of several has to be chosen */
};

/* Sizes in bytes, terminating NUL included; longer texts are cut. */
#define ERR_TEXT_BYTES 512
#define ERR_REMEDY_BYTES 256

/* One failure. All-zero is "no error"; there is nothing to free. */
struct err {
    int code;                      /* 0 or an ERR_* code */
    char text[ERR_TEXT_BYTES];     /* what is wrong, safe to show to the caller of the API */
    char remedy[ERR_REMEDY_BYTES]; /* what to do about it; empty if unknown */
    char detail[ERR_TEXT_BYTES];   /* for the log only: never sent to clients, never holds a secret */
    const char *file;              /* where it was first set */
    int line;
    enum err_cause cause;
    unsigned retry_after_s; /* 0: unknown; else sent as Retry-After */
};

/* Records code and formatted text in `err` unless it holds an error already (first setter wins).
 * `err` may be NULL. Returns `code`, so that a caller can write `return err_set(...)`. */
#define err_set(err, code, ...) err_set_at((err), (code), __FILE__, __LINE__, __VA_ARGS__)

/* The function behind err_set; use the macro. */
int err_set_at(struct err *err, int code, const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Adds a remedy ("run ...", "ask ...") to an error that has none yet; does nothing when `err` is NULL or empty.
 * Returns err->code, or 0 without an error; with a NULL `err` the code of this thread's last err_set on NULL, so that
 * `return err_remedy(err, ...)` right behind an err_set is safe. */
int err_remedy(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds detail for the log (no secrets) to an error that has none yet. Returns as err_remedy. */
int err_detail(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Notes the cause of an error that has none yet. Returns as err_remedy. */
int err_because(struct err *err, enum err_cause cause);

/* Hands an error on: unless `code` is 0, `err` (NULL is allowed) becomes a copy of `from`, if it holds no error yet, and one of `code`, whatever that of `from` is.
 * Returns `code`, so that a caller can write `return err_move(err, rc, &why)`. */
int err_move(struct err *err, int code, const struct err *from);

/* Forgets the error, so that the record can be used for another call. NULL is allowed. */
void err_clear(struct err *err);

/* The stable word for a code ("not_found"); "ok" for 0, "internal" for an unknown one. Never NULL; static. */
const char *err_slug(int code);

/* The general sentence for a code. Never NULL; static. */
const char *err_default_text(int code);

/* HTTP status for a code (RFC 9110); 200 for 0, 500 for an unknown one. */
int err_http_status(int code);

/* Code for a slug, or ERR_INTERNAL when the slug is unknown. */
int err_code_of_slug(const char *slug);
