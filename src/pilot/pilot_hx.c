/* Probes of HX Connect: one login, what can be read, and the end of the token. Layer 4 (pilot).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pilot_private.h"
#include "secret.h"
#include "str.h"

#define ANSWER_BYTES_MAX (256UL * 1024)
#define ALARMS_BYTES_MAX (1024UL * 1024)
#define CLUSTERS "/coreapi/v1/clusters"

void pilot_probe_hx_name(struct pilot *p, struct finding *f) {
    struct net_addresses addresses;
    p->has[PILOT_NEEDS_HX_ADDRESS] = pilot_look_name(p->options->hx.address, &addresses, f);
}

void pilot_probe_hx_tls(struct pilot *p, struct finding *f) {
    _cleanup_done_(x509_info_done) struct x509_info seen = {0};
    p->has[PILOT_NEEDS_HX_TRUST] = pilot_look_certificate(&p->options->hx, &seen, f);
}

static long status_of(const struct pilot *p, const char *end) {
    const struct pilot_call *call = pilot_guard_find(&p->hx_guard, end);
    return call ? call->status : 0;
}

void pilot_probe_hx_login(struct pilot *p, struct finding *f) {
    struct err err = {0};
    if (!pilot_say_rc(f, hx_login(p->hx, p->options->hx.user, p->options->hx.password, &p->token, &err), &err))
        return;
    p->has[PILOT_NEEDS_HX_TOKEN] = true;
    finding_say(f, FINDING_OK, "%ld with both tokens, of the type %s", status_of(p, "grant_type=password"), p->token.type);
}

void pilot_probe_hx_read(struct pilot *p, struct finding *f) {
    struct err err = {0};
    if (!pilot_say_rc(f, hx_read(p->hx, &p->token, &p->facts, &err), &err))
        return;
    p->has[PILOT_NEEDS_HX_FACTS] = true;
    finding_say(f, FINDING_OK, "one cluster, %s, uuid %s", p->facts.name, p->facts.uuid);
}

void pilot_probe_hx_account(struct pilot *p, struct finding *f) {
    const long status = status_of(p, CLUSTERS);
    finding_say(f, status == 200 ? FINDING_OK : FINDING_FAILED, "%s gets HTTP %ld", p->options->hx.user, status);
    if (status != 200)
        finding_advise(f, "take another account, such as local/admin");
}

/* The readings were asked for with the colon encoded. */
void pilot_probe_hx_uuid(struct pilot *p, struct finding *f) {
    _cleanup_free_ char *plain = str_format(CLUSTERS "/%s/about", p->facts.uuid);
    const long status = status_of(p, "/about");
    long plainly = 0;
    struct err err = {0};
    if (status == 200) {
        finding_say(f, FINDING_OK, "about answers 200 to a path with %%3A");
        return;
    }
    if (plain && !pilot_say_rc(f, hx_lookup_status(p->hx, &p->token, plain, &plainly, &err), &err))
        return;
    finding_say(f, plainly == 200 ? FINDING_FAILED : FINDING_SKIPPED,
                "about answers %ld to a path with %%3A, %ld to one with a colon", status, plainly);
}

/* Says which are missing; `names` and `is_told` have so many. */
static void judge_members(struct finding *f, const char *const *names, const bool *is_told, size_t count, const char *what) {
    _cleanup_strbuf_ struct strbuf missing;
    strbuf_init(&missing, sizeof(f->text));
    for (size_t i = 0; i < count; i++)
        if (!is_told[i])
            strbuf_addf(&missing, "%s%s", missing.len ? ", " : "", names[i]);
    if (missing.len)
        finding_say(f, FINDING_FAILED, "not told: %s", missing.data);
    else
        finding_say(f, FINDING_OK, "%s", what);
}

void pilot_probe_hx_members(struct pilot *p, struct finding *f) {
    const struct hx_facts *x = &p->facts;
    static const char *const names[] = {"productVersion",       "state",
                                        "resiliencyState",      "spaceStatus",
                                        "totalCapacityInBytes", "usedCapacityInBytes",
                                        "vCenterDatacenter",    "vCenterClusterName"};
    const bool is_told[] = {x->version != NULL,     x->state != NULL,   x->resiliency != NULL, x->space != NULL,
                            x->capacity_bytes >= 0, x->used_bytes >= 0, x->datacenter != NULL, x->vsphere_cluster != NULL};
    judge_members(f, names, is_told, ARRAY_COUNT(names), "all are told");
}

void pilot_probe_hx_detail(struct pilot *p, struct finding *f) {
    static const char *const names[] = {"numNodesConfigured", "numNodesOnline"};
    const bool is_told[] = {p->facts.nodes_configured >= 0, p->facts.nodes_online >= 0};
    char what[80];
    (void)snprintf(what, sizeof(what), "%lld of %lld nodes are online", (long long)p->facts.nodes_online,
                   (long long)p->facts.nodes_configured);
    judge_members(f, names, is_told, ARRAY_COUNT(names), what);
}

