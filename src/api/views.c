/* Model to JSON, one function per type of docs/openapi.yaml. Layer 5 (api). Clusters are rendered by the directory.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "views.h"

#include <stdio.h>
#include <string.h>

#include "member_json.h"
#include "problem.h"
#include "str.h"

void view_put_text(json_t *object, const char *name, const char *value) {
    if (value)
        json_put_string(object, name, value);
    else
        (void)json_object_set_new(object, name, json_null());
}

void view_put_time(json_t *object, const char *name, int64_t wall_ms) {
    if (wall_ms)
        json_put_time(object, name, wall_ms);
    else
        (void)json_object_set_new(object, name, json_null());
}

static json_t *placed(const struct dir_platform *platform, const struct object_ref *ref) {
    const struct vsphere_cluster *found = dir_find_vsphere(platform, ref);
    json_t *object = json_object();
    json_put_string(object, "vcenter_id", ref->vcenter_id);
    view_put_text(object, "datacenter", found ? found->datacenter : NULL);
    json_put_string(object, "moref", ref->moref);
    view_put_text(object, "name", found ? found->name : NULL);
    return object;
}

json_t *view_hx_cluster(const struct dir_platform *platform, const struct hx_cluster *hx) {
    json_t *object = member_json_show(hx_cluster_members, hx);
    json_put_string(object, "name_source", hx->is_name_set ? "admin" : "discovered");
    (void)json_object_set_new(object, "vsphere_cluster", placed(platform, &hx->vsphere_cluster));
    view_put_text(object, "address_source", hx->address ? "admin" : NULL);
    json_put_bool(object, "present", !hx->is_gone);
    return object;
}

static void put_path(json_t *object, const struct vsphere_cluster *c) {
    _cleanup_free_ char *path = str_format("%s/%s", c->datacenter ? c->datacenter : "?", c->name ? c->name : c->ref.moref);
    json_put_string(object, "path", path);
}

json_t *view_hx_candidate(const struct dir_platform *platform, const struct hx_cluster *hx) {
    const struct vsphere_cluster *on = dir_find_vsphere(platform, &hx->vsphere_cluster);
    json_t *object = json_object();
    json_put_string(object, "id", hx->id);
    json_put_string(object, "name", hx->name);
    json_put_string(object, "vcenter_id", hx->vsphere_cluster.vcenter_id);
    if (on)
        put_path(object, on);
    json_put_string(object, "moref", hx->vsphere_cluster.moref);
    return object;
}

json_t *view_vsphere_cluster(const struct dir_platform *platform, const struct vsphere_cluster *c) {
    const struct hx_cluster *hx = dir_find_hx_on(platform, &c->ref);
    json_t *object = json_object();
    json_put_string(object, "vcenter_id", c->ref.vcenter_id);
    json_put_string(object, "moref", c->ref.moref);
    json_put_string(object, "name", c->name ? c->name : c->ref.moref);
    json_put_string(object, "datacenter", c->datacenter ? c->datacenter : "");
    put_path(object, c);
    view_put_text(object, "hx_cluster_id", hx && !hx->is_gone ? hx->id : NULL);
    return object;
}

static json_t *ca_subjects(const char *ca_pem) {
    json_t *list = json_array();
    struct x509_info info = {0};
    for (const char *p = ca_pem; p && (p = strstr(p, "-----BEGIN CERTIFICATE-----")); p++) {
        if (!x509_parse_pem(p, &info, NULL))
            (void)json_array_append_new(list, json_string(info.subject));
        x509_info_done(&info);
    }
    return list;
}

json_t *view_trust(const struct vcenter *vc) {
    json_t *object = json_object();
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    x509_thumbprint_text(vc->pin_sha256, thumbprint);
    json_put_string(object, "mode", vc->has_pin ? "thumbprint" : "ca");
    view_put_text(object, "thumbprint_sha256", vc->has_pin ? thumbprint : NULL);
    (void)json_object_set_new(object, "ca_subjects", ca_subjects(vc->ca_pem));
    return object;
}

/* Why something does not work, with what to do about it where that is known; null if there is nothing to say. */
static void put_reason(json_t *object, const char *member, const char *text, const char *remedy) {
    _cleanup_free_ char *both = remedy[0] ? str_format("%s; %s", text, remedy) : NULL;
    view_put_text(object, member, both ? both : text[0] ? text : NULL);
}

