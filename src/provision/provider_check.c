/* What building at a provider needs, looked at before anything is built. Layer 5 (provision).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Each step appends its findings. Steps behind one without which they make no sense are left out, and that one says so by its status. */
#include "providers_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "net_policy.h"
#include "platform_links.h"
#include "str.h"
#include "strbuf.h"
#include "vim_authorization.h"
#include "vim_machine.h"
#include "vim_session.h"
#include "vim_site.h"

#define GIB (1024.0 * 1024 * 1024)
#define TRY_TIMEOUT_MS 1000
#define TRIED_MAX 1024U /* addresses whose ports are tried: some 16 seconds */
#define NAMED_MAX 5     /* addresses, or machines, that a finding names */
#define SSH_PORT 22U
#define API_PORT 6443U

static const struct privilege_row {
    const char *id;
    enum provider_place_kind place;
    const char *why;
} privilege_rows[] = {
#define PROVISION_PRIVILEGE(id, place, why) {id, PROVIDER_##place, why},
#include "provision_role.def"
#undef PROVISION_PRIVILEGE
};
#define PRIVILEGES_MAX (ARRAY_COUNT(privilege_rows) + 1)

/* One check. */
struct checking {
    struct providers *providers;
    const struct provider *provider;
    const struct provider_need *need;
    struct provider_check *check;
    struct link *link;
    struct vim_client *client;
    char vcenter[LINK_NAME_BYTES];
    struct vim_user_session own;
    bool is_there[PROVIDER_PLACES_COUNT];
    struct address_ranges held; /* addresses that kaasd itself has given out */
};

void provider_check_done(struct provider_check *check) {
    findings_done(&check->findings);
}

/* -- findings ---------------------------------------------------------------------------------------------------------------- */

static struct finding finding_of(const char *step, const char *title) {
    struct finding f = {.status = FINDING_SKIPPED, .is_elsewhere = true};
    (void)snprintf(f.step, sizeof(f.step), "%s", step);
    (void)snprintf(f.title, sizeof(f.title), "%s", title);
    return f;
}

/* About one place: its word is in the title, before `what` ("": alone). */
static struct finding finding_of_place(const char *step, enum provider_place_kind kind, const char *what) {
    struct finding f = finding_of(step, "");
    (void)snprintf(f.title, sizeof(f.title), "%s%s%s", provider_place_words[kind], *what ? ", " : "", what);
    (void)snprintf(f.subject, sizeof(f.subject), "%s", provider_place_words[kind]);
    return f;
}

static void check_add(struct checking *c, const struct finding *f) {
    findings_add(&c->check->findings, f);
}

/* The finding is that there was no answer. */
static void tell_unanswered(struct checking *c, struct finding *f, int rc, const struct err *why) {
    finding_say_error(f, FINDING_FAILED, why);
    if (!c->check->unanswered)
        c->check->unanswered = rc;
}

static const struct provider_place *place_at(const struct checking *c, enum provider_place_kind kind) {
    return &c->provider->places[kind];
}

/* -- the vCenter ------------------------------------------------------------------------------------------------------------- */

/* False: nothing can be asked there. */
static bool provider_look_at_vcenter(struct checking *c) {
    struct finding f = finding_of("vcenter", "vcenter");
    struct err why = {0};
    int rc = platform_find(c->providers->options.platform, c->provider->vcenter_id, &c->link, &why);
    if (!rc) {
        link_get_name(c->link, c->vcenter);
        c->client = link_client(c->link);
        rc = vim_keepalive(c->client, &why);
        rc = rc ? rc : vim_get_own_session(c->client, &c->own, &why);
    }
    if (rc)
        tell_unanswered(c, &f, rc, &why);
    else
        finding_say(&f, FINDING_OK, "vCenter %s answers; kaasd is signed in as %s", c->vcenter, c->own.user_name);
    check_add(c, &f);
    return !rc;
}

/* -- places and what kaasd may do there --------------------------------------------------------------------------------------- */

