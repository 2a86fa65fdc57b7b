/* How a link logs in: credentials and the ways to use them. Layer 4 (vcenter).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "link_login.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "link_env.h"
#include "names.h"
#include "vcenter_store.h"
#include "secret.h"
#include "str.h"
#include "vim_extension.h"
#include "vim_session.h"
#include "x509.h"

#define SECRET_BYTES_MAX 16384U
#define SERVICE_ACCOUNT_SINCE "8.0.2.0"

void login_credential_done(struct login_credential *c) {
    if (!c)
        return;
    free(c->cert_pem);
    secret_free(c->key_pem);
    free(c->user);
    secret_free(c->password);
    memset(c, 0, sizeof(*c));
}

void login_material_done(struct login_material *m) {
    login_credential_done(&m->active);
    login_credential_done(&m->pending);
}

enum err_cause login_refusal_cause(const struct login_refusals *refusals, unsigned generation) {
    for (size_t i = 0; i < ARRAY_COUNT(refusals->items); i++) {
        const unsigned long long item = atomic_load(&refusals->items[i]);
        if (item && item >> 8 == generation)
            return (enum err_cause)(item & 0xff);
    }
    return ERR_CAUSE_NONE;
}

bool login_is_refused(const struct login_refusals *refusals, unsigned generation) {
    return login_refusal_cause(refusals, generation) != ERR_CAUSE_NONE;
}

/* Two of them at a time may lose one, which is sent once more then. */
void login_note_refused(struct login_refusals *refusals, unsigned generation, enum err_cause cause) {
    const unsigned long long item = (unsigned long long)generation << 8 | (cause ? cause : ERR_CAUSE_LOGIN);
    if (!login_is_refused(refusals, generation))
        atomic_store(&refusals->items[1], atomic_exchange(&refusals->items[0], item));
}

/* A sealed secret belongs to one vCenter and one use: it cannot be moved to another row or kind. */
static char *purpose_of(const char *vcenter_id, enum credential_kind kind) {
    return str_format("login-%s:%s", credential_kind_name(kind), vcenter_id);
}

static int link_login_unseal(struct seal *seal, const struct vcenter_credential *c, struct login_credential *out,
                             struct err *err) {
    _cleanup_free_ char *purpose = purpose_of(c->vcenter_id, c->kind);
    _cleanup_strbuf_ struct strbuf plain;
    bool is_certificate = c->kind == CREDENTIAL_CERTIFICATE;
    int rc;
    strbuf_init_secret(&plain, SECRET_BYTES_MAX);
    if (!purpose)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = seal_unseal(seal, purpose, c->sealed, c->sealed_bytes, &plain, err);
    if (rc)
        return rc;
    out->kind = c->kind;
    out->generation = c->generation;
    out->created_at_ms = c->created_at_ms;
    out->cert_pem = str_dup(c->cert_pem);
    out->user = str_dup(c->user_name);
    *(is_certificate ? &out->key_pem : &out->password) = strbuf_steal(&plain);
    if (is_certificate ? out->key_pem && out->cert_pem : out->password && out->user)
        return 0;
    return err_set(err, ERR_NOMEM, "out of memory");
}

static int link_login_load_one(struct store *store, struct seal *seal, const char *vcenter_id, enum credential_state state,
                               struct login_credential *out, struct err *err) {
    struct vcenter_credential *found = NULL;
    int rc = credential_store_load(store, vcenter_id, state, &found, err);
    if (!rc && found)
        rc = link_login_unseal(seal, found, out, err);
    vcenter_credential_free(found);
    return rc;
}

int login_material_load(struct store *store, struct seal *seal, const char *vcenter_id, struct login_material *out,
                        struct err *err) {
    struct login_material m = {0};
    int rc = link_login_load_one(store, seal, vcenter_id, CREDENTIAL_ACTIVE, &m.active, err);
    if (!rc)
        rc = link_login_load_one(store, seal, vcenter_id, CREDENTIAL_PENDING, &m.pending, err);
    if (rc) {
        login_material_done(&m);
        return rc;
    }
    *out = m;
    return 0;
}

int login_credential_retire(struct store *store, const char *vcenter_id, enum credential_state state, struct err *err) {
    struct vcenter_credential *found = NULL;
    int rc = credential_store_load(store, vcenter_id, state, &found, err);
    if (!rc && found)
        rc = credential_store_retire(store, vcenter_id, found->generation, err);
    vcenter_credential_free(found);
    return rc;
}

