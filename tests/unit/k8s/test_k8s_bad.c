/* Unit tests of both codecs of src/k8s: what is no list, no event and no Status, and what an API server must not get away with.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "k8s_codec.h"
#include "k8s_forms.h"
#include "limits.h"
#include "str.h"

/* A row: bytes, and what is to come of them. */
struct row {
    const char *what;
    const char *bytes;
    size_t n;
    int code;
    const char *word; /* of the error; or what the read node must show, see node_shows */
};
/* literals that hold NUL */
#define BYTES(text) text, sizeof(text) - 1

/* -- reading one node ------------------------------------------------------------------------------------------------------- */

/* What a row is about, as one text: "name/uid/provider id/address/created/cordoned/control plane/Ready/reason", empty where there is none. */
static char shown[8192];

static int show_node(void *arg, struct kube_node *node, struct err *err) {
    static const char *const truths[] = {"?", "no", "yes"};
    const struct kube_condition *ready = &node->conditions[KUBE_NODE_READY];
    (void)arg, (void)err;
    (void)snprintf(shown, sizeof(shown), "%s/%s/%s/%s/%lld/%s/%s/%s/%s/%lld", node->name, node->uid,
                   node->provider_id ? node->provider_id : "", node->address ? node->address : "", (long long)node->created_s,
                   node->is_cordoned ? "cordoned" : "", node->is_control_plane ? "control-plane" : "",
                   ready->is_there ? truths[ready->truth] : "", node->reason ? node->reason : "", (long long)ready->heartbeat_s);
    return 0;
}

/* Reads a list whose bytes end where their memory ends, so that a sanitizer sees who reads on. */
static int read_exact(const struct k8s_codec *codec, const char *bytes, size_t n, struct err *err) {
    struct k8s_list_meta meta = {0};
    char *copy = malloc(n ? n : 1);
    int rc;
    assert_non_null(copy);
    if (n)
        memcpy(copy, bytes, n);
    shown[0] = '\0';
    err_clear(err);
    rc = codec->read_nodes(copy, n, show_node, NULL, &meta, err);
    assert_true(rc || meta.resource_version[0]);
    k8s_list_meta_done(&meta);
    free(copy);
    return rc;
}

static void judge(const struct row *row, int rc, const struct err *err) {
    const char *text = row->code ? err->text : shown;
    if (rc != row->code || !strstr(text, row->word))
        print_message("%s: %d \"%s\" \"%s\"\n", row->what, rc, err->text, shown);
    assert_int_equal(rc, row->code);
    assert_non_null(strstr(text, row->word));
}

/* -- protobuf --------------------------------------------------------------------------------------------------------------- */

/* Puts the bytes of a NodeList into an envelope. */
static void wrap(struct strbuf *out, const char *list, size_t n) {
    strbuf_init(out, 64U * 1024U * 1024U);
    strbuf_add(out, "k8s", 4);
    put_bytes(out, 1, "\x0a\x02v1\x12\x08NodeList", 14);
    put_bytes(out, 2, list, n);
}

static int read_node_bytes(const char *node, size_t n, struct err *err) {
    _cleanup_strbuf_ struct strbuf list, body;
    strbuf_init(&list, 64U * 1024U * 1024U);
    put_bytes(&list, 1,
              "\x12\x01"
              "7",
              3);
    put_bytes(&list, 2, node, n);
    wrap(&body, list.data, list.len);
    return read_exact(&k8s_codec_protobuf, body.data, body.len, err);
}

#define NAMED "\x0a\x06\x0a\x01n\x2a\x01u" /* metadata: name n, uid u */

