/* The rest of the database and vCenter in memory that registering and repairing use. SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <stdlib.h>

#include "audit_store.h"
#include "extension_record.h"
#include "inventory.h"
#include "lease_store.h"
#include "snapshot.h"
#include "metric.h"
#include "platform_world.h"
#include "platform_world_reg.h"
#include "vcenter_store.h"
#include "str.h"
#include "vim_alarm.h"
#include "vim_authorization.h"
#include "vim_object.h"
#include "vim_session.h"

struct platform_world_reg pr;

void platform_world_reg_reset(void) {
    free(pr.row.repaired);
    free(pr.row.role_name);
    free(pr.row.role_principal);
    memset(&pr, 0, sizeof(pr));
}

unsigned store_get_replica(const struct store *store) {
    (void)store;
    return 7;
}

const char *store_replica_name(const struct store *store) {
    (void)store;
    return "replica-7";
}

/* -- leases ---------------------------------------------------------------------------------------------------------------- */

int lease_store_acquire(struct store *store, const char *name, const char *holder, int64_t ttl_ms, bool *is_mine,
                        struct err *err) {
    (void)store;
    if (str_starts(name, "observe:")) { /* of a watch: always ours */
        *is_mine = true;
        return 0;
    }
    assert_true(str_starts(name, "vcenter:"));
    assert_string_equal(holder, "replica-7");
    assert_true(ttl_ms > 0);
    if (pr.lease_fails)
        return err_set(err, ERR_DATABASE, "the database is away");
    *is_mine = !pr.lease_holder && !pr.lease_lost_tries;
    pr.lease_lost_tries -= pr.lease_lost_tries > 0;
    pr.leases_taken += *is_mine;
    return 0;
}

int lease_store_renew(struct store *store, const char *name, const char *holder, int64_t ttl_ms, struct err *err) {
    (void)store;
    (void)name;
    (void)holder;
    (void)ttl_ms;
    return pr.lease_holder ? err_set(err, ERR_CONFLICT, "the lease is not ours any more") : 0;
}

int lease_store_release(struct store *store, const char *name, const char *holder, struct err *err) {
    (void)store;
    (void)holder;
    (void)err;
    if (str_starts(name, "observe:"))
        return 0;
    pr.leases_given_back++;
    return 0;
}

int lease_store_load(struct store *store, const char *name, struct lease *out, struct err *err) {
    (void)store;
    (void)name;
    if (!pr.lease_holder)
        return err_set(err, ERR_NOT_FOUND, "no such lease");
    (void)snprintf(out->holder, sizeof(out->holder), "%s", pr.lease_holder);
    return 0;
}

/* -- the inventory: there is none ----------------------------------------------------------------------------------------- */

struct inventory_snapshot *inventory_get(struct inventory *inventory) {
    (void)inventory;
    return NULL;
}

void inventory_snapshot_unref(struct inventory_snapshot *snapshot) {
    assert_null(snapshot);
}

/* -- what is remembered ----------------------------------------------------------------------------------------------------- */

void registration_row_done(struct registration_row *row) {
    free(row->repaired);
    free(row->role_name);
    free(row->role_principal);
    memset(row, 0, sizeof(*row));
}

int registration_store_load(struct store *store, const char *vcenter_id, struct registration_row *out, struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    *out = pr.row;
    out->repaired = str_dup(pr.row.repaired);
    out->role_name = str_dup(pr.row.role_name);
    out->role_principal = str_dup(pr.row.role_principal);
    return 0;
}

int registration_store_count(struct store *store, const char *vcenter_id, unsigned *number, struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    *number = ++pr.row.registration_no;
    return 0;
}

int registration_store_set_due(struct store *store, const char *vcenter_id, bool is_due, struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    pr.row.is_certificate_due = is_due;
    return 0;
}

int registration_store_note_repair(struct store *store, const char *vcenter_id, int64_t at_ms, const char *members,
                                   struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    free(pr.row.repaired);
    pr.row.repaired_at_ms = at_ms;
    pr.row.repaired = str_dup(members);
    return 0;
}

int registration_store_set_role(struct store *store, const char *vcenter_id, const struct registration_row *role,
                                struct err *err) {
    (void)store;
    (void)vcenter_id;
    (void)err;
    free(pr.row.role_name);
    free(pr.row.role_principal);
    pr.row.role_name = str_dup(role ? role->role_name : NULL);
    pr.row.role_principal = str_dup(role ? role->role_principal : NULL);
    pr.row.role_id = role ? role->role_id : 0;
    return 0;
}

int audit_store_append(struct store *store, const struct audit_record *record, struct err *err) {
    (void)store;
    (void)err;
    (void)snprintf(pr.audit, sizeof(pr.audit), "%s %s %s", record->event.action, record->event.result,
                   record->event.reason ? record->event.reason : "");
    pr.audits++;
    return 0;
}

