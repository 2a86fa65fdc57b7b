# nanopb has no .pc file, and its generator is a Python program that calls protoc: so it is tried on a small file, and what it makes is compiled.
# Sets NANOPB_GENERATOR and NANOPB_LIBS, or names the Debian packages.
AC_DEFUN([KAAS_NANOPB], [
  AC_PATH_PROGS([NANOPB_GENERATOR], [nanopb_generator nanopb_generator.py])
  AS_IF([test -z "$NANOPB_GENERATOR"], [AC_MSG_ERROR([nanopb_generator not found: install the Debian package nanopb])])
  NANOPB_LIBS=-lprotobuf-nanopb
  AC_CACHE_CHECK([whether nanopb's generator, header and library work together], [kaas_cv_nanopb], [
    kaas_cv_nanopb=no
    kaas_save_CPPFLAGS=$CPPFLAGS
    kaas_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS -I."
    LIBS="$LIBS $NANOPB_LIBS"
    rm -f conftest.proto conftest.pb.c conftest.pb.h
    echo 'syntax = "proto2"; message conftest { optional int32 a = 1; }' > conftest.proto
    AS_IF([$NANOPB_GENERATOR -q conftest.proto >&AS_MESSAGE_LOG_FD 2>&1 && test -f conftest.pb.h], [
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <pb_decode.h>
#include "conftest.pb.h"
PB_BIND(conftest, conftest, AUTO)]], [[conftest read;
pb_istream_t in = pb_istream_from_buffer(NULL, 0);
return !pb_decode(&in, &conftest_msg, &read);]])], [kaas_cv_nanopb=yes])])
    rm -f conftest.proto conftest.pb.c conftest.pb.h
    CPPFLAGS=$kaas_save_CPPFLAGS
    LIBS=$kaas_save_LIBS
  ])
  AS_IF([test "$kaas_cv_nanopb" = no],
    [AC_MSG_ERROR([nanopb does not work: install the Debian packages nanopb (with protobuf-compiler and python3-protobuf) and libnanopb-dev; config.log tells more])])
  AC_SUBST([NANOPB_LIBS])
])
