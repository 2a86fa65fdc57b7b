/* What the probes of the pilot share. Layer 4 (pilot); private to the pilot*.c files.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "hx.h"
#include "names.h"
#include "net_addr.h"
#include "pilot.h"
#include "pilot_guard.h"
#include "vim.h"
#include "vim_extension.h"
#include "vim_session.h"
#include "x509.h"

/* What probes find and later ones need. */
enum pilot_need {
    PILOT_NEEDS_NOTHING,
    PILOT_NEEDS_ADDRESS, /* the name resolves */
    PILOT_NEEDS_PORT,    /* something listens */
    PILOT_NEEDS_TRUST,   /* the certificate of the vCenter is trusted */
    PILOT_NEEDS_API,     /* it is a vCenter */
    PILOT_NEEDS_SESSION,
    PILOT_NEEDS_EXTENSIONS, /* the list of extensions was read */
    PILOT_NEEDS_HX_KEYS,    /* the list has HX clusters */
    PILOT_NEEDS_HX,         /* an HX cluster is to be asked */
    PILOT_NEEDS_HX_ADDRESS,
    PILOT_NEEDS_HX_TRUST,
    PILOT_NEEDS_HX_TOKEN,
    PILOT_NEEDS_HX_FACTS,
    PILOT_NEEDS_COUNT
};

#define PILOT_HX_KEYS_MAX 64

/* An HX cluster as the extension list has it. */
struct pilot_hx_key {
    char *key;
    char moref[MOREF_BYTES];
};

/* An object of the inventory on the way from a vSphere cluster up. */
struct pilot_object {
    char *moref, *parent, *name;
    bool is_cluster, is_datacenter;
};

struct pilot {
    const struct pilot_options *options;
    bool has[PILOT_NEEDS_COUNT];
    struct pilot_guard vcenter_guard, hx_guard;
    /* the vCenter */
    struct net_addresses addresses;
    const char *address; /* the one that answers, in `addresses` */
    struct x509_info seen;
    bool has_tunnel, has_direct; /* these ports accept connections */
    struct vim_client *client;
    struct vim_about about;
    struct vim_user_session own;
    char *ended_key; /* key of a session that has ended; NULL: there was none */
    struct pilot_object *objects;
    size_t object_count, object_room;
    struct vim_page page; /* the first one of virtual machines */
    struct vim_key_list keys;
    struct pilot_hx_key hx_keys[PILOT_HX_KEYS_MAX];
    size_t hx_key_count;
    /* the HX cluster */
    struct hx_client *hx;
    struct hx_token token;
    struct hx_facts facts;
};

/* Makes the probe, and fills in status, text and remedy. */
typedef void pilot_probe_fn(struct pilot *p, struct finding *f);
#define PROBE(id, title, needs, row) pilot_probe_fn pilot_probe_##id;
#include "probes.def"
#undef PROBE

/* With an error code `rc` makes the finding FINDING_FAILED with the text of `err`. Returns true if `rc` is 0, and then changes nothing. */
bool pilot_say_rc(struct finding *f, int rc, const struct err *err);

/* Looks up a name and fills in the finding. True if it resolves. */
bool pilot_look_name(const char *address, struct net_addresses *out, struct finding *f);
/* Fetches the certificate that a server shows, checks it against server->trust, and fills in the finding. *seen (x509_info_done) is set if it showed one. True
 * if it is trusted. */
bool pilot_look_certificate(const struct pilot_server *server, struct x509_info *seen, struct finding *f);
