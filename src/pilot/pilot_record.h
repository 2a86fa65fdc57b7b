/* The recording of a pilot: its exchanges, made anonymous, in a folder. Layer 4 (pilot); private.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each exchange is made anonymous (pilot_pseudonym.h) before it is kept in memory; nothing is written before the end. docs/admin/compatibility.md says what is
 * in the files, tests/replay plays them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "http_client.h"
#include "json.h"
#include "pilot_pseudonym.h"

#define PILOT_RECORD_BYTES_MAX (64UL * 1024 * 1024)

struct pilot_recorder {
    const char *folder; /* borrowed */
    struct pseudonyms pseudonyms;
    json_t *exchanges;
    size_t bytes;
    bool is_cut; /* it has become too large: later exchanges are missing */
};

/* The parts of an answer's headers that are kept. */
struct pilot_headers {
    char content_type[64]; /* without parameters; "": none, or one that is not usual */
    const char *cookie;    /* form of the session cookie that it sets: "hex", "uuid", "other"; NULL: none. Static */
    bool is_quoted;        /* the cookie stands in quotes */
    int64_t date_ms;       /* the Date header, wall clock; 0: none */
};
/* Reads one header line. */
void pilot_headers_take(struct pilot_headers *headers, const char *line, size_t n);

/* One exchange that was made. */
struct pilot_recorded {
    const char *service, *way, *name; /* "vcenter", "hx"; "https", "tunnel", "direct"; operation of SOAP or method */
    const char *path;
    const struct http_exchange *exchange;
    const struct pilot_headers *headers;
    const struct strbuf *answer;
    long status;
    int rc; /* of the exchange */
};

/* Makes the folder (mode 0700), or takes one that is there and empty. ERR_EXISTS: there is something in it; ERR_IO, ERR_NOMEM. */
int pilot_recorder_init(struct pilot_recorder *recorder, const char *folder, struct err *err);
void pilot_recorder_done(struct pilot_recorder *recorder);

/* Adds an exchange. A body that cannot be made anonymous is left out, and the recording says so. */
void pilot_recorder_add(struct pilot_recorder *recorder, const struct pilot_recorded *recorded);

/* Writes exchanges.json, and the findings of the probes as table.json, both readable for this user only. ERR_IO, ERR_EXISTS, ERR_NOMEM. */
int pilot_recorder_write(const struct pilot_recorder *recorder, const struct findings *findings, struct err *err);
