/* Answers of kaasd as YAML. Layer 7 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * No library: what is hard about YAML is reading it. JSON is YAML, so that whatever is not plain is written as in JSON. */
#include "cli_yaml.h"

#include <stdlib.h>
#include <string.h>

#include "cli_table.h"
#include "str.h"

#define INDENT 2

static void yaml_pad(struct strbuf *out, size_t n) {
    while (n--)
        strbuf_addc(out, ' ');
}

/* Words that are no text to one of the versions of YAML; "y" and "n" are texts to most readers, and not to some. */
static bool yaml_is_word(const char *text) {
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (str_eq_nocase(text, words[i]))
            return true;
    return false;
}

/* What begins with a letter or a slash and has nothing of the syntax in it; numbers, times and what is empty are not so. */
static bool yaml_is_plain(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", more[] = "0123456789._/@+-";
    size_t n = strlen(text);
    if (!n || (!strchr(letters, *text) && *text != '/') || text[n - 1] == ' ' || yaml_is_word(text))
        return false;
    for (size_t i = 1; i < n; i++)
        if (!strchr(letters, text[i]) && !strchr(more, text[i]) && text[i] != ' ' &&
            (text[i] != ':' || text[i + 1] == ' ' || !text[i + 1]))
            return false;
    return true;
}

/* Lines that stand for themselves, each with its end: the text of a certificate. */
static bool yaml_is_block(const char *text) {
    size_t n = strlen(text);
    if (n < 2 || *text == ' ' || *text == '\n' || text[n - 1] != '\n' || text[n - 2] == '\n')
        return false;
    for (; *text; text++)
        if (*text != '\n' && (*text < ' ' || *text > '~'))
            return false;
    return true;
}

static void yaml_put_block(struct strbuf *out, const char *text, size_t indent) {
    strbuf_adds(out, "|\n");
    for (const char *end; *text; text = end + 1) {
        end = strchr(text, '\n');
        if (end != text)
            yaml_pad(out, indent);
        strbuf_add(out, text, (size_t)(end - text) + 1);
    }
}

/* JSON leaves DEL, C1 and the marks of writing direction as they are, but terminals act on them, and YAML breaks lines at some. */
static void yaml_put_quoted(struct strbuf *out, const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    if (!text) {
        out->failed = ERR_NOMEM;
        return;
    }
    text_add_json(out, text, strlen(text));
    free(text);
}

static void yaml_put_text(struct strbuf *out, const char *text) {
    json_t *value = yaml_is_plain(text) ? NULL : json_string(text);
    if (value)
        yaml_put_quoted(out, value);
    else
        strbuf_adds(out, text);
    json_decref(value);
}

static void yaml_put(struct strbuf *out, const json_t *value, size_t indent);

/* Behind "key:": what has lines of its own begins on the next. */
static void yaml_put_member(struct strbuf *out, const json_t *value, size_t indent) {
    if (json_object_size(value) || json_array_size(value)) {
        strbuf_addc(out, '\n');
        yaml_pad(out, indent + INDENT);
    } else {
        strbuf_addc(out, ' ');
    }
    yaml_put(out, value, indent + INDENT);
}

/* What has no lines of its own but a text of several. */
static void yaml_put_scalar(struct strbuf *out, const json_t *value, size_t indent) {
    const char *text = json_string_value(value);
    if (text && yaml_is_block(text)) {
        yaml_put_block(out, text, indent);
        return;
    }
    if (text)
        yaml_put_text(out, text);
    else
        yaml_put_quoted(out, value);
    strbuf_addc(out, '\n');
}

/* Begins where the line stands, which is at `indent`, and ends the last line. */
static void yaml_put(struct strbuf *out, const json_t *value,
                     size_t indent) { /* NOLINT(misc-no-recursion): as deep as JSON may be */
    size_t before = 0, i;
    const char *name;
    json_t *part;
    json_object_foreach ((json_t *)(uintptr_t)value, name, part) {
        yaml_pad(out, before);
        yaml_put_text(out, name);
        strbuf_addc(out, ':');
        yaml_put_member(out, part, indent);
        before = indent;
    }
    json_array_foreach ((json_t *)(uintptr_t)value, i, part) {
        yaml_pad(out, i ? indent : 0);
        strbuf_adds(out, "- ");
        yaml_put(out, part, indent + INDENT);
    }
    if (!json_object_size(value) && !json_array_size(value))
        yaml_put_scalar(out, value, indent);
}

int yaml_write(const json_t *value, struct strbuf *out, struct err *err) {
    yaml_put(out, value, 0);
    return strbuf_check(out, "output", err);
}
