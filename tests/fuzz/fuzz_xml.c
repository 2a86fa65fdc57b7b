/* Fuzz target: xml_parse and the reading of a list of versions, as vCenter publishes it.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <stdlib.h>

#include "cleanup.h"
#include "xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_node(void *arg, const struct xml_node *node) {
    _cleanup_free_ char *name = xml_node_text(node, "name"), *version = xml_node_text(node, "version"),
                        *whole = xml_node_text(node, "");
    unsigned *count = arg;
    if (!whole)
        abort();
    (void)name, (void)version;
    (*count)++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const char *const paths[] = {"/*[local-name()='namespaces']/*[local-name()='namespace']",
                                        "//*[local-name()='version']", "/*"};
    struct xml_doc *doc = NULL;
    struct err err = {0};
    if (xml_parse((const char *)data, n, &doc, &err)) {
        if (!err.code || doc)
            abort();
        return 0;
    }
    for (size_t i = 0; i < ARRAY_COUNT(paths); i++) {
        unsigned seen = 0;
        int found = xml_each(doc, paths[i], read_node, &seen, &err);
        if (found < 0 || (unsigned)found != seen)
            abort();
    }
    if (xml_each(doc, "count(/*)", read_node, NULL, &err) != ERR_INTERNAL) /* a number, no nodes */
        abort();
    xml_free(doc);
    return 0;
}