static void nodes_in_odd_protobuf(void **state) {
    static const struct row rows[] = {
        {"the least", BYTES(NAMED), 0, "n/u///0////"},
        {"nothing at all", BYTES(""), ERR_PROTOCOL, "a node has no name"},
        {"unknown members of each wire type",
         BYTES(NAMED "\xc0\x3e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xc1\x3e"
                     "12345678\xc2\x3e\x03"
                     "abc\xc5\x3e"
                     "1234"),
         0, "n/u/"},
        {"the name twice", BYTES("\x0a\x09\x0a\x01x\x2a\x01u\x0a\x01n"), 0, "n/u/"},
        {"metadata in two parts",
         BYTES("\x0a\x03\x0a\x01n"
               "\x0a\x03\x2a\x01u"),
         0, "n/u/"},
        {"an empty text undoes one before", BYTES(NAMED "\x12\x05\x1a\x01p\x1a\x00"), 0, "n/u//"},
        {"a number for the name", BYTES("\x0a\x05\x08\x01\x2a\x01u"), ERR_PROTOCOL,
         "a node is not valid protobuf: a member has the wrong wire type"},
        {"eight bytes for the name",
         BYTES("\x0a\x0c\x09"
               "12345678\x2a\x01u"),
         ERR_PROTOCOL, "wrong wire type"},
        {"a number for metadata", BYTES("\x08\x01"), ERR_PROTOCOL, "wrong wire type"},
        {"a number for a label", BYTES("\x0a\x08\x0a\x01n\x2a\x01u\x58\x01"), ERR_PROTOCOL, "wrong wire type"},
        {"a number for images, which are not read", BYTES(NAMED "\x1a\x02\x40\x01"), ERR_PROTOCOL, "wrong wire type"},
        {"a text for the time",
         BYTES("\x0a\x0b\x0a\x01n\x2a\x01u\x42\x03\x0a\x01"
               "1"),
         ERR_PROTOCOL, "wrong wire type"},
        {"a text for a flag",
         BYTES(NAMED "\x12\x03\x22\x01"
                     "1"),
         ERR_PROTOCOL, "wrong wire type"},
        {"a group", BYTES(NAMED "\x3b\x3c"), ERR_PROTOCOL, "a wire type that nobody uses"},
        {"the end of a group", BYTES(NAMED "\x3c"), ERR_PROTOCOL, "a wire type that nobody uses"},
        {"wire type 6", BYTES(NAMED "\x3e"), ERR_PROTOCOL, "a wire type that nobody uses"},
        {"wire type 7", BYTES(NAMED "\x3f"), ERR_PROTOCOL, "a wire type that nobody uses"},
        {"a group for the name", BYTES("\x0a\x05\x0b\x0c\x2a\x01u"), ERR_PROTOCOL, "a wire type that nobody uses"},
        {"number 0", BYTES(NAMED "\x02\x01x"), ERR_PROTOCOL, "a member has the number 0"},
        {"a length beyond the end", BYTES(NAMED "\x12\x7f\x1a\x01p"), ERR_PROTOCOL,
         "a node is not valid protobuf: it ends too early"},
        {"a length of 4 GiB", BYTES(NAMED "\x12\xff\xff\xff\xff\x0f"), ERR_PROTOCOL, "ends too early"},
        {"a length below zero", BYTES(NAMED "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_PROTOCOL, "ends too early"},
        {"a length of 2^40", BYTES(NAMED "\x12\x80\x80\x80\x80\x80\x20"), ERR_PROTOCOL, "a number is too large"},
        {"an unknown length of 4 GiB", BYTES(NAMED "\xc2\x3e\xff\xff\xff\xff\x0f"), ERR_PROTOCOL, "ends too early"},
        {"a tag without an end", BYTES(NAMED "\xff\xff"), ERR_PROTOCOL, "ends too early"},
        {"a tag of eleven bytes", BYTES(NAMED "\x82\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), ERR_PROTOCOL,
         "a number is too large"},
        {"a number of eleven bytes", BYTES(NAMED "\x12\x0c\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ERR_PROTOCOL,
         "a number is too large"},
        {"a flag that is 2", BYTES(NAMED "\x12\x02\x20\x02"), 0, "/cordoned/"},
        {"a flag that is 0", BYTES(NAMED "\x12\x04\x20\x01\x20\x00"), 0, "n/u///0////"},
        {"a time of 1", BYTES("\x0a\x0a\x0a\x01n\x2a\x01u\x42\x02\x08\x01"), 0, "n/u///1/"},
        {"a time before 1970", BYTES("\x0a\x13\x0a\x01n\x2a\x01u\x42\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0,
         "n/u///0/"},
        {"the last second of 9999", BYTES("\x0a\x0f\x0a\x01n\x2a\x01u\x42\x07\x08\xff\xef\x99\x86\xd8\x07"), 0, "n/u///0/"},
        {"no name", BYTES("\x0a\x03\x2a\x01u"), ERR_PROTOCOL, "a node has no name"},
        {"an empty name", BYTES("\x0a\x05\x0a\x00\x2a\x01u"), ERR_PROTOCOL, "a node has no name"},
        {"a name in capitals", BYTES("\x0a\x06\x0a\x01N\x2a\x01u"), ERR_PROTOCOL, "a node has no name, or one that"},
        {"a name with NUL", BYTES("\x0a\x07\x0a\x02n\0\x2a\x01u"), ERR_PROTOCOL, "a node has no name, or one that"},
        {"a name with a slash", BYTES("\x0a\x07\x0a\x02n/\x2a\x01u"), ERR_PROTOCOL, "a node has no name, or one that"},
        {"a name with a line feed", BYTES("\x0a\x07\x0a\x02n\n\x2a\x01u"), ERR_PROTOCOL, "a node has no name, or one that"},
        {"a name that is no UTF-8", BYTES("\x0a\x07\x0a\x02n\xff\x2a\x01u"), ERR_PROTOCOL, "a node has no name, or one that"},
        {"no uid", BYTES("\x0a\x03\x0a\x01n"), ERR_PROTOCOL, "the node n has no uid"},
        {"a blank in the uid", BYTES("\x0a\x07\x0a\x01n\x2a\x02 u"), ERR_PROTOCOL, "the node n has no uid, or one that"},
        {"NUL in the uid", BYTES("\x0a\x07\x0a\x01n\x2a\x02u\0"), ERR_PROTOCOL, "the node n has no uid, or one that"},
        {"texts of odd bytes",
         BYTES(NAMED "\x12\x0c\x1a\x0a\0\x1b\xff\xc3\xa9\xe2\x82\xc2\x9b"
                     "a"),
         0, "n/u/  \xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd a/"},
        {"a control plane", BYTES("\x0a\x2f\x0a\x01n\x2a\x01u\x5a\x27\x0a\x25node-role.kubernetes.io/control-plane"), 0,
         "/control-plane/"},
        {"one before 1.24", BYTES("\x0a\x2a\x0a\x01n\x2a\x01u\x5a\x22\x0a\x1enode-role.kubernetes.io/master\x12\x00"), 0,
         "/control-plane/"},
        {"a label that is nearly so", BYTES("\x0a\x2b\x0a\x01n\x2a\x01u\x5a\x23\x0a\x1fnode-role.kubernetes.io/master \x12\x00"),
         0, "n/u///0////"},
        {"a truncated label", BYTES("\x0a\x0b\x0a\x01n\x2a\x01u\x5a\x03\x0a\x25n"), ERR_PROTOCOL,
         "a label is not valid protobuf: it ends too early"},
        {"a truncated condition", BYTES(NAMED "\x1a\x04\x22\x02\x0a\x09"), ERR_PROTOCOL,
         "a condition of a node is not valid protobuf"},
        {"a truncated address", BYTES(NAMED "\x1a\x04\x2a\x02\x0a\x09"), ERR_PROTOCOL,
         "an address of a node is not valid protobuf"},
        {"a condition twice",
         BYTES(NAMED "\x1a\x22\x22\x11\x0a\x05Ready\x12\x05"
                     "False\x2a\x01"
                     "1\x22\x0d\x0a\x05Ready\x12\x01x\x2a\x01"
                     "2"),
         0, "/no/1/"},
        {"a condition without a status", BYTES(NAMED "\x1a\x09\x22\x07\x0a\x05Ready"), 0, "/?/"},
        {"addresses",
         BYTES(NAMED "\x1a\x27\x2a\x0f\x0a\x0a"
                     "ExternalIP\x12\x01"
                     "1\x2a\x14\x0a\x0aInternalIP\x12\x06"
                     "10.0.1"),
         0, "n/u//10.0.1/"},
        {"two internal addresses",
         BYTES(NAMED "\x1a\x28\x2a\x12\x0a\x0aInternalIP\x12\x04"
                     "10.1\x2a\x12\x0a\x0aInternalIP\x12\x04"
                     "10.2"),
         0, "n/u//10.1/"},
        {"an external address",
         BYTES(NAMED "\x1a\x11\x2a\x0f\x0a\x0a"
                     "ExternalIP\x12\x01"
                     "1"),
         0, "n/u//1/"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        judge(&rows[i], read_node_bytes(rows[i].bytes, rows[i].n, &err), &err);
    }
}

static void lists_in_odd_protobuf(void **state) {
    static const struct row rows[] = {
        {"nothing", BYTES(""), ERR_PROTOCOL, "it is no protobuf of Kubernetes"},
        {"three bytes", BYTES("k8s"), ERR_PROTOCOL, "it is no protobuf of Kubernetes"},
        {"another version of the envelope", BYTES("k8s\1\x0a\x00"), ERR_PROTOCOL, "it is no protobuf of Kubernetes"},
        {"JSON", BYTES("{\"kind\":\"NodeList\"}"), ERR_PROTOCOL, "it is no protobuf of Kubernetes"},
        {"four bytes", BYTES("k8s\0"), ERR_PROTOCOL, "an object is no NodeList of v1"},
        {"pods", BYTES("k8s\0\x0a\x0d\x0a\x02v1\x12\x07PodList"), ERR_PROTOCOL, "an object is no NodeList of v1"},
        {"v2",
         BYTES("k8s\0\x0a\x0e\x0a\x02v2\x12\x08NodeList\x12\x05\x0a\x03\x12\x01"
               "7"),
         ERR_PROTOCOL, "an object is no NodeList of v1"},
        {"the least",
         BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x05\x0a\x03\x12\x01"
               "7"),
         0, ""},
        {"compressed",
         BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x05\x0a\x03\x12\x01"
               "7\x1a\x04gzip"),
         ERR_PROTOCOL, "encoded in a way"},
        {"something behind it",
         BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x05\x0a\x03\x12\x01"
               "7x"),
         ERR_PROTOCOL, "the envelope of an object is not valid protobuf: it ends too early"},
        {"no list", BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList"), ERR_PROTOCOL, "the list has no resourceVersion"},
        {"no resource version", BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x02\x0a\x00"), ERR_PROTOCOL,
         "the list has no resourceVersion"},
        {"a blank in it", BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x06\x0a\x04\x12\x02 7"), ERR_PROTOCOL,
         "the list has no resourceVersion, or one"},
        {"a number for the list", BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x10\x01"), ERR_PROTOCOL, "wrong wire type"},
        {"a number for a node", BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x02\x10\x01"), ERR_PROTOCOL,
         "the list is not valid protobuf: a member has the wrong wire type"},
        {"a token with a line feed",
         BYTES("k8s\0\x0a\x0e\x0a\x02v1\x12\x08NodeList\x12\x09\x0a\x07\x12\x01"
               "7\x1a\x02x\n"),
         ERR_PROTOCOL, "not visible"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        judge(&rows[i], read_exact(&k8s_codec_protobuf, rows[i].bytes, rows[i].n, &err), &err);
    }
}

/* -- JSON ------------------------------------------------------------------------------------------------------------------- */

#define HEAD "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":["
#define META "\"metadata\":{\"name\":\"n\",\"uid\":\"u\"}"
#define NODE(more) BYTES(HEAD "{" META "," more "}]}")
#define METADATA(more) BYTES(HEAD "{\"metadata\":{" more "}}]}")
#define READY(more) NODE("\"status\":{\"conditions\":[{\"type\":\"Ready\"," more "}]}")

static void lists_in_odd_json(void **state) {
    static const struct row rows[] = {
        {"the least", METADATA("\"name\":\"n\",\"uid\":\"u\""), 0, "n/u///0////"},
        {"no node", BYTES(HEAD "]}"), 0, ""},
        {"items are null, as of an empty list",
         BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":null}"), 0, ""},
        {"nothing", BYTES(""), ERR_PROTOCOL, "not valid JSON: the text ends too early"},
        {"HTML", BYTES("<html>"), ERR_PROTOCOL, "not valid JSON"},
        {"protobuf", BYTES("k8s\0\x0a\x00"), ERR_PROTOCOL, "not valid JSON"},
        {"a list", BYTES("[]"), ERR_PROTOCOL, "an object is no NodeList of v1"},
        {"an empty object", BYTES("{}"), ERR_PROTOCOL, "an object is no NodeList of v1"},
        {"pods", BYTES("{\"kind\":\"PodList\",\"apiVersion\":\"v1\"}"), ERR_PROTOCOL, "an object is no NodeList of v1"},
        {"a kind that is a number", BYTES("{\"kind\":1,\"apiVersion\":\"v1\"}"), ERR_PROTOCOL,
         "the member kind is of a wrong kind"},
        {"no metadata", BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[]}"), ERR_PROTOCOL,
         "the list has no resourceVersion"},
        {"metadata that is a list", BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":[],\"items\":[]}"),
         ERR_PROTOCOL, "the member metadata"},
        {"items that are a map",
         BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":{}}"),
         ERR_PROTOCOL, "the member items"},
        {"a node that is a number", BYTES(HEAD "1]}"), ERR_PROTOCOL, "a list has an item that is no object"},
        {"a node that is null", BYTES(HEAD "null]}"), ERR_PROTOCOL, "a list has an item that is no object"},
        {"text behind it", BYTES(HEAD "]} x"), ERR_PROTOCOL, "there is text behind the value"},
        {"two values", BYTES(HEAD "]}" HEAD "]}"), ERR_PROTOCOL, "there is text behind the value"},
        {"NUL behind it", BYTES(HEAD "]}\0"), ERR_PROTOCOL, "not valid JSON"},
        {"a member twice", METADATA("\"name\":\"n\",\"name\":\"n\",\"uid\":\"u\""), ERR_PROTOCOL, "a member is given twice"},
        {"no name", METADATA("\"uid\":\"u\""), ERR_PROTOCOL, "a node has no name"},
        {"a name that is null", METADATA("\"name\":null,\"uid\":\"u\""), ERR_PROTOCOL, "a node has no name"},
        {"a name that is a number", METADATA("\"name\":1,\"uid\":\"u\""), ERR_PROTOCOL, "the member name is of a wrong kind"},
        {"a name with NUL", METADATA("\"name\":\"n\\u0000\",\"uid\":\"u\""), ERR_PROTOCOL, "a node has no name, or one that"},
        {"no uid", METADATA("\"name\":\"n\""), ERR_PROTOCOL, "the node n has no uid"},
        {"NUL in the name of a label", METADATA("\"name\":\"n\",\"uid\":\"u\",\"labels\":{\"a\\u0000\":\"\"}"), ERR_PROTOCOL,
         "a NUL character"},
        {"labels that are a list", METADATA("\"name\":\"n\",\"uid\":\"u\",\"labels\":[]"), ERR_PROTOCOL, "the member labels"},
        {"labels that are null", METADATA("\"name\":\"n\",\"uid\":\"u\",\"labels\":null"), 0, "n/u/"},
        {"a control plane", METADATA("\"name\":\"n\",\"uid\":\"u\",\"labels\":{\"node-role.kubernetes.io/control-plane\":\"\"}"),
         0, "/control-plane/"},
        {"NUL in a text", NODE("\"spec\":{\"providerID\":\"a\\u0000b\"}"), 0, "n/u/a b/"},
        {"control characters in a text", NODE("\"spec\":{\"providerID\":\"a\\u001b\\u009b\\n\\tb\"}"), 0, "n/u/a    b/"},
        {"no UTF-8 in a text", NODE("\"spec\":{\"providerID\":\"a\xff\"}"), ERR_PROTOCOL, "not valid UTF-8"},
        {"NUL itself in a text", NODE("\"spec\":{\"providerID\":\"a\0\"}"), ERR_PROTOCOL, "not valid JSON"},
        {"a text that is null", NODE("\"spec\":{\"providerID\":null}"), 0, "n/u//"},
        {"a text that is a number", NODE("\"spec\":{\"providerID\":7}"), ERR_PROTOCOL, "the member providerID"},
        {"a spec that is a text", NODE("\"spec\":\"\""), ERR_PROTOCOL, "the member spec"},
        {"a flag", NODE("\"spec\":{\"unschedulable\":true}"), 0, "/cordoned/"},
        {"a flag that is a text", NODE("\"spec\":{\"unschedulable\":\"true\"}"), ERR_PROTOCOL, "the member unschedulable"},
        {"conditions that are a map", NODE("\"status\":{\"conditions\":{}}"), ERR_PROTOCOL, "the member conditions"},
        {"a condition that is a text", NODE("\"status\":{\"conditions\":[\"Ready\"]}"), ERR_PROTOCOL,
         "a list has an item that is no object"},
        {"an address that is a list", NODE("\"status\":{\"addresses\":[[]]}"), ERR_PROTOCOL,
         "a list has an item that is no object"},
        {"a condition twice",
         NODE("\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":\"1\"},{\"type\":\"Ready\"}]}"), 0,
         "/no/1/"},
        {"a time", READY("\"lastHeartbeatTime\":\"2026-11-30T07:00:00Z\""), 0, "/?//1796022000"},
        {"a time of 1970", READY("\"lastHeartbeatTime\":\"1970-01-01T00:00:01Z\""), 0, "/?//1"},
        {"a time before 1970", READY("\"lastHeartbeatTime\":\"1969-12-31T23:59:59Z\""), 0, "/?//0"},
        {"the time 0 of Go", READY("\"lastHeartbeatTime\":\"0001-01-01T00:00:00Z\""), 0, "/?//0"},
        {"the last second of 9999", READY("\"lastHeartbeatTime\":\"9999-12-31T23:59:59Z\""), 0, "/?//253402300799"},
        {"a year of five digits", READY("\"lastHeartbeatTime\":\"10000-01-01T00:00:00Z\""), 0, "/?//0"},
        {"a text that is no time", READY("\"lastHeartbeatTime\":\"yesterday\""), 0, "/?//0"},
        {"no day of the calendar", READY("\"lastHeartbeatTime\":\"2026-02-30T07:00:00Z\""), 0, "/?//0"},
        {"a time that is a number", READY("\"lastHeartbeatTime\":1796022000"), ERR_PROTOCOL, "the member lastHeartbeatTime"},
        {"a time that is null", READY("\"lastHeartbeatTime\":null"), 0, "/?//0"},
        {"unknown members", NODE("\"future\":{\"a\":[1,2.5,{\"b\":null}]}"), 0, "n/u/"},
        {"a token that is a number",
         BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":1}}"),
         ERR_PROTOCOL, "the member continue"},
        {"a token with a line feed",
         BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"\\n\"}}"),
         ERR_PROTOCOL, "not visible"},
        {"a resource version that is a number",
         BYTES("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":7}}"), ERR_PROTOCOL,
         "the member resourceVersion"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        judge(&rows[i], read_exact(&k8s_codec_json, rows[i].bytes, rows[i].n, &err), &err);
    }
}

