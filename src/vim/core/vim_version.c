/* API versions: the ones we know, and the choice among those a server offers. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A server lists its current version, which may be an opaque development id, and all earlier ones it still speaks: ids are
 * compared whole with our list and never parsed. Form of the file: vSphere Web Services SDK programming guide, "vimServiceVersions.xml". */
#include "vim_version.h"

#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "str.h"
#include "vim.h"
#include "xml.h"

/* Oldest first. The floor has HasUserPrivilegeOnEntities; above the ceiling nothing was read that we need. */
static const char *const known[] = {
    "6.5",     "6.7",     "6.7.1",   "6.7.2",   "6.7.3",   "6.8.7",   "6.9.1",   "7.0.0.0", "7.0.0.2", "7.0.1.0", "7.0.1.1",
    "7.0.2.0", "7.0.2.1", "7.0.3.0", "7.0.3.1", "7.0.3.2", "8.0.0.0", "8.0.0.1", "8.0.0.2", "8.0.1.0", "8.0.2.0", "8.0.3.0",
};

static int vim_version_rank_of(const char *version) {
    for (int i = 0; i < (int)ARRAY_COUNT(known); i++)
        if (str_eq(known[i], version))
            return i;
    return -1;
}

bool vim_version_is_at_least(const char *version, const char *minimum) {
    int rank = vim_version_rank_of(version);
    return rank >= 0 && rank >= vim_version_rank_of(minimum);
}

struct choice {
    int best;
    unsigned seen, older; /* older: numbers below the floor */
};

/* Does the dotted number lie below our floor? What is none ("dev.version") does not. */
static bool is_older(const char *version) {
    unsigned major = 0, minor = 0, least = 0, least_minor = 0;
    return sscanf(version, "%u.%u", &major, &minor) == 2 && sscanf(known[0], "%u.%u", &least, &least_minor) == 2 &&
           (major < least || (major == least && minor < least_minor));
}

static void look_at_version(void *arg, const struct xml_node *node) {
    struct choice *choice = arg;
    _cleanup_free_ char *text = xml_node_text(node, "");
    int rank = vim_version_rank_of(text);
    choice->seen++;
    choice->older += is_older(text);
    if (rank > choice->best)
        choice->best = rank;
}

CLEANUP_DEFINE(struct xml_doc, xml_free);

int vim_version_choose(const char *xml, size_t n, char out[VIM_VERSION_BYTES], struct err *err) {
    static const char path[] = "/*[local-name()='namespaces']/*[local-name()='namespace'][*[local-name()='name']='urn:vim25']"
                               "//*[local-name()='version']";
    _cleanup_(xml_free) struct xml_doc *doc = NULL;
    struct choice choice = {.best = -1};
    int ret = xml_parse(xml, n, &doc, err);
    if (ret < 0)
        return ret;
    ret = xml_each(doc, path, look_at_version, &choice, err);
    if (ret < 0)
        return ret;
    if (!choice.seen)
        return err_set(err, ERR_PROTOCOL, "vimServiceVersions.xml lists no version of urn:vim25");
    if (choice.best < 0) {
        err_set(err, ERR_UPSTREAM, "the vCenter speaks no API version that kaasd knows (%s to %s)", known[0],
                known[ARRAY_COUNT(known) - 1]);
        return err_remedy(err, choice.older
                                   ? "use vCenter 6.5 or newer"
                                   : "it is newer than this version of kaasd: update kaasd (" DOC_PAGE("admin/upgrade.md") ")");
    }
    (void)snprintf(out, VIM_VERSION_BYTES, "%s", known[choice.best]);
    return 0;
}
