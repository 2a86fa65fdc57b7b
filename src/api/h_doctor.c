/* Handler of /v2/vcenters/{id}/doctor. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * It runs in the lane `outside`, so that it answers while the lane of that vCenter is full of calls that hang. */
#include "doctor.h"
#include "api_call.h"
#include "reply.h"
#include "views.h"

static json_t *report_json(const struct doctor_report *report) {
    json_t *object = json_object();
    json_put_string(object, "id", report->vc.id);
    json_put_string(object, "name", report->vc.name);
    json_put_string(object, "address", report->vc.address);
    json_put_int(object, "port", report->vc.port);
    json_put_bool(object, "registered", report->vc.registered_at_ms != 0);
    json_put_string(object, "status", finding_status_name(report->worst));
    json_put_time(object, "checked_at", report->checked_at_ms);
    json_put_int(object, "duration_ms", report->duration_ms);
    (void)json_object_set_new(object, "findings", view_findings(&report->findings));
    return object;
}

int h_vcenters_doctor(struct api_call *call, struct http_response *resp, struct err *err) {
    struct doctor_report report;
    int rc = api_check_no_query(call, err);
    if (!rc)
        rc = doctor_examine(call->api->options.platform, http_request_param(call->req, "id"), &report, err);
    if (rc)
        return rc;
    rc = reply_json(resp, 200, report_json(&report), err);
    doctor_report_done(&report);
    return rc;
}
