/* Options of kaasctl: tables, order, mistakes. Layer under test: cli.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "cli_opt.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* what a row of a table does not say is not there */

static const struct opt_spec common[] = {{"config", "FILE", "", OPT_OWN, NULL, 'c', false, false},
                                         {"user", "NAME", "", OPT_OWN, NULL, 'u', false, false},
                                         {"yes", NULL, "", OPT_OWN, NULL, 'y', false, false},
                                         {0}};
static const struct opt_spec own[] = {{"user", "NAME", "", OPT_OWN, NULL, 'u', false, false},
                                      {"label", "KEY=VALUE", "", OPT_OWN, NULL, 0, true, false, .also = "tag"},
                                      {"take-over", NULL, "", OPT_OWN, NULL, 0, false, false},
                                      {0}};

static const struct opt_tables before = {.common = common};
static const struct opt_tables behind = {.own = own, .common = common};

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static int read_all(const char *const *argv, struct opt_given *given, struct err *err) {
    size_t used = 0, count = 0;
    while (argv[count])
        count++;
    assert_int_equal(opt_init(given, count, NULL), 0);
    return opt_read(&behind, argv, false, &used, given, err);
}

static void assert_fault(const char *const *argv, const char *text, const char *remedy) {
    struct opt_given given;
    struct err err = {0};
    assert_int_equal(read_all(argv, &given, &err), ERR_INVALID);
    assert_non_null(strstr(err.text, text));
    assert_string_equal(err.remedy, remedy);
    opt_done(&given);
}

static void takes_all_spellings(void **state) {
    struct opt_given given;
    (void)state;
    assert_int_equal(
        read_all(ARGV("one", "--label=a=1", "-c", "f1", "--take-over", "--label", "b=", "-ux", "-y", "two", "--", "--three"),
                 &given, NULL),
        0);
    assert_string_equal(opt_get_common(&given, "config"), "f1");
    assert_string_equal(opt_get(&given, "user"), "x");
    assert_string_equal(opt_get(&given, "take-over"), "");
    assert_non_null(opt_get_common(&given, "yes"));
    assert_null(opt_get_common(&given, "user"));
    assert_int_equal(given.words_count, 3);
    assert_string_equal(given.words[0], "one");
    assert_string_equal(given.words[2], "--three");
    opt_done(&given);
}

static void repeats_where_allowed(void **state) {
    struct opt_given given;
    size_t at = 0;
    (void)state;
    assert_int_equal(read_all(ARGV("--label", "a=1", "--tag", "b=2"), &given, NULL), 0);
    assert_string_equal(opt_next(&given, "label", &at), "a=1");
    assert_string_equal(opt_next(&given, "label", &at), "b=2");
    assert_null(opt_next(&given, "label", &at));
    opt_done(&given);
    assert_fault(ARGV("--user", "a", "--user", "b"), "--user is given twice", "");
}

/* The same name means the sign-on before the command and the vCenter's account behind it. */
static void own_options_win_behind_the_command(void **state) {
    struct opt_given given;
    size_t used = 0;
    const char *const *argv = ARGV("-u", "signer", "register", "--user", "account");
    (void)state;
    assert_int_equal(opt_init(&given, 5, NULL), 0);
    assert_int_equal(opt_read(&before, argv, true, &used, &given, NULL), 0);
    assert_int_equal(used, 2);
    assert_int_equal(opt_read(&behind, argv + 3, false, &used, &given, NULL), 0);
    assert_string_equal(opt_get_common(&given, "user"), "signer");
    assert_string_equal(opt_get(&given, "user"), "account");
    opt_done(&given);
}

static void a_dash_alone_is_a_word(void **state) {
    struct opt_given given;
    (void)state;
    assert_int_equal(read_all(ARGV("-", "--user", "-"), &given, NULL), 0);
    assert_string_equal(given.words[0], "-");
    assert_string_equal(opt_get(&given, "user"), "-");
    opt_done(&given);
}

static void names_mistakes(void **state) {
    (void)state;
    assert_fault(ARGV("--lable", "x"), "unknown option --lable", "did you mean --label?");
    assert_fault(ARGV("--lables", "x"), "unknown option --lables", "did you mean --label?");
    assert_fault(ARGV("--take_over"), "unknown option --take_over", "did you mean --take-over?");
    assert_fault(ARGV("--wholly-other"), "unknown option --wholly-other", "--help lists the options");
    assert_fault(ARGV("-x"), "unknown option -x", "");
    assert_fault(ARGV("--user"), "needs a value: --user NAME", "");
    assert_fault(ARGV("-u"), "needs a value: --user NAME", "");
    assert_fault(ARGV("--take-over=yes"), "takes no value", "");
}

static void passwords_are_no_arguments(void **state) {
    struct opt_given given;
    struct err err = {0};
    (void)state;
    assert_int_equal(read_all(ARGV("--password=geheim"), &given, &err), ERR_INVALID);
    assert_null(strstr(err.text, "geheim"));
    assert_non_null(strstr(err.remedy, "--password-file"));
    opt_done(&given);
    memset(&err, 0, sizeof(err));
    assert_int_equal(read_all(ARGV("--password", "geheim"), &given, &err), ERR_INVALID);
    assert_null(strstr(err.text, "geheim"));
    opt_done(&given);
}

static const char *nearest(const char *typed, const char *const *words) {
    struct cli_near near;
    cli_near_init(&near, typed);
    for (; *words; words++)
        cli_near_try(&near, *words);
    return near.best;
}

static void finds_the_near_word(void **state) {
    static const char *const words[] = {"vcenter", "cluster", "hx", "health", "init", "db", NULL};
    (void)state;
    assert_string_equal(nearest("vcentre", words), "vcenter");
    assert_string_equal(nearest("clusters", words), "cluster");
    assert_string_equal(nearest("heal", words), "health"); /* the beginning of a word */
    assert_string_equal(nearest("inti", words), "init");
    assert_null(nearest("zzzzzz", words));
    assert_null(nearest("x1", (const char *const[]){"db", NULL}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_all_spellings),
        cmocka_unit_test(repeats_where_allowed),
        cmocka_unit_test(own_options_win_behind_the_command),
        cmocka_unit_test(a_dash_alone_is_a_word),
        cmocka_unit_test(names_mistakes),
        cmocka_unit_test(passwords_are_no_arguments),
        cmocka_unit_test(finds_the_near_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
