/* Handlers of the panel: the page in the frame of another host, and one-time codes by which that hands somebody over. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api_call.h"
#include "digest.h"
#include "log.h"
#include "login_call.h"
#include "net_addr.h"
#include "pages.h"
#include "query.h"
#include "reply.h"
#include "secret.h"
#include "str.h"
#include "views.h"

#define PANEL_BYTES_MAX 65536U
#define ORIGINS_MAX 200U /* 10 KB of a header; a panel that names its HX cluster needs two or three */

/* -- which pages may show the panel ------------------------------------------------------------------------------------------ */

/* HX clusters that kaasd is connected to, which somebody vouched for, and vCenters that it is registered with. */
struct origins {
    char items[ORIGINS_MAX][NET_ORIGIN_BYTES];
    size_t count, left_out;
};

static void origins_add(struct origins *to, const char origin[NET_ORIGIN_BYTES]) {
    for (size_t i = 0; i < to->count; i++)
        if (str_eq(to->items[i], origin))
            return;
    if (to->count == ORIGINS_MAX)
        to->left_out++;
    else
        memcpy(to->items[to->count++], origin, NET_ORIGIN_BYTES);
}

/* People may open it by another name than kaasd does: by its DNS name in place of its address. */
static void origins_add_hx(struct origins *to, const struct hx_cluster *hx) {
    char origins[VIEW_HX_ORIGINS_MAX][NET_ORIGIN_BYTES];
    const size_t count = view_hx_origins(hx, origins);
    for (size_t i = 0; i < count; i++)
        origins_add(to, origins[i]);
}

/* With a reference to an HX cluster, of these only the ones that are called so: they come first, so that none of them is ever left out. Who embeds the panel is told to all
 * who load it, so nothing is kept from strangers here. */
static void origins_find(const struct inventory_snapshot *snapshot, const char *reference, struct origins *out) {
    const struct inventory_platform *platform = snapshot ? snapshot->platform : NULL;
    char origin[NET_ORIGIN_BYTES];
    for (size_t i = 0; platform && i < platform->hx_count; i++) {
        const struct hx_cluster *hx = &platform->hx[i];
        if (!reference || str_eq_nocase(hx->id, reference) || inventory_hx_is_called(platform, hx, reference))
            origins_add_hx(out, hx);
    }
    for (size_t i = 0; platform && i < platform->vcenters_count; i++)
        if (platform->vcenters[i].registered_at_ms &&
            net_https_origin(platform->vcenters[i].address, platform->vcenters[i].port, origin))
            origins_add(out, origin);
}

/* Their frame stays blank, and only the browser's console says why. */
static void panel_say_left_out(const struct origins *origins, struct finding *f) {
    finding_say(
        f, FINDING_WARNING,
        "without hx_cluster the panel can be shown by %u pages of HX clusters and vCenters; for %zu more its frame stays blank",
        ORIGINS_MAX, origins->left_out);
    finding_advise(f, "name the HX cluster in the panel's address: /ui/panel?hx_cluster=NAME");
}

void panel_check_health(const struct api_call *call, struct findings *out) {
    struct finding f = {.step = "panel", .since_ms = call->api->options.started_at_ms};
    struct origins origins = {.count = 0};
    origins_find(call->snapshot, NULL, &origins);
    if (!origins.left_out)
        return;
    panel_say_left_out(&origins, &f);
    findings_add(out, &f);
}

static void origins_write(const struct origins *origins, struct strbuf *out) {
    for (size_t i = 0; i < origins->count; i++)
        strbuf_addf(out, "%s%s", i ? " " : "", origins->items[i]);
}

/* The page speaks to the same ones: they stand in its text, too. An origin has no character that would end the attribute (net_https_origin, name_check_host). */
static void panel_write(const struct page *page, const struct origins *origins, struct strbuf *out) {
    static const char mark[] = "name=\"kaas-hosts\" content=\"";
    size_t n = 0;
    const char *text = http_shared_data(page->body, &n), *at = memmem(text, n, mark, sizeof(mark) - 1);
    const size_t before = at ? (size_t)(at - text) + sizeof(mark) - 1 : n;
    strbuf_add(out, text, before);
    if (at)
        origins_write(origins, out);
    strbuf_add(out, text + before, n - before);
}

int h_ui_panel(struct api_call *call, struct http_response *resp, struct err *err) {
    static atomic_flag is_told = ATOMIC_FLAG_INIT; /* once: everybody may load it, as often as they like */
    const struct page *page = pages_find(call->api->pages, "panel.html");
    struct origins origins = {.count = 0};
    struct finding f = {.step = ""};
    char etag[REPLY_ETAG_BYTES];
    if (!page) {
        (void)err_set(err, ERR_NOT_FOUND, "the web page has no file \"panel.html\"");
        return err_remedy(err, "install the page, and set server.page_dir");
    }
    _cleanup_strbuf_ struct strbuf csp, text;
    strbuf_init(&csp, PANEL_BYTES_MAX);
    strbuf_init(&text, PANEL_BYTES_MAX);
    origins_find(call->snapshot, http_request_query(call->req, "hx_cluster"), &origins);
    if (origins.left_out && !atomic_flag_test_and_set(&is_told)) {
        panel_say_left_out(&origins, &f);
        log_event(LOG_LEVEL_WARNING, "panel_hosts_left_out", "text", f.text, "hint", f.remedy, NULL);
    }
    strbuf_adds(&csp, PAGE_CSP);
    if (origins.count)
        origins_write(&origins, &csp);
    else
        strbuf_adds(&csp, "'none'");
    panel_write(page, &origins, &text);
    if (csp.failed || text.failed)
        return err_set(err, ERR_NOMEM, "out of memory");
    http_response_set_header(resp, "Content-Security-Policy", csp.data);
    http_response_set_header(resp, "Cache-Control", "no-cache");
    reply_format_etag(digest_u64(text.data, text.len), false, etag);
    return reply_tagged(call, resp, etag, page->type, &text);
}

/* -- one-time codes ------------------------------------------------------------------------------------------------------------ */

const struct member_body h_login_code_body = {.more = JSON_MEMBERS(JSON_NEEDS(STRING, "code"), JSON_TAKES(STRING, "origin"))};

int h_login_code(struct api_call *call, struct http_response *resp, struct err *err) {
    const char *code = json_get_string(call->body, "code"), *origin = json_get_string(call->body, "origin");
    struct signon_issued issued = {0};
    int rc;
    if (strlen(code) != ONE_TIME_CODE_BYTES - 1 || strspn(code, "0123456789abcdef") != ONE_TIME_CODE_BYTES - 1)
        return err_set(err, ERR_UNPROCESSABLE, "the member \"code\" must have %d hexadecimal digits in lower case",
                       ONE_TIME_CODE_BYTES - 1);
    if (origin && (strlen(origin) >= NET_ORIGIN_BYTES || !str_starts(origin, "https://")))
        return err_set(err, ERR_UNPROCESSABLE, "the member \"origin\" must be an origin: https://HOST or https://HOST:PORT");
    rc = signon_redeem_code(call->api->options.signon, API_ACTOR(call), code, origin, &issued, err);
    return rc ? rc : login_reply(resp, &issued, err);
}

/* For a window of the page's own: it has its session, so that the one ends without the other. */
int h_session_code(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_issued issued = {0};
    int rc = session_require(call, err);
    if (!rc)
        rc = signon_open_twin(call->api->options.signon, API_ACTOR(call), call->bearer.session, &issued, err);
    return rc ? rc : login_reply_code(call, resp, &issued, NULL, err);
}