static void put_strategy(json_t *object, const char *name, const struct link_report *report) {
    bool is_used = report->has_strategy && report->state != LINK_NOT_REGISTERED;
    view_put_text(object, name, is_used ? vim_strategy_name(report->strategy) : NULL);
}

static void put_state(json_t *object, const struct link_report *report) {
    json_put_string(object, "state", link_state_name(report->state));
    put_reason(object, "state_reason", report->reason, report->remedy);
}

json_t *view_vcenter(const struct vcenter *vc, const struct link_report *report) {
    json_t *object = member_json_show(vcenter_members, vc);
    (void)json_object_set_new(object, "trust", view_trust(vc));
    put_state(object, report);
    json_put_bool(object, "registered", vc->registered_at_ms != 0);
    put_strategy(object, "login_strategy", report);
    view_put_time(object, "last_contact_at", report->last_contact_ms);
    return object;
}

json_t *view_rotation(const char *vcenter_id, const struct link_certificates *certificates) {
    json_t *object = json_object();
    json_put_string(object, "vcenter_id", vcenter_id);
    view_put_time(object, "not_after", certificates->login_not_after_ms);
    return object;
}

static json_t *product(const struct vc_status *s) {
    json_t *object = json_object();
    view_put_text(object, "name", s->about.instance_uuid ? "VMware vCenter Server" : NULL);
    view_put_text(object, "full_name", s->about.full_name);
    view_put_text(object, "version", s->about.version ? s->about.version : s->vc.version);
    view_put_text(object, "build", s->about.build ? s->about.build : s->vc.build);
    view_put_text(object, "api_version", s->about.api_version ? s->about.api_version : s->vc.api_version);
    return object;
}

/* How the record is kept as it should be. */
static void put_reconciliation(json_t *object, const struct vc_status *s) {
    json_t *limits = json_array();
    for (size_t i = 0; i < s->limits_count; i++)
        (void)json_array_append_new(limits, json_string(s->limits[i]));
    view_put_time(object, "reconciled_at", s->note.reconciled_at_ms);
    view_put_time(object, "repaired_at", s->note.repaired_at_ms);
    view_put_text(object, "repaired", s->note.repaired[0] ? s->note.repaired : NULL);
    put_reason(object, "problem", s->note.problem, s->note.remedy);
    (void)json_object_set_new(object, "limits", limits);
}

static json_t *extension(const struct vc_status *s) {
    json_t *object = json_object(), *differences = json_array();
    for (size_t i = 0; i < s->differences_count; i++)
        (void)json_array_append_new(differences, json_string(s->differences[i]));
    put_reconciliation(object, s);
    json_put_string(object, "key", s->vc.extension_key);
    json_put_string(object, "record", record_state_name(s->record));
    view_put_text(object, "version", s->record_version);
    (void)json_object_set_new(object, "differences", differences);
    return object;
}

static json_t *attempt(const struct login_attempt *a) {
    json_t *object = json_object();
    json_put_string(object, "name", vim_strategy_name(a->strategy));
    json_put_bool(object, "works", a->works);
    put_reason(object, "reason", a->works ? "" : a->err.text, a->works ? "" : a->err.remedy);
    return object;
}

static json_t *certificate(const struct vc_status *s) {
    char thumbprint[X509_THUMBPRINT_TEXT_BYTES];
    json_t *object;
    if (!s->has_certificate)
        return json_null();
    object = json_object();
    x509_thumbprint_text(s->certificate.sha256, thumbprint);
    json_put_string(object, "subject", s->certificate.subject);
    json_put_string(object, "sha256", thumbprint);
    json_put_time(object, "not_before", s->certificate.not_before_ms);
    json_put_time(object, "not_after", s->certificate.not_after_ms);
    return object;
}

