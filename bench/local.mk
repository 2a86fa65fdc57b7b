# Measuring programs: not installed, not run by "make check". `scripts/bench NAME` builds and runs them; each prints a table and writes
# bench/out/NAME.json below the current folder.
EXTRA_PROGRAMS = bench/tls_connections
BENCH_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_BASE) -iquote $(top_srcdir)/src/httpd -iquote $(top_srcdir)/bench $(MHD_CFLAGS) $(GNUTLS_CFLAGS) \
    $(OPENSSL_CFLAGS)
BENCH_LDADD = src/httpd/libhttpd.a $(LIBS_PORT) $(MHD_LIBS) $(GNUTLS_LIBS) $(OPENSSL_LIBS)
BENCH_UTIL = bench/bench_util.c bench/bench_util.h

bench_tls_connections_SOURCES = bench/tls_connections.c $(BENCH_UTIL)
bench_tls_connections_CPPFLAGS = $(BENCH_CPPFLAGS)
bench_tls_connections_LDADD = $(BENCH_LDADD)

# No measurement by itself: bench/list_ceiling.py runs it in each mode under wrk.
EXTRA_PROGRAMS += bench/list_server
bench_list_server_SOURCES = bench/list_server.c $(BENCH_UTIL)
bench_list_server_CPPFLAGS = $(BENCH_CPPFLAGS)
bench_list_server_LDADD = $(BENCH_LDADD)
# No measurement by itself either: bench/inventory.py runs it beside govmomi and pyvmomi.
EXTRA_PROGRAMS += bench/inventory_read
bench_inventory_read_SOURCES = bench/inventory_read.c $(BENCH_UTIL)
bench_inventory_read_CPPFLAGS = $(src_vim_libvim_a_CPPFLAGS) $(SEE_ADAPTERS) -iquote $(top_srcdir)/bench
bench_inventory_read_LDADD = $(LIBS_VIM) $(OPENSSL_LIBS)
# Nor is this: the client of bench/login.py.
EXTRA_PROGRAMS += bench/login_load
bench_login_load_SOURCES = bench/login_load.c $(BENCH_UTIL)
bench_login_load_CPPFLAGS = $(BENCH_CPPFLAGS)
bench_login_load_LDADD = $(LIBS_BASE) $(OPENSSL_LIBS)
# And this is what bench/login.py --floor compares with: the libraries alone.
EXTRA_PROGRAMS += bench/login_floor
bench_login_floor_SOURCES = bench/login_floor.c $(BENCH_UTIL)
bench_login_floor_CPPFLAGS = $(BENCH_CPPFLAGS) $(KRB5_CFLAGS) $(MARIADB_CFLAGS)
bench_login_floor_LDADD = $(LIBS_BASE) $(MHD_LIBS) $(GNUTLS_LIBS) $(KRB5_LIBS) $(MARIADB_LIBS) $(OPENSSL_LIBS)
# What sign-ons cost in the store; run by tests/unit/store/with-mariadb.
EXTRA_PROGRAMS += bench/session_open
bench_session_open_SOURCES = bench/session_open.c tests/unit/store/store_fixture.c tests/unit/store/store_fixture.h tests/unit/unit.h
bench_session_open_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(OWN_STORE) -iquote $(top_srcdir)/tests/unit \
    -iquote $(top_srcdir)/tests/unit/store $(CMOCKA_CFLAGS)
bench_session_open_LDADD = src/store/libstore.a $(LIBS_MODEL) $(LIBS_PORT) $(MARIADB_LIBS) $(CMOCKA_LIBS)
# What a step of a job costs beside its statements; run by bench/create.py in the same way.
EXTRA_PROGRAMS += bench/job_step
bench_job_step_SOURCES = bench/job_step.c tests/unit/store/store_fixture.c tests/unit/store/store_fixture.h tests/unit/unit.h
bench_job_step_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_ADAPTERS) $(OWN_JOB) -iquote $(top_srcdir)/tests/unit \
    -iquote $(top_srcdir)/tests/unit/store $(CMOCKA_CFLAGS) $(MARIADB_CFLAGS)
bench_job_step_LDADD = src/job/libjob.a src/store/libstore.a $(LIBS_MODEL) $(LIBS_PORT) $(MARIADB_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += bench/clientgo bench/create_by_hand.sh bench/govmomi bench/lib

bench-programs: $(EXTRA_PROGRAMS) tests/integ/kube_watch_probe tests/integ/provision/machine_kaasd tests/integ/storm_clients \
    tests/integ/forward_clock.so
.PHONY: bench-programs
CLEANFILES += $(EXTRA_PROGRAMS)
