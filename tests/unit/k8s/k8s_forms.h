/* Writes what an API server may send, in both forms at once: the same members as protobuf, by published numbers, and as JSON, by published names. Independent
 * of what the codecs are made with. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strbuf.h"

/* A message that is being written. */
struct form {
    struct strbuf protobuf;
    struct strbuf json; /* members, without the braces */
};
void form_init(struct form *form);
void form_done(struct form *form);

/* One member. Control characters are escaped in JSON, and bytes that are no UTF-8 are written as U+FFFD, as the server does. */
void form_text(struct form *form, unsigned number, const char *name, const char *text);
void form_bytes(struct form *form, unsigned number, const char *name, const void *bytes, size_t n);
void form_number(struct form *form, unsigned number, const char *name, int64_t value);
void form_flag(struct form *form, unsigned number, const char *name, bool value);
/* Seconds since 1970; 0: nothing in protobuf but an empty message, null in JSON, as the server writes a time that was never set. */
void form_time(struct form *form, unsigned number, const char *name, int64_t seconds);
/* A message within; `inner` is freed. */
void form_message(struct form *form, unsigned number, const char *name, struct form *inner);
/* A list of messages: form_list_begin, form_list_item for each (which frees it), form_list_end. Other members must not come in between. */
void form_list_begin(struct form *form, const char *name);
void form_list_item(struct form *form, unsigned number, struct form *item);
void form_list_end(struct form *form);
/* A map of texts: the same, with entries. */
void form_map_begin(struct form *form, const char *name);
void form_map_entry(struct form *form, unsigned number, const char *key, const char *value);
void form_map_end(struct form *form);

/* Appends an object in its envelope, and as JSON with its kind; `object` is freed. */
void form_object(const char *kind, struct form *object, struct strbuf *protobuf, struct strbuf *json);
/* Appends an event about such an object, with its length and as a line. */
void form_event(const char *type, const char *kind, struct form *object, struct strbuf *protobuf, struct strbuf *json);

/* Parts of protobuf, for tests that break something. */
void put_tag(struct strbuf *out, unsigned number, unsigned wire_type);
void put_varint(struct strbuf *out, uint64_t value);
void put_bytes(struct strbuf *out, unsigned number, const void *bytes, size_t n);

/* Numbers of a sequence that is the same each time. */
struct luck {
    uint64_t state;
};
uint64_t luck_next(struct luck *luck);
/* Below n. */
unsigned luck_below(struct luck *luck, unsigned n);

/* Writes a node into `node` (form_init): all that Kubernetes 1.36 has of one, of about 7 KiB, with `images` images. */
void form_real_node(struct form *node, unsigned place, unsigned images);
/* One with anything that can be: members left out, too long, of odd bytes, given twice, unknown ones between them. */
void form_odd_node(struct form *node, struct luck *luck, unsigned place);
