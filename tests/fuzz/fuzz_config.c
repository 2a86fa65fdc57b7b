/* Fuzz target: the configuration file. What is accepted must print; what is refused must say why.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "daemon_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    _cleanup_config_ struct config config = {0};
    _cleanup_config_report_ struct config_report report;
    _cleanup_strbuf_ struct strbuf out;
    struct err err = {0};
    config_report_init(&report);
    strbuf_init(&out, 4 * CONFIG_FILE_BYTES_MAX);
    int rc = config_parse("fuzz", (const char *)data, n, &config, &report, &err);
    if (!rc != !report.error_count || !rc != !err.code || report.error_count > CONFIG_ERRORS_SHOWN_MAX + 1)
        abort();
    if (!rc)
        config_print(&config, &out);
    if (out.failed || report.text.failed)
        abort();
    return 0;
}
