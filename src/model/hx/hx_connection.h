/* How kaasd reaches the management of an HX cluster (HX Connect), and what the cluster says of itself. Layer 1 (model); pure.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cleanup.h"
#include "err.h"
#include "member.h"
#include "platform.h"
#include "remote_status.h"

#define HX_UUID_CHARS_MAX 41U /* two decimal numbers of 64 bits joined by a colon */
#define HX_NAME_CHARS_MAX 50U /* Administration Guide: 1 to 50 characters; in bytes four times that */
#define HX_CONNECTION_CA_BYTES_MAX (64U * 1024U)
#define HX_CONNECTION_SHA256_BYTES 65 /* lower-case hex, and NUL */
#define HX_CONNECTION_USER_CHARS_MAX 255

/* What an HX cluster says of itself. Texts malloc'ed, NULL where HX does not tell; -1 for a number that it does not tell. Texts are UTF-8; control
 * characters in them are made blanks (line ends in `messages` are ours), and what is too long is cut. */
struct hx_facts {
    char *uuid;            /* two decimal numbers of 64 bits joined by a colon */
    char *name;            /* HX's own; may be changed there at any time */
    char *version;         /* "5.5.2a-39363" */
    char *state;           /* "ONLINE", as HX spells it */
    char *resiliency;      /* "HEALTHY", likewise */
    char *space;           /* "NORMAL", likewise */
    char *messages;        /* why it is not healthy, a line each */
    char *datacenter;      /* name of its datacenter in vCenter */
    char *vsphere_cluster; /* name of its vSphere cluster in vCenter */
    int64_t capacity_bytes, used_bytes;
    int64_t nodes_configured, nodes_online;
    int64_t alarms; /* how many */
};
/* Facts of an HX cluster that told nothing. */
#define HX_FACTS_NONE \
    ((struct hx_facts){.capacity_bytes = -1, .used_bytes = -1, .nodes_configured = -1, .nodes_online = -1, .alarms = -1})
void hx_facts_done(struct hx_facts *facts); /* NULL is allowed */

/* States of a connection. REMOTE_REFUSED: the password was refused HX_REFUSALS_MAX times; it is not tried again by itself, so that HX does not lock the account. */
extern const char *const hx_connection_state_words[];
const char *hx_connection_state_name(enum remote_state state); /* "unknown", "ok", "failing", "refused"; static, never NULL */

#define HX_REFUSALS_MAX 3U