static void nesting_and_values_are_bounded(void **state) {
    _cleanup_strbuf_ struct strbuf deep, many, nested;
    struct err err = {0};
    (void)state;
    strbuf_init(&deep, 10000);
    strbuf_adds(&deep, HEAD "{" META ",\"x\":");
    for (unsigned i = 0; i < 1000; i++)
        strbuf_addc(&deep, '[');
    assert_int_equal(read_exact(&k8s_codec_json, deep.data, deep.len, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "nested deeper than"));

    strbuf_init(&many, 10U * 1024U * 1024U);
    strbuf_adds(&many, HEAD "{" META ",\"x\":[{}");
    for (unsigned i = 0; i < KAAS_JSON_VALUES_MAX; i++)
        strbuf_adds(&many, ",{}");
    strbuf_adds(&many, "]}]}");
    assert_int_equal(read_exact(&k8s_codec_json, many.data, many.len, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "more than 500000 values"));

    /* protobuf: what is not known is not entered, however it is nested */
    strbuf_init(&nested, 1024U * 1024U);
    strbuf_add(&nested, NAMED, sizeof(NAMED) - 1);
    for (unsigned i = 5000; i > 0; i--) {
        put_tag(&nested, 900, 2);
        put_varint(&nested, 5 * (i - 1));
    }
    assert_int_equal(read_node_bytes(nested.data, nested.len, &err), ERR_PROTOCOL); /* lengths that do not fit */
    assert_non_null(strstr(err.text, "ends too early"));
    strbuf_reset(&nested);
    strbuf_add(&nested, NAMED, sizeof(NAMED) - 1);
    for (unsigned i = 0; i < 10000; i++)
        put_bytes(&nested, 3, "\x22\x02\x1a\x00\x2a\x00", 6); /* status, condition, time */
    assert_int_equal(read_node_bytes(nested.data, nested.len, &err), 0);
}

