/* docs/openapi.yaml as part of the program; the constant is made at build time. Layer 6 (api); private to this folder.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

extern const char openapi_text[];
extern const unsigned long openapi_text_bytes; /* without NUL */
