# Signatures, the registry, binding, and running a call.
libcore_la_SOURCES += %reldir%/op_impl.h %reldir%/schema.c %reldir%/bind.c \
	%reldir%/batches.c %reldir%/op_names.c %reldir%/op_names.h %reldir%/registry.c %reldir%/call.c %reldir%/results.c \
	%reldir%/memory.c %reldir%/out.c %reldir%/writes.c %reldir%/op_device.c \
	%reldir%/op_effects.c %reldir%/record.c %reldir%/query.c \
	%reldir%/overload.c %reldir%/overload.h %reldir%/scope.c \
	%reldir%/scope_impl.h

# Rules that operators share.
libcore_la_SOURCES += %reldir%/infer.c %reldir%/infer.h %reldir%/rules.c \
	%reldir%/rules.h %reldir%/loop.c %reldir%/loop.h %reldir%/list.c \
	%reldir%/list.h %reldir%/numbers.c %reldir%/op_cost.c %reldir%/op_cost.h \
	%reldir%/composite.c %reldir%/composite.h \
	%reldir%/fused_activation.c %reldir%/fused_activation.h
