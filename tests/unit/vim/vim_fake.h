/* A vCenter made of canned answers, behind the transport seam of src/vim. For unit tests.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every request is checked against wsdl/vim25-types.xsd on its way; one that does not fit fails the test. Safe for threads. */
#pragma once

#include <stdbool.h>

#include "vim.h"
#include "http_client.h"

struct fake;

struct fake *fake_new(void);
/* Fails the test if a queued answer was not used. */
void fake_free(struct fake *fake);

/* A client of the fake; freed by vim_client_free. `user_agent` and trust are arbitrary. */
struct vim_client *fake_client(struct fake *fake);

/* A client that has logged in by name and password, and does so again when needed. */
struct vim_client *fake_client_logged_in(struct fake *fake);

/* What carries its answers. */
const struct http_transport *fake_transport(struct fake *fake);

/* Does it hold a session? */
bool fake_has_session(struct vim_client *client);

/* What most tests begin with: a fake and a client of it that has logged in, as *state of cmocka. */
struct fake_world {
    struct fake *fake;
    struct vim_client *client;
};
int fake_world_set_up(void **state);
int fake_world_tear_down(void **state);

/* Queue an answer to operation `op` ("versions" for the GET of that file, "POST /api/session" and the like for REST). Each is used once, in order; then the standard one is, where there is one:
 * versions (8.0.3.0), RetrieveServiceContent, Login, LoginExtensionByCertificate, Logout, CurrentTime, CreatePropertyCollector,
 * CreateFilter, and all that destroys. */
void fake_answer(struct fake *fake, const char *op,
                 const char *returnvals); /* HTTP 200 with <OpResponse>returnvals</OpResponse> */
void fake_fault(struct fake *fake, const char *op, const char *detail, const char *text);   /* HTTP 500 with that detail */
void fake_raw(struct fake *fake, const char *op, long status, const char *bytes, size_t n); /* anything; n = 0: strlen */
void fake_error(struct fake *fake, const char *op, int code);                               /* the exchange itself fails */

/* The version that the standard answer to "versions" offers. */
void fake_set_version(struct fake *fake, const char *version);
/* Set-Cookie value that comes with standard logins; NULL: none. */
void fake_set_cookie(struct fake *fake, const char *value);
/* From now on calls with this cookie value are answered NotAuthenticated. */
void fake_expire_cookie(struct fake *fake, const char *value);
/* Answers wait until fake_open_gate. */
void fake_close_gate(struct fake *fake);
void fake_open_gate(struct fake *fake);
/* Waits until `count` exchanges stand at the gate. */
void fake_wait_at_gate(struct fake *fake, unsigned count);

unsigned fake_count(struct fake *fake, const char *op); /* requests seen */
unsigned fake_count_all(struct fake *fake);
/* How long the newest request might take; for tests of one thread. */
long fake_timeout_ms(struct fake *fake);
const char *fake_last(struct fake *fake, const char *op);        /* text of the last request, "" if none; valid until the next */
const char *fake_last_cookie(struct fake *fake, const char *op); /* its header line with cookie or REST session, "" if none */
const char *fake_last_action(struct fake *fake);
/* Options with which the last connection was opened. */
const struct http_client_options *fake_last_options(struct fake *fake);

/* NULL if the request's body fits the schema, else the first complaint (static). */
const char *vim_schema_check(const void *envelope, size_t n);
