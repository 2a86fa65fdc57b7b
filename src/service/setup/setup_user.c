/* The user that kaasd runs as. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "setup_user.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

int setup_find_user(const char *name, struct setup_user *out, struct err *err) {
    const uid_t me = geteuid();
    const struct passwd *entry = name ? getpwnam(name) : me ? NULL : getpwnam(SETUP_USER);
    struct setup_user user;
    if (name && !entry)
        return err_set(err, ERR_NOT_FOUND, "there is no user \"%s\" on this machine", name);
    if (!entry)
        entry = getpwuid(me);
    user = (struct setup_user){.uid = entry ? entry->pw_uid : me, .gid = entry ? entry->pw_gid : getegid()};
    user.is_other = user.uid != me;
    (void)snprintf(user.name, sizeof(user.name), "%s", entry ? entry->pw_name : "");
    if (user.is_other && me)
        return err_set(err, ERR_FORBIDDEN, "only root can do this for the user %s", user.name);
    *out = user;
    return 0;
}

int setup_become_user(const struct setup_user *user, struct err *err) {
    if (initgroups(user->name, user->gid) || setgid(user->gid) || setuid(user->uid))
        return err_set(err, ERR_IO, "cannot become the user %s: %m", user->name);
    return 0;
}