/* -- sizes ------------------------------------------------------------------------------------------------------------------ */

/* A list with a node of this name and uid, and this token, in both forms. */
static void sizes_of(unsigned name_n, unsigned uid_n, unsigned version_n, unsigned token_n, int code, const char *word) {
    struct form list, metadata, node, node_metadata;
    struct strbuf bodies[2];
    char *text = malloc(10000);
    assert_non_null(text);
    memset(text, 'x', 10000);
    form_init(&list);
    form_init(&metadata);
    form_init(&node);
    form_init(&node_metadata);
    form_bytes(&metadata, 2, "resourceVersion", text, version_n);
    form_bytes(&metadata, 3, "continue", text, token_n);
    form_message(&list, 1, "metadata", &metadata);
    form_bytes(&node_metadata, 1, "name", text, name_n);
    form_bytes(&node_metadata, 5, "uid", text, uid_n);
    form_message(&node, 1, "metadata", &node_metadata);
    form_list_begin(&list, "items");
    form_list_item(&list, 2, &node);
    form_list_end(&list);
    strbuf_init(&bodies[0], 100000);
    strbuf_init(&bodies[1], 100000);
    form_object("NodeList", &list, &bodies[0], &bodies[1]);
    for (unsigned i = 0; i < 2; i++) {
        struct err err = {0};
        const int rc = read_exact(i ? &k8s_codec_json : &k8s_codec_protobuf, bodies[i].data, bodies[i].len, &err);
        assert_int_equal(rc, code);
        assert_non_null(strstr(err.text, word));
        strbuf_done(&bodies[i]);
    }
    free(text);
}

