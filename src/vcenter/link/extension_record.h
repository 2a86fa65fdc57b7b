/* Our extension record at a vCenter: builds the wanted one, tells whose a found one is, and compares the two. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "record_note.h"
#include "vcenter.h"
#include "vim_extension.h"

struct link_env;

#define EXTENSION_SERVER_TYPE "KAAS_API" /* of the server by which HX finds us */

/* "ours", ... as in docs/openapi.yaml; static. */
const char *record_state_name(enum record_state state);

/* Our record as it should be, with the memory behind it. */
struct extension_record {
    struct vim_extension record;
    struct vim_ext_server servers[2];
    struct vim_ext_client client;
    struct vim_ext_resource *resources;
    struct vim_key_value *owner;
    char *version, *manifest_url, *api_url, *health_url, *product_url, *thumbprint, *certificate;
    const char *email;
};

#define EXTENSION_MANAGED_NODE "node" /* the type in config.managedBy of virtual machines that are nodes */

/* Names an extension record: its key, and how many times we have registered (vcenter_store.h). */
struct extension_name {
    const char *key;
    unsigned registration_no;
};

/* Builds the record of this installation. Keeps pointers into the environment and name->key. ERR_CONFIG (the server certificate
 * cannot be read), ERR_NOMEM. extension_record_done gives it back. */
int extension_record_make(const struct link_env *env, const struct extension_name *name, struct extension_record *out,
                          struct err *err);
void extension_record_done(struct extension_record *record); /* NULL is allowed */

/* Builds the record with key and number as the database has them now for this vCenter. As extension_record_make; also errors of store.h. */
int extension_record_make_current(const struct link_env *env, const struct vcenter *vc, struct extension_record *out,
                                  struct err *err);

/* Takes over from a found record the members that others may set in it and that are not ours to change (type, ovfConsumerInfo,
 * companyUrl, managementUrl, self, shownInSolutionManager, solutionManagerInfo): an update replaces the whole record.
 * `found` must outlive the record's use. */
void extension_record_keep(struct extension_record *record, const struct vim_extension *found);

/* The installation that wrote the record, by its owner mark; NULL if it has none. Borrowed. */
const char *extension_record_owner(const struct vim_extension *found);

#define EXTENSION_DIFFERENCES_MAX 16
/* Names of the members in which a found record differs from ours; static texts. Members that its vCenter cannot hold (API version) and
 * lastHeartbeatTime do not count. Returns their number. */
size_t extension_record_compare(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                                const char *out[EXTENSION_DIFFERENCES_MAX]);

/* A hash over the members of the record, without lastHeartbeatTime. For comparing in memory only. */
uint64_t extension_record_digest(const struct vim_extension *record);

/* Whether writing `wanted` over `found` makes vCenter forget the login certificate (a changed subjectName does). */
bool extension_record_clears_certificate(const struct vim_extension *found, const struct vim_extension *wanted);

/* -- extension records for people: one line per member, as it is and as it should be ------------------------------- */

/* One member. Texts malloc'ed; NULL: not set. Long texts (certificates) are told by their SHA-256. */
struct record_line {
    char *member; /* "server[0].url" */
    char *now, *wanted;
    bool is_kept; /* not ours to change: an update keeps it */
};
struct record_lines {
    struct record_line *items;
    size_t count;
};
void record_lines_done(struct record_lines *lines); /* NULL is allowed */

/* Lists the members of both records in the order of vim.Extension; either may be NULL (no record; none wanted). A member that neither has is
 * left out. *out (uninitialised) is given back by record_lines_done. ERR_NOMEM. */
int extension_text_lines(const struct vim_extension *found, const struct vim_extension *wanted, const char *api_version,
                         struct record_lines *out, struct err *err);
