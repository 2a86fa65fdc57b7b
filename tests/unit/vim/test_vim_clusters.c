/* Reading clusters once: what lies above them, pages, names, views that are given back.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "limits.h"
#include "strbuf.h"
#include "vim.h"
#include "vim_fake.h"
#include "vim_object.h"
#include "vim_told.h"

#define VIEW "<returnval type=\"ContainerView\">session[52a]52b</returnval>"
#define NAME(text) "<propSet><name>name</name><val xsi:type=\"xsd:string\">" text "</val></propSet>"
#define PARENT(type, id) \
    "<propSet><name>parent</name><val type=\"" type "\" xsi:type=\"ManagedObjectReference\">" id "</val></propSet>"
#define CLUSTER(id, name, parent) \
    "<objects><obj type=\"ClusterComputeResource\">" id "</obj>" NAME(name) PARENT("Folder", parent) "</objects>"
#define FOLDER(id, type, parent) "<objects><obj type=\"Folder\">" id "</obj>" PARENT(type, parent) "</objects>"
#define DATACENTER(id, name) "<objects><obj type=\"Datacenter\">" id "</obj>" NAME(name) "</objects>"

static int read_clusters(struct fake_world *w, struct told *told, struct err *err) {
    told_init(told);
    return vim_read_clusters(w->client, &told->events, err);
}

/* Exactly these lines were told. */
static void lines_are(struct told *told, const char *lines) {
    assert_string_equal(told->text.data, lines);
    told_done(told);
}

static void clusters_are_told_with_what_is_above(void **state) {
    struct fake_world *w = *state;
    struct told told;
    struct err err = {0};
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval>" CLUSTER("domain-c7", "HX-East", "group-h1") CLUSTER(
                    "domain-c70", "HX%2fWest %25 %5C", "group-h3") CLUSTER("domain-c8", "HX-East", "group-h9")
                    FOLDER("group-h1", "Datacenter", "datacenter-2") FOLDER("group-h3", "Folder", "group-h2") FOLDER(
                        "group-h2", "Datacenter",
                        "datacenter-3") "<objects><obj type=\"Folder\">group-d1</obj></objects>" DATACENTER("datacenter-2", "DC0")
                        DATACENTER("datacenter-3", "DC%2f1") "</returnval>");
    assert_int_equal(read_clusters(w, &told, &err), 0);
    assert_int_equal(fake_count(w->fake, "RetrievePropertiesEx"), 1);
    assert_int_equal(fake_count(w->fake, "DestroyView"), 1);
    assert_non_null(strstr(fake_last(w->fake, "DestroyView"), "session[52a]52b"));
    assert_non_null(strstr(fake_last(w->fake, "RetrievePropertiesEx"), "xsi:type=\"vim25:TraversalSpec\""));
    lines_are(&told, "restarted\n"
                     "enter cluster domain-c7 name=HX-East parent=group-h1\n"
                     "enter cluster domain-c70 name=HX/West % \\ parent=group-h3\n"
                     "enter cluster domain-c8 name=HX-East parent=group-h9\n"
                     "enter folder group-h1 parent=datacenter-2 unset=1\n"
                     "enter folder group-h3 parent=group-h2 unset=1\n"
                     "enter folder group-h2 parent=datacenter-3 unset=1\n"
                     "enter folder group-d1 unset=3\n"
                     "enter datacenter datacenter-2 name=DC0 unset=2\n"
                     "enter datacenter datacenter-3 name=DC/1 unset=2\n");
}

static void nothing_to_see(void **state) {
    struct fake_world *w = *state;
    struct told told;
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx", ""); /* no returnval at all when nothing matched */
    assert_int_equal(read_clusters(w, &told, NULL), 0);
    lines_are(&told, "restarted\n");
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx", "<returnval/>");
    assert_int_equal(read_clusters(w, &told, NULL), 0);
    lines_are(&told, "restarted\n");
}

static void strange_objects_spoil_nothing(void **state) {
    struct fake_world *w = *state;
    struct told told;
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(
        w->fake, "RetrievePropertiesEx",
        "<returnval><objects/><objects><obj>domain-c1</obj></objects><objects><obj type=\"HostSystem\">host-1</obj>" NAME(
            "h") "</objects>"
                 "<objects><obj type=\"ClusterComputeResource\"></obj>" NAME(
                     "empty id") "</objects>"
                                 /* name not readable */
                                 "<objects><obj type=\"ClusterComputeResource\">domain-c2</obj><missingSet><path>name</path><fault><fault xsi:type=\"NoPermission\">"
                                 "<privilegeId>System.Read</privilegeId></fault></fault></missingSet></objects>"
                                 /* name of a type that names do not have */
                                 "<objects><obj type=\"ClusterComputeResource\">domain-c3</obj><propSet><name>name</name><val xsi:type=\"xsd:int\">7</val></propSet></objects>" CLUSTER(
                                     "domain-c4", "good", "group-h1") CLUSTER("domain-c4", "twice", "group-h1")
                                     FOLDER("group-h1", "Folder", "group-h1") /* its own parent */
        "</returnval>");
    assert_int_equal(read_clusters(w, &told, NULL), 0);
    lines_are(&told, "restarted\n"
                     "enter host host-1 name=h unset=2\n"
                     "enter cluster domain-c2 unset=3\n"
                     "enter cluster domain-c3 unset=3\n"
                     "enter cluster domain-c4 name=good parent=group-h1\n"
                     "enter cluster domain-c4 name=twice parent=group-h1\n"
                     "enter folder group-h1 parent=group-h1 unset=1\n");
}