static void names_and_tokens_are_bounded(void **state) {
    (void)state;
    sizes_of(KUBE_NAME_BYTES_MAX, KUBE_UID_BYTES_MAX, K8S_VERSION_BYTES_MAX, K8S_CONTINUE_BYTES_MAX, 0, "");
    sizes_of(KUBE_NAME_BYTES_MAX + 1, 1, 1, 0, ERR_PROTOCOL, "a node has no name, or one that is not 1 to 253");
    sizes_of(1, KUBE_UID_BYTES_MAX + 1, 1, 0, ERR_PROTOCOL, "uid, or one that is not 1 to 128");
    sizes_of(1, 1, K8S_VERSION_BYTES_MAX + 1, 0, ERR_PROTOCOL, "resourceVersion, or one that is not 1 to 63");
    sizes_of(1, 1, 1, K8S_CONTINUE_BYTES_MAX + 1, ERR_TOO_LARGE,
             "the token with which the list goes on is longer than 4096 bytes");
}

static void a_page_and_an_event_are_bounded(void **state) {
    const size_t n = 17U * 1024U * 1024U;
    struct k8s_list_meta meta = {0};
    struct k8s_event event = {0};
    struct k8s_status status = {.code = 1};
    struct err err = {0};
    char *bytes = malloc(n);
    assert_non_null(bytes);
    (void)state;
    memset(bytes, ' ', n);
    assert_int_equal(k8s_codec_json.read_nodes(bytes, n, show_node, NULL, &meta, &err), ERR_TOO_LARGE);
    assert_string_equal(err.text, "the list is larger than 16777216 bytes");
    assert_int_equal(k8s_codec_protobuf.read_nodes(bytes, n, show_node, NULL, &meta, NULL), ERR_TOO_LARGE);
    err_clear(&err);
    assert_int_equal(k8s_codec_json.read_event(bytes, 10U * 1024U * 1024U, &event, &err), ERR_TOO_LARGE);
    assert_string_equal(err.text, "an event is larger than 3145728 bytes");
    assert_int_equal(k8s_codec_protobuf.read_event(bytes, 10U * 1024U * 1024U, &event, NULL), ERR_TOO_LARGE);
    k8s_status_read(bytes, 10U * 1024U * 1024U, &status);
    assert_int_equal(status.code, 0);
    memcpy(bytes, "k8s", 4);
    status.code = 1;
    k8s_status_read(bytes, 10U * 1024U * 1024U, &status);
    assert_int_equal(status.code, 0);
    free(bytes);
}

/* -- truncation ------------------------------------------------------------------------------------------------------------- */

/* Cut behind each byte: nothing is read beyond, and nothing passes but what lacks only members that say nothing. */
static void a_list_that_is_cut_is_refused(void **state) {
    struct form list, metadata;
    struct strbuf bodies[2];
    unsigned passes[2] = {0};
    (void)state;
    form_init(&list);
    form_init(&metadata);
    form_text(&metadata, 2, "resourceVersion", "7");
    form_message(&list, 1, "metadata", &metadata);
    form_list_begin(&list, "items");
    for (unsigned i = 0; i < 2; i++) {
        struct form node;
        form_init(&node);
        form_real_node(&node, i, 2);
        form_list_item(&list, 2, &node);
    }
    form_list_end(&list);
    strbuf_init(&bodies[0], 100000);
    strbuf_init(&bodies[1], 100000);
    form_object("NodeList", &list, &bodies[0], &bodies[1]);
    for (unsigned i = 0; i < 2; i++) {
        for (size_t n = 0; n < bodies[i].len; n++) {
            struct err err = {0};
            const int rc = read_exact(i ? &k8s_codec_json : &k8s_codec_protobuf, bodies[i].data, n, &err);
            passes[i] += !rc;
            assert_true(!rc || (rc == ERR_PROTOCOL && err.text[0]));
        }
        strbuf_done(&bodies[i]);
    }
    assert_int_equal(passes[0], 2); /* contentEncoding and contentType, which are empty */
    assert_int_equal(passes[1], 0);
}

