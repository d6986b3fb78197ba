libcore_la_SOURCES += %reldir%/op_impl.h %reldir%/all.c %reldir%/ops.def \
	%reldir%/schema.c %reldir%/bind.c %reldir%/registry.c \
	%reldir%/call.c %reldir%/scope.c %reldir%/scope_impl.h \
	%reldir%/infer.c %reldir%/infer.h %reldir%/loop.c %reldir%/loop.h

# One file an operator, or a family of them.
libcore_la_SOURCES += %reldir%/activation.c %reldir%/batch_norm.c \
	%reldir%/binary.c %reldir%/conv.c %reldir%/linear.c %reldir%/pool.c \
	%reldir%/shape.c %reldir%/unary.c

# The C functions of all operators, made from their schemas.
noinst_PROGRAMS += gen-ops
gen_ops_SOURCES = %reldir%/gen_ops.c
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
