/* Unit tests of src/port/signature. SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "signature.h"
#include "str.h"

/* RFC 8032 section 7.1, TEST 2, and the public key as SubjectPublicKeyInfo (RFC 8410 section 4). */
#define RFC_KEY "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="
#define RFC_SIGNATURE                                                  \
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" \
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
/* of other keys */
#define BLOCK(text) "-----BEGIN PUBLIC KEY-----\n" text "\n-----END PUBLIC KEY-----\n"
#define ANOTHER "MCowBQYDK2VwAyEA/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU="
#define P256 \
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q=="

static bool is_good(const char *pem, const char *text, size_t cut) {
    struct signature_keys *keys = NULL;
    struct err err = {0};
    uint8_t signature[SIGNATURE_BYTES + 1] = {0};
    assert_true(str_unhex(RFC_SIGNATURE, signature, SIGNATURE_BYTES));
    assert_int_equal(signature_keys_read(pem, &keys, &err), 0);
    const bool answer = signature_is_good(keys, text, strlen(text), signature, SIGNATURE_BYTES + 1 - cut);
    signature_keys_free(keys);
    return answer;
}

static void test_signature(void **state) {
    (void)state;
    assert_true(is_good(BLOCK(RFC_KEY), "\x72", 1));
    assert_true(is_good(BLOCK(ANOTHER) "words between them\n" BLOCK(RFC_KEY), "\x72", 1));
    assert_true(is_good("\xEF\xBB\xBF" BLOCK(RFC_KEY), "\x72", 1)); /* as people paste and keep them */
    assert_true(is_good("  -----BEGIN PUBLIC KEY-----\r\n\r\n  " RFC_KEY " \r\n\r\n  -----END PUBLIC KEY-----", "\x72", 1));
    assert_false(is_good(BLOCK(ANOTHER), "\x72", 1));
    assert_false(is_good(BLOCK(RFC_KEY), "\x73", 1));
    assert_false(is_good(BLOCK(RFC_KEY), "\x72", 0));
    assert_false(is_good(BLOCK(RFC_KEY), "\x72", 2));
    assert_false(is_good(BLOCK(RFC_KEY), "", 1));
}

static void refuses(const char *pem, const char *text) {
    struct signature_keys *keys = NULL;
    struct err err = {0};
    assert_int_equal(signature_keys_read(pem, &keys, &err), ERR_CONFIG);
    assert_null(keys);
    assert_non_null(strstr(err.text, text));
    assert_true(err.remedy[0]);
}

static void test_keys(void **state) {
    (void)state;
    refuses("", "no public key");
    refuses("-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n", "no public key");
    refuses(BLOCK(P256), "another kind");
    refuses(BLOCK(RFC_KEY) BLOCK("AAAA"), "cannot be read");
    refuses(BLOCK(RFC_KEY) BLOCK(RFC_KEY) BLOCK(RFC_KEY) BLOCK(RFC_KEY) BLOCK(RFC_KEY) BLOCK(RFC_KEY) BLOCK(RFC_KEY)
                BLOCK(RFC_KEY) BLOCK(RFC_KEY),
            "more than 8");
    signature_keys_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signature), cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
