/* Copies, comparison and check of records by the table of their members. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "member.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "names.h"
#include "str.h"
#include "strbuf.h"

#define TEXTS_MAX 24        /* of one record */
#define ERROR_BYTES_MAX 512 /* names and words in an error */

const char *words_get(const char *const *words, unsigned value, const char *fallback) {
    for (unsigned i = 0; words[i]; i++)
        if (i == value)
            return words[i];
    return fallback;
}

bool words_find(const char *const *words, const char *word, unsigned *out) {
    for (unsigned i = 0; word && words[i]; i++)
        if (str_eq(words[i], word)) {
            *out = i;
            return true;
        }
    return false;
}

/* -- one member ------------------------------------------------------------------------------------------------------------ */

static const void *member_at(const struct member *m, const void *record) {
    return (const char *)record + m->offset;
}

static void *writable_at(const struct member *m, void *record) {
    return (char *)record + m->offset;
}

char **member_text_at(const struct member *m, void *record) {
    return writable_at(m, record);
}

char *member_chars_at(const struct member *m, void *record) {
    return writable_at(m, record);
}

const char *member_text(const struct member *m, const void *record) {
    const char *chars;
    if (m->kind == MEMBER_TEXT)
        return *(char *const *)member_at(m, record);
    if (m->kind == MEMBER_UNSIGNED && m->words)
        return words_get(m->words, *(const unsigned *)member_at(m, record), NULL);
    chars = m->kind == MEMBER_CHARS ? member_at(m, record) : NULL;
    return chars && *chars ? chars : NULL;
}

int64_t member_number(const struct member *m, const void *record) {
    switch (m->kind) {
    case MEMBER_INT: return *(const int *)member_at(m, record);
    case MEMBER_UNSIGNED: return *(const unsigned *)member_at(m, record);
    case MEMBER_LONG: return *(const int64_t *)member_at(m, record);
    case MEMBER_BOOL: return *(const bool *)member_at(m, record);
    case MEMBER_TEXT:
    case MEMBER_CHARS:
    case MEMBER_PART: break;
    }
    return 0;
}

void member_set_number(const struct member *m, void *record, int64_t number) {
    void *to = writable_at(m, record);
    switch (m->kind) {
    case MEMBER_INT: *(int *)to = (int)number; break;
    case MEMBER_UNSIGNED: *(unsigned *)to = (unsigned)number; break;
    case MEMBER_LONG: *(int64_t *)to = number; break;
    case MEMBER_BOOL: *(bool *)to = number != 0; break;
    case MEMBER_TEXT:
    case MEMBER_CHARS:
    case MEMBER_PART: break;
    }
}

bool member_set_word(const struct member *m, void *record, const char *word) {
    return words_find(m->words, word, writable_at(m, record));
}

/* -- memory ---------------------------------------------------------------------------------------------------------------- */

void members_done(const struct member *members, void *record, size_t bytes) {
    if (!record)
        return;
    for (const struct member *m = members; m->name; m++)
        if (m->kind == MEMBER_TEXT)
            free(*member_text_at(m, record));
    memset(record, 0, bytes);
}

int members_copy(const struct member *members, const void *from, void *out, size_t bytes, const char *noun, struct err *err) {
    char *texts[TEXTS_MAX] = {NULL};
    bool is_complete = true;
    size_t count = 0;
    for (const struct member *m = members; m->name; m++) {
        const char *text = member_text(m, from);
        if (m->kind != MEMBER_TEXT)
            continue;
        assert(count < TEXTS_MAX);
        texts[count] = str_dup(text);
        is_complete = is_complete && (texts[count] || !text);
        count++;
    }
    if (!is_complete) {
        for (size_t i = 0; i < TEXTS_MAX; i++)
            free(texts[i]);
        return err_set(err, ERR_NOMEM, "no memory for %s", noun);
    }
    memcpy(out, from, bytes);
    count = 0;
    for (const struct member *m = members; m->name; m++)
        if (m->kind == MEMBER_TEXT)
            *member_text_at(m, out) = texts[count++];
    return 0;
}

size_t members_text_bytes(const struct member *members, const void *record) {
    size_t bytes = 0;
    for (const struct member *m = members; m->name; m++) {
        const char *text = m->kind == MEMBER_TEXT ? member_text(m, record) : NULL;
        bytes += text ? strlen(text) + 1 : 0;
    }
    return bytes;
}

