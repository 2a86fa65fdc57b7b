/* Decoding of answers: strange, new, broken and hostile ones; faults of every kind.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "secret.h"
#include "str.h"
#include "strbuf.h"
#include "vim.h"
#include "vim_extension.h"
#include "vim_fake.h"
#include "vim_authorization.h"
#include "vim_session.h"

static int set_up(void **state) {
    *state = fake_new();
    return 0;
}

static int tear_down(void **state) {
    fake_free(*state);
    return 0;
}

#define OBJECT(props) "<returnval><objects><obj type=\"SessionManager\">sm</obj>" props "</objects></returnval>"
#define PROP(name, type, inner) "<propSet><name>" name "</name><val xsi:type=\"" type "\">" inner "</val></propSet>"
#define SESSION(key, user) "<key>" key "</key><userName>" user "</userName><fullName>F</fullName>"
#define COOKIE "0123456789abcdef0123456789abcdef01234567"

static const char soap_open[] =
    "<?xml version=\"1.0\"?><e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" "
    "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"><e:Body>";
static const char soap_close[] = "</e:Body></e:Envelope>";

/* Peeks at a session whose RetrievePropertiesEx answer is `returnvals`; NULL: one that is queued already. */
static int peek(struct fake *f, const char *returnvals, struct vim_user_session *out, struct err *err) {
    struct vim_client *client = fake_client(f);
    int ret;
    err_clear(err);
    if (returnvals)
        fake_answer(f, "RetrievePropertiesEx", returnvals);
    ret = vim_peek_session(client, COOKIE, out, err);
    vim_client_free(client);
    return ret;
}

static void expect_peek(struct fake *f, const char *returnvals, int code) {
    struct vim_user_session s = {0};
    struct err err = {0};
    int ret = peek(f, returnvals, &s, &err);
    if (ret != code)
        fail_msg("%d instead of %d for %s: %s", ret, code, returnvals ? returnvals : "a raw answer", err.text);
    if (code) {
        assert_null(s.key);
        assert_true(err.text[0]);
        assert_null(strstr(err.text, COOKIE));
        assert_null(strstr(err.detail, COOKIE));
    }
    vim_user_session_done(&s);
}

/* ---- the id of a session of REST ---- */

#define REST_ID "cc64f0a1d9f4a7e0a1cc64f0a1d9f4a7"

/* Which line goes out for a session id that somebody gave. */
static void expect_line(struct fake *f, const char *given, const char *line) {
    struct vim_client *client = fake_client(f);
    struct vim_user_session s = {0};
    fake_answer(f, "RetrievePropertiesEx", OBJECT(PROP("currentSession", "UserSession", SESSION("52aa", "A\\b"))));
    assert_int_equal(vim_peek_session(client, given, &s, NULL), 0);
    assert_string_equal(fake_last_cookie(f, "RetrievePropertiesEx"), line);
    vim_user_session_done(&s);
    vim_client_free(client);
}

static void a_given_id_goes_out_as_the_vcenter_writes_it(void **state) {
    struct fake *f = *state;
    expect_line(f, REST_ID, "Cookie: vmware_soap_session=" REST_ID);
    expect_line(f, "\"" REST_ID "\"", "Cookie: vmware_soap_session=" REST_ID);
    expect_line(f, COOKIE, "Cookie: vmware_soap_session=" COOKIE);
    expect_line(f, "\"" COOKIE "\"", "Cookie: vmware_soap_session=\"" COOKIE "\"");
}

/* What comes of an answer to POST /api/session. */
static int look_at_rest(struct fake *f, const char *answer, struct err *err) {
    struct vim_client *client = fake_client(f);
    struct vim_user_session s = {0};
    int ret;
    err_clear(err);
    fake_raw(f, "POST /api/session", 201, answer, 0);
    ret = vim_look_at_rest_session(client, "anna", "secret", &s, err);
    vim_user_session_done(&s);
    vim_client_free(client);
    return ret;
}

static void the_id_of_rest_is_read_with_quotes_and_without(void **state) {
    static const char *const good[] = {"\"" REST_ID "\"", REST_ID, REST_ID "\r\n", "\"" REST_ID "\"\n"};
    static const char *const bad[] = {"\"\"",        "{\"value\":\"" REST_ID "\"}", "<html>", "\"a\\u0041\"", "two words",
                                      ("\"" REST_ID)};
    struct fake *f = *state;
    struct err err = {0};
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        fake_answer(f, "RetrievePropertiesEx", OBJECT(PROP("currentSession", "UserSession", SESSION("52aa", "A\\b"))));
        fake_raw(f, "DELETE /api/session", 204, "", 0);
        assert_int_equal(look_at_rest(f, good[i], &err), 0);
        assert_string_equal(fake_last_cookie(f, "RetrievePropertiesEx"), "Cookie: vmware_soap_session=" REST_ID);
        assert_string_equal(fake_last_cookie(f, "DELETE /api/session"), "vmware-api-session-id: " REST_ID);
    }
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        assert_int_equal(look_at_rest(f, bad[i], &err), ERR_PROTOCOL);
        assert_null(strstr(err.text, REST_ID));
    }
}

