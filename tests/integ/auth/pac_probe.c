/* Reads logon information of PACs as the program does: one in hexadecimal a line, answers with one line of JSON each. For tests/integ/auth/test_kerberos_pac.py.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "pac.h"
#include "str.h"

static void answer(const uint8_t *bytes, size_t n) {
    struct pac_person person;
    struct err err = {0};
    _cleanup_json_ json_t *object = json_object(), *groups = json_array();
    if (pac_read_logon(bytes, n, &person, &err)) {
        json_put_string(object, "error", err.text);
    } else {
        for (size_t i = 0; i < person.groups.count; i++)
            (void)json_array_append_new(groups, json_string(person.groups.ids[i]));
        (void)json_object_set(object, "groups", groups);
        json_put_string(object, "sid", person.sid);
        json_put_string(object, "account", person.account);
        json_put_string(object, "full_name", person.full_name);
        pac_person_done(&person);
    }
    char *text = json_dumps(object, JSON_COMPACT);
    (void)puts(text ? text : "{}");
    (void)fflush(stdout);
    free(text);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        size_t count = (size_t)n / 2;
        uint8_t *bytes = malloc(count + 1);
        line[strcspn(line, "\n")] = '\0';
        if (!bytes || !str_unhex(line, bytes, strlen(line) / 2))
            return 1;
        answer(bytes, strlen(line) / 2);
        free(bytes);
    }
    free(line);
    return 0;
}
