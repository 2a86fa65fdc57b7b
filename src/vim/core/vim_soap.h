/* The one place where the generated codec comes in. Layer 2 (vim), private: never included by a public header.
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * stdsoap2.h reads a config.h of its own making when HAVE_CONFIG_H is set and could then lay out struct soap differently from
 * Debian's library; so the macro is hidden from it. */
#pragma once

#pragma push_macro("HAVE_CONFIG_H")
#undef HAVE_CONFIG_H
#include <vim25H.h>
#pragma pop_macro("HAVE_CONFIG_H")
