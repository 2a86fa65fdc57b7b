/* The list of what is wrong with a configuration. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "option_table.h"

#define REPORT_BYTES_MAX (64U * 1024U)

void config_report_init(struct config_report *report) {
    report->error_count = 0;
    strbuf_init(&report->text, REPORT_BYTES_MAX);
}

void config_report_done(struct config_report *report) {
    strbuf_done(&report->text);
    report->error_count = 0;
}

bool config_report_is_full(const struct config_report *report) {
    return report->error_count > CONFIG_ERRORS_SHOWN_MAX;
}

void config_report_add(struct config_report *report, const struct config_place *place, const char *text, const char *remedy) {
    struct strbuf *out = &report->text;
    if (config_report_is_full(report))
        return;
    if (++report->error_count > CONFIG_ERRORS_SHOWN_MAX) {
        strbuf_addf(out, "%s: further errors are not shown\n", place->name);
        return;
    }
    strbuf_adds(out, place->name);
    if (place->line)
        strbuf_addf(out, ":%zu:%zu", place->line, place->column);
    strbuf_addf(out, ": %s%s%s\n", text, *remedy ? "; " : "", remedy);
}

int config_report_finish(const struct config_report *report, const char *name, struct err *err) {
    if (!report->error_count)
        return 0;
    size_t first = strcspn(report->text.data, "\n");
    if (report->error_count == 1)
        (void)err_set(err, ERR_CONFIG, "%.*s", (int)first, report->text.data);
    else if (config_report_is_full(report))
        (void)err_set(err, ERR_CONFIG, "%s has more than %u errors; the first: %.*s", name, CONFIG_ERRORS_SHOWN_MAX, (int)first,
                      report->text.data);
    else
        (void)err_set(err, ERR_CONFIG, "%s has %u errors; the first: %.*s", name, report->error_count, (int)first,
                      report->text.data);
    return ERR_CONFIG;
}
