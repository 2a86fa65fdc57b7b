/* The table of XML namespaces, which libgsoap looks for in the program. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "vim_soap.h"

#include <VimBinding.nsmap>
