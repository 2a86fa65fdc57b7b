/* Which passwords of local users are good enough. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "password.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "str.h"

#define DIFFERENT_MIN 5

/* Different bytes are enough to tell "aaaaaaaaaaaa" and "121212121212" from a phrase. */
static unsigned count_different(const char *text) {
    bool seen[256] = {false};
    unsigned count = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        count += !seen[*p];
        seen[*p] = true;
    }
    return count;
}

int password_check(const char *password, const char *user_name, struct err *err) {
    size_t bytes = strlen(password), name_bytes = strlen(user_name);
    long chars = str_utf8_chars(password, bytes);
    if (chars < 0 || str_has_control(password))
        return err_set(err, ERR_UNPROCESSABLE, "the password has a control character or is not UTF-8");
    if (chars < PASSWORD_CHARS_MIN) {
        (void)err_set(err, ERR_UNPROCESSABLE, "the password is too short: at least %d characters", PASSWORD_CHARS_MIN);
        return err_remedy(err, "several words that do not belong together are easy to remember and hard to guess");
    }
    if (bytes > PASSWORD_BYTES_MAX)
        return err_set(err, ERR_UNPROCESSABLE, "the password is too long: at most %d bytes", PASSWORD_BYTES_MAX);
    if (count_different(password) < DIFFERENT_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "the password repeats a few characters only");
    if (name_bytes && !strncasecmp(password, user_name, name_bytes) && bytes < name_bytes + DIFFERENT_MIN)
        return err_set(err, ERR_UNPROCESSABLE, "the password is little more than the name of the user");
    return 0;
}
