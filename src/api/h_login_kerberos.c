/* Handlers of /v2/login/kerberos and /v2/kerberos. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "clock.h"
#include "api_call.h"
#include "limits.h"
#include "log.h"
#include "negotiate_call.h"
#include "reply.h"
#include "reply_grant.h"
#include "str.h"

/* -- signing in ------------------------------------------------------------------------------------------------------------ */

/* Who may do more than others, and whose directory does not answer, signs in for a quarter of an hour at a time. */
static int64_t end_of(const struct identity_person *person, const struct kerberos_peer *peer) {
    const int64_t soon_ms = clock_wall_ms() + KAAS_UNASKED_SESSION_MS;
    return person->is_unasked && (!peer->ends_at_ms || peer->ends_at_ms > soon_ms) ? soon_ms : peer->ends_at_ms;
}

static int kerberos_open_session(struct api_call *call, const struct identity_person *person, struct kerberos_peer *peer,
                                 struct signon_grant *grant, struct err *err) {
    const struct actor actor = api_actor(call);
    const struct signon_person who = {.principal_id = person->principal_id,
                                      .name = person->name,
                                      .full_name = person->full_name,
                                      .directory = person->directory,
                                      .directory_mark = person->mark,
                                      .source = SOURCE_KERBEROS,
                                      .groups = &person->groups,
                                      .proof_digest = peer->digest,
                                      .proof_until_ms = peer->digest_until_ms,
                                      .ends_at_ms = end_of(person, peer)};
    struct err why = {0};
    int rc = signon_login_person(call->api->options.signon, &actor, &who, grant, &why);
    if (rc == ERR_CREDENTIALS) {
        negotiate_call_tell(call, peer, "replay");
        return kerberos_refuse(err);
    }
    return err_move(err, rc, &why);
}

/* The ticket proves the name; who that is, in groups, it says itself or the directory does. */
static int login_peer(struct api_call *call, struct kerberos_peer *peer, struct signon_grant *grant, struct err *err) {
    struct identity_person person = {0};
    int rc = kerberos_find_person(call->api->options.kerberos, peer, &person, err);
    if (rc) {
        negotiate_call_refuse(call, peer, rc == ERR_FORBIDDEN ? "no_groups" : "directory", rc);
        return rc;
    }
    rc = kerberos_open_session(call, &person, peer, grant, err);
    identity_person_done(&person);
    return rc;
}

static int kerberos_login_in_lane(struct api_call *call, struct http_response *resp, struct err *err) {
    struct signon_grant grant = {0};
    struct kerberos_peer peer = {0};
    int rc = negotiate_call_accept(call, &peer, err);
    if (!rc)
        rc = login_peer(call, &peer, &grant, err);
    kerberos_peer_done(&peer);
    return rc ? rc : reply_grant(resp, &grant, err);
}

int h_login_kerberos(struct api_call *call, struct http_response *resp, struct err *err) {
    int rc = negotiate_call_read(call, err);
    (void)resp;
    call->negotiate.is_noted_later = true; /* with the session */
    return rc ? rc : api_go_slow(call, call->api->options.kerberos_lane, kerberos_login_in_lane);
}

/* -- how it stands ----------------------------------------------------------------------------------------------------------- */

static void kerberos_put_text(json_t *object, const char *name, const char *text) {
    (void)json_object_set_new(object, name, json_null());
    json_put_string(object, name, text);
}

static json_t *key_json(const struct kerberos_key *key) {
    json_t *object = json_object();
    json_put_string(object, "principal", key->principal);
    json_put_int(object, "kvno", key->kvno);
    json_put_string(object, "encryption_type", key->encryption_type);
    (void)json_object_set_new(object, "made_at", json_null());
    json_put_time(object, "made_at", key->made_at_ms);
    json_put_bool(object, "used", key->is_used);
    return object;
}

static json_t *keys_json(const struct kerberos_status *status) {
    json_t *keys = json_array();
    for (size_t i = 0; i < status->keys_count; i++)
        (void)json_array_append_new(keys, key_json(&status->keys[i]));
    return keys;
}

static json_t *realms_json(const struct kerberos_status *status) {
    json_t *realms = json_array();
    for (size_t i = 0; i < status->realms_count; i++)
        (void)json_array_append_new(realms, json_string(status->realms[i]));
    return realms;
}

/* All members stand in it, null where there is nothing to say. */
static json_t *status_json(const struct kerberos_status *status, bool is_configured) {
    const struct err *problem = &status->problem;
    json_t *object = json_object();
    json_put_bool(object, "configured", is_configured);
    json_put_bool(object, "usable", is_configured && !problem->code);
    kerberos_put_text(object, "problem", problem->code ? problem->text : NULL);
    kerberos_put_text(object, "remedy", problem->remedy[0] ? problem->remedy : NULL);
    (void)json_object_set_new(object, "newest_kvno", status->newest_kvno ? json_integer(status->newest_kvno) : json_null());
    (void)json_object_set_new(object, "realms", realms_json(status));
    json_put_string(object, "channel_bindings", status->looks_at_bindings ? "allow" : "off");
    json_put_bool(object, "require_pac", status->requires_pac);
    json_put_string(object, "live_check", kerberos_live_check_name(status->live_check));
    (void)json_object_set_new(object, "keys", keys_json(status));
    return object;
}

static int answer_unset(struct http_response *resp, struct err *err) {
    struct kerberos_status status = {0};
    (void)err_set(&status.problem, ERR_CONFIG, "no keytab is configured");
    (void)err_remedy(&status.problem, "set auth.kerberos.keytab and restart kaasd");
    return reply_json(resp, 200, status_json(&status, false), err);
}

/* In a lane, since it looks at files. */
int h_kerberos_status(struct api_call *call, struct http_response *resp, struct err *err) {
    struct kerberos_status status;
    json_t *object;
    int rc = api_check_no_query(call, err);
    if (rc)
        return rc;
    if (!call->api->options.kerberos)
        return answer_unset(resp, err);
    rc = kerberos_get_status(call->api->options.kerberos, &status, err);
    if (rc)
        return rc;
    object = status_json(&status, true);
    kerberos_status_done(&status);
    return reply_json(resp, 200, object, err);
}
