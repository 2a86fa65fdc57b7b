/* A fake vCenter with one watch, and what was told. For unit tests.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "vim_fake.h"
#include "vim_told.h"

/* Asserts that exactly these lines were told since the last look. */
void told_is(struct told *told, const char *lines);

/* A world with one watch of key "com.example.kaas", and views ready to be made `times` times. */
struct watch_world {
    struct fake *fake;
    struct vim_client *client;
    struct vim_watch *watch;
    struct told told;
};
int watch_set_up(void **state);
int watch_tear_down(void **state);
void watch_expect_made(struct watch_world *w, unsigned times);

/* vim_watch_next, which must give `code`; the error's text is in err. */
void watch_next(struct watch_world *w, int code, struct err *err);

#define UPDATES(version, objects) \
    "<returnval><version>" version "</version><filterSet><filter>f</filter>" objects "</filterSet></returnval>"
#define MORE_UPDATES(version, objects)                                                              \
    "<returnval><version>" version "</version><filterSet><filter>f</filter>" objects "</filterSet>" \
    "<truncated>true</truncated></returnval>"
#define OBJECT(kind, type, id, changes) \
    "<objectSet><kind>" kind "</kind><obj type=\"" type "\">" id "</obj>" changes "</objectSet>"
#define CHANGE(name, xsi, value) \
    "<changeSet><name>" name "</name><op>assign</op><val xsi:type=\"" xsi "\">" value "</val></changeSet>"
#define TEXT(name, value) CHANGE(name, "xsd:string", value)
#define REFERENCE(name, type, id)                                                                                   \
    "<changeSet><name>" name "</name><op>assign</op><val type=\"" type "\" xsi:type=\"ManagedObjectReference\">" id \
    "</val></changeSet>"
#define UNSET(name) "<changeSet><name>" name "</name><op>assign</op></changeSet>"
