# The Python package in the build tree, where Python.h is found: python/cfx with the
# module _cfx.abi3.so, for tests. `pip install .` builds the same by
# python/backend.py.

PYTHON_SOURCES = %reldir%/src/py.h %reldir%/src/exchange.h \
	%reldir%/src/module.c %reldir%/src/error.c %reldir%/src/context.c \
	%reldir%/src/tensor.c %reldir%/src/tensor_type.c %reldir%/src/value.c \
	%reldir%/src/graph.c %reldir%/src/inputs.c %reldir%/src/model.c \
	%reldir%/src/state.c \
	%reldir%/src/interp.h %reldir%/src/interp.c \
	%reldir%/src/transformer.c %reldir%/src/torch_call.c \
	%reldir%/src/guard.c %reldir%/src/report.c %reldir%/src/rewrite.c
PYTHON_MODULES = %reldir%/cfx/__init__.py %reldir%/cfx/__main__.py \
	%reldir%/cfx/_values.py %reldir%/cfx/model.py \
	%reldir%/cfx/capture.py %reldir%/cfx/export.py \
	%reldir%/cfx/aten.py %reldir%/cfx/torch_backend.py \
	%reldir%/cfx/explain.py %reldir%/cfx/proxy.py
EXTRA_DIST += $(PYTHON_MODULES) %reldir%/README.md %reldir%/backend.py \
	pyproject.toml

if HAVE_PYTHON
noinst_LTLIBRARIES += _cfx.la
_cfx_la_SOURCES = $(PYTHON_SOURCES)
_cfx_la_CPPFLAGS = $(PYTHON_CFLAGS) $(AM_CPPFLAGS)
# Python's tables hold functions as void *.
_cfx_la_CFLAGS = $(AM_CFLAGS) -Wno-pedantic
_cfx_la_LIBADD = libcfx.la
_cfx_la_LIBTOOLFLAGS =
# -rpath makes it a module although it is not installed.
_cfx_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

$(_cfx_la_OBJECTS): | $(BUILT_SOURCES)
noinst_DATA = %reldir%/cfx/_cfx.abi3.so
CLEANFILES += %reldir%/cfx/_cfx.abi3.so
%reldir%/cfx/_cfx.abi3.so: _cfx.la
	$(AM_V_GEN)$(MKDIR_P) %reldir%/cfx && ln -sf ../../.libs/_cfx.so $@
endif
