/* Sets of groups by their ids. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "group_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

#include "limits.h"
#include "str.h"
#include "strbuf.h"

#define PACKED_BYTES_MAX (1024U * 1024U - 1U) /* what the database gives back at once */

void group_set_done(struct group_set *set) {
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        free(set->ids[i]);
    free(set->ids);
    *set = (struct group_set){0};
}

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "no memory for groups");
}

/* There is room for a power of two, so it is full when the number is one. */
static bool make_room(struct group_set *set) {
    char **ids;
    if (set->count & (set->count - 1))
        return true;
    ids = realloc(set->ids, (set->count ? 2 * set->count : 1) * sizeof(*ids));
    if (ids)
        set->ids = ids;
    return ids != NULL;
}

int group_set_add(struct group_set *set, const char *id, struct err *err) {
    char *copy;
    if (set->count >= KAAS_GROUPS_MAX)
        return err_set(err, ERR_TOO_LARGE, "somebody is a member of more than %u groups", KAAS_GROUPS_MAX);
    copy = str_dup(id);
    if (!copy || !make_room(set)) {
        free(copy);
        return no_memory(err);
    }
    set->ids[set->count++] = copy;
    return 0;
}

static int compare_ids(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void group_set_seal(struct group_set *set) {
    size_t kept = 0;
    if (!set->count)
        return;
    qsort(set->ids, set->count, sizeof(*set->ids), compare_ids);
    for (size_t i = 1; i < set->count; i++) {
        if (strcmp(set->ids[i], set->ids[kept]) != 0)
            set->ids[++kept] = set->ids[i];
        else
            free(set->ids[i]);
    }
    set->count = kept + 1;
}

bool group_set_has(const struct group_set *set, const char *id) {
    return set->count && bsearch(&id, set->ids, set->count, sizeof(*set->ids), compare_ids);
}

bool group_set_eq(const struct group_set *a, const struct group_set *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->ids[i], b->ids[i]) != 0)
            return false;
    return true;
}

int group_set_copy(const struct group_set *from, struct group_set *out, struct err *err) {
    struct group_set copy = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < from->count; i++)
        rc = group_set_add(&copy, from->ids[i], err);
    if (rc)
        group_set_done(&copy);
    else
        *out = copy;
    return rc;
}

/* -- as one text --------------------------------------------------------------------------------------------------------- */

static size_t shared_bytes(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

int group_set_pack(const struct group_set *set, char **out, struct err *err) {
    struct strbuf text;
    char *packed;
    if (!set->count) {
        *out = NULL;
        return 0;
    }
    strbuf_init(&text, PACKED_BYTES_MAX);
    for (size_t i = 0; i < set->count; i++) {
        size_t shared = i ? shared_bytes(set->ids[i - 1], set->ids[i]) : 0;
        strbuf_addf(&text, "%zu %s\n", shared, set->ids[i] + shared);
    }
    packed = strbuf_steal(&text);
    if (packed)
        *out = packed;
    return packed ? 0 : err_set(err, ERR_TOO_LARGE, "the names of the groups take too much room");
}

static int malformed(struct err *err) {
    return err_set(err, ERR_UNPROCESSABLE, "the groups of a session are not of the form in which they were written");
}

/* "<shared> <rest>" without the end of the line. */
static int unpack_line(char *line, struct group_set *set, struct err *err) {
    const char *before = set->count ? set->ids[set->count - 1] : "";
    char *rest = strchr(line, ' ');
    _cleanup_free_ char *id = NULL;
    int64_t shared;
    if (!rest)
        return malformed(err);
    *rest++ = '\0';
    if (!str_to_i64(line, 0, (int64_t)strlen(before), &shared) || !(shared || *rest))
        return malformed(err);
    id = str_format("%.*s%s", (int)shared, before, rest);
    return id ? group_set_add(set, id, err) : no_memory(err);
}

int group_set_unpack(const char *text, struct group_set *out, struct err *err) {
    struct group_set set = {0};
    _cleanup_free_ char *copy = str_dup(text ? text : "");
    int rc = copy ? 0 : no_memory(err);
    for (char *line = copy; !rc && *line;) {
        char *end = strchr(line, '\n');
        rc = end ? 0 : malformed(err);
        if (rc)
            break;
        *end = '\0';
        rc = unpack_line(line, &set, err);
        line = end + 1;
    }
    if (rc) {
        group_set_done(&set);
        return rc;
    }
    group_set_seal(&set);
    *out = set;
    return 0;
}