static void a_session_of_a_plugin_is_taken_with_quotes_and_without(void **state) {
    static const char *const given[] = {REST_ID, "\"" REST_ID "\""};
    struct fake *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(given); i++) {
        struct vim_client *client = fake_client(f);
        char *ticket = NULL;
        fake_raw(f, "POST /api/ui/vcenter/session/clone-ticket", 200, "{\"session_clone_ticket\":\"t1\"}", 0);
        assert_int_equal(vim_plugin_ticket(client, given[i], "6f1c9a2e-3b57-4d0a-9c11-0a1b2c3d4e5f", &ticket, NULL), 0);
        assert_string_equal(ticket, "t1");
        assert_string_equal(fake_last_cookie(f, "POST /api/ui/vcenter/session/clone-ticket"), "vmware-api-session-id: " REST_ID);
        secret_free(ticket);
        vim_client_free(client);
    }
}

/* ---- one session ---- */

static void session_with_all_members(void **state) {
    struct vim_user_session s = {0};
    struct err err = {0};
    assert_int_equal(
        peek(
            *state,
            OBJECT(PROP(
                "currentSession", "UserSession",
                SESSION(
                    "52a",
                    "VSPHERE.LOCAL\\\xc3\xbc\xe2\x82\xac&amp;") "<loginTime>2026-01-31T12:00:00.123456789Z</loginTime><lastActiveTime>not a time</lastActiveTime>"
                                                                "<locale>en</locale><messageLocale>en</messageLocale><extensionSession>true</extensionSession>"
                                                                "<ipAddress>10.0.0.1</ipAddress><userAgent>UA</userAgent><callCount>12345678901</callCount>"
                                                                "<somethingNew>x<deeper/></somethingNew>")),
            &s, &err),
        0);
    assert_string_equal(s.user_name, "VSPHERE.LOCAL\\\xc3\xbc\xe2\x82\xac&");
    assert_string_equal(s.login_time, "2026-01-31T12:00:00.123456789Z");
    assert_string_equal(s.ip_address, "10.0.0.1");
    assert_string_equal(s.user_agent, "UA");
    assert_true(s.is_extension);
    vim_user_session_done(&s);
    assert_int_equal(fake_count(*state, "RetrievePropertiesEx"), 1); /* one read and nothing else */
    assert_int_equal(fake_count(*state, "Logout"), 0);
    assert_int_equal(fake_count(*state, "Login"), 0);
    assert_string_equal(fake_last_cookie(*state, "RetrievePropertiesEx"), "Cookie: vmware_soap_session=" COOKIE);
    assert_int_equal(fake_count_all(*state), 3);
}

static void session_forms_of_the_wire(void **state) {
    struct fake *f = *state;
    /* prefixed xsi:type, attributes and types that are new, no order, members left out */
    expect_peek(
        f,
        "<returnval><objects xsi:type=\"ObjectContent\" x=\"y\"><obj type=\"SessionManager\" xsi:type=\"ManagedObjectReference\">sm</obj>"
        "<propSet><val xmlns:v=\"urn:vim25\" xsi:type=\"v:UserSession\">" SESSION(
            "52a", "u") "</val><name>currentSession</name></propSet>"
                        "</objects></returnval>",
        0);
    expect_peek(f, OBJECT(PROP("other", "BrandNewType", "<a/>") PROP("currentSession", "UserSession", SESSION("52a", "u"))), 0);
    expect_peek(f,
                OBJECT(PROP("e", "BrandNewEnum", "hibernating") PROP("n", "xsd:short", "7") PROP("b", "xsd:byte", "1") PROP(
                    "l", "ArrayOfBrandNew", "<BrandNew/>") PROP("currentSession", "UserSession", SESSION("52a", "u"))),
                0);
}

static void session_that_is_not_there(void **state) {
    struct fake *f = *state;
    expect_peek(f, OBJECT(""), ERR_CREDENTIALS); /* unset: a real vCenter */
    expect_peek(
        f,
        OBJECT(
            "<missingSet><path>currentSession</path><fault><fault xsi:type=\"NotAuthenticated\"><privilegeId>System.View</privilegeId>"
            "</fault><localizedMessage>m</localizedMessage></fault></missingSet>"),
        ERR_CREDENTIALS); /* a simulator */
    expect_peek(
        f,
        OBJECT(
            "<missingSet><path>currentSession</path><fault><fault xsi:type=\"NoPermission\"><privilegeId>System.View</privilegeId>"
            "</fault></fault></missingSet>"),
        ERR_UPSTREAM_DENIED);
    expect_peek(
        f,
        OBJECT(
            "<missingSet><path>currentSession</path><fault><fault xsi:type=\"BrandNewFault\"/><localizedMessage>m</localizedMessage>"
            "</fault></missingSet>"),
        ERR_UPSTREAM);
    fake_fault(f, "RetrievePropertiesEx", "<NotAuthenticatedFault xmlns=\"urn:vim25\" xsi:type=\"NotAuthenticated\"/>", "");
    expect_peek(f, NULL, ERR_CREDENTIALS);
}

