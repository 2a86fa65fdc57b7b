/* Telling the service manager how we are. Layer 7 (daemon).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"

void notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    _cleanup_close_ int fd = -1;
    size_t n = path ? strlen(path) : 0;
    if (!n || n >= sizeof(to.sun_path))
        return;
    memcpy(to.sun_path, path, n);
    if (to.sun_path[0] == '@') /* the abstract name space */
        to.sun_path[0] = 0;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
}

void notify_status(const char *text) {
    char line[600];
    (void)snprintf(line, sizeof(line), "STATUS=%.500s", text);
    notify(line);
}