/* State of the connection, and what HX said of itself. Texts malloc'ed. */
struct hx_status {
    char *hx_id;
    struct remote_status remote;
    int64_t duration_ms;      /* of the last try */
    int64_t next_login_at_ms; /* wall clock: no login earlier, since HX counts them */
    int64_t token_at_ms;      /* wall clock: when HX gave the token that is kept; 0: none is kept */
    unsigned refusals;        /* logins refused in a row */
    int64_t read_at_ms;       /* wall clock: when the facts were read; 0: never */
    struct hx_facts facts;
    int64_t version_no;
};
static const struct member hx_status_members[] = {
    MEMBER_AS(hx_status, hx_id, "hx_cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(hx_status, remote.state, "state", "state", .words = hx_connection_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(hx_status, remote.since_ms, "since_ms", "since"),
    MEMBER_AS(hx_status, remote.checked_at_ms, "checked_at_ms", "checked_at"),
    MEMBER_PART_OF("duration_ms"),
    MEMBER_AS(hx_status, duration_ms, "duration_ms", NULL),
    MEMBER_AS(hx_status, next_login_at_ms, "next_login_at_ms", "next_login_at"),
    MEMBER(hx_status, refusals),
    MEMBER_AS(hx_status, remote.reason, "reason", "reason"),
    MEMBER_AS(hx_status, remote.detail, "detail", "detail"),
    MEMBER_AS(hx_status, remote.remedy, "remedy", "remedy"),
    MEMBER_PART_OF("facts"),
    MEMBER_AS(hx_status, remote.next_at_ms, "next_at_ms", NULL),
    MEMBER_AS(hx_status, token_at_ms, "token_at_ms", NULL),
    MEMBER_AS(hx_status, read_at_ms, "read_at_ms", NULL),
    MEMBER_AS(hx_status, facts.uuid, "hx_uuid", NULL),
    MEMBER_AS(hx_status, facts.name, "hx_name", NULL),
    MEMBER_AS(hx_status, facts.version, "hx_version", NULL),
    MEMBER_AS(hx_status, facts.state, "hx_state", NULL),
    MEMBER_AS(hx_status, facts.resiliency, "hx_resiliency", NULL),
    MEMBER_AS(hx_status, facts.space, "hx_space", NULL),
    MEMBER_AS(hx_status, facts.messages, "hx_messages", NULL),
    MEMBER_AS(hx_status, facts.datacenter, "hx_datacenter", NULL),
    MEMBER_AS(hx_status, facts.vsphere_cluster, "hx_vsphere_cluster", NULL),
    MEMBER_AS(hx_status, facts.capacity_bytes, "capacity_bytes", NULL),
    MEMBER_AS(hx_status, facts.used_bytes, "used_bytes", NULL),
    MEMBER_AS(hx_status, facts.nodes_configured, "nodes_configured", NULL),
    MEMBER_AS(hx_status, facts.nodes_online, "nodes_online", NULL),
    MEMBER_AS(hx_status, facts.alarms, "alarms", NULL),
    MEMBER_AS(hx_status, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void hx_status_done(struct hx_status *status); /* NULL is allowed */
void hx_status_free(struct hx_status *status); /* NULL is allowed */
CLEANUP_DEFINE(struct hx_status, hx_status_free);
struct hx_status_list {
    struct hx_status *items; /* by id of the HX cluster */
    size_t count;
};
void hx_status_list_done(struct hx_status_list *list); /* NULL is allowed */

/* How an HX cluster is reached. Texts malloc'ed; NULL where there is none. */
struct hx_connection {
    char *hx_id; /* of the HX cluster: its identity */
    char *address;
    unsigned port;
    char *user_name;
    bool is_inherited; /* user and password were taken from the credential of its vCenter */
    char *ca_pem;      /* trust by this CA, */
    char *sha256;      /* or in the certificate with this SHA-256, lower-case hex; neither: the CA of hx.ca_file */
    int64_t created_at_ms, updated_at_ms;
    int64_t version_no;
};
static const struct member hx_connection_members[] = {
    MEMBER_AS(hx_connection, hx_id, "hx_cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER_PART_OF("hx_cluster"),
    MEMBER(hx_connection, address, .writers = BY_ADMIN),
    MEMBER(hx_connection, port, .first = 1, .max = 65535, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER(hx_connection, user_name, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(hx_connection, is_inherited, "is_inherited", "inherited"),
    MEMBER(hx_connection, ca_pem, .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(hx_connection, sha256, "sha256", "thumbprint_sha256", .writers = BY_ADMIN, .flags = MEMBER_OPTIONAL),
    MEMBER_AS(hx_connection, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(hx_connection, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(hx_connection, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void hx_connection_done(struct hx_connection *connection); /* NULL is allowed */
void hx_connection_free(struct hx_connection *connection); /* NULL is allowed */
CLEANUP_DEFINE(struct hx_connection, hx_connection_free);

struct hx_connection_list {
    struct hx_connection *items; /* by id of the HX cluster */
    size_t count;
};
void hx_connection_list_done(struct hx_connection_list *list); /* NULL is allowed */

/* The credential that HX clusters of a vCenter inherit; its password is kept sealed, not here. Texts malloc'ed. */
struct hx_credential {
    char *vcenter_id; /* its identity */
    char *user_name;
    int64_t refused_at_ms; /* wall clock: when an HX cluster refused it; then it is tried at no other; 0: none did */
    int64_t created_at_ms, updated_at_ms;
    int64_t version_no;
};
static const struct member hx_credential_members[] = {
    MEMBER_AS(hx_credential, vcenter_id, "vcenter_id", NULL, .flags = MEMBER_KEY),
    MEMBER(hx_credential, user_name, .writers = BY_ADMIN),
    MEMBER_AS(hx_credential, refused_at_ms, "refused_at_ms", "refused_at"),
    MEMBER_AS(hx_credential, created_at_ms, "created_at_ms", "created_at", .flags = MEMBER_FIXED),
    MEMBER_AS(hx_credential, updated_at_ms, "updated_at_ms", "updated_at"),
    MEMBER_AS(hx_credential, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void hx_credential_done(struct hx_credential *credential); /* NULL is allowed */
void hx_credential_free(struct hx_credential *credential); /* NULL is allowed */
CLEANUP_DEFINE(struct hx_credential, hx_credential_free);
struct hx_credential_list {
    struct hx_credential *items; /* by id of the vCenter */
    size_t count;
};
void hx_credential_list_done(struct hx_credential_list *list); /* NULL is allowed */

/* Checks the user name of a connection or credential. ERR_UNPROCESSABLE naming the member. */
int hx_user_name_check(const char *user_name, struct err *err);
/* Checks address and user name, and that not both ca_pem and sha256 are given; brings sha256 into its one spelling, and changes the port 0 to 443.
 * ERR_UNPROCESSABLE naming the member, with a remedy. */
int hx_connection_check(struct hx_connection *connection, struct err *err);

/* -- where it may be, by what its vCenter tells ------------------------------------------------------------------------------- */

#define HX_ADDRESSES_MAX 8 /* all controllers of an HX cluster serve the same */

enum hx_address_source { HX_ADDRESS_EXTENSION, HX_ADDRESS_CONTROLLER };
const char *hx_address_source_name(enum hx_address_source source); /* "extension_record", "controller_vm"; static */

struct hx_addresses {
    struct hx_address {
        char *address; /* host name or IP address */
        unsigned port;
        enum hx_address_source source;
    } items[HX_ADDRESSES_MAX]; /* each address with port once */
    size_t count;
};
void hx_addresses_done(struct hx_addresses *addresses); /* NULL is allowed */
/* Adds a copy of `one`; does nothing if it is there already, is no address, or the list is full. ERR_NOMEM. */
int hx_addresses_add(struct hx_addresses *addresses, const struct hx_address *one, struct err *err);

/* -- what an HX cluster was told of where KaaS is (docs/hx-publish.md) --------------------------------------------------------- */

enum hx_publication_state {
    HX_PUBLICATION_UNKNOWN, /* not tried yet */
    HX_PUBLICATION_PUBLISHED,
    HX_PUBLICATION_NOT_SUPPORTED, /* this HX has no such call: nothing is wrong */
    HX_PUBLICATION_REFUSED,       /* HX refuses what we send; tried again by itself */
    HX_PUBLICATION_FAILING,       /* the call failed; tried again by itself */
    HX_PUBLICATION_WITHDRAWN,
};
extern const char *const hx_publication_state_words[];
const char *hx_publication_state_name(enum hx_publication_state state); /* "unknown", ..., "withdrawn"; static, never NULL */

#define HX_DIGEST_BYTES 65 /* SHA-256 as lower-case hexadecimal digits, and NUL */

struct hx_publication {
    char *hx_id;    /* of the HX cluster: its identity; malloc'ed */
    bool is_wanted; /* false: an administrator has withdrawn it, and it stays so */
    enum hx_publication_state state;
    int64_t since_ms;                                      /* wall clock: since when it is in this state */
    int64_t tried_at_ms;                                   /* wall clock: the last try; 0: never */
    int64_t published_at_ms;                               /* wall clock: when HX took it; 0: never */
    int64_t expires_at_ms;                                 /* wall clock: until when HX may hold it; 0: it holds none */
    int64_t next_at_ms;                                    /* wall clock: kaasd does not try again earlier by itself */
    unsigned failures;                                     /* in a row */
    char reason[31];                                       /* stable word; "": nothing is wrong */
    char detail[ERR_TEXT_BYTES], remedy[ERR_REMEDY_BYTES]; /* "" likewise */
    char digest[HX_DIGEST_BYTES];                          /* of what was sent last, but for nonce and end; "": nothing was */
    char nonce_digest[HX_DIGEST_BYTES];                    /* of the last request's nonce */
    int64_t nonce_until_ms;                                /* wall clock: until when kaasd confirms that nonce to HX */
    char body_sha256[HX_DIGEST_BYTES];                     /* of the last request's body */
    int64_t version_no;
};
static const struct member hx_publication_members[] = {
    MEMBER_AS(hx_publication, hx_id, "hx_cluster_id", NULL, .flags = MEMBER_KEY),
    MEMBER_PART_OF("hx_cluster"),
    MEMBER_AS(hx_publication, is_wanted, "is_wanted", "wanted"),
    MEMBER(hx_publication, state, .words = hx_publication_state_words, .flags = MEMBER_STRICT),
    MEMBER_AS(hx_publication, since_ms, "since_ms", "since"),
    MEMBER_AS(hx_publication, tried_at_ms, "tried_at_ms", "tried_at"),
    MEMBER_AS(hx_publication, published_at_ms, "published_at_ms", "published_at"),
    MEMBER_AS(hx_publication, expires_at_ms, "expires_at_ms", "expires_at"),
    MEMBER_AS(hx_publication, next_at_ms, "next_at_ms", "next_at"),
    MEMBER(hx_publication, reason),
    MEMBER(hx_publication, detail),
    MEMBER(hx_publication, remedy),
    MEMBER_AS(hx_publication, failures, "failures", NULL),
    MEMBER_AS(hx_publication, digest, "digest", NULL),
    MEMBER_AS(hx_publication, nonce_digest, "nonce_digest", NULL),
    MEMBER_AS(hx_publication, nonce_until_ms, "nonce_until_ms", NULL),
    MEMBER_AS(hx_publication, body_sha256, "body_sha256", NULL),
    MEMBER_AS(hx_publication, version_no, "version_no", NULL, .flags = MEMBER_VERSION),
    MEMBERS_END,
};
void hx_publication_done(struct hx_publication *publication); /* NULL is allowed */
void hx_publication_free(struct hx_publication *publication); /* NULL is allowed */
CLEANUP_DEFINE(struct hx_publication, hx_publication_free);
struct hx_publication_list {
    struct hx_publication *items; /* by id of the HX cluster */
    size_t count;
};
void hx_publication_list_done(struct hx_publication_list *list); /* NULL is allowed */

/* What an HX cluster is told of its vCenter. Texts malloc'ed. */
struct hx_place {
    char *hx_id;
    char *vcenter_id;    /* instance UUID */
    char *extension_key; /* of our record there */
};
static const struct member hx_place_members[] = {
    MEMBER_AS(hx_place, hx_id, "h.id", NULL, .flags = MEMBER_KEY),
    MEMBER_AS(hx_place, vcenter_id, "v.id", NULL),
    MEMBER_AS(hx_place, extension_key, "v.extension_key", NULL),
    MEMBERS_END,
};
void hx_place_done(struct hx_place *place); /* NULL is allowed */
struct hx_place_list {
    struct hx_place *items; /* by id of the HX cluster */
    size_t count;
};
void hx_place_list_done(struct hx_place_list *list); /* NULL is allowed */

/* Decides whether HX is to be told something now: nothing, where KaaS is, or to forget it. Pure. */
enum hx_publication_step { HX_PUBLICATION_REST, HX_PUBLICATION_PUT, HX_PUBLICATION_DELETE };
struct hx_publication_case {
    const struct hx_publication *row; /* NULL: there is none yet */
    bool is_automatic;                /* without a row, the publication is wanted */
    const char *digest;               /* of what would be sent; NULL: nothing may be sent: not registered with its vCenter */
    int64_t digest_since_ms;          /* wall clock: since when this replica would send that */
    int64_t now_ms;                   /* wall clock */
};
enum hx_publication_step hx_publication_next(const struct hx_publication_case *c);

/* -- two HX clusters that tell the same uuid -------------------------------------------------------------------------
 *
 * A uuid is only what an HX cluster says of itself. So two records become one only if all else agrees: a vCenter shows the newer one, no vCenter shows the
 * place of the older one any more, the newer one has never told another uuid, and the older one's own connection, if it works, says that it is there. */

/* All borrowed. */
struct hx_claim {
    const struct hx_cluster *newer;       /* its connection has just told the uuid, which its record does not have */
    const struct vsphere_cluster *place;  /* vSphere cluster of the newer one; NULL: not known */
    const struct hx_cluster *older;       /* its record has the uuid */
    bool is_older_in_vcenter;             /* the older one's vCenter is registered here and has its key and vSphere cluster */
    const struct hx_status *older_status; /* state of the older one's connection; NULL: it has none */
};

/* 0: the older one has moved to where the newer one is. ERR_CONFLICT with a remedy: the newer one may not have this uuid. */
int hx_claim_check(const struct hx_claim *claim, struct err *err);
