# The rewrite for a processor.
dist_cfxinclude_HEADERS += %reldir%/cfx/optimize.h
libcfx_all_la_SOURCES += %reldir%/optimize.c %reldir%/tune.c %reldir%/optimizer.h
EXTRA_DIST += %reldir%/README.md
