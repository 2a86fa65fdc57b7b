/* The list of what is wrong with a configuration. Layer 1 (config).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "option_table.h"

void config_report_init(struct config_report *report) {
    report->error_count = 0;
    strbuf_init(&report->text, CONFIG_REPORT_BYTES_MAX);
    strbuf_init(&report->warnings, CONFIG_REPORT_BYTES_MAX);
}

void config_report_done(struct config_report *report) {
    strbuf_done(&report->text);
    strbuf_done(&report->warnings);
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

/* Whether there is a line about the option. */
static bool is_told(const struct config_report *report, const char *option) {
    const size_t n = strlen(option);
    for (const char *line = report->text.len ? report->text.data : NULL; line && *line; line = strchr(line, '\n') + 1)
        if (!strncmp(line, option, n) && line[n] == ':')
            return true;
    return false;
}

void config_report_fault(struct config_report *report, const char *option, const char *text, const char *remedy) {
    if (!is_told(report, option))
        config_report_add(report, &(struct config_place){.name = option}, text, remedy);
}

void config_report_warning(struct config_report *report, const char *option, const char *text, const char *remedy) {
    strbuf_addf(&report->warnings, "%s: warning: %s%s%s\n", option, text, *remedy ? "; " : "", remedy);
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
