/* Who runs a process, for the audit log. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "os_user.h"

#include <pwd.h>
#include <stdint.h>

#include "cleanup.h"
#include "fsutil.h"
#include "str.h"

#define LOGIN_UID_NONE UINT32_MAX
#define PASSWD_BYTES 4096

static char *describe_uid(uid_t uid) {
    char bytes[PASSWD_BYTES];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(uid, &entry, bytes, sizeof(bytes), &found) || !found)
        return str_format("uid %u", (unsigned)uid);
    return str_format("%s (uid %u)", found->pw_name, (unsigned)uid);
}

/* As whom the session began in which the process runs, whatever it has become since; LOGIN_UID_NONE: not known. */
static uid_t read_login_uid(pid_t pid) {
    _cleanup_free_ char *path = str_format("/proc/%d/loginuid", (int)pid);
    _cleanup_strbuf_ struct strbuf text;
    int64_t uid = LOGIN_UID_NONE;
    strbuf_init(&text, 32);
    if (pid > 0 && path && !fs_read(path, &text, NULL))
        (void)str_to_i64(text.data, 0, LOGIN_UID_NONE, &uid);
    return (uid_t)uid;
}

char *os_user_describe(uid_t uid, pid_t pid) {
    const uid_t login_uid = read_login_uid(pid);
    _cleanup_free_ char *user = describe_uid(uid), *person = NULL;
    if (login_uid == LOGIN_UID_NONE || login_uid == uid)
        return STEAL(user);
    person = describe_uid(login_uid);
    return str_format("%s as %s", person ? person : "", user ? user : "");
}
