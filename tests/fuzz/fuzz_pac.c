/* Fuzz target: pac_read_logon. What it accepts must hold together.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "pac.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_id(const char *id) {
    if (!str_starts(id, "sid:S-1-5-21-") || strlen(id) > 70)
        abort();
}

static void check(const struct pac_person *person) {
    check_id(person->sid);
    for (size_t i = 0; i < person->groups.count; i++) {
        check_id(person->groups.ids[i]);
        if (i && strcmp(person->groups.ids[i - 1], person->groups.ids[i]) >= 0)
            abort();
    }
    if (person->groups.count > KAAS_GROUPS_MAX)
        abort();
    if (person->full_name &&
        (str_has_control(person->full_name) || str_utf8_chars(person->full_name, strlen(person->full_name)) < 1))
        abort();
    if (person->account && (str_has_control(person->account) || str_utf8_chars(person->account, strlen(person->account)) < 1))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct pac_person person;
    struct err err = {0};
    uint8_t *copy = malloc(n ? n : 1); /* of exactly this size, so that a byte too many is seen */
    int rc;
    if (!copy)
        abort();
    memcpy(copy, data, n);
    rc = pac_read_logon(copy, n, &person, &err);
    free(copy);
    if (rc && (!err.code || !err.text[0]))
        abort();
    if (!rc) {
        check(&person);
        pac_person_done(&person);
    }
    return 0;
}
