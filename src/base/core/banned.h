/* Unsafe or locale-dependent functions become compile errors. Force-included into every own source file.
 * Layer 0 (base). SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(name) banned_function_##name##_see_docs_CONTRIBUTING

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#define strcpy(...) BANNED(strcpy)
#define strcat(...) BANNED(strcat)
#define strncpy(...) BANNED(strncpy)
#define strncat(...) BANNED(strncat)
#define strtok(...) BANNED(strtok)
#undef sprintf
#undef vsprintf
#define sprintf(...) BANNED(sprintf)
#define vsprintf(...) BANNED(vsprintf)
#undef atoi
#undef atol
#undef atoll
#define atoi(...) BANNED(atoi)
#define atol(...) BANNED(atol)
#define atoll(...) BANNED(atoll)
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#define gmtime(...) BANNED(gmtime)
#define localtime(...) BANNED(localtime)
#define ctime(...) BANNED(ctime)
#define asctime(...) BANNED(asctime)
#undef rand
#undef srand
#undef random
#define rand(...) BANNED(rand)
#define srand(...) BANNED(srand)
#define random(...) BANNED(random)
#undef system
#undef popen
#undef tmpnam
#undef mktemp
#define system(...) BANNED(system)
#define popen(...) BANNED(popen)
#define tmpnam(...) BANNED(tmpnam)
#define mktemp(...) BANNED(mktemp)
