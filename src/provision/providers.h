/* Providers: where clusters may be built, as administrators describe it. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a document names is resolved at its vCenter when it is applied, and kept by managed object id: a folder that is renamed afterwards is still the folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "finding.h"
#include "provider.h"
#include "provider_store.h"
#include "runtime.h"

struct actor;
struct inventory;
struct net_policy;
struct platform;
struct providers;

struct providers_options {
    const struct runtime *runtime;
    struct platform *platform;
    struct inventory *inventory;       /* tells which vCenter a document means */
    const struct net_policy *networks; /* where nodes may be: no other address is tried; borrowed; NULL: anywhere */
};

/* ERR_NOMEM. */
int providers_new(const struct providers_options *options, struct providers **out, struct err *err);
void providers_free(struct providers *providers); /* NULL is allowed */

/* -- reading (database) ------------------------------------------------------------------------------------------------------- */

/* Reads all, by name. *out (uninitialised) is given back by provider_list_done. */
int providers_list(struct providers *providers, struct provider_list *out, struct err *err);
/* Reads one by its name or id; freed by provider_free. ERR_NOT_FOUND. */
int providers_load(struct providers *providers, const char *name, struct provider **out, struct err *err);

/* -- writing: waits for the vCenter (worker pool `outside`) --------------------------------------------------------------------- */

/* What is to be applied. */
struct provider_wish {
    struct provider *document; /* as provider_read gave it; its places get resolved */
    int64_t version_no;        /* of the provider that is changed; 0: none has this name */
};
/* Resolves the places at the vCenter and writes the provider, unless it is the same as it was. ERR_NOT_FOUND, ERR_AMBIGUOUS (vCenter), ERR_UNPROCESSABLE (a
 * place that is not there, or of another datacenter), ERR_AMBIGUOUS (a name that several have: all are named with path and id), ERR_NOT_REGISTERED, ERR_CONFLICT (vCenter or
 * network of a provider that is in use), ERR_PRECONDITION, ERR_EXISTS, errors of vim.h. */
int providers_apply(struct providers *providers, const struct actor *actor, const struct provider_wish *wish, struct err *err);

/* Removes one that nothing was built by; `version_no` 0: whatever it is now. ERR_NOT_FOUND, ERR_CONFLICT, ERR_PRECONDITION. */
int providers_remove(struct providers *providers, const struct actor *actor, const char *name, int64_t version_no,
                     struct err *err);

/* -- checking ----------------------------------------------------------------------------------------------------------------- */

/* What is wanted of the place. */
struct provider_need {
    unsigned machines; /* how many are to be built; 0: one */
};

/* What came of a check. All zero at first; provider_check_done gives it back. */
struct provider_check {
    enum finding_status worst; /* of all findings; skipped ones do not count */
    int64_t checked_at_ms;     /* wall clock */
    int64_t duration_ms;
    struct findings findings; /* steps as in docs/openapi.yaml, ProviderCheck */
    int unanswered; /* the error of the first question that the vCenter did not answer, which is a finding as well; 0: all were answered */
    char kubernetes_version[PROVIDER_VERSION_BYTES]; /* that the template has, "v1.36.3"; "": not known */
};
void provider_check_done(struct provider_check *check);

/* Looks at all that building needs, at the vCenter and at the network, and changes nothing. What is missing is a finding, not an error. Waits for both (worker pool
 * `outside`), a minute at most. ERR_NOMEM. */
int providers_check(struct providers *providers, const struct provider *provider, const struct provider_need *need,
                    struct provider_check *out, struct err *err);
