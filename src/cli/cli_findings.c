/* What step-by-step examinations found, laid out for people. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_findings.h"

#include "cli_show.h"
#include "str.h"

#define TITLE_WIDTH 22

/* -- one finding ------------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *status, *shown;
} findings_marks[] = {{"ok", "ok"}, {"warning", "WARNING"}, {"failed", "FAILED"}, {"skipped", "-"}};

static const char *findings_mark_of(const char *status) {
    for (size_t i = 0; i < ARRAY_COUNT(findings_marks); i++)
        if (str_eq(findings_marks[i].status, status))
            return findings_marks[i].shown;
    return status ? status : "?";
}

/* The remedy stands below, since both may be long. */
static void findings_write_finding(struct cli *cli, const json_t *finding) {
    const char *remedy = json_get_string(finding, "remedy");
    _cleanup_strbuf_ struct strbuf title, text;
    strbuf_init(&title, 4096);
    strbuf_init(&text, 65536);
    text_add_clean(&title, json_get_string(finding, "title"));
    text_add_clean(&text, json_get_string(finding, "finding"));
    strbuf_addf(&cli->out, "%-8s %-*s %s\n", findings_mark_of(json_get_string(finding, "status")), TITLE_WIDTH, title.data,
                text.data);
    if (!remedy)
        return;
    strbuf_reset(&text);
    text_add_clean(&text, remedy);
    strbuf_addf(&cli->out, "%*s -> %s\n", 8 + TITLE_WIDTH, "", text.data);
}

size_t findings_count(const json_t *findings, const char *status) {
    const json_t *finding;
    size_t i, n = 0;
    json_array_foreach ((json_t *)(uintptr_t)findings, i, finding)
        n += str_eq(json_get_string(finding, "status"), status);
    return n;
}

/* What failed first is most often why the rest did. */
static const char *findings_first_failure(const json_t *findings) {
    const json_t *finding;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)findings, i, finding)
        if (str_eq(json_get_string(finding, "status"), "failed"))
            return json_get_string(finding, "title");
    return NULL;
}

int findings_write(struct cli *cli, const json_t *findings, struct err *err) {
    size_t failed = findings_count(findings, "failed"), warnings = findings_count(findings, "warning");
    const char *server = NULL, *next;
    const json_t *finding;
    size_t i;
    json_array_foreach ((json_t *)(uintptr_t)findings, i, finding) {
        next = json_get_string(finding, "server");
        if (next && !str_eq(next, server)) {
            if (i)
                strbuf_addc(&cli->out, '\n'); /* a line break in the text of a line would be shown as \n */
            show_line(cli, "%s", next);
        }
        server = next;
        findings_write_finding(cli, finding);
    }
    strbuf_addc(&cli->out, '\n');
    if (failed)
        show_line(cli,
                  failed == 1 ? "%zu failed, %zu warning%s: mend \"%s\"."
                              : "%zu failed, %zu warning%s. Begin with \"%s\": what follows may come from it.",
                  failed, warnings, warnings == 1 ? "" : "s", findings_first_failure(findings));
    else if (warnings)
        show_line(cli, "nothing failed, %zu warning%s.", warnings, warnings == 1 ? "" : "s");
    else
        show_line(cli, "nothing is wrong.");
    return strbuf_check(&cli->out, "report", err);
}

void findings_judge(struct cli *cli, const json_t *findings) {
    if (findings_count(findings, "failed"))
        cli->status = CLI_FAILED;
}
