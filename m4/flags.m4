# Each flag is probed by itself, since compilers differ in what they know.
# KAAS_TRY_CFLAG(flag, variable): appends the flag to the variable if a program compiles and links with it.
AC_DEFUN([KAAS_TRY_CFLAG], [
  AS_VAR_PUSHDEF([cachevar], [kaas_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC takes $1], [cachevar], [
    kaas_save_CFLAGS=$CFLAGS
    # an unknown flag must be an error, also in clang
    CFLAGS="-Werror $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[return (int)strlen("a") - 1;]])],
      [AS_VAR_SET([cachevar], [yes])], [AS_VAR_SET([cachevar], [no])])
    CFLAGS=$kaas_save_CFLAGS
  ])
  AS_VAR_IF([cachevar], [yes], [$2="$$2 $1"])
  AS_VAR_POPDEF([cachevar])
])

AC_DEFUN([KAAS_TRY_LDFLAG], [
  AS_VAR_PUSHDEF([cachevar], [kaas_cv_ldflag_$1])
  AC_CACHE_CHECK([whether the linker takes $1], [cachevar], [
    kaas_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS $1"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([cachevar], [yes])], [AS_VAR_SET([cachevar], [no])])
    LDFLAGS=$kaas_save_LDFLAGS
  ])
  AS_VAR_IF([cachevar], [yes], [$2="$$2 $1"])
  AS_VAR_POPDEF([cachevar])
])

AC_DEFUN([KAAS_WARNINGS], [
  KAAS_WARN_CFLAGS=
  m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wvla -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes
    -Wwrite-strings -Wpointer-arith -Wcast-qual -Wundef -Wswitch-enum -Wconversion -Wsign-conversion
    -Wnull-dereference -Wimplicit-fallthrough -Wlogical-op -Wduplicated-cond -Wduplicated-branches
    -Wold-style-definition -Wredundant-decls -Wdate-time],
    [KAAS_TRY_CFLAG(flag, [KAAS_WARN_CFLAGS])])
  AS_IF([test "$enable_werror" != no], [KAAS_WARN_CFLAGS="$KAAS_WARN_CFLAGS -Werror"])
  AC_SUBST([KAAS_WARN_CFLAGS])
])

AC_DEFUN([KAAS_HARDENING], [
  KAAS_HARD_CPPFLAGS=
  KAAS_HARD_CFLAGS=
  KAAS_HARD_LDFLAGS=
  m4_foreach_w([flag], [-fstack-protector-strong -fstack-clash-protection -fcf-protection=full -fno-common
    -fno-strict-aliasing -ftrivial-auto-var-init=zero -fPIE],
    [KAAS_TRY_CFLAG(flag, [KAAS_HARD_CFLAGS])])
  m4_foreach([flag], [[-pie], [-Wl,-z,relro], [-Wl,-z,now], [-Wl,-z,noexecstack], [-Wl,--as-needed]],
    [KAAS_TRY_LDFLAG(m4_quote(flag), [KAAS_HARD_LDFLAGS])])
  # _FORTIFY_SOURCE needs optimisation, and sanitizers bring their own checks
  AS_IF([test "$enable_sanitizers" = no && test "$enable_fuzzing" = no],
    [AS_CASE(["$CFLAGS"], [*-O0*], [], [*-O*], [
      AC_CACHE_CHECK([for the highest _FORTIFY_SOURCE], [kaas_cv_fortify], [
        kaas_cv_fortify=2
        kaas_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [])], [kaas_cv_fortify=3])
        CFLAGS=$kaas_save_CFLAGS
      ])
      KAAS_HARD_CPPFLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$kaas_cv_fortify"])])
  AC_SUBST([KAAS_HARD_CPPFLAGS])
  AC_SUBST([KAAS_HARD_CFLAGS])
  AC_SUBST([KAAS_HARD_LDFLAGS])
])

AC_DEFUN([KAAS_SANITIZERS], [
  KAAS_SAN_CFLAGS=
  AS_IF([test "$enable_sanitizers" != no], [
    AS_IF([test "$enable_sanitizers" = yes], [enable_sanitizers=address,undefined])
    KAAS_SAN_CFLAGS="-fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
  ])
  AS_IF([test "$enable_fuzzing" != no], [
    AS_IF([test "$enable_sanitizers" = no], [KAAS_SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"])
    KAAS_SAN_CFLAGS="$KAAS_SAN_CFLAGS -fsanitize=fuzzer-no-link"
    KAAS_TRY_CFLAG([-fsanitize=fuzzer-no-link], [kaas_fuzz_ok])
    AS_IF([test -z "$kaas_fuzz_ok"], [AC_MSG_ERROR([--enable-fuzzing needs clang: run configure with CC=clang-14])])
  ])
  AS_IF([test "$enable_coverage" != no], [KAAS_SAN_CFLAGS="$KAAS_SAN_CFLAGS -fprofile-instr-generate -fcoverage-mapping"])
  AC_SUBST([KAAS_SAN_CFLAGS])
])
