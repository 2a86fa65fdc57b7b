/* Names the user who runs a process, for the audit log. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <sys/types.h>

/* "anna (uid 1000)", or "uid 1000" where the host knows no name; "anna (uid 1000) as root (uid 0)" for a process of `uid` whose login session
 * (proc_pid_loginuid(5)) began as somebody else, as under sudo. `pid` 0: not known. Caller frees; NULL without memory. */
char *os_user_describe(uid_t uid, pid_t pid);