/* The privileges of this kind of place, System.Read first. */
static size_t list_privileges(enum provider_place_kind kind, const char *ids[PRIVILEGES_MAX], const char *why[PRIVILEGES_MAX]) {
    size_t count = 0;
    ids[count] = "System.Read";
    why[count++] = "look at it";
    for (size_t i = 0; i < ARRAY_COUNT(privilege_rows); i++)
        if (privilege_rows[i].place == kind) {
            ids[count] = privilege_rows[i].id;
            why[count++] = privilege_rows[i].why;
        }
    return count;
}

static void tell_privileges(struct checking *c, enum provider_place_kind kind, const bool *granted, const char *const *ids,
                            const char *const *why, size_t count) {
    struct finding f = finding_of_place("privileges", kind, "rights");
    _cleanup_strbuf_ struct strbuf missing;
    char shown[PROVIDER_PLACE_SHOWN_BYTES];
    strbuf_init(&missing, 900);
    for (size_t i = 0; i < count; i++)
        if (!granted[i])
            strbuf_addf(&missing, "%s%s (to %s)", missing.len ? ", " : "", ids[i], why[i]);
    provider_place_show(place_at(c, kind), shown);
    if (missing.len) {
        finding_say(&f, FINDING_FAILED, "%s lacks on %s: %s", c->own.user_name, shown, missing.data);
        finding_advise(&f,
                       "grant it by a role, best with all that building needs: " DOC_PAGE("admin/create.md") ", \"Privileges\"");
    } else {
        finding_say(&f, FINDING_OK, "%s has all %zu that are needed on %s", c->own.user_name, count, shown);
    }
    check_add(c, &f);
}

static void tell_place(struct checking *c, enum provider_place_kind kind, int rc, enum vim_entity_state state,
                       const struct err *why) {
    struct finding f = finding_of_place("place", kind, "");
    char shown[PROVIDER_PLACE_SHOWN_BYTES];
    provider_place_show(place_at(c, kind), shown);
    if (rc) {
        tell_unanswered(c, &f, rc, why);
    } else if (state == VIM_ENTITY_JUDGED) {
        finding_say(&f, FINDING_OK, "%s", shown);
    } else if (state == VIM_ENTITY_GONE) {
        finding_say(&f, FINDING_FAILED, "%s is not at vCenter %s any more", shown, c->vcenter);
        finding_advise(&f, "name another one in the document and apply it again: kaasctl provider apply -f FILE");
    } else {
        finding_say(&f, FINDING_FAILED, "%s may not be looked at by %s: System.Read is missing there", shown, c->own.user_name);
        finding_advise(&f,
                       "grant a role on it, best with all that building needs: " DOC_PAGE("admin/create.md") ", \"Privileges\"");
    }
    check_add(c, &f);
}

static void look_at_place(struct checking *c, enum provider_place_kind kind) {
    const struct vim_entity entity = {place_at(c, kind)->type, place_at(c, kind)->moref};
    const char *ids[PRIVILEGES_MAX], *why[PRIVILEGES_MAX];
    const size_t count = list_privileges(kind, ids, why);
    bool granted[PRIVILEGES_MAX] = {false};
    enum vim_entity_state state = VIM_ENTITY_JUDGED;
    struct err error = {0};
    const struct vim_entity_query query = {
        .subject = {.session_key = c->own.key}, .entity = &entity, .privileges = ids, .count = count};
    int rc = vim_check_entity(c->client, &query, granted, &state, &error);
    c->is_there[kind] = !rc && state == VIM_ENTITY_JUDGED && granted[0];
    tell_place(c, kind, rc, state, &error);
    if (!rc && state == VIM_ENTITY_JUDGED)
        tell_privileges(c, kind, granted, ids, why, count);
}

/* -- do they belong together ------------------------------------------------------------------------------------------------- */

static bool has_id(char *const *ids, size_t count, const char *id) {
    for (size_t i = 0; i < count; i++)
        if (str_eq(ids[i], id))
            return true;
    return false;
}