char *members_put_texts(const struct member *members, void *record, char *to) {
    for (const struct member *m = members; m->name; m++) {
        const char *text = m->kind == MEMBER_TEXT ? member_text(m, record) : NULL;
        const size_t bytes = text ? strlen(text) + 1 : 0;
        if (!text)
            continue;
        memcpy(to, text, bytes);
        *member_text_at(m, record) = to;
        to += bytes;
    }
    return to;
}

/* -- comparison ------------------------------------------------------------------------------------------------------------ */

static bool member_is_same(const struct member *m, const void *a, const void *b) {
    if (m->kind != MEMBER_TEXT && m->kind != MEMBER_CHARS)
        return member_number(m, a) == member_number(m, b);
    return m->flags & MEMBER_NOCASE ? str_eq_nocase(member_text(m, a), member_text(m, b))
                                    : str_eq(member_text(m, a), member_text(m, b));
}

bool members_same(const struct member *members, const void *a, const void *b) {
    for (const struct member *m = members; m->name; m++)
        if (!(m->flags & MEMBER_ASIDE) && !member_is_same(m, a, b))
            return false;
    return true;
}

const char *members_difference(const struct member *members, const void *a, const void *b) {
    for (const struct member *m = members; m->name; m++)
        if (!(m->flags & MEMBER_MOVING) && !member_is_same(m, a, b))
            return m->name;
    return NULL;
}

static const char *member_shown(const struct member *m, const void *record) {
    const char *text = member_text(m, record);
    if (m->kind == MEMBER_BOOL)
        return member_number(m, record) ? "yes" : "no";
    return text ? text : "-";
}

void members_describe(const struct member *members, const void *before, const void *after, struct strbuf *out) {
    for (const struct member *m = members; m->name; m++)
        if (m->writers & BY_ADMIN && !member_is_same(m, before, after)) {
            strbuf_addf(out, "%s%s", out->len ? "; " : "", m->json);
            if (!str_eq(m->json, "description")) /* people's own words stand in no log */
                strbuf_addf(out, ": %s -> %s", member_shown(m, before), member_shown(m, after));
        }
}

/* -- rules ----------------------------------------------------------------------------------------------------------------- */

static int member_refuse_word(const struct member *m, const char *what, struct err *err) {
    _cleanup_strbuf_ struct strbuf known;
    strbuf_init(&known, ERROR_BYTES_MAX);
    for (const char *const *word = m->words; *word; word++)
        strbuf_addf(&known, "%s%s", word == m->words ? "" : ", ", *word);
    return err_set(err, ERR_UNPROCESSABLE, "%s is none of %s", what, known.data);
}

static int member_check_word(const struct member *m, const void *record, const char *what, struct err *err) {
    const char *word = member_text(m, record);
    unsigned found;
    return words_find(m->words, word, &found) ? 0 : member_refuse_word(m, what, err);
}

static int member_check_count(const struct member *m, const void *record, const char *what, struct err *err) {
    const int64_t count = member_number(m, record);
    if (count >= -1 && count <= m->max)
        return 0;
    return err_set(err, ERR_UNPROCESSABLE, "%s is %d; it must lie between 0 and %ld", what, (int)count, m->max);
}

static int member_check_member(const struct member *m, const void *record, const char *what, struct err *err) {
    const char *text = member_text(m, record);
    if (!text && m->flags & MEMBER_OPTIONAL)
        return 0;
    switch (m->rule) {
    case RULE_NONE: break;
    case RULE_UUID: return name_check_uuid(text, what, err);
    case RULE_VM_UUID: return name_check_vm_uuid(text, what, err);
    case RULE_NAME: return name_check_kept(text, what, err);
    case RULE_TEXT: return name_check_text(text, (size_t)m->max, what, err);
    case RULE_LINE: return name_check_line(text, (size_t)m->max, what, err);
    case RULE_KUBERNETES_VERSION: return name_check_kubernetes_version(text, err);
    case RULE_HTTPS_URL: return name_check_https_url(text, what, err);
    case RULE_IP_ADDRESS: return name_check_ip_address(text, what, err);
    case RULE_COUNT: return member_check_count(m, record, what, err);
    case RULE_WORD: return member_check_word(m, record, what, err);
    }
    return 0;
}

int members_check(const struct member *members, const void *record, const char *where, struct err *err) {
    char what[80];
    for (const struct member *m = members; m->name; m++) {
        int rc;
        (void)snprintf(what, sizeof(what), "%s%s", where, m->json ? m->json : m->name);
        rc = member_check_member(m, record, what, err);
        if (rc)
            return rc;
    }
    return 0;
}