/* ---- pages ---- */

static void add_page(struct strbuf *b, const char *token, size_t from, size_t n) {
    strbuf_reset(b);
    strbuf_adds(b, "<returnval>");
    if (token)
        strbuf_addf(b, "<token>%s</token>", token);
    for (size_t i = from; i < from + n; i++)
        strbuf_addf(b, CLUSTER("domain-c%zu", "n", "group-h1"), i);
    strbuf_adds(b, "</returnval>");
}

static void all_pages_are_read(void **state) {
    struct fake_world *w = *state;
    struct told told;
    struct strbuf b;
    strbuf_init(&b, 1U << 20);
    fake_answer(w->fake, "CreateContainerView", VIEW);
    add_page(&b, "0", 0, 100); /* a token may be the text "0" */
    fake_answer(w->fake, "RetrievePropertiesEx", b.data);
    add_page(&b, "", 100, 100); /* or empty */
    fake_answer(w->fake, "ContinueRetrievePropertiesEx", b.data);
    add_page(&b, NULL, 200, 5);
    fake_answer(w->fake, "ContinueRetrievePropertiesEx", b.data);
    assert_int_equal(read_clusters(w, &told, NULL), 0);
    assert_non_null(strstr(told.text.data, "enter cluster domain-c204 name=n parent=group-h1\n"));
    assert_int_equal(fake_count(w->fake, "ContinueRetrievePropertiesEx"), 2);
    assert_int_equal(fake_count(w->fake, "CancelRetrievePropertiesEx"), 0);
    told_done(&told);
    strbuf_done(&b);
}

static void unread_pages_are_cancelled(void **state) {
    struct fake_world *w = *state;
    struct told told;
    struct err err = {0};
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx", "<returnval><token>t1</token>" CLUSTER("domain-c1", "n", "g") "</returnval>");
    fake_fault(w->fake, "ContinueRetrievePropertiesEx", "<SystemErrorFault xmlns=\"urn:vim25\" xsi:type=\"SystemError\"/>", "");
    fake_fault(w->fake, "CancelRetrievePropertiesEx", "<MethodNotFoundFault xmlns=\"urn:vim25\" xsi:type=\"MethodNotFound\"/>",
               "");
    assert_int_equal(read_clusters(w, &told, &err), ERR_UPSTREAM);
    assert_non_null(strstr(err.text, "SystemError"));
    assert_non_null(strstr(fake_last(w->fake, "CancelRetrievePropertiesEx"), "<token>t1</token>"));
    assert_int_equal(fake_count(w->fake, "DestroyView"), 1);
    told_done(&told);
}

static void endless_pages_have_an_end(void **state) {
    struct fake_world *w = *state;
    struct told told;
    struct strbuf b;
    strbuf_init(&b, 64U << 20);
    fake_answer(w->fake, "CreateContainerView", VIEW);
    strbuf_adds(&b, "<returnval><token>t</token>");
    for (int i = 0; i < 40001; i++)
        strbuf_adds(&b, "<objects/>");
    strbuf_adds(&b, "</returnval>");
    fake_answer(w->fake, "RetrievePropertiesEx", b.data);
    for (int i = 0; i < 4; i++)
        fake_answer(w->fake, "ContinueRetrievePropertiesEx", b.data);
    assert_int_equal(read_clusters(w, &told, NULL), ERR_TOO_LARGE);
    assert_int_equal(fake_count(w->fake, "CancelRetrievePropertiesEx"), 1);
    told_done(&told);
    strbuf_done(&b);
}

static void dead_connection_gets_no_cleaning_calls(void **state) {
    struct fake_world *w = *state;
    struct told told;
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx", "<returnval><token>t1</token></returnval>");
    fake_error(w->fake, "ContinueRetrievePropertiesEx", ERR_TIMEOUT);
    assert_int_equal(read_clusters(w, &told, NULL), ERR_TIMEOUT);
    assert_int_equal(fake_count(w->fake, "CancelRetrievePropertiesEx"), 0); /* each would wait for another time-out */
    assert_int_equal(fake_count(w->fake, "DestroyView"), 0);
    told_done(&told);
}