static void tell_reach(struct checking *c, enum provider_place_kind kind, bool is_reached) {
    struct finding f = finding_of_place("reach", kind, "reach");
    char shown[PROVIDER_PLACE_SHOWN_BYTES];
    provider_place_show(place_at(c, kind), shown);
    const char *cluster = place_at(c, PROVIDER_VSPHERE_CLUSTER)->name;
    finding_say(&f, is_reached ? FINDING_OK : FINDING_FAILED, is_reached ? "%s is on hosts of %s" : "%s is on no host of %s",
                shown, cluster);
    if (!is_reached)
        finding_advise(&f, "name a %s that the hosts of %s have", provider_place_noun(kind), cluster);
    check_add(c, &f);
}

static void look_at_reach(struct checking *c) {
    _cleanup_done_(vim_reach_done) struct vim_reach reach = {0};
    struct finding f = finding_of_place("reach", PROVIDER_VSPHERE_CLUSTER, "reach");
    struct err why = {0};
    if (!c->is_there[PROVIDER_VSPHERE_CLUSTER])
        return;
    int rc = vim_lookup_reach(c->client, place_at(c, PROVIDER_VSPHERE_CLUSTER)->moref, &reach, &why);
    if (rc) {
        tell_unanswered(c, &f, rc, &why);
        check_add(c, &f);
        return;
    }
    tell_reach(c, PROVIDER_DATASTORE, has_id(reach.datastores, reach.datastore_count, place_at(c, PROVIDER_DATASTORE)->moref));
    tell_reach(c, PROVIDER_NETWORK, has_id(reach.networks, reach.network_count, place_at(c, PROVIDER_NETWORK)->moref));
}

/* -- the template ------------------------------------------------------------------------------------------------------------ */

static void judge_template(struct checking *c, const struct vim_source *source, struct finding *f) {
    char shown[PROVIDER_PLACE_SHOWN_BYTES];
    struct err why = {0};
    provider_place_show(place_at(c, PROVIDER_TEMPLATE), shown);
    if (!source->is_template) {
        finding_say(f, FINDING_FAILED, "%s is a virtual machine, and no template", shown);
        finding_advise(f, "make it one: power it off, take a snapshot, then: govc vm.markastemplate -vm.ipath PATH");
    } else if (source->hardware >= 0 && source->hardware < PROVIDER_HARDWARE_MIN) {
        finding_say(f, FINDING_FAILED, "%s has virtual hardware of version %lld, and volumes want version %d or newer", shown,
                    (long long)source->hardware, PROVIDER_HARDWARE_MIN);
        finding_advise(f, "upgrade its hardware, or take a template of a newer node image");
    } else if (provider_contract_read(source->contract, c->check->kubernetes_version, &why)) {
        finding_say(f, FINDING_FAILED, "%s: %s%s", shown, why.text,
                    source->has_had_tools ? "" : "; nor has vCenter seen VMware Tools in it");
        finding_advise(f, "%s", why.remedy);
    } else {
        finding_say(f, FINDING_OK, "%s is a node image with Kubernetes %s%s", shown, c->check->kubernetes_version,
                    source->has_had_tools ? ""
                                          : "; vCenter has not seen VMware Tools in it, which is so while it never ran there");
    }
}

static void look_at_template(struct checking *c) {
    _cleanup_done_(vim_source_done) struct vim_source source = {0};
    struct finding f = finding_of_place("template", PROVIDER_TEMPLATE, "contract");
    struct err why = {0};
    if (!c->is_there[PROVIDER_TEMPLATE])
        return;
    int rc = vim_lookup_source(c->client, place_at(c, PROVIDER_TEMPLATE)->moref, &source, &why);
    if (rc)
        tell_unanswered(c, &f, rc, &why);
    else
        judge_template(c, &source, &f);
    check_add(c, &f);
}

/* -- room -------------------------------------------------------------------------------------------------------------------- */

