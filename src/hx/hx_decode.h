/* Decoders of what HX Connect answers: bytes to tokens and facts. Layer 2 (hx); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The bytes may come from anybody at that address and are not trusted: nesting, counts and lengths are bounded, and no part of a token gets into an
 * error. Errors of all: ERR_PROTOCOL (no JSON, not what HX answers), ERR_TOO_LARGE, ERR_NOMEM; their texts name neither HX nor the call. */
#pragma once

#include <stddef.h>

#include "err.h"
#include "hx.h"

#define HX_ALARMS_COUNT_MAX 10000U
#define HX_MESSAGES_COUNT_MAX 16U
#define HX_MESSAGE_CHARS_MAX 500U
#define HX_WORD_CHARS_MAX 64U       /* versions and states */
#define HX_INVENTORY_CHARS_MAX 255U /* names in vCenter: vSphere allows 80, escaped ones are longer */

#define HX_RETRY_DEFAULT_S 900U /* the time in which HX allows five logins */

/* The answer to a login or a refresh. Texts that cannot stand in a header (blanks, control characters) are refused. *out is set on success only. */
int hx_decode_token(const char *text, size_t n, struct hx_token *out, struct err *err);

/* The answers that hx_read collects, in the order in which it asks. */
enum hx_answer {
    HX_ANSWER_CLUSTERS,
    HX_ANSWER_ABOUT,
    HX_ANSWER_DETAIL,
    HX_ANSWER_HEALTH,
    HX_ANSWER_STATS,
    HX_ANSWER_ALARMS,
    HX_ANSWER_VCENTER,
    HX_ANSWERS_COUNT
};
/* Sets the members of `facts` that this answer tells; they must be unset before. If an answer has a uuid, it must be that of facts->uuid, else
 * ERR_PROTOCOL. Members of an unexpected kind count as missing. After an error some may be set; the caller frees them (hx_facts_done) in any case. */
int hx_decode_facts(enum hx_answer answer, const char *text, size_t n, struct hx_facts *facts, struct err *err);

/* Seconds that a header line "Retry-After: 120" asks for, 1 to HX_RETRY_MAX_S; HX_RETRY_DEFAULT_S if it gives a date; 0: another header. */
unsigned hx_decode_retry_after(const char *line, size_t n);
