/* The answer to a sign-on. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "reply_grant.h"

#include "json.h"
#include "reply.h"
#include "secret.h"

/* The token's JSON is written by hand into a wiped buffer: it is a secret. */
int reply_grant(struct http_response *resp, struct signon_grant *grant, struct err *err) {
    _cleanup_json_ json_t *object = json_object();
    struct strbuf text;
    int rc;
    strbuf_init_secret(&text, 16384);
    json_put_string(object, "access_token", grant->token);
    json_put_string(object, "token_type", "Bearer");
    json_put_int(object, "expires_in", grant->token_lifetime_ms / 1000);
    json_put_time(object, "session_expires_at", grant->session_ends_at_ms);
    rc = json_write(object, &text, err);
    json_wipe_string(json_object_get(object, "access_token"));
    if (!rc)
        http_response_set_text(resp, "application/json", &text);
    strbuf_done(&text);
    signon_grant_done(grant);
    return rc;
}