/* Bytes that a machine takes: a full clone may grow to all that its disks can hold. -1: not told. */
static int64_t machine_bytes(const struct checking *c) {
    _cleanup_done_(vim_machine_list_done) struct vim_machine_list list = {0};
    const char *const morefs[] = {place_at(c, PROVIDER_TEMPLATE)->moref};
    if (!c->is_there[PROVIDER_TEMPLATE] || vim_list_machines(c->client, morefs, 1, &list, NULL) || list.count != 1)
        return -1;
    return list.items[0].disk_bytes;
}

static void judge_room(struct checking *c, const struct vim_datastore *store, struct finding *f) {
    const int64_t each = machine_bytes(c);
    const unsigned machines = c->need->machines ? c->need->machines : 1;
    char shown[PROVIDER_PLACE_SHOWN_BYTES];
    provider_place_show(place_at(c, PROVIDER_DATASTORE), shown);
    if (!store->is_accessible || store->is_in_maintenance) {
        finding_say(f, FINDING_FAILED, "%s %s", shown, store->is_in_maintenance ? "is in maintenance mode" : "is not accessible");
        finding_advise(f, "end that at the vCenter, or name another datastore");
    } else if (store->free_bytes < 0 || each < 0) {
        finding_say(f, FINDING_WARNING, "%s: vCenter does not tell how much room there is, or how much a machine takes", shown);
    } else if (store->free_bytes / machines < each) {
        finding_say(f, FINDING_FAILED, "%s has %.1f GiB free, and %u machine%s of the template may take %.1f GiB", shown,
                    (double)store->free_bytes / GIB, machines, machines > 1 ? "s" : "", (double)each * machines / GIB);
        finding_advise(f, "make room there, or name another datastore");
    } else if (each > 0) {
        finding_say(f, FINDING_OK, "%s has %.1f GiB free, room for %lld machines of %.1f GiB", shown,
                    (double)store->free_bytes / GIB, (long long)(store->free_bytes / each), (double)each / GIB);
    } else {
        finding_say(f, FINDING_OK, "%s has %.1f GiB free", shown, (double)store->free_bytes / GIB);
    }
}

static void look_at_room(struct checking *c) {
    struct finding f = finding_of_place("room", PROVIDER_DATASTORE, "room");
    struct vim_datastore store;
    struct err why = {0};
    if (!c->is_there[PROVIDER_DATASTORE])
        return;
    int rc = vim_lookup_datastore(c->client, place_at(c, PROVIDER_DATASTORE)->moref, &store, &why);
    if (rc)
        tell_unanswered(c, &f, rc, &why);
    else
        judge_room(c, &store, &f);
    check_add(c, &f);
}

/* -- addresses --------------------------------------------------------------------------------------------------------------- */

/* The lists of a document, in its words. */
struct address_list {
    const char *key;
    const struct address_ranges *ranges;
};
static void list_addresses(const struct provider *p, struct address_list out[3]) {
    out[0] = (struct address_list){"nodes.addresses", &p->node_addresses};
    out[1] = (struct address_list){"api_addresses", &p->api_addresses};
    out[2] = (struct address_list){"service_addresses", &p->service_addresses};
}