void audit_store_append_outcome(struct store *store, const struct audit_record *record, int rc, const struct err *why) {
    (void)why;
    const struct audit_record now = audit_record_now(record, rc);
    assert_int_equal(audit_store_append(store, &now, NULL), 0);
}

struct metric *audit_store_lost(void) {
    return metric_get(METRIC_AUDIT_LOST);
}

int operation_store_begin(struct store *store, const char *id, const struct audit_record *record, struct err *err) {
    (void)store;
    (void)record;
    (void)err;
    assert_int_equal(strlen(id), UUID_TEXT_BYTES - 1);
    pr.deeds_begun++;
    return 0;
}

int operation_store_end(struct store *store, const struct operation_end *done, struct err *err) {
    return audit_store_append(store, done->record, err);
}

int operation_store_find(struct store *store, const struct audit_event *like, char id[UUID_TEXT_BYTES], struct err *err) {
    (void)store;
    (void)like;
    (void)err;
    id[0] = '\0';
    return 0;
}

/* -- our record at the vCenter: built by the product itself, as it was last written ------------------------------------------ */

struct found_record {
    struct vim_extension record; /* first: what vim_extension_free is given */
    struct extension_record made;
};

/* Whoever wrote it, it has our members; the test changes some. */
static void change_as_wanted(struct found_record *found) {
    found->made.owner->value = pw.record_owner;
    found->record = found->made.record;
    if (!pw.record_owner)
        found->record.resource_count--; /* the last one is the mark */
    if (pr.company)
        found->record.company = pr.company;
    if (pr.url)
        found->made.servers[0].url = pr.url;
    if (pr.managed_by_others)
        found->record.management_url = pr.managed_by_others;
    found->record.subject_name = pr.subject_name;
}

int vim_find_extension(struct vim_client *client, const char *key, struct vim_extension **out, struct err *err) {
    struct extension_name name = {"com.cisco.kaas", pr.written_no};
    struct found_record *found;
    int rc = platform_world_begin("find", false, err);
    if (rc)
        return rc;
    (void)platform_world_end(0);
    assert_true(platform_world_has_session(client));
    *out = NULL;
    if (!pw.has_record || !str_eq(key, "com.cisco.kaas"))
        return 0;
    found = calloc(1, sizeof(*found));
    assert_non_null(found);
    assert_int_equal(extension_record_make(platform_env(platform_world_platform()), &name, &found->made, NULL), 0);
    change_as_wanted(found);
    *out = &found->record;
    return 0;
}

void vim_extension_free(struct vim_extension *extension) {
    struct found_record *found = (struct found_record *)extension;
    if (!found)
        return;
    extension_record_done(&found->made);
    free(found);
}

static void forget_certificate(void) {
    free((void *)(uintptr_t)pw.cert_pem);
    pw.cert_pem = NULL;
}

static int write_record(struct vim_client *client, const char *call, const struct vim_extension *extension, struct err *err) {
    const char *no = strrchr(extension->version, '.');
    int64_t number = 0;
    int rc = platform_world_begin(call, true, err);
    if (rc)
        return rc;
    assert_true(platform_world_has_session(client));
    assert_string_equal(extension->key, "com.cisco.kaas");
    assert_null(extension->subject_name);
    if (str_eq(call, "register") || pr.subject_name) /* as vCenter does: a changed subjectName clears it */
        forget_certificate();
    if (str_eq(call, "update") && pr.managed_by_others)
        assert_string_equal(extension->management_url, pr.managed_by_others);
    pw.has_record = true;
    pw.record_owner = OURS;
    assert_true(no && str_to_i64(no + 1, 0, 1000, &number));
    pr.written_no = (unsigned)number;
    if (!pr.is_stubborn)
        pr.company = pr.url = pr.subject_name = NULL;
    return platform_world_end(0);
}

int vim_register_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err) {
    return write_record(client, "register", extension, err);
}

int vim_update_extension(struct vim_client *client, const struct vim_extension *extension, struct err *err) {
    return write_record(client, "update", extension, err);
}

int vim_unregister_extension(struct vim_client *client, const char *key, struct err *err) {
    int rc = platform_world_begin("unregister", true, err);
    if (rc)
        return rc;
    assert_true(platform_world_has_session(client));
    assert_string_equal(key, "com.cisco.kaas");
    pw.has_record = false;
    return platform_world_end(0);
}

int vim_set_extension_certificate(struct vim_client *client, const char *key, const char *cert_pem, struct err *err) {
    int rc = platform_world_begin("set_certificate", true, err);
    (void)key;
    if (rc)
        return rc;
    assert_true(platform_world_has_session(client));
    forget_certificate();
    pw.cert_pem = str_dup(cert_pem);
    return platform_world_end(0);
}

/* -- roles ------------------------------------------------------------------------------------------------------------------ */

int vim_lookup_root(struct vim_client *client, struct vim_root *out, struct err *err) {
    int rc = platform_world_begin("root", false, err);
    (void)client;
    if (rc)
        return rc;
    *out = (struct vim_root){"group-d1", "Datacenters"};
    return platform_world_end(0);
}