static bool is_known_word(const char *word) {
    static const char *const words[] = {"ONLINE",   "HEALTHY",      "UNHEALTHY", "NORMAL",  "OFFLINE", "UNKNOWN",
                                        "ENOSPACE", "OUT_OF_SPACE", "READONLY",  "WARNING", "CRITICAL"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (!word || str_eq(word, words[i]))
            return true;
    return false;
}

void pilot_probe_hx_words(struct pilot *p, struct finding *f) {
    const char *const words[] = {p->facts.state, p->facts.resiliency, p->facts.space};
    finding_say(f, FINDING_OK, "%s, %s, %s", words[0] ? words[0] : "-", words[1] ? words[1] : "-", words[2] ? words[2] : "-");
    for (size_t i = 0; i < ARRAY_COUNT(words); i++)
        if (!is_known_word(words[i])) {
            f->status = FINDING_FAILED;
            finding_advise(f, "send us the word; the page shows it as HX spells it");
        }
}

void pilot_probe_hx_alarms(struct pilot *p, struct finding *f) {
    if (p->facts.alarms < 0)
        finding_say(f, FINDING_FAILED, "alarms answers %ld, and no array", status_of(p, "/alarms"));
    else
        finding_say(f, FINDING_OK, "%lld; compare with the page Alarms of HX Connect", (long long)p->facts.alarms);
}

void pilot_probe_hx_sizes(struct pilot *p, struct finding *f) {
    const struct pilot_call *largest = NULL;
    bool is_over = false;
    for (size_t i = 0; i < p->hx_guard.count; i++) {
        const struct pilot_call *call = &p->hx_guard.calls[i];
        largest = !largest || call->bytes > largest->bytes ? call : largest;
        is_over |= call->bytes > (str_ends(call->path, "/alarms") ? ALARMS_BYTES_MAX : ANSWER_BYTES_MAX);
    }
    const char *name = strrchr(largest->path, '/');
    finding_say(f, is_over ? FINDING_FAILED : FINDING_OK, "the largest is %zu bytes (%s)", largest->bytes,
                name ? name + 1 : largest->path);
}

/* The names are those of the vCenter that was asked, if this HX belongs to it. */
void pilot_probe_hx_place(struct pilot *p, struct finding *f) {
    const char *cluster = p->facts.vsphere_cluster;
    if (!p->object_count || !cluster) {
        finding_say(f, FINDING_SKIPPED, "%s", cluster ? "no vSphere cluster was read from the vCenter" : "HX tells no name");
        return;
    }
    for (size_t i = 0; i < p->object_count; i++)
        if (p->objects[i].is_cluster && str_eq(p->objects[i].name, cluster)) {
            finding_say(f, FINDING_OK, "%s in %s is a vSphere cluster of the vCenter", cluster,
                        p->facts.datacenter ? p->facts.datacenter : "-");
            return;
        }
    finding_say(f, FINDING_FAILED, "the vCenter has no vSphere cluster %s", cluster);
    finding_advise(f, "see whether this HX belongs to that vCenter, or the vSphere cluster was renamed");
}

/* A path that must not be there, asked with the token. */
static bool ask_status(struct pilot *p, const char *path, long *status, struct finding *f) {
    struct err err = {0};
    return pilot_say_rc(f, hx_lookup_status(p->hx, &p->token, path, status, &err), &err);
}

void pilot_probe_hx_absent(struct pilot *p, struct finding *f) {
    long status = 0;
    if (ask_status(p, "/coreapi/v1/kaas-pilot", &status, f))
        finding_say(f, status == 404 ? FINDING_OK : FINDING_FAILED, "a path that no release has answers %ld", status);
}

/* The contract has PUT and DELETE, which a pilot does not send, so an HX that has the call may answer GET as one that has not. */
void pilot_probe_hx_registration(struct pilot *p, struct finding *f) {
    long status = 0;
    if (!ask_status(p, HX_REGISTRATION_PATH, &status, f))
        return;
    if (status == 404 || status == 405 || status == 501)
        finding_say(f, FINDING_SKIPPED, "not known: GET answers %ld, and what PUT does only kaasctl hx publish HX tells", status);
    else
        finding_say(f, FINDING_FAILED, "GET of " HX_REGISTRATION_PATH " answers %ld", status);
}

void pilot_probe_hx_token(struct pilot *p, struct finding *f) {
    static char none[] = "kaas-pilot-none", type[] = "Bearer";
    const struct hx_token wrong = {.access = none, .refresh = none, .type = type};
    long status = 0;
    struct err err = {0};
    if (!pilot_say_rc(f, hx_lookup_status(p->hx, &wrong, CLUSTERS, &status, &err), &err))
        return;
    finding_say(f, status == 401 ? FINDING_OK : FINDING_FAILED, "a token that is none gets %ld", status);
    if (status == 403)
        finding_advise(f, "send us this: kaasd would take it for a lack of rights and not log in again");
}

/* The last one: there is no token behind it. */
void pilot_probe_hx_revoke(struct pilot *p, struct finding *f) {
    long status = 0;
    struct err err = {0};
    if (!pilot_say_rc(f, hx_revoke(p->hx, &p->token, &err), &err) || !ask_status(p, CLUSTERS, &status, f))
        return;
    finding_say(f, status == 401 ? FINDING_OK : FINDING_FAILED, "after revoking (%ld) the token gets %ld",
                status_of(p, "/aaa/v1/revoke"), status);
    hx_token_done(&p->token);
}