int login_credential_save_pending(struct store *store, struct seal *seal, const char *vcenter_id, struct login_credential *c,
                                  struct err *err) {
    _cleanup_free_ char *purpose = purpose_of(vcenter_id, c->kind), *id = str_dup(vcenter_id);
    _cleanup_strbuf_ struct strbuf sealed;
    const char *secret = c->kind == CREDENTIAL_CERTIFICATE ? c->key_pem : c->password;
    struct vcenter_credential row = {.vcenter_id = id, .kind = c->kind, .cert_pem = c->cert_pem, .user_name = c->user};
    int rc;

    strbuf_init(&sealed, SECRET_BYTES_MAX + SEAL_OVERHEAD_BYTES);
    if (!purpose || !id)
        return err_set(err, ERR_NOMEM, "out of memory");
    rc = login_credential_retire(store, vcenter_id, CREDENTIAL_PENDING, err);
    if (!rc)
        rc = seal_seal(seal, purpose, secret, strlen(secret), &sealed, err);
    if (rc)
        return rc;
    row.created_at_ms = c->created_at_ms = clock_wall_ms();
    row.sealed = (uint8_t *)sealed.data;
    row.sealed_bytes = sealed.len;
    return credential_store_add_pending(store, &row, &c->generation, err);
}

int login_credential_make(const struct vcenter *vc, int valid_days, int key_bits, struct login_credential *out, struct err *err) {
    struct x509_request request = {.common_name = vc->extension_key,
                                   .organization = "Harmony KaaS",
                                   .valid_days = valid_days > 0 ? valid_days : LOGIN_CERTIFICATE_DAYS,
                                   .key_bits = key_bits};
    struct login_credential made = {.kind = CREDENTIAL_CERTIFICATE};
    int rc = x509_make_self_signed(&request, &made.cert_pem, &made.key_pem, err);
    if (!rc)
        *out = made;
    return rc;
}

