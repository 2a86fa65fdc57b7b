# What is assumed of a vCenter and an HX cluster, held against real ones, for kaasctl.
noinst_LIBRARIES += src/pilot/libpilot.a
src_pilot_libpilot_a_CPPFLAGS = $(AM_CPPFLAGS) $(SEE_MODEL) $(OWN_VIM) -iquote $(top_srcdir)/src/hx $(OWN_PILOT)
src_pilot_libpilot_a_SOURCES = \
    src/pilot/pilot.c \
    src/pilot/pilot.h \
    src/pilot/pilot_guard.c \
    src/pilot/pilot_guard.h \
    src/pilot/pilot_hx.c \
    src/pilot/pilot_inventory.c \
    src/pilot/pilot_private.h \
    src/pilot/pilot_pseudonym.c \
    src/pilot/pilot_pseudonym.h \
    src/pilot/pilot_record.c \
    src/pilot/pilot_record.h \
    src/pilot/pilot_vcenter.c \
    src/pilot/pilot_words.def \
    src/pilot/probes.def
