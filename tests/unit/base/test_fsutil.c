/* Files: bounded reads, key-file checks, atomic writes. Works in a temporary folder of its own.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fsutil.h"
#include "str.h"

static char folder[] = "/tmp/kaas-fsutil-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of `name` in the folder, until the next call. */
static const char *in_folder(const char *name) {
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void assert_file(const char *path, const char *text, unsigned mode) {
    struct strbuf b;
    struct stat st;
    strbuf_init(&b, 100000);
    assert_int_equal(fs_read(path, &b, NULL), 0);
    assert_string_equal(b.data, text);
    strbuf_done(&b);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

static unsigned count_entries(void) {
    unsigned count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    (void)closedir(dir);
    return count;
}

static void writes_atomically(void **state) {
    const char *path = in_folder("atomic");
    mode_t before = umask(077);
    unsigned entries = count_entries();
    (void)state;
    assert_int_equal(fs_write_atomic(path, "one", 3, 0644, NULL), 0);
    assert_file(path, "one", 0644);
    assert_int_equal(fs_write_atomic(path, "two!", 4, 0600, NULL), 0);
    assert_file(path, "two!", 0600);
    assert_int_equal(count_entries(), entries + 1);
    (void)umask(before);
}

static void failed_writes_leave_nothing(void **state) {
    struct err err = {0};
    unsigned entries;
    (void)state;
    assert_int_equal(fs_write_atomic(in_folder("missing/x"), "x", 1, 0600, &err), ERR_IO);
    assert_non_null(strstr(err.text, "missing/x"));
    assert_int_equal(mkdir(in_folder("full"), 0700), 0);
    assert_int_equal(fs_write_new(in_folder("full/x"), "x", 1, 0600, NULL), 0);
    entries = count_entries();
    assert_int_equal(fs_write_atomic(in_folder("full"), "x", 1, 0600, NULL), ERR_IO);
    assert_int_equal(count_entries(), entries);
}

static void writes_new_only_once(void **state) {
    const char *path = in_folder("new");
    struct err err = {0};
    (void)state;
    assert_int_equal(fs_write_new(path, "k", 1, 0400, NULL), 0);
    assert_int_equal(fs_write_new(path, "other", 5, 0400, &err), ERR_EXISTS);
    assert_non_null(strstr(err.text, path));
    assert_file(path, "k", 0400);
    assert_int_equal(symlink("nowhere", in_folder("dangling")), 0);
    assert_int_equal(fs_write_new(in_folder("dangling"), "x", 1, 0600, NULL), ERR_EXISTS);
}

/* A name alone lies in the working folder; what cannot be written there is an error. */
static void finds_the_folder_of_a_name(void **state) {
    char before[512];
    struct err err = {0};
    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(fs_write_atomic("plain", "here", 4, 0600, NULL), 0);
    assert_file(in_folder("plain"), "here", 0600);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(fs_write_atomic("/proc/kaas-test", "x", 1, 0600, &err), ERR_IO);
    assert_int_equal(fs_write_new("/", "x", 1, 0600, NULL), ERR_EXISTS);
}

static void reads_are_bounded(void **state) {
    struct strbuf b;
    struct err err = {0};
    char text[9001];
    (void)state;
    memset(text, 'z', 9000);
    text[9000] = '\0';
    assert_int_equal(fs_write_new(in_folder("big"), text, 9000, 0600, NULL), 0);
    assert_file(in_folder("big"), text, 0600);
    strbuf_init(&b, 8999);
    assert_int_equal(fs_read(in_folder("big"), &b, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.text, "/big is larger than 8999 bytes"));
    strbuf_done(&b);
}

static void reads_only_files(void **state) {
    struct strbuf b;
    struct err err = {0};
    (void)state;
    strbuf_init(&b, 100);
    assert_int_equal(fs_read(in_folder("absent"), &b, &err), ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/absent"));
    assert_int_equal(fs_read(folder, &b, NULL), ERR_IO);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(fs_read(in_folder("pipe"), &b, NULL), ERR_IO); /* and does not hang */
    assert_int_equal(fs_read_secret(in_folder("pipe"), &b, NULL), ERR_CONFIG);
    strbuf_done(&b);
}

static void secrets_must_be_private(void **state) {
    static const mode_t open_modes[] = {0640, 0620, 0604, 0602, 0610, 0644, 0666};
    const char *path = in_folder("key");
    struct strbuf b;
    (void)state;
    strbuf_init_secret(&b, 100);
    assert_int_equal(fs_write_new(path, "sesame", 6, 0600, NULL), 0);
    for (size_t i = 0; i < UNIT_COUNT(open_modes); i++) {
        struct err err = {0};
        assert_int_equal(chmod(path, open_modes[i]), 0);
        assert_int_equal(fs_read_secret(path, &b, &err), ERR_CONFIG);
        assert_non_null(strstr(err.remedy, "chmod 0600"));
        assert_int_equal(b.len, 0);
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(fs_read_secret(path, &b, NULL), 0);
    assert_string_equal(b.data, "sesame");
    strbuf_done(&b);
    assert_int_equal(fs_read_secret(in_folder("absent"), &b, NULL), ERR_NOT_FOUND);
}

/* Giving a file away takes root, who may read it afterwards: so `kaasctl` of root reads what belongs to the user of the service. What
 * another user owns, nobody but root can open anyway. */
static void root_reads_secrets_of_others(void **state) {
    const char *path = in_folder("foreign");
    struct strbuf b;
    (void)state;
    strbuf_init_secret(&b, 100);
    assert_int_equal(fs_write_new(path, "x", 1, 0600, NULL), 0);
    if (chown(path, 54321, (gid_t)-1) != 0)
        assert_int_not_equal(geteuid(), 0);
    assert_int_equal(fs_read_secret(path, &b, NULL), 0);
    assert_string_equal(b.data, "x");
    strbuf_done(&b);
}

/* Whoever may not give a file away leaves the one of before, and nothing beside it. */
static void what_cannot_be_given_is_not_written(void **state) {
    const char *path = in_folder("given");
    unsigned entries;
    int status = -1;
    (void)state;
    assert_int_equal(fs_write_atomic(path, "old", 3, 0600, NULL), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    entries = count_entries();
    const pid_t child = fork();
    if (!child)
        _exit((geteuid() == 0 && setuid(54321)) ||
              fs_write_atomic_for(path, "new", 3, &(struct fs_owner){0, 0, 0600}, NULL) != ERR_IO);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(status, 0);
    assert_file(path, "old", 0600);
    assert_int_equal(count_entries(), entries);
}

static void makes_folders(void **state) {
    struct stat st;
    struct err err = {0};
    (void)state;
    assert_int_equal(fs_make_dirs(in_folder("a/b/c"), 0750, NULL), 0);
    assert_int_equal(fs_make_dirs(in_folder("a/b/c/"), 0700, NULL), 0);
    assert_int_equal(stat(in_folder("a/b/c"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(fs_write_new(in_folder("a/file"), "x", 1, 0600, NULL), 0);
    assert_int_equal(fs_make_dirs(in_folder("a/file/d"), 0700, &err), ERR_IO);
    assert_non_null(strstr(err.text, "a/file"));
}

/* As editors of Windows write them. */
static void texts_of_people(void **state) {
    static const struct {
        const char *bytes;
        size_t n;
        const char *text; /* NULL: refused */
    } rows[] = {
        {"\xef\xbb\xbf"
         "a: 1\n",
         8, "a: 1\n"},
        {"\xef\xbb\xbf", 3, ""},
        {"\xef\xbb", 2, "\xef\xbb"},
        {"a\xef\xbb\xbf", 4, "a\xef\xbb\xbf"},
        {"", 0, ""},
        {"\xff\xfe"
         "a\0",
         4, NULL},
        {"\xfe\xff\0a", 4, NULL},
    };
    const char *path = in_folder("text");
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        _cleanup_strbuf_ struct strbuf text, secret;
        strbuf_init(&text, 100);
        strbuf_init_secret(&secret, 100);
        assert_int_equal(fs_write_atomic(path, rows[i].bytes, rows[i].n, 0600, NULL), 0);
        assert_int_equal(fs_read_text(path, &text, &err), rows[i].text ? 0 : ERR_CONFIG);
        assert_int_equal(fs_read_secret_text(path, &secret, NULL), rows[i].text ? 0 : ERR_CONFIG);
        if (rows[i].text) {
            assert_string_equal(text.data, rows[i].text);
            assert_string_equal(secret.data, rows[i].text);
            assert_int_equal(text.len, strlen(rows[i].text));
        } else {
            assert_non_null(strstr(err.text, "UTF-16"));
            assert_non_null(strstr(err.remedy, "UTF-8"));
        }
    }
}

static int find(const char *path, bool is_to_the_end, mode_t folder_mode, char *text, size_t size, struct err *err) {
    struct fs_place place;
    char link[64];
    int rc = fs_place_find(path, &(struct fs_way){is_to_the_end, folder_mode}, &place, err);
    if (rc)
        return rc;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", place.folder);
    const ssize_t n = readlink(link, text, size - 1);
    assert_true(n > 0);
    (void)snprintf(text + n, size - (size_t)n, "/%s", place.name);
    fs_place_done(&place);
    return 0;
}

/* An administrator's own links lead where they lead, also by .. and over others. */
static void places_by_own_links(void **state) {
    static const struct {
        const char *path, *leads_to, *place;
        bool is_to_the_end;
    } rows[] = {
        {"own/file", "real", "real/file", false},  {"own/sub/file", "./real", "real/sub/file", false},
        {"own", "real/file", "own", false},        {"own", "real/file", "real/file", true},
        {"own", "missing", "missing", true},       {"own/../own/file", "real/sub/..", "real/file", false},
        {"own/file", "other", "real/file", false},
    };
    char text[512], wanted[512];
    (void)state;
    assert_int_equal(fs_make_dirs(in_folder("real/sub"), 0755, NULL), 0);
    assert_int_equal(fs_write_new(in_folder("real/file"), "x", 1, 0600, NULL), 0);
    assert_int_equal(symlink("real", in_folder("other")), 0);
    for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
        struct err err = {0};
        assert_int_equal(symlink(rows[i].leads_to, in_folder("own")), 0);
        assert_int_equal(find(in_folder(rows[i].path), rows[i].is_to_the_end, 0, text, sizeof(text), &err), 0);
        (void)snprintf(wanted, sizeof(wanted), "%s", in_folder(rows[i].place));
        assert_string_equal(text, wanted);
        assert_int_equal(unlink(in_folder("own")), 0);
    }
    (void)snprintf(wanted, sizeof(wanted), "%s", in_folder("real"));
    assert_int_equal(symlink(wanted, in_folder("absolute")), 0);
    assert_int_equal(find(in_folder("absolute/made/deep/file"), false, 0750, text, sizeof(text), NULL), 0);
    assert_string_equal(text, in_folder("real/made/deep/file"));
    assert_int_equal(find(in_folder("absolute/none/file"), false, 0, text, sizeof(text), NULL), ERR_NOT_FOUND);
    assert_int_equal(find(in_folder("real/file/x"), false, 0, text, sizeof(text), NULL), ERR_NOT_FOUND);
    assert_int_equal(symlink("round", in_folder("round")), 0);
    assert_int_equal(find(in_folder("round/x"), false, 0, text, sizeof(text), NULL), ERR_IO);
}

/* What a user who is not trusted puts into his folder, or gives to root otherwise, leads nowhere. Only root can play both. */
static void links_of_others_are_not_followed(void **state) {
    static const char *const paths[] = {"his/link/file", "his/link/sub/new", "his/last", "his/roots/file", "there/file"};
    char text[512];
    struct strbuf b;
    struct stat st;
    (void)state;
    strbuf_init(&b, 100);
    assert_int_equal(fs_make_dirs(in_folder("his/sub"), 0755, NULL), 0);
    if (chown(in_folder("his"), 54321, (gid_t)-1)) {
        assert_int_not_equal(geteuid(), 0);
        return;
    }
    assert_int_equal(symlink("../real", in_folder("his/link")), 0);
    assert_int_equal(symlink("../real/file", in_folder("his/last")), 0);
    assert_int_equal(symlink("../real", in_folder("his/roots")), 0);
    assert_int_equal(symlink("real", in_folder("there")), 0); /* in a folder that others may write to, as /tmp */
    assert_int_equal(lchown(in_folder("his/link"), 54321, (gid_t)-1), 0);
    assert_int_equal(lchown(in_folder("his/last"), 54321, (gid_t)-1), 0);
    assert_int_equal(lchown(in_folder("there"), 54321, (gid_t)-1), 0);
    for (size_t i = 0; i < UNIT_COUNT(paths); i++) {
        struct err err = {0};
        assert_int_equal(find(in_folder(paths[i]), true, 0755, text, sizeof(text), &err), ERR_CONFLICT);
        (void)snprintf(text, sizeof(text), "%.*s,", (int)(strcspn(paths[i] + 4, "/") + 4), paths[i]);
        if (!str_starts(paths[i], "there"))
            assert_non_null(strstr(err.text, text)); /* which link */
        assert_non_null(strstr(err.text, "54321"));
        assert_non_null(strstr(err.remedy, "remove the link"));
        assert_int_equal(fs_read_placed(in_folder(paths[i]), &b, &st, NULL), ERR_CONFLICT);
    }
    const struct fs_owner he = {54321, 54321, 0600};
    assert_int_equal(fs_write_atomic_for(in_folder("his/link/sub/new"), "x", 1, &he, NULL), ERR_CONFLICT);
    assert_int_not_equal(access(in_folder("real/sub/new"), F_OK), 0);
    assert_int_equal(fs_write_atomic_for(in_folder("his/last"), "his", 3, &he, NULL), 0); /* in place of the link */
    assert_file(in_folder("his/last"), "his", 0600);
    assert_file(in_folder("real/file"), "x", 0600);
    assert_int_equal(stat(in_folder("his/last"), &st), 0);
    assert_int_equal(st.st_uid, 54321);
    assert_int_equal(find(in_folder("his/sub/file"), false, 0, text, sizeof(text), NULL), 0);
    (void)snprintf(text, sizeof(text), "%s", in_folder("real/file"));
    assert_int_equal(link(text, in_folder("his/second")), 0);
    assert_int_equal(fs_read_placed(in_folder("his/second"), &b, &st, NULL), ERR_CONFLICT);
    assert_int_equal(fs_write_new(in_folder("his/file"), "his", 3, 0600, NULL), 0);
    assert_int_equal(fs_read_placed(in_folder("his/file"), &b, &st, NULL), 0);
    assert_string_equal(b.data, "his");
    strbuf_done(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_atomically),
        cmocka_unit_test(failed_writes_leave_nothing),
        cmocka_unit_test(writes_new_only_once),
        cmocka_unit_test(finds_the_folder_of_a_name),
        cmocka_unit_test(reads_are_bounded),
        cmocka_unit_test(reads_only_files),
        cmocka_unit_test(secrets_must_be_private),
        cmocka_unit_test(root_reads_secrets_of_others),
        cmocka_unit_test(makes_folders),
        cmocka_unit_test(texts_of_people),
        cmocka_unit_test(what_cannot_be_given_is_not_written),
        cmocka_unit_test(places_by_own_links),
        cmocka_unit_test(links_of_others_are_not_followed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