static void session_key_is_refused_before_anything_is_sent(void **state) {
    struct vim_client *client = fake_client(*state);
    struct vim_user_session s = {0};
    struct err err = {0};
    assert_int_equal(vim_peek_session(client, "52b5395a-85b2-9ae1-7f7b-4d2b0f4d5b0e", &s, &err), ERR_UNPROCESSABLE);
    assert_non_null(strstr(err.text, "key"));
    assert_int_equal(vim_peek_session(client, "x\r\nCookie: y", &s, NULL), ERR_UNPROCESSABLE);
    assert_int_equal(fake_count_all(*state), 0);
    vim_client_free(client);
}

static void session_that_is_wrong(void **state) {
    struct fake *f = *state;
    expect_peek(f, "", ERR_PROTOCOL);             /* nothing at all */
    expect_peek(f, "<returnval/>", ERR_PROTOCOL); /* no object */
    expect_peek(f, OBJECT(PROP("currentSession", "xsd:string", "x")), ERR_PROTOCOL);
    expect_peek(f, OBJECT(PROP("currentSession", "BrandNew", "x")), ERR_PROTOCOL);
    expect_peek(f, OBJECT("<propSet><name>currentSession</name></propSet>"), ERR_PROTOCOL);
    expect_peek(f, OBJECT("<propSet><name>currentSession</name><val>no type</val></propSet>"), ERR_PROTOCOL);
    expect_peek(f, OBJECT("<propSet><name>currentSession</name><val xsi:nil=\"true\"/></propSet>"), ERR_PROTOCOL);
    expect_peek(f, OBJECT(PROP("currentSession", "UserSession", "")), ERR_PROTOCOL);
    expect_peek(f, OBJECT(PROP("currentSession", "UserSession", "<key>52a</key><userName></userName>")), ERR_PROTOCOL);
    expect_peek(f, OBJECT(PROP("currentSession", "UserSession", SESSION("52a", "u") "<callCount>many</callCount>")),
                ERR_PROTOCOL);
}

static void expect_raw(struct fake *f, long status, const char *bytes, size_t n, int code) {
    fake_raw(f, "RetrievePropertiesEx", status, bytes, n);
    expect_peek(f, NULL, code);
}

static void broken_envelopes(void **state) {
    struct fake *f = *state;
    struct strbuf b;
    strbuf_init(&b, 8U << 20);
    expect_raw(f, 200, "<html>Envelope of our hotel</html>", 0, ERR_PROTOCOL);
    expect_raw(f, 200, "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\"><e:Body><RetrievePropertiesExResp", 0,
               ERR_PROTOCOL);
    expect_raw(f, 200, "<Envelope/>", 0, ERR_PROTOCOL);
    expect_raw(f, 200, "<Envelope\0<x>", 13, ERR_PROTOCOL);
    expect_raw(f, 200, "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><Envelope>&b;</Envelope>", 0,
               ERR_PROTOCOL);
    strbuf_adds(&b, soap_open);
    strbuf_adds(&b, "<OtherResponse xmlns=\"urn:vim25\"/>");
    strbuf_adds(&b, soap_close);
    expect_raw(f, 200, b.data, b.len, ERR_PROTOCOL);
    /* a good answer, but with a status that says it is none */
    strbuf_reset(&b);
    strbuf_adds(&b, soap_open);
    strbuf_adds(&b, "<RetrievePropertiesExResponse xmlns=\"urn:vim25\">" OBJECT(
                        PROP("currentSession", "UserSession", SESSION("52a", "u"))));
    strbuf_adds(&b, "</RetrievePropertiesExResponse>");
    strbuf_adds(&b, soap_close);
    expect_raw(f, 200, b.data, b.len, 0);
    expect_raw(f, 403, b.data, b.len, ERR_PROTOCOL);
    expect_raw(f, 503, b.data, b.len, ERR_UNREACHABLE);
    strbuf_done(&b);
}

static void truncated_at_every_byte(void **state) {
    static const char inner[] = "<RetrievePropertiesExResponse xmlns=\"urn:vim25\">" OBJECT(
        PROP("currentSession", "UserSession", SESSION("52a", "u"))) "</RetrievePropertiesExResponse>";
    struct vim_client *client = fake_client(*state);
    struct strbuf b;
    strbuf_init(&b, 65536);
    strbuf_adds(&b, soap_open);
    strbuf_adds(&b, inner);
    strbuf_adds(&b, soap_close);
    for (size_t n = 1; n <= b.len; n++) {
        struct vim_user_session s = {0};
        int ret;
        fake_raw(*state, "RetrievePropertiesEx", 200, b.data, n);
        ret = vim_peek_session(client, COOKIE, &s, NULL);
        if (n == b.len)
            assert_int_equal(ret, 0);
        else
            assert_true(ret == ERR_PROTOCOL || (ret == 0 && n + sizeof(soap_close) > b.len));
        vim_user_session_done(&s);
    }
    strbuf_done(&b);
    vim_client_free(client);
}

