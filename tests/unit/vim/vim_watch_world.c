/* A fake vCenter with one watch, and what was told. For unit tests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_watch_world.h"

#include "unit.h"

void told_is(struct told *told, const char *lines) {
    assert_string_equal(told->text.len ? told->text.data : "", lines);
    strbuf_reset(&told->text);
}

int watch_set_up(void **state) {
    static const struct vim_watch_options options = {.extension_key = "com.example.kaas"};
    struct watch_world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->fake = fake_new();
    w->client = fake_client_logged_in(w->fake);
    told_init(&w->told);
    assert_int_equal(vim_watch_new(w->client, &options, &w->watch, NULL), 0);
    *state = w;
    return 0;
}

int watch_tear_down(void **state) {
    struct watch_world *w = *state;
    vim_watch_free(w->watch);
    vim_client_free(w->client);
    fake_free(w->fake);
    told_done(&w->told);
    free(w);
    return 0;
}

void watch_expect_made(struct watch_world *w, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        fake_answer(w->fake, "CreateContainerView", "<returnval type=\"ContainerView\">session[k]clusters</returnval>");
        fake_answer(w->fake, "CreateContainerView", "<returnval type=\"ContainerView\">session[k]machines</returnval>");
    }
}

void watch_next(struct watch_world *w, int code, struct err *err) {
    struct err mine = {0};
    int ret = vim_watch_next(w->watch, &w->told.events, err ? err : &mine);
    if (ret != code)
        fail_msg("%d instead of %d: %s", ret, code, err ? err->text : mine.text);
    assert_int_equal(err ? err->code : mine.code, code);
}