static void session_lost_between_pages(void **state) {
    struct fake_world *w = *state;
    struct told told;
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx", "<returnval><token>t1</token>" CLUSTER("domain-c1", "old", "g") "</returnval>");
    fake_fault(w->fake, "ContinueRetrievePropertiesEx",
               "<NotAuthenticatedFault xmlns=\"urn:vim25\" xsi:type=\"NotAuthenticated\"/>", "");
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx", "<returnval>" CLUSTER("domain-c2", "new", "g") "</returnval>");
    assert_int_equal(read_clusters(w, &told, NULL), 0);
    assert_int_equal(fake_count(w->fake, "Login"), 2);
    lines_are(&told, "restarted\nenter cluster domain-c1 name=old parent=g\n"
                     "restarted\nenter cluster domain-c2 name=new parent=g\n");
}

static void missing_view_is_an_error(void **state) {
    struct fake_world *w = *state;
    struct told told;
    fake_answer(w->fake, "CreateContainerView", "");
    assert_int_equal(read_clusters(w, &told, NULL), ERR_PROTOCOL);
    told_done(&told);
    fake_fault(w->fake, "CreateContainerView", "<InvalidArgumentFault xmlns=\"urn:vim25\" xsi:type=\"InvalidArgument\"/>", "");
    assert_int_equal(read_clusters(w, &told, NULL), ERR_UPSTREAM);
    assert_int_equal(fake_count(w->fake, "DestroyView"), 0);
    told_done(&told);
}

/* -- places that a permission may stand on ------------------------------------------------------------------------------------ */

#define PLACE(type, id, name, parent_type, parent) \
    "<objects><obj type=\"" type "\">" id "</obj>" NAME(name) PARENT(parent_type, parent) "</objects>"

static void places_have_paths_without_the_folder_of_hosts(void **state) {
    static const char *const paths[][2] = {
        {"datacenter-2", "DC0"},
        {"datacenter-3", "Sites/DC/1"},
        {"domain-c7", "DC0/HX-East"},
        {"domain-c8", "DC0/host/HX-West"},
        {"group-d9", "Sites"},
        {"group-h5", "DC0/host"},
        {"group-v6", "Sites/DC/1/vm/KaaS"},
    };
    struct fake_world *w = *state;
    struct vim_place_list list = {0};
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(
        w->fake, "RetrievePropertiesEx",
        "<returnval>" PLACE("ClusterComputeResource", "domain-c7", "HX-East", "Folder", "group-h1")
            PLACE("ClusterComputeResource", "domain-c8", "HX-West", "Folder", "group-h5")
                PLACE("Folder", "group-h1", "host", "Datacenter", "datacenter-2")
                    PLACE("Folder", "group-h5", "host", "Folder", "group-h1") /* one that somebody called so */
        PLACE("Folder", "group-v1", "vm", "Datacenter", "datacenter-3") PLACE("Folder", "group-v6", "KaaS", "Folder", "group-v1")
            PLACE("Datacenter", "datacenter-2", "DC0", "Folder", "group-d1") PLACE("Datacenter", "datacenter-3", "DC%2f1",
                                                                                   "Folder", "group-d9")
                PLACE("Folder", "group-d9", "Sites", "Folder", "group-d1") "<objects><obj type=\"Folder\">group-x</obj></objects>"
                                                                           "</returnval>");
    assert_int_equal(vim_list_places(w->client, &list, NULL), 0);
    assert_int_equal(list.count, UNIT_COUNT(paths));
    for (size_t i = 0; i < list.count; i++) {
        assert_string_equal(list.items[i].moref, paths[i][0]);
        assert_string_equal(list.items[i].path, paths[i][1]);
    }
    assert_string_equal(list.items[2].type, "ClusterComputeResource");
    assert_int_equal(fake_count(w->fake, "DestroyView"), 1);
    vim_place_list_done(&list);
}

static void a_circle_of_places_is_an_error(void **state) {
    struct fake_world *w = *state;
    struct vim_place_list list = {0};
    fake_answer(w->fake, "CreateContainerView", VIEW);
    fake_answer(w->fake, "RetrievePropertiesEx",
                "<returnval>" PLACE("Folder", "group-1", "a", "Folder", "group-2")
                    PLACE("Folder", "group-2", "b", "Folder", "group-1")
                        PLACE("Folder", "group-3", "host", "Datacenter", "group-3") "</returnval>");
    assert_int_equal(vim_list_places(w->client, &list, NULL), ERR_PROTOCOL);
    assert_null(list.items);
    vim_place_list_done(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_world_set_up, fake_world_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(clusters_are_told_with_what_is_above),
        TEST(nothing_to_see),
        TEST(places_have_paths_without_the_folder_of_hosts),
        TEST(a_circle_of_places_is_an_error),
        TEST(strange_objects_spoil_nothing),
        TEST(all_pages_are_read),
        TEST(unread_pages_are_cancelled),
        TEST(endless_pages_have_an_end),
        TEST(dead_connection_gets_no_cleaning_calls),
        TEST(session_lost_between_pages),

        TEST(missing_view_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