/* A chain of fault causes is a type that nests without end; well-formed, so that only the limit refuses it. */
static void add_causes(struct strbuf *b, int n) {
    strbuf_reset(b);
    strbuf_adds(b, soap_open);
    strbuf_adds(b, "<e:Fault><faultcode>ServerFaultCode</faultcode><faultstring>deep</faultstring><detail>"
                   "<SystemErrorFault xmlns=\"urn:vim25\" xsi:type=\"SystemError\">");
    for (int i = 0; i < n; i++)
        strbuf_adds(b, "<faultCause><fault xsi:type=\"RuntimeFault\">");
    for (int i = 0; i < n; i++)
        strbuf_adds(b, "</fault></faultCause>");
    strbuf_adds(b, "<reason>r</reason></SystemErrorFault></detail></e:Fault>");
    strbuf_adds(b, soap_close);
}

static void too_deep(void **state) {
    struct vim_client *deep_client = fake_client_logged_in(*state);
    struct err err = {0};
    struct strbuf b;
    strbuf_init(&b, 8U << 20);
    add_causes(&b, 10);
    fake_raw(*state, "CurrentTime", 500, b.data, b.len);
    assert_int_equal(vim_keepalive(deep_client, &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, "SystemError"));
    add_causes(&b, 500);
    err_clear(&err);
    fake_raw(*state, "CurrentTime", 500, b.data, b.len);
    assert_int_equal(vim_keepalive(deep_client, &err), ERR_PROTOCOL);
    vim_client_free(deep_client);
    /* unknown elements are skipped without recursion */
    strbuf_reset(&b);
    strbuf_adds(&b, soap_open);
    strbuf_adds(&b, "<RetrievePropertiesExResponse xmlns=\"urn:vim25\"><returnval><unknown>");
    for (int i = 0; i < 20000; i++)
        strbuf_adds(&b, "<u>");
    for (int i = 0; i < 20000; i++)
        strbuf_adds(&b, "</u>");
    strbuf_adds(&b,
                "</unknown><objects><obj type=\"SessionManager\">sm</obj></objects></returnval></RetrievePropertiesExResponse>");
    strbuf_adds(&b, soap_close);
    fake_raw(*state, "RetrievePropertiesEx", 200, b.data, b.len);
    {
        struct vim_client *client = fake_client(*state);
        struct vim_user_session s = {0};
        int ret = vim_peek_session(client, COOKIE, &s, NULL);
        assert_true(ret == ERR_CREDENTIALS || ret == ERR_PROTOCOL); /* skipped or refused, but not a crash */
        vim_client_free(client);
    }
    strbuf_done(&b);
}

/* ---- lists ---- */

static void arrays_empty_or_missing(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct vim_session_list sessions = {0};
    struct vim_key_list keys = {0};
    static const char *const empty[] = {
        OBJECT(""),
        OBJECT(PROP("sessionList", "ArrayOfUserSession", "") PROP("extensionList", "ArrayOfExtension", "")),
        OBJECT("<propSet><name>sessionList</name><val xsi:type=\"ArrayOfUserSession\"/></propSet>"
               "<propSet><name>extensionList</name><val xsi:type=\"ArrayOfExtension\"/></propSet>"),
    };
    for (size_t i = 0; i < UNIT_COUNT(empty); i++) {
        fake_answer(*state, "RetrievePropertiesEx", empty[i]);
        assert_int_equal(vim_list_sessions(client, &sessions, NULL), 0);
        assert_int_equal(sessions.count, 0);
        vim_session_list_done(&sessions);
        fake_answer(*state, "RetrievePropertiesEx", empty[i]);
        assert_int_equal(vim_list_extension_keys(client, &keys, NULL), 0);
        assert_int_equal(keys.count, 0);
        vim_key_list_done(&keys);
    }
    vim_client_free(client);
}

