noinst_LIBRARIES += src/port/libport.a
src_port_libport_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) $(CURL_CFLAGS) $(OPENSSL_CFLAGS) $(JANSSON_CFLAGS) $(XML_CFLAGS) $(CRYPT_CFLAGS) \
    $(ZLIB_CFLAGS) $(YAML_CFLAGS)
src_port_libport_a_SOURCES = \
    src/port/digest.c \
    src/port/digest.h \
    src/port/gzip.c \
    src/port/gzip.h \
    src/port/http_client.c \
    src/port/http_client.h \
    src/port/http_curl.c \
    src/port/http_curl.h \
    src/port/http_options.h \
    src/port/http_stream.c \
    src/port/http_stream.h \
    src/port/json.c \
    src/port/json.h \
    src/port/json_write.c \
    src/port/net_addr.c \
    src/port/net_addr.h \
    src/port/net_policy.c \
    src/port/net_policy.h \
    src/port/passwd.c \
    src/port/passwd.h \
    src/port/pki.c \
    src/port/pki.h \
    src/port/protobuf.c \
    src/port/protobuf.h \
    src/port/seal.c \
    src/port/seal.h \
    src/port/sealed_file.c \
    src/port/sealed_file.h \
    src/port/signature.c \
    src/port/signature.h \
    src/port/x509.c \
    src/port/x509.h \
    src/port/x509_chain.c \
    src/port/x509_chain.h \
    src/port/x509_look.c \
    src/port/x509_parts.c \
    src/port/x509_parts.h \
    src/port/xml.c \
    src/port/xml.h \
    src/port/yaml.c \
    src/port/yaml.h
