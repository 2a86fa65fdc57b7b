/* The recording of a pilot. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pilot_record.h"

#include <config.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "clock.h"
#include "fsutil.h"
#include "str.h"
#include "uuid.h"

#define TEXT_BYTES_MAX (16U * 1024 * 1024) /* of one exchange */
#define COOKIE "Set-Cookie: vmware_soap_session="

/* -- the folder -------------------------------------------------------------------------------------------------------------- */

static bool is_empty_folder(const char *folder) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool is_empty = dir != NULL;
    while (dir && (entry = readdir(dir)))
        is_empty &= str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..");
    if (dir)
        (void)closedir(dir);
    return is_empty;
}

int pilot_recorder_init(struct pilot_recorder *recorder, const char *folder, struct err *err) {
    *recorder = (struct pilot_recorder){.folder = folder, .exchanges = json_array()};
    pseudonyms_init(&recorder->pseudonyms);
    if (!recorder->exchanges)
        return err_set(err, ERR_NOMEM, "out of memory");
    if (!mkdir(folder, 0700))
        return 0;
    if (errno != EEXIST)
        return err_set(err, ERR_IO, "%s cannot be made: %m", folder);
    if (is_empty_folder(folder))
        return 0;
    (void)err_set(err, ERR_EXISTS, "%s is there and not empty", folder);
    return err_remedy(err, "give a folder that is not there yet");
}

void pilot_recorder_done(struct pilot_recorder *recorder) {
    pseudonyms_done(&recorder->pseudonyms);
    json_decref(recorder->exchanges);
    recorder->exchanges = NULL;
}

/* -- one exchange ------------------------------------------------------------------------------------------------------------ */

static void take_cookie_form(struct pilot_headers *headers, const char *value, size_t n) {
    char text[UUID_TEXT_BYTES] = "";
    headers->is_quoted = n >= 2 && value[0] == '"' && value[n - 1] == '"';
    value += headers->is_quoted;
    n -= headers->is_quoted ? 2 : 0;
    if (n == sizeof(text) - 1)
        memcpy(text, value, n);
    headers->cookie = n == 40 ? "hex" : uuid_is_valid(text) ? "uuid" : "other";
}

void pilot_headers_take(struct pilot_headers *headers, const char *line, size_t n) {
    static const char type[] = "Content-Type: ";
    if (n > strlen(COOKIE) && !strncasecmp(line, COOKIE, strlen(COOKIE))) {
        const char *value = line + strlen(COOKIE), *end = memchr(value, ';', n - strlen(COOKIE));
        take_cookie_form(headers, value, end ? (size_t)(end - value) : n - strlen(COOKIE));
    } else if (n > strlen(type) && !strncasecmp(line, type, strlen(type))) {
        static const char *const usual[] = {"text/xml", "application/xml", "application/json", "text/html", "text/plain"};
        for (size_t i = 0; i < ARRAY_COUNT(usual); i++)
            if (n >= strlen(type) + strlen(usual[i]) && !strncasecmp(line + strlen(type), usual[i], strlen(usual[i])))
                (void)snprintf(headers->content_type, sizeof(headers->content_type), "%s", usual[i]);
    }
}

/* A body by what it is: XML, JSON, or something that nobody needs. False if it is left out. */
static bool put_anonymous(const struct pilot_recorder *r, const char *text, size_t n, const char *path, struct strbuf *out) {
    if (!n)
        return true;
    if (str_starts(path, "/sdk"))
        return !pseudonym_xml(&r->pseudonyms, text, n, out, NULL);
    if (str_starts(path, "/ui/"))
        return false;
    if (str_eq(path, "/api/session")) { /* the id of a session, or what is said in place of it */
        const bool is_id = n > 2 && text[0] == '"';
        strbuf_adds(out, is_id ? "\"recorded-rest-session\"" : "");
        return is_id;
    }
    return !pseudonym_json(&r->pseudonyms, text, n, out, NULL);
}

static void put_body(const struct pilot_recorder *r, json_t *to, const char *member, const char *text, size_t n,
                     const char *path) {
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init_secret(&out, TEXT_BYTES_MAX);
    if (put_anonymous(r, text, n, path, &out) && !out.failed)
        json_put_string(to, member, out.data);
    else
        json_put(to, member, json_null());
}

void pilot_recorder_add(struct pilot_recorder *r, const struct pilot_recorded *x) {
    _cleanup_strbuf_ struct strbuf path;
    json_t *one;
    r->bytes += x->exchange->body_bytes + x->answer->len;
    r->is_cut |= r->bytes > PILOT_RECORD_BYTES_MAX;
    one = r->is_cut ? NULL : json_object();
    strbuf_init(&path, 4096);
    if (!one)
        return;
    r->pseudonyms.now_ms = clock_wall_ms();
    pseudonym_path(&r->pseudonyms, x->path, &path);
    json_put_string(one, "service", x->service);
    json_put_string(one, "way", x->way);
    json_put_string(one, "name", x->name);
    json_put_string(one, "method", x->exchange->method);
    json_put_string(one, "path", path.data);
    put_body(r, one, "request", x->exchange->body ? x->exchange->body : "", x->exchange->body_bytes, x->path);
    if (x->rc) {
        json_put_string(one, "error", err_slug(x->rc));
    } else {
        json_put_int(one, "status", x->status);
        json_put_string(one, "content_type", *x->headers->content_type ? x->headers->content_type : NULL);
        json_put_string(one, "cookie", x->headers->cookie);
        json_put_bool(one, "cookie_is_quoted", x->headers->is_quoted);
        if (x->headers->date_ms)
            json_put_int(one, "date_offset_s", (x->headers->date_ms - r->pseudonyms.now_ms) / 1000);
        put_body(r, one, "answer", x->answer->data, x->answer->len, x->path);
    }
    json_add(r->exchanges, one);
}

/* -- writing ----------------------------------------------------------------------------------------------------------------- */

static int write_json(const struct pilot_recorder *r, const char *name, const json_t *value, struct err *err) {
    _cleanup_free_ char *path = str_format("%s/%s", r->folder, name);
    _cleanup_free_ char *text = json_dumps(value, JSON_INDENT(1) | JSON_SORT_KEYS);
    _cleanup_strbuf_ struct strbuf out;
    strbuf_init(&out, 4 * PILOT_RECORD_BYTES_MAX);
    if (!path || !text)
        return err_set(err, ERR_NOMEM, "out of memory");
    strbuf_adds(&out, text);
    strbuf_addc(&out, '\n');
    int rc = strbuf_check(&out, "the recording", err);
    return rc ? rc : fs_write_new(path, out.data, out.len, 0600, err);
}

int pilot_recorder_write(const struct pilot_recorder *r, const struct findings *findings, struct err *err) {
    _cleanup_json_ json_t *table = json_array(), *whole = json_object();
    json_put_string(whole, "made_by", PACKAGE_VERSION);
    json_put_bool(whole, "is_cut", r->is_cut);
    json_put(whole, "exchanges", json_incref(r->exchanges));
    for (size_t i = 0; i < findings->count; i++) {
        json_t *row = json_object();
        json_put_string(row, "probe", findings->items[i].step);
        json_put_string(row, "result", finding_status_name(findings->items[i].status));
        json_add(table, row);
    }
    int rc = write_json(r, "exchanges.json", whole, err);
    return rc ? rc : write_json(r, "table.json", table, err);
}
