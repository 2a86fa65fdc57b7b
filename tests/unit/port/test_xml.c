/* Unit tests of src/port/xml.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "strbuf.h"
#include "xml.h"

static const char versions[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<namespaces version=\"1.0\">"
    "<namespace><name>urn:vim25</name><version>8.0.3.0</version><priorVersions><version>8.0.2.0</version>"
    "<version>7.0.3.2</version></priorVersions></namespace>"
    "<namespace><name>urn:sms &amp; more</name><version>5.0</version></namespace></namespaces>";

static void collect(void *arg, const struct xml_node *node) {
    _cleanup_free_ char *name = xml_node_text(node, "name"), *version = xml_node_text(node, "version"),
                        *none = xml_node_text(node, "nothing");
    assert_null(none);
    strbuf_addf(arg, "%s=%s;", name ? name : "?", version ? version : "?");
}

static void collect_own(void *arg, const struct xml_node *node) {
    _cleanup_free_ char *text = xml_node_text(node, "");
    strbuf_addf(arg, "%s;", text);
}

static void test_each(void **state) {
    (void)state;
    struct xml_doc *doc = NULL;
    _cleanup_strbuf_ struct strbuf out;
    struct err err = {0};
    strbuf_init(&out, 1000);
    assert_int_equal(xml_parse(versions, strlen(versions), &doc, &err), 0);
    assert_int_equal(xml_each(doc, "/namespaces/namespace", collect, &out, &err), 2);
    assert_string_equal(out.data, "urn:vim25=8.0.3.0;urn:sms & more=5.0;");
    strbuf_reset(&out);
    assert_int_equal(xml_each(doc, "//*[local-name()='priorVersions']/*", collect_own, &out, &err), 2);
    assert_string_equal(out.data, "8.0.2.0;7.0.3.2;");
    assert_int_equal(xml_each(doc, "/none", collect, &out, &err), 0);
    assert_int_equal(xml_each(doc, "/[", collect, &out, &err), ERR_INTERNAL);
    err_clear(&err);
    assert_int_equal(xml_each(doc, "count(//*)", collect, &out, &err), ERR_INTERNAL);
    xml_free(doc);
    xml_free(NULL);
}

static void refuse(const char *text, size_t n, int code, const char *word) {
    struct xml_doc *doc = NULL;
    struct err err = {0};
    assert_int_equal(xml_parse(text, n, &doc, &err), code);
    assert_null(doc);
    if (!strstr(err.text, word))
        print_message("%s (%s)\n", err.text, err.detail);
    assert_non_null(strstr(err.text, word));
}

static void test_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "", " ", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&nothing;</a>", "<a b='1' b='2'/>", "<a>\x01</a>", "<a>\xff</a>"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        refuse(bad[i], strlen(bad[i]), ERR_PROTOCOL, "not well-formed");
    static const char lines[] = "<a>\n<b>\n</a>";
    refuse(lines, strlen(lines), ERR_PROTOCOL, "line 3");
}

static void test_doctype(void **state) {
    (void)state;
    static const char *const bad[] = {
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
        "<!DOCTYPE a SYSTEM 'http://127.0.0.1/x.dtd'><a/>",
        "<!DOCTYPE a [<!ENTITY x 'aaaaaaaaaa'><!ENTITY y '&x;&x;&x;&x;&x;&x;&x;&x;'><!ENTITY z '&y;&y;&y;&y;&y;&y;'>]><a b='&z;&z;&z;'/>",
        "<!-- c --><!DOCTYPE a><a>",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        refuse(bad[i], strlen(bad[i]), ERR_PROTOCOL, "document type");
}

static void test_limits(void **state) {
    (void)state;
    struct xml_doc *doc = NULL;
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, 10000000);
    for (int depth = 256; depth <= 258; depth += 2) { /* the library counts from 0 */
        strbuf_reset(&text);
        for (int i = 0; i < depth; i++)
            strbuf_adds(&text, "<a>");
        for (int i = 0; i < depth; i++)
            strbuf_adds(&text, "</a>");
        if (depth > 256) {
            refuse(text.data, text.len, ERR_TOO_LARGE, "nested deeper than 256");
            continue;
        }
        assert_int_equal(xml_parse(text.data, text.len, &doc, NULL), 0);
        _cleanup_strbuf_ struct strbuf out;
        strbuf_init(&out, 100);
        assert_int_equal(xml_each(doc, "/a", collect, &out, NULL), 1);
        xml_free(doc);
    }
    strbuf_reset(&text);
    strbuf_adds(&text, "<a>");
    while (text.len <= XML_BYTES_MAX)
        strbuf_adds(&text, "0123456789abcdef");
    strbuf_adds(&text, "</a>");
    refuse(text.data, text.len, ERR_TOO_LARGE, "larger than");
}

/* An element with so many attributes behind `before`. */
static void make_wide(struct strbuf *text, const char *before, const char *const name_and_value[2], unsigned count) {
    strbuf_reset(text);
    strbuf_addf(text, "%s<a", before);
    for (unsigned i = 0; i < count; i++)
        strbuf_addf(text, "%s%u%s", name_and_value[0], i, name_and_value[1]);
    strbuf_adds(text, "/>");
}

static void test_attributes(void **state) {
    (void)state;
    static const char *const formats[][2] = {{" a", "=\"\""}, {" xmlns:a", "='u:x'"}, {"\n\tb", " = '>\"'"}};
    struct xml_doc *doc = NULL;
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init(&text, XML_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        make_wide(&text, "", formats[i], XML_ATTRIBUTES_MAX);
        assert_int_equal(xml_parse(text.data, text.len, &doc, NULL), 0);
        xml_free(doc);
        doc = NULL;
        make_wide(&text, "", formats[i], XML_ATTRIBUTES_MAX + 1);
        refuse(text.data, text.len, ERR_TOO_LARGE, "more than 64 attributes");
        make_wide(&text, "<?x >?><!-- \" > --><b><![CDATA[<x ']]>\" '</b>", formats[i], XML_ATTRIBUTES_MAX + 1);
        refuse(text.data, text.len, ERR_TOO_LARGE, "more than 64 attributes");
    }
}

/* What the parser might read in another way than the scan. */
static void test_scan(void **state) {
    (void)state;
    static const char utf16[] = "<\0a\0/\0>", latin[] = "<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>";
    static const char *const bad[] = {
        "<a b='<c/>'/>", "<!-- -- --><a/>",     "<!--", "<![CDATA[", "<?x <a?><a/>", "<a><!-- \x02 --></a>", "<a",
        "<a b='></a>",   "<a>\xef\xbf\xbf</a>", "<?x"};
    static const char *const good[] = {"<?xml version='1.0' encoding='UTF-16'?><a>\xc3\xa4</a>",
                                       "\xef\xbb\xbf<!-- <b \" --><a>' \"<![CDATA[<b>]]></a><?x ' ?>"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        refuse(bad[i], strlen(bad[i]), ERR_PROTOCOL, "not well-formed");
    refuse(utf16, sizeof(utf16), ERR_PROTOCOL, "no UTF-8");
    refuse(latin, sizeof(latin) - 1, ERR_PROTOCOL, "no UTF-8");
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        struct xml_doc *doc = NULL;
        assert_int_equal(xml_parse(good[i], strlen(good[i]), &doc, NULL), 0);
        xml_free(doc);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each),   cmocka_unit_test(test_refused),    cmocka_unit_test(test_doctype),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_attributes), cmocka_unit_test(test_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