/* What is in use, by names as long as there are few. */
struct named {
    struct strbuf text;
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void provider_name_one(struct named *named, const char *format, ...) {
    char text[200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    str_trim_utf8(text);
    if (named->count++ < NAMED_MAX)
        strbuf_addf(&named->text, "%s%s", named->text.len ? ", " : "", text);
}

static void name_rest(struct named *named) {
    if (named->count > NAMED_MAX)
        strbuf_addf(&named->text, " and %zu more", named->count - NAMED_MAX);
}

static void look_at_guests(struct checking *c) {
    _cleanup_done_(vim_used_addresses_done) struct vim_used_addresses used = {0};
    struct finding f = finding_of("addresses", "addresses, machines");
    struct address_list lists[3];
    struct named taken = {.count = 0};
    struct err why = {0};
    uint32_t address;
    list_addresses(c->provider, lists);
    strbuf_init(&taken.text, 900);
    int rc = vim_list_used_addresses(c->client, &used, &why);
    for (size_t i = 0; !rc && i < used.count; i++)
        for (size_t k = 0; address_parse(used.items[i].address, &address) && k < ARRAY_COUNT(lists); k++)
            if (address_ranges_has(lists[k].ranges, address) && !address_ranges_has(&c->held, address))
                provider_name_one(&taken, "%s of %s (%.80s)", used.items[i].address, lists[k].key, used.items[i].machine);
    name_rest(&taken);
    if (rc) {
        finding_say_error(&f, FINDING_WARNING, &why);
    } else if (taken.count) {
        finding_say(&f, FINDING_FAILED, "machines of vCenter %s have %zu of the addresses: %s", c->vcenter, taken.count,
                    taken.text.data);
        finding_advise(&f, "take them out of the document, and apply it again: kaasctl provider apply -f FILE");
    } else {
        finding_say(&f, FINDING_OK, "no other machine of vCenter %s that kaasd may see reports one of the addresses", c->vcenter);
    }
    strbuf_done(&taken.text);
    check_add(c, &f);
}

/* The tries of all addresses that kaasd has not given out itself, two for each. */
static struct net_try *make_tries(struct checking *c, size_t *count, uint64_t *left_out) {
    struct net_try *tries = calloc((size_t)2 * TRIED_MAX, sizeof(*tries));
    struct address_list lists[3];
    uint32_t address;
    list_addresses(c->provider, lists);
    *count = 0;
    *left_out = 0;
    for (size_t k = 0; tries && k < ARRAY_COUNT(lists); k++)
        for (uint64_t at = 0; address_ranges_next(lists[k].ranges, &at, &address);) {
            if (address_ranges_has(&c->held, address))
                continue;
            if (*count == (size_t)2 * TRIED_MAX) {
                ++*left_out;
                continue;
            }
            for (size_t i = 0; i < 2; i++, ++*count) {
                address_format(address, tries[*count].address);
                tries[*count].port = i ? API_PORT : SSH_PORT;
            }
        }
    return tries;
}

static bool provider_is_allowed(const struct checking *c, const char *address) {
    uint8_t addr[16];
    return net_addr_parse(address, addr) && net_policy_allows(c->providers->options.networks, addr);
}

/* Addresses to which kaasd may not connect are taken out. Returns how many. */
static uint64_t keep_allowed(const struct checking *c, struct net_try *tries, size_t *count) {
    uint64_t refused = 0;
    size_t kept = 0;
    for (size_t i = 0; i < *count; i += 2) {
        if (!provider_is_allowed(c, tries[i].address)) {
            refused++;
            continue;
        }
        memmove(&tries[kept], &tries[i], 2 * sizeof(*tries));
        kept += 2;
    }
    *count = kept;
    return refused;
}

/* What came of it: somebody accepts or refuses, nobody answers, or kaasd has no way there. */
static void judge_tries(const struct net_try *tries, size_t count, struct named *taken, uint64_t *no_way) {
    for (size_t i = 0; i < count; i += 2) {
        const struct net_try *ssh = &tries[i], *api = &tries[i + 1];
        if (!ssh->why || !api->why)
            provider_name_one(taken, "%s (port %u accepts)", ssh->address, ssh->why ? api->port : ssh->port);
        else if (ssh->why == ECONNREFUSED || api->why == ECONNREFUSED)
            provider_name_one(taken, "%s (refuses connections, so somebody is there)", ssh->address);
        else if (ssh->why != ETIMEDOUT && ssh->why != EHOSTUNREACH)
            ++*no_way;
    }
    name_rest(taken);
}

static void look_at_ports(struct checking *c) {
    struct finding f = finding_of("ports", "addresses, ports");
    struct named taken = {.count = 0};
    uint64_t left_out, no_way = 0;
    size_t count;
    _cleanup_free_ struct net_try *tries = make_tries(c, &count, &left_out);
    if (!tries) {
        c->check->findings.is_short = true;
        return;
    }
    _cleanup_strbuf_ struct strbuf blind;
    strbuf_init(&taken.text, 900);
    strbuf_init(&blind, 400);
    const uint64_t refused = keep_allowed(c, tries, &count);
    net_try_ports(tries, count, TRY_TIMEOUT_MS);
    judge_tries(tries, count, &taken, &no_way);
    if (refused)
        strbuf_addf(&blind, "; %llu not looked at, since kubernetes.allowed_networks keeps kaasd from them",
                    (unsigned long long)refused);
    if (no_way)
        strbuf_addf(&blind, "; %llu not looked at, since kaasd has no way there", (unsigned long long)no_way);
    if (left_out)
        strbuf_addf(&blind, "; %llu not looked at, being more than %u", (unsigned long long)left_out, TRIED_MAX);
    if (taken.count) {
        finding_say(&f, FINDING_FAILED, "%zu of the addresses are in use: %s%s", taken.count, taken.text.data, blind.data);
        finding_advise(&f, "take them out of the document, and apply it again: kaasctl provider apply -f FILE");
    } else {
        finding_say(&f, blind.len ? FINDING_WARNING : FINDING_OK, "of %zu addresses none accepts on port %u or %u%s", count / 2,
                    SSH_PORT, API_PORT, blind.data);
    }
    strbuf_done(&taken.text);
    check_add(c, &f);
}

/* -- API and Services -------------------------------------------------------------------------------------------------------- */

static void look_at_api(struct checking *c) {
    struct finding f = finding_of("api_addresses", "api_addresses");
    const uint64_t count = address_ranges_size(&c->provider->api_addresses);
    if (count) {
        finding_say(&f, FINDING_OK, "%llu, in the subnet of the nodes", (unsigned long long)count);
    } else {
        finding_say(&f, FINDING_WARNING, "none: each cluster needs one of its own, given when it is created");
        finding_advise(&f, "add api_addresses in the subnet of nodes.gateway, and apply the document again");
    }
    check_add(c, &f);
}

static void look_at_services(struct checking *c) {
    struct finding f = finding_of("service_addresses", "service_addresses");
    const struct provider *p = c->provider;
    const uint32_t mask = provider_netmask(p);
    bool is_near = true;
    for (size_t i = 0; i < p->service_addresses.count; i++)
        is_near = is_near && ((p->service_addresses.items[i].first ^ p->node_gateway) & mask) == 0 &&
                  ((p->service_addresses.items[i].last ^ p->node_gateway) & mask) == 0;
    if (!p->service_addresses.count) {
        finding_say(&f, FINDING_OK, "none: Services of type LoadBalancer get no address");
    } else if (is_near) {
        finding_say(&f, FINDING_OK, "%llu, in the subnet of the nodes",
                    (unsigned long long)address_ranges_size(&p->service_addresses));
    } else {
        finding_say(&f, FINDING_WARNING, "some are not in the subnet of the nodes: nodes do not answer for them there");
        finding_advise(&f, "let the routers of the site send them to the nodes, or take addresses of that subnet");
    }
    check_add(c, &f);
}

/* -- all of it --------------------------------------------------------------------------------------------------------------- */

int providers_check(struct providers *providers, const struct provider *provider, const struct provider_need *need,
                    struct provider_check *out, struct err *err) {
    struct checking c = {.providers = providers, .provider = provider, .need = need, .check = out};
    const int64_t begun_ms = clock_mono_ms();
    out->checked_at_ms = clock_wall_ms();
    int rc = provider_store_list_held(providers->options.runtime->store, provider, &c.held, err);
    if (!rc && provider_look_at_vcenter(&c)) {
        for (size_t kind = 0; kind < PROVIDER_PLACES_COUNT; kind++)
            look_at_place(&c, (enum provider_place_kind)kind);
        look_at_reach(&c);
        look_at_template(&c);
        look_at_room(&c);
        look_at_guests(&c);
    }
    if (!rc) {
        look_at_ports(&c);
        look_at_api(&c);
        look_at_services(&c);
    }
    out->worst = findings_worst(&out->findings, 0);
    out->duration_ms = clock_mono_ms() - begun_ms;
    vim_user_session_done(&c.own);
    link_unref(c.link);
    free(c.held.items);
    return rc ? rc : findings_check(&out->findings, err);
}