static json_t *shown_certificate(const struct vc_status *s) {
    json_t *object;
    if (!s->seen.pem)
        return json_null();
    object = problem_certificate(&s->seen);
    json_put_bool(object, "trusted", s->is_trusted);
    return object;
}

static json_t *login(const struct vc_status *s) {
    json_t *object = json_object(), *attempts = json_array();
    for (size_t i = 0; i < s->attempts_count; i++)
        (void)json_array_append_new(attempts, attempt(&s->attempts[i]));
    put_strategy(object, "strategy", &s->report);
    (void)json_object_set_new(object, "strategies", attempts);
    (void)json_object_set_new(object, "certificate", certificate(s));
    view_put_text(object, "account", s->login_account);
    return object;
}

static json_t *view_watch(const struct watch_report *w) {
    json_t *object = json_object();
    view_put_time(object, "since", w->since_ms);
    view_put_time(object, "updated_at", w->updated_at_ms);
    view_put_time(object, "saved_at", w->saved_at_ms);
    (void)json_object_set_new(object, "saving", json_boolean(w->is_saving));
    json_put_int(object, "objects", w->objects);
    json_put_int(object, "nodes", w->nodes);
    json_put_int(object, "ambiguous_nodes", w->ambiguous);
    json_put_int(object, "restarts", (int64_t)w->restarts);
    json_put_int(object, "differences", (int64_t)w->differences);
    view_put_text(object, "reason", w->reason[0] ? w->reason : NULL);
    return object;
}

json_t *view_status(const struct vc_status *s, const struct dir_platform *platform) {
    json_t *object = json_object(), *missing = json_array(), *hx = json_array();
    for (size_t i = 0; i < s->missing_count; i++)
        (void)json_array_append_new(missing, json_string(s->missing[i]));
    for (size_t i = 0; platform && i < platform->hx_count; i++)
        if (str_eq(platform->hx[i].vsphere_cluster.vcenter_id, s->vc.id))
            (void)json_array_append_new(hx, view_hx_cluster(platform, &platform->hx[i]));
    json_put_string(object, "id", s->vc.id);
    json_put_string(object, "name", s->vc.name);
    json_put_string(object, "address", s->vc.address);
    put_state(object, &s->report);
    (void)json_object_set_new(object, "product", product(s));
    (void)json_object_set_new(object, "extension", extension(s));
    (void)json_object_set_new(object, "login", login(s));
    (void)json_object_set_new(object, "vcenter_certificate", shown_certificate(s));
    (void)json_object_set_new(object, "missing_privileges", missing);
    (void)json_object_set_new(object, "hx_clusters", hx);
    (void)json_object_set_new(object, "watch", view_watch(&s->watch));
    json_put_time(object, "checked_at", s->checked_at_ms);
    return object;
}

json_t *view_rescan(const struct discovery_result *r) {
    json_t *object = json_object(), *ignored = json_array();
    for (size_t i = 0; i < r->ignored_count; i++)
        (void)json_array_append_new(ignored, json_string(r->ignored_keys[i]));
    json_put_int(object, "vsphere_clusters", r->vsphere_clusters);
    json_put_int(object, "hx_clusters", r->hx_clusters);
    json_put_int(object, "added", r->added);
    json_put_int(object, "changed", r->changed);
    json_put_int(object, "gone", r->gone);
    (void)json_object_set_new(object, "differed_from_watch", json_boolean(r->differs_from_watch));
    (void)json_object_set_new(object, "ignored_keys", ignored);
    json_put_time(object, "scanned_at", r->scanned_at_ms);
    return object;
}

json_t *view_findings(const struct findings *findings) {
    json_t *array = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *f = &findings->items[i];
        json_t *object = json_object();
        json_put_string(object, "step", f->step);
        json_put_string(object, "title", f->title);
        if (f->subject[0])
            json_put_string(object, "server", f->subject);
        json_put_string(object, "status", finding_status_name(f->status));
        json_put_string(object, "finding", f->text);
        view_put_text(object, "remedy", f->remedy[0] ? f->remedy : NULL);
        json_put_int(object, "duration_ms", f->duration_ms);
        (void)json_array_append_new(array, object);
    }
    return array;
}
