/* Directories in memory for tests of src/auth/ldapdir: the place of src/ldap's connections and of the table of sources. Filters are read as a server
 * reads them, so that a name which gets into one unescaped finds what it should not. SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ldapdir.h"

#define WORLD_NOW_MS INT64_C(1700000000000)
#define WORLD_AD_BASE "DC=ad,DC=test"
#define WORLD_LAB_BASE "dc=lab,dc=test"
#define WORLD_OWN_PASSWORD "what kaasd binds with"

/* One value of an attribute; SIDs are written as texts and told as bytes. */
struct world_value {
    const char *attr, *text;
};
/* An entry. `password` NULL: nobody can bind as it. */
#define WORLD_VALUES_MAX 16
struct world_entry {
    const char *dn, *password;
    struct world_value values[WORLD_VALUES_MAX]; /* ended by an attr of NULL */
};

struct ldapdir_world {
    struct ldapdirs *ldapdirs;
    const struct world_entry *entries[48]; /* in the order in which they are found; ended by NULL */
    /* servers by the first letters of their host: "dc1" and "dc2" of the source "ad", "lab" of the source "lab" */
    const char *dead_hosts;     /* not reached: "dc1 dc2" */
    int dead_code;              /* what that gives; 0: ERR_UNREACHABLE */
    const char *own_password;   /* that the servers take from kaasd */
    unsigned lose_after;        /* the search of this number, counted from now, meets lose_code; 0: none */
    int lose_code;              /* 0: ERR_UNREACHABLE, as when the connection is lost */
    int search_code;            /* != 0: what each search gives */
    bool is_ad_off, is_lab_off; /* the sources are disabled */
    bool has_no_lab;            /* the source "lab" is not configured */
    bool is_database_away;
    int version_no; /* of all sources */
    /* what was asked: words "open HOST", "bind DN", "search BASE FILTER", a line each */
    char log[16384];
    unsigned opened, closed, refused, binds, searches;
};
extern struct ldapdir_world iw;

/* The sources "ad" (Active Directory, realm AD.TEST, servers dc1 and dc2), "lab" (OpenLDAP, realm LAB.TEST) and "off" (disabled), no entries, clocks that
 * stand at WORLD_NOW_MS. cmocka set-up and tear-down. */
int ldapdir_world_set_up(void **state);
int ldapdir_world_tear_down(void **state);

/* One more entry; it must live as long as the test. */
void ldapdir_world_add(const struct world_entry *entry);
/* Forgets the log and the counters. */
void ldapdir_world_forget(void);
/* Reads the sources again, after they were changed. */
void ldapdir_world_sync(void);
