/* A support bundle. Layer 4 (setup). SPDX-License-Identifier: GPL-3.0-or-later */
#include "support_bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fsutil.h"
#include "gzip.h"
#include "str.h"

#define CHUNK_BYTES 65536
#define LOOK_MS 20 /* at a program that has closed its output, and goes on */
#define GZIP_LEVEL 6

void support_bundle_done(struct support_bundle *bundle) {
    for (size_t i = 0; bundle && i < bundle->count; i++)
        strbuf_done(&bundle->parts[i].text);
    if (bundle)
        bundle->count = 0;
}

static struct support_part *support_bundle_part(struct support_bundle *bundle, const char *name) {
    for (size_t i = 0; i < bundle->count; i++)
        if (str_eq(bundle->parts[i].name, name))
            return &bundle->parts[i];
    if (bundle->count == SUPPORT_BUNDLE_PARTS_MAX)
        return NULL;
    struct support_part *part = &bundle->parts[bundle->count++];
    *part = (struct support_part){.name = name};
    strbuf_init(&part->text, 2 * SUPPORT_BUNDLE_PART_BYTES_MAX);
    return part;
}

int support_bundle_add(struct support_bundle *bundle, const struct support_text *text, struct err *err) {
    struct support_part *part = support_bundle_part(bundle, text->name);
    _cleanup_strbuf_ struct strbuf whole, masked;
    size_t places = 0;
    strbuf_init_secret(&whole, SUPPORT_BUNDLE_PART_BYTES_MAX + 65536);
    strbuf_init(&masked, 2 * SUPPORT_BUNDLE_PART_BYTES_MAX);
    strbuf_addf(&whole, "%s\n", text->heading);
    strbuf_add(&whole, text->text, text->n);
    if (text->n && text->text[text->n - 1] != '\n')
        strbuf_addc(&whole, '\n');
    if (text->failure)
        strbuf_addf(&whole, "[%s]\n", text->failure);
    strbuf_addc(&whole, '\n');
    int rc = part ? strbuf_check(&whole, text->name, err) : err_set(err, ERR_TOO_LARGE, "too many parts");
    rc = rc ? rc : masker_run(bundle->masker, whole.data, whole.len, &masked, &places, err);
    if (rc)
        return rc;
    strbuf_add(&part->text, masked.data, masked.len);
    part->masked += places;
    if (text->failure && !*part->failure)
        (void)snprintf(part->failure, sizeof(part->failure), "%s", text->failure);
    return strbuf_check(&part->text, text->name, err);
}

/* -- programs ------------------------------------------------------------------------------------------------------------------ */

