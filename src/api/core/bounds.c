/* How often one person and one address may ask for what costs more than a look into memory. Layer 6 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bounds.h"

#include <stdint.h>
#include <stdlib.h>

#include "metric.h"
#include "net_addr.h"
#include "throttle.h"

#define EVERY_MS(per_s) \
    ((per_s) ? 1000 / ((per_s) ? (per_s) : 1) : 0) /* compilers divide by a constant 0 also where it is not reached */
#define PACE(burst, per_s) \
    { (burst), EVERY_MS(per_s) }

static const struct {
    const char *name;
    struct throttle_pace person, address;
} paces[BOUND_COUNT] = {
#define BOUND(name, person_burst, person_per_s, address_burst, address_per_s) \
    [BOUND_##name] = {#name, PACE(person_burst, person_per_s), PACE(address_burst, address_per_s)},
#include "bounds.def"
#undef BOUND
};

/* Apart, so that somebody with many addresses does not make us forget people. */
struct bounds {
    struct throttle *people, *addresses;
};

int bounds_new(struct bounds **out, struct err *err) {
    struct bounds *bounds = calloc(1, sizeof(*bounds));
    if (bounds) {
        bounds->people = throttle_new();
        bounds->addresses = throttle_new();
    }
    if (!bounds || !bounds->people || !bounds->addresses) {
        bounds_free(bounds);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = bounds;
    return 0;
}

void bounds_free(struct bounds *bounds) {
    if (!bounds)
        return;
    throttle_free(bounds->people);
    throttle_free(bounds->addresses);
    free(bounds);
}

static int refuse(enum bound bound, const char *whose, int64_t wait_ms, struct err *err) {
    metric_add(metric_get(METRIC_HTTP_BOUNDED, paces[bound].name, whose), 1);
    (void)err_set(err, ERR_TOO_MANY, "too many requests of this kind (%s) came from one %s within a short while",
                  paces[bound].name, whose);
    if (err)
        err->retry_after_s = (unsigned)((wait_ms + 999) / 1000);
    (void)err_remedy(err, "send the request again after the seconds of Retry-After");
    return ERR_TOO_MANY;
}

/* The person first: who asks too often takes nothing from others at the address. */
int bounds_admit(struct bounds *bounds, enum bound bound, const char *person, const char *address, struct err *err) {
    const struct throttle_key by_person = {.kind = (char)('a' + bound), .name = person};
    const struct throttle_key by_address = {.kind = (char)('a' + bound), .party = net_party(address)};
    int64_t wait_ms = 0;
    if (person && paces[bound].person.every_ms)
        wait_ms = throttle_take(bounds->people, &by_person, &paces[bound].person);
    if (wait_ms)
        return refuse(bound, "person", wait_ms, err);
    wait_ms = throttle_take(bounds->addresses, &by_address, &paces[bound].address);
    return wait_ms ? refuse(bound, "address", wait_ms, err) : 0;
}
