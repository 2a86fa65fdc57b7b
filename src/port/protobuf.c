/* Protocol buffers: a stream over memory for nanopb, and what it does with members that are no scalars. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "protobuf.h"

#include <string.h>

#include "cleanup.h"

/* Where nanopb is. Streams for parts of a message share it: a part is read to its end before what comes behind it. */
struct protobuf_source {
    const char *at;
    int rc; /* of a `take` */
    struct err *err;
};

/* pb_read has seen to it that so many bytes are left. */
static bool protobuf_source_read(pb_istream_t *in, pb_byte_t *to, size_t n) {
    struct protobuf_source *source = in->state;
    if (n == 1) /* most of all: tags, lengths, numbers */
        *to = (pb_byte_t)*source->at;
    else
        memcpy(to, source->at, n);
    source->at += n;
    return true;
}

bool protobuf_take(pb_istream_t *in, pb_ostream_t *out, const pb_field_t *field) {
    struct protobuf_source *source = in->state;
    const struct protobuf_each *each = field->pData;
    struct str_span bytes = {.n = in->bytes_left};
    (void)out;
    /* what is a number on the wire is handed on in memory of nanopb's own */
    if (in->callback != protobuf_source_read)
        return false;
    bytes.at = source->at;
    source->at += bytes.n;
    in->bytes_left = 0;
    if (!PB_LTYPE_IS_SUBMSG(field->type))
        *(struct str_span *)field->pData = bytes;
    else if (each->take)
        source->rc = each->take(each->arg, bytes, source->err);
    return !source->rc;
}

static const char *protobuf_describe(const char *fault) {
    static const struct {
        const char *fault, *text;
    } known[] = {
        {"end-of-stream", "it ends too early"},
        {"parent stream too short", "it ends too early"},
        {"wrong wire type", "a member has the wrong wire type"},
        {"invalid wire_type", "a member has a wire type that nobody uses"},
        {"varint overflow", "a number is too large"},
        {"zero tag", "a member has the number 0"},
    };
    if (!fault) /* protobuf_take gives none */
        return "a member has the wrong wire type";
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (!strcmp(fault, known[i].fault))
            return known[i].text;
    return fault;
}

int protobuf_read(struct str_span bytes, const pb_msgdesc_t *type, const char *what, void *message, struct err *err) {
    struct protobuf_source source = {.at = bytes.at, .err = err};
    pb_istream_t in = {.callback = protobuf_source_read, .state = &source, .bytes_left = bytes.n};
    if (pb_decode(&in, type, message))
        return 0;
    return source.rc ? source.rc : err_set(err, ERR_PROTOCOL, "%s is not valid protobuf: %s", what, protobuf_describe(in.errmsg));
}