static void an_event_that_is_cut_is_refused(void **state) {
    struct strbuf streams[2];
    struct form node;
    (void)state;
    form_init(&node);
    form_real_node(&node, 1, 1);
    strbuf_init(&streams[0], 100000);
    strbuf_init(&streams[1], 100000);
    form_event("ADDED", "Node", &node, &streams[0], &streams[1]);
    for (unsigned i = 0; i < 2; i++) {
        const struct k8s_codec *codec = i ? &k8s_codec_json : &k8s_codec_protobuf;
        const size_t from = i ? 0 : K8S_LENGTH_BYTES, whole = streams[i].len - from - (i ? 1 : 0);
        for (size_t n = 0; n <= whole; n++) {
            struct k8s_event event = {0};
            char *copy = malloc(n ? n : 1);
            assert_non_null(copy);
            memcpy(copy, streams[i].data + from, n);
            assert_int_equal(codec->read_event(copy, n, &event, NULL), n < whole ? ERR_PROTOCOL : 0);
            assert_true(n < whole ? !event.node.name : event.node.name != NULL);
            k8s_event_done(&event);
            free(copy);
        }
        strbuf_done(&streams[i]);
    }
}

/* -- events ----------------------------------------------------------------------------------------------------------------- */

static void judge_event(const struct k8s_codec *codec, const struct row *row) {
    struct k8s_event event;
    struct err err = {0};
    int rc;
    memset(&event, 0x5a, sizeof(event)); /* not to be looked at */
    rc = codec->read_event(row->bytes, row->n, &event, &err);
    shown[0] = '\0';
    if (!rc)
        (void)snprintf(shown, sizeof(shown), "%d/%s/%s/%d/%s", (int)event.type, event.resource_version,
                       event.node.name ? event.node.name : "", event.is_initial_end, event.status.reason);
    judge(row, rc, &err);
    if (!rc)
        k8s_event_done(&event);
}

#define OBJECT \
    "\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\"}}"

static void events_in_odd_json(void **state) {
    static const struct row rows[] = {
        {"one", BYTES("{\"type\":\"ADDED\"," OBJECT "}"), 0, "0/7/n/0/"},
        {"two in one line", BYTES("{\"type\":\"ADDED\"," OBJECT "}{\"type\":\"ADDED\"," OBJECT "}"), ERR_PROTOCOL,
         "there is text behind the value"},
        {"no type", BYTES("{" OBJECT "}"), ERR_PROTOCOL, "an event is none of"},
        {"an unknown type", BYTES("{\"type\":\"MOVED\"," OBJECT "}"), ERR_PROTOCOL, "an event is none of"},
        {"a type that is a number", BYTES("{\"type\":1," OBJECT "}"), ERR_PROTOCOL, "the member type"},
        {"no object", BYTES("{\"type\":\"ADDED\"}"), ERR_PROTOCOL, "an object is no Node of v1"},
        {"an object that is a text", BYTES("{\"type\":\"ADDED\",\"object\":\"\"}"), ERR_PROTOCOL, "the member object"},
        {"a pod", BYTES("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}"), ERR_PROTOCOL,
         "an object is no Node of v1"},
        {"no resource version",
         BYTES(
             "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\"}}}"),
         ERR_PROTOCOL, "the object of an event has no resourceVersion"},
        {"no uid",
         BYTES(
             "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"7\"}}}"),
         ERR_PROTOCOL, "the node n has no uid"},
        {"a bookmark needs no name",
         BYTES(
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"}}}"),
         0, "3/7//0/"},
        {"a bookmark at the end",
         BYTES(
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}"),
         0, "3/7//1/"},
        {"an annotation that is a flag",
         BYTES(
             "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":true}}}}"),
         0, "3/7//0/"},
        {"the end is said by bookmarks alone",
         BYTES(
             "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}"),
         0, "0/7/n/0/"},
        {"an error", BYTES("{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"reason\":\"Expired\"}}"),
         0, "4///0/Expired"},
        {"an error without a Status", BYTES("{\"type\":\"ERROR\",\"object\":7}"), 0, "4///0/"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        judge_event(&k8s_codec_json, &rows[i]);
}

#define ENVELOPE(n, kind_n, kind) "k8s\0\x0a" n "\x0a\x02v1\x12" kind_n kind
#define NODE_OBJECT ENVELOPE("\x0a", "\x04", "Node")

