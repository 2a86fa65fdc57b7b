/* Sessions of other people: proof of who somebody is, and the list of sessions; and how a vCenter answers, for the pilot. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A *cookie* (40 hex digits, or the id of a REST session) is a secret that proves possession of a session. A *key*
 * (UserSession.key, "52xxxxxx-...") is an identifier that administrators can list. They are never exchanged for one another here.
 * General errors: vim.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "vim.h"

struct vim_session_list {
    struct vim_user_session *items;
    size_t count;
};
void vim_session_list_done(struct vim_session_list *list); /* NULL is allowed */

/* The session id in a text that may have double quotes around it: REST answers the id as a JSON text, which people copy with its quotes, and vCenter quotes the
 * SOAP cookie, too. Returns where the id begins and its length in *id_bytes; the whole text if it is not quoted. Borrowed. */
const char *vim_session_id_in(const char *text, size_t bytes, size_t *id_bytes);

/* 0 if `text` has the form of a session cookie or REST session id (surrounding double quotes allowed). ERR_UNPROCESSABLE if it is a session key or
 * anything else; nothing is sent. The value is never part of the message. */
int vim_cookie_check(const char *text, struct err *err);

/* Reads SessionManager.currentSession once with the given cookie and nothing else: proves that its bearer has that session. The session is not logged out and
 * our own is not used. Our copies are wiped. The id of a REST session is sent without quotes. ERR_CREDENTIALS when there is no such session;
 * ERR_UNPROCESSABLE as vim_cookie_check. */
int vim_peek_session(struct vim_client *client, const char *cookie, struct vim_user_session *out, struct err *err);

enum vim_cookie_form { VIM_COOKIE_HEX, VIM_COOKIE_UUID, VIM_COOKIE_OTHER };
/* As vim_peek_session, with the cookie of our own session, which is not handed out. *form is the form of that cookie: 40 hex digits, as documented; a UUID, as
 * simulators make it, whose session keys look the same; or neither. ERR_NOT_FOUND without session. */
int vim_peek_own_session(struct vim_client *client, enum vim_cookie_form *form, struct vim_user_session *out, struct err *err);

/* Gets a clone ticket: whoever redeems it, once, gets a copy of our session. *out is freed by secret_free. */
int vim_acquire_clone_ticket(struct vim_client *client, char **out, struct err *err);

/* Redeems a clone ticket (works once; never retried), reads whose session it copies and logs the copy out at once. ERR_CREDENTIALS for a used, foreign or
 * unknown ticket. */
int vim_clone_session(struct vim_client *client, const char *ticket, struct vim_user_session *out, struct err *err);

/* Logs in as that user, reads who it is in stored form and logs out at once; our own session is not touched. ERR_CREDENTIALS;
 * ERR_FORBIDDEN: the password is right, but the account has no permission at all in that vCenter. */
int vim_check_password(struct vim_client *client, const char *user, const char *password, struct vim_user_session *out,
                       struct err *err);

/* All sessions of the vCenter; needs Sessions.TerminateSession. */
int vim_list_sessions(struct vim_client *client, struct vim_session_list *out, struct err *err);

/* Finds the session with this key in sessionList. ERR_NOT_FOUND. */
int vim_lookup_session(struct vim_client *client, const char *key, struct vim_user_session *out, struct err *err);

/* Whether the session with this key is alive and belongs to `user_name` (stored form). Needs Sessions.ValidateSession on the root
 * folder: ERR_UPSTREAM_DENIED does not mean "not active". */
int vim_session_is_active(struct vim_client *client, const char *key, const char *user_name, bool *out, struct err *err);

/* Ends another session. Needs Sessions.TerminateSession. ERR_NOT_FOUND. */
int vim_terminate_session(struct vim_client *client, const char *key, struct err *err);

/* -- clone tickets for plug-ins of the vSphere Client -------------------------------------------------------------- */

/* Exchanges the session id that the vSphere Client gave to a plug-in (`vmware-api-session-id`) for a clone ticket of the person's session
 * at this vCenter, whose instance UUID is `vc_guid`. *out is freed by secret_free. ERR_CREDENTIALS: the vCenter does not know the id;
 * ERR_UNPROCESSABLE: it has a form that none of them has, nothing is sent; general errors: vim.h. */
int vim_plugin_ticket(struct vim_client *client, const char *session_id, const char *vc_guid, char **out, struct err *err);

/* -- how a vCenter answers, for the pilot, which does not use the answers ------------------------------------------- */

/* A view, collector or session that these calls make at the vCenter is removed again. */

struct vim_page {
    size_t count;                       /* objects in the first page */
    bool has_more;                      /* others follow */
    char moref[128], instance_uuid[64]; /* of a virtual machine in it; empty: there is none, or it tells no UUID */
};
/* Asks for the instance UUIDs of all virtual machines without a page size, and reads the first page; the others are cancelled. */
int vim_look_at_page(struct vim_client *client, struct vim_page *out, struct err *err);

/* Makes an EventHistoryCollector for the events by which permissions are watched, and counts the events in its latest page. ERR_UPSTREAM if the vCenter has no
 * EventManager. */
int vim_look_at_events(struct vim_client *client, size_t *count, struct err *err);

/* Makes a REST session by name and password (POST /api/session), sends its id as a SOAP cookie to read whose session it is, and ends it. Our own session is not
 * touched; our copies of the secrets are wiped. ERR_NOT_FOUND: this vCenter has no such call (before 7.0 Update 2); ERR_CREDENTIALS: REST accepts name and
 * password, but SOAP knows no session with that id; ERR_UPSTREAM: REST gives no session. */
int vim_look_at_rest_session(struct vim_client *client, const char *user, const char *password, struct vim_user_session *out,
                             struct err *err);

/* Gets a page of the same host without a session. *status is its HTTP status; a redirect is not followed. The page itself is not looked at. */
int vim_look_at_path(struct vim_client *client, const char *path, long *status, struct err *err);
