/* Bodies and answers by the table of a record's members. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "member_json.h"

#include "names.h"
#include "str.h"
#include "strbuf.h"
#include "uuid.h"

#define WORDS_BYTES_MAX 512
#define MEMBERS_MAX 48

static bool is_string(const struct member *m) {
    return m->kind == MEMBER_TEXT || m->kind == MEMBER_CHARS || m->words;
}

static struct json_member member_json_expect_one(const struct member *m, bool is_new) {
    const bool is_optional = m->flags & MEMBER_OPTIONAL;
    const enum json_kind kind = is_string(m) ? JSON_KIND_STRING : m->kind == MEMBER_BOOL ? JSON_KIND_BOOLEAN : JSON_KIND_INTEGER;
    return (struct json_member){m->json, kind, is_new && !is_optional, is_optional && m->kind == MEMBER_TEXT};
}

int member_json_check(json_t *object, const struct member_body *body, const char *where, struct err *err) {
    struct json_member all[MEMBERS_MAX];
    size_t count = 0;
    for (const struct member *m = body->members; m && m->name && count < MEMBERS_MAX - 1; m++)
        if (m->writers & body->writer)
            all[count++] = member_json_expect_one(m, body->is_new);
    for (const struct json_member *m = body->more; m && m->name && count < MEMBERS_MAX - 1; m++)
        all[count++] = *m;
    all[count] = (struct json_member){.name = NULL};
    return json_check(object, all, where, err);
}

static int member_json_refuse_word(const struct member *m, const char *word, struct err *err) {
    _cleanup_strbuf_ struct strbuf known;
    strbuf_init(&known, WORDS_BYTES_MAX);
    for (const char *const *item = m->words + m->first; *item; item++)
        strbuf_addf(&known, "%s%s", known.len ? ", " : "", *item);
    return err_set(err, ERR_UNPROCESSABLE, "the %s \"%.40s\" is none of %s", m->json, word, known.data);
}

/* Some texts are written in several ways, by Kubernetes and its nodes; one of them is kept. */
static const char *member_json_plain(const struct member *m, const char *text, char uuid[UUID_TEXT_BYTES]) {
    if (text && m->rule == RULE_KUBERNETES_VERSION && *text == 'v')
        return text + 1;
    return text && m->rule == RULE_VM_UUID && vm_uuid_parse(text, uuid) ? uuid : text;
}

static int read_member(const json_t *value, const struct member *m, void *record, struct err *err) {
    const int64_t number = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
    char uuid[UUID_TEXT_BYTES];
    if (m->kind == MEMBER_TEXT) {
        int rc = m->rule == RULE_NAME ? name_check(json_string_value(value), m->json, err) : 0;
        return rc ? rc : str_replace(member_text_at(m, record), member_json_plain(m, json_string_value(value), uuid), err);
    }
    if (m->words)
        return member_set_word(m, record, json_string_value(value)) && member_number(m, record) >= m->first
                   ? 0
                   : member_json_refuse_word(m, json_string_value(value), err);
    if (m->kind == MEMBER_UNSIGNED && (number < m->first || number > m->max))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"%s\" must be a number from %u to %ld", m->json, m->first, m->max);
    member_set_number(m, record, number);
    return 0;
}

int member_json_read(const json_t *object, const struct member *members, enum member_writer writer, void *record,
                     struct err *err) {
    for (const struct member *m = members; m->name; m++) {
        const json_t *value = m->writers & writer ? json_object_get(object, m->json) : NULL;
        int rc = value ? read_member(value, m, record, err) : 0;
        if (rc)
            return rc;
    }
    return 0;
}

static void member_json_show_member(json_t *object, const struct member *m, const void *record) {
    const char *text = member_text(m, record);
    const int64_t number = member_number(m, record);
    if (text)
        json_put_string(object, m->json, text);
    else if (is_string(m) || m->kind == MEMBER_PART || (m->kind == MEMBER_LONG && !number))
        json_put(object, m->json, json_null());
    else if (m->kind == MEMBER_LONG)
        json_put_time(object, m->json, number);
    else if (m->kind == MEMBER_BOOL)
        json_put_bool(object, m->json, number);
    else
        json_put_int(object, m->json, number);
}

json_t *member_json_show(const struct member *members, const void *record) {
    json_t *object = json_object();
    for (const struct member *m = members; m->name; m++)
        if (m->json && !(m->flags & MEMBER_HIDDEN))
            member_json_show_member(object, m, record);
    return object;
}