static void session_list(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct vim_session_list list = {0};
    struct vim_user_session one = {0};
    struct err err = {0};
    const char *two = OBJECT(PROP(
        "sessionList", "ArrayOfUserSession",
        "<UserSession><key/></UserSession><UserSession><key>52c</key></UserSession>"
        "<UserSession xsi:type=\"UserSession\">" SESSION(
            "52a", "A") "<extensionSession>false</extensionSession></UserSession>"
                        "<UserSession>" SESSION("52b", "com.springpath") "<extensionSession>1</extensionSession></UserSession>"));
    fake_answer(*state, "RetrievePropertiesEx", two);
    assert_int_equal(vim_list_sessions(client, &list, &err), 0);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].key, "52a");
    assert_false(list.items[0].is_extension);
    assert_true(list.items[1].is_extension);
    vim_session_list_done(&list);
    fake_answer(*state, "RetrievePropertiesEx", two);
    assert_int_equal(vim_lookup_session(client, "52b", &one, &err), 0);
    assert_string_equal(one.user_name, "com.springpath");
    vim_user_session_done(&one);
    fake_answer(*state, "RetrievePropertiesEx", two);
    assert_int_equal(vim_lookup_session(client, "52", &one, &err), ERR_NOT_FOUND);
    err_clear(&err);
    fake_answer(*state, "RetrievePropertiesEx",
                OBJECT("<missingSet><path>sessionList</path><fault><fault xsi:type=\"NoPermission\"><object type=\"Folder\">"
                       "group-d1</object><privilegeId>Sessions.TerminateSession</privilegeId></fault></fault></missingSet>"));
    assert_int_equal(vim_list_sessions(client, &list, &err), ERR_UPSTREAM_DENIED);
    assert_non_null(strstr(err.text, "Sessions.TerminateSession"));
    assert_non_null(strstr(err.text, "group-d1"));
    fake_answer(
        *state, "RetrievePropertiesEx",
        OBJECT(PROP(
            "sessionList", "ArrayOfUserSession",
            "<UserSession><key>52d</key><userName>A&#x42;&#x1F680;&#10;C</userName><fullName> &#x0000042; y </fullName></UserSession>")));
    assert_int_equal(vim_list_sessions(client, &list, NULL), 0);
    assert_string_equal(list.items[0].user_name, "AB\xF0\x9F\x9A\x80 C");
    assert_string_equal(list.items[0].full_name, "B y");
    vim_session_list_done(&list);
    vim_client_free(client);
}

static void extension_keys(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct vim_key_list keys = {0};
    fake_answer(
        *state, "RetrievePropertiesEx",
        OBJECT(PROP(
            "extensionList", "ArrayOfExtension",
            "<Extension><key>com.springpath.sysmgmt.domain-c7</key><newMember/></Extension><Extension><company>no key</company></Extension>"
            "<Extension xsi:type=\"Extension\"><description xsi:type=\"BrandNewDescription\"><label>l</label></description><key>b</key></Extension>")));
    assert_int_equal(vim_list_extension_keys(client, &keys, NULL), 0);
    assert_int_equal(keys.count, 2);
    assert_string_equal(keys.items[0], "com.springpath.sysmgmt.domain-c7");
    assert_string_equal(keys.items[1], "b");
    vim_key_list_done(&keys);
    vim_client_free(client);
}

/* ---- faults, all through one harmless call ---- */

static void expect_fault(struct fake *f, const char *detail, int code, const char *text) {
    struct vim_client *client = fake_client_logged_in(f);
    struct err err = {0};
    int ret;
    fake_fault(f, "CurrentTime", detail, "Told by the server.");
    ret = vim_keepalive(client, &err);
    if (ret != code || !strstr(err.text, text))
        fail_msg("%s: %s \"%s\" instead of %s \"%s\"", detail, err_slug(ret), err.text, err_slug(code), text);
    assert_non_null(strstr(err.detail, "operation=CurrentTime"));
    vim_client_free(client);
}

#define FAULT(type, inner) "<" type "Fault xmlns=\"urn:vim25\" xsi:type=\"" type "\">" inner "</" type "Fault>"

