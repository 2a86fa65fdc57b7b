/* Every size, count and time limit of the program in one place. Layer 0 (base).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Named KAAS_..._BYTES, _COUNT, _MS or _S; the file is called through "limits.h" of this folder, never <limits.h>. */
#pragma once

/* texts and names */
#define KAAS_NAME_CHARS_MAX 50 /* HyperFlex cluster names: 1 to 50 characters (HX admin guide 5.5) */
#define KAAS_DESCRIPTION_CHARS_MAX 1000
#define KAAS_LABELS_COUNT_MAX 64
#define KAAS_LABEL_KEY_BYTES_MAX 63
#define KAAS_LABEL_VALUE_CHARS_MAX 255
#define KAAS_NODE_NAME_CHARS_MAX 253 /* Kubernetes: a DNS subdomain name, RFC 1123 */
#define KAAS_VM_NAME_CHARS_MAX 255   /* vSphere allows 80; escaped characters count threefold */
#define KAAS_VERSION_BYTES_MAX 64
#define KAAS_URL_BYTES_MAX 2048U
#define KAAS_REPLICAS_COUNT_MAX 100000
#define KAAS_UUID_BYTES 37 /* 36 characters and NUL */

/* metrics: sets of label values in all; further sets are not counted, to save memory */
#define KAAS_METRICS_COUNT_MAX 4096U
#define KAAS_METRICS_BYTES_MAX (32U * 1024U * 1024U) /* of the page /metrics: 50,000 clusters on two HX clusters each */

/* HTTP server */
#define KAAS_HTTP_CONNECTION_MEMORY_BYTES (20U * 1024U) /* the largest head and its index; zeroed per request */
#define KAAS_HTTP_OTHER_FIELDS_BYTES_MAX (18U * 1024U)  /* header fields but Authorization */
#define KAAS_HTTP_HEADER_BYTES_MAX \
    (64U * 1024U) /* with the Kerberos ticket of somebody in very many groups: 48,000 bytes in base64 */
#define KAAS_HTTP_BODY_BYTES_MAX (1024U * 1024U)
#define KAAS_HTTP_LARGE_BYTES (64U * 1024U)            /* bodies from here on are counted together */
#define KAAS_HTTP_HELD_BYTES_MAX (16U * 1024U * 1024U) /* all large bodies that are coming in or going out at a time */
#define KAAS_HTTP_LOGIN_BODY_BYTES_MAX (16U * 1024U)
#define KAAS_HTTP_NEGOTIATE_BODY_BYTES_MAX (96U * 1024U) /* a token of 64 KiB as base64 in JSON */
#define KAAS_HTTP_URI_BYTES_MAX 4096U
#define KAAS_HTTP_CONNECTIONS_DEFAULT 4096U
#define KAAS_HTTP_SERVICE_CONNECTIONS 512U      /* the port for programs with certificates */
#define KAAS_HTTP_ADMIN_CONNECTIONS 128U        /* the admin socket: kaasctl opens one for each command */
#define KAAS_HTTP_ADMIN_CONNECTIONS_PER_UID 64U /* everybody on the machine may open it, and an admin must still get in */
#define KAAS_HTTP_IDLE_TIMEOUT_S 30U
#define KAAS_HTTP_HEADER_TIMEOUT_MS 10000
#define KAAS_HTTP_BODY_TIMEOUT_MS 30000
#define KAAS_HTTP_SLOW_TIMEOUT_MS 60000
#define KAAS_HTTP_SEND_TIMEOUT_MS 60000

/* connecting a Kubernetes cluster: a kubeconfig in JSON, in which a line end takes two bytes */
#define KAAS_KUBECONFIG_BYTES_MAX (256U * 1024U)
#define KAAS_CONNECT_BODY_BYTES_MAX (512U * 1024U)

/* JSON from outside */
#define KAAS_JSON_DEPTH_MAX 32
#define KAAS_JSON_VALUES_MAX 500000 /* of one text: an empty object takes some 230 bytes */
#define KAAS_JSON_REPLY_BYTES_MAX (16U * 1024U * 1024U)

