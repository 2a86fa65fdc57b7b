/* People and groups of directories, given by name. Layer 6 (cli).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli_named.h"

#include "cli_find.h"
#include "str.h"

int cli_named_check(struct cli *cli, const char *id, bool *is_named, struct err *err) {
    const bool has_group = opt_get(&cli->given, "group"), has_person = opt_get(&cli->given, "person");
    *is_named = has_group || has_person;
    if (has_group && has_person)
        return cli_usage(cli, err, "give --group or --person, not both");
    if (*is_named && id)
        return cli_usage(cli, err, "give an id, or --%s, not both", has_group ? "group" : "person");
    if (!*is_named && !id)
        return cli_usage(cli, err, "who? Give an id, --group NAME or --person NAME");
    if (!*is_named && opt_get(&cli->given, "directory"))
        return cli_usage(cli, err, "--directory goes with --group or --person");
    return 0;
}

static const char *const names[] = {"group", "person", "directory"};

void cli_named_put(struct cli *cli, json_t *body) {
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        json_put_string(body, names[i], opt_get(&cli->given, names[i]));
}

void cli_named_add_query(struct cli *cli, struct strbuf *path) {
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        cli_path_add_query(path, names[i], opt_get(&cli->given, names[i]));
}

int cli_named_fail(struct cli *cli, const char *rest, const struct err *why, struct err *err) {
    if (why->code == ERR_AMBIGUOUS) {
        cli_add_candidates(cli); /* the server's remedy speaks of its interface */
        (void)err_set(err, why->code, "%s", why->text);
        return err_remedy(err, "%s", rest);
    }
    if (err)
        *err = *why;
    return why->code;
}

int cli_named_post(struct cli *cli, const struct cli_named_post *post, json_t **answer, struct err *err) {
    const struct cli_request request = {.method = "POST", .path = post->path, .body = post->body};
    struct err why = {0};
    int rc = cli_client_call(cli->client, &request, answer, &why);
    return rc ? cli_named_fail(cli, post->rest, &why, err) : 0;
}
