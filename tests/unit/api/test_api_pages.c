/* The web page in memory: which files, which types, which tags. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "pages.h"
#include "str.h"

static char folder[64];

static int set_up(void **state) {
    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s", "/tmp/kaas-pages-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static void put(const char *name, const char *text) {
    char path[300];
    FILE *file;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void drop(const char *name) {
    char path[300];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(remove(path), 0);
}

static int tear_down(void **state) {
    (void)state;
    return rmdir(folder);
}

static void types_go_by_the_ending(void **state) {
    static const struct {
        const char *name, *type;
    } files[] = {
        {"index.html", "text/html; charset=utf-8"},
        {"app-1a2b.js", "text/javascript; charset=utf-8"},
        {"app.css", "text/css; charset=utf-8"},
        {"logo.svg", "image/svg+xml"},
        {"logo.png", "image/png"},
        {"favicon.ico", "image/x-icon"},
        {"text.woff2", "font/woff2"},
    };
    struct pages *pages = NULL;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(files); i++)
        put(files[i].name, files[i].name);
    put("secrets.key", "not a page");
    put(".hidden.html", "not a page");
    put("README", "not a page");
    assert_int_equal(pages_load(folder, &pages, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(files); i++) {
        const struct page *page = pages_find(pages, files[i].name);
        size_t len = 0;
        assert_non_null(page);
        assert_string_equal(page->type, files[i].type);
        assert_true(page->etag[0] == '"');
        assert_string_equal(http_shared_data(page->body, &len), files[i].name);
        assert_int_equal(len, strlen(files[i].name));
        drop(files[i].name);
    }
    assert_string_not_equal(pages_find(pages, "app.css")->etag, pages_find(pages, "logo.svg")->etag);
    assert_null(pages_find(pages, "secrets.key"));
    assert_null(pages_find(pages, ".hidden.html"));
    assert_null(pages_find(pages, "README"));
    assert_null(pages_find(pages, "../index.html"));
    assert_null(pages_find(pages, ""));
    pages_free(pages);
    drop("secrets.key");
    drop(".hidden.html");
    drop("README");
}

static void hashed_names_are_found_by_their_stem(void **state) {
    static const char *const names[] = {"plugin-icons.png", "plugin-icons-BGLRF-B7.svg", "plugin-iconsx-1.png",
                                        "plugin-icons-BGLRF-B7.png"};
    struct pages *pages = NULL;
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++)
        put(names[i], "x");
    assert_int_equal(pages_load(folder, &pages, NULL), 0);
    assert_string_equal(pages_find_hashed(pages, "plugin-icons", ".png")->name, "plugin-icons-BGLRF-B7.png");
    assert_null(pages_find_hashed(pages, "index", ".js"));
    pages_free(pages);
    for (size_t i = 0; i < UNIT_COUNT(names); i++)
        drop(names[i]);
}

static void no_folder_is_no_page(void **state) {
    struct pages *pages = NULL;
    (void)state;
    assert_int_equal(pages_load(NULL, &pages, NULL), 0);
    assert_null(pages_find(pages, "index.html"));
    pages_free(pages);
    assert_int_equal(pages_load("/nowhere/at/all", &pages, NULL), 0);
    pages_free(pages);
    pages_free(NULL);
}

static void too_many_files_are_a_mistake(void **state) {
    struct pages *pages = NULL;
    struct err err = {0};
    char name[20];
    (void)state;
    for (int i = 0; i < 65; i++) {
        (void)snprintf(name, sizeof(name), "f%d.js", i);
        put(name, "x");
    }
    assert_int_equal(pages_load(folder, &pages, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, folder));
    assert_null(pages);
    for (int i = 0; i < 65; i++) {
        (void)snprintf(name, sizeof(name), "f%d.js", i);
        drop(name);
    }
}

static void a_file_that_is_no_folder_is_a_mistake(void **state) {
    struct pages *pages = NULL;
    char path[100];
    (void)state;
    put("x.html", "x");
    (void)snprintf(path, sizeof(path), "%s/x.html", folder);
    assert_int_equal(pages_load(path, &pages, NULL), ERR_CONFIG);
    drop("x.html");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static void digest_of(uint8_t out[32]) {
    struct pages *pages = NULL;
    assert_int_equal(pages_load(folder, &pages, NULL), 0);
    pages_digest(pages, out);
    pages_free(pages);
}

/* vCenter looks at a plug-in again only if its version differs, so each change of the page must show. */
static void the_digest_tells_every_change_whatever_the_order(void **state) {
    uint8_t one[32], two[32], three[32], again[32];
    (void)state;
    put("index.html", "a");
    put("app.js", "b");
    digest_of(one);
    put("app.js", "c");
    digest_of(two);
    drop("app.js");
    put("other.js", "c");
    digest_of(three);
    drop("index.html"); /* the folder may list them in another order now */
    drop("other.js");
    put("app.js", "b");
    put("index.html", "a");
    digest_of(again);
    drop("app.js");
    drop("index.html");
    assert_memory_equal(one, again, sizeof(one));
    assert_memory_not_equal(one, two, sizeof(one));
    assert_memory_not_equal(two, three, sizeof(two));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(types_go_by_the_ending),
        TEST(hashed_names_are_found_by_their_stem),
        TEST(no_folder_is_no_page),
        TEST(too_many_files_are_a_mistake),
        TEST(a_file_that_is_no_folder_is_a_mistake),
        TEST(the_digest_tells_every_change_whatever_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