static void known_faults(void **state) {
    struct fake *f = *state;
    expect_fault(
        f,
        FAULT("NoPermission",
              "<object type=\"Folder\">group-d1</object><privilegeId>Extension.Register</privilegeId>"
              "<missingPrivileges><entity type=\"Folder\">group-d1</entity><privilegeIds>a</privilegeIds></missingPrivileges>"),
        ERR_UPSTREAM_DENIED, "Extension.Register is missing on Folder group-d1");
    expect_fault(f, FAULT("NoPermission", ""), ERR_UPSTREAM_DENIED, "(not named)");
    expect_fault(f,
                 FAULT("NoPermission",
                       "<missingPrivileges><entity type=\"VirtualMachine\">vm-19</entity><privilegeIds>System.Read"
                       "</privilegeIds><privilegeIds>System.View</privilegeIds></missingPrivileges>"
                       "<missingPrivileges><entity type=\"Folder\">group-d1</entity></missingPrivileges>"),
                 ERR_UPSTREAM_DENIED, "System.Read is missing on VirtualMachine vm-19");
    expect_fault(f, FAULT("NoPermission", "<missingPrivileges><entity type=\"Folder\">group-d1</entity></missingPrivileges>"),
                 ERR_UPSTREAM_DENIED, "(not named) is missing on Folder group-d1");
    expect_fault(f, FAULT("RestrictedByAdministrator", "<details>no</details>"), ERR_UPSTREAM_DENIED,
                 "RestrictedByAdministrator");
    expect_fault(f, FAULT("ManagedObjectNotFound", "<obj type=\"ClusterComputeResource\">domain-c7</obj>"), ERR_NOT_FOUND,
                 "domain-c7");
    expect_fault(f, FAULT("NotFound", ""), ERR_NOT_FOUND, "NotFound");
    expect_fault(f, FAULT("AlreadyExists", "<name>n</name>"), ERR_EXISTS, "AlreadyExists (n)");
    expect_fault(f, FAULT("InvalidArgument", "<invalidProperty>extension.key</invalidProperty>"), ERR_UPSTREAM, "extension.key");
    expect_fault(f, FAULT("InvalidProperty", "<name>bogus.path</name>"), ERR_UPSTREAM, "bogus.path");
    expect_fault(f, FAULT("MethodNotFound", "<receiver type=\"X\">x</receiver><method>DoIt</method>"), ERR_UPSTREAM, "DoIt");
    expect_fault(f, FAULT("InvalidRequest", ""), ERR_UPSTREAM, "InvalidRequest: Told by the server.");
    expect_fault(f, FAULT("InvalidCollectorVersion", ""), ERR_UPSTREAM, "InvalidCollectorVersion");
    expect_fault(f, FAULT("NotSupported", ""), ERR_UPSTREAM, "NotSupported");
    expect_fault(f, FAULT("SystemError", "<reason>vpxd</reason>"), ERR_UPSTREAM, "vpxd");
    expect_fault(f, FAULT("RequestCanceled", ""), ERR_UPSTREAM, "RequestCanceled");
    expect_fault(f, FAULT("InvalidLogin", ""), ERR_CREDENTIALS, "credentials");
    expect_fault(f, FAULT("UserNotFound", "<principal>X\\y</principal><unresolved>true</unresolved>"), ERR_NOT_FOUND, "X\\y");
}

static void faults_in_other_forms(void **state) {
    struct fake *f = *state;
    /* only xsi:type counts; the element may have any name and prefix */
    expect_fault(f, "<RuntimeFaultFault xmlns=\"urn:vim25\" xsi:type=\"NotFound\"/>", ERR_NOT_FOUND, "NotFound");
    expect_fault(f, "<ns1:NotFoundFault xmlns:ns1=\"urn:vim25\" xsi:type=\"ns1:NotFound\"/>", ERR_NOT_FOUND, "NotFound");
    expect_fault(f, "<NotFoundFault xmlns=\"urn:vim25\"/>", ERR_NOT_FOUND, "NotFound");
    expect_fault(f, FAULT("LicenseRestricted", "<x/>"), ERR_UPSTREAM, "fault LicenseRestricted: Told by the server.");
    expect_fault(f, "<q:LicenseRestrictedFault xmlns:q=\"urn:vim25\" xsi:type=\"q:LicenseRestricted\"/>", ERR_UPSTREAM,
                 "LicenseRestricted");
    expect_fault(f, FAULT("NoPermission", "<somethingNew><a/></somethingNew><privilegeId>P</privilegeId>"), ERR_UPSTREAM_DENIED,
                 "privilege P ");
    expect_fault(f,
                 FAULT("SystemError",
                       "<faultCause><fault xsi:type=\"LicenseRestricted\"/><localizedMessage>c</localizedMessage></faultCause>"
                       "<faultMessage><key>k</key><arg><key>a</key><value xsi:type=\"xsd:string\">v</value></arg></faultMessage>"
                       "<reason>inner</reason>"),
                 ERR_UPSTREAM, "inner");
    expect_fault(f, "", ERR_UPSTREAM, "Told by the server.");
}

static void fault_with_http_200(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct err err = {0};
    struct strbuf b;
    strbuf_init(&b, 65536);
    strbuf_adds(&b, soap_open);
    strbuf_adds(
        &b, "<e:Fault><faultcode>ServerFaultCode</faultcode><faultstring/><detail>" FAULT("NotFound", "") "</detail></e:Fault>");
    strbuf_adds(&b, soap_close);
    fake_raw(*state, "CurrentTime", 200, b.data, b.len);
    assert_int_equal(vim_keepalive(client, &err), ERR_NOT_FOUND);
    /* a refused version has no detail */
    strbuf_reset(&b);
    strbuf_adds(&b, soap_open);
    strbuf_adds(
        &b,
        "<e:Fault><faultcode>VersionMismatchFaultCode</faultcode><faultstring>Unsupported version URI urn:vim25/9.9</faultstring></e:Fault>");
    strbuf_adds(&b, soap_close);
    err_clear(&err);
    fake_raw(*state, "CurrentTime", 500, b.data, b.len);
    assert_int_equal(vim_keepalive(client, &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, "API version"));
    strbuf_done(&b);
    vim_client_free(client);
}

/* ---- tickets, passwords, roles ---- */