/* vCenter */
#define KAAS_VIM_REPLY_BYTES_MAX (64U * 1024U * 1024U)
#define KAAS_VIM_SMALL_REPLY_BYTES_MAX (64U * 1024U) /* of a reply about one object: versions, content, a session */
#define KAAS_VIM_XML_DEPTH_MAX 100
#define KAAS_VIM_XML_ATTRIBUTES_MAX 64U  /* names of attributes in one answer; vCenter has less than ten */
#define KAAS_VIM_XML_NAMESPACES_MAX 256U /* declared around one element */
#define KAAS_VIM_DECODE_STEP_BYTES 4096U /* decoded between two looks at the limits */
#define KAAS_VIM_DECODE_MS 10000         /* or as long as the call had to answer, if that is shorter */
#define KAAS_VIM_OBJECTS_COUNT_MAX 200000
#define KAAS_VIM_CONNECT_TIMEOUT_MS 5000
#define KAAS_VIM_CALL_TIMEOUT_MS 30000
#define KAAS_VIM_CONTEXTS_COUNT 4
#define KAAS_VIM_QUEUE_COUNT_MAX 64
#define KAAS_VIM_PRIVILEGE_BATCH_COUNT 100
#define KAAS_VIM_LOOK_TIMEOUT_MS 5000      /* of a call for numbers that a page can do without */
#define KAAS_VIM_KEEPALIVE_TIMEOUT_MS 8000 /* of a call that only asks whether vCenter still answers */
#define KAAS_VIM_WATCH_WAIT_S 60           /* how long vCenter may hold a call that waits for news */
#define KAAS_VIM_WATCH_WAIT_S_MAX 300
#define KAAS_VIM_WATCH_MARGIN_MS 15000 /* by which the HTTP time limit is longer than the wait */
#define KAAS_VIM_WATCH_OBJECTS_COUNT 500
#define KAAS_VIM_WATCH_REPLY_BYTES_MAX (32U * 1024U * 1024U)

/* tokens and sign-on */
#define KAAS_TOKEN_BYTES_MAX 4096
#define KAAS_TOKEN_CACHE_COUNT_MAX 20000
#define KAAS_PASSWORD_BYTES_MAX 1024

/* groups that a person is a member of */
#define KAAS_GROUPS_MAX 4096U /* Windows puts no more than 1,015 into a token */

/* sign-ons that wait for a vCenter's word without a thread */
#define KAAS_SIGNONS_WAITING_MAX 2048U /* in all: half of the connections */
#define KAAS_SIGNONS_SHARED_MAX 1536U  /* for the same answer, so that one crowd leaves places for others */

/* rights stated by a vCenter, counted from the statement */
#define KAAS_RIGHTS_FRESH_MS 30000  /* used without asking again */
#define KAAS_RIGHTS_HARD_MS 120000  /* never used longer while the vCenter answers */
#define KAAS_RIGHTS_GRACE_MS 300000 /* reads only, while the vCenter is unreachable */
#define KAAS_RIGHTS_WAIT_MS 10000   /* a request waits so long for an answer about its rights */

/* lifetime of a session that was opened although the person's directory, which should have been asked, did not answer */
#define KAAS_UNASKED_SESSION_MS (15LL * 60 * 1000)

/* how long a cluster's state still relies on what a vCenter showed of nodes after that vCenter was last watched */
#define KAAS_OBSERVED_EVIDENCE_MS 120000

/* lists */
#define KAAS_PAGE_DEFAULT_COUNT 100
#define KAAS_PAGE_MAX_COUNT 500
#define KAAS_PAGE_BYTES_MAX (4U * 1024U * 1024U) /* a page of large records ends earlier; far below KAAS_JSON_REPLY_BYTES_MAX */
#define KAAS_CLUSTERS_COUNT_MAX 50000
#define KAAS_NODES_PER_CLUSTER_MAX 1000
#define KAAS_NODES_COUNT_MAX 250000        /* of all clusters: about 350 MB */
#define KAAS_PLACEMENTS_PER_CLUSTER_MAX 64 /* one bit each in the visibility mask */

/* bulk import */
#define KAAS_IMPORT_BODY_BYTES_MAX (8U * 1024U * 1024U)
#define KAAS_IMPORT_LINE_BYTES_MAX KAAS_HTTP_BODY_BYTES_MAX /* as a single record */
#define KAAS_IMPORT_LINES_MAX 5000U
#define KAAS_IMPORTS_AT_ONCE 2 /* their bodies are held in memory */

/* requests that wait for a list to change */
#define KAAS_WATCHES_MAX 2048U /* in all: half of the connections */
#define KAAS_WATCHES_PER_SESSION_MAX 8U
#define KAAS_WATCHES_PER_PRINCIPAL_MAX 64U /* by all sessions of a person or program */
#define KAAS_WATCH_WAIT_DEFAULT_S 30
#define KAAS_WATCH_WAIT_MAX_S 60
#define KAAS_WATCH_LOOK_MS 10000 /* how often they look again, since rights may change without notice */
#define KAAS_WATCH_RETRY_S 5U    /* Retry-After where there is no place */
