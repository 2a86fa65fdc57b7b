/* A look at the files and folders that options name. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fsutil.h"
#include "option_table.h"

#define FILE_BYTES_MAX (4U * 1024U * 1024U)

/* Whoever reads this is often not the user whose rights are short. */
int config_tell_user(struct err *err) {
    const struct passwd *user = getpwuid(geteuid());
    return err_remedy(err, "the user %s must be able to read it, and to enter its folders; kaasctl init mends what it made",
                      user ? user->pw_name : "of kaasd");
}

static int check_file(const char *path, bool is_secret, struct err *err) {
    _cleanup_strbuf_ struct strbuf text;
    strbuf_init_secret(&text, FILE_BYTES_MAX);
    int rc = is_secret ? fs_read_secret(path, &text, err) : fs_read(path, &text, err);
    if (rc == ERR_IO && eaccess(path, R_OK) && errno == EACCES)
        return config_tell_user(err);
    return !rc && !text.len ? err_set(err, ERR_CONFIG, "%s is empty", path) : rc;
}

static int check_directory(const char *path, bool may_be_missing, struct err *err) {
    struct stat st;
    if (stat(path, &st)) {
        const int why = errno;
        if (why == ENOENT && may_be_missing)
            return 0;
        (void)err_set(err, ERR_CONFIG, "folder %s: %s", path, strerror(why));
        return why == EACCES ? config_tell_user(err) : err_remedy(err, "make it, or name another one");
    }
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_CONFIG, "%s is no folder", path);
    if (eaccess(path, may_be_missing ? R_OK | W_OK | X_OK : R_OK | X_OK)) {
        (void)err_set(err, ERR_CONFIG, "folder %s cannot be used by this user: %s", path, strerror(errno));
        return config_tell_user(err);
    }
    return 0;
}

/* The file belongs to somebody else: only what stat can tell, and only if we get as far. */
static int check_closed(const char *path, struct err *err) {
    struct stat st;
    if (stat(path, &st) || !(st.st_mode & (S_IRWXG | S_IRWXO)))
        return 0;
    (void)err_set(err, ERR_CONFIG, "%s holds a secret but is open to group or others (mode %04o)", path,
                  (unsigned)(st.st_mode & 07777));
    return err_remedy(err, "run: chmod 0600 %s", path);
}

static int check_path(unsigned flags, const char *path, struct err *err) {
    if (flags & (OPTION_FILE | OPTION_SECRET_FILE))
        return check_file(path, flags & OPTION_SECRET_FILE, err);
    if (flags & (OPTION_DIRECTORY | OPTION_DIRECTORY_MADE))
        return check_directory(path, flags & OPTION_DIRECTORY_MADE, err);
    return flags & OPTION_SECRET_OF_OTHERS ? check_closed(path, err) : 0;
}

int config_check_files(const struct config *config, struct config_report *report, struct err *err) {
    for (size_t i = 0; i < option_table_daemon.count; i++) {
        const struct option *o = &option_table_daemon.rows[i];
        struct err fault = {0};
        if (o->kind != OPTION_PATH)
            continue;
        const char *path = *(char *const *)(const void *)((const char *)config + o->offset);
        if (*path && check_path(o->flags, path, &fault))
            config_report_fault(report, o->key, fault.text, fault.remedy);
    }
    return config_report_finish(report, "configuration", err);
}
