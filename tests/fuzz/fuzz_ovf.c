/* Fuzz target: ovf_env_parse and ovf_appliance_parse, the OVF environment of an appliance. SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "ovf_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_appliance(const char *text, size_t n) {
    struct ovf_appliance appliance;
    struct err err = {0};
    if (!ovf_appliance_parse(text, n, &appliance, &err) && !*appliance.public_url)
        abort();
    if (!err.code)
        ovf_appliance_done(&appliance);
    else if (!err.text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct ovf_env env;
    struct err err = {0};
    read_appliance((const char *)data, n);
    if (ovf_env_parse((const char *)data, n, &env, &err)) {
        if (!err.code || !err.text[0])
            abort();
        return 0;
    }
    if (!*env.token || strncmp(env.endpoint, "https://", 8) != 0 || !*env.host || !env.port || env.port > 65535)
        abort();
    ovf_env_done(&env);
    return 0;
}
