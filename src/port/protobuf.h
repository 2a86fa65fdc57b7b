/* Protocol buffers: reading a message in memory, by nanopb. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Struct and description of a message are made from a .proto file by nanopb's generator, with the options of src/k8s/kubernetes.options: so a text or bytes
 * is a struct str_span, and what may come several times is a struct protobuf_each. Nothing is allocated and no text is copied: spans lie in the bytes
 * that were read, and bounding them is the reader's. A member that the .proto does not name is passed over. pb_decode.h is included only here. */
#pragma once

#include <pb_decode.h>

#include "err.h"
#include "str.h"

/* A member that may come several times, or a map (each entry is a message with 1 key and 2 value). */
struct protobuf_each {
    /* Called for each with its bytes, in the order in which they come. An error of it ends the reading. NULL: passed over. */
    int (*take)(void *arg, struct str_span item, struct err *err);
    void *arg;
};

/* Reads one message whole. `message` is of the struct that `type` describes, all zero but for its protobuf_each. A scalar that is given twice counts as
 * given last, a message that is given twice is put together from both; a scalar that is missing stays 0. `what` names the message in errors:
 * ERR_PROTOCOL (truncated, a member of another wire type than the .proto says, a group, a number out of range) or what a `take` returned; `message` then
 * holds nothing of use. */
int protobuf_read(struct str_span bytes, const pb_msgdesc_t *type, const char *what, void *message, struct err *err);

/* For generated code alone, which names it by the option callback_function. */
bool protobuf_take(pb_istream_t *in, pb_ostream_t *out, const pb_field_t *field);