static void events_in_odd_protobuf(void **state) {
    static const struct row rows[] = {
        {"one",
         BYTES("\x0a\x05"
               "ADDED\x12\x1f\x0a\x1d" NODE_OBJECT "\x12\x0b\x0a\x09\x0a\x01n\x2a\x01u\x32\x01"
               "7"),
         0, "0/7/n/0/"},
        {"nothing", BYTES(""), ERR_PROTOCOL, "an event is none of"},
        {"an unknown type", BYTES("\x0a\x05MOVED"), ERR_PROTOCOL, "an event is none of"},
        {"a type that is a number", BYTES("\x08\x01"), ERR_PROTOCOL,
         "an event is not valid protobuf: a member has the wrong wire type"},
        {"no object",
         BYTES("\x0a\x05"
               "ADDED"),
         ERR_PROTOCOL, "it is no protobuf of Kubernetes"},
        {"an object that is JSON",
         BYTES("\x0a\x05"
               "ADDED\x12\x04\x0a\x02{}"),
         ERR_PROTOCOL, "it is no protobuf of Kubernetes"},
        {"an object that is a number",
         BYTES("\x0a\x05"
               "ADDED\x12\x02\x08\x01"),
         ERR_PROTOCOL, "wrong wire type"},
        {"a pod",
         BYTES("\x0a\x05"
               "ADDED\x12\x11\x0a\x0f" ENVELOPE("\x09", "\x03", "Pod")),
         ERR_PROTOCOL, "an object is no Node of v1"},
        {"no resource version",
         BYTES("\x0a\x05"
               "ADDED\x12\x1c\x0a\x1a" NODE_OBJECT "\x12\x08\x0a\x06\x0a\x01n\x2a\x01u"),
         ERR_PROTOCOL, "the object of an event has no resourceVersion"},
        {"no uid",
         BYTES("\x0a\x07"
               "DELETED\x12\x1c\x0a\x1a" NODE_OBJECT "\x12\x08\x0a\x06\x0a\x01n\x32\x01"
               "7"),
         ERR_PROTOCOL, "the node n has no uid"},
        {"a bookmark needs no name",
         BYTES("\x0a\x08"
               "BOOKMARK\x12\x19\x0a\x17" NODE_OBJECT "\x12\x05\x0a\x03\x32\x01"
               "7"),
         0, "3/7//0/"},
        {"a truncated annotation",
         BYTES("\x0a\x08"
               "BOOKMARK\x12\x1d\x0a\x1b" NODE_OBJECT "\x12\x09\x0a\x07\x32\x01"
               "7\x62\x02\x0a\x09"),
         ERR_PROTOCOL, "an annotation is not valid protobuf"},
        {"a truncated annotation where none is read",
         BYTES("\x0a\x05"
               "ADDED\x12\x23\x0a\x21" NODE_OBJECT "\x12\x0f\x0a\x0d\x0a\x01n\x2a\x01u\x32\x01"
               "7\x62\x02\x0a\x09"),
         0, "0/7/n/0/"},
        {"an error",
         BYTES("\x0a\x05"
               "ERROR\x12\x1f\x0a\x1d" ENVELOPE("\x0c", "\x06", "Status") "\x12\x09\x22\x07"
                                                                          "Expired"),
         0, "4///0/Expired"},
        {"an error without a Status",
         BYTES("\x0a\x05"
               "ERROR"),
         0, "4///0/"},
        {"an error with half a Status",
         BYTES("\x0a\x05"
               "ERROR\x12\x19\x0a\x17" ENVELOPE("\x0c", "\x06", "Status") "\x12\x03\x22\x07"
                                                                          "E"),
         0, "4///0/"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++)
        judge_event(&k8s_codec_protobuf, &rows[i]);
}

/* -- frames ----------------------------------------------------------------------------------------------------------------- */

static int next(const struct k8s_codec *codec, const char *bytes, size_t n, struct strbuf *frame, struct err *err) {
    const void *event = NULL;
    struct k8s_frames frames;
    size_t event_n = 0;
    int rc;
    k8s_frames_init(&frames);
    strbuf_reset(frame);
    assert_int_equal(k8s_frames_add(&frames, bytes, n, NULL), 0);
    rc = codec->next_frame(&frames, &event, &event_n, err);
    strbuf_add(frame, event, event_n);
    k8s_frames_done(&frames);
    return rc;
}

static void frames_of_odd_lengths(void **state) {
    static const struct {
        const struct k8s_codec *codec;
        struct row row; /* `word`: of the error, or the frame; "" none yet */
    } rows[] = {
        {&k8s_codec_protobuf, {"whole", BYTES("\0\0\0\3abcd"), 0, "abc"}},
        {&k8s_codec_protobuf, {"not whole", BYTES("\0\0\0\3ab"), 0, ""}},
        {&k8s_codec_protobuf, {"half a length", BYTES("\0\0\0"), 0, ""}},
        {&k8s_codec_protobuf,
         {"4 GiB", BYTES("\xff\xff\xff\xff"), ERR_TOO_LARGE, "an event of 4294967295 bytes is larger than 3145728"}},
        {&k8s_codec_protobuf, {"one too many", BYTES("\0\x30\0\1"), ERR_TOO_LARGE, "an event of 3145729 bytes"}},
        {&k8s_codec_protobuf, {"as many as may be", BYTES("\0\x30\0\0"), 0, ""}},
        {&k8s_codec_protobuf, {"none", BYTES("\0\0\0\0"), ERR_PROTOCOL, "an event has no bytes"}},
        {&k8s_codec_protobuf, {"JSON", BYTES("{\"type\":"), ERR_TOO_LARGE, "an event of 2065855609 bytes"}},
        {&k8s_codec_json, {"whole", BYTES("{}\n{"), 0, "{}"}},
        {&k8s_codec_json, {"not whole", BYTES("{}"), 0, ""}},
        {&k8s_codec_json, {"behind empty lines", BYTES("\n\r\n\n[]\n"), 0, "[]"}},
        {&k8s_codec_json, {"empty lines", BYTES("\n\r\n\n"), 0, ""}},
        {&k8s_codec_json, {"CR LF", BYTES("{}\r\n"), 0, "{}\r"}},
        {&k8s_codec_json, {"NUL", BYTES("a\0b\n"), 0, "a"}},
    };
    _cleanup_strbuf_ struct strbuf frame;
    (void)state;
    strbuf_init(&frame, 1000);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        const struct row *row = &rows[i].row;
        struct err err = {0};
        const int rc = next(rows[i].codec, row->bytes, row->n, &frame, &err);
        if (rc != row->code)
            print_message("%s: %d %s\n", row->what, rc, err.text);
        assert_int_equal(rc, row->code);
        if (rc)
            assert_non_null(strstr(err.text, row->word));
        else
            assert_string_equal(frame.data, row->word);
    }
}

/* A line that never ends is given up at the limit, one that ends beyond it as well. */
static void a_line_is_bounded(void **state) {
    static const struct {
        const char *last;
        int code;
        size_t n;
    } rows[] = {{"\n", 0, K8S_OBJECT_BYTES_MAX}, {"\r\n", ERR_TOO_LARGE, 0}, {"x\n", ERR_TOO_LARGE, 0}, {"x", ERR_TOO_LARGE, 0}};
    char *piece = malloc(K8S_PIECE_BYTES_MAX);
    assert_non_null(piece);
    (void)state;
    memset(piece, 'x', K8S_PIECE_BYTES_MAX);
    for (size_t r = 0; r < UNIT_COUNT(rows); r++) {
        const void *event = NULL;
        struct k8s_frames frames;
        struct err err = {0};
        size_t n = 0;
        k8s_frames_init(&frames);
        for (size_t i = 0; i < K8S_OBJECT_BYTES_MAX / K8S_PIECE_BYTES_MAX; i++) {
            assert_int_equal(k8s_frames_add(&frames, piece, K8S_PIECE_BYTES_MAX, &err), 0);
            assert_int_equal(k8s_codec_json.next_frame(&frames, &event, &n, &err), 0);
            assert_int_equal(n, 0);
        }
        assert_int_equal(k8s_frames_add(&frames, rows[r].last, strlen(rows[r].last), &err), 0);
        assert_int_equal(k8s_codec_json.next_frame(&frames, &event, &n, &err), rows[r].code);
        assert_int_equal(n, rows[r].n);
        assert_string_equal(err.text, rows[r].code ? "an event is larger than 3145728 bytes" : "");
        k8s_frames_done(&frames);
    }
    free(piece);
}