int vim_lookup_role(struct vim_client *client, const char *name, int *role_id, struct err *err) {
    int rc = platform_world_begin("lookup_role", false, err);
    (void)client;
    if (rc)
        return rc;
    if (!str_eq(pr.role, name))
        return platform_world_end(err_set(err, ERR_NOT_FOUND, "there is no such role"));
    *role_id = 42;
    return platform_world_end(0);
}

int vim_add_role(struct vim_client *client, const char *name, const char *const *privileges, size_t count, int *role_id,
                 struct err *err) {
    int rc = platform_world_begin("add_role", true, err);
    (void)client;
    (void)privileges;
    if (rc)
        return rc;
    (void)snprintf(pr.role, sizeof(pr.role), "%s", name);
    pr.role_privileges = count;
    *role_id = 42;
    return platform_world_end(0);
}

int vim_update_role(struct vim_client *client, const struct vim_role_change *change, struct err *err) {
    int rc = platform_world_begin("update_role", true, err);
    (void)client;
    if (rc)
        return rc;
    pr.role_privileges = change->count;
    return platform_world_end(0);
}

int vim_list_places(struct vim_client *client, struct vim_place_list *out, struct err *err) {
    (void)client, (void)out;
    return err_set(err, ERR_INTERNAL, "no test names objects here");
}

void vim_place_list_done(struct vim_place_list *list) {
    (void)list;
}

int vim_grant_role(struct vim_client *client, const struct vim_entity *entity, const struct vim_grant *grant, struct err *err) {
    int rc = platform_world_begin("grant", true, err);
    (void)client;
    if (rc)
        return rc;
    assert_null(entity);
    assert_int_equal(grant->role_id, 42);
    assert_true(grant->does_propagate);
    (void)snprintf(pr.role_holder, sizeof(pr.role_holder), "%s", grant->user_name);
    return platform_world_end(0);
}

int vim_remove_role(struct vim_client *client, int role_id, bool even_if_used, struct err *err) {
    int rc = platform_world_begin("remove_role", true, err);
    (void)client;
    if (rc)
        return rc;
    assert_int_equal(role_id, 42);
    assert_false(even_if_used);
    if (pr.role_holder[0] || pr.is_role_used)
        return platform_world_end(err_set(err, ERR_CONFLICT, "it is still given to somebody"));
    pr.role[0] = 0;
    return platform_world_end(0);
}

int vim_list_permissions(struct vim_client *client, const struct vim_entity *entity, struct vim_permission_list *out,
                         struct err *err) {
    int rc = platform_world_begin("list_permissions", false, err);
    (void)client;
    if (rc)
        return rc;
    assert_null(entity);
    *out = (struct vim_permission_list){0};
    if (pr.role_holder[0]) {
        out->items = calloc(1, sizeof(*out->items));
        assert_non_null(out->items);
        out->items[0].principal = str_dup(pr.role_holder);
        out->items[0].role_id = 42;
        out->count = 1;
    }
    return platform_world_end(0);
}

void vim_permission_list_done(struct vim_permission_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].principal);
    free(list->items);
    *list = (struct vim_permission_list){0};
}

int vim_remove_permission(struct vim_client *client, const struct vim_entity *entity, const char *principal, bool is_group,
                          struct err *err) {
    int rc = platform_world_begin("remove_permission", true, err);
    (void)client;
    (void)is_group;
    if (rc)
        return rc;
    assert_null(entity);
    assert_string_equal(principal, pr.role_holder);
    pr.role_holder[0] = 0;
    return platform_world_end(0);
}

/* -- sessions by key: none --------------------------------------------------------------------------------------------------- */

int vim_lookup_session(struct vim_client *client, const char *key, struct vim_user_session *out, struct err *err) {
    (void)client, (void)key, (void)out;
    return err_set(err, ERR_NOT_FOUND, "there is no such session");
}

int vim_session_is_active(struct vim_client *client, const char *key, const char *user_name, bool *out, struct err *err) {
    (void)client, (void)key, (void)user_name, (void)err;
    *out = false;
    return 0;
}

/* -- alarms: there are none, and none is asked for ------------------------------------------------------------------ */

int vim_list_alarms(struct vim_client *client, struct vim_alarm_list *out, struct err *err) {
    int rc = platform_world_begin("list_alarms", false, err);
    (void)client;
    if (!rc)
        *out = (struct vim_alarm_list){0};
    return rc ? rc : platform_world_end(0);
}

void vim_alarm_list_done(struct vim_alarm_list *list) {
    (void)list;
}

int vim_create_alarm(struct vim_client *client, const struct vim_alarm_spec *spec, struct err *err) {
    (void)client;
    (void)err;
    fail_msg("nobody asked for the alarm %s", spec->name);
    return 0;
}

int vim_remove_alarm(struct vim_client *client, const char *moref, struct err *err) {
    (void)client;
    (void)err;
    fail_msg("there is no alarm %s", moref);
    return 0;
}
