# The public headers of lib/, and its parts in the order in which they know
# each other.

dist_cfxinclude_HEADERS += \
	%reldir%/cfx/comm.h %reldir%/cfx/compiler.h %reldir%/cfx/context.h %reldir%/cfx/dim.h \
	%reldir%/cfx/dtype.def %reldir%/cfx/dtype.h %reldir%/cfx/effects.h \
	%reldir%/cfx/file.h \
	%reldir%/cfx/graph.h %reldir%/cfx/graph_module.h \
	%reldir%/cfx/module.h %reldir%/cfx/nearest.h %reldir%/cfx/observer.h %reldir%/cfx/op.h \
	%reldir%/cfx/operators.h \
	%reldir%/cfx/picture.h %reldir%/cfx/scope.h \
	%reldir%/cfx/status.h %reldir%/cfx/tensor.h %reldir%/cfx/text.h \
	%reldir%/cfx/value.h
nodist_cfxinclude_HEADERS += %reldir%/cfx/version.h

include $(srcdir)/%reldir%/base/local.mk
include $(srcdir)/%reldir%/dim/local.mk
include $(srcdir)/%reldir%/tensor/local.mk
include $(srcdir)/%reldir%/value/local.mk
include $(srcdir)/%reldir%/kernel/local.mk
include $(srcdir)/%reldir%/op/local.mk
include $(srcdir)/%reldir%/ops/local.mk
include $(srcdir)/%reldir%/nn/local.mk
include $(srcdir)/%reldir%/graph/local.mk
include $(srcdir)/%reldir%/format/local.mk
