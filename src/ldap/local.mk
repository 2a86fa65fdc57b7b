# The only user of libldap.
noinst_LIBRARIES += src/ldap/libldap-kaas.a
src_ldap_libldap_kaas_a_CPPFLAGS = $(AM_CPPFLAGS) $(LDAP_CFLAGS) $(SEE_MODEL) -iquote $(top_srcdir)/src/ldap
src_ldap_libldap_kaas_a_SOURCES = \
    src/ldap/ldap_conn.c \
    src/ldap/ldap_conn.h \
    src/ldap/ldap_text.c \
    src/ldap/ldap_text.h
