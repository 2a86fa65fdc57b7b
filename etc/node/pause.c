/* The process that holds the namespaces of a pod: it waits until it is told to end, and takes in the processes that lost their parent.
   Not in it: anything else. Of the node image alone; linked into no program of ours. SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int number) {
    (void)number;
    _exit(EXIT_SUCCESS);
}

static void take_in(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
}

int main(void) {
    const struct sigaction ends = {.sa_handler = end}, takes_in = {.sa_handler = take_in, .sa_flags = SA_NOCLDSTOP};
    if (sigaction(SIGINT, &ends, NULL) || sigaction(SIGTERM, &ends, NULL) || sigaction(SIGCHLD, &takes_in, NULL)) {
        return EXIT_FAILURE;
    }
    for (;;) {
        pause();
    }
}