int login_credential_take_account(enum credential_kind kind, const char *user, const char *password, struct login_credential *out,
                                  struct err *err) {
    struct login_credential taken = {.kind = kind, .user = str_dup(user), .password = str_dup(password)};
    if (!taken.user || !taken.password) {
        login_credential_done(&taken);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *out = taken;
    return 0;
}

int login_credential_tell(struct vim_client *client, const struct vcenter *vc, const struct login_credential *c,
                          struct err *err) {
    struct err why = {0};
    int rc;
    switch (c->kind) {
    case CREDENTIAL_CERTIFICATE: return vim_set_extension_certificate(client, vc->extension_key, c->cert_pem, err);
    case CREDENTIAL_SERVICE_ACCOUNT:
        rc = vim_set_service_account(client, vc->extension_key, c->user, &why);
        why.remedy[0] = '\0'; /* what to do is known better here */
        (void)err_move(err, rc, &why);
        if (rc == ERR_UPSTREAM_DENIED)
            return err_remedy(
                err,
                "the login that kaasd has now needs Extension.Update on the root folder for that, which one by certificate may not "
                "have: use an account that is no service account, or register anew with --service-account");
        return rc ? err_remedy(err, "give the name as it was created, letter by letter, with its suffix: name@domain") : 0;
    case CREDENTIAL_ACCOUNT:
    default: return 0;
    }
}

const char *login_change_action(enum credential_kind kind) {
    return kind == CREDENTIAL_CERTIFICATE ? ROTATION_ACTION : SET_ACCOUNT_ACTION;
}

enum vim_strategy login_way_of_account(enum credential_kind kind) {
    return kind == CREDENTIAL_SERVICE_ACCOUNT ? VIM_STRATEGY_SERVICE_ACCOUNT : VIM_STRATEGY_ACCOUNT;
}

/* The ways by certificate that are switched on for this vCenter, in order of preference. Returns their number. */
static size_t login_strategies(const struct vcenter *vc, enum vim_strategy out[LOGIN_STRATEGIES_MAX]) {
    size_t n = 0;
    if (vc->tunnel_port)
        out[n++] = VIM_STRATEGY_TUNNEL;
    if (vc->direct_port)
        out[n++] = VIM_STRATEGY_DIRECT;
    return n;
}

static struct vim_extension_login link_login_of(const struct vcenter *vc, const struct login_credential *c,
                                                enum vim_strategy strategy) {
    struct vim_extension_login login = {
        .strategy = strategy, .extension_key = vc->extension_key, .cert_pem = c->cert_pem, .key_pem = c->key_pem};
    return login;
}

/* Does this vCenter know accounts of this kind? */
static int connect_for_account(struct vim_client *client, const struct login_credential *c, struct err *err) {
    _cleanup_done_(vim_about_done) struct vim_about about = {0};
    int rc = vim_connect(client, &about, err);
    if (rc || c->kind != CREDENTIAL_SERVICE_ACCOUNT || vim_version_is_at_least(about.api_version, SERVICE_ACCOUNT_SINCE))
        return rc;
    (void)err_set(err, ERR_UPSTREAM, "this vCenter speaks API %s; service accounts of extensions need %s (8.0 Update 2)",
                  about.api_version, SERVICE_ACCOUNT_SINCE);
    return err_remedy(err, "upgrade it, or use an account that is none: --login-account, or without --service-account");
}

static int probe_account(struct vim_client *client, const struct login_credential *c, struct err *err) {
    _cleanup_done_(vim_user_session_done) struct vim_user_session who = {0};
    int rc = connect_for_account(client, c, err);
    if (!rc)
        rc = vim_check_password(client, c->user, c->password, &who, err);
    if (rc == ERR_CREDENTIALS)
        (void)err_remedy(err, "check name (user@domain) and password of %s", c->user);
    return rc;
}

int login_by_account(struct vim_client *client, const struct login_credential *c, struct err *err) {
    struct err why = {0};
    int rc = connect_for_account(client, c, err);
    if (rc)
        return rc;
    rc = vim_login_password(client, c->user, c->password, &why);
    if (rc == ERR_CREDENTIALS) {
        (void)err_set(err, rc, "the vCenter refuses this name or password: %s", c->user);
        return err_remedy(
            err, "check the name (user@domain) and the password before you try again: too many wrong ones lock an account");
    }
    if (rc != ERR_UPSTREAM_DENIED)
        return err_move(err, rc, &why);
    (void)err_set(err, ERR_FORBIDDEN, "the password of %s is right, but it has no permission at all at this vCenter", c->user);
    return err_remedy(err, "have a role granted to it there (" DOC_PAGE("admin/vcenter.md") ", \"Privileges\")");
}

size_t login_probe(struct vim_client *client, const struct vcenter *vc, const struct login_credential *certificate,
                   const struct login_credential *account, struct login_attempt out[LOGIN_STRATEGIES_MAX]) {
    enum vim_strategy strategies[LOGIN_STRATEGIES_MAX];
    size_t count = login_strategies(vc, strategies);
    for (size_t i = 0; i < count; i++) {
        struct vim_extension_login login = link_login_of(vc, certificate, strategies[i]);
        out[i] = (struct login_attempt){.strategy = strategies[i]};
        out[i].works = vim_probe_extension_login(client, &login, &out[i].err) == 0;
    }
    if (account) {
        out[count] = (struct login_attempt){.strategy = login_way_of_account(account->kind)};
        out[count].works = probe_account(client, account, &out[count].err) == 0;
        count++;
    }
    return count;
}

int login_by(struct vim_client *client, const struct vcenter *vc, const struct login_credential *c, enum vim_strategy strategy,
             struct err *err) {
    struct vim_extension_login login = link_login_of(vc, c, strategy);
    if (c->kind == CREDENTIAL_CERTIFICATE)
        return vim_login_extension(client, &login, err);
    return vim_login_password(client, c->user, c->password, err);
}

/* ---- what there is, in order ---- */

/* A refused certificate may be the old one of an interrupted rotation; a closed port may have another way beside it. */
static bool is_worth_another_try(int rc) {
    return rc == ERR_CREDENTIALS || rc == ERR_UPSTREAM || rc == ERR_UNREACHABLE || rc == ERR_TIMEOUT || rc == ERR_CONFIG ||
           rc == ERR_TLS || rc == ERR_PROTOCOL || rc == ERR_NOT_REGISTERED;
}

/* Where, with what is known to be refused, and which way worked last. */
struct login_target {
    struct vim_client *client;
    const struct vcenter *vc;
    struct login_refusals *refusals; /* or NULL */
    const enum vim_strategy *first;
};

static void link_login_prefer(enum vim_strategy *strategies, size_t count, const enum vim_strategy *first) {
    if (count == 2 && first && strategies[1] == *first) {
        strategies[1] = strategies[0];
        strategies[0] = *first;
    }
}

static int fail_no_way(const struct vcenter *vc, struct err *err) {
    (void)err_set(err, ERR_CONFIG, "vCenter %s has neither a tunnel port nor a direct port to log in by certificate", vc->name);
    return err_remedy(err, "set one: kaasctl vcenter set %s --tunnel-port 80", name_word(vc->name, vc->id));
}

static int try_certificate(const struct login_target *target, const struct login_credential *c, struct login_used *used,
                           struct err *err) {
    enum vim_strategy strategies[LOGIN_STRATEGIES_MAX];
    size_t count = login_strategies(target->vc, strategies);
    int rc = count ? ERR_NOT_REGISTERED : fail_no_way(target->vc, err);
    link_login_prefer(strategies, count, target->first);
    for (size_t i = 0; i < count; i++) {
        err_clear(err);
        used->strategy = strategies[i];
        rc = login_by(target->client, target->vc, c, strategies[i], err);
        if (!rc || !is_worth_another_try(rc))
            return rc;
    }
    return rc;
}

/* Says it anew, since what vCenter said is not said again. */
static int fail_refused(const struct vcenter *vc, const struct login_credential *c, enum err_cause cause, struct err *err) {
    err_clear(err);
    if (cause == ERR_CAUSE_LOCKED) {
        (void)err_set(err, ERR_CREDENTIALS, "the account %s is locked at vCenter %s; its password is not sent again", c->user,
                      vc->name);
        (void)err_remedy(err, "unlock it there (Administration, Users and Groups), then: kaasctl vcenter set-password %s",
                         name_word(vc->name, vc->id));
    } else if (cause == ERR_CAUSE_PASSWORD_ENDED) {
        (void)err_set(err, ERR_CREDENTIALS, "the password of %s has expired at vCenter %s; it is not sent again", c->user,
                      vc->name);
        (void)err_remedy(err, "give the account a new one there, then: kaasctl vcenter set-password %s",
                         name_word(vc->name, vc->id));
    } else {
        (void)err_set(err, ERR_CREDENTIALS,
                      "vCenter %s refuses the password of %s; it is not sent again, so that the account is not locked", vc->name,
                      c->user);
        (void)err_remedy(err, "give the right one: kaasctl vcenter set-password %s", name_word(vc->name, vc->id));
    }
    (void)err_because(err, cause);
    return ERR_CREDENTIALS;
}

/* A password that was refused is never sent a second time: vCenter locks accounts after a few failures. */
static int try_account(const struct login_target *target, const struct login_credential *c, struct login_used *used,
                       struct err *err) {
    const enum err_cause known = target->refusals ? login_refusal_cause(target->refusals, c->generation) : ERR_CAUSE_NONE;
    struct err why = {0};
    int rc;
    used->strategy = login_way_of_account(c->kind);
    err_clear(err);
    if (known)
        return fail_refused(target->vc, c, known, err);
    rc = login_by(target->client, target->vc, c, used->strategy, &why);
    if (rc != ERR_CREDENTIALS)
        return err_move(err, rc, &why);
    if (target->refusals)
        login_note_refused(target->refusals, c->generation, why.cause);
    return fail_refused(target->vc, c, why.cause, err);
}

static int link_login_try_one(const struct login_target *target, const struct login_credential *c, struct login_used *used,
                              struct err *err) {
    used->generation = c->generation;
    return c->kind == CREDENTIAL_CERTIFICATE ? try_certificate(target, c, used, err) : try_account(target, c, used, err);
}

int login_with_material(struct vim_client *client, const struct vcenter *vc, struct login_material *material,
                        const enum vim_strategy *first, struct login_used *used, struct err *err) {
    struct login_target target = {.client = client, .vc = vc, .refusals = material->refusals, .first = first};
    int rc = ERR_NOT_REGISTERED;
    if (material->active.generation)
        rc = link_login_try_one(&target, &material->active, used, err);
    if (rc && material->pending.generation && is_worth_another_try(rc))
        rc = link_login_try_one(&target, &material->pending, used, err);
    if (rc == ERR_NOT_REGISTERED) {
        (void)err_set(err, ERR_NOT_REGISTERED, "there is no login credential for vCenter %s", vc->name);
        return err_remedy(err, "run: kaasctl vcenter register %s --user administrator@vsphere.local",
                          name_word(vc->name, vc->id));
    }
    return rc;
}
