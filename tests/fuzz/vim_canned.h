/* What the fuzz targets of src/vim share: the canned part of a vCenter, and a client of it. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "vim.h"
#include "http_client.h"

#define OPEN                                                                                                                     \
    "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" " \
    "xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"><e:Body>"
#define CLOSE "</e:Body></e:Envelope>"
#define REF(name) "<" name ">" name "</" name ">"
#define ANSWER(op, returnval) \
    { "<" op, OPEN "<" op "Response xmlns=\"urn:vim25\">" returnval "</" op "Response>" CLOSE }

/* What is answered to a request with this text in it. */
struct canned {
    const char *op, *reply;
};

/* The answer under test; NULL: everything is canned. It is given once, so that no page token leads round in circles. */
struct tested {
    const uint8_t *bytes;
    size_t count;
    long status;
};
extern struct tested tested;
int give_tested(struct strbuf *reply, long *status);

/* Answers what is canned: the versions (without a body) and the table. True if that was it. */
struct canned_table {
    const struct canned *items;
    size_t count;
};
int give_canned(const struct canned_table *table, const struct http_exchange *x, struct strbuf *reply);

/* The client of this program, made at the first call; logs in by name and password when it needs a session. */
typedef int canned_run_fn(void *conn, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err);
struct vim_client *canned_client(canned_run_fn *run);
