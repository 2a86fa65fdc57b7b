/* The token by which a monitoring system reads the metrics. Layer 4 (service/setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "scrape_token.h"

#include <string.h>

#include "fsutil.h"
#include "secret.h"
#include "strbuf.h"

#define TOKEN_CHARS_MIN 32U
#define TOKEN_CHARS_MAX 512U

int scrape_token_read(const struct config *config, struct scrape_token *out, struct err *err) {
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/="; /* RFC 6750 2.1 */
    const char *path = config->metrics_token_file;
    _cleanup_strbuf_ struct strbuf text;
    size_t n;
    int rc;
    strbuf_init_secret(&text, TOKEN_CHARS_MAX + 2); /* and a line end */
    *out = (struct scrape_token){0};
    if (!*path)
        return 0;
    rc = fs_read_secret(path, &text, err);
    if (rc)
        return rc;
    n = strspn(text.data, chars);
    if (n < TOKEN_CHARS_MIN || n > TOKEN_CHARS_MAX || text.data[n + strspn(text.data + n, "\r\n")]) {
        (void)err_set(err, ERR_CONFIG, "%s, the file of metrics.token_file, does not hold a token of one line", path);
        return err_remedy(err, "write %u to %u letters, digits or -._~+/= into it: openssl rand -hex 32 > FILE", TOKEN_CHARS_MIN,
                          TOKEN_CHARS_MAX);
    }
    digest_sha256(text.data, n, out->digest);
    out->is_set = true;
    return 0;
}