/* Who does not take events out is told so. */
static void events_that_are_left_are_bounded(void **state) {
    char *piece = calloc(1, K8S_PIECE_BYTES_MAX);
    struct k8s_frames frames;
    struct err err = {0};
    int rc = 0;
    assert_non_null(piece);
    (void)state;
    k8s_frames_init(&frames);
    for (size_t i = 0; !rc && i < 1000; i++)
        rc = k8s_frames_add(&frames, piece, K8S_PIECE_BYTES_MAX, &err);
    assert_int_equal(rc, ERR_TOO_LARGE);
    k8s_frames_done(&frames);
    free(piece);
}

/* -- Status ----------------------------------------------------------------------------------------------------------------- */

#define STATUS(more) BYTES("{\"kind\":\"Status\",\"apiVersion\":\"v1\"" more "}")

static void statuses_that_are_none(void **state) {
    static const struct row rows[] = {
        {"nothing", BYTES(""), 0, "0///0"},
        {"HTML", BYTES("<html>502 Bad Gateway</html>"), 0, "0///0"},
        {"a list", BYTES("[]"), 0, "0///0"},
        {"another kind", BYTES("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"reason\":\"Expired\",\"code\":410}"), 0, "0///0"},
        {"another version", BYTES("{\"kind\":\"Status\",\"apiVersion\":\"v2\",\"reason\":\"Expired\",\"code\":410}"), 0, "0///0"},
        {"the least", STATUS(",\"code\":410"), 0, "410///0"},
        {"all",
         STATUS(",\"code\":429,\"reason\":\"TooManyRequests\",\"message\":\"later\",\"details\":{\"retryAfterSeconds\":3}"), 0,
         "429/TooManyRequests/later/3"},
        {"a code that is a text", STATUS(",\"code\":\"410\",\"reason\":\"Expired\""), 0, "0///0"},
        {"a code that is a fraction", STATUS(",\"code\":410.0,\"reason\":\"Expired\""), 0, "0///0"},
        {"no code of HTTP", STATUS(",\"code\":99,\"reason\":\"Expired\""), 0, "0/Expired//0"},
        {"a code beyond", STATUS(",\"code\":9223372036854775807,\"reason\":\"Expired\""), 0, "0/Expired//0"},
        {"to be tried before now", STATUS(",\"code\":429,\"details\":{\"retryAfterSeconds\":-1}"), 0, "429///0"},
        {"to be tried in a long time", STATUS(",\"code\":429,\"details\":{\"retryAfterSeconds\":9223372036854775807}"), 0,
         "429///2147483647"},
        {"details that are null", STATUS(",\"code\":410,\"details\":null"), 0, "410///0"},
        {"details that are a list", STATUS(",\"code\":410,\"details\":[]"), 0, "0///0"},
        {"control characters", STATUS(",\"message\":\"a\\u001b[31m\\u0000\\n\\u009b\\u202eb\""), 0,
         "0//a [31m   \xe2\x80\xae"
         "b/0"},
        {"protobuf",
         BYTES(ENVELOPE("\x0c", "\x06", "Status") "\x12\x0c\x22\x07"
                                                  "Expired\x30\x9a\x03"),
         0, "410/Expired//0"},
        {"protobuf, to be tried before now",
         BYTES(ENVELOPE("\x0c", "\x06", "Status") "\x12\x0d\x2a\x0b\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, "0///0"},
        {"protobuf, a code below zero",
         BYTES(ENVELOPE("\x0c", "\x06", "Status") "\x12\x0b\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, "0///0"},
        {"protobuf, a code of 2^40, cut to 32 bits as by Kubernetes",
         BYTES(ENVELOPE("\x0c", "\x06", "Status") "\x12\x10\x22\x07"
                                                  "Expired\x30\x80\x80\x80\x80\x80\x20"),
         0, "0/Expired//0"},
        {"protobuf that is cut",
         BYTES(ENVELOPE("\x0c", "\x06", "Status") "\x12\x0c\x22\x07"
                                                  "Expired\x30"),
         0, "0///0"},
        {"protobuf of a node", BYTES(NODE_OBJECT "\x12\x00"), 0, "0///0"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct k8s_status status;
        memset(&status, 0x5a, sizeof(status));
        k8s_status_read(rows[i].bytes, rows[i].n, &status);
        (void)snprintf(shown, sizeof(shown), "%d/%s/%s/%u", status.code, status.reason, status.message, status.retry_after_s);
        if (!str_eq(shown, rows[i].word))
            print_message("%s:\n", rows[i].what);
        assert_string_equal(shown, rows[i].word);
    }
}

/* 100 times three bytes are 300; what is put before them moves the cut into a character. */
static void the_message_of_a_status_is_cut_behind_a_character(void **state) {
    static const unsigned bytes_n[] = {300, 298, 299};
    (void)state;
    for (unsigned before = 0; before < 3; before++) {
        _cleanup_strbuf_ struct strbuf text;
        struct k8s_status status;
        strbuf_init(&text, 10000);
        strbuf_addf(&text, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"message\":\"%.*s", (int)before, "xy");
        for (unsigned i = 0; i < 200; i++)
            strbuf_adds(&text, "\xe2\x82\xac");
        strbuf_adds(&text, "\"}");
        k8s_status_read(text.data, text.len, &status);
        assert_int_equal(strlen(status.message), bytes_n[before]);
        assert_true(str_utf8_chars(status.message, strlen(status.message)) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_in_odd_protobuf),
        cmocka_unit_test(lists_in_odd_protobuf),
        cmocka_unit_test(lists_in_odd_json),
        cmocka_unit_test(nesting_and_values_are_bounded),
        cmocka_unit_test(names_and_tokens_are_bounded),
        cmocka_unit_test(a_page_and_an_event_are_bounded),
        cmocka_unit_test(a_list_that_is_cut_is_refused),
        cmocka_unit_test(an_event_that_is_cut_is_refused),
        cmocka_unit_test(events_in_odd_json),
        cmocka_unit_test(events_in_odd_protobuf),
        cmocka_unit_test(frames_of_odd_lengths),
        cmocka_unit_test(a_line_is_bounded),
        cmocka_unit_test(events_that_are_left_are_bounded),
        cmocka_unit_test(statuses_that_are_none),
        cmocka_unit_test(the_message_of_a_status_is_cut_behind_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
