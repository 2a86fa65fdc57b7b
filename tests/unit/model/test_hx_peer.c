/* Controllers of HX clusters that we sign in to: what is accepted, and which name a ticket is asked for.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "platform.h"
#include "str.h"

#define HEX "ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789"

static struct hx_peer peer_of(const char *url, const char *spn, const char *principal) {
    return (struct hx_peer){.hx_id = str_dup("id"),
                            .url = str_dup(url),
                            .spn = str_dup(spn),
                            .principal = str_dup(principal),
                            .sha256 = str_dup(HEX),
                            .result = {.state = HX_PEER_FAILING, .reason = "timeout"}};
}

static void names_are_checked(void **state) {
    static const struct {
        const char *url, *spn, *principal;
        const char *member; /* that the error names; NULL: good */
    } cases[] = {
        {"https://hx.example.com/x?y", NULL, NULL, NULL},
        {"https://hx.example.com:8443/", "HTTP/hx.example.com", "svc-kaas@EXAMPLE.COM", NULL},
        {"https://[::1]/", "HTTP/hx@EXAMPLE.COM", NULL, NULL},
        {"https://[::1]/", NULL, NULL, "spn"},
        {"http://hx/", NULL, NULL, "url"},
        {"https://hx/#part", NULL, NULL, "url"},
        {"https://user@hx/", NULL, NULL, "url"},
        {"https://hx/", "hx", NULL, "spn"},
        {"https://hx/", "/hx", NULL, "spn"},
        {"https://hx/", "HTTP/", NULL, "spn"},
        {"https://hx/", "HTTP/@R", NULL, "spn"},
        {"https://hx/", "HTTP/hx@", NULL, "spn"},
        {"https://hx/", "HTTP/hx@A@B", NULL, "spn"},
        {"https://hx/", "HTTP/hx/more", NULL, "spn"},
        {"https://hx/", "HTTP@A/hx", NULL, "spn"},
        {"https://hx/", "HTTP/h x", NULL, "spn"},
        {"https://hx/", NULL, "svc", "principal"},
        {"https://hx/", NULL, "@R", "principal"},
        {"https://hx/", NULL, "svc@", "principal"},
        {"https://hx/", NULL, "s@v@R", "principal"},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct hx_peer peer = peer_of(cases[i].url, cases[i].spn, cases[i].principal);
        struct err err = {0};
        int rc = hx_peer_check(&peer, &err);
        if (rc != (cases[i].member ? ERR_UNPROCESSABLE : 0) || (rc && !str_starts(err.text, cases[i].member)))
            fail_msg("case %zu: %d, %s", i, rc, err.text);
        hx_peer_done(&peer);
    }
}

static void there_is_one_trust(void **state) {
    struct hx_peer peer = peer_of("https://hx/", NULL, NULL);
    (void)state;
    assert_int_equal(hx_peer_check(&peer, NULL), 0);
    assert_string_equal(peer.sha256, "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789");
    peer.ca_pem = str_dup("pem");
    assert_int_equal(hx_peer_check(&peer, NULL), ERR_UNPROCESSABLE);
    free(peer.sha256);
    peer.sha256 = NULL;
    assert_int_equal(hx_peer_check(&peer, NULL), 0);
    free(peer.ca_pem);
    peer.ca_pem = NULL;
    assert_int_equal(hx_peer_check(&peer, NULL), ERR_UNPROCESSABLE);
    peer.sha256 = str_dup("00");
    assert_int_equal(hx_peer_check(&peer, NULL), ERR_UNPROCESSABLE);
    hx_peer_done(&peer);
}

static void a_ticket_is_asked_for_the_host(void **state) {
    static const char *const cases[][3] = {{"https://hx.example.com/x", NULL, "HTTP/hx.example.com"},
                                           {"https://hx:8443", NULL, "HTTP/hx"},
                                           {"https://hx?q", NULL, "HTTP/hx"},
                                           {"https://hx/", "HTTP/other@R", "HTTP/other@R"}};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct hx_peer peer = peer_of(cases[i][0], cases[i][1], NULL);
        char *spn = hx_peer_spn(&peer);
        assert_string_equal(spn, cases[i][2]);
        free(spn);
        hx_peer_done(&peer);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(there_is_one_trust),
        cmocka_unit_test(a_ticket_is_asked_for_the_host),
    };
    return cmocka_run_group_tests_name("hx_peer", tests, NULL, NULL);
}
