/* The manifest of our plug-in for the vSphere Client. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"
#include "http_response.h"
#include "pages.h"

#define PLUGIN_VERSION_BYTES 32

struct plugin_manifest {
    char version[PLUGIN_VERSION_BYTES]; /* "0.1.0.48213": product and a number made of the content; "" without a page */
    char etag[24];                      /* strong */
    struct http_shared *text;           /* NULL without a page */
};

/* Makes the manifest for the page in `pages`; without a page and its icons it has no text. ERR_NOMEM. */
int plugin_manifest_new(const char *product_version, const struct pages *pages, struct plugin_manifest **out, struct err *err);
void plugin_manifest_free(struct plugin_manifest *manifest); /* NULL is allowed */
