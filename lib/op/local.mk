# Signatures, the registry, binding, and running a call.
libcore_la_SOURCES += %reldir%/op_impl.h %reldir%/schema.c %reldir%/bind.c \
	%reldir%/registry.c %reldir%/call.c %reldir%/device.c \
	%reldir%/effects.c %reldir%/spell.c %reldir%/out.c \
	%reldir%/overload.c %reldir%/overload.h %reldir%/scope.c \
	%reldir%/scope_impl.h

# Rules that operators share.
libcore_la_SOURCES += %reldir%/infer.c %reldir%/infer.h %reldir%/rules.c \
	%reldir%/rules.h %reldir%/loop.c %reldir%/loop.h %reldir%/list.c \
	%reldir%/list.h %reldir%/cost.c %reldir%/cost.h %reldir%/composite.c \
	%reldir%/composite.h

# The C functions of all operators, made from their schemas.
noinst_PROGRAMS += gen-ops
gen_ops_SOURCES = %reldir%/gen_ops.c %reldir%/c_names.h
gen_ops_LDADD = libcore.la
nodist_cfxinclude_HEADERS += lib/cfx/ops.h
BUILT_SOURCES += lib/cfx/ops.h
CLEANFILES += lib/cfx/ops.h lib/op/ops.c
nodist_libcfx_all_la_SOURCES = lib/op/ops.c

lib/cfx/ops.h: gen-ops$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) lib/cfx && $(CFX_EMULATOR) ./gen-ops$(EXEEXT) \
		header > $@.tmp && mv $@.tmp $@

lib/op/ops.c: gen-ops$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) lib/op && $(CFX_EMULATOR) ./gen-ops$(EXEEXT) \
		source > $@.tmp && mv $@.tmp $@
