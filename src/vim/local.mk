# The generated codec (wsdl/ -> src/vim/gen in the build tree) is a library of its own: compiled without warnings, read as a
# system header, neither in git nor in the tarball. wsdl2h returns 0 when a type is undefined, and soapcpp2 leaves files behind
# when it fails: so its messages are searched, all results are deleted on failure, and one stamp stands for the set.
vim25_gen = src/vim/gen/vim25C.c src/vim/gen/vim25Client.c src/vim/gen/vim25H.h src/vim/gen/vim25Stub.h \
    src/vim/gen/VimBinding.nsmap
vim25_in = wsdl/vim25-types.xsd wsdl/operations wsdl/make-wsdl.awk wsdl/typemap.dat
EXTRA_DIST += $(vim25_in) wsdl/README.md
BUILT_SOURCES += $(vim25_gen)
CLEANFILES += $(vim25_gen) src/vim/gen/vim25.h src/vim/gen/vim25.wsdl src/vim/gen/vim25-types.xsd src/vim/gen/vim25.stamp \
    src/vim/gen/vim25.log

src/vim/gen/vim25.stamp: $(vim25_in)
	$(AM_V_GEN)rm -f $(vim25_gen) $@; $(MKDIR_P) src/vim/gen && \
	$(AWK) -f $(srcdir)/wsdl/make-wsdl.awk $(srcdir)/wsdl/operations > src/vim/gen/vim25.wsdl && \
	cp -f $(srcdir)/wsdl/vim25-types.xsd src/vim/gen/ && \
	{ $(WSDL2H) -c -x -L -j -W -I src/vim/gen -t $(srcdir)/wsdl/typemap.dat -o src/vim/gen/vim25.h \
	    src/vim/gen/vim25.wsdl > src/vim/gen/vim25.log 2>&1 && \
	  $(SOAPCPP2) -c -C -x -w -L -1 -pvim25 -dsrc/vim/gen src/vim/gen/vim25.h >> src/vim/gen/vim25.log 2>&1 && \
	  ! grep -i 'could not find the type\|undefined' src/vim/gen/vim25.log; } || \
	{ cat src/vim/gen/vim25.log >&2; rm -f $(vim25_gen); exit 1; }; touch $@

$(vim25_gen): src/vim/gen/vim25.stamp
	@test -f $@ || { rm -f src/vim/gen/vim25.stamp; $(MAKE) $(AM_MAKEFLAGS) src/vim/gen/vim25.stamp; }

noinst_LIBRARIES += src/vim/libvim25.a
nodist_src_vim_libvim25_a_SOURCES = src/vim/gen/vim25C.c src/vim/gen/vim25Client.c
src_vim_libvim25_a_CPPFLAGS = -D_GNU_SOURCE $(GSOAP_CFLAGS) -I src/vim/gen
src_vim_libvim25_a_CFLAGS = -std=gnu11 $(KAAS_HARD_CFLAGS) $(KAAS_SAN_CFLAGS) -w
$(src_vim_libvim25_a_OBJECTS): src/vim/gen/vim25.stamp

noinst_LIBRARIES += src/vim/libvim.a
src_vim_libvim_a_CPPFLAGS = $(AM_CPPFLAGS) $(GSOAP_CFLAGS) -isystem src/vim/gen $(SEE_MODEL) $(OWN_VIM)
src_vim_libvim_a_SOURCES = \
    src/vim/core/vim.h \
    src/vim/admin/vim_alarm.c \
    src/vim/admin/vim_alarm.h \
    src/vim/admin/vim_authorization.c \
    src/vim/admin/vim_authorization.h \
    src/vim/core/vim_client.c \
    src/vim/core/vim_client.h \
    src/vim/core/vim_context.c \
    src/vim/core/vim_context.h \
    src/vim/inventory/vim_event.c \
    src/vim/inventory/vim_event.h \
    src/vim/admin/vim_extension.c \
    src/vim/admin/vim_extension.h \
    src/vim/admin/vim_extension_private.h \
    src/vim/admin/vim_extension_record.c \
    src/vim/core/vim_fault.c \
    src/vim/core/vim_fault.h \
    src/vim/inventory/vim_guest.c \
    src/vim/inventory/vim_guest.h \
    src/vim/inventory/vim_location.c \
    src/vim/inventory/vim_location.h \
    src/vim/core/vim_login.c \
    src/vim/inventory/vim_machine.c \
    src/vim/inventory/vim_machine.h \
    src/vim/machine/vim_build.c \
    src/vim/machine/vim_build.h \
    src/vim/machine/vim_follow.c \
    src/vim/machine/vim_follow.h \
    src/vim/machine/vim_follow_private.h \
    src/vim/machine/vim_guest_state.c \
    src/vim/machine/vim_guest_state.h \
    src/vim/machine/vim_guest_state_private.h \
    src/vim/machine/vim_task.c \
    src/vim/machine/vim_task.h \
    src/vim/machine/vim_task_private.h \
    src/vim/inventory/vim_object.c \
    src/vim/inventory/vim_object.h \
    src/vim/inventory/vim_site.c \
    src/vim/inventory/vim_site.h \
    src/vim/core/vim_property.c \
    src/vim/core/vim_property.h \
    src/vim/session/vim_session.c \
    src/vim/session/vim_session.h \
    src/vim/core/vim_soap.h \
    src/vim/core/vim_text.c \
    src/vim/core/vim_text.h \
    src/vim/core/vim_version.c \
    src/vim/core/vim_version.h \
    src/vim/inventory/vim_watch.c \
    src/vim/inventory/vim_watch.h
$(src_vim_libvim_a_OBJECTS): src/vim/gen/vim25.stamp

# What a program links that uses src/vim.
LIBS_VIM = src/vim/libvim.a src/vim/libvim25.a $(GSOAP_LIBS) $(LIBS_MODEL) $(LIBS_PORT)
