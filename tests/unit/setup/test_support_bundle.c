/* Unit tests of src/setup/support/support_bundle: programs that do not do as they should. SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "fsutil.h"
#include "gzip.h"
#include "str.h"
#include "support_bundle.h"

static struct masker *masker;

static int make_masker(void **state) {
    (void)state;
    return masker_new(&masker, NULL);
}

static int free_masker(void **state) {
    (void)state;
    masker_free(masker);
    return 0;
}

/* The only part of a bundle, after this command of the shell. */
static struct support_part run(const char *command, bool is_end_kept, unsigned limit_s) {
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct support_bundle bundle = {.masker = masker};
    const struct support_program program = {
        .name = "part", .heading = "run", .argv = argv, .limit_s = limit_s, .is_end_kept = is_end_kept};
    assert_int_equal(support_bundle_run(&bundle, &program, NULL), 0);
    assert_int_equal(bundle.count, 1);
    return bundle.parts[0];
}

static void says(const char *command, const char *text, const char *failure) {
    struct support_part part = run(command, false, 30);
    assert_string_equal(part.text.data, text);
    assert_string_equal(part.failure, failure);
    strbuf_done(&part.text);
}

static void test_what_it_says(void **state) {
    (void)state;
    says("echo out; echo password=hunter2 >&2", "$ run\nout\npassword=<masked>\n\n", "");
    says("printf half; exit 3", "$ run\nhalf\n[exit status 3]\n\n", "exit status 3");
    says("kill -9 $$", "$ run\n[it was ended by signal 9]\n\n", "it was ended by signal 9");
    says("cat; tty; env | grep HOME", "$ run\nnot a tty\n[exit status 1]\n\n", "exit status 1"); /* no input, no environment */
}

static void test_a_program_that_is_not_there(void **state) {
    static const char *const argv[] = {"no-such-program", "--option", NULL};
    struct support_bundle bundle = {.masker = masker};
    (void)state;
    assert_int_equal(support_bundle_run(&bundle, &(struct support_program){.name = "part", .argv = argv, .limit_s = 1}, NULL), 0);
    assert_string_equal(bundle.parts[0].text.data, "$ no-such-program --option\n[no-such-program is not installed]\n\n");
    support_bundle_done(&bundle);
}

/* With all that it has started, which holds its output; what was said of a line that did not end is left out. */
static void test_it_is_ended_in_time(void **state) {
    const int64_t begun_ms = clock_mono_ms();
    struct support_part part = run("echo whole; printf half; sleep 600 & sleep 600", false, 1);
    (void)state;
    assert_in_range(clock_mono_ms() - begun_ms, 1000, 60000);
    assert_string_equal(part.text.data, "$ run\nwhole\n[it was ended after 1 s]\n\n");
    strbuf_done(&part.text);
}

static void test_only_so_much_of_it(void **state) {
    static const char command[] = "echo first; yes 'a line in between' | head -c 30000000; echo; echo last";
    struct support_part part = run(command, false, 60);
    (void)state;
    assert_in_range(part.text.len, SUPPORT_BUNDLE_PART_BYTES_MAX - 100, SUPPORT_BUNDLE_PART_BYTES_MAX + 100);
    assert_true(str_starts(part.text.data, "$ run\nfirst\na line"));
    assert_true(str_ends(part.text.data, "in between\n[it said more: only the beginning is here]\n\n"));
    strbuf_done(&part.text);
    part = run(command, true, 60);
    assert_in_range(part.text.len, SUPPORT_BUNDLE_PART_BYTES_MAX - 100, SUPPORT_BUNDLE_PART_BYTES_MAX + 100);
    assert_true(str_starts(part.text.data, "$ run\na line in between\n"));
    assert_true(str_ends(part.text.data, "\nlast\n[it said more: only the end is here]\n\n"));
    strbuf_done(&part.text);
}

static void test_the_archive(void **state) {
    struct support_bundle bundle = {.masker = masker};
    _cleanup_strbuf_ struct strbuf packed, tar;
    char folder[] = "/tmp/kaas-bundle-XXXXXX";
    size_t bytes = 0;
    struct stat st;
    (void)state;
    assert_non_null(mkdtemp(folder));
    _cleanup_free_ char *path = str_format("%s/x.tar.gz", folder);
    strbuf_init(&packed, 65536);
    strbuf_init(&tar, 65536);
    assert_int_equal(support_bundle_add(&bundle, &(struct support_text){"a.txt", "A", "text", 4, NULL}, NULL), 0);
    assert_int_equal(support_bundle_add(&bundle, &(struct support_text){"a.txt", "B", "more\n", 5, NULL}, NULL), 0);
    assert_int_equal(support_bundle_write(&bundle, "top", path, &bytes, NULL), 0);
    assert_int_equal(support_bundle_write(&bundle, "top", path, &bytes, NULL), ERR_EXISTS);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, bytes);
    assert_int_equal(fs_read(path, &packed, NULL), 0);
    assert_int_equal(gzip_unpack(packed.data, packed.len, &tar, NULL), 0);
    assert_int_equal(tar.len, 4 * 512); /* head, text, two empty blocks */
    assert_string_equal(tar.data, "top/a.txt");
    assert_string_equal(tar.data + 512, "A\ntext\n\nB\nmore\n\n");
    support_bundle_done(&bundle);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_says),        cmocka_unit_test(test_a_program_that_is_not_there),
        cmocka_unit_test(test_it_is_ended_in_time), cmocka_unit_test(test_only_so_much_of_it),
        cmocka_unit_test(test_the_archive),
    };
    return cmocka_run_group_tests(tests, make_masker, free_masker);
}
