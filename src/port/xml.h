/* Bounded XML reading over libxml2 with network, entities and DTD loading off. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

#include "err.h"

struct xml_doc;

/* Limits of a text. Together they bound the time of parsing: some tenths of a second for the worst text. */
#define XML_BYTES_MAX 262144U
#define XML_ATTRIBUTES_MAX 64U /* of an element, declarations of namespaces counted */

/* Parses a text in UTF-8 of at most XML_BYTES_MAX bytes and depth 256. ERR_PROTOCOL with line and reason; ERR_TOO_LARGE. Freed by xml_free. */
int xml_parse(const char *text, size_t n, struct xml_doc **out, struct err *err);
void xml_free(struct xml_doc *doc); /* NULL is allowed */

/* Calls fn for the text of each element that the XPath expression selects (local-name() tests: no prefixes are bound), in
 * document order; `node` may be used with xml_node_text. Returns the number, or ERR_INTERNAL for a bad expression. */
struct xml_node;
int xml_each(struct xml_doc *doc, const char *xpath, void (*fn)(void *arg, const struct xml_node *node), void *arg,
             struct err *err);

/* Text of the first descendant child element with this local name, or NULL; "" as name: the node's own. Freed by the caller. */
char *xml_node_text(const struct xml_node *node, const char *child_local_name);
