# Who people and programs are, asked from those who know: directories, Kerberos, service accounts.
noinst_LIBRARIES += src/service/libidentity.a
src_service_libidentity_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_IDENTITY) -iquote $(top_srcdir)/src/service/identity
src_service_libidentity_a_SOURCES = \
    src/service/identity/accounts.c \
    src/service/identity/accounts.h \
    src/service/identity/directories.c \
    src/service/identity/directories.h \
    src/service/identity/directories_private.h \
    src/service/identity/directory_admin.c \
    src/service/identity/directory_login.c \
    src/service/identity/directory_names.c \
    src/service/identity/directory_names.h \
    src/service/identity/directory_people.c \
    src/service/identity/directory_people.h \
    src/service/identity/directory_pool.c \
    src/service/identity/directory_pool.h \
    src/service/identity/identity.h \
    src/service/identity/identity_health.c \
    src/service/identity/identity_health.h \
    src/service/identity/kerberos.c \
    src/service/identity/kerberos.h \
    src/service/identity/kerberos_private.h \
    src/service/identity/peers.c \
    src/service/identity/peers.h
