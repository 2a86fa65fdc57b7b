/* Bounded XML reading over libxml2. Layer 0 (port).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A document type declaration is the door to entities and external files; none of our peers sends one, so it is refused. libxml2 compares
 * each attribute of an element with each other one, and each prefix with all that are declared around it: so both are few before it sees the text. */
#include "xml.h"

#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/xpath.h>
#include <libxml/xpathInternals.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"

/* No network, no texts on stderr; neither XML_PARSE_NOENT nor XML_PARSE_HUGE, so that the library's bound of depth 256 holds. UTF-8, whatever the
 * text says of itself: the scan has read it as that. */
#define PARSE_FLAGS \
    (XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA | XML_PARSE_COMPACT | XML_PARSE_IGNORE_ENC)

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

/* -- the scan before the parser -------------------------------------------------------------------------------------------- */

/* Whatever could lead the parser elsewhere than the scan is refused: then both see the same tags. */
struct scan {
    const char *text, *at, *end;
};

static int xml_refuse(const struct scan *scan, const char *what, struct err *err) {
    int line = 1;
    for (const char *s = scan->text; s < scan->at; s++)
        line += *s == '\n';
    return err_set(err, ERR_PROTOCOL, "the text is not well-formed XML: %s (line %d)", what, line);
}

/* XML 1.0 section 2.2: no control characters but tab, LF and CR; no U+FFFE and U+FFFF. UTF-16 has NUL in it. */
static int check_characters(struct scan *scan, struct err *err) {
    uint32_t c;
    for (size_t n; scan->at < scan->end; scan->at += n) {
        n = str_utf8_next(scan->at, (size_t)(scan->end - scan->at), &c);
        if (!n || (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0xfffe || c == 0xffff)
            return xml_refuse(scan, "it is no UTF-8, or has control characters", err);
    }
    scan->at = scan->text;
    return 0;
}

static const char *xml_find(const struct scan *scan, const char *mark) {
    return memmem(scan->at, (size_t)(scan->end - scan->at), mark, strlen(mark));
}

static bool xml_begins(const struct scan *scan, const char *mark) {
    return (size_t)(scan->end - scan->at) >= strlen(mark) && !memcmp(scan->at, mark, strlen(mark));
}

/* From `open` to behind `close`, unless `bad` comes before that. */
static int xml_pass(struct scan *scan, const char *open, const char *close, const char *bad, struct err *err) {
    const char *stop, *wrong;
    scan->at += strlen(open);
    stop = xml_find(scan, close);
    wrong = xml_find(scan, bad);
    if (!stop || (wrong && wrong < stop))
        return xml_refuse(scan, "a comment, CDATA section or instruction has no end", err);
    scan->at = stop + strlen(close);
    return 0;
}

/* Each value in quotes is an attribute: the parser takes none without. */
static int pass_tag(struct scan *scan, struct err *err) {
    unsigned attributes = 0;
    char quote = 0;
    for (scan->at++; scan->at < scan->end && *scan->at != '<'; scan->at++) {
        if (quote) {
            quote = *scan->at == quote ? '\0' : quote;
        } else if (*scan->at == '"' || *scan->at == '\'') {
            quote = *scan->at;
            attributes++;
        } else if (*scan->at == '>') {
            return 0;
        }
        if (attributes > XML_ATTRIBUTES_MAX)
            return err_set(err, ERR_TOO_LARGE, "an element of the XML text has more than %u attributes", XML_ATTRIBUTES_MAX);
    }
    return xml_refuse(scan, "a tag has no end", err);
}

static int xml_scan_text(const char *text, size_t n, struct err *err) {
    struct scan scan = {text, text, text + n};
    int rc = check_characters(&scan, err);
    while (!rc && (scan.at = xml_find(&scan, "<"))) {
        if (xml_begins(&scan, "<!--"))
            rc = xml_pass(&scan, "<!--", "-->", "--", err);
        else if (xml_begins(&scan, "<![CDATA["))
            rc = xml_pass(&scan, "<![CDATA[", "]]>", "]]>", err);
        else if (xml_begins(&scan, "<?"))
            rc = xml_pass(&scan, "<?", "?>", "<", err);
        else if (xml_begins(&scan, "<!"))
            rc = err_set(err, ERR_PROTOCOL, "the XML text has a document type declaration, which is not accepted");
        else
            rc = pass_tag(&scan, err);
    }
    return rc;
}

/* -- the parser ------------------------------------------------------------------------------------------------------------ */

static int xml_describe_fault(xmlParserCtxt *ctx, struct err *err) {
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
    (void)pthread_once(&once, xmlInitParser);
    if (n > XML_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, "the XML text is larger than %u bytes", XML_BYTES_MAX);
    _cleanup_(xmlFreeParserCtxt) xmlParserCtxt *ctx = xmlNewParserCtxt();
    _cleanup_free_ struct xml_doc *doc = calloc(1, sizeof(*doc));
    if (!ctx || !doc)
        return err_set(err, ERR_NOMEM, "out of memory while reading XML");
    int rc = xml_scan_text(text, n, err);
    if (rc)
        return rc;
    doc->tree = xmlCtxtReadMemory(ctx, text, (int)n, NULL, NULL, PARSE_FLAGS);
    if (!doc->tree)
        return xml_describe_fault(ctx, err);
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
