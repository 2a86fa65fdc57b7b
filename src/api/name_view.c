/* Names of people and groups beside their ids. Layer 5 (api).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "name_view.h"

#include <string.h>

#include "str.h"
#include "views.h"

void name_view_put(const struct api_call *call, json_t *object, const char *member, const char *id) {
    const struct api_options *options = &call->api->options;
    char name[API_NAME_BYTES];
    const struct service_account *account =
        str_starts(id, "svc:") && call->snapshot ? dir_find_service(call->snapshot->platform, id + strlen("svc:")) : NULL;
    bool is_known = !account && options->get_name && options->get_name(options->arg, id, name);
    view_put_text(object, member, account ? account->name : is_known ? name : NULL);
}
