/* The link to one vCenter: is it the one we mean, and which version is it? Layer 4 (service/platform). SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "link.h"
#include "platform_links.h"
#include "str.h"
#include "trust.h"
#include "vcenter_store.h"

int link_check_identity(const struct link *link, const struct vim_about *about, struct err *err) {
    if (str_eq_nocase(about->instance_uuid, link_id(link)))
        return 0;
    (void)err_set(err, ERR_CONFLICT, "another vCenter (%s) answers at the address of vCenter %s", about->instance_uuid,
                  link_id(link));
    return err_remedy(err, "if the vCenter was replaced, remove it and add it again; if it moved, correct the address");
}

static int save_about(struct link *link, const struct vim_about *about, struct err *err) {
    const struct platform_options *options = platform_options_of(link_platform(link));
    struct vcenter info = {0};
    int64_t version_no = 0;
    int rc = link_get_info(link, &info, err);
    if (rc)
        return rc;
    if (!str_eq(info.version, about->version) || !str_eq(info.build, about->build) ||
        !str_eq(info.api_version, about->api_version)) {
        free(info.version);
        free(info.build);
        free(info.api_version);
        info.version = str_dup(about->version);
        info.build = str_dup(about->build);
        info.api_version = str_dup(about->api_version);
        rc = vcenter_store_update(options->store, &info, NULL, &version_no, err);
        platform_note_written(link_platform(link));
        link_request(link, LINK_WORK_RECONCILE); /* another version may hold more of our record */
    }
    vcenter_done(&info);
    return rc;
}

int link_read_about(struct link *link, struct err *err) {
    struct vim_about about = {0};
    int rc = vim_connect(link_client(link), &about, err);
    if (rc == ERR_TLS && err)
        trust_explain(link, err);
    if (!rc)
        rc = link_check_identity(link, &about, err);
    if (!rc)
        (void)save_about(link, &about, NULL); /* only shown: the database may be away */
    vim_about_done(&about);
    return rc;
}