static void clone_is_logged_out_at_once(void **state) {
    struct vim_client *client = fake_client(*state);
    struct vim_user_session s = {0};
    struct err err = {0};
    fake_set_cookie(*state, "clone-clone-clone");
    fake_answer(*state, "CloneSession", "<returnval>" SESSION("52c", "VSPHERE.LOCAL\\viewer") "</returnval>");
    assert_int_equal(vim_clone_session(client, "cst-VCT-1--tp-AB", &s, &err), 0);
    assert_string_equal(s.user_name, "VSPHERE.LOCAL\\viewer");
    assert_string_equal(fake_last_cookie(*state, "CloneSession"), "");
    assert_string_equal(fake_last_cookie(*state, "Logout"), "Cookie: vmware_soap_session=clone-clone-clone");
    assert_false(fake_has_session(client));
    vim_user_session_done(&s);
    /* that the clone could not be ended does not unsay whose it is */
    fake_answer(*state, "CloneSession", "<returnval>" SESSION("52c", "u") "</returnval>");
    fake_error(*state, "Logout", ERR_TIMEOUT);
    assert_int_equal(vim_clone_session(client, "t", &s, &err), 0);
    vim_user_session_done(&s);
    fake_fault(*state, "CloneSession", FAULT("InvalidLogin", ""), "");
    assert_int_equal(vim_clone_session(client, "t", &s, &err), ERR_CREDENTIALS);
    assert_non_null(strstr(err.remedy, "once"));
    assert_int_equal(fake_count(*state, "CloneSession"), 3); /* never repeated */
    err_clear(&err);
    assert_int_equal(vim_clone_session(client, "a\nb", &s, &err), ERR_UNPROCESSABLE);
    assert_null(strstr(err.text, "a\nb"));
    vim_client_free(client);
}

static void password_check_leaves_our_session_alone(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    struct vim_user_session s = {0};
    struct err err = {0};
    fake_set_cookie(*state, "person-person-person");
    assert_int_equal(vim_check_password(client, "a@b", "pw", &s, &err), 0);
    vim_user_session_done(&s);
    assert_string_equal(fake_last_cookie(*state, "Logout"), "Cookie: vmware_soap_session=person-person-person");
    fake_fault(*state, "Login", FAULT("InvalidLogin", ""), "");
    assert_int_equal(vim_check_password(client, "a@b", "pw", &s, &err), ERR_CREDENTIALS);
    err_clear(&err);
    fake_fault(*state, "Login", FAULT("NoPermission", "<object type=\"Folder\">group-d1</object>"), "");
    assert_int_equal(vim_check_password(client, "a@b", "pw", &s, &err), ERR_FORBIDDEN); /* theirs, not ours */
    assert_int_equal(vim_keepalive(client, NULL), 0);
    assert_non_null(strstr(fake_last_cookie(*state, "CurrentTime"), "0123456789"));
    vim_client_free(client);
}

static void small_calls(void **state) {
    struct vim_client *client = fake_client_logged_in(*state);
    bool is_active = false;
    struct err err = {0};
    int id = 0;
    const char *privileges[] = {"Sessions.ValidateSession"};
    fake_answer(*state, "SessionIsActive", "<returnval>true</returnval>");
    assert_int_equal(vim_session_is_active(client, "52a", "U", &is_active, &err), 0);
    assert_true(is_active);
    fake_answer(*state, "SessionIsActive", "<returnval>0</returnval>");
    assert_int_equal(vim_session_is_active(client, "52a", "U", &is_active, &err), 0);
    assert_false(is_active);
    fake_answer(*state, "TerminateSession", "");
    assert_int_equal(vim_terminate_session(client, "52a", &err), 0);
    fake_answer(*state, "AddAuthorizationRole", "<returnval>0</returnval>"); /* a simulator's answer: not believed */
    fake_answer(
        *state, "RetrievePropertiesEx",
        OBJECT(PROP(
            "roleList", "ArrayOfAuthorizationRole",
            "<AuthorizationRole><roleId>-1</roleId><system>true</system><name>Admin</name><info><label>a</label><summary>b</summary></info></AuthorizationRole>"
            "<AuthorizationRole><roleId>1001</roleId><name>KaaS</name><privilege>System.View</privilege></AuthorizationRole>")));
    assert_int_equal(vim_add_role(client, "KaaS", privileges, 1, &id, &err), 0);
    assert_int_equal(id, 1001);
    fake_answer(*state, "SetEntityPermissions", "");
    assert_int_equal(vim_grant_role(client, NULL, &(struct vim_grant){"VSPHERE.LOCAL\\kaas", id, true}, &err), 0);
    assert_non_null(strstr(fake_last(*state, "SetEntityPermissions"), "<roleId>1001</roleId><propagate>true<"));
    fake_answer(*state, "RetrievePropertiesEx", OBJECT(PROP("roleList", "ArrayOfAuthorizationRole", "")));
    assert_int_equal(vim_lookup_role(client, "KaaS", &id, &err), ERR_NOT_FOUND);
    vim_client_free(client);
}

/* ---- what would take for ever ---- */

