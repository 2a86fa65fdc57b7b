/* The file of logins: where it is, who may read it, what is refused.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_logins.h"
#include "str.h"

static uid_t awkward_uid; /* who we are, in place of ourselves */

uid_t geteuid(void) {
    return awkward_uid ? awkward_uid : getuid();
}

struct place {
    char root[64];
    char folder[96];
    char file[128];
};

static int set_up(void **state) {
    struct place *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    (void)snprintf(p->root, sizeof(p->root), "/tmp/kaas-logins-XXXXXX");
    assert_non_null(mkdtemp(p->root));
    (void)snprintf(p->folder, sizeof(p->folder), "%s/kaas", p->root);
    (void)snprintf(p->file, sizeof(p->file), "%s/logins.json", p->folder);
    assert_int_equal(setenv("XDG_CONFIG_HOME", p->root, 1), 0);
    awkward_uid = 0;
    *state = p;
    return 0;
}

static void remove_all(const char *folder) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
    (void)rmdir(folder);
}

static int tear_down(void **state) {
    struct place *p = *state;
    (void)unlink(p->folder); /* a link in its place */
    remove_all(p->folder);
    remove_all(p->root);
    free(p);
    return 0;
}

static json_t *login_at(const char *server, const char *token) {
    return json_pack("{s:s, s:s, s:s}", "server", server, "user", "anna", "token", token);
}

static void write_one(const char *token) {
    _cleanup_logins_ json_t *logins = json_array();
    _cleanup_close_ int lock = -1;
    logins_put_first(logins, login_at("https://a:443", token));
    assert_int_equal(logins_lock(&lock, NULL), 0);
    assert_int_equal(logins_write(logins, NULL), 0);
}

static int read_code(void) {
    json_t *logins = NULL;
    int rc = logins_read(&logins, NULL);
    logins_free(logins);
    return rc;
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void test_only_the_owner_may_read(void **state) {
    const struct place *p = *state;
    _cleanup_logins_ json_t *logins = NULL;
    const mode_t before = umask(0);
    write_one("secret");
    (void)umask(before);
    assert_int_equal(mode_of(p->folder), 0700);
    assert_int_equal(mode_of(p->file), 0600);
    assert_int_equal(logins_read(&logins, NULL), 0);
    assert_string_equal(json_get_string(logins_find(logins, "https://a:443"), "token"), "secret");
}

static void test_it_is_replaced_in_one_step(void **state) {
    const struct place *p = *state;
    char old[64] = "";
    struct stat before, after;
    FILE *f;
    write_one("first");
    assert_non_null(f = fopen(p->file, "r"));
    assert_int_equal(fstat(fileno(f), &before), 0);
    write_one("second");
    assert_int_equal(stat(p->file, &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_non_null(fgets(old, sizeof(old), f)); /* who reads goes on reading the old one, whole */
    assert_non_null(strstr(old, "first"));
    (void)fclose(f);
}

static void test_what_others_may_read_is_refused(void **state) {
    const struct place *p = *state;
    write_one("secret");
    assert_int_equal(chmod(p->file, 0640), 0);
    assert_int_equal(read_code(), ERR_CONFIG);
    assert_int_equal(chmod(p->file, 0600), 0);
    assert_int_equal(read_code(), 0);
    assert_int_equal(chmod(p->folder, 0755), 0);
    assert_int_equal(read_code(), ERR_CONFIG);
}

static void test_what_is_of_somebody_else_is_refused(void **state) {
    (void)state;
    int fd = -1;
    write_one("secret");
    awkward_uid = getuid() + 1;
    assert_int_equal(read_code(), ERR_CONFIG);
    assert_int_equal(logins_lock(&fd, NULL), ERR_CONFIG);
}

static void test_links_are_refused(void **state) {
    const struct place *p = *state;
    char elsewhere[96];
    int fd = -1;
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", p->root);
    write_one("secret");
    assert_int_equal(rename(p->file, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, p->file), 0);
    assert_int_equal(read_code(), ERR_CONFIG);
    remove_all(p->folder);
    assert_int_equal(symlink("/tmp", p->folder), 0);
    assert_int_equal(read_code(), ERR_CONFIG);
    assert_int_equal(logins_lock(&fd, NULL), ERR_CONFIG);
}

static void test_one_at_a_time(void **state) {
    const struct place *p = *state;
    _cleanup_close_ int lock = -1, other = -1;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/lock", p->folder);
    assert_int_equal(logins_lock(&lock, NULL), 0);
    other = open(path, O_RDWR | O_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    (void)close(lock);
    lock = -1;
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
}

static void test_none_left_is_no_file(void **state) {
    const struct place *p = *state;
    _cleanup_logins_ json_t *logins = NULL;
    write_one("secret");
    assert_int_equal(logins_read(&logins, NULL), 0);
    logins_remove(logins, "https://a:443");
    assert_int_equal(logins_write(logins, NULL), 0);
    assert_int_equal(access(p->file, F_OK), -1);
    assert_int_equal(read_code(), 0);
}

static void test_what_is_no_file_of_logins(void **state) {
    const struct place *p = *state;
    FILE *f;
    write_one("secret");
    assert_non_null(f = fopen(p->file, "w"));
    assert_true(fputs("{\"server\": 1}", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(read_code(), ERR_JSON);
}

static void test_a_login_is_of_one_server(void **state) {
    static const char *const same[] = {"https://KaaS.example.com", "https://kaas.example.com/", "https://kaas.example.com:443"};
    static const char *const others[] = {"https://kaas.example.com:8443", "https://kaas.example.com.evil:443",
                                         "https://kaas:443"};
    _cleanup_logins_ json_t *logins = json_array();
    (void)state;
    logins_put_first(logins, login_at("https://kaas.example.com:443", "t"));
    for (size_t i = 0; i < UNIT_COUNT(same); i++) {
        _cleanup_free_ char *origin = logins_origin(same[i]), *other = logins_origin(others[i]);
        assert_non_null(logins_find(logins, origin));
        assert_non_null(other);
        assert_null(logins_find(logins, other));
    }
    assert_null(logins_origin("http://kaas.example.com"));
    _cleanup_free_ char *v6 = logins_origin("https://[::1]:8443");
    assert_string_equal(v6, "https://[::1]:8443");
}

static void test_the_last_is_first(void **state) {
    _cleanup_logins_ json_t *logins = json_array();
    (void)state;
    logins_put_first(logins, login_at("https://a:443", "1"));
    logins_put_first(logins, login_at("https://b:443", "2"));
    logins_put_first(logins, login_at("https://a:443", "3"));
    assert_int_equal(json_array_size(logins), 2);
    assert_string_equal(json_get_string(json_array_get(logins, 0), "token"), "3");
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(test_only_the_owner_may_read),
        IN_A_FOLDER(test_it_is_replaced_in_one_step),
        IN_A_FOLDER(test_what_others_may_read_is_refused),
        IN_A_FOLDER(test_what_is_of_somebody_else_is_refused),
        IN_A_FOLDER(test_links_are_refused),
        IN_A_FOLDER(test_one_at_a_time),
        IN_A_FOLDER(test_none_left_is_no_file),
        IN_A_FOLDER(test_what_is_no_file_of_logins),
        cmocka_unit_test(test_a_login_is_of_one_server),
        cmocka_unit_test(test_the_last_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