/* A session of its own: it cannot ask at our terminal, and is ended with all that it has started. */
static int support_spawn(const char *const *argv, int to, pid_t *out) {
    char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", locale[] = "LC_ALL=C.UTF-8";
    char *environment[] = {path, locale, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
        failed = failed ? failed : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
        failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
        failed = failed ? failed : posix_spawnp(out, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, environment);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* What has been read and is beyond the limit goes, at the side that is not kept. */
static void support_cut(struct strbuf *text, bool is_end_kept, size_t max) {
    if (text->len <= max)
        return;
    if (is_end_kept) {
        const char *from = text->data + text->len - max, *line = memchr(from, '\n', max);
        from = line ? line + 1 : text->data + text->len;
        text->len = (size_t)(text->data + text->len - from);
        memmove(text->data, from, text->len);
    } else {
        const char *line = memrchr(text->data, '\n', max);
        text->len = line ? (size_t)(line - text->data) + 1 : 0;
    }
    text->data[text->len] = '\0';
}

/* Reads until the end of the output. False: it took too long. */
static bool support_read(int from, int64_t until_ms, bool is_end_kept, struct strbuf *out, bool *is_cut) {
    char chunk[CHUNK_BYTES];
    for (;;) {
        const int64_t left_ms = until_ms - clock_mono_ms();
        struct pollfd wait = {.fd = from, .events = POLLIN};
        if (left_ms <= 0)
            return false;
        const int ready = poll(&wait, 1, (int)left_ms);
        const ssize_t n = ready > 0 ? read(from, chunk, sizeof(chunk)) : -1;
        if (ready > 0 && !n)
            return true;
        if (n <= 0)
            continue;
        if (out->len > 2 * SUPPORT_BUNDLE_PART_BYTES_MAX) {
            support_cut(out, is_end_kept, SUPPORT_BUNDLE_PART_BYTES_MAX);
            *is_cut = true;
        }
        if (!*is_cut || is_end_kept)
            strbuf_add(out, chunk, (size_t)n);
    }
}

/* Waits for its end, or ends it. */
static int support_wait(pid_t pid, int64_t until_ms, bool is_in_time) {
    int status = 0;
    pid_t got;
    while (is_in_time && (got = waitpid(pid, &status, WNOHANG)) != pid) {
        is_in_time = (got == 0 || errno == EINTR) && clock_mono_ms() < until_ms;
        (void)poll(NULL, 0, LOOK_MS);
    }
    if (is_in_time)
        return status;
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return -1;
}

static const char *support_judge(const struct support_program *program, int status, bool is_cut,
                                 char reason[SUPPORT_BUNDLE_REASON_BYTES]) {
    if (status == -1)
        (void)snprintf(reason, SUPPORT_BUNDLE_REASON_BYTES, "it was ended after %u s", program->limit_s);
    else if (WIFSIGNALED(status))
        (void)snprintf(reason, SUPPORT_BUNDLE_REASON_BYTES, "it was ended by signal %d", WTERMSIG(status));
    else if (status)
        (void)snprintf(reason, SUPPORT_BUNDLE_REASON_BYTES, "exit status %d", WEXITSTATUS(status));
    else if (is_cut)
        (void)snprintf(reason, SUPPORT_BUNDLE_REASON_BYTES, "it said more: only the %s is here",
                       program->is_end_kept ? "end" : "beginning");
    else
        return NULL;
    return reason;
}

int support_bundle_run(struct support_bundle *bundle, const struct support_program *program, struct err *err) {
    const int64_t until_ms = clock_mono_ms() + program->limit_s * INT64_C(1000);
    _cleanup_strbuf_ struct strbuf said, heading;
    char reason[SUPPORT_BUNDLE_REASON_BYTES] = "";
    struct support_text text = {.name = program->name, .failure = reason};
    bool is_cut = false;
    int ends[2];
    pid_t pid = 0;
    strbuf_init_secret(&said, 3 * SUPPORT_BUNDLE_PART_BYTES_MAX);
    strbuf_init(&heading, 4096);
    strbuf_addf(&heading, "$ %s", program->heading ? program->heading : program->argv[0]);
    for (size_t i = 1; program->argv[i]; i++)
        if (!program->heading)
            strbuf_addf(&heading, " %s", program->argv[i]);
    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, ERR_IO, "%s cannot be run: %m", program->argv[0]);
    const int failed = support_spawn(program->argv, ends[1], &pid);
    (void)close(ends[1]);
    if (failed) {
        (void)snprintf(reason, sizeof(reason), "%.60s %s", program->argv[0],
                       failed == ENOENT ? "is not installed" : "cannot be run");
    } else {
        const bool is_in_time = support_read(ends[0], until_ms, program->is_end_kept, &said, &is_cut);
        const int status = support_wait(pid, until_ms, is_in_time);
        if (status == -1 && said.len &&
            said.data[said.len - 1] != '\n') /* half a line may be half a secret, which nobody would find */
            support_cut(&said, false, said.len - 1);
        is_cut = is_cut || said.len > SUPPORT_BUNDLE_PART_BYTES_MAX;
        support_cut(&said, program->is_end_kept, SUPPORT_BUNDLE_PART_BYTES_MAX);
        text.failure = support_judge(program, status, is_cut, reason);
    }
    (void)close(ends[0]);
    text.heading = heading.data;
    text.text = said.data;
    text.n = said.len;
    return support_bundle_add(bundle, &text, err);
}

/* -- the archive ----------------------------------------------------------------------------------------------------------------- */

#define TAR_BLOCK_BYTES 512U

/* POSIX.1-2017, pax, "ustar Interchange Format": numbers are octal, the checksum is the sum of all bytes with blanks in its own place. */
struct tar_head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2], user[32],
        group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_head) == TAR_BLOCK_BYTES, "a head is one block");

static void tar_add(struct strbuf *out, const char *folder, const struct support_part *part) {
    static const char zeros[TAR_BLOCK_BYTES];
    struct tar_head head = {
        .mode = "0000600", .uid = "0000000", .gid = "0000000", .type = '0', .magic = "ustar", .version = {'0', '0'}};
    unsigned sum = 0;
    (void)snprintf(head.name, sizeof(head.name), "%.60s/%.30s", folder, part->name);
    (void)snprintf(head.size, sizeof(head.size), "%011zo", part->text.len);
    (void)snprintf(head.mtime, sizeof(head.mtime), "%011llo", (unsigned long long)(clock_wall_ms() / 1000));
    memset(head.checksum, ' ', sizeof(head.checksum));
    for (size_t i = 0; i < sizeof(head); i++)
        sum += ((const unsigned char *)&head)[i];
    (void)snprintf(head.checksum, sizeof(head.checksum), "%06o", sum);
    strbuf_add(out, &head, sizeof(head));
    strbuf_add(out, part->text.data, part->text.len);
    strbuf_add(out, zeros, (TAR_BLOCK_BYTES - part->text.len % TAR_BLOCK_BYTES) % TAR_BLOCK_BYTES);
}

int support_bundle_write(const struct support_bundle *bundle, const char *folder, const char *path, size_t *bytes,
                         struct err *err) {
    static const char end[2 * TAR_BLOCK_BYTES];
    _cleanup_strbuf_ struct strbuf tar, packed;
    strbuf_init(&tar, SUPPORT_BUNDLE_BYTES_MAX);
    strbuf_init(&packed, SUPPORT_BUNDLE_BYTES_MAX);
    for (size_t i = 0; i < bundle->count; i++)
        tar_add(&tar, folder, &bundle->parts[i]);
    strbuf_add(&tar, end, sizeof(end));
    int rc = strbuf_check(&tar, "the bundle", err);
    rc = rc ? rc : gzip_pack(tar.data, tar.len, GZIP_LEVEL, &packed, err);
    rc = rc ? rc : fs_write_new(path, packed.data, packed.len, 0600, err);
    if (!rc)
        *bytes = packed.len;
    return rc;
}