/* An answer to `op` with `count` times the two texts around a number. */
static void make_answer(struct strbuf *b, const char *op, const char *begin, const char *const around[2], const char *end,
                        unsigned count) {
    strbuf_reset(b);
    strbuf_adds(b, soap_open);
    strbuf_addf(b, "<%sResponse xmlns=\"urn:vim25\"><returnval>%s", op, begin);
    for (unsigned i = 0; i < count; i++)
        strbuf_addf(b, "%s%u%s", around[0], i, around[1]);
    strbuf_addf(b, "%s</returnval></%sResponse>%s", end, op, soap_close);
}

static void too_many_attributes(void **state) {
    static const struct {
        const char *begin, *around[2], *end;
    } rows[] = {
        {"<x", {" a", "=\"\""}, "/>"},                /* of one element */
        {"", {"<x a", "=\"\"/>"}, ""},                /* of many */
        {"<x", {" a", ""}, "/>"},                     /* without values */
        {"<x", {" xmlns:a", "='urn:x'"}, "/>"},       /* declarations */
        {"<v:x", {" xmlns:a", "='urn:vim25'"}, "/>"}, /* of a prefix that we know */
    };
    _cleanup_strbuf_ struct strbuf b;
    strbuf_init(&b, 16U << 20);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct vim_user_session s = {0};
        struct err err = {0};
        make_answer(&b, "RetrievePropertiesEx", rows[i].begin, rows[i].around, rows[i].end, 60000);
        fake_raw(*state, "RetrievePropertiesEx", 200, b.data, b.len);
        assert_int_equal(peek(*state, NULL, &s, &err), ERR_PROTOCOL);
        assert_non_null(strstr(err.text, "to RetrievePropertiesEx has more attributes or namespaces"));
        assert_true(err.remedy[0]);
    }
}

/* A vCenter that answers at length, and what happens then. */
struct talker {
    struct http_transport transport;
    struct vim_client *client;
    struct strbuf text;
    bool is_cut_off;
};

static int talker_open(void *arg, const struct http_client_options *options, void **conn, struct err *err) {
    (void)options, (void)err;
    *conn = arg;
    return 0;
}

static int talker_run(void *conn, const struct http_exchange *x, struct strbuf *reply, long *status, struct err *err) {
    static const char versions[] =
        "<namespaces><namespace><name>urn:vim25</name><version>8.0.3.0</version></namespace></namespaces>";
    struct talker *t = conn;
    (void)err;
    *status = 200;
    if (x->body)
        strbuf_add(reply, t->text.data, t->text.len);
    else
        strbuf_adds(reply, versions);
    if (x->body && t->is_cut_off)
        vim_client_cancel(t->client);
    return 0;
}

static void talker_nothing(void *conn) {
    (void)conn;
}

static void expect_connect_to_talker(bool is_cut_off, long timeout_ms, int code, const char *word) {
    static const char *const around[2] = {"<x>", "</x>"};
    static const uint8_t pin[32];
    struct talker t = {.transport = {&t, talker_open, talker_run, talker_nothing, talker_nothing}, .is_cut_off = is_cut_off};
    const struct vim_options options = {
        .host = "vc", .port = 443, .pin_sha256 = pin, .transport = &t.transport, .call_timeout_ms = timeout_ms};
    struct err err = {0};
    strbuf_init(&t.text, 64U << 20);
    make_answer(&t.text, "RetrieveServiceContent", "", around, "", 1000000);
    assert_int_equal(vim_client_new(&options, &t.client, NULL), 0);
    assert_int_equal(vim_connect(t.client, NULL, &err), code);
    assert_non_null(strstr(err.text, word));
    vim_client_free(t.client);
    strbuf_done(&t.text);
}

static void decoding_comes_to_an_end(void **state) {
    (void)state;
    expect_connect_to_talker(true, 0, ERR_CANCELED, "stopping");
    expect_connect_to_talker(false, 1, ERR_TIMEOUT, "took too long to read");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(session_with_all_members),
        TEST(session_forms_of_the_wire),
        TEST(session_that_is_not_there),
        TEST(session_key_is_refused_before_anything_is_sent),
        TEST(session_that_is_wrong),
        TEST(broken_envelopes),
        TEST(truncated_at_every_byte),
        TEST(too_deep),
        TEST(too_many_attributes),
        cmocka_unit_test(decoding_comes_to_an_end),
        TEST(arrays_empty_or_missing),
        TEST(session_list),
        TEST(extension_keys),
        TEST(known_faults),
        TEST(faults_in_other_forms),
        TEST(fault_with_http_200),
        TEST(clone_is_logged_out_at_once),
        TEST(password_check_leaves_our_session_alone),
        TEST(small_calls),
        TEST(a_given_id_goes_out_as_the_vcenter_writes_it),
        TEST(the_id_of_rest_is_read_with_quotes_and_without),
        TEST(a_session_of_a_plugin_is_taken_with_quotes_and_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
