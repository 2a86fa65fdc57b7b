# Who somebody is and what they may: signing in, sessions, rights at vCenters, accounts, LDAP directories.
noinst_LIBRARIES += src/auth/libauth.a
src_auth_libauth_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_VCENTER) $(OWN_AUTH) -iquote $(top_srcdir)/src/ldap -iquote $(top_srcdir)/src/gss
src_auth_libauth_a_SOURCES = \
    src/auth/accounts/access.c \
    src/auth/accounts/access.h \
    src/auth/accounts/accounts.c \
    src/auth/accounts/accounts.h \
    src/auth/login/gate.c \
    src/auth/login/gate.h \
    src/auth/login/kerberos.c \
    src/auth/login/kerberos.h \
    src/auth/login/kerberos_private.h \
    src/auth/login/login.c \
    src/auth/login/login.h \
    src/auth/login/one_time_code.c \
    src/auth/login/one_time_code.h \
    src/auth/login/signon_vcenter.c \
    src/auth/login/signon_vcenter.h \
    src/auth/login/signon.c \
    src/auth/login/signon.h \
    src/auth/rights/rights_cache.c \
    src/auth/rights/rights_cache.h \
    src/auth/rights/role_mappings.c \
    src/auth/rights/role_mappings.h \
    src/auth/rights/signon_ask.c \
    src/auth/rights/signon_ask.h \
    src/auth/session/key_rotation.c \
    src/auth/session/live_session.c \
    src/auth/session/live_session.h \
    src/auth/session/session_rights.c \
    src/auth/session/session_rights.h \
    src/auth/session/sessions.c \
    src/auth/session/sessions.h \
    src/auth/session/signing_keys.c \
    src/auth/session/signing_keys.h \
    src/auth/session/signon_options.h \
    src/auth/session/signon_state.h \
    src/auth/session/throttle.c \
    src/auth/session/throttle.h \
    src/auth/ldapdir/ldapdir.h \
    src/auth/ldapdir/ldapdir_admin.c \
    src/auth/ldapdir/ldapdir_login.c \
    src/auth/ldapdir/ldapdir_people.c \
    src/auth/ldapdir/ldapdir_people.h \
    src/auth/ldapdir/ldapdir_pool.c \
    src/auth/ldapdir/ldapdir_pool.h \
    src/auth/ldapdir/ldapdirs.c \
    src/auth/ldapdir/ldapdirs.h \
    src/auth/ldapdir/ldapdirs_private.h
