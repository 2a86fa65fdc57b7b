/* Checks SOAP requests against wsdl/vim25-types.xsd with libxml2, which shares nothing with the code that wrote them.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vim_fake.h"

static char complaint[512];
static xmlSchemaPtr schema;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void keep_complaint(void *ctx, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void keep_complaint(void *ctx, const char *fmt, ...) {
    va_list args;
    (void)ctx;
    if (complaint[0])
        return;
    va_start(args, fmt);
    (void)vsnprintf(complaint, sizeof(complaint), fmt, args);
    va_end(args);
}

static void load_schema(void) {
    xmlSchemaParserCtxtPtr parser;
    if (schema)
        return;
    parser = xmlSchemaNewParserCtxt(WSDL_DIR "/vim25-types.xsd");
    xmlSchemaSetParserErrors(parser, keep_complaint, keep_complaint, NULL);
    schema = xmlSchemaParse(parser);
    xmlSchemaFreeParserCtxt(parser);
}

static xmlNodePtr child_named(xmlNodePtr node, const char *name) {
    for (xmlNodePtr c = node ? node->children : NULL; c; c = c->next)
        if (c->type == XML_ELEMENT_NODE && (!name || !strcmp((const char *)c->name, name)))
            return c;
    return NULL;
}

static void check_body(xmlDocPtr doc) {
    xmlNodePtr body = child_named(xmlDocGetRootElement(doc), "Body"), request = child_named(body, NULL);
    xmlSchemaValidCtxtPtr valid;
    if (!request) {
        keep_complaint(NULL, "no request in the body");
        return;
    }
    valid = xmlSchemaNewValidCtxt(schema);
    xmlSchemaSetValidErrors(valid, keep_complaint, keep_complaint, NULL);
    if (xmlSchemaValidateOneElement(valid, request) && !complaint[0])
        keep_complaint(NULL, "request does not fit the schema");
    xmlSchemaFreeValidCtxt(valid);
}

const char *vim_schema_check(const void *envelope, size_t n) {
    xmlDocPtr doc;
    bool is_fit;
    (void)pthread_mutex_lock(&lock);
    complaint[0] = '\0';
    load_schema();
    doc = schema ? xmlReadMemory(envelope, (int)n, NULL, NULL, XML_PARSE_NONET | XML_PARSE_NOERROR) : NULL;
    if (doc)
        check_body(doc);
    else
        keep_complaint(NULL, "request is not well-formed XML, or there is no schema");
    xmlFreeDoc(doc);
    is_fit = !complaint[0];
    (void)pthread_mutex_unlock(&lock);
    return is_fit ? NULL : complaint;
}
