/* Bounded XML reading over libxml2. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A document type declaration is the door to entities and external files; none of our peers sends one, so it is refused as
 * soon as the parser meets it. */
#include "xml.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

#define TEXT_BYTES_MAX (4U * 1024U * 1024U)
/* no network, no texts on stderr; neither XML_PARSE_NOENT nor XML_PARSE_HUGE, so that the library's bound of depth 256 holds */
#define PARSE_FLAGS (XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA | XML_PARSE_COMPACT)

struct xml_doc {
    xmlDoc *tree;
};

/* Only a name: its place is that of an xmlNode. */
struct xml_node;

static inline void cleanup_xmlFreeParserCtxt(xmlParserCtxt **ctx) {
    if (*ctx)
        xmlFreeParserCtxt(*ctx);
}
CLEANUP_DEFINE(xmlXPathContext, xmlXPathFreeContext);
CLEANUP_DEFINE(xmlXPathObject, xmlXPathFreeObject);

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void refuse_doctype(void *arg, const xmlChar *name, const xmlChar *external_id, const xmlChar *system_id) {
    xmlParserCtxt *ctx = arg;
    bool *has_doctype = ctx->_private;
    (void)name, (void)external_id, (void)system_id;
    *has_doctype = true;
    xmlStopParser(ctx);
}

static int describe_fault(xmlParserCtxt *ctx, struct err *err) {
    const xmlError *fault = xmlCtxtGetLastError(ctx);
    const char *text = fault && fault->message ? fault->message : "syntax error";
    if (fault && fault->code == XML_ERR_NO_MEMORY)
        return err_set(err, ERR_NOMEM, "out of memory while reading XML");
    if (fault && strstr(text, "Excessive depth"))
        return err_set(err, ERR_TOO_LARGE, "the XML text is nested deeper than %u levels", xmlParserMaxDepth);
    (void)err_set(err, ERR_PROTOCOL, "the text is not well-formed XML (line %d)", fault ? fault->line : 1);
    return err_detail(err, "libxml2: %.*s", (int)strcspn(text, "\n"), text);
}

int xml_parse(const char *text, size_t n, struct xml_doc **out, struct err *err) {
    bool has_doctype = false;
    (void)pthread_once(&once, xmlInitParser);
    if (n > TEXT_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the XML text is larger than %u bytes", TEXT_BYTES_MAX);
    _cleanup_(xmlFreeParserCtxt) xmlParserCtxt *ctx = xmlNewParserCtxt();
    _cleanup_free_ struct xml_doc *doc = calloc(1, sizeof(*doc));
    if (!ctx || !doc)
        return err_set(err, ERR_NOMEM, "out of memory while reading XML");
    ctx->sax->internalSubset = refuse_doctype;
    ctx->_private = &has_doctype;
    doc->tree = xmlCtxtReadMemory(ctx, text, (int)n, NULL, NULL, PARSE_FLAGS);
    if (!doc->tree && !has_doctype)
        return describe_fault(ctx, err);
    if (has_doctype) {
        xmlFreeDoc(doc->tree);
        return err_set(err, ERR_PROTOCOL, "the XML text has a document type declaration, which is not accepted");
    }
    *out = STEAL(doc);
    return 0;
}

void xml_free(struct xml_doc *doc) {
    if (!doc)
        return;
    xmlFreeDoc(doc->tree);
    free(doc);
}

/* Without a handler of its own XPath writes to stderr. */
static void ignore_fault(void *arg, xmlError *fault) {
    (void)arg, (void)fault;
}

int xml_each(struct xml_doc *doc, const char *xpath, void (*fn)(void *arg, const struct xml_node *node), void *arg,
             struct err *err) {
    _cleanup_(xmlXPathFreeContext) xmlXPathContext *ctx = xmlXPathNewContext(doc->tree);
    if (!ctx)
        return err_set(err, ERR_NOMEM, "out of memory while reading XML");
    ctx->error = ignore_fault;
    _cleanup_(xmlXPathFreeObject) xmlXPathObject *found = xmlXPathEvalExpression((const xmlChar *)xpath, ctx);
    if (!found || found->type != XPATH_NODESET)
        return err_set(err, ERR_INTERNAL, "XPath expression \"%s\" selects no nodes", xpath);
    if (!found->nodesetval)
        return 0;
    xmlXPathNodeSetSort(found->nodesetval);
    for (int i = 0; i < found->nodesetval->nodeNr; i++)
        fn(arg, (const struct xml_node *)found->nodesetval->nodeTab[i]);
    return found->nodesetval->nodeNr;
}

/* Next node in document order below `top`; a loop, since depth comes from outside. */
static const xmlNode *next_node(const xmlNode *node, const xmlNode *top) {
    if (node->type == XML_ELEMENT_NODE && node->children)
        return node->children;
    while (node && node != top && !node->next)
        node = node->parent;
    return node && node != top ? node->next : NULL;
}

static const xmlNode *find_element(const xmlNode *top, const char *local_name) {
    for (const xmlNode *node = next_node(top, top); node; node = next_node(node, top))
        if (node->type == XML_ELEMENT_NODE && !strcmp((const char *)node->name, local_name))
            return node;
    return NULL;
}

char *xml_node_text(const struct xml_node *node, const char *child_local_name) {
    const xmlNode *element = (const xmlNode *)node;
    if (*child_local_name)
        element = find_element(element, child_local_name);
    if (!element)
        return NULL;
    xmlChar *text = xmlNodeGetContent(element);
    char *copy = str_dup((const char *)text);
    xmlFree(text);
    return copy;
}
